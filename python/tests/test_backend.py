# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(f, backend="deplo")`: values against eager, what is left to PyTorch."""

import os
import subprocess
import sys
import threading
import tomllib
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import deplo
from deplo import DeploWarning
from deplo.backend import BackendOptions, backend
from deplo.backend.support import Support
from deplo.compilation import compile_ir

pytestmark = pytest.mark.usefixtures("compiler")

STRICT = {"fallback": False}


@pytest.fixture(autouse=True)
def fresh():
    """Graphs of one test don't count in another."""
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


def compiled(function, **options):
    return torch.compile(function, backend=backend, options=options or None)


def assert_same(got, wanted, tolerance=1e-5):
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)
    for a, b in zip(*map(torch.utils._pytree.tree_leaves, (got, wanted)), strict=True):
        if isinstance(a, torch.Tensor):
            assert a.stride() == b.stride()


def check(function, *inputs, tolerance=1e-5, **options):
    """Equal values, dtypes and strides, at the first call and at the second."""
    wanted = function(*inputs)
    run = compiled(function, **options)
    assert_same(run(*inputs), wanted, tolerance)
    assert_same(run(*inputs), wanted, tolerance)
    return run


# Functions that deplo compiles as a whole.
WHOLE = {
    "pointwise": lambda x: torch.exp(-x.abs()) * 3 + x,
    "rms_norm": lambda x: F.rms_norm(x, (x.shape[-1],)),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax of an inner axis": lambda x: torch.softmax(x, 0),
    "gelu and silu": lambda x: F.gelu(x) + F.silu(x),
    "sum": lambda x: x.sum(),
    "mean and variance": lambda x: torch.var_mean(x, dim=-1),
    "several results": lambda x: (x + 1, x * 2, (x * 2).sum(0)),
    "a tree of results": lambda x: {"a": x + 1, "b": [x.exp(), None, 3]},
    "slices and sums": lambda x: x[:, 1:5] * x[:, 2:6].exp(),
    "transposed inside": lambda x: (x.t() + x.t().sum(0)).contiguous(),
}


@pytest.mark.parametrize("name", WHOLE)
def test_functions_as_a_whole(name, torch_device):
    check(WHOLE[name], torch.randn(6, 40, device=torch_device), **STRICT)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_dtypes(dtype, torch_device):
    x = torch.randn(6, 40, device=torch_device).to(dtype)
    check(lambda x: torch.softmax(F.silu(x) * 2, -1), x, tolerance=2e-2, **STRICT)


class Block(nn.Module):
    """Norm, a gated MLP and a residual."""

    def __init__(self, size=32):
        super().__init__()
        self.norm = nn.RMSNorm(size)
        self.gate, self.up = nn.Linear(size, 48, bias=False), nn.Linear(size, 48, bias=False)
        self.down = nn.Linear(48, size)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Attention(nn.Module):
    """Softmax between two matrix products, and heads as views."""

    def __init__(self, size=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.norm(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5, -1)
        return x + self.out((scores @ v).transpose(1, 2).reshape(b, t, c))


class Sdpa(Attention):
    def forward(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.norm(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(b, t, c))


@pytest.mark.parametrize("contractions", [False, True])
@pytest.mark.parametrize("module", [Block, Attention, Sdpa])
@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_modules_with_matrix_products(module, contractions, torch_device):
    x = torch.randn(2, 5, 32, device=torch_device)
    check(module().eval().to(torch_device), x, contractions=contractions)


def test_products_are_compiled_where_asked_for():
    graph = make_fx(lambda x: torch.relu(x @ x), tracing_mode="fake")(torch.randn(4, 4)).graph

    def compiled_operators(**options):
        return [str(node.target) for node in Support(graph, BackendOptions(**options)).nodes]

    assert compiled_operators() == ["aten.relu.default"]
    assert compiled_operators(contractions=True) == ["aten.mm.default", "aten.relu.default"]
    assert compiled_operators(fallback=False) == ["aten.mm.default", "aten.relu.default"]


ATTENTION = {
    "causal": lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "mask": lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
    "mask of bools": lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > -1, scale=0.3),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_as_a_whole(name, torch_device):
    q, k, v = (torch.randn(2, 4, 5, 8, device=torch_device) for _ in range(3))
    check(ATTENTION[name], q, k, v, torch.randn(5, 5, device=torch_device), **STRICT)


def shared_heads(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2)


def test_heads_that_share_keys_read_them_where_they_lie(compilations, torch_device):
    q = torch.randn(2, 4, 5, 8, device=torch_device)
    k, v = (torch.randn(2, 2, 7, 8, device=torch_device) for _ in range(2))
    check(shared_heads, q, k, v, **STRICT)
    (program,) = compilations
    assert program.count("graph.contract") == 2
    assert "tensor<2x4x7x8xf32>" not in program


def test_attention_of_any_size(compilations, torch_device):
    run = torch.compile(shared_heads, backend=backend, dynamic=True, options=STRICT)
    for length in (5, 6, 9):
        q = torch.randn(2, 4, length, 8, device=torch_device)
        k, v = (torch.randn(2, 2, length, 8, device=torch_device) for _ in range(2))
        assert_same(run(q, k, v), shared_heads(q, k, v))


def test_attention_that_drops_is_left_to_pytorch(torch_device):
    def function(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5) * 2

    q, k, v = (torch.randn(1, 2, 5, 8, device=torch_device) for _ in range(3))
    with pytest.warns(DeploWarning, match="scaled_dot_product|dropout|bernoulli"):
        run = compiled(function)
        torch.manual_seed(1)
        got = run(q, k, v)
    torch.manual_seed(1)
    assert_same(got, function(q, k, v))


def test_attention_with_gradients_is_refused():
    q, k, v = (torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(3))
    with torch.enable_grad(), pytest.raises(Exception, match=r"computes no gradients.*no_grad"):
        compiled(F.scaled_dot_product_attention)(q, k, v)


@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_a_stack_of_modules(torch_device):
    stack = nn.Sequential(Block(), Attention(), Block(), nn.LayerNorm(32), nn.Softmax(-1))
    check(stack.eval().to(torch_device), torch.randn(2, 5, 32, device=torch_device))


# What is left to PyTorch.


def erfcx_twice_and_inverse(x):
    return torch.linalg.inv(x + torch.special.erfcx(torch.special.erfcx(x)).sum()).sum()


def test_one_warning_lists_what_is_left_with_counts(torch_device):
    x = torch.randn(8, 8, device=torch_device)
    with pytest.warns(DeploWarning) as caught:
        check(erfcx_twice_and_inverse, x, tolerance=1e-2)
    (text,) = [str(w.message) for w in caught if w.category is DeploWarning]
    assert "aten.special_erfcx.default (2)" in text and "aten.linalg_inv_ex.default (1)" in text
    assert "view" not in text and "getitem" not in text


def test_nothing_left_is_no_warning(torch_device):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeploWarning)
        check(lambda x: x.exp(), torch.randn(8, device=torch_device))


def test_without_fallback_operators_are_named(torch_device):
    run = compiled(lambda x: torch.special.erfcx(x).exp(), **STRICT)
    named = r"can't compile one thing.*aten\.special_erfcx\.default at "
    with pytest.raises(Exception, match=named):
        run(torch.randn(8, 8, device=torch_device))


def test_nothing_for_deplo_is_pytorch_alone(torch_device):
    with pytest.warns(DeploWarning):
        check(lambda x: torch.special.erfcx(x), torch.randn(8, 8, device=torch_device))


def test_what_the_compiler_refuses_is_left_to_pytorch(torch_device):
    with pytest.warns(DeploWarning, match="can't compile"):
        check(lambda x: x.exp(), torch.randn(8, device=torch_device), target="sm_1")


def test_gradients_are_refused_in_one_sentence():
    weight = nn.Parameter(torch.randn(8))
    run = compiled(lambda x: x * weight)
    with torch.enable_grad(), pytest.raises(Exception, match=r"computes no gradients.*no_grad"):
        run(torch.randn(8))


def test_a_graph_that_needs_no_gradients_runs_with_grad_mode_on():
    with torch.enable_grad():
        check(lambda x: x.exp(), torch.randn(8))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"fast": True}, "no option 'fast'; its options are fallback, target"),
        ({"fallback": 1}, "option 'fallback' of backend 'deplo' is 1; pass a bool"),
        ({"target": "sm_1"}, "sm_1"),
    ],
)
def test_options_are_checked(options, message):
    run = torch.compile(torch.exp, backend=backend, options={"fallback": False, **options})
    with pytest.raises(Exception, match=message):
        run(torch.randn(8))


def test_modes_are_refused():
    with pytest.raises(Exception, match="no mode 'max-autotune'"):
        torch.compile(torch.exp, backend=backend, mode="max-autotune")(torch.randn(8))


# Inputs in every form.


def strided_inputs(device):
    base = torch.randn(24, 40, device=device)
    yield "transposed", base.t()
    yield "a step of two", base[::2, ::2]
    yield "an offset", base.flatten()[3:43].view(5, 8)
    yield "expanded", torch.randn(1, 16, device=device).expand(12, 16)
    yield "expanded wholly", torch.randn((), device=device).expand(4, 4)
    yield (
        "channels last",
        torch.randn(2, 3, 4, 5, device=device).to(memory_format=torch.channels_last),
    )
    yield "no rank", torch.randn((), device=device)
    yield "one element", torch.randn(1, 1, device=device)
    yield "no elements", torch.randn(0, 7, device=device)
    yield "no rows", torch.randn(7, 0, device=device)


@pytest.mark.parametrize("name", [name for name, _ in strided_inputs("cpu")])
@pytest.mark.parametrize(
    "function",
    [lambda x: x.exp() + 1, lambda x: (x * 2).sum(), lambda x: (x + x.mean(-1, keepdim=True)) * 3],
    ids=["pointwise", "sum", "centred"],
)
def test_inputs_of_every_layout(name, function, torch_device):
    x = dict(strided_inputs(torch_device))[name]
    torch.testing.assert_close(compiled(function)(x), function(x), equal_nan=True)
    assert compiled(function)(x).stride() == function(x).stride() or x.numel() < 2


def test_alignment_may_change_from_call_to_call(torch_device):
    run = compiled(lambda x: x.exp())
    base = torch.randn(100, device=torch_device)
    for offset in (0, 1, 2, 4, 0):
        x = base[offset : offset + 64]
        assert_same(run(x), x.exp())


def test_python_numbers(torch_device):
    run = compiled(lambda x, a, b: x * a + b)
    x = torch.randn(8, device=torch_device)
    for a, b in ((2, 0.5), (3, 0.5), (3, 1.5), (True, -2.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeploWarning)
            assert_same(run(x, a, b), x * a + b)


@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_scalar_tensors_of_the_cpu(torch_device):
    x, s = torch.randn(8, device=torch_device), torch.tensor(2.5)
    check(lambda x, s: x * s + 1, x, s)
    check(lambda x: x * torch.tensor(2.5) + 1, x)


def test_unused_and_repeated_inputs(torch_device):
    x, y = torch.randn(8, device=torch_device), torch.randn(8, device=torch_device)
    check(lambda x, y: x.exp(), x, y)
    check(lambda x, y: x.exp() + y, x, x)


# Outputs and mutation.


def test_views_of_inputs_are_views(torch_device):
    def function(x):
        return x.t(), x[1:], x.exp()

    x = torch.randn(6, 8, device=torch_device)
    transposed, rest, _ = check(function, x)(x)
    assert transposed.data_ptr() == x.data_ptr() and rest.data_ptr() == x[1:].data_ptr()


def test_an_input_returned_is_the_input(torch_device):
    x = torch.randn(8, device=torch_device)
    same, _ = compiled(lambda x: (x, x + 1))(x)
    assert same is x


def test_copies_are_copies(torch_device):
    x = torch.randn(8, device=torch_device)
    a, b, c = compiled(lambda x: (x.clone(), (x + 1), (x + 1).clone()))(x)
    pointers = {t.data_ptr() for t in (x, a, b, c)}
    assert len(pointers) == 4
    assert_same((a, b, c), (x, x + 1, x + 1))


def test_views_of_results_share_memory(torch_device):
    def function(x):
        y = x.exp()
        return y, y.t(), y[0]

    y, transposed, row = check(function, torch.randn(6, 8, device=torch_device))(
        torch.randn(6, 8, device=torch_device)
    )
    assert transposed.data_ptr() == row.data_ptr() == y.data_ptr()


def test_inputs_changed_in_place(torch_device):
    def function(x, y):
        x.mul_(2).add_(y)
        y[1:3] = 0.5
        return x.exp()

    def run(call):
        torch.manual_seed(1)
        x, y = (torch.randn(5, 8).to(torch_device) for _ in range(2))
        return call(x, y), x, y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeploWarning)
        assert_same(run(compiled(function)), run(function))


def test_buffers_changed_in_place(torch_device):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x):
            self.total += x
            return self.total * 2

    eager, module = Counter().to(torch_device), Counter().to(torch_device)
    run = compiled(module)
    for _ in range(3):
        x = torch.randn(4, device=torch_device)
        assert_same(run(x), eager(x))
    assert_same(module.total, eager.total)


def test_parameters_are_bound_by_reference(torch_device):
    module = nn.RMSNorm(32).to(torch_device)
    run, x = compiled(module), torch.randn(4, 32, device=torch_device)
    assert_same(run(x), module(x))
    module.weight.mul_(3)
    assert_same(run(x), module(x))
    module.weight = nn.Parameter(torch.randn(32, device=torch_device))
    assert_same(run(x), module(x))


def test_strides_are_those_of_eager_where_pytorch_goes_on(torch_device):
    """A view that PyTorch makes of a kernel's result needs the strides it foresaw."""

    def function(x, w):
        y = x.permute(0, 2, 1).exp()
        return torch.matmul(w, y.permute(0, 2, 1).reshape(-1, 8).t()), y

    x, w = torch.randn(3, 4, 8, device=torch_device), torch.randn(5, 8, device=torch_device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeploWarning)
        check(function, x, w)


# Modes, threads.


def test_modes(torch_device):
    x = torch.randn(4, 8, device=torch_device)
    run = compiled(lambda x: x.exp().sum(-1))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            result = run(x)
            assert_same(result, x.exp().sum(-1))
            assert result.is_inference() == (mode is torch.inference_mode)


def test_threads(torch_device):
    run = compiled(lambda x, y: torch.softmax(x * y, -1))
    failures = []

    def work(seed):
        with torch.no_grad():
            generator = torch.Generator().manual_seed(seed)
            x, y = (torch.randn(16, 64, generator=generator).to(torch_device) for _ in range(2))
            for _ in range(50):
                if not torch.allclose(run(x, y), torch.softmax(x * y, -1), atol=1e-6):
                    failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Dynamic shapes.


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_sizes_that_change(dynamic, torch_device):
    def function(x, w):
        return torch.softmax(x * 2, -1).sum(0) @ w, x[: x.shape[0] // 2].exp(), x.shape[0]

    run = torch.compile(function, backend=backend, dynamic=dynamic)
    for rows in (3, 5, 8, 5, 13, 1):
        x, w = torch.randn(rows, 16, device=torch_device), torch.randn(16, 4, device=torch_device)
        assert_same(run(x, w), function(x, w))


@pytest.mark.filterwarnings("error::deplo.DeploWarning")
def test_sizes_beyond_the_bound_are_run_by_pytorch(torch_device):
    def function(x):
        return x[: x.shape[0] // 2].exp() + 1  # no product of sizes

    run = torch.compile(function, backend=backend, dynamic=True, options={"max_sizes": 2})
    sizes = [torch.randn(n, device=torch_device) for n in (4, 6, 8, 10, 4)]
    for x in sizes[:2]:
        assert_same(run(x), function(x))
    with pytest.warns(DeploWarning, match="for 2 combinations of sizes"):
        for x in sizes[2:]:
            assert_same(run(x), function(x))


@pytest.mark.filterwarnings("error::deplo.DeploWarning")
def test_ranges_beyond_the_bound_are_run_by_pytorch(torch_device):
    run = torch.compile(
        lambda x: torch.softmax(x, -1), backend=backend, dynamic=True, options={"max_sizes": 1}
    )
    short, long = torch.randn(2, 30, device=torch_device), torch.randn(2, 6000, device=torch_device)
    assert_same(run(short), torch.softmax(short, -1))
    with pytest.warns(DeploWarning, match="for 1 ranges of sizes"):
        assert_same(run(long), torch.softmax(long, -1))
    assert_same(run(short), torch.softmax(short, -1))


@pytest.fixture
def compilations(monkeypatch):
    """The programs that were compiled."""
    programs = []

    def recorded(text, options):
        programs.append(text)
        return compile_ir(text, options)

    monkeypatch.setattr(deplo.backend.graph, "compile_ir", recorded)
    return programs


def normalised(x, w):
    """Sizes that are parallel, reduced and flattened."""
    rows = x.reshape(-1, x.shape[-1])
    return F.softmax(rows, -1).view(x.shape) * w + x.mean(), x.sum(0), F.rms_norm(x, w.shape, w)


@pytest.mark.filterwarnings("error::deplo.DeploWarning")
def test_one_compilation_serves_all_sizes(compilations, torch_device):
    run = torch.compile(normalised, backend=backend, dynamic=True, options=STRICT)
    for shape in ((3, 4, 8), (5, 4, 8), (5, 7, 9), (2, 3, 1000), (9, 9, 9)):
        x, w = torch.randn(shape, device=torch_device), torch.randn(shape[-1], device=torch_device)
        assert_same(run(x, w), normalised(x, w))
        assert len(compilations) == 1
    # Rows beyond the range that the first call suggested take another.
    for length, count in ((6000, 2), (7000, 2), (50, 2)):
        x, w = torch.randn(2, 2, length, device=torch_device), torch.randn(length).to(torch_device)
        assert_same(run(x, w), normalised(x, w))
        assert len(compilations) == count


def test_a_second_shape_makes_sizes_dynamic(compilations, torch_device):
    def function(x):
        return F.silu(x) * x.sum(-1, keepdim=True)

    run = torch.compile(function, backend=backend, options=STRICT)
    for rows, count in ((3, 1), (5, 2), (8, 2), (100, 2), (5000, 2)):
        x = torch.randn(rows, 16, device=torch_device)
        assert_same(run(x), function(x))
        assert len(compilations) == count


def test_declared_ranges_are_taken(compilations, torch_device):
    def function(x):
        return torch.softmax(x, -1)

    run = torch.compile(function, backend=backend, options=STRICT)
    x = torch.randn(4, 10, device=torch_device)
    torch._dynamo.mark_dynamic(x, 1, min=2, max=20000)
    assert_same(run(x), function(x))
    assert "array<i64: 1048583, 2, 20000>" in compilations[0]
    for length in (3, 500, 20000):
        x = torch.randn(4, length, device=torch_device)
        assert_same(run(x), function(x))
    assert len(compilations) == 1


def test_sizes_around_what_is_left_to_pytorch(compilations, torch_device):
    """The parts before and after an unsupported function, and a size that is a result."""

    def function(x, w):
        return torch.softmax(torch.special.erfcx(x.exp()) + w, -1) + 1, x.shape[0] * 2

    run = torch.compile(function, backend=backend, dynamic=True)
    with pytest.warns(DeploWarning, match="erfcx"):
        x, w = torch.rand(3, 4, device=torch_device), torch.rand(4, device=torch_device)
        assert_same(run(x, w), function(x, w))
    count = len(compilations)
    for rows, columns in ((5, 4), (7, 9)):
        x = torch.rand(rows, columns, device=torch_device)
        w = torch.rand(columns, device=torch_device)
        assert_same(run(x, w), function(x, w), 1e-4)
    assert len(compilations) == count


def test_layouts_of_dynamic_inputs(compilations, torch_device):
    """Strides are products of sizes; a transposed input, an unaligned one."""

    def function(x, y):
        return x.t() + y, x.t().sum(-1)

    run = torch.compile(function, backend=backend, dynamic=True, options=STRICT)
    for m, n in ((3, 4), (8, 16), (33, 5)):
        x, y = torch.randn(m, n, device=torch_device), torch.randn(n, m, device=torch_device)
        assert_same(run(x, y), function(x, y))
        z = torch.randn(m * n + 1, device=torch_device)[1:].view(n, m)
        assert_same(run(x, z), function(x, z))
    assert len(compilations) == 2  # of aligned and of unaligned inputs


def test_more_sizes_than_a_program_may_have(torch_device):
    run = torch.compile(lambda x: x.exp() + 1, backend=backend, dynamic=True, options=STRICT)
    for shape in ((2, 3, 4, 5), (3, 4, 5, 6)):
        x = torch.randn(shape, device=torch_device)
        assert_same(run(x), x.exp() + 1)


# Installation and cache.


def test_installed_it_is_known_by_name(tmp_path):
    """The entry point of the installed distribution, in a process of its own."""
    source = Path(deplo.__file__).parents[1]
    distribution = tmp_path / "deplo-0.dist-info"
    distribution.mkdir()
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["torch_dynamo_backends"]
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: deplo\nVersion: 0\n")
    (distribution / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\n" + "".join(f"{k} = {v}\n" for k, v in points.items())
    )
    program = (
        "import torch; torch.manual_seed(0); x = torch.randn(4, 8)\n"
        "f = torch.compile(lambda x: x.exp() + 1, backend='deplo')\n"
        "with torch.no_grad(): print(torch.equal(f(x), f(x)), 'deplo.backend' in "
        "__import__('sys').modules, (f(x) - x.exp() - 1).abs().max().item() < 1e-5)\n"
    )
    path = os.pathsep.join((str(tmp_path), str(source)))
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert result.stdout == "True True True\n", result.stderr


@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_equal_layers_are_compiled_once(tmp_path, monkeypatch, torch_device):
    monkeypatch.delenv("DEPLO_CACHE")
    monkeypatch.setenv("DEPLO_CACHE_DIR", str(tmp_path))

    def function(x, w):
        for _ in range(6):
            x = F.silu(x @ w) * 2
        return x

    x, w = (torch.randn(8, 8, device=torch_device) for _ in range(2))
    assert_same(compiled(function)(x, w), function(x, w))
    assert len(list(tmp_path.glob("llvmcache-*"))) == 1


def test_memory_by_strides_is_that_of_the_tensor(torch_device):
    """as_strided counts from the start of the storage, wherever its tensor begins."""

    def function(x):
        return torch.as_strided(x, (3, 4), (1, 2), 1).exp() + torch.as_strided(
            x * 2, (3, 4), (4, 1)
        )

    check(function, torch.randn(20, 7, device=torch_device)[3:, ::2])


@pytest.mark.filterwarnings("ignore::deplo.DeploWarning")
def test_random_numbers_are_those_of_pytorch(torch_device):
    def function(x):
        return F.dropout(x * 2, 0.5, training=True) + torch.rand_like(x)

    run, x = compiled(function), torch.randn(64, device=torch_device)
    assert not torch.equal(run(x), run(x))
    torch.manual_seed(3)
    got = run(x)
    torch.manual_seed(3)
    assert_same(got, function(x))


class Projected(nn.Module):
    """A product of each row with weights, some of which "f32-fast" may not suit."""

    def __init__(self, least):
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(64, 64, bias=False)])
        self.inner[0].weight[3, :2] = torch.tensor([1.0, least])

    def forward(self, x):
        return F.relu(self.inner[0](x))


@pytest.fixture
def fast(monkeypatch):
    """Programs as they are for a GPU of f32-fast, whose pieces the host has none of."""

    def compile_for_gpu(text, options):
        result = compile_ir(text, options)
        gpu = replace(options, device="emu", target="sm_90a", schedule="atom=wgmma")
        result.report["scaled_rows"] = compile_ir(text, gpu).report["scaled_rows"]
        return result

    monkeypatch.setattr(deplo.backend.graph, "compile_ir", compile_for_gpu)
    return {"precision": "f32-fast", "contractions": True}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("fallback", [False, True])
def test_weights_that_lose_bits_are_an_error_that_names_them(fast, fallback, dynamic):
    """What PyTorch would compute is not what was asked for."""
    x, options = torch.randn(16, 64), fast | {"fallback": fallback}
    fine = Projected(2.0**-20)
    run = torch.compile(fine, backend=backend, options=options, dynamic=dynamic)
    assert_same(run(x), fine(x))
    run = torch.compile(Projected(2.0**-30), backend=backend, options=options, dynamic=dynamic)
    with pytest.raises(
        Exception, match=r"'self.inner.0.weight', which .* 2\*\*-30 times"
    ) as raised:
        run(x)
    assert "compile with precision f32" in str(raised.value)


def test_inputs_of_calls_are_not_checked(fast):
    x, w = torch.randn(16, 64), torch.randn(64, 64)
    w[0, 0] = 2.0**-60
    run = torch.compile(F.linear, backend=backend, options=fast)
    assert_same(run(x, w), F.linear(x, w))
