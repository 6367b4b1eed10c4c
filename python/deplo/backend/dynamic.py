# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs whose sizes are symbols: one program for all sizes of a range, or, where
that can't be, one static graph for each combination met."""

import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.fx.traceback
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from deplo.errors import DeploWarning
from deplo.importer.sizes import LIMITS, range_of, symbols_of

from .options import BackendOptions
from .support import WEIGHT, is_static

# Symbols with the least and the most that each may be; None for no bound.
Ranges = Mapping[Any, tuple[int, int | None]]

# Sizes of the last axis are compiled for ranges that end at this or at twice
# the next power of two: what is on chip must hold the longest row.
_LEAST_END = 4096
# The other sizes, if there are two, end where their product does: a launch has
# so many blocks, one for each row.
_MOST_ROWS = 2**31 - 1


def copy_of(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """A copy, and the copy of each node but the output."""
    copy, nodes = Graph(), {}
    copy.output(copy.graph_copy(graph, nodes))
    return copy, nodes


def _leaves(graph: Graph) -> Iterator[torch.Tensor]:
    """All tensors of a graph."""
    for node in graph.nodes:
        for leaf in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(leaf, torch.Tensor):
                yield leaf


def _is_symbol(size: Any, symbol: Any) -> bool:
    return isinstance(size, torch.SymInt) and size.node.expr == symbol


def find_place(graph: Graph, symbol: Any) -> tuple[int, int | None] | None:
    """The number of the input that is the symbol, or has it as the size of an axis,
    and that axis; None if there is none."""
    inputs = [node.meta.get("val") for node in graph.nodes if node.op == "placeholder"]
    for i, value in enumerate(inputs):
        if _is_symbol(value, symbol):
            return i, None
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if _is_symbol(size, symbol):
                    return i, axis
    return None


def find_givers(graph: Graph, symbols: Sequence[Any]) -> list[Node]:
    """For each symbol a node that is its value; adds such as are not there."""
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    givers = []
    for symbol in symbols:
        i, axis = find_place(graph, symbol)  # type: ignore[misc]
        giver = inputs[i]
        if axis is not None:
            with graph.inserting_after(inputs[-1]):
                giver = graph.call_function(torch.ops.aten.sym_size.int, (inputs[i], axis))
            giver.meta["val"] = inputs[i].meta["val"].shape[axis]
        givers.append(giver)
    return givers


class ByRange:
    """A function that compiles the graph for a range of sizes, and again where a call
    is out of the ranges so far."""

    def __init__(
        self,
        module: GraphModule,
        options: BackendOptions,
        compile_symbolic: Callable[[GraphModule, Ranges, BackendOptions], Callable | None],
        compile_static: Callable[[GraphModule, BackendOptions], Callable],
    ) -> None:
        self._module = module
        self._options = options
        self._compile = compile_symbolic
        self._compile_static = compile_static
        self._declared: dict[Any, tuple[int, int | None]] = {}
        self._rows: set[Any] = set()
        for leaf in _leaves(module.graph):
            for symbol in symbols_of(leaf):
                env = next(size for size in leaf.shape if isinstance(size, torch.SymInt)).node
                self._declared[symbol] = range_of(env.shape_env.var_to_range[symbol])
            if leaf.dim():
                self._rows.update(symbols_of(leaf.shape[-1]))
        self._places = [find_place(module.graph, symbol) for symbol in self._declared]
        self._made: list[tuple[tuple[int, ...], Callable]] = []
        self._by_size: BySize | None = None
        if None in self._places or len(self._declared) not in LIMITS:
            self._by_size = self._get_by_size()
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        if self._by_size is not None:
            return self._by_size(*arguments)
        sizes = self._sizes(arguments)
        function = self._find(sizes)
        if function is None:
            with self._lock:
                function = self._find(sizes) or self._make(sizes)
        return function(*arguments)

    def _sizes(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        return tuple(
            arguments[i] if axis is None else arguments[i].shape[axis]
            for i, axis in self._places  # type: ignore[misc]
        )

    def _find(self, sizes: tuple[int, ...]) -> Callable | None:
        for ends, function in self._made:
            if all(size <= end for size, end in zip(sizes, ends, strict=True)):
                return function
        return None

    def _get_by_size(self) -> "BySize":
        values = [n.meta.get("val") for n in self._module.graph.nodes if n.op == "placeholder"]
        return BySize(self._module, values, self._options, self._compile_static)

    def _make(self, sizes: tuple[int, ...]) -> Callable:
        if len(self._made) == self._options.max_sizes:
            _say_bound("ranges", self._options.max_sizes)
        if len(self._made) >= self._options.max_sizes:
            return self._module.forward
        ranges = {
            symbol: self._range(symbol, size)
            for symbol, size in zip(self._declared, sizes, strict=True)
        }
        ends = tuple(end for _, end in ranges.values())
        function = None
        if all(size <= end for size, end in zip(sizes, ends, strict=True)):
            module = GraphModule(self._module, copy_of(self._module.graph)[0])
            with _disable_current_modes(), torch.no_grad():
                function = self._compile(module, ranges, self._options)
        if function is None:
            self._by_size = self._get_by_size()
            return self._by_size
        self._made.append((ends, function))
        return function

    def _range(self, symbol: Any, size: int) -> tuple[int, int]:
        least, most = self._declared[symbol]
        limit = LIMITS[len(self._declared)]
        if symbol not in self._rows and len(self._declared) - len(self._rows) == 2:
            limit = min(limit, math.isqrt(_MOST_ROWS))
        if most is None or most > limit:
            most = limit
            if symbol in self._rows:
                most = min(most, max(_LEAST_END, 2 << max(size - 1, 0).bit_length()))
        return least, most


def _say_bound(what: str, count: int) -> None:
    warnings.warn(
        f"deplo has compiled this graph for {count} {what} of sizes; "
        'PyTorch runs it for further ones; options={"max_sizes": ...} moves the bound',
        DeploWarning,
        stacklevel=4,
    )


class BySize:
    """A function that compiles the graph anew for each combination of sizes, up
    to a number of them; further ones are run by PyTorch, which a warning says."""

    def __init__(
        self,
        module: GraphModule,
        values: Sequence[Any],
        options: BackendOptions,
        compile_static: Callable[[GraphModule, BackendOptions], Callable],
    ) -> None:
        """`values` are those of the placeholders, with their symbols."""
        self._module = module
        self._varying = [i for i, value in enumerate(values) if not is_static(value)]
        self._options = options
        self._compile = compile_static
        self._made: dict[tuple, Callable] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(_size(arguments[i]) for i in self._varying)
        function = self._made.get(key)
        if function is None:
            function = self._make(key, arguments)
        return function(*arguments)

    def _make(self, key: tuple, arguments: Sequence[Any]) -> Callable:
        with self._lock:
            if key in self._made:
                return self._made[key]
            if len(self._made) == self._options.max_sizes:
                _say_bound("combinations", self._options.max_sizes)
            if len(self._made) >= self._options.max_sizes:
                return self._module.forward
            with _disable_current_modes(), torch.no_grad():
                self._made[key] = self._compile(self._concrete(arguments), self._options)
            return self._made[key]

    def _concrete(self, arguments: Sequence[Any]) -> GraphModule:
        """The graph with the sizes of these arguments in place of symbols."""
        with torch.fx.traceback.preserve_node_meta():
            concrete = make_fx(
                Interpreter(self._module).run, tracing_mode="fake", _allow_non_fake_inputs=True
            )(*arguments)
        for symbolic, node in zip(self._module.graph.nodes, concrete.graph.nodes, strict=False):
            if symbolic.op == "placeholder" and WEIGHT in symbolic.meta:
                node.meta[WEIGHT] = symbolic.meta[WEIGHT]
        return concrete


def _size(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride()
    return argument
