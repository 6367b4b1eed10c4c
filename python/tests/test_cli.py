# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `deplo` command without a compiler: options, exit codes, what is printed where."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from test_explain import KERNEL
from test_steps import CHANGED, UNCHANGED

from deplo import commands, compilation
from deplo.cli import main
from deplo.compilation import Compilation
from deplo.errors import Error

RMS = "torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))"


def deplo(*arguments):
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture
def compiled(monkeypatch):
    """Replaces the compiler; gives the list of (text, options) that it was asked for."""
    asked = []

    def try_compile(text, options):
        asked.append((text, options))
        steps = [CHANGED, UNCHANGED] if options.trace else []
        report = {"ir": f"// {options.level}\n", "steps": steps, "kernels": [KERNEL]}
        failed = "@k: a kernel can't be scheduled" if "broken" in options.schedule else None
        package = b"package" if options.level == "package" else None
        return Compilation(report, package, failed)

    monkeypatch.setattr(commands, "try_compile", try_compile)
    monkeypatch.setattr(compilation, "try_compile", try_compile)
    return asked


def test_ir_is_printed_alone(compiled):
    result = deplo("compile", "-c", RMS, "--ir", "tile")
    assert (result.exit_code, result.output) == (0, "// tile\n")
    ((text, options),) = compiled
    assert "graph.rms_norm %arg0" in text
    assert (options.level, options.device, options.target) == ("tile", "cuda", "sm_90a")
    assert not options.trace


def test_options_reach_the_compiler(compiled):
    deplo(
        *("compile", "-c", RMS, "--schedule", "stage_inputs=always", "--target", "sm_80"),
        *("--device", "host", "--passes", "any(cse)", "--no-ptxas"),
    )
    ((_, options),) = compiled
    assert options.schedule == "stage_inputs=always" and options.target == "sm_80"
    assert options.device == "host" and options.passes == "any(cse)" and not options.ptxas
    assert options.level == "package"


def test_v_prints_a_line_a_step(compiled):
    lines = deplo("compile", "-c", RMS, "-v").output.splitlines()
    assert [line.split()[0] for line in lines] == ["t:005_blockify_launch", "t:007_stage_inputs"]


def test_vv_prints_diffs_between_markers_and_then_the_ir(compiled):
    lines = deplo("compile", "-c", RMS, "-vv", "--ir", "tile").output.splitlines()
    assert lines[0] == ">>> t:005_blockify_launch" and "-b" in lines and "+B" in lines
    assert lines[-4:] == [
        ">>> t:007_stage_inputs",
        "k: each element is read once",
        "<<< t:007_stage_inputs",
        "// tile",
    ]


def test_vv_alone_prints_no_ir(compiled):
    assert "//" not in deplo("compile", "-c", RMS, "-vv").output


def test_no_colour_where_output_is_no_terminal(compiled):
    assert "\x1b" not in deplo("compile", "-c", RMS, "-vv").output


def test_summary(compiled):
    output = deplo("compile", "-c", RMS).output
    assert output.startswith(
        "compiled the snippet for sm_90a: 1 kernel (rms_norm_2048), package 7 B"
    )


def test_explain(compiled):
    for arguments in (("compile", "--explain"), ("explain",)):
        output = deplo(*arguments, "-c", RMS).output
        assert "kernel rms_norm_2048" in output and "one row a block" in output


def test_explain_beside_ir_compiles_the_package_too(compiled):
    output = deplo("compile", "-c", RMS, "--explain", "--ir", "loop").output
    assert "one row a block" in output and output.endswith("// loop\n")
    assert [options.level for _, options in compiled] == ["loop", "package"]


def test_dump_dir(compiled, tmp_path):
    result = deplo("compile", "-c", RMS, "--dump-dir", str(tmp_path / "steps"))
    names = sorted(path.name for path in (tmp_path / "steps").iterdir())
    assert result.output == "" and names[0] == "000_import.mlir" and len(names) == 3


def test_output_file_holds_the_package_or_the_ir(compiled, tmp_path):
    path = tmp_path / "out"
    assert deplo("compile", "-c", RMS, "-o", str(path)).exit_code == 0
    assert path.read_bytes() == b"package"
    assert deplo("compile", "-c", RMS, "--ir", "ptx", "-o", str(path)).output == ""
    assert path.read_text() == "// ptx\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_failure_prints_the_steps_before_it_and_writes_nothing(compiled, tmp_path):
    path = tmp_path / "out"
    result = deplo("compile", "-c", RMS, "--schedule", "broken", "-vv", "-o", str(path))
    assert result.exit_code == 1
    assert result.stdout.startswith(">>> t:005_blockify_launch")
    assert result.stderr == "deplo: error: @k: a kernel can't be scheduled\n"
    assert list(tmp_path.iterdir()) == []


def test_unwritable_output(compiled, tmp_path):
    result = deplo("compile", "-c", RMS, "-o", str(tmp_path / "none" / "out"))
    assert result.exit_code == 1 and "can't write" in result.stderr


def test_torch_level_needs_no_compiler():
    result = deplo("compile", "-c", RMS, "--ir", "torch")
    assert result.exit_code == 0
    assert (
        'def forward(self, RMSNorm_weight: "f32[2048]", arg0: "f32[1, 32, 2048]")' in result.output
    )
    assert "# File: <snippet>:1" in result.output


def test_torch_level_of_ir(tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text("module {}")
    result = deplo("compile", str(path), "--ir", "torch")
    assert result.exit_code == 1 and "has no 'torch' level" in result.stderr


def test_ir_file_goes_to_the_compiler_as_it_is(compiled, tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text("module {}")
    assert deplo("compile", str(path), "--ir", "ptx").exit_code == 0
    assert compiled[0][0] == "module {}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile",),
        ("compile", "-c", RMS, "file.mlir"),
        ("run",),
        ("bench",),
        ("compile", "-c", RMS, "--ir", "nonsense"),
        ("compile", "-c", RMS, "--device", "nonsense"),
        ("compile", "-c", RMS, "--bogus"),
        ("transmogrify",),
    ],
)
def test_usage_errors(arguments):
    result = deplo(*arguments)
    assert result.exit_code == 2 and "Usage:" in result.stderr and result.stdout == ""


@pytest.mark.parametrize(
    "code,message",
    [
        ("torch.special.erfcx(torch.randn(3))", "aten.special_erfcx.default at <snippet>:1:1: nearest"),
        ("torch.exp(torch.ones(3).double())", "dtype float64: supported are f32, f16, bf16"),
        ("torch.randn(3) + ", "<snippet>:1:"),
    ],
)
def test_user_errors_are_one_paragraph_and_exit_code_1(code, message):
    result = deplo("compile", "-c", code, "--ir", "graph")
    assert result.exit_code == 1 and result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert result.stderr.startswith("deplo: error: ")


def test_error_of_the_targets(monkeypatch):
    def broken():
        raise Error("no compiler")

    monkeypatch.setattr(compilation, "targets", broken)
    result = deplo("show-targets")
    assert (result.exit_code, result.stderr) == (1, "deplo: error: no compiler\n")


def test_help_names_every_command():
    output = deplo("--help").output
    for command in ("compile", "run", "bench", "explain", "show-targets"):
        assert command in output


def run_process(*arguments):
    command = [sys.executable, "-m", "deplo", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_process_exit_codes_and_streams():
    good = run_process("compile", "-c", RMS, "--ir", "torch")
    assert good.returncode == 0 and "rms_norm" in good.stdout and good.stderr == ""
    bad = run_process("compile", "-c", "1 / 0\ntorch.ones(2)", "--ir", "torch")
    assert bad.returncode == 1 and bad.stdout == ""
    assert bad.stderr == "deplo: error: <snippet>:1:1: ZeroDivisionError: division by zero\n"
    assert run_process("compile").returncode == 2
