# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions of any size, and the shapes and values that broke other compilers'."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, compile_for_gpu, randn, run, sum_units, wanted

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)

SIZES = (0, 1, 7, 15, 31, 33, 63, 65, 127, 129, 1000, 2049)


def units(k):
    """Of a sum that may be in ascending order: its roundings walk at random."""
    return sum_units(k) + math.sqrt(k)


def check_product(function, inputs, device, dtype=torch.float32, **options):
    """`function` of two matrices, and of a bias as may be."""
    (got,), (want,) = run(function, inputs, device, **options), wanted(function, inputs)
    x, y = (t.double().abs() for t in inputs[:2])
    largest = (x.square().sum(-1).sqrt().max() * y.square().sum(0).sqrt().max()).item() + 4
    check(got, want, units(inputs[0].shape[-1]), largest, str([tuple(t.shape) for t in inputs]))


@pytest.fixture
def whole_size(device):
    if device == "emu":
        pytest.skip("the emulator runs every thread; it has small sizes elsewhere")
    return device


@by_dtype
@pytest.mark.parametrize("shift", [(1, 4), (5, 7), (9, 2)], ids=str)
def test_mixed_sizes(shift, dtype, whole_size):
    """Every size as rows, as columns and as what is summed over, in one program."""
    count = len(SIZES)
    sizes = [(m, *(SIZES[(i + s) % count] for s in shift)) for i, m in enumerate(SIZES)]
    inputs = [
        part
        for m, n, k in sizes
        for part in (randn(m, k, dtype=dtype, seed=m), randn(k, n, dtype=dtype, seed=n + 1))
    ]

    def function(*xs):
        return tuple(x @ y for x, y in zip(xs[::2], xs[1::2], strict=True))

    results = zip(run(function, inputs, whole_size), wanted(function, inputs), sizes, strict=True)
    for got, want, (m, n, k) in results:
        check(got, want, units(k), 4 * math.sqrt(k) + 4, f"{m}x{n}x{k}")


@pytest.mark.parametrize("m, n, k", [(3, 5, 100_000), (33, 33, 99_999), (1, 17, 65_537)])
def test_long_sums(m, n, k, whole_size):
    check_product(torch.matmul, (randn(m, k), randn(k, n, seed=1)), whole_size)


@pytest.mark.parametrize("m, k", [(1, 64), (5, 33), (40, 16)])
def test_odd_vocabularies(m, k, whole_size):
    """50257 columns, whose rows start at any address, and rows of 50304 of which some are read."""
    x, y = randn(m, k), randn(k, 50_304, seed=1)
    check_product(torch.matmul, (x, y[:, :50_257].contiguous()), whole_size)
    check_product(lambda x, y: x @ y[:, :50_257], (x, y), whole_size)
    check_product(torch.matmul, (x, y[:, :50_257]), whole_size)


def test_a_few_long_rows(whole_size):
    check_product(torch.matmul, (randn(33, 903_168), randn(903_168, 33, seed=1)), whole_size)


SHAPES = {
    "514x130 by 500": (torch.matmul, torch.float32, (514, 130), (130, 500)),
    "320x36 by a batch": (torch.matmul, torch.float16, (320, 36), (2, 36, 4096)),
    "457x330 by 514": (torch.matmul, torch.float32, (457, 330), (330, 514)),
    "4 rows": (F.linear, torch.float16, (4, 2048), (768, 2048)),
    "1 column": (torch.matmul, torch.float32, (1000, 512), (512, 1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_broke_others(name, whole_size):
    product, dtype, left, right = SHAPES[name]
    x, y = randn(*left, dtype=dtype), randn(*right, dtype=dtype, seed=1)
    bias = randn(right[-2 if product is F.linear else -1], dtype=dtype, seed=2)

    def function(x, y, b):
        return product(x, y) + b

    (got,) = run(function, (x, y, bias), whole_size)
    want = function(x.double(), y.double(), bias.double())
    if dtype != torch.float32:
        # The product is rounded before the bias is added.
        want = product(x.double(), y.double()).to(dtype).double() + bias.double()
    scale = 6 * math.sqrt(left[-1]) + 4
    check(got, want, units(left[-1]) + (0 if dtype == torch.float32 else 2**13), scale, name)


def test_a_cube_of_4096_fits(device):
    x = torch.empty(4096, 4096)
    compile_for_gpu(torch.matmul, (x, x), device)


@pytest.mark.parametrize("size", [1, 33, 64])
def test_products_with_the_identity_keep_every_bit(size, device):
    x = randn(size, size) * 1e3 + 0.5
    (got,) = run(torch.matmul, (x, torch.eye(size)), device)
    assert torch.equal(got, x)
    one, (number,) = torch.ones(1, 1), (torch.tensor([[1024.5]]),)
    assert run(torch.matmul, (number, one), device)[0].item() == 1024.5


@pytest.mark.parametrize("k", [256, 1000, 4096])
def test_sums_of_positive_numbers(k, whole_size):
    """All terms of one sign, the first ones small: the error is of the sum's magnitude."""
    x, y = torch.rand(17, k), torch.rand(k, 31)
    x[:, : k // 2] *= 2.0**-12
    (got,) = run(torch.matmul, (x, y), whole_size)
    want = x.double() @ y.double()
    check(got, want, units(k), what=f"of {k}")


def test_infinities_meet_ones(device):
    x = torch.tensor(
        [[torch.inf, 1.0], [1.0, -torch.inf], [torch.nan, 0.0], [torch.inf, -torch.inf]]
    )
    (got,) = run(torch.matmul, (x, torch.ones(2, 3)), device)
    want = torch.tensor([[torch.inf], [-torch.inf], [torch.nan], [torch.nan]]).expand(4, 3)
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got[:2], want[:2])


def test_numbers_of_any_exponent(device):
    """Sums beyond the range are infinite, subnormal products are kept, signs of zero are IEEE's."""
    x = torch.tensor([[3e38, 3e38], [2.0**-100, 0.0], [-0.0, -0.0], [1e-30, 1e-30]])
    y = torch.tensor([[1.0, 2.0**-40], [1.0, 2.0**-40]])
    (got,) = run(torch.matmul, (x, y), device)
    want = (x.double() @ y.double()).float()
    assert torch.equal(got[[0, 1, 3]], want[[0, 1, 3]])
    assert torch.equal(got[2], torch.zeros(2))


ATOMS = {
    torch.float32: {"atom=fma": "ieee", "atom=mma_sync": "f32"},
    torch.float16: {"atom=mma_sync": "f32"},
    torch.bfloat16: {"atom=mma_sync": "f32", "atom=wgmma": "f32"},
}


@by_dtype
@pytest.mark.parametrize("start, gap", [(1, 0), (0, 1), (2, 4), (4, 8)])
def test_operands_at_any_address(start, gap, dtype, device, torch_device):
    """Rows that are `gap` elements apart, the first `start` elements into its storage;
    compiled for examples that begin at an aligned address."""
    m, n, k = 33, 40, 48

    def matrix(rows, columns, seed):
        pitch = columns + gap
        flat = randn(start + rows * pitch, dtype=dtype, seed=seed).to(torch_device)
        return flat[start:].view(rows, pitch)[:, :columns]

    x, y, w = matrix(m, k, 0), matrix(k, n, 1), matrix(n, k, 2)
    for schedule, precision in ({"": "f32"} if device == "host" else ATOMS[dtype]).items():
        for function, inputs in ((torch.matmul, (x, y)), (F.linear, (x, w))):
            examples = [torch.empty_strided(t.shape, t.stride(), dtype=dtype) for t in inputs]
            compiled = deplo.compile(
                function,
                [example.to(torch_device) for example in examples],
                device=device,
                schedule=schedule,
                precision=precision,
            )
            got, want = compiled(*inputs).cpu(), function(*(t.cpu().double() for t in inputs))
            check(got, want, units(k), 4 * math.sqrt(k) + 4, f"{schedule} {start} {gap}")


@pytest.mark.parametrize("schedule", ["", "atom=mma_sync"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_operands_of_more_than_2_to_31_elements(dtype, schedule, compiler):
    """Offsets into them are counted in 64 bits, those of tensor maps by coordinates."""
    x = torch.empty(70_000, 40_000, dtype=dtype, device="meta")
    w = torch.empty(40_000, 64, dtype=dtype, device="meta")
    text = import_program(torch.matmul, (x, w)).text
    options = Options(level="kernel", target="sm_90a", schedule=schedule, precision="f32")
    offset = re.compile(r"getelementptr .*: \(!llvm.ptr<1>, (i\d+)\)")
    kernels = compile_ir(text, options).ir.split("llvm.func")[1:]
    multiplies = [kernel for kernel in kernels if "cp.async" in kernel]
    assert multiplies
    assert all(set(offset.findall(kernel)) <= {"i64"} for kernel in multiplies)
