"""`fuse`: join the lists of several models."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval.base.arrays import MOST_LABELS, Ints, row_sizes
from xmleval.base.budget import MEMORY, PIECE_BYTES, check_resources
from xmleval.base.errors import (
    RISING,
    InputError,
    Message,
    did_you_mean,
    positive_integer,
    real_number,
    shown,
)
from xmleval.evaluation.batch import Where
from xmleval.evaluation.inputs import common_label_count, notes_of, open_input, prediction_batches
from xmleval.input.canonical import LEAST_STEPS, Ranking
from xmleval.input.csr import rows_at_a_time, sorted_part
from xmleval.input.match import Match, join_models
from xmleval.input.objects.named import without_labels
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import RowReader
from xmleval.input.rows import Rows, no_labels, pointer, rows_by_id
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.shards import with_fields
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows

OF_RANKS = ("rrf", "rank")
RULES = ("mean", *OF_RANKS)


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """How lists of several models are joined; see `fuse`."""

    rule: str = "rrf"
    k: int | None = None
    weights: Iterable[float] | None = None
    rank_constant: float | None = None
    n_labels: int | None = None
    higher_is_better: bool = True
    threads: int | None = None


def fuse(
    predictions: Sequence[Any],
    rule: str = "rrf",
    *,
    k: int | None = None,
    weights: Iterable[float] | None = None,
    rank_constant: float | None = None,
    n_labels: int | None = None,
    higher_is_better: bool = True,
    threads: int | None = None,
) -> Any:
    """Join the scores or lists of several models into one list for each instance.

    Parameters
    ----------
    predictions : list of y_score
        Those of two or more models, as in `evaluate`. Rows with names are matched by them; a model without a
        row lists nothing in it. Other rows are in the same order in all.
    rule : str, default "rrf"
        What a label scores, over the models that list it. Others add nothing.

        - ``"rrf"``: reciprocal rank fusion, the sum of 1 / (60 + rank), ranks from 1.
        - ``"mean"``: of the scores, over all models: a missing score counts as 0.
        - ``"rank"``: the mean of L + 1 - rank, where L is the length of the longest list of any row.
    k : int, optional
        How many labels of each row to keep, by default all.
    weights : iterable of float, optional
        Of each model; means are over their sum in place of the number of models.
    rank_constant : float, optional
        Of ``"rrf"``, in place of 60.
    n_labels, higher_is_better, threads
        As of `evaluate`. Distances are for rules of ranks.

    Returns
    -------
    csr_array, tuple of arrays, dict or list
        What `evaluate` takes, scores in float64: a matrix of shape (m, l); of lists alone, without
        ``n_labels``, a pair ``(labels, scores)`` of shape (m, depth), best first and -1 in empty slots; of
        what has names, ``{row: {label: score}}``, best first, or a list of ``{label: score}``.

    Raises
    ------
    ValueError
        If input is invalid, or a rule of scores is given lists without any; the message names the model.

    Notes
    -----
    Of equal scores, the smaller label is first, by number or by name. Parts of a sum are added from the
    smallest to the largest: the order of the models changes no bit. "rrf" is that of Cormack et al. (SIGIR
    2009) and ranx; "mean" orders labels as CombSUM does, and is PECOS's ``average``, "rank" its
    ``rank_average``.

    Examples
    --------
    >>> fuse([{"q1": {"red": 0.9}}, {"q1": {"blue": 0.8, "red": 0.5}}], "mean")
    {'q1': {'red': 0.7, 'blue': 0.4}}
    """
    fusion = Fusion(
        rule=rule,
        k=k,
        weights=weights,
        rank_constant=rank_constant,
        n_labels=n_labels,
        higher_is_better=higher_is_better,
        threads=threads,
    )
    rows, width = fuse_rows(predictions, fusion)
    if rows.names is None:
        return rows_as_lists(rows) if rows.best_first else rows_as_csr(rows, width)
    labels = [rows.names[label] for label in rows.labels.tolist()]
    pairs = [*zip(labels, rows.values.tolist(), strict=True)]
    dicts = [dict(pairs[start:stop]) for start, stop in itertools.pairwise(rows.ptr.tolist())]
    return dicts if rows.keys is None else dict(zip(rows.keys, dicts, strict=True))


def fuse_rows(predictions: Any, fusion: Fusion) -> tuple[Any, int]:
    """Return fused rows, with any names of rows and labels, and the number of labels; see `fuse`.

    Rows are by label id if they make a matrix, else best first.
    """
    if not isinstance(predictions, list) or len(predictions) < 2:
        raise InputError("predictions", "expected those of two models or more, in a list")
    rule, higher = fusion.rule, fusion.higher_is_better
    constant, weights = _check_rule(fusion, len(predictions))
    k = None if fusion.k is None else positive_integer("k", fusion.k)
    n_labels = fusion.n_labels
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels, at_most=MOST_LABELS)
    names = [f"predictions[{n}]" for n in range(len(predictions))]
    opened = [open_input("y_score", v, n_labels, n) for n, v in zip(names, predictions, strict=True)]
    models = with_fields(True, *opened)
    file_names = [model.name for model in models]
    readers, row_names, label_names = tuple[Any, ...](), None, None
    if any(model.named for model in models):
        named_rows = zip(file_names, map(_read_names, models), strict=True)
        predictions, label_names, row_names = join_models([*named_rows])
        n_labels = None  # of a matrix
    else:
        predictions, readers = zip(*map(_read_numbers, models), strict=True)
        n_labels = n_labels or common_label_count([*zip(file_names, readers, strict=True)])
    where = Where(dict(zip(names, readers, strict=False)), dict(zip(names, file_names, strict=True)))
    with where.naming():
        width = n_labels or 1 + max(int(rows.labels.max(initial=0)) for rows in predictions)
        readings = [Reading(name, width, ordered=rule in OF_RANKS, higher_is_better=higher) for name in names]
        sources = [*map(ranking_rows, predictions, readings)]
        n_rows = sources[0].n_rows
        for name, source in zip(names, sources, strict=True):  # refuse another number of rows
            Match(file_names[0], None, n_rows=n_rows).row_numbers("y_score", name, no_labels(source.n_rows))
        if rule == "rank":  # whose ranks count from behind the end of the longest list
            sizes = [row_sizes(rows.ptr) if isinstance(rows, Rows) else width for rows in predictions]
            constant = 1.0 + max(int(np.max(size, initial=0)) for size in sizes)
        size = min(rows_at_a_time(sum(source.bytes_per_row for source in sources)), (1 << 62) // width)

        def fuse_block(start: int) -> tuple[Rows, list[Any]]:
            rankings = [source.block(start, min(start + size, n_rows)) for source in sources]
            rows = _add(rule, constant, weights, rankings, width, start)
            if k is not None or n_labels is None:
                best = ranking_rows(rows, Reading("predictions", width, depth=k)).block(0, rows.n_rows)
                rows = rows_by_id(best.ptr, best.labels.astype(np.int64), best.scores, best_first=True)
            if n_labels is not None:
                rows = sorted_part("predictions", rows._replace(best_first=False), width)[0]
            return rows, [ranking.raw for ranking in rankings]

        starts, resources = range(0, max(n_rows, 1), size), check_resources(MEMORY, fusion.threads)
        blocks, seen = zip(*resources.map(fuse_block, starts), strict=True)
    for name, parts in zip(file_names, zip(*seen, strict=True), strict=True):
        n_steps, rises = sum(raw.n_listed for raw in parts) - n_rows, any(raw.rises for raw in parts)
        if rises and n_steps >= LEAST_STEPS and not any(raw.falls for raw in parts):
            warnings.warn(Message(f"{name}: ", RISING), UserWarning, stacklevel=3)
    return stack_rows(blocks)._replace(keys=row_names, names=label_names), width


def _check_rule(fusion: Fusion, n_models: int) -> tuple[float, list[float]]:
    """Return the constant of a rule and the weights of models."""
    rule, rank_constant, given = fusion.rule, fusion.rank_constant, fusion.weights
    if rule not in RULES:
        near = did_you_mean(str(rule), RULES)
        raise InputError("rule", f"{shown(rule)} is not one of {', '.join(RULES)}; {near}".rstrip("; "))
    constant = 60.0 if rank_constant is None else real_number("rank_constant", rank_constant)
    if rank_constant is not None and rule != "rrf":
        raise InputError("rank_constant", f"is for the rule rrf, not {rule}")
    if not 0 <= constant < math.inf:
        raise InputError("rank_constant", f"{shown(rank_constant)} is not 0 or more")
    if rule == "mean" and not fusion.higher_is_better:
        text = "the rule mean adds scores, and takes 0 for those that a model does not list; expected "
        raise InputError("higher_is_better", f"{text}{' or '.join(OF_RANKS)} for distances")
    weights: Any = [1.0] * n_models if given is None else given
    if not hasattr(weights, "__iter__"):
        weights = [weights]
    numbers = [real_number("weights", weight) for weight in weights]
    if len(numbers) != n_models or not all(0 < weight < math.inf for weight in numbers):
        raise InputError(
            "weights", f"{shown(numbers)} are not {n_models} numbers above 0, one for each model"
        )
    return constant, numbers


def _read_names(model: Opened) -> Rows:
    """Return predictions with the names of their rows and labels."""
    rows = without_labels(model.value) if isinstance(model, OpenedValue) else None  # may have names, too
    if model.named:
        match = Match(model.name, ())
        rows = match.place("y_true", model.name, prediction_batches(model)).rows()
        rows = rows._replace(keys=match.keys, match=match.by, names=match.names, origin=match.origin)
    if rows is None:
        raise InputError(model.name, "has no names, which others have; give names to all")
    for note in notes_of(model.name, rows.origin):
        warnings.warn(note, UserWarning, stacklevel=4)
    return rows


def _read_numbers(model: Opened) -> tuple[Any, RowReader]:
    """Return predictions by number, without empty slots of lists, and what has read them."""
    with closing(RowReader(model.name, model.pieces(), PIECE_BYTES)) as reader:
        rows = stack_rows(reader.take(n) for n in iter(reader.ready, 0))
    is_list = isinstance(rows, Rows) and rows.best_first
    return rows.only(rows.labels != -1) if is_list else rows, reader


def _add(
    rule: str, constant: float, weights: list[float], rankings: list[Ranking], n_labels: int, first_row: int
) -> Rows:
    """Return the labels that any model lists in each row with their sums, by label id."""
    n_rows, cells, parts = rankings[0].ptr.size - 1, list[Ints](), list[Any]()
    for number, (weight, ranking) in enumerate(zip(weights, rankings, strict=True)):
        rows = np.repeat(np.arange(n_rows), row_sizes(ranking.ptr))
        ranks = np.arange(1, rows.size + 1) - ranking.ptr[rows]
        cells.append(rows * n_labels + ranking.labels)
        if rule == "rrf":
            parts.append(weight / (constant + ranks))
        elif rule == "rank":
            parts.append(weight * (constant - ranks))
        elif ranking.scores is None:
            text = f"lists without scores; the rule mean adds scores, and {' and '.join(OF_RANKS)} need none"
            raise InputError(f"predictions[{number}]", text)
        else:
            scores = ranking.scores.astype(np.float64)
            reason = "cannot be added; leave out labels that are not predicted"
            listed = rows_by_id(ranking.ptr, ranking.labels, scores)
            listed.refuse_first(f"predictions[{number}]", "score", np.isinf(scores), first_row, reason)
            parts.append(weight * scores)
    distinct, _, place = np.unique(np.concatenate(cells), True, True)  # merges what is sorted
    values = np.concatenate(parts)
    many = np.flatnonzero(np.bincount(place)[place] > 2)  # of a sum that may depend on the order of models
    order = many[np.argsort(values[many])]
    place[many], values[many] = place[order], values[order]
    sums = np.bincount(place, values, minlength=distinct.size).astype(np.float64)
    sums /= 1.0 if rule == "rrf" else math.fsum(weights)
    row_of, labels = np.divmod(distinct, n_labels)
    for row in row_of[~np.isfinite(sums)][:1].tolist():
        raise InputError("predictions", "sums of scores exceed float64", row=first_row + row)
    return rows_by_id(pointer(np.bincount(row_of, minlength=n_rows)), labels, sums)
