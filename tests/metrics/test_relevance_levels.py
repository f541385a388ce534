"""Relevant labels from a grade on: values of trec_eval at levels, notes and refusals."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from scipy.sparse import csr_array

from tests.commands import json_of
from tests.metrics.graded_problems import LEVELS, SEEDS, Qrels, Run, graded_problem
from xmleval import Conventions, Evaluator, compare, evaluate

TREC = {
    "p@5": "P_5",
    "r@5": "recall_5",
    "map@all": "map",
    "map_r@10": "map_cut_10",
    "mrr@all": "recip_rank",
    "rprec": "Rprec",
    "hit@5": "success_5",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@all": "ndcg",
}
REQUESTED = {"P.5", "recall.5", "map", "map_cut.10", "recip_rank", "Rprec", "success.5", "ndcg"}
REQUESTED.add("ndcg_cut.5")
GRADES = csr_array(np.array([[3.0, 0, 1, 0], [0, 2, 0, 0], [1, 0, 0, 0]]))
SCORES = np.array([[2, 1, 3, 4], [1, 4, 3, 2], [4, 3, 2, 1.0]])


def trec_rows(qrels: Qrels, run: Run, level: int, names: dict[str, str]) -> dict[str, list[float]]:
    """Return the values of trec_eval by names of xmleval, for each query."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, REQUESTED, relevance_level=level)
    rows = evaluator.evaluate(run)
    return {name: [rows[query][trec] for query in qrels] for name, trec in names.items()}


@pytest.mark.parametrize("level", LEVELS)
def test_measures_of_labels_from_a_grade_on_are_those_of_trec_eval(level: int) -> None:
    conventions = f"gains=linear,relevant_from={level}"
    for seed in SEEDS:
        qrels, run = graded_problem(seed)
        report = evaluate(qrels, run, metrics=[*TREC], conventions=conventions, per_row=True)
        rows = report.per_row()
        for name, expected in trec_rows(qrels, run, level, TREC).items():
            np.testing.assert_allclose(rows[name], expected, atol=1e-12, err_msg=f"{seed} {name}")


@pytest.mark.parametrize("gains", ["binary", "linear", "exp"])
@pytest.mark.parametrize("level", [2, 3])
def test_measures_of_relevance_are_those_of_the_binary_truth(gains: str, level: int) -> None:
    metrics = ["p@2", "map@all", "lrap", "auc.micro", "f1.macro@2", "psp@1", "label_cardinality"]
    if gains == "binary":
        metrics.append("ndcg@2")
    q = np.linspace(1, 3, 4)
    conventions = f"gains={gains},relevant_from={level}"
    truths: list[Any] = [GRADES, GRADES.toarray()]
    binary = csr_array((GRADES.toarray() >= level).astype(int))
    expected = evaluate(binary, SCORES, metrics=metrics, inverse_propensity=q)
    for truth in truths:
        options: dict[str, Any] = {"inverse_propensity": q, "conventions": conventions}
        report = evaluate(truth, SCORES, metrics=metrics, **options)
        assert dict(report) == dict(expected)
        assert f"relevant_from={level}" in report.signature()


def test_gains_stay_those_of_all_grades() -> None:
    metrics = ["ndcg@2", "dcg@all"]
    for gains in ("linear", "exp"):
        expected = evaluate(GRADES, SCORES, metrics=metrics, conventions=f"gains={gains}")
        conventions = f"gains={gains},relevant_from=3"
        report = evaluate(GRADES, SCORES, metrics=metrics, conventions=conventions)
        assert dict(report) == dict(expected)
        message = 'conventions="relevant_from=..." has no effect on ndcg@2, dcg@all; it is for '
        assert any(note.startswith(message) for note in report.notes)


def notes(metrics: Any, conventions: Any, truth: Any = GRADES) -> str:
    return "\n".join(evaluate(truth, SCORES, metrics=metrics, conventions=conventions).notes)


def test_grades_above_1_are_noted_where_measures_read_relevance() -> None:
    message = "grades above 1 occur, and measures of relevant labels, such as p@1, count grade 1"
    remedy = 'conventions="relevant_from=2" counts grades from 2 on'
    assert message in notes("p@1", "gains=linear")
    assert remedy in notes(["ndcg@1", "p@1"], "beir")
    for silent in ("gains=linear,relevant_from=1", "gains=linear,relevant_from=2"):
        assert message not in notes("p@1", silent)
    assert message not in notes("ndcg@1", "gains=linear")
    assert message not in notes("p@1", "gains=linear", GRADES > 0)
    assert message not in notes("p@1", "gains=linear", 2 * GRADES)  # no label of grade 1
    parts = [Evaluator("p@1", n_labels=4, conventions="gains=linear") for _ in range(2)]
    for part, truth in zip(parts, (GRADES > 0, 2 * GRADES), strict=True):
        part.update(truth, SCORES)
        assert message not in "".join(part.compute().notes)
    assert message in "".join(parts[0].merge(parts[1]).compute().notes)


def test_a_level_that_no_grade_reaches_is_noted() -> None:
    message = (
        "no label of the truth has a grade of 4 or above, as conventions="
        '"relevant_from=4" asks for: measures are 0 or undefined'
    )
    assert message in notes("p@1", "relevant_from=4")


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", "nan", True, None, 1 << 40])
def test_level_is_a_whole_number_from_1(value: Any) -> None:
    if value is True:
        assert Conventions(relevant_from=value).relevant_from == 1
        return
    with pytest.raises(ValueError, match=re.escape('"relevant_from=')):
        Conventions(relevant_from=value)


def test_reports_of_several_levels_differ_in_their_conventions() -> None:
    reports = []
    for level in ("1", 2):
        fields = {"gains": "linear", "relevant_from": level}
        reports.append(evaluate(GRADES, SCORES, metrics="p@1", conventions=fields))
    assert [each.to_dict()["conventions"]["relevant_from"] for each in reports] == [1, 2]
    assert [each["p@1"] for each in reports] == [2 / 3, 1 / 3]
    comparison = compare(GRADES, {"a": SCORES, "b": -SCORES}, metrics="p@1", conventions=fields)
    assert comparison["a"]["p@1"] == 1 / 3


def test_level_is_an_option_of_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q 0 a 1\nq 0 b 2\n")
    Path("r.txt").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    files = "evaluate q.txt r.txt --input-format qrels --metrics p@1,mrr@all"
    assert json_of(f"{files} --relevant-from 2")["values"] == {"p@1": 0.0, "mrr@all": 0.5}
    assert json_of(f"{files} --conventions beir,relevant_from=1")["values"]["p@1"] == 1.0
