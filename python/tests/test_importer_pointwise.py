# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph text of pointwise operators, casts, numbers and filled tensors."""

import pytest
import torch
import torch.nn.functional as F
from helpers import operations

X = torch.ones(2, 3)
HALF = X.bfloat16()
UNARY = {
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


@pytest.mark.parametrize("dtype,name", [("f32", torch.float32), ("bf16", torch.bfloat16)])
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, dtype, name):
    (line,) = operations(lambda x: UNARY[op](x), X.to(name))
    assert line.endswith(f"= graph.{op} %x : tensor<2x3x{dtype}>")


@pytest.mark.parametrize("op", BINARY)
def test_binary_broadcasts(op):
    (line,) = operations(lambda x, y: BINARY[op](x, y), X, torch.ones(4, 1, 3))
    assert line.split(" = ")[1] == (
        f"graph.{op} %x, %y : (tensor<2x3xf32>, tensor<4x1x3xf32>) -> tensor<4x2x3xf32>"
    )


def steps(function, *inputs):
    """Operation names and the values of constants, in order."""
    lines = [line for line in operations(function, *inputs) if " = graph." in line]
    words = [line.split(" = graph.")[1].split(" ") for line in lines]
    return [word[1][6:-1] if word[0] == "constant" else word[0] for word in words]


@pytest.mark.parametrize(
    "function,expected",
    [
        (lambda x: x + 1, ["1.0", "add"]),
        (lambda x: 1 - x, ["1.0", "sub"]),
        (lambda x: torch.rsub(x, 2.5), ["2.5", "sub"]),
        (lambda x: x * True, ["1.0", "mul"]),
        (lambda x: 3 / x, ["reciprocal", "3.0", "mul"]),
        (lambda x: x / 3, ["3.0", "div"]),
        (lambda x: x**2, ["mul"]),
        (lambda x: torch.square(x), ["mul"]),
        (lambda x: x**3, ["mul", "mul"]),
        (lambda x: x**0.5, ["sqrt"]),
        (lambda x: x**-0.5, ["rsqrt"]),
        (lambda x: x**-1, ["reciprocal"]),
        (lambda x: x**-2, ["mul", "reciprocal"]),
        (lambda x: x**1.5, ["1.5", "pow"]),
        (lambda x: x**0, ["1.0", "expand"]),
        (lambda x: 2**x, ["2.0", "pow"]),
        (lambda x: torch.exp2(x), ["map"]),
        (lambda x: torch.clamp(x, -1, 2), ["-1.0", "maximum", "2.0", "minimum"]),
        (lambda x: torch.clamp(x, max=2), ["2.0", "minimum"]),
        (lambda x: x.clamp_min(0.5), ["0.5", "maximum"]),
        (lambda x: F.relu6(x), ["0.0", "maximum", "6.0", "minimum"]),
        (lambda x: F.hardtanh(x), ["-1.0", "maximum", "1.0", "minimum"]),
        (lambda x: torch.add(x, x, alpha=2), ["2.0", "mul", "add"]),
        (lambda x: torch.sub(x, x, alpha=0.5), ["0.5", "mul", "sub"]),
        (lambda x: torch.addcmul(x, x, x), ["mul", "add"]),
        (lambda x: torch.addcdiv(x, x, x, value=3), ["div", "3.0", "mul", "add"]),
        (
            lambda x: F.hardswish(x),
            ["3.0", "add", "0.0", "maximum", "6.0", "minimum", "mul", "div"],
        ),
        (lambda x: torch.tan(x), ["map"]),
        (lambda x: torch.full((3,), 2.0) + x, ["2.0", "expand", "add"]),
        (lambda x: torch.zeros_like(x) * x, ["0.0", "expand", "mul"]),
        (lambda x: x.clone().contiguous().detach() + x, ["add"]),
    ],
)
def test_composition(function, expected):
    assert steps(function, X) == expected


def test_equal_constants_are_one_operation():
    assert steps(lambda x: (x + 2) * 2, X) == ["2.0", "add", "mul"]


def test_number_that_bf16_holds_stays_in_bf16():
    assert operations(lambda x: x * 1.5, HALF) == [
        "%cst = graph.constant dense<1.5> : tensor<bf16>",
        "%mul = graph.mul %x, %cst : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2x3xbf16>",
    ]


def test_number_that_bf16_does_not_hold_moves_the_operation_to_f32():
    assert operations(lambda x: x * 1.001, HALF) == [
        "%mul.0 = graph.cast %x : tensor<2x3xbf16> to tensor<2x3xf32>",
        "%cst = graph.constant dense<1.0010000467300415> : tensor<f32>",
        "%mul.1 = graph.mul %mul.0, %cst : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>",
        "%mul = graph.cast %mul.1 : tensor<2x3xf32> to tensor<2x3xbf16>",
    ]


def test_mixed_dtypes_promote():
    lines = operations(lambda x, y: x + y, HALF, X)
    assert lines[0] == "%add.0 = graph.cast %x : tensor<2x3xbf16> to tensor<2x3xf32>"
    assert lines[1].endswith("(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>")


def test_scalar_tensor_does_not_promote():
    lines = operations(lambda x, y: x + y, HALF, torch.tensor(2.0))
    assert lines[0] == "%add.0 = graph.cast %y : tensor<f32> to tensor<bf16>"


def test_explicit_casts_stay():
    """Edge case 38: f32 -> f16 -> f32 rounds."""
    assert operations(lambda x: x.half().float(), X) == [
        "%_to_copy = graph.cast %x : tensor<2x3xf32> to tensor<2x3xf16>",
        "%_to_copy_1 = graph.cast %_to_copy : tensor<2x3xf16> to tensor<2x3xf32>",
    ]


@pytest.mark.parametrize(
    "value,dtype,literal",
    [
        (float("inf"), torch.float32, "0x7F800000"),
        (float("-inf"), torch.float32, "0xFF800000"),
        (float("nan"), torch.float32, "0x7FC00000"),
        (float("inf"), torch.float16, "0x7C00"),
        (float("-inf"), torch.bfloat16, "0xFF80"),
        (1e39, torch.float32, "0x7F800000"),
        (-0.0, torch.float32, "-0.0"),
        (1e-6, torch.float32, "9.999999974752427e-07"),
        (1e20, torch.float32, "1.0000000200408773e+20"),
        (1 / 3, torch.float16, "0.333251953125"),
    ],
)
def test_constants_are_rounded_and_printed_exactly(value, dtype, literal):
    line = operations(lambda x: torch.full((), value, dtype=dtype) + x, X.to(dtype))[0]
    assert f"dense<{literal}>" in line
