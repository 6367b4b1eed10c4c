# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks an exported FX graph and writes the graph dialect, one handler a node."""

import operator
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from deplo.errors import Error

from . import (  # noqa: F401  (they fill the table)
    attention,
    contractions,
    convolutions,
    elementwise,
    indexing,
    losses,
    normalization,
    pointwise,
    pooling,
    random,
    reductions,
    scans,
    scatters,
    sorting,
    views,
)
from .builder import GraphBuilder, Value
from .dtypes import SUPPORTED, dtype_name
from .locations import location_of
from .registry import HANDLERS, Context, Unsupported
from .unsupported import BY_VALUES, Problem, describe, nearest, python_name

_IGNORED = {
    torch.ops.aten._assert_tensor_metadata.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
}
_ITEM = torch.ops.aten._local_scalar_dense.default
_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)

_VIEWS = {
    torch.ops.aten.alias.default,
    torch.ops.aten.detach.default,
    torch.ops.aten.diagonal.default,
    torch.ops.aten.expand.default,
    torch.ops.aten.permute.default,
    torch.ops.aten.select.int,
    torch.ops.aten.slice.Tensor,
    torch.ops.aten.squeeze.default,
    torch.ops.aten.squeeze.dim,
    torch.ops.aten.squeeze.dims,
    torch.ops.aten.transpose.int,
    torch.ops.aten.unsqueeze.default,
    torch.ops.aten.view.default,
}


class Lowering:
    """Lowers the nodes of one graph into a builder and collects what it can't.

    A node that fails gets no value; nodes that need it are passed over, so that
    one run finds every problem that is not a consequence of another.
    """

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder = builder
        self.values: dict[Node, Any] = {}
        self._problems: dict[tuple[str, str], Problem] = {}

    @property
    def problems(self) -> list[Problem]:
        return list(self._problems.values())

    def problem(self, what: str, remedy: str, node: Node | None) -> None:
        entry = self._problems.setdefault((what, remedy), Problem(what, remedy))
        entry.locations.append(location_of(node) if node else None)

    def raise_problems(self) -> None:
        """Raises one `Error` that lists every problem met, if any."""
        if self._problems:
            raise Error(describe(list(self._problems.values())))

    def input_type(self, what: str, tensor: torch.Tensor) -> str | None:
        """The dtype's name; an unsupported one is a problem and gives None."""
        name = dtype_name(tensor.dtype)
        if name is None:
            word = str(tensor.dtype).removeprefix("torch.")
            self.problem(f"{what} has dtype {word}", f"supported are {SUPPORTED}", None)
        return name

    def lower(self, node: Node) -> None:
        """Emits one `call_function` node."""
        if node.target in _IGNORED or isinstance(node.meta.get("val"), _NUMBERS):
            if node.target is _ITEM:
                self._item(node)
            return
        missing = [n for n in node.all_input_nodes if n not in self.values]
        if missing:
            self._explain_numbers(node, missing)
            return
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
            return
        handler = HANDLERS.get(node.target)  # type: ignore[arg-type]
        if handler is None:
            self.problem(python_name(node.target), nearest(node.target), node)
            return
        context = self._context(node)
        if context is None:
            return
        args = map_arg(node.args, self.values.__getitem__)
        kwargs = map_arg(node.kwargs, self.values.__getitem__)
        first_line = len(self.builder.lines)
        self.builder.location = location_of(node)
        self.builder.operator = python_name(node.target).split(".")[1]
        try:
            result = handler(context, *args, **kwargs)
        except Unsupported as reason:
            self.problem(f"{python_name(node.target)} in this form", str(reason), node)
            return
        self._name(node, result, first_line)
        self._check(node, result)
        self.values[node] = result

    def _item(self, node: Node) -> None:
        """A number that is read from a tensor stays in its tensor."""
        tensor = self.values.get(node.args[0])
        if tensor is not None:
            self.builder.location = location_of(node)
            self.values[node] = self.builder.reshape(tensor, ())
            self._name(node, self.values[node], len(self.builder.lines) - 1)

    def _explain_numbers(self, node: Node, missing: list[Node]) -> None:
        """`node` needs numbers that Python would compute from the values of tensors."""
        numbers = [n for n in missing if isinstance(n.meta.get("val"), _NUMBERS)]
        if numbers and len(numbers) == len(missing):
            self.problem(
                f"{python_name(node.target)} with a number computed from the values of a tensor",
                "compute it as a tensor",
                node,
            )

    def _context(self, node: Node) -> Context | None:
        """The node's types; a result of unsupported dtype is a problem and gives None."""
        results = node.meta["val"]
        used = frozenset([0])
        if isinstance(results, (tuple, list)):
            users = [user for user in node.users if user.target is operator.getitem]
            used = frozenset(int(user.args[1]) for user in users if user.users)  # type: ignore[arg-type]
            results = results[0]
        dtype = dtype_name(results.dtype)
        if dtype is None:
            word = str(results.dtype).removeprefix("torch.")
            self.problem(
                f"{python_name(node.target)} with a result of dtype {word}",
                f"supported are {SUPPORTED}",
                node,
            )
            return None
        if not all(isinstance(size, int) for size in results.shape):
            self.problem(python_name(node.target), BY_VALUES, node)
            return None
        context = Context(self.builder, tuple(results.shape), dtype, used)
        context.storage = lambda: self._storage(node.args[0])
        return context

    def _storage(self, node: Any) -> tuple[Value, int] | None:
        """The tensor that `node` is a view of and where the view starts in its storage;
        none if that tensor's elements are not its storage."""
        start = node.meta["val"].storage_offset()
        while node.target in _VIEWS:
            node = node.args[0]
        whole = node.meta["val"]
        is_plain = whole.is_contiguous() and whole.storage_offset() == 0
        return (self.values[node], start) if is_plain else None

    def _name(self, node: Node, result: Any, first_line: int) -> None:
        """Names the node's result after it, and the steps before it `<node>.<n>`."""
        unnamed = [line.result for line in self.builder.lines[first_line:] if not line.result.name]
        last = unnamed.pop() if unnamed and unnamed[-1] is result else None
        for i, value in enumerate(unnamed):
            value.name = f"{node.name}.{i}"
        if last:
            last.name = node.name

    def _check(self, node: Node, result: Any) -> None:
        """A handler that disagrees with PyTorch about a type is deplo's own mistake.

        Raises:
            Error: naming the operator, so that it can be reported.
        """
        expected, values = node.meta["val"], result
        if not isinstance(expected, (tuple, list)):
            expected, values = [expected], [result]
        for want, got in zip(expected, values, strict=True):
            if isinstance(got, Value):
                shape, dtype = tuple(want.shape), dtype_name(want.dtype)
                if (got.shape, got.dtype) != (shape, dtype):
                    raise Error(
                        f"{location_of(node)}: internal error: {python_name(node.target)} was "
                        f"imported as {got.type}, but PyTorch makes {dtype}{list(shape)}; "
                        "please report it"
                    )
