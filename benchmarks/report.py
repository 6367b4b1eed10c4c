# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a page about committed results: tables, charts, and what deplo loses.

Each JSON is one of run.py, compile_time.py or host_time.py.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.chart import draw
from harness.results import RESULTS, Results, Row, aligned, summary, table, validate


def better(row: Row) -> float | None:
    """deplo's speed over the faster of its peers; None where there is no time."""
    ratios = [ratio for over in ("eager", "compile") if (ratio := row.speedup(over)) is not None]
    return min(ratios, default=None)


def losses(results: Results) -> list[tuple[str, float]]:
    """Cases in which a peer is faster, the worst first."""
    found = [(row.case, ratio) for row in results.rows if (ratio := better(row)) is not None]
    return sorted((one for one in found if one[1] < 1), key=lambda one: one[1])


def _block(lines: Sequence[str]) -> Iterator[str]:
    yield "```"
    yield from lines
    yield "```"
    yield ""


def _made(data: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return f"On {data['device']}; {versions}; commit {data['commit'][:12]}."


def _run(results: Results, data: dict[str, Any], chart: str | None) -> Iterator[str]:
    yield f"## Speed: {results.suite}, {results.dtype}"
    yield ""
    yield _made(data)
    if results.copy_gbps:
        yield f"A copy moves {results.copy_gbps:.0f} GB/s."
    yield ""
    yield from _block(summary(results))
    lost = losses(results)
    timed = sum(better(row) is not None for row in results.rows)
    if lost:
        yield f"In {len(lost)} of {timed} cases a peer is faster:"
        yield ""
        yield from _block(
            aligned([("case", "x the faster peer"), *[(n, f"{r:.2f}") for n, r in lost]])
        )
    else:
        yield f"In none of {timed} cases is a peer faster."
        yield ""
    if chart:
        yield f"![{results.suite}, {results.dtype}]({chart})"
        yield ""
    yield "All cases:"
    yield ""
    yield from _block(table(results))


def _compile_time(data: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in data["rows"] if row["status"] == "ok"]
    yield f"## Time to compile: {data['suite']}, {data['dtype']}"
    yield ""
    yield _made(data)
    yield ""
    each = [row["warm_ms_per_kernel"] for row in rows]
    cold = statistics.median(row["cold_ms"] for row in rows)
    yield (
        f"{len(rows)} cases up to PTX, on one core: a kernel takes "
        f"{statistics.median(each):.1f} ms (median; worst {max(each):.1f} ms), a program in a "
        f"fresh process {cold:.0f} ms (median)."
    )
    yield ""


def _host_time(data: dict[str, Any]) -> Iterator[str]:
    yield "## Time of a call on the processor"
    yield ""
    yield _made(data)
    yield ""
    cells = [(row["contender"], f"{row['us']:.2f}") for row in data["rows"]]
    yield from _block(aligned([("contender", "us"), *cells]))


def report(paths: Sequence[Path], out: Path, charts: bool = True) -> Path:
    """Writes results.md, and a chart of each run, to the folder `out`.

    Raises:
        OSError, ValueError: a file can't be read, or is no result.
    """
    out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for path in paths:
        data = json.loads(path.read_text())
        if isinstance(data, dict) and not validate(data):
            results = Results.read(path)
            name = f"{path.stem}.svg" if charts and any(map(better, results.rows)) else None
            if name:
                draw(results, out / name)
            lines += _run(results, data, name)
        elif isinstance(data, dict) and data.get("rows") and "contender" in data["rows"][0]:
            lines += _host_time(data)
        elif isinstance(data, dict) and data.get("rows") and "warm_ms" in str(data["rows"][0]):
            lines += _compile_time(data)
        else:
            raise ValueError(f"{path}: no result of run.py, compile_time.py or host_time.py")
    page = out / "results.md"
    page.write_text("\n".join(lines))
    return page


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", type=Path, nargs="*", help="default: all of benchmarks/results")
    parser.add_argument("-o", "--out", type=Path, default=Path("report"), help="folder to write to")
    parser.add_argument("--no-charts", action="store_true", help="text alone, without matplotlib")
    options = parser.parse_args(arguments)
    paths = options.results or sorted(RESULTS.glob("*.json"))
    try:
        print(report(paths, options.out, not options.no_charts))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
