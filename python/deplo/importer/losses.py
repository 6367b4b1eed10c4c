# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of losses that PyTorch does not decompose into other operators well."""

import torch

from .builder import Value
from .gathers import Source, dims, gather
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten
_NONE, _MEAN = 0, 1


@handles(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss(
    c: Context, x: Value, target: Value, weight: Value | None, reduction: int, ignored: int
) -> tuple[Value | None, ...]:
    """-x[target] * weight[target], 0 for targets that are ignored or no class: elements are
    gathered, which moves before what computes x."""
    axis = 0 if len(x.shape) == 1 else 1

    def chosen(values: Value, coordinates: list[str]) -> Value:
        of_class = gather(c.b, target.shape, [Source(values, coordinates)], [target])

        def formula(s: Region, value: Scalar, label: Scalar) -> Scalar:
            return s.select(label.differs(ignored), s.convert(value, "f32"), 0.0)

        return c.b.map(formula, [of_class, target], "f32")

    if weight is None:
        of_label = c.b.map(lambda s, a: a.differs(ignored), [target], "f32")
    else:
        of_label = chosen(weight, ["s0"])
    places = dims(len(target.shape))
    losses = c.b.unary("neg", chosen(x, [*places[:axis], "s0", *places[axis:]]))
    if weight is not None:
        losses = c.b.binary("mul", losses, of_label)
    if reduction == _NONE:
        return c.rounded(losses), c.b.constant(0, c.dtype)
    axes = list(range(len(losses.shape)))

    def total(values: Value) -> Value:
        return c.b.reduction("sum", values, axes, False) if axes else values

    weight_sum = total(of_label)
    loss = total(losses)
    if reduction == _MEAN:
        loss = c.b.binary("div", loss, weight_sum)
    return c.rounded(loss), c.b.cast(weight_sum, c.dtype)
