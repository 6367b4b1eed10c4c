# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention passes AOTAutograd whole.

`scaled_dot_product_attention` is a composite of PyTorch, which AOTAutograd
takes apart: heads that share keys and values would be copies of them. So it
goes through as an operator of deplo's own, and is PyTorch's again on both sides.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch.fx import GraphModule, Node

_ATEN = torch.ops.aten.scaled_dot_product_attention.default
_NAME = "deplo::scaled_dot_product_attention"

_library = torch.library.Library("deplo", "DEF")
_library.define(str(_ATEN._schema).replace("aten::", "").partition(" -> ")[0] + " -> Tensor")
_library.impl(_NAME.partition("::")[2], F.scaled_dot_product_attention, "CompositeExplicitAutograd")
torch.library.register_fake(_NAME, F.scaled_dot_product_attention, lib=_library)
_WHOLE = torch.ops.deplo.scaled_dot_product_attention.default


def keep_whole(module: GraphModule) -> None:
    """Before AOTAutograd. The operator has no gradients."""
    _retarget(module, (F.scaled_dot_product_attention, _ATEN), _WHOLE)


def restore(module: GraphModule) -> None:
    """Before the graph is divided, when no one traces it again."""
    _retarget(module, (_WHOLE,), _ATEN)


def _retarget(module: GraphModule, targets: tuple, target: Any) -> None:
    for part in module.modules():
        if isinstance(part, GraphModule):
            for node in part.graph.nodes:
                if node.op == "call_function" and node.target in targets and not _drops(node):
                    node.target = target
            part.recompile()


def _drops(node: Node) -> bool:
    return (node.kwargs.get("dropout_p") or (*node.args, *[0.0] * 5)[4]) != 0.0


def is_deterministic(node: Node) -> bool:
    """Whether it is attention without dropout; PyTorch says of all that it is random."""
    return node.target is _ATEN and not _drops(node)
