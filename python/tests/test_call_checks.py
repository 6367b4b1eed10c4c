# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled function checks of its arguments (no compiler needed)."""

import pytest
import torch

import deplo
from deplo.calling import Call, TensorSpec
from deplo.importer import Binding
from deplo.runtime import Buffer


class FakeExecutable:
    """Stands for a loaded package; records the pointers it is run with."""

    weights = None

    def __init__(self):
        self.manifest = {}
        self.outputs = [Buffer("y", "f32", (2, 3), (3, 1), 16)]
        self.runs = []

    def run(self, pointers, stream, sizes=()):
        self.runs.append((list(pointers), stream))


def spec(name, position, shape, strides=None, dtype="f32", fetch=None):
    strides = strides or torch.empty(shape, device="meta").stride()
    buffer = Buffer(name, dtype, tuple(shape), tuple(strides), 16)
    return TensorSpec.of(Binding(name, position, fetch), buffer, "host")


def make_call(specs, monkeypatch):
    """A call whose executables are fakes, one for each alignment asked for."""
    made = {}

    def executable(package, device):
        assert device == "host"
        return made.setdefault(int(package), FakeExecutable())

    monkeypatch.setattr("deplo.calling.Executable", executable)
    return Call(specs, lambda alignment: str(alignment).encode(), "host"), made


@pytest.fixture
def call(monkeypatch):
    specs = [spec("x", 0, (2, 3)), spec("w", 1, (3,))]
    return make_call(specs, monkeypatch)[0]


X, W = torch.ones(2, 3), torch.ones(3)


@pytest.mark.parametrize(
    "arguments,message",
    [
        ((X,), r"takes 2 tensors \(x, w\), but was called with 1"),
        ((X, W, W), r"takes 2 tensors \(x, w\), but was called with 3"),
        ((X, 2.0), r"argument 1 \('w'\) is a float: pass a torch.Tensor"),
        ((torch.ones(2, 4), W), r"argument 0 \('x'\) has shape \(2, 4\), .* compiled for \(2, 3\)"),
        ((X, W.half()), r"argument 1 \('w'\) has dtype torch.float16, .*\.to\(torch.float32\)"),
        (
            (X.to("meta"), W),
            r"argument 0 \('x'\) is on meta, .* for cpu: move it with \.to\('cpu'\)",
        ),
        (
            (X.t().contiguous().t(), W),
            r"has strides \(1, 2\), .* \(3, 1\): pass .contiguous\(\) of it",
        ),
    ],
)
def test_wrong_arguments(call, arguments, message):
    with pytest.raises(deplo.Error, match=message) as caught:
        call(arguments)
    assert "\n" not in str(caught.value)


def test_strides_that_were_asked_for(monkeypatch):
    call, _ = make_call([spec("x", 0, (2, 3), (1, 2))], monkeypatch)
    call((X.t().contiguous().t(),))
    with pytest.raises(deplo.Error, match="pass a tensor of those strides"):
        call((X,))


def test_strides_of_axes_of_size_one_do_not_matter(monkeypatch):
    call, _ = make_call([spec("x", 0, (1, 3))], monkeypatch)
    call((torch.ones(5, 3)[::5],))


def test_held_tensors_are_fetched_at_each_call_and_checked(monkeypatch):
    held = {"w": W}
    specs = [spec("norm.w", None, (3,), fetch=lambda: held["w"]), spec("x", 0, (2, 3))]
    call, made = make_call(specs, monkeypatch)
    call((X,))
    held["w"] = W.clone()
    call((X,))
    assert [run[0][0] for run in made[16].runs] == [W.data_ptr(), held["w"].data_ptr()]
    held["w"] = torch.ones(4)
    with pytest.raises(deplo.Error, match=r"tensor 'norm.w' has shape \(4,\)"):
        call((X,))


def test_no_copies_and_fresh_results(call):
    tensors, (first,) = call((X, W))
    assert tensors[0] is X and tensors[1] is W
    _, (second,) = call((X, W))
    assert first.shape == (2, 3) and first.data_ptr() != second.data_ptr()


@pytest.mark.parametrize("offset,alignment", [(1, 4), (2, 8), (3, 4), (4, 16)])
def test_less_aligned_inputs_get_a_variant_once(monkeypatch, offset, alignment):
    call, made = make_call([spec("x", 0, (8,))], monkeypatch)
    base = torch.ones(32)
    assert base.data_ptr() % 16 == 0
    call((base[offset : offset + 8],))
    call((base[offset : offset + 8],))
    assert len(made[alignment].runs) == 2
    assert set(made) == {16, alignment}


def test_half_precision_can_be_aligned_to_two_bytes(monkeypatch):
    call, made = make_call([spec("x", 0, (8,), dtype="f16")], monkeypatch)
    call((torch.ones(32).half()[1:9],))
    assert set(made) == {16, 2}
