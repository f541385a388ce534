"""Truths of grades: DCG and nDCG by gains, judged labels, and refusals."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import Evaluator, evaluate

TREC: dict[str, Any] = json.loads((Path(__file__).parent / "trec_eval.json").read_text())
ROWS = [*TREC["qrels"].values(), *TREC["run"].values()]
NAMES = sorted({name for row in ROWS for name in row}, reverse=True)
MEASURES = ["ndcg@3", "dcg@3", "ndcg@all", "dcg@all"]
Y = csr_array(
    np.array(
        [
            [3.0, 0, 1, 0, 2],
            [0, 2, 0, 0, 0],
            [1, 0, 0, 4, 0],
            [0, 0, 0, 0, 1],
        ]
    )
)
S = np.array(
    [
        [0.1, 0.5, 0.9, 0.2, 0.3],
        [0.2, 0.1, 0.5, 0.3, 0],
        [0.9, 0.5, 0.4, 0.3, 0],
        [1, 2, 3, 4, 5],
    ]
)


def values(y_true: Any = Y, y_score: Any = S, **options: Any) -> dict[str, float]:
    defaults = {"metrics": MEASURES, "conventions": "gains=linear"}
    return dict(evaluate(y_true, y_score, **defaults | options))


def random_grades(rng: np.random.Generator, gains: str) -> Any:
    if gains == "fractions":
        return rng.random((9, 7))
    return rng.integers(0, 5, (9, 7))


def random_scores(rng: np.random.Generator, ties: str) -> Any:
    """Return scores, with ties if these are averaged."""
    if ties == "expected_dcg":
        return rng.integers(0, 4, (9, 7)) / 4
    return rng.random((9, 7))


@pytest.mark.parametrize("gains", ["linear", "exp", "fractions"])
@pytest.mark.parametrize("ties", ["expected_dcg", "order"])
def test_dcg_and_ndcg_are_those_of_scikit_learn(gains: str, ties: str) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    options = {"ignore_ties": ties == "order"}
    for _ in range(20):
        grades = random_grades(rng, gains)
        scores = random_scores(rng, ties)
        true = 2.0**grades - 1 if gains == "exp" else grades
        expected = []
        for k in (3, None):
            expected.append(sklearn.ndcg_score(true, scores, k=k, **options))
            expected.append(sklearn.dcg_score(true, scores, k=k, **options))
        rule = gains.replace("fractions", "linear")
        actual = values(grades, scores, conventions=f"gains={rule},ties={ties}")
        np.testing.assert_allclose([*actual.values()], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "by_name"),
    [
        (
            {
                "ndcg@3": "ndcg_cut_3",
                "ndcg@5": "ndcg_cut_5",
                "ndcg@12": "ndcg",
                "p@5": "P_5",
                "map_r@12": "map",
                "mrr@12": "recip_rank",
            },
            False,
        ),
        ({"judged@3": "Judged@3"}, True),  # ir_measures ranks the earlier name first
    ],
)
def test_graded_measures_are_those_of_trec_eval(names: dict[str, str], by_name: bool) -> None:
    """The qrels have negative grades and the run has ties, which trec_eval orders by name."""
    run = dict(TREC["run"])
    if by_name:
        for row, scores in run.items():
            run[row] = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    options: dict[str, Any] = {
        "metrics": [*names],
        "conventions": "gains=linear",
        "labels": NAMES,
        "per_row": True,
    }
    rows = evaluate(TREC["qrels"], run, **options).per_row()
    for ours, theirs in names.items():
        expected = [TREC["values"][row][theirs] for row in rows["name"]]
        np.testing.assert_allclose(rows[ours], expected, rtol=1e-12, err_msg=ours)


def test_judged_is_noted_if_no_label_is_judged_irrelevant() -> None:
    message = "so only relevant labels are judged and judged@2, judged@3 is the precision"
    stored_zero = csr_array(([2.0, 0.0], ([0, 3], [1, 2])), shape=Y.shape)
    # all cells of a dense truth are judged
    for truth, count in ((Y, 1), (Y.toarray(), 0), (stored_zero, 0), (Y.toarray().clip(1), 1)):
        notes = evaluate(truth, S, metrics="judged", k=[2, 3], conventions="gains=linear").notes
        assert sum(message in note for note in notes) == count
    assert values(Y.toarray(), metrics="judged@5") == {"judged@5": 1.0}
    report = evaluate(Y, S, metrics="ndcg@3", conventions="gains=linear")
    assert not any("judged" in note for note in report.notes)
    parts = [Evaluator(["judged@2"], n_labels=5, conventions="gains=exp") for _ in range(2)]
    for part, truth in zip(parts, (Y, stored_zero), strict=True):
        part.update(truth, S)
    assert not any("judged" in note for note in parts[0].merge(parts[1]).compute().notes)


def test_judged_is_a_share_of_the_length_of_a_short_list() -> None:
    qrels = {"a": {"x": 1, "y": 0}, "b": {"x": 2, "z": 0}, "c": {"y": 1, "w": 0}, "d": {"x": 1}}
    run = {
        "a": {"x": 3.0},  # 1 of 1
        "b": {"w": 3.0, "z": 2.0},  # 1 of 2
        "c": {"x": 4.0, "y": 3.0, "z": 2.0, "w": 1.0},  # 1 of the first 3 of 4
        "d": {"y": 2.0, "z": 1.0},  # 0 of 2
    }
    options: dict[str, Any] = {
        "metrics": ["judged@3"],
        "conventions": "gains=linear",
        "labels": [*"wxyz"],
    }
    rows = evaluate(qrels, run, **options, per_row=True).per_row()["judged@3"]
    assert rows.tolist() == [1, 1 / 2, 1 / 3, 0]
    without_list = evaluate({**qrels, "e": {"x": 1}}, {**run, "e": {}}, **options, per_row=True)
    assert without_list.per_row()["judged@3"].tolist() == [1, 1 / 2, 1 / 3, 0, 0]


def test_ndcg_of_perfect_order_is_exactly_one() -> None:
    rng = np.random.default_rng(0)
    grades = rng.random((50, 40)) * (rng.random((50, 40)) < 0.5)
    assert values(grades, grades, metrics=["ndcg@7", "ndcg@40"]) == {"ndcg@7": 1.0, "ndcg@40": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"conventions": None},
            "y_true: row 0: value 3.0 is neither 0 nor 1 in a label set; grades need",
        ),
        (
            {"y_true": Y / 8, "conventions": "gains=exp"},
            'y_true: row 0: grade 0.375 is not a whole number, which conventions="gains=exp" needs',
        ),
        (
            {"y_true": Y * 9, "conventions": "gains=exp"},
            'y_true: row 2: grade 36.0 is above 32, the most that conventions="gains=exp" takes',
        ),
        (
            {"y_true": Y * 1e10},
            "y_true: row 0: grade 30000000000.0 is neither 0 nor within 2^-30..2^32",
        ),
        (
            {"y_true": Y > 0, "conventions": None, "metrics": "judged@2"},
            'judged@2 needs conventions="gains=...", for a truth with grades',
        ),
        (
            {"y_true": {"q": {"a": 0.5}}, "y_score": {"q": {"a": 1}}, "conventions": None},
            "value 0.5 is not an integer judgement; give scores as y_score; "
            "are the truth and the scores",
        ),
    ],
)
def test_evaluate_refuses_wrong_grades(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        values(**arguments)


def test_grades_without_gains_are_noted() -> None:
    truth = {"q": {"a": 2, "b": 0}}
    scores = {"q": {"b": 1, "a": 0.5}}
    notes = evaluate(truth, scores, metrics=["ndcg@2"]).notes
    assert 'y_true: grades above 1 count as 1, unless conventions="gains=..." is given' in notes
    assert not evaluate(truth, scores, metrics=["p@2"]).notes
