# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding the libraries, and importing the package without PyTorch."""

import os
import subprocess
import sys
import textwrap

import pytest

import deplo
from deplo import library


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_environment_names_the_file_or_its_folder(tmp_path, monkeypatch):
    file = tmp_path / "libDeploC.so"
    file.touch()
    for value in (file, tmp_path):
        monkeypatch.setenv("DEPLO_LIBRARY", str(value))
        assert library.find(library.COMPILER) == file
        assert library.find(library.RUNTIME) is None


def test_library_that_is_not_there(tmp_path):
    result = python(
        """
        import deplo
        from deplo.compilation import targets
        try:
            targets()
        except deplo.Error as error:
            print(error)
        """,
        DEPLO_LIBRARY=str(tmp_path),
    )
    assert f"DEPLO_LIBRARY={tmp_path} is no libDeploC.so" in result.stdout


def test_library_that_is_no_library(tmp_path):
    (tmp_path / "libDeploC.so").write_text("text")
    result = python(
        """
        import deplo
        from deplo.compilation import targets
        try:
            targets()
        except deplo.Error as error:
            print(error)
        """,
        DEPLO_LIBRARY=str(tmp_path),
    )
    assert "can't load" in result.stdout and result.stderr == ""


def test_package_imports_without_pytorch():
    result = python(
        """
        import sys
        sys.modules["torch"] = None  # an import of torch now fails
        import deplo, deplo.cli, deplo.commands, deplo.compilation, deplo.explain, deplo.runtime
        import deplo.steps, deplo.source
        try:
            deplo.compile
        except deplo.Error as error:
            print(error)
        """
    )
    assert result.stdout.strip() == "this needs PyTorch: pip install torch", result.stderr


def test_command_without_pytorch():
    result = python(
        """
        import sys
        sys.modules["torch"] = None
        from deplo.cli import main
        main(["compile", "-c", "torch.ones(3) + 1"])
        """
    )
    assert result.returncode == 1
    assert result.stderr == "deplo: error: this needs PyTorch: pip install torch\n"


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'transmogrify'"):
        _ = deplo.transmogrify


def test_toolkits_of_installed_packages(tmp_path):
    for path in ("nvidia/cu99/bin/ptxas", "nvidia/cudnn/lib/x.so", "triton/__init__.py",
                 "triton/backends/nvidia/bin/ptxas"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    result = python(
        "from deplo.library import installed_toolkits; print(*installed_toolkits(), sep='\\n')",
        PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]),
    )
    assert result.returncode == 0, result.stderr
    roots = result.stdout.splitlines()
    assert str(tmp_path / "nvidia" / "cu99") in roots
    assert str(tmp_path / "triton" / "backends" / "nvidia") in roots
    assert not any("cudnn" in root for root in roots)
