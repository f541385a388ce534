"""`fuse`: join the lists of several models."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from xmleval.budget import MEMORY
from xmleval.engine.run import make_work
from xmleval.fusion import Fusion, Part, Rising, longest_of
from xmleval.input.csr import MOST_LABELS, Source, as_array, check_shape, rows_at_a_time
from xmleval.input.errors import InputError, positive_integer, renaming
from xmleval.input.match import Joined, as_scores
from xmleval.input.objects.shapes import as_own_rows, shape_of
from xmleval.input.objects.take import join_names
from xmleval.input.rows import rows_by_id
from xmleval.input.scores import is_pair, pair_members
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows
from xmleval.message import NO_MATCH, RISING, counted
from xmleval.records import Ints, Labels, Ranking, Scores
from xmleval.threads import Work


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
        Those of two or more models, each in any form that `evaluate` takes. Rows with names are matched by
        them; a model without a row lists nothing in it. Other rows are in the same order in all of them, and
        "0", "1", .. name them.
    rule : str, default "rrf"
        What a label scores, over the models that list it. Others add nothing, but in "borda".

        - ``"rrf"``: reciprocal rank fusion, the sum of 1 / (60 + rank), ranks from 1.
        - ``"mean"``, ``"sum"``: of the scores. The mean is over all models: a missing score counts as 0.
        - ``"sigmoid"``, ``"softmax"``: the mean of the scores after a sigmoid, or a softmax over the scores
          that a model lists in the row.
        - ``"rank"``: the mean of L + 1 - rank, where L is the length of the longest list of any row.
        - ``"borda"``: the sum of c + 1 - rank, where c is the number of labels that any model lists in the
          row; those that a model does not list have the mean of the points it has left.
        - ``"round_robin"``: the first labels of all models in their order, then the second ones.
    k : int, optional
        How many labels of each row to keep, by default all.
    weights : iterable of float, optional
        What the parts of each model are multiplied by; sums are divided by their sum in place of the number
        of models.
    rank_constant : float, optional
        Of ``"rrf"``, in place of 60.
    n_labels : int, optional
        Number of labels; then nested lists are lists of label ids or of (id, score) pairs.
    higher_is_better : bool, default True
        Whether higher scores are better. With False they are distances, for rules of ranks.
    threads : int, optional
        Maximum number of threads, by default one per processor. Values do not depend on it.

    Returns
    -------
    csr_array, tuple of arrays, dict or list
        What `evaluate` takes, scores in float64: a matrix of shape (m, l); of lists alone, without
        ``n_labels``, a pair ``(labels, scores)`` of shape (m, depth), best first and -1 in empty slots; of
        what has names, ``{row: {label: score}}``, best first, or a list of ``{label: score}``.

    Raises
    ------
    ValueError
        If input is invalid, numbers of rows or labels differ, or lists without scores are given to a rule
        of scores; the message names the model.

    Notes
    -----
    Of equal scores, the smaller label is first (by number, or by name in alphabetical order). Ranks of a
    model are those of `evaluate`: by score, and of equal scores as listed, or the smaller label first in a
    matrix. Parts of a sum are added from the smallest to the largest, so that the order of the models, which
    only ``"round_robin"`` depends on, changes no bit.

    "rrf" is that of Cormack et al. (SIGIR 2009) and ranx; "sum" is CombSUM, and with weights ranx's ``wsum``;
    "borda" is ranx's ``bordafuse``; the others are those of PECOS's ``CsrEnsembler``, which calls them
    ``average``, ``rank_average``, ``sigmoid_average`` and ``softmax_average``. These names are taken, too.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import fuse
    >>> one, other = np.array([[0, 3, 1]]), np.array([[1, 3, 2]])
    >>> labels, scores = fuse([(one, None), (other, None)], "rrf", k=3)
    >>> labels.tolist(), scores.round(4).tolist()
    ([[1, 3, 0]], [[0.0323, 0.0323, 0.0164]])
    >>> fuse([{"q1": {"red": 0.9}}, {"q1": {"blue": 0.8, "red": 0.5}}], "mean")
    {'q1': {'red': 0.7, 'blue': 0.4}}
    """
    if not isinstance(predictions, list | tuple):
        raise InputError("predictions", f"{type(predictions).__name__} is no list of those of each model")
    if isinstance(predictions, tuple) and predictions and "int" in str(getattr(predictions[0], "dtype", "")):
        raise InputError("predictions", "one pair of labels and scores; give a list, of those of each model")
    fusion = Fusion.checked(rule, len(predictions), weights, rank_constant, k, higher_is_better)
    work = make_work(MEMORY, threads)
    given: list[Any] = []
    for number, one in enumerate(predictions):
        with renaming("y_score", f"predictions[{number}]"):
            given.append(as_own_rows("y_score", one))
    joint = join_names(given)
    width = len(joint.label_names) if joint else _width(given, n_labels)
    scores = [as_scores(rows, None) for rows in joint.scores] if joint else given
    known = width or max(_largest_id(number, one) for number, one in enumerate(given)) + 1
    rows = [
        fusion.rows_of(f"predictions[{number}]", one, None if joint else n_labels, known)
        for number, one in enumerate(scores)
    ]
    parts, notes = _fused(fusion, rows, work, best_first=joint is not None or width is None)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    fused = stack_rows(rows_by_id(*part, best_first=width is None) for part in parts)
    if width is None:
        return rows_as_lists(fused)
    if joint is None:
        return rows_as_csr(fused, width)
    return _by_name(joint, fused.ptr, fused.labels, fused.values)


def _fused(
    fusion: Fusion, rows: Sequence[Source[Ranking]], work: Work, best_first: bool
) -> tuple[list[Part], list[str]]:
    """Return the fused rows, some at a time, and notes on the scores."""
    n_rows = rows[0].n_rows
    for number, one in enumerate(rows):
        if one.n_rows != n_rows:
            told = f"{counted(one.n_rows, *NO_MATCH)} the {n_rows} of predictions[0]"
            raise InputError(f"predictions[{number}]", told)
    size = rows_at_a_time(sum(one.bytes_per_row for one in rows))
    starts = range(0, max(n_rows, 1), size)
    rising = [Rising() for _ in rows]

    def rankings(start: int) -> list[Ranking]:
        return [one.block(start, min(start + size, n_rows)) for one in rows]

    def joined(start: int) -> Part:
        several = rankings(start)
        for seen, ranking in zip(rising, several, strict=True):
            seen.look_at(ranking)
        found = fusion.join(several, longest, start)
        return fusion.best(found) if best_first else fusion.rising(found)

    longest = max(work.map(lambda start: longest_of(rankings(start)), starts)) if fusion.of_all_rows else 0
    parts = work.map(joined, starts)
    notes = [f"predictions[{number}]: {RISING}" for number, seen in enumerate(rising) if seen]
    return parts, notes


def _width(predictions: Sequence[Any], n_labels: int | None) -> int | None:
    """Return the number of labels, given or that of the matrices; None where there are none."""
    if n_labels is not None:
        return positive_integer("n_labels", n_labels, most=MOST_LABELS)
    for value in predictions:
        shape = None if is_pair(value) else shape_of(value)
        if shape is not None:
            return shape[1]
    other = next((number for number, value in enumerate(predictions) if not is_pair(value)), None)
    if other is None:
        return None
    argument = f"predictions[{other}]"
    return check_shape(argument, as_array(argument, predictions[other]).shape, None)[1]


def _largest_id(number: int, pair: Any) -> int:
    with renaming("y_score", f"predictions[{number}]"):
        labels, _ = pair_members("y_score", pair, MOST_LABELS)
    return int(labels.max(initial=0)) if labels.dtype.kind in "iu" else 0


def _by_name(joint: Joined, ptr: Ints, labels: Labels, scores: Scores) -> Any:
    """Return fused rows by name."""
    names, values = [joint.label_names[label] for label in labels.tolist()], scores.tolist()
    rows = [
        dict(zip(names[start:stop], values[start:stop], strict=True))
        for start, stop in pairwise(ptr.tolist())
    ]
    return rows if joint.row_names is None else dict(zip(joint.row_names, rows, strict=True))
