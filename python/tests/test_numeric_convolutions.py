# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of one to three axes against PyTorch in float64."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, compile_for_gpu, randn, run, wanted

from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

# Name -> (function, the input's shape, the weights').
CONVOLUTIONS = {
    "1d": (F.conv1d, (2, 6, 20), (4, 6, 3)),
    "1d, stride and dilation": (
        lambda x, w: F.conv1d(x, w, stride=2, padding=3, dilation=2),
        (3, 5, 33),
        (7, 5, 3),
    ),
    "1d, one group a channel": (
        lambda x, w: F.conv1d(x, w, padding=3, groups=8),
        (2, 8, 31),
        (8, 1, 4),
    ),
    "2d": (lambda x, w: F.conv2d(x, w, padding=1), (2, 3, 9, 11), (8, 3, 3, 3)),
    "2d, points": (F.conv2d, (2, 33, 7, 7), (17, 33, 1, 1)),
    "2d, patches": (lambda x, w: F.conv2d(x, w, stride=4), (2, 3, 16, 20), (24, 3, 4, 4)),
    "2d, groups": (
        lambda x, w: F.conv2d(x, w, stride=(1, 2), padding="valid", groups=2),
        (1, 8, 8, 9),
        (6, 4, 3, 2),
    ),
    "2d, same": (
        lambda x, w: F.conv2d(x, w, padding="same", dilation=2),
        (1, 4, 9, 8),
        (5, 4, 3, 2),
    ),
    "2d, no batch": (F.conv2d, (3, 9, 11), (8, 3, 3, 3)),
    "3d": (lambda x, w: F.conv3d(x, w, padding=(1, 0, 1)), (1, 3, 5, 6, 7), (4, 3, 3, 2, 3)),
    "transposed 1d": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=1, output_padding=2),
        (2, 6, 9),
        (6, 5, 4),
    ),
    "transposed 2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2, dilation=(1, 2)),
        (2, 6, 5, 4),
        (6, 3, 3, 2),
    ),
    "transposed 2d, cut": (
        lambda x, w: F.conv_transpose2d(x, w, padding=3),
        (1, 4, 8, 9),
        (4, 3, 2, 3),
    ),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_convolution(name, dtype, device):
    function, *shapes = CONVOLUTIONS[name]
    inputs = [randn(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    got, want = run(function, inputs, device), wanted(function, inputs)
    check(got[0], want[0], 8, scale=wanted(function, [x.abs() for x in inputs])[0])


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("windows", ["always", "never"])
def test_windows_by_schedule(windows, name, dtype, device):
    """Read where they are multiplied, or gathered by a kernel before."""
    function, *shapes = CONVOLUTIONS[name]
    inputs = [randn(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    got = run(function, inputs, device, schedule=f"windows={windows}")
    scale = wanted(function, [x.abs() for x in inputs])[0]
    check(got[0], wanted(function, inputs)[0], 8, scale=scale)


# Name -> (function, shapes): windows of many chunks, and tails of all sizes.
LARGER = {
    "chunks": (lambda x, w: F.conv2d(x, w, padding=1), (1, 24, 13, 17), (40, 24, 3, 3)),
    "strides": (lambda x, w: F.conv2d(x, w, stride=2, padding=2), (2, 16, 21, 23), (33, 16, 5, 5)),
    "volume": (lambda x, w: F.conv3d(x, w, padding=1), (1, 8, 5, 7, 9), (20, 8, 3, 3, 3)),
    "groups": (lambda x, w: F.conv2d(x, w, padding=1, groups=2), (1, 32, 9, 11), (24, 16, 3, 3)),
}


@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize(
    "pins",
    ["", "stages=1", "stages=2", "stages=4", "chunk=32,stages=3"],
    ids=lambda pins: pins or "model",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_windows_of_pipelined_chunks(name, pins, dtype, device):
    function, *shapes = LARGER[name]
    inputs = [randn(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    schedule = ",".join(filter(None, ["windows=always", pins]))
    got = run(function, inputs, device, schedule=schedule)
    scale = wanted(function, [x.abs() for x in inputs])[0]
    check(got[0], wanted(function, inputs)[0], 12, scale=scale)


def count_kernels(function, inputs, **options):
    text = import_program(function, inputs).text
    return len(compile_ir(text, Options(ptxas=False, **options)).kernels)


def test_one_kernel_where_windows_are_read_once():
    inputs = torch.empty(8, 64, 56, 56), torch.empty(64, 64, 3, 3)

    def few(x, w):
        return F.conv2d(x, w, padding=1)

    ieee = {"precision": "ieee"}
    assert count_kernels(few, inputs, **ieee) == 1
    assert count_kernels(few, inputs, schedule="windows=never", **ieee) > 1
    assert count_kernels(few, inputs) > 1, "pieces are made of windows that are in memory"


def test_neighbours_join_the_kernel_that_multiplies_windows(device):
    def block(x, w, b, scale):
        return F.relu(F.conv2d(x, w, b) * scale)

    inputs = (
        randn(2, 8, 12, 12),
        randn(16, 8, 3, 3, seed=1),
        randn(16, seed=2),
        randn(16, 1, 1, seed=3),
    )
    got, want = run(block, inputs, device), wanted(block, inputs)
    check(got[0], want[0], 8, scale=wanted(block, [x.abs() for x in inputs])[0])
    assert count_kernels(block, inputs) == 1
    assert count_kernels(block, inputs, schedule="windows=never") == 2


def test_kernels_assemble_without_spills(device):
    inputs = torch.empty(8, 64, 56, 56), torch.empty(64, 64, 3, 3)
    compile_for_gpu(lambda x, w: F.conv2d(x, w, padding=1), inputs, device)
