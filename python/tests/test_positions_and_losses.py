# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of integers and bools, positions, norms, statistics of groups,
losses, dropout, and inputs that are changed in place."""

import math

import pytest
import torch
import torch.nn.functional as F
from numeric import DTYPE_IDS, DTYPES, check, compile_for_gpu, randn, run, sum_units
from torch import nn

import deplo

INF, NAN = math.inf, math.nan
by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPE_IDS)
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def equal(got, want):
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, i
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_reductions(dtype, device):
    x = (randn(5, 33, 7) * 40).to(torch.int64).to(dtype)

    def function(x):
        results = [x.sum(), x.sum(1), x.sum((0, 2)), x[:, :5].prod(1), x.any(), x.all(1)]
        results += [x.any(2, keepdim=True), x.amax(1), x.amin((0, 2)), x.sum(0, dtype=torch.int32)]
        results += [torch.count_nonzero(x), torch.count_nonzero(x, 1)]
        if dtype != torch.bool:
            results += [x.max(1)[0], x.max(1)[1], x.min(0)[1], x.argmax(2), x.argmin(), x.max()]
        return results

    equal(run(function, (x,), device), function(x))
    compile_for_gpu(function, (x,), device)


@by_dtype
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (3, 4097), (200, 3)], ids=str)
def test_positions(shape, dtype, device):
    x = (randn(*shape) * 3).round().to(dtype)  # with ties
    x[0, 0] = NAN if shape[1] > 1 else 0

    def function(x):
        return [
            x.argmax(1), x.argmin(1), x.argmax(0, keepdim=True), x.argmin(), x.max(1)[1],
            *x.min(0), torch.aminmax(x, dim=1)[0], *x.max(1, keepdim=True),
        ]  # fmt: skip

    equal(run(function, (x,), device), function(x))
    compile_for_gpu(function, (x,), device)


@pytest.mark.parametrize(
    "values,highest,lowest",
    [
        ((NAN, 4.6), 0, 0),
        ((INF, NAN), 1, 1),
        ((NAN, INF), 0, 0),
        ((1.0, 3.0, 3.0, 2.0), 1, 0),
        ((2.0, 0.0, 0.0), 0, 1),
        ((-INF, -INF), 0, 0),
        ((-3.0, -1.5, -2.0, -8.0, -1.5), 1, 3),
    ],
)
def test_first_of_equal_and_first_nan(values, highest, lowest, device):
    """Edge cases 16 and 17."""
    got = run(lambda x: (x.argmax(), x.argmin(-1)), (torch.tensor(values),), device)
    assert [g.item() for g in got] == [highest, lowest]


def test_position_in_long_rows(device):
    x = randn(3, 100_003)
    x[1, 77_777] = 50.0
    (got,) = run(lambda x: x.argmax(-1), (x,), device)
    assert torch.equal(got, x.argmax(-1))


def test_value_and_position_are_one_kernel(device):
    x = randn(64, 1000)
    assert len(deplo.compile(lambda x: x.max(-1), (x,), device=device).report["kernels"]) == 1


@by_dtype
def test_norms(dtype, device):
    x = randn(9, 65, dtype=dtype)
    x[2] = 0
    orders = [0, 1, 2, 3.5, INF, -INF]

    def function(x):
        results = [torch.linalg.vector_norm(x, p, 1) for p in orders]
        return [*results, x.norm(), F.normalize(x.float(), dim=1), torch.logsumexp(x, 1)]

    for name, got, want in zip(
        [*orders, "norm", "normalize", "logsumexp"],
        run(function, (x,), device),
        function(x.double()),
        strict=True,
    ):
        scale = want.abs() + (1 if name == "logsumexp" else 0)
        check(got, want.double(), 40, scale=scale, what=str(name))


@by_dtype
def test_group_and_instance_and_batch_norm(dtype, device):
    x = randn(2, 6, 5, 7, dtype=dtype) * 2 + 3
    torch.manual_seed(0)
    modules = [nn.GroupNorm(3, 6), nn.InstanceNorm2d(6, affine=True), nn.BatchNorm2d(6).eval()]
    with torch.no_grad():
        for module in modules:
            module.weight.uniform_(0.5, 2)
            module.bias.uniform_(-1, 1)
        modules[2].running_mean.uniform_(-1, 4)
        modules[2].running_var.uniform_(0.5, 3)
    for module in modules:
        module.to(dtype)
        (got,) = run(module.to("cuda" if device == "cuda" else "cpu"), (x,), device)
        module.to("cpu")
        want = module.double()(x.double())
        check(got, want.detach(), 60, scale=want.detach().abs() + 4, what=type(module).__name__)


def test_batch_norm_in_training_moves_its_statistics():
    x = randn(4, 3, 5) * 2 + 1
    module, twin = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    compiled = deplo.compile(module, (x,), device="host")
    for _ in range(2):
        torch.testing.assert_close(compiled(x), twin(x).detach(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(module.running_mean, twin.running_mean)
        torch.testing.assert_close(module.running_var, twin.running_var)
        assert module.num_batches_tracked == twin.num_batches_tracked


LOSSES = {
    "l1": F.l1_loss,
    "mse": F.mse_loss,
    "huber": F.huber_loss,
    "smooth_l1": F.smooth_l1_loss,
    "soft_margin": lambda x, y: F.soft_margin_loss(x, torch.sign(y)),
    "kl_div": lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"),
    "hinge": lambda x, y: F.hinge_embedding_loss(x, torch.sign(y)),
    "margin": lambda x, y: F.margin_ranking_loss(x, y, torch.sign(x * y)),
    "triplet": lambda x, y: F.triplet_margin_loss(x, y, x - y),
    "bce": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "bce_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "cross_entropy_soft": lambda x, y: F.cross_entropy(x, y.softmax(1)),
    "cosine": lambda x, y: F.cosine_similarity(x, y).mean(),
    "poisson": F.poisson_nll_loss,
}


def test_losses(device):
    x, y = randn(16, 33), randn(16, 33, seed=1)

    def function(x, y):
        return [loss(x, y) for loss in LOSSES.values()]

    got = run(function, (x, y), device)
    for name, a, b in zip(LOSSES, got, function(x.double(), y.double()), strict=True):
        check(a, b, 60, scale=b.abs() + 1, what=name)
    compile_for_gpu(function, (x, y), device)


@by_dtype
@pytest.mark.parametrize("classes", [5, 1000])
def test_cross_entropy(classes, dtype, device):
    x = randn(17, classes, dtype=dtype)
    labels = torch.arange(17) * 7 % classes
    labels[3] = -100  # ignored
    weight = torch.rand(classes, generator=torch.Generator().manual_seed(2)).to(dtype)

    def function(x, labels, weight):
        return [
            F.cross_entropy(x, labels),
            F.cross_entropy(x, labels, reduction="sum"),
            F.nll_loss(F.log_softmax(x.float(), 1), labels, reduction="none"),
            F.cross_entropy(x, labels, weight=weight),
            F.cross_entropy(x, labels.clamp(min=0), ignore_index=0),
        ]

    got = run(function, (x, labels, weight), device)
    x64 = x.double()
    want = [
        F.cross_entropy(x64, labels),
        F.cross_entropy(x64, labels, reduction="sum"),
        F.nll_loss(F.log_softmax(x64, 1), labels, reduction="none"),
        F.cross_entropy(x64, labels, weight=weight.double()),
        F.cross_entropy(x64, labels.clamp(min=0), ignore_index=0),
    ]
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        # log_softmax is rounded to the dtype first, as in PyTorch.
        rounded = 0 if dtype == torch.float32 or i == 2 else 17 * 2**13 * (8 if i == 1 else 1)
        check(a, b, sum_units(classes) + 20 + rounded, scale=b.abs() + 1, what=f"{i}")


def test_cross_entropy_is_one_read_of_the_logits(device):
    x, labels = randn(64, 512), torch.arange(64)
    compiled = deplo.compile(
        lambda x, y: F.cross_entropy(x, y, reduction="none"), (x, labels), device=device
    )
    (kernel,) = compiled.report["kernels"]
    assert kernel["bytes_read"] <= x.numel() * 4 + labels.numel() * 8


def test_dropout(device):
    x = randn(64, 257)

    def function(x):
        return F.dropout(x, 0.25), F.dropout(x, 0.25), F.dropout(x, 1.0), F.dropout(x, 0.0)

    first, second, nothing, everything = run(function, (x,), device)
    kept = first != 0
    assert torch.equal(first[kept], (x * torch.tensor(1 / 0.75))[kept])
    assert abs(kept.double().mean().item() - 0.75) < 0.01
    assert not torch.equal(kept, second != 0), "each call has its own numbers"
    assert not nothing.any() and torch.equal(everything, x)
    again = run(function, (x,), device)
    assert torch.equal(first, again[0]), "the same seed gives the same mask"
    other = run(function, (x,), device, seed=1)
    assert not torch.equal(first, other[0])


def test_uniform_numbers(device):
    (got,) = run(lambda x: torch.rand_like(x), (randn(100, 1000),), device)
    assert 0 <= got.min() and got.max() < 1
    assert abs(got.double().mean() - 0.5) < 0.005 and abs(got.double().var() - 1 / 12) < 0.002
    assert len(got.unique()) > 99_000


def test_inputs_changed_in_place():
    def function(x, y):
        x.add_(1).mul_(2)
        y[:, 1:3] = x[:, :2]
        return x, y.sum()

    x, y = randn(4, 5), randn(4, 5, seed=1)
    x2, y2 = x.clone(), y.clone()
    compiled = deplo.compile(function, (x, y), device="host")
    got = compiled(x, y)
    want = function(x2, y2)
    assert got[0] is x and torch.equal(x, x2) and torch.equal(y, y2)
    torch.testing.assert_close(got[1], want[1])


def test_old_values_are_read_before_they_are_changed():
    """Edge cases 73 and 74."""

    def function(dst, src):
        dst[:] = src[:]
        src += 1
        y = dst.view(-1) * 2
        dst[2:5] = 2
        return y

    a, b = randn(8), randn(8, seed=1)
    a2, b2 = a.clone(), b.clone()
    got, want = deplo.compile(function, (a, b), device="host")(a, b), function(a2, b2)
    assert torch.equal(got, want) and torch.equal(a, a2) and torch.equal(b, b2)


@pytest.mark.parametrize("function", [lambda x: x.max(), lambda x: x.argmax(), lambda x: x.amax(0)])
def test_extremes_of_nothing_are_refused(function):
    """Edge case 62."""
    with pytest.raises(deplo.Error):
        deplo.compile(function, (torch.zeros(0, dtype=torch.int64),), device="host")


def test_reductions_of_nothing(device):
    x = torch.zeros(3, 0, dtype=torch.int64)

    def function(x):
        return x.sum(1), x.prod(1), x.any(1), x.all(1), x.sum()

    equal(run(function, (x,), device), function(x))


def test_product_is_compared_after_rounding(device):
    """Edge case 22."""
    x = randn(512, dtype=torch.bfloat16)
    (got,) = run(lambda x: (x * 1.001) == x, (x,), device)
    assert torch.equal(got, x * 1.001 == x) and got.float().mean() > 0.7


def test_no_overflow_before_the_end(device):
    """Edge cases 34 and 35."""
    x = torch.tensor([89.0, -89.0])
    got = run(lambda x: (torch.sinh(x), torch.cosh(x)), (x,), device)
    assert got[0].tolist() == pytest.approx([2.2448e38, -2.2448e38], rel=1e-4)
    assert got[1].tolist() == pytest.approx([2.2448e38] * 2, rel=1e-4)
    tiny = torch.tensor([-1e-38])
    (got,) = run(lambda x: F.elu(x, 0.52) / 0.0, (tiny,), device)
    assert got.item() == -INF


def test_many_steps_of_shared_values_compile_in_linear_time(device):
    """Edge case 83."""

    def function(a, b):
        for _ in range(14):
            a, b = a + b, a * b
        return a, b

    x, y = randn(8) / 4, randn(8, seed=1) / 4
    program = deplo.compile(function, (x, y), device=device).program
    assert program.text.count("graph.add") == 14 and program.text.count("graph.mul") == 14
