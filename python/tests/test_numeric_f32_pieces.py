# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f32 by tensor cores that are as exact as those in f32: precision "f32"."""

import pytest
import torch
import torch.nn.functional as F
from numeric import F32, compile_for_gpu, randn, run, wide

import deplo
from deplo import compilation
from deplo.emulator import counters_of_package
from deplo.importer import import_program

PINS = "atom=mma_sync"


def multiply(x, y, device, **options):
    (got,) = run(torch.matmul, (x, y), device, precision="f32", **options)
    return got


def relative_error(got, x, y):
    want = x.double() @ y.double()
    return ((got.double() - want).norm() / want.norm()).item()


@pytest.mark.parametrize("x_is_transposed", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
def test_as_exact_as_f32(x_is_transposed, y_is_transposed, device):
    for m, n, k in [(32, 32, 64), (33, 40, 72), (17, 24, 50), (1, 65, 7), (48, 24, 1000)]:
        x = randn(k, m).t() if x_is_transposed else randn(m, k)
        y = randn(n, k, seed=1).t() if y_is_transposed else randn(k, n, seed=1)
        got = multiply(x, y, device, schedule=PINS)
        assert relative_error(got, x, y) <= 4 * F32, (m, n, k)


DATA = {
    "positive": (lambda m, k, seed: randn(m, k, seed=seed).abs(), 4),
    "elements of all magnitudes": (lambda m, k, seed: wide(m, k, spread=30, seed=seed), 4),
    "rows of all magnitudes": (
        lambda m, k, seed: randn(m, k, seed=seed) * wide(m, 1, spread=20, seed=seed + 7),
        4,
    ),
    # Pieces have f32's whole range.
    "near the least normal number": (lambda m, k, seed: randn(m, k, seed=seed) * 2.0**-120, 4),
}


@pytest.mark.parametrize("name", DATA)
def test_data_of_all_kinds(name, device):
    make, units = DATA[name]
    x, y = make(32, 256, 0), make(32, 256, 1).t()
    if "least" in name:
        y = randn(256, 32, seed=1)
    assert relative_error(multiply(x, y, device, schedule=PINS), x, y) <= units * F32


def test_subnormal_numbers(device):
    """Products of them with large ones lose nothing."""
    x = torch.ldexp(torch.arange(1, 16 * 16 + 1).reshape(16, 16).float(), torch.tensor(-149))
    y = torch.eye(16) * 2.0**100
    assert torch.equal(multiply(x, y, device, schedule=PINS).double(), x.double() @ y.double())


def test_the_identity_keeps_every_bit(device):
    """Three pieces are all 24 bits."""
    x = wide(48, 32, spread=30, seed=0)
    assert torch.equal(multiply(x, torch.eye(32), device, schedule=PINS), x)


def test_special_values(device):
    largest, least = torch.finfo(torch.float32).max, 2.0**-149
    x, y = randn(32, 40), randn(40, 24, seed=1)
    x[1, 3], x[2, 4], y[5, 6] = torch.inf, torch.nan, -torch.inf
    x[3, 0], y[0, 5] = torch.inf, 0.0
    x[4] = 0.0
    x[4, 0] = largest
    x[5] = 0.0
    x[5, 1], y[1, 7] = least, torch.inf
    x[6], x[7] = 0.0, -0.0
    got = multiply(x, y, device, schedule=PINS)
    want = x.double() @ y.double()
    assert torch.equal(got.double().isnan(), want.isnan())
    overflows = want.abs() > largest
    assert torch.equal(got[overflows].double(), want[overflows].sign() * torch.inf)
    fine = want.isfinite() & ~overflows
    assert (got.double() - want)[fine].abs().max() <= 64 * F32 * want[fine].abs().max()


def test_largest_numbers_are_exact(device):
    """They round to infinity in bf16."""
    largest = torch.finfo(torch.float32).max
    x = torch.diag(torch.tensor([largest, -largest, 1.0, 0.5] * 4))
    y = torch.diag(torch.tensor([1.0, 0.5, largest, -largest] * 4))
    assert torch.equal(multiply(x, y, device, schedule=PINS), x @ y)


SCHEDULES = [
    "block=16x16,warp_tile=16x16",
    "block=32x64,warp_tile=32x32,stages=1",
    "block=32x32,warp_tile=16x32,stages=2,chunk=16",
    "block=64x32,warp_tile=32x32,stages=3,chunk=32",
    "block=32x64,warp_tile=16x16,stages=3,async_copy=never",
    "block=32x32,warp_tile=16x16,swizzle_smem=never",
    "block=32x32,warp_tile=32x32,stage_inputs=never",
    "split_k=3,atom=mma_sync",
    "block=32x32,thread=4x4,atom=fma",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_change_no_values(schedule, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    x, y = randn(33, 96), randn(41, 96, seed=1).t()
    x[3, 50] = torch.inf
    got = multiply(x, y, device, schedule=schedule)
    rows = torch.arange(33) != 3
    assert relative_error(got[rows], x[rows], y) <= 4 * F32
    assert torch.equal(got[3], x[3] @ y)


def test_batches_and_epilogues(device):
    x, y, r = randn(3, 20, 40), randn(40, 32, seed=1), randn(32, seed=2)
    x[1, 2, 3] = torch.nan

    def function(x, y, r):
        return F.relu(x @ y + r)

    (got,) = run(function, (x, y, r), device, precision="f32", schedule=PINS)
    want = function(x.double(), y.double(), r.double())
    assert torch.equal(got.isnan(), want.isnan())
    assert (got.double() - want).nan_to_num().abs().max() <= 64 * F32


def test_two_products_of_one_operand(device):
    """Both are looked at for what is not finite."""
    x, g, u = randn(33, 64), randn(64, 24, seed=1), randn(64, 24, seed=2)
    g[1, 2] = torch.inf

    def function(x, g, u):
        return (x @ g) * (x @ u)

    (got,) = run(function, (x, g, u), device, precision="f32", schedule=PINS)
    want = function(x.double(), g.double(), u.double())
    fine = want.isfinite()
    assert torch.equal(got.isfinite(), fine)
    assert (got.double() - want)[fine].abs().max() <= 256 * F32 * want[fine].abs().max()


def test_default_takes_no_sums_that_round():
    """Those by mma.sync have larger errors than a library's kernels for some data."""
    inputs = torch.empty(4096, 4096), torch.empty(4096, 4096)

    def get_schedule(target):
        program = import_program(torch.matmul, inputs)
        options = compilation.Options(target=target, level="tile", precision="f32")
        return compilation.compile_ir(program.text, options).kernels[0]["schedule"]

    assert "atom = mma_sync" not in get_schedule("sm_80")
    assert "atom = mma_sync" not in get_schedule("sm_89")


def test_pieces_are_of_six_products():
    x, y = randn(64, 128), randn(64, 128, seed=1).t()
    schedule = "block=64x64,warp_tile=32x32,stages=2,chunk=32"
    compiled = deplo.compile(torch.matmul, (x, y), device="emu", schedule=schedule, precision="f32")
    ((_, counters),) = counters_of_package(compiled.package)
    products = [i for i in counters["instructions"] if i["text"].startswith("mma.sync")]
    assert all("bf16" in i["text"] for i in products)
    assert sum(i["warps"] for i in products) == 6 * 64 * 64 * 128 // (16 * 8 * 16)
    assert counters["conflict_degree"] == 1
    assert counters["local_bytes"] == 0


@pytest.mark.parametrize("m, n, k", [(4096, 4096, 4096), (1000, 77, 129), (4, 4096, 64)])
def test_kernels_assemble_without_spills(m, n, k, device):
    inputs = (torch.empty(m, k), torch.empty(k, n))
    compile_for_gpu(torch.matmul, inputs, device, precision="f32", schedule=PINS)
