# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs have the values of PyTorch in float64, within proven bounds."""

from hypothesis import given
from numeric import move
from programs import programs, random_programs

import deplo
from deplo.compilation import Options, compile_ir
from deplo.importer import import_program


@random_programs(0.6)
@given(program=programs())
def test_values(program, device):
    place = "cuda" if device == "cuda" else "cpu"
    inputs = [move(x, place) for x in program.inputs]
    program.check(deplo.compile(program.function, inputs, device=device)(*inputs))


@random_programs(0.1)
@given(program=programs())
def test_every_program_compiles_to_ptx(program, compiler):
    text = import_program(program.function, program.inputs).text
    ptx = compile_ir(text, Options(level="ptx", target="sm_80")).ir
    assert ".target sm_80" in ptx


@random_programs(0.1)
@given(program=programs())
def test_printed_graph_reads_back(program, compiler):
    """The graph level's text, compiled again, is itself."""
    text = import_program(program.function, program.inputs).text
    first = compile_ir(text, Options(level="graph")).ir
    assert compile_ir(first, Options(level="graph")).ir == first
