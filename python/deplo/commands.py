# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `deplo compile`, `run` and `bench` do, apart from reading options."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli import write_file
from .compilation import DEFAULT_TARGET, Compilation, Options, try_compile
from .errors import Error
from .explain import count, explain_text, grid, render
from .source import Program, Source, load_source
from .steps import dump, verbose_lines

if TYPE_CHECKING:
    import torch

    from .compiler import LoadedFunction
    from .importer import ImportedProgram


def _import(program: Program) -> "ImportedProgram":
    from .importer import import_program

    return import_program(
        program.function, program.inputs, names=program.names, modules=program.modules
    )


def _echo(lines: Iterable[str]) -> None:
    """Prints lines; those of a diff are coloured on a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan", ">": "yellow", "<": "yellow"}
    for line in lines:
        colour = colours.get(line[:1]) if sys.stdout.isatty() else None
        click.echo(click.style(line, fg=colour) if colour else line)


def compile_source(
    code: str | None,
    file: str | None,
    inputs: str | None,
    seed: int,
    target: str | None,
    schedule: str,
    passes: str,
    device: str,
    level: str | None,
    verbosity: int,
    dump_dir: Path | None,
    explain: bool,
    no_ptxas: bool,
    output: Path | None,
) -> None:
    """`deplo compile` and `deplo explain`."""
    source = load_source(code, file, inputs, seed)
    program = _import(source.program) if source.program else None
    if level == "torch":
        _print_torch(source, program, output)
        return
    text = program.text if program else source.ir or ""
    trace = verbosity > 0 or dump_dir is not None
    options = Options(
        device=device,
        target=target or DEFAULT_TARGET,
        level=level or "package",
        schedule=schedule,
        passes=passes,
        trace=trace,
        ptxas=not no_ptxas,
    )
    result = try_compile(text, options)
    _echo(verbose_lines(result, verbosity) if verbosity else ())
    if dump_dir is not None:
        _dump(result, dump_dir)
    if result.error is not None:
        raise Error(result.error)
    if explain:
        full = result if level is None else _package(text, options)
        click.echo(explain_text(full.report))
    if output is not None:
        data = result.ir.encode() if level else result.package
        write_file(output, data or b"")
    elif level is not None:
        click.echo(result.ir.rstrip("\n"))
    elif not (verbosity or explain or dump_dir):
        click.echo(_summary(source, options, result))


def _dump(result: Compilation, directory: Path) -> None:
    try:
        dump(result, directory)
    except OSError as error:
        raise Error(f"can't write to {directory}: {error.strerror}") from error


def _package(text: str, options: Options) -> Compilation:
    from dataclasses import replace

    from .compilation import compile_ir

    return compile_ir(text, replace(options, level="package", trace=False))


def _print_torch(source: Source, program: "ImportedProgram | None", output: Path | None) -> None:
    if program is None:
        raise Error(f"{source.title} is IR, which has no 'torch' level; see --ir graph")
    if output is not None:
        write_file(output, program.fx_text.encode())
    else:
        click.echo(program.fx_text.rstrip("\n"))


def _summary(source: Source, options: Options, result: Compilation) -> str:
    names = ", ".join(kernel["name"] for kernel in result.kernels)
    where = options.target if options.device == "cuda" else "the host"
    plural = "" if len(result.kernels) == 1 else "s"
    size = count(len(result.package or b""), "B")
    return (
        f"compiled {source.title} for {where}: {len(result.kernels)} kernel{plural} ({names}), "
        f"package {size}; --explain, --ir and -vv show more, -o FILE keeps it"
    )


@dataclass
class Execution:
    """A compiled source with its inputs on the device.

    Attributes:
        wanted: flat float64 results, or None where the source is IR.
        eager: the source as PyTorch runs it, or None.
    """

    device: str
    function: "LoadedFunction"
    inputs: "list[torch.Tensor]"
    wanted: "list[torch.Tensor] | None"
    eager: Any

    def error(self, results: Any) -> float:
        """The worst relative error of a call's results against float64."""
        from torch.utils import _pytree as pytree

        from .reference import relative_error

        leaves = [leaf for leaf in pytree.tree_leaves(results) if hasattr(leaf, "dtype")]
        pairs = zip(leaves, self.wanted or [], strict=True)
        return max((relative_error(got, want) for got, want in pairs), default=0.0)


def prepare(
    code: str | None,
    file: str | None,
    inputs: str | None,
    seed: int,
    target: str | None,
    schedule: str,
    passes: str,
    device: str | None,
) -> Execution:
    """Compiles a source for the device and puts its inputs there."""
    import torch

    from .compiler import CompiledFunction, default_target
    from .reference import reference

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "host"
    if device == "cuda" and not torch.cuda.is_available():
        raise Error("PyTorch sees no CUDA device; use --device host")
    source = load_source(code, file, inputs, seed)
    options = Options(
        device=device,
        target=target or (default_target() if device == "cuda" else DEFAULT_TARGET),
        schedule=schedule,
        passes=passes,
    )
    if source.program is None:
        return _prepare_ir(source.ir or "", options, seed)
    program = source.program
    wanted = reference(_import(program).exported, program.inputs)
    if device == "cuda":
        _move(program, "cuda")
    function = CompiledFunction(_import(program), options, device)
    return Execution(device, function, program.inputs, wanted, program.function)


def _move(program: Program, device: str) -> None:
    from .importer.trace import reachable_modules

    program.inputs = [tensor.to(device) for tensor in program.inputs]
    for module in (program.modules or reachable_modules(program.function)).values():
        module.to(device)


def _prepare_ir(text: str, options: Options, seed: int) -> Execution:
    import torch

    from .calling import TensorSpec, torch_device
    from .compiler import load
    from .importer import Binding
    from .runtime import Buffer, package_info

    package = _package(text, options).package or b""
    torch.manual_seed(seed)
    tensors = []
    for fields in package_info(package)["inputs"]:
        buffer = Buffer.parse(fields)
        spec = TensorSpec.of(Binding(buffer.name, 0), buffer, options.device)
        tensor = torch.empty_strided(spec.shape, spec.strides, dtype=spec.dtype)
        tensors.append(tensor.normal_().to(torch_device(options.device)))
    return Execution(options.device, load(package, options.device), tensors, None, None)


def run_source(**options: Any) -> None:
    """`deplo run`."""
    from torch.utils import _pytree as pytree

    from .timing import median_us

    execution = prepare(**options)
    results = execution.function(*execution.inputs)
    for i, leaf in enumerate(pytree.tree_leaves(results)):
        if hasattr(leaf, "dtype"):
            dtype = str(leaf.dtype).removeprefix("torch.")
            click.echo(f"result {i}: {dtype}{list(leaf.shape)} on {leaf.device}")
    if execution.wanted is not None:
        error = execution.error(results)
        click.echo(f"error: {error:.3g} relative to max|x|, against float64 PyTorch on the CPU")
    calls = {"deplo": lambda: execution.function(*execution.inputs)}
    click.echo(f"time: {median_us(calls, execution.device)['deplo']:.3g} us on {_name(execution)}")


def _name(execution: Execution) -> str:
    from .runtime import device_info

    return device_info(execution.device)["description"]


def bench_source(torch_compile: bool, **options: Any) -> None:
    """`deplo bench`."""
    import torch

    from .timing import median_us

    execution = prepare(**options)
    calls: dict[str, Any] = {"deplo": execution.function}
    if execution.eager is not None:
        calls["PyTorch eager"] = execution.eager
        if torch_compile:
            calls["torch.compile"] = torch.compile(execution.eager)
    with torch.no_grad():
        errors = (
            {n: execution.error(call(*execution.inputs)) for n, call in calls.items()}
            if (execution.wanted is not None)
            else {}
        )
        bound = {n: (lambda call=call: call(*execution.inputs)) for n, call in calls.items()}
        times = median_us(bound, execution.device)
    rows = [
        (name, f"{us:.2f}", f"{times['deplo'] / us:.2f}", f"{errors[name]:.2e}" if errors else "-")
        for name, us in times.items()
    ]
    columns = ("contender", "us", "speed against deplo", "error against float64")
    click.echo(render(grid(f"on {_name(execution)}", columns, rows)))
