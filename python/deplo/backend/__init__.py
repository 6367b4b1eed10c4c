# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(f, backend="deplo")`.

PyTorch's AOTAutograd gives a functional graph of ATen operators. What deplo has
kernels for becomes one call for each partition, the rest stays PyTorch's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule, Node

from deplo.errors import Error
from deplo.importer.trace import decompositions

from .attention import keep_whole
from .graph import compile_graph
from .options import BackendOptions

__all__ = ["BackendOptions", "backend"]


def backend(
    module: GraphModule,
    inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    **_: Any,
) -> Callable:
    """The backend, as `torch.compile` calls it.

    Args:
        options: see `BackendOptions`.

    Raises:
        Error: an option is wrong, gradients are asked for, or, with
            `options={"fallback": False}`, there is an operator that deplo
            doesn't have.
    """
    if mode is not None:
        raise Error(f"backend 'deplo' has no mode '{mode}'; leave mode out, and use options")
    parsed = BackendOptions.parse(options)
    names = _names(module)

    def compile_inference(graph: GraphModule, examples: Sequence[Any]) -> Callable:
        return compile_graph(graph, names, parsed)

    if not _needs_gradients(module, inputs):
        keep_whole(module)

    return aot_autograd(
        fw_compiler=_refuse_training,
        bw_compiler=_refuse_training,
        inference_compiler=compile_inference,
        decompositions=decompositions(),
    )(module, inputs)


def _names(module: GraphModule) -> list[str]:
    """Of what the graph that AOTAutograd makes is given, in its order."""
    parameters = module.named_parameters(remove_duplicate=False)
    buffers = module.named_buffers(remove_duplicate=False)
    inputs = [_source(node) for node in module.graph.nodes if node.op == "placeholder"]
    return [name for name, _ in (*parameters, *buffers)] + inputs


def _source(node: Node) -> str:
    """An input as the source calls it: "self.layers.0.weight"."""
    argument = node.meta.get("grapharg")
    if argument is None:
        return node.name
    name = argument.source.name
    words = re.findall(r"\w+", name() if callable(name) else name)
    return ".".join(w for w in words[1:] if w not in ("_modules", "_parameters", "_buffers"))


def _needs_gradients(module: GraphModule, inputs: Sequence[Any]) -> bool:
    tensors = [*inputs, *module.parameters()]
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors)


def _refuse_training(graph: GraphModule, examples: Sequence[torch.Tensor]) -> Callable:
    raise Error(
        "backend 'deplo' computes no gradients, and an input or parameter requires them: call "
        "the compiled function under torch.no_grad() or torch.inference_mode()"
    )
