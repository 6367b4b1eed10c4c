# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels read and write, counted from their scheduled IR: each input of a
program once and each result once, in as few kernels as there should be."""

import pytest
import torch
import torch.nn.functional as F
from numeric import randn

from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

HALF = torch.bfloat16


def residual_norm(x, y, w):
    h = x + y
    return h, F.rms_norm(h, h.shape[-1:], w) * 0.5


def masked_softmax(x, mask):
    return F.softmax(x.float() * 0.125 + mask, -1).to(x.dtype)


def norm_gelu(x, w, b):
    return F.gelu(F.layer_norm(x, x.shape[-1:], w, b))


def long_chain(x):
    for _ in range(30):
        x = torch.sin(x) * 2 + 1
    return x


def used_twice(x):
    h = x * 2
    return h, h.exp(), h.sum(-1)


def shared_subgraphs(a, b):
    for _ in range(14):
        a, b = a + b, a * b
    return a, b


def gated(x, gate, bias):
    return F.silu(gate + bias) * x


def statistics(x):
    return x.sum(-1), x.amax(-1), x.exp()


def normalized_twice(x, w):
    return F.rms_norm(x, x.shape[-1:], w), F.softmax(x, -1)


def loss_terms(x, y):
    d = x - y
    return (d * d).mean(-1), d.abs().mean(-1), d


def scaled_sums_so_far(x):
    return (x * 2).cumsum(-1) + 1


def probabilities_so_far(x):
    return F.softmax(x, -1).cumsum(-1)


def extremes_so_far(x):
    return tuple(x.cummax(-1))


def normalized_groups(x, w, b):
    return F.group_norm(x, 4, w, b)


def rotated_norm(x, w, cos, sin):
    heads = F.rms_norm(x, x.shape[-1:], w).view(x.shape[0], -1, 64)
    left, right = heads.chunk(2, -1)
    return heads * cos + torch.cat((-right, left), -1) * sin


ROWS, WIDE = (96, 2048), (33, 1001)
# Name -> (function, shapes, dtype, how often the one kernel reads its inputs).
PROGRAMS = {
    "chain": (long_chain, [ROWS], torch.float32, 1),
    "chain, odd sizes": (long_chain, [WIDE], torch.float32, 1),
    "shared subgraphs": (shared_subgraphs, [ROWS, ROWS], torch.float32, 1),
    "gated": (gated, [ROWS, ROWS, (2048,)], HALF, 1),
    "residual, norm, scale": (residual_norm, [ROWS, ROWS, (2048,)], torch.float32, 1),
    "residual, norm, scale in bf16": (residual_norm, [WIDE, WIDE, (1001,)], HALF, 1),
    "mask, scale, softmax, cast": (masked_softmax, [ROWS, ROWS], HALF, 1),
    "layer norm, gelu": (norm_gelu, [ROWS, (2048,), (2048,)], torch.float32, 1),
    "layer norm, gelu, odd sizes": (norm_gelu, [WIDE, (1001,), (1001,)], HALF, 1),
    "used twice": (used_twice, [ROWS], torch.float32, 1),
    "sums and a map of one input": (statistics, [ROWS], torch.float32, 1),
    "two normalisations of one input": (normalized_twice, [ROWS, (2048,)], torch.float32, 1),
    "losses of rows": (loss_terms, [ROWS, ROWS], torch.float32, 1),
    "softmax of columns": (lambda x: F.softmax(x, 0), [(300, 640)], torch.float32, 1),
    "softmax of middle axes": (lambda x: F.softmax(x, 1), [(16, 64, 96)], torch.float32, 1),
    "sum of all rows": (lambda x: x.sum(0), [(300, 640)], torch.float32, 1),
    "transposed sum": (lambda x: x.t() * 2 + 1, [(96, 64)], torch.float32, 1),
    "maps of one input": (lambda x: (x.sigmoid(), x.tanh(), x * 2), [ROWS], torch.float32, 1),
    "small ones": (lambda a, b, c: (a + 1, b * 2, c.exp()), [(64,)] * 3, torch.float32, 1),
    "sums so far": (scaled_sums_so_far, [ROWS], torch.float32, 1),
    "sums so far in bf16, odd sizes": (scaled_sums_so_far, [WIDE], HALF, 1),
    "sums so far of long rows": (scaled_sums_so_far, [(160, 40000)], torch.float32, 1),
    "sums so far of columns": (lambda x: x.cumsum(0), [(64, 65536)], torch.float32, 1),
    "probabilities so far": (probabilities_so_far, [ROWS], torch.float32, 1),
    "extremes so far and their places": (extremes_so_far, [ROWS], torch.float32, 1),
    "rows and columns": (lambda x: (x.sum(0), x.sum(1)), [ROWS], torch.float32, 2),
}


def compiled(name):
    function, shapes, dtype, reads = PROGRAMS[name]
    inputs = [randn(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    text = import_program(function, inputs).text
    report = compile_ir(text, Options(level="tile", target="sm_90a")).report
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return report, inputs, results, reads


def nbytes(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_input_is_read_once_and_every_result_written_once(name, compiler):
    report, inputs, results, reads = compiled(name)
    assert len(report["kernels"]) == 1
    traffic = [buffer for kernel in report["kernels"] for buffer in kernel["traffic"]]
    assert sum(buffer["bytes_written"] for buffer in traffic) == nbytes(results)
    # Where one loop can't do it, each part of the grid reads the input once.
    assert sum(buffer["bytes_read"] for buffer in traffic) == reads * nbytes(inputs)


# Name -> (function, kernels): windows that overlap, and padding, of what is computed.
WINDOWS = {
    "map": (lambda a, b: F.max_pool2d(a.relu() * 2 + 1, 3, 2, 1), 1),
    # Each element of a padded window would be a load from every piece, and a condition.
    "concatenation": (lambda a, b: F.max_pool2d(torch.cat((a, b), 1), 3, 2, 1), 2),
    "whole windows": (lambda a, b: F.avg_pool2d(torch.cat((a, b), 2), 3, 1), 1),
    "padded concatenation": (lambda a, b: F.pad(torch.cat((a, b), 1), (1, 1), value=2.0), 1),
    "padding": (lambda a, b: F.max_pool2d(F.pad(a, (1, 2), value=3.0), 3, 2, 1), 1),
    # Nine error functions take longer than to write and read one.
    "costly map": (lambda a, b: F.avg_pool2d(F.gelu(a), 3, 1, 1), 2),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_what_is_cheap_to_compute_again_are_one_kernel(name, compiler):
    function, kernels = WINDOWS[name]
    inputs = [randn(64, 128, 56, 56, seed=i) for i in range(2)]
    text = import_program(function, inputs).text
    report = compile_ir(text, Options(level="tile", target="sm_90a")).report
    assert len(report["kernels"]) == kernels


def test_the_count_tells_a_second_read(compiler):
    """Rows too long for the chip are read again: the test above can fail."""
    text = import_program(lambda x: F.softmax(x, -1), (randn(4, 1_000_001),)).text
    report = compile_ir(text, Options(level="tile", target="sm_90a")).report
    read = sum(b["bytes_read"] for k in report["kernels"] for b in k["traffic"])
    assert read > 4 * 4 * 1_000_001


@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize("size", [16, 14])
def test_a_group_of_channels_is_one_row(size, dtype, compiler):
    """Weights are gathered along the row, which the count of boxes leaves out."""
    inputs = (randn(64, 32, size, size, dtype=dtype), *(randn(32, dtype=dtype) for _ in "wb"))
    text = import_program(normalized_groups, inputs).text
    (kernel,) = compile_ir(text, Options(level="tile", target="sm_90a")).report["kernels"]
    assert sum(b["bytes_read"] for b in kernel["traffic"]) == nbytes(inputs[:1])
    assert sum(b["bytes_written"] for b in kernel["traffic"]) == nbytes(inputs[:1])


@pytest.mark.parametrize("dtype", [torch.float32, HALF])
def test_windows_are_not_in_memory(dtype, compiler):
    """A convolution reads them where they are multiplied, at places that the count leaves out."""
    inputs = (torch.empty(8, 64, 56, 56, dtype=dtype), torch.empty(64, 64, 3, 3, dtype=dtype))

    def convolution(x, w):
        return F.conv2d(x, w, padding=1)

    def count(schedule):
        text = import_program(convolution, inputs).text
        options = Options(level="tile", target="sm_90a", schedule=schedule, precision="ieee")
        kernels = compile_ir(text, options).report["kernels"]
        return sum(b["bytes_written"] for k in kernels for b in k["traffic"])

    assert count("") == nbytes(inputs[:1])
    assert count("windows=never") >= 10 * nbytes(inputs[:1])


def test_what_saves_most_is_fused_first(compiler):
    """The rotation gathers what the norm stores: two kernels, with one tensor between them."""
    inputs = (randn(96, 512), randn(512), randn(96, 1, 64), randn(96, 1, 64))
    text = import_program(rotated_norm, inputs).text
    report = compile_ir(text, Options(level="tile", target="sm_90a")).report
    assert len(report["kernels"]) == 2
    written = sum(b["bytes_written"] for k in report["kernels"] for b in k["traffic"])
    assert written == 2 * nbytes(inputs[:1])


@pytest.mark.parametrize("length", [10, 1000])
def test_a_chain_of_any_length_is_one_kernel(length, compiler):
    def chain(x):
        for i in range(length):
            x = x * 0.5 + i
        return x

    text = import_program(chain, (randn(64),)).text
    report = compile_ir(text, Options(level="loop")).report
    assert len(report["kernels"]) == 1
