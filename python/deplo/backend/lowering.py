# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One partition as graph text, and how a call's tensors map to its arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch.fx import Node

from deplo.importer.builder import GraphBuilder, Value
from deplo.importer.dtypes import dtype_name
from deplo.importer.lowering import Lowering
from deplo.importer.sizes import Size

from .partition import Partition
from .support import WEIGHT


@dataclass(frozen=True)
class TensorType:
    """What PyTorch says of a tensor without its values; where a call gives sizes,
    with the numbers that stand for them."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(node: Node) -> "TensorType":
        value = node.meta["val"]
        return TensorType(tuple(value.shape), value.stride(), value.dtype, value.device)


@dataclass
class LoweredPartition:
    """Attributes:
    text: the module; its arguments are the partition's inputs, in order.
    results: the types of what it returns.
    outputs: for each output of the partition, ("result", i), or ("argument", i)
        or ("result", i) again where a copy of another tensor is returned.
    sizes: that each call gives.
    weights: for each argument that is a parameter or buffer, its name in the source.
    """

    partition: Partition
    text: str
    argument_types: list[TensorType]
    results: list[TensorType]
    outputs: list[tuple[str, int]] = field(default_factory=list)
    sizes: Sequence[Size] = ()
    weights: Sequence[str | None] = ()


def memory_order(kind: TensorType) -> list[int] | None:
    """The axes from the slowest to the fastest in memory, of a tensor without
    gaps; None where elements lie apart or upon each other."""
    order = sorted(range(len(kind.shape)), key=lambda axis: -kind.strides[axis])
    # Axes of size 1 may have any stride; they stay where they are.
    moving = iter([axis for axis in order if kind.shape[axis] != 1])
    order = [axis if kind.shape[axis] == 1 else next(moving) for axis in range(len(kind.shape))]
    step = 1
    for axis in reversed(order):
        if kind.shape[axis] == 1:
            continue
        if kind.strides[axis] != step:
            return None
        step *= kind.shape[axis]
    return order


def lower(
    partition: Partition, sizes: Sequence[Size] = (), twins: Mapping[Node, Node] | None = None
) -> LoweredPartition | None:
    """The partition's text; None where it only hands arguments on.

    Args:
        sizes: that each call gives.
        twins: the nodes that have numbers in the place of those.
    """
    builder = GraphBuilder(sizes=sizes)
    lowering = Lowering(builder)
    inputs, nodes, results_of = (
        [twins[node] for node in group] if twins else group
        for group in (partition.inputs, partition.nodes, partition.outputs)
    )
    # FX gives no node a name with a dot before a number.
    arguments = [
        Value(f"in.{i}", tuple(node.meta["val"].shape), dtype_name(node.meta["val"].dtype) or "")
        for i, node in enumerate(inputs)
    ]
    for i, (node, value) in enumerate(zip(inputs, arguments, strict=True)):
        tensor = node.meta["val"]
        strides = None if tensor.is_contiguous() else tensor.stride()
        # Names of the place, not of the source: equal partitions are equal programs.
        is_weight = WEIGHT in node.meta and tensor.device == partition.device
        builder.argument(value, f"in{i}", strides, is_weight=is_weight)
        lowering.values[node] = value
    for node in nodes:
        lowering.lower(node)
    lowering.raise_problems()
    values: list[Value] = []
    results: list[Value] = []
    types: list[TensorType] = []
    outputs: list[tuple[str, int]] = []
    for node in results_of:
        value = lowering.values[node]
        if value in arguments:
            outputs.append(("argument", arguments.index(value)))
            continue
        if value not in values:
            kind = TensorType.of(node)
            order = memory_order(kind)
            values.append(value)
            if order is None or order == sorted(order):
                results.append(value)
                kind = TensorType(
                    kind.shape, contiguous_strides(kind.shape), kind.dtype, kind.device
                )
            else:
                results.append(permuted(builder, value, order))
            types.append(kind)
        outputs.append(("result", values.index(value)))
    if not results:
        return None
    kinds = [TensorType.of(node) for node in inputs]
    text = builder.text(results)
    weights = [node.meta.get(WEIGHT) for node in inputs]
    return LoweredPartition(partition, text, kinds, types, outputs, sizes, weights)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Those of a row-major tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def permuted(builder: GraphBuilder, value: Value, order: list[int]) -> Value:
    """`value` with its axes in the order of memory, so that row-major is right."""
    result = builder.permute(value, order)
    result.name = f"{value.name}.out"
    return result
