# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a functional ATen graph to a function that runs it."""

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as with_fields

import torch
from functorch.compile import make_boxed_func
from torch._guards import TracingContext
from torch.fx import GraphModule, Node
from torch.utils._python_dispatch import _disable_current_modes

from deplo.compilation import DEFAULT_TARGET, Options, compile_ir
from deplo.compiler import target_of
from deplo.errors import DeploWarning, Error
from deplo.importer.sizes import SizeBinder
from deplo.ranges import RangeChecks

from .attention import restore
from .calls import Executables, specialise
from .dynamic import ByRange, Ranges, copy_of, find_givers
from .lowering import LoweredPartition, lower
from .options import BackendOptions
from .partition import Call, Partition, find_partitions, replace
from .support import WEIGHT, Support, is_static


def compile_graph(module: GraphModule, names: Sequence[str], options: BackendOptions) -> Callable:
    """The graph as a function of a list, which it empties.

    Args:
        names: of its inputs, as the source calls them.
    """
    _mark_weights(module, names)
    values = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
    # PyTorch's own modes would take the tensors that constants are made with.
    with _disable_current_modes(), torch.no_grad():
        if all(is_static(value) for value in values):
            return make_boxed_func(compile_static(module, options))
        return make_boxed_func(ByRange(module, options, compile_symbolic, compile_static))


def _mark_weights(module: GraphModule, names: Sequence[str]) -> None:
    """Names the inputs that are parameters and buffers, and not changed."""
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    if metadata is None:
        return
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    for i in metadata.static_input_indices:
        if i < len(inputs) and not metadata.input_info[i].mutates_data:
            inputs[i].meta[WEIGHT] = names[i] if i < len(names) else inputs[i].name


def compile_static(module: GraphModule, options: BackendOptions) -> Callable:
    """The graph, whose sizes are all known, as a function of its inputs. Changes it."""
    restore(module)
    support = Support(module.graph, options)
    _say_what_is_left(support, options)
    partitions = find_partitions(module, support.nodes)
    calls = _compile_all(partitions, lambda *one: _compile(*one, options))
    replace(module, [call for call in calls if call is not None])
    return _function(module)


def compile_symbolic(
    module: GraphModule, ranges: Ranges, options: BackendOptions
) -> Callable | None:
    """The graph as a function of its inputs that is right for all sizes of `ranges`.

    Changes it. None where what deplo has can't all be compiled so.
    """
    restore(module)
    twin, twins = copy_of(module.graph)
    try:
        binder = SizeBinder(twin, ranges)
    except Error:
        return None
    binder.run()
    if any(node.op == "call_function" for node in binder.problems):
        return None
    support = Support(twin, options)
    nodes = {node: twins[node] for node in module.graph.nodes if node.op == "call_function"}
    devices = {n: support.nodes[twin] for n, twin in nodes.items() if twin in support.nodes}
    givers = find_givers(module.graph, binder.symbols)

    def compile_one(name: str, partition: Partition) -> Call | None:
        lowered = lower(partition, binder.sizes, twins)
        return _call(name, lowered, options, givers) if lowered is not None else None

    try:
        calls = _compile_all(find_partitions(module, devices), compile_one)
    except Error:
        return None
    _say_what_is_left(support, options)
    replace(module, [call for call in calls if call is not None])
    return _function(module)


def _function(module: GraphModule) -> Callable:
    """What the graph computes; `module`'s own method may be one that compiles it at each call."""
    return GraphModule(module, module.graph).forward


def _say_what_is_left(support: Support, options: BackendOptions) -> None:
    if not options.fallback:
        support.raise_problems()
    elif support.problems:
        warnings.warn(
            f"deplo leaves these operators to PyTorch: {support.left()}; "
            'options={"fallback": False} makes that an error that says why',
            DeploWarning,
            stacklevel=3,
        )


def _compile_all(
    partitions: Sequence[Partition], compile_one: Callable[[str, Partition], Call | None]
) -> list[Call | None]:
    """Of the name and the partition each, in parallel."""
    names = [f"deplo_{i}" for i in range(len(partitions))]
    with ThreadPoolExecutor(max(min(len(partitions), os.cpu_count() or 1), 1)) as pool:
        return list(pool.map(compile_one, names, partitions))


def _compile(name: str, partition: Partition, options: BackendOptions) -> Call | None:
    """None where deplo can't after all, and PyTorch may."""
    try:
        lowered = lower(partition)
        return _call(name, lowered, options) if lowered is not None else None
    except Error as error:
        if not options.fallback:
            raise
        warnings.warn(
            f"deplo leaves {_count(partition)} to PyTorch, for it can't compile them: {error}",
            DeploWarning,
            stacklevel=2,
        )
        return None


def _call(
    name: str, lowered: LoweredPartition, options: BackendOptions, sizes: Sequence[Node] = ()
) -> Call:
    """`sizes` give those of the partition."""
    executables, checks = _executables(lowered, options)
    # PyTorch's own operators don't promise the strides that were foreseen.
    checked = [node.op != "placeholder" for node in lowered.partition.inputs]
    return Call(lowered.partition, specialise(name, lowered, executables, checked, checks), sizes)


def _executables(
    lowered: LoweredPartition, options: BackendOptions
) -> tuple[Executables, RangeChecks]:
    """The partition, compiled and loaded for arguments that are fully aligned, and what
    has to be known of its weights."""
    device = lowered.partition.device
    on_host = device.type == "cpu"
    compiler = Options(
        device="host" if on_host else "cuda",
        target=options.target or (DEFAULT_TARGET if on_host else target_of(device)),
        schedule=options.schedule,
        precision=options.precision,
        prepare_weights=options.prepare_weights,
        cache=options.cache,
    )

    reports = []

    def package(alignment: int) -> bytes:
        compilation = compile_ir(lowered.text, with_fields(compiler, alignment=alignment))
        assert compilation.package is not None
        reports.append(compilation.report)
        return compilation.package

    executables = Executables(package, "host" if on_host else f"cuda:{device.index or 0}")
    executables.get(compiler.alignment)
    return executables, RangeChecks(lowered.weights, reports[0])


def _count(partition: Partition) -> str:
    count = len(partition.nodes)
    return f"{count} operators" if count > 1 else "an operator"
