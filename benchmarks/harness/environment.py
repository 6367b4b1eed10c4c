# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where and with what the numbers were made."""

import platform
import re
import subprocess
from pathlib import Path

_TOP = Path(__file__).resolve().parents[2]


def commit() -> str:
    """The commit of the checkout, or of the archive that scripts/pack made."""
    packed = _TOP / "COMMIT"
    if packed.is_file():
        return packed.read_text().strip()
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("-modified" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_TOP), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """The CPU's name."""
    try:
        match = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        match = None
    return match[1].strip() if match else platform.machine()


def device_name(device: str) -> str:
    """ "NVIDIA H200" or the CPU's name."""
    if device == "host":
        return processor()
    import torch

    return torch.cuda.get_device_name()


def versions(device: str) -> dict[str, str]:
    """Of everything that has a part in the numbers."""
    import torch

    from deplo import __version__

    found = {
        "deplo": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if device == "cuda":
        found["cuda"] = torch.version.cuda or "none"
        found["driver"] = _driver()
        try:
            import triton

            found["triton"] = triton.__version__
        except ImportError:
            pass
    return found


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return output.splitlines()[0].strip()
