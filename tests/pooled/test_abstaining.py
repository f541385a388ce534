"""Risk and coverage of rows that are accepted by their largest score."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.states.crafted import contents
from xmleval.files.saved import Saved, save_state

NAMES = ["aurc@1", "aurc@3", "risk(coverage=0.8)@1", "risk(coverage=0.35)@3"]
N_ROWS, N_LABELS = 120, 8


def made(seed: int, decimals: int = 9) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
    return truth, np.round(rng.random(truth.shape) + 0.5 * truth * rng.random((N_ROWS, 1)), decimals)


def losses(truth: Any, scores: Any, k: int) -> tuple[Any, Any]:
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return scores.max(axis=1), 1 - np.take_along_axis(truth, first, axis=1).mean(axis=1)


def test_the_area_is_the_mean_of_the_running_mean_of_losses() -> None:
    truth, scores = made(1)
    report = xmleval.evaluate(truth, scores, metrics=NAMES)
    for k in (1, 3):
        top, loss = losses(truth, scores, k)
        risks = np.cumsum(loss[np.argsort(-top)]) / np.arange(1, N_ROWS + 1)
        assert report[f"aurc@{k}"] == pytest.approx(risks.mean(), abs=1e-12)
        coverage = 0.8 if k == 1 else 0.35
        name = f"risk(coverage={coverage})@{k}"
        n = round(coverage * N_ROWS)
        assert report[name] == pytest.approx(risks[n - 1], abs=1e-12)
        assert report.thresholds[name] == np.sort(top)[-n]


def test_rows_of_equal_scores_are_accepted_together() -> None:
    truth = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    scores = np.array([[0.9, 0.1], [0.5, 0.8], [0.8, 0.2], [0.1, 0.3]])
    report = xmleval.evaluate(truth, scores, metrics=["aurc@1", "risk(coverage=0.5)@1", "risk(coverage=1)@1"])
    assert [*report.values()] == pytest.approx([(0 + 1 / 3 + 1 / 3 + 1 / 2) / 4, 1 / 3, 1 / 2], abs=1e-15)
    assert report.thresholds["risk(coverage=0.5)@1"] == 0.8
    far = xmleval.evaluate(truth, -scores, metrics=["risk(coverage=0.5)@1"], higher_is_better=False)
    assert far.thresholds["risk(coverage=0.5)@1"] == -0.8
    assert "accept rows whose smallest score is <= it" in str(far)


@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_give_the_values_of_repeated_rows(seed: int) -> None:
    truth, scores = made(seed, decimals=1)
    weight = np.random.default_rng(seed).integers(0, 4, N_ROWS)
    weighted = xmleval.evaluate(truth, scores, metrics=NAMES, sample_weight=weight)
    repeated = xmleval.evaluate(truth.repeat(weight, 0), scores.repeat(weight, 0), metrics=NAMES)
    assert dict(weighted) == dict(repeated)


@pytest.mark.parametrize("cuts", [[0, 120], [0, 7, 7, 50, 120]])
def test_no_cutting_merging_or_memory_changes_a_bit(cuts: list[int], tmp_path: Path) -> None:
    truth, scores = made(5, decimals=2)
    lists = sp.csr_array(scores * (scores > 0.6))
    whole = xmleval.evaluate(truth, lists, metrics=NAMES, confidence=0.9, conventions={"empty": "skip"})
    assert {*whole.confidence} == {*NAMES}
    assert whole.undefined_rows["aurc@1"] == (truth.sum(axis=1) == 0).sum()
    parts = []
    for start, stop in itertools.pairwise(cuts):
        part = xmleval.Evaluator(
            NAMES, n_labels=N_LABELS, confidence=0.9, conventions={"empty": "skip"}, block_rows=9,
            memory=20_000_000,
        )  # fmt: skip
        part.update(truth[start:stop], lists[start:stop], first_row=start)
        part.save(tmp_path / "state.npz")
        parts.append(xmleval.Evaluator.load(tmp_path / "state.npz"))
    merged = parts.pop()
    while parts:
        merged = merged.merge(parts.pop(0))
    found = merged.compute()
    assert dict(found) == dict(whole)
    assert found.confidence == whole.confidence


@pytest.mark.parametrize(("name", "column", "value"), [("hits3", 1, 500), ("hits1", 0, 7), ("rows", 1, 999)])
def test_saved_sums_that_do_not_fit_are_refused(name: str, column: int, value: int, tmp_path: Path) -> None:
    truth, scores = made(2, decimals=1)
    found = xmleval.Evaluator(NAMES, n_labels=N_LABELS)
    found.update(truth, scores)
    saved = contents(found.as_saved())
    array = saved.arrays[f"top_scores/{name}.held0"].copy()
    array.reshape(-1, 4)[0, column] = value
    save_state(tmp_path / "state.npz", Saved(saved.meta, {**saved.arrays, f"top_scores/{name}.held0": array}))
    with pytest.raises(ValueError, match=r"top_scores/.*(there are|possible|out of range or not sorted)"):
        xmleval.Evaluator.load(tmp_path / "state.npz")
