# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times deplo against PyTorch eager and torch.compile on a suite of kernels.

All contenders run in one process on the same random inputs, interleaved;
harness/measure.py says how. Every result is written over NaN and checked
against float64 before it is timed. Cases that deplo can't compile are listed
with the reason. f32 is f32: TF32 is off.
"""

import argparse
import re
import sys
from pathlib import Path

import torch

from harness import environment, results
from harness.cases import DTYPES, Case, load_suite, suites
from harness.measure import copy_gbps
from harness.results import Results
from harness.runner import Settings, run_case


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--suite", choices=suites(), required=True)
    parser.add_argument("--dtype", choices=list(DTYPES), default="f32")
    parser.add_argument("--device", choices=("cuda", "host"), default="cuda")
    parser.add_argument(
        "--filter", default="", metavar="REGEX", help="only cases whose name holds it"
    )
    parser.add_argument(
        "--schedule",
        default="",
        metavar="KNOB=VALUE,...",
        help="pins deplo's schedules, as programmatic_launch=never does",
    )
    parser.add_argument(
        "--precision",
        choices=("f32", "f32-fast", "ieee", "tf32"),
        default="f32",
        help="what deplo may compute products of f32 in",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="file, or folder for <suite>-<dtype>-<device>.json; default benchmarks/results, and "
        "with --filter, --schedule or --precision nowhere",
    )
    parser.add_argument(
        "--torch-compile",
        action=argparse.BooleanOptionalAction,
        help="time torch.compile; default on cuda",
    )
    parser.add_argument(
        "--all-peers", action="store_true", help="time PyTorch also where deplo can't compile"
    )
    return parser.parse_args(arguments)


def destination(options: argparse.Namespace) -> Path | None:
    """Where the JSON goes, or None."""
    name = f"{options.suite}-{options.dtype}-{options.device}.json"
    is_part = options.filter or options.schedule or options.precision != "f32"
    if options.out is None:
        return None if is_part else results.RESULTS / name
    return options.out if options.out.suffix == ".json" else options.out / name


def run(options: argparse.Namespace, cases: list[Case]) -> Results:
    """Runs the cases and prints each when it is done; the JSON grows with them."""
    with_compile = options.torch_compile
    if with_compile is None:
        with_compile = options.device == "cuda"
    settings = Settings(
        options.dtype,
        options.device,
        with_compile,
        options.all_peers,
        options.schedule,
        options.precision,
    )
    done = Results(
        options.suite,
        options.dtype,
        environment.device_name(options.device),
        environment.versions(options.device),
        environment.commit(),
        copy_gbps(options.device),
        [],
    )
    path = destination(options)
    print(f"{done.device}, copy {done.copy_gbps:.0f} GB/s, commit {done.commit}")
    for number, case in enumerate(cases, 1):
        row = run_case(case, settings)
        done.rows.append(row)
        shown = f"{row.deplo_us:.2f} us" if row.deplo_us is not None else row.status[:100]
        print(f"[{number}/{len(cases)}] {case.name}: {shown}", flush=True)
        if path:
            done.write(path)
    # The larger of two counts: fractions of it must not flatter.
    done.copy_gbps = max(done.copy_gbps, copy_gbps(options.device))
    if path:
        done.write(path)
    return done


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        cases = load_suite(options.suite, options.filter)
    except re.error as error:
        print(f"error: --filter {options.filter}: {error}", file=sys.stderr)
        return 2
    if not cases:
        print(f"error: no case of {options.suite} matches {options.filter}", file=sys.stderr)
        return 2
    if options.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch sees no CUDA device; use --device host", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    done = run(options, cases)
    print("", *results.table(done), "", *results.summary(done), sep="\n")
    wrong = [row.case for row in done.rows if row.status.startswith("wrong")]
    if wrong:
        print(f"wrong results: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
