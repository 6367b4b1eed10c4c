# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import sys
from pathlib import Path

import pytest

from deplo import library

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def compiler():
    """Present in tests that need libDeploC; they skip only where it isn't built."""
    if library.find(library.COMPILER) is None:
        pytest.skip("libDeploC is not built")
