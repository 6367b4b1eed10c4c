# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long it takes to compile again, and to compile many kernels.

- cached: `deplo compile -c EXPRESSION` in a fresh process, with the result on
  disk, PyTorch and those of its modules that an export needs already imported.
- kernels: distinct ones, each a package with machine code where there is
  ptxas, on as many threads as there are processors. The processor's time is
  printed beside the clock's: it doesn't depend on what else the machine does.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from deplo.compilation import Options, compile_ir

EXPRESSION = "torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))"

# What is PyTorch's is imported first; export_ms is the part of it that is left.
_PROCESS = """
import sys, time
import torch, torch._dynamo, torch._export, torch.export._trace
from click.testing import CliRunner
begin = time.perf_counter()
from deplo import cli
from deplo.importer import trace
spent = 0.0
def timed(*arguments, export=trace.export):
    global spent
    start = time.perf_counter()
    try:
        return export(*arguments)
    finally:
        spent += time.perf_counter() - start
import deplo.importer.program
deplo.importer.program.export = timed
result = CliRunner().invoke(cli.main, ["compile", "-c", sys.argv[1]], catch_exceptions=False)
assert result.exit_code == 0, result.output
print(time.perf_counter() - begin, spent)
"""

_KERNEL = """
func.func @main(%x: tensor<{rows}x2048xf32>) -> tensor<{rows}x2048xf32> {{
  %0 = graph.rms_norm %x rank 1 eps 1.0e-6 : tensor<{rows}x2048xf32>
  return %0 : tensor<{rows}x2048xf32>
}}
"""


def cached_s(rounds: int) -> tuple[float, float]:
    """Medians of the whole, and of what PyTorch's export takes of it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DEPLO_CACHE": "", "DEPLO_CACHE_DIR": folder}
        command = [sys.executable, "-c", _PROCESS, EXPRESSION]
        samples = []
        for _ in range(rounds + 1):
            done = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
            samples.append([float(word) for word in done.stdout.split()])
        # The first one filled the cache.
        whole, export = zip(*samples[1:], strict=True)
        return statistics.median(whole), statistics.median(export)


def kernels_s(count: int, threads: int, target: str) -> tuple[float, float]:
    """By the clock, and the processor's time of all threads and of ptxas."""

    def spent() -> float:
        usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def compile_one(i: int) -> None:
        compile_ir(_KERNEL.format(rows=64 + i), Options(target=target, cache=False))

    compile_one(count)
    begin, before = time.perf_counter(), spent()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(compile_one, range(count)))
    return time.perf_counter() - begin, spent() - before


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5, help="processes of the cached expression")
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--target", default="sm_90a")
    options = parser.parse_args(arguments)
    if options.rounds:
        whole, export = cached_s(options.rounds)
        print(f"cached expression: {whole:.2f} s, of which PyTorch's export {export:.2f} s")
    if options.kernels:
        clock, processor = kernels_s(options.kernels, options.threads, options.target)
        print(
            f"{options.kernels} kernels on {options.threads} threads: {clock:.1f} s, "
            f"{processor:.1f} s of processor time"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
