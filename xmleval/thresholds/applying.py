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
from xmleval.input.small_texts import load_names
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
    """Write the sets that a saved rule makes of scores, read row by row.

    It returns the numbers of rows, of labels and of predicted labels, and notes.
    """
    (source,) = with_fields(True, open_input("y_score", scores))
    writer_of(target, "sets", source.name if source.named else None)  # refuses before anything is read
    rule, pieces, rows = _by_number(saved, source, labels)
    if features is not None and source.named:
        raise InputError("features", f"are by number, and {source.name} has names")
    looked_at = None
    files = dict[str, Path]()
    if features is not None:
        looked_at = read_features(features)
        files["features"] = features
    reader = RowReader(source.name, pieces, Resources(memory_bytes("memory", MEMORY)).lone_piece)
    sets = [scipy.sparse.csr_array((0, rule.n_labels), dtype=np.bool_)]
    with closing(reader), show_progress(reader.n_rows, 0, shown) as show:
        while n := reader.ready():
            first = reader.n_taken
            features_of_rows = None if looked_at is None else looked_at[first : first + n]
            with BatchLocation({"y_score": reader}, files, first).locating_errors():
                sets.append(rule.apply(reader.take(n), features=features_of_rows))
            show(reader.n_taken)
    if looked_at is not None and looked_at.shape[0] != reader.n_taken:
        text = other_rows(looked_at.shape[0], reader.n_taken, source.name)
        raise ValueError(f"{features}: {text}")
    matrix = scipy.sparse.vstack(sets, format="csr")
    chosen = rows_by_id(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    if rows is not None:
        chosen = chosen._replace(keys=rows.keys, match=rows.match, names=rows.names)
    notes = write_data(source.name, chosen, "sets", target, rule.n_labels)
    return chosen.n_rows, rule.n_labels, chosen.labels.size, notes


def _by_number(saved: Path, source: Opened, labels: Path | None) -> tuple[Rule, Pieces, Rows | None]:
    """Return a rule and the scores that it is for, by number, and these with their names, if any."""
    rule = Rule.load(saved)
    if not source.named:
        if labels is not None:
            raise InputError("labels", "is for files with names")
        if rule.by_name:
            raise ValueError(f"{saved}: knows labels by name, and {source.name} has none")
        return rule, source.pieces(), None
    if labels is None and rule.label_names is None:
        text = f"{source.name}: has names, which {saved} has not; give "
        raise ValueError(Message(text, Keyword("labels")))
    given = list[str]()
    if labels is not None:
        given = load_names(labels)
    names = given or [*map(str, rule.label_names or ())]
    rows = read_scores_alone(source, names, labels or saved)
    n_unknown = len({*names}.difference(rule.label_names or names))
    if n_unknown:
        warnings.warn(Note(str(saved), "labels unknown in fitting", n_unknown), stacklevel=4)
    numbered = rows._replace(keys=None, match=None)  # names order equal scores
    return replace(rule.for_labels(names), label_names=None), whole(numbered, len(names)), rows
