# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a functional ATen graph to a function that runs it."""

import copy
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as with_fields
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch.fx import GraphModule
from torch.utils._python_dispatch import _disable_current_modes

from deplo.compilation import DEFAULT_TARGET, Options, compile_ir
from deplo.compiler import target_of
from deplo.errors import DeploWarning, Error

from .calls import Executables, specialise
from .dynamic import BySize
from .lowering import LoweredPartition, lower
from .options import BackendOptions
from .partition import Partition, find_partitions, replace
from .support import Support, is_static


def compile_graph(
    module: GraphModule, examples: Sequence[Any], options: BackendOptions
) -> Callable:
    """The graph as a function of a list, which it empties."""
    values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
    # PyTorch's own modes would take the tensors that constants are made with.
    with _disable_current_modes(), torch.no_grad():
        if all(is_static(value) for value in values):
            return make_boxed_func(compile_static(module, options))
        by_size = BySize(module, values, options, compile_static)
        return make_boxed_func(by_size)


def compile_static(module: GraphModule, options: BackendOptions) -> Callable:
    """The graph, whose sizes are all known, as a function of its inputs."""
    module = copy.copy(module)
    support = Support(module.graph)
    if not options.fallback:
        support.raise_problems()
    elif support.problems:
        warnings.warn(
            f"deplo leaves these operators to PyTorch: {support.left()}; "
            'options={"fallback": False} makes that an error that says why',
            DeploWarning,
            stacklevel=2,
        )
    calls = []
    partitions = find_partitions(module, support)
    workers = min(len(partitions), os.cpu_count() or 1)
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        lowered = [lower(partition) for partition in partitions]
        made = list(pool.map(lambda one: one and _compile(one, options), lowered))
    for i, (one, executables) in enumerate(zip(lowered, made, strict=True)):
        if one is None or executables is None:
            continue
        checked = [node.op != "placeholder" for node in one.arguments]
        function = specialise(f"deplo_{i}", one, executables, checked)
        calls.append((one.partition, one.arguments, function))
    replace(module, calls)
    return module.forward


def _compile(lowered: LoweredPartition, options: BackendOptions) -> Executables | None:
    """None where deplo can't after all, and PyTorch may."""
    device = lowered.partition.device
    on_host = device.type == "cpu"
    compiler = Options(
        device="host" if on_host else "cuda",
        target=options.target or (DEFAULT_TARGET if on_host else target_of(device)),
        schedule=options.schedule,
        cache=options.cache,
    )

    def package(alignment: int) -> bytes:
        compilation = compile_ir(lowered.text, with_fields(compiler, alignment=alignment))
        assert compilation.package is not None
        return compilation.package

    executables = Executables(package, "host" if on_host else f"cuda:{device.index or 0}")
    try:
        executables.get(compiler.alignment)
    except Error as error:
        if not options.fallback:
            raise
        warnings.warn(
            f"deplo leaves {_count(lowered.partition)} to PyTorch, for it can't compile them: "
            f"{error}",
            DeploWarning,
            stacklevel=2,
        )
        return None
    return executables


def _count(partition: Partition) -> str:
    count = len(partition.nodes)
    return f"{count} operators" if count > 1 else "an operator"
