"""Relevant labels from a grade on, of all measures or of one: trec_eval, notes and refusals."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from scipy.sparse import csr_array

from tests.commands import json_of
from tests.metrics.graded_problems import LEVELS, SEEDS, Qrels, Run, graded_problem
from xmleval import Conventions, Evaluator, compare, diff, evaluate
from xmleval.metrics.spec import parse_spec

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


OF_RELEVANCE = {name: trec for name, trec in TREC.items() if not name.startswith("ndcg")}


def at_level(name: str, level: int) -> str:
    """Return the name of a measure with a level of relevance."""
    head, at, cutoff = name.partition("@")
    return f"{head}(rel={level}){at}{cutoff}"


@pytest.mark.parametrize("conventions", [None, "gains=linear,relevant_from=3"])
def test_level_of_a_measure_gives_the_values_of_trec_eval(conventions: str | None) -> None:
    names = [at_level(name, level) for name in OF_RELEVANCE for level in LEVELS]
    for seed in SEEDS[:50]:
        qrels, run = graded_problem(seed)
        report = evaluate(qrels, run, metrics=names, conventions=conventions, per_row=True)
        rows = report.per_row()
        for level in LEVELS:
            for name, expected in trec_rows(qrels, run, level, OF_RELEVANCE).items():
                values = rows[at_level(name, level)]
                np.testing.assert_allclose(values, expected, atol=1e-12, err_msg=f"{seed} {name}")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("AP(rel=2)@100", "map_r(rel=2)@100"),
        ("AP(rel=2)", "map(rel=2)@all"),
        ("MAP(rel=2)@100", "map(rel=2)@100"),
        ("RR(rel=2)@10", "mrr(rel=2)@10"),
        ("RR(rel=2)", "mrr(rel=2)@all"),
        ("P(rel=2)@5", "p(rel=2)@5"),
        ("Precision(rel=2)@5", "p(rel=2)@5"),
        ("R(rel=1)@5", "r(rel=1)@5"),
        ("Success(rel=2)@5", "hit(rel=2)@5"),
        ("Rprec(rel=3)", "rprec(rel=3)"),
        ("Bpref(rel=2)", "bpref(rel=2)"),
        ("RBP(rel=1,p=0.9)@10", "rbp(p=0.9,rel=1)@10"),
        ("RBP(rel=1)", "rbp(p=0.8,rel=1)@all"),
        ("IPrec(rel=2)@0.1", "iprec(recall=0.1,rel=2)"),
    ],
)
def test_names_of_ir_measures_with_a_level_are_read(text: str, name: str) -> None:
    spec = parse_spec(text)
    assert spec.name == name
    assert parse_spec(name) == spec
    assert spec.level == int(text.partition("rel=")[2][0])


@pytest.mark.parametrize("text", ["IPrec@0.1", "iprec_at_recall_0.10", "iprec(recall=0.1)"])
def test_names_of_other_programs_with_a_recall_are_read(text: str) -> None:
    assert parse_spec(text).name == "iprec(recall=0.1)"


def test_level_is_printed_with_the_measure() -> None:
    symbols = {
        "p(rel=2)@5": "P (rel=2)@5",
        "rbp(p=0.8,rel=2)@5": "RBP (p=0.8, rel=2)@5",
        "map(rel=3)@all": "MAP (rel=3)@all",
        "rprec(rel=2)": "R-Prec (rel=2)",
    }
    assert {name: parse_spec(name).symbol for name in symbols} == symbols
    report = evaluate(GRADES, SCORES, metrics=["p", "p(rel=2)"], k=[1, 2])
    assert [*report] == ["p@1", "p@2", "p(rel=2)@1", "p(rel=2)@2"]
    assert "P (rel=2)" in str(report)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg(rel=2)@5", "ndcg takes no rel: it reads the gains of all grades"),
        ("dcg(rel=2)@all", "dcg takes no rel: it reads the gains of all grades"),
        ("err(max_grade=4,rel=2)@5", "err takes no rel: it reads the gains of all grades"),
        ("judged(rel=2)@5", "judged takes no rel: it does not depend on which labels are relevant"),
        ("f1.macro(rel=2)@5", 'f1.macro takes no rel; conventions="relevant_from=2" sets'),
        ("auc.micro(rel=2)", 'auc.micro takes no rel; conventions="relevant_from=2" sets'),
        ("f1.of_means(rel=2)@5", 'f1.of_means takes no rel; conventions="relevant_from=2" sets'),
        ("p(rel=0)@5", "rel='0' is not a whole number from 1"),
        ("p(rel=1.5)@5", "rel='1.5' is not a whole number from 1"),
        ("p(rel=4294967296)@5", "is not a whole number from 1"),
        ("p(rel=two)@5", "rel='two' is not a whole number from 1"),
        ("p(rel)@5", "rel='' is not a whole number from 1"),
        ("p(rel=1,rel=2)@5", "rel is given twice"),
    ],
)
def test_level_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        evaluate(GRADES, SCORES, metrics=name)
    assert "\n" not in str(error.value)


def test_measures_of_several_levels_stand_in_one_report() -> None:
    metrics = ["p@2", "p(rel=1)@2", "p(rel=2)@2", "p(rel=3)@2", "ndcg@2"]
    report = evaluate(GRADES, SCORES, metrics=metrics, conventions="relevant_from=2")
    values = [evaluate(n <= GRADES, SCORES, metrics="p@2")["p@2"] for n in (2, 1, 2, 3)]
    assert [*report.values()][:4] == values
    assert report["ndcg@2"] == evaluate(GRADES >= 2, SCORES, metrics="ndcg@2")["ndcg@2"]


def test_level_reads_grades_and_leaves_other_measures_as_they_are() -> None:
    report = evaluate(GRADES, SCORES, metrics=["p@1", "map(rel=2)@2"])
    assert report["p@1"] == evaluate(GRADES > 0, SCORES, metrics="p@1")["p@1"]
    message = "grades above 1 occur, and measures of relevant labels, such as p@1, count grade 1"
    assert any(note.startswith(message) for note in report.notes)
    assert not evaluate(GRADES, SCORES, metrics="map(rel=2)@2").notes
    with pytest.raises(ValueError, match=r"bpref needs conventions=\"gains=\.\.\.\""):
        evaluate(GRADES, SCORES, metrics=["bpref", "bpref(rel=2)"])


def test_bpref_at_a_level_counts_lower_grades_as_judged() -> None:
    qrels = {"q": {"a": 1, "b": 2}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    report = evaluate(qrels, run, metrics=["bpref(rel=1)", "bpref(rel=2)"])
    assert [*report.values()] == [1.0, 0.0]
    (note,) = report.notes
    assert note.endswith(
        "only relevant labels are judged and bpref(rel=1) is the recall of whole lists"
    )


def test_a_level_of_a_measure_that_no_grade_reaches_is_noted() -> None:
    report = evaluate(GRADES, SCORES, metrics=["p@1", "p(rel=4)@1", "map(rel=4)@all"])
    assert report["p(rel=4)@1"] == 0
    message = (
        "no label of the truth has a grade of 4 or above, as p(rel=4)@1, map(rel=4)@all ask for: "
        "they are 0 or undefined"
    )
    assert message in report.notes


def test_relevant_from_has_no_effect_on_measures_with_a_level() -> None:
    message = 'conventions="relevant_from=..." has no effect on p(rel=2)@1; it is for '
    assert message in notes("p(rel=2)@1", "relevant_from=3")


def test_measures_with_a_level_have_no_values_by_label() -> None:
    report = evaluate(GRADES, SCORES, metrics=["p@1", "p(rel=2)@2"], per_label=True)
    assert "tp@1" in report.per_label()
    assert "tp@2" not in report.per_label()
    with pytest.raises(ValueError, match=re.escape("no measure has values by label: p(rel=2)@2")):
        evaluate(GRADES, SCORES, metrics="p(rel=2)@2", per_label=["p(rel=2)@2"])


def test_level_goes_with_judged_cells_and_exclusions() -> None:
    names = ["map(rel=2)@3", "r(rel=2)@2", "lrap(rel=2)", "bpref(rel=2)"]
    plain = ["map@3", "r@2", "lrap", "bpref"]
    truth = np.array([[3.0, 0, 1, np.nan], [0, 2, np.nan, 1], [1, 2, 0, 2]])
    marked = {"y_true": truth, "unjudged": np.nan}
    excluded = {"y_true": np.nan_to_num(truth), "exclude": [(0, 0), (2, 1), (1, 3)]}
    listed = {"y_true": csr_array(np.nan_to_num(truth)), "judged": "truth"}
    for arguments in (marked, excluded, listed):
        report = evaluate(y_score=SCORES, metrics=names, **arguments)
        expected = evaluate(
            y_score=SCORES, metrics=plain, conventions="relevant_from=2", **arguments
        )
        assert [*report.values()] == [*expected.values()]


def test_changed_rows_have_the_relevant_labels_of_the_level() -> None:
    changes = diff(GRADES, SCORES, -SCORES, metric="p(rel=2)@2")
    rows = changes.to_dict()["changes"]["rows"]
    assert {row["number"]: row["truth"] for row in rows} == {0: [0], 1: [1]}
    assert "hits of labels are not counted by level" in str(changes)
    message = (
        "no measure has values by label, or a cutoff to count hits at: p(rel=2)@2; hits of labels"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        compare(GRADES, {"a": SCORES, "b": -SCORES}, metrics="p(rel=2)@2", worst=1)


def test_level_of_a_measure_in_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q 0 a 1\nq 0 b 2\n")
    Path("r.txt").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    files = "evaluate q.txt r.txt --input-format qrels --metrics"
    result = json_of(f"{files} P(rel=2)@1,RR(rel=2),p@1")
    assert result["values"] == {"p(rel=2)@1": 0.0, "mrr(rel=2)@all": 0.5, "p@1": 1.0}


def test_a_note_says_that_measures_of_gains_count_grades_as_1() -> None:
    truth = {"q": {"a": 3, "b": 1, "c": 0}}
    run = {"q": {"a": 0.5, "c": 0.25, "b": 0.125}}

    def notes(metrics: list[str], conventions: str | None) -> list[str]:
        report = evaluate(truth, run, metrics=metrics, conventions=conventions)
        return [note for note in report.notes if "the gain of a relevant label is 1" in note]

    (note,) = notes(["ndcg@2", "map@all"], "relevant_from=2")
    assert "in ndcg@2; " in note
    assert "gains=linear" in note
    assert len(notes(["ndcg@2", "map(rel=2)@all"], None)) == 1
    assert notes(["ndcg@2"], "gains=linear,relevant_from=2") == []
    assert notes(["ndcg@2"], "gains=binary,relevant_from=2") == []
    assert notes(["map@all"], "relevant_from=2") == []


def test_the_note_on_levels_names_no_measure_of_gains() -> None:
    truth = {"q": {"a": 3, "b": 1}}
    report = evaluate(truth, {"q": {"a": 0.5}}, metrics=["ndcg@2", "mrr@all", "p(rel=2)@1"])
    (note,) = [note for note in report.notes if "count grade 1 as relevant" in note]
    assert "such as mrr@all," in note
