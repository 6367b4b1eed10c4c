# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each pass changes in a matrix product, counted by the emulator.

    python examples/count_passes.py [float32|bfloat16 [SCHEDULE]]

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
SCHEDULES = {
    "float32": "block=64x64,thread=8x4,chunk=16,stages=3",
    "bfloat16": "atom=mma_sync,block=64x64,chunk=32,stages=3",
}
# In the order of the pipeline; those of float32 are FFMA's, those of bfloat16 tensor cores'.
ORDER = {
    "float32": "select-schedule tileify chunk-matmul-k blockify-launch stage-inputs "
    "register-tile permute-register-tile double-buffer async-copy pad-smem pipeline-k-outer "
    "mark-unroll vectorize-access",
    "bfloat16": "select-schedule tileify chunk-matmul-k blockify-launch stage-inputs tensorize "
    "register-tile widen-stores double-buffer async-copy swizzle-smem pipeline-k-outer "
    "prefetch-fragments mark-unroll vectorize-access",
}
# Before the first row, and wherever a kernel needs them.
NEEDED = "select-schedule tileify chunk-matmul-k blockify-launch tensorize register-tile".split()
COLUMNS = {
    "global sectors": lambda c: c["global_sectors"],
    "shared wavefronts": lambda c: c["shared_wavefronts"],
    "conflict degree": lambda c: f"{c['conflict_degree']:.2f}",
    "barriers": lambda c: c["barriers"],
    "instructions": lambda c: c["warp_instructions"],
}


def pipeline(passes: list[str], schedule: str) -> str:
    """Passes as text: the first two are of a module, the others of a kernel."""
    _, _, *kernels = passes
    names = ",".join(f"deplo-{name}" for name in kernels)
    select = f"deplo-select-schedule{{pin={schedule}}}"
    return f"{select},deplo-tileify,tile.kernel(canonicalize,{names})"


def count(loops: str, passes: list[str], schedule: str) -> list[str]:
    """What the emulator counts for a kernel of these passes."""
    options = Options(device="emu", passes=pipeline(passes, schedule), cache=False)
    ((_, counters),) = counters_of_package(compile_ir(loops, options).package)
    return [str(of(counters)) for of in COLUMNS.values()]


def show(title: str, rows: list[tuple[str, list[str]]]) -> None:
    for name, cells in [(title, list(COLUMNS)), *rows]:
        print(f"{name:22}" + "".join(f"{cell:>19}" for cell in cells))


def main(dtype: str, schedule: str) -> None:
    inputs = [torch.empty(SIZE, SIZE, dtype=getattr(torch, dtype)) for _ in range(2)]
    text = import_program(torch.matmul, inputs).text
    loops = compile_ir(text, Options(level="loop", cache=False)).ir
    order = ORDER[dtype].split()
    steps = [name for name in order if name not in NEEDED]
    # Accesses are as wide as they can be from the first row on.
    steps.insert(1, steps.pop())

    def counted(without: list[str]) -> list[str]:
        return count(loops, [name for name in order if name not in without], schedule)

    rows = [("none", counted(steps))]
    rows += [(name, counted(steps[i + 1 :])) for i, name in enumerate(steps)]
    show("with all up to", rows)
    print()
    show("with all but", [(name, counted([name])) for name in steps])


if __name__ == "__main__":
    dtype = sys.argv[1] if len(sys.argv) > 1 else "float32"
    main(dtype, sys.argv[2] if len(sys.argv) > 2 else SCHEDULES[dtype])
