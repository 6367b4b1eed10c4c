# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that start at any address, on the host and as PTX, whose accesses the emulator checks."""

import pytest
import torch

import deplo

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.parametrize("target", ["host", "emu"])
@pytest.mark.parametrize("shape", [(9, 1001), (3, 7, 333), (2, 20011), (4, 1023), (11, 131)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_softmax_of_odd_rows(target, shape, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    result = deplo.compile(lambda a: torch.softmax(a, -1), (x,), device=target)(x)
    bound = 2e-6 if dtype == torch.float32 else 2**-8
    torch.testing.assert_close(
        result.double(), torch.softmax(x.double(), -1), rtol=bound, atol=1e-7
    )


@pytest.mark.parametrize("target", ["host", "emu"])
@pytest.mark.parametrize("size", [1, 5, 8191, 100003])
def test_pointwise_of_odd_sizes(target, size):
    x = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    assert torch.equal(deplo.compile(lambda a: -a, (x,), device=target)(x), -x)
