"""Measures of calibration: whether scores are the probabilities that labels are relevant."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from xmleval.metrics.metric import Metric, Param, Setting
from xmleval.records import Binned

ULLAH = "Ullah et al. 2025 (KDD, arXiv:2411.04276)"
MOST_BINS = 1000


def calibration_error(found: Binned, setting: Setting) -> float:
    """Sum of abs(hits - sum of scores) over the bins, divided by the number of pairs; NaN without any."""
    return _share(np.abs(found.hits - found.scores).sum(), found)


def overconfidence(found: Binned, setting: Setting) -> float:
    """Sum the same over the bins whose scores are too high on average."""
    return _share(np.maximum(found.scores - found.hits, 0).sum(), found)


def underconfidence(found: Binned, setting: Setting) -> float:
    """Sum the same over the bins whose scores are too low on average."""
    return _share(np.maximum(found.hits - found.scores, 0).sum(), found)


def brier_score(found: Binned, setting: Setting) -> float:
    """Mean squared error; NaN without pairs."""
    return _share(found.squares, found)


def log_loss(found: Binned, setting: Setting) -> float:
    """Mean logarithmic loss; NaN without pairs."""
    return _share(found.logs, found)


def _share(total: Any, found: Binned) -> float:
    n = int(found.n.sum())
    return int(total) / n if n else np.nan  # integers: rounded once


CALIBRATION = partial(
    Metric,
    family="calibration",
    reference=ULLAH,
    state="calibration",
    needs=("scores", "probabilities"),
    cutoff="optional",
    direction="down",
    conventions=("unlisted", "link"),
)
BINS = {"bins": Param(15.0, range(1, MOST_BINS + 1), default=True)}

TABLE = (
    CALIBRATION(
        name="ece",
        title="expected calibration error",
        symbol="ECE ({bins} bins)",
        formula="sum over bins of equal width of n / N abs(hits / n - mean score)",
        value=calibration_error,
        params=BINS,
    ),
    CALIBRATION(
        name="ece_over",
        title="overconfidence, the part of ECE from scores that are too high",
        symbol="ECE over ({bins} bins)",
        formula="sum over bins of equal width of n / N max(mean score - hits / n, 0)",
        value=overconfidence,
        params=BINS,
    ),
    CALIBRATION(
        name="ece_under",
        title="underconfidence, the part of ECE from scores that are too low",
        symbol="ECE under ({bins} bins)",
        formula="sum over bins of equal width of n / N max(hits / n - mean score, 0)",
        value=underconfidence,
        params=BINS,
    ),
    CALIBRATION(
        name="ace",
        title="adaptive calibration error, of bins that hold the same number of pairs",
        symbol="ACE ({bins} bins)",
        formula="sum over bins of equal mass of n / N abs(hits / n - mean score)",
        reference="Nixon et al. 2019 (CVPR workshops)",
        state="pair_scores",
        value=calibration_error,
        params=BINS,
    ),
    CALIBRATION(
        name="brier",
        title="Brier score",
        symbol="Brier",
        formula="mean of (score - [hit])^2",
        reference="Brier 1950 (Monthly Weather Review 78(1))",
        value=brier_score,
    ),
    CALIBRATION(
        name="log_loss",
        title="logarithmic loss (cross-entropy)",
        symbol="Log loss",
        formula="mean of -ln(score) of hits and -ln(1 - score) of others, "
        "with scores clipped to eps..1 - eps",
        reference="Good 1952 (JRSS B 14(1))",
        value=log_loss,
        range=(0.0, np.inf),
    ),
)
