# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that each call of a package gives: from the shapes of its arguments, and back.

In a package such a size is a generic number; every multiple of it stands for that
multiple of the size.
"""

from collections.abc import Sequence
from typing import Any

from .errors import Error


class CallSizes:
    """The sizes of one package.

    Attributes:
        names: of the sizes, in the order of the package.
    """

    def __init__(self, manifest: dict[str, Any]) -> None:
        sizes = manifest.get("sizes", [])
        self.names = [size["name"] for size in sizes]
        self._generics = [size["generic"] for size in sizes]

    def __bool__(self) -> bool:
        return bool(self.names)

    def evaluate(self, numbers: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
        """What `numbers` of the package are for these sizes."""
        results = []
        for number in numbers:
            factor = 1
            for generic, value in zip(self._generics, values, strict=True):
                while number and number % generic == 0:
                    number //= generic
                    factor *= value
            results.append(number * factor)
        return tuple(results)

    def bind(self, shapes: Sequence[tuple[str, Sequence[int], Sequence[int]]]) -> tuple[int, ...]:
        """The sizes that make arguments have the shapes that they have.

        Args:
            shapes: for each argument, what to call it, its shape in the package and
                its shape in this call. Differences in anything but a size are left
                to others to find.

        Raises:
            Error: a size is no multiple of what it was declared to be.
        """
        values: dict[int, int] = {}
        for who, declared, given in shapes:
            if len(declared) != len(given):
                continue
            for axis, (number, size) in enumerate(zip(declared, given, strict=True)):
                index = self._only_factor(number)
                if index is None or index in values:
                    continue
                multiple = number // self._generics[index]
                if size % multiple:
                    raise Error(
                        f"{who} has size {size} in dimension {axis}, but the function was "
                        f"compiled for multiples of {multiple}: pad it, or compile with another "
                        "declaration of that size"
                    )
                values[index] = size // multiple
        # A size that no argument has alone is not used, or a wrong rank is reported.
        return tuple(values.get(i, 0) for i in range(len(self.names)))

    def _only_factor(self, number: int) -> int | None:
        """The size that `number` is a multiple of, if it is one size once."""
        factors = [i for i, generic in enumerate(self._generics) if number % generic == 0]
        if number == 0 or len(factors) != 1:
            return None
        rest = number // self._generics[factors[0]]
        return None if rest % self._generics[factors[0]] == 0 else factors[0]
