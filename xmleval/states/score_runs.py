"""ScoreRuns: scores of relevant and irrelevant cells apart, for measures of scores pooled over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmleval.arrays import Floats, Ints, Labels, Scores, as_score
from xmleval.kernels.fixed import LIMBS
from xmleval.kernels.runs import HALF, flag_relevant, merge_keys, sweep, sweep_labels
from xmleval.states.facts import Facts
from xmleval.states.limbs import Commit, as_floats, saved


class Curve(NamedTuple):
    """What curves of pooled scores say: of all cells together, or of each label, float64 (n,).

    n_relevant, n_irrelevant : cells; right, level : (relevant, irrelevant) pairs in the right order, and
    with equal scores; precision : sum over relevant cells of the precision at the end of their tie group;
    peak : largest F1 of a cut between tie groups.
    """

    n_relevant: Floats
    n_irrelevant: Floats
    right: Floats
    level: Floats
    precision: Floats
    peak: Floats


class Run(NamedTuple):
    """Scores of some cells, and their labels where curves of labels are wanted."""

    scores: Scores
    labels: Labels


class ScoreRuns:
    """Scores of listed cells, relevant and irrelevant apart; all unlisted cells are one tie group.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    unlisted : float or None
        Score of the unlisted cells; None where they stand below everything.
    by_label : bool
        Whether to keep the label of each score, for curves of labels.
    """

    def __init__(self, n_labels: int, unlisted: float | None, by_label: bool) -> None:
        self.n_labels = n_labels
        self.unlisted = unlisted
        self.by_label = by_label
        self.n_rows = 0
        self.runs: tuple[list[Run], list[Run]] = ([], [])  # relevant, irrelevant
        self.n_true: Ints = np.zeros(n_labels if by_label else 1, np.int64)

    def prepare(self, facts: Facts) -> Commit:
        """Take the scores of a block."""
        ranking, truth = facts.ranking, facts.block.truth
        assert ranking.scores is not None
        relevant = np.zeros(ranking.labels.size, np.bool_)
        flag_relevant(ranking.ptr, truth.ptr, facts.positions, relevant)
        scores = ranking.scores + ranking.scores.dtype.type(0)  # turns -0.0 into 0.0
        own = tuple(
            [Run(scores[which], ranking.labels[which] if self.by_label else ranking.labels[:0])]
            for which in (relevant, ~relevant)
        )
        n_true = np.array([truth.labels.size])
        if self.by_label:
            n_true = np.bincount(truth.labels, minlength=self.n_labels)
        return self._take(own[0], own[1], self.n_true + n_true, facts.n_rows)

    def prepare_merge(self, other: ScoreRuns) -> Commit:
        """Add another state of the same kind."""
        return self._take(*other.runs, self.n_true + other.n_true, other.n_rows)

    def _take(self, relevant: list[Run], irrelevant: list[Run], n_true: Ints, n_rows: int) -> Commit:
        runs = ([*self.runs[0], *relevant], [*self.runs[1], *irrelevant])
        n_rows += self.n_rows

        def commit() -> None:
            self.runs, self.n_true, self.n_rows = runs, n_true, n_rows

        return commit

    def _joined(self) -> tuple[Run, Run]:
        """Return all scores of relevant and of irrelevant cells, in one type."""
        wide = any(run.scores.dtype == np.float64 for runs in self.runs for run in runs)
        dtype = np.float64 if wide else np.float32
        relevant, irrelevant = (
            Run(
                np.concatenate([np.empty(0, dtype), *(run.scores for run in runs)]).astype(dtype, copy=False),
                np.concatenate([np.empty(0, np.int32), *(run.labels for run in runs)]),
            )
            for runs in self.runs
        )
        return relevant, irrelevant

    def _level(self, scores: Scores) -> float:
        return float("nan") if self.unlisted is None else as_score(self.unlisted, scores)

    def pooled(self) -> Curve:
        """Return the curve of all cells together, one entry."""
        relevant, irrelevant = self._joined()
        n_relevant = int(self.n_true.sum())
        n_irrelevant = self.n_rows * self.n_labels - n_relevant
        unlisted = np.array([n_relevant - relevant.scores.size, n_irrelevant - irrelevant.scores.size])
        pairs, precision, peak = np.zeros((2, 2), np.int64), np.zeros(LIMBS, np.int64), np.zeros(1)
        level = self._level(relevant.scores)
        sweep(np.sort(relevant.scores), np.sort(irrelevant.scores), unlisted, level, pairs, precision, peak)
        right, tied = ((int(high) << HALF) + int(low) for high, low in pairs)
        found = [n_relevant, n_irrelevant, right, tied, float(as_floats(precision[None])[0]), peak[0]]
        return Curve(*(np.array([value], np.float64) for value in found))

    def labels(self) -> Curve:
        """Return the curve of every label."""
        columns = [_by_label(run, self.n_labels) for run in self._joined()]
        (true_ptr, true_scores), (false_ptr, false_scores) = columns
        n_false = self.n_rows - self.n_true
        unlisted = np.stack([self.n_true - np.diff(true_ptr), n_false - np.diff(false_ptr)], axis=1)
        pairs, precision = np.empty((self.n_labels, 2)), np.empty(self.n_labels)
        peak = np.empty(self.n_labels)
        level = self._level(true_scores)
        sweep_labels(true_ptr, true_scores, false_ptr, false_scores, unlisted, level, pairs, precision, peak)
        n_true = self.n_true.astype(np.float64)
        return Curve(n_true, n_false.astype(np.float64), pairs[:, 0], pairs[:, 1], precision, peak)

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        out: dict[str, Any] = {
            "n_true": self.n_true,
            "n_rows": np.array([self.n_rows]),
        }
        for name, run in zip(("relevant", "irrelevant"), self._joined(), strict=True):
            out[f"{name}.scores"], out[f"{name}.labels"] = run.scores, run.labels
        return out

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self.n_true = saved(arrays, "n_true", *self.n_true.shape)
        self.n_rows = int(saved(arrays, "n_rows", 1)[0])
        relevant, irrelevant = (
            Run(arrays[f"{name}.scores"].copy(), arrays[f"{name}.labels"].copy())
            for name in ("relevant", "irrelevant")
        )
        for scores, labels in (relevant, irrelevant):
            n_stored = scores.size if self.by_label else 0
            if scores.ndim != 1 or scores.dtype.kind != "f" or labels.shape != (n_stored,):
                raise ValueError(
                    f"scores of {scores.dtype}, shape {scores.shape}, have labels {labels.shape}"
                )
            if labels.dtype.kind != "i" or (
                labels.size and not 0 <= labels.min() <= labels.max() < self.n_labels
            ):
                raise ValueError("labels of scores are out of range")
        self.runs = ([relevant], [irrelevant])


def _by_label(run: Run, n_labels: int) -> tuple[Ints, Scores]:
    """Return scores sorted by label and, within it, upwards, with the pointer of labels."""
    ptr = np.zeros(n_labels + 1, np.int64)
    np.cumsum(np.bincount(run.labels, minlength=n_labels), out=ptr[1:])
    if run.scores.dtype == np.float64 or run.labels.dtype != np.int32:
        return ptr, run.scores[np.lexsort((run.scores, run.labels))]
    keys = np.empty(run.scores.size, np.int64)
    merge_keys(run.labels, run.scores.view(np.int32), keys)
    keys.sort()  # many times faster than sorting positions
    bits = (keys - (((keys + (1 << (HALF - 1))) >> HALF) << HALF)).astype(np.int32)
    bits[bits < 0] = -bits[bits < 0] | np.int32(-(2**31))
    return ptr, bits.view(np.float32)
