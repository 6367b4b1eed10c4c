# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deplo: an MLIR compiler that turns PyTorch modules into fused NVIDIA GPU kernels.

    import deplo, torch
    norm = torch.nn.RMSNorm(2048)
    x = torch.randn(1, 32, 2048)
    fast = deplo.compile(norm, (x,))
    fast(x)
    print(fast.ir("tile"))

PyTorch is imported by the first use of `compile` or `load`, not before.
"""

from typing import TYPE_CHECKING, Any

from .errors import NO_TORCH, DeploWarning, Error

if TYPE_CHECKING:
    from .compiler import CompiledFunction, LoadedFunction, compile, load

__version__ = "0.1.0"
__all__ = [
    "CompiledFunction",
    "DeploWarning",
    "Error",
    "LoadedFunction",
    "__version__",
    "compile",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in ("CompiledFunction", "LoadedFunction", "compile", "load"):
        raise AttributeError(f"module 'deplo' has no attribute '{name}'")
    try:
        from . import compiler
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Error(NO_TORCH) from error
    return getattr(compiler, name)
