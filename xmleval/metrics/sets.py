"""Measures of predicted sets: formulas over contingency tables of rows, labels or totals."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from xmleval.metrics.metric import Metric, Param, Setting, one, zero
from xmleval.records import Counts, Floats

ZZ14 = "Zhang & Zhou 2014 (TKDE 26(8))"
WZ17 = "Wu & Zhou 2017 (ICML)"
BY_LABEL = {"micro": "row_counts", "macro": "label_totals", "weighted": "label_totals"}
BY_ROW_OR_LABEL = {"samples": "row_sums", **BY_LABEL}
CONVENTIONS = ("zero_division", "labels", "unlisted")
TINY = np.finfo(np.float64).tiny  # below every sum of weights


def divide(numerator: Floats, denominator: Floats, c: Counts, setting: Setting) -> Floats:
    """Divide; 0/0 by the convention ``zero_division``. A zero denominator implies a zero numerator."""
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
    found: Floats = np.sqrt(recall(c, setting) * specificity(c, setting))
    return found


def hmean(c: Counts, setting: Setting) -> Floats:
    """Harmonic mean of recall and specificity; 0 where both are 0."""
    r, s = recall(c, setting), specificity(c, setting)
    found: Floats = 2.0 * r * s / np.maximum(r + s, TINY)
    return found


def mcc(c: Counts, setting: Setting) -> Floats:
    """Matthews correlation coefficient."""
    product = (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)
    return divide(c.tp * c.tn - c.fp * c.fn, np.sqrt(product), c, setting)


def subset_accuracy(c: Counts, setting: Setting) -> Floats:
    """Whether the predicted set equals the relevant set."""
    exact: Floats = ((c.fp == 0) & (c.fn == 0)).astype(np.float64)
    return exact


def hamming_loss(c: Counts, setting: Setting) -> Floats:
    """(fp + fn) / l."""
    return (c.fp + c.fn) / setting.n_labels


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
    Metric,
    family="sets",
    needs=("sets",),
    best=one,
)
SUBSET_ACCURACY = OF_SETS(
    name="subset_accuracy",
    title="subset accuracy",
    symbol="Subset accuracy",
    formula="[h = Y]",
    reference=ZZ14,
    state="row_sums",
    value=subset_accuracy,
    conventions=("unlisted",),
)
HAMMING_LOSS = OF_SETS(
    name="hamming_loss",
    title="Hamming loss",
    symbol="Hamming loss",
    formula="|h xor Y| / l",
    reference=ZZ14,
    state="row_sums",
    value=hamming_loss,
    every_label=True,
    direction="down",
    best=zero,
    conventions=("unlisted",),
)
JACCARD = OF_SETS(
    name="jaccard",
    title="Jaccard index (ZZ14's accuracy)",
    symbol="Jaccard {average}",
    formula="tp / (tp + fp + fn)",
    reference=ZZ14,
    state=BY_ROW_OR_LABEL,
    value=jaccard,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    conventions=CONVENTIONS,
)
PRECISION = OF_SETS(
    name="precision",
    title="precision of the predicted set",
    symbol="Precision {average}",
    formula="tp / (tp + fp)",
    reference=ZZ14,
    state=BY_ROW_OR_LABEL,
    value=precision,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    conventions=CONVENTIONS,
)
RECALL = OF_SETS(
    name="recall",
    title="recall of the predicted set",
    symbol="Recall {average}",
    formula="tp / (tp + fn)",
    reference=ZZ14,
    state=BY_ROW_OR_LABEL,
    value=recall,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    conventions=CONVENTIONS,
)
F1 = OF_SETS(
    name="f1",
    title="F1 of the predicted set",
    symbol="F1 {average}",
    formula="2 tp / (2 tp + fp + fn)",
    reference=WZ17,
    state=BY_ROW_OR_LABEL,
    value=fbeta,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    conventions=CONVENTIONS,
)
FBETA = OF_SETS(
    name="fbeta",
    title="F-beta of the predicted set",
    symbol="F{beta} {average}",
    formula="(1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp)",
    reference=ZZ14,
    state=BY_ROW_OR_LABEL,
    value=fbeta,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    params={"beta": Param(2.0)},
    conventions=CONVENTIONS,
)
F1_OF_MEANS = OF_SETS(
    name="f1",
    title="F1 of mean row precision and mean row recall",
    symbol="F1 of means",
    formula="2 P R / (P + R) of the row means",
    reference=ZZ14,
    value=fbeta_of_two,
    parts=("precision.samples", "recall.samples"),
    averages=("of_means",),
    conventions=("zero_division", "unlisted"),
)
FBETA_OF_MEANS = OF_SETS(
    name="fbeta",
    title="F-beta of mean row precision and mean row recall",
    symbol="F{beta} of means",
    formula="(1 + b^2) P R / (b^2 P + R) of the row means",
    reference=ZZ14,
    value=fbeta_of_two,
    parts=("precision.samples", "recall.samples"),
    averages=("of_means",),
    params={"beta": Param(2.0)},
    conventions=("zero_division", "unlisted"),
)
F1_OF_MACROS = OF_SETS(
    name="f1",
    title="F1 of macro precision and macro recall",
    symbol="F1 of macros",
    formula="2 P R / (P + R) of the macro averages",
    reference="Opitz & Burst 2019 (arXiv:1911.03347)",
    value=fbeta_of_two,
    parts=("precision.macro", "recall.macro"),
    averages=("of_macros",),
    conventions=CONVENTIONS,
)
ACCURACY = OF_SETS(
    name="accuracy",
    title="binary accuracy of each label",
    symbol="Accuracy {average}",
    formula="(tp + tn) / m",
    reference=ZZ14,
    state=BY_LABEL,
    value=accuracy,
    averages=(*BY_LABEL,),
    cutoff="optional",
    every_label=True,
    conventions=CONVENTIONS,
)
SPECIFICITY = OF_SETS(
    name="specificity",
    title="specificity",
    symbol="Specificity {average}",
    formula="tn / (tn + fp)",
    reference="Sokolova & Lapalme 2009 (IPM 45(4))",
    state=BY_ROW_OR_LABEL,
    value=specificity,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    every_label=True,
    conventions=CONVENTIONS,
)
BALANCED_ACCURACY = OF_SETS(
    name="balanced_accuracy",
    title="balanced accuracy",
    symbol="Balanced accuracy {average}",
    formula="(recall + specificity) / 2",
    reference="Brodersen et al. 2010 (ICPR)",
    state=BY_LABEL,
    value=balanced_accuracy,
    averages=(*BY_LABEL,),
    cutoff="optional",
    every_label=True,
    conventions=CONVENTIONS,
)
MCC = OF_SETS(
    name="mcc",
    title="Matthews correlation coefficient",
    symbol="MCC {average}",
    formula="(tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn))",
    reference="Matthews 1975 (BBA 405(2))",
    state=BY_LABEL,
    value=mcc,
    averages=(*BY_LABEL,),
    cutoff="optional",
    every_label=True,
    range=(-1.0, 1.0),
    conventions=CONVENTIONS,
)
GMEAN = OF_SETS(
    name="gmean",
    title="geometric mean of recall and specificity",
    symbol="G-mean {average}",
    formula="sqrt(recall specificity)",
    reference="Kubat & Matwin 1997 (ICML)",
    state=BY_LABEL,
    value=gmean,
    averages=(*BY_LABEL,),
    cutoff="optional",
    every_label=True,
    conventions=CONVENTIONS,
)
HMEAN = OF_SETS(
    name="hmean",
    title="harmonic mean of recall and specificity",
    symbol="H-mean {average}",
    formula="2 recall specificity / (recall + specificity)",
    reference="Schultheis et al. 2024 (ICLR)",
    state=BY_ROW_OR_LABEL,
    value=hmean,
    averages=(*BY_ROW_OR_LABEL,),
    cutoff="optional",
    every_label=True,
    conventions=CONVENTIONS,
)

TABLE = (
    SUBSET_ACCURACY,
    HAMMING_LOSS,
    PRECISION,
    RECALL,
    F1,
    FBETA,
    JACCARD,
    F1_OF_MEANS,
    FBETA_OF_MEANS,
    F1_OF_MACROS,
    ACCURACY,
    SPECIFICITY,
    BALANCED_ACCURACY,
    MCC,
    GMEAN,
    HMEAN,
)
