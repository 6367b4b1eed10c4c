# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to tell a user whose program holds operators that deplo has no handler for."""

import difflib
from dataclasses import dataclass, field

from torch._ops import OpOverload

from .locations import Location
from .registry import HANDLERS

_CONTRACTION = "for small sizes (a.unsqueeze(-1) * b).sum(-2)"
_COMPARISON = "torch.maximum, torch.minimum, torch.clamp or torch.relu select without a mask"
_TRAINING = "call .eval() on the module, or pass training=False"

# Overload-free operator name -> what is supported and comes closest.
NEAREST = {
    **dict.fromkeys(
        ("mm", "bmm", "matmul", "addmm", "baddbmm", "linear", "dot", "mv"), _CONTRACTION
    ),
    **dict.fromkeys(("gt", "ge", "lt", "le", "eq", "ne", "where", "masked_fill"), _COMPARISON),
    **dict.fromkeys(("native_dropout", "dropout", "bernoulli"), _TRAINING),
    **dict.fromkeys(
        ("leaky_relu", "prelu"), "torch.clamp(x, min=0) + slope * torch.clamp(x, max=0)"
    ),
    **dict.fromkeys(("argmax", "argmin", "max", "min"), "the values alone: torch.amax, torch.amin"),
    **dict.fromkeys(
        ("rand", "randn", "randint", "rand_like", "randn_like"),
        "pass the random tensor as an input",
    ),
    "log1p": "torch.log(1 + x)",
    "expm1": "torch.exp(x) - 1",
    "log2": "torch.log(x) / math.log(2)",
    "log10": "torch.log(x) / math.log(10)",
    "sinh": "(torch.exp(x) - torch.exp(-x)) / 2",
    "cosh": "(torch.exp(x) + torch.exp(-x)) / 2",
    "elu": "F.silu or F.gelu",
    "softplus": "torch.log(1 + torch.exp(x))",
    "fmod": "torch.div without rounding",
    "remainder": "torch.div without rounding",
    "index": "slices with constant bounds, x[:, 2:7]",
    "item": "keep the value in a tensor",
    "_local_scalar_dense": "keep the value in a tensor instead of calling .item()",
}


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
