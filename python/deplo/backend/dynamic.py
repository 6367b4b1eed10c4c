# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs whose sizes are symbols: one static graph for each combination met."""

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx.traceback
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import _disable_current_modes

from deplo.errors import DeploWarning

from .options import BackendOptions
from .support import is_static


class BySize:
    """A function that compiles the graph anew for each combination of sizes, up
    to a number of them; further ones are run by PyTorch, which a warning says."""

    def __init__(
        self,
        module: GraphModule,
        values: Sequence[Any],
        options: BackendOptions,
        compile_static: Callable[[GraphModule, BackendOptions], Callable],
    ) -> None:
        """`values` are those of the placeholders, with their symbols."""
        self._module = module
        self._varying = [i for i, value in enumerate(values) if not is_static(value)]
        self._options = options
        self._compile = compile_static
        self._made: dict[tuple, Callable] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(_size(arguments[i]) for i in self._varying)
        function = self._made.get(key)
        if function is None:
            function = self._make(key, arguments)
        return function(*arguments)

    def _make(self, key: tuple, arguments: Sequence[Any]) -> Callable:
        with self._lock:
            if key in self._made:
                return self._made[key]
            if len(self._made) == self._options.max_sizes:
                warnings.warn(
                    f"deplo has compiled this graph for {len(self._made)} combinations of sizes; "
                    'PyTorch runs it for further ones; options={"max_sizes": ...} moves the bound',
                    DeploWarning,
                    stacklevel=3,
                )
            if len(self._made) >= self._options.max_sizes:
                return self._module.forward
            with _disable_current_modes(), torch.no_grad():
                self._made[key] = self._compile(self._concrete(arguments), self._options)
            return self._made[key]

    def _concrete(self, arguments: Sequence[Any]) -> GraphModule:
        """The graph with the sizes of these arguments in place of symbols."""
        with torch.fx.traceback.preserve_node_meta():
            return make_fx(
                Interpreter(self._module).run, tracing_mode="fake", _allow_non_fake_inputs=True
            )(*arguments)


def _size(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride()
    return argument
