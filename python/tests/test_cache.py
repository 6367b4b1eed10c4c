# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compilation cache on disk: `deplo cache`, many processes, damage."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deplo import DeploWarning, Error
from deplo.cli import main
from deplo.compilation import Options, cache_info, clear_cache, compile_ir

PROGRAM = """
func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %0 = graph.exp %x : tensor<{size}xf32> loc("{file}":1:1)
  return %0 : tensor<{size}xf32>
}}
"""
HOST = Options(device="host")


def program(size=8, file="a.py"):
    return PROGRAM.format(size=size, file=file)


@pytest.fixture
def folder(tmp_path, monkeypatch, compiler):
    monkeypatch.delenv("DEPLO_CACHE", raising=False)
    monkeypatch.setenv("DEPLO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder):
    return sorted(folder.glob("llvmcache-*"))


def was_compiled(compilation):
    return bool(compilation.report["timings_ms"])


def test_a_result_is_compiled_once_wherever_its_lines_are(folder):
    first = compile_ir(program(file="a.py"), HOST)
    second = compile_ir(program(file="b.py"), HOST)
    assert was_compiled(first) and not was_compiled(second)
    assert second.package == first.package and second.kernels == first.kernels
    assert len(entries(folder)) == 1


def test_other_programs_and_options_are_other_entries(folder):
    compile_ir(program(8), HOST)
    assert was_compiled(compile_ir(program(16), HOST))
    assert was_compiled(compile_ir(program(8), Options(level="ptx")))
    assert was_compiled(compile_ir(program(8), Options(level="ptx", target="sm_80")))
    assert len(entries(folder)) == 4


def test_cache_false_compiles_anew(folder):
    compile_ir(program(), HOST)
    assert was_compiled(compile_ir(program(), Options(device="host", cache=False)))


def test_recorded_steps_are_always_there(folder):
    options = Options(device="host", trace=True)
    assert compile_ir(program(), options).steps
    assert compile_ir(program(), options).steps
    assert not folder.exists()


_PROCESS = """
import sys
from deplo.compilation import Options, compile_ir
for text in sys.stdin.read().split("//"):
    result = compile_ir(text, Options(device="host"))
    print(bool(result.report["timings_ms"]), hash_of := __import__("zlib").crc32(result.package))
"""


def in_processes(count, *programs):
    """What each process printed: a line for each program."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    outputs = [process.communicate("//".join(programs))[0] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    return [output.splitlines() for output in outputs]


def test_another_process_finds_it(folder):
    ((line,),) = in_processes(1, program())
    assert line.startswith("True")
    ((again,),) = in_processes(1, program())
    assert again == line.replace("True", "False")


def test_processes_at_once_agree(folder):
    results = in_processes(4, *(program(size) for size in range(2, 10)))
    packages = [[line.split()[1] for line in lines] for lines in results]
    assert all(p == packages[0] for p in packages)
    assert len(entries(folder)) == 8


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_entry_is_compiled_again_and_replaced(folder, damage):
    ((line,),) = in_processes(1, program())
    (entry,) = entries(folder)
    sound = entry.read_bytes()
    middle = len(sound) // 2
    changed = sound[:middle] + bytes([sound[middle] ^ 255]) + sound[middle + 1 :]
    entry.write_bytes({"cut": sound[:-100], "changed": changed, "empty": b""}[damage])
    assert in_processes(1, program()) == [[line]]
    assert entry.read_bytes() == sound


def test_a_folder_that_cannot_be_made_only_warns(folder):
    folder.write_text("a file is in the way")
    with pytest.warns(DeploWarning, match="not kept on disk.*DEPLO_CACHE_DIR"):
        assert compile_ir(program(3), HOST).package


def test_a_policy_that_cannot_be_read_is_an_error(folder, monkeypatch):
    monkeypatch.setenv("DEPLO_CACHE_POLICY", "prune_after=soon")
    with pytest.raises(Error, match="DEPLO_CACHE_POLICY=prune_after=soon"):
        compile_ir(program(), HOST)
    with pytest.raises(Error, match="DEPLO_CACHE_POLICY"):
        cache_info()


def test_the_folder_stays_within_its_bounds(folder, monkeypatch):
    monkeypatch.setenv("DEPLO_CACHE_POLICY", "prune_interval=0s:cache_size_bytes=20k")
    for size in range(20, 40):
        compile_ir(program(size), HOST)
    assert 0 < sum(entry.stat().st_size for entry in entries(folder)) <= 20 * 1024


def run(*arguments):
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_cache_command(folder, monkeypatch):
    assert run("cache", "info") == f"{folder}: 0 entries, 0 B\n"
    compile_ir(program(5), HOST)
    assert run("cache", "info").startswith(f"{folder}: 1 entries, ")
    assert run("cache", "clear") == "removed 1 entries\n"
    assert cache_info()["entries"] == 0
    clear_cache()
    monkeypatch.setenv("DEPLO_CACHE", "off")
    assert run("cache", "info") == "the cache is off\n"
    compile_ir(program(6), HOST)
    assert entries(folder) == []


def test_a_warning_of_the_command_is_one_line(folder, tmp_path):
    folder.write_text("a file is in the way")
    source = Path(tmp_path, "p.mlir")
    source.write_text(program(7))
    result = CliRunner().invoke(main, ["compile", str(source), "--device", "host"])
    assert result.exit_code == 0
    warnings = [line for line in result.output.splitlines() if line.startswith("deplo: warning:")]
    assert len(warnings) == 1 and "not kept on disk" in warnings[0]
