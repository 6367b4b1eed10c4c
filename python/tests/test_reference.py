# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The float64 reference of `deplo run` against plain PyTorch in float64."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from deplo.importer import import_program
from deplo.reference import reference, relative_error

X = torch.linspace(-2, 2, 12).reshape(3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.softmax(x * 0.1, -1) + x.std(0),
        lambda x: F.gelu(x) * torch.full((4,), 0.25),
        lambda x: F.layer_norm(x, (4,), eps=1e-3),
        lambda x: F.rms_norm(x, (4,), eps=1e-3).sum(0),
        lambda x: torch.logsumexp(x, 0) / torch.zeros_like(x).add(3),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_is_the_function_in_float64(function, dtype):
    x = X.to(dtype)
    (got,) = reference(import_program(function, (x,)).exported, (x,))
    torch.testing.assert_close(got, function(x.double()), rtol=1e-12, atol=1e-12)


def test_parameters_are_widened_as_they_are_now():
    norm = nn.RMSNorm(4)
    program = import_program(norm, (X,))
    nn.init.constant_(norm.weight, 3.0)
    (got,) = reference(program.exported, (X,))
    assert relative_error(3 * F.rms_norm(X, (4,)), got) < 1e-6


def test_explicit_casts_round():
    x = torch.tensor([1 / 7])
    (got,) = reference(import_program(lambda x: x.half().float() + 0, (x,)).exported, (x,))
    assert got.item() == 0.142822265625


def test_relative_error():
    want = torch.tensor([1.0, -2.0, float("inf"), float("nan")], dtype=torch.float64)
    assert relative_error(want.clone(), want) == 0
    assert relative_error(want + torch.tensor([0.0, 0.5, 0, 0]), want) == 0.25
    assert relative_error(torch.tensor([1.0, -2.0, 1.0, float("nan")]), want) == float("inf")
    assert relative_error(torch.tensor([1.0, -2.0, float("inf"), 0.0]), want) == float("inf")
    assert relative_error(torch.zeros(0), torch.zeros(0)) == 0
