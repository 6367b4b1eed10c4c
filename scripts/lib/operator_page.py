# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of operators, from the table of the importer's handlers."""

from collections import defaultdict

import deplo.importer.lowering  # noqa: F401  (fills the table)
from deplo.importer.dtypes import SUPPORTED
from deplo.importer.registry import HANDLERS
from deplo.importer.unsupported import BY_VALUES, NEAREST, SIZED_BY_VALUES

_HEAD = """# Operators

What the importer has handlers for, by their names in ATen. What PyTorch decomposes into these
works too (`F.softmin`, `F.normalize`, `F.relu6`, `x.chunk(2)`, ...). dtypes are {dtypes}.
An operator that isn't here is reported with its lines, its count and the nearest supported form;
`torch.compile(f, backend="deplo")` leaves it to PyTorch.

A handler may refuse a form of its operator, and says which in one sentence.
"""


def page() -> str:
    """The page as Markdown: a table for each file of handlers."""
    files: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for target, handler in HANDLERS.items():
        space, name, overload = str(target).split(".")
        files[handler.__module__.rpartition(".")[2]][f"{space}.{name}"].append(overload)
    lines = [_HEAD.format(dtypes=SUPPORTED)]
    for file, operators in sorted(files.items()):
        lines += [f"## {file.replace('_', ' ').capitalize()}", ""]
        lines += ["| operator | overloads |", "|---|---|"]
        for name, overloads in sorted(operators.items()):
            lines.append(f"| `{name}` | {', '.join(sorted(overloads))} |")
        lines.append("")
    lines += ["## Not supported", "", "| operator | instead |", "|---|---|"]
    supported = {str(target).split(".")[1] for target in HANDLERS}
    refused = NEAREST | dict.fromkeys(SIZED_BY_VALUES, BY_VALUES)
    for name, remedy in sorted(refused.items()):
        if name not in supported:
            lines.append(f"| `{name}` | {remedy} |")
    return "\n".join(lines) + "\n"
