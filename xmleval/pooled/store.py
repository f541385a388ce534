"""Store: pooled scores of several kinds, in memory while they fit and in sorted runs on disk beyond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from xmleval.base.arrays import bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import Run, SpillFile
from xmleval.pooled.piles import Held, Pile, as_keys, spill
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

    def add(self, new: Mapping[str, Values | list[Held]], limit: int, resources: Resources) -> None:
        """Add scores, and limit what is in memory to ``limit`` bytes.

        That is the sum of all kinds; counts by value may be packed, which takes as much memory again.
        """
        keys = {name: scores for name, scores in new.items() if not isinstance(scores, Values)}
        for name, scores in new.items():
            if isinstance(scores, Values):
                self.values[name].merge(scores)
        n_bytes = self.n_bytes + sum(part.nbytes for arrays in keys.values() for part in arrays)
        if n_bytes <= limit:
            for name, arrays in keys.items():
                self.piles[name].add(arrays)
            return
        for name, pile in self.piles.items():
            pile.hold_on_disk(spill([*pile.arrays(), *keys.get(name, [])], self.file))
        if self.value_bytes <= limit:
            return
        if limit >= LEAST_PACKED:
            self.pack(resources)
        if self.value_bytes > limit // 2:  # which leaves too little for further scores
            for name, values in self.values.items():
                self.piles[name].hold_on_disk(self._runs_of(values))
                self.values[name] = Values()

    def merge(self, added: Store, limit: int, resources: Resources) -> None:
        """Add the scores of another store, as `add` does."""
        self.add(dict(added.values), limit, resources)
        self.add({name: pile.arrays() for name, pile in added.piles.items()}, limit, resources)
        for name, pile in added.piles.items():
            mine = self.piles[name]
            mine.runs = [*self._in_file(pile.runs), *mine.runs]

    def pack(self, resources: Resources) -> None:
        """Pack the counts by value."""
        for values in self.values.values():
            values.pack(resources)

    def size(self, name: str) -> int:
        """Return the number of scores of a kind."""
        return self.piles[name].size + (self.values[name].size if name in self.values else 0)

    def by_value(self, names: Iterable[str]) -> bool:
        """Return whether all scores of some kinds are counted by value, and there are many."""
        kinds = list(names)
        many = any(self.values[name].ordered or self.values[name].packed for name in kinds)
        return many and not any(self.piles[name].parts() for name in kinds)

    def as_pile(self, name: str) -> Pile:
        """Return all scores of a kind as keys; the own pile if no scores are counted by value."""
        values = self.values[name]
        if not values.size:
            return self.piles[name]
        pile = Pile()
        pile.add(self.piles[name].arrays())
        pile.runs = [*self.piles[name].runs]
        if values.ordered or values.packed:
            self.file.trim()  # after what an earlier call wrote, which ending threads may have held
            pile.runs += self._runs_of(values)
        else:
            pile.add(values.few)
        return pile

    def discard(self) -> None:
        """Release the file space of spilled keys."""
        for pile in self.piles.values():
            pile.runs = []
        self.file.trim()

    def _runs_of(self, values: Values) -> list[Run]:
        if not values.ordered and not values.packed:
            return spill(values.few, self.file)
        size, dtype = values.size, np.dtype(np.float32)
        self.file.expect_room(size * dtype.itemsize)  # a few counts may be any number of scores
        return [self.file.write(values.chunks(), size, dtype)] if size else []

    def _in_file(self, runs: list[Run]) -> list[Run]:
        """Return runs in the own file; copy those of other files, which can then be closed."""
        file = self.file
        return [run if file.holds(run) else file.write(run.chunks(), run.size, run.dtype) for run in runs]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with keys in place of files, which cannot be copied."""
        runs = {n: [np.concatenate([*run.chunks()]) for run in p.runs] for n, p in self.piles.items()}
        arrays = {n: [keys for part in p.arrays() for keys in as_keys(part)] for n, p in self.piles.items()}
        return {**self.__dict__, "piles": {name: (arrays[name], runs[name]) for name in self.piles}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of `__getstate__`."""
        self.__dict__ |= state
        self.piles = {name: Pile() for name in state["piles"]}
        for name, (arrays, runs) in state["piles"].items():
            self.piles[name].add(arrays)
            self.piles[name].runs = [self.file.write(iter([keys]), keys.size, keys.dtype) for keys in runs]
