# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing on the CPU: the order of contenders, and medians that mean something."""

import time

import pytest
import torch

from harness import measure as measuring
from harness.contenders import PyTorch
from harness.measure import measure


def waiting(seconds):
    return lambda sets: [lambda: time.sleep(seconds) for _ in sets]


def test_times_are_those_of_one_call(monkeypatch):
    monkeypatch.setattr(measuring, "_BUDGET_S", 0.02)
    times = measure({"short": waiting(1e-3), "long": waiting(4e-3)}, [torch.zeros(1)], 4)
    assert 1000 <= times["short"].warm < 4000 <= times["long"].warm < 16000
    assert times["short"].cold is None


def test_rounds_interleave_and_rotate(monkeypatch):
    monkeypatch.setattr(measuring, "_MIN_ROUNDS", 3)
    order = []

    def sampler(name):
        return lambda: order.append(name) or float(len(order))

    samples = measuring._rounds({name: sampler(name) for name in "xyz"}, 1e9)
    assert order[:3] == ["x", "y", "z"]  # not counted
    assert order[3:] == ["x", "y", "z", "y", "z", "x", "z", "x", "y"]
    assert [len(values) for values in samples.values()] == [3, 3, 3]


def test_copy_bandwidth_is_plausible(monkeypatch):
    monkeypatch.setattr(measuring, "_BUDGET_S", 0.02)
    assert 0.5 < measuring.copy_gbps("host") < 2000


def test_pytorch_contender_computes_the_function():
    inputs = [torch.randn(4, 8)]
    eager = PyTorch(lambda a: a.exp())
    assert torch.equal(eager.checked_run(inputs), inputs[0].exp())
    other = [torch.randn(4, 8)]
    first, second = eager.calls([inputs, other])
    assert torch.equal(first(), inputs[0].exp()) and torch.equal(second(), other[0].exp())


def test_results_carry_no_gradient():
    inputs = [torch.randn(4, requires_grad=True)]
    assert not PyTorch(lambda a: a.exp()).checked_run(inputs).requires_grad


@pytest.mark.parametrize(("us", "calls"), [(0.0, 256), (10.0, 101), (1e6, 2)])
def test_samples_last_long_enough(us, calls):
    assert measuring._calls_for(us) == calls
