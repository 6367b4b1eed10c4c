# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions of PTX 9.0, by the sections of its manual.

`<a|b>` in a form is one of a and b, `<a|>` is a or nothing. In operands, T, U and V are registers
of the first, second and third type among the modifiers, W is twice as wide as T; h, r, q and x are
registers of 16, 32, 64 and 128 bits, p is a predicate, and `r*4` is four of them. The variables g,
s, l and c are in global, shared, local and constant memory. VECTOR is a register of T, or as many
as a modifier v2, v4 or v8 says; RANK is as many coordinates as 1d ... 5d says.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BITS = {"h": 16, "r": 32, "q": 64, "x": 128}
_TYPE = re.compile(r"(?:[busf]|bf|tf)(\d+)(?:x(\d))?|(pred)|u?e\dm\d(?:x(\d))?")


@dataclass(frozen=True)
class Pattern:
    """Forms of one instruction.

    Attributes:
        forms: opcode and modifiers.
        target: the oldest that has it, of those that are asked here.
    """

    forms: str
    operands: str = ""
    target: str = "sm_90a"

    def expand(self) -> Iterator[tuple[str, str]]:
        """Each form: its name, and the text of an instruction."""
        pieces = re.split(r"<([^>]*)>", self.forms)
        choices = [piece.split("|") if i % 2 else [piece] for i, piece in enumerate(pieces)]
        for words in itertools.product(*choices):
            name = "".join(words)
            yield name, f"{name} {self._operands(name)};".replace(" ;", ";")

    def _operands(self, name: str) -> str:
        words = name.split(".")[1:]
        widths = [_width(word) for word in words if _TYPE.fullmatch(word)]
        lanes = next((word[1:] for word in words if re.fullmatch(r"v\d", word)), "")
        rank = next((word[0] for word in words if re.fullmatch(r"\dd", word)), "")
        operands = self.operands.replace("VECTOR", f"{{T*{lanes}}}" if lanes else "T")
        operands = operands.replace("RANK", f"{{r*{rank}}}")
        count = itertools.count(1)

        def register(letter: str) -> str:
            if letter in _BITS:
                bits = _BITS[letter]
            elif letter == "p":
                bits = 0
            else:
                bits = 2 * widths[0] if letter == "W" else widths["TUV".index(letter)]
            return f"%{dict(zip((0, 16, 32, 64, 128), 'phrqx', strict=True))[bits]}{next(count)}"

        def registers(match: re.Match[str]) -> str:
            return ", ".join(register(match[1]) for _ in range(int(match[2] or 1)))

        return re.sub(r"(?<![\w%.:])([TUVWhrqxp])(?:\*(\d+))?(?![\w.:])", registers, operands)


def _width(type: str) -> int:
    """Of the register that holds it; 0 of a predicate."""
    match = _TYPE.fullmatch(type)
    if match[3]:
        return 0
    if match[1]:
        return max(int(match[1]) * int(match[2] or 1), 16)
    return {None: 16, "2": 16, "4": 32}[match[4]]


def kernel(name: str, text: str) -> str:
    """An entry of the one instruction."""
    return f""".visible .entry {name}(.param .u64 in) {{
.reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<400>; .reg .b64 %q<200>; .reg .b128 %x<8>;
.local .align 16 .b8 l[64]; .shared .align 1024 .b8 s[4096];
targets: .branchtargets L;
{text}
L: ret;
}}
"""


DECLARATIONS = """.global .align 128 .b8 g[4096];
.const .align 16 .b8 c[64];
.func f(.reg .b32 a) { ret; }
"""

_INT = "<u16|u32|u64|s16|s32|s64>"
_ANY = "<b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64>"
_ROUND = "<.rn|.rz|.rm|.rp>"
_HALF = "<f16|f16x2|bf16|bf16x2>"
_SCOPE = "<cta|cluster|gpu|sys>"
_VIDEO = "<u32|s32>.<u32|s32>.<u32|s32>"
_BYTES = "mbarrier::complete_tx::bytes"

SECTIONS: dict[str, list[Pattern]] = {
    "Integer arithmetic": [
        Pattern(f"<add|sub>.{_INT}", "T, T, T"),
        Pattern("<add|sub>.sat.s32", "T, T, T"),
        Pattern("add.<u16x2|s16x2>", "T, T, T"),
        Pattern(f"mul.<hi|lo>.{_INT}", "T, T, T"),
        Pattern("mul.wide.<u16|u32|s16|s32>", "W, T, T"),
        Pattern(f"mad.<hi|lo>.{_INT}", "T, T, T, T"),
        Pattern("mad.wide.<u16|u32|s16|s32>", "W, T, T, W"),
        Pattern("mad.hi.sat.s32", "T, T, T, T"),
        Pattern("mul24.<hi|lo>.<u32|s32>", "T, T, T"),
        Pattern("mad24.<hi|lo>.<u32|s32>", "T, T, T, T"),
        Pattern("mad24.hi.sat.s32", "T, T, T, T"),
        Pattern(f"sad.{_INT}", "T, T, T, T"),
        Pattern(f"<div|rem>.{_INT}", "T, T, T"),
        Pattern("<abs|neg>.<s16|s32|s64>", "T, T"),
        Pattern(f"<min|max>.{_INT}", "T, T, T"),
        Pattern("<min|max>.<u16x2|s16x2>", "T, T, T"),
        Pattern("<min|max>.relu.<s16x2|s32>", "T, T, T"),
        Pattern("<popc|clz>.<b32|b64>", "r, T"),
        Pattern("bfind<.shiftamt|>.<u32|u64|s32|s64>", "r, T"),
        Pattern("fns.b32", "r, r, r, r"),
        Pattern("brev.<b32|b64>", "T, T"),
        Pattern("bfe.<u32|u64|s32|s64>", "T, T, r, r"),
        Pattern("bfi.<b32|b64>", "T, T, T, r, r"),
        Pattern("szext.<clamp|wrap>.<u32|s32>", "r, r, r"),
        Pattern("bmsk.<clamp|wrap>.b32", "r, r, r"),
        Pattern("dp4a.<u32|s32>.<u32|s32>", "r, r, r, r"),
        Pattern("dp2a.<lo|hi>.<u32|s32>.<u32|s32>", "r, r, r, r"),
    ],
    "Extended precision": [
        Pattern("<add|sub>.cc.<u32|s32|u64|s64>", "T, T, T"),
        Pattern("<addc|subc><.cc|>.<u32|s32|u64|s64>", "T, T, T"),
        Pattern("mad.<hi|lo>.cc.<u32|s32|u64|s64>", "T, T, T, T"),
        Pattern("madc.<hi|lo><.cc|>.<u32|s32|u64|s64>", "T, T, T, T"),
    ],
    "Floating point": [
        Pattern("testp.<finite|infinite|number|notanumber|normal|subnormal>.<f32|f64>", "p, T"),
        Pattern("copysign.<f32|f64>", "T, T, T"),
        Pattern("<add|sub|mul><.rn|.rz|.rm|.rp|><.ftz|><.sat|>.f32", "T, T, T"),
        Pattern("<add|sub|mul><.rn|.rz|.rm|.rp|>.f64", "T, T, T"),
        Pattern(f"<add|sub|mul>{_ROUND}<.ftz|>.f32x2", "q, q, q", "sm_100a"),
        Pattern(f"<fma|mad>{_ROUND}<.ftz|><.sat|>.f32", "T, T, T, T"),
        Pattern(f"<fma|mad>{_ROUND}.f64", "T, T, T, T"),
        Pattern(f"fma{_ROUND}<.ftz|>.f32x2", "q, q, q, q", "sm_100a"),
        Pattern("div.<approx|full|rn|rz|rm|rp><.ftz|>.f32", "T, T, T"),
        Pattern(f"div{_ROUND}.f64", "T, T, T"),
        Pattern("<abs|neg><.ftz|>.f32", "T, T"),
        Pattern("<abs|neg>.f64", "T, T"),
        Pattern("<min|max><.ftz|><.NaN|><.xorsign.abs|>.f32", "T, T, T"),
        Pattern("<min|max><.ftz|><.NaN|><.abs|>.f32", "T, T, T, T", "sm_100a"),
        Pattern("<min|max>.f64", "T, T, T"),
        Pattern("<rcp|sqrt>.<approx|rn|rz|rm|rp><.ftz|>.f32", "T, T"),
        Pattern("<rcp|sqrt>.<rn|rz|rm|rp>.f64", "T, T"),
        Pattern("rcp.approx.ftz.f64", "T, T"),
        Pattern("rsqrt.approx<.ftz|>.<f32|f64>", "T, T"),
        Pattern("<sin|cos|lg2|ex2>.approx<.ftz|>.f32", "T, T"),
        Pattern("tanh.approx.f32", "T, T"),
    ],
    "Half precision": [
        Pattern("<add|sub|mul><.rn|><.ftz|><.sat|>.<f16|f16x2>", "T, T, T"),
        Pattern("<add|sub|mul><.rn|>.<bf16|bf16x2>", "T, T, T"),
        Pattern("fma.rn<.ftz|><.sat|.relu|>.<f16|f16x2>", "T, T, T, T"),
        Pattern("fma.rn<.relu|>.<bf16|bf16x2>", "T, T, T, T"),
        Pattern(f"fma.rn.oob<.relu|>.{_HALF}", "T, T, T, T"),
        Pattern("<abs|neg><.ftz|>.<f16|f16x2>", "T, T"),
        Pattern("<abs|neg>.<bf16|bf16x2>", "T, T"),
        Pattern("<min|max><.ftz|><.NaN|><.xorsign.abs|>.<f16|f16x2>", "T, T, T"),
        Pattern("<min|max><.NaN|><.xorsign.abs|>.<bf16|bf16x2>", "T, T, T"),
        Pattern(f"tanh.approx.{_HALF}", "T, T"),
        Pattern("ex2.approx.<f16|f16x2>", "T, T"),
        Pattern("ex2.approx.ftz.<bf16|bf16x2>", "T, T"),
    ],
    "Mixed precision": [
        Pattern("<add|sub><.rn|.rz|.rm|.rp|><.sat|>.f32.<f16|bf16>", "T, U, T", "sm_100a"),
        Pattern(f"fma{_ROUND}<.sat|>.f32.<f16|bf16>", "T, U, U, T", "sm_100a"),
    ],
    "Comparison and selection": [
        Pattern("setp.<eq|ne>.<b16|b32|b64>", "p, T, T"),
        Pattern(f"setp.<eq|ne|lt|le|gt|ge>.{_INT}", "p|p, T, T"),
        Pattern("setp.<lo|ls|hi|hs>.<u16|u32|u64>", "p, T, T"),
        Pattern("setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><.ftz|>.f32", "p, T, T"),
        Pattern("setp.<lt|neu>.<and|or|xor><.ftz|>.f32", "p|p, T, T, !p"),
        Pattern("setp.<eq|ltu|num>.f64", "p, T, T"),
        Pattern("setp.<eq|ltu|nan><.ftz|>.f16", "p, T, T"),
        Pattern("setp.<eq|ltu|nan><.ftz|>.f16x2", "p|p, T, T"),
        Pattern("setp.<eq|ltu|nan>.bf16", "p, T, T"),
        Pattern("setp.<eq|ltu|nan>.bf16x2", "p|p, T, T"),
        Pattern(f"set.<eq|ne|lt|ge>.<u32|s32|f32>.{_INT}", "T, U, U"),
        Pattern("set.<eq|ltu|nan>.<and|or|xor><.ftz|>.<u32|s32|f32>.f32", "T, U, U, p"),
        Pattern("set.<eq|ltu|nan>.<u32|s32|f32>.f64", "T, U, U"),
        Pattern("set.<eq|ltu|nan><.ftz|>.<f16|u16|s16>.f16", "T, U, U"),
        Pattern("set.<eq|ltu|nan>.<bf16|u16|s16>.bf16", "T, U, U"),
        Pattern("set.<eq|ltu|nan><.ftz|>.f16x2.f16x2", "T, U, U"),
        Pattern("set.<eq|ltu|nan>.bf16x2.bf16x2", "T, U, U"),
        Pattern("selp.<b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64>", "T, T, T, p"),
        Pattern("slct.<b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64>.s32", "T, T, T, U"),
        Pattern("slct<.ftz|>.<b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64>.f32", "T, T, T, U"),
    ],
    "Logic and shifts": [
        Pattern("<and|or|xor>.<pred|b16|b32|b64>", "T, T, T"),
        Pattern("not.<pred|b16|b32|b64>", "T, T"),
        Pattern("cnot.<b16|b32|b64>", "T, T"),
        Pattern("lop3.b32", "r, r, r, r, 0x96"),
        Pattern("lop3.<or|and>.b32", "r|p, r, r, r, 0x96, p"),
        Pattern("shf.<l|r>.<clamp|wrap>.b32", "r, r, r, r"),
        Pattern("shl.<b16|b32|b64>", "T, T, r"),
        Pattern("shr.<b16|b32|b64|u16|u32|u64|s16|s32|s64>", "T, T, r"),
    ],
    "Moves and conversions": [
        Pattern("mov.<pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64>", "T, T"),
        Pattern("mov.b32", "r, {h, h}"),
        Pattern("mov.b64", "{r, r}, q"),
        Pattern("mov.b128", "x, {q, q}"),
        Pattern("mov.u64", "q, g"),
        Pattern("prmt.b32<.f4e|.b4e|.rc8|.ecl|.ecr|.rc16|>", "r, r, r, r"),
        Pattern("shfl.sync.<up|down|bfly|idx>.b32", "r|p, r, r, r, -1"),
        Pattern("isspacep.<const|global|local|shared|shared::cta|shared::cluster>", "p, q"),
        Pattern("isspacep.param::entry", "p, q"),
        Pattern("cvta<.to|>.<const|global|local|shared|shared::cta|shared::cluster>.u64", "q, q"),
        Pattern("cvta<.to|>.param::entry.u64", "q, q"),
        Pattern("mapa<.shared::cluster|>.u64", "q, q, r"),
        Pattern("mapa.shared::cluster.u32", "r, r, r"),
        Pattern("getctarank<.shared::cluster|>.u64", "r, q"),
        Pattern("cvt.<u8|u16|u32|u64|s8|s16|s32|s64>.<u8|u16|u32|u64|s8|s16|s32|s64>", "T, U"),
        Pattern("cvt.sat.<u8|u16|u32|u64>.<s8|s16|s32|s64>", "T, U"),
        Pattern("cvt.sat.<s8|s16|s32>.u64", "T, U"),
        Pattern("cvt.<rn|rz|rm|rp>.<f16|f32|f64>.<u8|u16|u32|u64|s8|s16|s32|s64>", "T, U"),
        Pattern("cvt.<rn|rz|rm|rp>.bf16.<u16|u32|u64|s16|s32|s64>", "T, U"),
        Pattern(
            "cvt.<rni|rzi|rmi|rpi><.sat|>.<u8|u16|u32|u64|s8|s16|s32|s64>.<f16|f32|f64>", "T, U"
        ),
        Pattern("cvt.<rni|rzi|rmi|rpi>.<u16|u32|u64|s16|s32|s64>.bf16", "T, U"),
        Pattern("cvt.<rni|rzi|rmi|rpi><.ftz|><.sat|>.f32.f32", "T, U"),
        Pattern("cvt.<rn|rz|rm|rp><.ftz|><.sat|>.f32.f64", "T, U"),
        Pattern("cvt<.ftz|><.sat|>.f32.<f16|f32>", "T, U"),
        Pattern("cvt.f32.bf16", "T, U"),
        Pattern("cvt<.ftz|>.f64.f32", "T, U"),
        Pattern("cvt.<rn|rz><.relu|>.f16.f32", "T, U"),
        Pattern("cvt.<rn|rz><.relu|><.satfinite|>.<f16|bf16>.f32", "T, U"),
        Pattern("cvt.<rn|rz><.relu|><.satfinite|>.<f16x2|bf16x2>.f32", "T, U, U"),
        Pattern("cvt.rs<.relu|><.satfinite|>.<f16x2|bf16x2>.f32", "T, U, U, r", "sm_100a"),
        Pattern("cvt.<rn|rz|rna|rna.satfinite>.tf32.f32", "r, U"),
        Pattern("cvt.<rn|rz>.relu.tf32.f32", "r, U"),
        Pattern("cvt.<rn|rz>.satfinite<.relu|>.tf32.f32", "r, U", "sm_100a"),
        Pattern("cvt.rn.satfinite<.relu|>.<e4m3x2|e5m2x2>.f32", "T, U, U"),
        Pattern("cvt.rn.satfinite<.relu|>.<e4m3x2|e5m2x2>.f16x2", "T, U"),
        Pattern("cvt.rn<.relu|>.f16x2.<e4m3x2|e5m2x2>", "T, U"),
        Pattern("cvt.rs<.relu|>.satfinite.<e4m3x4|e5m2x4>.f32", "r, {r, r, r, r}, r", "sm_100a"),
        Pattern("cvt.rn.satfinite<.relu|>.<e2m3x2|e3m2x2>.f32", "h, r, r", "sm_100a"),
        Pattern("cvt.rn<.relu|>.f16x2.<e2m3x2|e3m2x2>", "r, h", "sm_100a"),
        Pattern("cvt.<rz|rp><.satfinite|>.ue8m0x2.f32", "h, r, r", "sm_100a"),
        Pattern("cvt.<rz|rp><.satfinite|>.ue8m0x2.bf16x2", "h, r", "sm_100a"),
        Pattern("cvt.rn.bf16x2.ue8m0x2", "r, h", "sm_100a"),
        Pattern("cvt.pack.sat.<u16|s16>.s32", "r, r, r"),
        Pattern("cvt.pack.sat.<u8|s8>.s32.b32", "r, r, r, r"),
        Pattern("cvt.pack.sat.<u4|s4|u2|s2>.s32.b32", "r, r, r, r"),
    ],
    "Loads and stores": [
        Pattern(f"ld<.global|>.{_ANY}", "T, [q]"),
        Pattern(f"ld.<shared|shared::cta|shared::cluster>.{_ANY}", "T, [q]"),
        Pattern(f"ld.<local|const>.{_ANY}", "T, [q]"),
        Pattern("ld.param.<b32|u64|f32>", "T, [in]"),
        Pattern("ld.<global|shared|local>.v2.<b8|b16|b32|b64|f64>", "{T, T}, [q]"),
        Pattern("ld.<global|shared|local>.v4.<b8|b16|b32|f32>", "{T, T, T, T}, [q]"),
        Pattern("ld.global.v4.<b64|u64|f64>", "{q*4}, [q]", "sm_100a"),
        Pattern("ld.global.v8.<b32|f32>", "{r*8}, [q]", "sm_100a"),
        Pattern("ld.global.b128", "x, [q]"),
        Pattern("ld.<weak|volatile>.<global|shared>.u32", "r, [q]"),
        Pattern(f"ld.<relaxed|acquire>.{_SCOPE}.<global|shared>.<b32|u64>", "T, [q]"),
        Pattern("ld.mmio.relaxed.sys.global.u32", "r, [q]"),
        Pattern("ld.global<.ca|.cg|.cs|.lu|.cv|>.u32", "r, [q]"),
        Pattern("ld.global.nc<.L1::no_allocate|.L1::evict_first|.L1::evict_last|>.u32", "r, [q]"),
        Pattern("ld.global<.L2::64B|.L2::128B|.L2::256B|>.u32", "r, [q]"),
        Pattern("ld.global.L1::no_allocate.L2::cache_hint.v4.u32", "{r*4}, [q], q"),
        Pattern("ldu.global.<b32|f64>", "T, [q]"),
        Pattern("ldu.global.<v2|v4>.f32", "VECTOR, [q]"),
        Pattern(f"st<.global|.shared|.shared::cta|.shared::cluster|.local|>.{_ANY}", "[q], T"),
        Pattern("st.<global|shared|local>.v2.<b8|b16|b32|b64|f64>", "[q], {T, T}"),
        Pattern("st.<global|shared|local>.v4.<b8|b16|b32|f32>", "[q], {T, T, T, T}"),
        Pattern("st.global.v8.<b32|f32>", "[q], {r*8}", "sm_100a"),
        Pattern("st.global.b128", "[q], x"),
        Pattern("st.<weak|volatile>.<global|shared>.u32", "[q], r"),
        Pattern(f"st.<relaxed|release>.{_SCOPE}.<global|shared>.<b32|u64>", "[q], T"),
        Pattern("st.mmio.relaxed.sys.global.u32", "[q], r"),
        Pattern("st.global<.wb|.cg|.cs|.wt|>.u32", "[q], r"),
        Pattern(f"st.async<.weak|>.shared::cluster.{_BYTES}<.v2|>.<b32|b64>", "[r], VECTOR, [r]"),
        Pattern("st.async.mmio.release.sys.global.b32", "[q], r", "sm_100a"),
        Pattern("st.bulk.weak.shared::cta", "[q], q, 0", "sm_100a"),
        Pattern("multimem.ld_reduce.relaxed.sys.global.add.<f32|u32|u64>", "T, [q]"),
        Pattern("multimem.st.relaxed.sys.global.<f32|u32>", "[q], T"),
        Pattern("multimem.red.relaxed.sys.global.add.<f32|u32>", "[q], T"),
        Pattern("prefetch<.global|.local|>.<L1|L2>", "[q]"),
        Pattern("prefetch.global.<L2::evict_last|L2::evict_normal>", "[q]"),
        Pattern("prefetch<.const|.param|>.tensormap", "[q]"),
        Pattern("prefetchu.L1", "[q]"),
        Pattern("applypriority.global.L2::evict_normal", "[q], 128"),
        Pattern("discard.global.L2", "[q], 128"),
        Pattern("createpolicy.fractional.L2::<evict_last|evict_first>.b64", "q, 0.5"),
        Pattern("createpolicy.range.global.L2::evict_last.b64", "q, [q], r, r"),
        Pattern("createpolicy.cvt.L2.b64", "q, q"),
    ],
    "Asynchronous copies": [
        Pattern("cp.async.ca.shared<::cta|>.global", "[r], [q], 4"),
        Pattern("cp.async.cg.shared.global<.L2::128B|>", "[r], [q], 16, r"),
        Pattern("cp.async.<commit_group|wait_all>"),
        Pattern("cp.async.wait_group", "2"),
        Pattern("cp.async.mbarrier.arrive<.noinc|><.shared|.shared::cta|>.b64", "[q]"),
        Pattern(f"cp.async.bulk.shared::cluster.global.{_BYTES}", "[r], [q], r, [r]"),
        Pattern(f"cp.async.bulk.shared::cta.global.{_BYTES}", "[r], [q], r, [r]"),
        Pattern(
            f"cp.async.bulk.shared::cluster.global.{_BYTES}.multicast::cluster",
            "[r], [q], r, [r], h",
        ),
        Pattern(
            f"cp.async.bulk.shared::cluster.global.{_BYTES}.L2::cache_hint", "[r], [q], r, [r], q"
        ),
        Pattern(f"cp.async.bulk.shared::cluster.shared::cta.{_BYTES}", "[r], [r], r, [r]"),
        Pattern("cp.async.bulk.global.shared::cta.bulk_group", "[q], [r], r"),
        Pattern("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "[q], [r], r, q"),
        Pattern("cp.async.bulk.global.shared::cta.bulk_group.cp_mask", "[q], [r], r, h", "sm_100a"),
        Pattern("cp.async.bulk.prefetch.L2.global", "[q], r"),
        Pattern(
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.<and|or|xor>.b32",
            "[r], [r], r, [r]",
        ),
        Pattern(
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.<add|inc|dec>.u32",
            "[r], [r], r, [r]",
        ),
        Pattern(
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.<min|max>.<u32|s32>",
            "[r], [r], r, [r]",
        ),
        Pattern(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.<and|or|xor>.<b32|b64>",
            "[q], [r], r",
        ),
        Pattern(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.<u32|s32|u64|f32|f64>",
            "[q], [r], r",
        ),
        Pattern(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.<f16|bf16>", "[q], [r], r"
        ),
        Pattern(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.<min|max>.<u32|s32|u64|s64|f16|bf16>",
            "[q], [r], r",
        ),
        Pattern("cp.reduce.async.bulk.global.shared::cta.bulk_group.<inc|dec>.u32", "[q], [r], r"),
        Pattern(
            f"cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.shared::cluster.global<.tile|>.{_BYTES}",
            "[r], [q, RANK], [r]",
        ),
        Pattern(
            f"cp.async.bulk.tensor.2d.shared::cta.global<.tile|>.{_BYTES}", "[r], [q, {r, r}], [r]"
        ),
        Pattern(
            f"cp.async.bulk.tensor.2d.shared::cluster.global.tile.{_BYTES}.multicast::cluster",
            "[r], [q, {r, r}], [r], h",
        ),
        Pattern(
            f"cp.async.bulk.tensor.2d.shared::cluster.global.tile.{_BYTES}.L2::cache_hint",
            "[r], [q, {r, r}], [r], q",
        ),
        Pattern(
            f"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.{_BYTES}",
            "[r], [q, {r*4}], [r], {h, h}",
        ),
        Pattern(
            f"cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.{_BYTES}",
            "[r], [q, {r*4}], [r], {h, h}",
            "sm_100a",
        ),
        Pattern(
            f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.{_BYTES}",
            "[r], [q, {r*5}], [r]",
            "sm_100a",
        ),
        Pattern(
            "cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.global.shared::cta<.tile|>.bulk_group",
            "[q, RANK], [r]",
        ),
        Pattern(
            "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group",
            "[q, {r*4}], [r]",
        ),
        Pattern(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group",
            "[q, {r*5}], [r]",
            "sm_100a",
        ),
        Pattern(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.<add|min|max|inc|dec|and|or|xor>"
            "<.tile|>.bulk_group",
            "[q, {r, r}], [r]",
        ),
        Pattern("cp.async.bulk.prefetch.tensor.<1d|2d|3d|4d|5d>.L2.global<.tile|>", "[q, RANK]"),
        Pattern("cp.async.bulk.commit_group"),
        Pattern("cp.async.bulk.wait_group<.read|>", "1"),
        Pattern("tensormap.replace.tile.global_address.<global|shared::cta>.b1024.b64", "[q], q"),
        Pattern(
            "tensormap.replace.tile.<rank|elemtype|swizzle_mode>.shared::cta.b1024.b32", "[q], 1"
        ),
    ],
    "Textures and surfaces": [
        Pattern("tex.<1d|2d>.v4.f32.<s32|f32>", "{r*4}, [q, RANK]"),
        Pattern("tld4.r.2d.v4.f32.f32", "{r*4}, [q, {r, r}]"),
        Pattern("txq.<width|height>.b32", "r, [q]"),
        Pattern("suld.b.<1d|2d>.b32.trap", "r, [q, RANK]"),
        Pattern("sust.b.<1d|2d>.b32.trap", "[q, RANK], r"),
        Pattern("sured.b.add.1d.u32.trap", "[q, {r}], r"),
        Pattern("suq.width.b32", "r, [q]"),
        Pattern("istypep.<texref|samplerref|surfref>", "p, q"),
    ],
    "Control flow": [
        Pattern("bra<.uni|>", "L"),
        Pattern("brx.idx<.uni|>", "r, targets"),
        Pattern("call<.uni|>", "f, (r)"),
        Pattern("ret<.uni|>"),
        Pattern("exit"),
    ],
    "Synchronization": [
        Pattern("bar.cta.sync", "1, 64"),
        Pattern("barrier.cta.sync<.aligned|>", "1, 64"),
        Pattern("<bar|barrier>.<sync|arrive>", "1, 64"),
        Pattern("<bar|barrier>.red.popc.u32", "r, 1, 64, p"),
        Pattern("<bar|barrier>.red.<and|or>.pred", "p, 1, p"),
        Pattern("bar.warp.sync", "-1"),
        Pattern("barrier.cluster.arrive<.release|.relaxed|><.aligned|>"),
        Pattern("barrier.cluster.wait<.acquire|><.aligned|>"),
        Pattern("membar.<cta|gl|sys>"),
        Pattern(f"fence<.sc|.acq_rel|.acquire|.release|>.{_SCOPE}"),
        Pattern("fence.mbarrier_init.release.cluster"),
        Pattern("fence.proxy.<alias|async|async.global|async.shared::cta|async.shared::cluster>"),
        Pattern(f"fence.proxy.tensormap::generic.release.{_SCOPE}"),
        Pattern(f"fence.proxy.tensormap::generic.acquire.{_SCOPE}", "[q], 128"),
        Pattern("fence.acquire.sync_restrict::shared::cluster.cluster"),
        Pattern("fence.release.sync_restrict::shared::cta.cluster"),
        Pattern("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"),
        Pattern("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"),
        Pattern("atom<.global|.shared|>.<and|or|xor>.<b32|b64>", "T, [q], T"),
        Pattern("atom<.global|.shared|>.<exch>.<b32|b64|b128>", "T, [q], T"),
        Pattern("atom<.global|.shared|>.cas.<b16|b32|b64|b128>", "T, [q], T, T"),
        Pattern("atom<.global|.shared|>.add.<u32|s32|u64|f32|f64>", "T, [q], T"),
        Pattern("atom<.global|.shared|>.add.noftz.<f16|f16x2|bf16|bf16x2>", "T, [q], T"),
        Pattern("atom<.global|.shared|>.<inc|dec>.u32", "T, [q], T"),
        Pattern("atom<.global|.shared|>.<min|max>.<u32|s32|u64|s64>", "T, [q], T"),
        Pattern(f"atom.<relaxed|acquire|release|acq_rel>.{_SCOPE}.global.add.u32", "r, [q], r"),
        Pattern("atom.global.add.L2::cache_hint.u32", "r, [q], r, q"),
        Pattern("atom.global.add.<v2|v4>.f32", "VECTOR, [q], VECTOR"),
        Pattern("red<.global|.shared|>.<and|or|xor>.<b32|b64>", "[q], T"),
        Pattern("red<.global|.shared|>.add.<u32|s32|u64|f32|f64>", "[q], T"),
        Pattern("red<.global|.shared|>.add.noftz.<f16|f16x2|bf16|bf16x2>", "[q], T"),
        Pattern("red<.global|.shared|>.<inc|dec>.u32", "[q], T"),
        Pattern("red<.global|.shared|>.<min|max>.<u32|s32|u64|s64>", "[q], T"),
        Pattern(f"red.<relaxed|release>.{_SCOPE}.global.add.u32", "[q], r"),
        Pattern("red.global.add.<v2|v4>.f32", "[q], VECTOR"),
        Pattern(
            f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.<inc|dec|add|min|max>.u32",
            "[r], r, [r]",
        ),
        Pattern(f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.<min|max>.s32", "[r], r, [r]"),
        Pattern(
            f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.<and|or|xor>.b32", "[r], r, [r]"
        ),
        Pattern(f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.add.<s32|u64>", "[r], T, [r]"),
        Pattern("vote.sync.<all|any|uni>.pred", "p, p, -1"),
        Pattern("vote.sync.ballot.b32", "r, p, -1"),
        Pattern("match.any.sync.<b32|b64>", "r, T, -1"),
        Pattern("match.all.sync.<b32|b64>", "r|p, T, -1"),
        Pattern("activemask.b32", "r"),
        Pattern("redux.sync.<add|min|max>.<u32|s32>", "r, r, -1"),
        Pattern("redux.sync.<and|or|xor>.b32", "r, r, -1"),
        Pattern("redux.sync.<min|max><.abs|><.NaN|>.f32", "r, r, -1", "sm_100a"),
        Pattern("elect.sync", "r|p, -1"),
        Pattern("griddepcontrol.<launch_dependents|wait>"),
        Pattern("mbarrier.init<.shared|.shared::cta|>.b64", "[q], 1"),
        Pattern("mbarrier.inval<.shared|.shared::cta|>.b64", "[q]"),
        Pattern("mbarrier.<expect_tx|complete_tx>.relaxed.cluster.shared::cluster.b64", "[q], r"),
        Pattern("mbarrier.arrive<.shared|.shared::cta|>.b64", "q, [q], r"),
        Pattern("mbarrier.arrive.release.cluster.shared::cluster.b64", "_, [q]"),
        Pattern(
            "mbarrier.arrive.expect_tx<.release.cta|.relaxed.cta|>.shared::cta.b64", "q, [q], r"
        ),
        Pattern("mbarrier.arrive.noComplete.shared.b64", "q, [q], r"),
        Pattern("mbarrier.arrive_drop<.expect_tx|>.shared::cta.b64", "q, [q], r"),
        Pattern("mbarrier.arrive_drop.noComplete.shared.b64", "q, [q], r"),
        Pattern(
            "mbarrier.<test_wait|try_wait><.acquire.cta|.relaxed.cluster|>.shared::cta.b64",
            "p, [q], q",
        ),
        Pattern("mbarrier.<test_wait|try_wait>.parity.shared::cta.b64", "p, [q], r"),
        Pattern("mbarrier.pending_count.b64", "r, q"),
        Pattern(
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
            ".sync.aligned",
            "[q], [q], 128",
        ),
        Pattern(
            f"clusterlaunchcontrol.try_cancel.async.shared::cta.{_BYTES}.b128",
            "[q], [q]",
            "sm_100a",
        ),
        Pattern("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "p, x", "sm_100a"),
    ],
    "Matrices of a warp": [
        Pattern("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "{r*8}, [q], 16"),
        Pattern("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "{r*8}, {r*8}, {r*8}, {r*8}"),
        Pattern("wmma.store.d.sync.aligned.row.m16n16k16.global.f32", "[q], {r*8}, 16"),
        Pattern("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "{r*8}, {r*2}, {r*2}, {r*8}"),
        Pattern(
            "mma.sync.aligned.m16n8k8.row.col.f32.<f16.f16|bf16.bf16>.f32",
            "{r*4}, {r*2}, {r}, {r*4}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k16.row.col.f32.<f16.f16|bf16.bf16>.f32",
            "{r*4}, {r*4}, {r*2}, {r*4}",
        ),
        Pattern("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "{r*2}, {r*4}, {r*2}, {r*2}"),
        Pattern("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "{r*4}, {r*2}, {r}, {r*4}"),
        Pattern("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "{r*4}, {r*4}, {r*2}, {r*4}"),
        Pattern(
            "mma.sync.aligned.m16n8k32.row.col.f32.<e4m3|e5m2>.<e4m3|e5m2>.f32",
            "{r*4}, {r*4}, {r*2}, {r*4}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k32.row.col.f16.<e4m3|e5m2>.<e4m3|e5m2>.f16",
            "{r*2}, {r*4}, {r*2}, {r*2}",
        ),
        Pattern(
            "mma.sync.aligned.m8n8k16.row.col<.satfinite|>.s32.<u8|s8>.<u8|s8>.s32",
            "{r*2}, {r}, {r}, {r*2}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k16.row.col<.satfinite|>.s32.<u8|s8>.<u8|s8>.s32",
            "{r*4}, {r*2}, {r}, {r*4}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k32.row.col<.satfinite|>.s32.<u8|s8>.<u8|s8>.s32",
            "{r*4}, {r*4}, {r*2}, {r*4}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k64.row.col.s32.<u4|s4>.<u4|s4>.s32",
            "{r*4}, {r*4}, {r*2}, {r*4}",
        ),
        Pattern(
            "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<and|xor>.popc",
            "{r*4}, {r*4}, {r*2}, {r*4}",
        ),
        Pattern("mma.sync.aligned.m8n8k4.row.col<.rn|>.f64.f64.f64.f64", "{q*2}, {q}, {q}, {q*2}"),
        Pattern(
            "mma.sync.aligned.m16n8k4.row.col<.rn|>.f64.f64.f64.f64", "{q*4}, {q*2}, {q}, {q*4}"
        ),
        Pattern(
            "mma.sync.aligned.m16n8k8.row.col<.rn|>.f64.f64.f64.f64", "{q*4}, {q*4}, {q*2}, {q*4}"
        ),
        Pattern(
            "mma.sync.aligned.m16n8k16.row.col<.rn|>.f64.f64.f64.f64", "{q*4}, {q*8}, {q*4}, {q*4}"
        ),
        Pattern(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
            "{r*4}, {r*4}, {r*4}, {r*4}, r, 0",
        ),
        Pattern("<ldmatrix>.sync.aligned.m8n8.x1<.trans|>.shared.b16", "{r}, [r]"),
        Pattern("<ldmatrix>.sync.aligned.m8n8.x2<.trans|>.shared.b16", "{r*2}, [r]"),
        Pattern("<ldmatrix>.sync.aligned.m8n8.x4<.trans|>.shared<::cta|>.b16", "{r*4}, [r]"),
        Pattern("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "{r*2}, [r]", "sm_100a"),
        Pattern("stmatrix.sync.aligned.m8n8.x1<.trans|>.shared.b16", "[r], {r}"),
        Pattern("stmatrix.sync.aligned.m8n8.x2<.trans|>.shared.b16", "[r], {r*2}"),
        Pattern("stmatrix.sync.aligned.m8n8.x4<.trans|>.shared<::cta|>.b16", "[r], {r*4}"),
        Pattern("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "[r], {r}", "sm_100a"),
        Pattern("movmatrix.sync.aligned.m8n8.trans.b16", "r, r"),
    ],
    "Matrices of a warpgroup": [
        Pattern("wgmma.fence.sync.aligned"),
        Pattern("wgmma.commit_group.sync.aligned"),
        Pattern("wgmma.wait_group.sync.aligned", "1"),
        Pattern(
            "wgmma.mma_async.sync.aligned.m64n16k16.f32.<f16.f16|bf16.bf16>",
            "{r*8}, q, q, p, 1, 1, 0, 0",
        ),
        Pattern(
            "wgmma.mma_async.sync.aligned.m64n16k16.f32.<f16.f16|bf16.bf16>",
            "{r*8}, {r*4}, q, p, 1, -1, 1",
        ),
        Pattern("wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16", "{r*4}, q, q, p, 1, 1, 0, 0"),
        Pattern("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32", "{r*8}, q, q, p, 1, 1"),
        Pattern(
            "wgmma.mma_async.sync.aligned.m64n16k32.f32.<e4m3|e5m2>.<e4m3|e5m2>",
            "{r*8}, q, q, p, 1, 1",
        ),
        Pattern(
            "wgmma.mma_async.sync.aligned.m64n16k32.f16.<e4m3|e5m2>.<e4m3|e5m2>",
            "{r*4}, q, q, p, 1, 1",
        ),
        Pattern(
            "wgmma.mma_async.sync.aligned.m64n16k32<.satfinite|>.s32.<s8|u8>.<s8|u8>",
            "{r*8}, q, q, p",
        ),
        Pattern("wgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc", "{r*8}, q, q, p"),
        Pattern(
            "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16",
            "{r*8}, q, q, r, 0, p, 1, 1, 0, 0",
        ),
    ],
    "Tensor cores of later generations": [
        Pattern("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "[r], 32", "sm_100a"),
        Pattern("tcgen05.dealloc.cta_group::1.sync.aligned.b32", "r, 32", "sm_100a"),
        Pattern("tcgen05.ld.sync.aligned.32x32b.x1.b32", "{r}, [r]", "sm_100a"),
        Pattern("tcgen05.st.sync.aligned.32x32b.x1.b32", "[r], {r}", "sm_100a"),
        Pattern("tcgen05.wait::<ld|st>.sync.aligned", "", "sm_100a"),
        Pattern("tcgen05.cp.cta_group::1.128x256b", "[r], q", "sm_100a"),
        Pattern("tcgen05.mma.cta_group::1.kind::<f16|tf32|f8f6f4>", "[r], q, q, r, p", "sm_100a"),
        Pattern("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64", "[q]", "sm_100a"),
        Pattern("tcgen05.fence::<before_thread_sync|after_thread_sync>", "", "sm_100a"),
    ],
    "The stack": [
        Pattern("stacksave.<u32|u64>", "T"),
        Pattern("stackrestore.<u32|u64>", "T"),
        Pattern("alloca.u64", "q, q, 16"),
    ],
    "Video": [
        Pattern("<vadd|vsub|vabsdiff|vmin|vmax>.s32.u32.s32<.sat|>", "r, r, r"),
        Pattern("<vshl|vshr>.s32.u32.u32.<clamp|wrap>", "r, r, r"),
        Pattern("vmad.u32.u32.u32", "r, r, r, r"),
        Pattern("vset.u32.u32.<eq|lt>", "r, r, r"),
        Pattern("<vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2>.s32.s32.s32", "r, r, r, r"),
        Pattern("<vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4>.s32.s32.s32", "r, r, r, r"),
        Pattern("<vset2|vset4>.u32.u32.<eq|lt>", "r, r, r, r"),
    ],
    "Other": [
        Pattern("brkpt"),
        Pattern("nanosleep.u32", "r"),
        Pattern("pmevent", "3"),
        Pattern("pmevent.mask", "3"),
        Pattern("setmaxnreg.<inc|dec>.sync.aligned.u32", "64"),
        Pattern("trap"),
    ],
}
"""Where an instruction has very many forms, as comparisons have, some with each modifier. Without
those that need a target before sm_70: vote and shfl without a mask."""
