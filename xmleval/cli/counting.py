"""Counting rows of files as they are read, with a bar that shows how far it is."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse

from xmleval.budget import PIECE_BYTES, Allowance, Budget
from xmleval.cli.files import refuse_many_labels
from xmleval.cli.messages import naming_files
from xmleval.cli.patterns import shards_hint
from xmleval.input.csr import Source
from xmleval.input.door import pairs_of_rows
from xmleval.input.errors import InputError, LabelRangeError
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.scores import has_scores, list_width
from xmleval.input.sets import set_rows
from xmleval.input.small_texts import Pairs, noun_of
from xmleval.message import LIST_TRANSPOSED, NO_MATCH, TRANSPOSED, counted
from xmleval.propensity import count_labels_of
from xmleval.records import Ints, Truth

REFRESH_SECONDS = 0.1
FIRST_BYTES = 1 << 16  # read to tell what the values of a file are
Readers = dict[str, list[RowReader]]  # by argument: one for all reports, or one for each


class Counter(Protocol):
    """What takes rows: an evaluator, or what a rule is fitted to."""

    @property
    def n_labels(self) -> int:
        """Number of labels."""

    def update(self, y_true: Any, y_score: Any = None, *, y_pred: Any = None) -> None:
        """Count some rows."""


class Inputs(NamedTuple):
    """Inputs whose rows belong together, with the names that messages call them by.

    ``label_names`` and ``row_names`` are None where there are numbers alone. ``pairs`` are excluded from what
    ``exclude_from`` tells; ``notes`` tell what was seen in the files, a list for each report; labels are
    ranked within ``candidates``. ``of_rows`` has a file and an entry for
    each row, by argument. ``unknown_labels`` are the names of those of each report.
    ``keyed`` tells that names of rows tell them apart from those of other files; ``first_row`` is the number
    of the first row in the whole data.
    """

    truth: tuple[str, Pieces]
    scores: list[tuple[str, Pieces]]
    pred: tuple[str, Pieces] | None
    label_names: list[str] | None = None
    pairs: Pairs | None = None
    exclude_from: str = "both"
    row_names: Sequence[str] | None = None
    notes: tuple[list[str], ...] = ()
    candidates: Sequence[tuple[str, Pieces]] = ()
    of_rows: Mapping[str, tuple[str, Sequence[str]]] = MappingProxyType({})
    unknown_labels: tuple[list[str], ...] = ()
    keyed: bool = False
    first_row: int | None = None

    @property
    def sets(self) -> list[tuple[str, tuple[str, Pieces]]]:
        """Sets of labels beside the truth, with what arguments they are."""
        pred = [] if self.pred is None else [("y_pred", self.pred)]
        return [*pred, *(("candidates", given) for given in self.candidates)]

    @property
    def all(self) -> list[tuple[str, Pieces]]:
        """All of them: the truth, scores and sets."""
        return [self.truth, *self.scores, *(given for _, given in self.sets)]

    def excluded(self, start: int, stop: int) -> dict[str, Any]:
        """Return arguments that exclude the pairs of rows start..stop-1, if there are any pairs."""
        if self.pairs is None:
            return {}
        own = pairs_of_rows(self.pairs.rows, self.pairs.labels, start, stop)
        return {"exclude": own, "exclude_from": self.exclude_from}

    def readers(
        self, budget: Budget, widths: Sequence[int], first: int = 0
    ) -> tuple[RowReader, list[RowReader], Readers]:
        """Start reading all of them from a row on; ``widths`` are the numbers of labels of each report."""
        n_bytes, n, fewest = budget.piece(len(self.all)), len(self.scores), min(widths)
        own = [fewest, *(widths if n else []), *([fewest] * len(self.sets))]
        truth, *found = [
            RowReader(name, pieces, n_bytes, first)
            for (name, pieces), width in zip(self.all, own, strict=True)
        ]
        sets: Readers = {}
        for (argument, _), reader in zip(self.sets, found[n:], strict=True):
            sets.setdefault(argument, []).append(reader)
        return truth, found[:n], sets


def count_rows(
    evaluators: Sequence[Counter],
    inputs: Inputs,
    budget: Budget,
    skipped: int,
    after: Callable[[int], None],
    before: Callable[[str, int], None] = lambda name, row: None,
) -> None:
    """Count all rows, behind those that were counted before.

    There is one evaluator, or other counter, for each input of scores, or one if there is none. ``before`` is
    called with the file of the truth that the next rows are in, and the index of the first in it; ``after``
    with the number of rows counted so far.
    """
    truth, scores, sets = inputs.readers(budget, [one.n_labels for one in evaluators], skipped)
    readers = [truth, *scores, *itertools.chain(*sets.values())]
    try:
        for reader in readers:
            _refuse_other_count(inputs.truth, reader, reader.n_rows, truth.n_rows, scores)
        while any(reader.ready() for reader in readers):
            n = min(reader.ready() for reader in readers)
            if n == 0:
                break
            before(*truth.locate(truth.n_taken))
            _count(evaluators, truth, scores, sets, n, inputs)
            after(truth.n_taken)
        for reader in readers:
            _refuse_other_count(inputs.truth, reader, reader.count(), truth.count(), scores)
        for argument, (name, names) in inputs.of_rows.items():
            _refuse_other_length(argument, name, names, truth, truth.n_taken)
        if inputs.pairs is not None:
            inputs.pairs.refuse_outside(truth.n_taken, None)
        if not truth.n_taken:
            _count_nothing(evaluators, scores, sets, **{argument: [] for argument in inputs.of_rows})
    finally:
        for reader in readers:
            reader.close()


def _refuse_other_count(
    truth: tuple[str, Pieces],
    reader: RowReader,
    n_rows: int | None,
    expected: int | None,
    scores: Sequence[RowReader],
) -> None:
    if n_rows is not None and expected is not None and n_rows != expected:
        name, pieces = truth
        told = f"{reader.name}: {counted(n_rows, *NO_MATCH)} the {expected} of {name}"
        hint = shards_hint(name, expected, [(other.name, other.n_rows) for other in scores])
        if not hint and n_rows == pieces.n_labels:
            hint = f"; {name} {TRANSPOSED}"
        if not hint and (n := reader.ready()) and list_width(reader.take(n), 0) == expected:
            hint = f"; it {LIST_TRANSPOSED}; save the .T of its arrays"
        raise ValueError(f"{told}{hint}")


def _refuse_other_length(
    argument: str, name: str, names: Sequence[str], truth: RowReader, n_rows: int
) -> None:
    """Refuse a file whose number of row groups, or of clusters, is not that of the rows."""
    if len(names) != n_rows:
        noun = noun_of(argument)
        told = counted(len(names), f"{noun}s do not match", f"{noun} does not match")
        raise ValueError(f"{name}: {told} the {n_rows} rows of {truth.name}")


def _count(
    evaluators: Sequence[Counter],
    truth: RowReader,
    scores: Sequence[RowReader],
    sets: Readers,
    n: int,
    inputs: Inputs,
) -> None:
    first, files, more = truth.n_taken, dict[str, object](), dict[str, Any]()
    if inputs.first_row is not None:
        files["first_row"], more["first_row"] = "--first-row", inputs.first_row + first
    if inputs.pairs is not None:
        files["exclude"] = inputs.pairs.path
    for argument, (name, names) in inputs.of_rows.items():
        files[argument], more[argument] = name, names[first : first + n]
        if len(names) < first + n:
            _refuse_other_length(argument, name, names, truth, truth.count() or first + n)
    y_true, others = truth.take(n), {name: [one.take(n) for one in several] for name, several in sets.items()}
    for number, evaluator in enumerate(evaluators):
        reader = scores[number] if scores else None
        own = {name: rows[number % len(rows)] for name, rows in others.items()}
        named = {name: several[number % len(several)] for name, several in sets.items()}
        with naming_rows({"y_true": truth, "y_score": reader, **named}, first, files):
            own |= inputs.excluded(first, first + n)
            evaluator.update(y_true, reader.take(n) if reader else None, **own, **more)


def _count_nothing(
    evaluators: Sequence[Counter], scores: Sequence[RowReader], sets: Readers, **more: Any
) -> None:
    """Let evaluators know what is given, where there are no rows of it."""
    for evaluator in evaluators:
        none = scipy.sparse.csr_array((0, evaluator.n_labels), dtype=np.float32)
        evaluator.update(none, none if scores else None, **dict.fromkeys(sets, none), **more)


@contextlib.contextmanager
def naming_rows(
    readers: Mapping[str, RowReader | None], first: int, files: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Raise errors about arguments as errors about the files that they were read from.

    ``readers`` tells what each argument was read from, ``files`` what other arguments came from. The first
    row of the arguments is row ``first``, counted over all files of a reader.
    """
    names = dict(files or {}) | {argument: reader.name for argument, reader in readers.items() if reader}
    with naming_files(names):
        try:
            yield
        except InputError as error:
            reader = readers.get(error.argument)
            row = first + (error.row or 0)
            if reader is not None:
                names[error.argument], row = reader.locate(row)
            reason, truth = error.reason, readers.get("y_true")
            if isinstance(error, LabelRangeError) and truth not in (None, reader) and truth.n_labels:
                reason = f"{reason}; {truth.name} has {counted(truth.n_labels, 'labels')}"
            row_of_file = None if error.row is None else row
            raise InputError(error.argument, reason, row=row_of_file, value=error.value) from None


def count_rows_of(name: str, pieces: Pieces) -> int:
    """Return how many rows there are, reading all where nothing else tells it."""
    reader = RowReader(name, pieces, PIECE_BYTES)
    try:
        return reader.count()
    finally:
        reader.close()


def read_sets(
    argument: str,
    name: str,
    pieces: Pieces,
    n_labels: int,
    n_bytes: int,
    take: Callable[[Source[Truth]], None],
) -> int:
    """Hand over relevant labels as they are read, and return how many rows there are."""
    reader = RowReader(name, pieces, n_bytes)
    try:
        while n := reader.ready():
            with naming_rows({argument: reader}, reader.n_taken):
                take(set_rows(argument, reader.take(n), None, n_labels))
    finally:
        reader.close()
    return reader.n_taken


def count_training(
    name: str, pieces: Pieces, n_labels: int, n_bytes: int, allowance: Allowance
) -> tuple[Ints, int]:
    """Return how many rows have each label, and how many rows there are."""
    refuse_many_labels(name, n_labels, allowance)
    counts = np.zeros(n_labels, np.int64)

    def take(rows: Source[Truth]) -> None:
        count_labels_of(rows, counts)

    return counts, read_sets("y_train", name, pieces, n_labels, n_bytes, take)


def have_scores(name: str, pieces: Pieces, n_labels: int) -> bool:
    """Tell whether labels of predictions come with scores, from the first rows that list any."""
    reader = RowReader(name, pieces, FIRST_BYTES)
    try:
        while n := reader.ready():
            found = has_scores(reader.take(n), n_labels)
            if found is not None:
                return found
    finally:
        reader.close()
    return True


def first_rows(name: str, pieces: Pieces) -> Any:
    """Return the first rows of a file, None where it has none."""
    reader = RowReader(name, pieces, FIRST_BYTES)
    try:
        n = reader.ready()
        return reader.take(n) if n else None
    finally:
        reader.close()


@contextlib.contextmanager
def progress(n_rows: int | None, skipped: int) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many rows are counted, how fast, and what time is left."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    columns = [BarColumn(), MofNCompleteColumn(), TextColumn("rows"), rate, TimeRemainingColumn()]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:  # without a thread
        task = bar.add_task("", total=n_rows, completed=skipped, rate="")
        shown = time.monotonic()

        def show(done: int) -> None:
            nonlocal shown
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, rate=f"{speed:,.0f} rows/s" if speed else "")
            if time.monotonic() - shown >= REFRESH_SECONDS:
                bar.refresh()
                shown = time.monotonic()

        yield show
