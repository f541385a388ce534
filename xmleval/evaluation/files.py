"""Evaluate files, or files and arrays, while they are read."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from xmleval.base.arrays import Ints
from xmleval.base.budget import MemoryLimit, Resources, check_resources, limited, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, naming_files, positive_integer, shown
from xmleval.base.notes import joined_notes
from xmleval.evaluation.checkpoint import WRITING, Checkpoint
from xmleval.evaluation.evaluator import (
    BatchCounter,
    Evaluator,
    change_counts,
    counts_of,
    evaluator_of,
    with_label_names,
)
from xmleval.evaluation.inputs import are_pairs, match_inputs, open_input
from xmleval.evaluation.label_counts import label_counts_of, refuse_many_labels
from xmleval.evaluation.matched_inputs import LOG, MatchedInputs
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.reading import count_rows, have_scores
from xmleval.evaluation.request import Progress, Question, Request, cells_of
from xmleval.evaluation.row_keys import ROW_KEY_BYTES, with_keys
from xmleval.evaluation.same_files import notes_on_opened
from xmleval.evaluation.settings import (
    FILES,
    FILES_OF_LABELS,
    MISSING,
    argument_of,
    check_settings,
    file_of,
    files_of_data,
    refuse_scans,
)
from xmleval.evaluation.side_inputs import (
    training_counts,
    with_files_read,
    with_row_columns,
    with_values_of_rows,
)
from xmleval.files.input import digest, stamp
from xmleval.files.output import ARCHIVE, locked, refuse_ending, refuse_input, refuse_unwritable
from xmleval.files.remote import RemotePath, as_path, is_file
from xmleval.input.argument_types import FilePath
from xmleval.input.cell_marks import GRADES, RESTRICTIONS, WORDS, marked_kind, marks_of
from xmleval.input.opened import Opened, check_labels
from xmleval.input.row_columns import TruthColumn
from xmleval.input.scan import fields_of_scan
from xmleval.input.shards import OpenedFiles, with_fields
from xmleval.input.text_columns import load_names
from xmleval.labels.hierarchy import as_edges
from xmleval.results.report import Report, with_same_measures
from xmleval.states.plan import Settings

MEASURES_OF_SETS = [  # the default for predicted sets without scores
    "precision.micro",
    "recall.micro",
    "f1.micro",
    "f1.macro",
    "f1.samples",
    "jaccard.samples",
    "hamming_loss",
    "subset_accuracy",
]
LABEL_TABLES = ("label_extremes", "label_totals")  # states that count every label
TABLE_BYTES = 120  # per label: counts and curves
VALUE_BYTES = 8  # per label and measure whose values are kept
# less memory saves nothing, and leaves thousands of small files of sorted scores
LEAST_MEMORY = 16_000_000


@dataclass
class FileEvaluation:
    """A run: opened files and values, and an evaluator for each report.

    inputs : files and values, by argument
    train : training labels
    rows : the matched rows of all inputs
    label_counts : number of labels of each report
    closed : whether all labels were known before the rows were read
    trained : counts of training rows for each report
    excluded : files of exclusions and candidates, as reports show them
    """

    request: Request
    resources: Resources
    limit: MemoryLimit
    names: list[str]
    inputs: dict[str, list[Opened]]
    train: Opened | None
    rows: MatchedInputs
    label_counts: list[int]
    closed: bool
    trained: list[tuple[Ints, int]]
    evaluators: list[Evaluator] = field(default_factory=list)
    excluded: dict[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None

    @property
    def files(self) -> dict[str, list[Path]]:
        """All files, by argument."""
        inputs = dict(self.inputs)
        if self.train is not None:
            inputs["y_train"] = [self.train]
        files = dict[str, list[Path]]()
        for argument, opened_inputs in inputs.items():
            files[argument] = [path for opened in opened_inputs for path in opened.files]
        for argument in FILES_OF_LABELS:
            path = file_of(argument, argument_of(self.request, argument))
            if path is not None:
                files[argument] = [path]
        for argument, path in files_of_data(self.request).items():
            files[argument] = [path]
        return files

    @property
    def sources(self) -> dict[str, str]:
        """Versions of the files of the truth, by their names in messages."""
        truth = self.inputs["y_true"][0]
        sources = dict[str, str]()
        if isinstance(truth, OpenedFiles):
            sources = {str(shard.path): stamp(shard.path) for shard in truth.shards}
        return sources | {self.rows.truth[0]: ", ".join(sources.values())}

    def files_only(self, asking: str) -> dict[str, list[OpenedFiles]]:
        """Return the inputs, or refuse values in memory, which the argument ``asking`` excludes."""
        files = self.files
        row_inputs = {**self.inputs, "exclude": self.rows.sets.get("exclude")}
        for argument, inputs in row_inputs.items():
            if inputs and not files.get(argument):
                reason = Message("needs files, but ", Keyword(argument), " is not a file")
                raise InputError(asking, reason)
        only_files = dict[str, list[OpenedFiles]]()
        for argument, opened_inputs in self.inputs.items():
            only_files[argument] = [
                opened for opened in opened_inputs if isinstance(opened, OpenedFiles)
            ]
        return only_files


# a function that counts a run, such as `count`
CountRun = Callable[[FileEvaluation, Progress], list[Report]]


@contextlib.contextmanager
def open_run(
    request: Request, scores: Mapping[str, Any], fits: bool = False
) -> Iterator[FileEvaluation]:
    """Open files and values, and match their rows and labels, within a memory limit."""
    question = replace(request.question, hierarchy=as_edges(request.question.hierarchy))
    request = replace(request, question=question)
    threads = request.threads
    if request.running.executor is not None:  # its processes do the work
        threads = threads or 1
    refuse_scans(request)
    resources = check_resources(request.memory, threads, request.running.block_rows)
    limit = resources.limit()
    with limited(limit):
        if question.n_labels is not None:
            positive_integer("n_labels", question.n_labels)
        inputs = _open_inputs(request, scores)
        _refuse_little_memory(request, resources, inputs)
        request, inputs = with_row_columns(request, inputs)
        labels = _label_names(question)
        joined = bool(scores) or "y_pred" in inputs or fits
        inputs = _with_fields_named(inputs, joined, labels)
        train = inputs.pop("y_train", [None])[0]
        rows = match_inputs(request, inputs, labels, fits)
        n_expected = len(labels) if labels else question.n_labels
        label_counts = label_counts_of(rows, resources, labels, n_expected)
        trained = list[tuple[Ints, int]]()
        # propensities from values in memory are estimated later
        if train is not None and (fits or train.files):
            trained = training_counts(train, rows, labels, label_counts, n_expected, resources)
        rows.note(notes_on_opened(inputs["y_true"][0], train))
        rows = with_values_of_rows(rows, request, inputs["y_true"][0])
        closed = not rows.by_name or rows.namings[0].closed
        names = [*scores] or [rows.truth[0]]
        yield FileEvaluation(
            request, resources, limit, names, inputs, train, rows, label_counts, closed, trained
        )


def _open_inputs(request: Request, scores: Mapping[str, Any]) -> dict[str, list[Opened]]:
    """Return the inputs that are read row by row, files or values, by argument."""
    data = request.data
    question = request.question
    if data.y_true is None:
        raise InputError("y_true", MISSING)
    models = [
        open_input("y_score", value, question.n_labels, name) for name, value in scores.items()
    ]
    inputs: dict[str, list[Opened]] = {"y_true": [], "y_score": models}
    values = {
        "y_true": data.y_true,
        "y_pred": data.y_pred,
        "y_train": question.training.labels,
        **{name: value for name, value in cells_of(data).items() if not are_pairs(value)},
        "candidates": data.candidates,
    }
    for argument, value in values.items():
        if value is not None:
            with _telling_words(argument):
                inputs[argument] = [open_input(argument, value, question.n_labels)]
    marks = marks_of(data.unjudged, data.judged)
    kind = ""
    if marks.unjudged is not None:
        kind = marked_kind(marks.unjudged, question.reads_grades)
    elif marks.are_listed or question.reads_grades:
        kind = GRADES
    if kind:
        inputs["y_true"] = [replace(inputs["y_true"][0], kind=kind)]
    return inputs


@contextlib.contextmanager
def _telling_words(argument: str) -> Iterator[None]:
    """Raise the error of a missing file with the words that the argument takes in its place."""
    try:
        yield
    except FileNotFoundError as error:
        if argument not in WORDS:
            raise
        text = f"no such file; {argument} takes {WORDS[argument]} or a file"
        raise FileNotFoundError(error.errno, text, error.filename) from None


def _refuse_little_memory(
    request: Request, resources: Resources, inputs: Mapping[str, Sequence[Opened]]
) -> None:
    """Refuse a memory limit that is too low to read files."""
    has_files = any(opened.files for opened in itertools.chain(*inputs.values()))
    if has_files and resources.memory < LEAST_MEMORY:
        text = f"is below {LEAST_MEMORY // 10**6} MB, the minimum"
        raise InputError("memory", f"{shown(request.memory)} {text}")


def _with_fields_named(
    inputs: Mapping[str, Sequence[Opened]], joined: bool, labels: list[Any] | None
) -> dict[str, list[Opened]]:
    """Return the inputs in formats with the names of their fields, and of all labels if given."""
    all_inputs = itertools.chain(*inputs.values())
    with_names = iter(with_fields(joined, *all_inputs, labels=labels))
    renamed = dict[str, list[Opened]]()
    for argument, opened_inputs in inputs.items():
        renamed[argument] = [*itertools.islice(with_names, len(opened_inputs))]
    return renamed


def _label_names(question: Question) -> list[Any] | None:
    """Return the names of all labels from a list or a file, if the caller gives them."""
    if is_file(question.labels):
        return load_names(as_path(question.labels))
    if question.labels is None:
        return None
    return check_labels(question.labels, question.n_labels)


def make_evaluators(run: FileEvaluation) -> None:
    """Check the request, and make an evaluator for each report."""
    rows = run.rows
    question = run.request.question
    given = question.given_options(max(run.label_counts))
    question = replace(question, labels=None, given=given)  # the names are those of the match
    for pairs in rows.pairs.values():
        pairs.refuse_outside(rows.truth[1].n_rows, min(run.label_counts))
    for place in range(len(run.label_counts)):
        settings = _report_settings(run, question, place)
        share = run.resources.without(run.limit).evaluator(len(rows.scores))
        run.evaluators.append(evaluator_of(settings, share))
    run.resources = run.resources.without(run.limit)
    _refuse_large_tables(run, settings)
    _describe_restrictions(run)


def _report_settings(run: FileEvaluation, question: Question, place: int) -> Settings:
    """Return the settings of a report with the contents of files of labels, and add notes."""
    rows = run.rows
    n_labels = run.label_counts[place]
    paths = _paths_of_values(run.request)
    places: dict[str, Any] = {**paths}
    if question.n_labels is None:
        places["n_labels"] = rows.truth[0]
    has_only_sets = "y_pred" in rows.sets and not rows.scores and question.metrics is None
    with naming_files(places):
        trained = run.trained[place] if run.trained else None
        question, notes = with_files_read(question, paths, rows, n_labels, trained)
        if question.curve_points and rows.scores and not have_scores(*rows.scores[place]):
            question = replace(question, curve_points=None)  # lists without scores have no curve
        if has_only_sets:
            question = replace(question, metrics=MEASURES_OF_SETS)
        settings = check_settings(question, n_labels, rows.label_names, run.closed)
    rows.notes[place] += [*notes, *settings.argument_notes]
    settings = replace(settings, argument_notes=())
    if rows.by_name:
        settings = replace(settings, named=True, unknown=True)
    if has_only_sets:  # skip measures that cannot be computed
        settings = replace(settings, requested=[(spec, False) for spec, _ in settings.requested])
    return settings


def _paths_of_values(request: Request) -> dict[str, Path]:
    """Return files that are not read by row, but ``labels``, and that of training labels."""
    paths = dict[str, Path]()
    for argument in (*FILES_OF_LABELS, "y_train"):
        if argument == "labels":
            continue
        path = file_of(argument, argument_of(request, argument))
        if path is not None:
            paths[argument] = path
    return paths | files_of_data(request)


def _refuse_large_tables(run: FileEvaluation, settings: Settings) -> None:
    """Refuse a number of labels whose tables alone would exceed the memory limit."""
    n_kept = 0
    if settings.per_label is True:
        n_kept = len(settings.requested)
    elif settings.per_label:
        n_kept = len(settings.per_label)
    label_bytes = VALUE_BYTES * n_kept
    has_tables = any(
        spec.state in LABEL_TABLES or spec.average in ("macro", "weighted")
        for spec, _ in settings.requested
    )
    if n_kept or has_tables:
        label_bytes += TABLE_BYTES
    n_reports = len(run.label_counts)
    refuse_many_labels(run.rows.truth[0], max(run.label_counts), n_reports * label_bytes)


def _describe_restrictions(run: FileEvaluation) -> None:
    """Record the names and digests of files of exclusions and candidates."""
    if not run.rows.pairs and not run.rows.sets:
        return
    for argument in RESTRICTIONS:
        files = run.files.get(argument)
        if files:
            name = str(files[0])
            if argument in run.inputs:
                name = run.inputs[argument][0].name
            run.excluded[argument] = {"file": Path(name).name, "sha256": digest(*files)}


def _scan_of(opened: Opened) -> list[Any] | None:
    """Return the options of a `scan` as JSON values; None without one."""
    if not isinstance(opened, OpenedFiles) or opened.scan is None:
        return None
    return [opened.scan.format, fields_of_scan(opened.scan), opened.scan.keep]


def _column_of(values: object) -> str | None:
    """Return the name of the column that values of rows are read from, if it is one."""
    return values.name if isinstance(values, TruthColumn) else None


@contextlib.contextmanager
def _resumed(run: FileEvaluation, folder: Path) -> Iterator[None]:
    """Lock the folder of a checkpoint, resume from it if requested, and remove it at the end."""
    if isinstance(folder, RemotePath):
        text = f"{folder} is not on this machine; give a folder, or "
        raise InputError("checkpoint", Message(text, Keyword("executor")))
    run.files_only("checkpoint")
    request = run.request
    n_rows = run.rows.truth[1].n_rows
    for path in itertools.chain(*run.files.values()):
        if path.resolve().parent == folder.resolve():
            raise ValueError(f"{folder}: {path.name} in it is an input; give another folder")
    settings = _checkpoint_settings(run)
    with locked(folder):
        run.checkpoint = Checkpoint(folder, settings)
        if os.path.lexists(run.checkpoint.path):
            if not request.running.resume:
                text = f"{folder}: contains a checkpoint; continue it with "
                raise ValueError(Message(text, Keyword("resume", "True"), ", or remove it"))
            with limited(run.resources.limit()):
                run.evaluators = run.checkpoint.load(run.evaluators[0].memory, request.threads)
            total = f" of {n_rows}" if n_rows else ""
            LOG.info("%s: resumed at row %s%s", folder, run.evaluators[0].n_rows, total)
        yield
        run.checkpoint.path.unlink(missing_ok=True)


def _checkpoint_settings(run: FileEvaluation) -> dict[str, Any]:
    """Return the settings that must be the same to resume a run, as JSON values."""
    files = run.files
    settings = dict[str, Any]()
    for argument in (*FILES, *files_of_data(run.request)):
        settings[argument] = [stamp(path) for path in files.get(argument, ())]
    scans = dict[str, Any]()
    for argument, opened_inputs in run.inputs.items():
        scans[argument] = [_scan_of(opened) for opened in opened_inputs]
    row_values = run.request.data.row_values
    settings["number of models"] = len(run.rows.scores)
    settings["exclude_from"] = run.request.data.exclude_from
    settings["marks"] = [str(mark) for mark in run.rows.marks]
    settings["first_row"] = run.request.running.first_row
    settings["scans"] = scans
    settings["columns"] = {name: _column_of(values) for name, values in row_values.items()}
    settings["evaluators"] = [evaluator.settings for evaluator in run.evaluators]
    return settings


def evaluate_files(
    request: Request,
    scores: Mapping[str, Any],
    count_run: CountRun | None = None,
) -> tuple[FileEvaluation, dict[str, Report]]:
    """Return the run, and the reports of models by name.

    ``scores`` are those of models by name; ``count_run`` counts the run in place of `count`.
    """
    _refuse_running(request)
    for name, value in scores.items():
        if value is None:
            raise InputError("y_score", f"{shown(name)} is None; expected its scores")
    if request.data.y_pred is not None and request.question.decision is not None:
        decision = Keyword("decision", str(request.question.decision))
        raise InputError("y_pred", Message("given together with ", decision, "; choose one"))
    checkpoint = request.running.checkpoint
    with open_run(request, scores) as run, contextlib.ExitStack() as opened:
        make_evaluators(run)
        states = _files_for_states(run)
        if count_run is None and checkpoint is not None:
            (WRITING.get() or opened).enter_context(_resumed(run, as_path(checkpoint)))
        reports = (count_run or count)(run, request.progress)
        if states:
            keep_row_keys(run)
        for evaluator, path in zip(run.evaluators, states, strict=False):
            _with_label_names(evaluator, run.rows.label_names).save(path)
    return run, dict(zip(run.names, reports, strict=True))


def _with_label_names(evaluator: Evaluator, names: list[Any] | None) -> Evaluator:
    """Return an evaluator to save with the names of labels, if a list of them can have these."""
    if not names or len(names) != evaluator.n_labels:
        return evaluator
    try:
        return with_label_names(evaluator, check_labels(names, None))
    except InputError:
        return evaluator


def _refuse_running(request: Request) -> None:
    """Refuse fields of `Running` that are no paths, or that need other arguments."""
    running = request.running
    for name, path in (("checkpoint", running.checkpoint), ("save", running.save)):
        if path is not None and not is_file(path):
            raise InputError(name, f"{shown(path)} is not a path")
    if running.resume and running.checkpoint is None:
        reason = Message("needs ", Keyword("checkpoint"), ", the folder with the earlier counts")
        raise InputError("resume", reason)
    is_merged = request.question.confidence is not None or running.save is not None
    if running.first_row is not None and not is_merged:
        text = "is for shards that are merged; give "
        reason = Message(text, Keyword("save"), " or ", Keyword("confidence"))
        raise InputError("first_row", reason)


def _files_for_states(run: FileEvaluation) -> list[Path]:
    """Return the files to save the counts in, which must not be inputs."""
    pattern = run.request.running.save
    if pattern is None:
        return []
    states = state_files(pattern, run.names)
    for path in states:
        refuse_ending(path, "a saved evaluator", ARCHIVE)
        refuse_unwritable(path)
    for file in itertools.chain(*run.files.values()):
        refuse_input(file, states)
    return states


def collect(request: Request, make: Callable[[int, Resources], Any]) -> tuple[Any, FileEvaluation]:
    """Return a counter that got all rows, and the run; ``make`` makes the counter."""
    scores = dict[str, Any]()
    if request.data.y_score is not None:
        scores["y_score"] = request.data.y_score
    with open_run(request, scores, fits=True) as run:
        name, pieces = run.rows.truth
        n_labels = run.label_counts[0]
        refuse_many_labels(name, n_labels)
        counter = make(n_labels, run.resources.evaluator(1))
        with show_progress(pieces.n_rows, 0, request.progress) as show:
            for n_rows in count_rows([counter], run.rows, run.resources):
                show(n_rows)
    return counter, run


def count(run: FileEvaluation, shown: Progress) -> list[Report]:
    """Count all rows, and return a report for each evaluator."""
    rows = run.rows
    pieces = rows.truth[1]
    n_before = 0
    if run.checkpoint:
        n_before = run.evaluators[0].n_rows
    is_saved = run.checkpoint is not None or run.request.running.save is not None
    sources = dict[str, str]()
    if is_saved or pieces.locate is not None:
        sources = run.sources
    with show_progress(pieces.n_rows, n_before, shown) as show:
        for n_rows in count_rows(
            [*map(BatchCounter, run.evaluators)], rows, run.resources, n_before, sources
        ):
            show(n_rows)
            if run.checkpoint is not None:
                run.checkpoint.save_sometimes(run.evaluators)
    return reports_of(run)


def reports_of(run: FileEvaluation) -> list[Report]:
    """Return a report for each evaluator, with the names of rows and labels."""
    reports = []
    rows = run.rows
    label_names = rows.label_names
    row_names = rows.row_names
    for evaluator, naming, notes in zip(run.evaluators, rows.namings, rows.notes, strict=True):
        if notes:
            all_notes = joined_notes(notes, counts_of(evaluator).notes)
            change_counts(evaluator, partial(replace, notes=all_notes))
        report = evaluator.compute()
        for argument in report.excluded:
            report.excluded[argument] |= run.excluded.get(argument, {})
        names: Any = {
            "label_names": label_names,
            "row_names": row_names,
            "unknown_labels": [*naming.unknown],
        }
        reports.append(replace(report, **names))
    if len(reports) > 1:
        return with_same_measures(reports)
    return reports


def keep_row_keys(run: FileEvaluation) -> None:
    """Add the keys of rows to the evaluators, which counted rows by number."""
    keys = run.rows.namings[0].keys
    if not keys:
        return
    memory_limit().take(ROW_KEY_BYTES * len(keys))
    row_keys = with_keys((), keys)
    for evaluator in run.evaluators:
        change_counts(evaluator, partial(replace, row_keys=row_keys))


def state_files(pattern: FilePath, names: Sequence[str]) -> list[Path]:
    """Return the files of the states of models: a pattern with their names for ``{}``.

    Names are as short as they differ: the stem of a file, its name or the whole.
    """
    path = as_path(pattern)
    if "{}" not in str(path) and len(names) > 1:
        example = path.with_name(f"{path.stem}_{{}}{path.suffix}")
        text = f"is for {len(names)} models; put {{}} in place of their names, as in {example}"
        raise InputError("save", text)
    files = [Path(name.removesuffix(".gz")) for name in names]
    for candidates in ([file.stem for file in files], [file.name for file in files], names):
        plain_names = [re.sub(r"[^\w.-]+", "_", name) for name in candidates]
        if len({*plain_names}) == len(names):
            return [as_path(str(path).replace("{}", name)) for name in plain_names]
    raise InputError(
        "save", f"models {', '.join(names)} would be saved in files of the same name; rename some"
    )
