"""Evaluator: count blocks of data, merge counts, compute values."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.conventions import Conventions
from xmleval.engine.counting import Counted, Counting
from xmleval.engine.run import make_work
from xmleval.engine.settings import KEPT, Settings
from xmleval.files.saved import Saved, first_difference, load_state, naming_damage, save_state
from xmleval.input.errors import positive_integer
from xmleval.plan import Plan
from xmleval.report.report import Report
from xmleval.spec import DEFAULT_K, Spec
from xmleval.states.state import States
from xmleval.thresholds.rule import Rule, as_parts, from_parts

MEMORY = "1GiB"
Spans = tuple[tuple[int, int], ...]


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
        settings = Settings.checked(
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
        if block_rows is not None:
            block_rows = positive_integer("block_rows", block_rows)
        self._counting = Counting(settings, make_work(memory, threads), block_rows)
        self._counted = Counted()
        self._lock = threading.RLock()

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self._counting.settings.n_labels

    @property
    def n_rows(self) -> int:
        """Number of rows counted so far."""
        return self._counted.n_rows

    @property
    def asked(self) -> list[Spec]:
        """The measures that were asked for, by name or by group."""
        return [spec for spec, _ in self._counting.settings.asked]

    @property
    def threads(self) -> int:
        """Most threads to use."""
        return self._counting.work.threads

    @property
    def memory(self) -> int:
        """Memory for pooled scores, in bytes."""
        return self._counting.work.memory

    @property
    def settings(self) -> dict[str, Any]:
        """What two evaluators must share to be merged, but for the propensities, as plain JSON values."""
        return {**self._counting.settings.as_dict(), "propensity": self._counting.settings.constants}

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
        rows = y_true, y_score, y_pred, sample_weight, first_row
        self._replace(lambda counted: self._counting.with_rows(counted, *rows))

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
        differs = first_difference(self._counting.settings.as_dict(), other._counting.settings.as_dict())
        if differs:
            raise ValueError(f"merge: {differs}")
        if not np.array_equal(self._counting.settings.propensities, other._counting.settings.propensities):
            raise ValueError("merge: propensity differs")
        theirs = other._counting.settled(other._counted)
        self._replace(lambda counted: self._counting.with_counted(counted, theirs))
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
        self._replace(self._counting.settled)
        with self._lock:
            counted = self._counted
            if counted.plan is None or counted.states is None:
                raise ValueError("nothing was counted yet: call update or merge first")
            return make_report(self._counting.settings, counted.plan, counted.states, counted.n_rows)

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
        with self._lock:
            save_state(Path(path), self.as_saved())

    def as_saved(self, *, spill: bool = False) -> Saved:
        """Return everything that a file is to hold.

        Parameters
        ----------
        spill : bool, default False
            Move pooled scores to disk first, where they do not change, for who saves again and again.

        Returns
        -------
        Saved
            Plain JSON values, and arrays by name.
        """
        self._replace(self._counting.settled)
        counted, settings = self._counted, self._counting.settings
        arrays: dict[str, Any] = {}
        if counted.states is not None:
            if spill:
                counted.states.spill()
            arrays = counted.states.arrays()
        if settings.propensity is not None:
            arrays["propensity"] = settings.propensities
        rule = None
        if settings.decision is not None and settings.decision.fitted:
            rule, arrays["decision"] = as_parts(settings.decision)
        more = {
            "n_rows": counted.n_rows, "given": sorted(counted.given), "updated": counted.plan is not None,
            "score_dtype": counted.score_dtype, "spans": counted.spans, "constants": settings.constants,
            "rule": rule,
        }  # fmt: skip
        return Saved({"settings": settings.as_dict(), **more}, arrays)

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
        make_work(memory, None)  # which refuses what is no memory, before anything is read
        saved = load_state(Path(path))
        with naming_damage(Path(path)):
            return cls.from_saved(saved, memory=memory)

    @classmethod
    def from_saved(cls, saved: Saved, **more: Any) -> Evaluator:
        """Return what `as_saved` gave.

        Parameters
        ----------
        saved : Saved
            What a file held.
        more : dict
            Arguments of the class that are not saved.

        Returns
        -------
        Evaluator
        """
        meta, arrays = saved.meta, dict(saved.arrays)
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
        asked = [(spec, by_name[spec.name]) for spec, _ in found._counting.settings.asked]
        found._counting.settings = replace(found._counting.settings, asked=asked, constants=meta["constants"])
        plan, states, given = None, None, frozenset(meta["given"])
        if meta["updated"]:
            plan = found._counting.settings.plan(given)
            states = States(plan, found._counting.work)
            states.from_arrays(arrays)
        found._counted = Counted(
            n_rows=meta["n_rows"],
            plan=plan,
            given=given,
            states=states,
            score_dtype=meta["score_dtype"],
            spans=tuple((int(start), int(stop)) for start, stop in meta["spans"]),
        )
        return found

    def leave_out(self, names: Collection[str]) -> None:
        """Leave measures out, before anything is counted.

        Parameters
        ----------
        names : collection of str
            Their canonical names.
        """
        before = self._counting
        asked = [(spec, explicit) for spec, explicit in before.settings.asked if spec.name not in names]
        settings = replace(before.settings, asked=asked)
        self._counting = Counting(settings, before.work, before.block_rows)  # copies may have the other

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and other processes get."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what `__getstate__` gave."""
        self.__dict__ |= state
        self._lock = threading.RLock()

    def _replace(self, change: Callable[[Counted], Counted]) -> None:
        """Replace what is counted by what a function makes of it; if that raises anything, nothing happens.

        Between the last comparison and the assignment no other thread and no signal handler can run: they do
        so at calls and backward jumps alone. So an exception always means that nothing was counted.
        """
        while True:
            with self._lock:
                before = self._counted
                after = change(before)
            if self._counted is before:
                self._counted = after
                return


def make_report(settings: Settings, plan: Plan, states: States, n_rows: int) -> Report:
    """Return the values of everything that was counted, with all that belongs to them."""
    results = states.finish()
    return Report(
        results=results,
        specs=tuple([spec for spec in plan.specs if spec.name in results.values]),
        conventions=plan.conventions,
        n_rows=n_rows,
        n_labels=plan.n_labels,
        decision=None if plan.decision is None else str(plan.decision),
        constants=settings.constants,
        left_out={**plan.left_out, **results.left_open},
        weighted=plan.weighted,
        propensity=settings.describe_propensity(),
        keeps_rows=plan.keep_rows,
    )
