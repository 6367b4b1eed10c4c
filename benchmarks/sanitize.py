# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every kernel of a suite once, for compute-sanitizer to watch.

    sanitize.py compile --suite SUITE --dtype DTYPE --into FOLDER
    compute-sanitizer --tool memcheck python3 sanitize.py run FOLDER

`run` uses neither PyTorch nor the compiler: the only work on the GPU is
deplo's kernels and copies. sanitize.sh does both for all tools.
"""

import argparse
import sys
import zlib
from pathlib import Path

from deplo.errors import Error


def compile_suite(
    suite: str, dtype: str, pattern: str, target: str, device: str, folder: Path
) -> int:
    """Writes a package for each case that compiles; returns their number."""

    from deplo.compilation import Options, compile_ir
    from deplo.importer import import_program
    from harness.cases import DTYPES, load_suite

    folder.mkdir(parents=True, exist_ok=True)
    done = 0
    for case in load_suite(suite, pattern):
        inputs = case.empty_inputs(DTYPES[dtype])
        try:
            text = import_program(case.function(DTYPES[dtype]), inputs).text
            package = compile_ir(text, Options(target=target, device=device)).package
        except Error as error:
            print(f"{case.name}: not compiled: {' '.join(str(error).split())[:120]}")
            continue
        (folder / f"{case.name}-{dtype}.deplo").write_bytes(package or b"")
        done += 1
    return done


def run_package(path: Path, device: str) -> list[str]:
    """Runs a package once on random inputs; returns the names of its kernels.

    Raises:
        Error: it can't be run, or left NaN in a result.
    """
    from deplo.runtime import Executable
    from harness.device import Device, empty_bits, has_nan, random_bits

    memory = Device(device)
    executable = Executable(path.read_bytes(), device)
    pointers = []
    try:
        for number, buffer in enumerate(executable.inputs):
            bits = random_bits(buffer, zlib.crc32(path.name.encode()) + number)
            pointers.append(memory.allocate(bits.nbytes))
            memory.upload(pointers[-1], bits)
        results = [empty_bits(buffer) for buffer in executable.outputs]
        pointers += [memory.allocate(bits.nbytes) for bits in results]
        executable.run(pointers)
        memory.synchronize()
        # initcheck reports elements that the kernels left out.
        for bits, pointer in zip(results, pointers[len(executable.inputs) :], strict=True):
            memory.download(bits, pointer)
            if has_nan(bits):
                raise Error("there is a NaN in the result")
    finally:
        for pointer in pointers:
            memory.free(pointer)
        executable.close()
    return [kernel["name"] for kernel in executable.manifest["kernels"]]


def run_folder(folder: Path, device: str) -> int:
    """Runs every package of a folder; returns the number of failures."""
    paths = sorted(folder.glob("*.deplo"))
    kernels = failures = 0
    for path in paths:
        try:
            names = run_package(path, device)
        except Error as error:
            failures += 1
            print(f"{path.stem}: failed: {error}", flush=True)
            continue
        kernels += len(names)
        print(f"{path.stem}: {', '.join(names)}", flush=True)
    print(f"{kernels} kernels of {len(paths)} packages ran, {failures} packages failed")
    return failures if paths else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compiling = commands.add_parser("compile", help="write a package for each case")
    compiling.add_argument("--suite", required=True)
    compiling.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="f32")
    compiling.add_argument("--filter", default="", metavar="REGEX")
    compiling.add_argument("--target", default="sm_90a")
    compiling.add_argument("--device", choices=("cuda", "host"), default="cuda")
    compiling.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    running = commands.add_parser("run", help="run the packages of a folder")
    running.add_argument("folder", type=Path)
    running.add_argument("--device", choices=("cuda", "host"), default="cuda")
    options = parser.parse_args(arguments)
    if options.command == "run":
        return 1 if run_folder(options.folder, options.device) else 0
    done = compile_suite(
        options.suite, options.dtype, options.filter, options.target, options.device, options.into
    )
    print(f"{done} packages in {options.into}")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
