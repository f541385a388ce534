"""Measures of a truth that holds grades of relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xmleval.metrics.metric import Metric, Setting, ratio
from xmleval.records import Floats

if TYPE_CHECKING:
    from xmleval.view.view import View


def graded_dcg(view: View, setting: Setting) -> Floats:
    """Gains of grades in the first k or the whole ranking, each divided by log2(1 + rank)."""
    return view.graded_gain(setting.k)


def graded_ndcg(view: View, setting: Setting) -> Floats:
    """Discounted gains of grades, divided by those of the ideal ranking."""
    return _normalised(view.graded_gain(setting.k), view, setting)


def tied_graded_dcg(view: View, setting: Setting) -> Floats:
    """Discounted gains of grades; tied labels share the mean discount of their ranks."""
    return view.tied_graded_gain(setting.k)


def tied_graded_ndcg(view: View, setting: Setting) -> Floats:
    """Discounted gains of grades with shared discounts, divided by those of the ideal ranking."""
    return _normalised(view.tied_graded_gain(setting.k), view, setting)


def _normalised(gain: Floats, view: View, setting: Setting) -> Floats:
    # the sum of rounded products can exceed that of the ideal order
    return np.minimum(ratio(gain, view.ideal_graded_gain(setting.k)), 1.0)


def judged(view: View, setting: Setting) -> Floats:
    """Judged labels in the first k, divided by k or the length of a shorter list; 0 of an empty one."""
    assert setting.k
    return ratio(view.n_judged(setting.k).astype(np.float64), view.n_first(setting.k).astype(np.float64))


JUDGED = Metric(
    family="at k",
    cutoff="required",
    name="judged",
    title="share of the first k that are judged",
    symbol="Judged@{k}",
    formula="judged labels in first k / min(k, labels listed)",
    reference="MacAvaney, Macdonald & Ounis 2022 (ECIR)",
    state="row_sums",
    value=judged,
    needs=("scores", "grades"),
    direction="none",
    conventions=("unlisted",),
)


TABLE = (JUDGED,)
