# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruction forms as kernels, and the numbers that they are tried on."""

import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

WIDTH = {"b8": 1, "b16": 2, "b32": 4, "f32": 4, "pred": 4, "b64": 8, "f64": 8, "b128": 16}
SLOT = 16
"""Bytes of an operand in memory, whatever its type."""
HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"


@dataclass(frozen=True)
class Map:
    """A tensor map of numbers behind the operands and tiles; the innermost dimension is last.

    Attributes:
        swizzle: bytes.
        steps: of the box, in elements.
        kind: of the numbers, a key of NUMBERS; by default as the type says.
    """

    type: str
    extents: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    fills_nan: bool = False
    steps: tuple[int, ...] = ()
    kind: str = ""

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", self._kind())
        if not self.steps:
            object.__setattr__(self, "steps", (1,) * len(self.extents))

    def __str__(self) -> str:
        words = [self.type, str(self.extents), "box", str(self.box)]
        words += ["swizzle", str(self.swizzle)] if self.swizzle else []
        words += ["NaN outside"] if self.fills_nan else []
        words += ["steps", str(self.steps)] if max(self.steps) > 1 else []
        words += ["of", self.kind] if self.kind != self._kind() else []
        return " ".join(words)

    def _kind(self) -> str:
        return (
            self.type.split(".")[0]
            if self.type[0] in "fb"
            else "byte"
            if self.type != "tf32"
            else "f32"
        )

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, of all dimensions; rows begin at multiples of 16."""
        element = {"f32.ftz": 4, "tf32": 4}.get(self.type) or int(self.type.lstrip("usbf")) // 8
        strides = [element]
        for extent in reversed(self.extents[1:]):
            strides.append(-(-strides[-1] * extent // 16) * 16)
        return tuple(reversed(strides))

    @property
    def bytes(self) -> int:
        """Of the memory, a multiple of 512."""
        return -(-self.strides[0] * self.extents[0] // 512) * 512


@dataclass(frozen=True)
class Form:
    """One instruction, or a few, in a kernel.

    Attributes:
        name: what it is known by; for most the instruction.
        text: PTX that makes %d0, %d1 ... of %a0, %a1 ...; %cell is the address of the thread's
            operands in global memory, %tile of the block's shared memory, %memory of what is
            behind the tensor map, %t the thread.
        results, operands: register types, as "b32"; "pred" for a predicate.
        numbers: what each operand is: a key of NUMBERS.
        tile: kinds of the numbers in the block's shared memory, with their counts.
        error: if not exact, whether a result is near enough: of the operands' bits, the GPU's
            result and the emulator's.
    """

    name: str
    text: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    numbers: tuple[str, ...]
    tile: tuple[tuple[str, int], ...] = ()
    threads: int = 128
    blocks: int = 1
    declarations: str = ""
    directives: str = ""
    map: Map | None = None
    error: Callable[[list[int], int, int], bool] | None = field(default=None, compare=False)

    @property
    def slot(self) -> int:
        """Bytes of one result."""
        return max(WIDTH[type] for type in self.results)

    @property
    def result_bytes(self) -> int:
        return self.slot * len(self.results) * self.threads * self.blocks

    @property
    def tile_bytes(self) -> int:
        return sum(count * NUMBERS[kind].bytes for kind, count in self.tile)

    @property
    def memory_begin(self) -> int:
        """Of what is behind the tensor map, in the inputs."""
        return (
            SLOT * len(self.operands) * self.threads * self.blocks + self.tile_bytes * self.blocks
        )

    def kernel(self, name: str) -> str:
        """An entry that takes the operands' address, the results' and the tensor map, if any."""
        stride, result_stride = SLOT * len(self.operands), self.slot * len(self.results)
        map = ", .param .align 64 .b8 map[128]" if self.map else ""
        lines = [
            f".visible .entry {name}(.param .u64 in, .param .u64 out{map})",
            f"{self.directives}\n{{",
        ]
        lines += [
            ".reg .b64 %in, %out, %cell, %i64, %from, %memory;",
            ".reg .b32 %t, %b, %tile, %i, %w, %to; .reg .pred %more;",
        ]
        if self.declarations:
            lines.append(self.declarations)
        for prefix, types in (("a", self.operands), ("d", self.results)):
            lines += [f".reg .{type} %{prefix}{i};" for i, type in enumerate(types)]
        lines += ["ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %t, %tid.x;"]
        lines += ["mov.u32 %b, %ctaid.x;", f"mad.lo.u32 %i, %b, {self.threads}, %t;"]
        lines += [f"mad.wide.u32 %cell, %i, {stride}, %in;"]
        lines += [f"mad.wide.u32 %out, %i, {result_stride}, %out;"]
        for i, type in enumerate(self.operands):
            lines += _load(f"%a{i}", type, f"[%cell+{SLOT * i}]")
        lines.append(f"add.u64 %memory, %in, {self.memory_begin};")
        if self.tile:
            lines += self._copy_tile(stride * self.threads * self.blocks)
        lines.append(self.text)
        for i, type in enumerate(self.results):
            lines += _store(f"%d{i}", type, f"[%out+{self.slot * i}]")
        return "\n".join([*lines, "ret;", "}"])

    def _copy_tile(self, begin: int) -> list[str]:
        return [
            f".shared .align 1024 .b8 tile[{self.tile_bytes}];",
            "mov.u32 %tile, tile;",
            f"mad.wide.u32 %i64, %b, {self.tile_bytes}, %in;",
            "mul.lo.u32 %i, %t, 4;",
            f"setp.ge.u32 %more, %i, {self.tile_bytes}; @%more bra COPIED;",
            "COPY: cvt.u64.u32 %from, %i;",
            "add.u64 %from, %from, %i64; add.u32 %to, %tile, %i;",
            f"ld.global.b32 %w, [%from+{begin}]; st.shared.b32 [%to], %w;",
            f"add.u32 %i, %i, {4 * self.threads};",
            f"setp.lt.u32 %more, %i, {self.tile_bytes}; @%more bra COPY;",
            "COPIED: fence.proxy.async; bar.sync 0;",
        ]

    def inputs(self) -> bytes:
        """All operands, then all tiles, then what is behind the tensor map."""
        source = random.Random(self.name)
        data = bytearray()
        draws: list[Draw] = []
        for thread in range(self.threads * self.blocks):
            if thread % 32 == 0:
                draws = [_varied(NUMBERS[kind], source) for kind in self.numbers]
            for draw in draws:
                data += draw(source).to_bytes(SLOT, "little")
        for _ in range(self.blocks):
            for kind, count in self.tile:
                number = NUMBERS[kind]
                draw = _varied(number, source)
                for _ in range(count):
                    data += draw(source).to_bytes(number.bytes, "little")
        if self.map:
            number = NUMBERS[self.map.kind]
            for _ in range(self.map.bytes // number.bytes):
                data += number.draw(source).to_bytes(number.bytes, "little")
        return bytes(data)

    def values(self, raw: bytes) -> list[int]:
        """The results as numbers, those of a thread after another."""
        return [
            int.from_bytes(raw[i : i + self.slot], "little") for i in range(0, len(raw), self.slot)
        ]


def _load(register: str, type: str, address: str) -> list[str]:
    if type == "pred":
        return [f"ld.global.b32 %w, {address}; and.b32 %w, %w, 1; setp.ne.u32 {register}, %w, 0;"]
    return [f"ld.global.{type} {register}, {address};"]


def _store(register: str, type: str, address: str) -> list[str]:
    if type == "pred":
        return [f"selp.b32 %w, 1, 0, {register}; st.global.b32 {address}, %w;"]
    return [f"st.global.{type} {address}, {register};"]


# ---------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------

Draw = Callable[[random.Random], int]


@dataclass(frozen=True)
class Number:
    """Attributes:
    draw: the next one, as bits.
    vary: for numbers of a warp or tile, that belong together: picks how they are drawn.
    """

    bytes: int
    draw: Draw
    vary: Callable[[random.Random], Draw] | None = None


def _varied(number: Number, source: random.Random) -> Draw:
    return number.vary(source) if number.vary else number.draw


@dataclass(frozen=True)
class Format:
    exponent: int
    fraction: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    def special(self) -> list[int]:
        """Zeros, infinities, NaNs, the ends of subnormal and normal, one and its neighbours."""
        top = ((1 << self.exponent) - 1) << self.fraction
        one = ((1 << self.exponent - 1) - 1) << self.fraction
        values = [0, 1, (1 << self.fraction) - 1, 1 << self.fraction, top - 1, top, top | 1,
                  top | 1 << self.fraction - 1, top | (1 << self.fraction) - 1, one, one - 1,
                  one + 1,
                  one + (1 << self.fraction - 1), one - (1 << self.fraction)]  # fmt: skip
        return values + [value | 1 << self.bits - 1 for value in values]

    def bits_of(self, value: float) -> int:
        """Cut off, not rounded; beyond the range the largest."""
        sign = (1 << self.bits - 1) if math.copysign(1, value) < 0 else 0
        fraction, exponent = math.frexp(abs(value))
        bias = (1 << self.exponent - 1) - 1
        if fraction == 0 or exponent - 1 + bias <= 0:
            return sign
        if exponent - 1 + bias >= (1 << self.exponent) - 1:
            return sign | (((1 << self.exponent) - 1) << self.fraction) - 1
        significand = int(fraction * 2 * (1 << self.fraction))
        return (
            sign | (exponent - 1 + bias) << self.fraction | significand & (1 << self.fraction) - 1
        )

    def draw(self, source: random.Random) -> int:
        kind = source.random()
        if kind < 0.2:
            return source.choice(self.special())
        if kind < 0.4:
            return source.getrandbits(self.bits)
        spread = 2 if kind < 0.8 else min(20, (1 << self.exponent - 1) - 2)
        return self.bits_of(source.gauss(0, 1) * 2.0 ** source.randint(-spread, spread))

    def _near(self, spread: int) -> Draw:
        return lambda source: self.bits_of(
            source.gauss(0, 1) * 2.0 ** source.randint(-spread, spread)
        )

    def vary(self, source: random.Random) -> Draw:
        """Alike in size, of many sizes, tiny, or with a few special ones among them."""
        kind = source.randrange(5)
        wide = min(14, (1 << self.exponent - 1) - 2)
        if kind == 3:
            return lambda source: (
                source.getrandbits(self.fraction + 1) | (source.getrandbits(1) << self.bits - 1)
            )
        if kind == 4:
            rare, plain = self.special(), self._near(2)
            return lambda s: s.choice(rare) if s.random() < 0.02 else plain(s)
        return self._near((0, wide // 3, wide)[kind])


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
E4M3, E5M2 = Format(4, 3), Format(5, 2)


def _bits(source: random.Random) -> int:
    if source.random() < 0.3:
        return source.choice([0, 1, 2, 31, 32, 127, 128, 0x7FFF, 0x8000, 0x7FFFFFFF, 1 << 31,
                              0xFFFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])  # fmt: skip
    return source.getrandbits(64)


def _packed(format: Format) -> Draw:
    return lambda source: format.draw(source) | format.draw(source) << format.bits


def _float(format: Format) -> Number:
    return Number(format.bits // 8, format.draw)


def _together(format: Format) -> Number:
    return Number(format.bits // 8, format.draw, format.vary)


def _words(format: Format) -> Number:
    """Registers of 32 bits, full of numbers that belong together."""

    def vary(source: random.Random) -> Draw:
        draw = format.vary(source)
        return lambda s: sum(draw(s) << shift for shift in range(0, 32, format.bits))

    return Number(4, format.draw, vary)


def _range(low: float, high: float) -> Number:
    return Number(4, lambda s: struct.unpack("<I", struct.pack("<f", s.uniform(low, high)))[0])


def _tie(source: random.Random) -> int:
    """An f32 halfway between two of tf32; a half of them subnormal or almost infinite."""
    exponent = source.choice([0, 254, source.randint(1, 253), source.randint(1, 253)])
    return source.getrandbits(1) << 31 | exponent << 23 | source.getrandbits(10) << 13 | 1 << 12


NUMBERS = {
    "bits": Number(8, _bits),
    "byte": Number(1, lambda s: s.getrandbits(8)),
    "word": Number(4, lambda s: s.getrandbits(32)),
    "small": Number(4, lambda s: s.randint(0, 70)),
    "lane": Number(4, lambda s: s.randint(0, 31)),
    "few": Number(8, lambda s: s.choice([0, 1, 1 << 31, 1 << 40])),
    "clamp": Number(4, lambda s: s.choice([31, 0, 0x1F1F, 0x100F, 0x181F, 0x1807, 0x1003])),
    "f16": _float(F16),
    "bf16": _float(BF16),
    "f32": _float(F32),
    "f64": _float(F64),
    "tie": Number(4, _tie),
    "f16x2": Number(4, _packed(F16)),
    "bf16x2": Number(4, _packed(BF16)),
    "angle": _range(-math.pi, math.pi),
}
_TOGETHER = {"f16": F16, "bf16": BF16, "f32": F32, "tf32": F32, "e4m3": E4M3, "e5m2": E5M2}
NUMBERS |= {f"{name} of a tile": _together(format) for name, format in _TOGETHER.items()}
NUMBERS |= {f"{name} of a warp": _words(format) for name, format in _TOGETHER.items()}


def lanes(text, results, operands, numbers=None, error=None, **more) -> Form:
    """A form of one instruction whose operands are {d}, {e}, {a}, {b}, {c} and {f}."""
    results = (results,) if isinstance(results, str) else results
    operands = (operands,) if isinstance(operands, str) else operands
    numbers = (numbers,) if isinstance(numbers, str) else numbers
    names = dict(zip("de", ("%d0", "%d1"), strict=True))
    names |= dict(zip("abcf", ("%a0", "%a1", "%a2", "%a3"), strict=True))
    if numbers is None:
        numbers = tuple(type if type[0] == "f" else "bits" for type in operands)
    name = text.replace("{", "").replace("}", "")
    return Form(name, text.format(**names), results, operands, numbers, error=error, **more)
