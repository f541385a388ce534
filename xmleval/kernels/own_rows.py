"""Formulas of one row that users write, run on all rows of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from xmleval.base.arrays import Floats, Ints, Labels
from xmleval.kernels.jit import COMPILING_SECONDS, Kernel, compiler

Formula = Callable[[Any], float]


class OneRow(NamedTuple):
    """What a formula of one row gets.

    Attributes
    ----------
    relevant : integers (r,)
        Ids of the relevant labels, ascending.
    listed : integers (s,)
        Ids of the first k listed labels, or of all, best first; those from the number of labels
        upward are unknown labels.
    scores : float64 (s,)
        Scores of ``listed``, NaN without scores; distances as they were given.
    n_labels : int
        Number of labels.
    k : int
        Cutoff, 0 without one.
    params : float64 (p,)
        Parameters, in the order in which they are declared.
    label_data : float64 (n, n_labels)
        Data by label, in this order, too; unknown labels have none.
    row_data : float64 (n,)
        Data of the row.

    Examples
    --------
    >>> def first_is_relevant(row):
    ...     if len(row.listed) > 0 and row.listed[0] in row.relevant:
    ...         return 1.0
    ...     return 0.0
    >>> measure = xmleval.Measure("example-first", row=first_is_relevant)
    >>> evaluate(np.eye(2), np.eye(2) + 1, metrics=measure)["example-first"]
    1.0
    """

    relevant: Labels
    listed: Labels
    scores: Floats
    n_labels: int
    k: int
    params: Floats
    label_data: Floats
    row_data: Floats


class FormulaOfRow(Kernel):
    """A formula of one row as a kernel of all rows; it is compiled for each process, not kept."""

    def __init__(self, formula: Formula) -> None:
        super().__init__(_loop(formula))
        self.formula = formula

    def seconds_to_compile(self) -> float:
        """Return about how long it takes to compile the loop and the formula."""
        return 2 * COMPILING_SECONDS

    def _compile(self) -> Callable[..., Any]:
        """Return the compiled loop over rows."""
        compiled_anew = compiler().compiled_anew
        compiled: Callable[..., Any] = compiled_anew(_loop(compiled_anew(self.formula)))
        return compiled


def _loop(formula: Formula) -> Callable[..., None]:
    """Return a loop that calls a formula for each row."""

    def value_of_each_row(  # noqa: PLR0913 - flat arrays, as compiled kernels take them
        ptr: Ints,
        relevant: Labels,
        listed_ptr: Ints,
        listed: Labels,
        scores: Floats,
        n_labels: int,
        k: int,
        params: Floats,
        label_data: Floats,
        row_data: Floats,
        out: Floats,
    ) -> None:
        """Set the values of rows.

        row_data : float64 (rows, n); out : float64 (rows,), written; see `OneRow`
        """
        for i in range(out.size):
            start = listed_ptr[i]
            stop = listed_ptr[i + 1]
            row = OneRow(
                relevant[ptr[i] : ptr[i + 1]],
                listed[start:stop],
                scores[start:stop],
                n_labels,
                k,
                params,
                label_data,
                row_data[i],
            )
            out[i] = formula(row)

    return value_of_each_row
