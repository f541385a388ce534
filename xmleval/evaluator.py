"""Evaluator: count blocks of data, merge counts, compute values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import memory_bytes
from xmleval.conventions import Conventions
from xmleval.engine.plan import Plan, States
from xmleval.engine.results import compute_results, kept_row_values
from xmleval.engine.run import available_processors, count_blocks, even_blocks
from xmleval.engine.settings import KEPT, SCORED, Settings
from xmleval.files.saved import Saved, first_difference, load_state, naming_damage, save_state
from xmleval.input.csr import Rows
from xmleval.input.errors import InputError, positive_integer
from xmleval.input.scores import has_scores
from xmleval.input.sets import set_rows
from xmleval.input.source import join_inputs
from xmleval.pooled.curves import Work
from xmleval.pooled.spill import Memory
from xmleval.records import Truth
from xmleval.report.report import Report
from xmleval.spec import DEFAULT_K
from xmleval.threads import deferring_interrupts
from xmleval.thresholds.rule import Rule, as_parts, from_parts

MEMORY = "1GiB"


class Evaluator:
    """Streaming evaluation: ``update`` with any blocks of rows, ``merge`` with any other, ``compute``.

    Values do not depend on how the rows were cut, on the order of merging or on the number of threads,
    to the last bit.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        Names such as ``"p@5"`` or ``"f1.macro"``, and groups such as ``"xmc"`` (the default).
    n_labels : int
        Number of labels. Nested lists in `update` are lists of label ids.
    k : int or iterable of int, default (1, 3, 5)
        Cutoffs of measures at k that are named without one.
    inverse_propensity : array of shape (n_labels,), optional
        Inverse propensities q, see `inverse_propensity`.
    decision : str or Rule, optional
        How scores become sets where no ``y_pred`` is given: ``"top3"``, ``"threshold0.5"``, or a rule that
        `xmleval.thresholds.fit` gave.
    conventions : str, Conventions or dict, optional
        A preset's name, a record, or fields over the default.
    unlisted : "below" or float, optional
        Score of labels without a stored score; overrides the conventions.
    bounds : bool, default False
        Report the least and the largest value that measures of the whole ranking may have when unlisted
        labels take any scores up to the last one of their row.
    keep_rows : bool, default False
        Keep every row's values for ``report.per_row()``.
    keep_labels : bool, default False
        Keep every label's results for ``report.per_label()``.
    curve_points : int, optional
        Points to keep for ``report.roc_curve()`` and ``report.pr_curve()``.
    memory : int or str, default "1GiB"
        Bytes, or an amount such as "512MB", from which pooled scores are kept in temporary files.
    threads : int, optional
        Most threads to use; default one per available processor.
    block_rows : int, optional
        Rows counted at a time; default by memory.

    Raises
    ------
    ValueError
        If a name, a convention or a size is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import Evaluator
    >>> ev = Evaluator(["p@1", "lrap"], n_labels=3)
    >>> ev.update(np.array([[1, 0, 1]]), np.array([[0.9, 0.5, 0.2]]))
    >>> other = Evaluator(["p@1", "lrap"], n_labels=3)
    >>> other.update(np.array([[0, 1, 0]]), np.array([[0.9, 0.5, 0.2]]))
    >>> ev.merge(other).compute()["p@1"]
    0.5
    """

    def __init__(
        self,
        metrics: str | Iterable[str] | None = None,
        *,
        n_labels: int,
        k: int | Iterable[int] = DEFAULT_K,
        inverse_propensity: Any = None,
        decision: str | Rule | None = None,
        conventions: str | Conventions | Mapping[str, Any] | None = None,
        unlisted: str | float | None = None,
        bounds: bool = False,
        keep_rows: bool = False,
        keep_labels: bool = False,
        curve_points: int | None = None,
        memory: int | str = MEMORY,
        threads: int | None = None,
        block_rows: int | None = None,
    ) -> None:
        self._settings = Settings.checked(
            metrics=metrics,
            n_labels=n_labels,
            k=k,
            inverse_propensity=inverse_propensity,
            decision=decision,
            conventions=conventions,
            unlisted=unlisted,
            bounds=bounds,
            keep_rows=keep_rows,
            keep_labels=keep_labels,
            curve_points=curve_points,
        )
        self.threads = available_processors() if threads is None else positive_integer("threads", threads)
        self.block_rows = None if block_rows is None else positive_integer("block_rows", block_rows)
        self.memory = memory_bytes("memory", memory)
        self.n_rows = 0
        self._plan: Plan | None = None  # settled by the first update: what is given, decides
        self._states: States | None = None
        self._given: frozenset[str] = frozenset()
        self._score_dtype: str | None = None
        self._spans: list[tuple[int, int]] = []  # rows kept so far
        self._last = False  # whether nobody reads the statistics again once values are computed

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self._settings.n_labels

    def update(
        self,
        y_true: Any,
        y_score: Any = None,
        *,
        y_pred: Any = None,
        sample_weight: Any = None,
        first_row: int | None = None,
    ) -> None:
        """Count some rows. If anything is refused, nothing of them is counted.

        Parameters
        ----------
        y_true : sparse matrix or array, dense 0/1 array, or lists of label ids; (m, n_labels)
            Relevant labels of each row.
        y_score : sparse or dense scores (m, n_labels), (labels, scores) arrays (m, k), or lists, optional
            Scores; in a top-k list -1 marks an empty slot and scores may be None.
        y_pred : as y_true, optional
            Predicted sets.
        sample_weight : array of shape (m,), optional
            Weight of each row: 0, or within 2^-30..2^20.
        first_row : int, optional
            Number of the first row in the whole data, for kept rows of shards that are merged later;
            default the number of rows counted so far.

        Raises
        ------
        ValueError
            If input is not valid, or differs in kind from that of earlier updates.
        """
        self._update_rows(
            set_rows("y_true", y_true, self._settings.n_labels),
            y_score,
            y_pred,
            sample_weight,
            first_row,
            self._settings.n_labels,
        )

    def _update_rows(
        self, truth: Rows[Truth], y_score: Any, y_pred: Any, sample_weight: Any, first_row: int | None,
        n_labels: int | None,
    ) -> None:  # fmt: skip
        """Count rows whose truth is coerced already; ``n_labels`` as the caller gave it."""
        kinds = {"y_score": y_score, "y_pred": y_pred, "sample_weight": sample_weight}
        given = frozenset(name for name, value in kinds.items() if value is not None)
        if y_score is not None:
            scored = has_scores(y_score, n_labels)
            if scored or (scored is None and (self._plan is None or SCORED in self._given)):
                given |= {SCORED}
        plan = self._plan or self._settings.plan(given)
        if not (plan.curves.scores or plan.bits or plan.extremes):
            given -= {SCORED}  # nothing looks at more than their order
        if self._plan is not None and given != self._given:
            changed = sorted(given ^ self._given)[0]  # y_score itself before its scores
            raise InputError(
                changed, f"given {'now, but not' if changed in given else 'not now, but'} earlier"
            )
        start = self.n_rows if first_row is None else positive_integer("first_row", first_row, least=0)
        self._check_span(start, start + truth.n_rows)
        dtypes: set[str] = set() if self._score_dtype is None else {self._score_dtype}
        rows = join_inputs(
            plan, truth, y_score, y_pred, sample_weight,
            n_labels=n_labels, first_row=start, score_dtypes=dtypes,
        )  # fmt: skip
        size = self.block_rows or even_blocks(rows.n_rows, rows.block_rows, self.threads)
        states = self._states or self._new_states(plan)
        with states.undoing_spills():
            fresh = self._states is None
            commits = count_blocks(states, rows.block, rows.n_rows, size, self.threads, fresh)
        with deferring_interrupts():
            for commit in commits:
                commit()
            self._states, self._plan, self._given = states, plan, given
            self._score_dtype = next(iter(dtypes), None)
            self.n_rows += rows.n_rows
            if self._settings.keep_rows:
                self._spans.append((start, start + rows.n_rows))

    def merge(self, other: Evaluator) -> Evaluator:
        """Add what another evaluator counted, in place.

        Parameters
        ----------
        other : Evaluator
            With the same labels, metrics, conventions, propensities and kinds of input.

        Returns
        -------
        Evaluator
            This one.

        Raises
        ------
        ValueError
            If the two differ; the message names the difference.
        """
        differs = first_difference(self._settings.as_dict(), other._settings.as_dict())
        if differs:
            raise ValueError(f"merge: {differs}")
        if not np.array_equal(self._settings.propensities, other._settings.propensities):
            raise ValueError("merge: propensity differs")
        if other._plan is None or other._states is None or (other.n_rows == 0 and self._plan is not None):
            return self
        if self._plan is not None and self.n_rows and self._given != other._given:
            raise ValueError(
                f"merge: input differs: {sorted(self._given)} here, {sorted(other._given)} there"
            )
        dtypes = {self._score_dtype, other._score_dtype} - {None}
        if self._settings.conventions.unlisted_score is not None and len(dtypes) > 1:
            raise ValueError(f"merge: scores are {self._score_dtype} here, {other._score_dtype} there")
        for span in other._spans:
            self._check_span(*span)
        states = self._states if self._states is not None and self.n_rows else self._new_states(other._plan)
        with states.undoing_spills():
            commits = states.prepare_merge(other._states)
        with deferring_interrupts():
            for commit in commits:
                commit()
            self._states, self._plan, self._given = states, other._plan, other._given
            self._score_dtype = self._score_dtype or other._score_dtype
            self.n_rows += other.n_rows
            self._spans += other._spans
        return self

    def compute(self) -> Report:
        """Return the values of everything counted so far.

        Returns
        -------
        Report
            Values are NaN where they are undefined.

        Raises
        ------
        ValueError
            If nothing was counted yet.
        """
        plan, states = self._plan, self._states
        if plan is None or states is None:
            raise ValueError("nothing was counted yet: call update or merge first")
        results = compute_results(states, Work(self.memory, self.threads, self._last))
        specs = tuple(spec for spec in plan.specs if str(spec) in results.values)
        return Report(
            results=results,
            specs=specs,
            conventions=plan.conventions,
            n_rows=self.n_rows,
            n_labels=plan.n_labels,
            decision=None if plan.decision is None else str(plan.decision),
            constants=self._settings.constants,
            left_out={**self._settings.left_out(self._given), **results.left_open},
            rows_left_out={str(s): n for s in specs if (n := states.n_left_out(s))},
            weighted=plan.weighted,
            propensity=self._settings.describe_propensity(),
            rows={str(s): kept_row_values(states, s) for s in specs} if plan.keep_rows else None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the evaluator: to a temporary name first, then renamed; no pickle.

        Parameters
        ----------
        path : path
            File to write or replace.

        Raises
        ------
        OSError
            If it cannot be written; an old file is then untouched.
        """
        save_state(Path(path), self._saved())

    def _saved(self) -> Saved:
        """Return everything that a file is to hold."""
        arrays: dict[str, Any] = {} if self._states is None else self._states.arrays()
        if self._settings.propensity is not None:
            arrays["propensity"] = self._settings.propensities
        rule = None
        if self._settings.decision is not None and self._settings.decision.fitted:
            rule, arrays["decision"] = as_parts(self._settings.decision)
        more = {
            "n_rows": self.n_rows, "given": sorted(self._given), "updated": self._plan is not None,
            "score_dtype": self._score_dtype, "spans": self._spans, "constants": self._settings.constants,
            "rule": rule,
        }  # fmt: skip
        return Saved({"settings": self._settings.as_dict(), **more}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, memory: int | str = MEMORY) -> Evaluator:
        """Load a saved evaluator.

        Parameters
        ----------
        path : path
            File written by `save`.
        memory : int or str, default "1GiB"
            As for the class.

        Returns
        -------
        Evaluator

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is not such a file, is damaged, or is of another version.
        """
        memory = memory_bytes("memory", memory)
        saved = load_state(Path(path))
        with naming_damage(Path(path)):
            return cls._restored(saved, memory=memory)

    @classmethod
    def _restored(cls, saved: Saved, **more: Any) -> Evaluator:
        """Return what `_saved` gave; ``more`` are arguments that are not saved."""
        meta, arrays = saved
        settings = meta["settings"]
        decision: Any = settings["decision"]
        if meta.get("rule"):
            decision = from_parts(meta["rule"], arrays.pop("decision"))
        found = cls(
            [name for name, _ in settings["metrics"]],
            n_labels=settings["n_labels"],
            inverse_propensity=arrays.pop("propensity", None),
            decision=decision,
            conventions=settings["conventions"],
            **{name: settings[name] for name in KEPT},
            **more,
        )
        by_name = dict(settings["metrics"])
        asked = [(spec, by_name[str(spec)]) for spec, _ in found._settings.asked]
        found._settings = replace(found._settings, asked=asked, constants=meta["constants"])
        if meta["updated"]:
            found._given = frozenset(meta["given"])
            found._plan = found._settings.plan(found._given)
            found._states = found._new_states(found._plan)
            found._states.restore(arrays)
        found.n_rows, found._score_dtype = meta["n_rows"], meta["score_dtype"]
        found._spans = [(int(lo), int(hi)) for lo, hi in meta["spans"]]
        return found

    def _spill_held(self) -> None:
        """Spill pooled scores that are held in memory."""
        if self._states is not None and self._states.runs is not None:
            self._states.runs.spill_held()

    def _new_states(self, plan: Plan) -> States:
        """Return empty statistics."""
        return States(plan, Memory.of(self.memory, self.threads, self._last))

    def _check_span(self, start: int, stop: int) -> None:
        """Refuse kept rows that are there already."""
        for lo, hi in self._spans if self._settings.keep_rows and start < stop else []:
            if start < hi and lo < stop:
                rows = f"rows {max(lo, start)}..{min(hi, stop) - 1}"
                text = f"{rows} are kept already; give each shard the number of its first row"
                raise InputError("first_row", text)
