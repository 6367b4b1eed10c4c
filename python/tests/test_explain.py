# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of `--explain` and `show-targets`."""

import pytest
import torch

from deplo.compilation import Options, compile_ir
from deplo.explain import count, explain_text, targets_text
from deplo.importer import import_program

KERNEL = {
    "name": "rms_norm_2048",
    "bytes_read": 270336,
    "bytes_written": 262144,
    "traffic": [
        {"name": "x", "bytes_read": 262144, "bytes_written": 0},
        {"name": "y", "bytes_read": 0, "bytes_written": 262144},
    ],
    "flops": 262208,
    "intensity": 0.4924,
    "bound": "memory",
    "roofline_us": 0.1109,
    "schedule": "warps = 8, vector = 4",
    "schedule_reason": "one row a block",
    "grid": [32, 1, 1],
    "block": [256, 1, 1],
    "registers": 24,
    "shared_bytes": 32,
    "spill_bytes": 0,
    "occupancy": 1.0,
    "blocks_per_sm": 8,
}


def rows(text):
    cells = (line.split("|") for line in text.splitlines() if line.startswith("|"))
    return {cell[1].strip(): cell[2].strip() for cell in cells}


def test_every_fact_is_there():
    text = explain_text({"kernels": [KERNEL], "timings_ms": {"ptx": 9.0, "tile": 1.5}})
    assert "kernel rms_norm_2048" in text
    facts = rows(text)
    assert facts["bytes read"] == "270.3 kB"
    assert facts["moved by buffer"] == "x 262.1 kB, y 262.1 kB"
    assert facts["operations"] == "262.2 k"
    assert facts["intensity"] == "0.492 operations a byte"
    assert facts["bound by"] == "memory"
    assert facts["roofline"] == "0.111 us"
    assert facts["schedule"] == "warps = 8, vector = 4"
    assert facts["because"] == "one row a block"
    assert facts["grid"] == "32 x 1 x 1"
    assert facts["registers a thread"] == "24"
    assert facts["spilled"] == "0 B"
    assert facts["shared memory a block"] == "32 B"
    assert facts["occupancy"] == "100%"
    assert facts["tile"] == "1.50"
    assert list(facts).index("tile") < list(facts).index("ptx")


def test_shares_of_several_kernels():
    other = {**KERNEL, "name": "other", "bytes_read": 737856, "roofline_us": 0.1109, "launches": 3}
    unknown = {**other, "name": "unknown", "roofline_us": None, "bytes_read_formula": "4 * rows"}
    lines = explain_text({"kernels": [KERNEL, other, unknown]}).splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "kernels")
    assert [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start + 4 : start + 7]
    ] == [
        ["rms_norm_2048", "532.5 kB", "0.111", "1", "25.0%"],
        ["other", "1 MB", "0.111", "3", "75.0%"],
        ["unknown", "4 * rows + 262144", "-", "3", "-"],
    ]
    assert "\nkernels\n" not in "\n" + explain_text({"kernels": [KERNEL]})


def test_what_was_fused_and_why():
    decisions = [
        {"step": "fuse_vertical", "fused": True, "text": "a and b in @k: 8 bytes instead of 16"},
        {"step": "fuse_vertical", "fused": False, "text": "b (@k) and c (@l): it doesn't pay"},
    ]
    text = explain_text({"fusion": decisions})
    lines = [
        [cell.strip() for cell in line.split("|")[1:4]] for line in text.splitlines() if "@" in line
    ]
    assert lines == [
        ["fuse_vertical", "fused", "a and b in @k: 8 bytes instead of 16"],
        ["fuse_vertical", "not fused", "b (@k) and c (@l): it doesn't pay"],
    ]


def test_unknown_facts_are_dashes():
    facts = rows(
        explain_text(
            {"kernels": [{**KERNEL, "registers": None, "occupancy": None, "grid": [None, 1, 1]}]}
        )
    )
    assert facts["registers a thread"] == "-" and facts["occupancy"] == "-"
    assert facts["grid"] == "-"


def test_grids_of_a_call_have_an_end():
    kernel = {**KERNEL, "grid": [None, 1, 1], "most_blocks": 132}
    assert rows(explain_text({"kernels": [kernel]}))["grid"] == "at most 132 blocks"


def test_nothing_to_explain():
    assert explain_text({}) == ""


@pytest.mark.parametrize(
    "value,text",
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1536, "1.536 kB"),
        (2.5e6, "2.5 MB"),
        (3e15, "3000 TB"),
        (None, "-"),
    ],
)
def test_counts(value, text):
    assert count(value, "B") == text


def test_targets():
    target = {
        "chip": "sm_90a",
        "product": "H200 SXM",
        "multiprocessors": 132,
        "dram_bytes_per_second": 4800000000000,
        "f32_flops_per_second": 67000000000000,
        "l2_bytes": 52428800,
        "shared_per_block": 232448,
        "registers_per_multiprocessor": 65536,
        "warps_per_multiprocessor": 64,
    }
    lines = targets_text([target, {"chip": "sm_80"}]).splitlines()
    assert [cell.strip() for cell in lines[4].split("|")][1:-1] == [
        *("sm_90a", "H200 SXM", "132", "4.8 TB/s", "67 TFLOP/s", "52.43 MB", "232.4 kB"),
        *("65536", "64"),
    ]
    assert "sm_80" in lines[5] and "132" not in lines[5]


def test_what_depends_on_sizes_is_a_formula():
    formulas = {
        "bytes_read_formula": "1200 * rows + 1200",
        "bytes_written_formula": "4 * rows",
        "flops_formula": "600 * rows",
    }
    facts = rows(explain_text({"kernels": [{**KERNEL, **formulas}]}))
    assert facts["bytes read"] == "1200 * rows + 1200 B"
    assert facts["bytes written"] == "4 * rows B"
    assert facts["operations"] == "600 * rows"
    assert facts["intensity"] == "-"


def test_parts_of_a_sum_have_their_share(compiler):
    """What kernels do that a schedule makes of one: the parts multiply, the last one adds."""
    m, n, k, parts = 32, 5632, 2048, 16
    program = import_program(lambda a, b: a @ b, (torch.empty(m, k), torch.empty(k, n)))
    options = Options(precision="ieee", schedule=f"split_k={parts}", ptxas=False)
    kernels = {kernel["name"]: kernel for kernel in compile_ir(program.text, options).kernels}
    (multiplies,) = (kernel for name, kernel in kernels.items() if name.endswith("_parts"))
    (adds,) = (kernel for name, kernel in kernels.items() if not name.endswith("_parts"))
    assert multiplies["flops"] == 2 * m * n * k
    assert multiplies["bytes_read"] == 4 * (m * k + k * n)
    assert multiplies["bytes_written"] == adds["bytes_read"] == 4 * m * n * parts
    assert adds["bytes_written"] == 4 * m * n
    assert multiplies["roofline_us"] > adds["roofline_us"]
    assert {buffer["name"] for buffer in multiplies["traffic"]} == {"a", "b", ""}
    for kernel in (multiplies, adds):
        assert kernel["schedule_reason"].startswith(f"sums of {k} products in {parts} parts")


REASONS = {
    "fma": (torch.float32, "ieee", "8x8 in each of"),
    "mma_sync": (torch.bfloat16, "ieee", "warps by mma.sync"),
    "wgmma": (torch.bfloat16, "ieee", "warps by wgmma"),
}


@pytest.mark.parametrize("atom", REASONS)
def test_what_limits_a_product_is_said(atom, compiler):
    dtype, precision, text = REASONS[atom]
    program = import_program(torch.matmul, [torch.empty(4096, 4096, dtype=dtype)] * 2)
    options = Options(
        target="sm_90a", schedule=f"atom={atom},split_k=1", precision=precision, ptxas=False
    )
    (kernel,) = (k for k in compile_ir(program.text, options).kernels if "matmul" in k["name"])
    assert text in kernel["schedule_reason"]
    assert " limited by " in kernel["schedule_reason"]


def test_pieces_have_their_share(compiler):
    """Kernels that write the pieces of operands are no part of what reads them."""
    size = 2048
    program = import_program(torch.matmul, [torch.empty(size, size)] * 2)
    options = Options(target="sm_90a", schedule="atom=wgmma,pieces=memory", ptxas=False)
    kernels = compile_ir(program.text, options).kernels
    pieces = [kernel for kernel in kernels if kernel["name"].startswith("pieces")]
    assert pieces
    for kernel in pieces:
        assert kernel["bytes_read"] == 4 * size * size
        assert kernel["bytes_written"] == 3 * 2 * size * size
    assert sum(kernel["flops"] >= 2 * size**3 for kernel in kernels) == 1
    assert all(kernel["roofline_us"] > 0 for kernel in kernels)
