"""Expected values of rows over all orders of equal scores, for the convention `ties`.

McSherry & Najork 2008 (ECIR) give those of P, R, MAP, nDCG and the reciprocal rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import ratio
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View


def precision(view: View, setting: Setting) -> Floats:
    """Return the expected hits in the first k, divided by k."""
    assert setting.k
    return view.expected.hits(setting.k) / setting.k


def recall(view: View, setting: Setting) -> Floats:
    """Return the expected hits in the first k, divided by the number of relevant labels."""
    assert setting.k
    return ratio(view.expected.hits(setting.k), view.n_relevant.astype(np.float64))


def capped_recall(view: View, setting: Setting) -> Floats:
    """Return the expected hits in the first k, divided by min(k, R)."""
    assert setting.k
    possible = np.minimum(view.n_relevant, setting.k).astype(np.float64)
    return ratio(view.expected.hits(setting.k), possible)


def hit(view: View, setting: Setting) -> Floats:
    """Return the chance that any of the first k labels, or of the whole ranking, is relevant."""
    return view.expected.any_hit(setting.k)


def reciprocal_rank(view: View, setting: Setting) -> Floats:
    """Return the expected 1 / rank of the first relevant label; 0 beyond rank k."""
    return view.expected.reciprocal_rank(setting.k)


def average_precision(view: View, setting: Setting) -> Floats:
    """Return the expected sum of precisions at hits, divided by min(k, R) or R (``map_norm``)."""
    assert setting.k
    capped = setting.conventions.map_norm == "capped"
    n_most = np.minimum(view.n_relevant, setting.k) if capped else view.n_relevant
    return ratio(view.expected.precision_sum(setting.k), n_most.astype(np.float64))


def average_precision_of_all(view: View, setting: Setting) -> Floats:
    """Return the expected sum of precisions at hits in the first k or all, divided by R."""
    return ratio(view.expected.precision_sum(setting.k), view.n_relevant.astype(np.float64))


def r_precision(view: View, setting: Setting) -> Floats:
    """Return the expected hits in the first R, divided by R."""
    return ratio(*pooled_r_precision(view, setting))


def pooled_r_precision(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """Return the expected hits in the first R, and R."""
    return view.expected.hits(view.n_relevant), view.n_relevant.astype(np.float64)


def judged(view: View, setting: Setting) -> Floats:
    """Return the expected judged labels in the first k, divided by k or a shorter length."""
    assert setting.k
    n_judged = view.judged_view.expected.hits(setting.k)
    return ratio(n_judged, view.n_first(setting.k).astype(np.float64))


def one_error(view: View, setting: Setting) -> Floats:
    """Return the chance that the first label is irrelevant; 1 without relevant labels."""
    return 1.0 - view.expected.hits(1)


def propensity_scored_precision(view: View, setting: Setting) -> Floats:
    """Return the expected gains in the first k, divided by k."""
    assert setting.k
    return view.expected.gain(setting.k, _gains(view, setting)) / setting.k


def propensity_scored_recall(view: View, setting: Setting) -> Floats:
    """Return the expected gains in the first k, divided by R."""
    assert setting.k
    gain = view.expected.gain(setting.k, _gains(view, setting))
    return ratio(gain, view.n_relevant.astype(np.float64))


def propensity_scored_dcg(view: View, setting: Setting) -> Floats:
    """Return the expected discounted gains of the first k."""
    assert setting.k
    return view.shared_gain(setting.k, _gains(view, setting))


def propensity_scored_ndcg(view: View, setting: Setting) -> Floats:
    """Return the expected discounted gains, divided by the ideal DCG with unit gains."""
    return ratio(propensity_scored_dcg(view, setting), view.ideal_gain_of(setting.k, None))


def _gains(view: View, setting: Setting) -> Floats:
    """Return the inverse propensities of the relevant labels of a block."""
    assert setting.propensity is not None
    return setting.propensity[view.block.truth.labels]
