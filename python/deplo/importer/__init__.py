# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of PyTorch programs: `torch.export` to the text of the graph dialect."""

from .program import Binding, ImportedProgram, Outputs, export_program, import_program

__all__ = ["Binding", "ImportedProgram", "Outputs", "export_program", "import_program"]
