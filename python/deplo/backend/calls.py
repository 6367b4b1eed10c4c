# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that runs one partition, written for its very arguments.

All that can be known beforehand is in its text: shapes, strides, the order of
pointers. A call allocates results, collects addresses and makes one call into
the runtime. Sizes that each call gives are its first arguments.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from deplo.calling import FULL_ALIGNMENT
from deplo.importer.dtypes import TORCH_DTYPES
from deplo.ranges import RangeChecks
from deplo.runtime import Executable
from deplo.weights import WeightTable

from .lowering import LoweredPartition, TensorType


class Executables:
    """The partition's executables by the alignment of its arguments, made on demand."""

    def __init__(self, package: Callable[[int], bytes], device: str) -> None:
        self._package = package
        self._device = device
        self._made: dict[int, Executable] = {}
        self._lock = threading.Lock()

    def get(self, alignment: int) -> Executable:
        with self._lock:
            if alignment not in self._made:
                self._made[alignment] = Executable(self._package(alignment), self._device)
            return self._made[alignment]


def with_strides(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy laid out as the kernel was compiled for."""
    wanted = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return wanted.copy_(tensor)


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.preserve_format)


def specialise(
    name: str,
    lowered: LoweredPartition,
    executables: Executables,
    checked: Sequence[bool],
    checks: RangeChecks,
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """The partition as a function of its arguments.

    Args:
        checked: for each argument, whether its strides may differ from what was
            foreseen: PyTorch's own operators don't promise them.
        checks: of weights that a call gives for the first time.
    """
    device = lowered.partition.device
    executable = executables.get(FULL_ALIGNMENT)
    names = [f"n{i}" for i in range(len(lowered.sizes))]
    formulas = Formulas([size.generic for size in lowered.sizes])
    # Temporaries whose size a call gives are results, too.
    scratch = executable.outputs[len(lowered.results) :]
    kinds = lowered.results + [
        TensorType(buffer.shape, buffer.strides, TORCH_DTYPES[buffer.dtype], device)
        for buffer in scratch
    ]
    scope: dict[str, Any] = {
        "device": device,
        "empty": torch.empty_strided,
        "full": torch.full,
        "with_strides": with_strides,
        "copy_of": copy_of,
        "executables": executables,
        "run": executable.sized_launcher() if names else executable.launcher(),
        "stream_of": getattr(torch._C, "_cuda_getCurrentRawStream", None),
    }
    arguments = [f"a{i}" for i in range(len(lowered.argument_types))]
    lines = [f"def {name}({', '.join(names + arguments)}):"]
    for i, kind in enumerate(lowered.argument_types):
        scope[f"kind{i}"] = kind
        if kind.device != device:
            # A scalar of the CPU; PyTorch's own kernels take its value, too.
            lines.append(f"    a{i} = full((), a{i}.item(), dtype=kind{i}.dtype, device=device)")
        elif checked[i]:
            strides = formulas.tuple(kind.strides)
            lines.append(f"    if a{i}.stride() != {strides}:")
            lines.append(f"        a{i} = with_strides(a{i}, {strides})")
        lines.append(f"    p{i} = a{i}.data_ptr()")
    if checks.numbers:
        scope["known"], scope["check"] = checks.known, checks.check
        key = "".join(f"p{i}, " for i in checks.numbers)
        lines.append(f"    if ({key}) not in known:")
        lines.append(f"        check(({key}), ({', '.join(arguments)},))")
    for i, kind in enumerate(kinds):
        scope[f"dtype{i}"] = kind.dtype
        shape, strides = formulas.tuple(kind.shape), formulas.tuple(kind.strides)
        lines.append(f"    r{i} = empty({shape}, {strides}, dtype=dtype{i}, device=device)")
    returned = f"({', '.join(_outputs(lowered))},)"
    weights = executable.weights
    if weights is not None:
        scope["table"] = WeightTable(executable, device.type == "cuda")
    pointers = [f"p{i}" for i in range(len(arguments))]
    addresses = pointers + [f"r{i}.data_ptr()" for i in range(len(kinds))]
    stream = f"stream_of({device.index or 0})" if device.type == "cuda" else "0"
    sizes = f", ({', '.join(names)},)" if names else ""
    call = f"(({', '.join(addresses)},), {stream}{sizes})"
    if pointers:
        lines.append(f"    bits = {FULL_ALIGNMENT} | {' | '.join(pointers)}")
        lines.append(f"    if bits & {FULL_ALIGNMENT - 1}:")
        lines.append(f"        executables.get(bits & -bits).run{call}")
        lines.append("        return " + returned)
    if weights is None:
        lines.append(f"    run{call}")
    else:
        key = "".join(f"p{i}, a{i}._version, " for i in weights)
        tensors = "".join(f"{argument}, " for argument in arguments)
        lines.append("    try:")
        lines.append(f"        key = ({key})")
        lines.append("    except RuntimeError:  # tensors of inference mode have no version")
        lines.append("        key = None")
        lines.append(f"    table.run_as(key, ({tensors}), {call[1:]}")
    lines.append(f"    return {returned}")
    exec(compile("\n".join(lines), f"<{name}>", "exec"), scope)
    function = scope[name]
    function.__module__ = __name__
    return function


class Formulas:
    """Numbers as text: of a multiple of a generic number, that multiple of the size."""

    def __init__(self, generics: Sequence[int]) -> None:
        self._generics = generics

    def text(self, number: int) -> str:
        factors = []
        for i, generic in enumerate(self._generics):
            while number and number % generic == 0:
                number //= generic
                factors.append(f"n{i}")
        return " * ".join(factors if factors and number == 1 else [str(number), *factors])

    def tuple(self, numbers: Sequence[int]) -> str:
        return f"({''.join(f'{self.text(number)}, ' for number in numbers)})"


def _outputs(lowered: LoweredPartition) -> list[str]:
    """An expression for each output; no two are the same tensor, and none an argument."""
    seen: set[int] = set()
    texts = []
    for kind, i in lowered.outputs:
        if kind == "argument":
            texts.append(f"copy_of(a{i})")
        elif i in seen:
            texts.append(f"copy_of(r{i})")
        else:
            texts.append(f"r{i}")
            seen.add(i)
    return texts
