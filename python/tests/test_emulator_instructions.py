# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/emulator-instructions.md says which instructions the emulator executes."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import emulator_instructions  # noqa: E402
from instruction_forms import all_forms, isa  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


def test_the_page_is_what_the_emulator_does():
    assert emulator_instructions.page() == emulator_instructions.PAGE.read_text(), (
        "run benchmarks/emulator_instructions.py page --update"
    )


def test_a_refusal_names_what_was_expected():
    assert emulator_instructions.refusal("add.u32 %r1, %r2, %r3;") is None
    assert (
        emulator_instructions.refusal("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%q1, {%r5}];")
        == "there is no instruction 'tex' in the emulator"
    )
    reason = emulator_instructions.refusal("add.u33 %r1, %r2, %r3;")
    assert reason.startswith("expected '.u16'") and reason.endswith("found '.u33'")


def test_the_list_has_every_opcode_that_is_compared_with_the_gpu():
    listed = {
        name.split(".")[0]
        for patterns in isa.SECTIONS.values()
        for pattern in patterns
        for name, _ in pattern.expand()
    }
    for form in all_forms():
        words = form.text.replace("{", " ").split()
        assert listed & {word.split(".")[0] for word in words}, form.name
