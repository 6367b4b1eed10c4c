# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every elementwise operator and dtype: real ones within a bound of float64,
integers exactly as PyTorch. Many operators share one program."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, compile_for_gpu, randn, run

INF, NAN = math.inf, math.nan
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8]
INTEGER_IDS = ["i64", "i32", "i8", "u8"]
by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
by_integer = pytest.mark.parametrize("dtype", INTEGERS, ids=INTEGER_IDS)

# Operator -> bound in units of 2^-24 of the result; 0 is correctly rounded.
UNARY = {
    "abs": (torch.abs, 0),
    "acos": (torch.acos, 6),
    "acosh": (torch.acosh, 8),
    "asin": (torch.asin, 6),
    "asinh": (torch.asinh, 8),
    "atan": (torch.atan, 6),
    "atanh": (torch.atanh, 8),
    "ceil": (torch.ceil, 0),
    "celu": (lambda x: F.celu(x, 0.7), 8),
    "cos": (torch.cos, 6),
    "cosh": (torch.cosh, 6),
    "deg2rad": (torch.deg2rad, 4),
    "elu": (lambda x: F.elu(x, 0.52), 6),
    "erf": (torch.erf, 6),
    "erfc": (torch.erfc, 14),
    "exp": (torch.exp, 4),
    "exp2": (torch.exp2, 4),
    "expm1": (torch.expm1, 6),
    "floor": (torch.floor, 0),
    "frac": (torch.frac, 0),
    "hardshrink": (F.hardshrink, 0),
    "hardsigmoid": (F.hardsigmoid, 4),
    "hardswish": (lambda x: F.hardswish(x.clamp(-1e4, 1e4)), 6),  # PyTorch multiplies first
    "hardtanh": (F.hardtanh, 0),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), 0),
    "log": (torch.log, 4),
    "log10": (torch.log10, 6),
    "log1p": (torch.log1p, 4),
    "log2": (torch.log2, 4),
    "logsigmoid": (F.logsigmoid, 8),
    "mish": (lambda x: F.mish(x.clamp(min=-80)), 16),
    "nan_to_num": (lambda x: torch.nan_to_num(x, 1.5, 2.5, -3.5), 0),
    "neg": (torch.neg, 0),
    "reciprocal": (torch.reciprocal, 0),
    "relu": (torch.relu, 0),
    "relu6": (F.relu6, 0),
    "round": (torch.round, 0),
    "rsqrt": (torch.rsqrt, 4),
    "selu": (F.selu, 8),
    "sigmoid": (lambda x: torch.sigmoid(x.clamp(min=-87)), 6),  # then e^-x is infinite
    "sign": (torch.sign, 0),
    "silu": (lambda x: F.silu(x.clamp(min=-87)), 8),
    "sin": (torch.sin, 6),
    "sinh": (torch.sinh, 8),
    "softplus": (F.softplus, 6),
    "softshrink": (F.softshrink, 4),
    "softsign": (lambda x: F.softsign(x.float()), 6),  # in two roundings
    "sqrt": (torch.sqrt, 0),
    "square": (torch.square, 0),
    "tan": (torch.tan, 8),
    "tanh": (torch.tanh, 6),
    "threshold": (lambda x: F.threshold(x, 0.25, -2.0), 0),
    "trunc": (torch.trunc, 0),
}
PREDICATES = {
    "isfinite": torch.isfinite,
    "isinf": torch.isinf,
    "isnan": torch.isnan,
    "isposinf": torch.isposinf,
    "isneginf": torch.isneginf,
    "signbit": torch.signbit,
    "logical_not": torch.logical_not,
}
# Where f64 results differ from f32 by more than rounding: bound relative to
# the operands, not the result.
BINARY = {
    "add": (torch.add, 0),
    "atan2": (torch.atan2, 8),
    "copysign": (torch.copysign, 0),
    "div": (torch.div, 0),
    "fmax": (torch.fmax, 0),
    "fmin": (torch.fmin, 0),
    "fmod": (torch.fmod, 0),
    "hypot": (torch.hypot, 4),
    "logaddexp": (torch.logaddexp, 8),
    "maximum": (torch.maximum, 0),
    "minimum": (torch.minimum, 0),
    "mul": (torch.mul, 0),
    "pow": (torch.pow, 4),
    "sub": (torch.sub, 0),
    "xlogy": (torch.xlogy, 6),
}
COMPARISONS = {
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}


def special(dtype):
    """Zeros, infinities, NaN, subnormals, the extremes, halves, integers."""
    info = torch.finfo(dtype)
    least = info.smallest_normal
    one = [0.0, INF, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, info.max, least, least / 4, 1e-3, 1e2, 1e4]
    return torch.tensor([*one, *(-x for x in one), NAN], dtype=torch.float64).to(dtype)


def reals(dtype):
    """Special values, and random ones of every size."""
    scale = torch.logspace(-6, 4, 200, dtype=torch.float64)
    spread = (randn(200).double() * scale).to(dtype)
    return torch.cat([special(dtype), randn(300, dtype=dtype, seed=1) * 3, spread])


def pairs(dtype):
    """Every pair of special values, and random pairs."""
    values = special(dtype)
    grid = torch.cartesian_prod(values, values)
    x, y = reals(dtype), reals(dtype).flip(0)
    return torch.cat([grid[:, 0], x]), torch.cat([grid[:, 1], y])


# What a maximum or minimum of zeros of both signs is, PyTorch leaves open.
ANY_ZERO = {
    "frac",  # of a negative integer: one or the other, by version of PyTorch
    "softshrink",
    "relu",
    "relu6",
    "hardtanh",
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "threshold",
}


def check_real(name, got, want, units):
    """`check`, and the sign of zeros; correctly rounded where no unit is allowed."""
    if units == 0:
        torch.testing.assert_close(
            got, want.to(got.dtype), rtol=0, atol=0, equal_nan=True, msg=lambda m: f"{name}: {m}"
        )
    check(got, want, max(units, 1), what=name)
    if name in ANY_ZERO:
        return
    zero = (want == 0) & (got == 0)
    assert torch.equal(torch.signbit(got[zero]), torch.signbit(want[zero])), f"{name}: sign of 0"


@by_dtype
def test_unary(dtype, device):
    x = reals(dtype)

    def function(x):
        return [f(x) for f, _ in UNARY.values()] + [f(x) for f in PREDICATES.values()]

    got = run(function, (x,), device)
    for (name, (f, units)), result in zip(UNARY.items(), got, strict=False):
        check_real(name, result, f(x.double()).double(), units)
    for (name, f), result in zip(PREDICATES.items(), got[len(UNARY) :], strict=True):
        assert torch.equal(result, f(x)), name
    compile_for_gpu(function, (x,), device)


@by_dtype
def test_binary(dtype, device):
    x, y = pairs(dtype)

    def function(x, y):
        return [f(x, y) for f, _ in BINARY.values()] + [f(x, y) for f in COMPARISONS.values()]

    got = run(function, (x, y), device)
    for (name, (f, units)), result in zip(BINARY.items(), got, strict=False):
        check_real(name, result, f(x.double(), y.double()), units)
    for (name, f), result in zip(COMPARISONS.items(), got[len(BINARY) :], strict=True):
        assert torch.equal(result, f(x, y)), name
    compile_for_gpu(function, (x, y), device)


@by_dtype
def test_floor_division_and_remainder(dtype, device):
    """Edge case 26: as PyTorch defines them, not by rounding x / y first."""
    x, y = pairs(dtype)
    bounded = (x.double() / y.double()).abs() < 2.0**24
    x, y = x[bounded], y[bounded]

    def function(x, y):
        return [
            torch.floor_divide(x, y),
            torch.div(x, y, rounding_mode="floor"),
            torch.div(x, y, rounding_mode="trunc"),
            torch.remainder(x, y),
        ]

    got = run(function, (x, y), device)
    want = [f.to(dtype) for f in function(x.double(), y.double())]
    for name, a, b in zip(("floor", "div floor", "div trunc", "remainder"), got, want, strict=True):
        if name == "div trunc":  # of the rounded quotient
            b = torch.div(x.float(), y.float(), rounding_mode="trunc").to(dtype)
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_floor_division_of_tenths(device):
    x, y = torch.tensor([1.0, 0.5, 6.0, -1.0]), torch.tensor([0.1, 0.1, 0.2, 0.1])
    (got,) = run(lambda x, y: x // y, (x, y), device)
    assert got.tolist() == [9, 4, 29, -10]


TERNARY = {
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.3), 4),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=0.3), 6),
    "lerp": (lambda x, y, z: torch.lerp(x, y, z), 8),
    "where": (lambda x, y, z: torch.where(x > y, y, z), 0),
    "where number": (lambda x, y, z: torch.where(x > y, z, -1.5), 0),
    "masked_fill": (lambda x, y, z: x.masked_fill(y > z, -1e4), 0),
    "clamp": (lambda x, y, z: torch.clamp(x, y, z), 0),
    "ldexp": (lambda x, y, z: torch.ldexp(x, torch.floor(y)), 4),
    "prelu": (lambda x, y, z: F.prelu(x[:, None], y[:1].abs()), 2),
}


@by_dtype
def test_ternary(dtype, device):
    x, y, z = (randn(777, dtype=dtype, seed=i) for i in range(3))
    z = z + torch.sign(z)

    def function(x, y, z):
        return [f(x, y, z) for f, _ in TERNARY.values()]

    got = run(function, (x, y, z), device)
    wide = [v.double() for v in (x, y, z)]
    size = sum(v.abs() for v in wide) + (wide[1] * wide[2]).abs() + (wide[1] / wide[2]).abs()
    for (name, (f, units)), result in zip(TERNARY.items(), got, strict=True):
        want = f(*wide)
        check(result, want, max(units, 1), scale=size.reshape(want.shape), what=name)
    compile_for_gpu(function, (x, y, z), device)


def test_rounding_to_decimals(device):
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, 1.005, 2.675, 123.456, -7.5])

    def function(x):
        return torch.round(x), torch.round(x, decimals=2), torch.round(x, decimals=-1)

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert torch.equal(got, want)


def takes_wide(dtype):
    """Whether PyTorch clamps to bounds beyond the range of the dtype; older ones refuse."""
    try:
        torch.clamp(torch.zeros(1, dtype=dtype), -1000, 1000)
    except RuntimeError:
        return False
    return True


TAKES_WIDE = {dtype: takes_wide(dtype) for dtype in (torch.int8, torch.uint8)}

# Exact on integers, as PyTorch.
INTEGER_UNARY = {
    "abs": torch.abs,
    "bitwise_not": torch.bitwise_not,
    "ceil": torch.ceil,
    "clamp": lambda x: torch.clamp(x, 3, 100),
    "clamp beyond the range": lambda x: (
        torch.clamp(x, -1000, 1000) if TAKES_WIDE.get(x.dtype, True) else x
    ),
    "floor": torch.floor,
    "logical_not": torch.logical_not,
    "neg": torch.neg,
    "pow 0": lambda x: x**0,
    "pow 5": lambda x: x**5,
    "relu": torch.relu,
    "sign": torch.sign,
    "square": torch.square,
    "isnan": torch.isnan,
    "to f32": lambda x: x.float(),
    "to f16": lambda x: x.half(),
    "to bool": lambda x: x.bool(),
    "to i64": lambda x: x.long(),
    "to i32": lambda x: x.int(),
    "to i8": lambda x: x.to(torch.int8),
    "to u8": lambda x: x.to(torch.uint8),
    "minus number": lambda x: 7 - x,
    "times number": lambda x: x * 3,
}
INTEGER_BINARY = {
    "add": torch.add,
    "add alpha": lambda x, y: torch.add(x, y, alpha=3),
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "div floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "eq": torch.eq,
    "floor_divide": torch.floor_divide,
    "fmod": torch.fmod,
    "gcd": torch.gcd,
    "ge": torch.ge,
    "gt": torch.gt,
    "lcm": torch.lcm,
    "le": torch.le,
    "logical_and": torch.logical_and,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "mul": torch.mul,
    "ne": torch.ne,
    "remainder": torch.remainder,
    "sub": torch.sub,
    "where": lambda x, y: torch.where(x > y, x, y * 2),
}


def integers(dtype, seed):
    """The extremes, small numbers, and random ones of all magnitudes."""
    info = torch.iinfo(dtype)
    generator = torch.Generator().manual_seed(seed)
    edges = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, 3, 5, 7, 100]
    edges += [] if info.min == 0 else [-1, -2, -3, -7]
    spread = torch.randint(-(2**62), 2**62, (400,), generator=generator)
    spread = spread >> torch.randint(0, 62, (400,), generator=generator)
    return torch.cat([torch.tensor(edges, dtype=dtype), spread.to(dtype)])


@by_integer
def test_integers(dtype, device):
    x = integers(dtype, 0)
    y = integers(dtype, 1).flip(0)
    y = torch.where((y == 0) | (y == -1), 3, y).to(dtype)  # PyTorch stops at x // 0

    def function(x, y):
        results = [f(x) for f in INTEGER_UNARY.values()]
        return results + [f(x, y) for f in INTEGER_BINARY.values()]

    got = run(function, (x, y), device)
    names = [*INTEGER_UNARY, *INTEGER_BINARY]
    for name, a, b in zip(names, got, function(x, y), strict=True):
        assert a.dtype == b.dtype, name
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    compile_for_gpu(function, (x, y), device)


@by_integer
def test_shifts_and_powers(dtype, device):
    bits = torch.iinfo(dtype).bits
    x = integers(dtype, 2)
    distances = torch.arange(len(x)).remainder(bits + 3).to(dtype)
    exponents = torch.arange(len(x)).remainder(70).to(dtype)
    if dtype != torch.uint8:
        exponents = exponents - 4

    def function(x, d, e):
        return torch.bitwise_left_shift(x, d), torch.bitwise_right_shift(x, d), torch.pow(x, e)

    for got, want in zip(
        run(function, (x, distances, exponents), device),
        function(x, distances, exponents),
        strict=True,
    ):
        assert torch.equal(got, want)


@by_integer
def test_integer_division_by_zero_and_overflow_do_not_stop(dtype, device):
    """Edge case 29: by 0 the quotient is 0 and the remainder the dividend."""
    info = torch.iinfo(dtype)
    x = torch.tensor([info.min, info.max, 5, 0], dtype=dtype)
    zero, last = torch.zeros_like(x), torch.full_like(x, -1 if info.min else info.max)

    def function(x, y):
        return x // y, torch.div(x, y, rounding_mode="trunc"), torch.remainder(x, y)

    got = run(function, (x, zero), device)
    assert not got[0].any() and not got[1].any() and torch.equal(got[2], x)
    got = run(function, (x, last), device)
    if info.min:
        assert torch.equal(got[0], -x) and torch.equal(got[1], -x) and not got[2].any()


def test_signs_of_integer_remainders(device):
    """Edge case 28."""
    x, y = torch.tensor([-1, -2, 7, -7]), torch.tensor([3, 3, -3, 3])
    got = run(lambda x, y: (torch.remainder(x, y), torch.fmod(x, y)), (x, y), device)
    assert got[0].tolist() == [2, 1, -2, 2] and got[1].tolist() == [-1, -2, 1, -1]


def test_bools(device):
    x = torch.tensor([False, True, False, True])
    y = torch.tensor([False, False, True, True])

    def function(x, y):
        return [
            x & y, x | y, x ^ y, ~x, x + y, x * y, x == y, x < y, x >= y, torch.maximum(x, y),
            torch.logical_not(x), x.float(), x.half(), x.long(), x.to(torch.uint8), x + 1, x * 2.5,
            torch.where(x, 1.0, 2.0), torch.where(x, y, ~y), x.sum(), x.any(), x.all(),
        ]  # fmt: skip

    for i, (got, want) in enumerate(
        zip(run(function, (x, y), device), function(x, y), strict=True)
    ):
        assert got.dtype == want.dtype and torch.equal(got, want), i
    compile_for_gpu(function, (x, y), device)


EVERY = [*DTYPES, *INTEGERS, torch.bool]


@pytest.mark.parametrize("operator", [torch.add, torch.mul, torch.true_divide, torch.eq])
def test_promotion(operator, device):
    """Every pair of dtypes, and 0-d tensors and numbers that don't promote."""
    values = {dtype: torch.tensor([0, 1, 3, 1]).to(dtype) for dtype in EVERY}
    inputs = [*values.values(), *(v[2] for v in values.values())]

    def fits(x, y):
        """i8 and u8 promote to i16, which deplo hasn't."""
        return {x.dtype, y.dtype} != {torch.int8, torch.uint8}

    def function(*inputs):
        tensors, scalars = inputs[: len(EVERY)], inputs[len(EVERY) :]
        results = [operator(x, y) for x, y in itertools.product(tensors, tensors) if fits(x, y)]
        results += [operator(x, y) for x, y in itertools.product(tensors, scalars) if fits(x, y)]
        return results + [operator(x, n) for x, n in itertools.product(tensors, (True, 2, 0.5))]

    got = run(function, inputs, device)
    for a, b in zip(got, function(*inputs), strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_casts_from_floats(device):
    x = torch.tensor([0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, -100.7, 254.9, 1e9])

    def function(x):
        return [x.to(dtype) for dtype in (*INTEGERS, torch.bool)]

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert torch.equal(got, want)
    beyond = torch.tensor([3e9, -3e9, 1e20, -1e20, INF, -INF, NAN])
    i64, i32, *_ = run(function, (beyond,), device)
    top, low = 2**63 - 1, -(2**63)
    assert i64.tolist() == [3000000000, -3000000000, top, low, top, low, 0]
    assert i32.tolist() == [2**31 - 1, -(2**31)] * 3 + [0]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 1), (513,)], ids=str)
def test_shapes(shape, device):
    x = randn(*shape)
    i = (x * 10).int()

    def function(x, i):
        return torch.exp2(x), x > 0, torch.where(x > 0, x, 0.0), i // 3, i.bool(), torch.sign(i)

    for got, want in zip(run(function, (x, i), device), function(x, i), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_strided_inputs(dtype, device):
    base = (randn(12, 10) * 5).to(dtype)
    for x in (base.t(), base[:, ::3], base[2:7], base[:1].expand(4, 10), base[::2, 1::2]):
        (got,) = run(
            lambda x: torch.where(x == 0, x, x) if x.dtype == torch.bool else x + x, (x,), device
        )
        want = x if dtype == torch.bool else x + x
        assert got.dtype == want.dtype and torch.equal(got, want)


def test_arange_and_masks(device):
    x = randn(5, 7)

    def function(x):
        return [
            torch.arange(7, device=x.device) + x.long(),
            torch.arange(0.0, 0.7, 0.1, device=x.device) * x,
            torch.linspace(0, 1, 7, device=x.device) + x,
            torch.tril(x),
            torch.triu(x, 1),
            torch.arange(5, device=x.device)[:, None] >= torch.arange(7, device=x.device),
            torch.arange(20, device=x.device)[2:16:2] * 2,
            torch.eye(5, 7, device=x.device) * x,
        ]

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-7)
    compile_for_gpu(function, (x,), device)
