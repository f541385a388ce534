"""The eleven measures by scikit-learn, independently of `xmleval`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics

TOLERANCE = 1e-12


def values_of_scores(truth: Any, scores: Any) -> dict[str, float]:
    """Return measures of scores by name; truth and scores are dense (n, l).

    Rows without a pair and labels of one class are left out first: scikit-learn counts the former as perfect
    and refuses the latter. One-error, which it lacks, is computed from the first label of highest score.
    """
    truth = np.asarray(truth, bool)
    pairs = truth.any(axis=1) & ~truth.all(axis=1)
    classes = truth.any(axis=0) & ~truth.all(axis=0)
    first = truth[np.arange(len(truth)), scores.argmax(axis=1)]
    by_row = [metrics.roc_auc_score(y, s) for y, s in zip(truth[pairs], scores[pairs], strict=True)]
    by_label = [metrics.roc_auc_score(truth[:, j], scores[:, j]) for j in np.flatnonzero(classes)]
    some = truth.any(axis=1)
    return {
        "ranking_loss": float(metrics.label_ranking_loss(truth[pairs], scores[pairs])),
        "one_error": float(1 - first.mean()),
        "coverage": float(metrics.coverage_error(truth[some], scores[some])) - 1,
        "lrap": float(metrics.label_ranking_average_precision_score(truth[pairs], scores[pairs])),
        "auc.macro": float(np.mean(by_label)),
        "auc.micro": float(metrics.roc_auc_score(truth.ravel(), scores.ravel())),
        "auc.samples": float(np.mean(by_row)),
    }


def value_of_sets(measure: str, truth: Any, predicted: Any) -> float:
    """Return a measure of sparse sets (n, l)."""
    y, h = (np.asarray(sets.toarray(), int) for sets in (truth, predicted))
    if measure == "hamming_loss":
        return float(metrics.hamming_loss(y, h))
    return float(metrics.f1_score(y, h, average=measure.removeprefix("f1."), zero_division=0))


def largest_difference(
    truth: Any,
    scores: Any,
    values: dict[tuple[str, str], float],
    sets: dict[tuple[str, str], Any],
) -> float:
    """Return the largest difference of values from scikit-learn's, relative if they exceed 1.

    Parameters
    ----------
    truth : sparse 0/1 matrix of shape (n, l)
        Relevant labels.
    scores : ndarray of shape (n, l) or None
        Scores, if any.
    values, sets : dict
        As returned by `scripts.limo.evaluation`; other conventions for ties are skipped.

    Returns
    -------
    float

    Raises
    ------
    ArithmeticError
        If it exceeds `TOLERANCE`.
    """
    wanted = {key: value_of_sets(key[0], truth, predicted) for key, predicted in sets.items()}
    if scores is not None:
        found = values_of_scores(truth.toarray(), scores)
        wanted |= {(measure, ""): value for measure, value in found.items()}
    gaps = {key: abs(values[key] - value) / max(1.0, abs(value)) for key, value in wanted.items()}
    worst = max(gaps, key=gaps.__getitem__)
    if not gaps[worst] <= TOLERANCE:
        raise ArithmeticError(f"{worst}: {values[worst]!r} recorded, {wanted[worst]!r} by scikit-learn")
    return gaps[worst]
