# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results: the JSON, the tables, the errors they hold."""

import json
import math
import re

import pytest
import torch

import report
from harness.errors import is_right, relative_error
from harness.results import Results, Row, geomean, summary, table, validate


def row(case, family="softmax", **values):
    filled = {
        "deplo_us": 10.0,
        "eager_us": 20.0,
        "compile_us": 5.0,
        "deplo_cold_us": 12.5,
        "eager_cold_us": 25.0,
        "bytes": 25_000_000,
        "deplo_err": 1e-7,
        "eager_err": 2e-7,
    }
    return Row(case, family, "f32", "ieee", "ok", **{**filled, **values})


def results(*rows):
    return Results("suite", "f32", "some device", {"torch": "1"}, "abc", 4000.0, list(rows))


def test_json_reads_back(tmp_path):
    path = tmp_path / "folder" / "r.json"
    refused = Row("b", "sdpa", "f32", "ieee", "attention is not supported")
    wanted = results(row("a"), refused)
    wanted.write(path)
    assert Results.read(path) == wanted
    assert [item.name for item in path.parent.iterdir()] == ["r.json"]


def test_json_has_the_fields_that_readers_rely_on(tmp_path):
    path = tmp_path / "r.json"
    results(row("a")).write(path)
    data = json.loads(path.read_text())
    assert {"device", "versions", "commit", "copy_gbps", "rows"} <= set(data)
    wanted = "case dtype precision status deplo_us eager_us compile_us deplo_cold_us bytes flops"
    assert {*wanted.split(), "deplo_err", "eager_err"} <= set(data["rows"][0])


def test_infinite_error_is_null_in_json(tmp_path):
    path = tmp_path / "r.json"
    wrong = row("a", deplo_err=math.inf)
    wrong.status = "wrong"
    results(wrong).write(path)
    assert "Infinity" not in path.read_text()
    assert Results.read(path).rows[0].deplo_err is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data.pop("commit"), "expected an object of"),
        (lambda data: data["rows"][0].pop("bytes"), "row a: expected"),
        (lambda data: data["rows"][0].update(deplo_us=None), "row a: deplo_us is missing"),
        (lambda data: data["rows"][0].update(eager_us="fast"), "eager_us must be a number"),
        (lambda data: data["rows"][0].update(status=""), "status must be text"),
        (lambda data: data["rows"].append(data["rows"][0]), "more than once"),
    ],
)
def test_validate_names_the_problem(tmp_path, change, problem):
    path = tmp_path / "r.json"
    results(row("a")).write(path)
    data = json.loads(path.read_text())
    assert validate(data) == []
    change(data)
    assert problem in "; ".join(validate(data))


def test_speedups_and_bandwidth():
    one = row("a")
    assert one.speedup("eager") == 2.0
    assert one.speedup("compile") == 0.5
    assert one.speedup("eager", cold=True) == 2.0
    # 25 MB in 12.5 us are 2000 GB/s, cold.
    assert one.copy_share(4000.0) == pytest.approx(0.5)
    one.status = "wrong: error"
    assert one.speedup("eager") is None


def test_table_shows_losses_and_reasons():
    slow = row("slow", deplo_us=40.0)
    refused = Row("refused", "sdpa", "f32", "ieee", "attention is not supported")
    lines = table(results(row("fast"), slow, refused))
    assert [line.split()[0] for line in lines[:3]] == ["case", "fast", "slow"]
    assert "0.50" in lines[2]
    assert lines[3] == "refused: attention is not supported"


def test_summary_groups_by_family():
    lines = summary(results(row("a"), row("b", eager_us=80.0), row("c", "reduce", eager_us=5.0)))
    cells = {line.split()[0]: line.split() for line in lines[1:]}
    assert cells["softmax"][1:5] == ["2", "2", "4.00", "2"]
    assert cells["reduce"][1:5] == ["1", "1", "0.50", "0"]
    assert cells["all"][1:4] == ["3", "3", "2.00"]


def test_geomean():
    assert geomean([1.0, 4.0, None]) == pytest.approx(2.0)
    assert geomean([None]) is None


def test_relative_error():
    want = torch.tensor([1.0, -4.0, 2.0], dtype=torch.float64)
    assert relative_error(want.float(), want) == 0.0
    assert relative_error(torch.tensor([1.0, -4.0, 2.5]), want) == pytest.approx(0.125)
    assert relative_error(torch.tensor([1.0, math.nan, 2.0]), want) == math.inf
    assert relative_error(torch.tensor([1.0, -4.0]), want) == math.inf
    assert relative_error(torch.empty(0), torch.empty(0, dtype=torch.float64)) == 0.0


def test_relative_error_of_special_values():
    want = torch.tensor([math.inf, -math.inf, math.nan, 2.0], dtype=torch.float64)
    assert relative_error(want.float(), want) == 0.0
    for place, value in [(0, -math.inf), (1, math.nan), (2, 0.5), (3, math.inf)]:
        got = want.float()
        got[place] = value
        assert relative_error(got, want) == math.inf, place


def test_what_is_right_depends_on_pytorch():
    assert is_right(1e-6, 0.0, "f32")
    assert not is_right(1e-4, 1e-7, "f32")
    assert is_right(1e-4, 1e-4, "f32")
    assert not is_right(math.nan, 1.0, "f32")


def test_report_has_tables_losses_and_charts(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    rows = [row("won", compile_us=None), row("lost", deplo_us=40.0, compile_us=None)]
    results(*rows).write(tmp_path / "r.json")
    assert report.main([str(tmp_path / "r.json"), "-o", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "results.md").read_text()
    assert "## Speed: suite, f32" in page and "A copy moves 4000 GB/s." in page
    assert "In 1 of 2 cases a peer is faster:" in page
    assert re.search(r"^lost +0\.50$", page, re.M) and not re.search(r"^won +\d\.\d+$", page, re.M)
    assert "![suite, f32](r.svg)" in page
    assert "<svg" in (tmp_path / "out" / "r.svg").read_text()[:1000]
    assert capsys.readouterr().out == f"{tmp_path / 'out' / 'results.md'}\n"


def test_report_without_losses_or_charts(tmp_path):
    results(row("won", compile_us=None)).write(tmp_path / "r.json")
    assert report.main([str(tmp_path / "r.json"), "--no-charts", "-o", str(tmp_path)]) == 0
    page = (tmp_path / "results.md").read_text()
    assert "In none of 1 cases is a peer faster." in page and "![" not in page


def test_every_committed_result_is_reported(tmp_path):
    assert report.main(["--no-charts", "-o", str(tmp_path)]) == 0
    page = (tmp_path / "results.md").read_text()
    assert page.count("\n## ") + 1 == len(list(report.RESULTS.glob("*.json")))


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON"])
def test_report_of_no_result_is_an_error(tmp_path, capsys, text):
    (tmp_path / "r.json").write_text(text)
    assert report.main([str(tmp_path / "r.json"), "-o", str(tmp_path)]) == 1
    assert "error: " in capsys.readouterr().err
