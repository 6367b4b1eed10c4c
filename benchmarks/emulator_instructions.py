# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which instructions of PTX 9.0 the emulator executes, and why it refuses the others.

    python benchmarks/emulator_instructions.py page [--update]   docs/emulator-instructions.md
    python benchmarks/emulator_instructions.py check             with ptxas: the table is of PTX

`page` tries each form of instruction_forms/isa.py and prints what the emulator says, or puts it
into the documentation. `check` assembles each form for the target that the table names.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from deplo.emulator import Emulation
from deplo.errors import Error
from instruction_forms import isa

PAGE = Path(__file__).parent.parent / "docs" / "emulator-instructions.md"
LICENSE = "<!-- Made by benchmarks/emulator_instructions.py page --update -->\n"


def module(target: str, kernels: list[str]) -> str:
    head = f".version 9.0\n.target {target}\n.address_size 64\n"
    return head + isa.DECLARATIONS + "".join(kernels)


def refusal(text: str) -> str | None:
    """Why the emulator does not load an instruction; None if it does."""
    try:
        Emulation(module("sm_90a", [isa.kernel("k", text)]))
    except Error as error:
        reason = re.sub(r"^\d+:\d+: ", "", str(error))
        return re.sub(r" in '.*'$", "", reason, flags=re.S)
    return None


def row(pattern: isa.Pattern) -> tuple[str, str]:
    """What the page says of `pattern`."""
    reasons: dict[str, list[str]] = defaultdict(list)
    count = 0
    for name, text in pattern.expand():
        count += 1
        if (reason := refusal(text)) is not None:
            reasons[reason].append(name)
    refused = sum(map(len, reasons.values()))
    if refused == 0:
        return "executed", ""
    if refused == count:
        return "refused", next(iter(reasons))
    texts = [f"{', '.join(f'`{name}`' for name in names)}: {reason}"
             for reason, names in reasons.items()]  # fmt: skip
    return "but for some", "; ".join(texts)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    lines = [
        LICENSE,
        "# Instructions of the emulator\n",
        "The instructions of PTX 9.0, by the sections of its manual. `<a|b>` is one of `a` and `b`,"
        " `<.a|>` may be left\nout. What is refused stops a file when it is loaded, with the line,"
        " the column and the reason shown here.\n",
    ]
    for title, patterns in isa.SECTIONS.items():
        lines += [f"## {title}\n", "| form | emulator | |", "|---|---|---|"]
        for pattern in patterns:
            state, reason = row(pattern)
            since = "" if pattern.target == "sm_90a" else f" ({pattern.target})"
            lines.append(f"| `{cell(pattern.forms)}`{since} | {state} | {cell(reason)} |")
        lines.append("")
    return "\n".join(lines)


def assemble(target: str, text: str, name: str) -> str | None:
    """What ptxas says against `text`, if anything."""
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "k.ptx"
        source.write_text(module(target, [isa.kernel("k", text)]))
        command = [ptxas, f"-arch={target}", str(source), "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{name} ({target}): {text} {done.stderr[:300]}" if done.returncode else None


def check() -> int:
    forms = [
        (pattern.target, text, name)
        for patterns in isa.SECTIONS.values()
        for pattern in patterns
        for name, text in pattern.expand()
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [text for text in pool.map(lambda form: assemble(*form), forms) if text]
    print("\n".join(wrong))
    print(f"{len(forms)} forms, of which ptxas refuses {len(wrong)}")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("page", "check"))
    parser.add_argument("--update", action="store_true", help="put the page into the documentation")
    arguments = parser.parse_args()
    if arguments.action == "check":
        return check()
    text = page()
    if arguments.update:
        PAGE.write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
