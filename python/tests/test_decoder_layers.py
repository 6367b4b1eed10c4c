# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder layers of Hugging Face's `transformers`, unmodified: values against float64."""

import sys
from pathlib import Path

import pytest
import torch
from numeric import check
from torch import nn

import deplo

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from harness.decoder_layers import MODELS, DecoderLayer, decoder_layer  # noqa: E402

pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("compiler")

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

by_family = pytest.mark.parametrize("family", ["llama", "qwen2"])
by_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(autouse=True)
def inference():
    torch._dynamo.reset()
    with torch.no_grad():
        yield


def block(family: str) -> DecoderLayer:
    return decoder_layer(family, SMALL)


def check_block(got: torch.Tensor, module: DecoderLayer, x: torch.Tensor) -> None:
    """Against `module` in float64, which it is then."""
    wanted = module.double()(x.double())
    check(got.cpu(), wanted.cpu(), UNITS, scale=wanted.abs().max().item(), what="layer")


@by_family
@pytest.mark.parametrize("length", [1, 8])
def test_layers(family, length, device, torch_device):
    module, x = block(family).to(torch_device), torch.randn(1, length, 64, device=torch_device)
    compiled = deplo.compile(module, (x,), device=device)
    check_block(compiled(x), module, x)


@by_model
def test_layers_of_real_size(model, device, torch_device):
    if device == "emu":
        pytest.skip("hundreds of millions of weights take the emulator hours")
    module = decoder_layer(*MODELS[model], device=torch_device)
    x = torch.randn(1, 5, MODELS[model][1]["hidden_size"], device=torch_device)
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
