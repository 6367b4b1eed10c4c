# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of products of f32 in each precision mode, against float64.

    python benchmarks/precision_errors.py [--device cuda|emu|host] [--size 512]
                                          [--json FILE] [K ...]

Prints the table of docs/rationale/precision-modes.md: ||error|| / ||result||,
beside PyTorch's on the CPU, and on the GPU's device. Rows `special` count the
elements that are infinite or NaN where the product in float64, rounded to f32,
isn't, or the other way round.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch

import deplo

# Name, precision and schedule. Tensor cores of both kinds, whichever the model
# would choose.
MODES = (
    ("ieee", "ieee", ""),
    ("f32 mma", "f32", "atom=mma_sync"),
    ("f32 wgmma", "f32", "atom=wgmma"),
    ("f32-fast", "f32-fast", "atom=wgmma"),
    ("tf32", "tf32", ""),
)


class Data:
    """Factors of all kinds, the same in each run."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator)

    def uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator)

    def powers(self, *shape: int, spread: int) -> torch.Tensor:
        """Powers of two from 2**-spread to 2**spread."""
        exponents = torch.randint(-spread, spread + 1, shape, generator=self.generator)
        return torch.ldexp(torch.ones(shape), exponents)

    def special(self, *shape: int) -> torch.Tensor:
        """One row in eight has one of the values that f32 treats apart."""
        x = self.normal(*shape)
        largest = torch.finfo(torch.float32).max
        for i, value in enumerate((torch.inf, -torch.inf, torch.nan, largest, 0.0, 2.0**-149)):
            rows = torch.arange(8 * i, shape[0], 8 * 6)
            columns = torch.randint(0, shape[1], rows.shape, generator=self.generator)
            x[rows, columns] = value
        return x

    def get(self, kind: str, size: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Both have their rows along K."""
        shape = size, k
        if kind == "positive":
            return self.uniform(*shape), self.uniform(*shape)
        if kind == "special":
            return self.special(*shape), self.special(*shape)
        x, y = self.normal(*shape), self.normal(*shape)
        if kind == "wide":
            return x * self.powers(*shape, spread=30), y * self.powers(*shape, spread=30)
        if kind == "rows":
            return x * self.powers(size, 1, spread=20), y * self.powers(size, 1, spread=20)
        if kind == "depth":
            scale = self.powers(1, k, spread=10)
            return x * scale, y / scale
        if kind == "tiny":
            return x * 2.0**-120, y
        if kind == "subnormal":
            return x * 2.0**-130, y * 2.0**60
        return x, y


KINDS = ("normal", "positive", "wide", "rows", "depth", "tiny", "subnormal", "special")


def get_error(got: torch.Tensor, want: torch.Tensor) -> float:
    return ((got.cpu().double() - want).norm() / want.norm()).item()


def count_wrong_classes(got: torch.Tensor, want: torch.Tensor) -> int:
    got, want = got.cpu(), want.float()
    same = (got == want) | (got.isfinite() & want.isfinite()) | (got.isnan() & want.isnan())
    return int((~same).sum())


def compile_modes(
    size: int, k: int, device: str, place: str
) -> dict[str, Callable[..., torch.Tensor]]:
    example = torch.empty(size, k, device=place), torch.empty(size, k, device=place)
    compiled = {}
    for name, precision, schedule in MODES:
        if schedule and device == "host":
            continue  # which has no schedule
        compiled[name] = deplo.compile(
            lambda x, y: x @ y.t(),
            example,
            device=device,
            precision=precision,
            schedule=schedule,
        )
    return compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "emu", "host"], default="emu")
    parser.add_argument("--size", type=int, default=512, help="rows and columns of the result")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    parser.add_argument("k", nargs="*", type=int, default=[64, 512, 4096, 16384])
    arguments = parser.parse_args()
    place = "cuda" if arguments.device == "cuda" else "cpu"
    rows: list[dict] = []
    for k in arguments.k:
        data = Data()
        compiled = compile_modes(arguments.size, k, arguments.device, place)
        if not rows:
            names = [f"`{name}`" for name in compiled]
            names += ["PyTorch CPU"] + ["cuBLAS"] * (place == "cuda")
            print("| products | data |", " | ".join(names), "|")
            print("|---|---|" + "---|" * len(names))
        for kind in KINDS:
            x, y = data.get(kind, arguments.size, k)
            want = x.double() @ y.double().t()
            moved = x.to(place), y.to(place)
            results = {name: function(*moved) for name, function in compiled.items()}
            results["PyTorch CPU"] = x @ y.t()
            if place == "cuda":
                results["cuBLAS"] = moved[0] @ moved[1].t()
            if kind == "special":
                figures = {name: count_wrong_classes(got, want) for name, got in results.items()}
                cells = [str(figure) for figure in figures.values()]
            else:
                figures = {name: get_error(got, want) for name, got in results.items()}
                cells = [f"{figure:.1e}" for figure in figures.values()]
            print(f"| {k} | {kind} |", " | ".join(cells), "|", flush=True)
            rows.append({"products": k, "data": kind, **figures})
            if arguments.json:
                machine = torch.cuda.get_device_name() if place == "cuda" else arguments.device
                table = {"device": machine, "size": arguments.size, "rows": rows}
                arguments.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
