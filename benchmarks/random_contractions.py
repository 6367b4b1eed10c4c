# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random contractions under random schedules, values checked against float64.

  random_contractions.py [--count 1000] [--seed 0] [--device cuda|emu]
                         [--target sm_90a] [--most 2049] [--show-refused]

Each case is a function of the seed and its number: sizes, layouts, dtype, precision,
what is fused to the product, and a schedule, chosen by the model or drawn. Cases run in
processes of their own: one that hangs or crashes is a failure of that case alone. A
drawn schedule may be refused; one that the model chooses may not. The exit code is 0 if
all cases are right or refused.
"""

import argparse
import random
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context

import torch
import torch.nn.functional as F

import deplo
from harness.cases import DTYPES
from harness.errors import is_right, relative_error

SIZES = (1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 256, 300, 513, 1000, 2049)
FORMS = {
    "product": lambda x, w, v, b, r: x @ w,
    "bias and gelu": lambda x, w, v, b, r: F.gelu(x @ w + b),
    "residual": lambda x, w, v, b, r: r + x @ w,
    "gate": lambda x, w, v, b, r: F.silu(x @ w) * (x @ v),
    "norm before": lambda x, w, v, b, r: F.rms_norm(x, x.shape[-1:]) @ w,
    "two results": lambda x, w, v, b, r: (x @ w, (x @ v).relu()),
}
# How far a factor is rounded.
PRECISIONS = {"ieee": 0.0, "f32": 0.0, "tf32": 2**-11}


@dataclass
class Case:
    """One contraction: what to compute, on what, and under which schedule."""

    number: int
    batch: int  # 0: none
    is_shared: bool  # the weights, by all of the batch
    rows: int
    columns: int
    depth: int
    dtype: str
    precision: str
    form: str
    is_transposed: tuple[bool, bool]  # x, w
    gap: tuple[int, int]  # elements between lines, before the first
    schedule: str

    @staticmethod
    def draw(seed: int, number: int, most: int) -> "Case":
        r = random.Random(f"{seed}:{number}")
        sizes = [size for size in SIZES if size <= most]
        dtype = r.choice(("f32", "bf16", "bf16", "f16"))
        precision = r.choice(tuple(PRECISIONS)) if dtype == "f32" else "ieee"
        batch, rows, columns, depth = (
            r.choice((0, 0, 0, 0, 0, 3)),
            *(r.choice(sizes) for _ in range(3)),
        )
        is_f32 = dtype == "f32" and precision == "ieee"
        is_shared = r.random() < 0.5
        # A batch that shares the weights is more rows.
        outer = "1x" if batch and not is_shared else ""
        schedule = (
            "" if r.random() < 0.4 else draw_schedule(r, outer, min(rows, columns, depth), is_f32)
        )
        return Case(
            number,
            batch,
            is_shared,
            rows,
            columns,
            depth,
            dtype,
            precision,
            r.choice(tuple(FORMS)),
            (r.random() < 0.2, r.random() < 0.5),
            r.choice(((0, 0), (0, 0), (1, 0), (3, 1), (8, 8))),
            schedule,
        )

    def inputs(self, device: str) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(self.number)
        batch = [self.batch] if self.batch else []

        def draw(*shape: int, is_transposed: bool = False) -> torch.Tensor:
            *outer, lines, line = (*shape[:-2], *reversed(shape[-2:])) if is_transposed else shape
            pitch, start = line + self.gap[0], self.gap[1]
            wide = torch.randn(*outer, lines, pitch + start, generator=generator)
            part = wide.to(DTYPES[self.dtype]).to(device)[..., start : start + line]
            return part.mT if is_transposed else part

        x = draw(*batch, self.rows, self.depth, is_transposed=self.is_transposed[0])
        of_weights = [] if self.is_shared else batch
        w, v = (
            draw(*of_weights, self.depth, self.columns, is_transposed=self.is_transposed[1])
            for _ in range(2)
        )
        return [x, w, v, draw(1, self.columns), draw(*batch, self.rows, self.columns)]

    def __str__(self) -> str:
        shared = " of one w" if self.is_shared else ""
        batch = f"{self.batch}{shared} x " if self.batch else ""
        layout = "".join("t" if transposed else "n" for transposed in self.is_transposed)
        return (
            f"{self.number}: {self.form}, {batch}{self.rows}x{self.columns}x{self.depth}:{layout}:"
            f"{self.dtype}, precision {self.precision}, gap {self.gap}, "
            f"schedule {self.schedule or 'of the model'}"
        )


def draw_schedule(r: random.Random, outer: str, least: int, is_f32: bool) -> str:
    """Pins for some decisions; of a product with a vector (`least` 1), not for tiles."""
    atom = "fma" if is_f32 else r.choice(("mma_sync", "wgmma", "fma"))
    pins = []
    if least > 1:
        pins.append(f"atom={atom}")
    if least > 1 and atom == "fma":
        rows, columns = r.choice((16, 32, 64, 128)), r.choice((32, 64, 128))
        pins += [f"block={outer}{rows}x{columns}", f"thread={r.choice(('4x4', '8x4', '8x8'))}"]
    elif least > 1 and atom == "mma_sync":
        rows, columns = r.choice((16, 32, 64)), r.choice((16, 32, 64))
        block = f"{rows * r.choice((1, 2))}x{columns * r.choice((1, 2))}"
        pins += [f"block={outer}{block}", f"warp_tile={rows}x{columns}"]
    elif least > 1:
        rows, columns = r.choice((64, 128, 256)), r.choice((32, 64, 128, 256))
        pins.append(f"block={outer}{rows}x{columns}")
    if r.random() < 0.7:
        pins.append(f"chunk={r.choice((16, 32, 64))}")
    if least > 1 and r.random() < 0.7:
        pins.append(f"stages={r.choice((1, 2, 3, 4))}")
    if r.random() < 0.3:
        pins.append(f"split_k={r.choice((2, 3, 5))}")
    return ",".join(pins)


def run_case(case: Case, where: tuple[str, str]) -> tuple[str, str]:
    """What became of it, "right", "refused" or "wrong", and why."""
    device, target = where
    tensors = case.inputs("cuda" if device == "cuda" else "cpu")
    function = FORMS[case.form]
    try:
        compiled = deplo.compile(
            function,
            tensors,
            device=device,
            target=target,
            schedule=case.schedule,
            precision=case.precision,
        )
        # Compiled anew where addresses are less aligned.
        mine = compiled(*tensors)
    except deplo.Error as error:
        return ("refused" if case.schedule else "wrong"), str(error)[:300]
    got, want, peer = (
        results if isinstance(results, tuple) else (results,)
        for results in (
            mine,
            function(*(x.double() for x in tensors)),
            function(*tensors),
        )
    )
    for result, exact, other in zip(got, want, peer, strict=True):
        error, least = relative_error(result, exact), relative_error(other, exact)
        if not is_right(error, max(least, PRECISIONS[case.precision]), case.dtype):
            return "wrong", f"error {error:.2e}, PyTorch's {least:.2e}"
    return "right", ""


def serve(connection, run, argument) -> None:
    """Says that it is there, and runs the cases that come, until None does."""
    connection.send("ready")
    while (case := connection.recv()) is not None:
        connection.send(run(case, argument))


class Worker:
    """A process that runs cases one by one, and is replaced if it hangs or dies.

    Args:
        run: of a case and `argument`, gives an outcome and a text; importable.
        limit: seconds that a case may take, after what a process imports.
    """

    def __init__(self, run, argument, limit: float) -> None:
        self.run, self.argument, self.limit = run, argument, limit
        self.process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self.run, self.argument)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.connection.recv()

    def __call__(self, case) -> tuple[str, str]:
        try:
            if self.process is None:
                self._start()
            self.connection.send(case)
            if self.connection.poll(self.limit):
                return self.connection.recv()
            outcome = "hung", f"not ready after {self.limit:g} s"
        except (EOFError, OSError):
            self.process.join(5)
            outcome = "crashed", f"exit code {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        self.process = None
        return outcome

    def close(self) -> None:
        if self.process is not None:
            self.connection.send(None)
            self.process.join()


def run_all(cases: list[Case], workers: list[Worker], report) -> Counter:
    """Runs the cases, one at a time on each worker; `report(case, outcome, text)` of each."""
    remaining, lock = iter(cases), threading.Lock()
    outcomes: Counter = Counter()

    def work(worker: Worker) -> None:
        while True:
            with lock:
                case = next(remaining, None)
            if case is None:
                return worker.close()
            outcome, text = worker(case)
            with lock:
                outcomes[outcome] += 1
                report(case, outcome, text)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cuda", "emu"), default="cuda")
    parser.add_argument("--target", default="", help="default: of the GPU, or the compiler's")
    parser.add_argument("--show-refused", action="store_true")
    parser.add_argument("--most", type=int, default=2049, help="the largest size")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--limit", type=float, default=60, help="seconds a case may take")
    options = parser.parse_args(arguments)

    def report(case: Case, outcome: str, text: str) -> None:
        if outcome not in ("right", "refused") or (outcome == "refused" and options.show_refused):
            print(f"{outcome}: {case}: {text}", flush=True)

    cases = [Case.draw(options.seed, i, options.most) for i in range(options.count)]
    where = options.device, options.target
    workers = [Worker(run_case, where, options.limit) for _ in range(options.workers)]
    outcomes = run_all(cases, workers, report)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return 0 if outcomes["right"] and not outcomes.keys() - {"right", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
