# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of a product folded where it is computed: right values, and no product in memory."""

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, F32, UNIT, check, compile_for_gpu, randn, run
from torch.utils import _pytree as pytree

from deplo.compilation import Options, compile_ir
from deplo.importer import import_program


def both_extremes(x, w):
    y = torch.relu(x @ w)
    return y.amax(-1), y.amin(-1)


def with_product(x, w):
    y = x @ w
    return y, (y * y).sum(-1)


# Functions of a matrix of M x K and one of K x N.
FOLDS = {
    "maximum": lambda x, w: (x @ w).amax(-1),
    "sum": lambda x, w: (x @ w).sum(-1),
    "root mean square": lambda x, w: (x @ w).square().mean(-1).sqrt(),
    "extremes of an activation": both_extremes,
    "product and squares": with_product,
    "columns": lambda x, w: (x @ w).amax(0),
    "weights along the sum": lambda x, w: F.linear(x, w.t().contiguous()).amax(-1),
    "gate": lambda x, w: (F.silu(x @ w) * (x @ (w + 1))).sum(-1),
    "bias": lambda x, w: (x @ w + w[0]).amax(-1),
}
SIZES = [(2, 1, 33), (7, 7, 31), (31, 65, 100), (65, 129, 64), (33, 257, 65), (129, 1000, 31)]


def matrices(m, n, k, dtype=torch.float32):
    return randn(m, k, dtype=dtype), randn(k, n, dtype=dtype, seed=1)


def verify(function, inputs, device, units):
    """Within some roundings of the largest result: sums of random numbers cancel."""
    want = pytree.tree_leaves(function(*(x.double() for x in inputs)))
    for got, exact in zip(run(function, inputs, device), want, strict=True):
        check(got, exact, units, scale=exact.abs().max())


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("fold", FOLDS)
def test_values(fold, size, device):
    verify(FOLDS[fold], matrices(*size), device, units=32)


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=DTYPE_IDS[1:])
@pytest.mark.parametrize("fold", ["maximum", "product and squares", "columns"])
def test_values_by_tensor_cores(fold, dtype, device):
    for size in [(31, 65, 100), (64, 1000, 128)]:
        verify(FOLDS[fold], matrices(*size, dtype), device, units=4 * UNIT[dtype] / F32)


def kernels(function, inputs, **options):
    text = import_program(function, inputs).text
    return compile_ir(text, Options(level="tile", target="sm_90a", **options)).report["kernels"]


@pytest.mark.parametrize("fold", ["maximum", "sum", "root mean square", "bias"])
def test_product_is_not_stored(fold):
    """All that is written are the rows' folds, of each part and of all parts."""
    m, n = 512, 4096
    found = kernels(FOLDS[fold], matrices(m, n, 256), precision="ieee")
    assert sum(k["bytes_written"] for k in found) <= 4 * m * (n // 32 + 1)


def test_product_in_pieces_is_stored():
    """Tensor cores save more than the product's way through memory takes."""
    found = kernels(FOLDS["maximum"], matrices(512, 4096, 256))
    assert any("atom = wgmma" in k["schedule"] for k in found)


def test_product_is_stored_once():
    m, n = 512, 4096
    found = kernels(with_product, matrices(m, n, 256), precision="ieee")
    assert 4 * m * n <= sum(k["bytes_written"] for k in found) < 1.1 * 4 * m * n
    assert sum(k["bytes_read"] for k in found) < 4 * m * n, "it is not read again"


def test_programs_assemble(device):
    for fold in FOLDS:
        compile_for_gpu(FOLDS[fold], matrices(128, 2048, 512), device)
