# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The import as a whole: a callable and example inputs to graph text and bindings."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Node
from torch.utils import _pytree as pytree

from deplo.errors import Error

from .builder import GraphBuilder, Value
from .locations import location_of
from .lowering import Lowering
from .sizes import Size, SizeBinder, align_shapes, names_of, ranges_of
from .trace import export, input_names, reachable_modules

_MUTATIONS = (
    OutputKind.USER_INPUT_MUTATION,
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
)


@dataclass
class Binding:
    """Where one argument of the compiled function comes from.

    Attributes:
        name: as in the source, "x" or "norm.weight".
        position: of the caller's argument, or None for a held tensor.
        fetch: for a held tensor (parameter, buffer, constant), its current self.
    """

    name: str
    position: int | None
    fetch: Callable[[], torch.Tensor] | None = None


@dataclass
class Outputs:
    """How to put results together as the source function returns them.

    Attributes:
        slots: for each flat output: ("result", i), ("input", i: argument
            number) or ("constant", value).
        spec: the pytree to unflatten into.
        mutations: (argument number, result number) of arguments that the source
            changes in place: results hold their new values.
    """

    slots: list[tuple[str, Any]]
    spec: pytree.TreeSpec
    mutations: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_single = self.spec.is_leaf() and self.slots == [("result", 0)]

    def rebuild(self, arguments: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> Any:
        """The return value; writes changed arguments back, on the current stream."""
        for argument, result in self.mutations:
            arguments[argument].copy_(results[result])
        if self._is_single:
            return results[0]
        sources = {"result": results, "input": arguments}
        flat = [sources[kind][v] if kind in sources else v for kind, v in self.slots]
        return pytree.tree_unflatten(flat, self.spec)


@dataclass
class ImportedProgram:
    """Attributes:
    text: the module in the graph dialect.
    fx_text: the exported program as Python.
    bindings: one for each argument of the function, in order.
    outputs: how to rebuild the return value.
    exported: the program as `torch.export` gives it.
    sizes: that each call gives.
    """

    text: str
    fx_text: str
    bindings: list[Binding]
    outputs: Outputs
    exported: ExportedProgram
    sizes: list[Size]


def import_program(
    function: Callable,
    inputs: Sequence[torch.Tensor],
    *,
    names: Sequence[str] | None = None,
    modules: dict[str, nn.Module] | None = None,
    dynamic_shapes: Sequence[Any] | dict[str, Any] | None = None,
    seed: int = 0,
) -> ImportedProgram:
    """Imports `function` as traced on `inputs` (their shapes and dtypes, not values).

    Args:
        names: of the inputs; default, the function's parameter names.
        modules: whose parameters the function uses; default, those it reaches.
        dynamic_shapes: sizes that calls may change, as `torch.export` takes them: for
            each input, or by the names of inputs, for example {"x": {0: Dim("rows")}}.
        seed: of dropout.

    Raises:
        Error: everything that can't be imported, in one paragraph.
    """
    modules = reachable_modules(function) if modules is None else modules
    names = list(names or input_names(function, len(inputs)))
    if dynamic_shapes is not None:
        dynamic_shapes = align_shapes(dynamic_shapes, names, len(inputs))
    program = export_program(function, inputs, modules, dynamic_shapes)
    prefixes = {f"root.m{i}": name for i, name in enumerate(modules)}
    importer = _Importer(program, _keyed(modules), prefixes, inputs, dynamic_shapes, seed)
    return importer.run(names)


def export_program(
    function: Callable,
    inputs: Sequence[torch.Tensor],
    modules: dict[str, nn.Module] | None = None,
    dynamic_shapes: Sequence[Any] | None = None,
) -> ExportedProgram:
    """`function` in core ATen operators, whether deplo has them or not.

    Raises:
        Error: an input is no tensor, or the function failed.
    """
    for i, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            raise Error(
                f"example input {i} is a {type(value).__name__}, but only tensors can be "
                "inputs: bind other arguments with functools.partial or a lambda"
            )
    modules = reachable_modules(function) if modules is None else modules
    return export(function, inputs, _keyed(modules), dynamic_shapes)


def _keyed(modules: dict[str, nn.Module]) -> dict[str, nn.Module]:
    """ModuleDict refuses empty names and dots."""
    return {f"m{i}": module for i, module in enumerate(modules.values())}


class _Importer:
    def __init__(
        self,
        program: ExportedProgram,
        modules: dict[str, nn.Module],
        prefixes: dict[str, str],
        inputs: Sequence[torch.Tensor],
        dynamic_shapes: Sequence[Any] | None,
        seed: int,
    ) -> None:
        self.program = program
        self.sizes: list[Size] = []
        if dynamic_shapes is not None:
            names = names_of(program, dynamic_shapes)
            binder = SizeBinder(program.graph, ranges_of(program), names)
            binder.run()
            binder.raise_problems()
            self.sizes = binder.sizes
        self.root = nn.ModuleDict({"root": nn.ModuleDict(modules)})
        self.prefixes = prefixes
        self.inputs = inputs
        self.builder = GraphBuilder(seed, self.sizes)
        self.lowering = Lowering(self.builder)
        self.bindings: list[Binding] = []
        self.arguments: list[Value] = []
        self.taken = {n.name for n in program.graph.nodes if n.op == "call_function"}

    def run(self, names: list[str]) -> ImportedProgram:
        nodes = {node.name: node for node in self.program.graph.nodes}
        user_inputs = 0
        outputs = self.program.graph_signature.output_specs
        written = {spec.target for spec in outputs if spec.kind in _MUTATIONS}
        for spec in self.program.graph_signature.input_specs:
            if spec.kind is InputKind.USER_INPUT:
                binding = Binding(names[user_inputs], user_inputs)
                tensor = self.inputs[user_inputs]
                user_inputs += 1
            elif spec.kind is InputKind.TOKEN:
                continue  # it orders operators with effects, which are reported themselves
            else:
                if not nodes[spec.arg.name].users and spec.target not in written:
                    continue
                binding = self._held(spec.kind, spec.target or "")
                tensor = binding.fetch()  # type: ignore[misc]
            is_weight = binding.position is None and spec.target not in written
            self._argument(nodes[spec.arg.name], binding, tensor, is_weight)
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self.lowering.lower(node)
        outputs, results = self._outputs(nodes)
        self.lowering.raise_problems()
        if not results:
            raise Error("the function computes nothing from its inputs: return a new tensor")
        fx_text = self._fx_text()
        text = self.builder.text(results)
        return ImportedProgram(text, fx_text, self.bindings, outputs, self.program, self.sizes)

    def _fx_text(self) -> str:
        """The program as Python, under the source's names and with the source's lines."""
        renamed = {}
        for node in self.program.graph.nodes:
            place = location_of(node)
            node.meta.pop("custom", None)
            if place is not None:
                node.meta["stack_trace"] = place.frame_text()
            if node.op == "placeholder" and isinstance(self.lowering.values.get(node), Value):
                renamed[node.name] = self.lowering.values[node].name.replace(".", "_")
        text = self.program.graph_module.print_readable(print_output=False)
        return re.sub(r"\b\w+\b", lambda word: renamed.get(word[0], word[0]), text)

    def _held(self, kind: InputKind, target: str) -> Binding:
        """A binding by reference: later updates of the tensor are seen."""
        if kind not in (InputKind.PARAMETER, InputKind.BUFFER):
            tensor = self.program.constants[target]
            return Binding(self._source_name(target), None, lambda: tensor)
        path, _, leaf = target.rpartition(".")
        owner = self.root.get_submodule(path)
        slot = owner._parameters if leaf in owner._parameters else owner._buffers
        return Binding(self._source_name(target), None, lambda: slot[leaf])  # type: ignore[return-value]

    def _source_name(self, target: str) -> str:
        for prefix, name in self.prefixes.items():
            if target.startswith(prefix + "."):
                return f"{name}.{target[len(prefix) + 1 :]}".lstrip(".")
        return target

    def _argument(
        self, node: Node, binding: Binding, tensor: torch.Tensor, is_weight: bool
    ) -> None:
        """Declares an argument; a scalar constant of another device is embedded.

        A weight is a held tensor that the function itself doesn't change.
        """
        word = "input" if binding.position is not None else "tensor"
        dtype = self.lowering.input_type(f"{word} '{binding.name}'", tensor)
        if dtype is None:
            return
        devices = {value.device for value in self.inputs}
        if binding.position is None and tensor.dim() == 0 and tensor.device not in devices:
            self.lowering.values[node] = self.builder.constant(tensor.item(), dtype)
            return
        if self.sizes and binding.position is not None:
            tensor = node.meta["val"]  # of the sizes that stand for those of calls
        value = Value(self._ssa_name(binding.name), tuple(tensor.shape), dtype)
        strides = None if tensor.is_contiguous() else tensor.stride()
        self.builder.argument(value, binding.name, strides, is_weight=is_weight)
        self.lowering.values[node] = value
        self.bindings.append(binding)
        self.arguments.append(value)

    def _ssa_name(self, name: str) -> str:
        """The source name in MLIR's alphabet, unlike every other value's."""
        name = re.sub(r"[^A-Za-z0-9_.]", "_", name)
        while name in self.taken or not re.match(r"[A-Za-z_]", name):
            name = f"_{name}"
        self.taken.add(name)
        return name

    def _outputs(self, nodes: dict[str, Node]) -> tuple[Outputs, list[Value]]:
        slots: list[tuple[str, Any]] = []
        results: list[Value] = []
        mutations: list[tuple[int, int]] = []
        changed: dict[str, int] = {}  # node that holds the new value -> argument
        for spec in self.program.graph_signature.output_specs:
            if spec.kind is OutputKind.TOKEN:
                continue
            if spec.kind in _MUTATIONS:
                value = self.lowering.values.get(nodes[spec.arg.name])
                old = self.lowering.values.get(nodes[self._placeholder(spec)])
                if isinstance(value, Value) and isinstance(old, Value) and value is not old:
                    mutations.append((self.arguments.index(old), self._result(value, results)))
                    changed[spec.arg.name] = self.arguments.index(old)
            elif isinstance(spec.arg, ConstantArgument):
                slots.append(("constant", spec.arg.value))
            elif isinstance(spec.arg, TensorArgument) and spec.arg.name in changed:
                slots.append(("input", changed[spec.arg.name]))
            elif isinstance(spec.arg, TensorArgument):
                slots.append(self._slot(nodes[spec.arg.name], results))
            else:
                self.lowering.problem("an output that is not a tensor", "return tensors", None)
        return Outputs(slots, self.program.call_spec.out_spec, mutations), results

    def _placeholder(self, spec: OutputSpec) -> str:
        """The node of the argument that `spec` gives the new value of."""
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            return spec.target or ""
        for given in self.program.graph_signature.input_specs:
            if given.target == spec.target:
                return given.arg.name
        raise AssertionError(spec)

    def _result(self, value: Value, results: list[Value]) -> int:
        """The result's number; an argument is copied by a result of its own."""
        if value not in results:
            results.append(value)
        return results.index(value)

    def _slot(self, node: Node, results: list[Value]) -> tuple[str, Any]:
        """An argument is handed back as it came; an operator's result is a new tensor,
        even if the operator leaves its operand as it is (a clone, ceil of integers)."""
        value = self.lowering.values.get(node)
        if node.op == "placeholder" and value in self.arguments:
            return "input", self.arguments.index(value)
        return "result", self._result(value, results) if value is not None else 0
