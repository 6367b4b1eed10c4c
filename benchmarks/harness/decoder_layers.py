# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder layers of Hugging Face's `transformers`, unmodified, with random weights."""

from typing import Any

import torch
from torch import nn

# By model: its family, and the sizes in its published configuration (config.json).
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "tinyllama": (
        "llama",
        {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "max_position_embeddings": 2048,
        },
    ),
    "qwen2.5-7b": (
        "qwen2",
        {
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "max_position_embeddings": 32768,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        },
    ),
}


class DecoderLayer(nn.Module):
    """A layer and the rotary embedding of the positions 0, 1, ...; x[batch, length, hidden]."""

    def __init__(self, family: str, sizes: dict[str, Any]) -> None:
        """Raises ImportError where there is no `transformers`."""
        from transformers.models.llama import modeling_llama
        from transformers.models.qwen2 import modeling_qwen2

        super().__init__()
        layer, rotary, config = {
            "llama": (
                modeling_llama.LlamaDecoderLayer,
                modeling_llama.LlamaRotaryEmbedding,
                modeling_llama.LlamaConfig,
            ),
            "qwen2": (
                modeling_qwen2.Qwen2DecoderLayer,
                modeling_qwen2.Qwen2RotaryEmbedding,
                modeling_qwen2.Qwen2Config,
            ),
        }[family]
        settings = config(**sizes, attn_implementation="sdpa")
        self.layer = layer(settings, 0)
        self.rotary = rotary(settings)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.shape[1], device=x.device)[None]
        return self.layer(x, position_ids=positions, position_embeddings=self.rotary(x, positions))


def decoder_layer(
    family: str,
    sizes: dict[str, Any],
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> DecoderLayer:
    """The same weights at each call; biases and norms aren't 0 and 1."""
    with torch.device(device), torch.random.fork_rng():
        torch.manual_seed(0)
        module = DecoderLayer(family, sizes).eval()
        for parameter in module.parameters():
            parameter.requires_grad_(False)
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return module.to(dtype)
