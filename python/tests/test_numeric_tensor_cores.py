# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of matrix products that tensor cores compute, and what they access."""

import pytest
import torch
import torch.nn.functional as F
from numeric import F32, check, compile_for_gpu, randn, run, sum_units, wanted

import deplo
from deplo import compilation
from deplo.emulator import counters_of_package
from deplo.errors import Error
from deplo.importer import import_program

HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["f16", "bf16"])
X_MAJOR = pytest.mark.parametrize("x_is_transposed", [False, True], ids=["n", "t"])
Y_MAJOR = pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
# Rounding both factors to tf32, to the nearest.
TF32_UNITS = 2 * 2.0**-11 / F32


def scale_of(x, y):
    return x.double().abs() @ y.double().abs()


def product(x_is_transposed, y_is_transposed, m, n, k, dtype):
    x = randn(k, m, dtype=dtype).t() if x_is_transposed else randn(m, k, dtype=dtype)
    y = (
        randn(n, k, dtype=dtype, seed=1).t()
        if y_is_transposed
        else randn(k, n, dtype=dtype, seed=1)
    )
    return x, y


def check_product(x, y, device, units=0.0, **options):
    (got,) = run(torch.matmul, (x, y), device, **options)
    (want,) = wanted(torch.matmul, (x, y))
    what = f"{tuple(x.shape)} @ {tuple(y.shape)} {options}"
    check(got, want, sum_units(x.shape[-1]) + 4 + units, scale_of(x, y), what)


# Whole tiles, tails along each dimension, rows that are not aligned.
SIZES = [(32, 32, 64), (33, 40, 72), (17, 24, 50), (1, 65, 7)]


@HALVES
@X_MAJOR
@Y_MAJOR
def test_operands_lie_either_way(x_is_transposed, y_is_transposed, dtype, device):
    for m, n, k in SIZES:
        check_product(*product(x_is_transposed, y_is_transposed, m, n, k, dtype), device)


@X_MAJOR
@Y_MAJOR
def test_tf32(x_is_transposed, y_is_transposed, device):
    for m, n, k in SIZES:
        x, y = product(x_is_transposed, y_is_transposed, m, n, k, torch.float32)
        check_product(x, y, device, TF32_UNITS, precision="tf32")


SCHEDULES = [
    "block=16x16,warp_tile=16x16",
    "block=32x64,warp_tile=32x32,stages=1",
    "block=32x32,warp_tile=16x32,stages=2,chunk=16",
    "block=64x32,warp_tile=64x32,stages=3,chunk=32",
    "block=128x64,warp_tile=64x64,stages=2,chunk=32",
    "block=32x32,warp_tile=32x16,stages=5,chunk=16",
    "block=32x64,warp_tile=16x16,stages=3,async_copy=never",
    "block=32x32,warp_tile=16x16,swizzle_smem=never",
    "block=32x32,warp_tile=16x16,swizzle_smem=never,pad_smem=never",
    "block=32x32,warp_tile=32x32,stage_inputs=never",
    "block=32x32,thread=4x4,atom=fma",
]


@HALVES
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_change_no_values(schedule, dtype, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    check_product(*product(False, True, 33, 41, 96, dtype), device, schedule=schedule)
    check_product(*product(False, False, 70, 72, 80, dtype), device, schedule=schedule)


@HALVES
def test_rows_with_gaps_between_them(dtype, device):
    for stride in (64, 68, 67):
        x = randn(24, stride, dtype=dtype)[:, :48]
        y = randn(48, stride, dtype=dtype, seed=1)[:, :40]
        check_product(x, y, device)


@HALVES
@pytest.mark.parametrize("x_batch, y_batch", [((3,), (3,)), ((2, 2), (1, 2)), ((3,), ())], ids=str)
def test_batches_broadcast(x_batch, y_batch, dtype, device):
    x, y = randn(*x_batch, 20, 24, dtype=dtype), randn(*y_batch, 24, 32, dtype=dtype, seed=1)
    check_product(x, y, device)


EPILOGUES = {
    "gelu": lambda p, r: F.gelu(p),
    "residual": lambda p, r: p + r.float(),
    "row": lambda p, r: p * r[:1].float(),
    "column": lambda p, r: p + r[:, :1].float(),
}


@HALVES
@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogues_are_part_of_the_kernel(name, dtype, device):
    x, y, r = (randn(*s, dtype=dtype, seed=i) for i, s in enumerate([(33, 24), (24, 40), (33, 40)]))

    def function(x, y, r):
        return EPILOGUES[name]((x @ y).float(), r)

    (got,), (want,) = run(function, (x, y, r), device), wanted(function, (x, y, r))
    assert len(deplo.compile(function, (x, y, r), device="host").report["kernels"]) == 1
    # The product is rounded before what follows, as PyTorch does.
    rounding = torch.finfo(dtype).eps / F32
    check(got, want, sum_units(24) + 16 + rounding, (scale_of(x, y) + 4) * 2, name)


PRECISIONS = {
    "f16": (torch.float16, "ieee", 0),
    "bf16": (torch.bfloat16, "ieee", 0),
    "tf32": (torch.float32, "tf32", TF32_UNITS),
    "f32": (torch.float32, "f32", 0),
}


@pytest.mark.parametrize("name", PRECISIONS)
def test_one_kernel_for_all_numbers_of_rows(name, device):
    dtype, precision, units = PRECISIONS[name]
    place = "cuda" if device == "cuda" else "cpu"
    y = randn(40, 24, dtype=dtype, seed=1)
    compiled = deplo.compile(
        lambda x, y: F.relu(x @ y),
        (randn(8, 40, dtype=dtype).to(place), y.to(place)),
        device=device,
        dynamic_shapes={"x": {0: torch.export.Dim("rows", min=0, max=300)}, "y": None},
        precision=precision,
        # By wgmma unless the schedule says otherwise, where the device has it.
        schedule="" if device == "host" else "atom=mma_sync",
    )
    if device != "host":
        assert "atom = mma_sync" in compiled.report["kernels"][0]["schedule"]
    for rows in (0, 1, 15, 16, 17, 33, 64, 129, 300):
        x = randn(rows, 40, dtype=dtype)
        got = compiled(x.to(place), y.to(place)).cpu()
        want = F.relu(x.double() @ y.double())
        check(got, want, sum_units(40) + 4 + units, scale_of(x, y), f"{rows} rows")


def test_not_finite_beside_any_number_of_rows(device):
    place = "cuda" if device == "cuda" else "cpu"
    compiled = deplo.compile(
        torch.matmul,
        (randn(8, 24).to(place), randn(24, 16).to(place)),
        device=device,
        dynamic_shapes=({0: torch.export.Dim("rows", min=0, max=300)}, None),
        precision="f32",
    )
    for rows in (1, 17, 70):
        x, y = randn(rows, 24), randn(24, 16, seed=1)
        x[-1, 3] = torch.inf
        got = compiled(x.to(place), y.to(place)).cpu()
        assert torch.equal(got[-1], (x @ y)[-1])
        assert got[:-1].isfinite().all()


def test_torch_compile_of_changing_rows(torch_device):
    y = randn(40, 24, dtype=torch.float16, seed=1).to(torch_device)
    run_it = torch.compile(lambda x: F.gelu((x @ y).float()), backend="deplo", dynamic=True)
    for rows in (5, 16, 33, 70):
        x = randn(rows, 40, dtype=torch.float16)
        want = F.gelu((x @ y.cpu()).double())
        got = run_it(x.to(torch_device)).cpu()
        check(got, want, 2.0**-10 / F32, scale_of(x, y.cpu()) + 1, f"{rows} rows")


def test_schedules_suit_the_range_of_rows():
    """A few rows take small blocks, of which a large product has many."""

    def get_rows(most):
        program = import_program(
            torch.matmul,
            (torch.empty(8, 4096, dtype=torch.float16), torch.empty(4096, 4096).half()),
            dynamic_shapes=({0: torch.export.Dim("rows", max=most)}, None),
        )
        options = compilation.Options(target="sm_90a", level="tile", schedule="atom=mma_sync")
        kernels = compilation.compile_ir(program.text, options).kernels
        return int(kernels[0]["schedule"].split("block = [")[1].split(",")[0])

    assert get_rows(16) == 16
    assert get_rows(64) < get_rows(100000)


def test_sums_are_in_f32(device):
    """1024 products of 1 and one of 1/1024, which f16 and bf16 would lose."""
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.ones(16, 1025, dtype=dtype)
        x[:, 1024] = 2.0**-10
        y = torch.ones(1025, 16, dtype=dtype)
        (got,) = run(lambda x, y: (x @ y).float() - 1024, (x, y), device)
        assert got.abs().max() <= 4


def test_special_values(device):
    x, y = randn(16, 32, dtype=torch.float16), randn(32, 16, dtype=torch.float16, seed=1)
    x[1, 3], x[2, 4], y[5, 6] = torch.inf, torch.nan, -torch.inf
    for inputs, options in (((x, y), {}), ((x.float(), y.float()), {"precision": "tf32"})):
        (got,) = run(torch.matmul, inputs, device, **options)
        want = x.double() @ y.double()
        assert torch.equal(got.double().isnan(), want.isnan())
        assert torch.equal(got.double()[want.isinf()], want[want.isinf()])


def test_precisions_are_named(device):
    with pytest.raises(Error, match="'fp8', expected ieee, f32, f32-fast or tf32"):
        deplo.compile(torch.matmul, (randn(4, 4), randn(4, 4)), device=device, precision="fp8")


def test_tensor_cores_round_no_f32_unasked():
    with pytest.raises(Error, match="choose precision=f32, f32-fast or tf32 for f32"):
        deplo.compile(
            torch.matmul,
            (randn(32, 32), randn(32, 32)),
            device="emu",
            schedule="atom=mma_sync",
            precision="ieee",
        )


def count_product(x_is_transposed, y_is_transposed, dtype, schedule, **options):
    """What the emulator counts of a product of 64x64x128 in one block."""
    x, y = product(x_is_transposed, y_is_transposed, 64, 64, 128, dtype)
    compiled = deplo.compile(torch.matmul, (x, y), device="emu", schedule=schedule, **options)
    ((_, counters),) = counters_of_package(compiled.package)
    return counters


def select(counters, word):
    return [i for i in counters["instructions"] if i["text"].startswith(word)]


@X_MAJOR
@Y_MAJOR
def test_fragments_are_read_without_conflicts(x_is_transposed, y_is_transposed):
    schedule = "block=64x64,warp_tile=32x32,stages=2"
    counters = count_product(x_is_transposed, y_is_transposed, torch.bfloat16, schedule)
    reads = select(counters, "ldmatrix")
    assert reads
    assert not select(counters, "ld.shared")
    for read in reads:
        assert ".x4" in read["text"]
        assert read["wavefronts"] == read["ideal_wavefronts"], read
    copies = [i for i in counters["instructions"] if "shared.global" in i["text"]]
    assert copies
    assert all(", 16" in copy["text"] for copy in copies)
    assert counters["conflict_degree"] == 1
    assert counters["local_bytes"] == 0
    # Two instructions of 16x8x16 for each ldmatrix.x4, and little else.
    products = 64 * 64 * 128 // (16 * 8 * 16)
    assert sum(i["warps"] for i in select(counters, "mma.sync")) == products


def test_tf32_reads_without_conflicts():
    schedule = "block=64x64,warp_tile=32x32,stages=2"
    for y_is_transposed in (False, True):
        counters = count_product(False, y_is_transposed, torch.float32, schedule, precision="tf32")
        assert select(counters, "ldmatrix")
        assert counters["conflict_degree"] == 1


def test_swizzles_are_what_keeps_reads_from_conflicts():
    schedule = "block=64x64,warp_tile=32x32,chunk=64,stages=2,swizzle_smem=never,pad_smem=never"
    reads = select(count_product(False, True, torch.bfloat16, schedule), "ldmatrix")
    assert reads
    for read in reads:
        assert read["wavefronts"] == 8 * read["ideal_wavefronts"], read


@HALVES
@pytest.mark.parametrize("m, n, k", [(4096, 4096, 4096), (1000, 77, 129), (4, 4096, 64)])
def test_kernels_assemble_without_spills(m, n, k, dtype, device):
    inputs = (torch.empty(m, k, dtype=dtype), torch.empty(k, n, dtype=dtype))
    compile_for_gpu(torch.matmul, inputs, device)
