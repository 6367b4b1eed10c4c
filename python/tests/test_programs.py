# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generator of random programs: repeatable, importable, and its bounds hold for
PyTorch itself and fail for a wrong result."""

import re

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from programs import DTYPES, from_seed, programs

from deplo.importer import import_program


def test_same_seed_same_program():
    first, second = from_seed(11), from_seed(11)
    assert first.source == second.source
    assert all(torch.equal(a, b) for a, b in zip(first.inputs, second.inputs, strict=True))


def test_programs_differ():
    assert len({from_seed(seed).source for seed in range(50)}) == 50


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_hold_for_pytorch(dtype):
    for seed in range(150):
        program = from_seed(seed, dtypes=(dtype,))
        if dtype != torch.float32 and re.search(r"softmax|\berf\b|rsqrt|index_add", program.source):
            continue  # PyTorch's own round f16 and bf16 more than once on the CPU
        program.check(program.function(*program.inputs))


def test_bounds_are_tight_enough_to_notice_a_part_in_a_thousand():
    caught = 0
    for seed in range(100):
        program = from_seed(seed, dtypes=(torch.float32,))
        results = program.function(*program.inputs)
        wrong = [result * 1.001 + 1e-4 for result in results]
        try:
            program.check(wrong)
        except AssertionError:
            caught += 1
    assert caught > 95


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_import_is_repeatable(program):
    first, second = (import_program(program.function, program.inputs).text for _ in range(2))
    assert first == second and "graph." in first
