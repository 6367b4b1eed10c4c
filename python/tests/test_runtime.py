# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime through ctypes, with a package made by hand."""

import json
import struct

import pytest

import deplo
from deplo import library, runtime
from deplo.compilation import Options, compile_ir


@pytest.fixture(autouse=True)
def runtime_library():
    if library.find(library.COMPILER) is None and library.find(library.RUNTIME) is None:
        pytest.skip("neither libDeploC nor libDeploRuntime is built")


def tensor(name):
    fields = {"name": name, "dtype": "f32", "shape": [2, 3], "strides": [3, 1], "alignment": 16}
    return dict(fields)


HEADER = {
    "format": 1,
    "compiler": "deplo 0.1.0",
    "name": "main",
    "device": "cuda",
    "target": "sm_90a",
    "arena_bytes": 0,
    "inputs": [tensor("x")],
    "outputs": [tensor("y")],
    "kernels": [
        {
            "name": "k",
            "grid": [1, 1, 1],
            "block": [32, 1, 1],
            "shared_bytes": 0,
            "ptx": {"blob": 0},
            "cubin": None,
        }
    ],
    "launches": [{"kernel": 0, "args": [{"input": 0}, {"output": 0}]}],
    "temps": [],
    "blobs": [{"offset": 0, "bytes": 4}],
}


def package(header):
    """Magic, version, 0, bytes of the header and of all, checksum, header, blobs from a
    multiple of 64 on; the checksum is FNV-1a of what follows it."""
    text = json.dumps(header).encode()
    body = text + bytes(-(40 + len(text)) % 64) + b".ver"
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return struct.pack("<8sIIQQQ", b"DEPLOPKG", 1, 0, len(text), 40 + len(body), checksum) + body


def test_header_of_a_package():
    info = runtime.package_info(package(HEADER))
    assert info["inputs"] == [tensor("x")] and info["launches"] == HEADER["launches"]


def test_buffers_of_a_header():
    buffer = runtime.Buffer.parse(tensor("x"))
    assert buffer == runtime.Buffer("x", "f32", (2, 3), (3, 1), 16)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"X" + data[1:],
        lambda data: data[:60] + b"\xff" + data[61:],
        lambda data: package({**HEADER, "launches": [{"kernel": 7, "args": []}]}),
        lambda data: package({**HEADER, "inputs": [{"name": "x"}]}),
    ],
)
def test_damaged_packages_are_one_sentence(damage):
    with pytest.raises(deplo.Error, match="package") as caught:
        runtime.package_info(damage(package(HEADER)))
    assert "\n" not in str(caught.value)


def test_unknown_device():
    with pytest.raises(deplo.Error, match="there is no device 'abacus'"):
        runtime.device_info("abacus")


def test_host_describes_itself(compiler):
    info = runtime.device_info("host")
    assert info["name"] == "host" and info["description"]
    assert info in runtime.devices()


def test_package_for_another_device_is_refused(compiler):
    with pytest.raises(deplo.Error, match="cuda"):
        runtime.Executable(package(HEADER), "host")


def negation_of_four():
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = graph.neg %x : tensor<4xf32>"
    text += " return %0 : tensor<4xf32> }"
    return runtime.Executable(compile_ir(text, Options(device="host")).package, "host")


def test_wrong_number_of_buffers(compiler):
    with pytest.raises(deplo.Error, match=r"takes 2 buffers \(1 inputs, 1 outputs\), not 1"):
        negation_of_four().run([0])


def test_a_closed_executable_does_not_run(compiler):
    executable = negation_of_four()
    executable.close()
    executable.close()
    with pytest.raises(deplo.Error, match="null"):
        executable.run([0, 0])
