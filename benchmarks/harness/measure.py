# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of contenders on the same inputs, interleaved in one process.

On a GPU, what is timed is a CUDA graph of several calls, between two events:

- warm: the calls work on the same buffers, so that what fits stays in L2;
- cold: a read of a buffer four times the size of L2, then calls that each have
  buffers of their own; the time of the read alone is taken off.

Every sample follows a replay that isn't timed: while that one runs, the events
and the next replay are enqueued, so that no launch overhead is in the sample.

On the CPU it is the wall clock around several calls.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = Callable[[], Any]
# Makes, for each set of inputs, a call that works on it and returns its output.
Contender = Callable[[Sequence[Sequence[torch.Tensor]]], list[Call]]

# One sample lasts about this long; timer and launch are small against it.
_SAMPLE_US = 1000.0
_MAX_CALLS = 256
_MIN_ROUNDS, _MAX_ROUNDS = 9, 40
_BUDGET_S = 0.5
_MAX_SETS_BYTES = 8 << 30


@dataclass
class Times:
    """Medians in microseconds of one call; `cold` is None on the CPU."""

    warm: float
    cold: float | None = None


def measure(
    contenders: Mapping[str, Contender], inputs: Sequence[torch.Tensor], footprint: int
) -> dict[str, Times]:
    """Times every contender on `inputs`; `footprint`: bytes that a call touches."""
    if inputs[0].is_cuda:
        return _measure_cuda(contenders, inputs, footprint)
    return _measure_host(contenders, inputs)


def _rounds(
    samplers: Mapping[Any, Callable[[], float]], estimate_us: float
) -> dict[Any, list[float]]:
    """Samples of all samplers, taken in turn; each round starts with another one."""
    for sample in samplers.values():
        sample()
    rounds = int(_BUDGET_S * 1e6 / max(estimate_us, 1.0))
    names = list(samplers)
    samples: dict[Any, list[float]] = {name: [] for name in names}
    for i in range(min(max(rounds, _MIN_ROUNDS), _MAX_ROUNDS)):
        start = i % len(names)
        for name in names[start:] + names[:start]:
            samples[name].append(samplers[name]())
    return samples


def _calls_for(one_us: float, most: int = _MAX_CALLS) -> int:
    return max(2, min(most, int(_SAMPLE_US / max(one_us, 0.1)) + 1))


# -- CPU ---------------------------------------------------------------------


def _wall_us(call: Call, calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - begin) / 1e3 / calls


def _measure_host(
    contenders: Mapping[str, Contender], inputs: Sequence[torch.Tensor]
) -> dict[str, Times]:
    samplers = {}
    total = 0.0
    for name, contender in contenders.items():
        call = contender([inputs])[0]
        call()
        one_us = _wall_us(call, 1)
        calls = _calls_for(one_us)
        samplers[name] = lambda call=call, calls=calls: _wall_us(call, calls)
        total += one_us * calls
    samples = _rounds(samplers, total)
    return {name: Times(statistics.median(values)) for name, values in samples.items()}


# -- GPU ---------------------------------------------------------------------


class _Graph:
    """Calls captured in order in one CUDA graph; a sample is the time of one replay in us.

    With `distinct`, no two calls that allocate their outputs get the same memory.
    """

    def __init__(self, calls: Sequence[Call], distinct: bool = False) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        self._graph = torch.cuda.CUDAGraph()
        self._calls = calls  # their buffers must outlive the graph
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.graph(self._graph, stream=stream):
            self._outputs = []
            for call in calls:
                output = call()
                if distinct:
                    self._outputs.append(output)
                del output
        torch.cuda.synchronize()

    def sample(self) -> float:
        self._graph.replay()
        self._begin.record()
        self._graph.replay()
        self._end.record()
        self._end.synchronize()
        return self._begin.elapsed_time(self._end) * 1e3


def _run_once(calls: Sequence[Call]) -> None:
    """Compiles, loads, allocates: all that must not happen during a capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()


def _estimate_us(call: Call) -> float:
    """Roughly, the time of a warm call."""
    _run_once([call] * 3)
    graph = _Graph([call] * 3)
    return min(graph.sample() for _ in range(4)) / 3


def _sets(inputs: Sequence[torch.Tensor], count: int) -> list[list[torch.Tensor]]:
    return [list(inputs)] + [[tensor.clone() for tensor in inputs] for _ in range(count - 1)]


def _measure_cuda(
    contenders: Mapping[str, Contender], inputs: Sequence[torch.Tensor], footprint: int
) -> dict[str, Times]:
    estimates = {name: _estimate_us(make([inputs])[0]) for name, make in contenders.items()}
    room = min(_MAX_SETS_BYTES, torch.cuda.mem_get_info()[0] // 4)
    most = max(1, min(_MAX_CALLS, room // max(footprint, 1) // len(contenders)))
    fastest = min(estimates.values())
    sets = _sets(inputs, min(most, _calls_for(fastest)))

    cache = torch.cuda.get_device_properties(inputs[0].device).L2_cache_size
    other = torch.randn(4 * cache // 4, device=inputs[0].device)  # 4 bytes each

    def flush() -> torch.Tensor:
        return other.sum()

    _run_once([flush])
    graphs = {("flush", ""): _Graph([flush])}
    warm_calls, cold_calls = {}, {}
    total = 0.0
    for name, make in contenders.items():
        calls = make(sets)
        _run_once(calls)
        warm_calls[name] = _calls_for(estimates[name])
        # Of a slow contender, fewer calls; their buffers are cold all the same.
        cold_calls[name] = min(len(calls), _calls_for(estimates[name]))
        graphs["warm", name] = _Graph([calls[0]] * warm_calls[name])
        graphs["cold", name] = _Graph([flush, *calls[: cold_calls[name]]], distinct=True)
        total += 2 * estimates[name] * (warm_calls[name] + cold_calls[name])
    samples = _rounds({key: graph.sample for key, graph in graphs.items()}, total)
    medians = {key: statistics.median(values) for key, values in samples.items()}
    return {
        name: Times(
            medians["warm", name] / warm_calls[name],
            max(medians["cold", name] - medians["flush", ""], 0.0) / cold_calls[name],
        )
        for name in contenders
    }


def copy_gbps(device: str) -> float:
    """The bandwidth of a large copy in GB/s, counting bytes read and bytes written.

    On a GPU the copy runs on a stream: in a CUDA graph it would be a copy node, which a slower
    engine serves.
    """
    if device == "cuda":
        size = min(1 << 31, torch.cuda.mem_get_info()[0] // 8)
        source = torch.randn(size // 4, device="cuda")
    else:
        source = torch.randn(1 << 26)
    target = torch.empty_like(source)

    def sample() -> float:
        if device != "cuda":
            begin = time.perf_counter()
            target.copy_(source)
            return (time.perf_counter() - begin) * 1e6
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    sample()
    us = statistics.median(sample() for _ in range(20))
    return 2 * source.numel() * 4 / us / 1e3
