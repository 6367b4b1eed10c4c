# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`-c CODE`: what becomes an input, what is kept, what is compiled."""

import pytest
import torch
from torch import nn

import deplo
from deplo.importer import import_program
from deplo.snippet import load_snippet


def loaded(code):
    torch.manual_seed(0)
    return load_snippet(code)


def value(code):
    """The snippet's value through its function, and as Python evaluates it."""
    snippet = loaded(code)
    got = snippet.function(*snippet.inputs)
    torch.manual_seed(0)
    scope = {"torch": torch, "nn": nn, "F": nn.functional}
    *statements, last = code.split("\n")
    exec("\n".join(statements), scope)
    return got, eval(last, scope)


def test_module_and_tensor():
    snippet = loaded("torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))")
    assert snippet.names == ["arg0"] and snippet.inputs[0].shape == (1, 32, 2048)
    assert set(snippet.modules) == {"RMSNorm"}
    program = import_program(
        snippet.function, snippet.inputs, names=snippet.names, modules=snippet.modules
    )
    assert [binding.name for binding in program.bindings] == ["RMSNorm.weight", "arg0"]
    assert 'loc("<snippet>":1:1)' in program.text


def test_names_of_variables_in_order_of_appearance():
    snippet = loaded("b = torch.randn(4)\na = torch.randn(3, 4)\nF.silu(a) * b + a")
    assert snippet.names == ["a", "b"]


@pytest.mark.parametrize(
    "code,names,shapes",
    [
        ("F.silu(torch.randn(2)) + torch.ones(2)", ["arg0", "arg1"], [(2,), (2,)]),
        ("arg0 = torch.ones(3)\ntorch.ones(3) + arg0", ["arg1", "arg0"], [(3,), (3,)]),
        ("xs = [torch.ones(2), torch.ones(3)]\nxs[1] * 2", ["arg0"], [(3,)]),
        ("x = torch.ones(2, 3)\nx.T.reshape(x.shape[0], -1) + 1", ["x"], [(2, 3)]),
        ("n = 5\ntorch.exp(torch.full((n, 2), 1.0))", ["arg0"], [(5, 2)]),
        ("def make(): return torch.ones(4)\ntorch.exp(make())", ["arg0"], [(4,)]),
    ],
)
def test_inputs(code, names, shapes):
    snippet = loaded(code)
    assert snippet.names == names
    assert [tuple(tensor.shape) for tensor in snippet.inputs] == shapes


@pytest.mark.parametrize(
    "code",
    [
        "torch.nn.LayerNorm(8)(torch.randn(2, 8))",
        "a = torch.randn(3, 4)\nF.softmax(a, dim=-1) * a.sum()",
        "m = nn.Sequential(nn.LayerNorm(4), nn.GELU())\nx = torch.randn(2, 4)\nm(x) + m[0].weight",
        "a = torch.randn(3)\nsum([a * i for i in range(1, 4)])",
        "a = torch.randn(3)\n(lambda t: t * 2)(a) + torch.ones(3)",
        "f = lambda t: torch.exp(t)\nf(torch.randn(3))",
        "a, b = torch.randn(2, 3).unbind(0)\n(c := a + b) * c",
        "from math import sqrt\nsqrt(16.0) * torch.randn(3)",
    ],
)
def test_value_is_that_of_plain_python(code):
    got, want = value(code)
    assert torch.equal(got, want)


@pytest.mark.parametrize(
    "suffix,dtype",
    [
        (".half()", torch.float16),
        (".to(torch.bfloat16)", torch.bfloat16),
        (".bfloat16().requires_grad_()", torch.bfloat16),
    ],
)
def test_preparation_of_a_created_tensor_is_part_of_it(suffix, dtype):
    snippet = loaded(f"F.silu(torch.randn(2){suffix})")
    assert snippet.names == ["arg0"] and snippet.inputs[0].dtype == dtype


def test_cast_of_a_variable_is_compiled():
    snippet = loaded("x = torch.randn(2)\nx.half() + 1")
    assert snippet.inputs[0].dtype == torch.float32


def test_modules_are_built_once():
    code = """
built = []
class M(nn.Module):
    def __init__(self):
        super().__init__()
        built.append(1)
    def forward(self, x):
        return x + len(built)
M()(torch.zeros(2))
"""
    snippet = loaded(code)
    snippet.function(*snippet.inputs)
    assert torch.equal(snippet.function(*snippet.inputs), torch.ones(2))


def test_module_in_half_precision():
    snippet = loaded("nn.RMSNorm(8).half()(torch.randn(2, 8).half())")
    assert snippet.function(*snippet.inputs).dtype == torch.float16


@pytest.mark.parametrize(
    "code,message",
    [
        ("1 +", "<snippet>:1:"),
        ("x = 1\n(", "<snippet>:2:"),
        ("x = torch.ones(2)\n1 / 0\nx", "<snippet>:2:1: ZeroDivisionError: division by zero"),
        ("x = torch.ones(2)\nx + torch.ones(y)", "<snippet>:2:16: NameError: name 'y' is not"),
        ("x = torch.ones(2)", "must end with the expression to compile"),
        ("", "must end with the expression to compile"),
        ("1 + 2", "uses no tensor"),
        ("torch.ones(2)", "only creates a tensor"),
        ("x = torch.ones(2)\nx", "only creates a tensor"),
    ],
)
def test_errors_are_one_sentence_with_the_line(code, message):
    with pytest.raises(deplo.Error) as caught:
        loaded(code)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_error_while_tracing_names_the_line():
    snippet = loaded("a = torch.ones(3, 4)\nb = torch.ones(5)\na * b")
    with pytest.raises(deplo.Error, match=r"^<snippet>:3:1: the function raised RuntimeError"):
        import_program(snippet.function, snippet.inputs)
