# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `deplo compile` and `deplo explain` do, apart from reading options."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .compilation import DEFAULT_TARGET, Compilation, Options, compile_ir, try_compile
from .errors import Error
from .explain import count, counters_text, explain_text
from .files import write_file
from .imports import ImportedSnippet
from .source import SNIPPET_TITLE, Program, Source, load_source
from .steps import dump, verbose_lines

if TYPE_CHECKING:
    from .importer import Binding, ImportedProgram


def import_source(program: Program) -> "ImportedProgram":
    """The program of a source as graph text."""
    from .importer import import_program

    return import_program(
        program.function, program.inputs, names=program.names, modules=program.modules
    )


def _echo(lines: Iterable[str]) -> None:
    """Prints lines; those of a diff are coloured on a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan", ">": "yellow", "<": "yellow"}
    for line in lines:
        colour = colours.get(line[:1]) if sys.stdout.isatty() else None
        click.echo(click.style(line, fg=colour) if colour else line)


def compile_source(
    code: str | None,
    file: str | None,
    inputs: str | None,
    seed: int,
    target: str | None,
    schedule: str,
    precision: str,
    prepare_weights: bool,
    passes: str,
    device: str,
    level: str | None,
    verbosity: int,
    dump_dir: Path | None,
    explain: bool,
    no_ptxas: bool,
    output: Path | None,
) -> None:
    """`deplo compile` and `deplo explain`."""
    if level == "torch":
        source = load_source(code, file, inputs, seed)
        _print_torch(source, import_source(source.program) if source.program else None, output)
        return
    title, text, bindings = _graph_text(code, file, inputs, seed, precision)
    trace = verbosity > 0 or dump_dir is not None
    options = Options(
        device=device,
        target=target or DEFAULT_TARGET,
        level=level or "package",
        schedule=schedule,
        precision=precision,
        prepare_weights=prepare_weights,
        passes=passes,
        trace=trace,
        ptxas=not no_ptxas,
    )
    result = try_compile(text, options)
    _echo(verbose_lines(result, verbosity) if verbosity else ())
    if dump_dir is not None:
        _dump(result, dump_dir)
    if result.error is not None:
        raise Error(result.error)
    if bindings:
        from .ranges import check_ranges

        check_ranges(bindings, result.report)
    if explain:
        full = result if level is None else compile_package(text, options)
        click.echo(explain_text(full.report))
        if options.device == "emu":
            from .emulator import counters_of_package

            click.echo(counters_text(counters_of_package(full.package or b"")))
    if output is not None:
        data = result.ir.encode() if level else result.package
        write_file(output, data or b"")
    elif level is not None:
        click.echo(result.ir.rstrip("\n"))
    elif not (verbosity or explain or dump_dir):
        click.echo(_summary(title, options, result))


def _graph_text(
    code: str | None, file: str | None, inputs: str | None, seed: int, precision: str
) -> tuple[str, str, "Sequence[Binding]"]:
    """What the source is called, its graph as text, and where its arguments come from.

    A snippet that was imported before has no values, which "f32-fast" looks at.
    """
    knows = code is not None and precision != "f32-fast"
    snippet = ImportedSnippet(code or "", inputs, seed) if knows else None
    if snippet is not None and (known := snippet.recall()) is not None:
        return SNIPPET_TITLE, known, ()
    source = load_source(code, file, inputs, seed)
    if source.program is None:
        return source.title, source.ir or "", ()
    program = import_source(source.program)
    if snippet is not None:
        snippet.keep(program.text)
    return source.title, program.text, program.bindings


def _dump(result: Compilation, directory: Path) -> None:
    try:
        dump(result, directory)
    except OSError as error:
        raise Error(f"can't write to {directory}: {error.strerror}") from error


def compile_package(text: str, options: Options) -> Compilation:
    """Compiles all the way, without recording steps."""
    return compile_ir(text, replace(options, level="package", trace=False))


def _print_torch(source: Source, program: "ImportedProgram | None", output: Path | None) -> None:
    if program is None:
        raise Error(f"{source.title} is IR, which has no 'torch' level; see --ir graph")
    if output is not None:
        write_file(output, program.fx_text.encode())
    else:
        click.echo(program.fx_text.rstrip("\n"))


def _summary(title: str, options: Options, result: Compilation) -> str:
    names = ", ".join(kernel["name"] for kernel in result.kernels)
    where = "the host" if options.device == "host" else options.target
    plural = "" if len(result.kernels) == 1 else "s"
    size = count(len(result.package or b""), "B")
    return (
        f"compiled {title} for {where}: {len(result.kernels)} kernel{plural} ({names}), "
        f"package {size}; --explain, --ir and -vv show more, -o FILE keeps it"
    )
