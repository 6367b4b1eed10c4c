# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are known when a program runs.

In the graph such a size is a generic number: a prime above its range that divides
no other size. Every multiple of it stands for that multiple of the size.
"""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, ExportedProgram
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from deplo.errors import Error

from .locations import location_of

# A program may have so many; then each ends at the number at most, so that byte
# counts of their products stay below 2**63.
LIMITS = {1: 2**31 - 1, 2: 2**20 - 1, 3: 2**16 - 1}
# Generic numbers are above every tile and every block.
_LEAST_GENERICS = {1: 2**20, 2: 2**20, 3: 2**16}
# Addresses and byte counts are below that, of elements of up to 8 bytes.
_MOST_ELEMENTS = 2**59

_aten = torch.ops.aten
# Operators that take sizes, and which of their arguments may be some.
_SIZE_ARGUMENTS = {
    _aten.view.default: (1,),
    _aten.reshape.default: (1,),
    _aten._unsafe_view.default: (1,),
    _aten.expand.default: (1,),
    _aten.full.default: (0,),
    _aten.slice.Tensor: (2, 3),
    _aten.repeat.default: (1,),
    _aten.rms_norm.default: (1,),
    _aten.layer_norm.default: (1,),
    _aten.native_layer_norm.default: (1,),
    _aten.native_group_norm.default: (3, 4, 5),
    # Numbers, of which a multiple of a generic one becomes the call's size.
    _aten.add.Tensor: (1,),
    _aten.sub.Tensor: (1,),
    _aten.mul.Tensor: (1,),
    _aten.div.Tensor: (1,),
    _aten.arange.start_step: (1,),
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


def ranges_of(program: ExportedProgram) -> dict[Any, tuple[int, int | None]]:
    """The declared minimum and maximum of each symbol; None for no maximum."""
    return {symbol: range_of(bounds) for symbol, bounds in program.range_constraints.items()}


def range_of(bounds: Any) -> tuple[int, int | None]:
    """As numbers."""
    is_bounded = bounds.upper.is_finite and bounds.upper < 2**62
    return max(int(bounds.lower), 0), int(bounds.upper) if is_bounded else None


def names_of(program: ExportedProgram, shapes: Sequence[Any]) -> dict[Any, str]:
    """Symbols by the names that a user gave them.

    Args:
        shapes: the declaration, an entry for each input.
    """
    names: dict[Any, str] = {}
    nodes = {node.name: node for node in program.graph.nodes}
    specs = [s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    for spec, declared in zip(specs, shapes, strict=True):
        for axis, size in enumerate(getattr(nodes[spec.arg.name].meta["val"], "shape", ())):
            name = _declared_name(declared, axis)
            if isinstance(size, torch.SymInt) and name:
                for symbol in size.node.expr.free_symbols:
                    names.setdefault(symbol, name)
    return names


def symbols_of(value: Any) -> list[Any]:
    """Those of which sizes of a tensor are made, or an integer."""
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    found: dict[Any, None] = {}
    for size in sizes:
        if isinstance(size, torch.SymInt):
            found.update(dict.fromkeys(sorted(size.node.expr.free_symbols, key=str)))
    return list(found)


class SizeBinder:
    """Puts numbers in the place of a graph's symbols.

    Attributes:
        sizes: that each call gives.
        symbols: of PyTorch, one for each size.
        problems: what can't be done with a size, by node.
    """

    def __init__(
        self,
        graph: Graph,
        ranges: Mapping[Any, tuple[int, int | None]],
        names: Mapping[Any, str] | None = None,
    ) -> None:
        self.graph = graph
        self.problems: dict[Node, str] = {}
        symbols: dict[Any, str] = {}
        fixed: set[int] = set()
        for node in graph.nodes:
            fixed.update(n for n in pytree.tree_leaves((node.args, node.kwargs)) if type(n) is int)
            for leaf in pytree.tree_leaves(node.meta.get("val")):
                if isinstance(leaf, torch.Tensor):
                    fixed.update(size for size in leaf.shape if isinstance(size, int))
                    for symbol in symbols_of(leaf):
                        symbols.setdefault(symbol, (names or {}).get(symbol, f"s{len(symbols)}"))
        self.symbols = list(symbols)
        self.sizes = self._choose(symbols, ranges, fixed)
        self._numbers = {s: size.generic for s, size in zip(symbols, self.sizes, strict=True)}

    def _choose(
        self,
        symbols: dict[Any, str],
        ranges: Mapping[Any, tuple[int, int | None]],
        fixed: set[int],
    ) -> list[Size]:
        if not symbols:
            return []
        names = list(symbols.values())
        limit = LIMITS.get(len(names))
        if limit is None:
            raise Error(
                f"the sizes {', '.join(names)} are known at run time only, but a program may have "
                f"at most {max(LIMITS)} such sizes: fix the others"
            )
        sizes: list[Size] = []
        for symbol, name in symbols.items():
            low, high = ranges.get(symbol, (2, None))
            high = limit if high is None else high
            if high > limit:
                raise Error(
                    f"size '{name}' is declared to go to {high}, but with {len(names)} sizes that "
                    f"are known at run time each may go to {limit}: declare a smaller maximum"
                )
            taken = [size.generic for size in sizes]
            generic = _generic_number(max(high, _LEAST_GENERICS[len(names)], *taken), fixed)
            sizes.append(Size(name, generic, low, high))
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
        """Makes all shapes, strides and arguments of the graph numbers.

        What has a problem keeps its symbols.
        """
        for node in reversed(list(self.graph.nodes)):
            if node.target in _CHECKS and not node.users:
                self.graph.erase_node(node)  # of a range, which each call checks
        for node in self.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.SymFloat | float) and node.op == "call_function":
                for user in node.users:
                    if isinstance(user.meta.get("val"), torch.Tensor):
                        self._say_it_is_a_number(user, value)
            elif not isinstance(value, torch.SymInt | int):
                self._bind_value(node, value)
            elif node.op in ("call_function", "placeholder"):
                for user in list(node.users):
                    self._replace(node, value, user)
        for node in reversed(list(self.graph.nodes)):
            if isinstance(node.meta.get("val"), torch.SymInt | int | torch.SymBool | bool):
                if not node.users and node.op == "call_function":
                    self.graph.erase_node(node)

    def raise_problems(self) -> None:
        """Raises an `Error` that says the first."""
        for problem in self.problems.values():
            raise Error(problem)

    def _problem(self, node: Node, text: str) -> None:
        where = location_of(node)
        self.problems.setdefault(node, f"{f'{where}: ' if where else ''}{_name(node)} {text}")

    def _replace(self, node: Node, value: Any, user: Node) -> None:
        """Puts the number in the place of `node` in the arguments of `user`."""
        if isinstance(user.meta.get("val"), torch.SymInt | int | torch.SymBool | bool):
            return  # arithmetic on sizes: its result is what matters
        number = self.number(value)
        places = _SIZE_ARGUMENTS.get(user.target, ())
        for place, argument in enumerate(user.args):
            if node in pytree.tree_leaves(argument) and (
                user.op == "output" or place not in places
            ):
                self._say_it_is_a_number(user, value)
                return
        if number is None:
            self._problem(user, f"takes the size {value}, {_NO_PRODUCT}")
            return
        user.args = map_arg(user.args, lambda n: number if n is node else n)

    def _say_it_is_a_number(self, user: Node, value: Any) -> None:
        self._problem(
            user,
            f"uses the size {value} as a number, but it is known at run time only: fix that size",
        )

    def _bind_value(self, node: Node, value: Any) -> None:
        leaves, spec = pytree.tree_flatten(value)
        bound = [
            self._tensor(leaf, node) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves
        ]
        if node not in self.problems:
            node.meta["val"] = pytree.tree_unflatten(bound, spec)

    def _tensor(self, tensor: torch.Tensor, node: Node) -> torch.Tensor:
        sizes = (*tensor.shape, *tensor.stride())
        if all(isinstance(size, int) for size in sizes):
            return tensor
        numbers = [self.number(size) for size in sizes]
        if None in numbers:
            size = sizes[numbers.index(None)]
            self._problem(node, f"makes a tensor of size {size}, {_NO_PRODUCT}")
            return tensor
        shape, strides = numbers[: tensor.dim()], numbers[tensor.dim() :]
        if math.prod(shape) >= _MOST_ELEMENTS:
            self._problem(
                node, "makes a tensor that may be larger than memory: declare smaller maxima"
            )
            return tensor
        with tensor.fake_mode if isinstance(tensor, FakeTensor) else nullcontext():
            # Without a mode it would be memory.
            device = tensor.device if isinstance(tensor, FakeTensor) else "meta"
            return torch.empty_strided(shape, strides, dtype=tensor.dtype, device=device)


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
