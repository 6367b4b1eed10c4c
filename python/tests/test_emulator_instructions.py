# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/emulator-instructions.md says which instructions the emulator executes."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import conformance  # noqa: E402
import emulator_instructions  # noqa: E402
from instruction_forms import all_forms, copies, isa  # noqa: E402

from deplo.errors import Error  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.skipif(not emulator_instructions.PAGE.is_file(), reason="only in a checkout")
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


def signed(value):
    return value - (1 << 32) if value >> 31 else value


STORED = {
    "b32": lambda old, a: a,
    "b64": lambda old, a: a,
    "add.u32": lambda old, a: old + a,
    "add.s32": lambda old, a: old + a,
    "add.u64": lambda old, a: old + a,
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda old, a: min(old, a, key=signed),
    "max.s32": lambda old, a: max(old, a, key=signed),
    "inc.u32": lambda old, a: 0 if old >= a else old + 1,
    "dec.u32": lambda old, a: a if old == 0 or old > a else old - 1,
    "and.b32": lambda old, a: old & a,
    "or.b32": lambda old, a: old | a,
    "xor.b32": lambda old, a: old ^ a,
}


@pytest.mark.parametrize("form", copies.stores(), ids=lambda form: form.name)
def test_asynchronous_stores(form):
    """Each block of a cluster stores to the other one, which waits for its memory barrier."""
    name = re.search(r"bytes\.(?:v\d\.)?(.*)", form.name)[1]
    width = 8 if name.endswith("64") else 4
    data, got, count = form.inputs(), conformance.emulate(form), len(form.operands)
    tiles = 16 * count * 256
    for i in range(256):
        other = (i + 128) % 256
        for k in range(count):
            at = tiles + 16 * i + width * k
            old = int.from_bytes(data[at : at + width], "little")
            at = 16 * (other * count + k)
            value = int.from_bytes(data[at : at + width], "little")
            want = STORED[name](old, value) % (1 << 8 * width)
            at = 16 * i + width * k
            assert int.from_bytes(got[at : at + width], "little") == want


def test_asynchronous_stores_must_be_waited_for():
    form = copies.stores()[0]
    text = re.sub(r"WAIT: .*?COMPLETE:", "COMPLETE:", form.text, flags=re.S)
    assert text != form.text
    with pytest.raises(Error, match="data race"):
        conformance.emulate(dataclasses.replace(form, text=text))
