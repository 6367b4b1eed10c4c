# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of matrix products and of what is fused with them."""

import pytest
import torch
import torch.nn.functional as F
from numeric import (
    DTYPE_IDS,
    DTYPES,
    F32,
    UNIT,
    check,
    compile_for_gpu,
    randn,
    run,
    sum_units,
    wanted,
)

import deplo
from deplo.emulator import counters_of_package

by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)

# Rows, columns, what is summed over: around the sizes of tiles, and far from them.
SIZES = [
    (1, 1, 1),
    (1, 7, 15),
    (7, 1, 33),
    (15, 31, 1),
    (31, 33, 7),
    (33, 63, 65),
    (63, 15, 31),
    (65, 65, 127),
    (127, 33, 64),
    (64, 129, 63),
]
# The emulator runs every thread of every block.
SMALL = [(1, 7, 15), (7, 1, 33), (15, 31, 1), (33, 17, 37), (31, 33, 16)]


def sizes(device):
    return SMALL if device == "emu" else SIZES


def product_scale(x, y):
    return x.double().abs() @ y.double().abs()


def check_product(function, x, y, device, extra=0.0, **options):
    """`function(x, y)` against float64, in units of the sum of the products' magnitudes."""
    (got,) = run(function, (x, y), device, **options)
    (want,) = wanted(function, (x, y))
    scale = product_scale(x, y) + extra
    check(got, want, sum_units(x.shape[-1]) + 4, scale, f"{tuple(x.shape)} @ {tuple(y.shape)}")


@by_dtype
def test_products_of_all_sizes(dtype, device):
    for m, n, k in sizes(device):
        x, y = randn(m, k, dtype=dtype), randn(k, n, dtype=dtype, seed=1)
        check_product(lambda x, y: x @ y, x, y, device)


@pytest.mark.parametrize("x_is_transposed", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
def test_operands_lie_either_way(x_is_transposed, y_is_transposed, device):
    for m, n, k in sizes(device)[-3:]:
        x = randn(k, m).t() if x_is_transposed else randn(m, k)
        y = randn(n, k, seed=1).t() if y_is_transposed else randn(k, n, seed=1)
        check_product(lambda x, y: x @ y, x, y, device)


def test_sums_over_nothing_are_zero(device):
    x, y = torch.empty(3, 0), torch.empty(0, 5)
    (got,) = run(lambda x, y: x @ y, (x, y), device)
    assert torch.equal(got, torch.zeros(3, 5))
    x, y = torch.empty(0, 4), torch.empty(4, 5)
    assert run(lambda x, y: x @ y, (x, y), device)[0].shape == (0, 5)


BATCHES = [((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (1, 3)), ((2, 1), (3,)), ((1,), (4,))]


@pytest.mark.parametrize("x_batch, y_batch", BATCHES, ids=str)
def test_batches_broadcast(x_batch, y_batch, device):
    x, y = randn(*x_batch, 5, 9), randn(*y_batch, 9, 7, seed=1)
    check_product(torch.matmul, x, y, device)


def test_vectors(device):
    m, v, w = randn(9, 33), randn(33, seed=1), randn(9, seed=2)
    for function, inputs in (
        (torch.mv, (m, v)),
        (torch.dot, (v, v)),
        (torch.matmul, (w, m)),
        (torch.matmul, (m, v)),
        (torch.matmul, (randn(2, 9, 33), v)),
    ):
        (got,), (want,) = run(function, inputs, device), wanted(function, inputs)
        scale = inputs[0].double().abs() @ inputs[1].double().abs()
        check(got, want, sum_units(33) + 2, scale, str(function))


@by_dtype
@pytest.mark.parametrize("has_bias", [False, True], ids=["plain", "bias"])
def test_linear_rounds_once(has_bias, dtype, device):
    x, w = randn(2, 3, 33, dtype=dtype), randn(17, 33, dtype=dtype, seed=1)
    inputs = (x, w, randn(17, dtype=dtype, seed=2)) if has_bias else (x, w)
    (got,), (want,) = run(F.linear, inputs, device), wanted(F.linear, inputs)
    check(got, want, sum_units(33) + 4, product_scale(x, w.t()) + 3, "linear")


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (0.5, 2), (1, 0)], ids=str)
def test_scaled_sums_with_products(beta, alpha, device):
    b, x, y = randn(15, 17), randn(15, 31, seed=1), randn(31, 17, seed=2)

    def function(b, x, y):
        return torch.addmm(b, x, y, beta=beta, alpha=alpha), torch.baddbmm(
            b[None], x[None], y[None], beta=beta, alpha=alpha
        )

    scale = abs(alpha) * product_scale(x, y) + abs(beta) * b.double().abs()
    for got, want in zip(
        run(function, (b, x, y), device), wanted(function, (b, x, y)), strict=True
    ):
        check(got, want, sum_units(31) + 4, scale, "addmm")


def test_a_beta_of_zero_takes_nothing_from_what_is_added(device):
    b, x = torch.full((4, 4), torch.nan), torch.ones(4, 4)
    (got,) = run(lambda b, x: torch.addmm(b, x, x, beta=0), (b, x), device)
    assert torch.equal(got, torch.full((4, 4), 4.0))


def test_einsum(device):
    x, y = randn(3, 5, 9), randn(3, 7, 9, seed=1)
    check_product(
        lambda x, y: torch.einsum("bik,bjk->bij", x, y.transpose(1, 2)),
        x,
        y.transpose(1, 2),
        device,
    )


EPILOGUES = {
    "gelu": lambda p, r: F.gelu(p),
    "scale": lambda p, r: p * 0.125,
    "residual": lambda p, r: p + r,
    "row": lambda p, r: p * r[:1],
    "column": lambda p, r: p + r[:, :1],
    "cast": lambda p, r: p.to(torch.bfloat16).float(),
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogues_are_part_of_the_kernel(name, device):
    x, y, r = randn(33, 17), randn(17, 31, seed=1), randn(33, 31, seed=2)

    def function(x, y, r):
        return EPILOGUES[name](x @ y, r)

    (got,), (want,) = run(function, (x, y, r), device), wanted(function, (x, y, r))
    units = 2**17 if name == "cast" else sum_units(17) + 16
    check(got, want, units, product_scale(x, y) + 4, name)
    compiled = deplo.compile(function, (x, y, r), device="host")
    assert len(compiled.report["kernels"]) == 1


def test_special_values_are_those_of_ieee(device):
    x, y = randn(9, 17), randn(17, 33, seed=1)
    x[1, 3], x[2, 4], y[5, 6], y[7, 8] = torch.inf, torch.nan, -torch.inf, torch.nan
    (got,) = run(lambda x, y: x @ y, (x, y), device)
    want = x.double() @ y.double()
    assert torch.equal(got.double().isnan(), want.isnan())
    infinite = want.isinf()
    assert torch.equal(got.double()[infinite], want[infinite])


SCHEDULES = [
    "block=16x16,thread=2x2,warps=2",
    "block=32x64,thread=4x4,warps=4",
    "block=64x32,thread=8x4,warps=2,chunk=8",
    "block=32x32,thread=2x2,stage_inputs=never",
    "block=32x32,thread=4x4,chunk=8,stages=2",
    "block=32x32,thread=4x4,chunk=8,stages=1",
    "block=32x32,thread=4x4,chunk=8,stages=3",
    "block=32x32,thread=4x4,chunk=8,stages=4,async_copy=never",
    "block=32x32,thread=4x4,chunk=8,stages=4",
    "block=16x32,thread=2x4,async_copy=never,pad_smem=never",
    "block=32x32,thread=4x8,chunk=8,stages=3,transpose_smem=always",
    "block=16x64,thread=2x4,async_copy=never,transpose_smem=always",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_change_no_values(schedule, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    x, y = randn(33, 41), randn(41, 37, seed=1)
    check_product(lambda x, y: x @ y, x, y, device, schedule=schedule)


LONG_SUMS = [
    "split_k=1",
    "split_k=1,stages=1",
    "split_k=1,chunk=16,stages=3",
    "split_k=4",
    "split_k=7",
]


@pytest.mark.parametrize("schedule", LONG_SUMS)
@pytest.mark.parametrize("depth", [1025, 1600])
def test_long_sums_go_over_parts(depth, schedule, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    x, y, b = randn(3, depth), randn(depth, 9, seed=1), randn(9, seed=2)

    def function(x, y, b):
        return F.relu(x @ y + b)

    (got,) = run(function, (x, y, b), device, schedule=schedule)
    (want,) = wanted(function, (x, y, b))
    # No f32 takes up more than 1024 products.
    check(got, want, sum_units(1024), product_scale(x, y) + 3, schedule)


@pytest.mark.parametrize("schedule", ["split_k=1", "split_k=3"])
def test_long_sums_that_share_an_operand(schedule, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    x, y, z = randn(3, 1100), randn(1100, 9, seed=1), randn(1100, 9, seed=2)

    def function(x, y, z):
        return F.silu(x @ y) * (x @ z)

    (got,) = run(function, (x, y, z), device, schedule=schedule)
    (want,) = wanted(function, (x, y, z))
    assert (got.double() - want).abs().max() < 1e-5 * want.abs().max()


def test_parts_of_sums_are_kernels():
    def kernels(schedule, depth=2048):
        x, y = randn(4, depth), randn(depth, 64, seed=1)
        compiled = deplo.compile(
            torch.matmul, (x, y), device="emu", schedule=schedule, precision="ieee"
        )
        return len(compiled.report["kernels"])

    assert kernels("split_k=1") == 1
    assert kernels("split_k=8") == 2
    # What parts of one length leave over is one more.
    assert kernels("split_k=4", depth=1030) == 3
    # The model divides what would leave the device empty.
    assert kernels("") == 2


def count_product(x_is_transposed, y_is_transposed, schedule):
    """What the emulator counts of a product of 64x64 in one block."""
    x, y = randn(64, 64), randn(64, 64, seed=1)

    def function(x, y):
        return (x.t() if x_is_transposed else x) @ (y.t() if y_is_transposed else y)

    compiled = deplo.compile(function, (x, y), device="emu", schedule=schedule)
    ((_, counters),) = counters_of_package(compiled.package)
    return counters


def check_reads(counters):
    """Of shared memory: all of 16 bytes, and none waits for a bank."""
    reads = [i for i in counters["instructions"] if i["text"].startswith("ld.shared")]
    assert reads
    for read in reads:
        assert read["access_bytes"] == 16, read
        assert read["wavefronts"] == read["ideal_wavefronts"], read


@pytest.mark.parametrize("x_is_transposed", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
def test_inner_loops_read_16_bytes_without_conflicts(x_is_transposed, y_is_transposed):
    schedule = "block=64x64,thread=8x8,stages=2,transpose_smem=never"
    counters = count_product(x_is_transposed, y_is_transposed, schedule)
    check_reads(counters)
    copies = [i for i in counters["instructions"] if "shared.global" in i["text"]]
    assert copies
    assert all(", 16" in copy["text"] for copy in copies)
    assert counters["conflict_degree"] == 1
    assert counters["local_bytes"] == 0
    # Most of what a thread does is to multiply and add.
    products = 64**3 / 32
    assert counters["warp_instructions"] < 1.5 * products


@pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("chunk", [8, 16, 32])
def test_transposed_chunks_are_read_without_conflicts(y_is_transposed, chunk):
    schedule = f"block=64x64,thread=8x8,chunk={chunk},stages=2,transpose_smem=always"
    counters = count_product(False, y_is_transposed, schedule)
    check_reads(counters)
    # Single elements are copied along memory, 8 in a run, and to rows that a pad
    # keeps in different banks.
    copies = [i for i in counters["instructions"] if "shared.global" in i["text"]]
    assert any(", 4" in copy["text"] for copy in copies)
    assert counters["conflict_degree"] == 1
    assert counters["local_bytes"] == 0


def test_pads_are_what_keeps_reads_from_conflicts():
    counters = count_product(False, True, "block=64x64,thread=8x8,stages=2,pad_smem=never")
    assert counters["conflict_degree"] > 1


@by_dtype
@pytest.mark.parametrize("m, n, k", [(512, 512, 512), (1000, 77, 129), (4, 4096, 64)])
def test_kernels_assemble(m, n, k, dtype, device):
    compile_for_gpu(torch.matmul, (randn(m, k, dtype=dtype), randn(k, n, dtype=dtype)), device)


MASKS = {
    "none": None,
    "bools": torch.tril(torch.ones(5, 7)).bool() & (torch.arange(5)[:, None] != 2),
    "numbers": torch.linspace(-3, 3, 35).reshape(5, 7),
    "heads": torch.linspace(-3, 3, 140).reshape(4, 5, 7),
}


@by_dtype
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("heads", [4, 2, 1])
def test_attention(heads, mask, dtype, device):
    q, k = randn(2, 4, 5, 8, dtype=dtype), randn(2, heads, 7, 8, dtype=dtype, seed=1)
    v, m = randn(2, heads, 7, 6, dtype=dtype, seed=2), MASKS[mask]
    m = m.to(dtype) if m is not None and m.dtype != torch.bool else m

    def function(q, k, v, *mask):
        (m,) = mask or (None,)
        if m is not None and m.dtype != torch.bool:
            m = m.to(q.dtype)
        causal = m is None
        return F.scaled_dot_product_attention(q, k, v, m, is_causal=causal, enable_gqa=True)

    inputs = (q, k, v) if m is None else (q, k, v, m)
    (got,) = run(function, inputs, device)
    want = function(*(x if x.dtype == torch.bool else x.double() for x in inputs))
    # Weights of a half float are rounded once before they are multiplied with the values.
    units = 64 + (0 if dtype == torch.float32 else 2 * UNIT[dtype] / F32)
    check(got, want, units, v.double().abs().max().item() * 4, mask)


def test_attention_under_a_mask_of_other_lengths(device):
    """Built for 256 keys, used for two; the second of the batch is no zero."""
    q, k, v = (randn(2, 4, 2, 8, seed=i) for i in range(3))
    mask = torch.tril(torch.ones(256, 256)).bool()

    def function(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask[:2, :2])

    (got,) = run(function, (q, k, v, mask), device)
    want = F.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=True)
    check(got, want, 64, scale=4, what="attention")
    assert got[1].abs().max() > 0


@pytest.mark.parametrize("keys", [128, 129, 131, 200, 227])
def test_attention_of_one_query_over_keys_of_any_number(keys, device):
    q = randn(1, 2, 1, 16)
    k, v = (randn(1, keys, 2, 16, seed=i).transpose(1, 2) for i in (1, 2))
    (got,) = run(F.scaled_dot_product_attention, (q, k, v), device)
    want = F.scaled_dot_product_attention(*(x.double() for x in (q, k, v)))
    check(got, want, 64, scale=4, what=f"{keys} keys")
