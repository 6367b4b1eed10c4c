# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator against what an H200 computed and counted: vectors/, which the recorders in
benchmarks/ make on a GPU.
"""

import functools
import json
import sys
from pathlib import Path

import pytest

from deplo.errors import Error
from deplo.library import runtime_library

ROOT = Path(__file__).parents[2]
VECTORS = Path(__file__).parent / "vectors"
sys.path.append(str(ROOT / "benchmarks"))

import access_counters  # noqa: E402
import conformance  # noqa: E402
import kernel_counters  # noqa: E402
import third_party  # noqa: E402
from instruction_forms import GROUPS, all_forms  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def library():
    try:
        runtime_library()
    except Error as error:
        pytest.skip(str(error))


@functools.cache
def vectors():
    return conformance.load(VECTORS / "conformance.xz")


@functools.cache
def results():
    return third_party.load(VECTORS / "third_party.xz")


@pytest.mark.parametrize("group", GROUPS)
def test_instructions(group):
    """Bit for bit; approximations within the errors that the PTX ISA documents."""
    forms = [form for form in all_forms(group) if form.name in vectors()]
    assert forms
    wrong = [text for form in forms if (text := conformance.difference(form, vectors()[form.name]))]
    assert not wrong, "\n".join(wrong)


def test_vectors_are_of_forms():
    assert not vectors().keys() - {form.name for form in all_forms()}
    assert len(vectors()) > 1600


def test_comparing_finds_a_wrong_bit():
    form = next(form for form in all_forms("integers") if form.name.startswith("add.u32"))
    recorded = bytearray(vectors()[form.name])
    recorded[4 * 7] ^= 1
    text = conformance.difference(form, bytes(recorded))
    assert text.startswith("add.u32 d, a, b; differs in 1 of 128 results: result 0 of thread 7 of")


@pytest.mark.parametrize("name", third_party.CASES)
def test_kernels(name):
    assert third_party.difference(name, results()[name]) is None


def test_counters_of_kernels():
    """Requests and sectors of global memory and wavefronts of shared memory, of whole kernels, are
    those that ncu reads, where ptxas leaves the accesses as they are.
    """
    recorded = json.loads((VECTORS / "kernel_counters.json").read_text())
    assert recorded.keys() == third_party.CASES.keys()
    wrong = {name: kernel_counters.differences(name, recorded[name]) for name in recorded}
    different = {name for name, counters in wrong.items() if counters}
    assert different == kernel_counters.DIFFERENT.keys(), {
        name: wrong[name] for name in different ^ kernel_counters.DIFFERENT.keys()
    }


def test_counters():
    """Sectors and wavefronts of access patterns are those that ncu reads."""
    recorded = json.loads((VECTORS / "access_counters.json").read_text())
    patterns = access_counters.patterns()
    assert recorded.keys() == {pattern.name for pattern in patterns}
    wrong = [
        text
        for pattern in patterns
        if (text := access_counters.difference(pattern, recorded[pattern.name]))
    ]
    assert not wrong, "\n".join(wrong)
