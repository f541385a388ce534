"""One function for each common measure: `evaluate` with one name and default conventions.

``y_true`` and ``y_pred`` are sparse or dense 0/1 arrays of shape (m, l), relevant labels and
predicted sets; ``y_score`` is an array of scores, or a pair of arrays (labels, scores) of top-k
lists. Higher scores are better, unless ``higher_is_better`` is False, as for distances. A value is
NaN if it is undefined. Invalid input raises ValueError, and each note of `evaluate` on what was
seen in the data is a warning.

>>> p_at_k(np.eye(3), np.eye(3) + [0.3, 0.1, 0.2], k=1)
1.0
"""

from __future__ import annotations

import warnings

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import TIES, positive_integer
from xmleval.input.argument_types import RowsLike, ValuesLike


def _value(
    name: str,
    y_true: RowsLike,
    y_score: RowsLike | None = None,
    higher_is_better: bool = True,
    *k: int,
    y_pred: RowsLike | None = None,
    inverse_propensity: ValuesLike | None = None,
) -> float:
    metric = name
    if k:
        metric = f"{name}@{positive_integer('k', *k)}"
    report = evaluate(
        y_true,
        y_score,
        y_pred=y_pred,
        metrics=[metric],
        higher_is_better=higher_is_better,
        inverse_propensity=inverse_propensity,
    )
    for note in report.notes:
        if not note.startswith(TIES):
            warnings.warn(note, UserWarning, stacklevel=3)  # the line that calls the function
    value: float = report[metric]
    return value


def p_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute precision at k: hits in the first k labels, divided by k."""
    return _value("p", y_true, y_score, higher_is_better, k)


def r_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute recall at k: hits in the first k labels, divided by the number of relevant labels."""
    return _value("r", y_true, y_score, higher_is_better, k)


def ndcg_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute normalised discounted cumulative gain at k."""
    return _value("ndcg", y_true, y_score, higher_is_better, k)


def psp_at_k(
    y_true: RowsLike,
    y_score: RowsLike,
    k: int = 5,
    *,
    inverse_propensity: ValuesLike,
    higher_is_better: bool = True,
) -> float:
    """Compute propensity-scored precision at k."""
    return _value(
        "psp", y_true, y_score, higher_is_better, k, inverse_propensity=inverse_propensity
    )


def psndcg_at_k(
    y_true: RowsLike,
    y_score: RowsLike,
    k: int = 5,
    *,
    inverse_propensity: ValuesLike,
    higher_is_better: bool = True,
) -> float:
    """Compute propensity-scored nDCG at k."""
    return _value(
        "psndcg", y_true, y_score, higher_is_better, k, inverse_propensity=inverse_propensity
    )


def hit_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute hit rate at k: share of instances with a hit in the first k labels."""
    return _value("hit", y_true, y_score, higher_is_better, k)


def mrr_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute mean reciprocal rank at k: 1 / rank of the first hit, averaged."""
    return _value("mrr", y_true, y_score, higher_is_better, k)


def one_error(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute one-error: share of instances whose first label is irrelevant."""
    return _value("one_error", y_true, y_score, higher_is_better)


def coverage(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute coverage: largest rank of a relevant label, minus 1, averaged."""
    return _value("coverage", y_true, y_score, higher_is_better)


def ranking_loss(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute ranking loss: share of misordered (relevant, irrelevant) pairs."""
    return _value("ranking_loss", y_true, y_score, higher_is_better)


def lrap(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute label ranking average precision."""
    return _value("lrap", y_true, y_score, higher_is_better)


def auc_samples(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve per instance, averaged."""
    return _value("auc.samples", y_true, y_score, higher_is_better)


def auc_micro(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve of all entries pooled."""
    return _value("auc.micro", y_true, y_score, higher_is_better)


def auc_macro(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve per label with both classes, averaged."""
    return _value("auc.macro", y_true, y_score, higher_is_better)


def hamming_loss(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute Hamming loss: share of wrong label decisions."""
    return _value("hamming_loss", y_true, y_pred=y_pred)


def subset_accuracy(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute subset accuracy: share of instances whose predicted set equals the relevant set."""
    return _value("subset_accuracy", y_true, y_pred=y_pred)


def f1_micro(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 of all label decisions pooled (0/0 = 0)."""
    return _value("f1.micro", y_true, y_pred=y_pred)


def f1_macro(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 per label, averaged over all labels (0/0 = 0)."""
    return _value("f1.macro", y_true, y_pred=y_pred)


def f1_samples(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 per instance, averaged (0/0 = 0)."""
    return _value("f1.samples", y_true, y_pred=y_pred)


# names used in papers
precision_at_k = p_at_k
recall_at_k = r_at_k
hit_rate_at_k = hit_at_k
mean_reciprocal_rank_at_k = mrr_at_k
label_ranking_average_precision = lrap
instance_auc = auc_samples
micro_auc = auc_micro
macro_auc = auc_macro
instance_f1 = f1_samples
micro_f1 = f1_micro
macro_f1 = f1_macro
