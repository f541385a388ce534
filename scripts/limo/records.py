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
BY_ROW = "t(x)"
BY_LABEL = "t_j"
FULL_TIES = "ties full"
COMMON = "common labels"  # over instances without rare labels
OWN = "own threshold"  # of the method: 0 for SVM scores, 1/2 for posteriors
BEST = "best t_j"  # thresholds tuned to the test data, an upper bound
# thresholds of rows for measures of rows (theorem 4), of labels for macro-F1 (theorem 5)
READING = dict.fromkeys(MEASURES, "") | dict.fromkeys(SETS, BY_ROW) | {"f1.macro": BY_LABEL}


class Record(NamedTuple):
    """One value of a measure."""

    data: str
    repetition: int
    method: str
    variant: str  # changed settings; empty if none are changed
    measure: str
    reading: str  # decision rule or convention
    value: float


# values of all repetitions by data set, method and measure
Results = dict[tuple[str, str, str], Floats]


def select(
    records: Iterable[Record], variant: str = "", reading: Mapping[str, str] = READING
) -> Results:
    """Return the values of a variant; methods without the variant keep their usual values.

    Each measure is taken under its reading; measures without one are omitted.
    """
    records = list(records)
    methods_with_variant = {record.method for record in records if record.variant == variant}
    by_key: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        has_variant = record.method in methods_with_variant
        method_variant = variant if has_variant else ""
        if record.reading != reading.get(record.measure) or record.variant != method_variant:
            continue
        key = (record.data, record.method, record.measure)
        by_key.setdefault(key, []).append(record.value)
    return {key: np.array(values) for key, values in by_key.items()}


def better(measure: str, value: float, other: float) -> bool:
    """Return whether a value of a measure is better than another."""
    if upwards(measure):
        return value > other
    return value < other


def upwards(measure: str) -> bool:
    """Return whether higher is better."""
    return parse_spec(measure).metric.direction == "up"


def title(measure: str, reading: str) -> str:
    """Return the printed name of a measure with its reading."""
    symbol = parse_spec(measure).symbol
    if reading:
        return f"{symbol}, {reading}"
    return symbol


def to_csv(records: Iterable[Record]) -> str:
    """Return all values in full precision, one per line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Record._fields)
    writer.writerows((*record[:-1], repr(record.value)) for record in records)
    return out.getvalue()
