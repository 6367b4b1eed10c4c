# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f32 by wgmma of three pieces of bf16, on the emulator."""

import pytest
import torch
import torch.nn.functional as F
from numeric import (
    F32,
    compile_for_gpu,
    get_kernels,
    product_of_form,
    randn,
    relative_error,
    run,
    wide,
)

import deplo

PINS = "atom=wgmma,split_k=1"


def compute(function, inputs, schedule="block=64x64,stages=2"):
    return run(
        function, inputs, "emu", target="sm_90a", precision="f32", schedule=f"{PINS},{schedule}"
    )


@pytest.mark.parametrize(
    ("form", "m", "n", "k", "schedule"),
    [
        ("NT", 64, 64, 96, "block=64x64,stages=2"),
        # Rows of no tensor map of f32, and of none of bf16 without a pad.
        ("NT", 70, 45, 50, "block=64x64,stages=3"),
        ("NN", 70, 45, 50, "block=64x64,stages=3"),
        ("TN", 70, 45, 50, "block=64x64,stages=2"),
        ("TT", 70, 45, 50, "block=64x64,stages=2"),
        # Two warpgroups along the rows, of split rows of pieces.
        ("NN", 130, 136, 72, "block=128x128,stages=2"),
        ("TN", 130, 136, 72, "block=128x128,stages=2"),
        # Two along the columns, and two instructions of each.
        ("NT", 64, 136, 40, "block=64x128,warp_tile=16x64,stages=2"),
        ("NT", 65, 33, 33, "block=64x32,stages=2,warp_specialize=never"),
        ("NN", 65, 33, 33, "block=64x32,stages=2,tma_copy=never"),
    ],
)
def test_as_exact_as_f32(form, m, n, k, schedule):
    product, inputs = product_of_form(form, m, n, k)
    (got,) = compute(product, inputs, schedule)
    assert relative_error(got, product(*(x.double() for x in inputs))) <= 2 * F32


# The left operand's pieces are made in registers where four warps share rows, the
# right one's where they share columns.
LEFT, RIGHT = "block=64x32,warp_tile=16x32", "block=32x64,warp_tile=32x16"


@pytest.mark.parametrize("form", ["NT", "NN", "TN", "TT"])
@pytest.mark.parametrize(
    ("m", "n", "k", "schedule"),
    [
        (72, 136, 72, f"{LEFT},stages=2"),
        (72, 136, 72, f"{RIGHT},stages=2"),
        (64, 64, 96, f"{RIGHT},stages=3,warp_specialize=never"),
        (132, 64, 40, "block=128x64,warp_tile=16x64,stages=2"),
        (68, 260, 40, "block=64x128,warp_tile=64x16,stages=2"),
        (40, 68, 36, f"{RIGHT},stages=2,tma_copy=never"),
    ],
)
def test_pieces_in_registers(form, m, n, k, schedule):
    product, inputs = product_of_form(form, m, n, k)
    (got,) = compute(product, inputs, f"{schedule},pieces=registers")
    assert relative_error(got, product(*(x.double() for x in inputs))) <= 2 * F32


DATA = {
    "positive": lambda: (randn(64, 256).abs(), randn(64, 256, seed=1).abs()),
    "elements of all magnitudes": lambda: (
        wide(64, 256, spread=30, seed=0),
        wide(64, 256, spread=30, seed=1),
    ),
    # Pieces have f32's whole range.
    "near the least normal number": lambda: (randn(64, 256) * 2.0**-120, randn(64, 256, seed=1)),
    "subnormal": lambda: (randn(64, 256) * 2.0**-130, randn(64, 256, seed=1) * 2.0**60),
    "the largest sums of pieces": lambda: (randn(64, 256) * 2.0**72, randn(64, 256, seed=1)),
}


@pytest.mark.parametrize("schedule", ["block=64x64,stages=2", f"{LEFT},stages=2,pieces=registers"])
@pytest.mark.parametrize("name", DATA)
def test_data_of_all_kinds(name, schedule):
    x, w = DATA[name]()
    (got,) = compute(F.linear, (x, w), schedule)
    assert relative_error(got, x.double() @ w.double().t()) <= 2 * F32


def test_sums_beyond_those_of_pieces():
    """They are computed again, by multiply-adds."""
    x, w = randn(64, 256) * 2.0**100, randn(64, 256, seed=1)
    (got,) = compute(F.linear, (x, w))
    assert relative_error(got, x.double() @ w.double().t()) <= 8 * F32


def test_long_sums_keep_what_rounding_takes():
    """Of multiply-adds in f32 the error is 20 times as large."""
    for x, w in (
        (randn(64, 8192).abs(), randn(32, 8192, seed=1).abs()),
        (wide(64, 8192, spread=30, seed=0), wide(32, 8192, spread=30, seed=1)),
    ):
        (got,) = compute(F.linear, (x, w), "block=64x32,stages=4")
        assert relative_error(got, x.double() @ w.double().t()) <= 1.5 * F32


@pytest.mark.parametrize("schedule", ["block=64x32,stages=2", f"{LEFT},stages=2,pieces=registers"])
def test_the_identity_keeps_every_bit(schedule):
    x = wide(64, 32, spread=30, seed=0)
    (got,) = compute(torch.matmul, (x, torch.eye(32)), schedule)
    assert torch.equal(got, x)


def test_subnormal_numbers_lose_nothing():
    x = torch.ldexp(torch.arange(1, 64 * 32 + 1).reshape(64, 32).float(), torch.tensor(-149))
    y = torch.eye(32) * 2.0**100
    (got,) = compute(torch.matmul, (x, y), "block=64x32,stages=2")
    assert torch.equal(got.double(), x.double() @ y.double())


def test_special_values():
    largest = torch.finfo(torch.float32).max
    x, w = randn(64, 40), randn(32, 40, seed=1)
    x[1, 3], x[2, 4], w[5, 6] = torch.inf, torch.nan, -torch.inf
    x[3, 0], w[5, 0] = torch.inf, 0.0
    x[4] = 0.0
    x[4, 0] = largest
    x[6], x[7] = 0.0, -0.0
    (got,) = compute(F.linear, (x, w), "block=64x32,stages=2")
    want = x.double() @ w.double().t()
    assert torch.equal(got.double().isnan(), want.isnan())
    overflows = want.abs() > largest
    assert torch.equal(got[overflows].double(), want[overflows].sign() * torch.inf)
    fine = want.isfinite() & ~overflows
    assert (got.double() - want)[fine].abs().max() <= 64 * F32 * want[fine].abs().max()


def test_batches_and_epilogues():
    x, w, r = randn(2, 70, 40), randn(2, 40, 48, seed=1), randn(48, seed=2)
    (got,) = compute(lambda x, w, r: F.relu(x @ w + r), (x, w, r), "stages=2")
    want = F.relu(x.double() @ w.double() + r.double())
    assert relative_error(got, want) <= 4 * F32


def test_two_products_of_one_operand():
    x, g, u = randn(70, 64), randn(64, 40, seed=1), randn(64, 40, seed=2)

    def function(x, g, u):
        return F.silu(x @ g) * (x @ u)

    (got,) = compute(function, (x, g, u), "stages=2")
    want = function(x.double(), g.double(), u.double())
    assert relative_error(got, want) <= 8 * F32


def test_an_operand_by_itself():
    x = randn(64, 48)
    (got,) = compute(lambda x: x @ x.t(), (x,), "block=64x64,stages=2")
    assert relative_error(got, x.double() @ x.double().t()) <= 2 * F32


@pytest.mark.parametrize("tile", [LEFT, RIGHT])
def test_two_products_whose_pieces_are_in_registers(tile):
    x, g, u, r = randn(72, 64), randn(64, 40, seed=1), randn(64, 40, seed=2), randn(40, seed=3)

    def function(x, g, u, r):
        return F.silu(x @ g + r) * (x @ u)

    (got,) = compute(function, (x, g, u, r), f"{tile},stages=2,pieces=registers")
    want = function(x.double(), g.double(), u.double(), r.double())
    assert relative_error(got, want) <= 8 * F32


def test_special_values_in_registers():
    x, w = randn(64, 40), randn(32, 40, seed=1)
    x[1, 3], x[2, 4], w[5, 6] = torch.inf, torch.nan, -torch.inf
    (got,) = compute(F.linear, (x, w), f"{LEFT},stages=2,pieces=registers")
    want = x.double() @ w.double().t()
    assert torch.equal(got.double().isnan(), want.isnan())
    assert torch.equal(got.double().isinf(), want.isinf())


def test_operands_that_no_tensor_map_copies_are_not_whole():
    x, w = randn(64, 50), randn(32, 50, seed=1)
    with pytest.raises(deplo.errors.Error, match="drop pieces=registers"):
        compute(F.linear, (x, w), "pieces=registers")


def test_pieces_serve_all_that_read_them():
    x, v, w = torch.empty(2048, 2048), torch.empty(2048, 2048), torch.empty(2048, 1024)
    kernels = get_kernels(lambda x, v, w: (x @ v, x @ w), (x, v, w), schedule="atom=wgmma")
    writers = [kernel for kernel in kernels if kernel["name"].startswith("pieces")]
    assert sum(kernel.get("launches", 1) for kernel in writers) <= 3


def test_model_prefers_what_is_quicker():
    """Large products, whose operands are split in a small part of the time."""

    def get_atoms(m, n, k):
        kernels = get_kernels(torch.matmul, (torch.empty(m, k), torch.empty(k, n)))
        return " ".join(kernel["schedule"] for kernel in kernels)

    assert "atom = wgmma" in get_atoms(4096, 4096, 4096)
    assert "atom = wgmma" not in get_atoms(1, 4096, 4096)
    assert "atom = wgmma" not in get_atoms(64, 64, 64)


def test_model_takes_pieces_where_they_are_exact():
    """Sums of few products are more exact by multiply-adds, for some data."""

    def takes_pieces(k, **options):
        kernels = get_kernels(torch.matmul, (torch.empty(8192, k), torch.empty(k, 8192)), **options)
        return any(kernel["name"].startswith("pieces") for kernel in kernels)

    assert takes_pieces(256)
    assert not takes_pieces(255)
    assert takes_pieces(64, schedule="atom=wgmma")
    assert not takes_pieces(4096, precision="ieee")


def test_parts_of_long_sums_take_pieces():
    kernels = get_kernels(torch.matmul, (torch.empty(512, 2048), torch.empty(2048, 256)))
    assert any("atom = wgmma" in kernel["schedule"] for kernel in kernels)


def test_wgmma_of_f32_is_refused_without_pieces():
    x, w = randn(64, 64), randn(64, 64)
    with pytest.raises(deplo.errors.Error, match="drop the atom"):
        deplo.compile(
            lambda x, w: torch.exp(x) @ w,
            (x, w),
            device="emu",
            target="sm_90a",
            precision="f32",
            schedule="atom=wgmma",
        )


@pytest.mark.parametrize("n_is_last", [False, True], ids=["NK", "KN"])
@pytest.mark.parametrize("k", [512, 4096])
def test_kernels_assemble_without_spills(n_is_last, k, device):
    weights = torch.empty(k, 4096) if n_is_last else torch.empty(4096, k)
    function = torch.matmul if n_is_last else F.linear
    compile_for_gpu(
        function, (torch.empty(4096, k), weights), device, precision="f32", target="sm_90a"
    )
