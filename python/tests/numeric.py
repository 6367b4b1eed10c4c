# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled values against PyTorch in float64, within stated bounds.

Bounds are in units of 2**-24, the unit roundoff of f32. Results in f16 and
bf16 may be off by their own rounding (half an ulp, for every element) on top.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

import deplo
from deplo import compilation
from deplo.importer import import_program

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
DTYPE_IDS = ["f32", "f16", "bf16"]
UNIT = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
SMALLEST = {torch.float32: 2.0**-149, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133}
F32 = UNIT[torch.float32]


def randn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def wide(*shape: int, spread: int, seed: int) -> torch.Tensor:
    """Numbers of magnitudes from 2**-spread to 2**spread."""
    exponents = torch.randint(
        -spread, spread + 1, shape, generator=torch.Generator().manual_seed(seed)
    )
    return torch.ldexp(randn(*shape, seed=seed), exponents)


def product_of_form(form: str, m: int, n: int, k: int) -> tuple[Callable, tuple]:
    """An m x n product of f32 over k, and its inputs: each as it is, "N", or, "T",
    transposed in the program, not by strides of an input."""

    def product(x, w):
        return (x.t() if form[0] == "T" else x) @ (w.t() if form[1] == "T" else w)

    x = randn(k, m) if form[0] == "T" else randn(m, k)
    w = randn(n, k, seed=1) if form[1] == "T" else randn(k, n, seed=1)
    return product, (x, w)


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    """Of the norms."""
    return ((got.double() - want).norm() / want.norm()).item()


def get_kernels(function: Callable, inputs: Sequence, **options: Any) -> list[dict[str, Any]]:
    """What the report says of the kernels for sm_90a."""
    program = import_program(function, inputs)
    options = compilation.Options(target="sm_90a", level="tile", **options)
    return compilation.compile_ir(program.text, options).kernels


def run(
    function: Callable, inputs: Sequence[torch.Tensor], device: str, **options
) -> list[torch.Tensor]:
    """The flat results of the compiled function, on the CPU."""
    place = "cuda" if device == "cuda" else "cpu"
    inputs = [move(x, place) for x in inputs]

    def on_place(*arguments: torch.Tensor) -> Any:
        """New tensors of the function are where its inputs are."""
        with torch.device(place):
            return function(*arguments)

    source = function if place == "cpu" else on_place
    results = deplo.compile(source, inputs, device=device, **options)(*inputs)
    return [leaf.cpu() for leaf in pytree.tree_leaves(results)]


def move(x: torch.Tensor, place: str) -> torch.Tensor:
    """`x` on another device with the same strides."""
    if x.is_contiguous() or place == "cpu":
        return x.to(place)
    size = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
    flat = torch.as_strided(x, (size,), (1,), x.storage_offset()).to(place)
    return torch.as_strided(flat, x.shape, x.stride())


def compile_for_gpu(
    function: Callable, inputs: Sequence[torch.Tensor], device: str, **options: Any
) -> None:
    """Where values are checked on the host: the GPU's program assembles as well."""
    if device == "host":
        text = import_program(function, inputs).text
        result = compilation.try_compile(text, compilation.Options(level="package", **options))
        if result.error and "ptxas was not found" in result.error:
            result = compilation.try_compile(text, compilation.Options(ptxas=False, **options))
        assert result.error is None, result.error
        assert not any(kernel["spill_bytes"] for kernel in result.kernels), "registers spill"


def wanted(function: Callable, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The flat results of PyTorch in float64 on the CPU."""
    return pytree.tree_leaves(function(*[x.double() for x in inputs]))


def check(
    got: torch.Tensor,
    want: torch.Tensor,
    units: float,
    scale: torch.Tensor | float | None = None,
    what: str = "",
) -> None:
    """|got - want| <= units * 2**-24 * scale, plus one rounding where not f32.

    Args:
        scale: default, |want| element by element.
    """
    assert got.shape == want.shape, f"{what}: shape {tuple(got.shape)}, not {tuple(want.shape)}"
    got64 = got.double()
    assert torch.equal(got64.isnan(), want.isnan()), f"{what}: NaN in other places"
    finite = torch.isfinite(want)
    limit = torch.finfo(got.dtype).max
    fits = finite & (want.abs() <= limit)
    assert torch.equal(got64[~finite & ~want.isnan()], want[~finite & ~want.isnan()]), what
    bound = units * F32 * (want.abs() if scale is None else torch.as_tensor(scale).expand_as(want))
    bound = bound + SMALLEST[got.dtype]
    if got.dtype != torch.float32:
        bound = bound + UNIT[got.dtype] * (want.abs() + bound)
    excess = ((got64 - want).abs() - bound)[fits]
    if excess.numel() and excess.max() > 0:
        worst = excess.argmax()
        raise AssertionError(
            f"{what}: got {got64[fits][worst]:.9g}, want {want[fits][worst]:.9g}, "
            f"off by {(got64 - want).abs()[fits][worst]:.3g}, allowed {bound[fits][worst]:.3g}"
        )


def sum_units(size: int) -> float:
    """Bound of a pairwise sum of `size` terms, in units of sum(|terms|)."""
    return math.ceil(math.log2(max(size, 2))) + 8
