# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The projects of examples/ against an install tree, as another project sees it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = _ROOT / "build"
if not (_BUILD / "CMakeCache.txt").is_file():
    pytest.skip("only in a checkout that is built", allow_module_level=True)


def cache(name):
    """A variable of the build tree's CMake cache."""
    text = (_BUILD / "CMakeCache.txt").read_text()
    return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)[1]


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """deplo as `cmake --install` leaves it."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", _BUILD, "--prefix", folder)
    return folder


def built(example, installed, folder):
    """The build folder of an example that finds deplo in `installed` alone."""
    options = {
        "CMAKE_PREFIX_PATH": installed,
        "CMAKE_BUILD_TYPE": "Debug",
        **{name: cache(name) for name in ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER")},
        "CMAKE_EXE_LINKER_FLAGS": "-fuse-ld=lld",
    }
    source = _ROOT / "examples" / example
    defines = [f"-D{name}={value}" for name, value in options.items()]
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, *defines)
    run("ninja", "-C", folder)
    return folder


def test_mlir_tool_with_deplos_dialects(installed, tmp_path):
    tool = built("embed-cmake", installed, tmp_path) / "softmax-to-ptx"
    assert ".target sm_90a" in run(tool)
    ptx = run(tool, "sm_80")
    assert ".target sm_80" in ptx and ".entry softmax" in ptx
    result = subprocess.run([tool, "sm_1"], capture_output=True, text=True)
    assert result.returncode == 1
    assert "unknown target 'sm_1', expected one of sm_80" in result.stderr


def test_c_program(installed, tmp_path):
    text = run(built("embed-c", installed, tmp_path) / "compile-and-run")
    assert re.fullmatch(r"deplo [\d.]+: 1000 elements, worst relative error .*\n", text)


def test_tools_run_where_they_are_installed(installed):
    example = _ROOT / "examples" / "ir" / "softmax-graph.mlir"
    assert "graph.reduce" in run(installed / "bin" / "deplo-opt", "--deplo-decompose", example)


@pytest.mark.parametrize(
    ("language", "files"),
    [
        ("cmake", ["embed-cmake/CMakeLists.txt"]),
        ("cpp", ["embed-cmake/softmax-to-ptx.cpp"]),
        ("c", ["embed-c/compile-and-run.c"]),
    ],
)
def test_snippets_of_the_documentation_are_from_the_examples(language, files):
    """Line by line, in order, with what is between them left out."""
    page = (_ROOT / "docs" / "embedding.md").read_text()
    lines = [line for file in files for line in (_ROOT / "examples" / file).open()]
    blocks = re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        rest = iter(lines)
        for line in block.splitlines(keepends=True):
            assert line in rest, f"not in {files}, or not in this order: {line}"


def test_install_tree_names_no_folder_of_the_checkout(installed):
    package = installed / "lib" / "cmake" / "deplo"
    for directory, _, files in os.walk(installed):
        for name in files:
            if name.endswith((".cmake", ".h", ".inc", ".td")):
                text = (Path(directory) / name).read_text()
                assert str(_ROOT) not in text, f"{directory}/{name}"
    assert (package / "DeploConfig.cmake").is_file()
    assert (installed / "include" / "deplo" / "Dialect" / "Graph" / "IR" / "GraphOps.td").is_file()
