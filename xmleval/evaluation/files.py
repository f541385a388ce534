"""Evaluation of files, or of files beside arrays: opened, settled, counted as they are read, and reported."""

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
from xmleval.evaluation.beside import training_counts, with_files_read, with_values_of_rows
from xmleval.evaluation.checkpoint import WRITING, Checkpoint
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.inputs import match_inputs, open_input
from xmleval.evaluation.label_counts import label_counts_of, refuse_many_labels
from xmleval.evaluation.matched_inputs import LOG, MatchedInputs, have_scores
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.reading import count_rows
from xmleval.evaluation.request import Progress, Question, Request
from xmleval.evaluation.row_keys import ROW_KEY_BYTES, with_keys
from xmleval.evaluation.settings import (
    FILES,
    FILES_OF_LABELS,
    MISSING,
    argument_of,
    check_settings,
    file_of,
    refuse_scans,
)
from xmleval.files.input import digest, stamp
from xmleval.files.output import ARCHIVE, locked, refuse_ending, refuse_input, refuse_unwritable
from xmleval.files.remote import RemotePath, as_path, is_file
from xmleval.input.argument_types import FilePath
from xmleval.input.door import RESTRICTIONS
from xmleval.input.opened import Opened, check_labels
from xmleval.input.shards import OpenedFiles, with_fields
from xmleval.input.small_texts import load_names
from xmleval.labels.hierarchy import as_edges
from xmleval.results.report import Report, with_same_measures
from xmleval.states.plan import Settings

MEASURES_OF_SETS = [  # where sets are all that is given, and no measures are
    "precision.micro", "recall.micro", "f1.micro", "f1.macro", "f1.samples", "jaccard.samples",
    "hamming_loss", "subset_accuracy",
]  # fmt: skip
LABEL_TABLES = ("label_extremes", "label_totals")  # states that count every label
TABLE_BYTES, VALUE_BYTES = 120, 8  # of memory for a label: counts and curves, and a value that is kept
LEAST_MEMORY = 16_000_000  # less saves nothing, and leaves thousands of small files of sorted scores


@dataclass
class Run:
    """Files, or files beside arrays, that are opened, and an evaluator for each report.

    ``rows`` are those of all ``inputs``, by argument; ``label_counts`` is the number of labels of each
    report, ``trained`` what `training_counts` returns; ``closed`` tells whether all labels were known before.
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
        inputs = self.inputs | ({} if self.train is None else {"y_train": [self.train]})
        files = {name: [path for each in inputs[name] for path in each.files] for name in inputs}
        of_labels = {name: file_of(name, argument_of(self.request, name)) for name in FILES_OF_LABELS}
        return files | {name: [path] for name, path in of_labels.items() if path is not None}

    @property
    def sources(self) -> dict[str, str]:
        """Versions of the files of the truth, by the names that reading gives them."""
        truth = self.inputs["y_true"][0]
        shards = truth.shards if isinstance(truth, OpenedFiles) else ()
        sources = {str(shard.path): stamp(shard.path) for shard in shards}
        return sources | {self.rows.truth[0]: ", ".join(sources.values())}

    def files_only(self, asking: str) -> dict[str, list[OpenedFiles]]:
        """Return the inputs, or refuse values among them, where an argument ``asking`` for files is given."""
        files = self.files
        for argument, inputs in {**self.inputs, "exclude": self.rows.sets.get("exclude")}.items():
            if inputs and not files.get(argument):
                raise InputError(asking, Message("needs files, and ", Keyword(argument), " is none"))
        return {
            argument: [opened for opened in inputs if isinstance(opened, OpenedFiles)]
            for argument, inputs in self.inputs.items()
        }


CountRun = Callable[[Run, Progress], list[Report]]  # what counts a run, in place of `count`


@contextlib.contextmanager
def open_run(request: Request, scores: Mapping[str, Any], fits: bool = False) -> Iterator[Run]:
    """Open files, or values in their place, and match their rows and labels, within a limit of memory."""
    question = replace(request.question, hierarchy=as_edges(request.question.hierarchy))
    request = replace(request, question=question)
    threads = request.threads
    if request.running.executor is not None:  # whose processes do the work
        threads = threads or 1
    refuse_scans(request)
    resources = check_resources(request.memory, threads, request.running.block_rows)
    limit = resources.limit()
    with limited(limit):
        if question.n_labels is not None:
            positive_integer("n_labels", question.n_labels)
        inputs = _open_inputs(request, scores)
        _refuse_little_memory(request, resources, inputs)
        inputs = _with_fields_named(inputs, joined=bool(scores) or "y_pred" in inputs or fits)
        labels = _names_of_labels(question)
        train = inputs.pop("y_train", [None])[0]
        rows = match_inputs(request, inputs, labels, fits)
        label_counts = label_counts_of(rows, resources, labels, question.n_labels)
        trained = list[tuple[Ints, int]]()
        if train is not None and (fits or train.files):  # of values, propensities are estimated later
            trained = training_counts(train, rows, labels, label_counts, resources)
        rows = with_values_of_rows(rows, request)
        closed, names = not rows.by_name or rows.namings[0].closed, [*scores] or [rows.truth[0]]
        yield Run(request, resources, limit, names, inputs, train, rows, label_counts, closed, trained)


def _open_inputs(request: Request, scores: Mapping[str, Any]) -> dict[str, list[Opened]]:
    """Return what is read row by row, by argument: files, or what holds values in their place."""
    data, question = request.data, request.question
    if data.y_true is None:
        raise InputError("y_true", MISSING)
    models = [open_input("y_score", value, question.n_labels, name) for name, value in scores.items()]
    inputs: dict[str, list[Opened]] = {"y_true": [], "y_score": models}
    others = {
        "y_true": data.y_true,
        "y_pred": data.y_pred,
        "y_train": question.training.labels,
        "candidates": data.candidates,
    }
    for argument, value in others.items():
        if value is not None:
            inputs[argument] = [open_input(argument, value, question.n_labels)]
    if question.resolved_conventions.graded:
        inputs["y_true"] = [replace(inputs["y_true"][0], kind="grades")]
    return inputs


def _refuse_little_memory(
    request: Request, resources: Resources, inputs: Mapping[str, Sequence[Opened]]
) -> None:
    """Refuse a limit of memory within which files are not read."""
    has_files = any(opened.files for opened in itertools.chain(*inputs.values()))
    if has_files and resources.memory < LEAST_MEMORY:
        below = f"is below {LEAST_MEMORY // 10**6} MB, the least that can be given"
        raise InputError("memory", f"{shown(request.memory)} {below}")


def _with_fields_named(inputs: Mapping[str, Sequence[Opened]], joined: bool) -> dict[str, list[Opened]]:
    """Return inputs in formats that know what their fields are called."""
    renamed = iter(with_fields(joined, *itertools.chain(*inputs.values())))
    return {argument: [*itertools.islice(renamed, len(each))] for argument, each in inputs.items()}


def _names_of_labels(question: Question) -> list[Any] | None:
    """Return the names of all labels that are given, also in a file."""
    if is_file(question.labels):
        return load_names(as_path(question.labels))
    if question.labels is None:
        return None
    return check_labels(question.labels, question.n_labels)


def make_evaluators(run: Run) -> None:
    """Check what is asked, and make an evaluator for each report."""
    rows, question = run.rows, run.request.question
    given = question.given_options(max(run.label_counts))
    question = replace(question, labels=None, given=given)  # labels are names of rows
    if rows.pairs is not None:
        rows.pairs.refuse_outside(rows.truth[1].n_rows, min(run.label_counts))
    for place in range(len(run.label_counts)):
        settings = _settle_report(run, question, place)
        share = run.resources.without(run.limit).evaluator(len(rows.scores))
        run.evaluators.append(Evaluator.of(settings, share))
    run.resources = run.resources.without(run.limit)
    _refuse_large_tables(run, settings)
    _describe_restrictions(run)


def _settle_report(run: Run, question: Question, place: int) -> Settings:
    """Return the settings of a report, with what is in files of labels, and note what is seen in these."""
    rows, n_labels = run.rows, run.label_counts[place]
    names = (name for name in (*FILES_OF_LABELS, "y_train") if name != "labels")
    files = {name: file_of(name, argument_of(run.request, name)) for name in names}
    paths = {name: path for name, path in files.items() if path is not None}
    source_of_width = {"n_labels": rows.truth[0]} if question.n_labels is None else {}
    only_sets = "y_pred" in rows.sets and not rows.scores and question.metrics is None
    with naming_files({**paths, **source_of_width}):
        trained = run.trained[place] if run.trained else None
        asked, notes = with_files_read(question, paths, rows, n_labels, trained)
        if asked.curve_points and rows.scores and not have_scores(*rows.scores[place]):
            asked = replace(asked, curve_points=None)  # of lists without scores there is no curve
        if only_sets:
            asked = replace(asked, metrics=MEASURES_OF_SETS)
        settings = check_settings(asked, n_labels, rows.label_names, run.closed)
    rows.notes[place] += [*notes, *settings.on_arguments]
    settings = replace(settings, on_arguments=())
    if rows.by_name:
        settings = replace(settings, named=True, unknown=True)
    if only_sets:  # what cannot be computed is left out
        settings = replace(settings, asked=[(spec, False) for spec, _ in settings.asked])
    return settings


def _refuse_large_tables(run: Run, settings: Settings) -> None:
    """Refuse labels whose tables alone take more memory than there is."""
    n_kept = len(settings.asked if settings.per_label is True else settings.per_label or ())
    has_tables = n_kept > 0 or any(
        spec.state in LABEL_TABLES or spec.average in ("macro", "weighted") for spec, _ in settings.asked
    )
    n_bytes = TABLE_BYTES * has_tables + VALUE_BYTES * n_kept
    refuse_many_labels(run.rows.truth[0], max(run.label_counts), len(run.label_counts) * n_bytes)


def _describe_restrictions(run: Run) -> None:
    """Note the files of labels that are left out, or within which alone labels are ranked."""
    if not run.rows.pairs and not run.rows.sets:
        return
    for argument in RESTRICTIONS:
        if files_of := run.files.get(argument):
            name = run.inputs[argument][0].name if argument in run.inputs else str(files_of[0])
            run.excluded[argument] = {"file": Path(name).name, "sha256": digest(*files_of)}


def _scan_of(opened: Opened) -> list[Any] | None:
    """Return how a file is read, as JSON values, where `scan` says so."""
    scan = opened.scan if isinstance(opened, OpenedFiles) else None
    return None if scan is None else [scan.format, scan.fields]


@contextlib.contextmanager
def _resumed(run: Run, folder: Path) -> Iterator[None]:
    """Lock the folder of a checkpoint, go on from it if so asked, and remove it where all ends well."""
    if isinstance(folder, RemotePath):
        elsewhere = f"{folder} is not on this machine; give a folder, or ", Keyword("executor")
        raise InputError("checkpoint", Message(*elsewhere))
    run.files_only("checkpoint")
    request, files, n_rows = run.request, run.files, run.rows.truth[1].n_rows
    for path in itertools.chain(*files.values()):
        if path.resolve().parent == folder.resolve():
            raise ValueError(f"{folder}: {path.name} in it is an input; expected a folder of its own")
    settings = {
        **{name: [stamp(path) for path in files.get(name, ())] for name in FILES},
        "number of models": len(run.rows.scores),
        "exclude_from": request.data.exclude_from,
        "first_row": request.running.first_row,
        "scans": {name: [_scan_of(opened) for opened in each] for name, each in run.inputs.items()},
        "evaluators": [evaluator.settings for evaluator in run.evaluators],
    }
    with locked(folder):
        run.checkpoint = Checkpoint(folder, settings)
        if os.path.lexists(run.checkpoint.path):
            if not request.running.resume:
                text = f"{folder}: holds a checkpoint; go on with "
                raise ValueError(Message(text, Keyword("resume", "True"), ", or remove it"))
            with limited(run.resources.limit()):
                run.evaluators = run.checkpoint.load(run.evaluators[0].memory, request.threads)
            of = f" of {n_rows}" if n_rows else ""
            LOG.info("%s: resumed at row %s%s", folder, run.evaluators[0].n_rows, of)
        yield
        run.checkpoint.path.unlink(missing_ok=True)


def evaluate_files(
    request: Request,
    scores: Mapping[str, Any],
    count_run: CountRun | None = None,
) -> tuple[Run, dict[str, Report]]:
    """Return the reports of models by name, and what was run.

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
            evaluator.save(path)
    return run, dict(zip(run.names, reports, strict=True))


def _refuse_running(request: Request) -> None:
    """Refuse parts of `Running` that are no paths, or need others."""
    running = request.running
    for name, path in (("checkpoint", running.checkpoint), ("save", running.save)):
        if path is not None and not is_file(path):
            raise InputError(name, f"{shown(path)} is no path")
    if running.resume and running.checkpoint is None:
        needed = "needs ", Keyword("checkpoint"), ", the folder of what was counted"
        raise InputError("resume", Message(*needed))
    is_merged = request.question.confidence is not None or running.save is not None
    if running.first_row is not None and not is_merged:
        merged = Keyword("save"), " or ", Keyword("confidence")
        raise InputError("first_row", Message("numbers rows of shards that are merged; give ", *merged))


def _files_for_states(run: Run) -> list[Path]:
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


def collect(request: Request, make: Callable[[int, Resources], Any]) -> tuple[Any, Run]:
    """Give rows to what ``make`` returns for a number of labels; return it, and the run."""
    models = {} if request.data.y_score is None else {"y_score": request.data.y_score}
    with open_run(request, models, fits=True) as run:
        (name, pieces), n_labels = run.rows.truth, run.label_counts[0]
        refuse_many_labels(name, n_labels)
        rows = make(n_labels, run.resources.evaluator(1))
        with show_progress(pieces.n_rows, 0, request.progress) as show:
            for n_rows in count_rows([rows], run.rows, run.resources):
                show(n_rows)
    return rows, run


def count(run: Run, shown: Progress) -> list[Report]:
    """Count all rows, and return a report for each evaluator."""
    n_before, rows = run.evaluators[0].n_rows if run.checkpoint else 0, run.rows
    kept = run.checkpoint is not None or run.request.running.save is not None
    sources = run.sources if kept or rows.truth[1].locate is not None else {}
    with show_progress(rows.truth[1].n_rows, n_before, shown) as show:
        for n_rows in count_rows(run.evaluators, rows, run.resources, n_before, sources):
            show(n_rows)
            if run.checkpoint is not None:
                run.checkpoint.save_sometimes(run.evaluators)
    return reports_of(run)


def reports_of(run: Run) -> list[Report]:
    """Return a report for each evaluator, with the names of rows and labels."""
    reports, label_names, row_names = [], run.rows.label_names, run.rows.row_names
    for evaluator, naming, notes in zip(run.evaluators, run.rows.namings, run.rows.notes, strict=True):
        if notes:
            evaluator.change(partial(replace, notes=joined_notes(notes, evaluator.counted.notes)))
        report = evaluator.compute()
        names: Any = {
            "label_names": label_names,
            "row_names": row_names,
            "unknown_labels": [*naming.unknown],
        }
        for name in report.excluded:
            report.excluded[name] |= run.excluded.get(name, {})
        reports.append(replace(report, **names))
    return with_same_measures(reports) if len(reports) > 1 else reports


def keep_row_keys(run: Run) -> None:
    """Give the evaluators, which counted rows by number, the keys of these rows."""
    keys = run.rows.namings[0].keys
    if keys:
        memory_limit().take(ROW_KEY_BYTES * len(keys))
        row_keys = with_keys((), keys)
        for evaluator in run.evaluators:
            evaluator.change(partial(replace, row_keys=row_keys))


def state_files(pattern: FilePath, names: Sequence[str]) -> list[Path]:
    """Return the file for the state of each model: a pattern with their names for ``{}``."""
    path = as_path(pattern)
    if "{}" not in str(path) and len(names) > 1:
        example = path.with_name(f"{path.stem}_{{}}{path.suffix}")
        text = f"is for {len(names)} models; put {{}} where their names belong, as in {example}"
        raise InputError("save", text)
    files = [Path(name.removesuffix(".gz")) for name in names]
    for shorts in ([file.stem for file in files], [file.name for file in files], names):
        plain = [re.sub(r"[^\w.-]+", "_", short) for short in shorts]
        if len({*plain}) == len(names):
            return [as_path(str(path).replace("{}", short)) for short in plain]
    raise InputError("save", f"models {', '.join(names)} would have files of one name; rename some")
