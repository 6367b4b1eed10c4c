# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divides a graph between deplo and PyTorch.

A partition is a set of nodes that one call of deplo computes: all on one
device, and no path between two of them leads through another node. Views on
the border stay PyTorch's: it makes them without touching memory.
"""

import heapq
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .support import is_view


@dataclass
class Partition:
    """Attributes:
    nodes: in the order of the graph.
    inputs: nodes outside that they use, but for those that are sizes.
    outputs: nodes of it that are used outside.
    """

    device: torch.device
    nodes: list[Node]
    inputs: list[Node]
    outputs: list[Node]


class _OnDevice(OperatorSupportBase):
    def __init__(self, devices: Mapping[Node, torch.device], device: torch.device) -> None:
        self.devices = devices
        self.device = device

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return self.devices.get(node) == self.device


def find_partitions(module: GraphModule, devices: Mapping[Node, torch.device]) -> list[Partition]:
    """Partitions as large as they can be, in the order of the graph.

    Args:
        devices: of the nodes that can be in one.
    """
    order = {node: i for i, node in enumerate(module.graph.nodes)}
    proposals: list[tuple[torch.device, list[Node]]] = []
    for device in dict.fromkeys(devices.values()):
        partitioner = CapabilityBasedPartitioner(
            module, _OnDevice(devices, device), allows_single_node_partition=True
        )
        for proposal in partitioner.propose_partitions():
            proposals.append((device, sorted(proposal.nodes, key=order.__getitem__)))
    left = [(device, leave_views(module.graph, nodes)) for device, nodes in proposals]
    found = [_describe(*one) for one in left if not all(is_view(node) for node in one[1])]
    return sorted(found, key=lambda partition: order[partition.nodes[0]])


def leave_views(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """The nodes without the views whose result is only used outside of them.

    A view that both sides use is made by both.
    """
    inside = set(nodes)
    for node in reversed(nodes):
        if not is_view(node):
            continue
        outside = [user for user in node.users if user not in inside]
        if len(outside) == len(node.users):
            inside.remove(node)
        elif outside:
            with graph.inserting_after(node):
                copy = graph.node_copy(node)
            node.replace_all_uses_with(copy, delete_user_cb=outside.__contains__)
    return [node for node in nodes if node in inside]


def _describe(device: torch.device, nodes: list[Node]) -> Partition:
    inside = set(nodes)
    inputs = dict.fromkeys(
        n
        for node in nodes
        for n in node.all_input_nodes
        if n not in inside and not isinstance(n.meta.get("val"), torch.SymInt)
    )
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    return Partition(device, nodes, list(inputs), outputs)


@dataclass
class Call:
    """What computes a partition: a function that returns a tuple of its outputs.

    Attributes:
        function: of `sizes` and the partition's inputs.
        sizes: nodes that give integers.
    """

    partition: Partition
    function: Callable[..., tuple]
    sizes: Sequence[Node] = ()


def replace(module: GraphModule, calls: Sequence[Call]) -> None:
    """Puts a call in place of each partition's nodes."""
    graph = module.graph
    order = {node: i for i, node in enumerate(graph.nodes)}
    replaced: dict[Node, Node] = {}
    for one in calls:
        partition, last = one.partition, one.partition.nodes[-1]
        inputs = [*one.sizes, *partition.inputs]
        arguments = tuple(replaced.get(node, node) for node in inputs)
        with graph.inserting_after(last):
            call = graph.call_function(one.function, arguments)
        order[call] = order[last]
        with graph.inserting_after(call):
            for i, node in enumerate(partition.outputs):
                item = replaced[node] = graph.call_function(operator.getitem, (call, i))
                item.meta = dict(node.meta)
                order[item] = order[last]
                node.replace_all_uses_with(item)
        for node in reversed(partition.nodes):
            graph.erase_node(node)
    _sort(graph, order)
    graph.lint()
    module.recompile()


def _sort(graph: Graph, order: dict[Node, int]) -> None:
    """Makes the order topological, otherwise as `order` says.

    A call takes the place of its partition's last node, and some of its results
    may have been used before that.
    """
    missing = {node: len(node.all_input_nodes) for node in graph.nodes}
    ready = [(order[node], i, node) for i, node in enumerate(missing) if not missing[node]]
    index = {node: i for i, node in enumerate(missing)}
    heapq.heapify(ready)
    anchor = graph._root
    while ready:
        node = heapq.heappop(ready)[2]
        anchor.append(node)
        anchor = node
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (order[user], index[user], user))
