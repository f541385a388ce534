"""Store: pooled scores of several kinds, in memory while they fit, and then in sorted runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import SortedRun, SpillFile
from xmleval.pooled.piles import KeysInMemory, Pile, as_keys, spill
from xmleval.pooled.values import Values

LEAST_PACKED = 8 << 20  # memory from which packing pays: the tables for it take some MiB


class Store:
    """Scores by kind: float32 scores of all entries are counted by value, others are keys.

    values : kinds of scores of all entries; float64 ones are keys, too
    keys : kinds of keys of labels and scores
    file : where keys are spilled
    """

    def __init__(self, values: Iterable[str], keys: Iterable[str], file: SpillFile) -> None:
        self.values = {name: Values() for name in values}
        self.piles = {name: Pile() for name in [*self.values, *keys]}
        self.file = file

    @property
    def value_bytes(self) -> int:
        """Size of the scores counted by value."""
        return bytes_of([values.parts for values in self.values.values()])

    @property
    def n_bytes(self) -> int:
        """Size of everything in memory."""
        return self.value_bytes + sum(pile.n_bytes for pile in self.piles.values())

    def add(
        self, new: Mapping[str, Values | list[KeysInMemory]], limit: int, resources: Resources
    ) -> None:
        """Add scores, and spill or pack what exceeds ``limit`` bytes of memory.

        The limit is for the sum of all kinds; counts by value may be packed, which takes as much
        memory again.
        """
        keys: dict[str, list[KeysInMemory]] = {}
        for name, scores in new.items():
            if isinstance(scores, Values):
                self.values[name].merge(scores)
            else:
                keys[name] = scores
        new_bytes = sum(part.nbytes for arrays in keys.values() for part in arrays)
        if self.n_bytes + new_bytes <= limit:
            for name, arrays in keys.items():
                self.piles[name].add(arrays)
            return
        for name, pile in self.piles.items():
            # without a local name for the runs: the traceback of a full disk would keep their space
            pile.replace_by_runs(spill([*pile.arrays(), *keys.get(name, [])], self.file))
        self._limit_values(limit, resources)

    def _limit_values(self, limit: int, resources: Resources) -> None:
        """Pack scores counted by value, or write them to runs, if they exceed the limit."""
        if self.value_bytes <= limit:
            return
        if limit >= LEAST_PACKED:
            self.pack(resources)
        if self.value_bytes > limit // 2:  # which leaves too little for further scores
            for name, values in self.values.items():
                self.piles[name].replace_by_runs(self._write_values(values))
                self.values[name] = Values()

    def merge(self, added: Store, limit: int, resources: Resources) -> None:
        """Add the scores of another store, as `add` does."""
        self.add(dict(added.values), limit, resources)
        self.add({name: pile.arrays() for name, pile in added.piles.items()}, limit, resources)
        for name, added_pile in added.piles.items():
            pile = self.piles[name]
            pile.runs = [*self._copy_to_file(added_pile.runs), *pile.runs]

    def pack(self, resources: Resources) -> None:
        """Pack the counts by value."""
        for values in self.values.values():
            values.pack(resources)

    def size(self, name: str) -> int:
        """Return the number of scores of a kind."""
        size = self.piles[name].size
        if name in self.values:
            size += self.values[name].size
        return size

    def by_value(self, names: Iterable[str]) -> bool:
        """Return whether all scores of some kinds are counted by value, and there are many."""
        kinds = list(names)
        has_many = any(self.values[name].ordered or self.values[name].packed for name in kinds)
        return has_many and not any(self.piles[name].parts() for name in kinds)

    def as_pile(self, name: str) -> Pile:
        """Return all scores of a kind as keys; the stored pile if none are counted by value."""
        values = self.values[name]
        if not values.size:
            return self.piles[name]
        pile = Pile()
        pile.add(self.piles[name].arrays())
        pile.runs = [*self.piles[name].runs]
        if values.ordered or values.packed:
            # after the runs of an earlier call, to which ending threads may still have referred
            self.file.trim()
            pile.runs += self._write_values(values)
        else:
            pile.add(values.few)
        return pile

    def discard(self) -> None:
        """Release the file space of spilled keys."""
        for pile in self.piles.values():
            pile.runs = []
        self.file.trim()

    def _write_values(self, values: Values) -> list[SortedRun]:
        """Write scores counted by value to sorted runs."""
        if not values.ordered and not values.packed:
            return spill(values.few, self.file)
        size = values.size
        dtype = np.dtype(np.float32)
        self.file.expect_room(size * dtype.itemsize)  # a few counts may be any number of scores
        if not size:
            return []
        return [self.file.write(values.chunks(), size, dtype)]

    def _copy_to_file(self, runs: Sequence[SortedRun]) -> list[SortedRun]:
        """Return runs in the file of this store; copy runs of other files, which can then close."""
        file = self.file
        return [
            run if file.holds(run) else file.write(run.chunks(), run.size, run.dtype)
            for run in runs
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with keys in place of files, which cannot be copied."""
        piles = {}
        for name, pile in self.piles.items():
            arrays = [keys for part in pile.arrays() for keys in as_keys(part)]
            runs = [np.concatenate([*run.chunks()]) for run in pile.runs]
            piles[name] = (arrays, runs)
        return {**self.__dict__, "piles": piles}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of `__getstate__`."""
        self.__dict__ |= state
        self.piles = {}
        for name, (arrays, runs) in state["piles"].items():
            pile = Pile()
            pile.add(arrays)
            pile.runs = [self.file.write(iter([keys]), keys.size, keys.dtype) for keys in runs]
            self.piles[name] = pile
