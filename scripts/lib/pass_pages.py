# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page for each pass: what its description says, and IR from its test.

`write` takes the pages that mlir-tblgen made of the passes, one for each
Passes.td. IR before a pass is that of its lit test; IR after is what the pass
makes of it now.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PASS = re.compile(r"^### `-(deplo-[\w-]+)`\n\n_(.*?)_$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"deplo-opt %s (.*?)(?:\||$)")
_WITHOUT_EFFECT = ("--split-input-file", "--verify-diagnostics")
# Longer IR is no example.
_LINES = 70


@dataclass
class Pass:
    flag: str
    summary: str
    description: str


def parse(text: str) -> list[Pass]:
    """The passes of a page of mlir-tblgen."""
    matches = list(_PASS.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return [
        Pass(match[1], " ".join(match[2].split()), text[match.end() : end].strip())
        for match, end in zip(matches, ends, strict=True)
    ]


def find_test(tests: Path, flag: str) -> Path | None:
    """The lit test that is called after the pass."""
    return next(iter(sorted(tests.rglob(f"{flag.removeprefix('deplo-')}.mlir"))), None)


def run_line(text: str) -> list[str] | None:
    """The options that a test runs deplo-opt with, on the file itself."""
    text = text.replace("\\\n//", "")
    for line in re.findall(r"^// RUN:(.*)$", text, re.MULTILINE):
        match = _RUN.search(line)
        if match and "not " not in line and "%" not in match[1]:
            return shlex.split(match[1])
    return None


def beginnings(text: str) -> Iterator[str]:
    """The first operation of a test's first case, the first two, and so on."""
    case = text.split("// -----")[0]
    lines = [line for line in case.splitlines() if line.strip() and not line.startswith("//")]
    lines = [re.sub(r"\s*// (?:CHECK|expected).*", "", line) for line in lines]
    for end, line in enumerate(lines, 1):
        # An operation at the top ends with a brace there.
        if line == "}" or end == len(lines):
            yield "\n".join(lines[:end]) + "\n"


def example(test: Path, tool: Path) -> tuple[str, str] | None:
    """Before and after, or None if the test has no case short enough."""
    text = test.read_text()
    options = run_line(text)
    if options is None:
        return None
    options = [option for option in options if option not in _WITHOUT_EFFECT]
    for before in beginnings(text):
        if before.count("\n") > _LINES:
            return None
        plain, after = (_opt(tool, before, given) for given in ([], options))
        if after is not None and after != plain:
            return before, after
    return None


def _opt(tool: Path, text: str, options: list[str]) -> str | None:
    """What deplo-opt prints, or None if it fails."""
    done = subprocess.run([tool, *options], input=text, capture_output=True, text=True)
    return done.stdout.strip() + "\n" if done.returncode == 0 else None


def page(one: Pass, test: Path | None, checkout: Path, tool: Path) -> str:
    """A pass as Markdown."""
    lines = [f"# {one.flag}", "", f"{one.summary[0].upper()}{one.summary[1:]}.", ""]
    lines += [one.description, ""]
    found = example(test, tool) if test else None
    if test and found:
        name = test.relative_to(checkout)
        lines += [f"## From its test, `{name}`", "", "Before:", "", "```mlir", found[0].rstrip()]
        lines += ["```", "", "After:", "", "```mlir", found[1].rstrip(), "```", ""]
    return "\n".join(lines)


def write(checkout: Path, generated: Path, pages: Path, tool: Path) -> list[str]:
    """Writes a page for each pass to `pages`, and for each Passes.td the table
    <name>Index.md beside what mlir-tblgen made. Returns the flags."""
    flags = []
    pages.mkdir(parents=True, exist_ok=True)
    for source in sorted((generated / "passes").glob("*Passes.md")):
        passes = parse(source.read_text())
        rows = ["| pass | effect |", "|---|---|"]
        for one in passes:
            test = find_test(checkout / "test", one.flag)
            (pages / f"{one.flag}.md").write_text(page(one, test, checkout, tool))
            rows.append(f"| [`{one.flag}`]({one.flag}.md) | {one.summary} |")
            flags.append(one.flag)
        index = source.name.replace("Passes", "Index")
        (source.parent / index).write_text("\n".join(rows) + "\n")
    return flags
