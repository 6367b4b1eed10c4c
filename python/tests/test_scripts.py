# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python parts of scripts/: sums of test results, and the documentation."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

_SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "lib"
if not _SCRIPTS.is_dir():
    pytest.skip("only in a checkout", allow_module_level=True)


def _load(name):
    spec = importlib.util.spec_from_file_location(name, _SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sum_results = _load("sum_results")
assemble_docs = _load("assemble_docs")


def suite(folder, name, code, content=None):
    (folder / f"{name}.exit").write_text(f"{code}\n")
    if content is not None:
        suffix = "json" if name == "lit" else "xml"
        (folder / f"{name}.{suffix}").write_text(content)


def lit(*codes):
    tests = [{"name": f"deplo :: {i}.mlir", "code": code} for i, code in enumerate(codes)]
    return json.dumps({"tests": tests})


def junit(*cases):
    inner = "".join(
        f'<testcase classname="c" name="{i}">{x}</testcase>' for i, x in enumerate(cases)
    )
    return f"<testsuites><testsuite>{inner}</testsuite></testsuites>"


SKIPPED = '<skipped type="pytest.skip" message="no GPU"/>'


def total(folder, capsys):
    code = sum_results.main(folder)
    return code, capsys.readouterr().out.splitlines()


def test_suites_are_added_up(tmp_path, capsys):
    suite(tmp_path, "lit", 0, lit("PASS", "XFAIL", "UNSUPPORTED"))
    suite(tmp_path, "unit-a", 0, junit("", ""))
    suite(tmp_path, "python", 0, junit("", SKIPPED))
    code, lines = total(tmp_path, capsys)
    assert code == 0
    assert lines[-1] == "5 passed, 0 failed, 2 skipped"
    assert "skipped: python: c.1: no GPU" in lines
    assert "skipped: lit: 2.mlir: unsupported" in lines


def test_failures_are_named(tmp_path, capsys):
    suite(tmp_path, "lit", 1, lit("PASS", "FAIL", "XPASS", "UNRESOLVED"))
    suite(tmp_path, "python", 1, junit("", "<failure/>", "<error/>"))
    code, lines = total(tmp_path, capsys)
    assert code == 1
    assert lines[-1] == "2 passed, 5 failed"
    assert "failed: lit: 1.mlir (FAIL)" in lines and "failed: python: c.2" in lines


@pytest.mark.parametrize(
    ("code", "content", "reason"),
    [
        (134, None, "left no results (exit code 134)"),
        (3, junit(""), "ended with exit code 3"),
        (0, "<testsuites", "can't be read"),
        ("started", None, "left no results"),
    ],
)
def test_a_suite_that_ends_badly_is_a_failure(tmp_path, capsys, code, content, reason):
    suite(tmp_path, "python", code, content)
    result, lines = total(tmp_path, capsys)
    assert result == 1
    assert any(line.startswith("failed: python: ") and reason in line for line in lines)
    assert lines[-1].endswith("1 failed")


def test_no_test_is_a_failure(tmp_path, capsys):
    suite(tmp_path, "lit", 0, lit())
    code, lines = total(tmp_path, capsys)
    assert code == 1 and lines[-1] == "0 passed, 0 failed"


def test_reasons_of_googletest_and_disabled_cases(tmp_path, capsys):
    skipped = '<skipped message="a.cpp:7&#x0A;needs a GPU&#x0A;"/>'
    content = junit(skipped).replace('name="0"', 'name="x" status="run"')
    content = content.replace("</testsuite>", '<testcase name="y" status="notrun"/></testsuite>', 1)
    suite(tmp_path, "unit-a", 0, content)
    _, lines = total(tmp_path, capsys)
    assert "skipped: unit-a: c.x: needs a GPU" in lines
    assert any(line.endswith(".y: disabled") for line in lines)


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "docs" / "dialects").mkdir(parents=True)
    (tmp_path / "build" / "dialects").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Top\n\n[a](docs/dialects/a.md)\n")
    (tmp_path / "build" / "dialects" / "A.md").write_text(
        "# 'a' Dialect\n\n[TOC]\n\n## Operations\n"
    )
    code = '```\n[include "no.md"]\n[b](no.md)\n```\n'
    page = f'# a\n\n## Reference\n\n[include "dialects/A.md"]\n\n{code}'
    (tmp_path / "docs" / "dialects" / "a.md").write_text(page)
    return tmp_path


def test_pages_are_assembled(checkout, capsys):
    assert assemble_docs.main(checkout, checkout / "build") == 0
    page = (checkout / "build" / "site" / "docs" / "dialects" / "a.md").read_text()
    assert "### 'a' Dialect" in page and "#### Operations" in page and "[TOC]" not in page
    assert '[include "no.md"]' in page
    html = (checkout / "build" / "html" / "README.html").read_text()
    assert 'href="docs/dialects/a.html"' in html
    assert "2 pages in build/site and build/html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[x](missing.md)", "links to missing.md, which is not there"),
        ('[include "dialects/B.md"]', "includes dialects/B.md, which is not generated"),
    ],
)
def test_broken_pages_are_errors(checkout, capsys, text, problem):
    (checkout / "docs" / "bad.md").write_text(f"# Bad\n\n{text}\n")
    assert assemble_docs.main(checkout, checkout / "build") == 1
    assert f"error: docs/bad.md: {problem}" in capsys.readouterr().err
