# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handlers of losses that PyTorch does not decompose into other operators well."""

import torch

from .builder import Value
from .registry import Context, handles
from .scalars import Region, Scalar

aten = torch.ops.aten
_NONE, _MEAN = 0, 1


@handles(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss(
    c: Context, x: Value, target: Value, weight: Value | None, reduction: int, ignored: int
) -> tuple[Value | None, ...]:
    """-x[target] * weight[target], the element chosen by a masked sum over the classes:
    where x was computed in the same kernel, it is read from registers."""
    axis = 0 if len(x.shape) == 1 else 1
    classes = [1] * len(x.shape)
    classes[axis] = x.shape[axis]
    labels = c.b.reshape(target, [1 if i == axis else n for i, n in enumerate(x.shape)])

    def chosen(values: Value) -> Value:
        def formula(s: Region, value: Scalar, label: Scalar) -> Scalar:
            is_chosen = label.equals(s.convert(s.index(axis), label.dtype))
            return s.select(is_chosen & label.differs(ignored), s.convert(value, "f32"), 0.0)

        return c.b.reduction("sum", c.b.map(formula, [values, labels], "f32"), [axis], False)

    if weight is None:
        of_label = c.b.map(lambda s, a: a.differs(ignored), [target], "f32")
    else:
        weights = c.b.expand(c.b.reshape(weight, classes), x.shape)
        of_label = chosen(weights)
    losses = c.b.unary("neg", chosen(x))
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
