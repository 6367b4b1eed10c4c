# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel family compiles for every target: ptxas takes its PTX, without spills."""

import pytest
import torch
import torch.nn.functional as F

import deplo


def rms_norm(x, w):
    return F.rms_norm(x, (x.shape[-1],), w, eps=1e-6)


def layer_norm(x, w):
    return F.layer_norm(x, (x.shape[-1],), w, w)


def chain(x, w):
    return torch.tanh(F.gelu(x * w) + torch.exp(-x.abs())) / (1 + x * x)


CASES = {
    "rms_norm": (rms_norm, (32, 2048)),
    "rms_norm.odd": (rms_norm, (33, 1001)),
    "rms_norm.wide": (rms_norm, (64, 16384)),
    "layer_norm": (layer_norm, (128, 3584)),
    "softmax": (lambda x, w: F.softmax(x, -1), (4, 32, 512)),
    "softmax.short": (lambda x, w: F.softmax(x, -1), (1024, 32)),
    "softmax.long": (lambda x, w: F.softmax(x, -1), (8, 50257)),
    "silu_mul": (lambda x, w: F.silu(x) * w, (128, 5632)),
    "chain": (chain, (1000, 77)),
    "sum": (lambda x, w: x.sum(-1), (256, 4096)),
    "sum.columns": (lambda x, w: x.sum(0), (4096, 256)),
    "amax": (lambda x, w: x.amax(-1), (256, 4097)),
    "var": (lambda x, w: x.var(-1), (64, 1000)),
    "matmul.nt": (lambda x, w: x @ x.t(), (512, 512)),
    "matmul.tn": (lambda x, w: F.gelu(x.t() @ x + w), (512, 512)),
    "matmul.odd": (lambda x, w: x @ x.t(), (131, 1001)),
    "matmul.computed": (lambda x, w: torch.tanh(x) @ x.t() + 1, (256, 512)),
    "matmul.gate": (lambda x, w: F.silu(x @ x.t()) * (x @ (x + w).t()), (256, 512)),
    "vector": (lambda x, w: x @ w, (4096, 1024)),
}


CHIPS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_assembles(name, dtype, compiler):
    function, shape = CASES[name]
    inputs = (torch.randn(*shape, dtype=dtype), torch.randn(shape[-1], dtype=dtype))
    for chip in CHIPS:
        compiled = deplo.compile(function, inputs, target=chip, device="cuda")
        assert f".target {chip}" in compiled.ir("ptx")
        kernels = compiled.report["kernels"]
        assert kernels
        spills = [kernel["name"] for kernel in kernels if kernel["spill_bytes"]]
        assert not spills, (chip, spills)
        for kernel in kernels:
            assert 0 < kernel["registers"] <= 255


MODES = {
    "tf32": (torch.matmul, torch.float32, {"precision": "tf32"}),
    "f32 in pieces": (torch.matmul, torch.float32, {"schedule": "atom=mma_sync"}),
    "i8": (torch._int_mm, torch.int8, {}),
    "f16": (torch.matmul, torch.float16, {"schedule": "atom=mma_sync"}),
}


@pytest.mark.parametrize("mode", MODES)
def test_tensor_cores_assemble(mode, compiler):
    function, dtype, options = MODES[mode]
    inputs = (torch.ones(512, 1024).to(dtype), torch.ones(1024, 512).to(dtype))
    for chip in CHIPS:
        compiled = deplo.compile(function, inputs, target=chip, device="cuda", **options)
        assert "mma" in compiled.ir("ptx"), chip
        assert not any(kernel["spill_bytes"] for kernel in compiled.report["kernels"]), chip
