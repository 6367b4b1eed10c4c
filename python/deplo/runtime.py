# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading and running packages: `deplo-c/Runtime.h` as Python.

Pointers and streams are plain integers; no PyTorch in here.
"""

import ctypes
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Error
from .library import declare, runtime_library

_HANDLE = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_SIZE = ctypes.c_size_t
_OUT = ctypes.POINTER(ctypes.c_void_p)

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "deploLastError": (_TEXT, []),
    "deploDeviceOpen": (ctypes.c_int, [_TEXT, _OUT]),
    "deploDeviceInfo": (_TEXT, [_HANDLE]),
    "deploDeviceList": (_TEXT, []),
    "deploExecutableLoad": (ctypes.c_int, [_HANDLE, _TEXT, _SIZE, _OUT]),
    "deploExecutableDestroy": (None, [_HANDLE]),
    "deploExecutableRun": (ctypes.c_int, [_HANDLE, _OUT, _SIZE, _HANDLE]),
    "deploExecutableRunSized": (
        ctypes.c_int,
        [_HANDLE, _OUT, _SIZE, ctypes.POINTER(ctypes.c_int64), _SIZE, _HANDLE],
    ),
    "deploExecutableRunPrepared": (ctypes.c_int, [_HANDLE, _OUT, _SIZE, _HANDLE, _HANDLE]),
    "deploWeightsPrepare": (ctypes.c_int, [_HANDLE, _OUT, _SIZE, _HANDLE, _OUT]),
    "deploWeightsPrepareAgain": (ctypes.c_int, [_HANDLE, _OUT, _SIZE, _HANDLE]),
    "deploWeightsDestroy": (None, [_HANDLE]),
    "deploExecutableInfo": (_TEXT, [_HANDLE]),
    "deploExecutableCounters": (_TEXT, [_HANDLE]),
    "deploPackageInfo": (_TEXT, [_TEXT, _SIZE]),
}


@functools.cache
def _functions() -> ctypes.CDLL:
    return declare(runtime_library(), _SIGNATURES)


def last_error() -> Error:
    """What the last failed call of this thread says."""
    return Error(_functions().deploLastError().decode("utf-8", "replace"))


def devices() -> list[dict[str, Any]]:
    """Every device that can be opened: name, kind, description, target, ..."""
    return json.loads(_functions().deploDeviceList())


def package_info(package: bytes) -> dict[str, Any]:
    """The header of a package.

    Raises:
        Error: the bytes are no sound package.
    """
    text = _functions().deploPackageInfo(package, len(package))
    if text is None:
        raise last_error()
    return json.loads(text)


@functools.cache
def _open_device(name: str) -> int:
    device = ctypes.c_void_p()
    if _functions().deploDeviceOpen(name.encode(), ctypes.byref(device)):
        raise last_error()
    return device.value or 0


def device_info(name: str) -> dict[str, Any]:
    """What device "cuda", "cuda:1", "host" or "emu" is.

    Raises:
        Error: there is no such device.
    """
    return json.loads(_functions().deploDeviceInfo(_open_device(name)))


@dataclass(frozen=True)
class Buffer:
    """One input or output as the caller must lay it out.

    Attributes:
        dtype: "f32", "f16", "bf16".
        shape, strides: in elements.
        alignment: in bytes, what the pointer must be a multiple of.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int

    @staticmethod
    def parse(fields: dict[str, Any]) -> "Buffer":
        return Buffer(
            fields.get("name", ""),
            fields["dtype"],
            tuple(fields["shape"]),
            tuple(fields["strides"]),
            fields.get("alignment", 16),
        )


class PreparedWeights:
    """What the launches of an executable that depend on weights alone have made."""

    def __init__(self, executable: "Executable", handle: ctypes.c_void_p) -> None:
        self._executable = executable
        self._destroy = executable._library.deploWeightsDestroy
        self.handle = handle

    def __del__(self) -> None:
        self._destroy(self.handle)


def _weights_of(manifest: dict[str, Any]) -> tuple[int, ...] | None:
    prepared = [launch for launch in manifest["launches"] if launch.get("prepared")]
    inputs = {arg["input"] for launch in prepared for arg in launch["args"] if "input" in arg}
    return tuple(sorted(inputs)) if prepared else None


class Executable:
    """A package loaded on a device.

    Attributes:
        manifest: the package's header.
        weights: numbers of the inputs that prepared launches read, which run once for
            all calls; None if there are no such launches.
        inputs, outputs: what `run` takes pointers of, in this order.
        kernels: what the device says of each kernel: registers, local_bytes, ...
    """

    def __init__(self, package: bytes, device: str) -> None:
        """Loads `package` on "cuda", "cuda:1", "host" or "emu".

        Raises:
            Error: no such device, or the package is damaged or of another kind.
        """
        self._library = _functions()
        self._handle = None
        handle = ctypes.c_void_p()
        opened = _open_device(device)
        if self._library.deploExecutableLoad(opened, package, len(package), ctypes.byref(handle)):
            raise last_error()
        self._handle = handle
        info = json.loads(self._library.deploExecutableInfo(handle))
        self.manifest: dict[str, Any] = info["manifest"]
        self.kernels: list[dict[str, Any]] = info["kernels"]
        self.inputs = [Buffer.parse(fields) for fields in self.manifest["inputs"]]
        self.outputs = [Buffer.parse(fields) for fields in self.manifest["outputs"]]
        self._count = len(self.inputs) + len(self.outputs)
        self._array = ctypes.c_void_p * self._count
        self._run = self._library.deploExecutableRun
        self._run_sized = self._library.deploExecutableRunSized
        self._run_prepared = self._library.deploExecutableRunPrepared
        self.weights = _weights_of(self.manifest)

    def launcher(self) -> Callable[[tuple[int, ...], int], None]:
        """`run` for callers that know the number of pointers to be right."""
        handle, array, count, run = self._handle, self._array, self._count, self._run

        def launch(pointers: tuple[int, ...], stream: int, owner: object = self) -> None:
            if run(handle, array(*pointers), count, stream):
                raise last_error()

        return launch

    def sized_launcher(self) -> Callable[[tuple[int, ...], int, tuple[int, ...]], None]:
        """The same with sizes, one for each of the manifest's."""
        handle, array, count, run = self._handle, self._array, self._count, self._run_sized
        number = len(self.manifest.get("sizes", []))
        values = ctypes.c_int64 * number

        def launch(
            pointers: tuple[int, ...], stream: int, sizes: tuple[int, ...], owner: object = self
        ) -> None:
            if run(handle, array(*pointers), count, values(*sizes), number, stream):
                raise last_error()

        return launch

    def prepare(self, pointers: Sequence[int], stream: int = 0) -> PreparedWeights:
        """Runs the prepared launches on the weights among `run`'s addresses, and waits.

        Raises:
            Error: the stream records a graph, or a launch failed.
        """
        handle = ctypes.c_void_p()
        if self._library.deploWeightsPrepare(
            self._handle, self._array(*pointers), self._count, stream, ctypes.byref(handle)
        ):
            raise last_error()
        return PreparedWeights(self, handle)

    def prepare_again(
        self, weights: PreparedWeights, pointers: Sequence[int], stream: int = 0
    ) -> None:
        """The same in the same memory, behind all runs with the old values."""
        if self._library.deploWeightsPrepareAgain(
            weights.handle, self._array(*pointers), self._count, stream
        ):
            raise last_error()

    def run_prepared(
        self, pointers: Sequence[int], weights: PreparedWeights, stream: int = 0
    ) -> None:
        """`run` without the launches that made `weights`."""
        if self._run_prepared(
            self._handle, self._array(*pointers), self._count, weights.handle, stream
        ):
            raise last_error()

    def run(self, pointers: Sequence[int], stream: int = 0, sizes: Sequence[int] = ()) -> None:
        """Enqueues one execution on addresses of all inputs, then all outputs.

        Args:
            sizes: one for each of the manifest's.

        Raises:
            Error: their number or alignment is wrong, a size is out of its range, or
                the launch failed.
        """
        if len(pointers) != self._count:
            raise Error(
                f"the package takes {self._count} buffers ({len(self.inputs)} inputs, "
                f"{len(self.outputs)} outputs), not {len(pointers)}"
            )
        if sizes:
            values = (ctypes.c_int64 * len(sizes))(*sizes)
            if self._run_sized(
                self._handle, self._array(*pointers), self._count, values, len(sizes), stream
            ):
                raise last_error()
            return
        if self._run(self._handle, self._array(*pointers), self._count, stream):
            raise last_error()

    def counters(self) -> list[dict[str, Any] | None]:
        """What the last launch of each kernel did, on a device that counts ("emu")."""
        return json.loads(self._library.deploExecutableCounters(self._handle) or b"[]")

    def close(self) -> None:
        """Frees its kernels and temporaries now; neither it nor its launchers may run then.

        Without it they are freed with the object, which tools that hold on to the
        frames of Python functions delay.
        """
        if self._handle is not None:
            self._library.deploExecutableDestroy(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.close()
