# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the importer refuses, and what it says."""

import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import deplo
from deplo.importer import import_program
from deplo.importer.registry import HANDLERS
from deplo.importer.unsupported import NEAREST, nearest, python_name

X = torch.ones(2, 3)


def message(function, *inputs):
    with pytest.raises(deplo.Error) as caught:
        import_program(function, inputs or (X,))
    text = str(caught.value)
    assert "\n" not in text and "Traceback" not in text
    return text


def test_unsupported_operator_has_name_line_count_and_nearest_form():
    line = inspect.currentframe().f_lineno + 1
    text = message(lambda x: x.mode(0).values.sum() + x.mode(1).values)
    assert "aten.mode.default at " in text
    assert re.search(rf"test_importer_errors\.py:{line}:\d+", text)
    assert "(2 times)" in text
    assert "nearest supported: aten.fmod" in text


def test_all_problems_are_reported_at_once():
    text = message(
        lambda x: torch.special.erfcx(x) + torch.special.ndtri(x) + torch.special.airy_ai(x)
    )
    for part in ("3 things", "aten.special_erfcx", "aten.special_ndtri", "airy_ai"):
        assert part in text


def test_consequences_of_a_problem_are_not_reported():
    text = message(lambda x: (torch.special.erfcx(x) + 1).sum() * 2)
    assert "one thing" in text and "aten.special_erfcx" in text


def test_dropout_of_integers_raises_as_pytorch_does():
    """Edge case 82."""
    text = message(lambda x: F.dropout(x, 0.5), torch.ones(3, dtype=torch.int64))
    assert "dropout" in text or "can't be cast" in text


def test_dropout_in_evaluation_is_nothing():
    program = import_program(nn.Sequential(nn.Dropout(0.5), nn.ReLU()).eval(), (X,))
    assert "map" not in program.text


@pytest.mark.parametrize("dtype", ["float64", "int16", "complex64"])
def test_unsupported_input_dtype(dtype):
    text = message(lambda data: data + data, torch.ones(3, dtype=getattr(torch, dtype)))
    assert f"input 'data' has dtype {dtype}: supported are f32, f16, bf16" in text


def test_unsupported_dtype_of_a_cast():
    text = message(lambda x: x.double() + 1)
    assert "aten._to_copy.default with a result of dtype float64 at" in text
    assert "supported are f32, f16, bf16" in text


def test_unsupported_dtype_of_a_parameter():
    norm = nn.RMSNorm(3).double()
    assert "tensor 'norm.weight' has dtype float64" in message(lambda x: norm(x.double()))


def test_in_place_on_a_new_tensor_is_fine():
    def function(x):
        y = x + 1
        y *= 2
        return y

    assert "graph.mul" in import_program(function, (X,)).text


def test_function_that_raises():
    line = inspect.currentframe().f_lineno + 1
    text = message(lambda x: x.view(7))
    assert f":{line}:" in text and "RuntimeError" in text and "shape '[7]' is invalid" in text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1 if x.sum() > 0 else x,
        lambda x: x.nonzero(),
        lambda x: torch.argwhere(x),
        lambda x: torch.where(x > 0),
        lambda x: x[x > 0],
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x),
        lambda x: torch.bincount(x.long().flatten()),
        lambda x: x[:, : x.sum().long()],
        lambda x: F.gaussian_nll_loss(x, x, x),
    ],
)
def test_what_depends_on_values(function, capfd):
    """One sentence, and nothing printed beside it."""
    text = message(function)
    assert "on the values of a tensor" in text and "torch.where" in text and "\n" not in text
    assert capfd.readouterr() == ("", "")


def test_arithmetic_on_items():
    text = message(lambda x: x * (x.sum().item() + 1))
    assert "computed from the values of a tensor" in text and "compute it as a tensor" in text


def test_operators_that_a_dtype_has_not():
    text = message(lambda x: torch.hypot(x, x), torch.ones(3, dtype=torch.int32))
    assert "aten.hypot" in text and "not defined for i32" in text


def test_nothing_computed():
    assert "computes nothing" in message(lambda x: x)


def test_input_that_is_no_tensor():
    text = message(lambda x, n: x * n, X, 3)
    assert "example input 1 is a int" in text and "functools.partial" in text


def test_output_that_is_no_tensor_is_kept():
    program = import_program(lambda x: (x + 1, 7), (X,))
    assert program.outputs.rebuild([], ["A"]) == ("A", 7)


def test_nearest_form_falls_back_to_similar_names():
    assert nearest(torch.ops.aten.sigmoid_backward.default).startswith("nearest supported: aten.")
    assert "no supported operator" in nearest(torch.ops.aten.bucketize.Tensor)


def test_curated_forms_are_for_operators_that_have_no_handler():
    """An entry for a supported operator would be stale."""
    assert not {python_name(target).split(".")[1] for target in HANDLERS} & set(NEAREST)


def test_every_curated_python_form_is_supported():
    forms = {
        lambda x: torch.rand(2, 3, device=x.device) + F.dropout(x),
        lambda x: torch.remainder(x, 2),
        lambda x: (x.unsqueeze(-1) * torch.ones(3, 4)).sum(-2),
    }
    for form in forms:
        assert import_program(form, (X,)).text


def test_operators_with_effects_are_named():
    assert "linalg_inv_ex" in message(lambda x: torch.linalg.inv(x), torch.randn(4, 4))
