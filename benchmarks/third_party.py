# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole kernels that deplo did not make: what a GPU computes, and whether the emulator agrees.

    python benchmarks/third_party.py record OUT.xz         on a machine with a GPU
    python benchmarks/third_party.py compare RESULTS.xz    anywhere
    python benchmarks/third_party.py run "NAME;..."        some on the GPU, or all, to be profiled

They are CUDA C++ at -O0 and -O3 and hand-built Hopper kernels, all in python/tests/ptx. Results
are the same bits, but for kernels with approximate instructions, which say how near they are.
"""

import argparse
import functools
import json
import lzma
import math
import sys
from collections.abc import Callable
from ctypes import c_float, c_int32, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from deplo.emulator import Emulation, Outcome, TensorMap, Uninitialized

PTX = Path(__file__).parent.parent / "python" / "tests" / "ptx"


@dataclass
class Launch:
    """Attributes:
    file: in python/tests/ptx.
    kernel: its name, or how its mangled name begins.
    options: of `Emulation.run`.
    """

    file: str
    kernel: str
    arguments: list[Any]
    options: dict[str, Any]


@dataclass
class Case:
    """Launches after each other.

    Attributes:
        outputs: the tensors that they leave.
        error: of them, relative to the largest.
    """

    launches: list[Launch]
    outputs: list[torch.Tensor]
    error: float = 0


@functools.cache
def ptx(file: str) -> str:
    raw = (PTX / file).read_bytes()
    return (lzma.decompress(raw) if file.endswith(".xz") else raw).decode()


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The same on every machine: multiples of 2**-10 below 2, rounded to the type."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-2048, 2049, shape, generator=generator) / 1024).to(dtype)


def integers(low: int, high: int, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator, dtype=torch.int32)


def _int(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int32)


# ---------------------------------------------------------------------------------------------
# CUDA C++
# ---------------------------------------------------------------------------------------------


def _cuda(level: str, kernel: str, grid, block, *arguments, outputs, error=0.0) -> Case:
    launch = Launch(f"kernels.{level}.ptx", kernel, list(arguments), dict(grid=grid, block=block))
    return Case([launch], list(outputs), error)


def _cuda_cases(level: str) -> dict[str, Callable[[], Case]]:
    def block_sum() -> Case:
        x, y = numbers(3, 1000), torch.empty(3)
        return _cuda(level, "block_sum", 3, 256, x, Uninitialized(y), c_int32(1000), outputs=[y])

    def scan() -> Case:
        x, y = integers(-100, 100, 256), _int(256)
        return _cuda(level, "scan", 1, 256, x, Uninitialized(y), outputs=[y])

    def gemm() -> Case:
        m, n, k = 33, 20, 50
        a, b, c = numbers(m, k), numbers(k, n, seed=1), torch.empty(m, n)
        sizes = map(c_int32, (m, n, k))
        return _cuda(level, "gemm", (2, 3), (16, 16), a, b, Uninitialized(c), *sizes, outputs=[c])

    def histogram() -> Case:
        x, bins = integers(0, 256, 3000).to(torch.uint8), _int(256)
        return _cuda(level, "histogram", 4, 128, x, bins, c_int32(3000), outputs=[bins])

    def grid_sum() -> Case:
        x, parts, y = numbers(1000), torch.empty(8), torch.empty(1)
        return _cuda(level, "grid_sum", 8, 128, x, Uninitialized(parts), Uninitialized(y),
                     c_int32(1000), outputs=[parts, y])  # fmt: skip

    def pipeline() -> Case:
        x = numbers(10, 64, 4)
        y = torch.empty_like(x)
        return _cuda(level, "pipeline", 1, 64, x, Uninitialized(y), c_int32(10), outputs=[y])

    def gelu() -> Case:
        x, y = numbers(300, dtype=torch.float16), torch.empty(300, dtype=torch.bfloat16)
        return _cuda(level, "gelu", 2, 128, x, Uninitialized(y), c_int32(150), outputs=[y],
                     error=2.0**-8)  # fmt: skip

    def mathematics() -> Case:
        x, u = numbers(64), numbers(64, seed=1).double()
        y, v = torch.empty(64), torch.empty(64, dtype=torch.float64)
        return _cuda(level, "mathematics", 1, 64, x, Uninitialized(y), u, Uninitialized(v),
                     outputs=[y, v], error=1e-6)  # fmt: skip

    def control() -> Case:
        x, y = integers(0, 50, 96), _int(96)
        return _cuda(level, "control", 1, 96, x, Uninitialized(y), outputs=[y])

    def cooperative() -> Case:
        x, y, count = integers(0, 100, 64), _int(64), _int(1)
        return _cuda(level, "cooperative", 1, 64, x, Uninitialized(y), count, outputs=[y, count])

    def tensor() -> Case:
        a, b = (numbers(16, 64, seed=i, dtype=torch.float16) for i in range(2))
        c = torch.empty(16, 16)
        return _cuda(level, "tensor", 1, 32, a, b, Uninitialized(c), outputs=[c])

    made = (block_sum, scan, gemm, histogram, grid_sum, pipeline, gelu, mathematics, control,
            cooperative, tensor)  # fmt: skip
    return {f"{case.__name__} {level}": case for case in made}


def _recursion_cases(level: str) -> dict[str, Callable[[], Case]]:
    def case(kernel: str, block: int, *arguments, outputs) -> Case:
        launch = Launch(f"recursion.{level}.ptx", kernel, list(arguments),
                        dict(grid=1, block=block))  # fmt: skip
        return Case([launch], list(outputs))

    def calls() -> Case:
        y, z = _int(64), _int(64)
        return case("numbers", 64, Uninitialized(y), Uninitialized(z), outputs=[y, z])

    def sort() -> Case:
        x = integers(-50, 50, 40, 17)
        return case("rows", 40, x, c_int32(17), outputs=[x])

    def turns() -> Case:
        y = _int(16)
        return case("turns", 16, Uninitialized(y), outputs=[y])

    return {f"recursion, {case.__name__} {level}": case for case in (calls, sort, turns)}


# ---------------------------------------------------------------------------------------------
# Hopper kernels
# ---------------------------------------------------------------------------------------------


def gemm_tma(blocks: int = 1) -> Case:
    """TMA, memory barriers, wgmma, setmaxnreg, stmatrix; with two, clusters and multicast."""
    m, n, k = 256, 256, 128
    a, b = (numbers(rows, k, seed=i, dtype=torch.bfloat16) for i, rows in enumerate((m, n)))
    c = torch.zeros(m, n, dtype=torch.bfloat16)
    rows = m // (128 * blocks)
    arguments = [
        TensorMap(a, (128, 64), 128),
        TensorMap(b, (256 // blocks, 64), 128),
        TensorMap(c, (64, 64), 128),
        *map(c_int32, (rows, 1, k // 64, rows)),
    ]
    file = "gemm_tma.ptx" if blocks == 1 else "gemm_cluster.ptx"
    options = dict(grid=rows * blocks, block=384, shared=229440)
    return Case([Launch(file, "gemm", arguments, options)], [c])


def gemm_cluster() -> Case:
    return gemm_tma(2)


def gemm_mma() -> Case:
    """cp.async, ldmatrix, mma.sync."""
    m, n, k = 128, 128, 128
    a, b = (numbers(rows, k, seed=i, dtype=torch.bfloat16) for i, rows in enumerate((m, n)))
    c = torch.zeros(m, n, dtype=torch.bfloat16)
    arguments = [a, b, Uninitialized(c), *map(c_int32, (1, 1, k // 32, 1))]
    return Case(
        [Launch("gemm_mma.ptx", "gemm", arguments, dict(grid=1, block=256, shared=65536))], [c]
    )


def attention() -> Case:
    """Two warpgroups in turns, accumulators as operands, rings of K and V."""
    heads, length, width = 2, 256, 128
    q, k, v = (numbers(heads, length, width, seed=i, dtype=torch.bfloat16) for i in range(3))
    out = torch.zeros_like(q)
    arguments = [
        *(TensorMap(x, (1, rows, 64), 128) for x, rows in ((q, 128), (k, 128), (v, 128))),
        TensorMap(out, (1, 64, 64), 128),
        *map(c_int32, (2, 2, heads, 1, 1, length)),
        c_float(math.log2(math.e) / math.sqrt(width)),
        _int(4),
    ]
    options = dict(grid=length // 128 * heads, block=384, shared=196696)
    return Case([Launch("attention.ptx", "attn", arguments, options)], [out], error=2.0**-8)


# ---------------------------------------------------------------------------------------------
# f32-accurate products on tensor cores: D[i, j] = sum of P[i, k] Q[j, k]
# ---------------------------------------------------------------------------------------------

FP32 = "fp32.ptx.xz"
BLOCK_ROWS = 128


def _sync(pieces: int) -> Case:
    """mma.sync with operands of two tf32 or three bf16 pieces."""
    m, n, k = 70, 66, 64
    a, b, c = numbers(m, k) / 3, numbers(n, k, seed=1) / 3, torch.empty(m, n)
    arguments = [a, b, Uninitialized(c), *map(c_int32, (m, n, k)), *map(c_uint64, (0, 0, 0))]
    options = dict(grid=(2, 2, 1), block=128, shared=3 * 128 * 128)
    return Case([Launch(FP32, f"_Z6k_syncILi{pieces}", arguments, options)], [c])


def _wgmma(kernel: str, columns: int, groups: int, shared: int, splits: int, *more, cluster=None):
    i, j, k = 130, 40, 96
    p, q, c = numbers(i, k) / 3, numbers(j, k, seed=1) / 3, torch.empty(i, j)
    rows = 64 * groups
    across, down = -(-j // columns), -(-i // rows)
    workspace = torch.zeros(across * down * splits * rows * columns)
    arguments = [
        TensorMap(p, (rows, 32), 128),
        TensorMap(q, (columns, 32), 128),
        *(p, q, Uninitialized(c)),
        *map(c_int32, (i, j, k, j, 1, splits)),
        *(workspace, _int(across * down)),
        *map(c_int32, (down, across)),
        *more,
    ]
    options = dict(grid=(across * down, splits), block=64 * 2 * (groups + 1), shared=shared)
    if cluster:
        options["cluster"] = cluster
    return Case([Launch(FP32, kernel, arguments, options)], [c])


def _split(scaled: bool) -> Case:
    """Three f16 products; Q comes in two pieces that another kernel made."""
    i, j, k, columns, splits, stages = 130, 40, 128, 32, 2, 3
    p, q, c = numbers(i, k) / 3, numbers(j, k, seed=1) / 3, torch.empty(i, j)
    scales = torch.empty(i), torch.empty(j)
    high, low = (torch.empty(j, k, dtype=torch.float16) for _ in range(2))
    across, down = -(-j // columns), -(-i // BLOCK_ROWS)
    null = c_uint64(0)
    first = Launch(FP32, "_Z6k_rowsILi0E", [p, scales[0], null, null, c_int32(k)],
                   dict(grid=i, block=256))  # fmt: skip
    rows = "_Z6k_rowsILi2E" if scaled else "_Z6k_rowsILi1E"
    second = Launch(FP32, rows, [q, scales[1], high, low, c_int32(k)],
                    dict(grid=j, block=256))  # fmt: skip
    arguments = [
        TensorMap(p, (BLOCK_ROWS, 32), 128),
        *(TensorMap(piece, (columns, 64), 128) for piece in (high, low)),
        *(p, q, *scales, Uninitialized(c)),
        *map(c_int32, (i, j, k, j, 1, splits)),
        torch.zeros(across * down * splits * BLOCK_ROWS * columns),
        _int(across * down),
        *map(c_int32, (down, across)),
    ]
    shared = stages * (128 * 256 + 2 * columns * 128) + 1024 + stages * 16 + 64
    options = dict(grid=(across * down, splits), block=384, shared=shared)
    kernel = "_Z4k_wsILi32ELi3ELi96E" if scaled else "_Z4k_wsILi32ELi3ELi64E"
    third = Launch(FP32, kernel, arguments, options)
    return Case([first, second, third], [*scales, high, low, c])


def _vector() -> Case:
    n, k = 9, 1056
    w, x, y = numbers(n, k) / 3, numbers(k, seed=1) / 3, torch.empty(n)
    arguments = [w, x, Uninitialized(y), c_int32(n), c_int32(k)]
    return Case([Launch(FP32, "_Z6k_gemv", arguments, dict(grid=n, block=256))], [y])


def _stages(stages: int, bytes: int) -> int:
    return stages * bytes + 1024 + stages * 24 + 64


CASES: dict[str, Callable[[], Case]] = {
    **_cuda_cases("O0"),
    **_cuda_cases("O3"),
    **_recursion_cases("O0"),
    **_recursion_cases("O3"),
    "gemm_tma": gemm_tma,
    "gemm_cluster": gemm_cluster,
    "gemm_mma": gemm_mma,
    "attention": attention,
    "fp32 tf32x3 mma.sync": lambda: _sync(1),
    "fp32 bf16x6 mma.sync": lambda: _sync(2),
    "fp32 tf32x3 wgmma": lambda: _wgmma("_Z4k_wgILi2ELi16E", 16, 2, _stages(8, 160 * 128), 2),
    "fp32 tf32x3 wgmma in clusters": lambda: _wgmma(
        "_Z4k_wgILi1ELi32E", 32, 1, _stages(8, 128 * 128), 2, cluster=(1, 2, 1)
    ),
    "fp32 bf16x6 wgmma": lambda: _wgmma(
        "_Z4k_whILi32ELi4ELi2ELi1E", 32, 2, _stages(4, 160 * 128 + 32 * 64 * 3), 2,
        c_float(1), c_float(1),
    ),
    "fp32 f16x3 wgmma": lambda: _wgmma(
        "_Z4k_whILi32ELi4ELi2ELi0E", 32, 2, _stages(4, 160 * 128 + 32 * 64 * 2), 1,
        c_float(1), c_float(1),
    ),
    "fp32 f16x3 of pieces": lambda: _split(False),
    "fp32 f16x3 of scaled pieces": lambda: _split(True),
    "fp32 matrix and vector": _vector,
}  # fmt: skip


def full_name(text: str, kernel: str) -> str:
    """Of the entry whose name begins so."""
    for line in text.splitlines():
        if ".entry " in line:
            name = line.split(".entry ")[1].split("(")[0].strip()
            if name == kernel or (kernel.startswith("_Z") and name.startswith(kernel)):
                return name
    raise KeyError(kernel)


@functools.cache
def _emulation(file: str) -> Emulation:
    return Emulation(ptx(file))


def emulate(case: Case) -> list[Outcome]:
    outcomes = []
    for launch in case.launches:
        name = full_name(ptx(launch.file), launch.kernel)
        outcome = _emulation(launch.file).run(name, arguments=launch.arguments, **launch.options)
        outcomes.append(outcome)
    return outcomes


def on_gpu(case: Case, modules: dict[str, Any], gpu: Any) -> None:
    for launch in case.launches:
        if launch.file not in modules:
            modules[launch.file] = gpu.load(ptx(launch.file).encode())
        name = full_name(ptx(launch.file), launch.kernel)
        gpu.run(modules[launch.file], name, arguments=launch.arguments, **launch.options)


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


def record(path: Path, only: str | None = None) -> None:
    from gpu import Gpu

    gpu, modules = Gpu(), {}
    results: dict[str, list[bytes]] = {}
    for name, make in CASES.items():
        if only not in (None, "all") and name not in only.split(";"):
            continue
        case = make()
        try:
            on_gpu(case, modules, gpu)
        except RuntimeError as error:
            print(f"{name}: {error}")
            continue
        results[name] = [raw(output) for output in case.outputs]
    if only is not None:
        return
    sizes = {name: [len(output) for output in outputs] for name, outputs in results.items()}
    header = json.dumps({"gpu": gpu.name, "bytes": sizes}).encode()
    body = b"".join(output for outputs in results.values() for output in outputs)
    path.write_bytes(lzma.compress(header + b"\n" + body, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(results)} kernels on {gpu.name}, {path.stat().st_size} bytes")


def load(path: Path) -> dict[str, list[bytes]]:
    line, _, body = lzma.decompress(path.read_bytes()).partition(b"\n")
    results, begin = {}, 0
    for name, sizes in json.loads(line)["bytes"].items():
        results[name] = []
        for size in sizes:
            results[name].append(body[begin : begin + size])
            begin += size
    return results


def difference(name: str, recorded: list[bytes]) -> str | None:
    """What is wrong with the emulator's results, if anything."""
    case = CASES[name]()
    findings = [text for outcome in emulate(case) for text in outcome.findings]
    if findings:
        return f"{name}: {findings[0]}"
    for i, (output, bytes) in enumerate(zip(case.outputs, recorded, strict=True)):
        want = torch.frombuffer(bytearray(bytes), dtype=output.dtype).view(output.shape)
        wrong = want.view(torch.uint8) != output.view(torch.uint8)
        if case.error:
            wide = want.double()
            wrong = (output.double() - wide).abs() > case.error * wide.abs().max()
        if wrong.any():
            worst = (output.double() - want.double()).abs().max().item()
            return f"{name}: {int(wrong.sum())} of output {i} differ, by up to {worst:g}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare", "run"))
    parser.add_argument("what", help="the file of results; with run, kernels")
    arguments = parser.parse_args()
    if arguments.action == "run":
        record(Path(), arguments.what)
        return 0
    if arguments.action == "record":
        record(Path(arguments.what))
        return 0
    results = load(Path(arguments.what))
    differences = [text for name in results if (text := difference(name, results[name]))]
    print("\n".join(differences))
    print(f"{len(results) - len(differences)} kernels agree, {len(differences)} differ")
    return 1 if differences or results.keys() != CASES.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
