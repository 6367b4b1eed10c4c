# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that broke other compilers, as far as their operators exist."""

import math
import re
import time

import pytest
import torch
import torch.nn.functional as F
from numeric import F32, check, randn, run, sum_units

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

INF, NAN = math.inf, math.nan


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def same(got, want):
    """Equal values, NaN at the same places, and equal signs of zero."""
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    zero = want == 0
    assert torch.equal(torch.signbit(got[zero]), torch.signbit(want[zero]))


def test_softmax_takes_the_maximum_after_scaling(device):
    (got,) = run(lambda x: F.softmax(x * -1.7e14, -1), (tensor(1, 2, 3),), device)
    same(got, tensor(1, 0, 0))


def test_softmax_of_infinities_is_nan(device):
    (got,) = run(lambda x: F.softmax(x, -1), (tensor(-INF, INF, INF),), device)
    assert got.isnan().all()


def test_softmax_of_minus_infinity_next_to_numbers(device):
    (got,) = run(lambda x: F.softmax(x, -1), (tensor(-INF, 0.0, -INF),), device)
    same(got, tensor(0.0, 1, 0))


def test_sum_of_a_softmax_is_computed(device):
    x = randn(1, 40)
    program = import_program(lambda x: F.softmax(x, -1).sum(-1), (x,))
    assert "graph.softmax" in program.text and "graph.sum" in program.text
    (got,) = run(lambda x: F.softmax(x, -1).sum(-1), (x,), device)
    assert abs(got.item() - 1) <= 40 * F32


def test_result_does_not_depend_on_a_second_output(device):
    x = randn(17, 9)

    def one(x):
        return F.softmax(torch.tan(x), 0)

    def two(x):
        return F.softmax(torch.tan(x), 0), x * 2

    assert torch.equal(run(one, (x,), device)[0], run(two, (x,), device)[0])


def test_softmax_over_the_middle_axis_at_full_size(device):
    (got,) = run(lambda x: F.softmax(x, 1), (randn(16, 64, 768),), device)
    ones = torch.ones(16, 768, dtype=torch.float64)
    check(got.double().sum(1).float(), ones, 64)


def test_softmax_then_drop_the_last_column(device):
    x = randn(3, 10)
    (got,) = run(lambda x: F.softmax(x, -1)[:, :-1], (x,), device)
    check(got, F.softmax(x.double(), -1)[:, :-1], 30)


@pytest.mark.parametrize("size", [1, 2, 31, 128, 1000])
def test_softmax_of_rows_with_one_more_column(size, device):
    """The column comes from a concatenation and leaves again."""
    inputs = randn(3, size), randn(3, 1, seed=1)

    def function(x, extra):
        return F.softmax(torch.cat([x, extra], -1), -1)[:, :-1]

    (got,) = run(function, inputs, device)
    check(got, function(*(x.double() for x in inputs)), 60)


@pytest.mark.parametrize("values", [(NAN, 1.0), (2.0, NAN), (1.0, NAN, 3.0, 4.0, 5.0)])
def test_nan_wins_in_maxima_at_any_place(values, device):
    x = tensor(*values)

    def function(x):
        return x.amax(-1), x.amin(-1), torch.maximum(x, x * 0 + 1), torch.minimum(x * 0 + 1, x)

    got = run(function, (x,), device)
    assert got[0].isnan() and got[1].isnan()
    assert torch.equal(got[2].isnan(), x.isnan()) and torch.equal(got[3].isnan(), x.isnan())


def test_nan_wins_in_maxima_of_long_rows(device):
    x = randn(65, 4097)
    for row in range(65):
        x[row, row * 63] = NAN
    (got,) = run(lambda x: x.amax(-1), (x,), device)
    assert got.isnan().all()


def test_relu_keeps_nan(device):
    (got,) = run(torch.relu, (tensor(NAN, -1.0, 2.0, -0.0),), device)
    assert got[0].isnan() and got.tolist()[1:] == [0.0, 2.0, 0.0]


def test_maximum_of_a_negative_row_of_five(device):
    x = tensor(-3.0, -1.5, -2.0, -8.0, -1.25).expand(3, 5).contiguous()
    (got,) = run(lambda x: x.amax(-1), (x,), device)
    same(got, torch.full((3,), -1.25))


def test_product_and_minimum_of_ragged_rows(device):
    x = randn(3, 5).abs() + 1
    got = run(lambda x: (x.amin(-1), x.prod(-1)), (x,), device)
    same(got[0], x.amin(-1))
    check(got[1], x.double().prod(-1), 6)


@pytest.mark.parametrize("low,high", [(0.0, NAN), (NAN, 1.0), (0.0, 3.0), (2.0, 1.0)])
def test_clamp_with_nan_bounds(low, high, device):
    x = tensor(0.5, -3, 4.5, 11, NAN)
    (got,) = run(lambda x: torch.clamp(x, low, high), (x,), device)
    same(got, torch.clamp(x, low, high))


def test_bf16_product_is_rounded_before_it_is_used(device):
    """x * 1.001 is x for most bf16 x: the difference must be exactly 0 there."""
    x = randn(512, dtype=torch.bfloat16)
    (got,) = run(lambda x: x * 1.001 - x, (x,), device)
    assert torch.equal(got, x * 1.001 - x) and (got == 0).float().mean() > 0.7


def test_adding_zero_is_not_folded_away(device):
    (got,) = run(lambda x: torch.reciprocal(x + 0.0), (tensor(-0.0, 0.0),), device)
    same(got, tensor(INF, INF))


@pytest.mark.parametrize(
    "function",
    [lambda x: x * 0.0, lambda x: x - x, lambda x: 0.0 / x, lambda x: x / x, lambda x: -(0.0 - x)],
)
def test_identities_that_hold_for_finite_numbers_only(function, device):
    x = tensor(INF, -INF, NAN, 0.0, -0.0, 3.0, -3.0)
    (got,) = run(function, (x,), device)
    same(got, function(x))


def test_division_is_correctly_rounded(device):
    x = torch.cat([tensor(4.6875), randn(4096)])
    y = torch.cat([tensor(0.9375), randn(4096, seed=1)])
    (got,) = run(lambda x, y: x / y, (x, y), device)
    assert got[0] == 5.0 and torch.equal(got, x / y)


def test_powers_of_two_down_to_subnormals(device):
    (got,) = run(lambda s: 2.0**s, (tensor(-126, -127, -149, -150, 0, 127),), device)
    same(got, tensor(2.0**-126, 2.0**-127, 2.0**-149, 0.0, 1, 2.0**127))


def test_subnormals_are_kept(device):
    x = tensor(1e-38, -1e-38, 1e-45)
    (got,) = run(lambda x: x * 0.5 + x, (x,), device)
    same(got, x * 0.5 + x)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_far_from_zero(approximate, device):
    x = tensor(-5.5339, -5.5316, 1e4, -1e4, 30.0, -30.0, INF)
    (got,) = run(lambda x: F.gelu(x, approximate=approximate), (x,), device)
    want = F.gelu(x.double(), approximate=approximate).float()
    assert (got[:2] - want[:2]).abs().max() <= 2e-7
    assert got[2] == 1e4 and got[3] == 0 and got[4] == 30 and got[6] == INF
    assert abs(got[5]) <= 2e-7


def test_explicit_casts_round(device):
    x = tensor(1 / 7)
    got = run(lambda x: (x.half().float(), x.bfloat16().float()), (x,), device)
    assert got[0].item() == 0.142822265625
    same(got[1], x.bfloat16().float())


def test_square_root_of_a_negative_number(device):
    (got,) = run(torch.sqrt, (tensor(-1.0, 4.0, -0.0),), device)
    assert got[0].isnan() and got[1] == 2 and got[2] == 0


def test_layer_norm_of_huge_equal_values_is_zero(device):
    x = tensor(1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15 + 4)
    (got,) = run(lambda x: F.layer_norm(x, (5,)), (x,), device)
    assert torch.equal(got, torch.zeros(5))


def test_variance_far_from_zero_is_exact(device):
    x = tensor(1e4, 1e4 + 1, 1e4 + 2, 1e4 + 3)
    (got,) = run(lambda x: x.var(0, correction=0), (x,), device)
    assert got.item() == 1.25


def test_statistics_of_long_rows(device):
    x = randn(2, 100_003)
    got = run(lambda x: (x.mean(-1), x.var(-1), F.layer_norm(x, x.shape[-1:])), (x,), device)
    assert (got[0].double() - x.double().mean(-1)).abs().max() < 1e-6
    check(got[1], x.double().var(-1), 24)
    want = F.layer_norm(x.double(), x.shape[-1:])
    assert (got[2].double() - want).abs().max() < 1e-5 * want.abs().max()


def test_instance_norm_of_large_images(device):
    side = 24 if device == "emu" else 1102
    x = randn(1, 3, side, side)
    (got,) = run(lambda x: F.instance_norm(x), (x,), device)
    want = F.instance_norm(x.double())
    assert (got.double() - want).abs().max() < 1e-5


@pytest.mark.parametrize("shape,axis", [((0,), 0), ((0, 3), 0), ((3, 0), 1), ((0, 1), 0)])
def test_statistics_of_nothing(shape, axis, device):
    x = torch.ones(shape)

    def function(x):
        return (x.mean(axis), x.sum(axis), x.prod(axis),
                *torch.var_mean(x, axis), *torch.std_mean(x, axis))  # fmt: skip

    for got, want in zip(run(function, (x,), device), function(x), strict=True):
        same(got, want)


def test_variance_of_one_element_is_nan(device):
    (got,) = run(lambda x: x.var(1), (torch.ones(3, 1),), device)
    assert got.isnan().all()


def test_maximum_of_nothing_is_an_error():
    with pytest.raises(deplo.Error):
        import_program(lambda x: x.amax(0), (torch.ones(0),))


def test_last_row_of_an_odd_number_of_rows(device):
    x = torch.zeros(32769, 3)
    x[:, 0] = torch.arange(32769)
    (got,) = run(lambda x: (x * x).sum(-1), (x,), device)
    assert got[-1].item() == 32768.0**2
    assert torch.equal(got, x[:, 0] * x[:, 0])


def test_sum_of_a_large_matrix_has_the_same_bits_twice(device):
    x = randn(4096, 4096)
    first, second = (run(lambda x: x.sum(), (x,), device)[0] for _ in range(2))
    assert torch.equal(first, second)
    check(first, x.double().sum(), sum_units(x.numel()), x.double().abs().sum(), "sum")


def test_shared_subgraphs_are_not_duplicated(compiler):
    def chain(length):
        def function(a, b):
            for _ in range(length):
                a, b = a + b, a * b
            return a, b

        return function

    times = []
    for length in (7, 14):
        program = import_program(chain(length), (randn(8), randn(8)))
        assert program.text.count(" = graph.") == 2 * length
        start = time.perf_counter()
        deplo.compile(chain(length), (randn(8), randn(8)), device="host")
        times.append(time.perf_counter() - start)
    assert times[1] < 4 * times[0] + 0.5


def test_stale_values_of_a_first_shape_are_not_kept(device):
    def function(x):
        return F.softmax(x, -1)

    for shape in ((4, 33), (2, 1000), (4, 33)):
        x = randn(*shape)
        check(run(function, (x,), device)[0], F.softmax(x.double(), -1), 60)


def test_more_than_2_to_31_elements(compiler):
    """3.3e9 of them: offsets into them are counted in 64 bits, and no block is out of range."""
    x = torch.empty(4096, 64, 112, 112, dtype=torch.bfloat16, device="meta")
    text = import_program(lambda x: x - x.mean((0, 2, 3), keepdim=True), (x,)).text
    compilation = compile_ir(text, Options(level="kernel", target="sm_90a"))
    kernels = compilation.ir.split("llvm.func")[1:]
    element = re.compile(r"getelementptr .*: \(!llvm.ptr<1>, (i\d+)\)")
    # Partial sums of x, then their sum, which is small, and x less its mean.
    assert [set(element.findall(kernel)) for kernel in kernels] == [{"i64"}, {"i32"}, {"i64"}]
    for kernel in compilation.report["kernels"]:
        assert kernel["grid"][0] < 2**31 and max(kernel["grid"][1:]) < 2**16


def test_a_channel_less_its_mean_in_chunks(device):
    """The same program on what fits: equal to a computation chunk by chunk."""
    x = randn(64, 4, 12, 12, dtype=torch.bfloat16)
    (got,) = run(lambda x: x - x.mean((0, 2, 3), keepdim=True), (x,), device)
    mean = x.double().mean((0, 2, 3), keepdim=True).bfloat16()
    chunks = [(part.double() - mean.double()).bfloat16() for part in x.split(16)]
    assert torch.equal(got, torch.cat(chunks))
