"""A rule applied to scores in files."""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse

from xmleval.base.budget import MEMORY, Resources, memory_bytes
from xmleval.base.errors import InputError, Keyword, Message, other_rows
from xmleval.base.notes import Note
from xmleval.evaluation.batch import BatchLocation
from xmleval.evaluation.convert import write_data, writer_of
from xmleval.evaluation.inputs import open_input
from xmleval.evaluation.match_files import read_scores_alone
from xmleval.evaluation.progress import show_progress
from xmleval.evaluation.request import Progress
from xmleval.input.argument_types import FilePath
from xmleval.input.opened import Opened
from xmleval.input.pieces import Pieces, RowReader, whole
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.shards import with_fields
from xmleval.input.text_columns import load_names
from xmleval.thresholds.features import read_features
from xmleval.view.rule import Rule


def apply_to_files(
    saved: Path,
    scores: FilePath,
    target: Path,
    features: Path | None,
    labels: Path | None,
    shown: Progress = False,
) -> tuple[int, int, int, list[str]]:
    """Write the sets that a saved rule predicts by scores, read row by row.

    It returns the numbers of rows, of labels and of predicted labels, and notes.
    """
    (source,) = with_fields(True, open_input("y_score", scores))
    # refuses before anything is read
    writer_of(target, "sets", source.name if source.named else None)
    rule, pieces, named_rows = _match(saved, source, labels)
    if features is not None and source.named:
        raise InputError("features", f"have rows by number, but {source.name} has names")
    matrix = _predict_sets(rule, source.name, pieces, features, shown)
    sets = rows_by_id(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    if named_rows is not None:
        sets = sets._replace(keys=named_rows.keys, match=named_rows.match, names=named_rows.names)
    notes = write_data(source.name, sets, "sets", target, rule.n_labels)
    return sets.n_rows, rule.n_labels, sets.labels.size, notes


def _predict_sets(
    rule: Rule, name: str, pieces: Pieces, features: Path | None, shown: Progress
) -> scipy.sparse.csr_array:
    """Return the predicted sets of all rows, bool (m, n_labels)."""
    feature_rows = None
    files = dict[str, Path]()
    if features is not None:
        feature_rows = read_features(features)
        files["features"] = features
    resources = Resources(memory_bytes("memory", MEMORY))
    reader = RowReader(name, pieces, resources.lone_piece)
    sets = [scipy.sparse.csr_array((0, rule.n_labels), dtype=np.bool_)]
    with closing(reader), show_progress(reader.n_rows, 0, shown) as show:
        while n := reader.ready():
            first = reader.n_taken
            batch_features = None
            if feature_rows is not None:
                batch_features = feature_rows[first : first + n]
            with BatchLocation({"y_score": reader}, files, first).locating_errors():
                sets.append(rule.apply(reader.take(n), features=batch_features))
            show(reader.n_taken)
    if feature_rows is not None and feature_rows.shape[0] != reader.n_taken:
        text = other_rows(feature_rows.shape[0], reader.n_taken, name)
        raise ValueError(f"{features}: {text}")
    return scipy.sparse.vstack(sets, format="csr")


def _match(saved: Path, source: Opened, labels: Path | None) -> tuple[Rule, Pieces, Rows | None]:
    """Return a rule and scores, both by label id, and the rows with their names, if any."""
    rule = Rule.load(saved)
    if source.named:
        return _match_names(rule, saved, source, labels)
    if labels is not None:
        raise InputError("labels", "is for files with names")
    if rule.by_name:
        raise ValueError(f"{saved}: has names of labels, but {source.name} has none")
    return rule, source.pieces(), None


def _match_names(
    rule: Rule, saved: Path, source: Opened, labels: Path | None
) -> tuple[Rule, Pieces, Rows]:
    """Return a rule and scores by label id, and the rows with their names."""
    if labels is None and rule.label_names is None:
        rule.for_labels([])  # refuses thresholds of labels without names
        text = f"{source.name}: has names, but {saved} has none; give "
        raise ValueError(Message(text, Keyword("labels")))
    names = list[str]()
    if labels is not None:
        names = load_names(labels)
    if not names:
        names = [*map(str, rule.label_names or ())]
    rows = read_scores_alone(source, names, labels or saved)
    n_unknown = len({*names}.difference(rule.label_names or names))
    if n_unknown and rule.by_name:
        warnings.warn(Note(str(saved), "labels unknown in fitting", n_unknown), stacklevel=5)
    numbered = rows._replace(keys=None, match=None)  # names order equal scores
    numbered_rule = replace(rule.for_labels(names), label_names=None)
    return numbered_rule, whole(numbered, len(names)), rows
