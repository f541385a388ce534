"""Values of every row that were written as CSV, and paired differences of two such files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xmleval.files.input import InputFile
from xmleval.numerals import decimal_number, whole_number
from xmleval.records import Floats
from xmleval.report.saved_results import SavedReport, naming_file
from xmleval.report.tables import csv_text
from xmleval.rounding import subtract

CONFIDENCE = 0.95
SAME = 1e-9  # relative difference up to which the mean of a column is the value of its report
EXPECTED = "expected row values as `xmleval evaluate --per-row` writes them"


class Difference(NamedTuple):
    """Confidence interval of a mean difference, and the number of rows that have both values."""

    lower: float
    upper: float
    n_rows: int


class SavedRows(NamedTuple):
    """Values by measure, in row order, NaN where undefined; names of the rows, if the file has them."""

    values: dict[str, Floats]
    names: list[str] | None


def paired_differences(
    new: tuple[Path, str, SavedReport], old: tuple[Path, str, SavedReport]
) -> dict[str, Difference]:
    """Return the differences, new minus old, of the measures that both files have.

    Parameters
    ----------
    new, old : tuple of Path, str and SavedReport
        A file of row values, the name of the report within it (``""`` for a report alone), and the report.

    Returns
    -------
    dict of str to Difference
        The t interval of the mean of the differences by row.

    Raises
    ------
    ValueError
        If a file holds anything else or is not of its report, or if the rows are not the same.
    """
    measures = {*new[2].values} & {*old[2].values}
    one, other = load_rows(*new, measures), load_rows(*old, measures)
    if one.names is not None and other.names is not None:
        for row, (name, before) in enumerate(zip(one.names, other.names, strict=True)):
            if name != before:
                raise ValueError(
                    f"{old[0]}: row {row} is {before!r}, in {new[0]} {name!r}; expected the same rows"
                )
    return intervals_of(one, other)


def intervals_of(one: SavedRows, other: SavedRows) -> dict[str, Difference]:
    """Return the differences of the measures that both have, the first minus the second, by row."""
    from scipy.special import stdtrit  # only here: most checks do not need it

    found = {}
    for name in one.values.keys() & other.values.keys():
        gaps = subtract(one.values[name], other.values[name])
        gaps = gaps[~np.isnan(gaps)]
        if gaps.size > 1:
            half = stdtrit(gaps.size - 1, (1 + CONFIDENCE) / 2) * gaps.std(ddof=1) / math.sqrt(gaps.size)
            found[name] = Difference(float(gaps.mean() - half), float(gaps.mean() + half), gaps.size)
    return found


def load_rows(path: Path, name: str, report: SavedReport, measures: Collection[str]) -> SavedRows:
    """Read the row values of a report, and refuse those of another.

    Parameters
    ----------
    path : Path
        CSV with a column ``row``, of several reports also ``scores``, and one for each measure.
    name : str
        The report; ``""`` for a report alone.
    report : SavedReport
        Its values, which are the means of the columns.
    measures : collection of str
        Measures that are read, if the file has them.
    """
    with naming_file(path):
        if report.settings["sample_weight"] is not None:
            raise ValueError("the results have sample weights, which row values do not hold")
        file = InputFile(path)
        with file.open() as opened:
            if file.size < 2 * report.n_rows:
                raise ValueError(f"fewer rows than the {report.n_rows} of the results; {EXPECTED}")
            records = csv.reader(io.TextIOWrapper(opened, "utf-8-sig", newline=""), strict=True)
            try:
                found = _read(records, name, report.n_rows, measures)
            except csv.Error as error:
                raise ValueError(f"line {records.line_num}: {error}; {EXPECTED}") from None
            except UnicodeDecodeError:
                raise ValueError(f"not text in UTF-8; {EXPECTED}") from None
        for measure, values in found.values.items():
            known, value = values[~np.isnan(values)], report.values[measure]
            mean = float(known.mean()) if known.size else math.nan
            if not (math.isclose(mean, value, rel_tol=SAME, abs_tol=SAME) or math.isnan(mean + value)):
                raise ValueError(
                    f"the mean of {measure} is {mean!r}, {value!r} in the results; expected their rows"
                )
        return found


def _read(records: Any, name: str, n_rows: int, measures: Collection[str]) -> SavedRows:
    header: list[str] = next(records, [])
    places = {column: place for place, column in enumerate(header)}
    if "row" not in places or len(places) < len(header):
        raise ValueError(f"its first line does not name the columns; {EXPECTED}")
    if ("scores" in places) != bool(name):
        other = "tells no reports apart" if name else "is of several reports"
        told = f"the results are of {name!r}" if name else "the results are of one"
        raise ValueError(f"it {other} in a column 'scores', and {told}")
    written = next(csv.reader([csv_text(name)]))[0] if name else ""  # names are escaped
    values = {column: np.full(n_rows, np.nan) for column in header if column in measures}
    names = [""] * n_rows if "name" in places else None
    seen = np.zeros(n_rows, bool)
    for record in records:
        if len(record) != len(header):
            raise ValueError(f"line {records.line_num}: {len(record)} fields; expected {len(header)}")
        if name and record[places["scores"]] != written:
            continue
        row = whole_number(record[places["row"]])
        if row is None or not 0 <= row < n_rows:
            told = f"row {record[places['row']]!r:.40}"
            raise ValueError(f"line {records.line_num}: {told}; expected a number below {n_rows}")
        if seen[row]:
            raise ValueError(f"line {records.line_num}: row {row} is there twice")
        seen[row] = True
        for column, found in values.items():
            text = record[places[column]]
            number = math.nan if text == "" else decimal_number(text)
            if number is None:
                raise ValueError(f"line {records.line_num}: {column} is {text!r:.40}; expected a number")
            found[row] = number
        if names is not None:
            names[row] = record[places["name"]]
    if not seen.all():
        raise ValueError(f"{int(seen.sum())} rows instead of the {n_rows} of the results")
    return SavedRows(values, names)
