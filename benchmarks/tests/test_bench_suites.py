# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suites: what is in them, and that every case is a program PyTorch can run."""

from collections import Counter

import pytest
import torch

from harness import cases
from harness.cases import Case, Indices, load_suite, suites


def test_all_suites_are_listed():
    assert suites() == ["decoder", "gemm", "membound", "seed84"]


def test_seed84_is_complete():
    families = Counter(case.family for case in load_suite("seed84"))
    assert families == {
        "matmul": 36,
        "matmul_add": 12,
        "rms_norm": 6,
        "softmax": 6,
        "silu_mul": 6,
        "sdpa": 6,
        "naive_attn": 6,
        "silu_mul_matmul": 6,
    }


@pytest.mark.parametrize("suite", suites())
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_every_case_has_a_size(suite, dtype):
    for case in load_suite(suite):
        moved, operations = case.size(cases.DTYPES[dtype])
        assert moved > 0 and operations >= 0, case.name


def test_size_counts_inputs_output_and_contractions():
    case = Case("m", "matmul", ((4, 8), (8, 16)), "a @ b")
    assert case.size(torch.float32) == (4 * (4 * 8 + 8 * 16 + 4 * 16), 2 * 4 * 8 * 16)
    case = Case("s", "reduce", ((4, 8),), "a.sum(-1)")
    assert case.size(torch.bfloat16) == (2 * (32 + 4), 0)


def test_inputs_are_reproducible_and_differ_between_cases():
    first, second = (Case(name, "f", ((64,),), "a") for name in ("first", "second"))
    again = first.random_inputs(torch.float32, "cpu")[0]
    assert torch.equal(first.random_inputs(torch.float32, "cpu")[0], again)
    assert not torch.equal(second.random_inputs(torch.float32, "cpu")[0], again)
    # Two inputs of one case differ as well.
    a, b = Case("pair", "f", ((64,), (64,)), "a + b").random_inputs(torch.float32, "cpu")
    assert not torch.equal(a, b)


@pytest.mark.parametrize("family", ["rms_norm", "naive_attn", "sdpa", "silu_mul_matmul"])
def test_reference_is_float64(family):
    case = next(case for case in load_suite("seed84", r"tinyllama\.s32") if case.family == family)
    want = case.float64(case.random_inputs(torch.float32, "cpu"))
    assert want.dtype == torch.float64 and bool(torch.isfinite(want).all())


def test_filter_is_a_regular_expression():
    names = [case.name for case in load_suite("seed84", r"^(softmax|rmsnorm)\..*s32$")]
    assert sorted(names) == [
        "rmsnorm.qwen2.5-7b.s32",
        "rmsnorm.tinyllama.s32",
        "softmax.qwen2.5-7b.s32",
        "softmax.tinyllama.s32",
    ]


def test_indices_are_of_the_declared_range_whatever_the_type(tmp_path, monkeypatch):
    rows = '{"shape": [6, 50], "below": 7}'
    case = f'{{"name": "rows", "family": "f", "inputs": [[7, 3], {rows}], "expr": "a[b]"}}'
    (tmp_path / "gather.json").write_text(f'{{"cases": [{case}]}}')
    monkeypatch.setattr(cases, "SUITES", tmp_path)
    (case,) = load_suite("gather")
    assert case.inputs == ((7, 3), Indices((6, 50), 7))
    table, indices = case.random_inputs(torch.bfloat16, "cpu")
    assert table.dtype == torch.bfloat16 and indices.dtype == torch.int64
    assert indices.shape == (6, 50) and set(indices.flatten().tolist()) == set(range(7))
    assert torch.equal(case.random_inputs(torch.float32, "cpu")[1], indices)
    assert case.float64([table, indices]).dtype == torch.float64
    assert case.empty_inputs(torch.float32)[1].dtype == torch.int64
    # The table and the result of halves, and the indices of eight bytes.
    assert case.size(torch.bfloat16) == (2 * 7 * 3 + 8 * 300 + 2 * 300 * 3, 0)


def test_unknown_suite_is_an_error():
    with pytest.raises(
        ValueError, match="there is no suite 'none'; there are decoder, gemm, membound, seed84"
    ):
        load_suite("none")


def test_repeated_name_is_an_error(tmp_path, monkeypatch):
    case = '{"name": "x", "family": "f", "inputs": [[1]], "expr": "a"}'
    (tmp_path / "twice.json").write_text(f'{{"cases": [{case}, {case}]}}')
    monkeypatch.setattr(cases, "SUITES", tmp_path)
    with pytest.raises(ValueError, match="more than one case named x"):
        load_suite("twice")
