# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of maps, reductions and matrix products with the value each should have.

program = from_seed(7)                 # repeatable
@given(programs())                     # or by hypothesis, which shrinks
def test(program): ...

program.source                         # Python text
program.function(*program.inputs)      # what to compile
program.check(results)                 # against float64, within proven bounds
"""

import linecache
import os
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import tracking as t
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tracking import Tracked, lipschitz, rounded

# Over all tests of random programs; 20000 is a night's worth.
TOTAL = int(os.environ.get("DEPLO_RANDOM_PROGRAMS", "1000"))


def random_programs(share: float) -> settings:
    """Settings of a test that takes `share` of the programs, the same ones in each run."""
    return settings(
        max_examples=max(1, round(share * TOTAL)),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 97)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
EPS = 0.125

# name -> (Python text, rule); "limit" is the largest |x| to apply it to.
UNARY: dict[str, tuple[str, Callable, float]] = {
    "neg": ("-{}", lipschitz(torch.neg, 1, 0), 1e4),
    "abs": ("torch.abs({})", lipschitz(torch.abs, 1, 0), 1e4),
    "relu": ("torch.relu({})", lipschitz(torch.relu, 1, 0), 1e4),
    "exp": ("torch.exp({})", t.exp, 4),
    "sin": ("torch.sin({})", lipschitz(torch.sin, 1, 4), 100),
    "cos": ("torch.cos({})", lipschitz(torch.cos, 1, 4), 100),
    "tanh": ("torch.tanh({})", lipschitz(torch.tanh, 1, 6), 1e4),
    "erf": ("torch.erf({})", lipschitz(torch.erf, 1.13, 6), 1e4),
    "sigmoid": ("torch.sigmoid({})", lipschitz(torch.sigmoid, 0.25, 8), 80),
    "silu": ("F.silu({})", lipschitz(t.silu, 1.1, 8), 80),
    "gelu": ("F.gelu({})", t.cancelling(t.gelu, 1.13, 8), 1e4),
    "gelu_tanh": ("F.gelu({}, approximate='tanh')", t.cancelling(t.gelu_tanh, 1.13, 12), 1e3),
    "square": ("{0} * {0}", lambda x: t.mul(x, x), 50),
    "atan": ("torch.atan({})", lipschitz(torch.atan, 1, 6), 1e4),
    "asinh": ("torch.asinh({})", lipschitz(torch.asinh, 1, 8), 1e4),
    "softplus": ("F.softplus({})", lipschitz(F.softplus, 1, 8), 80),
    "elu": ("F.elu({})", lipschitz(F.elu, 1, 8), 80),
    "leaky_relu": ("F.leaky_relu({}, 0.25)", lipschitz(t.leaky_relu, 1, 1), 1e4),
    "where": ("torch.where({0} > 0, {0}, 0.0)", lipschitz(torch.relu, 1, 0), 1e4),
    "hardtanh": ("F.hardtanh({})", lipschitz(F.hardtanh, 1, 0), 1e4),
    "clamp": ("torch.clamp({}, -1.0, 2.0)", lipschitz(lambda x: x.clamp(-1, 2), 1, 0), 1e4),
    "scale": ("{} * 0.75", lipschitz(lambda x: x * 0.75, 0.75, 1), 1e4),
    "shift": ("{} + 0.5", lipschitz(lambda x: x + 0.5, 1, 1), 1e4),
}
# Applied to |x| + 1.
POSITIVE: dict[str, tuple[str, Callable]] = {
    "log": ("torch.log({})", t.log_from_1),
    "sqrt": ("torch.sqrt({})", t.power(0.5)),
    "rsqrt": ("torch.rsqrt({})", t.power(-0.5)),
    "reciprocal": ("torch.reciprocal({})", t.power(-1)),
    "pow": ("{} ** 1.5", t.power(1.5)),
}
BINARY: dict[str, tuple[str, Callable]] = {
    "add": ("{} + {}", t.add),
    "sub": ("{} - {}", t.sub),
    "mul": ("{} * {}", t.mul),
    "maximum": ("torch.maximum({}, {})", t.selecting(torch.maximum)),
    "minimum": ("torch.minimum({}, {})", t.selecting(torch.minimum)),
}
AXIS: dict[str, tuple[str, Callable]] = {
    "sum": ("{}.sum({}, keepdim=True)", lambda x, a: t.summed(x, a, mean=False)),
    "mean": ("{}.mean({}, keepdim=True)", lambda x, a: t.summed(x, a, mean=True)),
    "amax": ("{}.amax({}, keepdim=True)", t.extreme(torch.amax)),
    "amin": ("{}.amin({}, keepdim=True)", t.extreme(torch.amin)),
    "var": ("{}.var({}, correction=0, keepdim=True)", t.variance),
    "softmax": ("F.softmax({}, {})", t.softmax),
    "log_softmax": ("F.log_softmax({}, {})", t.log_softmax),
}
LAST: dict[str, tuple[str, bool]] = {
    "rms_norm": (f"F.rms_norm({{0}}, {{0}}.shape[-1:], eps={EPS})", False),
    "layer_norm": (f"F.layer_norm({{0}}, {{0}}.shape[-1:], eps={EPS})", True),
}


# Conversions there and back; the limit keeps f16 finite.
CASTS = {torch.float16: 1e4, torch.bfloat16: 1e4}
INTEGERS = (torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)
# Of an element v and an integer n: how v moves with n.
WITH_INTEGERS: dict[str, tuple[str, Callable]] = {
    "where": ("torch.where({n} > 1, {v}, 0.5)", lambda v, n: t.chosen(n > 1, v, 0.5)),
    "mask": ("torch.where({n}.bool(), {v}, 0.0)", lambda v, n: t.chosen(n.bool(), v, 0.0)),
    "times": ("{v} * {n}", lambda v, n: t.mul(v, Tracked.exact(n))),
    "plus": ("{v} + ({n} + 3) % 4", lambda v, n: t.add(v, Tracked.exact((n + 3) % 4))),
    "halved": (
        "{v} + torch.div({n}.int(), 2, rounding_mode='floor').to(torch.int8)",
        lambda v, n: t.add(v, Tracked.exact(n.int() // 2)),
    ),
    "total": (
        "{v} + {n}.sum(0, keepdim=True) // 8",
        lambda v, n: t.add(v, Tracked.exact(n.sum(0, keepdim=True) // 8)),
    ),
}


@dataclass
class Program:
    """Attributes:
    source: of `function`, named `program`.
    wanted: value and error bound of each result.
    """

    source: str
    function: Callable
    inputs: list[torch.Tensor]
    wanted: list[Tracked]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"inputs {shapes}\n{self.source}"

    def check(self, results: Sequence[torch.Tensor]) -> None:
        """Asserts that every element lies within its bound."""
        assert len(results) == len(self.wanted)
        for i, (got, want) in enumerate(zip(results, self.wanted, strict=True)):
            assert got.shape == want.value.shape and got.dtype == self.inputs[0].dtype
            excess = (got.detach().cpu().double() - want.value).abs() - want.error
            worst = excess.max().item() if excess.numel() else 0.0
            assert worst <= 0, f"result {i} is {worst:.3g} beyond its bound\n{self!r}"


@dataclass
class _Writer:
    """Builds a program step by step; `choose(n)` gives a number below n."""

    choose: Callable[[int], int]
    dtype: torch.dtype
    lines: list[str] = field(default_factory=list)
    pool: list[tuple[str, Tracked]] = field(default_factory=list)
    integers: torch.Tensor | None = None

    def pick(self, options: Sequence):
        return options[self.choose(len(options))]

    def put(self, text: str, value: Tracked, exact: bool = False) -> tuple[str, Tracked]:
        """A new statement, its result rounded to the program's dtype."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        entry = (name, value if exact else rounded(value, self.dtype))
        self.pool.append(entry)
        return entry

    def operand(self, limit: float = 1e4) -> tuple[str, Tracked]:
        """A value so far; one above the limit is squashed by tanh first."""
        name, value = self.pick(self.pool)
        if value.largest <= limit:
            return name, value
        return self.put(f"torch.tanh({name})", UNARY["tanh"][1](value))

    def step(self) -> None:
        kinds = (self.unary, self.binary, self.along_axis, self.positive, self.last_axis, self.view)
        rare = (self.cast, self.pool_windows, self.sort, self.scatter, self.with_integers)
        rare = (*rare, self.product)
        self.pick((*kinds[:3], *kinds[:3], *kinds[3:], *rare))()

    def product(self) -> None:
        """Of two values, either of them transposed, that have as many rows or columns."""
        (a, x), (b, y) = self.operand(10), self.operand(10)
        forms = [
            (f"{left} @ {right}", p, q)
            for left, p in ((a, x), (f"{a}.t()", t.transposed(x)))
            for right, q in ((b, y), (f"{b}.t()", t.transposed(y)))
            if p.value.shape[1] == q.value.shape[0]
        ]
        text, p, q = self.pick(forms or [(f"{a} @ {a}.t()", x, t.transposed(x))])
        self.put(text, t.product(p, q))

    def cast(self) -> None:
        """To another float dtype and back."""
        dtype = self.pick(sorted(CASTS, key=str))
        name, value = self.operand(CASTS[dtype])
        self.put(f"{name}.to({dtype}).to({self.dtype})", rounded(value, dtype))

    def pool_windows(self) -> None:
        name, value = self.operand(50)
        if min(value.value.shape) < 3:
            return self.unary()
        size, step, before = 2 + self.choose(2), 1 + self.choose(2), self.choose(2)
        kind = self.pick(("max", "avg"))
        text = f"F.{kind}_pool2d({{}}[None], {size}, {step}, {before})[0]"
        rule = t.pooled(kind, size, step, before)
        self.put(text.format(name), rule(value), exact=kind == "max")
        return None

    def sort(self) -> None:
        name, value = self.operand()
        axis, descending = self.choose(2), bool(self.choose(2))
        count = 1 + self.choose(value.value.shape[axis])
        text = self.pick(
            (
                f"torch.sort({name}, {axis}, {descending})[0]",
                f"torch.topk({name}, {count}, {axis}, {descending})[0]",
            )
        )
        self.put(text, t.moved_along(text, name, value, axis), exact=True)

    def scatter(self) -> None:
        name, value = self.operand(50)
        rows = value.value.shape[0]
        index = [self.choose(rows) for _ in range(1 + self.choose(min(rows, 5)))]
        source = f"{name}[:{len(index)}]"
        text = self.pick(("index_add", "index_copy", "index_select"))
        if text == "index_copy":
            index = sorted(set(index))
            source = f"{name}[:{len(index)}]"
        places = f"torch.tensor({index}, device={name}.device)"
        if text == "index_select":
            self.move(f"{name}.index_select(0, {places})", name, value)
        elif text == "index_copy":
            self.move(f"{name}.index_copy(0, {places}, {source})", name, value)
        else:
            whole = f"{name}.index_add(0, {places}, {source})"
            self.put(whole, t.index_added(value, torch.tensor(index)))

    def with_integers(self) -> None:
        name, value = self.operand(50)
        if self.integers is None or not _broadcast(value, Tracked.exact(self.integers)):
            return self.unary()
        key = self.pick(sorted(WITH_INTEGERS))
        if self.integers.dtype == torch.bool and key in ("where", "plus", "total"):
            key = "mask"
        text, rule = WITH_INTEGERS[key]
        self.put(text.format(v=name, n="n"), rule(value, self.integers))
        return None

    def move(self, text: str, name: str, value: Tracked) -> None:
        """Errors move with the elements."""
        places = [{name: x, "torch": torch, "F": F} for x in (value.value, value.error)]
        self.put(text, Tracked(*(eval(text, place) for place in places)), exact=True)

    def unary(self) -> None:
        text, rule, limit = UNARY[self.pick(sorted(UNARY))]
        name, value = self.operand(limit)
        self.put(text.format(name), rule(value))

    def positive(self) -> None:
        text, rule = POSITIVE[self.pick(sorted(POSITIVE))]
        name, value = self.operand(50)
        name, value = self.put(f"torch.abs({name}) + 1.0", t.add(_abs(value), _ones(value)))
        self.put(text.format(name), rule(value))

    def binary(self) -> None:
        op = self.pick((*sorted(BINARY), "div"))
        (a, x), (b, y) = self.operand(50), self.operand(50)
        if not _broadcast(x, y):
            b, y = a, x
        if op == "div":
            b, y = self.put(f"torch.abs({b}) + 1.0", t.add(_abs(y), _ones(y)))
            self.put(f"{a} / {b}", t.div(x, y))
            return
        text, rule = BINARY[op]
        self.put(text.format(a, b), rule(x, y))

    def along_axis(self) -> None:
        text, rule = AXIS[self.pick(sorted(AXIS))]
        name, value = self.operand(10)
        axis = self.choose(value.value.dim())
        self.put(text.format(name, axis), rule(value, axis))

    def last_axis(self) -> None:
        text, center = LAST[self.pick(sorted(LAST))]
        name, value = self.operand(10)
        self.put(text.format(name), t.normalized(value, value.value.dim() - 1, EPS, center))

    def moves(self, name: str, rows: int, columns: int) -> list[str]:
        """What reads elements in another order, several times, or not at all."""
        texts = [
            f"torch.flip({name}, (0,))",
            f"torch.roll({name}, 3, 1)",
            f"torch.tril({name}, 1)",
            f"{name}[{[i % rows for i in range(0, 3 * rows, 2)]}]",
        ]
        if max(rows, columns) <= 2 * max(SIZES):
            texts += [
                f"F.pad({name}, (1, 2, 0, 1))",
                f"torch.cat([{name}, {name}[:, :{columns // 2 + 1}]], 1)",
            ]
        return texts

    def view(self) -> None:
        name, value = self.operand()
        rows, columns = value.value.shape
        text = self.pick(
            (
                f"{name}.t()",
                f"{name}[:, ::2]",
                f"{name}[{rows // 2}:]",
                f"{name}.reshape({columns}, -1)",
                *self.moves(name, rows, columns),
            )
        )
        self.move(text, name, value)


def _abs(x: Tracked) -> Tracked:
    return Tracked(x.value.abs(), x.error)


def _ones(x: Tracked) -> Tracked:
    return Tracked.exact(torch.ones_like(x.value))


def _broadcast(x: Tracked, y: Tracked) -> bool:
    pairs = zip(x.value.shape, y.value.shape, strict=True)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def write_program(
    choose: Callable[[int], int], dtypes: Sequence[torch.dtype], steps: int
) -> Program:
    """A program of at most about `steps` steps; `choose(n)` makes every choice."""
    writer = _Writer(choose, writer_dtype := dtypes[choose(len(dtypes))])
    rows, columns = writer.pick(SIZES), writer.pick(SIZES)
    generator = torch.Generator().manual_seed(choose(2**16))
    shapes = [(rows, columns), (rows, columns), (1, columns), (rows, 1)][: 1 + choose(4)]
    inputs = [torch.randn(shape, generator=generator).to(writer_dtype) for shape in shapes]
    names = [f"x{i}" for i in range(len(inputs))]
    writer.pool = [(name, Tracked.exact(x)) for name, x in zip(names, inputs, strict=True)]
    if choose(3) == 0:
        kind = writer.pick(INTEGERS)
        numbers = torch.randint(0, 4, (rows, columns), generator=generator)
        writer.integers = numbers.to(kind)
        inputs.append(writer.integers)
        names.append("n")
    count = len(writer.pool)
    for _ in range(1 + choose(steps)):
        writer.step()
    name, value = writer.pool[-1]
    writer.put(f"{name} + 0.5", UNARY["shift"][1](value))  # so that not all results are views
    results = writer.pool[count:][-1 - choose(3) :]
    returned = ", ".join(name for name, _ in results)
    source = "\n".join(
        [f"def program({', '.join(names)}):", *writer.lines, f"    return ({returned},)", ""]
    )
    return Program(source, _define(source), inputs, [value for _, value in results])


def _define(source: str) -> Callable:
    file = f"program_{zlib.crc32(source.encode()):08x}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"torch": torch, "F": F}
    exec(compile(source, file, "exec"), scope)
    return scope["program"]  # type: ignore[return-value]


def from_seed(seed: int, dtypes: Sequence[torch.dtype] = DTYPES, steps: int = 10) -> Program:
    """The program of a seed, always the same."""
    return write_program(random.Random(seed).randrange, dtypes, steps)


@st.composite
def programs(draw, dtypes: Sequence[torch.dtype] = DTYPES, steps: int = 10) -> Program:
    """Programs as a hypothesis strategy; shrinks to few steps and small choices."""
    return write_program(lambda n: draw(st.integers(0, n - 1)), dtypes, steps)
