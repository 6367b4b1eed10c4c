# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are known when a program runs.

In the graph such a size is a generic number: a prime above its range that divides
no other size. Every multiple of it stands for that multiple of the size.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.fx import Node
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from deplo.errors import Error

from .locations import location_of

# A program may have so many; then each ends at the number at most, so that byte
# counts of their products stay below 2**63.
_LIMITS = {1: 2**31 - 1, 2: 2**20 - 1}
# Generic numbers are above every tile and every block.
_LEAST_GENERIC = 2**20

_aten = torch.ops.aten
# Operators that take sizes, and which of their arguments are some.
_SIZE_ARGUMENTS = {
    _aten.view.default: (1,),
    _aten.reshape.default: (1,),
    _aten._unsafe_view.default: (1,),
    _aten.expand.default: (1,),
    _aten.full.default: (0,),
    _aten.slice.Tensor: (2, 3),
}
_CHECKS = {
    _aten._assert_scalar.default,
    _aten.sym_constrain_range.default,
    _aten.sym_constrain_range_for_size.default,
}


@dataclass(frozen=True)
class Size:
    """A size that each call gives, and its range."""

    name: str
    generic: int
    minimum: int
    maximum: int


def align_shapes(dynamic_shapes: Any, names: Sequence[str], count: int) -> tuple[Any, ...]:
    """What `torch.export` calls dynamic shapes, one entry for each input.

    Args:
        dynamic_shapes: a sequence, or a dictionary by the names of inputs.
    """
    if isinstance(dynamic_shapes, dict):
        unknown = [name for name in dynamic_shapes if name not in names]
        if unknown:
            raise Error(
                f"dynamic_shapes names '{unknown[0]}', but the inputs are {', '.join(names)}"
            )
        return tuple(dynamic_shapes.get(name) for name in names)
    shapes = tuple(dynamic_shapes)
    if len(shapes) != count:
        raise Error(f"dynamic_shapes has {len(shapes)} entries for {count} inputs")
    return shapes


def _is_prime(number: int) -> bool:
    return all(number % i for i in range(2, math.isqrt(number) + 1))


def _generic_number(above: int, others: Iterable[int]) -> int:
    """A prime that divides none of the others."""
    number = above + 1
    while not _is_prime(number) or any(other and other % number == 0 for other in others):
        number += 1
    return number


class SizeBinder:
    """Puts numbers in the place of an exported program's symbols."""

    def __init__(self, program: ExportedProgram, shapes: Sequence[Any]) -> None:
        self.program = program
        nodes = list(program.graph.nodes)
        values = [node.meta.get("val") for node in nodes]
        symbols: dict[Any, str] = {}
        fixed: set[int] = set()
        inputs = iter(shapes)
        users = {
            s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"
        }
        for node, value in zip(nodes, values, strict=True):
            declared = next(inputs) if node.name in users else None
            for leaf in pytree.tree_leaves(value):
                if not isinstance(leaf, torch.Tensor):
                    continue
                for axis, size in enumerate(leaf.shape):
                    if isinstance(size, torch.SymInt):
                        for symbol in sorted(size.node.expr.free_symbols, key=str):
                            name = _declared_name(declared, axis) or f"s{len(symbols)}"
                            symbols.setdefault(symbol, name)
                    else:
                        fixed.add(size)
        self.sizes = self._choose(symbols, fixed)
        self._numbers = {s: size.generic for s, size in zip(symbols, self.sizes, strict=True)}

    def _choose(self, symbols: dict[Any, str], fixed: set[int]) -> list[Size]:
        if not symbols:
            return []
        names = list(symbols.values())
        limit = _LIMITS.get(len(names))
        if limit is None:
            raise Error(
                f"the sizes {', '.join(names)} are known at run time only, but a program may have "
                f"at most {max(_LIMITS)} such sizes: fix the others"
            )
        sizes: list[Size] = []
        for symbol, name in symbols.items():
            bounds = self.program.range_constraints.get(symbol)
            low = int(bounds.lower) if bounds is not None else 2
            is_bounded = bounds is not None and bounds.upper.is_finite and bounds.upper < 2**62
            high = int(bounds.upper) if is_bounded else limit
            if high > limit:
                raise Error(
                    f"size '{name}' is declared to go to {high}, but with {len(names)} sizes that "
                    f"are known at run time each may go to {limit}: declare a smaller maximum"
                )
            taken = [size.generic for size in sizes]
            generic = _generic_number(max(high, _LEAST_GENERIC, *taken), fixed)
            sizes.append(Size(name, generic, max(low, 0), high))
        return sizes

    def number(self, size: Any) -> int | None:
        """What stands for a size in the graph; None if it is no product of sizes."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        coefficient, rest = size.node.expr.as_coeff_Mul()
        result = int(coefficient)
        if not coefficient.is_Integer or result < 1:
            return None
        for symbol, power in rest.as_powers_dict().items():
            if rest == 1:
                break
            if symbol not in self._numbers or not power.is_Integer or power < 1:
                return None
            result *= self._numbers[symbol] ** int(power)
        return result

    def run(self) -> None:
        """Makes all shapes, strides and arguments of the graph numbers."""
        graph = self.program.graph_module.graph
        for node in reversed(list(graph.nodes)):
            if node.target in _CHECKS and not node.users:
                graph.erase_node(node)  # of a range, which each call checks
        for node in graph.nodes:
            value = node.meta.get("val")
            if not isinstance(value, torch.SymInt | int) or node.op != "call_function":
                node.meta["val"] = pytree.tree_map_only(
                    torch.Tensor, lambda tensor, node=node: self._tensor(tensor, node), value
                )
                continue
            for user in list(node.users):
                self._replace(node, value, user)
        for node in reversed(list(graph.nodes)):
            if isinstance(node.meta.get("val"), torch.SymInt | int | torch.SymBool | bool):
                if not node.users and node.op == "call_function":
                    graph.erase_node(node)

    def _replace(self, node: Node, value: Any, user: Node) -> None:
        """Puts the number in the place of `node` in the arguments of `user`."""
        if isinstance(user.meta.get("val"), torch.SymInt | int | torch.SymBool | bool):
            return  # arithmetic on sizes: its result is what matters
        number = self.number(value)
        places = _SIZE_ARGUMENTS.get(user.target, ())
        where = location_of(user)
        prefix = f"{where}: " if where else ""
        for place, argument in enumerate(user.args):
            if node not in pytree.tree_leaves(argument):
                continue
            if user.op == "output" or place not in places:
                raise Error(
                    f"{prefix}{_name(user)} uses the size {value} as a number, but it is known at "
                    "run time only: fix that size"
                )
        if number is None:
            raise Error(f"{prefix}{_name(user)} takes the size {value}, {_NO_PRODUCT}")
        user.args = map_arg(user.args, lambda n: number if n is node else n)

    def _tensor(self, tensor: torch.Tensor, node: Node) -> torch.Tensor:
        shape = [self.number(size) for size in tensor.shape]
        strides = [self.number(stride) for stride in tensor.stride()]
        if None in shape or None in strides:
            where = location_of(node)
            size = next(s for s in (*tensor.shape, *tensor.stride()) if self.number(s) is None)
            raise Error(
                f"{f'{where}: ' if where else ''}{_name(node)} makes a tensor of size {size}, "
                f"{_NO_PRODUCT}"
            )
        return torch.empty_strided(shape, strides, dtype=tensor.dtype, device="meta")


_NO_PRODUCT = "which is no product of sizes that are known at run time: fix those sizes"


def _name(node: Node) -> str:
    if isinstance(node.target, torch._ops.OpOverload):
        return f"aten.{node.target.overloadpacket.__name__}"
    return operator.attrgetter("__name__")(node.target) if callable(node.target) else node.op


def _declared_name(shape: Any, axis: int) -> str | None:
    """The name that a user gave the size of an axis."""
    if isinstance(shape, dict):
        dim = shape.get(axis)
    elif isinstance(shape, list | tuple) and axis < len(shape):
        dim = shape[axis]
    else:
        return None
    dim = getattr(dim, "root", dim)  # of 8 * Dim("k")
    return dim.__name__ if isinstance(dim, Dim) else None
