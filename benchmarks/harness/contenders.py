# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deplo, PyTorch eager and torch.compile as things that can be checked and timed."""

import math
from collections.abc import Callable, Sequence

import torch

import deplo
from deplo.importer.dtypes import TORCH_DTYPES
from deplo.runtime import Executable

from .measure import Call

Inputs = Sequence[torch.Tensor]


class Deplo:
    """A compiled case that runs on buffers of the caller's choice.

    Attributes:
        flops: operations as the compiler counts them, or None.
    """

    def __init__(
        self, function: Callable, inputs: Inputs, schedule: str = "", precision: str = "f32"
    ) -> None:
        """Raises deplo.Error where deplo can't compile it."""
        self.compiled = deplo.compile(function, inputs, schedule=schedule, precision=precision)
        self.executable = Executable(self.compiled.package, self.compiled.device)
        counts = [kernel.get("flops") for kernel in self.compiled.report["kernels"]]
        self.flops = float(sum(counts)) if counts and None not in counts else None

    def _new_output(self, inputs: Inputs) -> torch.Tensor:
        """A result as PyTorch would allocate it, poisoned."""
        (buffer,) = self.executable.outputs
        dtype = TORCH_DTYPES[buffer.dtype]
        return poison(torch.empty(buffer.shape, dtype=dtype, device=inputs[0].device))

    def into(self, inputs: Inputs, output: torch.Tensor) -> Call:
        """A call that enqueues one execution on the current stream and returns `output`.

        Weights that the program holds are the inputs behind those that it is given.
        """
        bindings = self.compiled.program.bindings
        weights = list(inputs[sum(binding.position is not None for binding in bindings) :])
        tensors = []
        for binding in bindings:
            if binding.position is not None:
                tensors.append(inputs[binding.position])
            else:
                tensors.append(weights.pop(0) if weights else binding.fetch())
        tensors.append(output)
        pointers, executable = [tensor.data_ptr() for tensor in tensors], self.executable
        prepared = executable.prepare(pointers) if executable.weights is not None else None

        def call() -> torch.Tensor:
            stream = torch.cuda.current_stream().cuda_stream if output.is_cuda else 0
            if prepared is None:
                executable.run(pointers, stream)
            else:
                executable.run_prepared(pointers, prepared, stream)
            return tensors[-1]  # all of them live as long as the call

        return call

    def checked_run(self, inputs: Inputs) -> torch.Tensor:
        """The result, written over NaN."""
        output = self._new_output(inputs)
        self.into(inputs, output)()
        if output.is_cuda:
            torch.cuda.synchronize()
        return output

    def calls(self, sets: Sequence[Inputs]) -> list[Call]:
        return [self.into(inputs, self._new_output(inputs)) for inputs in sets]


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fills with what no result has: NaN, or the lowest integer."""
    lowest = math.nan if tensor.is_floating_point() else torch.iinfo(tensor.dtype).min
    return tensor.fill_(lowest)


class PyTorch:
    """Eager, or what torch.compile makes of it."""

    def __init__(self, function: Callable, compiled: bool = False) -> None:
        if compiled:
            torch._dynamo.reset()
            function = torch.compile(function, dynamic=False)
        self._function = function

    def checked_run(self, inputs: Inputs) -> torch.Tensor:
        with torch.no_grad():
            # Memory that the result is likely to get, poisoned as well.
            result = poison(self._function(*inputs))
            del result
            return self._function(*inputs)

    def calls(self, sets: Sequence[Inputs]) -> list[Call]:
        def call_on(inputs: Inputs) -> Call:
            def call() -> torch.Tensor:
                with torch.no_grad():
                    return self._function(*inputs)

            return call

        return [call_on(inputs) for inputs in sets]
