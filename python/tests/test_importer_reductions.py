# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph text of reductions, normalisations and softmax."""

import pytest
import torch
import torch.nn.functional as F
from helpers import operations
from torch import nn

X = torch.ones(2, 3, 4)


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "amax", "amin"])
def test_one_axis(op):
    (line,) = operations(lambda x: getattr(torch, op)(x, dim=-1), X)
    expected = f"graph.{op} %x axes [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>"
    assert line.split(" = ")[1] == expected


@pytest.mark.parametrize("op", ["sum", "mean", "amax", "amin"])
def test_axes_are_sorted_and_kept(op):
    (line,) = operations(lambda x: getattr(torch, op)(x, dim=(-1, 0), keepdim=True), X)
    expected = f"graph.{op} %x axes [0, 2] keepdims : tensor<2x3x4xf32> -> tensor<1x3x1xf32>"
    assert line.split(" = ")[1] == expected


@pytest.mark.parametrize(
    "function,op",
    [
        (lambda x: x.sum(), "sum"),
        (lambda x: x.mean(), "mean"),
        (lambda x: x.prod(), "prod"),
        (lambda x: x.max(), "amax"),
        (lambda x: x.min(), "amin"),
        (lambda x: x.amax(), "amax"),
    ],
)
def test_all_axes(function, op):
    (line,) = operations(function, X)
    assert (
        line.split(" = ")[1] == f"graph.{op} %x axes [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>"
    )


def test_reduction_of_a_scalar_is_the_scalar():
    assert operations(lambda x: x.sum() + 0.5, torch.tensor(1.0))[-1].startswith(
        "%add = graph.add %x,"
    )


def test_dtype_argument_casts_first():
    lines = operations(lambda x: x.sum(0, dtype=torch.float32), X.half())
    assert [line.split("graph.")[1].split()[0] for line in lines] == ["cast", "sum"]


def test_max_with_unused_indices():
    (line,) = operations(lambda x: x.max(1).values, X)
    assert line.endswith("graph.amax %x axes [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>")


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_variance(correction):
    (line,) = operations(lambda x: torch.var(x, -1, correction=correction), X)
    assert line == (
        f"%var = graph.var %x axes [2] correction {correction}.0 : "
        "tensor<2x3x4xf32> -> tensor<2x3xf32>"
    )


def test_default_variance_is_unbiased_over_everything():
    (line,) = operations(lambda x: x.var(), X)
    assert "axes [0, 1, 2] correction 1.0 :" in line


def names(function, *inputs):
    return [line.split("graph.")[1].split()[0] for line in operations(function, *inputs)]


def test_standard_deviation_rounds_once():
    assert names(lambda x: x.std(0), X.half()) == ["cast", "var", "sqrt", "cast"]


def test_var_mean_emits_what_is_used():
    assert names(lambda x: torch.var_mean(x, 0)[1], X) == ["mean"]
    assert names(lambda x: torch.var_mean(x, 0), X) == ["var", "mean"]


@pytest.mark.parametrize(
    "order,expected",
    [
        (2, ["mul", "sum", "sqrt"]),
        (1, ["sum"]),
        (float("inf"), ["amax"]),
        (float("-inf"), ["amin"]),
        (3, ["constant", "pow", "sum", "constant", "pow"]),
    ],
)
def test_vector_norm(order, expected):
    assert names(lambda x: torch.linalg.vector_norm(x, order, -1), X) == ["abs", *expected]


def test_logsumexp_is_in_f32():
    lines = operations(lambda x: torch.logsumexp(x, -1), X.bfloat16())
    assert lines[0].endswith("to tensor<2x3x4xf32>") and lines[-1].endswith("to tensor<2x3xbf16>")


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_softmax(function):
    (line,) = operations(lambda x: function(x, dim=-2), X)
    op = function.__name__
    assert line == f"%{op} = graph.{op} %x axis 1 : tensor<2x3x4xf32>"


def test_softmin():
    assert names(lambda x: F.softmin(x, dim=0), X) == ["neg", "softmax"]


def test_rms_norm_of_a_module():
    lines = operations(nn.RMSNorm(4, eps=1e-6), X)
    assert lines == [
        "%rms_norm = graph.rms_norm %x weight %weight : tensor<4xf32> rank 1 eps 1.0e-06 "
        ": tensor<2x3x4xf32>"
    ]


def test_rms_norm_without_weight_and_eps_takes_the_epsilon_of_f32():
    (line,) = operations(lambda x: F.rms_norm(x, (3, 4)), X.bfloat16())
    assert (
        line
        == "%rms_norm = graph.rms_norm %x rank 2 eps 1.1920928955078125e-07 : tensor<2x3x4xbf16>"
    )


def test_layer_norm_of_a_module():
    (line,) = operations(nn.LayerNorm((3, 4)), X)
    assert line == (
        "%layer_norm = graph.layer_norm %input weight %weight : tensor<3x4xf32> "
        "bias %bias : tensor<3x4xf32> rank 2 eps 1.0e-05 : tensor<2x3x4xf32>"
    )


def test_layer_norm_without_bias():
    (line,) = operations(nn.LayerNorm(4, bias=False), X)
    assert "weight %weight : tensor<4xf32> rank 1" in line


@pytest.mark.parametrize(
    "op,monoid", [("cumsum", "add"), ("cumprod", "mul"), ("logcumsumexp", "logaddexp")]
)
def test_scans(op, monoid):
    (line,) = operations(lambda x: getattr(torch, op)(x, -1), X)
    assert line.split(" = ")[1] == f"graph.scan {monoid} %x axis 2 : tensor<2x3x4xf32>"


def test_sums_of_narrow_integers_are_scanned_in_i64():
    lines = operations(lambda x: x.cumsum(0), X.to(torch.int8))
    assert "graph.scan add" in lines[-1] and lines[-1].endswith("tensor<2x3x4xi64>")


def test_places_of_extremes_so_far_only_where_used():
    (line,) = operations(lambda x: x.cummax(0).values, X)
    assert line.split(" = ")[1] == "graph.scan max %x axis 0 : tensor<2x3x4xf32>"
    lines = operations(lambda x: x.cummin(0).indices, X)
    assert sum("graph.scan" in line for line in lines) == 2
