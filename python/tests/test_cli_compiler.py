# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `deplo` command with the real compiler."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from deplo.cli import main

RMS = "torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))"
pytestmark = pytest.mark.usefixtures("compiler")


def deplo(*arguments, code=0):
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_awk_cuts_out_one_step():
    command = [sys.executable, "-m", "deplo", "compile", "-c", RMS, "--ir", "tile", "-vv"]
    whole = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cut = subprocess.run(
        ["awk", "/^>>> t:007/,/^<<< t:007/"],
        input=whole,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert cut[0] == ">>> t:007_stage_inputs" and cut[-1] == "<<< t:007_stage_inputs"
    assert len(cut) == 3 and len(cut[1]) > 20, cut


def test_staging_on_request_is_a_diff():
    output = deplo("compile", "-c", RMS, "-vv", "--schedule", "stage_inputs=always")
    step = output.split(">>> t:007_stage_inputs\n")[1].split("<<< t:007_stage_inputs")[0]
    assert re.search(r"^\+.*tile\.", step, re.MULTILINE)


def test_scheduling_steps_are_there_in_order():
    output = deplo("compile", "-c", RMS, "-v", "--ir", "tile")
    numbers = [int(n) for n in re.findall(r"^t:(\d\d\d)_", output, re.MULTILINE)]
    assert numbers == sorted(numbers)
    assert {1, 4, 5, 6, 7, 8, 13, 14, 16} <= set(numbers)


@pytest.mark.parametrize(
    "level,mark",
    [
        ("torch", "aten.rms_norm"),
        ("graph", "graph.rms_norm"),
        ("tensor", "graph.fused"),
        ("loop", "loop.kernel"),
        ("tile", "tile.kernel"),
        ("kernel", "gpu.module"),
        ("llvm", "define"),
        ("ptx", ".entry"),
    ],
)
def test_levels(level, mark):
    assert mark in deplo("compile", "-c", RMS, "--ir", level)


def test_printed_ir_is_input_again(tmp_path):
    path = tmp_path / "step.mlir"
    ptx = deplo("compile", "-c", RMS, "--ir", "ptx")
    for level in ("graph", "tensor", "loop", "tile", "kernel"):
        path.write_text(deplo("compile", "-c", RMS, "--ir", level))
        assert deplo("compile", str(path), "--ir", "ptx") == ptx, level


def test_dump_holds_the_ir_of_every_step(tmp_path):
    deplo("compile", "-c", RMS, "--ir", "tile", "--dump-dir", str(tmp_path))
    files = sorted(tmp_path.iterdir())
    assert len(files) > 16 and "graph.rms_norm" in files[0].read_text()
    assert "tile.kernel" in files[-1].read_text()


def test_explain():
    output = deplo("explain", "-c", RMS)
    for word in ("bytes read", "roofline", "memory", "schedule", "because", "grid", "occupancy"):
        assert word in output


def test_show_targets():
    output = deplo("show-targets")
    for chip in ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        assert chip in output


def test_malformed_ir(tmp_path):
    path = tmp_path / "bad.mlir"
    for text in ("module {", "func.func @main() { %0 = graph.nonsense }", "text", "\x00\x01"):
        path.write_text(text)
        error = deplo("compile", str(path), "--ir", "ptx", code=1)
        assert error.startswith("deplo: error: ") and "Stack dump" not in error


def test_unknown_target():
    assert "sm_12" in deplo("compile", "-c", RMS, "--target", "sm_12", code=1)


def test_run_on_the_device(device):
    output = deplo("run", "-c", RMS, "--device", device)
    error = float(re.search(r"error: (\S+) relative", output)[1])
    assert error < 1e-6 and re.search(r"time: \S+ us on ", output)


def test_run_of_ir(device, tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text(deplo("compile", "-c", RMS, "--ir", "graph"))
    assert "result 0: float32[1, 32, 2048]" in deplo("run", str(path), "--device", device)


def test_bench(device):
    output = deplo("bench", "-c", RMS, "--device", device)
    assert "| deplo" in output and "| PyTorch eager" in output


def test_a_failed_compilation_prints_the_steps_before_it():
    command = [sys.executable, "-m", "deplo", "compile", "-c", RMS, "--schedule", "warps=64", "-vv"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode != 0 and "64 warps are 2048 threads" in failed.stderr
    assert ">>> g:decompose" in failed.stdout and ">>> l:graph_to_loop" in failed.stdout


MIXED = "torch.exp(torch.special.erfcx(torch.randn(8, 8))) + 1"


@pytest.mark.parametrize("command", ["run", "bench"])
def test_what_deplo_does_not_have_may_be_left_to_pytorch(command, device):
    refused = deplo(command, "-c", MIXED, "--device", device, code=1)
    assert "can't compile one thing" in refused and "--allow-fallback" in refused
    arguments = (command, "-c", MIXED, "--device", device, "--allow-fallback")
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("deplo: warning: deplo leaves") == 1
    assert "error" in result.stdout and "aten.special_erfcx" in result.stderr


def test_fallback_and_passes_exclude_each_other(device):
    options = ("--device", device, "--allow-fallback", "--passes", "builtin.module(cse)")
    assert "don't go together" in deplo("run", "-c", RMS, *options, code=1)


def rows_of(text):
    cells = (line.split("|") for line in text.splitlines() if line.startswith("|"))
    return {cell[1].strip(): cell[2].strip() for cell in cells if len(cell) > 2}


def test_explain_shows_what_the_emulator_counts_beside_the_schedule():
    """Every element is read and written once, the weight once for each row, 16 bytes at a time."""
    text = deplo("explain", "--device", "emu", "-c", RMS)
    decided, found, counted = text.partition("kernel rms_norm_2048 on the emulator")
    assert found and rows_of(decided)["schedule"].startswith("#tile.schedule<")
    counts = rows_of(counted)
    moved = 4 * 32 * 2048
    assert counts["global bytes loaded"] == str(2 * moved)
    assert counts["global bytes stored"] == str(moved)
    assert counts["global sectors"] == str(3 * moved // 32)
    assert counts["coalescing (1 is ideal)"] == "1.0"
    assert counts["bytes of a thread's global access"] == "16"
    threads, warps = (int(counts[f"{what} instructions"]) for what in ("thread", "warp"))
    assert 0 < threads <= 32 * warps
    # A barrier for each of the 8 warps of the 32 rows.
    assert counts["barriers"] == str(32 * 8)


def test_explain_counts_what_a_schedule_costs():
    """Vectors of one element make four times the requests, for the same bytes."""
    vectors = rows_of(deplo("explain", "--device", "emu", "-c", RMS))
    option = ("--schedule", "vector=1")
    single = rows_of(deplo("explain", "--device", "emu", "-c", RMS, *option))
    assert single["global bytes loaded"] == vectors["global bytes loaded"]
    assert single["bytes of a thread's global access"] == "4"
    assert int(single["warp instructions"]) > int(vectors["warp instructions"])


def test_explain_without_the_emulator_has_no_counters():
    assert "on the emulator" not in deplo("explain", "-c", RMS)


@pytest.mark.parametrize("form", ["-c", "file"])
def test_weights_are_checked_for_f32_fast(form, tmp_path, monkeypatch):
    """Those of a module; IR and inputs have no values."""
    monkeypatch.setenv("DEPLO_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "layer.py"
    source.write_text(
        "import torch\nlayer = torch.nn.Linear(64, 64, bias=False)\n"
        "torch.nn.init.eye_(layer.weight)\nlayer.weight.data[5, 6] = 2.0**-40\n"
        "example_inputs = (torch.ones(64, 64),)\n"
    )
    code = "layer = torch.nn.Linear(64, 64, bias=False)\nlayer.weight.data[5, 6] = 2.0**-60\n"
    code += "layer(torch.ones(64, 64))"
    what = ["-c", code] if form == "-c" else [f"{source}:layer"]
    options = [*what, "--schedule", "atom=wgmma", "--no-ptxas"]
    for _ in range(2):
        deplo("compile", *options, "--precision", "f32")
        message = deplo("compile", *options, "--precision", "f32-fast", code=1)
        assert "weight', which has a number of 2**-" in message
        assert "compile with precision f32" in message
    deplo("compile", *options, "--ir", "graph", "-o", str(tmp_path / "layer.mlir"))
    given = [str(tmp_path / "layer.mlir"), *options[-3:]]
    deplo("compile", *given, "--precision", "f32-fast")
