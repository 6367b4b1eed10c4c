# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables for people: what a compilation decided, targets, timings."""

import io
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

# The order of a compilation; JSON objects come sorted by name.
_STAGES = ("graph", "tensor", "loop", "tile", "kernel", "llvm", "ptx", "ptxas", "sass")
# Wide enough that nothing is cut where output isn't a terminal.
_PLAIN_WIDTH = 200


def count(value: float | None, unit: str = "") -> str:
    """A number with three digits and a decimal prefix: 1.05 M."""
    if value is None:
        return "-"
    for prefix in ("", "k", "M", "G", "T"):
        if abs(value) < 1000 or prefix == "T":
            digits = f"{value:.4g}" if prefix or value != int(value) else str(int(value))
            return f"{digits} {prefix}{unit}".rstrip()
        value /= 1000
    raise AssertionError


def render(*tables: Table) -> str:
    """Tables as plain text."""
    text = io.StringIO()
    console = Console(file=text, width=_PLAIN_WIDTH, force_terminal=False, color_system=None)
    for table in tables:
        console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first column is a name and the others numbers or text."""
    table = Table(title=title, box=box.ASCII2, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _extent(sizes: Sequence[int | None] | None) -> str:
    return " x ".join(str(size) for size in sizes) if sizes and None not in sizes else "-"


def _plain(value: Any) -> str:
    return "-" if value is None else str(value)


def kernel_facts(kernel: dict[str, Any]) -> list[tuple[str, str]]:
    """Every fact about one kernel as (what, value), in the order of DESIGN."""

    def counted(key: str, unit: str = "") -> str:
        """A number, or, where it depends on sizes of the call, how."""
        formula = kernel.get(f"{key}_formula")
        return f"{formula} {unit}".rstrip() if formula else count(kernel.get(key), unit)

    is_symbolic = bool(kernel.get("flops_formula"))
    intensity = f"{kernel.get('intensity', 0.0):.3g} operations a byte"
    moved = []
    for buffer in kernel.get("traffic", []):
        total = count(buffer["bytes_read"] + buffer["bytes_written"], "B")
        moved.append(f"{buffer['name'] or 'a temporary'} {total}")
    occupancy = kernel.get("occupancy")
    most = kernel.get("most_blocks")
    prepared = kernel.get("prepared_launches", 0)
    kept = f"{prepared} for all calls, {count(kernel.get('prepared_bytes'), 'B')} are kept"
    return [
        *([("prepared launches", kept)] if prepared else []),
        ("bytes read", counted("bytes_read", "B")),
        ("bytes written", counted("bytes_written", "B")),
        ("moved by buffer", ", ".join(moved) or "-"),
        ("operations", counted("flops")),
        ("intensity", "-" if is_symbolic else intensity),
        ("bound by", _plain(kernel.get("bound"))),
        ("roofline", f"{kernel['roofline_us']:.3g} us" if kernel.get("roofline_us") else "-"),
        ("schedule", _plain(kernel.get("schedule"))),
        ("because", _plain(kernel.get("schedule_reason"))),
        ("grid", f"at most {most} blocks" if most else _extent(kernel.get("grid"))),
        ("block", _extent(kernel.get("block"))),
        ("registers a thread", _plain(kernel.get("registers"))),
        ("spilled", count(kernel.get("spill_bytes"), "B")),
        ("shared memory a block", count(kernel.get("shared_bytes"), "B")),
        ("blocks an SM", _plain(kernel.get("blocks_per_sm"))),
        ("occupancy", "-" if occupancy is None else f"{occupancy:.0%}"),
    ]


def shares(kernels: Sequence[dict[str, Any]]) -> Table:
    """Every kernel on a line: what a launch moves, its roofline, how many launches there are,
    and their share of the sum."""
    times = [kernel.get("roofline_us") for kernel in kernels]
    launches = [kernel.get("launches", 1) for kernel in kernels]
    prepared = [kernel.get("prepared_launches", 0) for kernel in kernels]
    total = sum((time or 0.0) * number for time, number in zip(times, launches, strict=True))
    rows = [
        (
            kernel["name"],
            kernel_bytes(kernel),
            f"{time:.3g}" if time else "-",
            f"{number} + {once} prepared" if once else str(number),
            f"{time * number / total:.1%}" if time and total else "-",
        )
        for kernel, time, number, once in zip(kernels, times, launches, prepared, strict=True)
    ]
    return grid("kernels", ("name", "bytes moved", "roofline us", "launches", "share"), rows)


def kernel_bytes(kernel: dict[str, Any]) -> str:
    """What a kernel reads and writes together, or, where sizes of the call decide, how."""
    keys = ("bytes_read", "bytes_written")
    formulas = [kernel.get(f"{key}_formula") for key in keys]
    if any(formulas):
        return " + ".join(f or str(kernel[key]) for f, key in zip(formulas, keys, strict=True))
    known = [kernel.get(key) for key in keys]
    return count(None if None in known else sum(known), "B")


def explain_text(report: dict[str, Any]) -> str:
    """What was fused and why, the kernels' shares where there are several, one table for each
    kernel, and the compiler's own times."""
    tables = []
    if decisions := report.get("fusion", []):
        table = Table(title="fusion", box=box.ASCII2, title_justify="left")
        for column in ("step", "decision", "why"):
            table.add_column(column, overflow="fold")
        for decision in decisions:
            word = "fused" if decision["fused"] else "not fused"
            table.add_row(decision["step"], word, decision["text"])
        tables.append(table)
    kernels = report.get("kernels", [])
    if len(kernels) > 1:
        tables.append(shares(kernels))
    if once := sum(kernel.get("prepared_launches", 0) for kernel in kernels):
        kept = sum(kernel.get("prepared_bytes", 0) for kernel in kernels)
        row = (f"launches: {once}", count(kept, "B"))
        tables.append(grid("prepared", ("once for all calls", "memory that is kept"), [row]))
    for kernel in kernels:
        table = Table(title=f"kernel {kernel['name']}", box=box.ASCII2, title_justify="left")
        table.add_column("what")
        table.add_column("value", overflow="fold")
        for what, value in kernel_facts(kernel):
            table.add_row(what, value)
        tables.append(table)
    times = report.get("timings_ms", {})
    if times:
        stages = sorted(times, key=lambda stage: _STAGES.index(stage) if stage in _STAGES else 99)
        rows = [(stage, f"{times[stage]:.2f}") for stage in stages]
        tables.append(grid("time to compile", ("stage", "ms"), rows))
    return render(*tables)


# Column -> (field, unit; None for a plain number or text).
_TARGET_COLUMNS = {
    "target": ("chip", None),
    "product": ("product", None),
    "SMs": ("multiprocessors", None),
    "memory": ("dram_bytes_per_second", "B/s"),
    "f32": ("f32_flops_per_second", "FLOP/s"),
    "L2": ("l2_bytes", "B"),
    "shared memory a block": ("shared_per_block", "B"),
    "registers an SM": ("registers_per_multiprocessor", None),
    "warps an SM": ("warps_per_multiprocessor", None),
}


# What the emulator counted, as (name, key of the counters).
_COUNTERS = (
    ("warp instructions", "warp_instructions"),
    ("thread instructions", "thread_instructions"),
    ("global bytes loaded", "global_load_bytes"),
    ("global bytes stored", "global_store_bytes"),
    ("global sectors", "global_sectors"),
    ("coalescing (1 is ideal)", "coalescing"),
    ("shared bytes", "shared_bytes"),
    ("shared wavefronts", "shared_wavefronts"),
    ("bank conflict degree (1 is none)", "conflict_degree"),
    ("local bytes", "local_bytes"),
    ("barriers", "barriers"),
    ("divergent branches", "divergent_branches"),
    ("tensor operations", "tensor_operations"),
)


def counters_text(kernels: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """What each kernel did on the emulator, one table each."""
    tables = []
    for name, counters in kernels:
        rows = [(what, str(counters[key])) for what, key in _COUNTERS]
        widths = sorted(
            {entry["access_bytes"] for entry in counters["instructions"] if entry.get("sectors")}
        )
        rows.append(("bytes of a thread's global access", ", ".join(map(str, widths)) or "-"))
        tables.append(grid(f"kernel {name} on the emulator", ("what", "count"), rows))
    return render(*tables)


def targets_text(targets: Sequence[dict[str, Any]]) -> str:
    """A row for each target."""
    rows = [
        [
            _plain(target.get(field)) if unit is None else count(target.get(field), unit)
            for field, unit in _TARGET_COLUMNS.values()
        ]
        for target in targets
    ]
    return render(grid("targets", list(_TARGET_COLUMNS), rows))
