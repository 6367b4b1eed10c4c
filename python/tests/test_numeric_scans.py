# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of cumulative sums, products, extremes and sums of exponentials."""

import pytest
import torch
from numeric import DTYPE_IDS, DTYPES, check, randn, run, sum_units

INF, NAN = float("inf"), float("nan")
# Runs of a thread, lanes, warps, chunks and parts, and one more or less.
SIZES = [1, 2, 7, 8, 9, 31, 33, 64, 127, 129, 511, 513, 1024, 4097, 20000]


def scan_units(size: int, chunk: int = 256) -> float:
    """Bound of a scan of `size` terms: one rounding for each chunk, and a tree in it."""
    return size / chunk + 2 * sum_units(size)


by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)


@by_dtype
@pytest.mark.parametrize("size", SIZES)
def test_sums_of_rows(size, dtype, device):
    x = randn(3, size, dtype=dtype)
    (got,) = run(lambda x: x.cumsum(-1), (x,), device)
    scale = x.double().abs().cumsum(-1)
    check(got, x.double().cumsum(-1), scan_units(size), scale, "cumsum")


@pytest.mark.parametrize("rows", [1, 3, 40, 300])
@pytest.mark.parametrize("columns", [1, 3, 32, 33, 300])
def test_many_short_rows(rows, columns, device):
    x = randn(rows, columns)
    for axis in (0, 1):
        (got,) = run(lambda x, axis=axis: x.cumsum(axis), (x,), device)
        scale = x.double().abs().cumsum(axis)
        check(got, x.double().cumsum(axis), scan_units(x.shape[axis]), scale, f"over {axis}")


# A power of two, a multiple of a few numbers, a prime.
@pytest.mark.parametrize("size", [65536, 50000, 65537])
@pytest.mark.parametrize("shape", [(1, -1), (-1, 2)], ids=["row", "columns"])
def test_few_long_rows_are_divided(shape, size, device):
    x = randn(*[size if n < 0 else n for n in shape])
    axis = shape.index(-1)

    def function(x):
        return torch.exp(x.cumsum(axis) / size) + 1

    (got,) = run(function, (x,), device)
    units = scan_units(size) * x.double().abs().sum().item() / size + 4
    check(got, function(x.double()), units, 4, f"cumsum of {size}")


@pytest.mark.parametrize("size", [1000, 5001])
def test_rows_in_chunks(size, device):
    """Chunks of few elements, so that there are many."""
    x = randn(5, size)
    for schedule in ("chunk=64,warps=1", "chunk=256,warps=4", "chunk=512,warps=2,vector=1"):
        (got,) = run(lambda x: x.cumsum(1), (x,), device, schedule=schedule)
        scale = x.double().abs().cumsum(1)
        check(got, x.double().cumsum(1), scan_units(size, 64), scale, schedule)


@by_dtype
@pytest.mark.parametrize("size", [1, 33, 1000, 5000])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_exponentials(axis, size, dtype, device):
    x = (4 * randn(size, 3)).to(dtype)
    x = x.t().contiguous() if axis else x
    (got,) = run(lambda x: x.logcumsumexp(axis), (x,), device)
    want = x.double().logcumsumexp(axis)
    check(got, want, 8 * scan_units(size), 1 + want.abs(), f"logcumsumexp over {axis}")


def test_sums_of_exponentials_of_special_values(device):
    x = torch.tensor(
        [
            [-INF, -INF, 1.0, -INF, 200.0, -300.0],
            [0.0, INF, 1.0, -INF, INF, 2.0],
            [1.0, 2.0, NAN, 3.0, INF, -INF],
            [-INF, -INF, -INF, -INF, -INF, -INF],
        ]
    )
    (got,) = run(lambda x: x.logcumsumexp(1), (x,), device)
    torch.testing.assert_close(got, x.logcumsumexp(1), equal_nan=True)


@by_dtype
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sums_along_any_axis(axis, dtype, device):
    x = randn(19, 37, 35, dtype=dtype)
    (got,) = run(lambda x: x.cumsum(axis), (x,), device)
    scale = x.double().abs().cumsum(axis)
    check(got, x.double().cumsum(axis), scan_units(37), scale, f"cumsum over {axis}")


@by_dtype
@pytest.mark.parametrize("axis", [0, 1])
def test_products(axis, dtype, device):
    x = 1 + randn(33, 35, dtype=dtype) / 16
    (got,) = run(lambda x: x.cumprod(axis), (x,), device)
    check(got, x.double().cumprod(axis), 36, what=f"cumprod over {axis}")


def special(*shape, dtype):
    """Few different numbers, so that extremes repeat, and NaN in some rows."""
    x = (randn(*shape) * 3).round()
    for row, column, value in ((1, 20, INF), (2, 5, NAN), (2, 40, NAN), (3, 0, -INF)):
        x[row, column] = value
    return x.to(dtype)


@by_dtype
@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_and_their_places_are_exact(axis, name, dtype, device):
    x = special(35, 300, dtype=dtype)
    values, places = run(lambda x: getattr(torch, name)(x, axis), (x,), device)
    want = getattr(torch, name)(x, axis)
    torch.testing.assert_close(values, want.values, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(places, want.indices)


def test_infinities_and_nan_stay(device):
    x = special(4, 300, dtype=torch.float32)
    x[1, 90] = -INF
    for name in ("cumsum", "cumprod"):
        (got,) = run(lambda x, name=name: getattr(torch, name)(x, 1), (x,), device)
        want = getattr(torch, name)(x.double(), 1)
        assert torch.equal(got.isnan(), want.isnan())
        assert torch.equal(got.isposinf(), want.isposinf())
        assert torch.equal(got.isneginf(), want.isneginf())


INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", INTEGERS, ids=["i64", "i32", "i8", "u8", "bool"])
def test_integers(dtype, device):
    x = torch.randint(0, 200, (5, 70), generator=torch.Generator().manual_seed(0)).to(dtype)

    def function(x):
        narrow = torch.int32 if dtype == torch.bool else dtype
        return (
            x.cumsum(1),
            x.cumprod(1),
            *x.cummax(1),
            *x.cummin(0),
            x.cumsum(0, dtype=narrow),
        )

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert got.dtype == want.dtype and torch.equal(got, want)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), ()], ids=str)
def test_nothing_and_scalars(shape, device):
    x = torch.ones(shape)

    def function(x):
        return x.cumsum(0), x.cumprod(0), x.cummax(0).values + x.cummin(0).indices

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert torch.equal(got, want)


def test_strided_input_and_neighbours(device):
    x = randn(70, 36)

    def function(x):
        return torch.exp(x.t()[::2]).cumsum(1) * 2

    (got,) = run(function, (x,), device)
    want = function(x.double())
    check(got, want, scan_units(70) + 4, what="cumsum of exp")


def test_two_runs_give_the_same_bits(device):
    x = randn(2, 5000)
    first, second = (run(lambda x: x.cumsum(1), (x,), device)[0] for _ in range(2))
    assert torch.equal(first, second)
