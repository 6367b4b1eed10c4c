# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python/README.md lists exactly the operators that have handlers."""

import re
from pathlib import Path

import deplo.importer.lowering  # noqa: F401  (fills the table)
from deplo.importer.registry import HANDLERS

DOCS = Path(__file__).resolve().parents[1] / "README.md"


def test_operators_in_the_docs_are_those_with_handlers():
    kinds = "pointwise|comparisons, logic, bits|reductions|rows|random|views|tensors"
    rows = re.findall(rf"^\| (?:{kinds}) \| (.*) \|$", DOCS.read_text(), re.M)
    listed = [name for row in rows for name in row.split()]
    assert len(listed) == len(set(listed))
    assert set(listed) == {str(op).split(".")[1].lstrip("_") for op in HANDLERS}
