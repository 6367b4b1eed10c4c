# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short forms that several test files use."""

import re

from deplo.importer import import_program


def import_text(function, *inputs, **options):
    """The module's text without locations."""
    text = import_program(function, inputs, **options).text
    return re.sub(r' loc\("[^"]*":\d+:\d+\)', "", text)


def operations(function, *inputs):
    """The lines of the function's body, without locations and the return."""
    lines = import_text(function, *inputs).splitlines()
    return [line.strip() for line in lines if line.strip().startswith("%")]
