"""Measures of scores pooled over rows: all entries, each label, or the largest of a row.

The last are of selective classification: the risk of the rows that are accepted by their largest
score.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.conventions import TIE_CREDIT
from xmleval.metrics.measure import Measure, Param, best_one, best_zero
from xmleval.metrics.sets import WZ17, ZZ14
from xmleval.view.facts import Accepted, Curve
from xmleval.view.setting import Setting

PRECISION_RECALL = "Manning, Raghavan & Schutze 2008, ch. 8"


def roc_auc(curve: Curve, setting: Setting) -> Floats:
    """Share of correctly ordered (relevant, irrelevant) pairs; NaN without pairs."""
    pairs = curve.n_relevant * curve.n_irrelevant
    twice = 2 * curve.right + round(2 * TIE_CREDIT[setting.conventions.auc_ties]) * curve.level
    if twice.dtype == object:  # Python integers: their quotient is rounded once
        return np.array([a / (2 * b) if b else np.nan for a, b in zip(twice, pairs, strict=True)])
    shares: Floats = np.divide(twice, 2 * pairs, out=np.full_like(pairs, np.nan), where=pairs > 0)
    return shares


def average_precision(curve: Curve, setting: Setting) -> Floats:
    """Mean precision at the tie groups of relevant entries; by ``ap_empty`` without any."""
    return per_relevant(curve, 0.0 if setting.conventions.ap_empty == "zero" else np.nan)


def per_relevant(curve: Curve, otherwise: float) -> Floats:
    """Divide the precision of a curve by its relevant entries."""
    n_relevant = curve.n_relevant.astype(np.float64)
    out = np.full_like(curve.precision, otherwise)
    return np.divide(curve.precision, n_relevant, out=out, where=n_relevant > 0)


def peak_f1(curve: Curve, setting: Setting) -> Floats:
    """Maximum F1 over thresholds; 0 without relevant entries."""
    return curve.peak


def at_point(curve: Curve, setting: Setting) -> Floats:
    """Largest value among the cuts that the measure allows; NaN without relevant entries."""
    return np.where(curve.n_relevant > 0, curve.peak, np.nan)


def fallout_at_recall(curve: Curve, setting: Setting) -> Floats:
    """Smallest false positive rate of the cuts the measure allows; NaN without both classes."""
    return np.where((curve.n_relevant > 0) & (curve.n_irrelevant > 0), 0.0 - curve.peak, np.nan)


def partial_auc(curve: Curve, setting: Setting) -> Floats:
    """Area up to a false positive rate, from 0.5 for chance to 1; NaN without both classes."""
    max_fpr = setting.params["max_fpr"]
    # what is asked for takes the place of precision
    area = np.where(curve.n_irrelevant > 0, max_fpr * per_relevant(curve, np.nan), np.nan)
    by_chance = 0.5 * max_fpr**2
    return 0.5 * (1.0 + (area - by_chance) / (max_fpr - by_chance))


def area_under_risk(accepted: Accepted, setting: Setting) -> float:
    """Mean over rows of the risk of those with at least their largest score; NaN without rows."""
    return accepted.area


def risk_at_coverage(accepted: Accepted, setting: Setting) -> float:
    """Risk of the fewest rows, tied ones together, that reach the coverage; NaN without rows."""
    return accepted.risk


POOLED = partial(
    Measure,
    family="curves",
    state="score_runs",
    needs=("scores", "entry scores"),
    averages=("micro", "macro", "weighted"),
    whole=True,
    best=best_one,
    conventions=("unlisted",),
    weighted_state="weighted_scores",
    every_label=True,
)
AUC = POOLED(
    name="auc",
    title="area under the ROC curve of scores pooled over rows",
    symbol="AUC {average}",
    formula="correctly ordered pairs / pairs",
    reference=WZ17,
    value=roc_auc,
    bounded=("micro",),
    pairs_alone=True,
    conventions=("auc_ties", "unlisted"),
)
AP = POOLED(
    name="ap",
    title="step-wise area under the precision-recall curve of scores pooled over rows",
    symbol="AP {average}",
    formula="sum over tie groups of increase in recall times precision",
    reference="Davis & Goadrich 2006 (ICML)",
    value=average_precision,
    averages=("micro", "macro", "weighted", "geometric"),
    conventions=("ap_empty", "labels", "unlisted"),
)

INTERPOLATED_AP = POOLED(
    name="ap",
    title="area under the precision-recall curve of a label, with the largest precision from each "
    "recall on, as in PASCAL VOC from 2010 on",
    symbol="AP {average} (interpolated {interpolated})",
    formula="sum over tie groups of increase in recall times the largest precision at this or any "
    "lower score",
    reference="Everingham et al. 2010 (IJCV 88(2)); VOC development kit 2010",
    value=average_precision,
    averages=("macro", "weighted"),
    params={"interpolated": Param(0.0, words=("voc2010",))},
    curve_query="envelope",
    conventions=("ap_empty", "labels", "unlisted"),
)

AT_POINT = partial(POOLED, value=at_point, unsmooth=("micro", "macro", "weighted"), threshold=True)
ABSTAINING = partial(
    Measure,
    family="abstaining",
    state="top_scores",
    needs=("scores", "entry scores"),
    ties="hits",
    cutoff="required",
    empty="zero",
    direction="down",
    conventions=("empty", "unlisted"),
)

TABLE = (
    AUC,
    POOLED(
        name="auc",
        title="area under the ROC curve up to a false positive rate, "
        "standardised so that chance gives 0.5",
        symbol="AUC {average} (FPR <= {max_fpr})",
        formula="(1 + (area up to max_fpr - max_fpr^2 / 2) / (max_fpr - max_fpr^2 / 2)) / 2",
        reference="McClish 1989 (Medical Decision Making 9(3))",
        value=partial_auc,
        params={"max_fpr": Param(0.1, share=True)},
        curve_query="area",
    ),
    AP,
    INTERPOLATED_AP,
    POOLED(
        name="peak_f1",
        title="maximum F1 over thresholds on scores pooled over rows",
        symbol="Peak F1 {average}",
        formula="max over thresholds of 2 tp / (2 tp + fp + fn)",
        reference=ZZ14,
        value=peak_f1,
        averages=("micro", "macro"),
        unsmooth=("micro", "macro"),
        threshold=True,
        best=None,
        conventions=("labels", "unlisted"),
    ),
    AT_POINT(
        name="recall_at_precision",
        title="largest recall over thresholds with at least a precision",
        symbol="Recall {average} (precision >= {p})",
        formula="max over thresholds with tp / (tp + fp) >= p of tp / (tp + fn); "
        "0 if there is none",
        reference=PRECISION_RECALL,
        params={"p": Param(0.9, share=True)},
        curve_query="recall",
    ),
    AT_POINT(
        name="precision_at_recall",
        title="largest precision over thresholds with at least a recall",
        symbol="Precision {average} (recall >= {r})",
        formula="max over thresholds with tp / (tp + fn) >= r of tp / (tp + fp)",
        reference=PRECISION_RECALL,
        params={"r": Param(0.9, share=True)},
        curve_query="precision",
    ),
    AT_POINT(
        name="fpr_at_tpr",
        title="smallest false positive rate over thresholds with at least a true positive rate",
        symbol="FPR {average} (TPR >= {tpr})",
        formula="min over thresholds with tp / (tp + fn) >= tpr of fp / (fp + tn)",
        reference="Fawcett 2006 (Pattern Recognition Letters 27(8))",
        params={"tpr": Param(0.95, share=True)},
        curve_query="fallout",
        value=fallout_at_recall,
        direction="down",
        best=best_zero,
    ),
    ABSTAINING(
        name="aurc",
        title="area under the risk-coverage curve: "
        "rows accepted by their largest score, risk 1 - P@k",
        symbol="AURC",
        formula="mean over rows i of the mean of 1 - P@k "
        "over rows whose largest score is at least that of i",
        reference="Geifman, Uziel & El-Yaniv 2019 (ICLR)",
        value=area_under_risk,
    ),
    ABSTAINING(
        name="risk",
        title="risk at coverage: mean of 1 - P@k over the share of rows with the largest scores",
        symbol="Risk (coverage {coverage})",
        formula="mean of 1 - P@k over rows whose largest score is >= t, "
        "the highest t that the coverage reaches",
        reference="Geifman & El-Yaniv 2017 (NeurIPS)",
        value=risk_at_coverage,
        params={"coverage": Param(0.8, share=True)},
        threshold=True,
    ),
)
