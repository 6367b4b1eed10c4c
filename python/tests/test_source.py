# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of the command line: snippets, objects of files, IR, --inputs."""

import pytest
import torch

import deplo
from deplo.source import load_source, parse_inputs

FILE = """
import torch

def gate(a, b):
    return torch.relu(a) * b

class Scale(torch.nn.Module):
    def forward(self, x):
        return x * 2

scale = Scale()
scale.example_inputs = (torch.ones(5),)

def example_inputs():
    return torch.ones(2, 3), torch.ones(3)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "source_under_test.py"
    path.write_text(FILE)
    return str(path)


def load(path, inputs=None, code=None):
    return load_source(code, path, inputs, 0)


def shapes(source):
    return [tuple(tensor.shape) for tensor in source.program.inputs]


def test_function_with_the_files_example_inputs(file):
    source = load(f"{file}:gate")
    assert source.program.function.__name__ == "gate" and shapes(source) == [(2, 3), (3,)]


def test_objects_own_example_inputs_come_first(file):
    assert shapes(load(f"{file}:scale")) == [(5,)]


def test_inputs_option_comes_before_both(file):
    assert shapes(load(f"{file}:scale", "f16[7,2]")) == [(7, 2)]


@pytest.mark.parametrize(
    "suffix,message",
    [
        ("", "say which object .* it defines gate, Scale, scale, example_inputs"),
        (":missing", "has no 'missing'"),
        (":Scale", "is a class: name an instance"),
        (":torch.pi", "is not callable"),
    ],
)
def test_wrong_objects(file, suffix, message):
    with pytest.raises(deplo.Error, match=message):
        load(file + suffix)


def test_no_example_inputs(tmp_path):
    path = tmp_path / "no_examples.py"
    path.write_text("def f(x): return x + 1\n")
    with pytest.raises(deplo.Error, match="has no example inputs: give --inputs"):
        load(f"{path}:f")


@pytest.mark.parametrize("text", ["def f(:\n", "import no_such_module_of_this_name\n", "1 / 0\n"])
def test_files_that_fail(tmp_path, text):
    path = tmp_path / "fails.py"
    path.write_text(text)
    with pytest.raises(deplo.Error, match=r"fails\.py:1"):
        load(f"{path}:f")


def test_missing_files(tmp_path):
    with pytest.raises(deplo.Error, match="there is no file"):
        load(f"{tmp_path}/none.py:f")
    with pytest.raises(deplo.Error, match=r"can't read .*none\.mlir: No such file"):
        load(f"{tmp_path}/none.mlir")


def test_ir_file(tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text("module {}\n")
    source = load(str(path))
    assert source.ir == "module {}\n" and source.program is None


def test_binary_file_is_no_ir(tmp_path):
    path = tmp_path / "a.mlir"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(deplo.Error, match="it is not text"):
        load(str(path))


def test_seed_makes_snippets_repeat():
    first, second = (load(None, code="torch.exp(torch.randn(4))") for _ in range(2))
    assert torch.equal(first.program.inputs[0], second.program.inputs[0])


def test_inputs_of_a_snippet_can_be_replaced():
    assert shapes(load(None, "f32[9]", "torch.exp(torch.randn(4))")) == [(9,)]


def test_parse_inputs():
    first, second, third = parse_inputs("f32[1, 32,2048], bf16[8],f16[]")
    assert first.shape == (1, 32, 2048) and first.dtype == torch.float32
    assert second.shape == (8,) and second.dtype == torch.bfloat16
    assert third.shape == () and third.dtype == torch.float16


@pytest.mark.parametrize("text", ["f32", "f32[a]", "[3]", "f32[3", "f32[3] f32[4]"])
def test_unreadable_inputs(text):
    with pytest.raises(deplo.Error, match="can't read the inputs from"):
        parse_inputs(text)


def test_unsupported_dtype_of_inputs():
    with pytest.raises(deplo.Error, match="dtype f64 are not supported; supported are f32"):
        parse_inputs("f64[3]")
