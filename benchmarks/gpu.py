# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on a GPU through the driver, with the arguments that `deplo.emulator` takes."""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from deplo.emulator import TENSOR_ELEMENTS, TensorMap, Uninitialized

SHARED_BYTES_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER_ATTRIBUTE = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
DEFAULT_SHARED_BYTES = 48 * 1024
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


def _three(extent: int | Sequence[int]) -> list[int]:
    values = [extent] if isinstance(extent, int) else list(extent)
    return values + [1] * (3 - len(values))


class _Attribute(ctypes.Structure):
    """A CUlaunchAttribute of a cluster's extents."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("extents", ctypes.c_uint32 * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint32),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint32),
    ]


class Gpu:
    def __init__(self) -> None:
        torch.zeros(1, device="cuda")  # Makes the context that the driver is used in.
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.name = torch.cuda.get_device_name()

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeError(f"the CUDA driver says error {code}")

    def load(self, code: bytes) -> ctypes.c_void_p:
        """PTX text or machine code."""
        module = ctypes.c_void_p()
        self._check(self.driver.cuModuleLoadData(ctypes.byref(module), code + b"\0"))
        return module

    def run(
        self, module: ctypes.c_void_p, kernel: str, *, grid, block, arguments, shared=0, cluster=None
    ) -> None:
        """Leaves the results in the tensors, which are on the CPU."""
        function, driver = ctypes.c_void_p(), self.driver
        self._check(driver.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()))
        if shared > DEFAULT_SHARED_BYTES:
            self._check(driver.cuFuncSetAttribute(function, SHARED_BYTES_ATTRIBUTE, shared))
        copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        values = [self._place(argument, copies) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        attribute = _Attribute(CLUSTER_ATTRIBUTE, 0, (ctypes.c_uint32 * 16)(*_three(cluster or 1)))
        config = _Config(
            grid=(ctypes.c_uint32 * 3)(*_three(grid)),
            block=(ctypes.c_uint32 * 3)(*_three(block)),
            shared=shared,
            attributes=ctypes.pointer(attribute),
            count=int(cluster is not None),
        )
        torch.cuda.synchronize()
        self._check(driver.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None))
        torch.cuda.synchronize()
        for host, device in copies.values():
            host.copy_(device)

    def _place(self, argument: Any, copies: dict) -> Any:
        """What to pass, as a ctypes object."""
        if isinstance(argument, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
            return argument
        tensor = getattr(argument, "tensor", argument)
        # Views of the same memory stay so.
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in copies:
            host = torch.empty(0, dtype=torch.uint8).set_(storage)
            copies[storage.data_ptr()] = (host, host.cuda())
        device = copies[storage.data_ptr()][1]
        address = device.data_ptr() + tensor.data_ptr() - storage.data_ptr()
        if isinstance(argument, TensorMap):
            return self._tensor_map(argument, address)
        return ctypes.c_uint64(address)

    def _tensor_map(self, map: TensorMap, address: int) -> Any:
        raw = ctypes.create_string_buffer(192)
        begin = -ctypes.addressof(raw) % 64
        result = (ctypes.c_uint8 * 128).from_buffer(raw, begin)
        rank, tensor = map.tensor.dim(), map.tensor
        width = tensor.element_size()
        element = map.element
        if element is None:
            element = TENSOR_ELEMENTS[str(tensor.dtype).rpartition(".")[2]]
        self._check(
            self.driver.cuTensorMapEncodeTiled(
                result,
                element,
                rank,
                ctypes.c_void_p(address),
                (ctypes.c_uint64 * 5)(*reversed(tensor.shape)),
                (ctypes.c_uint64 * 4)(*[s * width for s in reversed(tensor.stride()[:-1])]),
                (ctypes.c_uint32 * 5)(*reversed(map.box)),
                (ctypes.c_uint32 * 5)(*reversed(map.steps or (1,) * rank)),
                0,
                SWIZZLES[map.swizzle],
                0,
                int(map.fills_nan),
            )
        )
        return result


__all__ = ["Gpu", "Uninitialized"]
