"""Hypothesis strategies: small evaluation problems with every awkward feature, in every form of input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from tests.oracles.metrics import Case
from tests.problems import LEVELS, PROBABILITIES, conventions, indicator, judgements, label_sets
from xmleval.propensity import described

__all__ = ["LEVELS", "PROBABILITIES", "indicator", "label_sets", "problems"]
FORMS = ("csr", "dense", "list")
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Problem:
    """One problem for the oracle and for the package."""

    case: Case
    form: str
    dtype: str
    bare: bool = False  # a list without scores

    @property
    def n_rows(self) -> int:
        return len(self.case.truth)

    def cut(self, rows: list[int]) -> Problem:
        """Return the problem of some rows, in the given order."""

        def take(values: Any) -> Any:
            return None if values is None else [values[i] for i in rows]

        c = self.case
        case = replace(
            c, truth=take(c.truth), listed=take(c.listed), pred=take(c.pred), weights=take(c.weights),
            grades=take(c.grades),
        )  # fmt: skip
        return replace(self, case=case)

    def y_true(self) -> sp.csr_array:
        if self.case.grades is None:
            return indicator(self.case.truth, self.case.n_labels)
        found = indicator([set(row) for row in self.case.grades], self.case.n_labels)
        found.data = np.array([row[j] for row in self.case.grades for j in sorted(row)], np.float64)
        return found

    def y_pred(self) -> sp.csr_array | None:
        return None if self.case.pred is None else indicator(self.case.pred, self.case.n_labels)

    def y_score(self) -> Any:
        listed, shape = self.case.listed, (self.n_rows, self.case.n_labels)
        assert listed is not None
        if self.form == "list":
            width = max((len(row) for row in listed), default=0)
            labels = np.full((self.n_rows, width), -1, np.int32)
            scores = np.full((self.n_rows, width), np.nan, self.dtype)
            for i, row in enumerate(listed):
                for slot, (label, score) in enumerate(row):
                    labels[i, slot], scores[i, slot] = label, 0.0 if score is None else score
            return labels, None if self.bare else scores
        rows = [i for i, row in enumerate(listed) for _ in row]
        columns = [label for row in listed for label, _ in row]
        values = np.array([score for row in listed for _, score in row], self.dtype)
        if self.form == "dense":
            dense = np.zeros(shape, self.dtype)
            dense[rows, columns] = values
            return dense
        ptr = np.concatenate(([0], np.cumsum([len(row) for row in listed], dtype=int)))
        return sp.csr_array((values, np.array(columns, np.int32), ptr), shape=shape)

    def inputs(self) -> dict[str, Any]:
        """Return the data as keyword arguments of `evaluate` and `Evaluator.update`."""
        weights = self.case.weights
        return {
            "y_true": self.y_true(),
            "y_score": self.y_score(),
            "y_pred": self.y_pred(),
            "sample_weight": None if weights is None else np.array(weights),
        }

    def _propensities(self, propensity: list[float]) -> Any:
        counts = self.case.label_counts
        if counts is None:
            return np.array(propensity)
        return described(np.array(propensity), {}, None, True, np.array(counts))

    def settings(self) -> dict[str, Any]:
        """Return everything else as keyword arguments of `evaluate` and `Evaluator`."""
        propensity = self.case.inverse_propensity
        return {
            "inverse_propensity": None if propensity is None else self._propensities(propensity),
            "hierarchy": self.case.edges,
            "conventions": self.case.conventions | {"link": "sigmoid"},  # levels are no probabilities
        }


@st.composite
def problems(
    draw: st.DrawFn,
    form: str,
    dtype: str,
    *,
    varied: bool = True,
    tie_free: bool = False,
    max_rows: int = 6,
    weighted: bool | None = None,
    graded: bool = True,
    levels: tuple[float, ...] = LEVELS,
) -> Problem:
    """Draw a problem; ``varied`` draws conventions, ``tie_free`` lists every label at a score of its own.

    With ``graded``, conventions may be those of a truth of grades. Scores are ``levels``.
    """
    n_rows, n_labels = draw(st.integers(1, max_rows)), draw(st.integers(1, 7))
    chosen = draw(conventions(form)) if varied else {}
    chosen |= {} if graded or not varied else {"gains": "binary"}
    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        order = draw(st.permutations(range(n_labels)))
        if tie_free:
            row = [(label, float(n_labels - i)) for i, label in enumerate(order)]
        else:
            kept = order if form == "dense" else order[: draw(st.integers(0, n_labels))]
            row = [(label, draw(st.sampled_from(levels))) for label in kept]
        listed.append([*(sorted(row) if form != "list" else row)])
    bare = form == "list" and not tie_free and chosen.get("unlisted", "below") == "below"
    bare = bare and draw(st.booleans())
    if bare:
        listed = [[(label, None) for label, _ in row] for row in listed]
    weigh = draw(st.booleans()) if weighted is None else weighted
    weights = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 1e-6]), min_size=n_rows, max_size=n_rows)
    ids = st.integers(0, n_labels - 1)
    pairs = draw(st.sets(st.tuples(ids, ids), max_size=8))
    order = draw(st.permutations(range(n_labels)))  # from children to parents, so that there is no cycle
    truth = draw(label_sets(n_rows, n_labels))
    has_grades = chosen.get("gains", "binary") != "binary"
    case = Case(
        truth=truth,
        n_labels=n_labels,
        listed=listed,
        kind="list" if form == "list" else "matrix",
        pred=draw(label_sets(n_rows, n_labels)),
        weights=draw(weights) if weigh else None,
        inverse_propensity=[draw(st.sampled_from([1.0, 1.1, 2.5, 9.649])) for _ in range(n_labels)],
        edges=[(order[min(pair)], order[max(pair)]) for pair in pairs if pair[0] != pair[1]],
        label_counts=[draw(st.sampled_from([0, 1, 2, 3, 1000])) for _ in range(n_labels)],
        conventions=chosen,
        grades=draw(judgements(truth, n_labels)) if has_grades else None,
    )
    return Problem(case, form, dtype, bare)
