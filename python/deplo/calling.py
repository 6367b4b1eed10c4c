# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One call of a compiled function: checks, output tensors, pointers, stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from .errors import Error
from .importer import Binding
from .importer.dtypes import TORCH_DTYPES
from .runtime import Buffer, Executable
from .sizes import CallSizes
from .weights import WeightTable

FULL_ALIGNMENT = 16
# For so many sizes a function knows at once what its arguments must be.
_KEPT_SIZES = 1024


@dataclass(frozen=True)
class TensorSpec:
    """What one argument has to be.

    Attributes:
        strides: in elements; those of axes of size 1 don't matter.
        device: of PyTorch.
    """

    binding: Binding
    shape: torch.Size
    dtype: torch.dtype
    strides: tuple[int, ...]
    device: torch.device

    @staticmethod
    def of(binding: Binding, buffer: Buffer, device: str) -> "TensorSpec":
        return TensorSpec(
            binding,
            torch.Size(buffer.shape),
            TORCH_DTYPES[buffer.dtype],
            buffer.strides,
            torch_device(device),
        )

    @property
    def who(self) -> str:
        if self.binding.position is None:
            return f"tensor '{self.binding.name}'"
        return f"argument {self.binding.position} ('{self.binding.name}')"

    def check(self, tensor: torch.Tensor) -> None:
        """Raises `Error` with what was expected, what came and the remedy."""
        if not isinstance(tensor, torch.Tensor):
            raise Error(f"{self.who} is a {type(tensor).__name__}: pass a torch.Tensor")
        if tensor.shape != self.shape:
            raise Error(
                f"{self.who} has shape {tuple(tensor.shape)}, but the function was compiled for "
                f"{tuple(self.shape)}: compile it again with an example of the new shape"
            )
        if tensor.dtype != self.dtype:
            raise Error(
                f"{self.who} has dtype {tensor.dtype}, but the function was compiled for "
                f"{self.dtype}: convert it with .to({self.dtype}), or compile with that dtype"
            )
        if tensor.device != self.device:
            raise Error(
                f"{self.who} is on {tensor.device}, but the function was compiled for "
                f"{self.device}: move it with .to('{self.device}')"
            )
        if not self.has_strides(tensor):
            raise Error(
                f"{self.who} has strides {tensor.stride()}, but the function was compiled for "
                f"{self.strides}: pass {self._remedy()}, or compile with such an example"
            )

    def has_strides(self, tensor: torch.Tensor) -> bool:
        given = tensor.stride()
        if given == self.strides or tensor.numel() == 0:
            return True
        return all(
            size == 1 or a == b for size, a, b in zip(self.shape, given, self.strides, strict=True)
        )

    def _remedy(self) -> str:
        contiguous = torch.empty(self.shape, device="meta").stride()
        return ".contiguous() of it" if contiguous == self.strides else "a tensor of those strides"


def torch_device(device: str) -> torch.device:
    """Where PyTorch has the tensors of "host", "emu", "cuda" or "cuda:<n>"."""
    if device in ("host", "emu"):
        return torch.device("cpu")
    return torch.device("cuda", int(device.partition(":")[2] or 0))


class Call:
    """Runs executables on tensors; one executable for each alignment met."""

    def __init__(
        self, specs: Sequence[TensorSpec], package: Callable[[int], bytes], device: str
    ) -> None:
        """`package(alignment)` gives the bytes for inputs aligned to 16, 8, 4, 2 or 1 bytes."""
        self._specs = list(specs)
        self._package = package
        self._name = device
        self._device = torch_device(device)
        self._is_cuda = self._device.type == "cuda"
        self._executables = {FULL_ALIGNMENT: Executable(package(FULL_ALIGNMENT), device)}
        self._weights: dict[Executable, WeightTable] = {}
        positions = [spec.binding.position for spec in self._specs]
        self._count = sum(position is not None for position in positions)
        executable = self._executables[FULL_ALIGNMENT]
        self._outputs = [
            (buffer.shape, TORCH_DTYPES[buffer.dtype]) for buffer in executable.outputs
        ]
        self._sizes = CallSizes(executable.manifest)
        self._scratch = executable.manifest.get("scratch", 0)
        # What arguments and results are for sizes met before.
        self._met: dict[tuple[int, ...], tuple[list[TensorSpec], list]] = {}

    def executable(self, alignment: int = FULL_ALIGNMENT) -> Executable:
        """The executable for pointers that are multiples of `alignment` bytes."""
        if alignment not in self._executables:
            self._executables[alignment] = Executable(self._package(alignment), self._name)
        return self._executables[alignment]

    def _table(self, executable: Executable) -> WeightTable:
        found = self._weights.get(executable)
        return found or self._weights.setdefault(executable, WeightTable(executable, self._is_cuda))

    def forget_weights(self) -> None:
        for table in self._weights.values():
            table.forget()

    def _bind(
        self, arguments: Sequence[torch.Tensor]
    ) -> tuple[tuple[int, ...], list[TensorSpec], list]:
        """The sizes of a call, and what its arguments and results are for them."""
        shapes = [
            (spec.who, spec.shape, arguments[position].shape)
            for spec in self._specs
            if (position := spec.binding.position) is not None
            and position < len(arguments)
            and isinstance(arguments[position], torch.Tensor)
        ]
        sizes = self._sizes.bind(shapes)
        if sizes not in self._met:
            if len(self._met) == _KEPT_SIZES:
                self._met.clear()
            specs = [
                replace(
                    spec,
                    shape=torch.Size(self._sizes.evaluate(spec.shape, sizes)),
                    strides=self._sizes.evaluate(spec.strides, sizes),
                )
                for spec in self._specs
            ]
            outputs = [
                (self._sizes.evaluate(shape, sizes), dtype) for shape, dtype in self._outputs
            ]
            self._met[sizes] = specs, outputs
        return sizes, *self._met[sizes]

    def tensors(
        self, arguments: Sequence[torch.Tensor], specs: Sequence[TensorSpec] | None = None
    ) -> list[torch.Tensor]:
        """Every argument of the compiled function, checked; held tensors included."""
        if specs is None:
            specs = self._bind(arguments)[1] if self._sizes else self._specs
        if len(arguments) != self._count:
            names = [s.binding.name for s in self._specs if s.binding.position is not None]
            plural = "tensor" if self._count == 1 else "tensors"
            raise Error(
                f"the function takes {self._count} {plural} ({', '.join(names)}), "
                f"but was called with {len(arguments)}"
            )
        tensors = []
        for spec in specs:
            position = spec.binding.position
            tensor = arguments[position] if position is not None else spec.binding.fetch()  # type: ignore[misc]
            if not (
                isinstance(tensor, torch.Tensor)
                and tensor.shape == spec.shape
                and tensor.dtype is spec.dtype
                and tensor.stride() == spec.strides
                and tensor.device == spec.device
            ):
                spec.check(tensor)
            tensors.append(tensor)
        return tensors

    def __call__(
        self, arguments: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """All arguments and the results; the work is enqueued on the current stream."""
        sizes, specs, outputs = (), self._specs, self._outputs
        if self._sizes:
            sizes, specs, outputs = self._bind(arguments)
        tensors = self.tensors(arguments, specs)
        results = [torch.empty(shape, dtype=dtype, device=self._device) for shape, dtype in outputs]
        pointers = [tensor.data_ptr() for tensor in tensors]
        bits = FULL_ALIGNMENT
        for pointer in pointers:
            bits |= pointer
        executable = self.executable(bits & -bits)
        pointers += [tensor.data_ptr() for tensor in results]
        stream = torch._C._cuda_getCurrentRawStream(self._device.index) if self._is_cuda else 0
        if executable.weights is None:
            executable.run(pointers, stream, sizes)
        else:
            self._table(executable).run(tensors, pointers, stream)
        return tensors, results[: len(results) - self._scratch]
