# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case from its expression to a row: compile, check, time."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch

import deplo
from deplo.compiler import default_target

from .cases import DTYPES, Case
from .contenders import Deplo, PyTorch
from .errors import is_right, relative_error
from .measure import Contender, measure
from .results import Row
from .roofline import least_us


@dataclass(frozen=True)
class Settings:
    """Attributes:
    device: "cuda" or "host".
    torch_compile: time torch.compile as well.
    all_peers: time PyTorch also where deplo has no right result.
    schedule: pins of deplo's schedules.
    precision: what deplo may compute products of f32 in.
    """

    dtype: str
    device: str
    torch_compile: bool = True
    all_peers: bool = False
    schedule: str = ""
    precision: str = "f32"

    @property
    def precision_of_products(self) -> str:
        return self.precision if self.dtype == "f32" else self.dtype


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, deplo.Error) else f"{type(error).__name__}: {text}"


def run_case(case: Case, settings: Settings) -> Row:
    """Never raises because of what deplo or torch.compile do: the row says it."""
    dtype = DTYPES[settings.dtype]
    row = Row(case.name, case.family, settings.dtype, settings.precision_of_products, "ok")
    row.bytes, contractions = case.size(dtype)
    row.flops = float(contractions) if contractions else None
    device = "cuda" if settings.device == "cuda" else "cpu"
    function = case.function(dtype, device)
    inputs = case.random_inputs(dtype, device)
    mine = None
    try:
        mine = Deplo(function, inputs, settings.schedule, settings.precision)
    except Exception as error:
        row.status = _one_line(error)
    if mine is None and not settings.all_peers:
        return row

    want = case.float64(inputs)
    contenders: dict[str, Contender] = {}
    eager = PyTorch(function)
    row.eager_err = relative_error(eager.checked_run(inputs), want)
    contenders["eager"] = eager.calls
    if settings.torch_compile:
        compiled = PyTorch(function, compiled=True)
        try:
            row.compile_err = relative_error(compiled.checked_run(inputs), want)
            contenders["compile"] = compiled.calls
        except Exception as error:
            print(f"{case.name}: torch.compile: {_one_line(error)[:200]}", file=sys.stderr)
    if mine is not None:
        if row.flops is None:
            row.flops = mine.flops
        try:
            row.status = _verdict(row, mine, inputs, want)
        except Exception as error:
            row.status = _one_line(error)
        if row.status == "ok":
            contenders = {"deplo": mine.calls, **contenders}
    del want
    if row.status == "ok" or settings.all_peers:
        for name, times in measure(contenders, inputs, row.bytes).items():
            setattr(row, f"{name}_us", times.warm)
            setattr(row, f"{name}_cold_us", times.cold)
    if row.status == "ok" and settings.device == "cuda":
        row.status = _plausible(row, default_target())
    return row


def _plausible(row: Row, chip: str) -> str:
    """ "ok", or which time is less than what memory and arithmetic take."""
    for name in ("deplo", "eager", "compile"):
        for suffix, cold in (("us", False), ("cold_us", True)):
            measured = getattr(row, f"{name}_{suffix}")
            least = least_us(row.bytes, row.flops, row.dtype, chip, cold, row.precision)
            if measured is not None and measured < least:
                return (
                    f"refused: {name}_{suffix} is {measured:.2f}, less than the {least:.2f} "
                    f"that {chip} takes for {row.bytes} bytes and {row.flops} operations"
                )
    return "ok"


def _verdict(row: Row, mine: Deplo, inputs: Sequence[torch.Tensor], want: torch.Tensor) -> str:
    """Runs deplo twice, notes the error, and says "ok" or what is wrong."""
    result = mine.checked_run(inputs)
    row.deplo_err = relative_error(result, want)
    if math.isinf(row.deplo_err):
        return "wrong: elements not written, or NaN or infinity where float64 has none"
    if not is_right(row.deplo_err, row.eager_err or 0.0, row.dtype):
        return f"wrong: error {row.deplo_err:.2e}, PyTorch {row.eager_err:.2e}"
    if not _same_bits(result, mine.checked_run(inputs)):
        return "wrong: two runs gave different bits"
    return "ok"


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    integers = {8: torch.int64, 4: torch.int32, 2: torch.int16}[a.element_size()]
    return torch.equal(a.view(integers), b.view(integers))
