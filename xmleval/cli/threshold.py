"""`xmleval threshold`: tune a decision rule on scores in a file, and apply it to others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse

from xmleval.budget import MEMORY, Allowance, Budget, machine_allowance, memory_bytes
from xmleval.cli.counting import naming_rows, progress
from xmleval.cli.evaluation import budget_of, widths_of
from xmleval.cli.files import INPUT_FORMAT, feature_pieces, read_features, refuse_many_features
from xmleval.cli.fitting import count_pair, find_pair, open_pair
from xmleval.cli.messages import naming_files, tell_notes
from xmleval.cli.named_inputs import read_scores_alone, rule_for
from xmleval.cli.options import (
    COUNT,
    FIELD_NAMES,
    FILE,
    LABEL_NAMES,
    NUMBER,
    WHOLE,
    field_options,
    fields_of,
    file_option,
)
from xmleval.cli.output import check_outputs, refuse_compressed, write_result
from xmleval.engine.run import make_work
from xmleval.files.output import replacing
from xmleval.input.pieces import Pieces, RowReader, whole
from xmleval.input.shards import Input, find_input, with_fields
from xmleval.input.small_texts import load_names
from xmleval.message import NO_MATCH, counted
from xmleval.thresholds import Rule
from xmleval.thresholds.fitting import FALLBACKS, Fitting
from xmleval.thresholds.linear import check_features
from xmleval.thresholds.rule import MEASURES, TUNABLE

ROW_FEATURES = file_option(
    "--features",
    help="For row: features of the rows that it is linear in instead, an .npy array or a sparse .npz matrix.",
)


@click.group()
def threshold() -> None:
    """Tune a decision rule on one data set and apply it to others."""


@threshold.command(short_help="Tune a rule.")
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE)
@click.option("--measure", metavar="NAME", help=f"What to tune to: {', '.join(TUNABLE)}, f1.macro@5.")
@click.option(
    "--rule",
    type=click.Choice(list(MEASURES)),
    help="One threshold; one that predicts as many labels as are relevant; one for each label; the best r "
    "of every row; one for each row, linear in its best scores or in features; the best k of every row; "
    "the best k by weighted scores. Default: weighted for measures at k, else constant.",
)
@click.option(
    "--k", "k", type=WHOLE, help="For top, how many labels; for row, how many scores it is linear in."
)
@click.option("--fbr", type=NUMBER, help="For label: labels whose best F1 is below it take the fallback.")
@click.option(
    "--fallback", type=click.Choice(FALLBACKS), help="Predict them never, or above their highest score."
)
@click.option("--unlisted", metavar="SCORE", help="'below', or the score of labels without a stored one.")
@ROW_FEATURES
@LABEL_NAMES
@INPUT_FORMAT
@field_options()
@click.option(
    "--memory",
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory, such as 512MB and at least 16MB, for rows that are read, and for the scores of label, "
    "cardinality and, for F1 micro and Hamming loss, constant; more of these goes to temporary files.",
)
@click.option("--threads", type=COUNT, help="Most threads to use for these; the rule does not depend on it.")
@file_option("--output", metavar="RULE", required=True, help="File for the rule, an .npz archive.")
def fit(
    truth: Path,
    scores: Path,
    output: Path,
    features: Path | None,
    labels: Path | None,
    input_format: str | None,
    memory: str,
    threads: int | None,
    **options: Any,
) -> None:
    """Tune a rule on SCORES against the relevant labels in TRUTH.

    Every threshold that changes the result is tried. The best is kept, the highest if several are equally
    good. `xmleval evaluate --decision RULE` measures the rule on other scores. Labels with names are matched
    by name.
    """
    allowance = machine_allowance()
    fields = {name: options.pop(name) for name in FIELD_NAMES}
    relevant, predicted = find_pair(truth, scores, input_format, fields, allowance)
    refuse_compressed(output)
    check_outputs([], [relevant, predicted, features, labels], [output])
    budget = budget_of(memory)
    with naming_files({name: f"--{name}" for name in (*options, "features")}):
        fitting = Fitting(**options, with_features=features is not None)
    rows = open_pair(relevant, predicted, labels)
    named = rows.label_names is not None
    looked_at = None if features is None else _features_by_number(features, truth, named, allowance)
    if looked_at is not None and features is not None and scipy.sparse.issparse(looked_at):
        refuse_many_features(features, looked_at.shape[1], budget.allowance())
    entries = fitting.entries(widths_of(rows, budget)[0], make_work(budget.evaluator(1), threads))
    count_pair(entries, rows, budget)
    with naming_files({"y_score": scores, "features": features}):
        rule = fitting.rule_of(entries, looked_at)
    names = None if rows.label_names is None else tuple(rows.label_names)
    replace(rule, label_names=names).save(output)
    write_result(str(rule), None)


@threshold.command(short_help="Apply a rule.")
@click.argument("scores", type=FILE)
@file_option(
    "--rule", "saved", metavar="RULE", required=True, help="File that `xmleval threshold fit` wrote."
)
@ROW_FEATURES
@LABEL_NAMES
@INPUT_FORMAT
@field_options("true-field")
@file_option("--output", metavar="SETS", required=True, help="File for the sets, a sparse 0/1 matrix (.npz).")
def apply(
    scores: Path,
    saved: Path,
    features: Path | None,
    labels: Path | None,
    input_format: str | None,
    output: Path,
    **fields: Any,
) -> None:
    """Write the sets that a rule makes of SCORES, as `xmleval evaluate --pred` reads them.

    Where SCORES has names, rows are in the order in which it names them first, and columns in that of
    --labels, or else of the labels that the rule was fitted to.
    """
    allowance = machine_allowance()
    given = find_input(scores, "scores", input_format, allowance)
    (given,) = with_fields(fields_of(fields, joined=True), given)
    refuse_compressed(output)
    check_outputs([], [given, saved, features, labels], [output])
    rule = Rule.within(saved, allowance)
    rule, pieces = _by_name(rule, saved, given, labels)
    looked_at = None if features is None else _feature_pieces(features, scores, given.named, allowance)
    n_bytes = Budget(memory_bytes("memory", MEMORY)).lone_piece
    reader = RowReader(given.name, pieces, n_bytes)
    beside = None if looked_at is None else RowReader(str(features), looked_at, n_bytes)
    readers = [reader, *([beside] if beside else [])]
    found = [scipy.sparse.csr_array((0, rule.n_labels), dtype=np.bool_)]
    try:
        with progress(reader.n_rows, 0) as show:
            while n := min(rows.ready() for rows in readers):
                first, own = reader.n_taken, beside.take(n) if beside else None
                with naming_rows({"y_score": reader, "features": beside}, first, {"features": "--features"}):
                    found.append(rule.apply(reader.take(n), features=own))
                show(reader.n_taken)
        if beside is not None and beside.count() != reader.count():
            raise ValueError(
                f"{features}: {counted(beside.count(), *NO_MATCH)} the {reader.count()} of {given.name}"
            )
    finally:
        for rows in readers:
            rows.close()
    sets = scipy.sparse.vstack(found, format="csr")
    with replacing(output) as file:
        scipy.sparse.save_npz(file, sets)
    write_result(
        f"{counted(sets.shape[0], 'rows')} x {counted(sets.shape[1], 'labels')}, {sets.nnz} predicted", None
    )


def _by_name(rule: Rule, saved: Path, given: Input, labels: Path | None) -> tuple[Rule, Pieces]:
    """Return a rule and the scores that it is for, both by name where the scores have names."""
    if not given.named:
        if labels is not None:
            raise click.UsageError("--labels is for files with names", click.get_current_context())
        return rule_for(rule, saved, None, []), given.pieces()
    if labels is None and rule.label_names is None:
        raise ValueError(f"{given.name}: has names, which {saved} has not; expected --labels")
    names = [*map(str, rule.label_names or ())] if labels is None else load_names(labels, given.allowance)
    rows = read_scores_alone(given, names, labels or saved)[0]
    notes: list[str] = []
    by_number = rule_for(rule, saved, names, [notes])
    tell_notes(notes)
    return by_number, whole(rows, len(names))


def _features_by_number(path: Path, other: Path, named: bool, allowance: Allowance) -> Any:
    """Return the features of rows, which have no names; a sparse matrix is checked."""
    _refuse_names(other, named)
    features = read_features(path, allowance)
    if scipy.sparse.issparse(features):
        with naming_files({"features": path}):
            return check_features(features, features.shape[0])
    return features


def _feature_pieces(path: Path, other: Path, named: bool, allowance: Allowance) -> Pieces:
    """Return the same some rows at a time, where they are an array."""
    if not path.name.endswith(".npy"):
        return whole(_features_by_number(path, other, named, allowance))
    _refuse_names(other, named)
    return feature_pieces(path, allowance)


def _refuse_names(other: Path, named: bool) -> None:
    if named:
        raise ValueError(f"{other}: has names; --features is by number")
