# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every barrier, wait, commit and fence of a kernel is needed.

Each is removed from the PTX in turn, and the emulator must then find a race or
another fault: else it would be one too many. The whole kernel runs without any.
"""

import re

import pytest
import torch
from numeric import randn

from deplo.compilation import Options, compile_ir
from deplo.emulator import Emulation, Uninitialized
from deplo.importer import import_program
from deplo.runtime import package_info

SYNCHRONIZATION = re.compile(
    r"^\s*(@!?%p\d+\s+)?(bar\.|barrier\.|cp\.async\.(wait|commit)|fence\.|membar\.)"
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
}


def compile_kernel(function, inputs, schedule):
    """The PTX of a program of one kernel, and how it is launched."""
    text = import_program(function, inputs).text
    options = {"device": "emu", "schedule": schedule, "cache": False}
    header = package_info(compile_ir(text, Options(**options)).package)
    (kernel,) = header["kernels"]
    ptx = compile_ir(text, Options(level="ptx", **options)).ir
    return ptx, kernel, header["launches"][0]["args"]


def run_kernel(ptx, kernel, arguments, inputs, want):
    """What the emulator finds, and whether the result is `want`."""
    got = torch.full_like(want, float("nan"))
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
    return outcome.findings, torch.allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_is_needed(name, compiler):
    function, shapes, schedule = PROGRAMS[name]
    inputs = [randn(*shape, seed=seed) for seed, shape in enumerate(shapes)]
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
