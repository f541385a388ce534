"""Measures of predicted sets: formulas over contingency tables of rows, labels or totals.

In a hierarchy, ancestors of labels are relevant, and predicted, with them.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import Measure, Param, best_one, best_zero, share
from xmleval.view.facts import Counts
from xmleval.view.setting import Setting

ZZ14 = "Zhang & Zhou 2014 (TKDE 26(8))"
WZ17 = "Wu & Zhou 2017 (ICML)"
BY_LABEL = {"micro": "row_counts", "macro": "label_totals", "weighted": "label_totals"}
BY_ROW_OR_LABEL = {"samples": "row_sums", **BY_LABEL}
CONVENTIONS = ("zero_division", "labels", "unlisted")
TINY = np.finfo(np.float64).tiny  # below every sum of weights


def divide(numerator: Floats, denominator: Floats, c: Counts, setting: Setting) -> Floats:
    """Divide; 0/0 by the convention ``zero_division``. Numerators are 0 where denominators are."""
    out: Floats = numerator / np.maximum(denominator, TINY)  # faster than a mask
    value = setting.conventions.zero_division
    if not value:
        return out
    if value == "both_empty":  # or both full: nothing is wrong
        return np.where(denominator == 0, (c.fp == 0) & (c.fn == 0), out)
    return np.where(denominator == 0, value, out)


def precision(c: Counts, setting: Setting) -> Floats:
    """Tp / (tp + fp)."""
    return divide(c.tp, c.tp + c.fp, c, setting)


def recall(c: Counts, setting: Setting) -> Floats:
    """Tp / (tp + fn)."""
    return divide(c.tp, c.tp + c.fn, c, setting)


def jaccard(c: Counts, setting: Setting) -> Floats:
    """Tp / (tp + fp + fn)."""
    return divide(c.tp, c.tp + c.fp + c.fn, c, setting)


def fbeta(c: Counts, setting: Setting) -> Floats:
    """(1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp), b = 1 without the parameter beta."""
    beta = setting.params.get("beta", 1.0)
    square = beta * beta  # a product is the same on every system, a power is not
    hits = (1.0 + square) * c.tp
    return divide(hits, hits + square * c.fn + c.fp, c, setting)


def accuracy(c: Counts, setting: Setting) -> Floats:
    """(tp + tn) / (tp + fp + fn + tn)."""
    return divide(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn, c, setting)


def specificity(c: Counts, setting: Setting) -> Floats:
    """Tn / (tn + fp)."""
    return divide(c.tn, c.tn + c.fp, c, setting)


def balanced_accuracy(c: Counts, setting: Setting) -> Floats:
    """Mean of recall and specificity."""
    return (recall(c, setting) + specificity(c, setting)) / 2.0


def gmean(c: Counts, setting: Setting) -> Floats:
    """Geometric mean of recall and specificity."""
    means: Floats = np.sqrt(recall(c, setting) * specificity(c, setting))
    return means


def hmean(c: Counts, setting: Setting) -> Floats:
    """Harmonic mean of recall and specificity; 0 where both are 0."""
    r = recall(c, setting)
    s = specificity(c, setting)
    means: Floats = 2.0 * r * s / np.maximum(r + s, TINY)
    return means


def mcc(c: Counts, setting: Setting) -> Floats:
    """Matthews correlation coefficient."""
    product = (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)
    return divide(c.tp * c.tn - c.fp * c.fn, np.sqrt(product), c, setting)


def subset_accuracy(c: Counts, setting: Setting) -> Floats:
    """Whether the predicted set equals the relevant set."""
    return np.where((c.fp == 0) & (c.fn == 0), 1.0, 0.0)


def hamming_loss(c: Counts, setting: Setting) -> Floats:
    """(fp + fn) / l."""
    return share(c.fp + c.fn, c.tp + c.fp + c.fn + c.tn)


def fbeta_of_two(parts: list[float], setting: Setting) -> float:
    """F-beta of a mean precision and a mean recall."""
    p, r = parts
    beta = setting.params.get("beta", 1.0)
    square = beta * beta
    if math.isnan(p) or math.isnan(r):
        return float("nan")
    denominator = square * p + r
    if denominator:
        return (1.0 + square) * p * r / denominator
    value = setting.conventions.zero_division
    return 0.0 if isinstance(value, str) else value  # of sets that are not both empty


OF_SETS = partial(
    Measure,
    family="sets",
    reference=ZZ14,
    needs=("sets",),
    best=best_one,
)
AVERAGED = partial(
    OF_SETS,
    state=BY_ROW_OR_LABEL,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    conventions=CONVENTIONS,
)
OF_MEANS = partial(
    OF_SETS,
    value=fbeta_of_two,
    parts=("precision.samples", "recall.samples"),
    averages=("of_means",),
    cutoff="optional",
    conventions=("zero_division", "unlisted"),
)
OVER_LABELS = partial(AVERAGED, state=BY_LABEL, averages=(*BY_LABEL,), every_label=True)
PRECISION = AVERAGED(
    name="precision",
    title="precision of the predicted set",
    symbol="Precision {average}",
    formula="tp / (tp + fp)",
    value=precision,
)
RECALL = AVERAGED(
    name="recall",
    title="recall of the predicted set",
    symbol="Recall {average}",
    formula="tp / (tp + fn)",
    value=recall,
)
F1 = AVERAGED(
    name="f1",
    title="F1 of the predicted set",
    symbol="F1 {average}",
    formula="2 tp / (2 tp + fp + fn)",
    reference=WZ17,
    value=fbeta,
)
IN_HIERARCHY = partial(
    Measure,
    family="hierarchy",
    reference="Kiritchenko, Matwin & Famili 2005; Silla & Freitas 2011 (DMKD 22)",
    state={"samples": "row_sums", "micro": "row_counts"},
    needs=("sets", "hierarchy"),
    averages=("samples", "micro"),
    cutoff="optional",
    best=best_one,
    conventions=("zero_division", "unlisted"),
)

TABLE = (
    OF_SETS(
        name="subset_accuracy",
        title="subset accuracy",
        symbol="Subset accuracy",
        formula="[h = Y]",
        state="row_sums",
        value=subset_accuracy,
        conventions=("unlisted",),
    ),
    OF_SETS(
        name="hamming_loss",
        title="Hamming loss",
        symbol="Hamming loss",
        formula="|h xor Y| / l",
        state="row_sums",
        value=hamming_loss,
        every_label=True,
        direction="down",
        best=best_zero,
        conventions=("unlisted",),
    ),
    PRECISION,
    RECALL,
    F1,
    AVERAGED(
        name="fbeta",
        title="F-beta of the predicted set",
        symbol="F{beta} {average}",
        formula="(1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp)",
        value=fbeta,
        params={"beta": Param(2.0)},
    ),
    AVERAGED(
        name="jaccard",
        title="Jaccard index (ZZ14's accuracy)",
        symbol="Jaccard {average}",
        formula="tp / (tp + fp + fn)",
        value=jaccard,
    ),
    OF_MEANS(
        name="f1",
        title="F1 of mean row precision and mean row recall",
        symbol="F1 of means",
        formula="2 P R / (P + R) of the row means",
    ),
    OF_MEANS(
        name="fbeta",
        title="F-beta of mean row precision and mean row recall",
        symbol="F{beta} of means",
        formula="(1 + b^2) P R / (b^2 P + R) of the row means",
        params={"beta": Param(2.0)},
    ),
    OF_SETS(
        name="f1",
        title="F1 of macro precision and macro recall",
        symbol="F1 of macros",
        formula="2 P R / (P + R) of the macro averages",
        reference="Opitz & Burst 2019 (arXiv:1911.03347)",
        value=fbeta_of_two,
        parts=("precision.macro", "recall.macro"),
        averages=("of_macros",),
        cutoff="optional",
        conventions=CONVENTIONS,
    ),
    OVER_LABELS(
        name="accuracy",
        title="binary accuracy of each label",
        symbol="Accuracy {average}",
        formula="(tp + tn) / m",
        value=accuracy,
    ),
    AVERAGED(
        name="specificity",
        title="specificity",
        symbol="Specificity {average}",
        formula="tn / (tn + fp)",
        reference="Sokolova & Lapalme 2009 (IPM 45(4))",
        value=specificity,
        every_label=True,
    ),
    OVER_LABELS(
        name="balanced_accuracy",
        title="balanced accuracy",
        symbol="Balanced accuracy {average}",
        formula="(recall + specificity) / 2",
        reference="Brodersen et al. 2010 (ICPR)",
        value=balanced_accuracy,
    ),
    OVER_LABELS(
        name="mcc",
        title="Matthews correlation coefficient",
        symbol="MCC {average}",
        formula="(tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn))",
        reference="Matthews 1975 (BBA 405(2))",
        value=mcc,
        range=(-1.0, 1.0),
    ),
    OVER_LABELS(
        name="gmean",
        title="geometric mean of recall and specificity",
        symbol="G-mean {average}",
        formula="sqrt(recall specificity)",
        reference="Kubat & Matwin 1997 (ICML)",
        value=gmean,
    ),
    AVERAGED(
        name="hmean",
        title="harmonic mean of recall and specificity",
        symbol="H-mean {average}",
        formula="2 recall specificity / (recall + specificity)",
        reference="Schultheis et al. 2024 (ICLR)",
        value=hmean,
        every_label=True,
    ),
    IN_HIERARCHY(
        name="h_precision",
        title="precision of the predicted set with all ancestors",
        symbol="hP {average}",
        formula="|h+ and Y+| / |h+|, where + adds the ancestors",
        value=precision,
    ),
    IN_HIERARCHY(
        name="h_recall",
        title="recall of the predicted set with all ancestors",
        symbol="hR {average}",
        formula="|h+ and Y+| / |Y+|, where + adds the ancestors",
        value=recall,
    ),
    IN_HIERARCHY(
        name="h_f1",
        title="F1 of the predicted set with all ancestors",
        symbol="hF1 {average}",
        formula="2 |h+ and Y+| / (|h+| + |Y+|), where + adds the ancestors",
        value=fbeta,
    ),
)
