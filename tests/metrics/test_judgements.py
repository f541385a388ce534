"""bpref, interpolated precision and ERR: values of trec_eval and gdeval, and refusals."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
import scipy.sparse as sp
from scipy.sparse import csr_array

from tests.metrics.graded_problems import CUTOFFS, LEVELS, SEEDS, graded_problem
from xmleval import evaluate

VALUES = json.loads((Path(__file__).parent / "ir_measures.json").read_text())["values"]
RECALLS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
TREC = {
    "bpref": "bpref",
    "map_11pt": "11pt_avg",
    **{f"iprec(recall={recall:g})": f"iprec_at_recall_{recall:.2f}" for recall in RECALLS},
}
GRADES = csr_array(np.array([[3.0, 0, 1, 0], [0, 2, 0, 0]]))
SCORES = np.array([[2, 1, 3, 4], [1, 4, 3, 2.0]])


@pytest.mark.parametrize("level", LEVELS)
def test_bpref_and_interpolated_precision_are_those_of_trec_eval(level: int) -> None:
    requested = {"bpref", "iprec_at_recall", "11pt_avg"}
    conventions = f"gains=linear,relevant_from={level}"
    for seed in SEEDS:
        qrels, run = graded_problem(seed)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, requested, relevance_level=level)
        expected = evaluator.evaluate(run)
        report = evaluate(qrels, run, metrics=[*TREC], conventions=conventions, per_row=True)
        rows = report.per_row()
        for name, trec in TREC.items():
            theirs = [expected[query][trec] for query in qrels]
            # trec_eval divides in single precision
            np.testing.assert_allclose(rows[name], theirs, atol=2e-7, err_msg=f"{seed} {name}")


@pytest.mark.parametrize("gains", ["gains=linear", "gains=exp", "relevant_from=3"])
def test_err_is_that_of_gdeval(gains: str) -> None:
    names = [f"err@{k}" for k in CUTOFFS]
    values: dict[str, list[float]] = {name: [] for name in names}
    for seed in SEEDS:
        report = evaluate(*graded_problem(seed), metrics=names, conventions=gains, per_row=True)
        for name in report:
            values[name.replace("(max_grade=4)", "")] += report.per_row()[name].tolist()
    for k in CUTOFFS:  # which gdeval prints to five digits
        np.testing.assert_allclose(values[f"err@{k}"], VALUES[f"ERR@{k}"], atol=6e-6)


def values(truth: Any = GRADES, scores: Any = SCORES, **options: Any) -> list[float]:
    return [*evaluate(truth, scores, **{"conventions": "gains=linear"} | options).values()]


def test_measures_by_hand() -> None:
    # row 0: labels 3, 2, 0, 1 with grades -, 1, 3, -; only stored cells are judged
    row = {"truth": GRADES[[0]], "scores": SCORES[:1]}
    first = 1 / 16 / 2
    assert values(**row, metrics="err@3") == [first + (1 - 1 / 16) * (7 / 16) / 3]
    assert values(**row, metrics="err(max_grade=3)@2") == [1 / 8 / 2]
    assert values(**row, metrics="bpref") == [1.0]
    dense = {"truth": GRADES[[0]].toarray(), "scores": SCORES[:1]}
    assert values(**dense, metrics="bpref") == [(2 - 1 / 2 - 1 / 2) / 2]
    assert values(**dense, metrics=["iprec(recall=0.1)", "iprec(recall=0)"]) == [2 / 3, 2 / 3]
    assert values(**dense, metrics="map_11pt") == [pytest.approx(2 / 3)]


def test_bpref_needs_judged_labels_and_iprec_does_not() -> None:
    message = 'bpref needs conventions="gains=..."'
    with pytest.raises(ValueError, match=re.escape(message)):
        values(GRADES > 0, metrics="bpref", conventions=None)
    assert values(GRADES > 0, metrics="iprec(recall=0.5)", conventions=None) == [
        pytest.approx(5 / 6)
    ]


def test_judgements_of_relevant_labels_alone_are_noted() -> None:
    metrics = ["bpref", "err@2", "judged@2", "rbp@2", "rbp_residual@2"]
    message = (
        "only relevant labels are judged and bpref is the recall of whole lists; judged@2 is the "
        "precision; rbp_residual(p=0.8)@2 is 1 - rbp"
    )
    conventions = "gains=linear,relevant_from=1"
    for truth, is_noted in ((GRADES, True), (GRADES.toarray(), False)):
        report = evaluate(truth, SCORES, metrics=metrics, conventions=conventions)
        assert any(note.endswith(message) for note in report.notes) == is_noted
        is_one = report["rbp(p=0.8)@2"] + report["rbp_residual(p=0.8)@2"] == pytest.approx(1)
        assert is_one == is_noted


@pytest.mark.parametrize(
    ("truth", "metric", "message"),
    [
        (GRADES * 0.5, "err@2", "y_true: grade 1.5 is not a whole number up to 32, as err needs"),
        (GRADES * 2, "err@2", "y_true: grade 6 is above 4; give err(max_grade=6)"),
        (GRADES, "err(max_grade=0)@2", "max_grade=0 is not an integer in 1..32"),
        (GRADES, "iprec(recall=1.5)", "recall=1.5 is not from 0 to 1"),
        (GRADES, "iprec", "'iprec': needs recall, as in iprec(recall=0.1)"),
    ],
)
def test_wrong_grades_and_parameters_are_refused(truth: Any, metric: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        values(truth, metrics=metric)


def test_err_reads_grades_below_the_level_of_relevance() -> None:
    expected = values(metrics="err@3")
    for level in (2, 3, 4):
        assert values(metrics="err@3", conventions=f"relevant_from={level}") == expected
        conventions = f"gains=exp,empty=skip,relevant_from={level}"
        assert values(metrics="err@3", conventions=conventions) == expected


def test_err_takes_the_largest_grade_of_all() -> None:
    """The reader of a label of grade 32 stops there but for one of 2^32."""
    truth = np.array([[32, 0, 31]])
    scores = np.array([[2.0, 3.0, 1.0]])
    stops = [(2**32 - 1) / 2**32, (2**31 - 1) / 2**32]
    expected = stops[0] / 2 + (1 - stops[0]) * stops[1] / 3
    assert values(truth, scores, metrics="err(max_grade=32)@3") == [pytest.approx(expected)]
    with pytest.raises(ValueError, match="grade 33 is not a whole number up to 32"):
        values(truth + (truth == 32), scores, metrics="err(max_grade=32)@3")


@pytest.mark.parametrize("ties", ["order", "expected"])
def test_judged_share_of_a_short_list_is_that_of_its_labels(ties: str) -> None:
    truth = np.array([[1, 0, 0, 0]])
    scores = sp.csr_array([[0.5, 0.2, 0, 0]])
    conventions = {"ties": ties, "gains": "linear"}
    assert evaluate(truth, scores, metrics="judged@3", conventions=conventions)["judged@3"] == 1.0
