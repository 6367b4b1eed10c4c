# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of operators that move elements: joins, pads, lookups, scatters, poolings, sorts.

Every case is a function and its inputs; the right values are PyTorch's on the
CPU. Elements that are only moved must be equal; computed ones close.
"""

import functools

import pytest
import torch
import torch.nn.functional as F
from numeric import randn, run

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program

NAN = float("nan")


def integers(*shape, low=0, high=7, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator)


X, Y = randn(7, 13), randn(7, 13, seed=1)
IMAGE, SEQUENCE, VOLUME = randn(2, 3, 11, 9), randn(2, 3, 17), randn(1, 2, 5, 6, 7)
TIES = integers(2, 3, 11, 9, high=3).float()
WITH_NAN = IMAGE.clone()
WITH_NAN[0, 0, 3, 4] = WITH_NAN[1, 2, 0, 0] = NAN
TABLE, ROWS = randn(11, 6), randn(6, 6, seed=2)
INDEX, ANY_SIGN = integers(4, 3, high=11), integers(4, 3, low=-11, high=11)
DUPLICATES = torch.tensor([3, 0, 3, 3, 7, 0])
COLUMNS = integers(5, 13)


def assign_at(x, n):
    z = x.clone()
    z[n] = 1.0
    z[:, n] = z[:, 0] * 2
    z[n, n] = 5.0
    return z


def assign_strided(x):
    z = x * 1
    z.as_strided((3, 2), (14, 3), 1).mul_(5)
    return z


def assign(x, y):
    z = x.clone()
    z[2] = y[1]
    z[:, ::3] = y[:, 1:6]
    z[z > 1.5] = 9.0
    return z


# Elements are moved, not computed with: equal bits.
MOVED = {
    "cat_rows": (lambda x, y: torch.cat([x, y, x]), X, Y),
    "cat_columns": (lambda x, y: torch.cat([x, y[:, :5]], 1), X, Y),
    "cat_of_views": (lambda x, y: torch.cat([x.t(), y[:, ::2].t()], 0), X, Y),
    "cat_of_nothing": (lambda x: torch.cat([x[:0], x, torch.ones(0)]), X),
    "cat_integers": (lambda n: torch.cat([n, n.flip(0)], 1), COLUMNS),
    "cat_bools": (lambda n: torch.cat([n > 3, n < 2]), COLUMNS),
    "cat_expanded": (lambda x: torch.cat([x, x]), X[0].expand(5, 13)),
    "part_of_cat": (lambda x, y: torch.cat([x, y], 1).chunk(3, 1)[1] * 1, X, Y),
    "stack": (lambda x, y: torch.stack([x, y], 1), X, Y),
    "stack_scalars": (lambda x: torch.stack([x[0, 0], x[1, 2]]), X),
    "pad": (lambda x: F.pad(x, (1, 2, 3, 0), value=2.5), X),
    "pad_negative": (lambda x: F.pad(x, (-1, 2), value=-1.0), X),
    "pad_bfloat16": (lambda x: F.pad(x, (1, 2)), X.bfloat16()),
    "reflect": (lambda x: F.pad(x, (2, 3, 1, 4), mode="reflect"), IMAGE),
    "replicate": (lambda x: F.pad(x, (2, 3, 1, 4), mode="replicate"), IMAGE),
    "circular": (lambda x: F.pad(x, (2, 3, 1, 4), mode="circular"), IMAGE),
    "flip": (lambda x: torch.flip(x, (0, -1)), X),
    "flip_bytes": (lambda n: torch.flip(n, (0,)), COLUMNS.to(torch.int8)),
    "rot90": (torch.rot90, X),
    "roll": (lambda x: torch.roll(x, (2, -3), (0, 1)), X),
    "roll_flat": (lambda x: torch.roll(x, 5), X),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), X),
    "tile": (lambda x: x.tile((2, 2)), X),
    "triangles": (lambda x: (torch.tril(x, 1), torch.triu(x, -2)), X),
    "diagonal": (lambda x: torch.diagonal(x, 1) * 1, X),
    "diag": (lambda x: torch.diag(x[0]), X),
    "diag_embed": (torch.diag_embed, X),
    "unfold": (lambda x: x.unfold(1, 3, 2) * 1, X),
    "im2col": (lambda x: F.unfold(x, 3, padding=1, stride=2), IMAGE),
    "as_strided": (lambda x: torch.as_strided(x * 1, (3, 4), (2, 5), 1) * 1, X),
    "reshaped_slice": (lambda x: x[3:].reshape(13, -1) * 1, X),
    "views": (lambda x: x.reshape(21, 22).t()[1:].reshape(-1, 9)[::2] * 1, IMAGE[..., :7]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), randn(2, 8, 3, 5)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 3), randn(2, 2, 6, 9)),
    "meshgrid": (lambda x: torch.meshgrid(x, x + 1, indexing="ij"), SEQUENCE[0, 0]),
    "select_scatter": (lambda x, y: torch.select_scatter(x, y[0], 0, 2), X, Y),
    "slice_scatter": (lambda x, y: torch.slice_scatter(x, y[:2], 0, 1, 5, 2), X, Y),
    "diagonal_scatter": (lambda x, y: torch.diagonal_scatter(x, y[0, :6], -1), X, Y),
    "assignments": (assign, X, Y),
    "embedding": (lambda w, n: F.embedding(n, w), TABLE, INDEX),
    "index": (lambda w, n: w[n], TABLE, ANY_SIGN),
    "index_int32": (lambda w, n: w[n], TABLE, ANY_SIGN.int()),
    "index_of_transpose": (lambda w, n: w[n], TABLE.t(), ANY_SIGN % 6),
    "index_two": (lambda x, n: x[:, n % 3, :, n % 5], IMAGE, INDEX),
    "index_neighbours": (lambda x, n: x[:, :, n % 11, (n % 5)[:1]], IMAGE, INDEX),
    "index_scalar": (lambda x, n: (x[n], x[:, n], x[-n], x[n, n + 1], x[n, 1:3]), X, INDEX[0, 0]),
    "index_scalar_beside_tensor": (lambda x, n, m: x[n, m], X, INDEX[0, 0], INDEX[0]),
    "index_select_scalar": (lambda x, n: x.index_select(1, n), X, INDEX[0, 0]),
    "assign_at_scalar": (assign_at, X, torch.tensor(-2)),
    "assign_strided": (assign_strided, X),
    "item": (lambda x, n: x + n.item(), X, INDEX[0, 0]),
    "masked_scatter": (lambda x, y: x.masked_scatter(x > 0, y), X, Y),
    "masked_scatter_broadcast": (lambda x, y: x.masked_scatter(x[:1] > 0, y.int()), X.int(), Y),
    "index_select": (lambda w, n: w.index_select(1, n % 6), TABLE, INDEX[0]),
    "gather": (lambda x, n: torch.gather(x, 0, n[:5, :9]), X, COLUMNS),
    "take_along_dim": (lambda x, n: torch.take_along_dim(x, n[:1], 0), X, COLUMNS),
    "take": (lambda x, n: torch.take(x, n), X, COLUMNS),
    "one_hot": (lambda n: F.one_hot(n, 7), COLUMNS),
    "scatter": (lambda x, n: x.scatter(0, n[:3, :11], x + 1), X, COLUMNS),
    "scatter_value": (lambda x, n: x.scatter(1, n[:5, :4], 2.5), X, COLUMNS),
    "index_put": (lambda w, n, r: w.index_put((n,), r), TABLE, DUPLICATES, ROWS),
    "index_put_column": (lambda w, n, r: w.index_put((n, n % 6), r[0]), TABLE, DUPLICATES, ROWS),
    "index_copy": (
        lambda w, n, r: w.index_copy(1, n, r[:, :3].repeat(2, 1)[:11]),
        TABLE, torch.tensor([5, 0, 2]), ROWS,
    ),
    "index_fill": (lambda w, n: w.index_fill(0, n, 2.0), TABLE, DUPLICATES),
    "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    "max_pool_dilated": (lambda x: F.max_pool2d(x, 2, 1, 0, 2), IMAGE),
    "max_pool_indices": (
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), TIES,
    ),
    "max_pool_nan": (lambda x: F.max_pool2d(x, (3, 2), 1, return_indices=True), WITH_NAN),
    "max_pool_1d": (lambda x: F.max_pool1d(x, 3, 2, 1), SEQUENCE),
    "max_pool_3d": (lambda x: F.max_pool3d(x, 2, return_indices=True), VOLUME),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, (4, 5), return_indices=True), IMAGE),
    "adaptive_max_pool_3d": (lambda x: F.adaptive_max_pool3d(x, (2, 3, 5)), VOLUME),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
    "nearest_sizes": (lambda x: F.interpolate(x, size=(7, 20)), IMAGE),
    "nearest_exact": (lambda x: F.interpolate(x, size=(7, 20), mode="nearest-exact"), IMAGE),
    "nearest_1d": (lambda x: F.interpolate(x, scale_factor=1.7), SEQUENCE),
    "nearest_3d": (lambda x: F.interpolate(x, size=(7, 3, 9)), VOLUME),
    "topk": (lambda x: torch.topk(x, 3), X),
    "topk_smallest": (lambda x: torch.topk(x, 3, 0, largest=False), X),
    "sort": (lambda x: torch.sort(x, stable=True), TIES),
    "sort_nan": (lambda x: torch.sort(x, dim=1, descending=True, stable=True), WITH_NAN),
    "sort_integers": (lambda n: torch.sort(n, stable=True, dim=0), COLUMNS),
    "argsort": (lambda x: torch.argsort(x, dim=-1, stable=True), TIES),
    "median": (lambda x: torch.median(x, 1)[0], X),
    "median_nan": (lambda x: torch.median(x, 3)[0], WITH_NAN),
    "kthvalue": (lambda x: torch.kthvalue(x, 4, 1), X),
    "linear_coordinates": (lambda x: (x + torch.arange(13), x + torch.eye(7, 13)), X),
}  # fmt: skip


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def rotary(q, k, cos, sin):
    """As in the Llama and Qwen2 models."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def reductions(x, n):
    names = ("sum", "prod", "amax", "amin", "mean")
    return tuple(
        x.scatter_reduce(1, n[:5, :9], x * 2, name, include_self=include)
        for name in names
        for include in (True, False)
    )


def index_reductions(x, n):
    return tuple(
        x.index_reduce(0, n, x[:6] * 2, name, include_self=include)
        for name in ("prod", "amax", "amin", "mean")
        for include in (True, False)
    )


COMPUTED = {
    "rotary": (rotary, randn(2, 4, 5, 8), randn(2, 1, 5, 8), randn(2, 5, 8), randn(2, 5, 8)),
    "cat_of_maps": (lambda x, y: torch.cat([torch.relu(x), y.exp()], 1), X, Y),
    "softmax_of_cat": (lambda x, y: torch.softmax(torch.cat([x, y], 1), 1), X, Y),
    "norm_of_embedding": (lambda w, n: F.rms_norm(F.embedding(n, w), (6,)), TABLE, INDEX),
    "cross_entropy": (lambda x, n: F.cross_entropy(x, n), X, torch.tensor([1, 2, 12, 0, 3, 3, 5])),
    "sum_of_diagonal": (lambda x: torch.diagonal(x, -1).sum(), X),
    "sum_of_windows": (lambda x: x.unfold(1, 3, 2).sum(-1), X),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE),
    "avg_pool_ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE),
    "avg_pool_inside": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), IMAGE,
    ),
    "avg_pool_divisor": (lambda x: F.avg_pool2d(x, (2, 3), divisor_override=5), IMAGE),
    "avg_pool_1d": (lambda x: F.avg_pool1d(x, 4, 3, 2), SEQUENCE),
    "avg_pool_3d": (lambda x: F.avg_pool3d(x, 2, 1, 1), VOLUME),
    "avg_pool_bfloat16": (lambda x: F.avg_pool2d(x, 2), IMAGE.bfloat16()),
    "adaptive_avg_pool": (lambda x: F.adaptive_avg_pool2d(x, (4, 5)), IMAGE),
    "adaptive_avg_pool_blocks": (lambda x: F.adaptive_avg_pool2d(x, (11, 3)), IMAGE),
    "global_avg_pool": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive_avg_pool_1d": (lambda x: F.adaptive_avg_pool1d(x, 5), SEQUENCE),
    "adaptive_avg_pool_3d": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 5)), VOLUME),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), IMAGE),
    "linear": (lambda x: F.interpolate(x, size=31, mode="linear"), SEQUENCE),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "bilinear_corners": (
        lambda x: F.interpolate(x, size=(7, 20), mode="bilinear", align_corners=True), IMAGE,
    ),
    "bicubic": (lambda x: F.interpolate(x, size=(7, 20), mode="bicubic"), IMAGE),
    "trilinear": (lambda x: F.interpolate(x, size=(7, 3, 9), mode="trilinear"), VOLUME),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        IMAGE, randn(2, 4, 5, 2).clamp(-1, 1),
    ),
    "fold": (lambda x: F.fold(x, (8, 8), 3, padding=1), randn(1, 18, 64)),
    "scatter_add": (lambda x, n: x.scatter_add(0, n[:5], x), X, COLUMNS),
    "scatter_reduce": (reductions, X, COLUMNS),
    "index_reduce": (index_reductions, X, DUPLICATES % 7),
    "index_add_of_itself": (
        lambda x, n: x.index_add(0, n, x), X.bfloat16(), torch.tensor([1, 3, 3, 2, 0, 6, 6]),
    ),
    "index_add": (lambda w, n, r: w.index_add(0, n, r), TABLE, DUPLICATES, ROWS),
    "index_put_sum": (
        lambda w, n, r: w.index_put((n, n % 6), r[0], accumulate=True), TABLE, DUPLICATES, ROWS,
    ),
    "linspace": (lambda x: x + torch.linspace(0, 1, 13), X),
}  # fmt: skip


def pairs(got, want):
    want = [want] if isinstance(want, torch.Tensor) else list(want)
    assert len(got) == len(want)
    return zip(got, want, strict=True)


@functools.cache
def exports_scalar_indices():
    """Whether PyTorch exports `x[n]` of a 0-d tensor `n`; older ones want its value."""
    module = torch.nn.Module()
    module.forward = lambda x, n: x[n]
    try:
        torch.export.export(module, (X, INDEX[0, 0]), strict=False)
    except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode:
        return False
    return True


WITH_SCALAR_INDICES = ("index_scalar", "index_scalar_beside_tensor", "assign_at_scalar")


@pytest.mark.parametrize("name", MOVED)
def test_moved_elements(name, device):
    if name in WITH_SCALAR_INDICES and not exports_scalar_indices():
        pytest.skip("this PyTorch exports no x[n] of a 0-d tensor n")
    function, *inputs = MOVED[name]
    for got, want in pairs(run(function, inputs, device), function(*inputs)):
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_elements(name, device):
    function, *inputs = COMPUTED[name]
    for got, want in pairs(run(function, inputs, device), function(*inputs)):
        tolerance = 1e-2 if want.dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


PTX = ("cat_columns", "reflect", "flip", "index_two", "scatter", "index_put", "max_pool_nan",
       "adaptive_max_pool_3d", "nearest_3d", "sort_nan", "views", "cat_bools")  # fmt: skip


@pytest.mark.parametrize("name", PTX)
def test_assembles_for_a_gpu(name, compiler):
    function, *inputs = MOVED[name]
    compile_ir(import_program(function, inputs).text, Options(level="ptx", target="sm_80"))


def tile_text(function, *inputs):
    text = import_program(function, inputs).text
    return compile_ir(text, Options(level="tile", target="sm_90a")).ir


def test_rotary_embedding_is_computed_where_it_is_read(compiler):
    """One kernel for q and one for k: halves are gathered, negated and multiplied."""
    text = tile_text(rotary, *COMPUTED["rotary"][1:])
    assert text.count("tile.kernel") <= 2


@pytest.mark.parametrize("axis", [0, 1])
def test_joined_rows_move_in_vectors(axis, compiler):
    """16 bytes at a time, where all parts are multiples of that."""
    text = tile_text(lambda *x: torch.cat(x, axis), *[torch.empty(64, 256)] * 8)
    assert text.count("tile.gather") == 8 and text.count(" vector 4 ") == 9


def test_embedding_rows_move_in_vectors(compiler):
    text = tile_text(lambda w, n: F.embedding(n, w), torch.empty(1000, 512), INDEX.flatten())
    assert "vector 4" in next(line for line in text.splitlines() if "tile.gather" in line)


def test_expanded_rows_beyond_2_to_31(device):
    """A row of one element, 2^32 of them by stride 0: the last is read."""
    x = torch.tensor([[3.0]]).expand(2**32, 1)
    n = torch.tensor([2**32 - 1, -1, 5])
    (got,) = run(lambda x, n: x[n], (x, n), device)
    assert got.flatten().tolist() == [3.0, 3.0, 3.0]


def test_index_add_on_an_expanded_tensor(device):
    x = torch.zeros(1, 8)
    inputs = (x, torch.tensor([0, 1, 0]), torch.ones(3, 8))
    (got,) = run(lambda x, n, s: x.expand(4, -1).index_add(0, n, s), inputs, device)
    assert got[:, 0].tolist() == [2, 1, 0, 0]


def test_strides_are_observed(device):
    """PyTorch 133516: the view of every other element, changed, seen through its strides."""

    def function(zero):
        x = torch.arange(10.0)[::2]
        x += 1
        return torch.as_strided_copy(x, (3,), (2,)) + zero

    (got,) = run(function, (torch.zeros(1),), device)
    assert got.tolist() == [1, 3, 5]


@pytest.mark.parametrize("size", [1025, 2048, 5001])
def test_rows_that_are_merged_of_sorted_pieces(size, device):
    """Stable, NaN last, whatever is left of the last piece."""
    if device == "emu" and size > 1025:
        pytest.skip("takes the emulator minutes")
    x = randn(2, size).mul(size / 100).round()
    x[0, size // 2] = x[1, 3] = x[1, -1] = NAN

    def function(x):
        return (
            torch.sort(x, stable=True),
            torch.sort(x, stable=True, descending=True),
            torch.topk(x.nan_to_num(), 9)[0],
            torch.kthvalue(x, size // 3)[0],
        )

    got = run(function, (x,), device)
    want = [t for r in function(x) for t in ([r] if isinstance(r, torch.Tensor) else r)]
    for result, right in zip(got, want, strict=True):
        torch.testing.assert_close(result, right, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool])
def test_scattered_integers(dtype, device):
    """Every reduction, wrapping as PyTorch wraps; of unsigned bytes by their size."""
    x = integers(7, 13, high=250).to(dtype)
    names = ("sum", "prod", "amax", "amin") + (("mean",) if dtype != torch.bool else ())

    def function(x, n):
        return [
            x.scatter_reduce(1, n[:, :9], x.flip(0), name, include_self=include)
            for name in names
            for include in (True, False)
        ]

    n = integers(7, 13, high=4)
    for got, want in zip(run(function, (x, n), device), function(x, n), strict=True):
        assert torch.equal(got, want)


def test_rows_2_to_31_elements_apart(device):
    """Offsets in 64 bits, of inputs that are mostly memory nobody touches."""
    if device != "host":
        pytest.skip("the buffer has 2 GiB, of which other devices would make a copy")
    storage = torch.empty(2**31 + 1024, dtype=torch.int8)
    x = torch.as_strided(storage, (2, 1000), (2**31, 1))
    x[0], x[1] = 3, torch.arange(1000) % 100
    n = torch.tensor([1, 0, -1])
    got = run(lambda x, n: (x + 1, x[n], x.sum(1), x.amax(0)), (x, n), device)
    for result, want in zip(got, (x + 1, x[n], x.sum(1), x.amax(0)), strict=True):
        assert torch.equal(result, want)


@pytest.mark.parametrize("index", [11, -12, 2**40, -(2**63), 2**63 - 1])
def test_index_out_of_range_gives_zero(index, device):
    (got,) = run(lambda w, n: w[n], (TABLE, torch.tensor([1, index])), device)
    assert torch.equal(got[0], TABLE[1]) and torch.equal(got[1], torch.zeros(6))


def test_scatter_is_the_same_twice(device):
    n, source = integers(400, high=5), randn(400)
    first, second = (
        run(lambda n, s: torch.zeros(5).index_add(0, n, s), (n, source), device)[0] for _ in "12"
    )
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    "function,sentence",
    [
        (lambda x: (x * 1)[x > 0], "depends on the values of a tensor"),
        (lambda x: (x * 1).as_strided((3,), (8000,)), "reaches beyond the tensor"),
        (lambda x: x.as_strided((3,), (1,)), "pass the whole tensor"),
    ],
)
def test_refusals(function, sentence):
    with pytest.raises(deplo.Error, match=sentence):
        import_program(function, (torch.ones(5001)[1:],))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (1, 257), (33, 1)])
def test_odd_sizes(shape, device):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(5))

    def function(x):
        return (
            torch.cat([x, x], 0),
            torch.flip(x, (0, 1)),
            F.pad(x, (1, 1)),
            torch.roll(x, 1, 0),
            torch.tril(x),
        )

    for got, want in pairs(run(function, (x,), device), function(x)):
        torch.testing.assert_close(got, want, rtol=0, atol=0)
