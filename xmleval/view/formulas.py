"""Values of rows by formulas of users, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xmleval.base.arrays import Bools, Floats
from xmleval.base.errors import shown
from xmleval.kernels.own_rows import FormulaOfRow
from xmleval.view.block_rows import BlockRows

MOST_PLACES = 1 << 16  # values of a row
ROUNDING = 1e-9  # by which a value may be outside its range, relative to this


class FormulaError(ValueError):
    """A formula that raises an error, or returns another kind of value than it should.

    reason : what is wrong
    row : number of the row in the block, None where it concerns no single row
    measure : name of the measure, where it is known
    """

    def __init__(self, reason: str, row: int | None = None, measure: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.measure = measure

    def __str__(self) -> str:
        """Return the reason behind the name of the measure."""
        return f"{self.measure}: {self.reason}" if self.measure else self.reason


def values_of_rows(formula: Callable[[BlockRows], Any], rows: BlockRows, is_vector: bool) -> Floats:
    """Return the values of rows, float64 (n_rows,), or (n_rows, n) of a vector.

    Raises
    ------
    FormulaError
        If the formula raises an error, or returns anything else.
    """
    try:
        result = formula(rows)
    except Exception as error:
        reason = f"the formula raised {type(error).__name__}: {error}{_hint(error, rows)}"
        raise FormulaError(reason) from error
    values = np.asarray(result)
    expected = f"({rows.n_rows}, n)" if is_vector else f"({rows.n_rows},)"
    n_dimensions = 2 if is_vector else 1
    has_rows = values.ndim == n_dimensions and len(values) == rows.n_rows
    if not has_rows or values.dtype.kind not in "biuf":
        what = f"an array of shape {values.shape} and type {values.dtype}"
        if not isinstance(result, np.ndarray):
            what = shown(result)
        hint = ""
        if not is_vector and values.ndim == 2:
            hint = "; several values of a row need total="
        raise FormulaError(f"the formula returned {what}; expected float64 {expected}{hint}")
    if is_vector and not 0 < values.shape[1] <= MOST_PLACES:
        raise FormulaError(
            f"the formula returned {values.shape[1]} values for each row; expected 1..{MOST_PLACES}"
        )
    return np.ascontiguousarray(values, np.float64)


def values_of_facts(
    name: str, formula: Callable[..., Any], facts: Sequence[Any], limits: tuple[float, float]
) -> Floats:
    """Return the values of labels, or of groups of rows, by a formula of counts, checked.

    NaN stands for an undefined value.
    """
    try:
        result = formula(*facts)
    except Exception as error:
        reason = f"the formula raised {type(error).__name__}: {error}"
        raise FormulaError(reason, measure=name) from error
    values = np.asarray(result)
    shape = np.shape(facts[-2][0])
    if values.shape != shape or values.dtype.kind not in "biuf":
        what = f"shape {values.shape} and type {values.dtype}"
        reason = f"the formula returned {what}; expected float64 {shape}"
        raise FormulaError(reason, measure=name)
    try:
        refuse_values(values, limits, np.isnan(values))
    except FormulaError as error:
        raise FormulaError(error.reason, measure=name) from None
    return values.astype(np.float64)


def _hint(error: Exception, rows: BlockRows) -> str:
    """Return what may be missing in the definition of a measure whose formula raised an error."""
    if isinstance(error, KeyError):
        return ", which label_data= or row_data= must declare"
    if isinstance(error, TypeError) and rows.k is None:
        return "; rows.k is None without cutoff="
    return ""


def values_of_each_row(kernel: FormulaOfRow, rows: BlockRows) -> Floats:
    """Return the values of rows by a formula of one row, float64 (n_rows,)."""
    relevant = rows.relevant
    listed = rows.listed
    scores = listed.scores
    if scores is None:
        scores = np.full(listed.labels.size, np.nan)
    out: Floats = np.empty(rows.n_rows)
    params = np.array([*rows.params.values()], np.float64)
    label_data = _stacked([*rows.label_data.values()], rows.n_labels)
    row_data = _stacked([*rows.row_data.values()], rows.n_rows)
    try:
        kernel(
            relevant.ptr,
            relevant.labels,
            listed.ptr,
            listed.labels,
            scores,
            rows.n_labels,
            rows.k or 0,
            params,
            label_data,
            np.ascontiguousarray(row_data.T),
            out,
        )
    except MemoryError:
        raise
    except Exception as error:
        reason = f"the formula raised {type(error).__name__}: {error}"
        if type(error).__module__.startswith("numba."):
            reason = f"Numba cannot compile the formula: {_first_reason(error)}; or give rows="
        raise FormulaError(reason) from error
    return out


def _first_reason(error: Exception) -> str:
    """Return the first reason that Numba gives, in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line and not line.startswith("Failed in")]
    return " ".join(reasons[:2])


def _stacked(columns: Sequence[Floats], n: int) -> Floats:
    """Return vectors of length n as the rows of a matrix."""
    return np.array(columns, np.float64).reshape(len(columns), n)


def refuse_values(
    values: Floats, limits: tuple[float, float], may_be_undefined: Bools | None = None
) -> None:
    """Refuse values that are not finite, or outside their range by more than rounding.

    may_be_undefined : bool (n_rows,), rows whose value another rule decides
    """
    low, high = limits
    slack = ROUNDING * max([1.0, *(abs(limit) for limit in limits if np.isfinite(limit))])
    is_inside = (values >= low - slack) & (values <= high + slack)
    is_wrong = ~(is_inside & np.isfinite(values))
    if may_be_undefined is not None:
        is_wrong &= ~may_be_undefined
    if not is_wrong.any():
        return
    row = int(is_wrong.argmax())
    raise FormulaError(f"the value is {values[row]}; expected a number in {low:g}..{high:g}", row)


def refuse_vectors(values: Floats) -> None:
    """Refuse vectors that are not finite."""
    is_wrong = ~np.isfinite(values)
    if is_wrong.any():
        row, place = np.unravel_index(int(is_wrong.argmax()), values.shape)
        reason = f"value {int(place)} of the row is {values[row, place]}; expected a finite number"
        raise FormulaError(reason, int(row))
