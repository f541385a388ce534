"""One evaluation of the command line, from its files to its reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from xmleval.budget import Allowance, Budget, memory_bytes
from xmleval.cli.checkpoint import Checkpoint
from xmleval.cli.counting import Inputs, count_rows, first_rows, have_scores, progress
from xmleval.cli.files import refuse_many_labels, refuse_reordered_files
from xmleval.cli.grouping import group_file, groups_of_labels, hierarchies, with_groups_of_rows
from xmleval.cli.messages import naming_files, tell
from xmleval.cli.named_inputs import (
    holds_both,
    named_rows,
    rule_for,
    training_counts,
)
from xmleval.cli.options import fields_of
from xmleval.cli.output import check_outputs, state_files
from xmleval.cli.patterns import note_other_shards, refuse_pairs
from xmleval.cli.propensities import propensities_of
from xmleval.engine.settings import Options
from xmleval.evaluator import Evaluator
from xmleval.files.input import digest, stamp
from xmleval.files.remote import RemotePath, as_path
from xmleval.input.csr import MOST_LABELS
from xmleval.input.errors import InputError
from xmleval.input.glances import swapped_notes
from xmleval.input.pieces import Pieces, count_columns
from xmleval.input.shards import Input, find_input, with_fields
from xmleval.input.small_texts import read_pairs
from xmleval.message import counted
from xmleval.report.report import Report, with_same_measures
from xmleval.spec import conventions_of, expand_metrics
from xmleval.thresholds import Rule
from xmleval.view.decision import parse_decision

MEASURES_OF_SETS = [  # where sets are all that is given, and no measures are
    "precision.micro", "recall.micro", "f1.micro", "f1.macro", "f1.samples", "jaccard.samples",
    "hamming_loss", "subset_accuracy",
]  # fmt: skip
LABEL_TABLES = ("key_counts", "label_extremes", "label_totals")  # states that count every label
TABLE_BYTES, VALUE_BYTES = 120, 8  # of memory for a label: counts and curves, and a value that is kept
FILES_ALONE = (
    "inverse_propensity",
    "exclude",
    "labels",
    "row_groups",
    "clusters",
    "hierarchy",
)  # inputs of one file
LEAST_MEMORY = 16_000_000  # less saves nothing, and leaves thousands of small files of sorted scores


class Run(NamedTuple):
    """Inputs and evaluators, one for each input of scores or one if there is none."""

    rows: Inputs
    evaluators: list[Evaluator]
    names: list[str]
    budget: Budget
    n_counted: int
    checkpoint: Checkpoint | None
    sources: dict[str, str]  # versions of the truth's files, by name
    states: list[Path]  # files for the states, if they are to be saved
    excluded: dict[str, Any]  # files of pairs to exclude and of candidates
    files: list[Path]  # of the truth, the predictions and the training labels
    inputs: dict[str, list[Input]]  # by argument: one of all reports, or one for each


NONE_OF_THESE = {
    "pred": None, "per_label_file": None, "per_row_file": None, "html": None, "plot": None, "state": None,
    "checkpoint": None, "resume": False, "bounds": False, "ranked": False, "per_row": False,
    "per_label": False, "labels_shown": False,
}  # fmt: skip


def budget_of(given: str) -> Budget:
    """Return the shares of the value of --memory."""
    with naming_files({"memory": "--memory"}):
        memory = memory_bytes("memory", given)
        if memory < LEAST_MEMORY:
            least = f"{LEAST_MEMORY // 10**6} MB"
            raise InputError("memory", f"{given!r} is below {least}, the least that can be given")
    return Budget(memory)


def prepare(truth: Path, scores: Sequence[Path], options: dict[str, Any]) -> Run:
    """Open the files, and settle what is to be counted.

    ``options`` are those of `evaluate`; ``per_row`` and ``per_label`` keep what no file is asked for, and
    ``labels_shown`` tells that names of labels may belong to columns without.
    """
    options = NONE_OF_THESE | options
    budget = budget_of(options["memory"])
    allowance = budget.allowance()
    fields = fields_of(options, joined=bool(scores) or options["pred"] is not None)

    def find(path: Path, kind: str) -> Input:
        return find_input(path, kind, options["input_format"], allowance)

    pred = None if options["pred"] is None else find(options["pred"], "truth")
    train = None if options["train"] is None else find(options["train"], "truth")
    among = None
    if options["candidates"] is not None:
        if not scores:
            raise click.UsageError("--candidates needs SCORES", click.get_current_context())
        among = find(options["candidates"], "candidates")
    others = [find(path, "scores") for path in scores]
    refuse_pairs(others)
    first = find(truth, "truth").with_grades(conventions_of(options["metrics"], options).graded)
    first, pred, train, among, *others = with_fields(fields, first, pred, train, among, *others)
    given = first, others
    alone = [options.get(name) for name in FILES_ALONE]
    rule = as_path(options["decision"] or "")
    states = state_files(options["state"], [one.name for one in others] or [given[0].name])
    check_outputs(
        [options[name] for name in ("output", "per_label_file", "per_row_file", "html", "plot")],
        [
            given[0],
            *given[1],
            pred,
            train,
            among,
            *alone,
            rule if rule.is_file() else None,
            group_file(options),
        ],
        states,
    )
    files_of_rows = {"row_groups": options.get("row_groups"), "clusters": options.get("clusters")}
    rows = with_groups_of_rows(open_rows(*given, pred, options, among), files_of_rows, allowance)
    rows = rows._replace(first_row=options.get("first_row"))
    if options.get("confidence") is not None and rows.keyed and rows.row_names is not None:
        rows = rows._replace(of_rows={"clusters": (rows.truth[0], rows.row_names), **rows.of_rows})
    of_sets = rows.pred is not None and not rows.scores and not is_given("metrics")
    if of_sets:
        options = options | {"metrics": MEASURES_OF_SETS}
    widths = widths_of(rows, budget)
    if rows.pairs is not None:
        rows.pairs.refuse_outside(rows.truth[1].n_rows, min(widths))
    arguments = {
        name: options[name]
        for name in Options.__annotations__
        if name in options and name not in ("labels", "dataset")  # which are settled before
    }
    decisions = find_decisions(options["decision"], rows, allowance)
    counts, n_train = training_counts(options, train, rows, widths, budget, allowance)
    propensities = propensities_of(options, train, counts, n_train, rows.label_names, allowance)
    groups = groups_of_labels(options, counts, rows, widths, allowance)
    trees = hierarchies(options, rows.label_names, widths, allowance)
    budget = budget.rest(allowance)
    arguments["per_label"] = options["per_label"] or options["per_label_file"] is not None
    arguments["per_row"] = options["per_row"] or options["per_row_file"] is not None
    points: list[Any] = [options.get("curve_points")]
    if points[0] and rows.scores:  # of lists without scores there is no curve
        own_scores = zip(rows.scores, widths, strict=True)
        points = [points[0] if have_scores(*one, n) else None for one, n in own_scores]
    evaluators = []
    of_reports = {
        "decision": decisions, "inverse_propensity": propensities, "label_groups": groups,
        "curve_points": points, "hierarchy": trees,
    }  # fmt: skip
    files_of = {"inverse_propensity": options["inverse_propensity"], "label_groups": group_file(options)}
    spelled = {name: f"--{name}" for name in ("bounds", "confidence", "threads")}
    for place, n_labels in enumerate(widths):
        own = {name: several[place % len(several)] for name, several in of_reports.items()}
        with naming_files(files_of | spelled):
            evaluator = Evaluator(
                options["metrics"],
                n_labels=n_labels,
                memory=budget.evaluator(len(scores)),
                threads=options["threads"],
                **arguments | own,
            )
        if rows.label_names is not None:
            evaluator.take_names(options["labels"] is not None)
        if of_sets:
            evaluator.insist_on_none()
        evaluators.append(evaluator)
    refuse_many_labels(rows.truth[0], max(widths), allowance, _label_bytes(evaluators))
    names = [name for name, _ in rows.scores] or [rows.truth[0]]
    if len({as_path(name).name for name in names}) == len(names):
        names = [as_path(name).name for name in names]  # folders say nothing new
    if len(set(names)) < len(names):
        raise ValueError(f"{names[0]}: given twice; expected different SCORES")
    checkpoint, n_counted = None, 0
    if options["checkpoint"] is not None:
        inputs = {"TRUTH": [given[0]], "SCORES": given[1]}
        beside = {"pred": pred, "train": train, "candidates": among}
        inputs |= {f"--{name}": [one] for name, one in beside.items() if one}
        checkpoint = _checkpoint(options, evaluators, inputs)
        found = checkpoint.read()
        if found is not None and not options["resume"]:
            raise ValueError(f"{checkpoint.folder}: holds a checkpoint; go on with --resume, or remove it")
        if found is not None:
            more = {"threads": options["threads"], "memory": evaluators[0].memory}
            n_counted, evaluators = checkpoint.load(found, allowance, **more)
            of = f" of {rows.truth[1].n_rows}" if rows.truth[1].n_rows else ""
            tell(checkpoint.folder, f"resumed at row {n_counted}{of}")
    note_other_shards([str(path) for path in (truth, *scores)], rows.notes)
    sources = {str(shard.path): stamp(shard.path) for shard in given[0].shards}
    if len(sources) == 1:
        sources[rows.truth[0]] = next(iter(sources.values()))
    files = [path for one in (given[0], *given[1], pred, train) if one for path in one.files]
    inputs = {"y_true": [given[0]], "y_score": given[1]}
    inputs |= {name: [one] for name, one in (("y_pred", pred), ("candidates", among)) if one}
    out = _excluded(options, among)
    return Run(rows, evaluators, names, budget, n_counted, checkpoint, sources, states, out, files, inputs)


def _label_bytes(evaluators: Sequence[Evaluator]) -> int:
    """Return the memory that counts of a label take."""
    asked = evaluators[0].asked
    tables = any(spec.state in LABEL_TABLES or spec.average in ("macro", "weighted") for spec in asked)
    kept = evaluators[0].settings["per_label"]
    n_kept = len(asked if kept is True else kept or ())
    return len(evaluators) * (TABLE_BYTES * (tables or n_kept > 0) + VALUE_BYTES * n_kept)


def widths_of(rows: Inputs, budget: Budget) -> list[int]:
    """Return the number of labels of each report: without names, what TRUTH and sets tell.

    Where they do not, each of SCORES tells its own, or has the labels of TRUTH and those that it lists.
    """
    if rows.label_names is not None:
        if not rows.label_names:
            raise ValueError(f"{rows.truth[0]}: no row has a label; give --labels, the names of all")
        return [len(rows.label_names)] * max(1, len(rows.scores))
    shared = told_by([rows.truth, *(given for _, given in rows.sets)])
    if shared is not None:
        for own in rows.scores:
            told_by([shared, own])
        return [shared[1].n_labels or 0] * max(1, len(rows.scores))
    of_truth = cache(lambda: _width_of_truth(rows.truth, budget))
    own_widths = [
        _width_of(own, rows.truth[0], of_truth, budget, notes)
        for own, notes in zip(rows.scores, rows.notes, strict=False)
    ]
    return own_widths or [of_truth()]


def _width_of_truth(truth: tuple[str, Pieces], budget: Budget) -> int:
    n_labels = count_columns(truth[1], budget.lone_piece)
    if n_labels < 1:
        raise ValueError(f"{truth[0]}: no row has a label, and nothing tells how many labels there are")
    _expect_few(truth[0], n_labels)
    return n_labels


def _expect_few(name: str, n_labels: int) -> None:
    if n_labels > MOST_LABELS:
        raise ValueError(f"{name}: {n_labels} labels; expected at most {MOST_LABELS}")


def told_by(several: Sequence[tuple[str, Pieces]]) -> tuple[str, Pieces] | None:
    """Return the first of several inputs that tells the number of labels; it must be that of the others."""
    known = [(name, pieces) for name, pieces in several if pieces.n_labels is not None]
    for name, pieces in known:
        first, n_labels, n_own = known[0][0], known[0][1].n_labels, pieces.n_labels or 0
        if n_own < 1:
            raise ValueError(f"{name}: {counted(n_own, 'labels')}; expected 1 or more")
        _expect_few(name, n_own)
        if n_own != n_labels:
            hint = "; a list of ids is called NAME_indices.npy" if name.endswith(".npy") else ""
            if (pieces.n_rows, n_own) == (n_labels, known[0][1].n_rows):
                hint = "; one is the transpose of the other: rows are instances, columns labels"
            told = f"{name}: {counted(n_own, 'labels do not match', 'label does not match')} the {n_labels}"
            raise ValueError(f"{told} of {first}{hint}")
    return known[0] if known else None


def _width_of(
    scores: tuple[str, Pieces], truth: str, of_truth: Callable[[], int], budget: Budget, notes: list[str]
) -> int:
    """Return the number of labels of SCORES, whose truth does not tell it, and note that they tell more."""
    told = told_by([scores])
    if told is not None:
        return told[1].n_labels or 0
    n_true, n_own = of_truth(), count_columns(scores[1], budget.lone_piece)
    if not n_true < n_own <= MOST_LABELS:  # ids beyond these are refused with their row
        return n_true
    notes.append(f"{scores[0]}: evaluated with {n_own} labels; its ids go beyond the {n_true} of {truth}")
    return n_own


def find_decisions(text: str | None, rows: Inputs, allowance: Allowance) -> Sequence[str | Rule | None]:
    """Return a rule by name as it is, or the rule that was saved in a file, for the labels of each report."""
    with contextlib.suppress(ValueError):
        parse_decision(text)
        return [text]
    assert text is not None
    path = as_path(text)
    if path.suffix != ".npz" and not path.is_file():
        raise ValueError(
            f"--decision {text!r} is neither topK (top3) nor thresholdT (threshold0.5) nor a saved rule"
        )
    return [rule_for(Rule.within(path, allowance), path, rows.label_names, rows.notes)]


def open_rows(
    truth: Input, scores: list[Input], pred: Input | None, options: dict[str, Any], among: Input | None = None
) -> Inputs:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    own = not scores and pred is None and holds_both(truth)
    shared = [truth, *([pred] if pred else [])]
    named = own or any(given.named for given in shared)
    if not named and len({given.named for given in scores}) > 1:
        some, others = (next(one.name for one in scores if one.named == kind) for kind in (True, False))
        raise ValueError(
            f"{some}: its labels have names, those of {others} are numbers; expected all by name or by number"
        )
    named = named or any(given.named for given in scores)
    if among is not None and named != among.named:
        which, other = (among, truth) if among.named else (truth, among)
        raise ValueError(
            f"{which.name}: has names, and {other.name} has none; expected both by name or number"
        )
    if named:
        rows = named_rows(truth, scores, truth if own else pred, own, options, among)
        if not (own or scores or pred) and truth.shards[0].format.for_fields and _needs_predictions(options):
            tell(truth.name, "none of its fields is known to hold predicted labels; --pred-field names it")
    else:
        if options["labels"] is not None and not options.get("labels_shown"):
            raise click.UsageError("--labels is for files with names", click.get_current_context())
        for given in [*scores, *([pred] if pred else [])]:
            refuse_reordered_files(truth, given)
        rows = Inputs(
            (truth.name, truth.pieces()),
            [(given.name, given.pieces()) for given in scores],
            None if pred is None else (pred.name, pred.pieces()),
            candidates=[] if among is None else [(among.name, among.pieces())],
            notes=tuple([list[str]() for _ in scores or [truth]]),
        )
    if scores and truth.kind == "grades":
        grades = first_rows(*rows.truth)
        for (name, pieces), notes in zip(rows.scores[: len(scores)], rows.notes, strict=True):
            notes += swapped_notes(truth.name, grades, name, first_rows(name, pieces))
    if options["exclude"] is None:
        return rows
    pairs = read_pairs(options["exclude"], truth.allowance)
    return rows._replace(pairs=pairs, exclude_from=options["exclude_from"])


def _excluded(options: dict[str, Any], among: Input | None) -> dict[str, Any]:
    """Return what leaves labels out, by the name and the contents of its files."""
    path, found = options["exclude"], dict[str, Any]()
    if path is not None:
        found["exclude"] = {"file": path.name, "sha256": digest(path), "from": options["exclude_from"]}
    if among is not None:
        found["candidates"] = {"file": Path(among.name).name, "sha256": digest(*among.files)}
    return found


def _needs_predictions(options: dict[str, Any]) -> bool:
    return any(spec.needs for spec, _ in expand_metrics(options["metrics"], options["k"]))


def is_given(option: str) -> bool:
    """Tell whether an option of the command was given, and is no default."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def _checkpoint(
    options: dict[str, Any], evaluators: Sequence[Evaluator], inputs: dict[str, list[Input]]
) -> Checkpoint:
    """Return the folder for the state, and refuse one that is not for this run."""
    folder: Path = options["checkpoint"]
    if isinstance(folder, RemotePath):
        raise ValueError(f"{folder}: is not on this machine; expected a local folder, or --workers")
    files = {role: [path for given in several for path in given.files] for role, several in inputs.items()}
    files |= {
        option: [] if options[name] is None else [options[name]]
        for name in ("pred", "train", "candidates", *FILES_ALONE)
        if (option := f"--{name.replace('_', '-')}") not in files
    }
    files["--label-groups"] = [file] if (file := group_file(options)) else []
    inside = [p for several in files.values() for p in several if p.resolve().parent == folder.resolve()]
    if inside:
        raise ValueError(f"{folder}: {inside[0].name} in it is an input; expected a folder of its own")
    settings = {
        **{role: [stamp(path) for path in several] for role, several in files.items()},
        "number of SCORES": len(inputs["SCORES"]),
        "--input-format": options["input_format"],
        "fields": [options[f"{name}_field"] for name in ("true", "pred", "score", "id")],
        "--exclude-from": options["exclude_from"],
        "--first-row": options.get("first_row"),
        "labels of a field": [options["separator"], options["ranked"]],
        "evaluators": [evaluator.settings for evaluator in evaluators],
    }
    checkpoint = Checkpoint(folder, settings)
    click.get_current_context().call_on_close(checkpoint.close)
    return checkpoint


def count(run: Run) -> list[Report]:
    """Count all rows, and return a report for each evaluator."""
    with progress(run.rows.truth[1].n_rows, run.n_counted) as show:

        def after(done: int) -> None:
            show(done)
            if run.checkpoint:
                run.checkpoint.save_sometimes(done, run.evaluators)

        def before(name: str, row: int) -> None:
            for evaluator in run.evaluators:
                evaluator.read_from(run.sources[name], row)

        count_rows(run.evaluators, run.rows, run.budget, run.n_counted, after, before)
    return reports_of(run)


def reports_of(run: Run) -> list[Report]:
    """Return a report for each evaluator."""
    for evaluator, notes in zip(run.evaluators, run.rows.notes, strict=True):
        evaluator.add_notes(notes)
    reports = [replace(evaluator.compute(), excluded=run.excluded) for evaluator in run.evaluators]
    return with_same_measures(reports)
