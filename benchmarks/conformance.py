# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-instruction kernels: what a GPU computes, and whether the emulator does the same.

    python benchmarks/conformance.py record OUT.json       on a machine with a GPU
    python benchmarks/conformance.py compare VECTORS.json  anywhere

Inputs are made from a seed: random bits, random numbers of the type and special ones. A file
holds a GPU's outputs only, compressed. Exit code of compare: 1 if an exact form differs, or an
approximate one by more than its documented error.
"""

import argparse
import base64
import ctypes
import json
import random
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

THREADS = 256
HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"


@dataclass(frozen=True)
class Form:
    """One instruction in a kernel.

    Attributes:
        text: the instruction; {d} is the result, {a}, {b}, {c} are operands.
        result, operands: register types, as "b32"; "pred" for a predicate.
        numbers: how operands are drawn: a key of GENERATORS, for each operand.
        error: in units of the last place; 0 for exact ones.
    """

    text: str
    result: str
    operands: tuple[str, ...]
    numbers: tuple[str, ...]
    error: float = 0

    @property
    def name(self) -> str:
        return self.text.split()[0]


SPECIAL32 = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF,
             0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x4B000000, 0xCF000000, 0x4F800000]  # fmt: skip
SPECIAL64 = [0, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 1, 0x0010 << 48, 0x3FF0 << 48,
             0xBFF0 << 48, 0x41E0 << 48, 0x43E0 << 48]  # fmt: skip
SPECIAL16 = [0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 1, 0x03FF, 0x0400, 0x7BFF, 0x3C00, 0xBC00]
SPECIALBF = [0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 1, 0x0080, 0x7F7F, 0x3F80, 0xBF80]


def _f32(r: random.Random) -> int:
    kind = r.random()
    if kind < 0.15:
        return r.choice(SPECIAL32)
    if kind < 0.3:
        return r.getrandbits(32)
    return struct.unpack("<I", struct.pack("<f", r.gauss(0, 1) * 2.0 ** r.randint(-20, 20)))[0]


def _f64(r: random.Random) -> int:
    if r.random() < 0.15:
        return r.choice(SPECIAL64)
    return struct.unpack("<Q", struct.pack("<d", r.gauss(0, 1) * 2.0 ** r.randint(-40, 40)))[0]


def _half(special: list[int], r: random.Random) -> int:
    return r.choice(special) if r.random() < 0.2 else r.getrandbits(16)


GENERATORS = {
    "bits": lambda r: (
        r.choice([0, 1, 31, 32, 1 << 31, (1 << 64) - 1, r.getrandbits(64)])
        if r.random() < 0.3
        else r.getrandbits(64)
    ),
    "small": lambda r: r.randint(0, 70),
    "f32": _f32,
    "f64": _f64,
    "f16x2": lambda r: _half(SPECIAL16, r) | _half(SPECIAL16, r) << 16,
    "bf16x2": lambda r: _half(SPECIALBF, r) | _half(SPECIALBF, r) << 16,
}


def _integers() -> list[Form]:
    forms = []
    for type in ("u16", "u32", "u64", "s16", "s32", "s64"):
        bits = "b" + type[1:]
        binary = ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"]
        for op in binary:
            forms.append(
                Form(f"{op}.{type} {{d}}, {{a}}, {{b}};", bits, (bits,) * 2, ("bits",) * 2)
            )
        forms.append(
            Form(f"mad.lo.{type} {{d}}, {{a}}, {{b}}, {{c}};", bits, (bits,) * 3, ("bits",) * 3)
        )
        forms.append(
            Form(f"shr.{type} {{d}}, {{a}}, {{b}};", bits, (bits, "b32"), ("bits", "small"))
        )
        if type[0] == "s":
            forms += [
                Form(f"{op}.{type} {{d}}, {{a}};", bits, (bits,), ("bits",))
                for op in ("abs", "neg")
            ]
    for width in ("32", "64"):
        bits = f"b{width}"
        for op in ("popc", "clz"):
            forms.append(Form(f"{op}.{bits} {{d}}, {{a}};", "b32", (bits,), ("bits",)))
        forms.append(Form(f"brev.{bits} {{d}}, {{a}};", bits, (bits,), ("bits",)))
        for sign in "us":
            forms.append(Form(f"bfind.{sign}{width} {{d}}, {{a}};", "b32", (bits,), ("bits",)))
            field = f"bfe.{sign}{width} {{d}}, {{a}}, {{b}}, {{c}};"
            forms.append(Form(field, bits, (bits, "b32", "b32"), ("bits", "small", "small")))
        forms.append(
            Form(f"shl.{bits} {{d}}, {{a}}, {{b}};", bits, (bits, "b32"), ("bits", "small"))
        )
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        forms.append(
            Form(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};", "b32", ("b32",) * 3, ("bits",) * 3)
        )
    for mode in ("l.wrap", "l.clamp", "r.wrap", "r.clamp"):
        forms.append(Form(f"shf.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32", ("b32",) * 3,
                          ("bits", "bits", "small")))  # fmt: skip
    for a in "us":
        for b in "us":
            forms.append(
                Form(
                    f"dp4a.{a}32.{b}32 {{d}}, {{a}}, {{b}}, {{c}};",
                    "b32",
                    ("b32",) * 3,
                    ("bits",) * 3,
                )
            )
    return forms


def _floats() -> list[Form]:
    forms = []
    for rounding in ("rn", "rz", "rm", "rp"):
        for type in ("f32", "f64"):
            for flush in ("", ".ftz") if type == "f32" else ("",):
                for op, arity in (
                    ("add", 2),
                    ("mul", 2),
                    ("fma", 3),
                    ("div", 2),
                    ("sqrt", 1),
                    ("rcp", 1),
                ):
                    operands = ", ".join(["{a}", "{b}", "{c}"][:arity])
                    forms.append(Form(f"{op}.{rounding}{flush}.{type} {{d}}, {operands};", type,
                                      (type,) * arity, (type,) * arity))  # fmt: skip
    for op in ("add.sat", "mul.ftz.sat", "min", "max", "min.NaN", "max.NaN", "max.xorsign.abs"):
        forms.append(Form(f"{op}.f32 {{d}}, {{a}}, {{b}};", "f32", ("f32",) * 2, ("f32",) * 2))
    # Errors as the ISA documents them; those of lg2, sin and cos hold on part of the range only.
    approximations = (
        ("ex2.approx", 2), ("ex2.approx.ftz", 2), ("rcp.approx.ftz", 1), ("rsqrt.approx", 4),
        ("sqrt.approx", 4), ("tanh.approx", 1 << 13),
    )  # fmt: skip
    for op, error in approximations:
        forms.append(Form(f"{op}.f32 {{d}}, {{a}};", "f32", ("f32",), ("f32",), error))
    for type in ("f16x2", "bf16x2"):
        for op, arity in (("add", 2), ("mul", 2), ("fma.rn", 3), ("fma.rn.relu", 3), ("min", 2),
                          ("max", 2), ("max.NaN", 2), ("neg", 1), ("abs", 1)):  # fmt: skip
            operands = ", ".join(["{a}", "{b}", "{c}"][:arity])
            forms.append(
                Form(f"{op}.{type} {{d}}, {operands};", "b32", ("b32",) * arity, (type,) * arity)
            )
    return forms


def _conversions() -> list[Form]:
    forms = []
    for rounding in ("rni", "rzi", "rmi", "rpi"):
        for to in ("u32", "s32", "u64", "s64"):
            for source in ("f32", "f64"):
                forms.append(
                    Form(
                        f"cvt.{rounding}.{to}.{source} {{d}}, {{a}};",
                        "b" + to[1:],
                        (source,),
                        (source,),
                    )
                )
    for rounding in ("rn", "rz", "rm", "rp"):
        for source in ("u32", "s32", "u64", "s64"):
            for to in ("f32", "f64"):
                forms.append(
                    Form(
                        f"cvt.{rounding}.{to}.{source} {{d}}, {{a}};",
                        to,
                        ("b" + source[1:],),
                        ("bits",),
                    )
                )
        forms.append(Form(f"cvt.{rounding}.f32.f64 {{d}}, {{a}};", "f32", ("f64",), ("f64",)))
        forms.append(Form(f"cvt.{rounding}.f16.f32 {{d}}, {{a}};", "b16", ("f32",), ("f32",)))
    for text in (
        "rn.bf16x2.f32",
        "rz.bf16x2.f32",
        "rn.relu.bf16x2.f32",
        "rn.f16x2.f32",
        "rz.f16x2.f32",
    ):
        forms.append(Form(f"cvt.{text} {{d}}, {{a}}, {{b}};", "b32", ("f32",) * 2, ("f32",) * 2))
    for text in ("rn.satfinite.e4m3x2.f32", "rn.satfinite.e5m2x2.f32"):
        forms.append(Form(f"cvt.{text} {{d}}, {{a}}, {{b}};", "b16", ("f32",) * 2, ("f32",) * 2))
    for text in ("rn.f16x2.e4m3x2", "rn.f16x2.e5m2x2"):
        forms.append(Form(f"cvt.{text} {{d}}, {{a}};", "b32", ("b16",), ("bits",)))
    forms.append(Form("cvt.rna.tf32.f32 {d}, {a};", "b32", ("f32",), ("f32",)))
    return forms


def forms() -> list[Form]:
    """Every form, each once."""
    return list(dict.fromkeys([*_integers(), *_floats(), *_conversions()]))


def kernel(number: int, form: Form) -> str:
    """Thread i reads operands of eight bytes from in[3 i], and writes eight bytes to out[i]."""
    names = ["%x", "%y", "%z"][: len(form.operands)]
    lines = [f".visible .entry k{number}(.param .u64 in, .param .u64 out)\n{{"]
    lines += [".reg .b64 %rd<8>;", ".reg .b32 %t;", f".reg .{form.result} %d;"]
    lines += [f".reg .{type} {name};" for type, name in zip(form.operands, names, strict=True)]
    lines += ["ld.param.u64 %rd1, [in];", "ld.param.u64 %rd2, [out];", "mov.u32 %t, %tid.x;"]
    lines += ["mad.wide.u32 %rd3, %t, 24, %rd1;", "mad.wide.u32 %rd4, %t, 8, %rd2;"]
    lines += ["mov.u64 %rd5, 0;", "st.global.u64 [%rd4], %rd5;"]
    for i, (type, name) in enumerate(zip(form.operands, names, strict=True)):
        lines.append(f"ld.global.{type} {name}, [%rd3+{8 * i}];")
    operands = dict(zip("abc", names, strict=False))
    lines.append(form.text.format(d="%d", **operands))
    lines.append(f"st.global.{form.result} [%rd4], %d;")
    return "\n".join([*lines, "ret;", "}"])


def inputs(form: Form) -> bytes:
    """Three operands of eight bytes for each thread."""
    source = random.Random(form.text)
    values = []
    for _ in range(THREADS):
        drawn = [GENERATORS[kind](source) & (1 << 64) - 1 for kind in form.numbers]
        values += drawn + [0] * (3 - len(drawn))
    return struct.pack(f"<{3 * THREADS}Q", *values)


class Gpu:
    """Runs kernels through the driver."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check(self.driver.cuInit(0))
        self._check(self.driver.cuDeviceGet(ctypes.byref(device), 0))
        self._check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self._check(self.driver.cuCtxSetCurrent(context))
        name = ctypes.create_string_buffer(100)
        self._check(self.driver.cuDeviceGetName(name, 100, device))
        self.name = name.value.decode()
        self.memory = [self._allocate(24 * THREADS), self._allocate(8 * THREADS)]

    def _check(self, code: int) -> None:
        if code:
            sys.exit(f"the CUDA driver says error {code}")

    def _allocate(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self._check(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address

    def run(self, ptx: str, data: bytes) -> bytes:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.driver.cuModuleLoadData(ctypes.byref(module), ptx.encode() + b"\0"))
        self._check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, b"k0"))
        self._check(self.driver.cuMemcpyHtoD_v2(self.memory[0], data, ctypes.c_size_t(len(data))))
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(address) for address in self.memory))
        self._check(
            self.driver.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
        )
        result = ctypes.create_string_buffer(8 * THREADS)
        self._check(
            self.driver.cuMemcpyDtoH_v2(result, self.memory[1], ctypes.c_size_t(8 * THREADS))
        )
        self._check(self.driver.cuModuleUnload(module))
        return result.raw


def emulate(ptx: str, data: bytes) -> bytes:
    import torch

    from deplo.emulator import Emulation, Uninitialized

    source = torch.frombuffer(bytearray(data), dtype=torch.int64)
    result = torch.zeros(THREADS, dtype=torch.int64)
    arguments = [source, Uninitialized(result)]
    outcome = Emulation(ptx).run("k0", grid=1, block=THREADS, arguments=arguments)
    if outcome.findings:
        raise SystemExit(f"{ptx}\n{outcome.findings}")
    return result.numpy().tobytes()


def record(path: Path) -> None:
    gpu = Gpu()
    outputs = {form.text: gpu.run(HEADER + kernel(0, form), inputs(form)) for form in forms()}
    data = {text: base64.b85encode(zlib.compress(raw, 9)).decode() for text, raw in outputs.items()}
    path.write_text(json.dumps({"gpu": gpu.name, "threads": THREADS, "outputs": data}, indent=0))
    print(f"{len(data)} forms on {gpu.name}, {path.stat().st_size} bytes")


def _is_near(form: Form, want: int, got: int) -> bool:
    """Of f32 results: within the error, and special where the GPU's is."""
    if want == got:
        return True
    if not form.error:
        return False
    (x,), (y,) = (struct.unpack("<f", struct.pack("<I", v & 0xFFFFFFFF)) for v in (want, got))
    if x != x or y != y or abs(x) == float("inf") or abs(y) == float("inf"):
        return x != x and y != y
    return abs((want & 0x7FFFFFFF) - (got & 0x7FFFFFFF)) <= form.error and (x < 0) == (y < 0)


def compare(path: Path) -> int:
    recorded = json.loads(path.read_text())["outputs"]
    bad = 0
    for form in forms():
        if form.text not in recorded:
            print(f"not recorded: {form.text}")
            bad += 1
            continue
        want = struct.unpack(f"<{THREADS}Q", zlib.decompress(base64.b85decode(recorded[form.text])))
        data = inputs(form)
        got = struct.unpack(f"<{THREADS}Q", emulate(HEADER + kernel(0, form), data))
        wrong = [i for i in range(THREADS) if not _is_near(form, want[i], got[i])]
        if wrong:
            bad += 1
            i = wrong[0]
            operands = struct.unpack_from("<3Q", data, 24 * i)[: len(form.operands)]
            shown = ", ".join(hex(operand) for operand in operands)
            print(
                f"{form.text} differs for {len(wrong)} of {THREADS} inputs: of {shown} the GPU "
                f"makes {want[i]:#x}, the emulator {got[i]:#x}"
            )
    print(f"{len(forms()) - bad} forms agree, {bad} differ")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    if arguments.action == "compare":
        return compare(arguments.file)
    record(arguments.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
