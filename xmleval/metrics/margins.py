"""Margins between relevant and irrelevant scores, of instances and of labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import Measure, best_one
from xmleval.metrics.sets import WZ17
from xmleval.view.facts import Extremes
from xmleval.view.setting import Setting

BY_ROW_OR_LABEL = {"samples": "row_sums", "macro": "label_extremes"}


def margin(extremes: Extremes, setting: Setting) -> Floats:
    """Lowest relevant score minus highest irrelevant score; 0 for equal infinities."""
    lowest, highest = extremes
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = lowest - highest
    return np.where(lowest == highest, 0.0, gaps)


def margin_share(extremes: Extremes, setting: Setting) -> Floats:
    """Whether every relevant score is above every irrelevant one."""
    lowest, highest = extremes
    return np.where(np.isnan(lowest) | np.isnan(highest), np.nan, lowest > highest)


MARGINS = partial(
    Measure,
    family="margins",
    reference=WZ17,
    state=BY_ROW_OR_LABEL,
    needs=("scores", "entry scores"),
    gapless=True,
    whole=True,
    every_label=True,
    averages=(*BY_ROW_OR_LABEL,),
    unsmooth=("macro",),
    conventions=("unlisted",),
)

TABLE = (
    MARGINS(
        name="margin",
        title="margin of each row (samples: label-wise margin) "
        "or label (macro: instance-wise margin)",
        symbol="Margin {average}",
        formula="lowest relevant score - highest irrelevant score",
        value=margin,
        range=(-np.inf, np.inf),
    ),
    MARGINS(
        name="margin_share",
        title="share of rows or labels with a positive margin",
        symbol="Positive margins {average}",
        formula="[lowest relevant score > highest irrelevant score]",
        value=margin_share,
        best=best_one,
    ),
)
