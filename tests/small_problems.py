"""Problems of a few rows with all measures, whose numbers depend on a seed alone."""

from dataclasses import replace
from typing import Any

import numpy as np

from tests.problems import SPECS, Problem, is_allowed, mend

WEIGHTS = [0.0, 0.1, 1.0, 3.0, 1e-6, 2.0**-30, 2.0**20]


def with_all_measures(problem: Problem) -> Problem:
    allowed = [name for name, spec in SPECS.items() if is_allowed(spec, problem)]
    return replace(problem, metrics=tuple(allowed))


def drawn_problem(form: str, options: dict[str, Any], seed: int, n_rows: int = 7) -> Problem:
    """Return a problem with conventions and inputs for all measures."""
    rng = np.random.default_rng(seed)
    n_labels = 6

    def sets(share: float) -> list[set[int]]:
        return [set(np.flatnonzero(row).tolist()) for row in rng.random((n_rows, n_labels)) < share]

    truth = [{label: float(rng.integers(1, 5)) for label in sorted(row)} for row in sets(0.4)]
    for row in truth:
        row.update({j: -1.0 * (j % 2) for j in range(n_labels) if j not in row and j % 3})
    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        n_listed = n_labels if form == "dense" else int(rng.integers(0, n_labels + 1))
        ids = rng.permutation(n_labels)[:n_listed].tolist()
        if form in ("csr", "dense"):
            ids.sort()
        listed.append([(j, float(rng.integers(-2, 6)) / 4) for j in ids])
    arguments: dict[str, Any] = {
        "y_pred": sets(0.4),
        "hierarchy": [(0, 3), (1, 3), (3, 4), (2, 5)],
        "y_train": sets(0.5),
        "per_row": True,
        "k": 1,
        "conventions": {"link": "sigmoid", "gains": "linear", "ties": "expected_dcg"},
    }
    options = dict(options)
    if "sample_weight" in options:
        options["sample_weight"] = rng.choice(WEIGHTS, n_rows).tolist()
    for name in ("exclude", "unjudged", "judged"):
        if name in options:
            options[name] = sets(options[name])
    arguments["conventions"] |= options.pop("conventions", {})
    if arguments["conventions"]["gains"] == "binary":
        truth = [dict.fromkeys([j for j, grade in row.items() if grade > 0], 1.0) for row in truth]
    problem = Problem(n_labels, truth, listed, form, "float64", False, arguments | options)
    return with_all_measures(mend(problem))
