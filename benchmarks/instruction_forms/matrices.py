# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices: ldmatrix, stmatrix, mma.sync, wgmma. Each block, or warp, has numbers of its own."""

from .form import Form


def moves() -> list[Form]:
    forms = [
        Form("movmatrix.trans", "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", ("b32",), ("b32",),
             ("bits",))
    ]  # fmt: skip
    # Rows in an order of their own.
    row = "mul.lo.u32 %w, %t, 5; and.b32 %w, %w, 31; shl.b32 %w, %w, 4; add.u32 %to, %tile, %w;"
    for count in (1, 2, 4):
        registers = [f"%d{i}" for i in range(count)]
        for way in ("", ".trans"):
            text = f"{row} ldmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16 {{{', '.join(registers)}}}, [%to];"
            forms.append(
                Form(f"ldmatrix.x{count}{way}", text, ("b32",) * count, (), (), (("word", 128),), 32)
            )
            values = ", ".join(f"%a{i}" for i in range(count))
            text = (
                f"{row} stmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16 [%to], {{{values}}};"
                " bar.sync 0; ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%to];"
            )
            forms.append(
                Form(f"stmatrix.x{count}{way}", text, ("b32",) * 4, ("b32",) * count,
                     ("bits",) * count, (("word", 128),), 32)
            )  # fmt: skip
    return forms


def _list(prefix: str, begin: int, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{begin + i}" for i in range(count)) + "}"


BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f64": 64}


def multiplications() -> list[Form]:
    """mma.sync: numbers of a warp are alike in the way in which the warp's are drawn."""
    cases = []
    for shape in ("m16n8k8", "m16n8k16"):
        cases += [(shape, d, "f16", "f16") for d in ("f16", "f32")]
        cases.append((shape, "f32", "bf16", "bf16"))
    cases += [(shape, "f32", "tf32", "tf32") for shape in ("m16n8k4", "m16n8k8")]
    eights = ("e4m3", "e5m2")
    cases += [("m16n8k32", "f32", a, b) for a in eights for b in eights]
    cases += [("m16n8k16", "f32", a, a) for a in eights]
    cases += [("m16n8k32", "f16", a, a) for a in eights]
    integers = ("s8", "u8")
    for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
        cases += [(shape, way, a, b) for way in ("s32", ".satfinite") for a in integers for b in integers]
    cases += [(shape, "f64", "f64", "f64") for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")]
    return [_multiplication(*case) for case in cases]


def _multiplication(shape: str, d: str, a: str, b: str) -> Form:
    way, d = (".satfinite", "s32") if d == ".satfinite" else ("", d)
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    m, n, k = int(m), int(n), int(k)
    width = "f64" if a == "f64" else "b32"
    counts = [rows * columns * BITS.get(type, 32) // (32 * (64 if width == "f64" else 32))
              for rows, columns, type in ((m, n, d), (m, k, a), (k, n, b))]  # fmt: skip
    c = counts[0]
    operands = f"{_list('d', 0, c)}, {_list('a', 0, counts[1])}, {_list('a', counts[1], counts[2])}, "
    operands += _list("a", counts[1] + counts[2], c)
    types = f"{d}.{a}.{b}.{d}"
    text = f"mma.sync.aligned.{shape}.row.col{way}.{types} {operands};"
    def numbers(type: str) -> str:
        if type in ("s8", "u8", "s32"):
            return "bits"
        if type == "f64":
            return "f64"
        return f"{type} of a warp"
    kinds = (numbers(a),) * counts[1] + (numbers(b),) * counts[2] + (numbers(d),) * c
    name = f"mma.{shape}{way}.{types}"
    return Form(name, text, (width,) * c, (width,) * len(kinds), kinds, threads=128, blocks=5)


# ---------------------------------------------------------------------------------------------
# wgmma
# ---------------------------------------------------------------------------------------------

SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}
"""Number in a matrix descriptor, by the bytes of a row."""


def wgmmas() -> list[Form]:
    forms = []
    halves = ("f16", "bf16")
    kinds = [("f32", "f16"), ("f16", "f16"), ("f32", "bf16"), ("f32", "tf32"), ("f32", "e4m3"),
             ("f16", "e4m3"), ("f32", "e5m2"), ("s32", "s8"), ("s32", "u8")]  # fmt: skip
    for d, a in kinds:
        for isShared in (True, False):
            forms.append(_wgmma(d, a, a, 16, isShared))
            forms.append(_wgmma(d, a, a, 16, isShared, keeps=False, blocks=1))
    forms += [_wgmma("f32", "e4m3", "e5m2", 16, True), _wgmma("s32", "s8", "u8", 16, True)]
    for n in (8, 24, 64, 128):
        forms.append(_wgmma("f32", "bf16", "bf16", n, True, swizzle=64 if n == 64 else 0, blocks=1))
    forms.append(_wgmma("f16", "f16", "f16", 256, True, blocks=1))
    for swizzle in SWIZZLES:
        for a in ("bf16", "tf32", "e4m3"):
            forms.append(_wgmma("f32", a, a, 16, True, swizzle=swizzle, blocks=1))
        for transposes in ((1, 0), (0, 1), (1, 1)):
            # With a swizzle a row of N numbers is as wide as the swizzle.
            for n in (8, 64) if transposes[1] else (8,):
                forms.append(
                    _wgmma("f32", "f16", "f16", n, True, swizzle=swizzle, transposes=transposes,
                           blocks=1)
                )  # fmt: skip
        forms.append(
            _wgmma("f32", "bf16", "bf16", 8, False, swizzle=swizzle, transposes=(0, 1), blocks=1)
        )
    for signs in ((-1, 1), (1, -1), (-1, -1)):
        forms.append(_wgmma("f32", halves[1], halves[1], 8, True, signs=signs, blocks=1))
        forms.append(_wgmma("f32", halves[0], halves[0], 8, False, signs=signs, blocks=1))
    return list({form.name: form for form in forms}.values())


def _layout(outers: int, bits: int, swizzle: int, isTransposed: bool) -> tuple[int, int, int]:
    """Bytes, and the leading and the stride offset of the descriptor, of rows times 32 bytes."""
    if not isTransposed:  # K is innermost.
        if swizzle == 0:
            return outers * 32, 128 * (outers // 8), 128
        return outers * swizzle, 16, 8 * swizzle
    k, row = 256 // bits, swizzle or 16
    across = -(-outers * bits // 8 // row)  # Rows of swizzle bytes for all of the outer extent.
    core = 8 * row
    if swizzle == 0:  # The two offsets change places.
        return across * k // 8 * core, across * core, core
    return across * k // 8 * core, k // 8 * core, core


def _descriptor(register: str, begin: int, leading: int, stride: int, swizzle: int) -> str:
    high = (leading >> 4) << 16 | (stride >> 4) << 32 | SWIZZLES[swizzle] << 62
    high -= (1 << 64) if high >> 63 else 0
    return (
        f"add.u32 %to, %tile, {begin}; shr.u32 %to, %to, 4; and.b32 %to, %to, 0x3fff;"
        f" cvt.u64.u32 {register}, %to; or.b64 {register}, {register}, {high};"
    )


def _wgmma(d, a, b, n, isShared, *, swizzle=0, transposes=(0, 0), signs=(1, 1), keeps=True,
           blocks=2) -> Form:  # fmt: skip
    bits = BITS[a]
    registers = n // 4 if d == "f16" else n // 2
    b_bytes, b_leading, b_stride = _layout(n, bits, swizzle, bool(transposes[1]))
    kind_of = {type: "byte" if type[0] in "su" else f"{type} of a tile" for type in (a, b)}
    tile = []
    prepare = ""
    begin = 0
    own = 0
    if isShared:
        a_bytes, a_leading, a_stride = _layout(64, bits, swizzle, bool(transposes[0]))
        a_bytes = -(-a_bytes // 1024) * 1024
        tile.append((kind_of[a], a_bytes * 8 // bits))
        prepare += _descriptor("%i64", 0, a_leading, a_stride, swizzle)
        begin = a_bytes
    else:
        own = 4
    tile.append((kind_of[b], b_bytes * 8 // bits))
    prepare += _descriptor("%from", begin, b_leading, b_stride, swizzle)
    accumulators = tuple(f"{d} of a warp" if d[0] == "f" else "bits" for _ in range(registers))
    numbers = (f"{a} of a warp" if a[0] in "febt" else "bits",) * own + accumulators
    copies = " ".join(f"mov.b32 %d{i}, %a{own + i};" for i in range(registers))
    scales = f", {signs[0]}, {signs[1]}" if d[0] == "f" else ""
    turns = ""
    if bits == 16:
        turns = f", {transposes[0]}, {transposes[1]}" if isShared else f", {transposes[1]}"
    operand = "%i64" if isShared else _list("a", 0, 4)
    types = f"{d}.{a}.{b}"
    instruction = (
        f"wgmma.mma_async.sync.aligned.m64n{n}k{256 // bits}.{types} {_list('d', 0, registers)},"
        f" {operand}, %from, %more{scales}{turns};"
    )
    text = "\n".join([
        prepare, copies, f"setp.eq.u32 %more, 1, {int(keeps)};", "wgmma.fence.sync.aligned;",
        instruction, "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
    ])  # fmt: skip
    name = f"wgmma.m64n{n}k{256 // bits}.{types}"
    name += " shared" if isShared else " registers"
    name += f" swizzle {swizzle}" if swizzle else ""
    name += f" transposed {transposes}" if any(transposes) else ""
    name += f" signs {signs}" if signs != (1, 1) else ""
    name += "" if keeps else " without accumulator"
    return Form(name, text, ("b32",) * registers, ("b32",) * len(numbers), numbers, tuple(tile),
                blocks=blocks)  # fmt: skip

