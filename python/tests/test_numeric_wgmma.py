# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of linear layers by wgmma, with copies by tensor maps, on the emulator."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, randn, run, sum_units, wanted
from torch.export import Dim

import deplo
from deplo.errors import Error


def check_linear(m, n, k, schedule, device, dtype=torch.bfloat16):
    x, w = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype, seed=1)
    (got,) = run(F.linear, (x, w), device, target="sm_90a", schedule=schedule)
    (want,) = wanted(F.linear, (x, w))
    scale = x.double().abs() @ w.double().abs().t()
    check(got, want, sum_units(k) + 4, scale, f"{m}x{n}x{k} {schedule}")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    ("m", "n", "k", "schedule"),
    [
        (128, 64, 256, "block=128x64,warp_tile=16x64,stages=3,split_k=1"),
        # Two warpgroups along the rows, with two instructions each.
        (130, 264, 72, "block=256x128,warp_tile=32x128,stages=2,split_k=1"),
        # Two along the columns.
        (64, 520, 136, "block=64x256,warp_tile=16x128,stages=2,split_k=1"),
        (200, 328, 200, "split_k=1"),
        # Few rows are the instruction's N: one warpgroup, or two, along the columns.
        (13, 200, 136, "block=16x64,warp_tile=16x16,stages=2,split_k=1"),
        (30, 300, 72, "block=32x128,warp_tile=32x16,stages=2,split_k=1"),
        (32, 136, 264, "block=32x128,warp_tile=32x32,stages=3,split_k=1"),
        # Blocks of two and of three tiles.
        (130, 200, 136, "block=128x96,warp_tile=16x64,stages=2,split_k=1"),
        (70, 300, 200, "block=64x144,warp_tile=16x128,stages=3,split_k=1"),
        (256, 120, 72, "block=128x112,warp_tile=32x64,stages=2,split_k=1"),
        # Rows that are no multiple of 16 bytes: no tensor map, but wgmma all the same.
        (96, 64, 100, "split_k=1"),
    ],
)
def test_linear(m, n, k, schedule, dtype):
    check_linear(m, n, k, f"atom=wgmma,{schedule}", "emu", dtype)


@pytest.mark.parametrize("step", ["tma_copy", "warp_specialize"])
def test_linear_without(step):
    check_linear(128, 64, 256, f"atom=wgmma,split_k=1,stages=3,{step}=never", "emu")


@pytest.mark.parametrize(
    ("form", "schedule"),
    [
        # Weights along columns: rows of the buffer are split, of one warpgroup or two.
        ("NN", "block=128x128,warp_tile=16x128,stages=2"),
        ("NN", "block=64x256,warp_tile=16x128,stages=3"),
        ("NN", "block=64x32,warp_tile=16x32,stages=2,warp_specialize=never"),
        ("NN", "block=64x128,warp_tile=16x128,stages=2,tma_copy=never"),
        ("NN", "block=64x192,warp_tile=16x128,stages=2"),
        ("NN", "block=128x80,warp_tile=16x64,stages=3"),
        # Both along what isn't summed over.
        ("TN", "block=128x128,warp_tile=32x128,stages=2"),
        ("TT", "block=64x128,warp_tile=16x64,stages=2"),
    ],
)
def test_operands_along_columns(form, schedule):
    m, n, k = 136, 264, 200
    x, w = randn(m, k, dtype=torch.bfloat16), randn(k, n, dtype=torch.bfloat16, seed=1)
    scale = x.double().abs() @ w.double().abs()
    if form[0] == "T":
        x = x.t().contiguous()
    if form[1] == "T":
        w = w.t().contiguous()

    def product(x, w):
        return (x.t() if form[0] == "T" else x) @ (w.t() if form[1] == "T" else w)

    (got,) = run(
        product, (x, w), "emu", target="sm_90a", schedule=f"atom=wgmma,split_k=1,{schedule}"
    )
    (want,) = wanted(product, (x, w))
    check(got, want, sum_units(k) + 4, scale, f"{form} {schedule}")


@pytest.mark.parametrize("form", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("shape", [(65, 91, 77), (2, 33, 70, 133)])
def test_packed_operands(form, shape):
    """Rows of odd lengths: kernels copy both operands to longer rows."""
    *batch, m, n, k = shape
    x = randn(*batch, m, k, dtype=torch.bfloat16)
    w = randn(*batch, k, n, dtype=torch.bfloat16, seed=1)
    scale = x.double().abs() @ w.double().abs()
    inputs = [t.mT.contiguous() if side == "T" else t for side, t in zip(form, (x, w), strict=True)]

    def product(*given):
        a, b = (t.mT if side == "T" else t for side, t in zip(form, given, strict=True))
        return a @ b

    compiled = deplo.compile(product, inputs, target="sm_90a", device="emu", schedule="atom=wgmma")
    names = [kernel["name"] for kernel in compiled.report["kernels"]]
    assert sum(name.startswith("packed") for name in names) == 2
    want = x.double() @ w.double()
    check(compiled(*inputs), want, sum_units(k) + 4, scale, f"{form} {shape}")


@pytest.mark.parametrize("schedule", ["", "atom=wgmma"])
@pytest.mark.parametrize("first", [3, 8])
def test_slices(first, schedule):
    """A tensor map's boxes begin at multiples of 16 bytes of a row."""
    x, w = randn(70, 72 + first, dtype=torch.bfloat16), randn(72, 40, dtype=torch.bfloat16, seed=1)
    scale = x[:, first:].double().abs() @ w.double().abs()
    product = lambda x, w: x[:, first:] @ w  # noqa: E731
    (got,) = run(product, (x, w), "emu", target="sm_90a", schedule=schedule)
    check(got, product(x.double(), w.double()), sum_units(72) + 4, scale, f"{first} {schedule}")


def test_packed_parts():
    """Of a sum in two parts and a tail, each has copies of its own."""
    x, w = randn(33, 1030, dtype=torch.bfloat16), randn(1030, 33, dtype=torch.bfloat16, seed=1)
    scale = x.double().abs() @ w.double().abs()
    schedule = "atom=wgmma,split_k=2"
    (got,) = run(torch.matmul, (x, w), "emu", target="sm_90a", schedule=schedule)
    check(got, x.double() @ w.double(), sum_units(1030) + 4, scale, schedule)


@pytest.mark.parametrize(
    ("m", "schedule"),
    [
        (100, "block=64x64,warp_tile=16x64,stages=2,cluster=2"),
        (100, "block=128x64,warp_tile=16x64,stages=2,cluster=4"),
        (70, "block=128x32,warp_tile=32x32,stages=3,cluster=4"),
        # Few rows: blocks of a cluster have some of them each.
        (30, "block=32x64,warp_tile=32x16,stages=2,cluster=4"),
        (16, "block=16x128,warp_tile=16x32,stages=2,cluster=2"),
        (100, "block=64x64,warp_tile=16x64,stages=2,cluster=2,warp_specialize=never"),
    ],
)
def test_chunks_shared_by_a_cluster(m, schedule):
    """Results with all that is fused behind the sum, in parts of a tile."""
    x, w = randn(m, 512, dtype=torch.bfloat16), randn(72, 512, dtype=torch.bfloat16, seed=1)
    bias, other = (
        randn(72, dtype=torch.bfloat16, seed=2),
        randn(m, 72, dtype=torch.bfloat16, seed=3),
    )

    def function(x, w, bias, other):
        return torch.maximum(F.linear(x, w, bias), other)

    inputs = (x, w, bias, other)
    pins = f"atom=wgmma,split_k=1,{schedule}"
    got = run(function, inputs, "emu", target="sm_90a", schedule=pins)
    again = run(function, inputs, "emu", target="sm_90a", schedule=pins)
    assert torch.equal(got[0], again[0])
    (want,) = wanted(function, inputs)
    scale = x.double().abs() @ w.double().abs().t() + bias.double().abs()
    check(got[0], want, sum_units(512) + 8, scale, schedule)
    compiled = deplo.compile(
        function, inputs, device="cuda", target="sm_90a", schedule=pins, ptxas=False
    )
    assert "st.async" in compiled.ir("ptx")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    ("m", "n", "k", "schedule"),
    [
        (128, 64, 256, "block=128x64,warp_tile=16x64,stages=3"),
        # Two instructions along the rows; tiles stick out.
        (130, 264, 72, "block=256x128,warp_tile=32x128,stages=2"),
        # Warpgroups along the columns.
        (64, 520, 136, "block=64x256,warp_tile=16x128,stages=2"),
        # Few rows: matrices are transposed, rows of pieces are 32 bytes.
        (30, 304, 72, "block=32x128,warp_tile=32x16,stages=2"),
    ],
)
def test_stored_by_tensor_maps(m, n, k, schedule, dtype):
    pins = f"atom=wgmma,split_k=1,tma_store=always,{schedule}"
    check_linear(m, n, k, pins, "emu", dtype)
    inputs = (torch.empty(m, k, dtype=dtype), torch.empty(n, k, dtype=dtype))
    compiled = deplo.compile(
        F.linear, inputs, device="cuda", target="sm_90a", schedule=pins, ptxas=False
    )
    ptx = compiled.ir("ptx")
    assert "stmatrix" in ptx
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    assert "st.global" not in ptx


def test_small_pieces_are_not_stored_by_tensor_maps():
    """A pad's warps hold pieces of 64 bytes: bulk copies begin at multiples of 128."""

    def function(x, w):
        return F.pad(x @ w, (3, 5))

    x, w = randn(128, 64, dtype=torch.bfloat16), randn(64, 128, dtype=torch.bfloat16, seed=1)
    pins = "atom=wgmma,tma_store=always"
    (got,) = run(function, (x, w), "emu", target="sm_90a", schedule=pins)
    (want,) = wanted(function, (x, w))
    check(got, want, sum_units(64) + 4, F.pad(x.double().abs() @ w.double().abs(), (3, 5)), pins)


def test_sums_of_f32_stored_by_tensor_maps():
    """What stmatrix doesn't write goes to shared memory in pairs."""

    def function(x, w):
        return F.linear(x, w).float() * 2.0

    x, w = randn(130, 72, dtype=torch.bfloat16), randn(72, 72, dtype=torch.bfloat16, seed=1)
    pins = "atom=wgmma,split_k=1,tma_store=always,block=128x64,warp_tile=16x64,stages=2"
    (got,) = run(function, (x, w), "emu", target="sm_90a", schedule=pins)
    (want,) = wanted(function, (x, w))
    scale = 2 * (x.double().abs() @ w.double().abs().t())
    check(got, want, 2.0**16, scale, pins)


@pytest.mark.parametrize(
    ("store", "stages"), [("always", 8), ("never", 8), ("always", 7)], ids=["tma", "threads", "7"]
)
def test_blocks_that_stay(store, stages):
    """272 tiles on 132 multiprocessors, with what is fused behind the sums; the
    last ones stick out. Rings go on where the tile before has left them."""
    m, n, k = 1020, 1080, 192
    x, w = randn(m, k, dtype=torch.bfloat16), randn(n, k, dtype=torch.bfloat16, seed=1)
    bias = randn(n, dtype=torch.bfloat16, seed=2)
    pins = (
        f"atom=wgmma,split_k=1,block=64x64,warp_tile=16x64,stages={stages},"
        f"persist_blocks=always,tma_store={store}"
    )

    def function(x, w, bias):
        return F.relu(F.linear(x, w, bias))

    (got,) = run(function, (x, w, bias), "emu", target="sm_90a", schedule=pins)
    (want,) = wanted(function, (x, w, bias))
    scale = x.double().abs() @ w.double().abs().t() + bias.double().abs()
    check(got, want, sum_units(k) + 8, scale, pins)
    compiled = deplo.compile(
        function, (x, w, bias), device="cuda", target="sm_90a", schedule=pins, ptxas=False
    )
    assert "tile.each_tile blocks 132" in compiled.ir("tile")


@pytest.mark.parametrize(
    "schedule", ["", "block=64x64,warp_tile=16x64,stages=2,cluster=1", "cluster=2"]
)
def test_rows_that_a_call_gives(schedule):
    """Tensor maps have the sizes of each call: one kernel for all of them."""

    def function(x, w, bias):
        return F.relu(F.linear(x, w, bias))

    n, k = 88, 256
    w, bias = randn(n, k, dtype=torch.bfloat16, seed=1), randn(n, dtype=torch.bfloat16, seed=2)
    compiled = deplo.compile(
        function,
        [randn(8, k, dtype=torch.bfloat16), w, bias],
        device="emu",
        target="sm_90a",
        schedule=f"atom=wgmma,split_k=1,{schedule}".rstrip(","),
        dynamic_shapes=({0: Dim("rows", min=0, max=5000)}, None, None),
    )
    assert "tile.tma_copy" in compiled.ir("tile")
    for m in (0, 1, 7, 64, 129, 300):
        x = randn(m, k, dtype=torch.bfloat16)
        scale = x.double().abs() @ w.double().abs().t() + bias.double().abs()
        want = function(x.double(), w.double(), bias.double())
        check(compiled(x, w, bias), want, sum_units(k) + 8, scale, f"{m} rows")


@pytest.mark.parametrize(
    ("most", "store"),
    # Numbers of tiles and of chunks have 32 bits, then 64.
    [(5000, "always"), (5000, "never"), (2**31 - 1, "always")],
    ids=["tma", "threads", "endless"],
)
def test_blocks_that_stay_if_a_call_has_rows_for_them(most, store):
    """A launch has 17, 34, 51 or 272 tiles, on at most 132 blocks. The emulator says if one of them
    writes behind the rows."""
    n, k = 1080, 192
    w = randn(n, k, dtype=torch.bfloat16, seed=1)
    bias = randn(n, dtype=torch.bfloat16, seed=2)
    pins = (
        "atom=wgmma,split_k=1,block=64x64,warp_tile=16x64,stages=8,"
        f"persist_blocks=always,tma_store={store}"
    )

    def function(x, w, bias):
        return F.relu(F.linear(x, w, bias))

    def compiled(device):
        return deplo.compile(
            function,
            [randn(8, k, dtype=torch.bfloat16), w, bias],
            device=device,
            target="sm_90a",
            schedule=pins,
            ptxas=False,
            dynamic_shapes=({0: Dim("rows", min=0, max=most)}, None, None),
        )

    ir = compiled("cuda").ir("tile")
    assert "tile.each_tile blocks 132" in ir and "tile.raster" in ir
    assert ("tile.tma_store" in ir) == (store == "always")
    run_rows = compiled("emu")
    for m in (0, 1, 17, 129, 1000):
        x = randn(m, k, dtype=torch.bfloat16)
        scale = x.double().abs() @ w.double().abs().t() + bias.double().abs()
        want = function(x.double(), w.double(), bias.double())
        check(run_rows(x, w, bias), want, sum_units(k) + 8, scale, f"{m} rows")


@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        ("", (0, 1, 65, 130)),
        # 3, 9 and 141 tiles, on at most 132 blocks.
        (
            "block=1x64x64,warp_tile=16x64,stages=8,persist_blocks=always,tma_store=always",
            (1, 130, 3000),
        ),
    ],
    ids=["", "blocks_that_stay"],
)
def test_strides_that_a_call_gives(schedule, sizes):
    """Rows of a batch: how far apart its matrices are depends on them."""
    n, k = 40, 72
    w = randn(3, k, n, dtype=torch.bfloat16, seed=1)
    compiled = deplo.compile(
        torch.matmul,
        [randn(3, 8, k, dtype=torch.bfloat16), w],
        device="emu",
        target="sm_90a",
        schedule=f"atom=wgmma,split_k=1,{schedule}".rstrip(","),
        dynamic_shapes=({1: Dim("rows", min=0, max=5000)}, None),
    )
    assert compiled.ir("tile").count("tile.tma_copy") == 2
    assert ("tile.each_tile" in compiled.ir("tile")) == ("persist" in schedule)
    for m in sizes:
        x = randn(3, m, k, dtype=torch.bfloat16)
        scale = x.double().abs() @ w.double().abs()
        check(compiled(x, w), x.double() @ w.double(), sum_units(k) + 4, scale, f"{m} rows")


def test_rows_and_columns_that_a_call_gives():
    """2, 15 and 225 tiles, on at most 132 blocks. Rows of results are of any length: threads store
    them."""
    k = 72
    compiled = deplo.compile(
        F.linear,
        [randn(8, k, dtype=torch.bfloat16), randn(8, k, dtype=torch.bfloat16, seed=1)],
        device="emu",
        target="sm_90a",
        schedule="atom=wgmma,split_k=1,block=64x64,warp_tile=16x64,stages=8,persist_blocks=always",
        dynamic_shapes=({0: Dim("rows", min=1, max=5000)}, {0: Dim("columns", min=1, max=5000)}),
    )
    assert "tile.each_tile" in compiled.ir("tile") and "tile.raster" in compiled.ir("tile")
    for m, n in ((1, 65), (129, 300), (900, 899)):
        x = randn(m, k, dtype=torch.bfloat16)
        w = randn(n, k, dtype=torch.bfloat16, seed=1)
        scale = x.double().abs() @ w.double().abs().t()
        want = F.linear(x.double(), w.double())
        check(compiled(x, w), want, sum_units(k) + 4, scale, f"{m}x{n}")


def test_chosen_by_itself():
    x = torch.empty(1024, 1024, dtype=torch.bfloat16)

    def ptx(target, schedule=""):
        function = deplo.compile(
            F.linear, (x, x), device="cuda", target=target, schedule=schedule, ptxas=False
        )
        return function.ir("ptx")

    assert "wgmma.mma_async" in ptx("sm_90a")
    assert "wgmma" not in ptx("sm_90a", "atom=mma_sync")
    assert "wgmma" not in ptx("sm_89")


def test_f32_is_refused():
    x, w = randn(64, 64), randn(64, 64)
    with pytest.raises(Error, match=r"drop (the atom|atom=wgmma)"):
        deplo.compile(
            torch.matmul,
            (x, w),
            device="emu",
            target="sm_90a",
            schedule="atom=wgmma",
            precision="ieee",
        )
