# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the text of one `graph` function, an operation at a time.

Every method checks nothing: shapes and dtypes are the caller's, and the
compiler's verifier has the last word.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .dtypes import FLOATS, double_literal, element_literal, ir_type
from .locations import Location
from .scalars import Region, Scalar, is_of_size

if TYPE_CHECKING:
    from .sizes import Size


@dataclass(eq=False)
class Value:
    """An SSA value: its name (without %), shape and dtype ("f32", "bool", ...)."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def type(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{ir_type(self.dtype)}>"


@dataclass(eq=False)
class _Line:
    result: Value
    pieces: list[str | Value]
    location: Location | None
    operator: str

    def at(self) -> str:
        """Primitives say which operator they are part of: it names their kernel."""
        first = self.pieces[0]
        word = first.split()[0] if isinstance(first, str) else ""
        if word not in ("map", "reduce", "contract", "index_map", "gather") or not self.operator:
            return _at(self.location)
        place = self.location.mlir() if self.location else "unknown"
        return f" loc(fused<{_quoted(self.operator)}>[{place}])"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return f'"{escaped}"'


def _at(location: Location | None) -> str:
    return f" loc({location.mlir()})" if location else ""


def _axes(axes: Sequence[int]) -> str:
    return f"[{', '.join(str(axis) for axis in axes)}]"


class GraphBuilder:
    """Collects operations; `text()` prints the module.

    Attributes:
        location, operator: put on every operation emitted from now on.
        seed: of random numbers.
        sizes: that each call gives.
    """

    def __init__(self, seed: int = 0, sizes: Sequence["Size"] = ()) -> None:
        self.seed = seed
        self.sizes = sizes
        self._streams = 0
        self.location: Location | None = None
        self.operator = ""
        self.lines: list[_Line] = []
        self._arguments: list[tuple[Value, str, Location | None]] = []
        self._constants: dict[tuple[str, str], Value] = {}

    def argument(
        self,
        value: Value,
        name: str,
        strides: Sequence[int] | None,
        location: Location | None = None,
        *,
        is_weight: bool = False,
    ) -> None:
        """Declares a function argument; `strides` in elements where not contiguous."""
        attributes = f"graph.name = {_quoted(name)}"
        attributes += ", graph.weight" if is_weight else ""
        attributes += ", graph.unsigned" if value.dtype == "u8" else ""
        if strides is not None:
            attributes += f", graph.strides = array<i64: {', '.join(map(str, strides))}>"
        self._arguments.append((value, attributes, location))

    def next_stream(self) -> int:
        """A number for each operator that is random."""
        self._streams += 1
        return self._streams - 1

    def emit(self, pieces: list[str | Value], shape: Sequence[int], dtype: str) -> Value:
        """Appends `%new = graph.<pieces>` and returns its result, not yet named."""
        result = Value("", tuple(shape), dtype)
        self.lines.append(_Line(result, pieces, self.location, self.operator))
        return result

    def constant(self, value: float, dtype: str) -> Value:
        """A rank-0 constant, rounded to `dtype`; equal constants are one operation."""
        if is_of_size(value, self.sizes):
            return self.generate(lambda s: s.constant(value, dtype), (), dtype)
        literal = element_literal(value, dtype)
        if (literal, dtype) not in self._constants:
            text = f"constant dense<{literal}> : tensor<{ir_type(dtype)}>"
            result = self.emit([text], (), dtype)
            result.name = "cst" + (f"_{len(self._constants)}" if self._constants else "")
            self._constants[literal, dtype] = result
        return self._constants[literal, dtype]

    def unary(self, op: str, x: Value) -> Value:
        return self.emit([f"{op} ", x, f" : {x.type}"], x.shape, x.dtype)

    def binary(self, op: str, x: Value | float, y: Value | float) -> Value:
        """An elementwise operation with broadcasting; a number takes the other's dtype."""
        if not isinstance(x, Value):
            assert isinstance(y, Value)
            x = self.constant(x, y.dtype)
        if not isinstance(y, Value):
            y = self.constant(y, x.dtype)
        shape = torch.broadcast_shapes(x.shape, y.shape)
        result = Value("", tuple(shape), x.dtype).type
        return self.emit(
            [f"{op} ", x, ", ", y, f" : ({x.type}, {y.type}) -> {result}"], shape, x.dtype
        )

    def map(self, formula: Callable[..., Scalar], inputs: Sequence[Value], dtype: str) -> Value:
        """`formula(region, *elements)` of broadcast elements, converted to `dtype`."""
        shape = torch.broadcast_shapes(*(x.shape for x in inputs))
        inputs = [self.expand(x, shape) for x in inputs]
        region = Region(self.sizes)
        names = [chr(ord("a") + i) for i in range(len(inputs))]
        arguments = [Scalar(region, n, x.dtype) for n, x in zip(names, inputs, strict=True)]
        result = region.convert(formula(region, *arguments), dtype)
        pieces: list[str | Value] = ["map ("]
        for i, (name, x) in enumerate(zip(names, inputs, strict=True)):
            pieces += [f"{', ' if i else ''}%{name} = ", x, f" : {x.type}"]
        lines = [*region.lines, f"graph.yield %{result.name} : {ir_type(dtype)}"]
        body = "".join(f"      {line}\n" for line in lines)
        pieces.append(f") -> {Value('', tuple(shape), dtype).type} {{\n{body}    }}")
        return self.emit(pieces, shape, dtype)

    def generate(self, formula: Callable[..., Scalar], shape: Sequence[int], dtype: str) -> Value:
        """A tensor whose element is `formula(region, *coordinates)`, coordinates in i64."""
        region = Region(self.sizes)
        coordinates = [region.index(axis) for axis in range(len(shape))]
        result = region.convert(formula(region, *coordinates), dtype)
        lines = [*region.lines, f"graph.yield %{result.name} : {ir_type(dtype)}"]
        body = "".join(f"      {line}\n" for line in lines)
        tensor = Value("", tuple(shape), dtype).type
        return self.emit([f"map () -> {tensor} {{\n{body}    }}"], shape, dtype)

    def reduce(self, monoid: str, x: Value, axes: Sequence[int], keepdims: bool) -> Value:
        """The primitive fold, in the dtype of `x` (integers wrap, bools are 0 and 1)."""
        shape = [size for i, size in enumerate(x.shape) if i not in axes]
        result = Value("", tuple(shape), x.dtype).type
        tail = f" axes {_axes(sorted(axes))} : {x.type} -> {result}"
        reduced = self.emit([f"reduce {monoid} ", x, tail], shape, x.dtype)
        kept = [1 if i in axes else size for i, size in enumerate(x.shape)]
        return self.reshape(reduced, kept) if keepdims else reduced

    def contract(
        self,
        x: Value,
        x_axes: Sequence[int | None],
        y: Value,
        y_axes: Sequence[int | None],
        shape: Sequence[int],
        dtype: str,
        sums: int = 1,
    ) -> Value:
        """Sums of products of elements of `x` and `y` over the last `sums` coordinates.

        Args:
            x_axes, y_axes: for each axis of the operand, the axis of the result that it
                is, their number on for those that are summed over, None for the first
                element.
        """
        coordinates = ", ".join(f"d{i}" for i in range(len(shape) + sums))

        def by(axes: Sequence[int | None]) -> str:
            read = ", ".join("0" if axis is None else f"d{axis}" for axis in axes)
            return f" by affine_map<({coordinates}) -> ({read})>"

        result = Value("", tuple(shape), dtype).type
        tail = f"{by(y_axes)} : ({x.type}, {y.type}) -> {result}"
        return self.emit(["contract ", x, f"{by(x_axes)}, ", y, tail], shape, dtype)

    def cast(self, x: Value, dtype: str) -> Value:
        """`x` converted to `dtype`; `x` itself where it has that dtype."""
        if x.dtype == dtype:
            return x
        if x.dtype not in FLOATS or dtype not in FLOATS:
            return self.map(lambda _, a: a, [x], dtype)
        result = Value("", x.shape, dtype).type
        return self.emit(["cast ", x, f" : {x.type} to {result}"], x.shape, dtype)

    def reduction(self, op: str, x: Value, axes: Sequence[int], keepdims: bool) -> Value:
        """`op` is sum, mean, prod, amax, amin; or "var" with its correction after it."""
        axes = sorted(axes)
        name, _, rest = op.partition(" ")
        shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
        if not keepdims:
            shape = [size for i, size in enumerate(x.shape) if i not in axes]
        tail = f" axes {_axes(axes)}" + (f" {rest}" if rest else "")
        tail += " keepdims" if keepdims else ""
        result = Value("", tuple(shape), x.dtype).type
        return self.emit([f"{name} ", x, f"{tail} : {x.type} -> {result}"], shape, x.dtype)

    def variance(self, x: Value, axes: Sequence[int], correction: float, keepdims: bool) -> Value:
        return self.reduction(f"var correction {double_literal(correction)}", x, axes, keepdims)

    def softmax(self, op: str, x: Value, axis: int) -> Value:
        return self.emit([f"{op} ", x, f" axis {axis} : {x.type}"], x.shape, x.dtype)

    def scan(self, monoid: str, x: Value, axis: int) -> Value:
        """Each element folded with those before it, in the dtype of `x`."""
        return self.emit([f"scan {monoid} ", x, f" axis {axis} : {x.type}"], x.shape, x.dtype)

    def norm(
        self, op: str, x: Value, weight: Value | None, bias: Value | None, rank: int, eps: float
    ) -> Value:
        """rms_norm or layer_norm over the last `rank` axes."""
        pieces: list[str | Value] = [f"{op} ", x]
        for word, value in (("weight", weight), ("bias", bias)):
            if value is not None:
                pieces += [f" {word} ", value, f" : {value.type}"]
        pieces.append(f" rank {rank} eps {double_literal(eps)} : {x.type}")
        return self.emit(pieces, x.shape, x.dtype)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """The same elements under another shape; `x` itself where it has that shape."""
        if tuple(shape) == x.shape:
            return x
        return self._view("reshape", x, "", shape)

    def permute(self, x: Value, order: Sequence[int]) -> Value:
        return self._view("permute", x, f" by {_axes(order)}", [x.shape[axis] for axis in order])

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """Broadcast to `shape`; `x` itself where it has that shape."""
        return x if tuple(shape) == x.shape else self._view("expand", x, "", shape)

    def slice(self, x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
        """Elements start, start + step, ... below `stop` of one axis (0 <= start <= stop)."""
        size = max(0, math.ceil((stop - start) / step))
        shape = [size if i == axis else old for i, old in enumerate(x.shape)]
        if tuple(shape) == x.shape:
            return x
        offsets = _axes([start if i == axis and size else 0 for i in range(len(shape))])
        strides = _axes([step if i == axis else 1 for i in range(len(shape))])
        return self._view("slice", x, f" offsets {offsets} strides {strides}", shape)

    def _view(self, op: str, x: Value, attributes: str, shape: Sequence[int]) -> Value:
        result = Value("", tuple(shape), x.dtype).type
        return self.emit([f"{op} ", x, f"{attributes} : {x.type} -> {result}"], shape, x.dtype)

    def text(self, results: Sequence[Value]) -> str:
        """The whole module: one function that returns `results`."""
        ranges = ", ".join(
            f"{size.name} = array<i64: {size.generic}, {size.minimum}, {size.maximum}>"
            for size in self.sizes
        )
        header = (
            f"module attributes {{graph.sizes = {{{ranges}}}}} {{" if self.sizes else "module {"
        )
        arguments = ", ".join(
            f"%{value.name}: {value.type} {{{attributes}}}{_at(location)}"
            for value, attributes, location in self._arguments
        )
        types = [value.type for value in results]
        marked = [f"{v.type} {{graph.unsigned}}" if v.dtype == "u8" else v.type for v in results]
        is_simple = len(types) == 1 and marked == types
        signature = types[0] if is_simple else f"({', '.join(marked)})"
        lines = [header, f"  func.func @main({arguments}) -> {signature} {{"]
        for line in self.lines:
            words = (f"%{p.name}" if isinstance(p, Value) else p for p in line.pieces)
            lines.append(f"    %{line.result.name} = graph.{''.join(words)}{line.at()}")
        names = ", ".join(f"%{value.name}" for value in results)
        lines += [f"    return {names} : {', '.join(types)}", "  }", "}", ""]
        return "\n".join(lines)
