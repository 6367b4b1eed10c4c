# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices of integers: by tensor cores from i8, else by multiply-adds."""

import pytest
import torch
from numeric import compile_for_gpu, run

import deplo
from deplo.emulator import counters_of_package


def integers(*shape, dtype=torch.int8, seed=0):
    """Of the whole range, the ends of it among them."""
    limits = torch.iinfo(dtype)
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(limits.min, limits.max, shape, generator=generator, dtype=dtype)
    flat = numbers.view(-1)
    flat[: flat.numel() // 4] = limits.min
    flat[flat.numel() // 4 : flat.numel() // 2] = limits.max
    return flat[torch.randperm(flat.numel(), generator=generator)].reshape(shape)


SIZES = [(32, 32, 64), (33, 40, 72), (17, 24, 50), (1, 65, 7), (64, 48, 1000)]


@pytest.mark.parametrize("y_is_transposed", [False, True], ids=["n", "t"])
def test_int_mm(y_is_transposed, device):
    for m, n, k in SIZES:
        x = integers(m, k)
        y = integers(n, k, seed=1).t() if y_is_transposed else integers(k, n, seed=1)
        (got,) = run(torch._int_mm, (x, y), device)
        assert got.dtype == torch.int32
        assert torch.equal(got, x.int() @ y.int()), (m, n, k)


def test_widened_before(device):
    x, y = integers(33, 72), integers(72, 40, seed=1)
    (got,) = run(lambda x, y: x.to(torch.int32) @ y.to(torch.int32), (x, y), device)
    assert torch.equal(got, x.int() @ y.int())


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64], ids=["i8", "i32", "i64"])
def test_sums_wrap(dtype, device):
    x, y = integers(20, 36, dtype=dtype), integers(36, 24, dtype=dtype, seed=1)
    (got,) = run(torch.matmul, (x, y), device)
    assert torch.equal(got, x @ y)


def test_batches_and_dequantisation(device):
    x, y = integers(3, 20, 40), integers(40, 32, seed=1)
    scale = torch.rand(32)

    def function(x, y, scale):
        return (x.int() @ y.int()).float() * scale

    (got,) = run(function, (x, y, scale), device)
    assert torch.equal(got, function(x, y, scale))


@pytest.mark.parametrize(
    "schedule",
    [
        "block=16x16,warp_tile=16x16",
        "block=32x64,warp_tile=32x32,stages=3,chunk=32",
        "block=32x32,warp_tile=16x32,async_copy=never",
        "block=32x32,warp_tile=16x16,swizzle_smem=never",
        "block=32x32,warp_tile=32x32,stage_inputs=never",
        "block=32x32,thread=4x4,atom=fma,chunk=32",
    ],
)
def test_schedules_change_no_values(schedule, device):
    if device == "host":
        pytest.skip("the host has no schedule")
    x, y = integers(33, 96), integers(41, 96, seed=1).t()
    (got,) = run(torch._int_mm, (x, y), device, schedule=schedule)
    assert torch.equal(got, x.int() @ y.int())


def test_tensor_cores_read_without_conflicts():
    x, y = integers(64, 128), integers(64, 128, seed=1).t()
    schedule = "block=64x64,warp_tile=32x32,stages=2,chunk=64"
    compiled = deplo.compile(torch._int_mm, (x, y), device="emu", schedule=schedule)
    ((_, counters),) = counters_of_package(compiled.package)

    def select(word):
        return [i for i in counters["instructions"] if i["text"].startswith(word)]

    assert all(".s8" in i["text"] for i in select("mma.sync"))
    assert sum(i["warps"] for i in select("mma.sync")) == 64 * 64 * 128 // (16 * 8 * 32)
    assert select("ldmatrix")
    assert not select("ld.shared")
    assert counters["conflict_degree"] == 1


@pytest.mark.parametrize("m, n, k", [(4096, 4096, 4096), (1000, 77, 129), (4, 4096, 64)])
def test_kernels_assemble_without_spills(m, n, k, device):
    inputs = torch.empty(m, k, dtype=torch.int8), torch.empty(n, k, dtype=torch.int8).t()
    compile_for_gpu(torch._int_mm, inputs, device)
