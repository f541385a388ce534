"""Evaluator: count rows in batches, merge shards, compute values."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from xmleval.base.budget import LIMIT, MEMORY, Resources, check_resources, limited
from xmleval.base.errors import InputError, Keyword, Message, counted, shown
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.batch import Batch, open_batch
from xmleval.evaluation.counts import (
    Counted,
    add_batch,
    add_counts,
    make_report,
    with_waiting_counted,
)
from xmleval.evaluation.merged_labels import (
    joined_settings,
    refuse_other_settings,
    with_all_labels,
)
from xmleval.evaluation.request import Data, Options, Question
from xmleval.evaluation.saved import restored, restored_settings, saved_counts, saved_settings
from xmleval.evaluation.settings import check_settings
from xmleval.files.remote import as_path
from xmleval.files.saved import (
    Saved,
    load_state,
    naming_damage,
    save_state,
    state_of_bytes,
    to_bytes,
)
from xmleval.input.argument_types import RowsLike, ValuesLike
from xmleval.input.match_values import MatchOptions
from xmleval.input.opened import labels_of
from xmleval.metrics.measure import Measure, Metrics, listed
from xmleval.metrics.spec import Spec
from xmleval.results.report import Report
from xmleval.states.plan import Settings


class Evaluator:
    """Evaluate in batches: `update` with rows, `merge` shards, `compute` the report.

    Values are bit-identical for any batches, any order of merging and any number of threads.

    Parameters
    ----------
    metrics : str, Measure or iterable of these, optional
        See `evaluate`.
    n_labels : int, optional
        Number of labels, by default that of ``labels`` or of the columns of the first truth, where
        it has columns. Nested lists in `update` are lists of label ids.
    memory, threads, block_rows, options : optional
        As in `evaluate`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> first, second = (Evaluator(["p@1", "lrap"], n_labels=3) for _ in range(2))
    >>> first.update(np.array([[1, 0, 1]]), np.array([[0.9, 0.5, 0.2]]))
    >>> second.update(np.array([[0, 1, 0]]), np.array([[0.9, 0.5, 0.2]]))
    >>> first.merge(second).compute()["p@1"]
    0.5
    >>> first.n_rows, first.n_labels, first.settings["confidence"]
    (2, 3, None)
    >>> [spec.name for spec in first.requested]
    ['p@1', 'lrap']
    """

    def __init__(
        self,
        metrics: Measure | Metrics | None = None,
        *,
        n_labels: int | None = None,
        memory: int | str = MEMORY,
        threads: int | None = None,
        block_rows: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        refuse_unknown(options, keywords_of(Evaluator.__init__), Options.__annotations__)
        question = Question(metrics=listed(metrics), n_labels=n_labels, **options)
        self._settings = check_settings(question, n_labels)
        self._question = None if self._settings.n_labels else question  # until the labels are known
        self._resources = check_resources(memory, threads, block_rows)
        self._counted = Counted()
        self._lock = threading.RLock()

    @property
    def n_labels(self) -> int:
        """Number of labels, 0 while it is not known."""
        return self._settings.n_labels

    @property
    def n_rows(self) -> int:
        """Number of rows counted so far."""
        return self._counted.n_rows

    @property
    def requested(self) -> list[Spec]:
        """The requested measures."""
        return [spec for spec, _ in self._settings.requested]

    @property
    def memory(self) -> int:
        """Memory for pooled scores, in bytes."""
        return self._resources.memory

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that must agree for merging, except the propensities, as JSON values."""
        return {**self._settings.as_dict(), "propensity": self._settings.constants}

    def update(  # noqa: PLR0913 - as in `evaluate`
        self,
        y_true: RowsLike,
        y_score: RowsLike | None = None,
        *,
        y_pred: RowsLike | None = None,
        sample_weight: ValuesLike | None = None,
        clusters: ValuesLike | None = None,
        row_groups: ValuesLike | None = None,
        row_data: Mapping[str, ValuesLike] | None = None,
        exclude: RowsLike | None = None,
        exclude_from: str = "both",
        unjudged: RowsLike | float | None = None,
        judged: RowsLike | None = None,
        candidates: RowsLike | None = None,
        first_row: int | None = None,
    ) -> None:
        """Count rows; if any input is invalid, none of them is counted.

        Parameters
        ----------
        y_true, y_score, y_pred, sample_weight, clusters, row_groups, row_data : optional
        exclude, exclude_from, unjudged, judged, candidates : optional
            See `evaluate`; rows of pairs are those of this batch, from 0. Values of rows may
            be columns of ``y_true``, but not files.
        first_row : int, optional
            Index of the first row in the whole data, to order kept rows of merged shards and to
            refuse rows that are counted already; default the number of rows counted so far. The
            groups of rows of ``confidence`` depend on it, too, unless ``clusters`` is given or rows
            have keys.

        Raises
        ------
        ValueError
            If input is invalid, differs in kind from earlier updates, or has a key of a row that
            was counted before: call `reset` before another pass. Keys are those of dicts and of
            columns that name rows; they are compared by their hashes, of 8 bytes each, which are
            kept and saved.

        Examples
        --------
        >>> evaluator = Evaluator(["p@1"])
        >>> for rows in (slice(0, 2), slice(2, 3)):
        ...     evaluator.update(np.eye(3)[rows], np.eye(3)[rows])
        >>> evaluator.compute()["p@1"]
        1.0
        """
        data = Data(
            y_true=y_true,
            y_score=y_score,
            y_pred=y_pred,
            sample_weight=sample_weight,
            clusters=clusters,
            row_groups=row_groups,
            row_data=row_data,
            exclude=exclude,
            exclude_from=exclude_from,
            unjudged=unjudged,
            judged=judged,
            candidates=candidates,
        )
        _refuse_file_names(data)
        first_labels = None
        if not self._settings.n_labels:
            first_labels = labels_of(data.y_true)

        def change(counted: Counted) -> Counted:
            settings = self._settings
            if first_labels is not None:
                settings = self._settings_for(*first_labels)
            batch = _open_batch(settings, data, is_first=not counted.place[0])
            if first_row is not None:
                batch = batch._replace(first_row=first_row)
            after = add_batch(settings, self._resources, counted, batch)
            self._keep_settings(settings)
            return after

        self._change(change)

    def merge(self, other: Evaluator) -> Evaluator:
        """Add the counts of another evaluator in place, and return this one.

        Parameters
        ----------
        other : Evaluator
            With the same metrics, conventions, propensities and kinds of input. Labels of names are
            merged by name: those of this evaluator come first, then the new ones of the other.

        Raises
        ------
        TypeError
            If ``other`` is no evaluator.
        ValueError
            If they differ (the message names the first difference), if the numbers of labels
            without names differ, or where labels differ in names, if the counts do not tell the
            values of a measure for the labels of both. Likewise if rows of the other are counted
            already: it is this evaluator, a copy, or holds rows that this one was merged
            from, or rows with the same keys. With ``confidence``, also if rows have neither
            ``first_row`` nor ``clusters`` nor keys.

        Examples
        --------
        >>> first, second = (Evaluator(["p@1"]) for _ in range(2))
        >>> first.update(np.eye(3), np.eye(3))
        >>> second.update(np.eye(3), np.eye(3)[::-1])
        >>> first.merge(second).n_rows
        6
        >>> days = [Evaluator(["p@1"], labels=labels) for labels in (["a", "b"], ["c", "a"])]
        >>> for day in days:
        ...     day.update([["a"], ["a"]], [{"a": 0.9}, {"a": 0.5}])
        >>> days[0].merge(days[1]).n_labels
        3
        """
        if not isinstance(other, Evaluator):
            raise TypeError(
                f"merge takes an Evaluator, not {type(other).__name__}; `load` reads saved ones"
            )
        with self._lock:
            known = self._settings
            if not self.n_labels:
                known = other._settings
            settings = self._settings_for(known.n_labels, known.labels)
            other_settings = other._settings_for(known.n_labels, known.labels)
        refuse_other_settings(settings, other_settings)
        added = with_waiting_counted(other._resources, other._counted)
        joined = joined_settings(settings, other_settings)

        def change(counted: Counted) -> Counted:
            if joined is None:
                after = add_counts(settings, self._resources, counted, added)
            else:
                here = with_waiting_counted(self._resources, counted)
                here = with_all_labels(joined, self._resources, here)
                there = with_all_labels(joined, other._resources, added)
                after = add_counts(joined, self._resources, here, there)
            if known.n_labels:
                self._keep_settings(joined or settings)
            return after

        self._change(change)
        return self

    def _keep_settings(self, settings: Settings) -> None:
        """Keep the settings for a known number of labels, and drop the question."""
        self._settings = settings
        self._question = None

    def _settings_for(self, n_labels: int, labels: list[Any] | None) -> Settings:
        """Return the settings, for so many labels if their number was not known.

        With 0 it stays unknown.
        """
        question = self._question  # a signal handler may drop it meanwhile
        if question is None or not n_labels:
            return self._settings
        return check_settings(replace(question, labels=labels), n_labels)

    def compute(self) -> Report:
        """Compute the values of all rows counted so far.

        Returns
        -------
        Report
            Undefined values are NaN.

        Raises
        ------
        ValueError
            If nothing was counted yet.

        Examples
        --------
        >>> evaluator = Evaluator(["p@1"])
        >>> evaluator.update(np.eye(3), np.eye(3))
        >>> evaluator.compute()["p@1"]
        1.0
        """
        counted = counts_of(self)
        with self._lock:
            return make_report(self._settings, counted)

    def reset(self) -> None:
        """Forget all rows, so that other rows can be counted with the same settings.

        Examples
        --------
        >>> evaluator = Evaluator(["p@1"])
        >>> evaluator.update(np.eye(3), np.eye(3))
        >>> evaluator.reset()
        >>> evaluator.n_rows
        0
        """
        self._change(lambda counted: Counted())

    def __repr__(self) -> str:
        """Return the measures, and how many rows were counted."""
        names = [str(spec) for spec in self.requested]
        measures = ", ".join(names[:5])
        if len(names) > 5:
            measures += f" and {len(names) - 5} more"
        labels = ", labels not known yet"
        if self.n_labels:
            labels = f" x {counted(self.n_labels, 'labels')}"
        return f"<Evaluator: {measures}; {counted(self.n_rows, 'rows')}{labels}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the evaluator to a file atomically, without pickle.

        Parameters
        ----------
        path : path
            File to write or replace; where that fails with an OSError, an existing file is
            unchanged.

        Examples
        --------
        >>> evaluator = Evaluator(["p@1"])
        >>> evaluator.update(np.eye(3), np.eye(3))
        >>> evaluator.save("state")
        >>> Evaluator.load("state").n_rows
        3
        """
        with self._lock:
            save_state(as_path(path), saved_of(self))

    def to_bytes(self) -> bytes:
        """Return what `save` writes, to be sent to another process or kept in a table.

        Examples
        --------
        >>> evaluator = Evaluator(["p@1"])
        >>> evaluator.update(np.eye(3), np.eye(3))
        >>> Evaluator.from_bytes(evaluator.to_bytes()).n_rows
        3
        """
        with self._lock:
            return to_bytes(saved_of(self))

    @classmethod
    def from_bytes(cls, content: bytes, *, memory: int | str = MEMORY) -> Evaluator:
        """Restore an evaluator from what `to_bytes` returned.

        Parameters
        ----------
        content : bytes
            What `to_bytes` returned.
        memory : int or str, default "1GiB"
            See `evaluate`.

        Raises
        ------
        ValueError
            If they are of another kind or version, or damaged.

        Examples
        --------
        >>> parts = [Evaluator(["p@1"], n_labels=3) for _ in range(2)]
        >>> for part in parts:
        ...     part.update(np.eye(3), np.eye(3))
        >>> sent = [part.to_bytes() for part in parts]
        >>> Evaluator.from_bytes(sent[0]).merge(Evaluator.from_bytes(sent[1])).n_rows
        6
        """
        saved = state_of_bytes(content)
        with naming_damage(Path("content")):
            return restore_evaluator(saved, memory)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, memory: int | str = MEMORY) -> Evaluator:
        """Load a saved evaluator.

        Parameters
        ----------
        path : path
            File written by `save`.
        memory : int or str, default "1GiB"
            See `evaluate`; arrays of the file beside its scores may take seven eighths of it.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is of another kind or version, damaged, or needs more memory.

        Examples
        --------
        >>> Evaluator(["p@1"], n_labels=3).save("state")
        >>> Evaluator.load("state").n_labels
        3
        """
        path = as_path(path)
        with limited(LIMIT.get() or check_resources(memory, None).limit()):
            saved = load_state(path)
        with naming_damage(path):
            return restore_evaluator(saved, memory)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the lock, which cannot be copied."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state with a new lock."""
        self.__dict__ |= state
        self._lock = threading.RLock()

    def _change(self, change: Callable[[Counted], Counted]) -> Counted:
        """Replace the counts by the result of ``change``, unless it raises an error."""
        # other threads and signal handlers run only at calls and backward jumps, so never between
        # the last comparison and the assignment
        while True:
            with self._lock:
                before = self._counted
                after = change(before)
            if self._counted is before:
                self._counted = after
                return after


def evaluator_of(
    settings: Settings, resources: Resources, counted: Counted | None = None
) -> Evaluator:
    """Return an evaluator with checked settings, and counts where there are any."""
    created = Evaluator.__new__(Evaluator)
    counted = counted or Counted()
    state = {
        "_question": None,
        "_settings": settings,
        "_resources": resources,
        "_counted": counted,
    }
    created.__setstate__(state)
    return created


class BatchCounter(NamedTuple):
    """Counts batches of files in an evaluator."""

    evaluator: Evaluator

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch; if any is invalid, none of them is counted."""
        settings = self.evaluator._settings
        resources = self.evaluator._resources
        batch = batch.with_checked_truth(settings.n_labels, settings.read_gains)
        self.evaluator._change(lambda counted: add_batch(settings, resources, counted, batch))


def with_label_names(evaluator: Evaluator, labels: list[Any]) -> Evaluator:
    """Return an evaluator to save, whose labels have these names."""
    settings = replace(evaluator._settings, labels=labels)
    return evaluator_of(settings, evaluator._resources, evaluator._counted)


def saved_of(evaluator: Evaluator) -> Saved:
    """Return the contents of a saved file."""
    if not evaluator._settings.n_labels:
        raise InputError(
            "n_labels", "not known before the first update; give it to save an evaluator"
        )
    settings = saved_settings(evaluator._settings)
    counts = saved_counts(counts_of(evaluator))
    return Saved(settings.meta | counts.meta, counts.arrays | settings.arrays)


def restore_evaluator(
    saved: Saved, memory: int | str = MEMORY, threads: int | None = None
) -> Evaluator:
    """Restore an evaluator from the contents of a saved file."""
    arrays = dict(saved.arrays)
    resources = check_resources(memory, threads)
    settings = restored_settings(saved.meta, arrays)
    counted = restored(settings, resources, Saved(saved.meta, arrays))
    return evaluator_of(settings, resources, counted)


def counts_of(evaluator: Evaluator) -> Counted:
    """Return the counts of all rows."""
    return evaluator._change(partial(with_waiting_counted, evaluator._resources))


def with_counts(evaluator: Evaluator, counts: Saved) -> Evaluator:
    """Return an evaluator of the same settings with saved counts, checked."""
    counted = restored(evaluator._settings, evaluator._resources, counts)
    return evaluator_of(evaluator._settings, evaluator._resources, counted)


def change_counts(evaluator: Evaluator, change: Callable[[Counted], Counted]) -> Counted:
    """Replace the counts by the result of ``change``, unless it raises an error."""
    return evaluator._change(change)


def _refuse_file_names(data: Data) -> None:
    """Refuse texts for values of rows that are no columns of the truth."""
    for argument, name in data.row_columns.items():
        text = (
            f"{shown(name)} is not a column of y_true; give the values (only evaluate reads files)"
        )
        raise InputError(argument, text)


def _open_batch(settings: Settings, data: Data, is_first: bool) -> Batch:
    """Return the rows of an update, or refuse names of labels that the settings do not list."""
    options = MatchOptions(
        settings.n_labels,
        settings.labels,
        settings.reads_grades,
        higher_is_better=settings.higher_is_better,
    )
    if settings.hierarchy:
        options = options._replace(nodes=settings.hierarchy.names)
    look_at = settings.reads_grades and is_first
    batch = open_batch(data, options, settings.read_gains, look_at)
    # without a list, names may differ between batches
    are_unlisted = settings.labels is None and not batch.naming.by_id
    if are_unlisted or not batch.naming.closed:
        text = "labels have names; an evaluator needs "
        raise InputError("y_true", Message(text, Keyword("labels"), ", the names of all"))
    return batch
