# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which line and column of the user's Python made each node of a graph."""

import linecache
import os
import re
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from types import FrameType

import torch
import torch.fx.traceback
from torch.overrides import TorchFunctionMode

SNIPPET = "<snippet>"
_KEY = "deplo.location"
_HIDDEN = tuple(
    os.path.dirname(os.path.abspath(path)) + os.sep
    for path in (torch.__file__, os.path.dirname(__file__))
)
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(frozen=True)
class Location:
    """A place in Python source; line and column count from 1, column 0 is unknown."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    def frame_text(self) -> str:
        """The place as a line of a Python traceback, with its source where known."""
        code = linecache.getline(self.file, self.line).strip()
        return f'File "{self.file}", line {self.line}, in forward\n    {code}'

    def mlir(self) -> str:
        """The location in MLIR's syntax, without `loc(...)` around it."""
        escaped = self.file.replace("\\", "\\5C").replace('"', "\\22")
        return f'"{escaped}":{self.line}:{self.column}'


def is_user_file(path: str) -> bool:
    """Whether a frame of this file is the user's, not PyTorch's, deplo's or Python's own."""
    if path.startswith("<"):
        return path == SNIPPET
    if path.startswith(_STDLIB) and not any(part in path for part in _PACKAGES):
        return False
    return not path.startswith(_HIDDEN)


def display_path(path: str) -> str:
    """`path` relative to the working directory where it lies inside."""
    if path == SNIPPET:
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _innermost(frame: FrameType | None) -> Location | None:
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    line, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    path = display_path(frame.f_code.co_filename)
    return Location(path, line or frame.f_lineno, 0 if column is None else column + 1)


class RecordLocations(TorchFunctionMode):
    """Marks the nodes that each PyTorch call creates with the call's place.

    Needs `torch.fx.traceback.preserve_node_meta()` around the export.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        location = _innermost(sys._getframe(1))
        if location is None:
            return func(*args, **(kwargs or {}))
        with torch.fx.traceback.annotate({_KEY: location}):
            return func(*args, **(kwargs or {}))


def location_of(node: torch.fx.Node) -> Location | None:
    """The innermost user line behind `node`, or None where nothing recorded it."""
    recorded = (node.meta.get("custom") or {}).get(_KEY)
    if recorded is not None:
        return recorded
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    user = [(path, int(line)) for path, line in frames if is_user_file(path)]
    return Location(display_path(user[-1][0]), user[-1][1]) if user else None


def location_of_exception(error: BaseException) -> Location | None:
    """The innermost user line of a traceback, or None where it has none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_user_file(frame.filename):
            column = 0 if frame.colno is None else frame.colno + 1
            return Location(display_path(frame.filename), frame.lineno or 0, column)
    return None
