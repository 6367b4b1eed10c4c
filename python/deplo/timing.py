# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of callables on PyTorch tensors, in microseconds."""

import statistics
import time
from collections.abc import Callable, Mapping

import torch

ROUNDS = 15
_MIN_ROUND_US = 2000.0
_MAX_CALLS = 1000


def _wall_us(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - start) / 1000 / calls


def _calls_for(one_us: float) -> int:
    return max(1, min(_MAX_CALLS, int(_MIN_ROUND_US / max(one_us, 0.1))))


def _host_rounds(call: Callable[[], object]) -> Callable[[], float]:
    call()
    calls = _calls_for(_wall_us(call, 1))
    return lambda: _wall_us(call, calls)


def _cuda_rounds(call: Callable[[], object]) -> Callable[[], float]:
    """A round replays a CUDA graph of several calls between two events."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    calls = 20
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    graph.replay()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def one_round() -> float:
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1000 / calls

    return one_round


def median_us(calls: Mapping[str, Callable[[], object]], device: str) -> dict[str, float]:
    """The median time of one call of each contender, the contenders interleaved.

    On "cuda" this is the GPU's time (launch overhead is hidden by a CUDA
    graph); on "host" it is the wall clock.
    """
    prepare = _cuda_rounds if device.startswith("cuda") else _host_rounds
    rounds = {name: prepare(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in rounds}
    for _ in range(ROUNDS):
        for name, one_round in rounds.items():
            samples[name].append(one_round())
    return {name: statistics.median(values) for name, values in samples.items()}
