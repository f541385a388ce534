"""Measures of the truth alone."""

from __future__ import annotations

import numpy as np

from xmleval.metrics.metric import Metric, Setting
from xmleval.metrics.sets import ZZ14
from xmleval.records import Floats
from xmleval.view.view import View


def cardinality(view: View, setting: Setting) -> Floats:
    """Relevant labels of each instance."""
    return view.n_relevant.astype(np.float64)


def density(view: View, setting: Setting) -> Floats:
    """Relevant labels of each instance over all labels."""
    return view.n_relevant / setting.n_labels


def diversity(n_distinct: int, n_rows: int) -> float:
    """Distinct label sets."""
    return float(n_distinct)


def proportional_diversity(n_distinct: int, n_rows: int) -> float:
    """Distinct label sets over instances."""
    return n_distinct / n_rows if n_rows else float("nan")


LABEL_CARDINALITY = Metric(
    name="label_cardinality",
    title="label cardinality",
    symbol="Label cardinality",
    family="statistics",
    formula="mean R",
    reference=ZZ14,
    rows=cardinality,
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
    rows=density,
    direction="none",
)
LABEL_DIVERSITY = Metric(
    name="label_diversity",
    title="distinct label sets",
    symbol="Label diversity",
    family="statistics",
    formula="#{Y_i}",
    reference=ZZ14,
    distinct=diversity,
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
    distinct=proportional_diversity,
    direction="none",
)
