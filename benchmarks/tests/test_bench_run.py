# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs from end to end on the CPU, on a few small cases."""

import gc
import json
import weakref

import pytest
import torch

import compile_time
import run
import sanitize
from harness import runner
from harness.cases import Case
from harness.contenders import Deplo
from harness.results import Results
from harness.runner import Settings, run_case

SMALL = r"^(rmsnorm|softmax|silu_mul)\.tinyllama\.s32$"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Short samples: these tests are about what is reported, not about the times."""
    from harness import measure

    monkeypatch.setattr(measure, "_BUDGET_S", 0.01)
    monkeypatch.setattr(measure, "_SAMPLE_US", 50.0)
    monkeypatch.setattr(run, "copy_gbps", lambda device: 10.0)


def test_run_writes_results(compiler, tmp_path, capsys):
    command = ["--suite", "seed84", "--dtype", "f32", "--device", "host", "--filter", SMALL]
    assert run.main([*command, "--out", str(tmp_path)]) == 0
    found = Results.read(tmp_path / "seed84-f32-host.json")
    assert [row.case.split(".")[0] for row in found.rows] == ["rmsnorm", "softmax", "silu_mul"]
    for row in found.rows:
        assert row.status == "ok" and row.deplo_us > 0 and row.deplo_err < 2e-6, row
    output = capsys.readouterr().out
    assert "x eager" in output and "all" in output


def test_bf16_is_within_its_rounding(compiler, tmp_path):
    command = ["--suite", "seed84", "--dtype", "bf16", "--device", "host", "--filter", SMALL]
    assert run.main([*command, "--out", str(tmp_path / "r.json")]) == 0
    for row in Results.read(tmp_path / "r.json").rows:
        assert row.status == "ok" and row.deplo_err < 6e-3, row


def test_a_call_holds_its_buffers(compiler):
    inputs = [torch.randn(64)]
    mine = Deplo(lambda a: a.exp(), inputs)
    output = torch.empty(64)
    buffers = [weakref.ref(inputs[0]), weakref.ref(output)]
    (call,) = [mine.into([inputs.pop()], output)]
    del output
    gc.collect()
    assert all(buffer() is not None for buffer in buffers)
    assert torch.allclose(call(), buffers[0]().exp())


def test_a_filtered_run_writes_nothing_by_default(tmp_path):
    options = run.parse(["--suite", "seed84", "--filter", "softmax"])
    assert run.destination(options) is None
    options = run.parse(["--suite", "membound", "--dtype", "bf16"])
    assert run.destination(options).name == "membound-bf16-cuda.json"


def test_a_case_that_deplo_refuses_says_why(compiler):
    case = Case("fft", "other", ((8,),), "torch.fft.fft(a).real")
    row = run_case(case, Settings("f32", "host", torch_compile=False))
    assert row.status != "ok" and "fft" in row.status
    assert row.eager_us is None and row.bytes == 64
    row = run_case(case, Settings("f32", "host", torch_compile=False, all_peers=True))
    assert row.deplo_us is None and row.eager_us > 0 and row.eager_err < 1e-5


class Contender:
    """In place of deplo: computes what it is told to."""

    flops = 1.0

    def __init__(self, *results):
        self.results = list(results)

    def checked_run(self, inputs):
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]

    def calls(self, sets):
        return [lambda: None for _ in sets]


@pytest.mark.parametrize(
    ("results", "status"),
    [
        (lambda right: [right], "ok"),
        (lambda right: [right * 1.001], "wrong: error"),
        (lambda right: [torch.full_like(right, torch.nan)], "wrong: elements not written"),
        (lambda right: [right, right * (1 + 2e-7)], "wrong: two runs gave different bits"),
    ],
)
def test_wrong_results_are_found(monkeypatch, results, status):
    case = Case("exp", "pointwise", ((64,),), "a.exp()")
    right = case.random_inputs(torch.float32, "cpu")[0].exp()
    monkeypatch.setattr(runner, "Deplo", lambda *_: Contender(*results(right)))
    row = run_case(case, Settings("f32", "host", torch_compile=False))
    assert row.status.startswith(status)
    assert (row.deplo_us is not None) == (status == "ok")


def test_wrong_results_make_the_run_fail(monkeypatch, capsys):
    monkeypatch.setattr(runner, "Deplo", lambda *_: Contender(torch.zeros(1, 32, 2048)))
    command = ["--suite", "seed84", "--device", "host", "--filter", r"rmsnorm\.tinyllama\.s32"]
    assert run.main(command) == 1
    assert "wrong results: rmsnorm.tinyllama.s32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--filter", "nothing-like-this"], "no case of seed84 matches"),
        (["--filter", "("], "--filter (:"),
    ],
)
def test_bad_arguments(arguments, message, capsys):
    assert run.main(["--suite", "seed84", "--device", "host", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_no_gpu_is_an_error(capsys):
    assert run.main(["--suite", "seed84", "--device", "cuda"]) == 1
    assert "PyTorch sees no CUDA device" in capsys.readouterr().err


def test_sanitize_compiles_and_runs_without_pytorch(compiler, tmp_path, capsys):
    options = ["--suite", "seed84", "--filter", SMALL, "--device", "host", "--into", str(tmp_path)]
    assert sanitize.main(["compile", *options]) == 0
    assert sanitize.main(["run", str(tmp_path), "--device", "host"]) == 0
    output = capsys.readouterr().out
    assert "3 packages" in output and "of 3 packages ran, 0 packages failed" in output


def test_sanitize_of_nothing_fails(tmp_path):
    assert sanitize.main(["run", str(tmp_path), "--device", "host"]) == 1


@pytest.mark.parametrize(("cubin", "what"), [([], "PTX"), (["--cubin"], "machine code")])
def test_compile_time(compiler, tmp_path, capsys, cubin, what):
    path = tmp_path / "times.json"
    options = ["--suite", "seed84", "--filter", r"softmax\.tinyllama\.s32", "--rounds", "1"]
    assert compile_time.main([*options, *cubin, "--out", str(path)]) == 0
    (row,) = json.loads(path.read_text())["rows"]
    if "ptxas was not found" in row["status"]:
        pytest.skip("there is no ptxas")
    assert row["status"] == "ok" and row["kernels"] == 1
    assert 0 < row["warm_ms"] and 0 < row["cold_ms"] and row["stages_ms"]
    assert ("ptxas" in row["stages_ms"]) == bool(cubin)
    assert f"a kernel up to {what}" in capsys.readouterr().out
