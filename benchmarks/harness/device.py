# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memory through deplo's runtime, without PyTorch."""

import ctypes

import numpy

from deplo.errors import Error
from deplo.library import runtime_library
from deplo.runtime import Buffer

_HANDLE, _SIZE, _OUT = ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)
_SIGNATURES = {
    "deploDeviceOpen": [ctypes.c_char_p, _OUT],
    "deploMemoryAllocate": [_HANDLE, _SIZE, _OUT],
    "deploMemoryFree": [_HANDLE, _HANDLE],
    "deploMemoryCopy": [_HANDLE, _HANDLE, _HANDLE, _SIZE, _HANDLE],
    "deploStreamSynchronize": [_HANDLE, _HANDLE],
}

_BITS = {"f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16, "i64": numpy.int64}


class Device:
    """A device by name: "cuda", "host"."""

    def __init__(self, name: str) -> None:
        self._library = runtime_library()
        handle = ctypes.c_void_p()
        self._call("deploDeviceOpen", name.encode(), ctypes.byref(handle))
        self._handle = handle

    def _call(self, name: str, *arguments: object) -> None:
        function = getattr(self._library, name)
        function.restype, function.argtypes = ctypes.c_int, _SIGNATURES[name]
        if function(*arguments):
            self._library.deploLastError.restype = ctypes.c_char_p
            raise Error(self._library.deploLastError().decode())

    def allocate(self, size: int) -> int:
        memory = ctypes.c_void_p()
        self._call("deploMemoryAllocate", self._handle, size, ctypes.byref(memory))
        return memory.value or 0

    def free(self, memory: int) -> None:
        self._call("deploMemoryFree", self._handle, memory)

    def upload(self, memory: int, array: numpy.ndarray) -> None:
        self._call("deploMemoryCopy", self._handle, memory, array.ctypes.data, array.nbytes, None)
        self.synchronize()

    def download(self, array: numpy.ndarray, memory: int) -> None:
        self._call("deploMemoryCopy", self._handle, array.ctypes.data, memory, array.nbytes, None)
        self.synchronize()

    def synchronize(self) -> None:
        self._call("deploStreamSynchronize", self._handle, None)


def extent(buffer: Buffer) -> int:
    """Elements from the first to the last."""
    if 0 in buffer.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(buffer.shape, buffer.strides, strict=True))


def random_bits(buffer: Buffer, seed: int) -> numpy.ndarray:
    """Standard normal elements, as the bits of the buffer's dtype; integers, which
    are indices in a suite, are 0 and 1.
    """
    if buffer.dtype == "i64":
        return numpy.random.default_rng(seed).integers(2, size=extent(buffer))
    values = numpy.random.default_rng(seed).standard_normal(extent(buffer), dtype=numpy.float32)
    if buffer.dtype == "f32":
        return values
    if buffer.dtype == "f16":
        return values.astype(numpy.float16)
    if buffer.dtype == "bf16":
        return (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    raise Error(f"no random values of dtype {buffer.dtype}")


def empty_bits(buffer: Buffer) -> numpy.ndarray:
    return numpy.empty(extent(buffer), _BITS[buffer.dtype])


def has_nan(array: numpy.ndarray) -> bool:
    """Whether a NaN is among the bits that `random_bits` or `empty_bits` made room for."""
    if array.dtype == numpy.uint16:
        return bool(((array & 0x7FFF) > 0x7F80).any())
    return array.dtype != numpy.int64 and bool(numpy.isnan(array).any())
