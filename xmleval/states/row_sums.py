"""RowSums: exact sums and counts of per-row values."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np

from xmleval.exact import NO_WEIGHT, Commit, as_integer, exact_quotient, saved
from xmleval.kernels.exact import SIZE, add_exact, carry_exact
from xmleval.kernels.fixed import BITS, LIMBS, carry, sum_terms
from xmleval.records import Floats, Ints


class RowSums:
    """Sum, weight and number of the defined values of each quantity, and on request the values.

    Parameters
    ----------
    keys : list of str
        Names of the quantities.
    keep : bool
        Whether to keep every row's value (NaN where it is undefined).
    scaled : collection of str
        Quantities whose values may be of any size, or infinite.
    """

    def __init__(self, keys: list[str], keep: bool = False, scaled: Collection[str] = ()) -> None:
        self.keys = keys
        self.keep = keep
        self.scaled = [key for key in keys if key in scaled]
        self.exact: Ints = np.zeros((len(self.scaled), SIZE), np.int64)  # sums of their values
        self.totals: Ints = np.zeros((len(keys), 2, LIMBS), np.int64)  # of values, of weights
        self.n_defined: Ints = np.zeros(len(keys), np.int64)
        self.n_rows = 0
        self.kept: list[tuple[int, Floats]] = []  # first row, (keys, rows)

    def prepare(self, values: list[Floats], weight: Floats | None, first_row: int) -> Commit:
        """Sum the values of some rows: one array per quantity, in the order of ``keys``."""
        unit = NO_WEIGHT if weight is None else weight
        totals, exact, n_defined = self.totals.copy(), self.exact.copy(), self.n_defined.copy()
        for i, (key, column) in enumerate(zip(self.keys, values, strict=True)):
            small = column
            if key in self.scaled:
                add_exact(column, unit, exact[self.scaled.index(key)])
                small = np.where(np.isnan(column), np.nan, 0.0)
            n_defined[i] += sum_terms(small, unit, totals[i, 0], totals[i, 1])
        n_rows = values[0].size if values else 0
        own = [(first_row, np.array(values, np.float64))] if self.keep and n_rows else []
        return self._take(totals, exact, n_defined, self.n_rows + n_rows, [*self.kept, *own])

    def prepare_merge(self, other: RowSums) -> Commit:
        """Add another state of the same quantities."""
        totals = self.totals + other.totals
        carry(totals.reshape(-1, LIMBS))
        exact = self.exact + other.exact
        for total in exact:
            carry_exact(total)
        n_defined = self.n_defined + other.n_defined
        return self._take(totals, exact, n_defined, self.n_rows + other.n_rows, [*self.kept, *other.kept])

    def _take(
        self, totals: Ints, exact: Ints, n_defined: Ints, n_rows: int, kept: list[tuple[int, Floats]]
    ) -> Commit:
        def commit() -> None:
            self.totals, self.exact, self.n_defined = totals, exact, n_defined
            self.n_rows, self.kept = n_rows, kept

        return commit

    def mean(self, key: str, weighted: bool) -> float:
        """Return the mean of a quantity over the rows where it is defined, NaN where there is none."""
        i = self.keys.index(key)
        total = as_integer(self.totals[i, 0])
        weight = as_integer(self.totals[i, 1]) if weighted else int(self.n_defined[i]) << (LIMBS - 1) * BITS
        if weight and key in self.scaled:
            exact = self.exact[self.scaled.index(key)]
            return exact_quotient(exact, Fraction(weight, 1 << (LIMBS - 1) * BITS))
        return float(Fraction(total, weight)) if weight else float("nan")

    def rows(self, key: str) -> Floats:
        """Return the kept values of a quantity in row order."""
        i = self.keys.index(key)
        chunks = sorted(self.kept, key=lambda chunk: chunk[0])
        return np.concatenate([values[i] for _, values in chunks]) if chunks else np.empty(0)

    def arrays(self) -> dict[str, Ints | Floats]:
        """Return what a saved state holds."""
        out: dict[str, Ints | Floats] = {
            "totals": self.totals,
            "n_defined": self.n_defined,
            "n_rows": np.array([self.n_rows]),
        }
        if self.scaled:
            out["exact"] = self.exact
        for number, (first_row, values) in enumerate(self.kept):
            out[f"kept{number}.{first_row}"] = values
        return out

    def restore(self, arrays: dict[str, Ints | Floats]) -> None:
        """Take over what `arrays` gave."""
        self.totals = saved(arrays, "totals", *self.totals.shape)
        if self.scaled:
            self.exact = saved(arrays, "exact", *self.exact.shape)
        self.n_defined = saved(arrays, "n_defined", *self.n_defined.shape)
        self.n_rows = int(saved(arrays, "n_rows", 1)[0])
        self.kept = [
            (int(name.split(".")[1]), values.astype(np.float64))
            for name, values in arrays.items()
            if name.startswith("kept")
        ]
