"""Requests as typed records: data, a question about them, and how to run it.

`evaluate`, `compare`, `diff`, fits, `Evaluator` and the command line make the same records, and all
other code reads their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict

from xmleval.base.budget import MEMORY
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions, gains_to_read
from xmleval.base.data_names import ROW_DATA, DataArgument, row_data_among
from xmleval.base.errors import InputError, shown
from xmleval.base.keywords import refuse_unknown
from xmleval.files.remote import is_file
from xmleval.input.argument_types import FilePath, ModelsLike, RowsLike, SparseMatrix, ValuesLike
from xmleval.input.cell_marks import JUDGED, UNJUDGED, is_mark, is_truth
from xmleval.input.objects.frames import take_row_values
from xmleval.input.objects.records import (
    list_records,
    list_records_of_models,
    table_of_records,
)
from xmleval.input.own_data import data_by_name
from xmleval.input.row_columns import RowColumn, TruthColumn
from xmleval.labels.propensity import TrainingLabels
from xmleval.metrics.lists import as_cutoffs, as_names
from xmleval.metrics.measure import Measure, Metrics, listed
from xmleval.metrics.spec import DEFAULT_K, conventions_of, has_levels
from xmleval.states.effects import given_options
from xmleval.view.block import Groups, Hierarchy
from xmleval.view.decision import Decision
from xmleval.view.rule import Rule

NamesLike = Iterable[Any] | FilePath  # texts or integers
ValuesOfRows = ValuesLike | RowColumn | TruthColumn
HierarchyLike = SparseMatrix | Iterable[Any] | FilePath | Hierarchy
# a function is called with the number of counted rows and of all rows
# arguments with a value for each row, in the order of their notes
ROW_ARGUMENTS = ("sample_weight", "row_groups", "clusters")
Progress = bool | Callable[[int, int | None], object]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Arguments with a row for each instance, values or files; see `evaluate`."""

    y_true: RowsLike | None = None
    y_score: RowsLike | ModelsLike | None = None
    y_pred: RowsLike | ModelsLike | None = None
    exclude: RowsLike | None = None
    exclude_from: str = "both"
    unjudged: RowsLike | float | None = None
    judged: RowsLike | None = None
    candidates: RowsLike | None = None
    sample_weight: ValuesOfRows | None = None
    clusters: ValuesOfRows | None = None
    row_groups: ValuesOfRows | None = None
    row_data: Mapping[str, ValuesLike] | None = None

    def __post_init__(self) -> None:
        """Read records, and columns of the truth in memory that are values of rows."""
        self._list_records()
        self._take_row_values()

    def _list_records(self) -> None:
        """Read iterators of records once, as values may be read several times."""
        for name in ("y_true", "y_score", "y_pred", "candidates"):
            value = getattr(self, name)
            if value is None:
                continue
            read = list_records_of_models if name in ("y_score", "y_pred") else list_records
            object.__setattr__(self, name, read(name, value))

    def _take_row_values(self) -> None:
        """Take values of rows that are columns of a truth in memory out of its table."""
        names = self.row_columns
        if not names or self.y_true is None or is_file(self.y_true):
            return
        truth = table_of_records("y_true", self.y_true) or self.y_true
        y_true, columns = take_row_values("y_true", truth, names)
        object.__setattr__(self, "y_true", y_true)
        for field_name, values in row_fields(self.row_values | columns).items():
            object.__setattr__(self, field_name, values)

    @property
    def row_values(self) -> dict[str, Any]:
        """Values of rows that are given, by argument; own data as `DataArgument` calls them."""
        values = dict[str, Any]()
        for argument in ROW_ARGUMENTS:
            value = getattr(self, argument)
            if value is not None:
                values[argument] = value
        for name, value in data_by_name(ROW_DATA, self.row_data).items():
            values[DataArgument(ROW_DATA, name)] = value
        return values

    @property
    def row_columns(self) -> dict[str, str]:
        """Texts that are given for values of rows, names of columns or of files, by argument."""
        texts = self.row_values.items()
        return {argument: text for argument, text in texts if isinstance(text, str)}


def row_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of rows by argument as fields of `Data`, own data together in one."""
    by_field = {argument: values[argument] for argument in ROW_ARGUMENTS if argument in values}
    row_data = row_data_among(values)
    if row_data:
        by_field[ROW_DATA] = row_data
    return by_field


def cells_of(data: Data) -> dict[str, Any]:
    """Return the sets of labels that are judged or not, by argument; None for marks in a truth."""
    return {
        UNJUDGED: None if is_mark(data.unjudged) else data.unjudged,
        JUDGED: None if is_truth(data.judged) else data.judged,
    }


def given_cells(data: Data) -> frozenset[str]:
    """Return the arguments that say which labels of rows are judged, by sets or by marks."""
    return frozenset(name for name in (UNJUDGED, JUDGED) if getattr(data, name) is not None)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to compute, with the values of labels; see `evaluate`.

    ``given`` are the options of the caller if a function has added others; ``checks_labels`` is
    whether it has the values of labels, which may be read later.
    """

    metrics: Metrics | None = None
    k: int | str | Iterable[int] = DEFAULT_K
    n_labels: int | None = None
    labels: NamesLike | None = None
    inverse_propensity: ValuesLike | None = None
    y_train: RowsLike | TrainingLabels | None = None
    decision: ValuesLike | Rule | Decision | None = None
    conventions: str | Conventions | Mapping[str, Any] | None = None
    label_groups: ValuesLike | Groups | None = None
    hierarchy: HierarchyLike | None = None
    label_data: Mapping[str, ValuesLike] | None = None
    higher_is_better: bool = True
    bounds: bool = False
    per_row: bool | Iterable[str] = False
    per_label: bool | Iterable[str] = False
    curve_points: int | None = None
    confidence: float | None = None
    given: frozenset[str] | None = None
    checks_labels: bool = True

    def __post_init__(self) -> None:
        """Keep names and cutoffs as lists: a text is parsed, an iterator read, only once."""
        object.__setattr__(self, "metrics", as_names(listed(self.metrics)))
        object.__setattr__(self, "k", as_cutoffs(self.k))

    @cached
    def training(self) -> TrainingLabels:
        """The training labels, and the constants of the propensities to estimate from them."""
        if isinstance(self.y_train, TrainingLabels):
            return self.y_train
        return TrainingLabels(self.y_train)

    @cached
    def resolved_conventions(self) -> Conventions:
        """All fields of the conventions."""
        return conventions_of(self.metrics, self.conventions)

    @cached
    def read_gains(self) -> str:
        """Gains that grades of the truth are read as; "binary" where no grades are read."""
        return gains_to_read(self.resolved_conventions, has_levels(self.metrics))

    @property
    def reads_grades(self) -> bool:
        """Whether the truth has grades: by the conventions, or for a measure with a level."""
        return self.read_gains != "binary"

    def given_options(self, n_labels: int) -> frozenset[str]:
        """Return the given options and fields of conventions, to report those without effect."""
        if self.given is not None:
            return self.given
        options = vars(self) | {"y_train": self.training.labels, **self.training.constants}
        return given_options(self.metrics, options, n_labels)


@dataclass(frozen=True, kw_only=True)
class Running:
    """How an evaluation is run. Values do not depend on it; intervals may, on ``first_row``.

    Parameters
    ----------
    block_rows : int, optional
        Rows processed at a time, by default chosen by memory.
    checkpoint : path, optional
        Of files: folder to keep the counts in every so often; it is removed at the end. With
        ``executor``, it may be on object storage.
    resume : bool, default False
        Go on from the checkpoint, if there is one.
    save : path, optional
        File for the counts, for `xmleval merge` and `Evaluator.load`; of several models, with
        ``{}`` for their names, as in ``s_{}.npz``.
    first_row : int, optional
        With ``confidence`` and ``save``: number of the first row among those of all shards, to
        merge them.
    executor : int, str or concurrent.futures.Executor, optional
        Of files: count in so many new processes of this machine, on the Dask cluster of the
        scheduler at this address, or on an executor, such as a ``ProcessPoolExecutor``, Dask's
        ``client.get_executor()`` or mpi4py's ``MPIPoolExecutor``, which is not shut down. Its
        workers see the files and the checkpoint. A script that starts processes is also imported
        by them, and needs ``if __name__ == "__main__":``.

    Examples
    --------
    >>> running = Running(block_rows=2)
    >>> evaluate(np.eye(3), np.eye(3), metrics="p@1", running=running)["p@1"]
    1.0
    """

    block_rows: int | None = None
    checkpoint: FilePath | None = None
    resume: bool = False
    save: FilePath | None = None
    first_row: int | None = None
    executor: int | str | Executor | None = None


def needs_files(running: Running) -> bool:
    """Return whether any field is for files only."""
    for_files = running.checkpoint, running.save, running.first_row, running.executor
    return running.resume or any(value is not None for value in for_files)


@dataclass(frozen=True, kw_only=True)
class Request:
    """All arguments of an evaluation."""

    data: Data
    question: Question = field(default_factory=Question)
    running: Running = field(default_factory=Running)
    memory: int | str = MEMORY
    threads: int | None = None
    progress: Progress = False

    def __post_init__(self) -> None:
        """Refuse a ``running`` that is not a `Running`."""
        if not isinstance(self.running, Running):
            raise InputError("running", f"{shown(self.running)} is not an xmleval.Running")


class Options(TypedDict, total=False):
    """Options of `Evaluator`: those of `Question` but the measures and the number of labels."""

    labels: NamesLike | None
    k: int | str | Iterable[int]
    inverse_propensity: ValuesLike | None
    y_train: RowsLike | None
    decision: ValuesLike | Rule | Decision | None
    conventions: str | Conventions | Mapping[str, Any] | None
    label_groups: ValuesLike | Groups | None
    hierarchy: HierarchyLike | None
    label_data: Mapping[str, ValuesLike] | None
    higher_is_better: bool
    bounds: bool
    per_row: bool | Iterable[str]
    per_label: bool | Iterable[str]
    curve_points: int | None
    confidence: float | None


class SharedOptions(Options, total=False):
    """Arguments of `evaluate` that several models share."""

    metrics: Measure | Metrics | None
    n_labels: int | None
    exclude: RowsLike | None
    exclude_from: str
    unjudged: RowsLike | float | None
    judged: RowsLike | None
    candidates: RowsLike | None
    sample_weight: ValuesLike | None
    clusters: ValuesLike | None
    row_groups: ValuesLike | None
    row_data: Mapping[str, ValuesLike] | None
    memory: int | str
    threads: int | None
    progress: Progress
    running: Running | None


class EvaluateOptions(SharedOptions, total=False):
    """Arguments of `evaluate` but the truth and the scores."""

    y_pred: RowsLike | None


RECORDS = {"data": Data, "question": Question}  # parts of a request with many fields
ARGUMENTS = ("y_true", "y_score", *EvaluateOptions.__annotations__)  # of `evaluate`
SHARED_ARGUMENTS = tuple(SharedOptions.__annotations__)


def request_of(arguments: Mapping[str, Any]) -> Request:
    """Return the request of arguments by name, or refuse an unknown name."""
    refuse_unknown(arguments, ARGUMENTS)
    values: dict[str, Any] = {**arguments}
    for part, record in RECORDS.items():
        names = [each.name for each in fields(record) if each.name in values]
        values[part] = record(**{name: values.pop(name) for name in names})
    values["running"] = values.get("running") or Running()
    return Request(**values)
