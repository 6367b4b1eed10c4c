# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the schedules that the models of contractions rank first, values checked.

A case is one of contractions.py, ROWSxCOLUMNSxDEPTH:LAYOUT:DTYPE. Of all tiles that
the models know, the --top that they expect to be quickest are timed; the first one
is compared with the best of these. What each of a model's terms makes of the times
of those schedules that it limits tells which one misranks.

  model_ranks.py --top 32 --out ranks.json 512x3584x3584:nk:bf16 128x2048x5632:nk:bf16

Ranking takes as long as timing and needs no GPU: with --rank-only TARGET it is all
that happens, and --ranked takes up what that has written.
"""

import argparse
import itertools
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import deplo
from contractions import ROTATED_BYTES, Case, Scheduled, least_time, time_us
from deplo.compilation import Options, try_compile
from deplo.compiler import default_target
from deplo.importer import ImportedProgram, import_program
from harness.contenders import PyTorch
from harness.errors import is_right, relative_error

FEW_ROWS = 64
# A first choice that takes so much of the best one's time is told apart.
MISRANKED = 1.08


@dataclass
class Candidate:
    pins: str
    schedule: str
    expected_us: float
    limit: str
    us: float | None = None
    fault: str = ""


def powers(least: int, most: int) -> list[int]:
    return [1 << i for i in range(least.bit_length() - 1, most.bit_length())]


def pins_of(case: Case) -> list[str]:
    """Every tile that may suit `case`, as --schedule takes it."""
    found = []
    widths = powers(16, min(256, 1 << (case.columns - 1).bit_length()))
    heights = powers(64, 256)
    if case.rows < FEW_ROWS:
        few = max(16, 1 << (case.rows - 1).bit_length())
        tiles = [((few, wide), (few, of_warp)) for wide in widths for of_warp in (16, 32)]
    else:
        tiles = []
    tiles += [
        ((high, wide), (of_warp, wide // share))
        for high, wide, of_warp, share in itertools.product(heights, widths, (16, 32), (1, 2))
    ]
    # Blocks of several tiles: one warp has all of their columns, and no cluster shares them.
    several = [
        ((high, wide), (of_warp, 1 << (wide.bit_length() - 1)))
        for high, of_warp in itertools.product(heights, (16, 32))
        for wide in range(16, max(widths), 16)
        if wide not in widths
    ]
    candidates = [
        *itertools.product(tiles, (4, 5, 6, 8), (1, 2, 4)),
        *itertools.product(several, (4, 5, 6, 8), (1,)),
    ]
    for (block, warp), stages, cluster in candidates:
        found.append(
            f"atom=wgmma,split_k=1,block={block[0]}x{block[1]},warp_tile={warp[0]}x{warp[1]},"
            f"stages={stages},cluster={cluster}"
        )
    for high, wide, parts in itertools.product(powers(16, 128), widths, (1, 2, 4, 8)):
        block = f"{high}x{wide}" + ("x1" if parts > 1 else "")
        found.append(f"atom=mma_sync,split_k={parts},block={block}")
    return found


def estimate(program: ImportedProgram, target: str, pins: str) -> Candidate | None:
    """What the models expect of `pins`; None if nothing has such a tile."""
    precision, _, schedule = pins.rpartition(":")
    options = Options(target=target, level="tile", schedule=schedule, precision=precision)
    compilation = try_compile(program.text, options)
    if compilation.error is not None:
        return None
    nanoseconds, limits, schedules = 0, [], []
    for kernel in compilation.kernels:
        reason = kernel["schedule_reason"]
        nanoseconds += int(re.search(r"Nanoseconds (\d+)", reason)[1])
        limit = re.search(r"limited by ([a-zA-Z0-9 ]+?) BytesRead", reason)
        limits += [limit[1]] if limit else []
        schedules.append(kernel["schedule"][15:-1])
    return Candidate(pins, "; ".join(schedules), nanoseconds / 1e3, ", ".join(limits) or "other")


def rank(
    case: Case, target: str, precision: str, top: int, pool: ThreadPoolExecutor
) -> list[Candidate]:
    program = import_program(case.function(), case.inputs("cpu"))
    pins = [f"{precision}:{pins}" for pins in ("", *pins_of(case))]
    found = pool.map(lambda pins: estimate(program, target, pins), pins)
    different: dict[str, Candidate] = {}
    for candidate in found:
        if candidate:
            different.setdefault(candidate.schedule, candidate)
    return sorted(different.values(), key=lambda candidate: candidate.expected_us)[:top]


def note_time(candidate: Candidate, us: float, least: float) -> None:
    """Refuses what no GPU can do: it measures something else."""
    if us < least:
        candidate.fault = f"refused: {us:.2f} us is less than {least:.2f} us"
    else:
        candidate.us = us


def measure(case: Case, ranked: list[Candidate], pool) -> float:
    """Fills in times; returns that of PyTorch."""
    x, w = case.inputs()
    program = import_program(case.function(), (x, w))
    count = max(1, min(40, ROTATED_BYTES // (w.numel() * w.element_size())))
    sets = [(x, w)] + [(x, w.clone()) for _ in range(count - 1)]
    eager = PyTorch(case.function())
    want = case.function()(x.double(), w.double())
    peer = relative_error(eager.checked_run((x, w)), want)
    futures = [pool.submit(Scheduled, program, candidate.pins) for candidate in ranked]
    for candidate, future in zip(ranked, futures, strict=True):
        try:
            mine = future.result()
            error = relative_error(mine.checked_run((x, w)), want)
        except deplo.Error as fault:
            candidate.fault = str(fault)[:160]
            continue
        if not is_right(error, peer, case.dtype):
            candidate.fault = f"error {error:.2e}"
            continue
        note_time(
            candidate, time_us(mine.calls(sets)), least_time(case, (x, w, want), candidate.pins)
        )
        kernels = mine.compiled.report["kernels"]
        candidate.schedule = "; ".join(kernel["schedule"][15:-1] for kernel in kernels)
    return time_us(eager.calls(sets))


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def summarise(rows: list[dict]) -> dict:
    """The first choice against the best, and each term's times against its estimates."""
    lost, by_limit = [], {}
    for row in rows:
        timed = [c for c in row["candidates"] if c["us"] is not None]
        if not timed:
            continue
        lost.append(timed[0]["us"] / min(c["us"] for c in timed))
        for c in timed:
            by_limit.setdefault(c["limit"], []).append(c["us"] / c["expected_us"])
    return {
        "cases": len(lost),
        "pick_over_best": geometric_mean(lost) if lost else None,
        "worst": max(lost, default=None),
        "time_over_estimate": {
            limit: {"schedules": len(ratios), "ratio": geometric_mean(ratios)}
            for limit, ratios in sorted(by_limit.items())
        },
    }


def print_summary(summary: dict) -> None:
    if summary["pick_over_best"] is None:
        print("nothing was timed")
        return
    print(
        f"the first choice takes {summary['pick_over_best']:.3f} of the best one's time in "
        f"{summary['cases']} cases (geometric mean), {summary['worst']:.2f} at most"
    )
    terms = summary["time_over_estimate"]
    for limit, of_term in terms.items():
        print(
            f"  limited by {limit}: {of_term['ratio']:.2f} of the estimate "
            f"({of_term['schedules']} schedules)"
        )
    if len(terms) > 1:
        middle = geometric_mean([of_term["ratio"] for of_term in terms.values()])
        worst = max(terms, key=lambda limit: abs(math.log(terms[limit]["ratio"] / middle)))
        print(f"  furthest from the others: {worst}")


def read_ranked(path: str | None) -> dict[str, list[Candidate]]:
    if path is None:
        return {}
    with open(path) as file:
        rows = json.load(file)["rows"]
    return {row["case"]: [Candidate(**c) for c in row["candidates"]] for row in rows}


def report(case: str, eager_us: float, ranked: list[Candidate]) -> None:
    timed = [c for c in ranked if c.us is not None]
    if timed:
        best = min(timed, key=lambda c: c.us)
        print(
            f"{case:28} eager {eager_us:8.2f} us, first {timed[0].us:8.2f} us "
            f"({timed[0].schedule}), best {best.us:8.2f} us ({best.schedule})",
            flush=True,
        )
    if timed and timed[0].us > MISRANKED * best.us:
        of_estimate = [f"{c.us / c.expected_us:.2f} ({c.limit})" for c in (timed[0], best)]
        print(f"  misranked: the first takes {' of its estimate, the best '.join(of_estimate)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--top", type=int, default=32)
    parser.add_argument("--precision", choices=("f32", "f32-fast", "ieee", "tf32"), default="f32")
    parser.add_argument("--out")
    parser.add_argument("--rank-only", metavar="TARGET")
    parser.add_argument("--ranked", metavar="JSON")
    options = parser.parse_args()
    pool = ThreadPoolExecutor()
    target = options.rank_only or default_target()
    given = read_ranked(options.ranked)
    rows = []
    for text in options.cases:
        case = Case(text)
        ranked = given.get(text) or rank(case, target, options.precision, options.top, pool)
        eager_us = None
        if not options.rank_only:
            eager_us = measure(case, ranked, pool)
            report(text, eager_us, ranked)
        rows.append({"case": text, "eager_us": eager_us, "candidates": [asdict(c) for c in ranked]})
        if options.out:
            with open(options.out, "w") as file:
                json.dump({"rows": rows, "summary": summarise(rows)}, file, indent=1)
                file.write("\n")
    if not options.rank_only:
        print_summary(summarise(rows))


if __name__ == "__main__":
    main()
