"""Measures of the truth alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xmleval.metrics.metric import Metric, Setting
from xmleval.metrics.sets import ZZ14
from xmleval.records import Floats

if TYPE_CHECKING:
    from xmleval.view.view import View


def cardinality(view: View, setting: Setting) -> Floats:
    """Relevant labels of each instance."""
    return view.n_relevant.astype(np.float64)


def density(view: View, setting: Setting) -> Floats:
    """Relevant labels of each instance over all labels."""
    return view.n_relevant / setting.n_labels


def diversity(sizes: tuple[int, int], setting: Setting) -> float:
    """Distinct label sets, of those and all rows."""
    return float(sizes[0])


def proportional_diversity(sizes: tuple[int, int], setting: Setting) -> float:
    """Distinct label sets over instances, of those and all rows."""
    n_distinct, n_rows = sizes
    return n_distinct / n_rows if n_rows else float("nan")


LABEL_CARDINALITY = Metric(
    name="label_cardinality",
    title="label cardinality",
    symbol="Label cardinality",
    family="statistics",
    formula="mean R",
    reference=ZZ14,
    state="row_sums",
    value=cardinality,
    direction="none",
    range=(0.0, np.inf),
)
LABEL_DENSITY = Metric(
    name="label_density",
    title="label density",
    symbol="Label density",
    family="statistics",
    formula="mean R / l",
    reference=ZZ14,
    state="row_sums",
    value=density,
    every_label=True,
    direction="none",
)
LABEL_DIVERSITY = Metric(
    name="label_diversity",
    title="distinct label sets",
    symbol="Label diversity",
    family="statistics",
    formula="#{Y_i}",
    reference=ZZ14,
    state="label_sets",
    value=diversity,
    direction="none",
    range=(0.0, np.inf),
)
PROPORTIONAL_DIVERSITY = Metric(
    name="proportional_diversity",
    title="distinct label sets over instances",
    symbol="Proportional diversity",
    family="statistics",
    formula="#{Y_i} / m",
    reference=ZZ14,
    state="label_sets",
    value=proportional_diversity,
    direction="none",
)
