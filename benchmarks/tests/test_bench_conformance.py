# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the conformance vectors run on the emulator."""

import struct

import pytest

import conformance

pytestmark = pytest.mark.usefixtures("compiler")


def results(form):
    data = conformance.inputs(form)
    raw = conformance.emulate(conformance.HEADER + conformance.kernel(0, form), data)
    operands = struct.iter_unpack("<3Q", data)
    return list(zip(operands, struct.unpack(f"<{conformance.THREADS}Q", raw), strict=True))


def form(text):
    return next(form for form in conformance.forms() if form.text.startswith(text))


def test_forms_are_many_and_different():
    forms = conformance.forms()
    assert len(forms) > 250
    assert len({form.text for form in forms}) == len(forms)


def test_all_forms_run():
    for each in conformance.forms():
        assert len(results(each)) == conformance.THREADS


def test_integers():
    for (a, b, _), got in results(form("mul.hi.u64")):
        assert got == a * b >> 64
    for (a, b, _), got in results(form("add.u16")):
        assert got == (a + b) & 0xFFFF
    for (a, _, _), got in results(form("popc.b64")):
        assert got == a.bit_count()


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def test_doubles():
    for (a, b, _), got in results(form("mul.rn.f64")):
        want = double(a) * double(b)
        assert double(got) == want or (want != want and double(got) != double(got))
