# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m deplo` is the `deplo` command."""

from .cli import main

main(prog_name="deplo")
