# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times schedules of matrix products against PyTorch, values checked first.

A case is ROWSxCOLUMNSxDEPTH:LAYOUT:DTYPE, with the layout of the weights `kn` or
`nk`; the schedules that follow it are pins as --schedule takes them, `-` for none,
behind a precision and a colon where that isn't the default; `+prepared` behind the
precision has what depends on the weights alone computed once. All run in CUDA graphs of
calls whose weights are not in L2.

  contractions.py 512x2048x2048:kn:f32 - split_k=2 ieee:- f32:atom=wgmma f32+prepared:-
"""

import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch

import deplo
from deplo.compilation import Options
from deplo.compiler import CompiledFunction, default_target
from deplo.importer import ImportedProgram, import_program
from deplo.runtime import Executable
from harness.cases import DTYPES
from harness.contenders import Deplo, PyTorch
from harness.errors import is_right, relative_error
from harness.roofline import least_us

# What rotates through L2 between two calls on the same weights.
ROTATED_BYTES = 300 << 20
SAMPLE_US = 1500.0
ROUNDS = 5


@dataclass
class Case:
    text: str
    schedules: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        sizes, self.layout, self.dtype = self.text.split(":")
        self.rows, self.columns, self.depth = (int(size) for size in sizes.split("x"))

    def inputs(self, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
        shape = (self.depth, self.columns) if self.layout == "kn" else (self.columns, self.depth)
        dtype = DTYPES[self.dtype]
        x = torch.randn(self.rows, self.depth, device=device).to(dtype)
        return x, torch.randn(*shape, device=device).to(dtype)

    def function(self):
        if self.layout == "kn":
            return torch.matmul
        return torch.nn.functional.linear


class Weighted(torch.nn.Module):
    """The product of its input and a weight."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.product = case.function()
        self.register_buffer("weight", case.inputs()[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(x, self.weight)


def split_schedule(schedule: str) -> tuple[str, bool, str]:
    """The precision, whether weights are prepared, and the pins."""
    mode, _, pins = schedule.rpartition(":")
    precision, _, prepared = mode.partition("+")
    return precision or "f32", prepared == "prepared", "" if pins == "-" else pins


class Scheduled(Deplo):
    """A program that was imported before, under one schedule."""

    def __init__(self, program: ImportedProgram, schedule: str) -> None:
        precision, prepared, pins = split_schedule(schedule)
        options = Options(
            device="cuda",
            target=default_target(),
            schedule=pins,
            precision=precision,
            prepare_weights=prepared,
        )
        self.compiled = CompiledFunction(program, options, "cuda:0")
        self.executable = Executable(self.compiled.package, self.compiled.device)


def cases(arguments: list[str]) -> list[Case]:
    found: list[Case] = []
    for argument in arguments:
        if argument.count(":") == 2:
            found.append(Case(argument))
        else:
            found[-1].schedules.append(argument)
    return found


def graph(calls) -> torch.cuda.CUDAGraph:
    for call in calls[:2]:
        call()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for call in calls:
            call()
    return captured


def time_us(calls) -> float:
    """The median time of a call, all of them in turn."""

    def sample(captured, count: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        captured.replay()
        begin.record()
        captured.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    first = sample(graph(calls[:2]), 2)
    count = max(2, min(200, int(SAMPLE_US / first)))
    many = [calls[i % len(calls)] for i in range(count)]
    captured = graph(many)
    return statistics.median(sample(captured, count) for _ in range(ROUNDS))


def least_time(case: Case, tensors: Sequence[torch.Tensor], schedule: str) -> float:
    """What the GPU takes at least for a call that reads and writes `tensors`, in
    microseconds; what is timed below that is no time."""
    moved = sum(tensor.numel() for tensor in tensors) * tensors[0].element_size()
    flops = 2.0 * case.rows * case.columns * case.depth
    precision, _, _ = split_schedule(schedule)
    return least_us(moved, flops, case.dtype, default_target(), precision=precision)


def main(arguments: list[str]) -> None:
    pool = ThreadPoolExecutor(14)
    compiled = []
    for case in cases(arguments):
        program = import_program(Weighted(case), case.inputs()[:1])
        compiled.append((case, [pool.submit(Scheduled, program, s) for s in case.schedules]))
    for case, futures in compiled:
        x, w = case.inputs()
        count = max(1, min(40, ROTATED_BYTES // (w.numel() * w.element_size())))
        sets = [(x, w)] + [(x, w.clone()) for _ in range(count - 1)]
        eager = PyTorch(case.function())
        want = case.function()(x.double(), w.double())
        peer = relative_error(eager.checked_run((x, w)), want)
        eager_us = time_us(eager.calls(sets))
        tera = 2e-6 * case.rows * case.columns * case.depth
        gigabytes = 1e-3 * w.numel() * w.element_size()
        print(
            f"{case.text:28} eager {eager_us:9.2f} us {tera / eager_us:6.1f} TF "
            f"{gigabytes / eager_us:6.0f} GB/s error {peer:.1e}"
        )
        for schedule, future in zip(case.schedules, futures, strict=True):
            try:
                mine = future.result()
            except deplo.Error as error:
                print(f"    {schedule}: {str(error)[:160]}")
                continue
            error = relative_error(mine.checked_run((x, w)), want)
            if not is_right(error, peer, case.dtype):
                print(f"    {schedule}: wrong, error {error:.2e}")
                continue
            us = time_us(mine.calls(sets))
            least = least_time(case, (x, w, want), schedule)
            if us < least:
                print(f"    {schedule}: refused, {us:.2f} us is less than {least:.2f} us")
                continue
            kernels = [k["schedule"][15:-1] for k in mine.compiled.report["kernels"]]
            print(
                f"    {eager_us / us:5.2f}x {us:9.2f} us {tera / us:6.1f} TF "
                f"{gigabytes / us:6.0f} GB/s error {error:.1e} {schedule:24} "
                f"{'; '.join(kernels)}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
