# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel of scripts/build-wheel, in virtual environments of its own.

Nothing is downloaded: the environments see single packages of this one.
"""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
if not (_ROOT / "scripts" / "build-wheel").is_file():
    pytest.skip("only in a checkout", allow_module_level=True)
pytestmark = pytest.mark.wheel

_spec = importlib.util.spec_from_file_location(
    "build_wheel", _ROOT / "scripts" / "lib" / "build_wheel.py"
)
build_wheel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build_wheel)

_PACKAGES = Path(sysconfig.get_path("purelib"))
# What the command line needs beside deplo itself.
_COMMAND_LINE = ("click", "rich", "markdown_it", "mdurl", "pygments")


def run(*command, **options):
    keep = ("HOME", "PATH", "LANG", "CUDA_HOME", "CUDA_PATH", "TMPDIR")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment["DEPLO_CACHE"] = "off"  # what another build has made is no proof
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, **options
    )


def build(folder):
    made = run(_ROOT / "scripts" / "build-wheel", "--out", folder)
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))


class Environment:
    """A new virtual environment with the wheel and nothing else installed."""

    def __init__(self, folder, wheel):
        self.folder = folder
        assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
        self.python = folder / "bin" / "python"
        installed = run(
            *(sys.executable, "-m", "pip", "--python", self.python, "install"),
            *("--no-deps", "--no-index", "--disable-pip-version-check", wheel),
        )
        assert installed.returncode == 0, installed.stderr
        (self.site,) = folder.glob("lib/python3*/site-packages")

    def sees(self, path):
        (self.site / "more.pth").write_text(f"{path}\n")

    def deplo(self, *arguments, code=0):
        result = run(self.folder / "bin" / "deplo", *arguments, cwd=self.folder)
        assert result.returncode == code, result.stdout + result.stderr
        return result.stdout if code == 0 else result.stderr


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def without_torch(wheel, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("without-torch"), wheel)
    packages = tmp_path_factory.mktemp("packages")
    for name in _COMMAND_LINE:
        (packages / name).symlink_to(_PACKAGES / name)
    environment.sees(packages)
    return environment


@pytest.fixture(scope="module")
def with_torch(wheel, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("with-torch"), wheel)
    environment.sees(_PACKAGES)
    return environment


def test_same_bytes_twice(wheel, tmp_path):
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def test_size_and_contents(wheel):
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    assert wheel.stat().st_size <= 25_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert "deplo/lib/libDeploC.so" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not any("tests" in name for name in names)


def test_library_of_the_build_tree_would_be_refused():
    dynamic = "NEEDED libLLVM.so.22.1\n NEEDED libc.so.6\n 0x06 0x00 02 GLIBC_2.36\n"
    assert build_wheel.missing_elsewhere(dynamic) == ["libLLVM.so.22.1"]


def test_later_symbols_would_be_refused():
    dynamic = "NEEDED libm.so.6\n 02 GLIBC_2.38\n 03 GLIBCXX_3.4.30\n 04 GLIBC_2.2.5\n"
    assert build_wheel.missing_elsewhere(dynamic) == ["GLIBCXX_3.4.30", "GLIBC_2.38"]


def test_compiles_with_no_other_package(bare):
    program = (
        "import sys, deplo\n"
        "from deplo.compilation import Options, compile_ir\n"
        "text = open(sys.argv[1]).read()\n"
        "print(deplo.__file__, compile_ir(text, Options(level='ptx')).ir)\n"
        "try: deplo.compile\n"
        "except deplo.Error as error: print(error)\n"
    )
    result = run(bare.python, "-c", program, _ROOT / "examples" / "ir" / "softmax-graph.mlir")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(str(bare.site))
    assert ".target sm_90a" in result.stdout
    assert result.stdout.splitlines()[-1] == "this needs PyTorch: pip install torch"


def test_command_line_without_torch(without_torch):
    assert "sm_90a" in without_torch.deplo("show-targets")
    example = _ROOT / "examples" / "ir" / "softmax-graph.mlir"
    assert ".entry" in without_torch.deplo("compile", example, "--ir", "ptx")
    message = without_torch.deplo("compile", "-c", "torch.randn(8).exp()", code=1)
    assert message == "deplo: error: this needs PyTorch: pip install torch\n"


def test_rms_norm(with_torch):
    snippet = "torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))"
    ptx = with_torch.deplo("compile", "-c", snippet, "--ir", "ptx")
    assert ".target sm_90a" in ptx and ".entry" in ptx
    text = with_torch.deplo("run", "-c", snippet, "--device", "host")
    (line,) = [line for line in text.splitlines() if line.startswith("error: ")]
    assert float(line.split()[1]) < 1e-6


def test_backend_of_torch_compile(with_torch):
    program = (
        "import torch\n"
        "x = torch.randn(100)\n"
        "f = torch.compile(torch.nn.functional.silu, backend='deplo')\n"
        "torch.testing.assert_close(f(x), torch.nn.functional.silu(x))\n"
        "print('deplo' in torch._dynamo.list_backends())\n"
    )
    result = run(with_torch.python, "-W", "error::UserWarning", "-c", program)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "True\n"
