"""Measures of scores pooled over rows: of all cells together, and of each label."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Floats
from xmleval.conventions import TIE_CREDIT
from xmleval.metrics.metric import Metric, Setting
from xmleval.metrics.sets import WZ17, ZZ14
from xmleval.states import Curve


def roc_auc(curve: Curve, setting: Setting) -> Floats:
    """Share of (relevant, irrelevant) pairs in the right order; NaN without pairs."""
    pairs = curve.n_relevant * curve.n_irrelevant
    right = curve.right + TIE_CREDIT[setting.conventions.auc_ties] * curve.level
    return np.divide(right, pairs, out=np.full_like(pairs, np.nan), where=pairs > 0)


def average_precision(curve: Curve, setting: Setting) -> Floats:
    """Mean over relevant cells of the precision down to their tie group; NaN without both classes."""
    defined = (curve.n_relevant > 0) & (curve.n_irrelevant > 0)
    out = np.full_like(curve.precision, np.nan)
    return np.divide(curve.precision, curve.n_relevant, out=out, where=defined)


def peak_f1(curve: Curve, setting: Setting) -> Floats:
    """Largest F1 of a cut between tie groups; 0 without relevant cells."""
    return curve.peak


AUC = Metric(
    name="auc",
    title="area under the ROC curve of scores pooled over rows",
    symbol="AUC {average}",
    family="curves",
    formula="pairs in the right order / pairs",
    reference=WZ17,
    curve=roc_auc,
    best=1.0,
    whole=True,
    averages=("micro", "macro", "weighted"),
    conventions=("auc_ties", "unlisted"),
)
AP = Metric(
    name="ap",
    title="area under the precision-recall curve of scores pooled over rows, step-wise",
    symbol="AP {average}",
    family="curves",
    formula="sum over tie groups of recall gained times precision",
    reference="Davis & Goadrich 2006 (ICML)",
    curve=average_precision,
    best=1.0,
    whole=True,
    averages=("micro", "macro", "weighted"),
    conventions=("unlisted",),
)
PEAK_F1 = Metric(
    name="peak_f1",
    title="largest F1 of a threshold on scores pooled over rows",
    symbol="Peak F1 {average}",
    family="curves",
    formula="max over thresholds of 2 tp / (2 tp + fp + fn)",
    reference=ZZ14,
    curve=peak_f1,
    whole=True,
    averages=("micro", "macro"),
    conventions=("unlisted",),
)
