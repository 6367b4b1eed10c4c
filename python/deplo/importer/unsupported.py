# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to tell a user whose program holds operators that deplo has no handler for."""

import difflib
from dataclasses import dataclass, field

from torch._ops import OpOverload

from .locations import Location
from .registry import HANDLERS

# Overload-free operator name -> what is supported and comes closest.
NEAREST = {
    **dict.fromkeys(
        ("randn", "randint", "randn_like", "normal", "exponential"),
        "torch.rand and dropout; pass other random tensors as inputs",
    ),
}
# The size of their result depends on values.
SIZED_BY_VALUES = (
    "_unique2",
    "bincount",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique_consecutive",
    "unique_dim",
)
BY_VALUES = (
    "the size of its result depends on the values of a tensor; keep all elements, with "
    "torch.where or a mask"
)


@dataclass
class Problem:
    """One thing about the program that deplo can't compile, and where it occurs."""

    what: str
    remedy: str
    locations: list[Location | None] = field(default_factory=list)

    def __str__(self) -> str:
        count = len(self.locations)
        places = list(dict.fromkeys(str(place) for place in self.locations if place))
        where = f" at {', '.join(places[:3])}" if places else ""
        where += f" and {len(places) - 3} more lines" if len(places) > 3 else ""
        times = f" ({count} times)" if count > 1 else ""
        return f"{self.what}{where}{times}: {self.remedy}"


def python_name(target: object) -> str:
    """An operator as PyTorch's documentation would name it: "aten.gt.Scalar"."""
    return (
        str(target) if isinstance(target, OpOverload) else getattr(target, "__name__", str(target))
    )


def nearest(target: object) -> str:
    """The nearest supported form of an unsupported operator, as a clause."""
    base = python_name(target).removeprefix("aten.").split(".")[0]
    if base in SIZED_BY_VALUES:
        return BY_VALUES
    if base in NEAREST:
        return f"nearest supported: {NEAREST[base]}"
    known = sorted({python_name(op).split(".")[1].lstrip("_") for op in HANDLERS})
    close = difflib.get_close_matches(base.lstrip("_"), known, n=2, cutoff=0.6)
    if close:
        return f"nearest supported: {' or '.join(f'aten.{name}' for name in close)}"
    return "no supported operator comes close; leave it outside the compiled function"


def describe(problems: list[Problem]) -> str:
    """All problems as one paragraph."""
    count = f"{len(problems)} things" if len(problems) > 1 else "one thing"
    head = f"deplo can't compile {count} in this program: "
    return head + "; ".join(str(problem) for problem in problems)
