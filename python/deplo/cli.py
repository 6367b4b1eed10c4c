# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `deplo` command. Exit code 0: done; 1: an error, one paragraph; 2: usage."""

import contextlib
import functools
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from . import __version__
from .compilation import LEVELS
from .errors import NO_TORCH, DeploWarning, Error

_SOURCE = [
    click.argument("file", required=False, metavar="[FILE.py:OBJECT | FILE.mlir]"),
    click.option(
        "-c",
        "code",
        metavar="CODE",
        help="Compile CODE's last expression; its tensors are the inputs.",
    ),
    click.option("--inputs", metavar="SPEC", help="Example inputs: f32[1,32,2048],bf16[8]."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of random inputs."),
]
_COMPILER = [
    click.option("--target", metavar="SM", help="GPU to compile for, as sm_90a."),
    click.option(
        "--schedule",
        metavar="KEY=VALUE,...",
        default="",
        help="Override decisions: stage_inputs=always.",
    ),
    click.option(
        "--precision",
        type=click.Choice(["f32", "f32-fast", "ieee", "tf32"]),
        default="f32",
        show_default=True,
        help="Products of f32: as exact as in f32, by tensor cores where these are quicker; "
        "of factors in 22 bits, relative to their rows; by multiply-adds alone; or of factors "
        "rounded to tf32.",
    ),
    click.option(
        "--prepare-weights",
        is_flag=True,
        help="Run kernels that depend on parameters and buffers alone once for all calls, and "
        "keep what they write; --explain says how many bytes.",
    ),
    click.option(
        "--passes", metavar="PIPELINE", default="", help="A pass pipeline in place of the default."
    ),
]


_FALLBACK = [
    click.option(
        "--allow-fallback",
        is_flag=True,
        help="Leave operators that deplo doesn't have to PyTorch, with a warning.",
    )
]


def _with(options: list[Callable]) -> Callable:
    return lambda command: functools.reduce(lambda f, option: option(f), reversed(options), command)


def _reports_errors(command: Callable) -> Callable:
    """Turns `Error` into one paragraph on stderr and exit code 1."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        if "code" in options and (options["code"] is None) == (options["file"] is None):
            raise click.UsageError("give either -c CODE, FILE.py:OBJECT or FILE.mlir")
        try:
            with _sentences():
                command(**options)
        except Error as error:
            _fail(str(error))
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            _fail(NO_TORCH)

    return run


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Shows deplo's warnings as it shows errors; those of others as Python does."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any) -> None:
            if issubclass(category, DeploWarning):
                click.echo(f"deplo: warning: {message}", err=True)
            else:
                others(message, category, *place)

        warnings.showwarning = show
        yield


def _fail(message: str) -> NoReturn:
    click.echo(f"deplo: error: {message}", err=True)
    sys.exit(1)


def _device_option(default: str | None, text: str) -> Callable:
    choice = click.Choice(["cuda", "host", "emu"])
    return click.option("--device", type=choice, default=default, help=text)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="deplo")
def main() -> None:
    """An MLIR compiler that turns PyTorch modules into fused NVIDIA GPU kernels."""
    if hasattr(signal, "SIGPIPE") and sys.argv[0].endswith("deplo"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


@main.command("compile")
@_with(_SOURCE)
@_with(_COMPILER)
@_device_option("cuda", "Device to compile for (default cuda; none needs to be present).")
@click.option("--ir", "level", type=click.Choice(LEVELS), help="Print the IR at this level.")
@click.option(
    "-v", "verbosity", count=True, help="-v: which step changed what. -vv: each step's diff."
)
@click.option(
    "--dump-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every step's IR as a numbered file.",
)
@click.option(
    "--explain", is_flag=True, help="Print bytes, bound, schedule and why, registers, ..."
)
@click.option("--no-ptxas", is_flag=True, help="Don't assemble; the driver does it when loading.")
@click.option(
    "-o",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the package (with --ir: the IR) to this file.",
)
@_reports_errors
def compile_command(**options: Any) -> None:
    """Compile, and print what is asked for."""
    from .commands import compile_source

    compile_source(**options)


@main.command("explain")
@_with(_SOURCE)
@_with(_COMPILER)
@_device_option("cuda", "Device to compile for (default cuda; none needs to be present).")
@click.option("--no-ptxas", is_flag=True, help="Don't assemble; registers stay unknown.")
@_reports_errors
def explain_command(**options: Any) -> None:
    """Compile and print what was decided and why: compile --explain."""
    from .commands import compile_source

    compile_source(**options, level=None, verbosity=0, dump_dir=None, explain=True, output=None)


@main.command("run")
@_with(_SOURCE)
@_with(_COMPILER)
@_with(_FALLBACK)
@_device_option(None, "Device to run on (default cuda if present, else host).")
@_reports_errors
def run_command(**options: Any) -> None:
    """Compile and run; print the error against float64 PyTorch and the time."""
    from .execution import run_source

    run_source(**options)


@main.command("bench")
@_with(_SOURCE)
@_with(_COMPILER)
@_with(_FALLBACK)
@_device_option(None, "Device to run on (default cuda if present, else host).")
@click.option("--torch-compile", is_flag=True, help="Time torch.compile as well.")
@_reports_errors
def bench_command(**options: Any) -> None:
    """Time deplo against PyTorch, on the same inputs in one process."""
    from .execution import bench_source

    bench_source(**options)


@main.command("show-targets")
@_reports_errors
def show_targets_command() -> None:
    """List the GPUs that deplo has a description of."""
    from .compilation import targets
    from .explain import targets_text

    click.echo(targets_text(targets()))


@main.group("cache")
def cache_group() -> None:
    """What was compiled before, kept on disk.

    The folder is that of DEPLO_CACHE_DIR, else deplo in XDG_CACHE_HOME or
    ~/.cache; DEPLO_CACHE=off goes without.
    """


@cache_group.command("info")
@_reports_errors
def cache_info_command() -> None:
    """Print the folder and what it holds."""
    from .compilation import cache_info
    from .explain import count

    info = cache_info()
    if info["directory"] is None:
        click.echo("the cache is off")
    else:
        click.echo(f"{info['directory']}: {info['entries']} entries, {count(info['bytes'], 'B')}")


@cache_group.command("clear")
@_reports_errors
def cache_clear_command() -> None:
    """Remove all that it holds."""
    from .compilation import cache_info, clear_cache

    entries = cache_info()["entries"]
    clear_cache()
    click.echo(f"removed {entries} entries")
