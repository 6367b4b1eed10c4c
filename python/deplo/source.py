# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command line was given: a snippet, an object of a Python file, or IR."""

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import Error

if TYPE_CHECKING:
    import torch
    from torch import nn

SNIPPET_TITLE = "the snippet"

_TENSOR = re.compile(r"\s*([a-z0-9]+)\s*\[([\d\s,]*)\]\s*(?:,|$)")


@dataclass
class Program:
    """A callable and its example inputs, on the CPU or wherever the user put them."""

    function: Callable
    inputs: "list[torch.Tensor]"
    names: list[str] | None = None
    modules: "dict[str, nn.Module] | None" = None


@dataclass
class Source:
    """Either a `program` or the text of `ir`; `title` says which in messages."""

    title: str
    program: Program | None = None
    ir: str | None = None


def load_source(code: str | None, path: str | None, inputs: str | None, seed: int) -> Source:
    """Loads what `-c CODE` or `FILE` names; exactly one of them is given.

    Args:
        inputs: "f32[1,32,2048],f32[2048]", or None for the source's own.
        seed: of PyTorch's generator, set before any of the user's code runs.

    Raises:
        Error: there is no such thing, with what is missing.
    """
    if path is not None and not _is_python(path):
        return _ir_file(path)
    import torch

    torch.manual_seed(seed)
    if code is not None:
        from .snippet import load_snippet

        snippet = load_snippet(code)
        program = Program(snippet.function, snippet.inputs, snippet.names, snippet.modules)
        if inputs is not None:
            program.inputs = parse_inputs(inputs)
        return Source(SNIPPET_TITLE, program)
    assert path is not None
    return _python_object(path, inputs)


def parse_inputs(text: str) -> "list[torch.Tensor]":
    """Random tensors from "f32[1,32,2048],i64[8]": standard normal floats, integers below
    100, bools.

    Raises:
        Error: at the first part that can't be read.
    """
    import torch

    from .importer.dtypes import SUPPORTED, TORCH_DTYPES

    tensors, at = [], 0
    while at < len(text):
        match = _TENSOR.match(text, at)
        if match is None:
            raise Error(
                f"can't read the inputs from '{text[at:]}' on: write f32[1,32,2048],bf16[8]"
            )
        if match[1] not in TORCH_DTYPES:
            raise Error(f"inputs of dtype {match[1]} are not supported; supported are {SUPPORTED}")
        shape = [int(size) for size in match[2].split(",") if size.strip()]
        dtype = TORCH_DTYPES[match[1]]
        below = 2 if dtype == torch.bool else 100
        values = torch.randn(shape) if dtype.is_floating_point else torch.randint(below, shape)
        tensors.append(values.to(dtype))
        at = match.end()
    return tensors


def _is_python(path: str) -> bool:
    return path.endswith(".py") or ".py:" in path


def _ir_file(path: str) -> Source:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise Error(f"can't read {path}: {reason}") from error
    return Source(path, ir=text)


def _python_object(path: str, inputs: str | None) -> Source:
    file, _, name = path.partition(".py:")
    module = _run_file(file.removesuffix(".py") + ".py")
    if not name:
        names = [key for key, value in vars(module).items() if _is_own(module, value)]
        known = f" it defines {', '.join(names)}" if names else ""
        raise Error(f"say which object of {file} to compile, as {file}:NAME;{known}")
    function: Any = module
    for part in name.split("."):
        if not hasattr(function, part):
            raise Error(f"{file}.py has no '{name}'")
        function = getattr(function, part)
    if isinstance(function, type) or not callable(function):
        kind = "a class: name an instance" if isinstance(function, type) else "not callable"
        raise Error(f"{name} in {file}.py is {kind}")
    if inputs is not None:
        return Source(path, Program(function, parse_inputs(inputs)))
    return Source(path, Program(function, list(_example_inputs(module, function, path))))


def _is_own(module: ModuleType, value: Any) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _example_inputs(module: ModuleType, function: Any, path: str) -> "Sequence[torch.Tensor]":
    import torch

    examples = getattr(function, "example_inputs", None) or getattr(module, "example_inputs", None)
    if examples is None:
        raise Error(
            f"{path} has no example inputs: give --inputs 'f32[1,32,2048],...', or define "
            "example_inputs() in the file"
        )
    examples = examples() if callable(examples) else examples
    return (examples,) if isinstance(examples, torch.Tensor) else tuple(examples)


def _run_file(file: str) -> ModuleType:
    from .importer.locations import location_of_exception

    path = Path(file)
    if not path.is_file():
        raise Error(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise Error(f"{error.filename}:{error.lineno}:{error.offset}: {error.msg}") from error
    except Exception as error:
        place = location_of_exception(error) or file
        raise Error(
            f"{place}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    return module
