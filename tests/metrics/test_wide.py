"""The laws on rows long enough that kernels change their ways: hundreds of labels, deep cutoffs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.test_laws import expected
from tests.oracles import margins as oracle_margins
from tests.oracles.metrics import Case
from tests.strategies import Problem
from xmleval import evaluate
from xmleval.conventions import CHOICES
from xmleval.spec import expand_metrics

KS = (1, 5, 30, 150, 500)
BESIDE = {"training", "grades", "probabilities"}  # inputs that these problems do not have
SPECS = [
    spec
    for spec, _ in expand_metrics(["all", "fbeta.macro(beta=0.5)@30"], KS)
    if not BESIDE & {*spec.needs, *spec.metric.needs}
]
WEIGHTS = [0, 0.1, 1, 3, 1e-6, 2.0**-30, 2.0**20]


def make_problem(rng: np.random.Generator) -> Problem:
    n_labels, n_rows = int(rng.choice([30, 90, 200])), int(rng.integers(1, 4))
    form = str(rng.choice(["csr", "dense", "list"]))
    chosen: dict[str, Any] = {name: values[rng.integers(len(values))] for name, values in CHOICES.items()}
    if form != "dense":
        chosen["unlisted"] = ["below", 0.0, 0.5, -3.0][rng.integers(4)]
    levels = int(rng.choice([3, 9, 40, 10**6]))
    sizes = [0, 1, 5, 17, 40, n_labels // 2, n_labels]

    def label_sets() -> list[set[int]]:
        wanted = rng.choice([0, 1, 3, 9, 20, 25, 66, n_labels - 1, n_labels], n_rows)
        return [set(rng.permutation(n_labels)[:n].tolist()) for n in wanted]

    listed: list[list[tuple[int, float | None]]] = []
    for _ in range(n_rows):
        n = n_labels if form == "dense" else min(int(rng.choice(sizes)), n_labels)
        scores = (rng.integers(-levels, levels, n) / levels * 2).astype(np.float32).tolist()
        row = list(zip(rng.permutation(n_labels)[:n].tolist(), scores, strict=True))
        listed.append([*(row if form == "list" else sorted(row))])
    q = 1 + 10 * rng.random(n_labels) ** 3 if rng.random() < 0.7 else rng.random(n_labels) + 0.01
    case = Case(
        truth=label_sets(),
        n_labels=n_labels,
        listed=listed,
        kind="list" if form == "list" else "matrix",
        pred=label_sets(),
        weights=rng.choice(WEIGHTS, n_rows).tolist() if rng.random() < 0.5 else None,
        inverse_propensity=q.tolist(),
        conventions=chosen,
    )
    return Problem(case, form, str(rng.choice(["float32", "float64"])))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_long_rows_equal_the_oracle_however_they_are_cut(seed: int) -> None:
    problem = make_problem(np.random.default_rng(seed))
    specs = [spec for spec in SPECS if spec.state != "score_runs"]  # whose oracle is too slow here
    if not oracle_margins.complete(problem.case):
        specs = [spec for spec in specs if spec.metric.family != "margins"]
    inputs: dict[str, Any] = {**problem.inputs(), **problem.settings(), "metrics": [str(s) for s in specs]}
    report = evaluate(**inputs, threads=1)
    assert evaluate(**inputs, threads=2, block_rows=1).to_json() == report.to_json()
    for spec in specs:
        want = expected(spec, problem.case)
        assert report[str(spec)] == pytest.approx(want, rel=1e-11, abs=1e-13, nan_ok=True), str(spec)
