# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which nodes of a functional ATen graph deplo can compile, and why not the others."""

import operator
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from deplo.errors import Error
from deplo.importer.builder import GraphBuilder, Value
from deplo.importer.contractions import CONTRACTIONS
from deplo.importer.dtypes import dtype_name
from deplo.importer.locations import location_of
from deplo.importer.lowering import Lowering
from deplo.importer.unsupported import Problem, describe, python_name

from .attention import is_deterministic
from .options import BackendOptions

# Of an input that is a parameter or buffer and not changed: its name in the source.
WEIGHT = "deplo_weight"


def is_view(node: Node) -> bool:
    """Whether the node's results are its first argument's memory, seen otherwise."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return isinstance(node.args[0], Node) and is_view(node.args[0])
    if node.target is torch.ops.aten._unsafe_view.default:
        return True  # it shares memory, which its schema doesn't say
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in schema.returns
    )


def tensors(node: Node) -> list[torch.Tensor]:
    """The node's results as PyTorch knows them without their values."""
    leaves = pytree.tree_leaves(node.meta.get("val"))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def is_static(value: Any) -> bool:
    """Whether shapes and numbers are known, whatever the call."""
    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return False
        if isinstance(leaf, torch.Tensor) and not (
            leaf.layout is torch.strided
            and all(isinstance(n, int) for n in (*leaf.shape, *leaf.stride()))
        ):
            return False
    return True


def is_scalar_of_cpu(tensor: torch.Tensor) -> bool:
    """PyTorch lets these meet tensors of any device."""
    return tensor.dim() == 0 and tensor.device.type == "cpu"


class Support:
    """The nodes of a graph that can become kernels, found by lowering each alone.

    Attributes:
        nodes: node -> the device of its kernel.
        problems: node -> why it can't be compiled; views that PyTorch makes for
            nothing are not in here, nor what the options leave to PyTorch.
    """

    def __init__(self, graph: Graph, options: BackendOptions) -> None:
        left = frozenset() if options.contractions or not options.fallback else CONTRACTIONS
        self.nodes: dict[Node, torch.device] = {}
        self.problems: dict[Node, list[Problem]] = {}
        for node in graph.nodes:
            if node.op != "call_function" or node.target in left:
                continue
            if node.target is operator.getitem:
                if node.args[0] in self.nodes:
                    self.nodes[node] = self.nodes[node.args[0]]
                continue
            problems = list(_problems(node))
            if not problems:
                self.nodes[node] = tensors(node)[0].device
            elif not is_view(node) and tensors(node):
                self.problems[node] = problems

    def left(self) -> str:
        """The operators left to PyTorch with their counts: "aten.mm.default (2), ..."."""
        counts = Counter(python_name(node.target) for node in self.problems)
        return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))

    def raise_problems(self) -> None:
        """Raises one `Error` that says all, each kind once, if anything is left."""
        merged: dict[tuple[str, str], Problem] = {}
        for problems in self.problems.values():
            for problem in problems:
                key = (problem.what, problem.remedy)
                entry = merged.setdefault(key, Problem(problem.what, problem.remedy))
                entry.locations += problem.locations
        if merged:
            raise Error(describe(list(merged.values())))


def _problems(node: Node) -> Iterator[Problem]:
    """What keeps deplo from compiling one operator."""
    name, place = python_name(node.target), [location_of(node)]
    values = [node.meta.get("val"), *(n.meta.get("val") for n in node.all_input_nodes)]
    if not all(is_static(value) for value in values):
        yield Problem(f"{name} of dynamic size", "compile with dynamic=False", place)
        return
    results = tensors(node)
    if not results:
        yield Problem(f"{name} without a tensor", "leave it outside the compiled function", place)
        return
    device = results[0].device
    if device.type not in ("cpu", "cuda"):
        yield Problem(f"{name} on {device}", "move it to the CPU or to CUDA", place)
        return
    is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    if is_random and not is_deterministic(node):
        # The importer's own numbers are the same at each call.
        yield Problem(f"{name}, new at each call", "pass the random tensor as an input", place)
        return
    if node.target is torch.ops.aten.as_strided.default:
        # What it reads depends on where its argument lies in memory.
        yield Problem(f"{name}", "write it with view, permute and slices", place)
        return
    lowering = Lowering(GraphBuilder())
    for source in node.all_input_nodes:
        value = source.meta["val"]
        if not isinstance(value, torch.Tensor):
            yield Problem(f"{name} of a list of tensors", "pass the tensors one by one", place)
            return
        if value.device != device and not is_scalar_of_cpu(value):
            yield Problem(f"{name} across devices", f"move its arguments to {device}", place)
            return
        dtype = dtype_name(value.dtype)
        if dtype is None:
            lowering.input_type(f"an argument of {name}", value)
        else:
            lowering.values[source] = Value(source.name, tuple(value.shape), dtype)
    if not lowering.problems:
        try:
            lowering.lower(node)
        except Error as error:
            yield Problem(name, str(error), place)
    for problem in lowering.problems:
        yield Problem(problem.what, problem.remedy, place)
