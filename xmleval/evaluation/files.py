"""Evaluation of files, or of files beside arrays: opened, settled, counted as they are read, and reported."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from xmleval.base.budget import MEMORY, MemoryLimit, Resources, check_resources, limited
from xmleval.base.errors import InputError, Keyword, Message, naming_files, positive_integer
from xmleval.base.notes import Note
from xmleval.evaluation.beside import (
    hierarchy_of,
    label_groups_of,
    propensity_of,
    training_counts,
    with_values_of_rows,
)
from xmleval.evaluation.checkpoint import WRITING, Checkpoint
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.inputs import (
    LOG,
    Inputs,
    Opened,
    have_scores,
    label_counts_of,
    open_input,
    open_rows,
    refuse_many_labels,
)
from xmleval.evaluation.reading import Progress, count_rows, progress
from xmleval.evaluation.settings import (
    FILES_OF_LABELS,
    MISSING,
    OF_PROPENSITY,
    Arguments,
    FileOptions,
    Options,
    check_settings,
    file_of,
    refuse_unknown,
)
from xmleval.files.input import digest, stamp
from xmleval.files.output import locked, refuse_input, refuse_unwritable
from xmleval.files.remote import RemotePath, as_path, is_file
from xmleval.input.formats.documents import Fields
from xmleval.input.objects.take import check_labels
from xmleval.input.shards import with_fields
from xmleval.input.small_texts import load_names
from xmleval.metrics.spec import conventions_of
from xmleval.results.report import Report, with_same_measures
from xmleval.states.plan import Settings
from xmleval.view.rule import Rule, rule_for

MEASURES_OF_SETS = [  # where sets are all that is given, and no measures are
    "precision.micro", "recall.micro", "f1.micro", "f1.macro", "f1.samples", "jaccard.samples",
    "hamming_loss", "subset_accuracy",
]  # fmt: skip
LABEL_TABLES = ("label_extremes", "label_totals")  # states that count every label
TABLE_BYTES, VALUE_BYTES = 120, 8  # of memory for a label: counts and curves, and a value that is kept
LEAST_MEMORY = 16_000_000  # less saves nothing, and leaves thousands of small files of sorted scores
SETTLED = Options.__annotations__.keys() - {"labels", "y_train", "dataset", "a", "b"}  # by `check_settings`
HOW_FILES_ARE_READ = {"input_format": None, "exclude_from": "both", "first_row": None, "ranked": False}


@dataclass
class Run:
    """Files, or files beside arrays, that are opened, and what counts their rows.

    rows, widths : those of all inputs, and the number of labels of each report
    inputs, train : by argument, one or one for each report; and training labels
    closed : whether all labels were known before
    counts, n_train : numbers of training rows of each label, for each report or once, and of all
    limit : that of reading
    evaluators, names : one for each model, or one if there is none
    """

    arguments: Arguments
    resources: Resources
    limit: MemoryLimit
    rows: Inputs
    widths: list[int]
    inputs: dict[str, list[Any]]
    train: Any
    closed: bool
    counts: list[Any]
    n_train: int
    names: list[str]
    evaluators: list[Evaluator] = field(default_factory=list)
    excluded: dict[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None

    @property
    def files(self) -> dict[str, list[Path]]:
        """All files, by argument."""
        inputs = self.inputs | ({} if self.train is None else {"y_train": [self.train]})
        files = {name: [path for each in inputs[name] for path in each.files] for name in inputs}
        of_labels = {name: file_of(name, self.arguments.get(name)) for name in FILES_OF_LABELS}
        return files | {name: [path] for name, path in of_labels.items() if path is not None}

    @property
    def sources(self) -> dict[str, str]:
        """Versions of the files of the truth, by the names that reading gives them."""
        sources = {str(shard.path): stamp(shard.path) for shard in self.inputs["y_true"][0].shards}
        return sources | {self.rows.truth[0]: next(iter(sources.values()), "") if len(sources) < 2 else ""}

    def refuse_values(self, asking: str) -> None:
        """Refuse inputs in memory, where an argument ``asking`` for files is given."""
        files = self.files
        for argument, inputs in {**self.inputs, "exclude": self.rows.sets.get("exclude")}.items():
            if inputs and not files.get(argument):
                raise InputError(asking, Message("needs files, and ", Keyword(argument), " is none"))


def resources_of(arguments: Arguments) -> Resources:
    """Return memory and threads, checked."""
    memory = arguments.get("memory", MEMORY)
    resources = check_resources(memory, arguments.get("threads"), arguments.get("block_rows"))
    if resources.memory < LEAST_MEMORY:
        minimum = f"{LEAST_MEMORY // 10**6} MB"
        raise InputError("memory", f"{memory!r} is below {minimum}, the least that can be given")
    return resources


def open_run(
    arguments: Arguments,
    scores: Mapping[str, Any],
    resources: Resources,
    limit: MemoryLimit,
    fits: bool = False,
) -> Run:
    """Open the files within a limit that is set, and match their rows and labels, to evaluate or to fit."""
    labels: Any = arguments.get("labels")
    n_labels, how = arguments.get("n_labels"), arguments.get("input_format")
    if n_labels is not None:
        positive_integer("n_labels", n_labels)
    sets: dict[str, Any] = {}
    for argument in ("y_pred", "y_train", "candidates"):
        if (value := arguments.get(argument)) is not None:
            sets[argument] = open_input(argument, value, how, n_labels)
    models = [open_input("y_score", value, how, n_labels, name) for name, value in scores.items()]
    if (y_true := arguments.get("y_true")) is None:
        raise InputError("y_true", MISSING)
    graded = conventions_of(arguments.get("metrics"), arguments).graded
    truth = open_input("y_true", y_true, how, n_labels)
    if graded:
        truth = replace(truth, kind="grades")
    if how is not None and not any(each.files for each in (truth, *models, *sets.values())):
        raise InputError("input_format", "is for files, and none is given")
    fields = fields_of(arguments, joined=bool(scores) or "y_pred" in sets or fits)
    truth, *models = with_fields(fields, truth, *models, *sets.values())
    sets = dict(zip(sets, models[len(scores) :], strict=True))
    del models[len(scores) :]
    train = sets.pop("y_train", None)
    if is_file(labels):
        labels = load_names(as_path(labels))
    elif labels is not None:
        labels = [*map(str, check_labels(labels, n_labels))]
    rows = open_rows(arguments, fields, truth, models, sets, labels, fits)
    widths = label_counts_of(rows, resources, labels, n_labels)
    counts, n_train = [None], 0
    if train is not None and (fits or train.files):  # of values, propensities are estimated later
        counts, n_train = training_counts(train, rows, labels, widths, resources)
    rows = with_values_of_rows(rows, arguments)
    inputs = {"y_true": [truth], "y_score": models} | {argument: [sets[argument]] for argument in sets}
    closed, names = labels is not None or not rows.by_name, [*scores] or [rows.truth[0]]
    return Run(arguments, resources, limit, rows, widths, inputs, train, closed, counts, n_train, names)


def settle(run: Run) -> None:
    """Settle what is counted for each report, and make the evaluators and what is told of excluded labels."""
    arguments, rows, closed = run.arguments, run.rows, run.closed
    values: Any = {name: value for name, value in arguments.items() if value is not None}
    metrics, names = arguments.get("metrics"), rows.label_names
    of_sets = "y_pred" in rows.sets and not rows.scores and metrics is None
    if rows.pairs is not None:
        rows.pairs.refuse_outside(rows.truth[1].n_rows, min(run.widths))
    options: Any = {}
    files = dict[str, Path | None]()
    for name, value in values.items():
        if name in SETTLED:
            options[name] = value
        if name in FILES_OF_LABELS:
            files[name] = file_of(name, value)
    if "decision" in values:
        options["decision"] = _decision(values["decision"], rows, closed)
    points = options.get("curve_points")
    for place, n_labels in enumerate(run.widths):
        if not OF_PROPENSITY.isdisjoint(values):
            counts = run.counts[place % len(run.counts)]
            q, notes = propensity_of(arguments, counts, run.n_train, n_labels, names, closed)
            rows.notes[place].extend(notes)
            options["inverse_propensity"] = q
        if "label_groups" in values:
            q = options.get("inverse_propensity")
            groups, notes = label_groups_of(values["label_groups"], q, names, n_labels, closed)
            rows.notes[place].extend(notes)
            options["label_groups"] = groups
        if points and rows.scores:  # of lists without scores there is no curve
            options["curve_points"] = points if have_scores(*rows.scores[place], n_labels) else None
        share = run.resources.without(run.limit).evaluator(len(rows.scores))
        with naming_files(files):
            if "hierarchy" in values:
                options["hierarchy"] = hierarchy_of(values["hierarchy"], n_labels, names, closed)
            settings = check_settings(MEASURES_OF_SETS if of_sets else metrics, options, n_labels)
        if rows.by_name:
            settings = replace(settings, named=True, unknown=True, counts_cells=closed)
        if of_sets:  # what cannot be computed is left out
            settings = replace(settings, asked=[(spec, False) for spec, _ in settings.asked])
        run.evaluators.append(Evaluator.of(settings, share))
    run.resources = run.resources.without(run.limit)
    refuse_many_labels(rows.truth[0], max(run.widths), len(run.widths) * _label_bytes(settings))
    if not values.keys().isdisjoint(("exclude", "candidates")):
        run.excluded = _excluded(arguments, run.inputs.get("candidates", [None])[0])


def fields_of(arguments: FileOptions, joined: bool = True) -> Fields:
    """Return what fields of documents are called; ids are looked for where files are ``joined``."""
    if arguments.get("separator") == "":
        raise InputError("separator", "is empty")
    fields = arguments.get("true_field"), arguments.get("pred_field"), arguments.get("score_field")
    return Fields(*fields, arguments.get("id_field"), arguments.get("separator"), joined)


def _label_bytes(settings: Settings) -> int:
    """Return the memory that counts of a label take."""
    kept = settings.per_label
    n_kept = len(settings.asked if kept is True else kept or ())
    tables = n_kept > 0 or any(
        spec.state in LABEL_TABLES or spec.average in ("macro", "weighted") for spec, _ in settings.asked
    )
    return TABLE_BYTES * tables + VALUE_BYTES * n_kept


def _decision(decision: Any, rows: Inputs, closed: bool) -> Any:
    """Return a rule by name as it is, or one that may be saved, for the labels of the truth."""
    path = file_of("decision", decision)
    rule = decision if path is None else Rule.load(path)
    if not isinstance(rule, Rule):
        return rule
    if rule.by_name and rows.label_names is not None:
        n_unknown = len({*rows.label_names}.difference(rule.label_names or ()))
        for notes in rows.notes:
            notes += [Note(str(path or "decision"), "labels unknown in fitting", n_unknown)] * (n_unknown > 0)
    with naming_files({"decision": path} if path else {}):
        try:
            return rule_for(rule, rows.label_names, closed)
        except InputError:
            raise
        except ValueError as error:
            raise InputError("decision", str(error)) from None


def _excluded(arguments: Arguments, among: Opened | None) -> dict[str, Any]:
    """Return what leaves labels out, by the name and the contents of its files."""
    excluded, exclude = dict[str, Any](), arguments.get("exclude")
    if exclude is not None:
        path, origin = file_of("exclude", exclude), {"from": arguments.get("exclude_from", "both")}
        named = {} if path is None else {"file": path.name, "sha256": digest(path)}
        excluded["exclude"] = {"file": None, "sha256": None} | origin | named
    if among is not None:
        files = among.files
        named = {"file": Path(among.name).name, "sha256": digest(*files)} if files else {}
        excluded["candidates"] = {"file": None, "sha256": None, **named}
    return excluded


@contextlib.contextmanager
def _resumed(run: Run, folder: Path) -> Iterator[None]:
    """Lock the folder of a checkpoint, go on from it if so asked, and remove it where all ends well."""
    arguments = run.arguments
    if isinstance(folder, RemotePath):
        elsewhere = f"{folder} is not on this machine; give a folder, or ", Keyword("workers")
        raise InputError("checkpoint", Message(*elsewhere))
    run.refuse_values("checkpoint")
    files = run.files
    inside = [path for path in itertools.chain(*files.values()) if path.resolve().parent == folder.resolve()]
    if inside:
        raise ValueError(f"{folder}: {inside[0].name} in it is an input; expected a folder of its own")
    settings = {
        **{name: [] for name in ("y_true", "y_score", "y_pred", "y_train", "candidates", *FILES_OF_LABELS)},
        **{argument: [stamp(path) for path in files[argument]] for argument in files},
        "number of models": len(run.rows.scores),
        **{name: arguments.get(name, default) for name, default in HOW_FILES_ARE_READ.items()},
        "fields": [*fields_of(arguments)],
        "evaluators": [evaluator.settings for evaluator in run.evaluators],
    }
    with locked(folder):
        run.checkpoint = Checkpoint(folder, settings)
        if run.checkpoint.exists():
            if not arguments.get("resume"):
                resume = Keyword("resume", "True")
                raise ValueError(
                    Message(f"{folder}: holds a checkpoint; go on with ", resume, ", or remove it")
                )
            memory, threads = run.evaluators[0].memory, arguments.get("threads")
            with limited(run.resources.limit()):
                run.evaluators = run.checkpoint.load(memory, threads)
            of = f" of {run.rows.truth[1].n_rows}" if run.rows.truth[1].n_rows else ""
            LOG.info("%s: resumed at row %s%s", folder, run.evaluators[0].n_rows, of)
        yield
        run.checkpoint.remove()


def evaluate_files(
    arguments: Arguments,
    scores: Mapping[str, Any],
    count_run: Callable[[Run, Progress], list[Report]] | None = None,
) -> tuple[Run, dict[str, Report]]:
    """Return the reports of models by name, and what was run.

    ``scores`` are those of models by name; ``count_run`` counts the run in place of `count`.
    """
    refuse_unknown(arguments, Arguments.__annotations__)
    checkpoint, pattern = arguments.get("checkpoint"), arguments.get("save")
    for name, path in (("checkpoint", checkpoint), ("save", pattern)):
        if path is not None and not is_file(path):
            raise InputError(name, f"{path!r} is no path")
    for name, value in scores.items():
        if value is None:
            raise InputError("y_score", f"{name!r} is None; expected its scores")
    if arguments.get("resume") and checkpoint is None:
        needed = "needs ", Keyword("checkpoint"), ", the folder of what was counted"
        raise InputError("resume", Message(*needed))
    if arguments.get("y_pred") is not None and (rule := arguments.get("decision")) is not None:
        decision = Keyword("decision", str(rule))
        raise InputError("y_pred", Message("given together with ", decision, "; choose one"))
    resources, shown, states = resources_of(arguments), arguments.get("progress", False), list[Path]()
    limit = resources.limit()
    with limited(limit):
        run = open_run(arguments, scores, resources, limit)
        settle(run)
    if pattern is not None:
        states = state_files(pattern, run.names)
        for path in states:
            refuse_unwritable(path)
        for file in itertools.chain(*run.files.values()):
            refuse_input(file, states)
    with contextlib.ExitStack() as opened:
        if count_run is not None:
            reports = count_run(run, shown)
        else:
            if checkpoint is not None:
                (WRITING.get() or opened).enter_context(_resumed(run, as_path(checkpoint)))
            reports = count(run, shown)
        for evaluator, path in zip(run.evaluators, states, strict=False):
            evaluator.save(path)
    return run, dict(zip(run.names, reports, strict=True))


def collect_files(
    y_true: Any, y_score: Any, make: Callable[[int, Resources], Any], options: Mapping[str, Any]
) -> tuple[Any, Run]:
    """Give rows of files to what ``make`` returns, which is returned with what was opened; see `collect`."""
    arguments: Any = {**options, "y_true": y_true}
    models = {} if y_score is None else {"y_score": y_score}
    resources = resources_of(arguments)
    limit = resources.limit()
    with limited(limit):
        run = open_run(arguments, models, resources, limit, fits=True)
        refuse_many_labels(run.rows.truth[0], run.widths[0])
        rows = make(run.widths[0], resources.evaluator(1))
        with progress(run.rows.truth[1].n_rows, 0, options.get("progress", False)) as show:
            for n_rows in count_rows([rows], run.rows, resources):
                show(n_rows)
    return rows, run


def count(run: Run, shown: Progress) -> list[Report]:
    """Count all rows, and return a report for each evaluator."""
    n_before, rows = run.evaluators[0].n_rows, run.rows
    kept = run.checkpoint is not None or run.arguments.get("save") is not None
    graded = run.inputs["y_true"][0].kind == "grades"  # which rows of files are not looked at for again
    sources = run.sources if kept or graded or rows.truth[1].locate is not None else {}
    with limited(run.limit), progress(rows.truth[1].n_rows, n_before, shown) as show:
        for n_rows in count_rows(run.evaluators, rows, run.resources, n_before, sources):
            show(n_rows)
            if run.checkpoint is not None:
                run.checkpoint.save_sometimes(run.evaluators)
    return reports_of(run)


def reports_of(run: Run) -> list[Report]:
    """Return a report for each evaluator, with the names of rows and labels."""
    reports, rows = [], run.rows
    for place, (evaluator, notes) in enumerate(zip(run.evaluators, rows.notes, strict=True)):
        if notes:
            evaluator.add_notes(notes)
        names: dict[str, Any] = {
            "label_names": rows.label_names,
            "row_names": None if rows.row_names is None else [*rows.row_names],
            "unknown_labels": rows.unknown_labels[place] if rows.unknown_labels else [],
        }
        reports.append(replace(evaluator.compute(), excluded=run.excluded, **names))
    return with_same_measures(reports) if len(reports) > 1 else reports


def state_files(pattern: Any, names: Sequence[str]) -> list[Path]:
    """Return the file for the state of each model: a pattern with their names for ``{}``."""
    if pattern is None:
        return []
    path = as_path(pattern)
    if "{}" not in str(path):
        if len(names) > 1:
            example = path.with_name(f"{path.stem}_{{}}{path.suffix}")
            raise InputError(
                "save", f"is for {len(names)} models; put {{}} where their names belong, as in {example}"
            )
        return [path]
    files = [Path(name.removesuffix(".gz")) for name in names]
    for shorts in ([file.stem for file in files], [file.name for file in files], names):
        if len({*shorts}) == len(names):
            break
    plain = (re.sub(r"[^\w.-]+", "_", short) for short in shorts)
    return [Path(str(path).replace("{}", short)) for short in plain]
