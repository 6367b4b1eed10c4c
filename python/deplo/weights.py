# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was prepared of weights, and whether they are still what it was made of.

Weights are the same where their addresses and version counters are: PyTorch
counts what changes a tensor in place. An address means nothing once its memory is
freed, so what was prepared keeps the memory of its weights, until the tensors
are gone or lie elsewhere.
"""

import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from .errors import DeploWarning
from .runtime import Executable, PreparedWeights

Key = tuple[int, ...]


class _Entry:
    """Attributes:
    key: the addresses and versions of the weights, in turn.
    storages: the memory of the weights.
    tensors: weak references, which drop the entry when one of the weights is gone.
    """

    def __init__(self, prepared: PreparedWeights, weights: Sequence[torch.Tensor]) -> None:
        self.prepared = prepared
        self.key: Key = ()
        self.storages = [weight.untyped_storage() for weight in weights]
        self.tensors: list[weakref.ref] = []

    def is_abandoned(self) -> bool:
        """Whether no tensor has the memory of one of the weights any more."""
        return any(torch._C._storage_Use_Count(s._cdata) == 1 for s in self.storages)


class WeightTable:
    """What the prepared launches of one executable have made, for all weights met.

    Attributes:
        known: by addresses and versions in turn, for callers that make the key.
    """

    def __init__(self, executable: Executable, is_cuda: bool) -> None:
        self.known: dict[Key, PreparedWeights] = {}
        self._executable = executable
        self._numbers = executable.weights or ()
        self._is_cuda = is_cuda
        self._entries: dict[Key, _Entry] = {}  # by addresses
        self._lock = threading.Lock()
        self._has_warned = False

    def run(
        self, tensors: Sequence[torch.Tensor], pointers: Sequence[int], stream: int = 0
    ) -> None:
        """One execution on all arguments; weights are prepared if they have to be."""
        key: list[int] | None = []
        try:
            for i in self._numbers:
                key += pointers[i], tensors[i]._version  # type: ignore[operator]
        except RuntimeError:  # tensors of inference mode have no version
            key = None
        self.run_as(tuple(key) if key is not None else None, tensors, pointers, stream)

    def run_as(
        self,
        key: Key | None,
        tensors: Sequence[torch.Tensor],
        pointers: Sequence[int],
        stream: int = 0,
    ) -> None:
        """The same for weights of that key; None where they don't count changes."""
        prepared = self.known.get(key) if key is not None else None  # type: ignore[arg-type]
        if prepared is None:
            prepared = self._prepare(key, tensors, pointers, stream)
        if prepared is None:
            self._executable.run(pointers, stream)
        else:
            self._executable.run_prepared(pointers, prepared, stream)

    def forget(self) -> None:
        """Has the next run prepare its weights again, in the same memory."""
        with self._lock:
            self.known.clear()

    def _prepare(
        self,
        key: Key | None,
        tensors: Sequence[torch.Tensor],
        pointers: Sequence[int],
        stream: int,
    ) -> PreparedWeights | None:
        """None where a run has to do it: what a graph records can't be prepared outside
        of it, and weights that don't count changes may have changed."""
        if key is None:
            self._warn()
            return None
        if self._is_cuda:
            with torch.cuda.device(tensors[0].device if tensors else None):
                if torch.cuda.is_current_stream_capturing():
                    return None
        with self._lock:
            if key in self.known:
                return self.known[key]
            for addresses, entry in list(self._entries.items()):
                if entry.is_abandoned():
                    self._drop(addresses)
            addresses = key[::2]
            known = self._entries.get(addresses)
            if known is None:
                weights = [tensors[i] for i in self._numbers]
                entry = _Entry(self._executable.prepare(pointers, stream), weights)
                self._watch(entry, weights, addresses)
            else:
                entry = known
                self._drop(addresses)  # for good if what follows fails
                self._executable.prepare_again(entry.prepared, pointers, stream)
            entry.key = key
            self._entries[addresses] = entry
            self.known[key] = entry.prepared
            return entry.prepared

    def _watch(self, entry: _Entry, weights: Sequence[torch.Tensor], addresses: Key) -> None:
        table = weakref.ref(self)

        def drop(_: Any) -> None:
            if (alive := table()) is not None:
                alive._drop(addresses)

        entry.tensors = [weakref.ref(weight, drop) for weight in weights]

    def _drop(self, addresses: Key) -> None:
        entry = self._entries.pop(addresses, None)
        if entry is not None:
            self.known.pop(entry.key, None)

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                "weights are tensors of inference mode, which don't count their changes, so each "
                "call prepares them again: make them outside of torch.inference_mode()",
                DeploWarning,
                stacklevel=5,
            )
