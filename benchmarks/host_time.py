# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs the processor before the device has its work.

One kernel on a tensor so small that its own time is nothing beside the call:
on `host` it is in the time, on `cuda` only the launch is. The least over many
rounds; what disturbs a round only adds.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import deplo
from deplo.backend import backend


def contenders(device: str) -> dict[str, Callable[[], Any]]:
    """Calls of one function: the norm of a row of 64 numbers, with a weight."""
    where = "cpu" if device == "host" else "cuda"
    module = torch.nn.RMSNorm(64).to(where).requires_grad_(False)
    x = torch.randn(1, 64, device=where)
    compiled = torch.compile(module, backend=backend, options={"fallback": False})
    ahead = deplo.compile(module, (x,))
    peer = torch.compile(module)
    return {
        'torch.compile(backend="deplo")': lambda: compiled(x),
        "deplo.compile": lambda: ahead(x),
        "torch.compile": lambda: peer(x),
        "PyTorch eager": lambda: module(x),
    }


def least_us(call: Callable[[], Any], device: str, rounds: int = 50, calls: int = 200) -> float:
    """The least time of a call in microseconds, not waiting for the device."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
        if device == "cuda":
            torch.cuda.synchronize()
    return best * 1e6


def main(arguments: list[str] | None = None) -> int:
    from harness import environment
    from harness.results import RESULTS, aligned

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    parser.add_argument("--only-deplo", action="store_true", help="leave the peers out")
    parser.add_argument(
        "--out", type=Path, help="default: benchmarks/results/host-time-<device>.json"
    )
    options = parser.parse_args(arguments)
    rows = []
    with torch.inference_mode():
        for name, call in contenders(options.device).items():
            if options.only_deplo and "deplo" not in name:
                continue
            call()
            rows.append({"contender": name, "us": round(least_us(call, options.device), 2)})
    cells = [(row["contender"], f"{row['us']:.2f}") for row in rows]
    print(*aligned([("contender", "us a call"), *cells]), sep="\n")
    path = options.out or RESULTS / f"host-time-{options.device}.json"
    data = {
        "device": environment.processor()
        if options.device == "host"
        else torch.cuda.get_device_name(),
        "processor": environment.processor(),
        "versions": environment.versions(options.device),
        "commit": environment.commit(),
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
