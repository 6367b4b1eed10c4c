# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder layers of Hugging Face's `transformers`, unmodified: values against float64."""

from typing import Any

import pytest
import torch
from numeric import check
from torch import nn

import deplo

llama = pytest.importorskip("transformers.models.llama.modeling_llama")
qwen2 = pytest.importorskip("transformers.models.qwen2.modeling_qwen2")

pytestmark = pytest.mark.usefixtures("compiler")

# Layer, rotary embedding, configuration.
FAMILIES = {
    "llama": (llama.LlamaDecoderLayer, llama.LlamaRotaryEmbedding, llama.LlamaConfig),
    "qwen2": (qwen2.Qwen2DecoderLayer, qwen2.Qwen2RotaryEmbedding, qwen2.Qwen2Config),
}
# TinyLlama's and Qwen2.5-7B's.
REAL = {
    "llama": {
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "max_position_embeddings": 2048,
    },
    "qwen2": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    },
}
# Two query heads share a head of keys and values.
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 176,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
# Of f32: the longest chain of roundings in a small layer is a few sums of 64 to 176 terms.
UNITS = 64

by_family = pytest.mark.parametrize("family", FAMILIES)


class Block(nn.Module):
    """A layer and the rotary embedding of the positions 0, 1, ..."""

    def __init__(self, family: str, sizes: dict[str, Any]) -> None:
        super().__init__()
        layer, rotary, config = FAMILIES[family]
        settings = config(**sizes, attn_implementation="sdpa")
        self.layer = layer(settings, 0)
        self.rotary = rotary(settings)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.shape[1], device=x.device)[None]
        return self.layer(x, position_ids=positions, position_embeddings=self.rotary(x, positions))


@pytest.fixture(autouse=True)
def inference():
    torch._dynamo.reset()
    with torch.no_grad():
        yield


def block(family: str, sizes: dict[str, Any] = SMALL) -> Block:
    """Random weights, and biases and norms that aren't 0 and 1."""
    torch.manual_seed(0)
    module = Block(family, sizes).eval()
    for parameter in module.parameters():
        if parameter.dim() == 1:
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def check_block(got: torch.Tensor, module: Block, x: torch.Tensor) -> None:
    """Against `module` in float64, which it is then."""
    wanted = module.double()(x.double())
    check(got.cpu(), wanted.cpu(), UNITS, scale=wanted.abs().max().item(), what="layer")


@by_family
@pytest.mark.parametrize("length", [1, 8])
def test_layers(family, length, device, torch_device):
    module, x = block(family).to(torch_device), torch.randn(1, length, 64, device=torch_device)
    compiled = deplo.compile(module, (x,), device=device)
    check_block(compiled(x), module, x)


@by_family
def test_layers_of_real_size(family, device, torch_device):
    if device == "emu":
        pytest.skip("hundreds of millions of weights take the emulator hours")
    module = block(family, REAL[family]).to(torch_device)
    x = torch.randn(1, 5, REAL[family]["hidden_size"], device=torch_device)
    compiled = deplo.compile(module, (x,), device=device)
    check_block(compiled(x), module, x)


@by_family
def test_layers_of_torch_compile(family, torch_device):
    module, x = block(family).to(torch_device), torch.randn(2, 8, 64, device=torch_device)
    compiled = torch.compile(module, backend="deplo", options={"fallback": False}, fullgraph=True)
    check_block(compiled(x), module, x)


def test_weights_are_bound_and_not_copied():
    module, x = block("qwen2"), torch.randn(1, 8, 64)
    compiled = deplo.compile(module, (x,), device="host")
    module.layer.self_attn.o_proj.weight.mul_(2)
    check_block(compiled(x), module, x)


def test_equal_layers_share_their_kernels():
    class Stack(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.blocks = nn.ModuleList(block("llama") for _ in range(count))

        def forward(self, x):
            for one in self.blocks:
                x = one(x)
            return x

    x = torch.randn(1, 8, 64)
    reports = [
        deplo.compile(Stack(count), (x,), device="host").report["kernels"] for count in (2, 3, 4)
    ]
    assert len({len(kernels) for kernels in reports}) == 1
    # What depends on the positions alone is computed once for all layers.
    two, three, four = (sum(k["launches"] for k in kernels) for kernels in reports)
    assert four - three == three - two
    assert three - two < two


def test_every_kernel_is_listed_with_its_share():
    compiled = deplo.compile(block("llama"), (torch.randn(1, 8, 64),), device="host")
    text = compiled.explain()
    table = text[text.index("\nkernels\n") :].split("\nkernel ")[0]
    for kernel in compiled.report["kernels"]:
        assert f"| {kernel['name']} " in table
