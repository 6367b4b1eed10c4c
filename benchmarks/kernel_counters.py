# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole kernels: the sectors, requests and wavefronts that a GPU counts, and the emulator's.

    ncu --csv --metrics METRICS python benchmarks/third_party.py run all >OUT.csv
    python benchmarks/kernel_counters.py metrics            the METRICS of it
    python benchmarks/kernel_counters.py digest OUT.csv     as JSON, of one line for a kernel
    python benchmarks/kernel_counters.py compare FILE.json

They are those of third_party.py. A GPU counts the machine code, the emulator the PTX.
"""

import argparse
import json
import sys
from pathlib import Path

import third_party
from access_counters import METRICS, print_entries, read_counts

STACK = "the GPU's code goes to the stack with generic addresses, which count as global memory"
MERGED = "ptxas makes one access of 16 bytes of four neighbours"
BARRIERS = "what waits for a memory barrier takes wavefronts, as often as it waits"
UNKNOWN = "the machine code has more or fewer accesses than the PTX; why is not known"
DIFFERENT = {
    "scan O0": UNKNOWN,
    "control O0": UNKNOWN,
    **{f"recursion, {case} {level}": STACK for case in ("calls", "sort") for level in ("O0", "O3")},
    **dict.fromkeys(
        ("gemm_tma", "gemm_cluster", "attention", "fp32 tf32x3 wgmma",
         "fp32 tf32x3 wgmma in clusters", "fp32 bf16x6 wgmma", "fp32 f16x3 wgmma"), BARRIERS
    ),
    **dict.fromkeys(
        ("fp32 f16x3 of pieces", "fp32 f16x3 of scaled pieces", "fp32 matrix and vector"), MERGED
    ),
}  # fmt: skip
"""The kernels of which some counters are not the same, and why."""
KINDS = {"ld": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store"}


def kind_of(text: str) -> str | None:
    """What an instruction's access to global memory counts as."""
    return "load" if text.startswith("cp.async.c") else KINDS.get(text.split(".")[0])


def digest(path: Path) -> dict[str, list[dict[str, int]]]:
    """Of each launch of each case, in order."""
    launches: dict[str, dict[str, int]] = {}
    for launch, kernel, counter, value in read_counts(path):
        if "at::" not in kernel:
            launches.setdefault(launch, {})[counter] = value
    found = list(launches.values())
    result = {}
    for name, make in third_party.CASES.items():
        count = len(make().launches)
        result[name], found = found[:count], found[count:]
    if found or not all(result.values()):
        raise SystemExit(f"the file has {len(launches)} launches, not one for each of the cases")
    return result


def counted(name: str) -> list[dict[str, int]]:
    """By the emulator."""
    result = []
    for outcome in third_party.emulate(third_party.CASES[name]()):
        counts = dict.fromkeys(
            ("load requests", "load sectors", "store requests", "store sectors", "load wavefronts",
             "store wavefronts"), 0,
        )  # fmt: skip
        for entry in outcome.counters["instructions"]:
            kind = kind_of(entry["text"])
            if kind and entry.get("sectors"):
                counts[f"{kind} requests"] += entry["requests"]
                counts[f"{kind} sectors"] += entry["sectors"]
            elif kind and entry.get("wavefronts"):
                counts[f"{kind} wavefronts"] += entry["wavefronts"]
        counts["instructions"] = outcome.counters["warp_instructions"]
        result.append(counts)
    return result


def differences(name: str, recorded: list[dict[str, int]]) -> dict[str, list[tuple[int, int]]]:
    """The counters that are not the same, but for instructions: of each launch, the GPU's and the
    emulator's."""
    wrong: dict[str, list[tuple[int, int]]] = {}
    for got, want in zip(counted(name), recorded, strict=True):
        for key, value in got.items():
            if key != "instructions" and value != want[key]:
                wrong.setdefault(key, []).append((want[key], value))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("metrics", "digest", "compare"))
    parser.add_argument("file", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.action == "metrics":
        print(",".join(METRICS))
    elif arguments.action == "digest":
        print_entries(digest(arguments.file))
    else:
        recorded = json.loads(arguments.file.read_text())
        wrong = {name: differences(name, recorded[name]) for name in recorded}
        for name, counters in wrong.items():
            for key, values in counters.items():
                print(f"{name}: {key} (GPU, emulator): {values}")
        return 1 if any(wrong.values()) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
