"""Logarithmic losses over all labels of a row, with scores as probabilities; labels without one have 0."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.metrics.metric import Metric, Param, Setting
from xmleval.records import Floats

if TYPE_CHECKING:
    from xmleval.view.view import View

LEAST_PROBABILITY = 1e-8  # Mulan's
MOST_LIMIT = 1 << 62


def log_loss(view: View, setting: Setting) -> Floats:
    """Sum over all labels, with probabilities within 1e-8..1 - 1e-8."""
    from xmleval.view.pairs import log_losses  # imports Numba, which no list of measures needs

    return log_losses(view, setting.conventions.link, LEAST_PROBABILITY, math.inf)


def limited_log_loss(view: View, setting: Setting) -> Floats:
    """Mean over all labels, each at most ln(limit)."""
    from xmleval.view.pairs import log_losses

    most = float(Context(prec=28).ln(Decimal(setting.params["limit"])))  # rounded once
    return log_losses(view, setting.conventions.link, 0.0, most) / setting.n_labels


LOSS = partial(
    Metric,
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
    LOSS(
        name="log_loss",
        title="logarithmic loss of a row, summed over all labels",
        symbol="Log loss {average}",
        formula="sum over labels of -ln(score) if relevant, else -ln(1 - score); "
        "scores within 1e-8..1 - 1e-8",
        reference="Tsoumakas et al. 2011 (JMLR 12, Mulan)",
        value=log_loss,
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
