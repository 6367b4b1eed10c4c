# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `deplo run` and `deplo bench` do, apart from reading options."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .commands import compile_package, import_source
from .compilation import DEFAULT_TARGET, Options
from .errors import Error
from .explain import grid, render
from .source import Program, load_source

if TYPE_CHECKING:
    import torch

    from .importer import ImportedProgram


@dataclass
class Execution:
    """A compiled source with its inputs on the device.

    Attributes:
        wanted: flat float64 results, or None where the source is IR.
        eager: the source as PyTorch runs it, or None.
    """

    device: str
    function: Callable
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
    precision: str,
    prepare_weights: bool,
    device: str | None,
    allow_fallback: bool = False,
) -> Execution:
    """Compiles a source for the device and puts its inputs there."""
    import torch

    from .compiler import CompiledFunction, default_target
    from .importer import export_program
    from .reference import reference

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "host"
    if device == "cuda" and not torch.cuda.is_available():
        raise Error("PyTorch sees no CUDA device; use --device host or --device emu")
    source = load_source(code, file, inputs, seed)
    options = Options(
        device=device,
        target=target or (default_target() if device == "cuda" else DEFAULT_TARGET),
        schedule=schedule,
        passes=passes,
        precision=precision,
        prepare_weights=prepare_weights,
    )
    if source.program is None:
        return _prepare_ir(source.ir or "", options, seed)
    program = source.program
    exported = export_program(program.function, program.inputs, program.modules)
    wanted = reference(exported, program.inputs)
    if device == "cuda":
        _move(program, "cuda")
    if allow_fallback:
        function = _with_fallback(program.function, options)
    else:
        function = CompiledFunction(_import(program), options, device)
    return Execution(device, function, program.inputs, wanted, program.function)


def _import(program: Program) -> "ImportedProgram":
    try:
        return import_source(program)
    except Error as error:
        raise Error(f"{error}; --allow-fallback leaves operators to PyTorch") from error


def _with_fallback(function: Callable, options: Options) -> Callable:
    """`torch.compile` with deplo's backend, which leaves some operators to PyTorch."""
    import torch

    from .backend import backend

    if options.passes:
        raise Error("--allow-fallback and --passes don't go together: leave one out")
    given = {
        "target": options.target,
        "schedule": options.schedule,
        "prepare_weights": options.prepare_weights,
        "precision": options.precision,
    }
    compiled = torch.compile(function, backend=backend, options=given)

    def run(*inputs: "torch.Tensor") -> Any:
        with torch.no_grad():
            return compiled(*inputs)

    return run


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

    package = compile_package(text, options).package or b""
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
