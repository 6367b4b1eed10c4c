# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose wgmma instructions ptxas serialises, or of which registers spill."""

import os
import stat
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import deplo
from deplo.errors import DeploWarning, Error

NOTE = (
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources for the wgmma pipeline in function '{}'"
)
SPILLS = "    8 bytes stack frame, 64 bytes spill stores, 32 bytes spill loads"


def find_ptxas() -> Path:
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for root in filter(None, roots):
        path = Path(root) / "bin" / "ptxas"
        if path.exists():
            return path
    pytest.skip("there is no ptxas")


@pytest.fixture(params=["serialised", "spills"])
def complaint(request, tmp_path, monkeypatch):
    """A ptxas that complains of each kernel with wgmma."""
    ptxas = tmp_path / "bin" / "ptxas"
    ptxas.parent.mkdir()
    say = f"    print({NOTE!r}.format(name))\n"
    if request.param == "spills":
        entry = "ptxas info    : Compiling entry function '{}' for 'sm_90a'"
        say = f"    print({entry!r}.format(name))\n    print({SPILLS!r})\n"
    ptxas.write_text(
        "#!/usr/bin/env python3\n"
        "import re, subprocess, sys\n"
        f"status = subprocess.call([{str(find_ptxas())!r}, *sys.argv[1:]])\n"
        "sys.stdout.flush()\n"
        "ptx = open(sys.argv[-1]).read()\n"
        'names = re.findall(r"\\.entry (\\w+)\\(", ptx) if "wgmma" in ptx else []\n'
        "for name in names:\n" + say + "sys.exit(status)\n"
    )
    ptxas.chmod(ptxas.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("DEPLO_CACHE", "off")
    return request.param


def compile_linear(inputs, **options):
    return deplo.compile(F.linear, inputs, target="sm_90a", device="cuda", **options)


@pytest.mark.parametrize(
    ("shape", "dtype", "precision"),
    [
        ((2048, 2048, 2048), torch.bfloat16, "ieee"),
        # Its operands would be packed for wgmma, or split into pieces.
        ((1024, 1024, 1021), torch.bfloat16, "ieee"),
        ((2048, 2048, 2048), torch.float32, "f32"),
    ],
)
def test_computes_without_wgmma(shape, dtype, precision, complaint):
    m, n, k = shape
    inputs = [torch.empty(m, k, dtype=dtype), torch.empty(n, k, dtype=dtype)]
    with pytest.warns(DeploWarning, match="is computed without wgmma"):
        compiled = compile_linear(inputs, precision=precision)
    (kernel,) = compiled.report["kernels"]
    assert "wgmma" not in kernel["schedule"]
    (warning,) = compiled.report["warnings"]
    reason = "serialised" if complaint == "serialised" else "96 bytes of registers were spilled"
    assert f"kernel {kernel['name']} is computed without wgmma: " in warning
    assert reason in warning


def test_given_schedules_fail(complaint):
    inputs = [torch.empty(256, 256, dtype=torch.bfloat16)] * 2
    reason = "serialised wgmma" if complaint == "serialised" else "spills 96 bytes"
    with pytest.raises(Error, match=reason):
        compile_linear(inputs, schedule="atom=wgmma,split_k=1")
