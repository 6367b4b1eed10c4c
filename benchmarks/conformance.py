# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-instruction kernels: what a GPU computes, and whether the emulator does the same.

    python benchmarks/conformance.py record OUT.xz         on a machine with a GPU and ptxas
    python benchmarks/conformance.py compare VECTORS.xz    anywhere

The kernels and their inputs are made from instruction_forms; a file holds the GPU's outputs only.
Forms that ptxas has no machine code for are left out. Exit code of compare: 1 if an exact form
differs, or an approximate one by more than its documented error.
"""

import argparse
import concurrent.futures
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from deplo.emulator import Emulation, TensorMap
from deplo.errors import Error
from instruction_forms import HEADER, Form, all_forms, copies

TORCH_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
CHUNK = 60
"""Kernels that are assembled together."""


def assemble(forms: list[Form], folder: Path, number: int) -> tuple[list[Form], bytes]:
    """Those of `forms` that there is machine code for, as kernels k0, k1, ..., and the code."""
    source, target = folder / f"{number}.ptx", folder / f"{number}.cubin"
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    while True:
        starts, text = [], HEADER
        for i, form in enumerate(forms):
            starts.append(text.count("\n") + 1)
            text += form.kernel(f"k{i}") + "\n"
        source.write_text(text)
        command = [ptxas, "-arch=sm_90a", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return forms, target.read_bytes()
        lines = [int(line) for line in re.findall(r"line (\d+); error", done.stderr)]
        refused = {max(i for i, start in enumerate(starts) if start <= line) for line in lines}
        if not refused:
            sys.exit(f"ptxas fails: {done.stderr[:2000]}")
        for i in sorted(refused):
            message = re.search(rf"line (?:{'|'.join(map(str, lines))}); (error.*)", done.stderr)
            print(f"left out: {forms[i].name}: {message.group(1) if message else ''}")
        forms = [form for i, form in enumerate(forms) if i not in refused]


def assembled(forms: list[Form]) -> Iterator[tuple[list[Form], bytes]]:
    chunks = [forms[i : i + CHUNK] for i in range(0, len(forms), CHUNK)]
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        yield from pool.map(lambda i: assemble(chunks[i], Path(folder), i), range(len(chunks)))


def arguments(form: Form) -> list[Any]:
    """Of the form's kernel, as `Emulation.run` takes them."""
    source = torch.frombuffer(bytearray(form.inputs() or b"\0"), dtype=torch.uint8)
    result = torch.zeros(form.result_bytes, dtype=torch.uint8)
    if form.map is None:
        return [source, result]
    type = TORCH_TYPES[form.map.strides[-1]]
    behind = source[form.memory_begin :].view(type)
    strides = [stride // form.map.strides[-1] for stride in form.map.strides]
    tensor = torch.as_strided(behind, form.map.extents, strides)
    return [
        source,
        result,
        TensorMap(tensor, form.map.box, form.map.swizzle, form.map.steps, form.map.fills_nan,
                  copies.ELEMENTS[form.map.type]),
    ]  # fmt: skip


def emulate(form: Form) -> bytes:
    """Raises:
    Error: the emulator has no such instruction, or finds something wrong.
    """
    values = arguments(form)
    outcome = Emulation(HEADER + form.kernel("k")).run(
        "k", grid=form.blocks, block=form.threads, arguments=values
    )
    if outcome.findings:
        raise Error(outcome.findings[0])
    return values[1].numpy().tobytes()


def record(path: Path, forms: list[Form]) -> int:
    """Adds the forms' results to those that the file has already."""
    from gpu import Gpu

    gpu = Gpu()
    outputs = load(path) if path.exists() else {}
    code = 0
    try:
        for chunk, binary in assembled(forms):
            module = gpu.load(binary)
            for i, form in enumerate(chunk):
                values, name = arguments(form), form.name
                gpu.run(module, f"k{i}", grid=form.blocks, block=form.threads, arguments=values)
                outputs[name] = values[1].numpy().tobytes()
    except RuntimeError as error:
        # Nothing runs after a kernel that failed.
        print(f"{name}: {error}")
        code = 1
    save(path, {"gpu": gpu.name}, outputs)
    print(f"{len(outputs)} forms on {gpu.name}, {path.stat().st_size} bytes")
    return code


def save(path: Path, header: dict, outputs: dict[str, bytes]) -> None:
    """One line of JSON, then all outputs, compressed together."""
    header = header | {"bytes": {name: len(raw) for name, raw in outputs.items()}}
    content = json.dumps(header).encode() + b"\n" + b"".join(outputs.values())
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> dict[str, bytes]:
    """What a file says that the GPU computes, by the form's name."""
    line, _, raw = lzma.decompress(path.read_bytes()).partition(b"\n")
    outputs, begin = {}, 0
    for name, size in json.loads(line)["bytes"].items():
        outputs[name] = raw[begin : begin + size]
        begin += size
    return outputs


def difference(form: Form, recorded: bytes) -> str | None:
    """What is wrong with the emulator's results, if anything."""
    try:
        want, got = form.values(recorded), form.values(emulate(form))
    except Error as error:
        return f"{form.name}: {error}"
    data, count = form.inputs(), len(form.results)
    wrong = []
    for i, (x, y) in enumerate(zip(want, got, strict=True)):
        if x != y and not (form.error and form.error([], x, y)):
            wrong.append(i)
    if not wrong:
        return None
    i = wrong[0]
    thread, width = i // count, 16 * len(form.operands)
    operands = [
        int.from_bytes(data[at : at + 16], "little")
        for at in range(thread * width, (thread + 1) * width, 16)
    ]
    shown = ", ".join(hex(operand) for operand in operands[:4])
    return (
        f"{form.name} differs in {len(wrong)} of {len(want)} results: result {i % count} of thread "
        f"{thread} of {shown or 'its tile'} is {want[i]:#x} on the GPU, {got[i]:#x} in the emulator"
    )


def compare(path: Path) -> int:
    recorded = load(path)
    forms = [form for form in all_forms() if form.name in recorded]
    differences = [text for form in forms if (text := difference(form, recorded[form.name]))]
    print("\n".join(differences))
    gone = recorded.keys() - {form.name for form in forms}
    for name in sorted(gone):
        print(f"recorded, but there is no such form: {name}")
    print(f"{len(forms) - len(differences)} forms agree, {len(differences)} differ")
    return 1 if differences or gone else 0


def check() -> int:
    """Assembles every form and runs it on the emulator, without a GPU."""
    bad = count = 0
    for forms, _ in assembled(all_forms()):
        for form in forms:
            count += 1
            try:
                emulate(form)
            except Error as error:
                print(f"{form.name}: {error}")
                bad += 1
    print(f"{count} forms, of which {bad} don't run")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare", "check"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--groups", help="record only these; default all")
    parser.add_argument("--missing", action="store_true", help="record what the file has not")
    arguments = parser.parse_args()
    if arguments.action == "check":
        return check()
    if arguments.file is None:
        parser.error("name the file of vectors")
    if arguments.action == "compare":
        return compare(arguments.file)
    groups = arguments.groups.split(",") if arguments.groups else [None]
    forms = [form for group in groups for form in all_forms(group)]
    if arguments.missing and arguments.file.exists():
        recorded = load(arguments.file)
        forms = [form for form in forms if form.name not in recorded]
    return record(arguments.file, forms)


if __name__ == "__main__":
    sys.exit(main())
