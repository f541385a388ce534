"""Measures of the labels that are predicted, right or wrong, from the slots that each fills.

A slot is a place of a predicted set, so that one label may fill as many as there are rows. Where
nothing is predicted, all but coverage are undefined.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.metrics.measure import Measure, Param
from xmleval.view.facts import Counts, Spread
from xmleval.view.setting import Setting

MOST_COUNT = 1 << 31


def pred_coverage(counts: Counts, setting: Setting) -> Floats:
    """Whether a label is predicted in any row."""
    return (counts.tp + counts.fp > 0).astype(np.float64)


def gini(spread: Spread, setting: Setting) -> float:
    """Sum over labels, ascending, of (2 i - l - 1) n_i / (l sum of n), as RecBole's GiniIndex."""
    from xmleval.numerics.exact import scaled_sum  # loads kernels, which no list of measures needs

    n, times = spread
    last = np.cumsum(times)
    # sum over the ranks i of labels with the same number
    above = scaled_sum(n, times * (2 * last - times - setting.n_labels))
    below = setting.n_labels * scaled_sum(n, times)
    return above / below if below else float("nan")


def entropy(spread: Spread, setting: Setting) -> float:
    """Shannon entropy of the shares of slots, divided by log l, that of equal shares."""
    from xmleval.numerics.discounts import logs_of  # loads kernels, too
    from xmleval.numerics.exact import SCALE, scaled_sum

    predicted = spread.values > 0
    n = spread.values[predicted]
    times = spread.n_labels[predicted]
    total = scaled_sum(n, times)
    if not total or setting.n_labels == 1:
        return float("nan")
    bits: float = scaled_sum(n * logs_of((total / SCALE) / n), times) / total
    return min(1.0, bits / float(logs_of(np.array([float(setting.n_labels)]))[0]))


def training_rows(counts: Labels, setting: Setting) -> Labels:
    """Return the number of training rows by label."""
    return counts


def in_tail(counts: Labels, setting: Setting) -> Ints:
    """Whether a label has training rows, but at most ``count`` of them."""
    return ((counts > 0) & (counts <= setting.params["count"])).astype(np.int64)


OF_PREDICTED = partial(
    Measure,
    family="predicted",
    state="label_totals",
    needs=("sets",),
    cutoff="optional",
    of_relevance=False,
    conventions=("unlisted",),
)

TABLE = (
    OF_PREDICTED(
        name="pred_coverage",
        title="share of all labels that are predicted in at least one row",
        symbol="Predicted coverage",
        formula="#{j: n_j > 0} / l",
        reference="Herlocker et al. 2004 (TOIS 22(1))",
        value=pred_coverage,
        unsmooth=("",),
    ),
    OF_PREDICTED(
        name="gini",
        title="Gini index of the numbers of predicted slots of all labels (0: equal)",
        symbol="Gini index",
        formula="sum over labels, n ascending, of (2 i - l - 1) n_i / (l sum of n)",
        reference="Fleder & Hosanagar 2009 (Management Science 55(5))",
        table="spread",
        value=gini,
        direction="down",
    ),
    OF_PREDICTED(
        name="entropy",
        title="normalised entropy of the predicted slots over labels (1: equal)",
        symbol="Entropy",
        formula="- sum over labels of p log p / log l, p = n_j / sum of n",
        reference="Shannon 1948 (BSTJ 27(3))",
        table="spread",
        value=entropy,
    ),
    OF_PREDICTED(
        name="popularity",
        title="mean number of training rows of the labels of predicted slots",
        symbol="Popularity",
        formula="sum over labels of n_j N_j / sum of n",
        reference="Yin et al. 2012 (VLDB 5(9))",
        needs=("sets", "training"),
        table="slots",
        value=training_rows,
        direction="down",
        range=(0.0, np.inf),
    ),
    OF_PREDICTED(
        name="tail_share",
        title="share of predicted slots of labels with 1 to `count` training rows",
        symbol="Tail share (1-{count})",
        formula="sum of n_j over labels with 1 <= N_j <= count / sum of n",
        reference="Abdollahpouri et al. 2019 (FLAIRS)",
        needs=("sets", "training"),
        table="slots",
        value=in_tail,
        params={"count": Param(10.0, range(1, MOST_COUNT), default=True)},
    ),
)
