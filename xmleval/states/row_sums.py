"""RowSums: exact sums and counts of per-row values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmleval.exact import NO_WEIGHT, as_integer, exact_quotient
from xmleval.kernels.exact import N_LIMBS, SIZE, WIDTH, add_exact, carry_exact
from xmleval.kernels.fixed import BITS, LIMBS, carry, sum_terms
from xmleval.metrics.metric import settle_empty
from xmleval.plan import Plan
from xmleval.records import Floats, Ints
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.state import Arrays, State, in_row_order
from xmleval.threads import Work
from xmleval.view.view import View


class RowSums(State):
    """Sum, total weight and number of the defined row values of each measure, and optionally the values.

    Formulas receive the `View` of a block, or its `Counts` if the measure needs sets, or its `Extremes` if it
    needs scores of entries, and return the value of each row, NaN if undefined.
    """

    keeps = True  # whether row values are kept on request

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        of = self.names()
        self.keys = list(of)
        self.keep = plan.keep_rows and self.keeps
        self.unbounded = [key for key, spec in of.items() if spec.metric.range[1] == np.inf]
        self.exact: Ints = np.zeros((len(self.unbounded), SIZE), np.int64)  # sums of their values
        self.totals: Ints = np.zeros((len(self.keys), 2, LIMBS), np.int64)  # of values, of weights
        self.n_defined: Ints = np.zeros(len(self.keys), np.int64)
        self.n_rows = 0
        self.kept: Sequence[tuple[int, Floats]] = []  # (keys, rows)

    def names(self) -> dict[str, Spec]:
        """Return the names of the sums, and the measure of each."""
        return {spec.name: spec for spec in self.specs}

    def columns(self, view: View) -> list[Floats]:
        """Return the row values of a block, one array for each name."""
        return [row_values(spec, view, self.plan) for spec in self.specs]

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        values, weight = self.columns(view), view.block.weight
        unit = NO_WEIGHT if weight is None else weight
        totals, exact, n_defined = self.totals.copy(), self.exact.copy(), self.n_defined.copy()
        for i, (key, column) in enumerate(zip(self.keys, values, strict=True)):
            small = column
            if key in self.unbounded:
                add_exact(column, unit, exact[self.unbounded.index(key)])
                small = np.where(np.isnan(column), np.nan, 0.0)
            n_defined[i] += sum_terms(small, unit, totals[i, 0], totals[i, 1])
        self.totals, self.exact, self.n_defined = totals, exact, n_defined
        self.n_rows += view.n_rows
        if self.keep and view.n_rows:
            self.kept = [*self.kept, (view.block.first_row, np.array(values, np.float64))]

    def merge(self, other: RowSums) -> None:
        """Merge a state of other rows."""
        totals, exact = self.totals + other.totals, self.exact + other.exact
        carry(totals.reshape(-1, LIMBS))
        for total in exact:
            carry_exact(total)
        self.totals, self.exact, self.n_defined = totals, exact, self.n_defined + other.n_defined
        self.n_rows += other.n_rows
        self.kept = [*self.kept, *other.kept]

    def finish(self) -> Results:
        """Return the means over the rows."""
        results = Results(values={key: self.mean(key) for key in self.keys})
        for key, n_defined in zip(self.keys, self.n_defined.tolist(), strict=True):
            if n_defined < self.n_rows:
                results.rows_left_out[key] = self.n_rows - n_defined
        if self.keep:
            chunks = in_row_order(self.kept)
            for i, key in enumerate(self.keys):
                results.rows[key] = np.concatenate([np.empty(0), *(values[i] for values in chunks)])
        return results

    def mean(self, key: str) -> float:
        """Return the mean of the defined row values, NaN if there are none."""
        i = self.keys.index(key)
        total, one = as_integer(self.totals[i, 0]), 1 << (LIMBS - 1) * BITS
        weight = as_integer(self.totals[i, 1]) if self.plan.weighted else int(self.n_defined[i]) * one
        if weight and key in self.unbounded:
            return exact_quotient(self.exact[self.unbounded.index(key)], weight, one)
        return total / weight if weight else float("nan")  # integers: correctly rounded

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        out: Arrays = {"totals": self.totals, "n_defined": self.n_defined, "n_rows": np.array([self.n_rows])}
        if self.unbounded:
            out["exact"] = self.exact
        for number, (first_row, values) in enumerate(self.kept):
            out[f"kept{number}.{first_row}"] = values
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows, n_keys = contents.n_rows, len(self.keys)
        contents.take("n_rows", 1, least=self.n_rows, most=self.n_rows)
        self.n_defined = contents.take("n_defined", n_keys, most=self.n_rows)
        self.totals = contents.take_sums("totals", n_keys, 2)
        weights = self.totals[:, 1]
        expect(self.plan.weighted or not weights.any(), "totals has weights")
        expect(not ((weights[:, 0] < 0) | (weights[:, 0] > self.n_rows)).any(), "totals has invalid weights")
        if self.unbounded:
            self.exact = contents.take("exact", len(self.unbounded), SIZE, least=None)
            fits = not (self.exact[:, : N_LIMBS - 1] >> WIDTH).any()
            expect(fits and not (self.exact[:, N_LIMBS:] < 0).any(), "exact has invalid sums")
        if self.keep:
            for name, first_row in contents.kept():
                values = contents.take(name, n_keys, None, dtype=np.float64, least=None)
                self.kept = [*self.kept, (first_row, values)]
            n_kept = sum(own.shape[1] for _, own in self.kept)
            expect(n_kept == self.n_rows, f"{n_kept} rows are kept, not {self.n_rows}")


def row_values(spec: Spec, view: View, plan: Plan) -> Floats:
    """Return a measure's row values of a block, NaN for excluded rows."""
    metric, setting = spec.metric, plan.setting(spec)
    seen: object = view
    if "sets" in metric.needs:
        seen = view.counts(plan.decide(spec))
    elif "entry scores" in metric.needs:
        seen = view.extremes
    found = metric.value(seen, setting)
    return settle_empty(found, 1.0, view.n_relevant, metric.empty, setting.conventions.empty)


STATE = RowSums
