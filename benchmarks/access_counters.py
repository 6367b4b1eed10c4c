# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access patterns: the sectors and wavefronts that a GPU counts, and the emulator's.

    ncu --csv --metrics METRICS python benchmarks/access_counters.py run >OUT.csv
    python benchmarks/access_counters.py metrics            the METRICS of it
    python benchmarks/access_counters.py digest OUT.csv     as JSON, of one line for a kernel
    python benchmarks/access_counters.py compare FILE.json

Each kernel has one access of shared or global memory that is counted, by two warps.
"""

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from instruction_forms import HEADER

THREADS = 64
METRICS = {
    "smsp__inst_executed.sum": "instructions",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "load wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "store wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "load conflicts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "store conflicts",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "load requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "load sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "store requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "store sectors",
}


@dataclass(frozen=True)
class Pattern:
    """Attributes:
    stride: bytes from a thread's access to the next one's.
    offset: bytes, of the first.
    """

    space: str
    access: str
    bytes: int
    stride: int
    offset: int = 0

    @property
    def name(self) -> str:
        offset = f"_from_{self.offset}" if self.offset else ""
        return f"{self.space}_{self.access}_{self.bytes}_every_{self.stride}{offset}"

    def kernel(self) -> str:
        """Loads are stored to where the thread's own 16 bytes of the output are."""
        vector = {4: "b32", 8: "v2.b32", 16: "v4.b32"}.get(self.bytes, f"u{8 * self.bytes}")
        count = max(self.bytes // 4, 1)
        registers = ", ".join(f"%w{i}" for i in range(count))
        value = f"{{{registers}}}" if count > 1 else registers
        lines = [
            f".visible .entry {self.name}(.param .u64 in, .param .u64 out)",
            "{ .reg .b64 %in, %out, %at; .reg .b32 %t, %to, %w<4>; .reg .b32 %i;",
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;",
            f"mul.lo.u32 %to, %t, {self.stride}; add.u32 %to, %to, {self.offset};",
            "cvt.u64.u32 %at, %to;",
            *(f"add.u32 %w{i}, %t, {i};" for i in range(count)),
        ]
        if self.space == "shared":
            lines.append(
                ".shared .align 128 .b8 tile[16384]; mov.u32 %i, tile; add.u32 %to, %to, %i;"
            )
            address = "%to"
        else:
            base = "%in" if self.access != "st" else "%out"
            lines.append(f"add.u64 %at, %at, {base};")
            address = "%at"
        if self.access == "st":
            # Volatile: what nobody reads would be left out.
            lines.append(f"st.volatile.{self.space}.{vector} [{address}], {value};")
        elif self.access == "ldmatrix":
            lines.append(f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {value}, [{address}];")
        else:
            lines.append(f"ld.volatile.{self.space}.{vector} {value}, [{address}];")
        if self.access != "st":
            lines.append("mad.wide.u32 %out, %t, 16, %out;")
            lines += [f"st.global.b32 [%out+{4 * i}], %w{i};" for i in range(count)]
        return "\n".join([*lines, "ret; }"])


def patterns() -> list[Pattern]:
    result = []
    for access in ("ld", "st"):
        for bytes, strides in (
            (1, (1, 2, 4, 32)),
            (2, (2, 4, 64)),
            (4, (0, 4, 8, 12, 16, 32, 64, 128, 132)),
            (8, (8, 16, 24, 64, 128, 136)),
            (16, (16, 32, 48, 64, 128, 144)),
        ):
            for stride in strides:
                if stride or access == "ld":
                    result += [
                        Pattern(space, access, bytes, stride) for space in ("shared", "global")
                    ]
        result += [Pattern("global", access, 4, 4, offset) for offset in (4, 16, 64)]
        result.append(Pattern("global", access, 16, 16, 16))
    return result + [Pattern("shared", "ldmatrix", 16, stride) for stride in (16, 32, 64, 128, 144)]


def module() -> str:
    return HEADER + "\n".join(pattern.kernel() for pattern in patterns())


def buffers() -> list[torch.Tensor]:
    return [torch.zeros(16384 + 512, dtype=torch.uint8) for _ in range(2)]


def run() -> None:
    from gpu import Gpu

    gpu = Gpu()
    loaded = gpu.load(module().encode())
    for pattern in patterns():
        gpu.run(loaded, pattern.name, grid=1, block=THREADS, arguments=buffers())


def read_counts(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Of ncu's table: a launch's number, its kernel, a counter of METRICS and its value."""
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    for row in csv.DictReader(lines[start:]):
        if counter := METRICS.get(row["Metric Name"]):
            value = int(float(row["Metric Value"].replace(",", "")))
            yield row["ID"], row["Kernel Name"], counter, value


def print_entries(entries: dict[str, Any]) -> None:
    """As JSON, of one line for each."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items())
    print("{\n" + lines + "\n}")


def digest(path: Path) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    names = {pattern.name for pattern in patterns()}
    for _, kernel, counter, value in read_counts(path):
        if kernel in names:
            result.setdefault(kernel, {})[counter] = value
    return result


def counted(pattern: Pattern) -> dict[str, int]:
    """By the emulator, of the one instruction."""
    from deplo.emulator import Emulation

    outcome = Emulation(HEADER + pattern.kernel()).run(
        pattern.name, grid=1, block=THREADS, arguments=buffers(), races=False, uninitialized=False
    )
    if outcome.findings:
        raise SystemExit(outcome.findings[0])
    entry = next(
        entry
        for entry in outcome.counters["instructions"]
        if "volatile" in entry["text"] or "ldmatrix" in entry["text"]
    )
    return {key: entry.get(key, 0) for key in ("requests", "sectors", "wavefronts")}


def difference(pattern: Pattern, recorded: dict[str, int]) -> str | None:
    kind = "store" if pattern.access == "st" else "load"
    got = counted(pattern)
    if pattern.space == "global":
        want = {key: recorded[f"{kind} {key}"] for key in ("requests", "sectors")}
    else:
        want = {"wavefronts": recorded[f"{kind} wavefronts"]}
    if any(got[key] != value for key, value in want.items()):
        return f"{pattern.name}: the GPU counts {want}, the emulator {got}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("run", "metrics", "digest", "compare"))
    parser.add_argument("file", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.action == "run":
        run()
    elif arguments.action == "metrics":
        print(",".join(METRICS))
    elif arguments.action == "digest":
        print_entries(digest(arguments.file))
    else:
        recorded = json.loads(arguments.file.read_text())
        texts = [
            text
            for pattern in patterns()
            if (text := difference(pattern, recorded.get(pattern.name, {})))
        ]
        print("\n".join(texts))
        return 1 if texts else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
