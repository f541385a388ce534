"""Measures of rows around every length at which a kernel changes its way, and of ids beyond 32 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import SIZES, seeds
from tests.definitions import case_of, value_of
from tests.problems import Problem, is_allowed
from xmleval import evaluate
from xmleval.conventions import CHOICES
from xmleval.kernels.matching import COMPARED
from xmleval.spec import expand_metrics

SPECS = [
    spec for spec, _ in expand_metrics(["xmc", "ps", "ranking", "map", "mrr", "f1.micro@5"], (1, 5, 24, 200))
]
SCORES = [-2.5, -0.0, 0.0, 0.25, 1.0]
WEIGHTS = [0.0, 0.1, 1.0, 2.0**-30, 2.0**20]
sizes = st.sampled_from(SIZES)


@pytest.mark.slow
@example(shapes=[(COMPARED - 1, 130), (COMPARED, 17), (COMPARED + 1, 16)], seed=1, form="list", weighted=True)
@settings(max_examples=16)
@given(
    shapes=st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3), seed=seeds,
    form=st.sampled_from(["csr", "list", "bare"]), weighted=st.booleans(),
)  # fmt: skip
def test_values_are_those_of_the_definitions(
    shapes: list[tuple[int, int]], seed: int, form: str, weighted: bool
) -> None:
    rng, bare = np.random.default_rng(seed), form == "bare"
    n_labels = max(1, *map(max, shapes)) + int(rng.choice([0, 1, 9]))
    unlisted = "below" if bare else ["below", 0.0, 0.25, 7.0][rng.integers(4)]
    conventions: dict[str, Any] = {
        name: choices[rng.integers(len(choices))] for name, choices in CHOICES.items()
    }
    conventions |= {"unlisted": unlisted, "gains": "binary", "link": "none"}
    arguments: dict[str, Any] = {"conventions": conventions, "per_row": True, "k": [1, 5, 24, 200]}
    arguments["inverse_propensity"] = rng.choice([1.0, 1.0 + 2.0**-52, 9.649, 2.0**20 + 0.3], n_labels)
    if weighted:
        arguments["sample_weight"] = rng.choice(WEIGHTS, len(shapes)).tolist()
    truth = [dict.fromkeys(sorted(rng.permutation(n_labels)[:n].tolist()), 1.0) for n, _ in shapes]
    listed: list[list[tuple[int, float | None]]] = []
    for _, n in shapes:
        scores = -np.sort(-rng.choice(SCORES, n))
        row = [*zip(rng.permutation(n_labels)[:n].tolist(), scores.tolist(), strict=True)]
        plain: list[tuple[int, float | None]] = [(label, None if bare else score) for label, score in row]
        listed.append(sorted(plain) if form == "csr" else plain)
    bare = bare and any(listed)
    form = "list" if form == "bare" else form
    dtype = str(rng.choice(["float32", "float64"]))
    problem = Problem(n_labels, truth, listed, form, dtype, bare, arguments)
    specs = [spec for spec in SPECS if is_allowed(spec, problem)]
    problem = replace(problem, metrics=tuple(spec.name for spec in specs))
    report, case = problem.evaluate(threads=1), case_of(problem)
    for spec in specs:
        expected = value_of(spec, case)
        np.testing.assert_allclose(report[spec.name], expected, rtol=1e-11, atol=1e-12, err_msg=spec.name)
    assert problem.evaluate(threads=2, block_rows=1).to_json() == report.to_json()


@pytest.mark.parametrize("n_extra", [0, COMPARED])
def test_label_ids_may_need_64_bits(n_extra: int) -> None:
    big = 2**31 + 7
    relevant = np.array([3, big, *range(big + 2, big + 2 + n_extra), 2**40 - 2])
    n, listed = relevant.size, np.array([[big + 1, big, 0, 2**40 - 1]])
    truth = sp.csr_array((np.ones(n), relevant, np.array([0, n])), shape=(1, 2**40))
    report = evaluate(
        truth, (listed, np.array([[3.0, 2.0, 0.0, -1.0]])), metrics=["p@2", "mrr@5", "coverage", "r@5"],
        unlisted=1.0,
    )  # fmt: skip
    # behind two listed labels come all others by id, but the two that are listed below them
    others = [label for label in relevant.tolist() if label != big]
    ranks = np.sort([2, *(3 + label - sum(each < label for each in listed[0]) for label in others)])
    assert report["p@2"] == 0.5
    assert report["mrr@5"] == 0.5
    assert report["coverage"] == ranks[-1] - 1
    assert report["r@5"] == (ranks <= 5).sum() / n
