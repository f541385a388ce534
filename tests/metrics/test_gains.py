"""Truths of grades: DCG and nDCG by gains, judged labels, and the relevant ones of all other measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import Evaluator, compare, evaluate

TREC: dict[str, Any] = json.loads((Path(__file__).parent / "trec_eval.json").read_text())
NAMES = sorted({name for rows in (TREC["qrels"], TREC["run"]) for row in rows.values() for name in row})[::-1]
GAINS = ["linear", "exp"]
MEASURES = ["ndcg@3", "dcg@3", "ndcg@all", "dcg@all"]
Y = csr_array(np.array([[3, 0, 1, 0, 2], [0, 2, 0, 0, 0], [1, 0, 0, 4, 0], [0, 0, 0, 0, 1.0]]))
S = np.array([[0.1, 0.5, 0.9, 0.2, 0.3], [0.2, 0.1, 0.5, 0.3, 0], [0.9, 0.5, 0.4, 0.3, 0], [1, 2, 3, 4, 5.0]])


def of(y_true: Any = Y, y_score: Any = S, **more: Any) -> dict[str, float]:
    return dict(evaluate(y_true, y_score, **{"metrics": MEASURES, "gains": "linear"} | more))


@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("ties", ["average", "order"])
def test_values_are_those_of_scikit_learn(gains: str, ties: str) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    for _ in range(20):
        grades = rng.integers(0, 5, (9, 7))
        scores = rng.integers(0, 4, (9, 7)) / 4 if ties == "average" else rng.random((9, 7))
        true = grades if gains == "linear" else 2.0**grades - 1
        more = {"ignore_ties": ties == "order"}
        expected = [
            function(true, scores, k=k, **more)
            for k in (3, None)
            for function in (sklearn.ndcg_score, sklearn.dcg_score)
        ]
        found = of(grades, scores, gains=gains, conventions={"ndcg_ties": ties})
        np.testing.assert_allclose([*found.values()], expected, rtol=1e-12)


def test_fractional_grades_are_gains_as_in_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    grades = np.random.default_rng(4).random((6, 5))
    expected = sklearn.ndcg_score(grades, S[:1].repeat(6, axis=0))
    assert of(grades, S[:1].repeat(6, axis=0))["ndcg@all"] == pytest.approx(expected, rel=1e-12)


def test_values_are_those_of_trec_eval() -> None:
    """Values of pytrec_eval for qrels with negative grades and a run with ties, which it orders by name."""
    names = {
        "ndcg@3": "ndcg_cut_3",
        "ndcg@5": "ndcg_cut_5",
        "ndcg@12": "ndcg",
        "p@5": "P_5",
        "map_r@12": "map",
    }
    names |= {"mrr@12": "recip_rank"}
    check_trec(names, TREC["run"])


def test_judged_is_that_of_ir_measures() -> None:
    ranked = {  # which ranks the earlier name first
        row: sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        for row, scores in TREC["run"].items()
    }
    check_trec({"judged@3": "Judged@3"}, ranked)


def check_trec(names: dict[str, str], run: Any) -> None:
    more: dict[str, Any] = {"metrics": [*names], "gains": "linear", "labels": NAMES, "per_row": True}
    rows = evaluate(TREC["qrels"], run, **more).per_row()
    for ours, theirs in names.items():
        expected = [TREC["values"][row][theirs] for row in rows["name"]]
        np.testing.assert_allclose(rows[ours], expected, rtol=1e-12, err_msg=ours)


@pytest.mark.parametrize("gains", GAINS)
def test_a_binary_truth_has_the_values_of_unit_gains(gains: str) -> None:
    plain = of(Y > 0, gains=None, metrics=[*MEASURES, "p@1", "f1.macro@2"])
    for name, value in of(Y > 0, gains=gains, metrics=[*plain]).items():
        assert value == pytest.approx(plain[name], rel=1e-14)


def test_labels_with_a_positive_grade_are_relevant_and_all_others_judged() -> None:
    grades = csr_array(([2, 0, -1, 1], ([0, 0, 0, 1], [0, 1, 2, 3])), shape=(2, 4))
    ranked = np.array([[2, 1, 0, 3], [0, 3, 1, -1]])
    found = of(grades, (ranked, None), metrics=["judged@1", "judged@3", "p@3", "r@3", "ndcg@3", "dcg@3"])
    # rows: judged 3 of 3 and 1 of 3; hits at rank 3 (grade 2) and at rank 2
    assert found == pytest.approx(
        {
            "judged@1": 0.5,
            "judged@3": 2 / 3,
            "p@3": 1 / 3,
            "r@3": 1.0,
            "ndcg@3": (1 / 2 + 1 / np.log2(3)) / 2,
            "dcg@3": (2 / 2 + 1 / np.log2(3)) / 2,
        }
    )


def test_all_cells_of_a_dense_truth_are_judged() -> None:
    assert of(Y.toarray(), metrics="judged@5") == {"judged@5": 1.0}
    assert of(Y, metrics="judged@5")["judged@5"] < 1


def test_a_truth_that_judges_no_label_as_irrelevant_is_told(tmp_path: Path) -> None:
    said = "so that only relevant labels are judged and judged@2, judged@3 is the precision"
    zero = csr_array(([2.0, 0.0], ([0, 3], [1, 2])), shape=Y.shape)  # which is stored
    for truth, told in ((Y, 1), (Y.toarray(), 0), (zero, 0), (Y.toarray().clip(1), 1)):
        notes = evaluate(truth, S, metrics="judged", k=[2, 3], gains="linear").notes
        assert sum(said in note for note in notes) == told
    assert not any("judged" in note for note in evaluate(Y, S, metrics="ndcg@3", gains="linear").notes)
    parts = [Evaluator(["judged@2"], n_labels=5, gains="exp") for _ in range(2)]
    for part, truth in zip(parts, (Y, zero), strict=True):
        part.update(truth, S)
        part.save(tmp_path / "part.npz")
        notes = Evaluator.load(tmp_path / "part.npz").compute().notes
        assert any("only relevant labels are judged" in note for note in notes) == (truth is Y)
    assert not any("judged" in note for note in parts[0].merge(parts[1]).compute().notes)


def test_perfect_order_is_one_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    grades = rng.random((50, 40)) * (rng.random((50, 40)) < 0.5)
    for depth in (7, 40):
        assert of(grades, grades, metrics=f"ndcg@{depth}") == {f"ndcg@{depth}": 1.0}


def test_streams_saves_and_merges_to_the_same_bits(tmp_path: Path) -> None:
    whole = of(metrics=[*MEASURES, "judged@2"], gains="exp")
    parts = []
    for start in range(4):
        part = Evaluator([*whole], n_labels=5, gains="exp", threads=1)
        part.update(Y[[start]], S[[start]], first_row=start)
        part.save(tmp_path / f"{start}.npz")
        parts.append(Evaluator.load(tmp_path / f"{start}.npz"))
    assert dict(parts[2].merge(parts[0]).merge(parts[3]).merge(parts[1]).compute()) == whole
    other = Evaluator([*whole], n_labels=5, gains="linear")
    with pytest.raises(ValueError, match=r"^merge: gains differs: exp here, linear there"):
        parts[0].merge(other)


def test_intervals_groups_weights_and_comparisons_follow() -> None:
    rng = np.random.default_rng(2)
    grades, scores = rng.integers(0, 4, (90, 6)), rng.random((90, 6))
    groups = ["a", "b"] * 3
    report = evaluate(
        grades, scores, metrics=["ndcg@3", "judged@3"], gains="exp", confidence=0.95,
        label_groups=dict(enumerate(groups)), row_groups=np.arange(90) % 2, sample_weight=np.full(90, 0.5),
    )  # fmt: skip
    plain = of(grades, scores, metrics="ndcg@3", gains="exp")
    assert report["ndcg@3"] == plain["ndcg@3"]
    low, high = report.confidence["ndcg@3"]
    assert low < plain["ndcg@3"] < high
    even, some = grades[:, ::2], grades[:, ::2].any(axis=1)
    within = of(even[some], scores[:, ::2][some], metrics="ndcg@3", gains="exp")
    assert report.groups["a"]["ndcg@3"] == within["ndcg@3"]
    assert (
        report.row_groups["1"]["ndcg@3"]
        == of(grades[1::2], scores[1::2], metrics="ndcg@3", gains="exp")["ndcg@3"]
    )
    compared = compare({"one": scores, "two": -scores}, grades, metrics="ndcg@3", gains="exp")
    assert compared.reports["one"]["ndcg@3"] == plain["ndcg@3"]


def test_what_is_left_out_has_no_grade() -> None:
    pairs = [(0, 0), (2, 3)]
    less = Y.toarray()
    less[[0, 2], [0, 3]] = 0
    ranked = np.argsort(-S, axis=1)
    kept = [[label for label in row if (number, label) not in pairs] for number, row in enumerate(ranked)]
    lists = np.array([[*row, -1][:5] if len(row) < 5 else row for row in kept])
    expected = of(csr_array(less), (lists, None), metrics=["ndcg@3", "judged@3"])
    assert of(Y, (ranked, None), metrics=[*expected], exclude=pairs) == expected


@pytest.mark.parametrize(
    ("y_true", "more", "told"),
    [
        (Y, {"gains": None}, "y_true: row 0: value 3.0 is neither 0 nor 1 in a label set; grades need"),
        (Y / 8, {"gains": None}, "are the truth and the scores swapped? Grades need gains='linear' or 'exp'"),
        (Y / 8, {"gains": "exp"}, "y_true: row 0: grade 0.375 is not a whole number, as gains='exp' needs"),
        (Y * 9, {"gains": "exp"}, "y_true: row 2: grade 36.0 is above 32, the most that gains='exp' takes"),
        (Y * 1e10, {}, "y_true: row 0: grade 30000000000.0 is neither 0 nor within 2^-30..2^32"),
        (Y * np.nan, {}, "y_true: row 0: grade nan is no number"),
        (Y, {"gains": "cubic"}, "conventions: gains='cubic' is not one of binary, linear, exp"),
        (Y > 0, {"gains": None, "metrics": "judged@2"}, "judged@2 needs gains=, as for a truth of grades"),
        (
            {"q": {"a": 0.5}},
            {"y_score": {"q": {"a": 1}}, "gains": None},
            "value 0.5 is no judgement, an integer; scores go to y_score; are the truth and the scores",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_a_grade_is_told(y_true: Any, more: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as caught:
        of(y_true, **more)
    assert told in str(caught.value)


def test_grades_that_are_not_asked_for_are_noted() -> None:
    report = evaluate({"q": {"a": 2, "b": 0}}, {"q": {"b": 1, "a": 0.5}}, metrics=["ndcg@2"])
    assert "y_true: grades above 1 count as 1, unless gains= is given" in report.notes
    others = evaluate({"q": {"a": 2, "b": 0}}, {"q": {"b": 1, "a": 0.5}}, metrics=["p@2"])
    assert not others.notes
