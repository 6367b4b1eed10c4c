# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph text of views: reshape, permute, expand, slice."""

import pytest
import torch
import torch.nn.functional as F
from helpers import operations

X = torch.ones(2, 3, 4)


def line_of(function, *inputs):
    """The single operation, without its result."""
    (line,) = operations(function, *inputs)
    return line.split(" = ")[1]


@pytest.mark.parametrize(
    "function,shape",
    [
        (lambda x: x.view(6, 4), "6x4"),
        (lambda x: x.reshape(-1), "24"),
        (lambda x: x.flatten(1), "2x12"),
        (lambda x: x.unsqueeze(0), "1x2x3x4"),
        (lambda x: x[None], "1x2x3x4"),
        (lambda x: x.unflatten(2, (2, 2)), "2x3x2x2"),
    ],
)
def test_reshape(function, shape):
    assert line_of(function, X) == f"graph.reshape %x : tensor<2x3x4xf32> -> tensor<{shape}xf32>"


def test_squeeze():
    x = torch.ones(1, 3, 1)
    assert (
        line_of(lambda x: x.squeeze(), x) == "graph.reshape %x : tensor<1x3x1xf32> -> tensor<3xf32>"
    )
    assert line_of(lambda x: x.squeeze(-1), x).endswith("-> tensor<1x3xf32>")


def test_reshape_to_the_same_shape_is_nothing():
    assert operations(lambda x: x.view(2, 3, 4) + x, X)[0].startswith("%add = graph.add %x, %x")


@pytest.mark.parametrize(
    "function,order",
    [
        (lambda x: x.permute(2, 0, 1), "[2, 0, 1]"),
        (lambda x: x.transpose(0, -1), "[2, 1, 0]"),
        (lambda x: x.movedim(0, 2), "[1, 2, 0]"),
        (lambda x: x.mT, "[0, 2, 1]"),
    ],
)
def test_permute(function, order):
    assert line_of(function, X).startswith(f"graph.permute %x by {order} : tensor<2x3x4xf32> ->")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.expand(5, 3),
        lambda x: x.broadcast_to(5, 3),
        lambda x: x.expand_as(torch.ones(5, 3)),
    ],
)
def test_expand(function):
    line = line_of(function, torch.ones(1, 3))
    assert line == "graph.expand %x : tensor<1x3xf32> -> tensor<5x3xf32>"


@pytest.mark.parametrize(
    "function,offsets,strides,shape",
    [
        (lambda x: x[:, 1:], "[0, 1, 0]", "[1, 1, 1]", "2x2x4"),
        (lambda x: x[..., ::2], "[0, 0, 0]", "[1, 1, 2]", "2x3x2"),
        (lambda x: x[..., 1:4:2], "[0, 0, 1]", "[1, 1, 2]", "2x3x2"),
        (lambda x: x.narrow(2, 1, 2), "[0, 0, 1]", "[1, 1, 1]", "2x3x2"),
        (lambda x: x[:, -1:], "[0, 2, 0]", "[1, 1, 1]", "2x1x4"),
        (lambda x: x[..., :100][..., 3:], "[0, 0, 3]", "[1, 1, 1]", "2x3x1"),
        (lambda x: x[:, 5:], "[0, 0, 0]", "[1, 1, 1]", "2x0x4"),
    ],
)
def test_slice(function, offsets, strides, shape):
    assert line_of(function, X) == (
        f"graph.slice %x offsets {offsets} strides {strides} : "
        f"tensor<2x3x4xf32> -> tensor<{shape}xf32>"
    )


def names(function, *inputs):
    return [line.split("graph.")[1].split()[0] for line in operations(function, *inputs)]


def test_select_is_slice_and_reshape():
    lines = operations(lambda x: x[:, -1], X)
    assert "offsets [0, 2, 0]" in lines[0] and lines[1].endswith("-> tensor<2x4xf32>")


def test_split_emits_the_parts_that_are_used():
    assert names(lambda x: x.chunk(2, -1)[1] * 2, X) == ["slice", "constant", "mul"]
    assert names(lambda x: x.split([1, 2], 1), X) == ["slice", "slice"]
    assert sorted(names(lambda x: x.unbind(0), X)) == ["reshape", "reshape", "slice", "slice"]


def test_repeat():
    lines = operations(lambda x: x.repeat(2, 3), torch.ones(2, 4))
    assert [line.rsplit(" ", 1)[1] for line in lines] == [
        "tensor<1x2x1x4xf32>",
        "tensor<2x2x3x4xf32>",
        "tensor<4x12xf32>",
    ]


def test_glu():
    assert names(lambda x: F.glu(x), X) == ["slice", "slice", "sigmoid", "mul"]
