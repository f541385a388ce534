"""ScoreRuns: scores of relevant and of irrelevant entries, for measures of scores pooled over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from xmleval.base.arrays import Bools, Chunks, Floats, Ints, Scores, as_score, bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import SpillFile
from xmleval.kernels.columns import group_entries
from xmleval.kernels.keys import part_scores
from xmleval.kernels.labels import count_entries
from xmleval.kernels.sweeps import LabelCurves
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.pooled.columns import sweep_columns
from xmleval.pooled.curves import Curves, Found, Last, Unlisted, sweep_piles, thinned
from xmleval.pooled.piles import SMALL, Grouped, Held, Pile, make_keys
from xmleval.pooled.store import Store
from xmleval.pooled.value_curves import sweep_values
from xmleval.pooled.values import Values
from xmleval.states.contents import Contents, expect
from xmleval.states.curve_values import Needs, add_points, curve_values
from xmleval.states.jackknife_values import entries_without, labels_without
from xmleval.states.plan import Plan
from xmleval.states.results import Results
from xmleval.states.saved_keys import checked_counts, checked_keys, joined, rising
from xmleval.states.state import MOST_CELLS, Arrays, State
from xmleval.view.facts import Curve
from xmleval.view.view import View

CELLS, COLUMNS = "cells", "columns"
GOOD, BAD, MISSING = "relevant", "irrelevant", "missing"
GROUPED = 8  # entries per label of a block from which grouping by label is faster than sorting keys


class ScoreRuns(State):
    """Scores of relevant and of irrelevant listed entries; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.
    """

    of_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.needs = Needs.of(plan, specs)
        self.n_labels, self.unlisted = plan.n_labels, plan.unlisted
        self._share = resources.pooled  # bytes that updates may hold
        self.n_rows = 0
        self.dtype = np.dtype(np.float32)  # of scores
        self.n_true: Ints = np.zeros(plan.n_labels if self.needs.columns else 1, np.int64)
        self.table_bytes = bytes_of(self.n_true)
        self.store = self._new_store(SpillFile())
        self.last: list[Scores] = []  # for bounds: lowest score of each row
        self.n_left: list[Ints] = []  # for bounds: unlisted irrelevant labels of each row

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of curves of all entries."""
        return MOST_CELLS if Needs.of(plan, specs).cells else None

    def _new_store(self, file: SpillFile) -> Store:
        kinds = (GOOD, BAD, MISSING) if self.needs.bounds else (GOOD, BAD)
        cells = [f"{CELLS}.{kind}" for kind in kinds] if self.needs.cells else []
        columns = [f"{COLUMNS}.{kind}" for kind in (GOOD, BAD)] if self.needs.columns else []
        return Store(cells, columns, file)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking, labels = view.ranking, view.block.truth.labels
        assert ranking.scores is not None
        self.store.add(self._scores(view), self._share, self.resources)
        if self.needs.bounds:
            self._add_last([view.last_scores], [view.n_left])
        if self.needs.columns:
            count_entries(labels, self.n_true)
        else:
            self.n_true += labels.size
        self.n_rows += view.n_rows
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, ranking.scores.dtype)

    def merge(self, added: ScoreRuns) -> None:
        """Merge a state of other rows."""
        self.store.merge(added.store, self.resources.pooled, self.resources)
        self.n_true = self.n_true + added.n_true
        self.n_rows += added.n_rows
        self.dtype = np.result_type(self.dtype, added.dtype)
        if sum(map(len, self.last)) < sum(map(len, added.last)):  # the long ones first: they are not copied
            self.last, last = [*added.last], self.last
            self.n_left, n_left = [*added.n_left], self.n_left
            self._add_last(last, n_left)
        else:
            self._add_last(added.last, added.n_left)

    def empty(self) -> ScoreRuns:
        """Return an empty state to merge with this one, which spills to the same file."""
        state = ScoreRuns(self.plan, self.specs, self.resources)
        state.store.file = self.store.file
        state._share = self.resources.left_for_pooled(self.store.n_bytes)
        return state

    def divided(self, n_workers: int, n_blocks: int) -> list[ScoreRuns]:
        """Return one state per worker, this empty one first."""
        parts = [self, *(self.empty() for _ in range(n_workers - 1))]
        share = self._share // n_workers
        for part in parts:
            part._share = share
        return parts

    def discard(self) -> None:
        """Release the file space of spilled keys."""
        self.store.discard()

    def _scores(self, view: View) -> dict[str, Values | list[Held]]:
        """Return the scores of each kind that a block adds."""
        flags, labels, scores = view.relevant_entries, view.ranking.labels, view.ranking.scores
        assert scores is not None
        added: dict[str, Any] = {}
        grouped = labels.size >= max(SMALL, GROUPED * self.n_labels)
        if self.needs.columns and not grouped:
            good, bad = _parted(flags, scores)
            added[f"{COLUMNS}.{GOOD}"] = [make_keys(labels[flags], good, self.n_labels)]
            added[f"{COLUMNS}.{BAD}"] = [make_keys(labels[~flags], bad, self.n_labels)]
        elif self.needs.columns:
            ptr, together = np.empty((2, self.n_labels + 1), np.int64), np.empty_like(scores)
            group_entries(flags, labels, scores, ptr, together)
            added[f"{COLUMNS}.{BAD}"], added[f"{COLUMNS}.{GOOD}"] = (
                [Grouped(part, together)] for part in ptr
            )
        if self.needs.cells:
            for kind, part in zip((GOOD, BAD), _parted(flags, scores), strict=True):
                added[f"{CELLS}.{kind}"] = _as_found(part)
        if self.needs.bounds:
            added[f"{CELLS}.{MISSING}"] = _as_found(view.last_scores[view.missing[0]])
        return added

    def _add_last(self, last: list[Scores], n_left: list[Ints]) -> None:
        """Add lowest scores of rows; short arrays are joined."""
        for scores, left in zip(last, n_left, strict=True):
            self.last.append(scores)
            self.n_left.append(left)
            while len(self.last) > 1 and self.last[-2].size <= 2 * self.last[-1].size:
                if self.last[-2].dtype != self.last[-1].dtype:
                    break
                self.last[-2:] = [np.concatenate(self.last[-2:])]
                self.n_left[-2:] = [np.concatenate(self.n_left[-2:])]

    def finish(self) -> Results:
        """Sort the scores and return the values of curves."""
        entries, points, columns = None, None, None
        if self.needs.cells:
            entries, points = self.cells(self.resources, min(self.plan.curve_points, self.resources.points))
            self.store.file.trim()  # after scores counted by value that were swept with others
        if self.needs.columns:
            columns = self.columns(self.resources)
        results = curve_values(self.plan, self.specs, self.needs, entries, columns)
        if self.plan.curve_points and points is not None:
            add_points(self.plan, self.resources, points, results)
        return results

    def cells(self, resources: Resources, n_points: int = 0) -> tuple[Curves, Floats]:
        """Return the curves of all entries, arrays of size 1, and points of the first curve."""
        good, bad, missing = (f"{CELLS}.{kind}" for kind in (GOOD, BAD, MISSING))
        n_good, n_bad = map(self.store.size, (good, bad))
        n_relevant = int(self.n_true.sum())
        n_irrelevant = self.n_rows * self.n_labels - n_relevant
        unlisted = Unlisted(n_relevant - n_good, n_irrelevant - n_bad, self.level())
        strides = None
        if n_points:
            strides = np.array([max(1, -(-2 * size // n_points)) for size in (n_good, n_bad)])
        last = self._last() if self.needs.bounds else None
        asked = self.needs.asked
        sweep: Callable[..., Found] = partial(sweep_values, pairs_alone=self.needs.pairs_alone)
        side: Callable[[str], Values | Pile | None] = self.store.values.get
        if not self.store.by_value([*self.store.values]):
            sweep, side = sweep_piles, {name: self.store.as_pile(name) for name in self.store.values}.get
        sums = sweep([side(good)], side(bad), unlisted, resources, strides=strides, last=last, asked=asked)

        def curve(right: int, level: int, *ends: Floats) -> Curve:
            counts = [np.array([n], object) for n in (n_relevant, n_irrelevant, right, level)]
            return Curve._make([*counts, *(np.array([value]) for value in ends or (np.nan,) * 3)])

        value = curve(*sums.pairs, as_floats(sums.precision), *sums.peak.T)
        points = thinned(sums.points, n_points)
        if not self.needs.bounds:
            return Curves(value), points
        # without the pairs of unlisted entries, which rank below all
        right, level = sums.pairs
        right -= n_good * unlisted.irrelevant
        level -= unlisted.relevant * unlisted.irrelevant
        worst = curve(right + sums.open_pairs[0], level + sums.open_pairs[1])
        above_all = Unlisted(0, unlisted.irrelevant, None)
        best = curve(*sweep([side(good), side(missing)], side(bad), above_all, resources).pairs)
        return Curves(value, worst, best), points

    def columns(self, resources: Resources) -> Curves:
        """Return the curves of every label."""
        curves = self.sweep(resources)
        n_relevant, n_irrelevant = self._n_cells().T.astype(np.float64)
        right, level = curves.pairs.T
        value = Curve(
            n_relevant, n_irrelevant, right, level, curves.precision, curves.peak[..., 0], curves.peak[..., 1]
        )
        return Curves(value)

    def sweep(self, resources: Resources) -> LabelCurves:
        """Return the statistics of the curve of every label."""
        good, bad = (self.store.piles[f"{COLUMNS}.{kind}"] for kind in (GOOD, BAD))
        n_cells, level = self._n_cells(), self.level()
        return sweep_columns(good, bad, self.n_labels, n_cells, level, resources, self.needs.asked)

    def _n_cells(self) -> Ints:
        """Return the relevant and irrelevant rows of every label."""
        return np.stack([self.n_true, self.n_rows - self.n_true], axis=1)

    def replicates(self, groups: Sequence[ScoreRuns]) -> dict[str, Floats]:
        """Return the values without each of the groups, from one sweep over all if nothing is asked."""
        swept = [spec for spec in self.specs if spec.smooth and not spec.metric.asks]
        of_entries = [spec for spec in swept if spec.average == "micro"]
        of_labels = [spec for spec in swept if spec.average != "micro"]
        n_rows = np.array([group.n_rows for group in groups])
        replicates: dict[str, Floats] = {}
        if any(spec.smooth and spec.metric.asks for spec in self.specs):
            replicates |= super().replicates(groups)
        settings = self.level(), self.resources
        if of_entries:
            n_relevant = np.array([int(group.n_true.sum()) for group in groups])
            n_cells = np.stack([n_relevant, n_rows * self.n_labels - n_relevant])
            stores, names = [group.store for group in groups], [f"{CELLS}.{kind}" for kind in (GOOD, BAD)]
            replicates |= entries_without(self.plan, of_entries, stores, names, n_cells, *settings)
        if of_labels:
            piles = [[group.store.piles[f"{COLUMNS}.{kind}"] for group in groups] for kind in (GOOD, BAD)]
            n_true = [group.n_true for group in groups]
            replicates |= labels_without(self.plan, of_labels, piles, n_true, n_rows, *settings)
        return replicates

    def level(self) -> float | None:
        """Return the score of unlisted entries, rounded to the dtype of the others."""
        return None if self.unlisted is None else as_score(self.unlisted, np.empty(0, self.dtype))

    def _joined_bounds(self) -> tuple[Scores, Ints]:
        return (
            np.concatenate([np.empty(0, np.float32), *self.last]),
            np.concatenate([np.empty(0, np.int64), *self.n_left]),
        )

    def _last(self) -> Last:
        """Return the lowest scores of all rows, ascending."""
        scores, n_left = self._joined_bounds()
        order = np.argsort(scores, kind="stable")
        return Last(scores[order], np.concatenate(([0], np.cumsum(n_left[order]))))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        out: dict[str, Any] = {"n_true": self.n_true, "width": np.array([self.dtype.itemsize])}
        for name, pile in self.store.piles.items():
            values = self.store.values.get(name, Values())
            if values.packed or values.ordered:
                parts = values.packed_together(self.resources)
                out |= dict(zip((f"first.{name}", f"starts.{name}", f"{name}.places"), parts, strict=True))
                values = Values()
            for number, keys in enumerate([*pile.arrays(), *values.few]):
                out[f"{name}.held{number}"] = keys if isinstance(keys, np.ndarray) else _as_chunks(keys)
            for number, run in enumerate(pile.runs):
                out[f"{name}.run{number}"] = Chunks(run.dtype, run.size, run.chunks)
        if self.needs.bounds:
            out["last"], out["n_left"] = self._joined_bounds()
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = contents.n_rows
        width = int(contents.take("width", 1)[0])
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        n_cells = self.n_rows * self.n_labels
        most_true = self.n_rows if self.needs.columns else n_cells
        self.n_true = contents.take("n_true", *self.n_true.shape, high=most_true)
        for name in self.store.piles:
            self._restore(contents, name)
        if self.needs.cells:
            n_relevant = int(self.n_true.sum())
            for kind, most in ((GOOD, n_relevant), (BAD, n_cells - n_relevant)):
                n_scores = self.store.size(f"{CELLS}.{kind}")
                expect(n_scores <= most, f"{n_scores} scores of {most} {kind} entries")
        if self.needs.bounds:
            last = contents.take_chunks("last")
            self.n_left = [contents.take("n_left", last.size)]
            self.last = [np.concatenate(list(checked_keys("last", last, np.dtype(np.float64), None)))]

    def _restore(self, contents: Contents, name: str) -> None:
        """Take the scores of a kind."""
        store, limit = self.store, self.resources.pooled
        n_labels = None if name in store.values else self.n_labels
        for key in contents.numbered(f"{name}.held"):
            keys = checked_keys(name, contents.take_chunks(key), self.dtype, n_labels)
            for part in joined(keys, self.resources.copied):
                store.add({name: [part] if n_labels else _as_found(part)}, limit, self.resources)
        for key in contents.numbered(f"{name}.run"):
            chunks = contents.take_chunks(key)
            in_order = rising(checked_keys(name, chunks, self.dtype, n_labels))
            run = store.file.write(in_order, chunks.size, chunks.dtype)
            store.piles[name].runs += [run] if run.size else []
        if not n_labels and contents.has(f"{name}.places"):
            for packed in checked_counts(name, contents):
                store.add({name: Values([packed])}, limit, self.resources)


def _parted(flags: Bools, scores: Scores) -> tuple[Scores, Scores]:
    """Return the scores of relevant and of irrelevant entries."""
    n_relevant = int(np.count_nonzero(flags))
    good, bad = (np.empty(size + 1, scores.dtype) for size in (n_relevant, flags.size - n_relevant))
    bits = np.dtype(f"u{scores.itemsize}")
    part_scores(flags, *(array.view(bits) for array in (scores, good, bad)))  # the kernel writes one more
    return good[:-1], bad[:-1]


def _as_found(scores: Scores) -> Values | list[Held]:
    """Return scores of all entries as the store takes them."""
    if scores.dtype != np.float32:
        return [scores]
    values = Values()
    values.add(scores)
    return values


def _as_chunks(part: Grouped) -> Chunks:
    return Chunks(part.dtype, part.size, part.keys)


STATE = ScoreRuns
