# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of the documentation and compares what they print.

    examples.py [--update] PAGE...

An example is a block

    ```console
    $ deplo compile -c "..." --ir ptx | head -n 3
    what it prints
    ...
    ```

run by bash at the top of the checkout, with .venv/bin and build/bin first on the path. A
line `...` stands for any number of lines. With --update, the output in the
page is replaced; one that ends in `...` keeps its number of lines.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    command: str
    output: list[str]


def parse(block: str) -> list[Example]:
    """The commands of a block, each with the lines it should print."""
    examples: list[Example] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            examples.append(Example(line[2:], []))
        elif examples and examples[-1].command.endswith("\\"):
            examples[-1].command += "\n" + line
        elif examples:
            examples[-1].output.append(line)
    return examples


def run(command: str) -> list[str]:
    """What a command prints, both streams."""
    path = f"{ROOT / '.venv/bin'}:{ROOT / 'build/bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    process = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return [line.rstrip() for line in process.stdout.splitlines()]


def matches(wanted: list[str], got: list[str]) -> bool:
    """Whether `got` is `wanted`, in which `...` is any number of lines."""
    pattern = "".join("(.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in wanted)
    return re.fullmatch(pattern, "".join(line + "\n" for line in got)) is not None


def updated(example: Example, got: list[str]) -> list[str]:
    """The lines to show for `got`."""
    if example.output[-1:] == ["..."] and len(got) >= len(example.output):
        return [*got[: len(example.output) - 1], "..."]
    return got


def check(page: Path) -> list[str]:
    """A report of each example of `page` that prints something else."""
    reports = []
    for block in _BLOCK.findall(page.read_text()):
        for example in parse(block):
            got = run(example.command)
            if not matches(example.output, got):
                shown = "\n".join(got)
                reports.append(f"{page}: $ {example.command}\nprints\n{shown}\n")
    return reports


def update(page: Path) -> None:
    def rewritten(match: re.Match) -> str:
        lines = []
        for example in parse(match[1]):
            got = run(example.command)
            lines.append(f"$ {example.command}")
            lines += example.output if matches(example.output, got) else updated(example, got)
        return "\n".join(["```console", *lines, "```"])

    page.write_text(_BLOCK.sub(rewritten, page.read_text()))


def main(arguments: list[str]) -> int:
    pages = [Path(name) for name in arguments if name != "--update"]
    if "--update" in arguments:
        for page in pages:
            update(page)
        return 0
    reports = [report for page in pages for report in check(page)]
    for report in reports:
        print(report, file=sys.stderr)
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
