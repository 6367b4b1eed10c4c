# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f32 by wgmma of two pieces of f16, of rows with scales, on the emulator."""

import pytest
import torch
import torch.nn.functional as F
from numeric import (
    F32,
    compile_for_gpu,
    get_kernels,
    product_of_form,
    randn,
    relative_error,
    run,
    wanted,
    wide,
)

import deplo

PINS = "atom=wgmma,split_k=1"


def compute(function, inputs, schedule="block=64x64,stages=2"):
    return run(
        function,
        inputs,
        "emu",
        target="sm_90a",
        precision="f32-fast",
        schedule=f"{PINS},{schedule}",
    )


@pytest.mark.parametrize(
    ("form", "m", "n", "k", "schedule"),
    [
        ("NT", 64, 64, 96, "block=64x64,stages=2"),
        ("NT", 64, 64, 96, "block=64x64,stages=2,chunk=64"),
        # Rows of no tensor map of f32, and of none of f16 without a pad.
        ("NT", 70, 45, 50, "block=64x64,stages=3"),
        ("NN", 70, 45, 50, "block=64x64,stages=3"),
        ("TN", 70, 45, 50, "block=64x64,stages=2"),
        ("TT", 70, 45, 50, "block=64x64,stages=2"),
        # Two warpgroups along the rows, of split rows of pieces.
        ("NN", 130, 136, 72, "block=128x128,stages=2"),
        ("TN", 130, 136, 72, "block=128x128,stages=2"),
        # Two along the columns, and two instructions of each.
        ("NT", 64, 136, 40, "block=64x128,warp_tile=16x64,stages=2"),
        ("NT", 65, 33, 33, "block=64x32,stages=2,warp_specialize=never"),
        ("NN", 65, 33, 33, "block=64x32,stages=2,tma_copy=never"),
    ],
)
def test_as_exact_as_f32(form, m, n, k, schedule):
    product, inputs = product_of_form(form, m, n, k)
    kernels = get_kernels(product, inputs, precision="f32-fast", schedule=f"{PINS},{schedule}")
    assert any("precision = f32_fast" in kernel["schedule"] for kernel in kernels)
    (got,) = compute(product, inputs, schedule)
    assert relative_error(got, product(*(x.double() for x in inputs))) <= 4 * F32


def scaled_rows(*shape, spread, seed):
    return randn(*shape, seed=seed) * wide(shape[0], 1, spread=spread, seed=seed + 7)


DATA = {
    "positive": lambda: (randn(64, 256).abs(), randn(64, 256, seed=1).abs()),
    "elements of all magnitudes": lambda: (
        wide(64, 256, spread=30, seed=0),
        wide(64, 256, spread=30, seed=1),
    ),
    "rows of all magnitudes": lambda: (
        scaled_rows(64, 256, spread=40, seed=0),
        scaled_rows(64, 256, spread=40, seed=1),
    ),
    # What is small in one factor is large in the other.
    "columns that meet": lambda: (
        randn(64, 256) * depth(),
        randn(64, 256, seed=1) / depth(),
    ),
    "near the least normal number": lambda: (randn(64, 256) * 2.0**-120, randn(64, 256, seed=1)),
    "subnormal": lambda: (randn(64, 256) * 2.0**-130, randn(64, 256, seed=1) * 2.0**60),
    "large": lambda: (randn(64, 256) * 2.0**100, randn(64, 256, seed=1)),
    "of opposite magnitudes": lambda: (
        randn(64, 256) * 2.0**120,
        randn(64, 256, seed=1) * 2.0**-120,
    ),
}


def depth():
    """Powers of two from 2**-10 to 2**10."""
    return torch.ldexp(torch.ones(1, 256), (torch.arange(256) % 21 - 10).reshape(1, 256))


@pytest.mark.parametrize("is_nn", [False, True], ids=["NT", "NN"])
@pytest.mark.parametrize("name", DATA)
def test_data_of_all_kinds(name, is_nn):
    x, w = DATA[name]()
    inputs = (x, w.t().contiguous()) if is_nn else (x, w)
    (got,) = compute(torch.matmul if is_nn else F.linear, inputs)
    assert relative_error(got, x.double() @ w.double().t()) <= 4 * F32


def test_elements_keep_22_bits_down_to_2_to_the_minus_27():
    """Each alone, beside the largest of its row."""
    x = torch.zeros(64, 64)
    x[:, 0] = 1.0
    x[:, 1] = torch.ldexp(1 + torch.rand(64), -torch.arange(64) % 28)
    w = torch.zeros(32, 64)
    w[:, 1] = 1.0
    (got,) = compute(F.linear, (x, w), "block=64x32,stages=2")
    error = (got.double() - x[:, 1:2].double()).abs() / x[:, 1:2]
    assert error.max() <= 2.0**-22


def test_rows_of_small_numbers_lose_nothing():
    """Those of the least numbers: 22 bits are all that they have."""
    x = torch.ldexp(torch.arange(1, 64 * 32 + 1).reshape(64, 32).float(), torch.tensor(-149))
    y = torch.eye(32) * 2.0**100
    (got,) = compute(torch.matmul, (x, y), "block=64x32,stages=2")
    assert torch.equal(got.double(), x.double() @ y.double())


def test_special_values():
    largest = torch.finfo(torch.float32).max
    x, w = randn(64, 40), randn(32, 40, seed=1)
    x[1, 3], x[2, 4], w[5, 6] = torch.inf, torch.nan, -torch.inf
    x[3, 0], w[5, 0] = torch.inf, 0.0
    x[4] = 0.0
    x[4, 0] = largest
    x[6], x[7] = 0.0, -0.0
    (got,) = compute(F.linear, (x, w), "block=64x32,stages=2")
    want = x.double() @ w.double().t()
    assert torch.equal(got.double().isnan(), want.isnan())
    overflows = want.abs() > largest
    assert torch.equal(got[overflows].double(), want[overflows].sign() * torch.inf)
    fine = want.isfinite() & ~overflows
    assert (got.double() - want)[fine].abs().max() <= 64 * F32 * want[fine].abs().max()


def test_sums_that_are_subnormal_round_once():
    x, w = randn(64, 64) * 2.0**-70, randn(32, 64, seed=1) * 2.0**-70
    (got,) = compute(F.linear, (x, w), "block=64x32,stages=2")
    want = x.double() @ w.double().t()
    assert (got.double() - want).abs().max() <= 2.0**-150 + 8 * F32 * want.abs().max()


def test_long_sums():
    x, w = randn(64, 8192).abs(), randn(32, 8192, seed=1).abs()
    (got,) = compute(F.linear, (x, w), "block=64x32,stages=4")
    assert relative_error(got, x.double() @ w.double().t()) <= 8 * F32


def test_batches_and_epilogues():
    x, w, r = randn(2, 70, 40), randn(2, 40, 48, seed=1), randn(48, seed=2)
    (got,) = compute(lambda x, w, r: F.relu(x @ w + r), (x, w, r), "stages=2")
    want = F.relu(x.double() @ w.double() + r.double())
    assert relative_error(got, want) <= 4 * F32


def test_two_products_of_one_operand():
    x, g, u = randn(70, 64), randn(64, 40, seed=1), randn(64, 40, seed=2)

    def function(x, g, u):
        return F.silu(x @ g) * (x @ u)

    (got,) = compute(function, (x, g, u), "stages=2")
    want = function(x.double(), g.double(), u.double())
    assert relative_error(got, want) <= 8 * F32


def test_an_operand_by_itself():
    """Along its rows twice, and along its rows and columns, which have no one scale."""
    x = randn(64, 64)
    for function in (lambda x: x @ x.t(), lambda x: x @ x):
        (got,) = compute(function, (x,), "block=64x64,stages=2")
        want = function(x.double())
        assert relative_error(got, want) <= 4 * F32


def test_parts_of_long_sums():
    x, w = randn(70, 520), randn(48, 520, seed=1)
    (got,) = run(
        F.linear,
        (x, w),
        "emu",
        target="sm_90a",
        precision="f32-fast",
        schedule="atom=wgmma,split_k=2,stages=2",
    )
    assert relative_error(got, x.double() @ w.double().t()) <= 4 * F32


def test_pieces_serve_all_that_read_them():
    x, v, w = torch.empty(2048, 2048), torch.empty(2048, 2048), torch.empty(2048, 1024)
    kernels = get_kernels(
        lambda x, v, w: (x @ v, x @ w), (x, v, w), precision="f32-fast", schedule="atom=wgmma"
    )
    writers = [kernel for kernel in kernels if kernel["name"].startswith("pieces")]
    assert sum(kernel.get("launches", 1) for kernel in writers) <= 3


def test_model_prefers_what_is_quicker():
    def get_schedules(m, n, k):
        kernels = get_kernels(
            torch.matmul, (torch.empty(m, k), torch.empty(k, n)), precision="f32-fast"
        )
        return " ".join(kernel["schedule"] for kernel in kernels)

    assert "precision = f32_fast" in get_schedules(4096, 4096, 4096)
    assert "precision = f32_fast" not in get_schedules(1, 4096, 4096)
    assert "precision = f32_fast" not in get_schedules(64, 64, 64)


def test_weights_that_lose_bits_are_refused():
    layer = torch.nn.Linear(64, 64, bias=False)
    options = {"device": "emu", "target": "sm_90a", "schedule": "atom=wgmma"}
    deplo.compile(layer, (randn(64, 64),), precision="f32-fast", **options)
    with torch.no_grad():
        layer.weight[3] = 0.0
        layer.weight[3, :2] = torch.tensor([1.0, 2.0**-29])
    deplo.compile(layer, (randn(64, 64),), precision="f32", **options)
    with pytest.raises(deplo.Error, match=r"weight', which has a number of 2\*\*-29 times"):
        deplo.compile(layer, (randn(64, 64),), precision="f32-fast", **options)


def test_other_devices_are_more_exact():
    x, w = randn(64, 64), randn(64, 64, seed=1)
    for target, device in (("sm_80", "emu"), ("sm_90a", "host")):
        (got,) = run(torch.matmul, (x, w), device, target=target, precision="f32-fast")
        assert relative_error(got, x.double() @ w.double()) <= 8 * F32


@pytest.mark.parametrize("n_is_last", [False, True], ids=["NK", "KN"])
@pytest.mark.parametrize("k", [512, 4096])
def test_kernels_assemble_without_spills(n_is_last, k, device):
    weights = torch.empty(k, 4096) if n_is_last else torch.empty(4096, k)
    function = torch.matmul if n_is_last else F.linear
    compile_for_gpu(
        function, (torch.empty(4096, k), weights), device, precision="f32-fast", target="sm_90a"
    )


def normalised(x, w, g):
    return F.rms_norm(x, x.shape[-1:], g, 1e-6) @ w.t()


def centred(x, w, g):
    return F.layer_norm(x, x.shape[-1:], g, g) @ w.t()


def probable(x, w, g):
    return F.softmax(x * g, -1) @ w.t()


def gated(x, w, g):
    h = F.silu(x) * (x + 1)
    return h, h @ w.t()


def residual(x, w, g):
    h = x + g
    return h, F.rms_norm(h, h.shape[-1:], g, 1e-6) @ w.t()


# Programs that compute the rows of a factor.
WRITERS = {
    "norm": normalised,
    "layer norm": centred,
    "softmax": probable,
    "gate": gated,
    "residual": residual,
}


@pytest.mark.parametrize("k", [96, 50])
@pytest.mark.parametrize("name", WRITERS)
def test_kernels_that_compute_rows_write_their_pieces(name, k):
    function = WRITERS[name]
    inputs = scaled_rows(70, k, spread=20, seed=0), randn(45, k, seed=1), randn(k, seed=2)

    def count(kernels):
        return sum(kernel.get("launches", 1) for kernel in kernels)

    schedule = "block=64x64,stages=2,fuse_pieces=always"
    kernels = get_kernels(function, inputs, precision="f32-fast", schedule=f"{PINS},{schedule}")
    apart = get_kernels(
        function, inputs, precision="f32-fast", schedule=f"{PINS},block=64x64,fuse_pieces=never"
    )
    assert count(kernels) == count(apart) - 1
    for got, want in zip(
        compute(function, inputs, schedule),
        wanted(function, inputs),
        strict=True,
    ):
        assert relative_error(got, want) <= 8 * F32


def test_pieces_of_computed_rows_read_the_operand_once_less():
    def traffic(choice):
        inputs = torch.empty(2048, 2048), torch.empty(2048, 2048), torch.empty(2048)
        kernels = get_kernels(
            normalised, inputs, precision="f32-fast", schedule=f"fuse_pieces={choice}"
        )
        return sum(
            kernel.get("launches", 1) * (buffer["bytes_read"] + buffer["bytes_written"])
            for kernel in kernels
            if "linear" not in kernel["name"] and "matmul" not in kernel["name"]
            for buffer in kernel["traffic"]
        )

    assert traffic("never") - traffic("auto") == 4 * 2048 * 2048


def test_infinite_rows_that_a_kernel_computes():
    """Sums that are not finite are computed again, of the operand itself."""
    x, w, g = randn(64, 64), randn(32, 64, seed=1), torch.ones(64)
    x[3, 5], x[4] = torch.inf, torch.nan
    _, got = compute(gated, (x, w, g), "block=64x32,stages=2,fuse_pieces=always")
    _, want = wanted(gated, (x, w, g))
    assert torch.equal(got.double().isnan(), want.isnan())
    assert torch.equal(got.isinf(), want.isinf())
    fine = want.isfinite()
    assert relative_error(got[fine], want[fine]) <= 8 * F32


class Normed(torch.nn.Module):
    """Rows of a weight, and of a batch, that the program computes."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(randn(48, 64, seed=1), requires_grad=False)

    def forward(self, x):
        h = F.softmax(x, -1)
        return h, F.linear(h, F.rms_norm(self.weight, (64,), eps=1e-6))


@pytest.mark.parametrize("prepare", [False, True])
def test_pieces_of_computed_weights_and_batches(prepare):
    module, x = Normed(), randn(2, 35, 64)
    compiled = deplo.compile(
        module,
        (x,),
        device="emu",
        target="sm_90a",
        precision="f32-fast",
        prepare_weights=prepare,
        schedule=f"{PINS},block=64x64,stages=2,fuse_pieces=always",
    )
    assert not any(kernel["name"].startswith("pieces") for kernel in compiled.report["kernels"])
    for scale in (1.0, 1.0, 2.0):
        with torch.no_grad():
            module.weight[1] *= scale
        weight = F.rms_norm(module.weight.double(), (64,), eps=1e-6)
        rows, got = compiled(x)
        want = F.softmax(x.double(), -1)
        assert relative_error(rows, want) <= 4 * F32
        assert relative_error(got, F.linear(want, weight)) <= 8 * F32
