# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each pass changes in a matrix product, counted by the emulator.

    python examples/count_passes.py [SCHEDULE]

Each row of the first table is a kernel that was compiled with the passes up to this one
and with those that no kernel can do without; each row of the second is one compiled with all
passes but this one.
"""

import sys

import torch

from deplo.compilation import Options, compile_ir
from deplo.emulator import counters_of_package
from deplo.importer import import_program

SIZE = 128
SCHEDULE = "block=64x64,thread=8x4,chunk=16,stages=3"
# Before the first row, and wherever a kernel needs them.
NEEDED = ("select-schedule", "tileify", "chunk-matmul-k", "blockify-launch", "register-tile")
COUNTED = (
    "register-tile",
    "stage-inputs",
    "vectorize-access",
    "permute-register-tile",
    "double-buffer",
    "async-copy",
    "pad-smem",
    "pipeline-k-outer",
    "mark-unroll",
)
# In the order of the pipeline.
ORDER = (
    "select-schedule tileify chunk-matmul-k blockify-launch stage-inputs register-tile "
    "permute-register-tile double-buffer async-copy pad-smem pipeline-k-outer mark-unroll "
    "vectorize-access"
).split()
COLUMNS = {
    "global sectors": lambda c: c["global_sectors"],
    "shared wavefronts": lambda c: c["shared_wavefronts"],
    "conflict degree": lambda c: f"{c['conflict_degree']:.2f}",
    "barriers": lambda c: c["barriers"],
    "instructions": lambda c: c["warp_instructions"],
}


def pipeline(passes: set[str], schedule: str) -> str:
    """The passes in their order, as text."""
    modules = [f"deplo-select-schedule{{pin={schedule}}}", "deplo-tileify"]
    kernels = [f"deplo-{name}" for name in ORDER if name in passes][len(modules) :]
    return f"{','.join(modules)},tile.kernel(canonicalize,{','.join(kernels)})"


def count(loops: str, passes: set[str], schedule: str) -> list[str]:
    """What the emulator counts for a kernel of these passes."""
    options = Options(device="emu", passes=pipeline(passes, schedule), cache=False)
    ((_, counters),) = counters_of_package(compile_ir(loops, options).package)
    return [str(of(counters)) for of in COLUMNS.values()]


def show(title: str, rows: list[tuple[str, list[str]]]) -> None:
    for name, cells in [(title, list(COLUMNS)), *rows]:
        print(f"{name:22}" + "".join(f"{cell:>19}" for cell in cells))


def main(schedule: str) -> None:
    program = import_program(torch.matmul, [torch.empty(SIZE, SIZE) for _ in range(2)])
    loops = compile_ir(program.text, Options(level="loop", cache=False)).ir
    passes, rows = set(NEEDED), []
    for name in COUNTED:
        passes.add(name)
        rows.append((name, count(loops, passes, schedule)))
    show("with all up to", rows)
    print()
    show(
        "with all but",
        [(name, count(loops, passes - {name}, schedule)) for name in COUNTED if name not in NEEDED],
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else SCHEDULE)
