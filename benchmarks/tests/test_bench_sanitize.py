# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compute-sanitizer watches: packages of a suite, run without PyTorch."""

import numpy
import pytest

import sanitize
from deplo.errors import Error
from deplo.runtime import Buffer
from harness.device import empty_bits, has_nan, random_bits


def buffer(dtype):
    return Buffer("x", dtype, (30, 40), (50, 1), 16)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i64"])
def test_random_bits_fill_what_a_buffer_spans(dtype):
    bits = random_bits(buffer(dtype), 0)
    assert bits.size == empty_bits(buffer(dtype)).size == 29 * 50 + 40
    assert bits.dtype == empty_bits(buffer(dtype)).dtype
    assert not has_nan(bits) and len(numpy.unique(bits)) > 1


def test_integers_are_indices_of_any_table():
    assert set(random_bits(buffer("i64"), 0).tolist()) == {0, 1}


def test_dtypes_without_random_bits_are_named():
    with pytest.raises(Error, match="i8"):
        random_bits(buffer("i8"), 0)


def test_nan_is_found():
    assert has_nan(numpy.array([1, numpy.nan], numpy.float32))
    assert has_nan(numpy.array([0x3F80, 0x7FC0], numpy.uint16))


def test_packages_of_floats_and_indices_run(compiler, tmp_path, capsys):
    pattern = "rmsnorm.seed|argmax.262144x512"
    count = sanitize.compile_suite("membound", "f32", pattern, "sm_90a", "host", tmp_path)
    assert count == 2
    assert sanitize.run_folder(tmp_path, "host") == 0
    assert "2 packages ran, 0 packages failed" in capsys.readouterr().out
