"""ScoreRuns: scores of relevant and of irrelevant entries, for measures of pooled scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from xmleval.base.arrays import Bools, Chunks, Floats, Ints, Labels, Scores, as_score, bytes_of
from xmleval.base.budget import Resources
from xmleval.files.spill import SpillFile
from xmleval.kernels.columns import group_entries
from xmleval.kernels.keys import part_scores
from xmleval.kernels.labels import count_entries
from xmleval.kernels.sweeps import LabelCurves
from xmleval.metrics.spec import Spec
from xmleval.numerics.exact import as_floats
from xmleval.pooled.columns import sweep_columns
from xmleval.pooled.curves import Curves, Last, PartialCurve, Unlisted, sweep_piles, thin_points
from xmleval.pooled.piles import SMALL, Grouped, KeysInMemory, Pile, make_keys
from xmleval.pooled.store import Store
from xmleval.pooled.value_curves import sweep_values
from xmleval.pooled.values import Values
from xmleval.states.contents import Contents, expect
from xmleval.states.curve_values import Needs, add_points, curve_values
from xmleval.states.jackknife_values import entries_without, labels_without
from xmleval.states.plan import Plan
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import Results
from xmleval.states.saved_keys import checked_counts, checked_keys, checked_order, join_chunks
from xmleval.states.state import MOST_CELLS, Arrays, State, unjudged_rows
from xmleval.view.facts import Curve
from xmleval.view.view import View

CELLS = "cells"
COLUMNS = "columns"
GOOD = "relevant"
BAD = "irrelevant"
MISSING = "missing"
GROUPED = 8  # entries per label of a block from which grouping by label is faster than sorting keys


class ScoreRuns(State):
    """Scores of relevant and of irrelevant listed entries; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.

    needs : the curves that the measures require
    unlisted : score of unlisted entries; None if they rank below all
    dtype : of scores
    n_true : int64 (n_labels,), rows in which each label is relevant, or int64 (1,), their sum
    n_unjudged : likewise, rows in which each label is not judged; 0 unless some are
    store : the scores, in memory and in spill files
    last : for bounds, lowest score of each row, in arrays of several blocks
    n_unlisted_irrelevant : for bounds, unlisted irrelevant labels of each row, in the same arrays
    """

    counts_labels = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.needs = Needs.of(plan, specs)
        self.n_labels = plan.n_labels
        self.unlisted = plan.unlisted
        self._share = resources.pooled  # bytes in memory above which updates spill
        self.n_rows = 0
        self.dtype = np.dtype(np.float32)
        self.n_true: Ints = np.zeros(plan.n_labels if self.needs.columns else 1, np.int64)
        self.n_unjudged: Ints = np.zeros(self.n_true.size if plan.cells_are else 1, np.int64)
        self.table_bytes = bytes_of([self.n_true, self.n_unjudged])
        self.store = self._new_store(SpillFile())
        self.last: list[Scores] = []
        self.n_unlisted_irrelevant: list[Ints] = []

    @classmethod
    def most_cells(cls, plan: Plan, specs: tuple[Spec, ...]) -> int | None:
        """Return the limit of entries, if the curve of all entries is needed."""
        if Needs.of(plan, specs).cells:
            return MOST_CELLS
        return None

    def _new_store(self, file: SpillFile) -> Store:
        """Return an empty store of the scores that are needed."""
        cells = list[str]()
        columns = list[str]()
        if self.needs.cells:
            cells = [f"{CELLS}.{kind}" for kind in (GOOD, BAD)]
            if self.needs.bounds:
                cells.append(f"{CELLS}.{MISSING}")
        if self.needs.columns:
            columns = [f"{COLUMNS}.{kind}" for kind in (GOOD, BAD)]
        return Store(cells, columns, file)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking = view.ranking
        labels = view.block.truth.labels
        assert ranking.scores is not None
        self.store.add(self._scores(view), self._share, self.resources)
        if self.needs.bounds:
            self._add_last([view.last_scores], [view.n_unlisted_irrelevant])
        if self.needs.columns:
            count_entries(labels, self.n_true)
        else:
            self.n_true += labels.size
        cells = view.block.cells
        if cells is not None and self.needs.columns:
            self.n_unjudged += cells.count_unjudged(self.n_labels)
        elif cells is not None:
            self.n_unjudged += view.n_rows * self.n_labels - view.n_cells.sum()
        self.n_rows += view.n_rows
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, ranking.scores.dtype)

    def merge(self, added: ScoreRuns) -> None:
        """Merge a state of other rows."""
        self.store.merge(added.store, self.resources.pooled, self.resources)
        self.n_true = self.n_true + added.n_true
        self.n_unjudged = self.n_unjudged + added.n_unjudged
        self.n_rows += added.n_rows
        self.dtype = np.result_type(self.dtype, added.dtype)
        last = added.last
        n_unlisted_irrelevant = added.n_unlisted_irrelevant
        # the long arrays first: they are not copied
        if sum(map(len, self.last)) < sum(map(len, last)):
            last = self.last
            n_unlisted_irrelevant = self.n_unlisted_irrelevant
            self.last = [*added.last]
            self.n_unlisted_irrelevant = [*added.n_unlisted_irrelevant]
        self._add_last(last, n_unlisted_irrelevant)

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

    def _scores(self, view: View) -> dict[str, Values | list[KeysInMemory]]:
        """Return the scores that a block adds to the store, by name."""
        is_relevant = view.relevant_entries
        scores = view.ranking.scores
        assert scores is not None
        added: dict[str, Any] = {}
        if self.needs.columns:
            added |= self._label_scores(view.ranking.labels, scores, is_relevant)
        if self.needs.cells:
            good, bad = _part_scores(is_relevant, scores)
            added[f"{CELLS}.{GOOD}"] = _as_stored(good)
            added[f"{CELLS}.{BAD}"] = _as_stored(bad)
        if self.needs.bounds:
            added[f"{CELLS}.{MISSING}"] = _as_stored(view.last_scores[view.missing[0]])
        return added

    def _label_scores(
        self, labels: Labels, scores: Scores, is_relevant: Bools
    ) -> dict[str, list[Any]]:
        """Return the scores of entries by label: as keys, or grouped if there are many."""
        if labels.size < max(SMALL, GROUPED * self.n_labels):
            good, bad = _part_scores(is_relevant, scores)
            return {
                f"{COLUMNS}.{GOOD}": [make_keys(labels[is_relevant], good, self.n_labels)],
                f"{COLUMNS}.{BAD}": [make_keys(labels[~is_relevant], bad, self.n_labels)],
            }
        ptr = np.empty((2, self.n_labels + 1), np.int64)
        grouped = np.empty_like(scores)
        group_entries(is_relevant, labels, scores, ptr, grouped)
        return {
            f"{COLUMNS}.{BAD}": [Grouped(ptr[0], grouped)],
            f"{COLUMNS}.{GOOD}": [Grouped(ptr[1], grouped)],
        }

    def _add_last(self, last: list[Scores], n_unlisted_irrelevant: list[Ints]) -> None:
        """Add lowest scores of rows; short arrays are joined."""
        for scores, counts in zip(last, n_unlisted_irrelevant, strict=True):
            self.last.append(scores)
            self.n_unlisted_irrelevant.append(counts)
            while len(self.last) > 1 and self.last[-2].size <= 2 * self.last[-1].size:
                if self.last[-2].dtype != self.last[-1].dtype:
                    break
                self.last[-2:] = [np.concatenate(self.last[-2:])]
                self.n_unlisted_irrelevant[-2:] = [np.concatenate(self.n_unlisted_irrelevant[-2:])]

    def finish(self) -> Results:
        """Sort the scores and return the values of curves."""
        entries = None
        points = None
        columns = None
        if self.needs.cells:
            n_points = min(self.plan.curve_points, self.resources.points)
            entries, points = self.cells(self.resources, n_points)
            self.store.file.trim()  # after scores counted by value that were swept with others
        if self.needs.columns:
            columns = self.columns(self.resources)
        results = curve_values(self.plan, self.specs, self.needs, entries, columns)
        if self.plan.curve_points and points is not None:
            add_points(self.plan, self.resources, points, results)
        return results

    @property
    def n_cells(self) -> int:
        """Number of all judged entries, listed or not."""
        return self.n_rows * self.n_labels - int(self.n_unjudged.sum())

    def cells(self, resources: Resources, n_points: int = 0) -> tuple[Curves, Floats]:
        """Return the curves of all entries, arrays of size 1, and points of the first curve."""
        n_good, n_bad = (self.store.size(f"{CELLS}.{kind}") for kind in (GOOD, BAD))
        n_relevant = int(self.n_true.sum())
        n_irrelevant = self.n_cells - n_relevant
        unlisted = Unlisted(n_relevant - n_good, n_irrelevant - n_bad, self.level())
        strides = None
        if n_points:
            strides = np.array([max(1, -(-2 * size // n_points)) for size in (n_good, n_bad)])
        last = self._last() if self.needs.bounds else None
        sweep, scores = self._cell_sweep()
        good = scores[f"{CELLS}.{GOOD}"]
        bad = scores[f"{CELLS}.{BAD}"]
        sums = sweep(
            [good],
            bad,
            unlisted,
            resources,
            strides=strides,
            last=last,
            queries=self.needs.cell_queries,
        )

        def make_curve(right: int, level: int, *sums_and_peaks: Floats) -> Curve:
            """Return a curve; its precision, peak and threshold are NaN unless given."""
            counts = [np.array([n], object) for n in (n_relevant, n_irrelevant, right, level)]
            others = [np.array([value]) for value in sums_and_peaks or (np.nan,) * 3]
            return Curve._make([*counts, *others])

        value = make_curve(*sums.pairs, as_floats(sums.precision), *sums.peak.T)
        points = thin_points(sums.points, n_points)
        if not self.needs.bounds:
            return Curves(value), points
        # without the pairs of unlisted entries, which rank below all
        right, level = sums.pairs
        right -= n_good * unlisted.irrelevant
        level -= unlisted.relevant * unlisted.irrelevant
        worst = make_curve(right + sums.open_pairs[0], level + sums.open_pairs[1])
        above_all = Unlisted(0, unlisted.irrelevant, None)
        missing = scores[f"{CELLS}.{MISSING}"]
        best = make_curve(*sweep([good, missing], bad, above_all, resources).pairs)
        return Curves(value, worst, best), points

    def _cell_sweep(
        self,
    ) -> tuple[Callable[..., PartialCurve], Mapping[str, Values | Pile]]:
        """Return the function that sweeps scores of all entries, and its scores by name."""
        values = self.store.values
        if self.store.by_value([*values]):
            return partial(sweep_values, pairs_alone=self.needs.pairs_alone), values
        return sweep_piles, {name: self.store.as_pile(name) for name in values}

    def columns(self, resources: Resources) -> Curves:
        """Return the curves of every label."""
        curves = self.sweep(resources)
        n_relevant, n_irrelevant = self._count_cells().T.astype(np.float64)
        right, level = curves.pairs.T
        value = Curve(
            n_relevant,
            n_irrelevant,
            right,
            level,
            curves.precision,
            curves.peak[..., 0],
            curves.peak[..., 1],
        )
        return Curves(value)

    def sweep(self, resources: Resources) -> LabelCurves:
        """Return the statistics of the curve of every label."""
        return sweep_columns(
            self.store.piles[f"{COLUMNS}.{GOOD}"],
            self.store.piles[f"{COLUMNS}.{BAD}"],
            self.n_labels,
            self._count_cells(),
            self.level(),
            resources,
            self.needs.queries,
        )

    def _count_cells(self) -> Ints:
        """Return the relevant and irrelevant rows of every label, int64 (n_labels, 2)."""
        return np.stack([self.n_true, self.n_rows - self.n_unjudged - self.n_true], axis=1)

    def replicates(self, groups: Sequence[ScoreRuns]) -> dict[str, Floats]:
        """Return the values without each of the groups.

        Measures without queries of curves need one sweep for all groups, but not averages over
        labels that are not judged in some rows.
        """
        replicates: dict[str, Floats] = {}
        smooth = [spec for spec in self.specs if spec.smooth]
        swept = [spec for spec in smooth if not spec.metric.curve_query]
        micro = [spec for spec in swept if spec.average == "micro"]
        averages = [spec for spec in swept if spec.average != "micro"]
        merges = len(swept) < len(smooth) or (averages and self.plan.cells_are)
        if merges:
            replicates |= super().replicates(groups)
        if micro:
            replicates |= self._entry_replicates(micro, groups)
        if averages and not self.plan.cells_are:
            replicates |= self._label_replicates(averages, groups)
        return replicates

    def _entry_replicates(
        self, specs: Sequence[Spec], groups: Sequence[ScoreRuns]
    ) -> dict[str, Floats]:
        """Return micro averages without each of the groups."""
        n_cells = np.array([group.n_cells for group in groups])
        n_relevant = np.array([int(group.n_true.sum()) for group in groups])
        return entries_without(
            self.plan,
            specs,
            stores=[group.store for group in groups],
            names=[f"{CELLS}.{kind}" for kind in (GOOD, BAD)],
            n_cells=np.stack([n_relevant, n_cells - n_relevant]),
            level=self.level(),
            resources=self.resources,
        )

    def _label_replicates(
        self, specs: Sequence[Spec], groups: Sequence[ScoreRuns]
    ) -> dict[str, Floats]:
        """Return averages over labels without each of the groups."""
        good = [group.store.piles[f"{COLUMNS}.{GOOD}"] for group in groups]
        bad = [group.store.piles[f"{COLUMNS}.{BAD}"] for group in groups]
        return labels_without(
            self.plan,
            specs,
            piles=[good, bad],
            n_true=[group.n_true for group in groups],
            n_rows=np.array([group.n_rows for group in groups]),
            level=self.level(),
            resources=self.resources,
        )

    def level(self) -> float | None:
        """Return the score of unlisted entries, rounded to the dtype of the others."""
        if self.unlisted is None:
            return None
        return as_score(self.unlisted, np.empty(0, self.dtype))

    def _join_bounds(self) -> tuple[Scores, Ints]:
        """Return the lowest score and the number of unlisted irrelevant labels of all rows."""
        return (
            np.concatenate([np.empty(0, np.float32), *self.last]),
            np.concatenate([np.empty(0, np.int64), *self.n_unlisted_irrelevant]),
        )

    def _last(self) -> Last:
        """Return the lowest scores of all rows, ascending."""
        scores, n_unlisted_irrelevant = self._join_bounds()
        order = np.argsort(scores, kind="stable")
        return Last(scores[order], np.concatenate(([0], np.cumsum(n_unlisted_irrelevant[order]))))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        arrays: Arrays = {"n_true": self.n_true, "width": np.array([self.dtype.itemsize])}
        if self.plan.cells_are:
            arrays["n_unjudged"] = self.n_unjudged
        for name, pile in self.store.piles.items():
            values = self.store.values.get(name, Values())
            if values.packed or values.ordered:
                first, starts, places = values.packed_together(self.resources)
                arrays[f"first.{name}"] = first
                arrays[f"starts.{name}"] = starts
                arrays[f"{name}.places"] = places
                values = Values()
            for number, keys in enumerate([*pile.arrays(), *values.few]):
                is_array = isinstance(keys, np.ndarray)
                arrays[f"{name}.held{number}"] = keys if is_array else _as_chunks(keys)
            for number, run in enumerate(pile.runs):
                arrays[f"{name}.run{number}"] = Chunks(run.dtype, run.size, run.chunks)
        if self.needs.bounds:
            arrays["last"], arrays["n_left"] = self._join_bounds()
        return arrays

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save, with new numbers of labels; runs are no longer sorted."""
        arrays = dict[str, Any]()
        n_held = 0
        for name, array in self.arrays().items():
            if name.startswith(f"{COLUMNS}."):
                _, kind, _ = name.split(".")
                arrays[f"{COLUMNS}.{kind}.held{n_held}"] = labels.keys(array)
                n_held += 1
            else:
                arrays[name] = array
        n_added = labels.n_labels - self.n_labels
        elsewhere = unjudged_rows(self.plan, self.n_rows)
        if self.needs.columns:
            arrays["n_true"] = labels.spread(self.n_true, 0)
        if self.plan.cells_are and self.needs.columns:
            arrays["n_unjudged"] = labels.spread(self.n_unjudged, 0, elsewhere)
        elif self.plan.cells_are:
            arrays["n_unjudged"] = self.n_unjudged + n_added * elsewhere
        if self.needs.bounds and not elsewhere:
            arrays["n_left"] = arrays["n_left"] + n_added
        return arrays

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = contents.n_rows
        width = int(contents.take("width", 1)[0])
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        most = self.n_rows if self.needs.columns else self.n_rows * self.n_labels
        self.n_true = contents.take("n_true", *self.n_true.shape, high=most)
        if self.plan.cells_are:
            self.n_unjudged = contents.take("n_unjudged", *self.n_unjudged.shape, high=most)
        for name in self.store.piles:
            self._restore(contents, name)
        if self.needs.cells:
            n_relevant = int(self.n_true.sum())
            for kind, most in ((GOOD, n_relevant), (BAD, self.n_cells - n_relevant)):
                n_scores = self.store.size(f"{CELLS}.{kind}")
                expect(n_scores <= most, f"{n_scores} scores of {most} {kind} entries")
        if self.needs.bounds:
            chunks = contents.take_chunks("last")
            self.n_unlisted_irrelevant = [contents.take("n_left", chunks.size)]
            last = list(checked_keys("last", chunks, np.dtype(np.float64), None))
            self.last = [np.concatenate(last)]

    def _restore(self, contents: Contents, name: str) -> None:
        """Take the scores of a name in the store."""
        store = self.store
        limit = self.resources.pooled
        has_labels = name not in store.values
        n_labels = self.n_labels if has_labels else None
        for key in contents.numbered(f"{name}.held"):
            keys = checked_keys(name, contents.take_chunks(key), self.dtype, n_labels)
            for part in join_chunks(keys, self.resources.copied):
                scores: list[KeysInMemory] | Values = [part]
                if not has_labels:
                    scores = _as_stored(part)
                store.add({name: scores}, limit, self.resources)
        for key in contents.numbered(f"{name}.run"):
            chunks = contents.take_chunks(key)
            in_order = checked_order(checked_keys(name, chunks, self.dtype, n_labels))
            run = store.file.write(in_order, chunks.size, chunks.dtype)
            if run.size:
                store.piles[name].runs.append(run)
        if not has_labels and contents.has(f"{name}.places"):
            for packed in checked_counts(name, contents):
                store.add({name: Values([packed])}, limit, self.resources)


def _part_scores(is_relevant: Bools, scores: Scores) -> tuple[Scores, Scores]:
    """Return the scores of relevant and of irrelevant entries."""
    n_relevant = int(np.count_nonzero(is_relevant))
    n_irrelevant = is_relevant.size - n_relevant
    # the kernel writes one more
    good = np.empty(n_relevant + 1, scores.dtype)
    bad = np.empty(n_irrelevant + 1, scores.dtype)
    bits = np.dtype(f"u{scores.itemsize}")
    part_scores(is_relevant, scores.view(bits), good.view(bits), bad.view(bits))
    return good[:-1], bad[:-1]


def _as_stored(scores: Scores) -> Values | list[KeysInMemory]:
    """Return scores of all entries as the store takes them."""
    if scores.dtype != np.float32:
        return [scores]
    values = Values()
    values.add(scores)
    return values


def _as_chunks(part: Grouped) -> Chunks:
    return Chunks(part.dtype, part.size, part.keys)


STATE = ScoreRuns
