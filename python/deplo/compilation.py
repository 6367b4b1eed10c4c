# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR text in, package and report out: `deplo-c/Compile.h` as Python."""

import ctypes
import functools
import json
import warnings
from dataclasses import dataclass, field
from typing import Any

from .errors import DeploWarning, Error
from .library import compiler_library, declare

LEVELS = ("torch", "graph", "tensor", "loop", "tile", "kernel", "llvm", "ptx", "sass")
DEFAULT_TARGET = "sm_90a"


@dataclass(frozen=True)
class Options:
    """What the compiler is asked for.

    Attributes:
        device: "cuda", "host", or "emu", which runs what is compiled for "cuda"
            and needs no assembled code.
        target: the GPU, as "sm_90a"; of no meaning to "host".
        level: of the IR in the report, or "package".
        schedule: overrides, "stage_inputs=always,warps=4".
        precision: what products of f32 may be computed in, "f32", "f32-fast",
            "ieee" or "tf32".
        prepare_weights: run launches that depend on weights alone once for all
            calls, and keep what they write.
        passes: a textual pipeline in place of the default up to the tile level.
        trace: record every step's IR.
        alignment: bytes that every input pointer is a multiple of.
        ptxas: assemble the PTX.
        name: of the package.
        cache: take the result from memory or disk if it was compiled before.
    """

    device: str = "cuda"
    target: str = DEFAULT_TARGET
    level: str = "package"
    schedule: str = ""
    precision: str = "f32"
    prepare_weights: bool = False
    passes: str = ""
    trace: bool = False
    alignment: int = 16
    ptxas: bool = True
    name: str = "main"
    cache: bool = True


@dataclass
class Compilation:
    """Attributes:
    report: "ir", "steps", "kernels" and "timings_ms", as deplo-c/Compile.h says.
    package: bytes that the runtime loads, or None for another level.
    error: one paragraph where the compilation failed, else None. The report
        then holds the steps that are known.
    """

    report: dict[str, Any] = field(default_factory=dict)
    package: bytes | None = None
    error: str | None = None

    @property
    def ir(self) -> str:
        return self.report.get("ir", "")

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self.report.get("steps", [])

    @property
    def kernels(self) -> list[dict[str, Any]]:
        return self.report.get("kernels", [])


@functools.cache
def _functions() -> ctypes.CDLL:
    handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "deploCompile": (handle, [text, size, text]),
        "deploCompilationError": (text, [handle]),
        "deploCompilationReport": (text, [handle]),
        "deploCompilationPackage": (handle, [handle, ctypes.POINTER(size)]),
        "deploCompilationDestroy": (None, [handle]),
        "deploTargets": (text, []),
        "deploVersion": (text, []),
        "deploCacheInfo": (text, []),
        "deploCacheClear": (text, []),
    }
    return declare(compiler_library(), signatures)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _json(options: Options) -> bytes:
    fields = vars(options)
    if options.device == "emu":
        fields = fields | {"device": "cuda", "ptxas": False}
    return json.dumps(fields).encode()


def try_compile(ir: str, options: Options) -> Compilation:
    """Compiles IR text of any level; a failure is in the result's `error`."""
    library = _functions()
    encoded = ir.encode()
    handle = library.deploCompile(encoded, len(encoded), _json(options))
    try:
        message = library.deploCompilationError(handle)
        report = json.loads(_text(library.deploCompilationReport(handle)) or "{}")
        size = ctypes.c_size_t()
        data = library.deploCompilationPackage(handle, ctypes.byref(size))
        package = ctypes.string_at(data, size.value) if data else None
    finally:
        library.deploCompilationDestroy(handle)
    for sentence in report.get("warnings", ()):
        warnings.warn(sentence, DeploWarning, stacklevel=2)
    return Compilation(report, package, None if message is None else _text(message).strip())


def compile_ir(ir: str, options: Options) -> Compilation:
    """Like `try_compile`.

    Raises:
        Error: with the compiler's paragraph.
    """
    compilation = try_compile(ir, options)
    if compilation.error is not None:
        raise Error(compilation.error)
    return compilation


def targets() -> list[dict[str, Any]]:
    """Descriptions of the GPUs that the compiler knows, oldest first; "chip" is the name."""
    return json.loads(_text(_functions().deploTargets()))


def cache_info() -> dict[str, Any]:
    """The cache on disk: "directory" (None if it is off), "entries" and "bytes".

    Raises:
        Error: the environment's settings can't be read.
    """
    info = json.loads(_text(_functions().deploCacheInfo()))
    if "error" in info:
        raise Error(info["error"])
    return info


def clear_cache() -> None:
    """Removes what the cache on disk holds.

    Raises:
        Error: a file can't be removed.
    """
    message = _functions().deploCacheClear()
    if message is not None:
        raise Error(_text(message))


def version() -> str:
    """The compiler's version, "0.1.0"."""
    return _text(_functions().deploVersion())
