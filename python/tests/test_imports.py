# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Snippets that were imported before need no PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deplo import imports

pytestmark = pytest.mark.usefixtures("compiler")

NORM = "torch.nn.RMSNorm(64)(torch.randn(4, 64))"

# Prints the level and whether PyTorch was needed.
SCRIPT = """
import sys
from deplo.cli import main
main(sys.argv[1:], standalone_mode=False)
print("torch" in sys.modules)
"""


def run(cache: Path, *arguments: str) -> tuple[str, bool]:
    environment = os.environ | {"DEPLO_CACHE": "", "DEPLO_CACHE_DIR": str(cache)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, "compile", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    text, _, needed = result.stdout.rstrip("\n").rpartition("\n")
    return text, needed == "True"


def test_the_second_time_pytorch_is_not_needed(tmp_path):
    first = run(tmp_path, "-c", NORM, "--ir", "tile")
    second = run(tmp_path, "-c", NORM, "--ir", "tile")
    assert (first[1], second[1]) == (True, False)
    assert first[0] == second[0] and "tile.kernel @rms_norm_64" in first[0]
    # Another level of the same snippet, and other inputs, seeds and texts.
    assert not run(tmp_path, "-c", NORM, "--ir", "loop")[1]
    assert run(tmp_path, "-c", NORM, "--inputs", "f32[8,64]", "--ir", "loop")[1]
    assert run(tmp_path, "-c", NORM.replace("64", "32"), "--ir", "loop")[1]


def test_damaged_entries_count_as_absent(tmp_path):
    first, _ = run(tmp_path, "-c", NORM, "--ir", "graph")
    (entry,) = tmp_path.glob("llvmcache-import-*")
    entry.write_bytes(entry.read_bytes()[:-3])
    assert run(tmp_path, "-c", NORM, "--ir", "graph") == (first, True)
    assert run(tmp_path, "-c", NORM, "--ir", "graph") == (first, False)


@pytest.mark.parametrize(
    "code",
    [
        NORM,
        "torch.softmax(torch.randn(8, 300), -1) * 2",
        "F.silu(torch.randn(4, 8))",
        "x = torch.randn(4, 8, dtype=torch.bfloat16)\n(x.float() * 2).sum(0)",
        "nn.Sequential(nn.Linear(4, 4), nn.GELU())(torch.randn(2, 4))",
        "(lambda a: a[:, 1:] + a.mT.mT[:, :-1])(torch.randn(3, 4))",
    ],
)
def test_what_may_be_kept(code):
    assert imports.says_all(code)


@pytest.mark.parametrize(
    "code",
    [
        "torch.load('x')(torch.randn(3))",
        "torch.set_default_dtype(torch.half)\ntorch.randn(4) + 1",
        "open('x')",
        "import os\ntorch.randn(3) + 1",
        "torch.randn(torch.randn(4).item())",
        "torch.from_file('x')",
        "torch.randn(3, device='cuda') + 1",
        "torch.randn(torch.cuda.device_count()) * 2",
        "torch.randn(3) * torch.get_num_threads()",
        "F.torch.hub.load('x')",
        "(lambda x: x.__class__)(torch.randn(3))",
        "torch.randn(3) + len(str(print))",
        "f'{torch}'",
    ],
)
def test_what_depends_on_more_is_imported_again(code):
    assert not imports.says_all(code)
