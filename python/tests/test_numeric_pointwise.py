# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of pointwise operators, casts and views."""

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, randn, run, wanted

by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)

# One IEEE operation: the bits of the float64 result, rounded once.
EXACT = {
    "neg": lambda x, y: -x,
    "abs": lambda x, y: torch.abs(x),
    "relu": lambda x, y: torch.relu(x),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sqrt": lambda x, y: torch.sqrt(torch.abs(x)),
    "reciprocal": lambda x, y: torch.reciprocal(x),
    "maximum": lambda x, y: torch.maximum(x, y),
    "minimum": lambda x, y: torch.minimum(x, y),
    "clamp": lambda x, y: torch.clamp(x, -0.5, 0.7),
    "square": lambda x, y: x**2,
    "hardtanh": lambda x, y: F.hardtanh(x),
}


@by_dtype
@pytest.mark.parametrize("name", EXACT)
def test_correctly_rounded(name, dtype, device):
    x, y = randn(7, 33, dtype=dtype), randn(7, 33, dtype=dtype, seed=1)
    (got,) = run(EXACT[name], (x, y), device)
    want = EXACT[name](x.double(), y.double())
    assert torch.equal(got, want.to(dtype))


@by_dtype
def test_each_operator_rounds_and_numbers_do_not(dtype, device):
    """x * 1.1 + 0.3 with the numbers in f32 and two roundings to the dtype."""
    x = randn(7, 33, dtype=dtype)
    (got,) = run(lambda x: x * 1.1 + 0.3, (x,), device)
    assert torch.equal(got, ((x.float() * 1.1).to(dtype).float() + 0.3).to(dtype))


# name -> (function, units of |result|), inputs standard normal.
CLOSE = {
    "exp": (torch.exp, 4),
    "log": (lambda x: torch.log(torch.abs(x)), 4),
    "rsqrt": (lambda x: torch.rsqrt(torch.abs(x)), 4),
    "sin": (torch.sin, 4),
    "cos": (torch.cos, 4),
    "tan": (torch.tan, 10),
    "tanh": (torch.tanh, 6),
    "erf": (torch.erf, 6),
    "sigmoid": (torch.sigmoid, 6),
    "silu": (F.silu, 8),
    "pow": (lambda x: torch.pow(torch.abs(x), 2.7), 6),
    "exp2": (torch.exp2, 6),
    "pow_of_number": (lambda x: 3.0**x, 6),
    "hardswish": (F.hardswish, 6),
    "hardsigmoid": (F.hardsigmoid, 4),
}


@by_dtype
@pytest.mark.parametrize("name", CLOSE)
def test_close(name, dtype, device):
    function, units = CLOSE[name]
    x = 2 * randn(7, 33, dtype=dtype)
    (got,) = run(lambda x: function(x), (x,), device)
    check(got, wanted(function, (x,))[0], units, what=name)


# Cancellation near zero: relative to |x|.
@by_dtype
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate, dtype, device):
    x = 3 * randn(7, 33, dtype=dtype)

    def function(x):
        return F.gelu(x, approximate=approximate)

    (got,) = run(function, (x,), device)
    check(got, wanted(function, (x,))[0], 8, scale=x.double().abs(), what="gelu")


@by_dtype
def test_composites_round_once(dtype, device):
    x, y, z = (randn(5, 17, dtype=dtype, seed=i) for i in range(3))
    z = z.abs() + 1

    def function(x, y, z):
        return (
            torch.addcmul(x, y, z, value=0.3),
            torch.addcdiv(x, y, z, value=0.3),
            torch.add(x, y, alpha=0.3),
            F.glu(x[:, :16], -1),
        )

    got = run(function, (x, y, z), device)
    want = wanted(function, (x, y, z))
    size = x.abs().double() + 0.3 * (y * z).abs().double()
    check(got[0], want[0], 4, scale=size, what="addcmul")
    quotient = 0.3 * (y.double() / z.double()).abs()
    check(got[1], want[1], 6, scale=x.abs().double() + quotient, what="addcdiv")
    check(got[2], want[2], 4, scale=x.abs().double() + y.abs().double(), what="add alpha")
    check(got[3], want[3], 8, what="glu")


SHAPES = [
    (),
    (1,),
    (2,),
    (7,),
    (1, 1),
    (31, 1),
    (1, 97),
    (17, 31),
    (3, 5, 7),
    (64, 128),
    (129, 257),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape, device):
    x, y = randn(*shape), randn(*shape, seed=1)

    def function(x, y):
        return F.silu(x) * y, x + 1

    got = run(function, (x, y), device)
    for a, b in zip(got, wanted(function, (x, y)), strict=True):
        check(a, b, 10)


@pytest.mark.parametrize(
    "left,right",
    [
        ((4, 5), (5,)),
        ((4, 1), (1, 5)),
        ((2, 1, 3), (4, 1)),
        ((), (3,)),
        ((1,), (2, 3)),
        ((7, 1), (7, 9)),
    ],
    ids=str,
)
def test_broadcasting(left, right, device):
    x, y = randn(*left), randn(*right, seed=1)
    (got,) = run(lambda x, y: x * y, (x, y), device)
    assert torch.equal(got, x * y)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_empty_tensors(shape, device):
    (got,) = run(lambda x: torch.exp(x) + 1, (randn(*shape),), device)
    assert got.shape == shape


CASTS = [(a, b) for a in DTYPES for b in DTYPES if a != b]


@pytest.mark.parametrize("source,target", CASTS, ids=str)
def test_casts_round_to_nearest_even(source, target, device):
    x = torch.cat([randn(999), torch.tensor([0.0, -0.0, 65519.0, 65520.0, 1e-8, 3e38])]).to(source)
    (got,) = run(lambda x: x.to(target), (x,), device)
    assert torch.equal(got, x.to(target)) and got.dtype == target


@by_dtype
def test_mixed_dtypes(dtype, device):
    x, y = randn(4, 9, dtype=dtype), randn(9, seed=1)
    (got,) = run(lambda x, y: x * y, (x, y), device)
    assert got.dtype == torch.float32 and torch.equal(got, x * y)


VIEWS = {
    "permute": lambda x: x.permute(2, 0, 1) * 2,
    "transpose_of_sum": lambda x: (x + 1).transpose(0, 1),
    "reshape": lambda x: (x * 3).reshape(6, -1) + 1,
    "reshape_of_permute": lambda x: x.permute(1, 2, 0).reshape(-1) * 2,
    "slice": lambda x: x[1:, ::2, 1:4] * 2,
    "select": lambda x: x[:, -1] + x[:, 0],
    "chunk": lambda x: x.chunk(2, 0)[1] * x.chunk(2, 0)[0],
    "expand": lambda x: x[:, :1].expand(-1, 3, -1) + x,
    "repeat": lambda x: x.repeat(2, 1, 3),
    "copy": lambda x: x.transpose(0, 2).contiguous(),
    "constant": lambda x: torch.full((4, 5), 0.1, device=x.device) + 0 * x.sum(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, device):
    x = randn(4, 3, 5)
    (got,) = run(lambda x: VIEWS[name](x), (x,), device)
    want = VIEWS[name](x)
    assert got.shape == want.shape and got.is_contiguous()
    torch.testing.assert_close(got, want, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "view",
    [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[::3], lambda x: x[:1].expand(9, -1)],
    ids=["transposed", "every_second", "every_third_row", "expanded"],
)
def test_strided_inputs(view, device):
    x = view(randn(9, 12))
    assert not x.is_contiguous()
    (got,) = run(lambda x: x * 2 + 1, (x,), device)
    assert torch.equal(got, x * 2 + 1)
