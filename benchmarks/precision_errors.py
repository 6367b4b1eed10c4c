# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of products of f32 in each precision mode, against float64.

    python benchmarks/precision_errors.py [--device cuda|emu|host] [--size 512] [K ...]

Prints the table of docs/rationale/precision-modes.md: ||error|| / ||result||,
beside PyTorch's on the CPU, and on the GPU's device.
"""

import argparse

import torch

import deplo

MODES = ("ieee", "f32", "tf32")


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

    def get(self, kind: str, size: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Both have their rows along K."""
        shape = size, k
        if kind == "positive":
            return self.uniform(*shape), self.uniform(*shape)
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


KINDS = ("normal", "positive", "wide", "rows", "depth", "tiny", "subnormal")


def get_error(got: torch.Tensor, want: torch.Tensor) -> float:
    return ((got.cpu().double() - want).norm() / want.norm()).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "emu", "host"], default="emu")
    parser.add_argument("--size", type=int, default=512, help="rows and columns of the result")
    parser.add_argument("k", nargs="*", type=int, default=[64, 512, 4096, 16384])
    arguments = parser.parse_args()
    place = "cuda" if arguments.device == "cuda" else "cpu"
    peers = ["PyTorch CPU"] + ["cuBLAS"] * (place == "cuda")
    print("| products | data |", " | ".join([f"`{mode}`" for mode in MODES] + peers), "|")
    print("|---|---|" + "---|" * (len(MODES) + len(peers)))
    for k in arguments.k:
        data = Data()
        example = (
            torch.empty(arguments.size, k, device=place),
            torch.empty(arguments.size, k, device=place),
        )
        compiled = {
            mode: deplo.compile(
                lambda x, y: x @ y.t(), example, device=arguments.device, precision=mode
            )
            for mode in MODES
        }
        for kind in KINDS:
            x, y = data.get(kind, arguments.size, k)
            want = x.double() @ y.double().t()
            moved = x.to(place), y.to(place)
            results = [compiled[mode](*moved) for mode in MODES] + [x @ y.t()]
            if place == "cuda":
                results.append(moved[0] @ moved[1].t())
            errors = " | ".join(f"{get_error(result, want):.1e}" for result in results)
            print(f"| {k} | {kind} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
