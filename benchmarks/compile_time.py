# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the compiler on one core, from graph IR to PTX, or to machine code (--cubin).

- cold: the first compilation of a fresh process, the library already loaded;
- warm: the median of further ones in one process.

Both are per case and per kernel; what PyTorch takes to export the program is a
column of its own. No GPU is needed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from deplo.compilation import Options, compile_ir
from deplo.errors import Error

# The process that takes the cold time; IR on its standard input.
_COLD = """
import sys, time
from deplo.compilation import Options, compile_ir, version
text = sys.stdin.read()
version()
begin = time.perf_counter()
cubin = sys.argv[2] == "True"
level = "package" if cubin else "ptx"
compile_ir(text, Options(level=level, target=sys.argv[1], ptxas=cubin, cache=False))
print((time.perf_counter() - begin) * 1e3)
"""


def _options(target: str, cubin: bool) -> Options:
    level = "package" if cubin else "ptx"
    return Options(level=level, target=target, ptxas=cubin, cache=False)


def cold_ms(text: str, target: str, cubin: bool) -> float:
    command = [sys.executable, "-c", _COLD, target, str(cubin)]
    process = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
    return float(process.stdout)


def warm_ms(text: str, target: str, rounds: int, cubin: bool) -> tuple[float, dict[str, float]]:
    """The median time of a compilation, and the medians of its stages."""
    options = _options(target, cubin)
    compile_ir(text, options)
    totals, stages = [], {}
    for _ in range(rounds):
        begin = time.perf_counter()
        compilation = compile_ir(text, options)
        totals.append((time.perf_counter() - begin) * 1e3)
        for stage, ms in compilation.report["timings_ms"].items():
            stages.setdefault(stage, []).append(ms)
    return statistics.median(totals), {s: statistics.median(ms) for s, ms in stages.items()}


def time_case(case: Any, dtype: str, target: str, rounds: int, cubin: bool) -> dict[str, Any]:

    from deplo.importer import import_program
    from harness.cases import DTYPES

    row: dict[str, Any] = {"case": case.name, "family": case.family, "dtype": dtype, "status": "ok"}
    inputs = case.empty_inputs(DTYPES[dtype])
    begin = time.perf_counter()
    try:
        text = import_program(case.function(DTYPES[dtype]), inputs).text
        row["import_ms"] = (time.perf_counter() - begin) * 1e3
        kernels = len(compile_ir(text, _options(target, cubin)).kernels)
    except Error as error:
        row["status"] = " ".join(str(error).split())
        return row
    row["kernels"] = kernels
    row["cold_ms"] = cold_ms(text, target, cubin)
    row["warm_ms"], row["stages_ms"] = warm_ms(text, target, rounds, cubin)
    row["warm_ms_per_kernel"] = row["warm_ms"] / max(kernels, 1)
    return row


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def main(arguments: list[str] | None = None) -> int:
    from harness import environment
    from harness.cases import load_suite, suites
    from harness.results import RESULTS, aligned

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--suite", choices=suites(), required=True)
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--filter", default="", metavar="REGEX")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cubin", action="store_true", help="up to machine code, by ptxas")
    parser.add_argument(
        "--out", type=Path, help="file; default benchmarks/results, and with --filter nowhere"
    )
    options = parser.parse_args(arguments)
    cases = load_suite(options.suite, options.filter)
    if not cases:
        print(f"error: no case of {options.suite} matches {options.filter}", file=sys.stderr)
        return 2
    rows = []
    allowed = os.sched_getaffinity(0)
    # One core, for the compiler and for the processes started here.
    os.sched_setaffinity(0, {min(allowed)})
    try:
        for case in cases:
            timing = (options.dtype, options.target, options.rounds, options.cubin)
            rows.append(_rounded(time_case(case, *timing)))
    finally:
        os.sched_setaffinity(0, allowed)
    timed = [row for row in rows if row["status"] == "ok"]
    cells = [
        (
            row["case"],
            str(row["kernels"]),
            f"{row['import_ms']:.0f}",
            f"{row['cold_ms']:.1f}",
            f"{row['warm_ms']:.1f}",
            f"{row['warm_ms_per_kernel']:.1f}",
        )
        for row in timed
    ]
    head = ("case", "kernels", "export ms", "cold ms", "warm ms", "a kernel")
    print(*aligned([head, *cells]), sep="\n")
    for row in rows:
        if row["status"] != "ok":
            print(f"{row['case']}: {row['status']}")
    if timed:
        worst = max(timed, key=lambda row: row["warm_ms_per_kernel"])
        median = statistics.median(row["warm_ms_per_kernel"] for row in timed)
        print(
            f"a kernel up to {'machine code' if options.cubin else 'PTX'}, "
            f"warm: median {median:.1f} ms, "
            f"worst {worst['warm_ms_per_kernel']:.1f} ms ({worst['case']}), "
            f"on {environment.processor()}"
        )
    path = options.out
    if path is None and not options.filter:
        kind = "cubin" if options.cubin else "compile"
        path = RESULTS / f"{kind}-time-{options.suite}-{options.dtype}.json"
    if path:
        data = {
            "suite": options.suite,
            "dtype": options.dtype,
            "target": options.target,
            "device": environment.processor(),
            "versions": environment.versions("host"),
            "commit": environment.commit(),
            "rows": rows,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
