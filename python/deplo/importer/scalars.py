# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions in the region of a `graph.map`, written as formulas.

    lambda s, x: s.select(x < 0, x * 0.01, x)

Every value knows its dtype and picks the operation: signed or unsigned,
integer or float. A Python number beside a value takes the value's dtype.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .dtypes import FLOATS, HALVES, INTEGERS, TORCH_DTYPES, element_literal, ir_type

if TYPE_CHECKING:
    from .sizes import Size

Number = bool | int | float
# f64 is for what must be rounded only once, not for tensors.
REALS = (*FLOATS, "f64")


class Unsupported(Exception):
    """A handled operator in a form that has no translation.

    The message completes "<operator> ... is not supported: "; it says what
    about the call is the matter and what to write in its place.
    """


def not_of(dtype: str) -> Unsupported:
    """The refusal of operands of a dtype."""
    return Unsupported(f"it is not defined for {dtype}; convert the tensor first")


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value of the region: its name (without %) and dtype."""

    region: "Region"
    name: str
    dtype: str

    def __add__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("add", self, other)

    def __sub__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("sub", self, other)

    def __rsub__(self, other: Number) -> "Scalar":
        return self.region.binary("sub", other, self)

    def __mul__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("mul", self, other)

    def __truediv__(self, other: "Scalar | Number") -> "Scalar":
        """Of floats: correctly rounded. Of integers: towards zero, not by 0 or -1."""
        return self.region.binary("div", self, other)

    def __rtruediv__(self, other: Number) -> "Scalar":
        return self.region.binary("div", other, self)

    def __and__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("and", self, other)

    def __or__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("or", self, other)

    def __xor__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.binary("xor", self, other)

    def __neg__(self) -> "Scalar":
        return self.region.neg(self)

    def __invert__(self) -> "Scalar":
        return self ^ (True if self.dtype == "bool" else -1)

    def __lt__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("lt", self, other)

    def __le__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("le", self, other)

    def __gt__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("gt", self, other)

    def __ge__(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("ge", self, other)

    def equals(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("eq", self, other)

    def differs(self, other: "Scalar | Number") -> "Scalar":
        return self.region.compare("ne", self, other)


# operation -> its name for floats, signed and unsigned integers
_BINARY = {
    "add": ("arith.addf", "arith.addi", "arith.addi"),
    "sub": ("arith.subf", "arith.subi", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli", "arith.muli"),
    "div": ("arith.divf", "arith.divsi", "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi", "arith.minui"),
    "and": (None, "arith.andi", "arith.andi"),
    "or": (None, "arith.ori", "arith.ori"),
    "xor": (None, "arith.xori", "arith.xori"),
    "shl": (None, "arith.shli", "arith.shli"),
    "shr": (None, "arith.shrsi", "arith.shrui"),
    "mod": ("arith.remf", None, None),
    "atan2": ("math.atan2", None, None),
    "copysign": ("math.copysign", None, None),
    "pow": ("math.powf", None, None),
}


def is_of_size(value: Number, sizes: Sequence["Size"]) -> bool:
    """Whether `value` is a multiple of a size: no other number of a program is one of
    its generic number."""
    return type(value) is int and value > 0 and any(value % size.generic == 0 for size in sizes)


class Region:
    """Collects the operations of one region.

    Attributes:
        lines: their text, without indentation.
    """

    def __init__(self, sizes: Sequence["Size"] = ()) -> None:
        """`sizes` are those that each call gives."""
        self._sizes = sizes
        self.lines: list[str] = []
        self._known: dict[str, Scalar] = {}

    def emit(self, text: str, dtype: str) -> Scalar:
        """`%new = <text>`; equal operations are one."""
        if text not in self._known:
            self._known[text] = Scalar(self, str(len(self._known)), dtype)
            self.lines.append(f"%{self._known[text].name} = {text}")
        return self._known[text]

    def constant(self, value: Number, dtype: str) -> Scalar:
        """A number; a multiple of a size is that of the call."""
        if is_of_size(value, self._sizes):
            return self.convert(self.emit(f"graph.size {value} : i64", "i64"), dtype)
        literal = element_literal(value, dtype)
        suffix = "" if dtype == "bool" else f" : {ir_type(dtype)}"
        return self.emit(f"arith.constant {literal}{suffix}", dtype)

    def index(self, axis: int) -> Scalar:
        """The coordinate of the element along `axis`, in i64."""
        return self.emit(f"graph.index {axis} : i64", "i64")

    def binary(self, op: str, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        x, y = self._both(x, y)
        if x.dtype == "bool":
            op = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(op, op)
        kind = 0 if x.dtype in REALS else 2 if x.dtype in ("u8", "bool") else 1
        name = _BINARY[op][kind]
        if name is None:
            raise not_of(x.dtype)
        return self.emit(f"{name} %{x.name}, %{y.name} : {ir_type(x.dtype)}", x.dtype)

    def _both(self, x: Scalar | Number, y: Scalar | Number) -> tuple[Scalar, Scalar]:
        if not isinstance(x, Scalar):
            assert isinstance(y, Scalar)
            x = self.constant(x, y.dtype)
        if not isinstance(y, Scalar):
            y = self.constant(y, x.dtype)
        assert x.dtype == y.dtype, (x.dtype, y.dtype)
        return x, y

    def compare(self, predicate: str, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        """lt, le, gt, ge, eq: false beside NaN; ne: true beside NaN."""
        x, y = self._both(x, y)
        if x.dtype in REALS:
            kind, predicate = "f", "une" if predicate == "ne" else f"o{predicate}"
        else:
            sign = "u" if x.dtype in ("u8", "bool") else "s"
            kind, predicate = "i", predicate if predicate in ("eq", "ne") else sign + predicate
        text = f"arith.cmp{kind} {predicate}, %{x.name}, %{y.name} : {ir_type(x.dtype)}"
        return self.emit(text, "bool")

    def select(self, condition: Scalar, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        x, y = self._both(x, y)
        text = f"arith.select %{condition.name}, %{x.name}, %{y.name} : {ir_type(x.dtype)}"
        return self.emit(text, x.dtype)

    def unary(self, op: str, x: Scalar) -> Scalar:
        """A function of `math` on floats: exp, log1p, floor, ..."""
        if x.dtype not in REALS:
            raise not_of(x.dtype)
        return self.emit(f"math.{op} %{x.name} : {x.dtype}", x.dtype)

    def neg(self, x: Scalar) -> Scalar:
        if x.dtype in REALS:
            return self.emit(f"arith.negf %{x.name} : {x.dtype}", x.dtype)
        return 0 - x

    def abs(self, x: Scalar) -> Scalar:
        if x.dtype in ("u8", "bool"):
            return x
        kind = "f" if x.dtype in REALS else "i"
        return self.emit(f"math.abs{kind} %{x.name} : {x.dtype}", x.dtype)

    def fma(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        return self.emit(f"math.fma %{x.name}, %{y.name}, %{z.name} : {x.dtype}", x.dtype)

    def max(self, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        """NaN if either is NaN."""
        return self.binary("max", x, y)

    def min(self, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        """NaN if either is NaN."""
        return self.binary("min", x, y)

    def is_nan(self, x: Scalar) -> Scalar:
        return x.differs(x) if x.dtype in REALS else self.constant(False, "bool")

    def is_inf(self, x: Scalar) -> Scalar:
        if x.dtype not in REALS:
            return self.constant(False, "bool")
        return self.abs(x).equals(float("inf"))

    def bits(self, x: Scalar) -> Scalar:
        """The bits of an f32 as an i32."""
        return self.emit(f"arith.bitcast %{x.name} : f32 to i32", "i32")

    def real(self, x: Scalar) -> Scalar:
        """The f32 of the bits of an i32."""
        return self.emit(f"arith.bitcast %{x.name} : i32 to f32", "f32")

    def sign_bit(self, x: Scalar) -> Scalar:
        if x.dtype in REALS:
            return self.bits(self.convert(x, "f32")) < 0
        return x < 0

    def convert(self, x: Scalar, dtype: str) -> Scalar:
        """As PyTorch converts: floats to nearest even, integers wrap, not 0 is true.

        From floats to integers the fraction goes. What PyTorch leaves undefined
        is: beyond the 32 or 64 bits it saturates (narrower types then wrap),
        and NaN is 0.
        """
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return x.differs(0)
        if x.dtype in REALS:
            return self._to_float(x, dtype) if dtype in REALS else self._to_integer(x, dtype)
        if dtype in HALVES:
            return self.convert(self.convert(x, "f32"), dtype)
        is_unsigned = x.dtype in ("u8", "bool")
        if dtype in ("f32", "f64"):
            return self._cast("arith.uitofp" if is_unsigned else "arith.sitofp", x, dtype)
        before, after = _bits(x.dtype), _bits(dtype)
        if before == after:
            return Scalar(self, x.name, dtype)
        if before > after:
            return self._cast("arith.trunci", x, dtype)
        return self._cast("arith.extui" if is_unsigned else "arith.extsi", x, dtype)

    def _cast(self, op: str, x: Scalar, dtype: str) -> Scalar:
        return self.emit(f"{op} %{x.name} : {ir_type(x.dtype)} to {ir_type(dtype)}", dtype)

    def _to_float(self, x: Scalar, dtype: str) -> Scalar:
        widths = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
        if x.dtype in HALVES and dtype in HALVES:
            x = self._cast("arith.extf", x, "f32")
        is_wider = widths[dtype] > widths[x.dtype]
        return self._cast("arith.extf" if is_wider else "arith.truncf", x, dtype)

    def _to_integer(self, x: Scalar, dtype: str) -> Scalar:
        if dtype in ("i8", "u8"):
            return self.convert(self._to_integer(x, "i32"), dtype)
        x = self.convert(x, "f32")
        info = torch.iinfo(TORCH_DTYPES[dtype])
        low, high = float(info.min), -float(info.min)
        fits = (x >= low) & (x < high)
        result = self._cast("arith.fptosi", self.select(fits, x, 0.0), dtype)
        result = self.select(x >= high, info.max, result)
        return self.select(x < low, info.min, result)

    # Integer division. The divisor may be anything: by 0 the quotient is 0 and
    # the remainder the dividend.

    def quotient(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y towards zero."""
        if x.dtype not in INTEGERS:
            raise not_of(x.dtype)
        if x.dtype == "u8":
            return self.select(y.equals(0), 0, x / self.select(y.equals(0), 1, y))
        plain = self.select(y.equals(0) | y.equals(-1), 1, y)
        result = self.select(y.equals(-1), -x, x / plain)
        return self.select(y.equals(0), 0, result)

    def floor_quotient(self, x: Scalar, y: Scalar) -> Scalar:
        result = self.quotient(x, y)
        if x.dtype == "u8":
            return result
        rest = x - result * y
        is_below = rest.differs(0) & ((rest ^ y) < 0) & y.differs(0)
        return self.select(is_below, result - 1, result)


def _bits(dtype: str) -> int:
    return {"bool": 1, "i8": 8, "u8": 8, "i32": 32, "i64": 64}[dtype]
