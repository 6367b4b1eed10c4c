# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value a program should have: PyTorch on the CPU in float64."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter
from torch.utils import _pytree as pytree

aten = torch.ops.aten
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in _FLOATS:
        return value.detach().cpu().double()
    return value


class _Float64(Interpreter):
    """Runs an exported graph in float64; explicit casts still round."""

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        kwargs = {k: v for k, v in kwargs.items() if k != "device"}
        if target is aten._assert_tensor_metadata.default:
            return None
        if target is aten._to_copy.default and kwargs.get("dtype") in _FLOATS:
            return args[0].to(kwargs["dtype"]).double()
        if kwargs.get("dtype") in _FLOATS or (
            target is aten.full.default and "dtype" not in kwargs
        ):
            kwargs["dtype"] = torch.float64
        if target is aten.rms_norm.default and (len(args) < 4 or args[3] is None):
            # Without eps PyTorch takes the epsilon of f32, not that of float64.
            eps = torch.finfo(torch.float32).eps
            args = (*args[:2], args[2] if len(args) > 2 else None, eps)
        return super().call_function(target, args, kwargs)


def reference(program: ExportedProgram, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The flat outputs of an exported program, parameters as they are now."""
    remaining = iter(inputs)
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            values.append(next(remaining))
        elif spec.target in program.state_dict:
            values.append(program.state_dict[spec.target])
        else:
            values.append(program.constants[spec.target])
    with torch.no_grad():
        outputs = _Float64(program.graph_module).run(*[_widened(value) for value in values])
    return [value for value in pytree.tree_leaves(outputs) if isinstance(value, torch.Tensor)]


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    """max|got - want| / max|want| over finite places; inf where the others differ."""
    got, want = got.detach().cpu().double(), want.detach().cpu().double()
    finite = torch.isfinite(want)
    same = torch.equal(torch.isnan(got), torch.isnan(want)) and torch.equal(
        got[torch.isinf(want)], want[torch.isinf(want)]
    )
    if not same:
        return float("inf")
    if not finite.any():
        return 0.0
    difference = (got - want)[finite].abs().max().item()
    scale = want[finite].abs().max().item()
    return difference / scale if scale else difference
