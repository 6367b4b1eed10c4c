# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a run: the JSON, and the same as text for people.

    {"suite", "dtype", "device", "versions", "commit", "copy_gbps", "rows": [
      {"case", "family", "dtype", "precision", "status",
       "deplo_us", "eager_us", "compile_us",
       "deplo_cold_us", "eager_cold_us", "compile_cold_us",
       "bytes", "flops", "deplo_err", "eager_err", "compile_err"}]}

`status` is "ok", or why there is no valid time for deplo. Times are medians in
microseconds, errors are relative to float64; what was not measured is null.
"""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "results"


@dataclass
class Row:
    case: str
    family: str
    dtype: str
    precision: str
    status: str
    deplo_us: float | None = None
    eager_us: float | None = None
    compile_us: float | None = None
    deplo_cold_us: float | None = None
    eager_cold_us: float | None = None
    compile_cold_us: float | None = None
    bytes: int | None = None
    flops: float | None = None
    deplo_err: float | None = None
    eager_err: float | None = None
    compile_err: float | None = None

    def speedup(self, over: str, cold: bool = False) -> float | None:
        """How many times faster deplo is than "eager" or "compile"."""
        kind = "_cold_us" if cold else "_us"
        mine, other = getattr(self, f"deplo{kind}"), getattr(self, f"{over}{kind}")
        return other / mine if mine and other and self.status == "ok" else None

    def copy_share(self, copy_gbps: float | None) -> float | None:
        """Achieved bandwidth over that of a copy; with cold caches where measured."""
        us = self.deplo_cold_us or self.deplo_us
        if not (us and self.bytes and copy_gbps):
            return None
        return self.bytes / us / 1e3 / copy_gbps


@dataclass
class Results:
    suite: str
    dtype: str
    device: str
    versions: dict[str, str]
    commit: str
    copy_gbps: float | None
    rows: list[Row]

    def write(self, path: Path) -> None:
        """Writes all of the file or nothing."""
        data = json.dumps(_rounded(asdict(self)), indent=1) + "\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with open(descriptor, "w") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)

    @staticmethod
    def read(path: Path) -> "Results":
        """Raises ValueError where the file is not such a JSON."""
        data = json.loads(path.read_text())
        problems = validate(data)
        if problems:
            raise ValueError(f"{path}: {'; '.join(problems)}")
        return Results(**{**data, "rows": [Row(**row) for row in data["rows"]]})


def _rounded(value: Any) -> Any:
    """Floats to five digits; JSON has no infinity, so an infinite error is null."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def validate(data: Any) -> list[str]:
    """What is wrong with the JSON of a run; [] if nothing."""
    problems = []
    expected = {field.name for field in fields(Results)}
    if not isinstance(data, dict) or set(data) != expected:
        return [f"expected an object of {', '.join(sorted(expected))}"]
    for row in data["rows"]:
        problems += _validate_row(row)
    names = [row.get("case") for row in data["rows"]]
    if len(set(names)) != len(names):
        problems.append("a case occurs more than once")
    return problems


def _validate_row(row: dict[str, Any]) -> list[str]:
    expected = {field.name for field in fields(Row)}
    name = row.get("case")
    if set(row) != expected:
        return [f"row {name}: expected {', '.join(sorted(expected))}"]
    problems = []
    for key, value in row.items():
        text = key in ("case", "family", "dtype", "precision", "status")
        if text and not (isinstance(value, str) and value):
            problems.append(f"row {name}: {key} must be text")
        if not text and value is not None and not (isinstance(value, (int, float)) and value >= 0):
            problems.append(f"row {name}: {key} must be a number or null")
    if row["status"] == "ok":
        for key in ("deplo_us", "eager_us", "bytes", "deplo_err", "eager_err"):
            if row[key] is None:
                problems.append(f"row {name}: {key} is missing although the status is ok")
    return problems


def geomean(values: Iterable[float | None]) -> float | None:
    """Of the values that are there; None if none is."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return lines


_HEAD = tuple(
    "case|deplo us|cold|eager us|cold|compile us|x eager|x compile|of copy|error|eager's".split("|")
)


def _table_row(row: Row, copy_gbps: float | None) -> tuple[str, ...]:
    return (
        row.case,
        _cell(row.deplo_us, ".2f"),
        _cell(row.deplo_cold_us, ".2f"),
        _cell(row.eager_us, ".2f"),
        _cell(row.eager_cold_us, ".2f"),
        _cell(row.compile_us, ".2f"),
        _cell(row.speedup("eager"), ".2f"),
        _cell(row.speedup("compile"), ".2f"),
        _cell(row.copy_share(copy_gbps), ".0%"),
        _cell(row.deplo_err, ".1e"),
        _cell(row.eager_err, ".1e"),
    )


def table(results: Results) -> list[str]:
    """A line for each case that was timed, then one for each that was not, with its reason."""
    timed = [row for row in results.rows if row.deplo_us is not None]
    cells = [_table_row(row, results.copy_gbps) for row in timed]
    lines = aligned([_HEAD, *cells]) if timed else []
    for row in results.rows:
        if row.status != "ok":
            lines.append(f"{row.case}: {row.status}")
    return lines


def _share(values: list[float]) -> str:
    return f"{sum(value > 1 for value in values)} of {len(values)}" if values else "-"


_SUMMARY_HEAD = tuple(
    "family|cases|ok|x eager|faster|x compile|faster|x eager cold|of copy".split("|")
)


def summary(results: Results) -> list[str]:
    """Geometric means of speed-ups for each family and for all."""
    rows = results.rows
    lines = [_SUMMARY_HEAD]
    for family in [*dict.fromkeys(row.family for row in rows), "all"]:
        members = [row for row in rows if family in (row.family, "all")]
        ok = [row for row in members if row.status == "ok"]
        eager = [s for row in ok if (s := row.speedup("eager")) is not None]
        compiled = [s for row in ok if (s := row.speedup("compile")) is not None]
        lines.append(
            (
                family,
                str(len(members)),
                str(len(ok)),
                _cell(geomean(eager), ".2f"),
                _share(eager),
                _cell(geomean(compiled), ".2f"),
                _share(compiled),
                _cell(geomean(row.speedup("eager", cold=True) for row in ok), ".2f"),
                _cell(geomean(row.copy_share(results.copy_gbps) for row in ok), ".0%"),
            )
        )
    return aligned(lines)
