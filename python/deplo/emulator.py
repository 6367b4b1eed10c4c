# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PTX emulator on any compiler's PTX: `deplo-c/Emulator.h` as Python.

emulation = Emulation(ptx)
outcome = emulation.run("add", grid=4, block=128, arguments=[x, y, ctypes.c_uint32(n)])
assert not outcome.findings
"""

import ctypes
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Error
from .library import declare, runtime_library
from .runtime import last_error

TENSOR_ELEMENTS = {
    "uint8": 0,
    "int32": 3,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
"""Number of an element type in a tensor map, by PyTorch's name."""


class _Region(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("memory", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("is_writable", ctypes.c_int),
        ("is_initialized", ctypes.c_int),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("dynamic_shared_bytes", ctypes.c_uint32),
        ("parameters", ctypes.c_void_p),
        ("parameter_bytes", ctypes.c_size_t),
        ("regions", ctypes.POINTER(_Region)),
        ("region_count", ctypes.c_size_t),
        ("checks_races", ctypes.c_int),
        ("checks_uninitialized", ctypes.c_int),
        ("instruction_budget", ctypes.c_uint64),
        ("workers", ctypes.c_uint),
    ]


class _TensorMap(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_int),
        ("rank", ctypes.c_uint),
        ("address", ctypes.c_void_p),
        ("extents", ctypes.c_uint64 * 5),
        ("strides", ctypes.c_uint64 * 4),
        ("box", ctypes.c_uint32 * 5),
        ("element_strides", ctypes.c_uint32 * 5),
        ("swizzle", ctypes.c_int),
        ("fills_nan", ctypes.c_int),
    ]


@functools.cache
def _functions() -> ctypes.CDLL:
    handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "deploEmulationLoad": (ctypes.c_int, [text, size, ctypes.POINTER(handle)]),
        "deploEmulationDestroy": (None, [handle]),
        "deploEmulationKernels": (text, [handle]),
        "deploEmulationRun": (text, [handle, ctypes.POINTER(_Launch)]),
        "deploEmulationTensorMap": (ctypes.c_int, [ctypes.POINTER(_TensorMap), handle]),
    }
    return declare(runtime_library(), signatures)


@dataclass
class Outcome:
    """Attributes:
    findings: what is wrong, one text each; empty if nothing is.
    counters: as `deplo-emu --json` prints them.
    seconds: the host's time.
    """

    findings: list[str]
    counters: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Uninitialized:
    """A tensor whose values the kernel has to write before it reads them."""

    tensor: Any


@dataclass(frozen=True)
class TensorMap:
    """A tensor map of a tensor, for kernels that take one by value.

    Attributes:
        box: extents of what one copy moves, outermost first as in the shape.
        swizzle: 0, 32, 64 or 128 bytes.
        steps: of the box, in elements; all 1 if left out.
        fills_nan: what lies outside is NaN, not zero.
        element: the number of the element type, if the tensor's own does not say it.
    """

    tensor: Any
    box: Sequence[int]
    swizzle: int = 0
    steps: Sequence[int] | None = None
    fills_nan: bool = False
    element: int | None = None

    def encode(self) -> bytes:
        element = self.element
        if element is None:
            element = TENSOR_ELEMENTS[str(self.tensor.dtype).rpartition(".")[2]]
        fields = _TensorMap(
            element=element,
            fills_nan=self.fills_nan,
            rank=self.tensor.dim(),
            address=self.tensor.data_ptr(),
            swizzle={0: 0, 32: 1, 64: 2, 128: 3}[self.swizzle],
        )
        width = self.tensor.element_size()
        steps = self.steps or (1,) * self.tensor.dim()
        for i, (extent, stride, box, step) in enumerate(
            zip(
                reversed(self.tensor.shape),
                reversed(self.tensor.stride()),
                reversed(self.box),
                reversed(steps),
                strict=True,
            )
        ):
            fields.extents[i], fields.box[i], fields.element_strides[i] = extent, box, step
            if i > 0:
                fields.strides[i - 1] = stride * width
        result = ctypes.create_string_buffer(128)
        if _functions().deploEmulationTensorMap(ctypes.byref(fields), result):
            raise last_error()
        return result.raw


def _three(extent: int | Sequence[int]) -> list[int]:
    values = [extent] if isinstance(extent, int) else list(extent)
    return values + [1] * (3 - len(values))


class Emulation:
    """A PTX module, ready to run."""

    def __init__(self, ptx: str) -> None:
        """Raises:
        Error: with the line and column of what is wrong.
        """
        self._handle = None
        handle = ctypes.c_void_p()
        text = ptx.encode()
        if _functions().deploEmulationLoad(text, len(text), ctypes.byref(handle)):
            raise last_error()
        self._handle = handle

    def __del__(self) -> None:
        if self._handle is not None:
            _functions().deploEmulationDestroy(self._handle)

    def kernels(self) -> list[dict[str, Any]]:
        """Name, parameters and memory of each kernel."""
        return json.loads(_functions().deploEmulationKernels(self._handle))

    def run(
        self,
        kernel: str,
        *,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[Any],
        shared: int = 0,
        cluster: int | Sequence[int] = (0, 0, 0),
        races: bool = True,
        uninitialized: bool = True,
        budget: int = 1 << 34,
        workers: int = 0,
    ) -> Outcome:
        """Runs a kernel.

        Args:
            arguments: tensors on the CPU (their addresses are passed), `Uninitialized` ones,
                `TensorMap`s, and numbers as ctypes objects.
            shared: bytes of dynamic shared memory.

        Raises:
            Error: the arguments don't fit the kernel.
        """
        signature = next((k for k in self.kernels() if k["name"] == kernel), None)
        if signature is None:
            raise Error(f"there is no kernel '{kernel}'")
        if len(arguments) != len(signature["parameters"]):
            raise Error(
                f"kernel '{kernel}' takes {len(signature['parameters'])} arguments, "
                f"got {len(arguments)}"
            )
        parameters = bytearray(signature["parameter_bytes"])
        regions: dict[int, _Region] = {}
        for argument, parameter in zip(arguments, signature["parameters"], strict=True):
            data = self._place(argument, regions, parameter["name"])
            if len(data) != parameter["bytes"]:
                raise Error(
                    f"parameter '{parameter['name']}' has {parameter['bytes']} bytes, "
                    f"not {len(data)}"
                )
            parameters[parameter["offset"] : parameter["offset"] + len(data)] = data
        launch = _Launch(
            kernel=kernel.encode(),
            grid=(ctypes.c_uint32 * 3)(*_three(grid)),
            block=(ctypes.c_uint32 * 3)(*_three(block)),
            cluster=(ctypes.c_uint32 * 3)(*_three(cluster)),
            dynamic_shared_bytes=shared,
            parameters=ctypes.cast((ctypes.c_char * len(parameters))(*parameters), ctypes.c_void_p),
            parameter_bytes=len(parameters),
            regions=(_Region * len(regions))(*regions.values()),
            region_count=len(regions),
            checks_races=races,
            checks_uninitialized=uninitialized,
            instruction_budget=budget,
            workers=workers,
        )
        result = json.loads(_functions().deploEmulationRun(self._handle, ctypes.byref(launch)))
        return Outcome(result["findings"], result["counters"], result["seconds"])

    @staticmethod
    def _place(argument: Any, regions: dict[int, _Region], name: str) -> bytes:
        """The parameter's bytes; adds the memory that it leads to."""
        if isinstance(argument, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
            return bytes(argument)
        tensor = getattr(argument, "tensor", argument)
        address = tensor.data_ptr()
        span = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        size = (span + 1) * tensor.element_size() if tensor.numel() else 0
        is_initialized = not isinstance(argument, Uninitialized)
        regions.setdefault(address, _Region(name.encode(), address, size, 1, is_initialized))
        if isinstance(argument, TensorMap):
            return argument.encode()
        return address.to_bytes(8, "little")


def counters_of_package(package: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Runs a package on device "emu", on random inputs; (kernel, counters) of each.

    Raises:
        Error: a kernel does something wrong.
    """
    import torch

    from .calling import TORCH_DTYPES
    from .runtime import Executable

    executable = Executable(package, "emu")
    tensors = []
    for buffer in (*executable.inputs, *executable.outputs):
        tensor = torch.empty_strided(buffer.shape, buffer.strides, dtype=TORCH_DTYPES[buffer.dtype])
        tensors.append(tensor.normal_() if tensor.is_floating_point() else tensor.zero_())
    executable.run([tensor.data_ptr() for tensor in tensors])
    names = [kernel["name"] for kernel in executable.manifest["kernels"]]
    pairs = zip(names, executable.counters(), strict=True)
    return [(name, counters) for name, counters in pairs if counters is not None]
