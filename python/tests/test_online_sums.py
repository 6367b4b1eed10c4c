# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The maximum and the sum of exponentials of a row in one sweep over chunks: values
that no chunk may lose, and rows whose last chunk is padded."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, randn, run

INF = float("inf")
NAN = float("nan")
LOWEST = torch.finfo(torch.float32).min
SCHEDULE = "chunk=128,warps=1,vector=4"
FUNCTIONS = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
}
# Where special values lie: in the first chunk, across two, in the last one.
PLACES = (0, 127, 128, 300, -1)


def special_rows(columns: int) -> torch.Tensor:
    """A row of -inf, of the lowest number and of the highest; then rows of ordinary
    numbers around one special value, and of special values around one number."""
    highest = -LOWEST
    rows = [torch.full((columns,), value) for value in (-INF, LOWEST, highest)]
    for place in PLACES:
        for value in (-INF, INF, NAN, LOWEST, highest):
            row = randn(columns, seed=len(rows))
            row[place] = value
            rows.append(row)
        for value in (-INF, LOWEST):
            row = torch.full((columns,), value)
            row[place] = 1.0
            rows.append(row)
    both = randn(columns)
    both[3], both[-2] = LOWEST, highest
    rising = torch.linspace(-1e4, 1e4, columns)
    return torch.stack([*rows, both, rising, rising.flip(0)])


@pytest.mark.parametrize("columns", [512, 513, 509, 641])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_in_chunks(name, columns, device):
    x = special_rows(columns)
    (got,) = run(FUNCTIONS[name], (x,), device, schedule=SCHEDULE)
    want = FUNCTIONS[name](x.double())
    # Where float64 reaches further than f32, so does the difference of two extremes.
    want = want.where(want.abs() <= -LOWEST, want.sign() * INF)
    # Logarithms may cancel.
    check(got, want, 60, want.abs() + (1 if name == "softmax" else 8), name)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["f16", "bf16"])
def test_special_values_of_halves(dtype, device):
    x = torch.stack([randn(513, dtype=dtype, seed=i) for i in range(5)])
    x[0] = -INF
    x[1, 200:] = -INF
    x[2, 512] = INF
    x[3, 128] = NAN
    x[4, ::2] = torch.finfo(dtype).min
    (got,) = run(FUNCTIONS["softmax"], (x,), device, schedule=SCHEDULE)
    check(got, F.softmax(x.double(), -1), 30)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("vector", [1, 4])
def test_causal_rows(warps, vector, device):
    """Chunks that are -inf altogether come before and after those that aren't."""
    x = randn(2, 384, 384)

    def above(x):
        later = torch.ones(384, 384, dtype=torch.bool).triu()
        return F.softmax(x.masked_fill(~later, -INF), -1)

    def below(x):
        earlier = torch.ones(384, 384, dtype=torch.bool).tril()
        return F.softmax(x.masked_fill(~earlier, -INF), -1)

    for function in (above, below):
        schedule = f"chunk=128,warps={warps},vector={vector}"
        (got,) = run(function, (x,), device, schedule=schedule)
        check(got, function(x.double()), 60)


@pytest.mark.parametrize("columns", [50257, 70001])
def test_long_rows_as_scheduled(columns, device):
    x = randn(2, columns)
    x[0, :40000] = -INF
    x[1, -1] = LOWEST
    targets = torch.tensor([columns - 2, 17])
    (got,) = run(lambda x, t: F.cross_entropy(x, t), (x, targets), device)
    check(got, F.cross_entropy(x.double(), targets), 100)


def test_one_nan_row_leaves_the_others(device):
    x = randn(6, 513)
    x[1, 400], x[4, 0] = NAN, INF
    (got,) = run(FUNCTIONS["softmax"], (x,), device, schedule=SCHEDULE)
    assert got[[1, 4]].isnan().all()
    rest = [0, 2, 3, 5]
    check(got[rest], F.softmax(x[rest].double(), -1), 60)
