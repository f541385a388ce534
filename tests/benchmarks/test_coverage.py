from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage, interval_tables, p_values
from benchmarks.bootstrap import MEASURES, Predictions, compare_intervals, statistics_of
from benchmarks.simulation import Population, make_population, take_rows
from xmleval import evaluate


@cache
def population(cluster_mean: int = 1) -> Population:
    return make_population(1500, n_labels=300, cluster_mean=cluster_mean)


def small_predictions() -> Predictions:
    random = np.random.default_rng(0)
    truth = random.random((60, 12)) < 0.2
    truth[:, 3] = False  # a label without a relevant row
    truth[:, 0] |= ~truth.any(axis=1)
    scores = np.round(random.random(truth.shape) + 0.5 * truth, 1)  # with ties
    return Predictions(truth, scores, scores > 0.8, random.uniform(1, 3, 12))


@pytest.mark.parametrize("cluster_mean", [1, 4])
def test_data_sets_are_clusters_of_the_population(cluster_mean: int) -> None:
    pool = population(cluster_mean)
    assert pool.clustered == (cluster_mean > 1)
    drawn = pool.draw(200, np.random.default_rng(1))
    assert drawn.truth.shape[0] == drawn.cluster.size == len(drawn.models[0][0])
    assert (drawn.cluster.size == 200) if cluster_mean == 1 else (150 < drawn.cluster.size < 250)
    assert np.bincount(drawn.cluster).max() <= 2 * cluster_mean - 1
    assert (np.diff(drawn.truth.indptr) >= 1).all()
    frequency = np.sort(np.asarray(pool.rows.truth.sum(axis=0)).ravel())
    assert frequency[-1] > 10 * frequency[len(frequency) // 2]
    first, second = (evaluate(pool.rows.truth, model, metrics=["p@5"])["p@5"] for model in pool.rows.models)
    assert first > second > 0.2


def test_rows_are_taken_as_scipy_takes_them() -> None:
    rows = np.array([5, 5, 0, 70])
    taken = take_rows(population().rows.truth, rows)
    assert (taken != population().rows.truth[rows]).nnz == 0


def test_shares_that_cover_are_counted() -> None:
    found = coverage.summary([1.0, 3.0], [(0.0, 2.5), (2.5, 3.5)], [0.5, 0.7], 3.0)
    assert found["expected"] == 2.0
    assert (found["covered"], found["above"], found["below"]) == (0.5, 0.5, 0.0)
    assert found["covered_population"] == 0.5
    assert (found["width"], found["error"]) == (1.75, 0.6)


@pytest.mark.slow
def test_intervals_of_means_cover() -> None:
    (found,) = coverage.measure_coverage(population(), 200, 400, ["p@5"])
    assert 0.92 <= found["covered"] <= 0.98
    assert 0.9 <= found["error"] / found["deviation"] <= 1.1


@pytest.mark.slow
def test_rows_that_belong_together_need_groups() -> None:
    pool = make_population(1500, n_labels=40, cluster_mean=10)
    (grouped,), (ignored,) = (
        coverage.measure_coverage(pool, 300, 150, ["p@5"], own) for own in (True, False)
    )
    assert grouped["covered"] > 0.9
    assert ignored["covered"] < 0.85


def test_numbers_of_groups_run_small() -> None:
    records = coverage.measure_groups(population(), 100, 2, ["p@5"])
    assert [record["n_groups"] for record in records] == [8, 16, 32, 64]
    assert all(record["width"] > 0 for record in records)


def test_swapped_models_are_as_they_were_after_another_swap() -> None:
    rows = population().rows
    where = np.arange(rows.cluster.size) % 2 == 0
    swapped = p_values.swap(rows, where)
    for own, others in zip(rows.models, swapped.models[::-1], strict=True):
        assert (own[0][where] == others[0][where]).all()
        assert (own[1][where] == others[1][where]).all()
    again = p_values.swap(swapped, where)
    assert all((a[0] == b[0]).all() for a, b in zip(rows.models, again.models, strict=True))


def test_p_values_do_not_depend_on_which_model_is_first_and_agree_with_scipy() -> None:
    pool = population()
    drawn = pool.draw(80, np.random.default_rng(0))
    found = p_values.p_values_of(drawn, ["p@5", "f1.macro"], pool, with_scipy=True)
    other = p_values.swap(drawn, np.full(80, True))
    assert {key: own for key, (own, _) in found.items()} == {
        key: own for key, (own, _) in p_values.p_values_of(other, ["p@5", "f1.macro"], pool, False).items()
    }
    assert [*found] == [
        ("p@5", "jackknife"),
        *(("p@5", test) for test in p_values.TESTS),
        ("f1.macro", "jackknife"),
    ]
    for test, close in {"sign flips": 0.02, "paired t": 1e-12, "Wilcoxon": 1e-12}.items():
        own, scipys = found["p@5", test]
        assert own == pytest.approx(scipys, abs=close)


def test_statistics_of_a_bootstrap_sample_are_those_of_its_rows() -> None:
    given = small_predictions()
    drawn = np.random.default_rng(1).integers(60, size=60)
    counts = np.bincount(drawn, minlength=60)[None].astype(float)
    report = evaluate(
        given.truth[drawn], given.scores[drawn], y_pred=given.sets[drawn], metrics=MEASURES,
        inverse_propensity=given.q,
    )  # fmt: skip
    found = {name: float(statistic(counts)[0]) for name, statistic in statistics_of(given).items()}
    assert found == pytest.approx(dict(report), abs=1e-12)


def test_results_are_added_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "make_population", lambda n_rows, cluster_mean: population(cluster_mean))
    monkeypatch.setattr(coverage, "data_folder", lambda: tmp_path)
    monkeypatch.setattr(coverage, "read_bibtex", lambda folder: small_predictions())
    path = tmp_path / "coverage.json"
    words = ["--rows", "60", "--sets", "2", "--draws", "2", "--samples", "20", "--output", str(path)]
    assert coverage.main([*words, "--measures", "p@5", "auc.macro"]) == 0
    assert coverage.main([*words, "--measures", "p@5", "--parts", "coverage", "--sets", "3"]) == 0
    assert coverage.main([*words, "--measures", "auc.macro", "--parts", "coverage"]) == 0
    found = json.loads(path.read_text())
    assert {(r["measure"], r["sets"]) for r in found["coverage"]} == {("p@5", 3), ("auc.macro", 2)}
    assert [r["measure"] for r in found["bootstrap"]] == MEASURES
    text = interval_tables.tables_of(found)
    assert "| covered, % | 60 rows | 60 clustered rows | clusters ignored, 60 rows |" in text
    assert "*: 2 data sets" in text
    assert "| P@5 | sign flips | 60 clustered |" in text
    assert "| P@5 | sign flips of clusters | 60 clustered |" in text
    assert "| P@5 | sign flips of clusters | 60 |" not in text
    assert "| 0.98 | 60 | 1 |" in text
    assert "20 bootstrap samples" in text


def test_bootstrap_and_jackknife_are_near_each_other() -> None:
    for record in compare_intervals(small_predictions(), 200):
        assert 0.4 < record["error"] / record["deviation"] < 2.5
