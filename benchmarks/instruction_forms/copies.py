# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous copies: cp.async, stores to blocks, bulk copies and boxes of tensors, and their
reductions.

Results are all of the block's shared memory, or of the memory behind the tensor map.
"""

from .form import NUMBERS, WIDTH, Form, Map

BARRIER = ".shared .align 8 .b8 barrier[8];"
LEADER = "setp.ne.u32 %more, %t, 0; @%more bra REST;"
START = (
    f"mov.u32 %to, barrier; {LEADER} mbarrier.init.shared.b64 [%to], 1;"
    " fence.mbarrier_init.release.cluster; fence.proxy.async;"
)
WAIT = (  # Not for ever: where a copy brings other bytes than is thought, a GPU must not hang.
    "REST: bar.sync 0;\nmov.u32 %w, 0;\n"
    "WAIT: mbarrier.try_wait.parity.shared.b64 %more, [%to], 0; @%more bra COMPLETE;"
    " add.u32 %w, %w, 1; setp.lt.u32 %more, %w, 1000; @%more bra WAIT;\nCOMPLETE:"
)
END = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; REST: bar.sync 0;"
ELEMENTS = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8,
            "bf16": 9, "f32.ftz": 10, "tf32": 11}  # fmt: skip
BYTES = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u64": 8, "s64": 8, "f64": 8}


def _dump(address: str, space: str, words: int) -> str:
    """%d0 and on are the thread's words of memory."""
    lines = [f"mul.lo.u32 %w, %t, {4 * words};"]
    if space == "shared":
        lines.append(f"add.u32 %to, {address}, %w;")
    else:
        lines.append(f"cvt.u64.u32 %from, %w; add.u64 %from, {address}, %from;")
    at = "%to" if space == "shared" else "%from"
    return " ".join([*lines, *(f"ld.{space}.b32 %d{i}, [{at}+{4 * i}];" for i in range(words))])


def _tensor(name: str, shape: Map, coordinates: tuple[int, ...], reduction: str = "") -> Form:
    rank = len(shape.extents)
    width = BYTES.get(shape.type, 4)
    size = width
    # The innermost dimension has no steps.
    for box, step in zip(shape.box, (*shape.steps[:-1], 1), strict=True):
        size *= -(-box // step)
    tile = 2048
    box = f"[%i64, {{{', '.join(map(str, reversed(coordinates)))}}}]"
    declarations = BARRIER + " .reg .b64 %map;"
    fence = "mov.b64 %i64, map; cvta.param.u64 %i64, %i64;"
    if name == "load":
        text = (
            f"{fence} {START} mbarrier.arrive.expect_tx.shared.b64 _, [%to], {size};"
            f" cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile"
            ".mbarrier::complete_tx::bytes"
            f" [%tile], {box}, [%to];\n{WAIT}\n{_dump('%tile', 'shared', tile // 512)}"
        )
    else:
        way = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{reduction}"
        if not reduction:
            way = f"cp.async.bulk.tensor.{rank}d.global.shared::cta"
        text = (
            f"{fence} {LEADER} {way}.tile.bulk_group {box}, [%tile];\n{END}\n"
            f"{_dump('%memory', 'global', shape.bytes // 512)}"
        )
    kind = shape.kind
    words = (tile if name == "load" else shape.bytes) // 512
    title = f"tensor {name} {reduction} {shape} at {coordinates}".replace("  ", " ")
    return Form(title, text, ("b32",) * words, (), (),
                ((kind, tile // NUMBERS[kind].bytes),),
                declarations=declarations, map=shape)  # fmt: skip


def tensors() -> list[Form]:
    forms = []
    for swizzle in (0, 32, 64, 128):
        for type in ("u8", "bf16", "f32", "u64"):
            columns = min((swizzle or 64) // BYTES.get(type, 4), 256)
            shape = Map(type, (16, 2 * columns), (8, columns), swizzle)
            forms.append(_tensor("load", shape, (4, columns // 2)))
            forms.append(_tensor("store", shape, (4, columns // 2)))
    plane = Map("f16", (14, 24), (8, 16))
    # The innermost coordinate must come to a multiple of 16 bytes.
    for at in ((-3, -8), (10, 16), (20, 0), (0, -16), (13, 8)):
        # A store to a box that begins before the tensor is an illegal instruction.
        ways = ("load", "store") if min(at) >= 0 else ("load",)
        forms += [_tensor(way, plane, at) for way in ways]
        forms.append(_tensor("load", Map("f32", (14, 24), (8, 16), fills_nan=True), at))
        forms.append(_tensor("load", Map("bf16", (14, 24), (8, 16), 32, fills_nan=True), at))
    for type in ("tf32", "f32.ftz"):
        forms.append(_tensor("load", Map(type, (14, 24), (8, 16)), (2, 4)))
        forms.append(_tensor("load", Map(type, (8, 16), (8, 16), kind="tie"), (0, 0)))
    forms.append(_tensor("load", Map("f32", (64,), (32,)), (8,)))
    forms.append(_tensor("store", Map("s32", (64,), (32,)), (40,)))
    forms.append(_tensor("load", Map("f16", (3, 6, 16), (2, 4, 8)), (1, 3, 8)))
    forms.append(_tensor("store", Map("f16", (3, 6, 16), (2, 4, 8)), (2, 1, 8)))
    forms.append(_tensor("load", Map("u8", (2, 3, 4, 16), (2, 2, 3, 16), 0), (0, 2, 1, 0)))
    forms.append(_tensor("load", Map("bf16", (2, 2, 3, 4, 8), (2, 2, 2, 2, 8)), (1, 0, 2, 1, -8)))
    forms.append(_tensor("store", Map("bf16", (2, 2, 3, 4, 8), (2, 2, 2, 2, 8)), (0, 1, 2, 3, 0)))
    for steps in ((2, 1), (1, 2), (3, 2)):
        forms.append(_tensor("load", Map("f32", (14, 24), (8, 16), steps=steps), (1, 4)))
    for type, reductions in (
        ("u32", ("add", "min", "max", "and", "or", "xor", "inc", "dec")),
        ("s32", ("add", "min", "max")),
        ("u64", ("add", "min", "max", "and", "or", "xor")),
        ("s64", ("min", "max")),
        ("f16", ("add", "min", "max")),
        ("bf16", ("add", "min", "max")),
        ("f32", ("add",)),
    ):
        for reduction in reductions:
            forms.append(_tensor("reduce", Map(type, (8, 16), (4, 16)), (2, 8), reduction))
    return forms


def _stored(way: str, registers: tuple[str, ...]) -> Form:
    """st.async and red.async: each thread's to 16 bytes of the cluster's other block."""
    values = ", ".join(f"%a{i}" for i in range(len(registers)))
    values = f"{{{values}}}" if len(registers) > 1 else values
    size = sum(WIDTH[type] for type in registers) * 128
    meet = "barrier.cluster.arrive; barrier.cluster.wait;"
    text = (
        f"{START} mbarrier.arrive.expect_tx.shared.b64 _, [%to], {size};\nREST: {meet}"
        " mov.u32 %b, %cluster_ctarank; xor.b32 %b, %b, 1;"
        " shl.b32 %w, %t, 4; add.u32 %w, %tile, %w; mapa.shared::cluster.u32 %w, %w, %b;"
        f" mapa.shared::cluster.u32 %i, %to, %b; {way} [%w], {values}, [%i];\n"
        f"{WAIT.split(chr(10), 1)[1]} {meet}\n{_dump('%tile', 'shared', 4)}"
    )
    return Form(
        way,
        text,
        ("b32",) * 4,
        registers,
        ("bits",) * len(registers),
        (("word", 512),),
        blocks=2,
        declarations=BARRIER,
        directives=".reqnctapercluster 2, 1, 1",
    )


def stores() -> list[Form]:
    way = "async.shared::cluster.mbarrier::complete_tx::bytes"
    forms = [
        _stored(f"st.{way}{vector}.{type}", (type,) * count)
        for vector, type, count in (("", "b32", 1), ("", "b64", 1), (".v2", "b32", 2),
                                    (".v2", "b64", 2), (".v4", "b32", 4))
    ]  # fmt: skip
    way = "async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
    for type, ops in (
        ("u32", ("add", "min", "max", "inc", "dec")),
        ("s32", ("add", "min", "max")),
        ("u64", ("add",)),
        ("b32", ("and", "or", "xor")),
    ):
        forms += [_stored(f"red.{way}.{op}.{type}", ("b" + type[1:],)) for op in ops]
    return forms


def runs() -> list[Form]:
    """Bytes without a tensor map: 512 of them, of the threads' slots in global memory."""
    load = (
        f"{START} mbarrier.arrive.expect_tx.shared.b64 _, [%to], 512;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%tile+32], [%cell], 512,"
        f" [%to];\n{WAIT}\n{_dump('%tile', 'shared', 2)}"
    )
    tile = (("word", 256),)
    forms = [
        Form("cp.async.bulk to shared memory", load, ("b32",) * 2, ("b64",), ("bits",), tile,
             declarations=BARRIER)
    ]  # fmt: skip
    store = (
        f"{LEADER} cp.async.bulk.global.shared::cta.bulk_group [%cell+64], [%tile+16], 512;\n{END}"
    )
    after = "ld.global.v2.b64 {%d0, %d1}, [%cell];"
    forms.append(
        Form("cp.async.bulk to global memory", f"{store} {after}", ("b64",) * 2, ("b64",),
             ("bits",), tile)
    )  # fmt: skip
    for op, type, kind in (
        *((op, type, "word") for type in ("u32", "s32", "u64") for op in ("add", "min", "max")),
        *((op, "s64", "word") for op in ("min", "max")),
        ("inc", "u32", "word"), ("dec", "u32", "word"),
        *((op, type, "word") for type in ("b32", "b64") for op in ("and", "or", "xor")),
        ("add", "f32", "f32"), ("add", "f64", "f64"),
        *((op, type, type) for type in ("f16", "bf16") for op in ("min", "max", "add.noftz")),
    ):  # fmt: skip
        way = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{type}"
        number = {"f16": "f16x2", "bf16": "bf16x2"}.get(type, kind if kind != "word" else "bits")
        text = f"{LEADER} {way} [%cell], [%tile], 1024;\n{END} {after}"
        count = 1024 // NUMBERS[kind].bytes
        forms.append(Form(way, text, ("b64",) * 2, ("b64",), (number,), ((kind, count),)))
    for size, kept in ((4, 4), (8, 8), (16, 16), (16, 6), (16, 0), (4, 3)):
        cache = "cg" if size == 16 else "ca"
        ignored = f", {kept}" if kept != size else ""
        text = (
            "shl.b32 %w, %t, 4; add.u32 %to, %tile, %w;"
            f" cp.async.{cache}.shared.global [%to], [%cell], {size}{ignored};"
            " cp.async.commit_group; cp.async.wait_group 0; ld.shared.v2.b64 {%d0, %d1}, [%to];"
        )
        forms.append(
            Form(f"cp.async of {size} bytes, {kept} kept", text, ("b64",) * 2, ("b64",), ("bits",),
                 (("word", 512),))
        )  # fmt: skip
    return forms + stores()
