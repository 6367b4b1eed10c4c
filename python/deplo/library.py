# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds deplo's shared libraries and loads them once.

`libDeploC` holds the compiler, the host executor and the runtime;
`libDeploRuntime` the runtime alone, for machines without LLVM.
"""

import ctypes
import functools
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import Error

COMPILER = "libDeploC"
RUNTIME = "libDeploRuntime"
ENVIRONMENT = "DEPLO_LIBRARY"
TOOLKITS = "DEPLO_CUDA_TOOLKITS"

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
_PACKAGE = Path(__file__).resolve().parent


def _directories() -> Iterator[Path]:
    """Where libraries lie: in the installed package, then in the build trees of
    a checkout, the newest first."""
    yield _PACKAGE / "lib"
    builds = [path for path in (_PACKAGE.parent.parent).glob("build*/lib") if path.is_dir()]
    yield from sorted(builds, key=lambda path: path.stat().st_mtime, reverse=True)


def find(stem: str) -> Path | None:
    """The path of library `stem`, or None. DEPLO_LIBRARY names the file or its folder."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        path = Path(named)
        path = path / f"{stem}{_SUFFIX}" if path.is_dir() else path
        return path if path.is_file() and path.name.startswith(stem) else None
    for directory in _directories():
        path = directory / f"{stem}{_SUFFIX}"
        if path.is_file():
            return path
    return None


def _open(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise Error(f"can't load {path}: {error}") from error


def _missing(stem: str) -> Error:
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Error(
            f"{ENVIRONMENT}={named} is no {stem}{_SUFFIX}; unset it or name the file built"
        )
    return Error(
        f"{stem}{_SUFFIX} is not built: run scripts/demo, or set {ENVIRONMENT} to the file"
    )


def installed_toolkits() -> list[Path]:
    """What has ptxas among the installed packages: those of CUDA, and Triton."""
    roots: list[Path] = []
    for package, pattern in (("nvidia", "cu*"), ("triton", "backends/nvidia")):
        spec = importlib.util.find_spec(package)
        for location in (spec and spec.submodule_search_locations) or ():
            roots += sorted(Path(location).glob(pattern), reverse=True)
    return [root for root in roots if (root / "bin" / "ptxas").is_file()]


def declare(library: ctypes.CDLL, signatures: dict[str, tuple[Any, list[Any]]]) -> ctypes.CDLL:
    """The library, whose functions of these names now have result and argument types."""
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def compiler_library() -> ctypes.CDLL:
    """libDeploC, loaded, with devices "host" and "emu" among its devices. Where it finds
    no CUDA toolkit elsewhere, it takes those of installed packages.

    Raises:
        Error: it is not there or can't be loaded.
    """
    path = find(COMPILER)
    if path is None:
        raise _missing(COMPILER)
    os.environ.setdefault(TOOLKITS, os.pathsep.join(map(str, installed_toolkits())))
    library = _open(path)
    library.deploRegisterHostDevice()
    library.deploRegisterEmulatedDevice()
    return library


@functools.cache
def runtime_library() -> ctypes.CDLL:
    """The library that runs packages: libDeploC, or libDeploRuntime alone.

    Raises:
        Error: neither is there, or it can't be loaded.
    """
    if find(COMPILER) is not None:
        return compiler_library()
    path = find(RUNTIME)
    if path is None:
        raise _missing(COMPILER)
    library = _open(path)
    library.deploRegisterEmulatedDevice()
    return library
