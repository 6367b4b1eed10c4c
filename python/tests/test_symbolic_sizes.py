# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that calls change: one compilation is right for all of them."""

import pytest
import torch
import torch.nn.functional as F
from numeric import check, move, randn, sum_units
from torch.export import Dim

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program


def compiled(function, examples, shapes, device, **options):
    place = "cuda" if device == "cuda" else "cpu"
    return deplo.compile(
        function,
        [move(x, place) for x in examples],
        device=device,
        dynamic_shapes=shapes,
        **options,
    )


def call(function, inputs, device):
    place = "cuda" if device == "cuda" else "cpu"
    results = function(*[move(x, place) for x in inputs])
    results = results if isinstance(results, tuple) else (results,)
    return [result.cpu() for result in results]


ROWS = Dim("rows", min=0, max=5000)
COUNTS = (0, 1, 2, 7, 64, 129, 5000)


@pytest.mark.parametrize("width", [1, 33, 2048])
def test_rows_of_a_chain(width, device):
    def function(x, y):
        return torch.sigmoid(x) * y + 1

    shapes = {"x": {0: ROWS}, "y": {0: ROWS}}
    fast = compiled(function, (randn(8, width), randn(8, width)), shapes, device)
    for count in COUNTS:
        inputs = randn(count, width), randn(count, width, seed=1)
        (got,) = call(fast, inputs, device)
        want = function(*(x.double() for x in inputs))
        check(got, want, 16, scale=want.abs() + 1, what=f"{count} rows")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_rows_of_a_normalisation(dtype, device):
    def function(x, w):
        return F.rms_norm(x, (300,), w, 1e-6)

    w = randn(300, dtype=dtype, seed=1)
    fast = compiled(function, (randn(8, 300, dtype=dtype), w), ({0: ROWS}, None), device)
    for count in COUNTS:
        x = randn(count, 300, dtype=dtype)
        (got,) = call(fast, (x, w), device)
        check(got, function(x.double(), w.double()), 16, what=f"{count} rows")


def test_rows_of_several_results(device):
    def function(x):
        h = x * 2
        return h, h.sum(-1), F.softmax(h, -1)

    fast = compiled(function, (randn(8, 77),), ({0: ROWS},), device)
    for count in COUNTS:
        x = randn(count, 77)
        got = call(fast, (x,), device)
        want = function(x.double())
        check(got[0], want[0], 1)
        check(got[1], want[1], sum_units(77), want[0].abs().sum(-1))
        check(got[2], want[2], 60)


def test_batch_and_length(device):
    """Two sizes, and their product after flattening."""

    def function(x, w):
        return F.rms_norm(x, (48,), w, 1e-6).flatten(0, 1) * 2

    shapes = ({0: Dim("batch", min=1, max=64), 1: Dim("length", min=1, max=4096)}, None)
    w = randn(48, seed=1)
    fast = compiled(function, (randn(2, 3, 48), w), shapes, device)
    for batch, length in ((1, 1), (1, 300), (64, 1), (3, 129), (5, 1024)):
        x = randn(batch, length, 48)
        (got,) = call(fast, (x, w), device)
        check(got, function(x.double(), w.double()), 20, what=f"{batch} x {length}")


def test_last_axis_of_maps(device):
    """Strides depend on the size; rows are broadcast along it."""

    def function(x, y, z):
        return torch.tanh(x + y) * z

    length = Dim("length", min=1, max=3000)
    shapes = ({1: length}, {0: length}, None)
    fast = compiled(function, (randn(5, 9), randn(9), randn(5, 1)), shapes, device)
    for n in (1, 2, 31, 1000, 3000):
        inputs = randn(5, n), randn(n, seed=1), randn(5, 1, seed=2)
        (got,) = call(fast, inputs, device)
        check(got, function(*(x.double() for x in inputs)), 32, scale=1.0, what=f"{n}")


def test_sums_along_fixed_axes_of_symbolic_columns(device):
    def function(x):
        return x.sum(0), x.amax(0)

    fast = compiled(function, (randn(12, 9),), ({1: Dim("columns", min=1, max=3000)},), device)
    for n in (1, 2, 15, 16, 17, 33, 3000):
        x = randn(12, n)
        got = call(fast, (x,), device)
        check(got[0], x.double().sum(0), sum_units(12), x.double().abs().sum(0))
        assert torch.equal(got[1], x.amax(0))


@pytest.mark.parametrize("axis", [0, 1])
def test_scans_along_a_fixed_axis(axis, device):
    def function(x):
        return (x * 2).cumsum(axis) + 1

    shape = [300, 300]
    shape[1 - axis] = 8
    fast = compiled(function, (randn(*shape),), ({1 - axis: ROWS},), device)
    for count in COUNTS:
        shape[1 - axis] = count
        x = randn(*shape)
        (got,) = call(fast, (x,), device)
        scale = 2 * x.double().abs().cumsum(axis) + 1
        check(got, function(x.double()), 2 * sum_units(300), scale, f"{count} rows")


FULL = {
    "sum": lambda x: x.sum(),
    "mean of squares": lambda x: (x * x).mean(),
    "largest": lambda x: x.amax(),
    "place of the largest": lambda x: x.argmax(),
    "norm": lambda x: x / x.norm(),
}


@pytest.mark.parametrize("name", FULL)
def test_reductions_of_all_rows(name, device):
    """Parts of all rows, each of as many elements as there are rows times a number."""
    function = FULL[name]
    shapes = ({0: Dim("rows", min=1, max=100000)},)
    fast = compiled(function, (randn(8, 2048),), shapes, device)
    assert len(fast.report["kernels"]) > 1
    for count in (1, 2, 17, 100):
        x = randn(count, 2048)
        (got,) = call(fast, (x,), device)
        want = function(x.double())
        if want.dtype == torch.int64:
            assert torch.equal(got, want)
        else:
            scale = (x.double() ** 2).mean() + x.double().abs().sum() * (name == "sum") + 5
            check(got, want, sum_units(x.numel()), scale, f"{count} rows")


VECTORS = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "mean of squares": lambda x: (x * x).mean(),
    "largest": lambda x: x.amax(),
    "smallest and largest": lambda x: (x.amin(), x.amax()),
    "place of the largest": lambda x: x.argmax(),
    "norm": lambda x: x.norm(),
    "divided by its norm": lambda x: x / x.norm(),
    "probabilities": lambda x: x.softmax(0),
    "centred": lambda x: x - x.mean(),
}


@pytest.mark.parametrize("name", VECTORS)
def test_reductions_of_a_vector_of_any_length(name, device):
    """Parts whose length no number says, of which some or most may be empty."""
    function = VECTORS[name]
    shapes = ({0: Dim("n", min=1, max=2**26)},)
    fast = compiled(function, (randn(300),), shapes, device)
    assert len(fast.report["kernels"]) > 1
    most = 70001 if device == "emu" else 2**20 + 3
    for count in (1, 7, 1000, 4096, most):
        x = randn(count)
        x[count // 2] = 9
        got, want = call(fast, (x,), device), function(x.double())
        for one, right in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            if right.dtype == torch.int64:
                assert torch.equal(one, right)
                continue
            scale = right.abs().max() + 1
            if name in ("sum", "mean"):
                scale = x.double().abs().sum() / (count if name == "mean" else 1)
            check(one, right, sum_units(count), scale, f"{count} elements")
        again = call(fast, (x,), device)
        assert all(torch.equal(a, b) for a, b in zip(got, again, strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int32, torch.int8, torch.bool])
def test_sums_of_a_vector_of_any_length(dtype, device):
    """An odd number of narrow elements, an access of which may reach past the end."""
    shapes = ({0: Dim("n", min=1, max=2**26)},)
    fast = compiled(lambda x: x.sum(), (torch.ones(300).to(dtype),), shapes, device)
    for count in (1, 7, 1001, 70001):
        x = (randn(count) * 3).round().to(dtype)
        (got,) = call(fast, (x,), device)
        exact = x.double().sum()
        if dtype.is_floating_point:
            check(got, exact, 1 + sum_units(count), x.double().abs().sum())
        else:
            assert got.item() == exact.item()


def test_columns_of_any_length(device):
    """Few columns, of as many rows as there are: rows are divided, not columns."""

    def function(x):
        return x.sum(0), x.amax(0)

    shapes = ({0: Dim("rows", min=1, max=2**24)},)
    fast = compiled(function, (randn(300, 6),), shapes, device)
    assert len(fast.report["kernels"]) > 1
    for count in (1, 7, 1000, 4099):
        x = randn(count, 6)
        got = call(fast, (x,), device)
        check(got[0], x.double().sum(0), sum_units(count), x.double().abs().sum(0))
        assert torch.equal(got[1], x.amax(0))


def test_all_of_two_sizes(device):
    shapes = ({0: Dim("m", min=1, max=4000), 1: Dim("n", min=1, max=4000)},)
    fast = compiled(lambda x: x.sum(), (randn(3, 40),), shapes, device)
    assert len(fast.report["kernels"]) > 1
    for shape in ((1, 1), (3, 1000), (129, 67)):
        x = randn(*shape)
        (got,) = call(fast, (x,), device)
        check(got, x.double().sum(), sum_units(x.numel()), x.double().abs().sum())


FLIPS = {
    "rows": lambda x: x.flip(0),
    "both": lambda x: x.flip(0, 1) * 2,
    "sums from the end": lambda x: x.flip(0).cumsum(0).flip(0),
    "probabilities of columns": lambda x: x.flip(1).softmax(-1),
    "with itself": lambda x: x + x.flip(1),
}


@pytest.mark.parametrize("widths", [(None, 6), (6, None), (None, None)], ids=str)
@pytest.mark.parametrize("name", FLIPS)
def test_reversed_axes(name, widths, device):
    function = FLIPS[name]
    named = zip("mn", widths, strict=True)
    dims = [Dim(n, min=1, max=2000) if w is None else None for n, w in named]
    fast = compiled(function, (randn(*(w or 9 for w in widths)),), (dict(enumerate(dims)),), device)
    for count in (1, 2, 33, 1000):
        x = randn(*(w or count + 7 * (i == 1) for i, w in enumerate(widths)))
        (got,) = call(fast, (x,), device)
        scale = x.double().abs().sum(0).max() + 1
        check(got, function(x.double()), 2 * sum_units(count), scale, f"{tuple(x.shape)}")


SCANS = {
    "sums": lambda x: (x * 2).cumsum(-1) + 1,
    "sums of columns": lambda x: x.t().contiguous().cumsum(0),
    "extremes and their places": lambda x: tuple(x.cummax(-1)),
    "probabilities": lambda x: x.softmax(-1).cumsum(-1),
}


@pytest.mark.parametrize("most", [3000, 100000])
@pytest.mark.parametrize("name", SCANS)
def test_scans_along_a_symbolic_axis(name, most, device):
    function = SCANS[name]
    shapes = ({1: Dim("length", min=1, max=most)},)
    fast = compiled(function, (randn(3, 9),), shapes, device)
    for n in (1, 2, 31, 1000, 3000, *((4099,) if most > 4099 else ())):
        x = randn(3, n)
        got, want = call(fast, (x,), device), function(x.double())
        want = want if isinstance(want, tuple) else (want,)
        scale = 2 * x.double().abs().cumsum(-1) + 1
        for one, right in zip(got, want, strict=True):
            if right.dtype == torch.int64:
                assert torch.equal(one, right)
            else:
                most_of = scale.t() if right.shape != scale.shape else scale
                check(one, right, 2 * sum_units(n), most_of, f"{n} elements")


def test_transposed_rows(device):
    def function(x):
        return x.t() + 1

    fast = compiled(function, (randn(8, 6),), ({0: ROWS},), device)
    for count in (1, 2, 33, 5000):
        x = randn(count, 6)
        (got,) = call(fast, (x,), device)
        assert torch.equal(got, x.t() + 1)


def test_kernels_that_pass_values_on(device):
    """Sums of rows, then of columns, are two kernels with memory in between."""

    def function(x):
        return (x - x.mean(-1, keepdim=True)).reshape(-1, 4, 5).transpose(1, 2).softmax(2) * 3

    fast = compiled(function, (randn(8, 20),), ({0: ROWS},), device)
    for count in (1, 3, 200):
        x = randn(count, 20)
        (got,) = call(fast, (x,), device)
        check(got, function(x.double()), 200, scale=1.0, what=f"{count} rows")


def test_declared_multiples(device):
    """What is known to divide a size makes accesses wide; other sizes are refused."""
    groups = Dim("groups", min=1, max=100)
    fast = compiled(lambda x: x.t() * 2, (randn(24, 3),), ({0: 8 * groups},), device)
    for count in (16, 160, 800):
        x = randn(count, 3)
        assert torch.equal(call(fast, (x,), device)[0], x.t() * 2)
    with pytest.raises(deplo.Error, match=r"has size 12 in dimension 0, .* multiples of 8"):
        call(fast, (randn(12, 3),), device)


# Sizes of reduced axes. Rows of up to 3000 elements stay on chip, rows of up to
# 100000 in shared memory or not at all.
LENGTHS = {3000: (1, 2, 31, 128, 1000, 2999, 3000), 100000: (1, 5, 1024, 4099, 70001)}


def lengths(most, device):
    return [n for n in LENGTHS[most] if device != "emu" or n < 5000]


def centred(x):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0).clamp_min(1e-3)


ROW_FUNCTIONS = {
    "softmax": lambda x: torch.softmax(x, -1) * 2,
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "rms_norm": lambda x: F.rms_norm(x, (x.shape[-1],), eps=1e-6),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],), eps=1e-3),
    "mean": lambda x: x.mean(-1),
    "variance": lambda x: x.var(-1, correction=0),
    "standard deviation": centred,
    "logsumexp": lambda x: x.logsumexp(-1),
    "mean of all": lambda x: x.mean(),
    "sum of all, twice": lambda x: (x.sum(), (x * x).sum()),
}


@pytest.mark.parametrize("most", LENGTHS)
@pytest.mark.parametrize("name", ROW_FUNCTIONS)
def test_rows_of_symbolic_length(name, most, device):
    function = ROW_FUNCTIONS[name]
    n = Dim("n", min=1, max=most)
    fast = compiled(function, (randn(4, 40),), ({1: n},), device)
    for length in lengths(most, device):
        x = randn(4, length)
        got = call(fast, (x,), device)
        want = function(x.double())
        for a, b in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            check(a, b, 300, scale=b.abs() + 1, what=f"{length}")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
def test_rows_of_symbolic_length_in_halves(dtype, device):
    def function(x):
        return torch.softmax(x, -1), x.amax(-1)

    fast = compiled(
        function, (randn(3, 40, dtype=dtype),), ({1: Dim("n", min=1, max=3000)},), device
    )
    for length in lengths(3000, device):
        x = randn(3, length, dtype=dtype)
        got = call(fast, (x,), device)
        check(got[0], function(x.double())[0], 4)
        assert torch.equal(got[1], x.amax(-1))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_positions_along_symbolic_axes(axis, device):
    def function(x):
        return x.argmax(axis), x.argmin(axis)

    shapes = ({0: Dim("m", min=1, max=500), 1: Dim("n", min=1, max=3000)},)
    fast = compiled(function, (randn(3, 40),), shapes, device)
    for shape in ((1, 1), (1, 700), (500, 1), (7, 2999), (33, 64)):
        x = randn(*shape).mul(4).round()  # with ties
        for got, want in zip(call(fast, (x,), device), function(x), strict=True):
            assert torch.equal(got, want)


def test_rows_and_their_length(device):
    """Parallel and reduced at once, with a weight of the length."""

    def function(x, w):
        return F.rms_norm(x, (x.shape[-1],), w, 1e-6), x.sum(0)

    m, n = Dim("m", min=1, max=5000), Dim("n", min=1, max=4000)
    fast = compiled(function, (randn(3, 40), randn(40)), ({0: m, 1: n}, {0: n}), device)
    for shape in ((1, 1), (5, 33), (300, 129), (2, 4000)):
        x, w = randn(*shape), randn(shape[1], seed=1)
        got = call(fast, (x, w), device)
        want = function(x.double(), w.double())
        check(got[0], want[0], 40, scale=want[0].abs() + 1)
        check(got[1], want[1], sum_units(shape[0]), x.double().abs().sum(0))


def test_columns_of_symbolic_length(device):
    """Axes before the last: softmax, mean and sum over it."""

    def function(x):
        return torch.softmax(x, 1), x.mean(1), x.amax((0, 1))

    fast = compiled(function, (randn(3, 40, 6),), ({1: Dim("n", min=1, max=2000)},), device)
    for length in (1, 2, 65, 2000):
        x = randn(3, length, 6)
        got = call(fast, (x,), device)
        want = function(x.double())
        check(got[0], want[0], 80)
        check(got[1], want[1], 80, scale=want[1].abs() + 1)
        assert torch.equal(got[2], x.amax((0, 1)))


def test_declared_multiples_of_rows(device):
    fast = compiled(
        lambda x: torch.softmax(x, -1),
        (randn(4, 24),),
        ({1: 8 * Dim("d", min=1, max=500)},),
        device,
    )
    for length in (16, 24, 1000, 4000):
        x = randn(4, length)
        check(call(fast, (x,), device)[0], torch.softmax(x.double(), -1), 80)


def test_rows_of_symbolic_strides_are_gathered(device):
    """The address is computed from the size of the call."""
    fast = compiled(
        lambda x, i: x[i] + 1,
        (randn(6, 9), torch.tensor([3, 1])),
        ({1: Dim("n", min=1, max=3000)}, None),
        device,
    )
    for n in (1, 8, 33, 2999):
        x, i = randn(6, n), torch.tensor([5, -1])
        assert torch.equal(call(fast, (x, i), device)[0], x[i] + 1)


def test_numbers_that_follow_from_sizes(device):
    """Negative indices count from the size of the call."""

    def function(x, i, y):
        return x.index_add(0, i, y)

    fast = compiled(
        function,
        (randn(9, 3), torch.tensor([3, -1]), randn(2, 3)),
        ({0: Dim("n", min=4, max=300)}, None, None),
        device,
    )
    for n in (4, 9, 300):
        x, i, y = randn(n, 3), torch.tensor([2, n - 1]), randn(2, 3, seed=1)
        assert torch.equal(call(fast, (x, i, y), device)[0], function(x, i, y))


def test_sizes_out_of_range_are_named(device):
    shapes = ({0: Dim("rows", min=2, max=100)},)
    fast = compiled(lambda x: x * 2, (randn(4, 8),), shapes, device)
    message = "size 'rows' is 101, but 'main' is compiled for 2 to 100"
    with pytest.raises(deplo.Error, match=message):
        call(fast, (randn(101, 8),), device)
    with pytest.raises(deplo.Error, match="size 'rows' is 1,"):
        call(fast, (randn(1, 8),), device)
    with pytest.raises(deplo.Error, match=r"has shape \(4, 9\), .* compiled for \(4, 8\)"):
        call(fast, (randn(4, 9),), device)


PRODUCTS = {
    "rows": (lambda x, w: x @ w, lambda m: ((m, 33), (33, 17)), ({0: ROWS}, None)),
    "columns": (lambda x, w: x @ w, lambda m: ((17, 33), (33, m)), (None, {1: ROWS})),
    "rows by rows": (lambda x, w: x @ w.t(), lambda m: ((m, 33), (m, 33)), ({0: ROWS}, {0: ROWS})),
    "columns of both": (lambda x, w: x.t() @ w, lambda m: ((33, m), (33, 17)), ({1: ROWS}, None)),
    "a batch": (torch.matmul, lambda m: ((m, 7, 15), (m, 15, 9)), ({0: ROWS}, {0: ROWS})),
    "rows of a batch": (torch.matmul, lambda m: ((3, m, 15), (15, 9)), ({1: ROWS}, None)),
    "an epilogue": (
        lambda x, w: F.gelu(x @ w) + x[:, :1],
        lambda m: ((m, 33), (33, 17)),
        ({0: ROWS}, None),
    ),
    "a gate": (
        lambda x, w: F.silu(x @ w) * (x @ (w * 0.5)),
        lambda m: ((m, 33), (33, 17)),
        ({0: ROWS}, None),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, device):
    """One kernel for all numbers of rows."""
    function, shapes, sizes = PRODUCTS[name]
    fast = compiled(function, [randn(*shape) for shape in shapes(8)], sizes, device)
    for count in (0, 1, 7, 33, 130) if device == "emu" or "by" in name else COUNTS:
        inputs = [randn(*shape, seed=i) for i, shape in enumerate(shapes(count))]
        (got,) = call(fast, inputs, device)
        want = function(*(x.double() for x in inputs))
        check(got, want, 64, scale=60, what=f"{name} of {count}")


@pytest.mark.parametrize(
    ("dtype", "schedule"),
    [
        (torch.float32, "block=32x32,split_k=1"),
        (torch.bfloat16, "block=32x32,warp_tile=16x16,atom=mma_sync,split_k=1"),
    ],
    ids=["f32", "bf16"],
)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["", "batch"])
def test_groups_of_rows(batch, dtype, schedule, compiler):
    """Blocks are numbered for L2, down groups of eleven rows of blocks: a low one, one, and several
    of which the last is lower."""
    n, k = 72, 40
    fast = compiled(
        torch.matmul,
        (randn(*batch, 8, k, dtype=dtype), randn(*batch, k, n, dtype=dtype)),
        ({len(batch): ROWS}, None),
        "emu",
        schedule=schedule.replace("block=", "block=1x") if batch else schedule,
    )
    assert "tile.raster = 11" in fast.ir("tile")
    w = randn(*batch, k, n, dtype=dtype, seed=1)
    for m in (0, 1, 17, 352, 1000):
        x = randn(*batch, m, k, dtype=dtype)
        (got,) = call(fast, (x, w), "emu")
        scale = x.double().abs() @ w.double().abs()
        check(got, x.double() @ w.double(), sum_units(k) + 4, scale, f"{m} rows")


def test_a_symbolic_number_of_terms_is_refused(compiler):
    with pytest.raises(deplo.Error, match=r"sums over axis 2 of size rows, .* a fixed size"):
        shapes = ({1: ROWS}, {0: ROWS})
        compiled(torch.matmul, (randn(3, 8), randn(8, 5)), shapes, "host")


def test_one_size_is_one_size(device):
    fast = compiled(lambda x, y: x + y, (randn(4, 8), randn(4, 8)), ({0: ROWS}, {0: ROWS}), device)
    with pytest.raises(deplo.Error, match=r"argument 1 .* has shape \(5, 8\), .* for \(4, 8\)"):
        call(fast, (randn(4, 8), randn(5, 8)), device)


def test_a_package_says_what_sizes_it_takes(device):
    fast = compiled(lambda x: x * 2, (randn(4, 8),), ({0: ROWS},), device)
    loaded = deplo.load(fast.package, device)
    for count in (0, 3, 1000):
        x = randn(count, 8)
        assert torch.equal(call(loaded, (x,), device)[0], x * 2)


@pytest.mark.parametrize(
    "function,message",
    [
        (lambda x: x.roll(1, 0), "only a part of rows .* compile for a fixed size"),
        (lambda x: x ** x.shape[0], "uses the size .* as a number|Constraints violated"),
        (lambda x: torch.cat([x, x[:1]]), "no product of sizes"),
    ],
)
def test_what_is_not_possible_is_one_sentence(function, message, compiler):
    with pytest.raises(deplo.Error, match=message) as error:
        shapes = ({0: Dim("rows", min=2, max=99)},)
        deplo.compile(function, (randn(8, 16),), device="host", dynamic_shapes=shapes)
    assert "\n" not in str(error.value)


def test_rows_may_not_be_empty(compiler):
    """A kernel that has results to compute would read where an empty tensor is not."""
    with pytest.raises(deplo.Error, match=r"may be none when .* declare a minimum of 1"):
        deplo.compile(
            lambda x: x.sum(0), (randn(8, 16),), device="host", dynamic_shapes=({0: ROWS},)
        )


def test_four_sizes_are_too_many(compiler):
    shapes = ({i: Dim(name) for i, name in enumerate("abcd")},)
    with pytest.raises(deplo.Error, match="a, b, c, d are known at run time only"):
        import_program(lambda x: x + 1, (randn(2, 3, 4, 5),), dynamic_shapes=shapes)


def test_three_sizes(device):
    def function(x):
        return torch.softmax(x * 2, -1), x.mean((0, 1))

    fast = compiled(
        function, (randn(2, 3, 4),), ({i: Dim(f"d{i}", min=1) for i in range(3)},), device
    )
    for shape in ((2, 3, 4), (5, 1, 130), (1, 9, 33)):
        x = randn(*shape)
        got, want = call(fast, (x,), device), function(x.double())
        check(got[0], want[0], 80)
        check(got[1], want[1], 40, scale=want[1].abs() + 1)


def test_sizes_as_numbers(device):
    def function(x):
        return x.sum(0) / x.shape[0], x * x.shape[0] + torch.arange(x.shape[0], device=x.device)[
            :, None
        ]

    fast = compiled(function, (randn(8, 3),), ({0: Dim("n", min=1, max=300)},), device)
    for n in (1, 7, 300):
        x = randn(n, 3)
        for got, want in zip(call(fast, (x,), device), function(x.double()), strict=True):
            check(got, want, 40, scale=want.abs() + n)


def test_unknown_input_name(compiler):
    with pytest.raises(deplo.Error, match="names 'y', but the inputs are x"):
        import_program(lambda x: x + 1, (randn(2, 3),), dynamic_shapes={"y": {0: ROWS}})


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_device_code_takes_sizes_as_arguments(target, compiler):
    program = import_program(
        lambda x, w: F.rms_norm(x, (300,), w) + x.amax(-1, keepdim=True),
        (randn(8, 300), randn(300)),
        dynamic_shapes=({0: ROWS}, None),
    )
    ptx = compile_ir(program.text, Options(level="ptx", target=target)).ir
    assert ".param .u64 rms_norm" in ptx
    # The number that stands for the size is nowhere in the program.
    assert str(program.sizes[0].generic) not in ptx


def test_reports_count_in_sizes(compiler):
    program = import_program(
        lambda x, w: (x * w).sum(-1),
        (randn(8, 300), randn(300)),
        dynamic_shapes=({0: ROWS}, None),
    )
    (kernel,) = compile_ir(program.text, Options(ptxas=False)).kernels
    assert kernel["bytes_read_formula"] == "1200 * rows + 1200"
    assert kernel["bytes_written_formula"] == "4 * rows"
    assert kernel["flops_formula"] == "600 * rows"


@pytest.mark.parametrize(("columns", "most"), [(64, None), (1024, 132)])
def test_reports_say_how_many_blocks_stay(columns, most, compiler):
    """There is room for all of 79 tiles, and not for 632."""
    x, w = (torch.empty(rows, 1024, dtype=torch.bfloat16) for rows in (8, columns))
    program = import_program(F.linear, (x, w), dynamic_shapes=({0: ROWS}, None))
    schedule = "atom=wgmma,block=64x128,stages=8,cluster=1,split_k=1"
    (kernel,) = compile_ir(program.text, Options(ptxas=False, schedule=schedule)).kernels
    assert (kernel["grid"][0], kernel["most_blocks"]) == (None, most)


def test_rows_up_to_the_maximum_are_one_kernel(compiler):
    """As a fixed size does: a softmax of rows that fit is read and written once."""
    program = import_program(
        lambda x: torch.softmax(x, -1) * 2,
        (randn(64, 40),),
        dynamic_shapes=({1: Dim("n", min=1, max=4096)},),
    )
    (kernel,) = compile_ir(program.text, Options(ptxas=False)).kernels
    assert kernel["bytes_read_formula"] == kernel["bytes_written_formula"] == "256 * n"
