# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that broke other compilers when they fused: several results, results that
share intermediates, and views that are written to."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, randn, run

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program


def compiled_and_eager(function, inputs, device):
    """The results and the inputs after a call: compiled, then by PyTorch."""
    place = "cuda" if device == "cuda" else "cpu"
    ours = [x.clone().to(place) for x in inputs]
    theirs = [x.clone() for x in inputs]
    fast = deplo.compile(function, [x.clone().to(place) for x in inputs], device=device)
    got, want = fast(*ours), function(*theirs)
    got, want = (r if isinstance(r, tuple) else (r,) for r in (got, want))
    return [x.cpu() for x in (*got, *ours)], [*want, *theirs]


@pytest.mark.parametrize("shape", [(17, 9), (64, 33)])
def test_result_with_and_without_a_second_output(shape, device):
    """Jumps of ceil make any difference in tan large."""
    x = randn(*shape)

    def one(x):
        return F.softmax(torch.ceil(torch.tan(x)), 0)

    def two(x):
        return F.softmax(torch.ceil(torch.tan(x)), 0), torch.cat([x, x])

    (alone,), (together, pair) = run(one, (x,), device), run(two, (x,), device)
    assert torch.equal(alone, together) and torch.equal(pair, torch.cat([x, x]))


def test_copy_keeps_the_old_source(device):
    def function(dst, src):
        dst[:] = src[:]
        src += 1
        return dst * 2

    got, want = compiled_and_eager(function, [randn(5, 7), randn(5, 7, seed=1)], device)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_view_is_read_before_it_is_written(device):
    def function(x):
        y = x.view(-1) * 2
        x[:, 2:5] = 2
        return y

    got, want = compiled_and_eager(function, [randn(4, 8)], device)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("depth", [16, 2048])
def test_a_product_is_added_in_place_once(depth, device):
    """Sums of few rows are in parts. Small whole numbers, which f32 adds exactly."""

    def function(c, a, b):
        c += a @ b
        return c * 2

    generator = torch.Generator().manual_seed(0)
    shapes = (5, 7), (5, depth), (depth, 7)
    inputs = [torch.randint(-3, 4, shape, generator=generator).float() for shape in shapes]
    got, want = compiled_and_eager(function, inputs, device)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("size", [3, 4, 8, 33])
def test_a_matrix_and_its_transpose(size, device):
    """Results of one buffer in two orders: neither is added to twice."""

    def function(a):
        b = a + 0
        b[0, 0] += 1
        b[0, 1] += 1
        b[1, 0] += 1
        return b, b.t()

    (got, transposed) = run(function, (torch.zeros(size, size),), device)
    want = torch.zeros(size, size)
    want[0, 0] = want[0, 1] = want[1, 0] = 1
    assert torch.equal(got, want) and torch.equal(transposed, want.t())


def test_concatenation_and_its_softmax(device):
    inputs = randn(512, 1024), randn(512, 1024, seed=1)

    def function(a, b):
        c = torch.cat([a, b], 1)
        return c, F.softmax(c, -1)

    got = run(function, inputs, device)
    want = function(*(x.double() for x in inputs))
    assert torch.equal(got[0].double(), want[0])
    check(got[1], want[1], 60)


def test_statistics_of_a_large_intermediate(device, compiler):
    """What isn't in memory has 3073 x 5120 elements; a block has at most 1024 threads."""
    inputs = randn(3073, 1), randn(1, 5120, seed=1)

    def function(a, b):
        c = a * b
        return c.amax(-1), torch.logsumexp(c, -1)

    text = import_program(function, inputs).text
    report = compile_ir(text, Options(level="ptx", target="sm_90a")).report
    assert all(kernel["block"][0] <= 1024 for kernel in report["kernels"])
    if device == "emu":
        return  # too much for it
    got = run(function, inputs, device)
    want = function(*(x.double() for x in inputs))
    check(got[0], want[0], 1)
    check(got[1], want[1], 60)


def test_producers_are_computed_once(compiler):
    """14 steps of c = a + b, d = a * b: 28 operations, in one kernel."""

    def function(a, b):
        for _ in range(14):
            a, b = a + b, a * b
        return a, b

    text = import_program(function, (randn(8), randn(8))).text
    compilation = compile_ir(text, Options(level="loop"))
    assert len(compilation.report["kernels"]) == 1
    assert compilation.ir.count("arith.addf") == compilation.ir.count("arith.mulf") == 14
