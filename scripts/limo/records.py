"""Records of an experiment: one value of one measure of one method on one split."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics import GROUPS
from xmleval.metrics.spec import parse_spec

MEASURES = GROUPS["wu2017"]
SETS = tuple(name for name in MEASURES if "sets" in parse_spec(name).needs)
BY_ROW, BY_LABEL = "t(x)", "t_j"
FULL_TIES = "ties full"
COMMON = "common labels"  # over instances without rare labels
OWN = "own threshold"  # of the method: 0 for SVM scores, 1/2 for posteriors
BEST = "best t_j"  # thresholds tuned to the test data, an upper bound
# thresholds of rows for measures of rows (theorem 4), of labels for macro-F1 (theorem 5)
READING = {name: "" if name not in SETS else BY_LABEL if name == "f1.macro" else BY_ROW for name in MEASURES}


class Record(NamedTuple):
    """One value; ``variant`` names changed settings, ``reading`` the decision rule or the convention."""

    data: str
    repetition: int
    method: str
    variant: str
    measure: str
    reading: str
    value: float


Results = dict[tuple[str, str, str], Floats]  # values of all repetitions by data set, method and measure


def select(records: Iterable[Record], variant: str = "", reading: Mapping[str, str] = READING) -> Results:
    """Return the values of a variant; methods without the variant keep their usual values.

    Each measure is taken under its reading; measures without one are left out.
    """
    records = list(records)
    varied = {r.method for r in records if r.variant == variant}
    found: dict[tuple[str, str, str], list[float]] = {}
    for r in records:
        if r.reading == reading.get(r.measure) and r.variant == (variant if r.method in varied else ""):
            found.setdefault((r.data, r.method, r.measure), []).append(r.value)
    return {key: np.array(values) for key, values in found.items()}


def better(measure: str, value: float, other: float) -> bool:
    """Return whether a value of a measure is better than another."""
    return value > other if upwards(measure) else value < other


def upwards(measure: str) -> bool:
    """Return whether higher is better."""
    return parse_spec(measure).metric.direction == "up"


def title(measure: str, reading: str) -> str:
    """Return the printed name of a measure with its reading."""
    return parse_spec(measure).symbol + (f", {reading}" if reading else "")


def to_csv(records: Iterable[Record]) -> str:
    """Return all values in full precision, one per line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Record._fields)
    writer.writerows((*record[:-1], repr(record.value)) for record in records)
    return out.getvalue()
