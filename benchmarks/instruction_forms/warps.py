# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the lanes of a warp do together, memory accesses and atomics."""

from .form import Form, lanes
from .integers import register

ALL = "0xffffffff"


def exchanges() -> list[Form]:
    """By all lanes, and by the odd ones while the even ones do the same with other registers."""
    forms = []
    bits = ("b32",) * 3
    for mode in ("up", "down", "bfly", "idx"):
        text = f"shfl.sync.{mode}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {{c}}, {ALL};"
        forms.append(lanes(text, ("b32", "pred"), bits, ("bits", "lane", "clamp")))
    for mode in ("all", "any", "uni"):
        text = f"vote.sync.{mode}.pred {{d}}, {{a}}, {ALL};"
        forms.append(lanes(text, "pred", "pred"))
        # A whole warp agrees seldom: let it.
        text = f"setp.lt.u32 %more, %t, 64; or.pred %more, %more, {{a}}; vote.sync.{mode}.pred {{d}}, %more, {ALL};"
        forms.append(lanes(text, "pred", "pred"))
    forms.append(lanes(f"vote.sync.ballot.b32 {{d}}, {{a}}, {ALL};", "b32", "pred"))
    for width in ("b32", "b64"):
        forms.append(lanes(f"match.any.sync.{width} {{d}}, {{a}}, {ALL};", "b32", width, "few"))
        text = f"match.all.sync.{width} {{d}}|{{e}}, {{a}}, {ALL};"
        forms.append(lanes(text, ("b32", "pred"), width, "few"))
        same = f"and.{width} {{a}}, {{a}}, 0; " + text
        forms.append(lanes(same, ("b32", "pred"), width, "few"))
    for op in ("add", "min", "max"):
        for type in ("u32", "s32"):
            forms.append(lanes(f"redux.sync.{op}.{type} {{d}}, {{a}}, {ALL};", "b32", "b32"))
    for op in ("and", "or", "xor"):
        forms.append(lanes(f"redux.sync.{op}.b32 {{d}}, {{a}}, {ALL};", "b32", "b32"))
    forms.append(
        lanes(f"elect.sync {{d}}|{{e}}, {ALL};", ("b32", "pred"), ())
    )
    forms.append(lanes("activemask.b32 {d};", "b32", ()))
    return forms + _divided()


def _divided() -> list[Form]:
    forms = []
    for name, text, results, operands, numbers in (
        ("redux.add", "redux.sync.add.u32 %d0, %a0, MASK;", ("b32",), ("b32",), ("bits",)),
        ("ballot", "vote.sync.ballot.b32 %d0, %a0, MASK;", ("b32",), ("pred",), ("bits",)),
        ("match.any", "match.any.sync.b32 %d0, %a0, MASK;", ("b32",), ("b32",), ("few",)),
        ("elect", "elect.sync %d0|%d1, MASK;", ("b32", "pred"), (), ()),
        (
            "shfl.bfly",
            "shfl.sync.bfly.b32 %d0, %a0, 2, 31, MASK;",
            ("b32",),
            ("b32",),
            ("bits",),
        ),
    ):
        odd, even = text.replace("MASK", "0xaaaaaaaa"), text.replace("MASK", "0x55555555")
        body = (
            "and.b32 %w, %t, 1; setp.ne.u32 %more, %w, 0;\n@%more bra ODD;\n"
            f"{even}\nbra JOIN;\nODD: {odd}\nJOIN:"
        )
        forms.append(Form(f"{name} of odd and even lanes", body, results, operands, numbers))
    return forms


SPECIAL = ("laneid", "warpid", "nwarpid", "lanemask_eq", "lanemask_lt", "lanemask_le",
           "lanemask_gt", "lanemask_ge", "tid.x", "ntid.x", "ctaid.x", "nctaid.x", "cluster_ctarank",
           "cluster_nctarank", "clusterid.x", "nclusterid.x", "dynamic_smem_size")  # fmt: skip


def special_registers() -> list[Form]:
    return [lanes(f"mov.u32 {{d}}, %{name};", "b32", (), blocks=2) for name in SPECIAL]


def moves() -> list[Form]:
    """Packing, spaces of addresses, reductions of a block."""
    forms = [
        Form("mov.b64 of two", "mov.b64 %d0, {%a0, %a1};", ("b64",), ("b32",) * 2, ("bits",) * 2),
        Form("mov.b64 to two", "mov.b64 {%d0, %d1}, %a0;", ("b32",) * 2, ("b64",), ("bits",)),
        Form("mov.b64 of four", "mov.b64 %d0, {%a0, %a1, %a2, %a3};", ("b64",), ("b16",) * 4,
             ("bits",) * 4),
        Form("mov.b32 to two", "mov.b32 {%d0, %d1}, %a0;", ("b16",) * 2, ("b32",), ("bits",)),
    ]  # fmt: skip
    for space in ("global", "shared", "local", "const", "param"):
        text = (
            f"mov.u32 %to, own; cvt.u64.u32 %i64, %to; cvta.shared.u64 %i64, %i64;"
            f" isspacep.{space} %d0, %cell; isspacep.{space} %d1, %i64;"
        )
        forms.append(
            Form(f"isspacep.{space}", text, ("pred",) * 2, ("b32",), ("bits",), declarations=OWN_SHARED)
        )
    for op, type in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
        result = "b32" if type == "u32" else "pred"
        for count in ("", ", 128"):
            text = f"barrier.cta.red.{op}.aligned.{type} %d0, 3{count}, %a0;"
            forms.append(Form(text, text, (result,), ("pred",), ("bits",)))
    return forms


def clusters() -> list[Form]:
    """Blocks of a cluster: each reads, adds to and writes the other's shared memory."""
    peer = (
        "mov.u32 %to, own; shl.b32 %w, %t, 4; add.u32 %to, %to, %w; mov.u32 %w, %cluster_ctarank;"
        " xor.b32 %w, %w, 1; mapa.shared::cluster.u32 %i, %to, %w; st.shared.b32 [%to], %a0;"
        " barrier.cluster.arrive; barrier.cluster.wait;"
    )
    end = "barrier.cluster.arrive; barrier.cluster.wait;"
    forms = []
    for name, text in (
        ("ld", f"ld.shared::cluster.b32 %d0, [%i]; {end}"),
        ("atom", f"atom.shared::cluster.add.u32 %w, [%i], %a1; {end} ld.shared.b32 %d0, [%to];"),
        ("st", f"st.shared::cluster.b32 [%i], %a1; {end} ld.shared.b32 %d0, [%to];"),
        ("getctarank", f"getctarank.shared::cluster.u32 %d0, %i; {end}"),
    ):
        forms.append(
            Form(f"shared::cluster {name}", f"{peer} {text}", ("b32",), ("b32",) * 2, ("bits",) * 2,
                 blocks=2, declarations=OWN_SHARED, directives=".reqnctapercluster 2, 1, 1")
        )  # fmt: skip
    return forms


# ---------------------------------------------------------------------------------------------
# Memory: each thread has its own operands' slots at %cell, or 16 bytes of shared memory at %to
# ---------------------------------------------------------------------------------------------

OWN_SHARED = ".shared .align 16 .b8 own[2048];"
TO_SHARED = (
    "mov.u32 %to, own; shl.b32 %w, %t, 4; add.u32 %to, %to, %w;"
    " ld.global.v2.b64 {%i64, %from}, [%cell]; st.shared.v2.b64 [%to], {%i64, %from};"
)


def accesses() -> list[Form]:
    forms = []
    for type in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for to in ("b16", "b32", "b64"):
            for space, prepare, address in (
                ("global", "", "%cell"),
                ("shared", TO_SHARED, "%to"),
            ):
                text = f"{prepare} ld.{space}.{type} %d0, [{address}];"
                declarations = OWN_SHARED if prepare else ""
                forms.append(
                    Form(f"ld.{space}.{type} to {to}", text, (to,), ("b64",), ("bits",),
                         declarations=declarations)
                )  # fmt: skip
    for text, results in (
        ("ld.global.v4.b32 {%d0, %d1, %d2, %d3}, [%cell];", ("b32",) * 4),
        ("ld.global.v2.b64 {%d0, %d1}, [%cell];", ("b64",) * 2),
        ("ld.global.nc.v4.u16 {%d0, %d1, %d2, %d3}, [%cell];", ("b16",) * 4),
        ("ld.global.v4.s8 {%d0, %d1, %d2, %d3}, [%cell];", ("b16",) * 4),
        ("ld.global.v2.s16 {%d0, %d1}, [%cell];", ("b32",) * 2),
    ):
        forms.append(Form(text, text, results, ("b64",), ("bits",)))
    for type, source in (("b8", "b32"), ("u8", "b16"), ("s16", "b32"), ("b32", "b64")):
        for space, prepare, address in (("global", "", "%cell"), ("shared", TO_SHARED, "%to")):
            text = f"{prepare} st.{space}.{type} [{address}+4], %a1; ld.{space}.b64 %d0, [{address}];"
            forms.append(
                Form(f"st.{space}.{type} of {source}", text, ("b64",), ("b64", source), ("bits",) * 2,
                     declarations=OWN_SHARED if prepare else "")
            )  # fmt: skip
    text = "st.global.v4.u8 [%cell+4], {%a0, %a1, %a0, %a1}; ld.global.b64 %d0, [%cell];"
    forms.append(Form("st.global.v4.u8", text, ("b64",), ("b16",) * 2, ("bits",) * 2))
    return forms


ATOMICS = (
    *((op, type) for type in ("u32", "s32", "u64", "s64") for op in ("add", "min", "max")),
    ("inc", "u32"), ("dec", "u32"),
    *((op, type) for type in ("b32", "b64") for op in ("and", "or", "xor", "exch")),
    ("add", "f32"), ("add", "f64"),
    *((f"{op}.noftz", type) for type in ("f16", "f16x2", "bf16", "bf16x2")
      for op in ("add", "min", "max")),
    *(("cas", type) for type in ("b16", "b32", "b64", "b128")), ("exch", "b128"),
)  # fmt: skip


def atomics() -> list[Form]:
    """On a place of the thread's own: the old value, and what is there afterwards."""
    forms = []
    for op, type in ATOMICS:
        bits = register(type) if type != "b128" else type
        numbers = type if type[0] == "f" or type.startswith("bf") else "few" if op == "cas" else "bits"
        count = 3 if op == "cas" else 2
        values = ", ".join(["%a1", "%a2"][: count - 1])
        for space, prepare, address in (("global", "", "%cell"), ("shared", TO_SHARED, "%to")):
            after = f"ld.{space}.{bits} %d1, [{address}];"
            body = f"{prepare} atom.{space}.{op}.{type} %d0, [{address}], {values}; {after}"
            forms.append(
                Form(f"atom.{space}.{op}.{type}", body, (bits,) * 2, (bits,) * count,
                     (numbers,) * count, declarations=OWN_SHARED if prepare else "")
            )  # fmt: skip
            if op in ("cas", "exch"):
                continue
            body = f"{prepare} red.{space}.{op}.{type} [{address}], %a1; ld.{space}.{bits} %d0, [{address}];"
            forms.append(
                Form(f"red.{space}.{op}.{type}", body, (bits,), (bits,) * 2, (numbers,) * 2,
                     declarations=OWN_SHARED if prepare else "")
            )  # fmt: skip
    return forms + _vector_atomics() + _shared_sums()


def _vector_atomics() -> list[Form]:
    forms = []
    for type, bits, counts in (
        ("f32", "f32", (2, 4)),
        ("f16", "b16", (2, 4, 8)),
        ("bf16", "b16", (2, 4, 8)),
        ("f16x2", "b32", (2, 4)),
        ("bf16x2", "b32", (2, 4)),
    ):
        for count in counts:
            for op in ("add",) if type == "f32" else ("add", "min", "max"):
                noftz = "" if type == "f32" else ".noftz"
                packed = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
                values = "{" + ", ".join(f"%a{i}" for i in range(count)) + "}"
                name = f"red.global.v{count}.{op}{noftz}.{type}"
                # What is there first are the bytes of the first operand's slot.
                instruction = f"red.global.{op}{noftz}.v{count}.{type} [%cell], {values};"
                after = f"ld.global.v{min(count, 4)}.{bits} {packed}, [%cell];"
                if count == 8:
                    halves = [", ".join(f"%d{i}" for i in range(k, k + 4)) for k in (0, 4)]
                    after = (
                        f"ld.global.v4.b16 {{{halves[0]}}}, [%cell];"
                        f" ld.global.v4.b16 {{{halves[1]}}}, [%cell+8];"
                    )
                operands = (bits,) * count
                forms.append(
                    Form(name, f"{instruction} {after}", operands, operands, (type,) * count)
                )
    return forms


def _shared_sums() -> list[Form]:
    """All threads on one place, with operations whose order does not matter."""
    forms = []
    for op, type in (("add", "u32"), ("min", "s32"), ("max", "u64"), ("or", "b64"), ("xor", "b32"),
                     ("inc", "u32")):  # fmt: skip
        bits = register(type)
        clear = f"mov.u32 %to, own; mov.{bits} %d0, 0; setp.eq.u32 %more, %t, 0; @%more st.shared.{bits} [%to], %d0;"
        body = f"{clear} bar.sync 0; red.shared.{op}.{type} [%to], %a0; bar.sync 0; ld.shared.{bits} %d0, [%to];"
        forms.append(
            Form(f"red.shared.{op}.{type} by all threads", body, (bits,), (bits,), ("bits",),
                 declarations=OWN_SHARED)
        )  # fmt: skip
    return forms
