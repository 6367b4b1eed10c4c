# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: names shared by PyTorch, the IR and the package format."""

import math
import struct

import torch

TORCH_DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
SUPPORTED = ", ".join(NAMES.values())
HALVES = ("f16", "bf16")
FLOATS = ("f32", *HALVES)
INTEGERS = ("i64", "i32", "i8", "u8")


def ir_type(dtype: str) -> str:
    """The element type in the IR; that u8 is unsigned shows in the operations on it."""
    return {"u8": "i8", "bool": "i1"}.get(dtype, dtype)


def dtype_name(dtype: torch.dtype) -> str | None:
    """The IR's name of a PyTorch dtype, or None where deplo has none."""
    return NAMES.get(dtype)


def round_to(value: float, dtype: str) -> float:
    """`value` rounded to nearest even in `dtype`, as a Python float."""
    return torch.tensor(value, dtype=torch.float64).to(TORCH_DTYPES[dtype]).double().item()


def is_exact(value: float, dtype: str) -> bool:
    """Whether `dtype` holds exactly what f32 holds for `value`."""
    as_f32 = round_to(value, "f32")
    return math.isnan(as_f32) or round_to(as_f32, dtype) == as_f32


def decimal(value: float) -> str:
    """A finite double as an MLIR float literal that reads back bit for bit."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + (f"e{exponent}" if exponent else "")


def double_literal(value: float) -> str:
    """A double as the value of an f64 attribute."""
    if math.isfinite(value):
        return decimal(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def element_literal(value: float, dtype: str) -> str:
    """`value`, rounded or wrapped to `dtype`, as an element of a constant."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in INTEGERS:
        bits = torch.iinfo(TORCH_DTYPES[dtype]).bits
        return str((int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)))
    if dtype == "f64":
        return double_literal(value)
    rounded = round_to(value, dtype)
    if math.isfinite(rounded):
        return decimal(rounded)
    infinity, nan, digits = {
        "f32": (0x7F800000, 0x7FC00000, 8),
        "f16": (0x7C00, 0x7E00, 4),
        "bf16": (0x7F80, 0x7FC0, 4),
    }[dtype]
    sign = 1 << (4 * digits - 1) if math.copysign(1.0, rounded) < 0 else 0
    return f"0x{(nan if math.isnan(rounded) else infinity | sign):0{digits}X}"
