# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the documentation print what the pages say."""

import importlib.util
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_TOOL = _ROOT / "scripts" / "lib" / "examples.py"
_PAGES = [
    str(path.relative_to(_ROOT))
    for path in (_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md")))
    if path.is_file() and "```console\n" in path.read_text()
]

if not _TOOL.is_file():
    pytest.skip("only in a checkout", allow_module_level=True)

_SPEC = importlib.util.spec_from_file_location("examples", _TOOL)
examples = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(examples)


@pytest.mark.parametrize("page", _PAGES)
def test_examples(compiler, page):
    reports = examples.check(_ROOT / page)
    assert not reports, "\n".join(reports) + "scripts/docs --update writes it to the page"


def test_any_number_of_lines():
    assert examples.matches(["a", "...", "d"], ["a", "b", "c", "d"])
    assert examples.matches(["a", "..."], ["a"])
    assert not examples.matches(["a", "...", "d"], ["a", "b"])
    assert not examples.matches(["a.c"], ["abc"])


def test_commands_and_output():
    (first, second) = examples.parse("$ one \\\n  more\nx\n$ two\n")
    assert first.command == "one \\\n  more" and first.output == ["x"]
    assert second.command == "two" and second.output == []


def test_update_keeps_the_number_of_lines():
    example = examples.Example("c", ["old", "..."])
    assert examples.updated(example, ["1", "2", "3"]) == ["1", "..."]
    example = examples.Example("c", ["old"])
    assert examples.updated(example, ["1", "2", "3"]) == ["1", "2", "3"]
