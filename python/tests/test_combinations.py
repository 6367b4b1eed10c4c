# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans, windows, gathers, views and symbolic sizes next to one another."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, move, randn, run
from torch.export import Dim

import deplo


def on(device: str, x: torch.Tensor) -> torch.Tensor:
    return move(x, "cuda" if device == "cuda" else "cpu")


def test_scan_of_a_softmax(device):
    x = randn(3, 700)
    (got,) = run(lambda x: x.softmax(-1).cumsum(-1), (x,), device)
    check(got, x.double().softmax(-1).cumsum(-1), 100)


def test_softmax_of_a_scan(device):
    x = 0.01 * randn(3, 700)
    (got,) = run(lambda x: x.cumsum(-1).softmax(-1), (x,), device)
    check(got, x.double().cumsum(-1).softmax(-1), 200)


def test_scan_of_a_concatenation_and_its_reverse(device):
    a, b = randn(5, 300), randn(5, 33, seed=1)

    def function(a, b):
        c = torch.cat((a, b), 1)
        return c.cumsum(1), c.flip(1).cumsum(1).flip(1)

    scale = function(a.double().abs(), b.double().abs())
    for got, want, most in zip(
        run(function, (a, b), device), function(a.double(), b.double()), scale, strict=True
    ):
        check(got, want, 60, most)


@pytest.mark.parametrize("axis", [1, 2, 3], ids=["channels", "rows", "columns"])
@pytest.mark.parametrize("stride", [1, 2])
def test_max_pool_of_a_concatenation(axis, stride, device):
    a, b = randn(2, 3, 9, 10), randn(2, 3, 9, 10, seed=1)

    def function(a, b):
        return F.max_pool2d(torch.cat((a, b), axis).relu(), 3, stride, 1)

    (got,) = run(function, (a, b), device)
    assert torch.equal(got, function(a, b))


WINDOWS = {
    "maps": lambda a, b: F.avg_pool2d(F.relu(a) * 2 + b, 3, 2, 1),
    "pieces of maps": lambda a, b: F.avg_pool2d(torch.cat((a, -b, a), 1), 3, 1),
    "padding": lambda a, b: F.avg_pool2d(F.pad(a, (1, 2, 3, 4), value=2.0), 3, 2, 1),
    "padded padding": lambda a, b: F.pad(F.pad(a, (1, 1), value=3.0), (2, 2), value=5.0) * 2,
    "pieces of pieces": lambda a, b: torch.cat((torch.cat((a, b), 3) * 2, a), 3),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_what_is_computed_again(name, device):
    a, b = randn(2, 3, 9, 10), randn(2, 3, 9, 10, seed=1)
    (got,) = run(WINDOWS[name], (a, b), device)
    check(got, WINDOWS[name](a.double(), b.double()), 8, 8)


def test_concatenation_of_pools_and_of_a_gather(device):
    x, places = randn(4, 6, 8, 8), torch.tensor([2, 0, 3, 3])

    def function(x, places):
        parts = (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), x[places, :, ::2, 1::2])
        return torch.cat(parts, 1)

    (got,) = run(function, (x, places), device)
    want = function(x.double(), places)
    check(got, want, 8, want.abs() + 4)  # averages may cancel


def test_rotated_halves_of_gathered_rows(device):
    """An embedding, its norm and the rotary embedding of its heads."""
    ids = torch.tensor([[5, 0, 9], [9, 1, 1]])
    table, weight, angles = randn(10, 64), randn(64, seed=1), randn(3, 16, seed=2)

    def function(ids, table, weight, angles):
        hidden = F.rms_norm(table[ids], (64,), weight, eps=1e-6)
        heads = hidden.view(2, 3, 4, 16).transpose(1, 2)
        first, second = heads.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
        return heads * angles.cos() + turned * angles.sin()

    (got,) = run(function, (ids, table, weight, angles), device)
    want = function(ids, *(x.double() for x in (table, weight, angles)))
    check(got, want, 100, want.abs() + 1)


def test_losses_of_sorted_and_chosen_rows(device):
    x, targets = randn(6, 300), torch.tensor([0, 299, 7, 7, 150, 31])

    def function(x, targets):
        ordered, places = x.sort(-1, descending=True)
        return F.nll_loss(ordered.log_softmax(-1), targets), places.gather(1, targets[:, None])

    got = run(function, (x, targets), device)
    check(got[0], function(x.double(), targets)[0], 100)
    assert torch.equal(got[1], function(x, targets)[1])


def test_most_likely_part(device):
    """What sampling keeps: the sorted softmax while its running sum is below a bound."""
    x = 4 * randn(5, 200)

    def function(x):
        probabilities, places = x.softmax(-1).sort(-1, descending=True)
        before = probabilities.cumsum(-1) - probabilities
        return probabilities.where(before < 0.9, 0), places

    got, places = run(function, (x,), device)
    want, order = function(x.double())
    assert torch.equal(places, order)
    check(got, want, 60)


def test_normalised_image_through_a_window(device):
    x, weight, bias = randn(2, 8, 9, 9), randn(8, seed=1), randn(8, seed=2)
    mean, variance = randn(8, seed=3), randn(8, seed=4).abs() + 0.5

    def function(x, mean, variance, weight, bias):
        normal = F.batch_norm(x, mean, variance, weight, bias)
        return F.max_pool2d(normal.relu(), 3, 2, 1), F.silu(F.group_norm(x, 4, weight, bias))

    inputs = (x, mean, variance, weight, bias)
    for got, want in zip(
        run(function, inputs, device), function(*(x.double() for x in inputs)), strict=True
    ):
        check(got, want, 60, want.abs() + 4)


SYMBOLIC = {
    "scan of rows": lambda x: x.cumsum(1),
    "scan of a softmax": lambda x: x.softmax(-1).cumsum(-1),
    "softmax and its concatenation": lambda x: torch.cat((x.softmax(-1), x), 1),
    "rows in other order": lambda x: x.flip(1).softmax(-1),
    "largest and their places": lambda x: x.topk(4, -1),
    "losses": lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_rows_that_calls_count(name, device):
    function = SYMBOLIC[name]
    fast = deplo.compile(
        function,
        [on(device, randn(4, 300))],
        device=device,
        dynamic_shapes=({0: Dim("rows", min=1, max=4000)},),
    )
    for rows in (1, 2, 33, 257):
        x = randn(rows, 300, seed=rows)
        got, want = fast(on(device, x)), function(x.double())
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for a, b in pairs:
            if b.is_floating_point():
                check(a.cpu(), b, 200, b.abs() + 16, f"{rows}")
            else:
                assert torch.equal(a.cpu(), b)


def test_masked_softmax_of_a_symbolic_long_row(device):
    """Chunks of a row that calls make shorter than the largest one."""

    def function(x, keep):
        return x.masked_fill(~keep, float("-inf")).softmax(-1)

    length = Dim("length", min=1, max=100000)
    example = randn(2, 50), torch.ones(2, 50, dtype=torch.bool)
    fast = deplo.compile(
        function,
        [on(device, x) for x in example],
        device=device,
        dynamic_shapes=({1: length}, {1: length}),
    )
    for size in (1, 31, 1000, 4097) + ((70001,) if device == "host" else ()):
        x, keep = randn(2, size, seed=size), randn(2, size, seed=7) > 0
        keep[0] = torch.arange(size) == size - 1
        keep[1, 0] = True
        got = fast(on(device, x), on(device, keep))
        check(got.cpu(), function(x.double(), keep), 100, what=f"{size}")
