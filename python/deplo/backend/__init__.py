# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(f, backend="deplo")`.

PyTorch's AOTAutograd gives a functional graph of ATen operators. What deplo has
kernels for becomes one call for each partition, the rest stays PyTorch's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

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

    def compile_inference(graph: GraphModule, examples: Sequence[Any]) -> Callable:
        return compile_graph(graph, examples, parsed)

    if not _needs_gradients(module, inputs):
        keep_whole(module)

    return aot_autograd(
        fw_compiler=_refuse_training,
        bw_compiler=_refuse_training,
        inference_compiler=compile_inference,
        decompositions=decompositions(),
    )(module, inputs)


def _needs_gradients(module: GraphModule, inputs: Sequence[Any]) -> bool:
    tensors = [*inputs, *module.parameters()]
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in tensors)


def _refuse_training(graph: GraphModule, examples: Sequence[torch.Tensor]) -> Callable:
    raise Error(
        "backend 'deplo' computes no gradients, and an input or parameter requires them: call "
        "the compiled function under torch.no_grad() or torch.inference_mode()"
    )
