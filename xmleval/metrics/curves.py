"""Measures of scores pooled over rows: of all entries together, or of each label."""

from __future__ import annotations

from functools import partial

import numpy as np

from xmleval.conventions import TIE_CREDIT
from xmleval.metrics.metric import Metric, Param, Setting, one
from xmleval.metrics.sets import WZ17, ZZ14
from xmleval.records import Bracket, Curve, Floats

MAX_BITS = 24  # two tables of 128 MiB


def roc_auc(curve: Curve, setting: Setting) -> Floats:
    """Share of correctly ordered (relevant, irrelevant) pairs; NaN without pairs."""
    pairs = curve.n_relevant * curve.n_irrelevant
    twice = 2 * curve.right + round(2 * TIE_CREDIT[setting.conventions.auc_ties]) * curve.level
    if twice.dtype == object:  # Python integers: their quotient is rounded once
        return np.array([a / (2 * b) if b else np.nan for a, b in zip(twice, pairs, strict=True)])
    shares: Floats = np.divide(twice, 2 * pairs, out=np.full_like(pairs, np.nan), where=pairs > 0)
    return shares


def auc_bracket(found: Bracket, setting: Setting) -> tuple[float, float]:
    """Lower and upper bound on the area given the leading bits of scores; NaN without pairs."""
    if not found.pairs:
        return np.nan, np.nan
    lower = 2 * found.right + round(2 * TIE_CREDIT[setting.conventions.auc_ties]) * found.level
    return lower / (2 * found.pairs), (lower + 2 * found.unknown) / (2 * found.pairs)


def average_precision(curve: Curve, setting: Setting) -> Floats:
    """Mean over relevant entries of the precision at their tie group; NaN without both classes."""
    n_relevant = curve.n_relevant.astype(np.float64)
    defined = (n_relevant > 0) & (curve.n_irrelevant > 0)
    out = np.full_like(curve.precision, np.nan)
    return np.divide(curve.precision, n_relevant, out=out, where=defined.astype(np.bool_))


def peak_f1(curve: Curve, setting: Setting) -> Floats:
    """Maximum F1 over thresholds; 0 without relevant entries."""
    return curve.peak


POOLED = partial(
    Metric,
    family="curves",
    needs=("scores", "entry scores"),
    weighted_state="weighted_scores",
    every_label=True,
)
AUC = POOLED(
    name="auc",
    title="area under the ROC curve of scores pooled over rows",
    symbol="AUC {average}",
    formula="correctly ordered pairs / pairs",
    reference=WZ17,
    state="score_runs",
    value=roc_auc,
    averages=("micro", "macro", "weighted"),
    whole=True,
    bounded=True,
    pairs_alone=True,
    best=one,
    conventions=("auc_ties", "unlisted"),
)
AUC_BRACKET = POOLED(
    name="auc",
    title="midpoint of bounds on the area under the ROC curve, from the leading bits of scores",
    symbol="AUC {average} ({bits} bits)",
    formula="(correctly ordered pairs + undecided pairs / 2) / pairs",
    reference=WZ17,
    state="key_counts",
    value=auc_bracket,
    averages=("micro",),
    unsmooth=("micro",),
    params={"bits": Param(16.0, range(1, MAX_BITS + 1))},
    conventions=("auc_ties", "unlisted"),
)
AP = POOLED(
    name="ap",
    title="step-wise area under the precision-recall curve of scores pooled over rows",
    symbol="AP {average}",
    formula="sum over tie groups of increase in recall times precision",
    reference="Davis & Goadrich 2006 (ICML)",
    state="score_runs",
    value=average_precision,
    averages=("micro", "macro", "weighted"),
    whole=True,
    best=one,
    conventions=("unlisted",),
)
PEAK_F1 = POOLED(
    name="peak_f1",
    title="maximum F1 over thresholds on scores pooled over rows",
    symbol="Peak F1 {average}",
    formula="max over thresholds of 2 tp / (2 tp + fp + fn)",
    reference=ZZ14,
    state="score_runs",
    value=peak_f1,
    averages=("micro", "macro"),
    unsmooth=("micro", "macro"),
    whole=True,
    threshold=True,
    conventions=("labels", "unlisted"),
)

TABLE = (
    AUC,
    AUC_BRACKET,
    AP,
    PEAK_F1,
)
