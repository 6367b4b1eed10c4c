# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs keep their values after every step from the graph to the loop level."""

import torch
from hypothesis import given
from programs import programs, random_programs

from deplo.compilation import Options, compile_ir
from deplo.importer import import_program
from deplo.importer.dtypes import TORCH_DTYPES
from deplo.runtime import Executable

HOST = Options(device="host")


def execute(text, inputs, outputs):
    """What the program returns, by IR text of any level on the host."""
    executable = Executable(compile_ir(text, HOST).package, "host")
    results = [torch.empty(o.shape, dtype=TORCH_DTYPES[o.dtype]) for o in executable.outputs]
    executable.run([t.data_ptr() for t in (*inputs, *results)])
    return outputs.rebuild(inputs, results)


def stages_of(text):
    """(name, IR) after each step on the whole module, and at the end of the loop level.

    Steps on a single kernel are compared in the tests of the loop passes.
    """
    result = compile_ir(text, Options(device="host", level="loop", trace=True))
    steps = [(s["step"], s["after"]) for s in result.steps if s["changed"]]
    return [(name, ir) for name, ir in steps if "@main" in ir] + [("the loop level", result.ir)]


@random_programs(0.2)
@given(program=programs())
def test_values_after_every_step(program, compiler):
    imported = import_program(program.function, program.inputs)
    inputs = [
        b.fetch() if b.position is None else program.inputs[b.position] for b in imported.bindings
    ]
    stages = stages_of(imported.text)
    assert {"g:decompose", "l:graph_to_loop"} <= {name for name, _ in stages}
    program.check(execute(imported.text, inputs, imported.outputs))
    for name, ir in stages:
        try:
            program.check(execute(ir, inputs, imported.outputs))
        except AssertionError as error:
            raise AssertionError(f"after {name}: {error}\n{ir}") from error
