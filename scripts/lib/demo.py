# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows one kernel from PyTorch to the device, with the commands that do it, and then a small
decoder layer."""

import contextlib
import io
import shlex
import sys
from collections.abc import Iterator

import torch
from torch import nn
from transformers.models.llama.modeling_llama import (
    LlamaConfig,
    LlamaDecoderLayer,
    LlamaRotaryEmbedding,
)

import deplo
from deplo.cli import main as command_line
from deplo.explain import render, shares
from deplo.reference import relative_error

SNIPPET = "torch.nn.RMSNorm(2048)(torch.randn(1,32,2048))"
PTX_LINES = 45
# A Llama layer with four query heads of 64 for each head of keys and values.
LAYER = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
POSITIONS = 32


class Failed(Exception):
    """A command ended with an error, which is the text."""


def run(*arguments: str) -> str:
    """Runs `deplo ARGUMENTS` in this process and returns what it prints."""
    output, errors = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            command_line(list(arguments), standalone_mode=False)
        except SystemExit as stop:
            code = int(stop.code or 0)
    if code:
        raise Failed(errors.getvalue())
    return output.getvalue()


def heading(text: str, *arguments: str) -> None:
    print(f"\n== {text}")
    if arguments:
        print(f"$ deplo {shlex.join(arguments)}\n", flush=True)


def steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks between `>>> name` and `<<< name`."""
    name, lines = "", []
    for line in text.splitlines():
        if line.startswith(">>> "):
            name, lines = line[4:], []
        elif line == f"<<< {name}":
            yield name, lines
        else:
            lines.append(line)


def show_schedule(text: str) -> None:
    """The steps that make the schedule: the diff of each, or why it changed nothing."""
    for name, lines in steps(text):
        if not name.startswith("t:"):
            continue
        if any(line.startswith("@@") for line in lines):
            print(f">>> {name}", *lines, f"<<< {name}", "", sep="\n")
        else:
            print(f"    {name}: {' '.join(lines)}\n")


def show_head(text: str) -> None:
    lines = text.splitlines()
    print(*lines[:PTX_LINES], sep="\n")
    if len(lines) > PTX_LINES:
        print(f"... {len(lines) - PTX_LINES} more lines")


class Block(nn.Module):
    """Hugging Face's decoder layer as it is, and the rotary embedding of its positions."""

    def __init__(self) -> None:
        super().__init__()
        config = LlamaConfig(**LAYER, attn_implementation="sdpa")
        self.layer = LlamaDecoderLayer(config, 0)
        self.rotary = LlamaRotaryEmbedding(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.shape[1], device=x.device)[None]
        return self.layer(x, position_ids=positions, position_embeddings=self.rotary(x, positions))


def show_decoder_layer() -> None:
    """Compiles a layer with random weights and compares it with PyTorch's in float64."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    module = Block().eval().to(device)
    x = torch.randn(1, POSITIONS, LAYER["hidden_size"], device=device)
    with torch.no_grad():
        compiled = deplo.compile(module, (x,))
        got, eager = compiled(x), module(x)
        want = module.double()(x.double())
    print("its kernels, with their share of the time that they need at least:\n")
    print(render(shares(compiled.report["kernels"])))
    print(f"\non {compiled.device}, against PyTorch in float64:")
    print(f"  largest error of deplo   {relative_error(got, want):.2g}")
    print(f"  largest error of PyTorch {relative_error(eager, want):.2g}")


def main() -> None:
    compile_it = ["compile", "-c", SNIPPET]
    heading("The schedule of one kernel, step by step", *compile_it, "--ir", "tile", "-vv")
    show_schedule(run(*compile_it, "--ir", "tile", "-vv"))

    heading("The PTX", *compile_it, "--ir", "ptx")
    show_head(run(*compile_it, "--ir", "ptx"))

    explain = ["explain", "-c", SNIPPET]
    heading("Assembled: what was decided, and what came of it", *explain)
    try:
        text = run(*explain)
    except Failed as failure:
        if "ptxas" not in str(failure):
            raise
        print("ptxas was not found, so nothing is assembled here: install the CUDA toolkit")
        text = run(*explain, "--no-ptxas")
    print(text, end="")

    heading("On the best device present", "run", "-c", SNIPPET)
    print(run("run", "-c", SNIPPET), end="")

    emulate = ["run", "-c", SNIPPET, "--device", "emu"]
    heading("The same PTX without a GPU, checked on the emulator", *emulate)
    print(run(*emulate), end="")

    heading(f"A decoder layer of Llama, whole: {POSITIONS} positions, random weights")
    show_decoder_layer()


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(str(failure))
