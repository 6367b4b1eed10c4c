# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point arithmetic, its approximations with their documented errors, conversions."""

import math
import struct
from collections.abc import Callable

from .form import Form, lanes
from .integers import register

ROUNDINGS = ("rn", "rz", "rm", "rp")
OPERANDS = ("{a}", "{b}", "{c}")


def _form(op: str, type: str, arity: int, error=None, number: str | None = None) -> Form:
    bits = register(type)
    text = f"{op}.{type} {{d}}, {', '.join(OPERANDS[:arity])};"
    return lanes(text, bits, (bits,) * arity, (number or type,) * arity, error)


def arithmetic() -> list[Form]:
    forms = []
    binary = (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3))
    for rounding in ROUNDINGS:
        for flush in ("", ".ftz"):
            for op, arity in binary:
                forms.append(_form(f"{op}.{rounding}{flush}", "f32", arity))
                forms.append(_form(f"{op}.{rounding}{flush}.sat", "f32", arity))
            for op, arity in (("div", 2), ("sqrt", 1), ("rcp", 1)):
                forms.append(_form(f"{op}.{rounding}{flush}", "f32", arity))
        for op, arity in (*binary, ("div", 2), ("sqrt", 1), ("rcp", 1)):
            forms.append(_form(f"{op}.{rounding}", "f64", arity))
        forms += [_form(f"mad.{rounding}", type, 3) for type in ("f32", "f64")]
    for type in ("f32", "f64"):
        forms += [_form(op, type, 2) for op in ("add", "sub", "mul", "min", "max", "copysign")]
        forms += [_form(op, type, 1) for op in ("abs", "neg")]
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            forms.append(lanes(f"testp.{test}.{type} {{d}}, {{a}};", "pred", type))
    for flush in ("", ".ftz"):
        for way in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            forms += [_form(f"{op}{flush}{way}", "f32", 2) for op in ("min", "max")]
    return forms + [_form(op, "f32", 1) for op in ("abs.ftz", "neg.ftz")]


def halves() -> list[Form]:
    forms = []
    for type in ("f16", "f16x2", "bf16", "bf16x2"):
        isHalf = type.startswith("f16")
        for op in ("add", "sub", "mul"):
            for way in ("", ".rn", ".ftz", ".sat", ".ftz.sat") if isHalf else ("", ".rn"):
                forms.append(_form(op + way, type, 2))
        for way in ("", ".ftz", ".sat", ".relu", ".ftz.relu") if isHalf else ("", ".relu"):
            forms.append(_form("fma.rn" + way, type, 3))
        for way in ("", ".ftz") if isHalf else ("",):
            forms += [_form(op + way, type, 1) for op in ("neg", "abs")]
            for more in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                forms += [_form(op + way + more, type, 2) for op in ("min", "max")]
    return forms


# ---------------------------------------------------------------------------------------------
# Approximations: the errors are those of the PTX ISA, and one rounding of the emulator's
# ---------------------------------------------------------------------------------------------


def _number(bits: int, type: str) -> float:
    if type == "f64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if type == "f16":
        return struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0]
    if type == "bf16":
        bits = (bits & 0xFFFF) << 16
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def within(type: str, relative: float = 0, absolute: float = 0) -> Callable:
    """Nearness of results of `type`, packed ones too; special ones are the GPU's."""
    width = {"f32": 32, "f64": 64}.get(type, 16)
    unit = {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}[type]

    def near(_, want: int, got: int) -> bool:
        for shift in range(0, max(32, width), width):
            x = _number(want >> shift, type)
            y = _number(got >> shift, type)
            if math.isnan(x) or math.isnan(y):
                if not (math.isnan(x) and math.isnan(y)):
                    return False
            elif math.isinf(x) or math.isinf(y):
                if x != y:
                    return False
            elif abs(x - y) > absolute + (relative + unit) * max(abs(x), abs(y)):
                return False
            elif math.copysign(1, x) != math.copysign(1, y) and not absolute:
                return False
        return True

    return near


def approximations() -> list[Form]:
    forms = []
    smallest = 2.0**-126
    for flush in ("", ".ftz"):
        for op, relative, absolute in (
            ("ex2", 2.0**-22, smallest if not flush else 0),
            ("rcp", 2.0**-23, 0),
            ("rsqrt", 2.0**-22.9, 0),
            ("sqrt", 2.0**-23, 0),
            ("lg2", 2.0**-22.6, 2.0**-22.6),
        ):
            error = within("f32", relative, absolute)
            forms.append(_form(f"{op}.approx{flush}", "f32", 1, error))
        for op in ("sin", "cos"):
            error = within("f32", 0, 2.0**-20.5)
            forms.append(_form(f"{op}.approx{flush}", "f32", 1, error, "angle"))
        for op in ("div.approx", "div.full"):
            forms.append(_form(op + flush, "f32", 2, within("f32", 2.0**-22)))
    forms.append(_form("tanh.approx", "f32", 1, within("f32", 2.0**-11)))
    for op in ("rcp.approx.ftz", "rsqrt.approx.ftz"):
        forms.append(_form(op, "f64", 1, within("f64", 2.0**-19.9)))
    forms.append(_form("rsqrt.approx", "f64", 1, within("f64", 2.0**-26)))
    for type, exponential, hyperbolic in (
        ("f16", 2.0**-9.9, 2.0**-10.987),
        ("bf16", 2.0**-7, 2.0**-8),
    ):
        for packed in ("", "x2"):
            flush = ".ftz" if type == "bf16" else ""
            op = f"ex2.approx{flush}"
            forms.append(_form(op, type + packed, 1, within(type, exponential)))
            forms.append(
                _form("tanh.approx", type + packed, 1, within(type, hyperbolic, hyperbolic))
            )
    return forms


# ---------------------------------------------------------------------------------------------
# Conversions
# ---------------------------------------------------------------------------------------------

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")


def _storage(type: str) -> str:
    return {"u8": "b16", "s8": "b16"}.get(type) or register(type)


def _cvt(way: str, to: str, source: str) -> Form:
    """Results of 8 bits are in registers of 16, and are the whole register."""
    number = source if source in FLOATS else "bits"
    text = f"cvt{way}.{to}.{source} {{d}}, {{a}};"
    return lanes(text, _storage(to), _storage(source), number)


def conversions() -> list[Form]:
    forms = []
    for source in INTEGERS:
        for to in INTEGERS:
            forms += [_cvt(way, to, source) for way in ("", ".sat")]
        for to in FLOATS:
            forms += [_cvt("." + rounding, to, source) for rounding in ROUNDINGS]
    for source in FLOATS:
        for to in INTEGERS:
            forms += [_cvt(f".{rounding}i", to, source) for rounding in ROUNDINGS]
            if source == "f32":
                forms += [_cvt(f".{way}", to, source) for way in ("rzi.ftz", "rni.sat")]
        for to in FLOATS:
            ways = ("", ".sat", ".ftz", *(f".{r}{end}" for r in ROUNDINGS for end in ("", "i", ".sat")))
            ways += (".rn.ftz", ".rni.ftz", ".rni.sat", ".rn.relu", ".rz.relu", ".rn.satfinite")
            forms += [_cvt(way, to, source) for way in ways]
    return forms + _packed()


def _packed() -> list[Form]:
    forms = []
    for rounding in ("rn", "rz"):
        for way in ("", ".relu", ".satfinite", ".relu.satfinite"):
            for to in ("f16x2", "bf16x2"):
                text = f"cvt.{rounding}{way}.{to}.f32 {{d}}, {{a}}, {{b}};"
                forms.append(lanes(text, "b32", ("f32",) * 2))
    for rounding in ("rn", "rz", "rna"):
        for way in ("", ".relu", ".satfinite"):
            forms.append(lanes(f"cvt.{rounding}{way}.tf32.f32 {{d}}, {{a}};", "b32", "f32"))
    for way in ("", ".relu"):
        for to in ("e4m3x2", "e5m2x2"):
            text = f"cvt.rn.satfinite{way}.{to}"
            forms.append(lanes(f"{text}.f32 {{d}}, {{a}}, {{b}};", "b16", ("f32",) * 2))
            forms.append(lanes(f"{text}.f16x2 {{d}}, {{a}};", "b16", "b32", "f16x2"))
            forms.append(lanes(f"cvt.rn{way}.f16x2.{to} {{d}}, {{a}};", "b32", "b16"))
    for to in ("u16", "s16"):
        forms.append(lanes(f"cvt.pack.sat.{to}.s32 {{d}}, {{a}}, {{b}};", "b32", ("b32",) * 2))
    for to in ("u8", "s8"):
        text = f"cvt.pack.sat.{to}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};"
        forms.append(lanes(text, "b32", ("b32",) * 3))
    return forms
