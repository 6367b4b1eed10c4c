# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are formulas of the importer: gamma's kin, Bessel's, parts of
numbers, divisors. Bounds are in units of 2^-24 of the result, or of 1 + |result|
where it passes through 0."""

import math

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, compile_for_gpu, randn, run

INF, NAN = math.inf, math.nan
by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)


def spread(dtype):
    """Numbers of many sizes, multiples of a half, and neighbours of zeros of lgamma."""
    parts = [randn(300, seed=i) * size for i, size in enumerate((1e-6, 1, 3, 10, 80))]
    parts += [torch.arange(-20, 60) * 0.5, 1 + randn(50) * 1e-3, 2 + randn(50) * 1e-3]
    return torch.cat(parts).to(dtype)


@by_dtype
def test_gamma(dtype, device):
    x = spread(dtype)

    def function(x):
        return torch.lgamma(x), torch.digamma(x)

    got = run(function, (x,), device)
    for name, result, want in zip(("lgamma", "digamma"), got, function(x.double()), strict=True):
        check(result, want, 12, scale=want.abs() + 1, what=name)
    positive = x > 0.1
    check(got[0][positive], torch.lgamma(x.double())[positive], 8, what="positive lgamma")
    compile_for_gpu(function, (x,), device)


def test_poles_and_limits_of_gamma(device):
    x = torch.tensor([0.0, -0.0, -1.0, -7.0, INF, -INF, NAN, 1.0, 2.0, 1e-45, -1e-45, 3e38, -3e38])
    lgamma, digamma = run(lambda x: (torch.lgamma(x), torch.digamma(x)), (x,), device)
    torch.testing.assert_close(lgamma, torch.lgamma(x), rtol=1e-6, atol=0, equal_nan=True)
    torch.testing.assert_close(digamma, torch.digamma(x), rtol=1e-6, atol=1e-6, equal_nan=True)


@by_dtype
def test_inverse_error_function(dtype, device):
    ends = torch.tensor([1.0, -1.0, 0.0, -0.0, 1.5, NAN, 1 - 2.0**-24, 2.0**-24 - 1])
    x = torch.cat([ends, torch.tanh(randn(2000) * 2), randn(100) * 1e-6]).to(dtype)
    (got,) = run(torch.erfinv, (x,), device)
    check(got, torch.erfinv(x.double()), 6)
    assert torch.signbit(got[3])


@by_dtype
def test_bessel_functions(dtype, device):
    x = torch.cat([spread(dtype).clamp(-80, 80), torch.tensor([8.0, -8.0, NAN], dtype=dtype)])
    special = torch.special

    def function(x):
        return special.i0(x), special.i0e(x), special.i1(x), special.i1e(x)

    got = run(function, (x,), device)
    for name, result, want in zip(
        ("i0", "i0e", "i1", "i1e"), got, function(x.double()), strict=True
    ):
        check(result, want, 8, what=name)


def test_bessel_functions_far_out(device):
    """Near the largest number, and at infinity, where PyTorch's I0 is NaN."""
    x = torch.tensor([91.0, -91.0, INF, -INF])
    i0, i1, scaled = run(
        lambda x: (torch.i0(x), torch.special.i1(x), torch.special.i0e(x)), (x,), device
    )
    check(i0[:2], torch.i0(x[:2].double()), 8)
    assert i0[2:].tolist() == [INF, INF] and i1[2:].tolist() == [INF, -INF]
    assert scaled[2:].tolist() == [0, 0]


@by_dtype
def test_parts_of_numbers(dtype, device):
    x = torch.cat([spread(dtype), torch.tensor([INF, -INF, NAN, 0.0, -0.0, 1e-45]).to(dtype)])
    mantissa, exponent = run(torch.frexp, (x,), device)
    want = torch.frexp(x)
    torch.testing.assert_close(mantissa, want.mantissa, rtol=0, atol=0, equal_nan=True)
    plain = x.isfinite()
    assert exponent.dtype == torch.int32
    assert torch.equal(exponent[plain], want.exponent[plain])


@by_dtype
def test_angles(dtype, device):
    x = torch.tensor([1.0, -1.0, 0.0, -0.0, INF, -INF, NAN], dtype=dtype)
    (got,) = run(torch.angle, (x,), device)
    torch.testing.assert_close(got, torch.angle(x), equal_nan=True)


@by_dtype
def test_neighbours(dtype, device):
    """From and to zeros, subnormal numbers, the extremes, in the tensor's own dtype."""
    info = torch.finfo(dtype)
    least = info.smallest_normal
    values = [0.0, 1.0, 2.5, info.max, least, least / 4, least * 2, INF]
    values = torch.tensor([*values, *(-v for v in values), NAN], dtype=torch.float64).to(dtype)
    pairs = torch.cartesian_prod(values, values)
    inputs = (pairs[:, 0].contiguous(), pairs[:, 1].contiguous())
    (got,) = run(torch.nextafter, inputs, device)
    torch.testing.assert_close(got, torch.nextafter(*inputs), rtol=0, atol=0, equal_nan=True)


def test_longest_divisions(device):
    """Neighbours among Fibonacci's numbers take most steps."""
    x = torch.tensor([4660046610375530309, 7540113804746346429, 2**62, -12, 0, 0])
    y = torch.tensor([7540113804746346429, 4660046610375530309, 3 * 2**40, 18, -5, 0])
    gcd, narrow = run(lambda x, y: (torch.gcd(x, y), torch.gcd(x.int(), y.int())), (x, y), device)
    assert torch.equal(gcd, torch.gcd(x, y)) and gcd.tolist() == [1, 1, 2**40, 6, 5, 0]
    assert torch.equal(narrow, torch.gcd(x.int(), y.int()))


def silu_by_exp(x):
    return x / (1 + torch.exp(-x))


@pytest.mark.parametrize(
    "function",
    [
        *(torch.exp, torch.exp2, torch.expm1, torch.sinh, torch.cosh, torch.tanh),
        *(torch.sigmoid, F.silu, F.softplus, F.gelu, F.elu, silu_by_exp),
    ],
    ids=lambda function: function.__name__,
)
def test_no_nans_where_exponentials_overflow(function, device):
    """Where e^x and 2^x leave f32's range, in steps of a unit in the last place and wider."""
    ends = torch.tensor([88.0297, 88.72284, 89.41598, 103.97, 127.99999, 149.0])
    near = ends[:, None] + torch.arange(-40, 40) * 2.0**-17
    x = torch.cat([near.flatten(), torch.linspace(80, 170, 3000)])
    x = torch.cat([x, -x])
    (got,) = run(function, (x,), device)
    assert not got.isnan().any(), x[got.isnan()]
    want = function(x.double()).float()
    away = want.abs() < torch.finfo(torch.float32).max * (1 - 1e-5)
    torch.testing.assert_close(got[away], want[away], rtol=1e-5, atol=1e-36)
    assert (got[~away].abs() > torch.finfo(torch.float32).max * (1 - 1e-4)).all()
