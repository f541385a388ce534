"""One function for each common measure: `evaluate` with one name and default conventions."""

from __future__ import annotations

import warnings
from typing import Any

from xmleval.api.docstrings import documented
from xmleval.api.evaluate import evaluate
from xmleval.input.errors import positive_integer
from xmleval.message import TIES


def _at(name: str, k: int) -> str:
    return f"{name}@{positive_integer('k', k)}"


def _value(name: str, *rows: Any, **more: Any) -> float:
    report = evaluate(*rows, metrics=[name], **more)
    for note in report.notes:
        if not note.startswith(TIES):
            warnings.warn(note, UserWarning, stacklevel=3)  # the line that calls the function
    return report[name]


@documented("p@5")
def p_at_k(y_true: Any, y_score: Any, k: int = 5, *, higher_is_better: bool = True) -> float:
    """Compute precision at k: hits in the first k labels, divided by k."""
    return _value(_at("p", k), y_true, y_score, higher_is_better=higher_is_better)


@documented("r@5")
def r_at_k(y_true: Any, y_score: Any, k: int = 5, *, higher_is_better: bool = True) -> float:
    """Compute recall at k: hits in the first k labels, divided by the number of relevant labels."""
    return _value(_at("r", k), y_true, y_score, higher_is_better=higher_is_better)


@documented("ndcg@5")
def ndcg_at_k(y_true: Any, y_score: Any, k: int = 5, *, higher_is_better: bool = True) -> float:
    """Compute normalised discounted cumulative gain at k."""
    return _value(_at("ndcg", k), y_true, y_score, higher_is_better=higher_is_better)


@documented("psp@5")
def psp_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, inverse_propensity: Any, higher_is_better: bool = True
) -> float:
    """Compute propensity-scored precision at k."""
    return _value(
        _at("psp", k),
        y_true,
        y_score,
        inverse_propensity=inverse_propensity,
        higher_is_better=higher_is_better,
    )


@documented("psndcg@5")
def psndcg_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, inverse_propensity: Any, higher_is_better: bool = True
) -> float:
    """Compute propensity-scored nDCG at k."""
    return _value(
        _at("psndcg", k),
        y_true,
        y_score,
        inverse_propensity=inverse_propensity,
        higher_is_better=higher_is_better,
    )


@documented("hit@5")
def hit_at_k(y_true: Any, y_score: Any, k: int = 5, *, higher_is_better: bool = True) -> float:
    """Compute hit rate at k: share of instances with a hit in the first k labels."""
    return _value(_at("hit", k), y_true, y_score, higher_is_better=higher_is_better)


@documented("mrr@5")
def mrr_at_k(y_true: Any, y_score: Any, k: int = 5, *, higher_is_better: bool = True) -> float:
    """Compute mean reciprocal rank at k: 1 / rank of the first hit, averaged."""
    return _value(_at("mrr", k), y_true, y_score, higher_is_better=higher_is_better)


@documented("one_error")
def one_error(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute one-error: share of instances whose first label is irrelevant."""
    return _value("one_error", y_true, y_score, higher_is_better=higher_is_better)


@documented("coverage")
def coverage(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute coverage: largest rank of a relevant label, minus 1, averaged."""
    return _value("coverage", y_true, y_score, higher_is_better=higher_is_better)


@documented("ranking_loss")
def ranking_loss(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute ranking loss: share of misordered (relevant, irrelevant) pairs."""
    return _value("ranking_loss", y_true, y_score, higher_is_better=higher_is_better)


@documented("lrap")
def lrap(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute label ranking average precision."""
    return _value("lrap", y_true, y_score, higher_is_better=higher_is_better)


@documented("auc.samples")
def auc_samples(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve of each instance, averaged."""
    return _value("auc.samples", y_true, y_score, higher_is_better=higher_is_better)


@documented("auc.micro")
def auc_micro(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve of all entries pooled."""
    return _value("auc.micro", y_true, y_score, higher_is_better=higher_is_better)


@documented("auc.macro")
def auc_macro(y_true: Any, y_score: Any, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve of each label with both classes, averaged."""
    return _value("auc.macro", y_true, y_score, higher_is_better=higher_is_better)


@documented("hamming_loss")
def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Compute Hamming loss: share of wrong label decisions."""
    return _value("hamming_loss", y_true, y_pred=y_pred)


@documented("subset_accuracy")
def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """Compute subset accuracy: share of instances whose predicted set equals the relevant set."""
    return _value("subset_accuracy", y_true, y_pred=y_pred)


@documented("f1.micro")
def f1_micro(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of all label decisions pooled (0/0 = 0)."""
    return _value("f1.micro", y_true, y_pred=y_pred)


@documented("f1.macro")
def f1_macro(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of each label, averaged over all labels (0/0 = 0)."""
    return _value("f1.macro", y_true, y_pred=y_pred)


@documented("f1.samples")
def f1_samples(y_true: Any, y_pred: Any) -> float:
    """Compute F1 of each instance, averaged (0/0 = 0)."""
    return _value("f1.samples", y_true, y_pred=y_pred)


# names used in papers
precision_at_k, recall_at_k = p_at_k, r_at_k
hit_rate_at_k, mean_reciprocal_rank_at_k = hit_at_k, mrr_at_k
label_ranking_average_precision = lrap
instance_auc, micro_auc, macro_auc = auc_samples, auc_micro, auc_macro
instance_f1, micro_f1, macro_f1 = f1_samples, f1_micro, f1_macro
