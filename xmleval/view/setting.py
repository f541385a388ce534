"""The settings that formulas of measures depend on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from xmleval.base.arrays import Floats
from xmleval.base.conventions import Conventions

NO_DATA: Mapping[str, Floats] = MappingProxyType({})


class Setting(NamedTuple):
    """Settings that a formula depends on.

    k : cutoff, None for the whole ranking
    params : values of the parameters, by name
    conventions : all conventions
    n_labels : number of labels
    propensity : float64 (n_labels,), inverse propensities, if the measure reads any
    label_data : float64 (n_labels,) each, the data by label that the measure declares
    """

    k: int | None
    params: dict[str, float]
    conventions: Conventions
    n_labels: int
    propensity: Floats | None = None
    label_data: Mapping[str, Floats] = NO_DATA
