# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every barrier, wait, commit and fence of a kernel is needed.

Each is removed from the PTX in turn, and the emulator must then find a race or
another fault: else it would be one too many. The whole kernel runs without any.
"""

import re

import pytest
import torch
import torch.nn.functional as F
from numeric import randn

from deplo.compilation import Options, compile_ir
from deplo.emulator import Emulation, Uninitialized
from deplo.importer import import_program
from deplo.runtime import package_info

SYNCHRONIZATION = re.compile(
    r"^\s*(@!?%p\d+\s+)?(bar\.|barrier\.|cp\.async\.(wait|commit)|fence\.|membar\.|"
    r"wgmma\.(fence|commit|wait))"
)
PROGRAMS = {
    "softmax": (lambda x: torch.softmax(x, -1), [(4, 1000)], "warps=4"),
    "softmax of a cluster": (lambda x: torch.softmax(x, -1), [(2, 4096)], "cluster=4,warps=2"),
    "sums of columns": (lambda x: x.sum(0), [(4096, 8)], "warps=4"),
    "variance of long rows": (lambda x: x.var(-1), [(2, 20000)], "warps=4"),
    "scan": (lambda x: x.cumsum(-1), [(2, 3000)], "warps=2"),
    "staged rows that threads read back": (
        lambda x: torch.softmax(x, -1),
        [(2, 5000)],
        "warps=4,stage_inputs=always",
    ),
    "product": (torch.matmul, [(64, 64), (64, 64)], "block=32x32,thread=4x4,chunk=8,stages=1"),
    "product, two stages": (
        torch.matmul,
        [(64, 64), (64, 64)],
        "block=32x32,thread=4x4,chunk=8,stages=2",
    ),
    "product, three stages": (
        torch.matmul,
        [(64, 64), (64, 64)],
        "block=32x32,thread=4x4,chunk=8,stages=3",
    ),
    "product, copies through registers": (
        torch.matmul,
        [(64, 64), (64, 64)],
        "block=32x32,thread=4x4,chunk=8,stages=3,async_copy=never",
    ),
    "two products of one operand": (
        lambda x, v, w: F.silu(x @ v) * (x @ w),
        [(64, 64)] * 3,
        "block=32x32,thread=4x4,chunk=8,stages=2",
    ),
    "sums of two levels": (
        torch.matmul,
        [(16, 1600), (1600, 16)],
        "split_k=1,block=16x16,thread=2x2,chunk=16,stages=2",
    ),
    "product whose rows are folded": (
        lambda x, w: (x @ w).amax(-1),
        [(32, 64), (64, 32)],
        "block=32x32,thread=4x4,chunk=8,stages=2",
    ),
}
TENSOR_CORES = {
    "mma.sync": (
        torch.matmul,
        [(64, 96), (96, 64)],
        "atom=mma_sync,block=32x32,warp_tile=16x16,chunk=32,stages=2",
    ),
    "wgmma": (
        torch.matmul,
        [(64, 512), (512, 64)],
        "atom=wgmma,split_k=1,block=64x64,warp_tile=16x64,stages=3,chunk=64,cluster=1,"
        "tma_copy=never",
    ),
}


def compile_kernel(function, inputs, schedule):
    """The PTX of a program of one kernel, and how it is launched."""
    text = import_program(function, inputs).text
    options = {"device": "emu", "schedule": schedule, "cache": False, "precision": "ieee"}
    header = package_info(compile_ir(text, Options(**options)).package)
    (kernel,) = header["kernels"]
    ptx = compile_ir(text, Options(level="ptx", **options)).ir
    return ptx, kernel, header["launches"][0]["args"]


def run_kernel(ptx, kernel, arguments, inputs, want):
    """What the emulator finds, and whether the result is `want`."""
    got = torch.full_like(want, float("nan"), dtype=inputs[0].dtype)
    buffers = {"input": inputs, "output": [Uninitialized(got)]}
    passed = [buffers[kind][i] for argument in arguments for kind, i in argument.items()]
    outcome = Emulation(ptx).run(
        kernel["name"],
        grid=kernel["grid"],
        block=kernel["block"],
        cluster=kernel.get("cluster", (0, 0, 0)),
        shared=kernel["shared_bytes"],
        arguments=passed,
        budget=1 << 22,
    )
    # bf16 results are off by half a unit in their last place, sums by less.
    near = 1e-5 if got.dtype == torch.float32 else 2**-8
    return outcome.findings, torch.allclose(got.float(), want, rtol=near, atol=near)


@pytest.mark.parametrize("name", [*PROGRAMS, *TENSOR_CORES])
def test_each_is_needed(name, compiler):
    function, shapes, schedule = (PROGRAMS | TENSOR_CORES)[name]
    dtype = torch.bfloat16 if name in TENSOR_CORES else torch.float32
    inputs = [randn(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
    want = function(*(x.double() for x in inputs)).float()
    ptx, kernel, arguments = compile_kernel(function, inputs, schedule)
    findings, is_right = run_kernel(ptx, kernel, arguments, inputs, want)
    assert not findings and is_right
    lines = ptx.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if SYNCHRONIZATION.match(line)]
    assert places
    redundant = []
    for place in places:
        mutant = "".join(lines[:place] + lines[place + 1 :])
        findings, _ = run_kernel(mutant, kernel, arguments, inputs, want)
        if not findings:
            redundant.append(f"{place + 1}: {lines[place].strip()}")
    assert not redundant
