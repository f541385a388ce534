"""Measures of scores as probabilities: calibration, and logarithmic losses over all labels.

Labels without a score have the probability 0.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import Measure, Param, share
from xmleval.view.facts import Binned
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

ULLAH = "Ullah et al. 2025 (KDD, arXiv:2411.04276)"
MOST_BINS = 1000
LEAST_PROBABILITY = 1e-8  # Mulan's
MOST_LIMIT = 1 << 62


def calibration_error(binned: Binned, setting: Setting) -> float:
    """Sum of abs(hits - sum of scores) over bins, divided by the number of pairs; NaN if none."""
    return _share(np.abs(binned.hits - binned.scores).sum(), binned)


def overconfidence(binned: Binned, setting: Setting) -> float:
    """Sum the same over the bins whose scores are too high on average."""
    return _share(np.maximum(binned.scores - binned.hits, 0).sum(), binned)


def underconfidence(binned: Binned, setting: Setting) -> float:
    """Sum the same over the bins whose scores are too low on average."""
    return _share(np.maximum(binned.hits - binned.scores, 0).sum(), binned)


def brier_score(binned: Binned, setting: Setting) -> float:
    """Mean squared error; NaN without pairs."""
    return _share(binned.squares, binned)


def log_loss(binned: Binned, setting: Setting) -> float:
    """Mean logarithmic loss; NaN without pairs."""
    return _share(binned.logs, binned)


def _share(total: int, binned: Binned) -> float:
    n = int(binned.n.sum())
    return int(total) / n if n else np.nan  # integers: rounded once


def log_loss_of_row(view: View, setting: Setting) -> Floats:
    """Sum over all labels, with probabilities within 1e-8..1 - 1e-8."""
    from xmleval.view.pairs import log_losses  # loads kernels, which no list of measures needs

    return log_losses(view, setting.conventions.link, LEAST_PROBABILITY, math.inf)


def limited_log_loss(view: View, setting: Setting) -> Floats:
    """Mean over all labels, each at most ln(limit)."""
    from xmleval.view.pairs import log_losses

    limit = float(Context(prec=28).ln(Decimal(setting.params["limit"])))  # rounded once
    losses = log_losses(view, setting.conventions.link, 0.0, limit)
    return share(losses, view.n_cells.astype(np.float64))


CALIBRATION = partial(
    Measure,
    family="calibration",
    reference=ULLAH,
    state="calibration",
    needs=("scores", "probabilities"),
    cutoff="optional",
    direction="down",
    conventions=("unlisted", "link"),
)
BINS = {"bins": Param(15.0, range(1, MOST_BINS + 1), default=True)}
LOSS = partial(
    Measure,
    family="losses",
    state="row_sums",
    needs=("scores", "probabilities"),
    whole=True,
    every_label=True,
    direction="down",
    range=(0.0, np.inf),
    conventions=("unlisted", "link"),
)

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
    LOSS(
        name="log_loss",
        title="logarithmic loss of a row, summed over all labels",
        symbol="Log loss {average}",
        formula="sum over labels of -ln(score) if relevant, else -ln(1 - score); "
        "scores within 1e-8..1 - 1e-8",
        reference="Tsoumakas et al. 2011 (JMLR 12, Mulan)",
        value=log_loss_of_row,
        averages=("samples",),
    ),
    LOSS(
        name="limited_log_loss",
        title="logarithmic loss of all entries, each at most the logarithm of a limit",
        symbol="Log loss (at most ln {limit})",
        formula="mean over labels of min(-ln(score) if relevant, else -ln(1 - score); ln limit)",
        reference="Read et al. 2016 (JMLR 17, MEKA)",
        value=limited_log_loss,
        params={"limit": Param(1000.0, range(2, MOST_LIMIT))},
    ),
)
