# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""prepare_weights: what depends on parameters and buffers alone runs once, until these change."""

import copy
import gc
import threading
import warnings
import weakref

import pytest
import torch
import torch.nn.functional as F
from numeric import randn
from torch import nn

import deplo
from deplo import DeploWarning
from deplo.backend import backend
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program
from deplo.runtime import Executable

pytestmark = pytest.mark.usefixtures("compiler")


class Normalised(nn.Module):
    """Scales its input by the softmax of a weight: a kernel of the weight's alone."""

    def __init__(self, size=64, device="cpu"):
        super().__init__()
        self.weight = nn.Parameter(randn(size).to(device), requires_grad=False)
        self.register_buffer("shift", randn(size, seed=1).to(device))

    def forward(self, x):
        factors = torch.cumsum(torch.softmax(self.weight, -1) + self.shift, -1)
        return x * factors


def prepared(module, x, device, **options):
    return deplo.compile(module, (x,), device=device, prepare_weights=True, **options)


def launches(function):
    """The numbers of launches that are prepared, and of the others."""
    kernels = function.report["kernels"]
    once = sum(kernel["prepared_launches"] for kernel in kernels)
    return once, sum(kernel["launches"] for kernel in kernels)


def right(function, module, x):
    """Whether the result is that of the module's weights now."""
    want = copy.deepcopy(module).double()(x.double())
    return torch.allclose(function(x).double(), want, rtol=1e-5, atol=1e-6)


@pytest.fixture
def case(device, torch_device):
    module, x = Normalised(device=torch_device), randn(4, 64, seed=2).to(torch_device)
    return module, x, prepared(module, x, device)


def test_launches_of_weights_are_prepared(case):
    module, x, function = case
    once, others = launches(function)
    assert once >= 1
    assert others == 1
    for _ in range(3):
        assert right(function, module, x)


def test_not_without_being_asked(device, torch_device):
    module, x = Normalised(device=torch_device), randn(4, 64).to(torch_device)
    function = deplo.compile(module, (x,), device=device)
    assert launches(function)[0] == 0
    assert right(function, module, x)


def test_arguments_are_no_weights(device, torch_device):
    w, x = randn(64).to(torch_device), randn(4, 64, seed=1).to(torch_device)
    function = deplo.compile(
        lambda x, w: x * torch.cumsum(torch.softmax(w, -1), -1),
        (x, w),
        device=device,
        prepare_weights=True,
    )
    assert launches(function)[0] == 0


CHANGES = {
    "in place": lambda m: m.weight.mul_(-2),
    "a buffer in place": lambda m: m.shift.add_(1),
    "in inference mode": lambda m: torch.inference_mode()(lambda: m.weight.mul_(3))(),
    "replaced": lambda m: setattr(m, "weight", nn.Parameter(m.weight * 3, requires_grad=False)),
    "other data": lambda m: setattr(m.weight, "data", m.weight.data * 5),
    "loaded": lambda m: m.load_state_dict({"weight": m.weight * -1, "shift": m.shift + 2}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_weights_are_prepared_again(name, case):
    module, x, function = case
    for _ in range(3):
        assert right(function, module, x)
        with torch.no_grad():
            CHANGES[name](module)
        assert right(function, module, x)


def test_memory_that_is_given_out_again_is_no_old_weight(case):
    """New weights at an old address, with the same version."""
    module, x, function = case
    for i in range(20):
        del module.weight
        module.weight = nn.Parameter(torch.full_like(x[0], float(i)), requires_grad=False)
        module.weight.data = torch.arange(64.0, device=x.device) * (i % 3 - 1)
        assert right(function, module, x)


def test_uncounted_changes(case):
    module, x, function = case
    assert right(function, module, x)
    module.weight.data.mul_(-2)
    function.forget_weights()
    assert right(function, module, x)


def test_it_runs_once(case, monkeypatch):
    module, x, function = case
    calls = []
    for name in ("prepare", "prepare_again"):
        method = getattr(Executable, name)
        monkeypatch.setattr(
            Executable,
            name,
            lambda *given, method=method, name=name: (calls.append(name), method(*given))[1],
        )
    for _ in range(3):
        function(x)
    assert calls == ["prepare"]
    with torch.no_grad():
        module.weight.add_(1)
    for _ in range(3):
        function(x)
    assert calls == ["prepare", "prepare_again"]


def test_replaced_weights_are_let_go(case):
    module, x, function = case
    function(x)
    (table,) = function._call._weights.values()
    for _ in range(5):
        module.weight = nn.Parameter(module.weight + 1, requires_grad=False)
        function(x)
    # The first weights live on in the exported program.
    assert len(table._entries) == 2
    gone = weakref.ref(module.weight)
    module.weight = None
    gc.collect()
    assert gone() is None
    assert len(table._entries) == len(table.known) == 1


def test_tensors_of_inference_mode(device, torch_device):
    """They count no changes: right all the same, and a warning says what it costs."""
    with torch.inference_mode():
        module, x = Normalised(device=torch_device), randn(4, 64).to(torch_device)
        function = prepared(module, x, device)
        with pytest.warns(DeploWarning, match="make them outside of torch.inference_mode"):
            function(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                module.weight.mul_(2)
                assert right(function, module, x)


def test_threads(case):
    module, x, function = case
    failures = []

    def work():
        for _ in range(20):
            if not right(function, module, x):
                failures.append(threading.get_ident())

    for _ in range(3):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with torch.no_grad():
            module.weight.neg_()
    assert not failures


def test_a_loaded_package(case, device):
    """The weights are arguments; a run of the whole package is right as well."""
    module, x, function = case
    loaded = deplo.load(function.package, device)
    order = {"x": x, "weight": module.weight, "shift": module.shift}
    arguments = [order[b.name.rpartition(".")[2]] for b in function.program.bindings]
    for _ in range(2):
        torch.testing.assert_close(loaded(*arguments), function(x), rtol=0, atol=0)
        module.weight.mul_(2)
    executable = Executable(function.package, "cuda:0" if device == "cuda" else device)
    result = torch.full_like(x, torch.nan)
    executable.run([t.data_ptr() for t in (*arguments, result)])
    if device == "cuda":
        torch.cuda.synchronize()
    torch.testing.assert_close(result, function(x), rtol=0, atol=0)


def test_unaligned_weights(device, torch_device):
    module, x = Normalised(device=torch_device), randn(4, 64).to(torch_device)
    function = prepared(module, x, device)
    assert right(function, module, x)
    memory = torch.zeros(65, device=torch_device)
    memory[1:] = module.weight * 2
    module.weight.data = memory[1:]
    for _ in range(2):
        assert right(function, module, x)


def test_pieces_of_a_weight(device, torch_device):
    """A product of f32 whose weight is split once."""
    if device == "host":
        pytest.skip("the host multiplies f32")
    linear = nn.Linear(256, 96, bias=False).to(torch_device).requires_grad_(False)
    x = randn(64, 256).to(torch_device)
    function = prepared(linear, x, device, schedule="atom=wgmma")
    names = {k["name"]: k for k in function.report["kernels"] if k["prepared_launches"]}
    assert len(names) == 1
    assert sum(kernel["prepared_bytes"] for kernel in names.values()) == 3 * 96 * 256 * 2
    for _ in range(2):
        want = x.double() @ linear.weight.double().t()
        error = (function(x).double() - want).norm() / want.norm()
        assert error < 2e-7
        linear.weight.neg_()


def test_sizes_of_calls(device, torch_device):
    """No launch is prepared, and values are right."""
    module, x = Normalised(device=torch_device), randn(4, 64).to(torch_device)
    rows = torch.export.Dim("rows", min=1, max=64)
    function = prepared(module, x, device, dynamic_shapes={"x": {0: rows}})
    assert launches(function)[0] == 0
    for count in (3, 4):
        assert right(function, module, randn(count, 64, seed=count).to(torch_device))


def test_explain(case):
    _, _, function = case
    text = function.explain()
    assert "once for all calls | memory that is kept" in text
    assert "for all calls, 256 B are kept" in text


def test_options_that_are_wrong():
    text = import_program(torch.exp, (torch.ones(4),)).text
    with pytest.raises(deplo.Error, match="option prepare_weights is not true or false"):
        compile_ir(text, Options(prepare_weights="yes"))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="option 'prepare_weights' of backend 'deplo' is 1"):
        torch.compile(torch.exp, backend=backend, options={"prepare_weights": 1})(torch.ones(4))


OPTIONS = {"fallback": False, "prepare_weights": True}


class TestBackend:
    @pytest.fixture(autouse=True)
    def inference(self, device):
        if device == "emu":
            pytest.skip("the backend runs on cuda and host")
        torch._dynamo.reset()
        with torch.no_grad():
            yield

    def test_weights_that_change(self, torch_device):
        module, x = Normalised(device=torch_device), randn(4, 64).to(torch_device)
        function = torch.compile(module, backend=backend, options=OPTIONS)
        for change in [lambda m: None, *CHANGES.values()]:
            change(module)
            for _ in range(2):
                assert right(function, module, x)

    def test_one_graph_for_several_modules(self, torch_device, monkeypatch):
        """Each has its own, prepared once."""
        calls = []
        prepare = Executable.prepare
        monkeypatch.setattr(
            Executable, "prepare", lambda *given: (calls.append(1), prepare(*given))[1]
        )
        modules = [Normalised(device=torch_device) for _ in range(3)]
        for i, module in enumerate(modules):
            module.weight.mul_(i + 1)
        x = randn(4, 64).to(torch_device)
        functions = [torch.compile(m, backend=backend, options=OPTIONS) for m in modules]
        for _ in range(3):
            for function, module in zip(functions, modules, strict=True):
                assert right(function, module, x)
        assert len(calls) == 3

    def test_inputs_are_no_weights(self, torch_device, monkeypatch):
        monkeypatch.setattr(Executable, "prepare", None)
        x = randn(4, 64).to(torch_device)

        def f(x, w):
            return F.softmax(torch.cumsum(w, -1), -1) * x

        function = torch.compile(f, backend=backend, options=OPTIONS)
        torch.testing.assert_close(function(x, x[0]), f(x, x[0]))


@pytest.mark.cuda
class TestCuda:
    def test_a_graph(self, device):
        """It holds what was prepared before, and sees what is prepared later."""
        module, x = Normalised(device="cuda"), randn(4, 64).cuda()
        function = prepared(module, x, device)
        function(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = function(x)
        graph.replay()
        assert right(lambda _: result, module, x)
        module.weight.mul_(-1)
        function(x)
        graph.replay()
        assert right(lambda _: result, module, x)

    def test_a_graph_that_comes_first(self, device):
        """What was not prepared is recorded, and always right."""
        module, x = Normalised(device="cuda"), randn(4, 64).cuda()
        function = prepared(module, x, device)
        function.prepare()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = function(x)
        for _ in range(2):
            graph.replay()
            assert right(lambda _: result, module, x)
            module.weight.mul_(-1)

    def test_streams(self, device):
        """What one stream prepares is complete for the other."""
        module, x = Normalised(1 << 20, device="cuda"), randn(4, 1 << 20).cuda()
        function = prepared(module, x, device)
        streams = [torch.cuda.Stream() for _ in range(2)]
        for _ in range(5):
            module.weight.mul_(-1)
            torch.cuda.synchronize()
            results = []
            for stream in streams:
                with torch.cuda.stream(stream):
                    results.append(function(x))
            torch.cuda.synchronize()
            assert all(torch.equal(result, function(x)) for result in results)
