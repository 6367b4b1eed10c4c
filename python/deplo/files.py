# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing files whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from .errors import Error


def write_file(path: Path, data: bytes) -> None:
    """Writes all of `data` or nothing.

    Raises:
        Error: the file can't be written.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise Error(f"can't write {path}: {error.strerror}") from error
