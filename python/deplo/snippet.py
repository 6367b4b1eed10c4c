# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`-c CODE`: which part of a snippet is the program, and which tensors are its inputs.

The statements run as they are. The last expression is evaluated in part:

- names bound to tensors, and calls that create a tensor from no tensor
  (`torch.randn(4, 8)`, with any `.half()`, `.cuda()` ... behind it), become inputs;
- calls that build an `nn.Module` are evaluated once and kept;
- what is left is the function that is compiled.
"""

import ast
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from deplo.errors import Error

from .importer.locations import SNIPPET, location_of_exception

# Methods that prepare a created tensor rather than compute with it.
_PREPARATIONS = frozenset(
    "half bfloat16 float double to type cuda cpu requires_grad_ detach clone contiguous".split()
)
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Snippet:
    """Attributes:
    function: takes the inputs in order and returns the last expression's value.
    names, inputs: of the tensors, in order of appearance.
    modules: `nn.Module`s the function uses, by name.
    """

    function: Callable
    names: list[str]
    inputs: list[torch.Tensor]
    modules: dict[str, nn.Module]


def load_snippet(code: str) -> Snippet:
    """Runs a snippet up to its last expression, which becomes a function.

    Raises:
        Error: one sentence with the line: syntax, an exception, or no tensor.
    """
    # Registered with no time stamp, so that tracebacks can show the lines.
    linecache.cache[SNIPPET] = (len(code), None, code.splitlines(keepends=True), SNIPPET)
    try:
        tree = ast.parse(code, SNIPPET)
    except SyntaxError as error:
        raise Error(f"{SNIPPET}:{error.lineno}:{error.offset}: {error.msg}") from error
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        line = tree.body[-1].lineno if tree.body else 1
        raise Error(f"{SNIPPET}:{line}: the snippet must end with the expression to compile")
    last = tree.body.pop()
    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "__name__": SNIPPET}
    _guarded(lambda: exec(compile(tree, SNIPPET, "exec"), namespace))
    split = _Split(namespace)
    body = split.visit(last.value)  # type: ignore[attr-defined]
    if not split.inputs:
        raise Error(
            f"{SNIPPET}:{last.lineno}: the last expression uses no tensor; use one, as in "
            "F.silu(torch.randn(4, 8))"
        )
    if isinstance(body, ast.Name) and body.id in split.inputs:
        raise Error(
            f"{SNIPPET}:{last.lineno}: the last expression only creates a tensor; compute with it"
        )
    function = _function(body, list(split.inputs), namespace)
    modules = {k: v for k, v in namespace.items() if isinstance(v, nn.Module)}
    return Snippet(function, list(split.inputs), list(split.inputs.values()), modules)


def _guarded(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except Exception as error:
        place = location_of_exception(error) or SNIPPET
        message = str(error).strip().split("\n")[0]
        raise Error(f"{place}: {type(error).__name__}: {message}") from error


def _function(body: ast.expr, names: list[str], namespace: dict[str, Any]) -> Callable:
    """`lambda <names>: <body>` in the snippet's namespace, at the body's lines."""
    arguments = [ast.arg(name) for name in names]
    signature = ast.arguments([], arguments, None, [], [], None, [])
    expression = ast.Expression(ast.copy_location(ast.Lambda(signature, body), body))
    code = compile(ast.fix_missing_locations(expression), SNIPPET, "eval")
    return eval(code, namespace)


class _Split(ast.NodeTransformer):
    """Rewrites the last expression bottom-up; what it evaluates, it stores under
    a new name in the namespace.

    Attributes:
        inputs: tensors by name, in order of appearance.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.inputs: dict[str, torch.Tensor] = {}
        self._local: list[set[str]] = []
        self._parameters: set[ast.expr] = set()

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, _SCOPES):
            bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _stores(n)}
            bound |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
            self._local.append(bound)
            node = self.generic_visit(node)
            self._local.pop()
            return node
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.namespace.get(node.id)
        if isinstance(value, torch.Tensor) and not self._is_local(node.id):
            self.inputs.setdefault(node.id, value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node = self.generic_visit(node)  # type: ignore[assignment]
        return self._held_tensor(node, node.value)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node = self.generic_visit(node)  # type: ignore[assignment]
        return self._held_tensor(node, node.value)

    def _held_tensor(self, node: ast.expr, base: ast.expr) -> ast.expr:
        """An element of a list or attribute of an object that is a tensor is an input."""
        if self._local or not self._is_closed(node):
            return node
        value = self._evaluate(node)
        if isinstance(value, torch.Tensor):
            if not isinstance(self._evaluate(base), nn.Module):
                return self._store(node, value)
            self._parameters.add(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        prepared = self._preparation(node)
        if prepared is not None:
            return prepared
        node = self.generic_visit(node)  # type: ignore[assignment]
        if self._local or not self._is_closed(node):
            return node
        return self._store(node, self._evaluate(node))

    def _preparation(self, node: ast.Call) -> ast.expr | None:
        """`<creation>.half()` and the like: the prepared tensor is the input."""
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr not in _PREPARATIONS:
            return None
        if self._local or not isinstance(function.value, ast.Call):
            return None
        known = dict(self.inputs)
        function.value = self.visit(function.value)
        base = function.value
        if isinstance(base, ast.Name) and base.id in self.inputs and base.id not in known:
            created = self.inputs.pop(base.id)
            self.namespace[base.id] = created
            value = self._evaluate(node)
            return self._store(node, value, base.id)
        return self._finish(node)

    def _finish(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return self._store(node, self._evaluate(node)) if self._is_closed(node) else node

    def _is_local(self, name: str) -> bool:
        return any(name in bound for bound in self._local)

    def _is_closed(self, node: ast.AST) -> bool:
        """Whether `node` reads no input, no parameter of a module and no local name."""
        for child in ast.walk(node):
            if isinstance(child, _SCOPES) or child in self._parameters:
                return False
            if isinstance(child, ast.Name) and (
                child.id in self.inputs or self._is_local(child.id)
            ):
                return False
        return True

    def _evaluate(self, node: ast.expr) -> Any:
        code = compile(ast.fix_missing_locations(ast.Expression(node)), SNIPPET, "eval")
        return _guarded(lambda: eval(code, self.namespace))

    def _store(self, node: ast.expr, value: Any, name: str | None = None) -> ast.expr:
        if name is None:
            name = self._new_name(value)
        self.namespace[name] = value
        if isinstance(value, torch.Tensor):
            self.inputs[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _new_name(self, value: Any) -> str:
        """arg0, arg1, ... for tensors; a module has its class's name."""
        if isinstance(value, nn.Module):
            prefix = type(value).__name__
            if prefix not in self.namespace:
                return prefix
        else:
            prefix = "arg" if isinstance(value, torch.Tensor) else "value"
        number = 0
        while f"{prefix}{number}" in self.namespace:
            number += 1
        return f"{prefix}{number}"


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
