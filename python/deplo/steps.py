# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the steps of a compilation: `-v`, `-vv` and `--dump-dir`."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .compilation import Compilation

Step = dict[str, Any]


# What the compiler calls the place of a remark that is about no kernel.
_NO_KERNEL = (None, "", "<unknown function>")
_LAYOUT = re.compile(r"#tile\.layout<[^<>]*>")


class Layouts:
    """Short names for layouts, the same in all steps: `#layout3`."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def shorten(self, lines: list[str]) -> tuple[list[str], list[str]]:
        """The lines with names, and what the names in them stand for."""
        shown: dict[str, str] = {}

        def name(match: re.Match) -> str:
            known = self._names.setdefault(match[0], f"#layout{len(self._names)}")
            return shown.setdefault(match[0], known)

        lines = [_LAYOUT.sub(name, line) for line in lines]
        return [f"# {name} = {layout}" for layout, name in shown.items()], lines


def reasons(step: Step) -> list[str]:
    """The remarks of a step, a line each: "<kernel>: <text>"."""
    lines = []
    for remark in step.get("remarks", []):
        kernel = "" if remark.get("kernel") in _NO_KERNEL else f"{remark['kernel']}: "
        lines.append(kernel + " ".join(remark["text"].split()))
    return list(dict.fromkeys(lines))


def diff_lines(step: Step) -> list[str]:
    """The unified diff of the IR before and after."""
    before, after = step["before"].splitlines(), step["after"].splitlines()
    return list(difflib.unified_diff(before, after, "before", "after", lineterm=""))


def step_lines(step: Step, layouts: Layouts) -> Iterator[str]:
    """A step between its marker lines: its diff, or why nothing changed."""
    yield f">>> {step['step']}"
    remarks = reasons(step)
    if step["changed"]:
        yield from (f"# {line}" for line in remarks)
        definitions, diff = layouts.shorten(diff_lines(step))
        yield from definitions
        yield from diff
    else:
        yield from remarks or ["nothing to do"]
    yield f"<<< {step['step']}"


def summary_line(step: Step) -> str:
    """One line: name, time in ms, and how much changed or why nothing did."""
    head = f"{step['step']:32} {step.get('ms', 0.0):8.2f} ms  "
    remarks = "; ".join(reasons(step))
    if not step["changed"]:
        return f"{head}unchanged  {remarks}".rstrip()
    changes = [line[:1] for line in diff_lines(step)[2:]]
    return f"{head}changed +{changes.count('+')} -{changes.count('-')}  {remarks}".rstrip()


def verbose_lines(compilation: Compilation, verbosity: int) -> Iterator[str]:
    """What -v (1) or -vv (2) print."""
    layouts = Layouts()
    for step in compilation.steps:
        if verbosity > 1:
            yield from step_lines(step, layouts)
        else:
            yield summary_line(step)


def dump(compilation: Compilation, directory: Path) -> list[Path]:
    """Writes the IR before the first step and after each as numbered files."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = [("import", step["before"]) for step in compilation.steps[:1]]
    texts += [(step["step"], step["after"]) for step in compilation.steps]
    paths = []
    for number, (name, text) in enumerate(texts):
        path = directory / f"{number:03}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}.mlir"
        path.write_text(text)
        paths.append(path)
    return paths
