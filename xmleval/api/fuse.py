"""`fuse`: join the lists of several models."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import MOST_LABELS, Ints, row_sizes
from xmleval.base.budget import MEMORY, PIECE_BYTES, check_resources
from xmleval.base.errors import (
    NO_MATCH,
    RISING,
    InputError,
    Message,
    counted,
    did_you_mean,
    positive_integer,
    real_number,
)
from xmleval.evaluation.files import fields_of
from xmleval.evaluation.inputs import Held, common_label_count, notes_of, open_input, prediction_batches
from xmleval.evaluation.reading import naming_rows
from xmleval.evaluation.settings import FileOptions, refuse_unknown
from xmleval.input.canonical import LEAST_STEPS, Ranking
from xmleval.input.csr import Source, rows_at_a_time
from xmleval.input.match import Joined, Match, as_scores, join_models
from xmleval.input.objects.named import without_labels
from xmleval.input.pieces import Pieces, RowReader
from xmleval.input.rows import Rows, rows_by_id
from xmleval.input.scores import Reading, ranking_rows, refuse_padding
from xmleval.input.shards import Input, with_fields
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.tensors import is_sparse
from xmleval.kernels.ranking import rank_rows

OF_RANKS = ("rrf", "rank")
RULES = ("mean", *OF_RANKS)


class Rule(NamedTuple):
    """A rule, and the length of the longest list of any row where it depends on that."""

    name: str
    weights: list[float]
    constant: float
    k: int | None
    longest: int = 0


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
    **files: Any,
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
    n_labels, higher_is_better, threads, files
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
    if not isinstance(predictions, list) or len(predictions) < 2:
        raise InputError("predictions", "expected those of two models or more, in a list")
    refuse_unknown(files, FileOptions.__annotations__)
    checked = _checked(rule, len(predictions), weights, rank_constant, k, higher_is_better)
    n_labels = None if n_labels is None else positive_integer("n_labels", n_labels, at_most=MOST_LABELS)
    names, how = [f"predictions[{number}]" for number in range(len(predictions))], files.get("input_format")
    opened = [open_input("y_score", v, how, n_labels, n) for n, v in zip(names, predictions, strict=True)]
    models = dict(zip(names, with_fields(fields_of(files), *opened), strict=True))
    joint = _joined_by_name([*models.values()]) if any(model.named for model in models.values()) else None
    if joint is None:
        values, width, readers = _read_by_number(models, n_labels)
    else:
        values, width, readers = [as_scores(rows, None) for rows in joint.scores], len(joint.label_names), {}
    with naming_rows(readers, 0, {name: model.name for name, model in models.items() if model.name != name}):
        n_columns = width or max(int(rows.labels.max(initial=0)) for rows in values) + 1
        ordered, sources = checked.name in OF_RANKS, list[Source[Ranking]]()
        for name, rows in zip(names, values, strict=True):
            reading = Reading(name, n_columns, ordered=ordered, higher_is_better=higher_is_better)
            sources.append(ranking_rows(rows, reading))
            n_rows, expected = sources[-1].n_rows, sources[0].n_rows
            if n_rows != expected:
                message = f"{counted(n_rows, *NO_MATCH)} the {expected} of {models[names[0]].name}"
                raise InputError(name, message)
        rising, falling = set[str](), set[str]()
        size = min(rows_at_a_time(sum(source.bytes_per_row for source in sources)), (1 << 62) // n_columns)
        starts, resources = range(0, max(n_rows, 1), size), check_resources(MEMORY, threads)

        def rankings_of(start: int) -> list[Ranking]:
            return [source.block(start, min(start + size, n_rows)) for source in sources]

        def fused(start: int) -> Rows:
            rankings = rankings_of(start)
            for model, ranking in zip(models.values(), rankings, strict=True):
                order, n_steps = ranking.raw, LEAST_STEPS + ranking.n_above.size
                if order and (order.falls or (order.rises and order.n_listed >= n_steps)):
                    (falling if order.falls else rising).add(model.name)
            return _fused(checked, rankings, n_columns, start, best_first=joint is not None or width is None)

        if checked.name == "rank":
            sizes = resources.map(
                lambda start: max(row_sizes(r.ptr).max(initial=0) for r in rankings_of(start)), starts
            )
            checked = checked._replace(longest=int(max(sizes)))
        rows = stack_rows(resources.map(fused, starts))
    for name in sorted(rising - falling):
        warnings.warn(Message(f"{name}: ", RISING), UserWarning, stacklevel=2)
    if joint is None:
        return rows_as_lists(rows) if width is None else rows_as_csr(rows, width)
    labels = [joint.label_names[label] for label in rows.labels.tolist()]
    pairs = [*zip(labels, rows.values.tolist(), strict=True)]
    dicts = [dict(pairs[start:stop]) for start, stop in itertools.pairwise(rows.ptr.tolist())]
    return dicts if joint.row_names is None else dict(zip(joint.row_names, dicts, strict=True))


def _checked(
    rule: Any, n_models: int, weights: Any, rank_constant: Any, k: Any, higher_is_better: bool
) -> Rule:
    if rule not in RULES:
        near = did_you_mean(str(rule), RULES)
        raise InputError("rule", f"{rule!r} is not one of {', '.join(RULES)}; {near}".rstrip("; "))
    constant = 60.0 if rank_constant is None else real_number("rank_constant", rank_constant)
    if rank_constant is not None and rule != "rrf":
        raise InputError("rank_constant", f"is for the rule rrf, not {rule}")
    if not 0 <= constant < math.inf:
        raise InputError("rank_constant", f"{rank_constant!r} is not 0 or more")
    if rule == "mean" and not higher_is_better:
        text = "the rule mean adds scores, and takes 0 for those that a model does not list; expected "
        raise InputError("higher_is_better", f"{text}{' or '.join(OF_RANKS)} for distances")
    weights = [1.0] * n_models if weights is None else weights if hasattr(weights, "__iter__") else [weights]
    numbers = [real_number("weights", weight) for weight in weights]
    if len(numbers) != n_models or not all(0 < weight < math.inf for weight in numbers):
        raise InputError("weights", f"{numbers} are not {n_models} numbers above 0, one for each model")
    return Rule(rule, numbers, constant, None if k is None else positive_integer("k", k))


def _joined_by_name(models: Sequence[Input]) -> Joined:
    """Return predictions by number, with the names of their rows and labels."""
    predictions = list[tuple[str, Rows]]()
    for model in models:
        rows = without_labels(model.value) if isinstance(model, Held) else None  # may have names, too
        if model.named:
            match = Match(model.name, ())
            rows = match.place("y_true", model.name, prediction_batches(model)).rows()
            rows = rows._replace(keys=match.keys, match=match.by, names=match.names, origin=match.origin)
        if rows is None:
            raise InputError(model.name, "has no names, which others have; give names to all")
        for note in notes_of(model.name, rows.origin):
            warnings.warn(note, UserWarning, stacklevel=3)
        predictions.append((model.name, rows))
    return join_models(predictions)


def _read_by_number(
    models: Mapping[str, Input], n_labels: int | None
) -> tuple[list[Any], int | None, dict[str, RowReader]]:
    """Return predictions by number; the number of labels, None of lists alone; and readers of files."""
    values, readers, sizes = list[Any](), dict[str, RowReader](), list[tuple[str, Pieces]]()
    for name, model in models.items():
        if isinstance(model, Held) and is_sparse(model.value):
            refuse_padding(model.name, model.value)
        sizes.append((model.name, model.pieces()))
        with closing(RowReader(*sizes[-1], PIECE_BYTES)) as reader:
            values.append(stack_rows(reader.take(n) for n in iter(reader.ready, 0)))
        readers |= {} if isinstance(model, Held) else {name: reader}
    return values, common_label_count(sizes) if n_labels is None else n_labels, readers


def _fused(rule: Rule, rankings: Sequence[Ranking], n_labels: int, first_row: int, best_first: bool) -> Rows:
    """Return the labels that any model lists in each row with their sums, by label id or best first."""
    n_rows = rankings[0].ptr.size - 1
    rows = [np.repeat(np.arange(n_rows), row_sizes(ranking.ptr)) for ranking in rankings]
    listed = [row * n_labels + ranking.labels for row, ranking in zip(rows, rankings, strict=True)]
    cells, _, place = np.unique(np.concatenate(listed), True, True)  # merges what is sorted
    row_of, labels = np.divmod(cells, n_labels)
    sizes = np.bincount(row_of, minlength=n_rows)
    models = enumerate(zip(rankings, rows, strict=True))
    values = np.concatenate([_points(rule, n, ranking, of, first_row) for n, (ranking, of) in models])
    many = np.flatnonzero(np.bincount(place)[place] > 2)  # in cells whose sum may depend on the order
    order = many[np.argsort(values[many])]
    place[many], values[many] = place[order], values[order]
    scores = np.bincount(place, values, minlength=cells.size).astype(np.float64)
    if rule.name != "rrf":
        scores /= math.fsum(rule.weights)
    for row in row_of[~np.isfinite(scores)][:1].tolist():
        raise InputError("predictions", "sums of scores exceed float64", row=first_row + row)
    ptr, k = np.append(0, np.cumsum(sizes)), n_labels if rule.k is None else rule.k
    if best_first or rule.k is not None:
        rank_rows(ptr, labels, scores)
    best = np.flatnonzero(np.arange(cells.size) - ptr[row_of] < k)
    if not best_first and rule.k is not None:
        best = best[np.argsort((row_of * n_labels + labels)[best])]
    return rows_by_id(np.append(0, np.cumsum(np.minimum(sizes, k))), labels[best], scores[best], best_first)


def _points(rule: Rule, number: int, ranking: Ranking, rows: Ints, first_row: int) -> Any:
    """Return what each listed label of a model adds."""
    weight, argument, scores = rule.weights[number], f"predictions[{number}]", ranking.scores
    ranks = np.arange(1, rows.size + 1) - ranking.ptr[rows]
    if rule.name == "rrf":
        return weight / (rule.constant + ranks)
    if rule.name == "rank":
        return weight * (rule.longest + 1.0 - ranks)
    if scores is None and rows.size:
        text = f"lists without scores; the rule mean adds scores, and {' and '.join(OF_RANKS)} need none"
        raise InputError(argument, text)
    scores = np.zeros(0) if scores is None else scores.astype(np.float64)
    for entry in np.flatnonzero(np.isinf(scores))[:1].tolist():
        text = f"score {scores[entry]} cannot be added; leave out labels that are not predicted"
        raise InputError(argument, text, row=first_row + int(rows[entry]), value=float(scores[entry]))
    return weight * scores
