# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`deplo.compile` and `deplo.load`: PyTorch in, a callable on tensors out."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from . import compilation
from .calling import Call, TensorSpec
from .compilation import Compilation, Options
from .errors import Error
from .importer import Binding, ImportedProgram, import_program
from .ranges import check_ranges
from .runtime import Buffer, package_info


def default_device(inputs: Sequence[torch.Tensor]) -> str:
    """Where the inputs are: "cuda:<index>" or "host"."""
    for tensor in inputs:
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            return f"cuda:{tensor.device.index or 0}"
    return "host"


def default_target() -> str:
    """The GPU present, else the default target."""
    return target_of(None) if torch.cuda.is_available() else compilation.DEFAULT_TARGET


def target_of(device: torch.device | None) -> str:
    """The target of a CUDA device, or of the current one.

    Raises:
        Error: deplo has no description of it.
    """
    major, minor = torch.cuda.get_device_capability(device)
    name = f"sm_{major}{minor}"
    known = {target["chip"] for target in compilation.targets()}
    for candidate in (f"{name}a", name):
        if candidate in known:
            return candidate
    raise Error(f"the GPU is {name}, which deplo has no description of; pass a target")


def compile(
    function: Callable,
    example_inputs: Sequence[torch.Tensor],
    *,
    target: str | None = None,
    device: str | None = None,
    schedule: str = "",
    precision: str = "f32",
    prepare_weights: bool = False,
    passes: str = "",
    ptxas: bool = True,
    name: str = "main",
    input_names: Sequence[str] | None = None,
    modules: dict[str, nn.Module] | None = None,
    dynamic_shapes: Sequence[Any] | dict[str, Any] | None = None,
    seed: int = 0,
) -> "CompiledFunction":
    """Compiles a function or module for the shapes, strides and dtypes of example inputs.

    Args:
        example_inputs: tensors (f32, f16, bf16, i64, i32, i8, u8, bool); their values don't matter.
        target: GPU to compile for, as "sm_90a"; default, the one present.
        device: "cuda", "cuda:<n>", "host", or "emu", which runs and checks the
            GPU's kernels on the CPU; default, where the inputs are.
        schedule: overrides of schedule decisions, "stage_inputs=always,warps=4".
        precision: what products of f32 may be computed in: "f32", by tensor cores
            where that is quicker and no less exact than by multiply-adds; "f32-fast",
            by twice as quick ones of operands with 22 bits, of which weights must
            be 2**-27 of the largest in their row or more; "ieee", by multiply-adds
            alone; or "tf32", by tensor cores, of operands rounded to 11 bits.
        prepare_weights: run kernels that depend on parameters and buffers alone once, not
            in each call, and again when these change; what they write stays in memory.
        passes: a textual pass pipeline in place of the default.
        ptxas: assemble for the target; False leaves it to the driver.
        name: of the package.
        input_names, modules: see `import_program`.
        dynamic_shapes: sizes that calls may change: for each input, or by name,
            what `torch.export` takes, as {"x": {0: torch.export.Dim("rows", max=4096)}}.
        seed: of dropout and torch.rand, which give the same numbers in each call.

    Returns:
        A callable on tensors like the examples. Its results carry no gradient.

    Raises:
        Error: what can't be compiled, in one paragraph.
    """
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    device = device or default_device(example_inputs)
    if device.partition(":")[0] not in ("cuda", "host", "emu"):
        raise Error(f"there is no device '{device}'; use 'cuda', 'cuda:<n>', 'host' or 'emu'")
    program = import_program(
        function,
        example_inputs,
        names=input_names,
        modules=modules,
        dynamic_shapes=dynamic_shapes,
        seed=seed,
    )
    options = Options(
        device=device.partition(":")[0],
        target=target or (default_target() if device != "host" else compilation.DEFAULT_TARGET),
        schedule=schedule,
        precision=precision,
        prepare_weights=prepare_weights,
        passes=passes,
        ptxas=ptxas,
        name=name,
    )
    return CompiledFunction(program, options, device)


def load(package: bytes, device: str | None = None) -> "LoadedFunction":
    """A callable from the bytes of a package, on "cuda", "cuda:<n>", "host" or "emu".

    Raises:
        Error: the package is damaged, or the device isn't there.
    """
    header = package_info(package)
    function = LoadedFunction(package, device or header["device"], header)
    function.prepare()
    return function


class LoadedFunction:
    """A package as a callable on tensors, which returns one tensor or a tuple.

    Attributes:
        package: its bytes.
        device: "cuda:0", "host".
    """

    def __init__(self, package: bytes, device: str, header: dict[str, Any]) -> None:
        self.package = package
        self.device = f"{device}:0" if device == "cuda" else device
        self._inputs = [Buffer.parse(fields) for fields in header["inputs"]]
        self._call: Call | None = None

    def _bindings(self) -> list[Binding]:
        return [Binding(b.name or f"arg{i}", i) for i, b in enumerate(self._inputs)]

    def _package(self, alignment: int) -> bytes:
        needed = max((buffer.alignment for buffer in self._inputs), default=1)
        if alignment < needed:
            raise Error(
                f"an input's address is a multiple of {alignment} bytes only, but the package "
                f"was compiled for {needed}: pass a clone of the tensor"
            )
        return self.package

    def prepare(self) -> None:
        """Loads the package on the device; the first call does it otherwise."""
        if self._call is None:
            specs = [
                TensorSpec.of(binding, buffer, self.device)
                for binding, buffer in zip(self._bindings(), self._inputs, strict=True)
            ]
            self._call = Call(specs, self._package, self.device)

    def forget_weights(self) -> None:
        """Has the next call prepare weights again: for changes that PyTorch doesn't count,
        through `.data` or by kernels of others."""
        if self._call is not None:
            self._call.forget_weights()

    def __call__(self, *arguments: torch.Tensor) -> Any:
        """Runs on the current stream.

        Raises:
            Error: number, shape, dtype, strides or device of an argument is wrong.
        """
        if self._call is None:
            self.prepare()
        _, results = self._call(arguments)  # type: ignore[misc]
        return results[0] if len(results) == 1 else tuple(results)


class CompiledFunction(LoadedFunction):
    """What `deplo.compile` returns; it returns what the source function returns.

    Attributes:
        report: of the compiler: "kernels", "timings_ms".
        package: bytes for `deplo.load` or a file.
    """

    def __init__(self, program: ImportedProgram, options: Options, device: str) -> None:
        self.program = program
        self.options = options
        self.compilation: Compilation = compilation.compile_ir(program.text, options)
        check_ranges(program.bindings, self.compilation.report)
        package = self.compilation.package
        assert package is not None
        super().__init__(package, device, package_info(package))
        self._levels: dict[str, str] = {}

    @property
    def report(self) -> dict[str, Any]:
        return self.compilation.report

    def _bindings(self) -> list[Binding]:
        return self.program.bindings

    def _package(self, alignment: int) -> bytes:
        """The package for inputs that are less aligned than assumed, compiled on demand."""
        if alignment >= self.options.alignment:
            return self.package
        options = dataclasses.replace(self.options, alignment=alignment)
        package = compilation.compile_ir(self.program.text, options).package
        assert package is not None
        return package

    def __call__(self, *arguments: torch.Tensor) -> Any:
        if self._call is None:
            self.prepare()
        tensors, results = self._call(arguments)  # type: ignore[misc]
        return self.program.outputs.rebuild(tensors, results)

    def ir(self, level: str) -> str:
        """The IR at "torch", "graph", "tensor", "loop", "tile", "kernel", "llvm", "ptx", "sass".

        Raises:
            Error: there is no such level, or not for this device.
        """
        if level not in compilation.LEVELS:
            raise Error(f"there is no level '{level}'; levels are {', '.join(compilation.LEVELS)}")
        if level == "torch":
            return self.program.fx_text
        if level not in self._levels:
            options = dataclasses.replace(self.options, level=level)
            self._levels[level] = compilation.compile_ir(self.program.text, options).ir
        return self._levels[level]

    def explain(self) -> str:
        """Bytes, operations, bound, schedule and why, registers ... of each kernel, as text."""
        from .explain import explain_text

        return explain_text(self.report)
