"""Rows counted as they are read, with a bar that shows how far it is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.base.budget import Resources
from xmleval.base.errors import InputError, LabelRangeError, Message, counted, other_rows
from xmleval.evaluation.inputs import Inputs, Named
from xmleval.evaluation.request import Progress
from xmleval.input.pieces import RowReader
from xmleval.input.scores import list_width
from xmleval.input.small_texts import noun_of

REFRESH_SECONDS = 0.1  # of a bar


def count_rows(
    evaluators: Sequence[Any],
    inputs: Inputs,
    resources: Resources,
    skipped: int = 0,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[int]:
    """Count all rows, behind those that were counted before, and yield how many are counted so far.

    There is one evaluator, or what else has ``n_labels`` and ``update``, for each input of scores, or one if
    there is none. ``sources`` are what evaluators call the files of the truth, by name.
    """
    readers = Readers(inputs, resources, skipped)
    try:
        readers.refuse_other_counts()
        while n := readers.ready():
            first = readers.truth.n_taken
            if sources:
                readers.name_source(evaluators, sources)
            readers.refuse_few_values(first + n)
            readers.give(evaluators, first, n)
            yield readers.truth.n_taken
        readers.refuse_other_counts_at_end()
        if not readers.truth.n_taken:
            readers.give_nothing(evaluators)
    finally:
        readers.close()


class Readers:
    """Readers of inputs whose rows belong together, so many at a time of each."""

    def __init__(self, inputs: Inputs, resources: Resources, skipped: int) -> None:
        named = [inputs.truth, *inputs.scores, *inputs.sets.values()]
        n_bytes, n = resources.piece(len(named)), 1 + len(inputs.scores)
        self.inputs = inputs
        self.all = [RowReader(name, pieces, n_bytes, skipped) for name, pieces in named]
        self.truth, self.scores = self.all[0], self.all[1:n]
        self.sets = dict(zip(inputs.sets, self.all[n:], strict=True))
        self.files: dict[str, object] = {argument: name for argument, (name, _) in inputs.of_rows.items()}
        if inputs.pairs is not None:
            self.files["exclude"] = inputs.pairs.path

    def ready(self) -> int:
        """Return how many rows all readers have at hand, 0 at the end of one."""
        return min(reader.ready() for reader in self.all)

    def name_source(self, evaluators: Sequence[Any], sources: Mapping[str, str]) -> None:
        """Tell evaluators where the next rows come from, by what they call the files of the truth."""
        name, row = self.truth.locate(self.truth.n_taken)
        if sources.get(name):
            for evaluator in evaluators:
                evaluator.change(partial(replace, place=(sources[name], row)))

    def give(self, evaluators: Sequence[Any], first: int, n: int) -> None:
        """Take the next rows and give them to evaluators, to each those of its scores."""
        y_true = self.truth.take(n)
        arguments = {argument: reader.take(n) for argument, reader in self.sets.items()}
        arguments |= self.inputs.arguments_of(first, first + n)
        for number, evaluator in enumerate(evaluators):
            of_model = self.scores[number] if self.scores else None
            readers = {"y_true": self.truth, "y_score": of_model, **self.sets}
            with naming_rows(readers, first, self.files, self.inputs.start):
                evaluator.update(y_true, of_model.take(n) if of_model else None, **arguments)

    def give_nothing(self, evaluators: Sequence[Any]) -> None:
        """Let evaluators know which inputs are given, where there are no rows."""
        for evaluator in evaluators:
            none = scipy.sparse.csr_array((0, evaluator.n_labels), dtype=np.float32)
            arguments = dict.fromkeys(self.sets, none) | self.inputs.arguments_of(0, 0)
            evaluator.update(none, none if self.scores else None, **arguments)

    def refuse_other_counts(self) -> None:
        """Refuse inputs that tell another number of rows than the truth."""
        for reader in self.all:
            _refuse_other_count(self.inputs.truth, reader, reader.n_rows, self.truth.n_rows)

    def refuse_few_values(self, n_rows: int) -> None:
        """Refuse values of rows, such as clusters, of which there are fewer than rows so far."""
        for argument, (name, values) in self.inputs.of_rows.items():
            if len(values) < n_rows:
                _refuse_other_length(argument, name, len(values), self.truth, self.truth.count() or n_rows)

    def refuse_other_counts_at_end(self) -> None:
        """Refuse inputs with another number of rows than the truth, once all rows are read."""
        for reader in self.all:
            _refuse_other_count(self.inputs.truth, reader, reader.count(), self.truth.count())
        for argument, (name, values) in self.inputs.of_rows.items():
            _refuse_other_length(argument, name, len(values), self.truth, self.truth.n_taken)
        if self.inputs.pairs is not None:
            self.inputs.pairs.refuse_outside(self.truth.n_taken, None)

    def close(self) -> None:
        """Close all files."""
        for reader in self.all:
            reader.close()


def _refuse_other_count(truth: Named, reader: RowReader, n_rows: Any, expected: Any) -> None:
    if None not in (n_rows, expected) and n_rows != expected:
        width = list_width(reader.take(n), 0) if (n := reader.ready()) else None
        raise ValueError(f"{reader.name}: {other_rows(n_rows, expected, truth[0], truth[1].n_labels, width)}")


def _refuse_other_length(argument: str, name: str, n_values: int, truth: RowReader, n_rows: int) -> None:
    """Refuse values of rows, such as clusters, whose number is not that of the rows."""
    if n_values != n_rows:
        noun = noun_of(argument)
        text = counted(n_values, f"{noun}s do not match", f"{noun} does not match")
        raise ValueError(f"{name}: {text} the {n_rows} rows of {truth.name}")


@contextlib.contextmanager
def naming_rows(
    readers: Mapping[str, RowReader | None],
    first: int,
    files: Mapping[str, object] | None = None,
    start: int = 0,
) -> Iterator[None]:
    """Raise errors about arguments as errors about the files that they were read from.

    ``readers`` tells what each argument was read from, ``files`` what other arguments came from. The first
    row of the arguments is row ``first``, counted over all files of a reader, and ``start`` more elsewhere.
    """
    try:
        yield
    except InputError as error:
        argument, reason, row = error.argument, error.reason, first + (error.row or 0)
        reader, truth, name = readers.get(argument), readers.get("y_true"), (files or {}).get(argument)
        name, row = (name, start + row) if reader is None else reader.locate(row)
        if isinstance(error, LabelRangeError) and truth not in (None, reader) and truth.n_labels:
            reason = f"{reason}; {truth.name} has {counted(truth.n_labels, 'labels')}"
        error = InputError(argument, reason, row=None if error.row is None else row, value=error.value)
        raise error if name in (None, argument) else ValueError(Message(name, ": ", error.message)) from None


@contextlib.contextmanager
def progress(n_rows: int | None, skipped: int, shown: Progress) -> Iterator[Callable[[int], object]]:
    """Show in a terminal or a notebook how many rows are counted, how fast, and what time is left.

    ``shown`` is whether to show it, or what is called with the rows that are counted and all rows.
    """
    if callable(shown):
        call = shown
        yield lambda done: call(done, n_rows)
        return
    if not shown or sys.stderr is None:
        yield lambda done: None
        return
    from rich.console import Console  # only here: few runs show a bar
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    is_terminal = getattr(sys.stderr, "isatty", bool)()
    console, begun = Console(stderr=True, force_terminal=is_terminal), time.monotonic()
    if not (is_terminal or console.is_jupyter):  # where Rich would write a line at the end
        yield lambda done: None
        return
    columns = BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn()
    of = f" of {n_rows:,}" if n_rows else ""
    # Rich would refresh it in a thread, and wait for that without an end where it finds no memory
    with Bar(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(f"{skipped:,}{of} rows", total=n_rows, completed=skipped)
        bar.refresh()
        next_refresh = begun

        def show(done: int) -> None:
            nonlocal next_refresh
            now = time.monotonic()
            rate = (done - skipped) / max(now - begun, 1e-9)
            description = f"{done:,}{of} rows, {rate:,.0f} rows/s"
            bar.update(task, completed=done, description=description, refresh=now >= next_refresh)
            if now >= next_refresh:
                next_refresh = now + REFRESH_SECONDS

        yield show
