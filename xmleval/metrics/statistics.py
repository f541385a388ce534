"""Statistics of the relevant labels alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics.measure import Measure, share
from xmleval.metrics.sets import ZZ14
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View


def cardinality(view: View, setting: Setting) -> Floats:
    """Relevant labels per row."""
    return view.n_relevant.astype(np.float64)


def density(view: View, setting: Setting) -> Floats:
    """Relevant labels per row, divided by l."""
    return share(view.n_relevant.astype(np.float64), view.n_cells.astype(np.float64))


def diversity(sizes: tuple[int, int], setting: Setting) -> float:
    """Distinct label sets; ``sizes`` counts them and all rows."""
    return float(sizes[0])


def proportional_diversity(sizes: tuple[int, int], setting: Setting) -> float:
    """Distinct label sets, divided by rows."""
    n_distinct, n_rows = sizes
    return n_distinct / n_rows if n_rows else float("nan")


STATISTIC = partial(
    Measure,
    family="statistics",
    reference=ZZ14,
    direction="none",
)

TABLE = (
    STATISTIC(
        name="label_cardinality",
        title="label cardinality",
        symbol="Label cardinality",
        formula="mean R",
        state="row_sums",
        value=cardinality,
        range=(0.0, np.inf),
    ),
    STATISTIC(
        name="label_density",
        title="label density",
        symbol="Label density",
        formula="mean R / l",
        state="row_sums",
        value=density,
        every_label=True,
    ),
    STATISTIC(
        name="label_diversity",
        title="number of distinct label sets",
        symbol="Label diversity",
        formula="#{Y_i}",
        state="label_sets",
        unsmooth=("",),
        value=diversity,
        range=(0.0, np.inf),
    ),
    STATISTIC(
        name="proportional_diversity",
        title="distinct label sets per instance",
        symbol="Proportional diversity",
        formula="#{Y_i} / m",
        state="label_sets",
        unsmooth=("",),
        value=proportional_diversity,
    ),
)
