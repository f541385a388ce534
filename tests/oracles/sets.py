"""The oracle's contingency tables, and the formulas of set measures over them."""

from __future__ import annotations

import math
from collections.abc import Iterable

Counts = tuple[float, float, float, float]  # (weighted) numbers tp, fp, fn, tn


def ratio(above: float, below: float, otherwise: float) -> float:
    """above / below, or `otherwise` where below is 0 (above is 0 then, too)."""
    return otherwise if below == 0 else above / below


def count(cells: Iterable[tuple[bool, bool, float]]) -> Counts:
    """Sums of the weights of cells (relevant, predicted, weight): tp, fp, fn, tn."""
    listed = list(cells)
    tp = math.fsum(w for relevant, predicted, w in listed if relevant and predicted)
    fp = math.fsum(w for relevant, predicted, w in listed if predicted and not relevant)
    fn = math.fsum(w for relevant, predicted, w in listed if relevant and not predicted)
    tn = math.fsum(w for relevant, predicted, w in listed if not relevant and not predicted)
    return tp, fp, fn, tn


def set_formula(name: str, counts: Counts, zero: float | None, beta: float) -> float:
    """A set measure from tp, fp, fn, tn; `zero` stands for 0/0, None for `zero_division`'s both_empty."""
    tp, fp, fn, tn = counts
    if zero is None:
        empty, full = float(tp + fp + fn == 0), float(tn + fp + fn == 0)
        tpr, tnr = ratio(tp, tp + fn, empty), ratio(tn, tn + fp, full)
        zero = empty if name in ("precision", "jaccard", "f1", "fbeta") else max(empty, full)
    else:
        tpr, tnr = ratio(tp, tp + fn, zero), ratio(tn, tn + fp, zero)
    b2 = beta * beta
    if name == "label_coverage":  # [tp > 0]
        return float(tp > 0)
    if name == "accuracy":  # (tp + tn) / (tp + fp + fn + tn)
        return ratio(tp + tn, tp + fp + fn + tn, zero)
    if name == "precision":  # tp / (tp + fp)
        return ratio(tp, tp + fp, zero)
    if name == "recall":  # tp / (tp + fn)
        return tpr
    if name == "specificity":  # tn / (tn + fp)
        return tnr
    if name == "jaccard":  # tp / (tp + fp + fn)
        return ratio(tp, tp + fp + fn, zero)
    if name in ("f1", "fbeta"):  # (1 + b2) tp / ((1 + b2) tp + b2 fn + fp)
        return ratio((1 + b2) * tp, (1 + b2) * tp + b2 * fn + fp, zero)
    if name == "balanced_accuracy":  # (TPR + TNR) / 2
        return (tpr + tnr) / 2
    if name == "gmean":  # sqrt(TPR TNR)
        return math.sqrt(tpr * tnr)
    if name == "hmean":  # 2 / (1 / TPR + 1 / TNR), 0 if any is 0
        return tpr + tnr if math.isnan(tpr + tnr) else 2 / (1 / tpr + 1 / tnr) if tpr and tnr else 0.0
    assert name == "mcc"  # (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
    return ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)), zero)
