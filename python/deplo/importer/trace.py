# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python callable to an exported FX graph whose operators deplo knows by name."""

import contextlib
import functools
import inspect
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.fx.traceback
from torch import nn
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from deplo.errors import Error

from .locations import Location, RecordLocations, location_of_exception
from .registry import HANDLERS

ROOT = "root"


class _Traced(nn.Module):
    """The callable under export; modules it reaches are submodules, so that
    their parameters are parameters of the exported program."""

    def __init__(self, function: Callable, modules: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self._function = [function]  # in a list: a module must not register twice
        self.root = nn.ModuleDict(modules)
        self.training = any(module.training for module in modules.values())

    def forward(self, *inputs: torch.Tensor):
        with RecordLocations():
            return self._function[0](*inputs)


def reachable_modules(function: Callable) -> dict[str, nn.Module]:
    """Modules that a callable is, is bound to, closes over or names as globals."""
    if isinstance(function, nn.Module):
        return {"": function}
    if isinstance(function, functools.partial):
        return reachable_modules(function.func)
    owner = getattr(function, "__self__", None)
    found = {"self": owner} if isinstance(owner, nn.Module) else {}
    function = inspect.unwrap(function)
    if inspect.ismethod(function) or inspect.isfunction(function):
        names = inspect.getclosurevars(function)
        for scope in (names.nonlocals, names.globals):
            found.update({k: v for k, v in scope.items() if isinstance(v, nn.Module)})
    return found


def input_names(function: Callable, count: int) -> list[str]:
    """The parameter names of `function` for `count` positional inputs."""
    target = function.forward if isinstance(function, nn.Module) else function
    names: list[str] = []
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]


def export(
    function: Callable,
    inputs: Sequence[torch.Tensor],
    modules: Mapping[str, nn.Module],
    dynamic_shapes: Sequence[Any] | None = None,
) -> ExportedProgram:
    """The exported program after decomposition into operators of the handler table.

    Args:
        dynamic_shapes: for each input, as `torch.export` takes it.

    Raises:
        Error: the callable failed, with its line and message.
    """
    wrapped = _Traced(function, modules)
    try:
        with torch.no_grad(), torch.fx.traceback.preserve_node_meta(), _quiet():
            shapes = None if dynamic_shapes is None else {"inputs": tuple(dynamic_shapes)}
            program = torch.export.export(
                wrapped, tuple(inputs), dynamic_shapes=shapes, strict=False
            )
            return program.run_decompositions(decompositions())
    except Exception as error:
        raise Error(explain_failure(error)) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No warnings, logged tracebacks or printed graphs: a failure is reported once, as an
    `Error`."""
    level = logging.root.manager.disable
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(level)


# PyTorch decomposes them as well, but not for the core ATen set.
_BEYOND_CORE = (
    "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d",
    "_upsample_nearest_exact3d",
    "grid_sampler_2d",
    "upsample_bicubic2d",
    "upsample_bilinear2d",
    "upsample_linear1d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "upsample_trilinear3d",
)


@functools.cache
def decompositions() -> dict[Any, Callable]:
    """PyTorch's core ATen table without the operators that deplo keeps whole."""
    # A plain dictionary: PyTorch's own looks for new operators at each question.
    table = torch.export.default_decompositions().materialize()
    for name in _BEYOND_CORE:
        packet = getattr(torch.ops.aten, name)
        for overload in (getattr(packet, overload) for overload in packet.overloads()):
            if overload in decomposition_table:
                table[overload] = decomposition_table[overload]
    return {target: rule for target, rule in table.items() if target not in HANDLERS}


# What PyTorch raises where it would have to know the values of a tensor.
_DATA_DEPENDENCE = (
    GuardOnDataDependentSymNode,
    DataDependentOutputException,
    DynamicOutputShapeException,
)


def explain_failure(error: BaseException) -> str:
    """The line and the first paragraph of what a user's function raised."""
    place: Location | None = location_of_exception(error)
    message = str(error).strip().split("\n\n")[0].replace("\n", " ")
    where = f"{place}: " if place else ""
    if isinstance(error, _DATA_DEPENDENCE):
        return (
            f"{where}what the function does, or the size of a tensor that it makes, depends on "
            "the values of a tensor: choose elements with torch.where or a mask"
        )
    return f"{where}the function raised {type(error).__name__} when it was traced: {message}"
