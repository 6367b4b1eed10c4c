# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of reductions, normalisations and softmax."""

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, randn, run, sum_units, wanted
from torch import nn

by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
AXES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]


def magnitude(x, axes, keepdim=False):
    return x.double().abs().sum(axes, keepdim=keepdim)


@by_dtype
@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 33, 64), (16, 1, 129)], ids=str)
def test_sums_over_all_axes(shape, dtype, device):
    x = randn(*shape, dtype=dtype)

    def function(x):
        return [x.sum(axes) for axes in AXES] + [x.mean(axes, keepdim=True) for axes in AXES]

    got, want = run(function, (x,), device), wanted(function, (x,))
    for i, axes in enumerate(AXES):
        size = x.numel() // got[i].numel()
        scale = magnitude(x, axes)
        check(got[i], want[i], sum_units(size), scale, f"sum over {axes}")
        mean = got[i + len(AXES)], want[i + len(AXES)]
        scale = magnitude(x, axes, True) / size
        check(*mean, sum_units(size) + 2, scale, f"mean over {axes}")


@by_dtype
def test_extremes_are_exact(dtype, device):
    x = randn(5, 33, 7, dtype=dtype)

    def function(x):
        return [x.amax(axes) for axes in AXES] + [x.amin(axes, keepdim=True) for axes in AXES]

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert torch.equal(got, want)


@by_dtype
def test_products(dtype, device):
    x = 1 + randn(5, 33, dtype=dtype) / 8
    for axis in (0, 1):
        (got,) = run(lambda x, axis=axis: x.prod(axis), (x,), device)
        check(got, x.double().prod(axis), x.shape[axis], what=f"product over {axis}")


@by_dtype
@pytest.mark.parametrize("correction", [0, 1])
def test_variance(correction, dtype, device):
    x = randn(6, 33, 5, dtype=dtype) + 3

    def function(x):
        return [torch.var(x, a, correction=correction) for a in AXES] + [torch.std(x, 1)]

    for got, want in zip(run(function, (x,), device), wanted(function, (x,)), strict=True):
        check(got, want, 24, what="var")


SIZES = [1, 2, 7, 31, 32, 33, 127, 128, 1000, 1024, 2048, 4097, 8192]


@pytest.mark.parametrize("size", SIZES)
def test_row_kernels(size, device):
    """The row operators at sizes around every power of two that matters."""
    x, w, b = randn(5, size), randn(size, seed=1), randn(size, seed=2)

    def function(x, w, b):
        return (
            F.rms_norm(x, (size,), w, 1e-6),
            F.layer_norm(x, (size,), w, b, 1e-5),
            F.softmax(x, -1),
            F.log_softmax(x, -1),
            x.sum(-1),
        )

    got, want = run(function, (x, w, b), device), wanted(function, (x, w, b))
    check(got[0], want[0], 12, what="rms_norm")
    deviation = (x.double() - x.double().mean(-1, keepdim=True)).abs() + x.double().abs()
    spread = (x.double().var(-1, keepdim=True, correction=0) + 1e-5).rsqrt()
    check(got[1], want[1], 16, deviation * spread * w.abs() + b.abs(), "layer_norm")
    check(got[2], want[2], 2 * sum_units(size), what="softmax")
    check(got[3], want[3], 16, want[3].abs() + 1, "log_softmax")
    check(got[4], want[4], sum_units(size), magnitude(x, -1), "sum")


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=DTYPE_IDS[1:])
@pytest.mark.parametrize("size", [1, 33, 1024, 4097])
def test_row_kernels_in_half_precision_round_once(size, dtype, device):
    x, w, b = (randn(*s, dtype=dtype, seed=i) for i, s in enumerate([(5, size), (size,), (size,)]))

    def function(x, w, b):
        return (
            F.rms_norm(x, (size,), w, 1e-6),
            F.softmax(x, -1),
            F.log_softmax(x, -1),
            F.layer_norm(x, (size,), w, b, 1e-5),
        )

    got, want = run(function, (x, w, b), device), wanted(function, (x, w, b))
    check(got[0], want[0], 12, what="rms_norm")
    check(got[1], want[1], 2 * sum_units(size), what="softmax")
    check(got[2], want[2], 16, want[2].abs() + 1, "log_softmax")
    scale = want[3].abs() + 2 * w.double().abs() + b.double().abs()
    check(got[3], want[3], 32, scale, "layer_norm")


@by_dtype
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_over_any_axis(axis, dtype, device):
    """Edge case 7: the middle axis too."""
    x = 3 * randn(6, 17, 5, dtype=dtype)

    def function(x):
        return F.softmax(x, axis), F.log_softmax(x, axis)

    got, want = run(function, (x,), device), wanted(function, (x,))
    check(got[0], want[0], 40, what="softmax")
    check(got[1], want[1], 16, want[1].abs() + 1, "log_softmax")


@by_dtype
def test_norms_over_several_axes_and_without_weights(dtype, device):
    x = randn(3, 4, 33, dtype=dtype)

    def function(x):
        return (
            F.rms_norm(x, (4, 33), eps=1e-6),
            F.layer_norm(x, (4, 33), eps=1e-5),
            F.rms_norm(x, (33,)),
        )

    got = run(function, (x,), device)
    want = wanted(
        lambda x: (
            F.rms_norm(x, (4, 33), eps=1e-6),
            F.layer_norm(x, (4, 33), eps=1e-5),
            F.rms_norm(x, (33,), eps=torch.finfo(torch.float32).eps),
        ),
        (x,),
    )
    for a, b in zip(got, want, strict=True):
        check(a, b, 16, b.abs() + 1)


@by_dtype
def test_vector_norms_and_logsumexp(dtype, device):
    x = randn(5, 129, dtype=dtype) * 100

    def function(x):
        orders = (1, 2, float("inf"), float("-inf"))
        return [torch.linalg.vector_norm(x, p, -1) for p in orders] + [torch.logsumexp(x, -1)]

    got, want = run(function, (x,), device), wanted(function, (x,))
    for a, b in zip(got, want, strict=True):
        check(a, b, 20)


def test_modules(device, torch_device):
    x = randn(4, 3, 64)
    model = nn.Sequential(nn.LayerNorm(64), nn.GELU(), nn.RMSNorm(64, eps=1e-5), nn.Softmax(-1))
    (want,) = wanted(model.double(), (x,))
    (got,) = run(model.float().to(torch_device), (x,), device)
    check(got, want, 100)


@pytest.mark.parametrize("rows,columns", [(1, 5), (997, 3), (300, 300)])
def test_column_sums(rows, columns, device):
    x = randn(rows, columns)
    (got,) = run(lambda x: x.sum(0), (x,), device)
    check(got, x.double().sum(0), sum_units(rows), magnitude(x, 0), "sum over 0")
