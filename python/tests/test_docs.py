# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site: generated pages, and that all of it can be put together."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from deplo.importer.registry import HANDLERS
from deplo.importer.unsupported import BY_VALUES, NEAREST, SIZED_BY_VALUES

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = _ROOT / "build"
_TOOL = _BUILD / "bin" / "deplo-opt"

if not (_ROOT / "scripts" / "lib").is_dir():
    pytest.skip("only in a checkout", allow_module_level=True)
sys.path[:0] = [str(_ROOT / "scripts" / "lib")]
assemble_docs = importlib.import_module("assemble_docs")
generate_pages = importlib.import_module("generate_pages")
operator_page = importlib.import_module("operator_page")
pass_pages = importlib.import_module("pass_pages")

needs_build = pytest.mark.skipif(
    not (_TOOL.is_file() and (_BUILD / "docs" / "passes").is_dir()),
    reason="needs deplo-opt and mlir-doc built",
)


def test_every_operator_with_a_handler_is_listed_once():
    page = operator_page.page()
    supported, _, rest = page.partition("## Not supported")
    listed = re.findall(r"^\| `aten\.(\w+)` \| (.*) \|$", supported, re.M)
    found = [f"aten.{name}.{overload}" for name, texts in listed for overload in texts.split(", ")]
    assert sorted(found) == sorted(map(str, HANDLERS))
    instead = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", rest, re.M))
    refused = NEAREST | dict.fromkeys(SIZED_BY_VALUES, BY_VALUES)
    assert instead.items() <= refused.items()
    assert not set(instead) & {name for name, _ in listed}


def test_passes_of_a_page():
    text = (
        "<!-- made -->\n\n### `-deplo-a-b`\n\n_Make a\nof b_\n\nAs it says.\n\n"
        "#### Options\n\n### `-deplo-c`\n\n_Make c_\n\nThe rest.\n"
    )
    first, second = pass_pages.parse(text)
    assert (first.flag, first.summary) == ("deplo-a-b", "Make a of b")
    assert first.description == "As it says.\n\n#### Options"
    assert (second.flag, second.description) == ("deplo-c", "The rest.")


def test_the_run_line_of_a_test():
    text = (
        "// RUN: not deplo-opt %s --a\n// RUN: deplo-opt %s --a \\\n//   --b='c d' | FileCheck %s\n"
    )
    assert pass_pages.run_line(text) == ["--a", "--b=c d"]
    assert pass_pages.run_line("// RUN: deplo-opt %s -o %t\n") is None


@needs_build
def test_the_site_holds_a_page_for_each_pass_and_dialect(tmp_path):
    generated = tmp_path / "generated"
    for name in ("dialects", "passes"):
        (generated / name).mkdir(parents=True)
        for page in (_BUILD / "docs" / name).glob("*.md"):
            (generated / name / page.name).write_text(page.read_text())
    assert generate_pages.main(_ROOT, generated, _TOOL) == 0
    assert assemble_docs.main(_ROOT, generated, tmp_path) == 0
    html = tmp_path / "html"
    flags = {
        flag
        for table in (_ROOT / "include").rglob("Passes.td")
        for flag in re.findall(r'Pass<"(deplo-[\w-]+)"', table.read_text())
    }
    assert {path.stem for path in (html / "docs" / "passes").glob("deplo-*.html")} == flags
    shown = [
        flag
        for flag in flags
        if "From its test" in (html / "docs" / "passes" / f"{flag}.html").read_text()
    ]
    assert len(shown) >= 0.8 * len(flags), flags - set(shown)
    for name in ("graph", "loop", "tile"):
        assert "Operations" in (html / "docs" / "dialects" / f"{name}.html").read_text()
    # Every link within the site leads to one of its pages, or to a file of the checkout.
    for page in html.rglob("*.html"):
        beside = _ROOT / page.parent.relative_to(html)
        for target in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', page.read_text()):
            assert (page.parent / target).exists() or (beside / target).exists(), (page, target)
