# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_examples.py TOOL PASSES_TD FLAG[=OPTIONS]...: runs the examples of passes' descriptions.

The description of a pass holds two blocks of IR, after lines that end in "Before:" and
"After:", or in "Before, ...:" and "After, with two stages:". Running the pass on the first,
with sm_90a as the target, must print what the second one prints without it.
"""

import re
import subprocess
import sys
import textwrap


def run(tool, text, flags):
    done = subprocess.run(
        [tool, "--deplo-attach-target=chip=sm_90a", *flags],
        input=text,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{tool} {' '.join(flags)} failed:\n{done.stderr}\non\n{text}")
    return done.stdout


def find_example(text, flag):
    found = re.search(rf'Pass<"{flag}".*?let description = \[\{{(.*?)\}}\];', text, re.S)
    if not found:
        sys.exit(f"{flag} is not described")
    blocks = re.findall(
        r"(?:Before|After)(?:, [^\n:]*)?:\n\n *```mlir\n(.*?)```", found.group(1), re.S
    )
    if len(blocks) != 2:
        sys.exit(f"{flag} has {len(blocks)} blocks of IR, expected one before and one after")
    return [textwrap.dedent(block) for block in blocks]


def main(tool, passes, *flags):
    text = open(passes).read()
    for flag in flags:
        before, after = find_example(text, flag.partition("=")[0])
        got, expected = run(tool, before, [f"--{flag}"]), run(tool, after, [])
        if got != expected:
            sys.exit(f"the example of {flag} gives\n{got}\nand is described as\n{expected}")
        if got == run(tool, before, []):
            sys.exit(f"the example of {flag} shows no change")


main(*sys.argv[1:])
