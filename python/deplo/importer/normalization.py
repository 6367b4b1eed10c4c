# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of normalisations by statistics of groups and channels, in f32."""

import math

import torch

from .builder import Value
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten


def _affine(c: Context, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """x * weight + bias with a factor and a summand for each channel, axis 1; rounded."""
    channels = (x.shape[1],) + (1,) * (len(x.shape) - 2)
    if weight is not None:
        x = c.b.binary("mul", x, c.b.reshape(c.tensor(weight, "f32"), channels))
    if bias is not None:
        x = c.b.binary("add", x, c.b.reshape(c.tensor(bias, "f32"), channels))
    return c.rounded(c.b.reshape(x, c.shape))


def _statistics(c: Context, x: Value, axes: list[int], eps: float) -> tuple[Value, Value, Value]:
    """Mean, biased variance and 1 / sqrt(variance + eps) over `axes`, of size 1 there."""
    mean = c.b.reduction("mean", x, axes, True)
    variance = c.b.variance(x, axes, 0.0, True)
    return mean, variance, c.b.unary("rsqrt", c.b.binary("add", variance, eps))


def _normalized_rows(c: Context, x: Value, eps: float) -> Value:
    return c.b.norm("layer_norm", x, None, None, 1, eps)


@handles(aten.native_group_norm.default)
def group_norm(
    c: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    batch: int,
    channels: int,
    size: int,
    groups: int,
    eps: float,
) -> tuple[Value | None, ...]:
    (wide,) = c.f32(x)
    rows = c.b.reshape(wide, (batch, groups, channels // groups * size))
    normalized = c.b.reshape(_normalized_rows(c, rows, eps), (batch, channels, size))
    result = _affine(c, normalized, weight, bias)
    if not c.used & {1, 2}:
        return result, None, None
    mean, _, scale = _statistics(c, rows, [2], eps)
    kept = [c.b.cast(c.b.reshape(v, (batch, groups)), c.dtype) for v in (mean, scale)]
    return (result, *kept)


def _channel_axes(x: Value) -> list[int]:
    return [axis for axis in range(len(x.shape)) if axis != 1]


def _by_statistics(
    c: Context, x: Value, mean: Value, scale: Value, weight: Value | None, bias: Value | None
) -> Value:
    centered = c.b.binary("sub", x, mean)
    return _affine(c, c.b.binary("mul", centered, scale), weight, bias)


@handles(aten._native_batch_norm_legit_no_training.default)
def batch_norm(
    c: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> tuple[Value | None, ...]:
    (wide,) = c.f32(x)
    channels = (x.shape[1],) + (1,) * (len(x.shape) - 2)
    mean, variance = (c.b.reshape(v, channels) for v in c.f32(mean, variance))
    scale = c.b.unary("rsqrt", c.b.binary("add", variance, eps))
    return _by_statistics(c, wide, mean, scale, weight, bias), None, None


@handles(aten._native_batch_norm_legit.no_stats)
def batch_norm_of_batch(
    c: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value | None, ...]:
    """Also what instance_norm is, on a batch of one with more channels."""
    (wide,) = c.f32(x)
    if x.shape[0] == 1 and not c.used & {1, 2}:
        rows = c.b.reshape(wide, (1, x.shape[1], math.prod(x.shape[2:])))
        return _affine(c, _normalized_rows(c, rows, eps), weight, bias), None, None
    mean, _, scale = _statistics(c, wide, _channel_axes(x), eps)
    kept = [c.b.reshape(v, (x.shape[1],)) for v in (mean, scale)]
    return (_by_statistics(c, wide, mean, scale, weight, bias), *kept)


@handles(aten._native_batch_norm_legit_functional.default)
def batch_norm_training(
    c: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_variance: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value | None, ...]:
    """Also the running statistics, moved towards the batch's by `momentum`."""
    (wide,) = c.f32(x)
    axes = _channel_axes(x)
    mean, variance, scale = _statistics(c, wide, axes, eps)
    count = math.prod(x.shape[axis] for axis in axes)
    flat = [c.b.reshape(v, (x.shape[1],)) for v in (mean, scale, variance)]

    def corrected(s: Region, biased: Scalar) -> Scalar:
        n = s.constant(count, "f32")
        return biased * (n / s.max(n - 1, 1))

    unbiased = c.b.map(corrected, [flat[2]], "f32")

    def moved(running: Value, batch: Value) -> Value:
        (old,) = c.f32(running)
        step = c.b.binary("mul", batch, momentum)
        result = c.b.binary("add", c.b.binary("mul", old, 1 - momentum), step)
        return c.b.cast(result, running.dtype)

    return (
        _by_statistics(c, wide, mean, scale, weight, bias),
        flat[0],
        flat[1],
        moved(running_mean, flat[0]),
        moved(running_variance, unbiased),
    )
