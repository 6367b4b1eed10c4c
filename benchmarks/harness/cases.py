# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suites of cases: an expression of PyTorch on standard normal inputs a, b, c, ..., or a layer
of a model on one input."""

import json
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from .decoder_layers import MODELS, decoder_layer

SUITES = Path(__file__).resolve().parent.parent / "suites"
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
_NAMES = "abcdefgh"


@dataclass(frozen=True)
class Indices:
    """An input of i64 numbers from 0 to below - 1, all equally likely."""

    shape: tuple[int, ...]
    below: int

    @staticmethod
    def parse(text: list[int] | dict[str, Any]) -> "tuple[int, ...] | Indices":
        """An input of a suite: a shape, or {"shape": ..., "below": ...}."""
        if isinstance(text, dict):
            return Indices(tuple(text["shape"]), text["below"])
        return tuple(text)


@dataclass(frozen=True)
class Case:
    """Attributes:
    family: what the summary groups by.
    inputs: shapes of a, b, c, ..., or what indices they hold.
    expr: over a, b, c, ... with torch, F and math in scope.
    layer: in place of an expression the model whose decoder layer it is.
    """

    name: str
    family: str
    inputs: tuple[tuple[int, ...] | Indices, ...]
    expr: str = ""
    layer: str = ""

    @property
    def names(self) -> list[str]:
        return list(_NAMES[: len(self.inputs)])

    def function(
        self, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> Callable[..., torch.Tensor]:
        """The expression as a function of its inputs, or the layer, with weights of `dtype`."""
        if self.layer:
            return decoder_layer(*MODELS[self.layer], dtype, device)
        scope = {"torch": torch, "F": F, "math": math}
        return eval(f"lambda {', '.join(self.names)}: {self.expr}", scope)

    def random_inputs(self, dtype: torch.dtype, device: str) -> list[torch.Tensor]:
        """Standard normal, the same for every contender and every run."""
        generator = torch.Generator(device).manual_seed(zlib.crc32(self.name.encode()))
        return [
            torch.randint(i.below, i.shape, generator=generator, device=device)
            if isinstance(i, Indices)
            else torch.randn(i, generator=generator, device=device).to(dtype)
            for i in self.inputs
        ]

    def empty_inputs(self, dtype: torch.dtype, device: str = "cpu") -> list[torch.Tensor]:
        return [
            torch.empty(i.shape, dtype=torch.int64, device=device)
            if isinstance(i, Indices)
            else torch.empty(i, dtype=dtype, device=device)
            for i in self.inputs
        ]

    def size(self, dtype: torch.dtype) -> tuple[int, int]:
        """(bytes, operations), without running anything.

        The bytes are the fewest that memory must move: each input and weight read
        once, the output written once. The operations are those of contractions.
        """
        inputs = self.empty_inputs(dtype, "meta")
        function = self.function(dtype, "meta")
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            output = function(*inputs)
        tensors = [*inputs, output]
        if isinstance(function, nn.Module):
            tensors += function.parameters()
        moved = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return moved, counter.get_total_flops()

    def float64(self, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """What is right: PyTorch in float64 on the same inputs, where they are."""
        function = self.function(inputs[0].dtype, inputs[0].device)
        if isinstance(function, nn.Module):
            function = function.double()
        with torch.no_grad():
            return function(*[t.double() if t.is_floating_point() else t for t in inputs])


def load_suite(name: str, pattern: str = "") -> list[Case]:
    """The cases of suites/<name>.json whose names hold the regular expression `pattern`.

    Raises:
        ValueError: there is no such suite, or a case in it is malformed.
    """
    path = SUITES / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in SUITES.glob("*.json")))
        raise ValueError(f"there is no suite '{name}'; there are {known}")
    cases = [
        Case(**(c | {"inputs": tuple(map(Indices.parse, c["inputs"]))}))
        for c in json.loads(path.read_text())["cases"]
    ]
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"suite '{name}' has more than one case named {', '.join(twice)}")
    return [case for case in cases if re.search(pattern, case.name)]


def suites() -> list[str]:
    return sorted(path.stem for path in SUITES.glob("*.json"))
