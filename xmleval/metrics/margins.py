"""Margins between relevant and irrelevant scores, of instances and of labels."""

from __future__ import annotations

import numpy as np

from xmleval.metrics.metric import Metric, Setting
from xmleval.metrics.sets import WZ17
from xmleval.records import Floats
from xmleval.view.view import Extremes


def margin(extremes: Extremes, setting: Setting) -> Floats:
    """Lowest relevant score less highest irrelevant one; equal infinite scores are level."""
    lowest, highest = extremes
    with np.errstate(invalid="ignore", over="ignore"):
        found = lowest - highest
    return np.where(lowest == highest, 0.0, found)


def margin_share(extremes: Extremes, setting: Setting) -> Floats:
    """Whether every relevant score is above every irrelevant one."""
    lowest, highest = extremes
    return np.where(np.isnan(lowest) | np.isnan(highest), np.nan, lowest > highest)


MARGIN = Metric(
    name="margin",
    title="margin of each row (samples: label-wise margin) or label (macro: instance-wise margin)",
    symbol="Margin {average}",
    family="margins",
    formula="least relevant score - largest irrelevant score",
    reference=WZ17,
    extremes=margin,
    scaled=True,
    whole=True,
    averages=("samples", "macro"),
    range=(-np.inf, np.inf),
    conventions=("unlisted",),
)
MARGIN_SHARE = Metric(
    name="margin_share",
    title="share of rows or labels with a positive margin",
    symbol="Positive margins {average}",
    family="margins",
    formula="[least relevant score > largest irrelevant score]",
    reference=WZ17,
    extremes=margin_share,
    best=1.0,
    whole=True,
    averages=("samples", "macro"),
    conventions=("unlisted",),
)
