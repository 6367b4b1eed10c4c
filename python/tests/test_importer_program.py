# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The import as a whole: arguments, bindings, outputs, locations."""

import functools
import inspect
import re

import pytest
import torch
from helpers import import_text
from torch import nn

from deplo.importer import import_program

X = torch.ones(2, 3)


def line_here():
    return inspect.currentframe().f_back.f_lineno


def places(function, *inputs):
    """Operation name -> (line, column) for operations of this file."""
    text = import_program(function, inputs).text
    pattern = r'graph\.(\w+) .* loc\("[^"]*test_importer_program\.py":(\d+):(\d+)\)'
    return {op: (int(line), int(column)) for op, line, column in re.findall(pattern, text)}


def test_whole_module():
    text = import_text(lambda x, y: torch.exp(x) + y, X, torch.ones(3))
    assert text == (
        "module {\n"
        '  func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, '
        '%y: tensor<3xf32> {graph.name = "y"}) -> tensor<2x3xf32> {\n'
        "    %exp = graph.exp %x : tensor<2x3xf32>\n"
        "    %add = graph.add %exp, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>\n"
        "    return %add : tensor<2x3xf32>\n"
        "  }\n"
        "}\n"
    )


def test_two_imports_give_the_same_text():
    first, second = (
        import_program(lambda x: torch.softmax(x, -1).std(0), (X,)).text for _ in range(2)
    )
    assert first == second


def test_locations_give_line_and_column_of_the_innermost_call():
    def inner(x):
        return torch.exp(x) + torch.sin(x)

    first = line_here() - 2

    def outer(x):
        return inner(x) * torch.cos(x)

    found = places(outer, X)
    assert found["exp"] == (first, 16)
    assert found["sin"] == (first, 31)
    assert found["add"] == (first, 16)
    assert found["cos"] == (first + 5, 27)


def test_locations_of_several_lines_of_one_expression():
    first = line_here() + 2
    found = places(
        lambda x: torch.exp(x)
        + torch.sin(x),
        X,
    )  # fmt: skip
    assert (found["exp"][0], found["sin"][0]) == (first, first + 1)


def test_decomposed_steps_have_the_place_of_the_call():
    line = line_here() + 1
    found = places(lambda x: x.std(0), X)
    assert found["var"] == found["sqrt"] == (line, 30)


def test_location_of_module_code_is_the_users_call():
    norm = nn.LayerNorm(3)
    line = line_here() + 1
    assert places(lambda x: norm(x), X) == {"layer_norm": (line, 29)}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(3)
        self.register_buffer("shift", torch.ones(3))
        self.table = torch.full((3,), 2.0)
        self.unused = nn.Parameter(torch.ones(7))

    def forward(self, x):
        return self.norm(x) * self.table + self.shift


def test_held_tensors_are_arguments_by_reference():
    model = Model()
    program = import_program(model, (X,))
    by_name = {binding.name: binding for binding in program.bindings}
    assert set(by_name) == {"norm.weight", "shift", "table", "x"}
    assert by_name["norm.weight"].fetch() is model.norm.weight
    assert by_name["shift"].fetch() is model.shift
    assert by_name["x"].position == 0
    assert by_name["table"].fetch().data_ptr() == model.table.data_ptr()


def test_a_replaced_parameter_is_seen():
    model = Model()
    program = import_program(model, (X,))
    model.norm.weight = nn.Parameter(torch.zeros(3))
    (weight,) = [b for b in program.bindings if b.name == "norm.weight"]
    assert weight.fetch() is model.norm.weight


@pytest.mark.parametrize("kind", ["closure", "method", "partial"])
def test_modules_that_a_callable_reaches_are_bound(kind):
    norm = nn.RMSNorm(3)
    functions = {
        "closure": lambda x: norm(x) * 2,
        "method": norm.forward,
        "partial": functools.partial(lambda scale, x: norm(x) * scale, 2.0),
    }
    program = import_program(functions[kind], (X,), names=["x"])
    assert [b.fetch() for b in program.bindings if b.position is None] == [norm.weight]


def test_training_mode_is_left_alone():
    model = nn.Sequential(nn.LayerNorm(3), nn.GELU()).eval()
    import_program(model, (X,))
    assert not model.training and not model[0].training


def test_strides_of_inputs():
    text = import_text(lambda x, y: x.t() + y, X.t(), X.t().contiguous().t())
    assert text.count("graph.strides = array<i64: 1, 3>") == 1
    assert text.count("graph.strides = array<i64: 1, 2>") == 1


def test_expanded_input_has_stride_zero():
    text = import_text(lambda x: -x, torch.ones(1, 3).expand(2, 3))
    assert "graph.strides = array<i64: 0, 1>" in text


def test_structured_outputs():
    program = import_program(lambda x: {"a": (x + 1, None), "b": [x, x * 2]}, (X,))
    rebuilt = program.outputs.rebuild(["X"], ["A", "B"])
    assert rebuilt == {"a": ("A", None), "b": ["X", "B"]}


def test_repeated_output_is_one_result():
    def twice(x):
        y = x + 1
        return y, y

    program = import_program(twice, (X,))
    assert "-> tensor<2x3xf32> {" in program.text
    assert program.outputs.rebuild(["X"], ["A"]) == ("A", "A")


def test_names_that_clash_with_operations_are_kept_apart():
    text = import_text(lambda add: add + 1, X)
    assert '%_add: tensor<2x3xf32> {graph.name = "add"}' in text


def test_fx_text_has_the_sources_names_and_lines():
    line = line_here() + 1
    text = import_program(lambda left: torch.exp(left), (X,)).fx_text
    assert "def forward(self, left:" in text and "aten.exp.default(left)" in text
    assert f"test_importer_program.py:{line} in" in text
    assert "Annotation" not in text


def test_zero_sizes_and_scalars():
    assert "tensor<0x3xf32>" in import_text(lambda x: x + 1, torch.ones(0, 3))
    assert "tensor<f32>" in import_text(lambda x: x + 1, torch.tensor(1.0))
