# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imported snippets, kept on disk: one that was imported before needs no PyTorch.

What a snippet is imported as depends on its text, and on whatever that makes
Python do. So only snippets are kept that do nothing but call PyTorch's own
operators, modules and tensor methods: their graph is a function of the text, the
inputs asked for, the seed, Python, PyTorch and deplo's importer, which are the
key. Whether a snippet is of that kind is decided when it is kept, with PyTorch at
hand; that there is an entry says that it is.
"""

import ast
import hashlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from .compilation import cache_info
from .errors import Error
from .files import write_file

# As the C++ side names its entries, so that bounds and clearing are the same.
_PREFIX = "llvmcache-import-"

_NODES = (
    ast.Module,
    ast.Expr,
    ast.Assign,
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.Call,
    ast.keyword,
    ast.Attribute,
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
)
# Methods that tell of values or of the machine.
_TELLING = frozenset("item tolist numpy data_ptr storage untyped_storage cuda".split())
_READING = frozenset(["from_file"])


class ImportedSnippet:
    """The place of a snippet, made before it runs: that may change the environment."""

    def __init__(self, code: str, inputs: str | None, seed: int) -> None:
        self._code = code
        self._path = _path(code, inputs, seed)

    def recall(self) -> str | None:
        """The graph text that the snippet was imported as, if it was kept."""
        try:
            data = self._path.read_bytes() if self._path is not None else b""
        except OSError:
            return None
        digest, text = data[:32], data[32:]
        return text.decode() if hashlib.sha256(text).digest() == digest else None

    def keep(self, text: str) -> None:
        """Keeps what a snippet was imported as, if it is of the kind that may be."""
        if self._path is None or not says_all(self._code):
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self._path, hashlib.sha256(text.encode()).digest() + text.encode())
        except (Error, OSError):
            return  # the compiler's own entry has the same trouble, and says so


def _path(code: str, inputs: str | None, seed: int) -> Path | None:
    """None without a cache, or without PyTorch."""
    torch = importlib.util.find_spec("torch")
    directory = cache_info().get("directory")
    if torch is None or torch.origin is None or directory is None:
        return None
    files = [*sorted(Path(__file__).parent.rglob("*.py")), Path(torch.origin)]
    files.append(Path(torch.origin).with_name("version.py"))
    states = [(str(file), (s := file.stat()).st_size, s.st_mtime_ns) for file in files]
    settings = sorted(
        (name, value) for name, value in os.environ.items() if "TORCH" in name or "PYTHON" in name
    )
    key = [code, inputs, seed, states, settings, sys.version, platform.machine()]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    return Path(directory) / f"{_PREFIX}{digest}"


def says_all(code: str) -> bool:
    """Whether a snippet only calls PyTorch's operators, modules and tensor methods."""
    tree = ast.parse(code)
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return all(
        isinstance(node, _NODES)
        and not (isinstance(node, ast.Constant) and "cuda" in str(node.value))
        and not (
            isinstance(node, ast.Attribute | ast.Name)
            and node not in inner
            and not _is_known(node, own)
        )
        for node in ast.walk(tree)
    ) and all(_is_known(node, own) for node in inner if isinstance(node, ast.Attribute))


def _is_known(node: ast.expr, own: set[str]) -> bool:
    """Whether an outermost name is the snippet's own, PyTorch's, or a method."""
    import torch

    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    roots: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    if not isinstance(node, ast.Name) or node.id in own:
        return all(hasattr(torch.Tensor, n) and n[0] != "_" and n not in _TELLING for n in names)
    value = roots.get(node.id)
    for name in reversed(names):
        if name.startswith("_") or name in _READING:
            return False
        value = getattr(value, name, None)
    return value is not None and _is_harmless(value)


def _is_harmless(value: Any) -> bool:
    """Of PyTorch: a namespace of operators, a number or type, a module, an operator."""
    import torch

    if isinstance(value, type):
        is_module = issubclass(value, torch.nn.Module)
        return is_module and value.__module__.startswith("torch.nn.modules.")
    if isinstance(value, torch.dtype | torch.memory_format | float | int):
        return True
    namespaces = (torch, torch.nn, torch.nn.functional, torch.special, torch.linalg, torch.fft)
    if any(value is namespace for namespace in namespaces):
        return True
    name = getattr(value, "__name__", "")
    owners = (torch._C._VariableFunctions, *namespaces[2:])
    return callable(value) and any(getattr(owner, name, None) is value for owner in owners)
