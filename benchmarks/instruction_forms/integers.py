# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers, bits, comparisons and selections."""

from .form import Form, lanes

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def register(type: str) -> str:
    """The register of a type, as "b32"; floats keep theirs."""
    if type in ("f32", "f64"):
        return type
    return "b32" if type.endswith("x2") else "b" + type.lstrip("usbf")


def _same(op: str, type: str, arity: int) -> Form:
    operands = ", ".join(["{a}", "{b}", "{c}"][:arity])
    return lanes(f"{op}.{type} {{d}}, {operands};", register(type), (register(type),) * arity)


def arithmetic() -> list[Form]:
    forms = []
    for type in INTEGERS:
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"):
            forms.append(_same(op, type, 2))
        forms += [_same(op, type, 3) for op in ("mad.lo", "mad.hi", "sad")]
        if type[0] == "s":
            forms += [_same(op, type, 1) for op in ("abs", "neg")]
    for type, wide in (("u16", "b32"), ("s16", "b32"), ("u32", "b64"), ("s32", "b64")):
        bits = register(type)
        forms.append(lanes(f"mul.wide.{type} {{d}}, {{a}}, {{b}};", wide, (bits, bits)))
        forms.append(
            lanes(f"mad.wide.{type} {{d}}, {{a}}, {{b}}, {{c}};", wide, (bits, bits, wide))
        )
    for op in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        forms.append(lanes(f"{op} {{d}}, {{a}}, {{b}};", "b32", ("b32",) * 2))
    forms.append(lanes("mad.hi.sat.s32 {d}, {a}, {b}, {c};", "b32", ("b32",) * 3))
    for type in ("u16x2", "s16x2"):
        forms += [_same(op, type, 2) for op in ("add", "min", "max")]
    forms += [_same(op, "s16x2", 2) for op in ("min.relu", "max.relu")]
    for type in ("u32", "s32"):
        for part in ("lo", "hi"):
            forms += [_same(f"mul24.{part}", type, 2), _same(f"mad24.{part}", type, 3)]
        if type == "s32":
            forms.append(_same("mad24.hi.sat", type, 3))
        forms += [
            lanes(f"{op}.{type}.{other} {{d}}, {{a}}, {{b}}, {{c}};", "b32", ("b32",) * 3)
            for op in ("dp4a", "dp2a.lo", "dp2a.hi")
            for other in ("u32", "s32")
        ]
    return forms + _carries()


def _carries() -> list[Form]:
    forms = []
    for type in ("u32", "s32", "u64", "s64"):
        bits = register(type)
        for first, middle, last in (("add", "addc", "addc"), ("sub", "subc", "subc")):
            text = (
                f"{first}.cc.{type} {{d}}, {{a}}, {{b}};"
                f" {middle}.cc.{type} {{e}}, {{b}}, {{c}}; {last}.{type} %d2, {{c}}, {{a}};"
            )
            forms.append(lanes(text, (bits,) * 3, (bits,) * 3))
        text = (
            f"mad.lo.cc.{type} {{d}}, {{a}}, {{b}}, {{c}};"
            f" madc.hi.cc.{type} {{e}}, {{a}}, {{b}}, {{f}}; addc.{type} %d2, {{c}}, {{f}};"
        )
        forms.append(lanes(text, (bits,) * 3, (bits,) * 4))
        text = (
            f"mad.hi.cc.{type} {{d}}, {{a}}, {{b}}, {{c}};"
            f" madc.lo.{type} {{e}}, {{a}}, {{b}}, {{f}};"
        )
        forms.append(lanes(text, (bits,) * 2, (bits,) * 4))
    return forms


def bits() -> list[Form]:
    forms = []
    for width in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            forms.append(lanes(f"{op}.{width} {{d}}, {{a}}, {{b}};", width, (width,) * 2))
        forms += [lanes(f"{op}.{width} {{d}}, {{a}};", width, width) for op in ("not", "cnot")]
        forms.append(
            lanes(f"shl.{width} {{d}}, {{a}}, {{b}};", width, (width, "b32"), ("bits", "small"))
        )
        selected = f"selp.{width} {{d}}, {{a}}, {{b}}, {{c}};"
        forms.append(lanes(selected, width, (width, width, "pred")))
    for op in ("and", "or", "xor"):
        forms.append(lanes(f"{op}.pred {{d}}, {{a}}, {{b}};", "pred", ("pred",) * 2))
    forms.append(lanes("not.pred {d}, {a};", "pred", "pred"))
    for type in (*INTEGERS, "b16", "b32", "b64"):
        bits = register(type)
        forms.append(
            lanes(f"shr.{type} {{d}}, {{a}}, {{b}};", bits, (bits, "b32"), ("bits", "small"))
        )
    for width in ("b32", "b64"):
        forms += [lanes(f"{op}.{width} {{d}}, {{a}};", "b32", width) for op in ("popc", "clz")]
        forms.append(lanes(f"brev.{width} {{d}}, {{a}};", width, width))
        field = f"bfi.{width} {{d}}, {{a}}, {{b}}, {{c}}, {{f}};"
        numbers = ("bits", "bits", "small", "small")
        forms.append(lanes(field, width, (width, width, "b32", "b32"), numbers))
    for type in ("u32", "s32", "u64", "s64"):
        width = register(type)
        for op in ("bfind", "bfind.shiftamt"):
            forms.append(lanes(f"{op}.{type} {{d}}, {{a}};", "b32", width))
        forms.append(
            lanes(f"bfe.{type} {{d}}, {{a}}, {{b}}, {{c}};", width, (width, "b32", "b32"),
                  ("bits", "small", "small"))
        )  # fmt: skip
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        forms.append(lanes(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32", ("b32",) * 3))
    for mode in ("l.wrap", "l.clamp", "r.wrap", "r.clamp"):
        forms.append(
            lanes(f"shf.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32", ("b32",) * 3,
                  ("bits", "bits", "small"))
        )  # fmt: skip
    for mode in ("clamp", "wrap"):
        numbers = ("small", "small")
        forms.append(lanes(f"bmsk.{mode}.b32 {{d}}, {{a}}, {{b}};", "b32", ("b32",) * 2, numbers))
        for type in ("u32", "s32"):
            text = f"szext.{mode}.{type} {{d}}, {{a}}, {{b}};"
            forms.append(lanes(text, "b32", ("b32",) * 2, ("bits", "small")))
    for table in (0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x00, 0xFF):
        text = f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};"
        forms.append(lanes(text, "b32", ("b32",) * 3))
    for op in ("and", "or"):
        text = f"lop3.{op}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {{c}}, 0x80, {{f}};"
        forms.append(
            lanes(text, ("b32", "pred"), ("b32",) * 3 + ("pred",), ("few",) * 3 + ("bits",))
        )
    forms.append(
        lanes("fns.b32 {d}, {a}, {b}, {c};", "b32", ("b32",) * 3, ("bits", "lane", "small"))
    )
    return forms


def comparisons() -> list[Form]:
    forms = []
    for type in (*INTEGERS, "b16", "b32", "b64", "f32", "f64", "f16", "bf16"):
        isFloat = "f" in type
        operand = register(type)
        numbers = (type if isFloat else "bits",) * 2
        tests = ("eq", "ne") if type[0] == "b" and not isFloat else COMPARISONS
        if type[0] == "u":
            tests += ("lo", "ls", "hi", "hs")
        for test in (*tests, *UNORDERED) if isFloat else tests:
            text = f"setp.{test}.{type} {{d}}, {{a}}, {{b}};"
            forms.append(lanes(text, "pred", (operand,) * 2, numbers))
    for combined in ("and", "or", "xor"):
        for type in ("s32", "f32", "f64", "u16"):
            number = type if type[0] == "f" else "bits"
            text = f"setp.le.{combined}.{type} {{d}}|{{e}}, {{a}}, {{b}}, {{c}};"
            operands = (register(type), register(type), "pred")
            forms.append(lanes(text, ("pred",) * 2, operands, (number, number, "bits")))
    for text in ("setp.lt.ftz.f32", "setp.equ.ftz.f32"):
        forms.append(lanes(f"{text} {{d}}|{{e}}, {{a}}, {{b}};", ("pred",) * 2, ("f32",) * 2))
    for type in ("f16x2", "bf16x2"):
        for test in ("lt", "geu", "ne"):
            text = f"setp.{test}.{type} {{d}}|{{e}}, {{a}}, {{b}};"
            forms.append(lanes(text, ("pred",) * 2, ("b32",) * 2, (type,) * 2))
            for to in (type, "u32"):
                text = f"set.{test}.{to}.{type} {{d}}, {{a}}, {{b}};"
                forms.append(lanes(text, "b32", ("b32",) * 2, (type,) * 2))
    forms.append(
        lanes("setp.lt.ftz.f16x2 {d}|{e}, {a}, {b};", ("pred",) * 2, ("b32",) * 2, ("f16x2",) * 2)
    )
    for to in ("u32", "s32", "f32"):
        for type in ("u16", "s16", "u32", "s32", "u64", "s64", "b32", "f32", "f64"):
            number = type if type[0] == "f" else "bits"
            test = "ne" if type[0] == "b" else "le"
            text = f"set.{test}.{to}.{type} {{d}}, {{a}}, {{b}};"
            forms.append(lanes(text, register(to), (register(type),) * 2, (number,) * 2))
        text = f"set.gt.and.{to}.s32 {{d}}, {{a}}, {{b}}, {{c}};"
        forms.append(lanes(text, register(to), ("b32", "b32", "pred")))
        text = f"set.gtu.xor.ftz.{to}.f32 {{d}}, {{a}}, {{b}}, {{c}};"
        numbers = ("f32", "f32", "bits")
        forms.append(lanes(text, register(to), ("f32", "f32", "pred"), numbers))
    for to in ("f16", "bf16", "u16", "s16"):
        type = "bf16" if to == "bf16" else "f16"
        text = f"set.le.{to}.{type} {{d}}, {{a}}, {{b}};"
        forms.append(lanes(text, "b16", ("b16",) * 2, (type,) * 2))
    for type in ("b16", "b32", "b64", "u32", "s64", "f32", "f64"):
        for by in ("s32", "f32"):
            text = f"slct.{type}.{by} {{d}}, {{a}}, {{b}}, {{c}};"
            operands = (register(type), register(type), register(by))
            numbers = ("bits", "bits", "f32" if by == "f32" else "bits")
            forms.append(lanes(text, register(type), operands, numbers))
    text = "slct.ftz.u32.f32 {d}, {a}, {b}, {c};"
    forms.append(lanes(text, "b32", ("b32", "b32", "f32"), ("bits", "bits", "f32")))
    return forms
