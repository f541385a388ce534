"""Batches, merged states and saved states with other kinds of scores, inputs or row numbers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.limits import small_limits
from xmleval import Evaluator, Running, evaluate
from xmleval.thresholds import fit

RNG = np.random.default_rng(6)
M = 6
N = 4
TRUTH = (RNG.random((M, N)) < 0.4).astype(np.int8)
DENSE = RNG.random((M, N)).astype(np.float32)
SCORES = sp.csr_array(np.where(RNG.random((M, N)) < 0.6, DENSE, 0))
SCORES.data[::3] = 0.1  # equal to that of unlisted labels in float32 alone
METRICS = ["p@1", "lrap", "auc.micro", "auc.macro", "brier"]
FIRST = slice(0, 3)
LAST = slice(3, M)


def evaluator_of(rows: slice, scores: Any = SCORES, **options: Any) -> Evaluator:
    arguments: dict[str, Any] = {"metrics": METRICS, "n_labels": N, **options}
    evaluator = Evaluator(**arguments)
    evaluator.update(TRUTH[rows], scores[rows], first_row=rows.start)
    return evaluator


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unlisted", ["below", 0.1, 0.5])
@pytest.mark.parametrize("merges", [False, True])
def test_rows_that_list_nothing_take_the_type_of_earlier_scores(
    merges: bool, unlisted: Any, dtype: type
) -> None:
    options: dict[str, Any] = {"conventions": {"unlisted": unlisted}}
    no_scores = sp.csr_array((M - 3, N), dtype=dtype)
    scores = sp.vstack([SCORES[FIRST], no_scores.astype(np.float32)], format="csr")
    expected = evaluate(TRUTH, scores, metrics=METRICS, **options)
    evaluator = evaluator_of(FIRST, **options)
    if merges and unlisted != 0.1:  # 0.1 itself has other bits in each type
        other = Evaluator(METRICS, n_labels=N, **options)
        other.update(TRUTH[LAST], no_scores, first_row=3)
        evaluator.merge(other)
    else:
        evaluator.update(TRUTH[LAST], no_scores, first_row=3)
    assert dict(evaluator.compute()) == dict(expected)
    evaluator.update(TRUTH[LAST], SCORES[LAST], first_row=M)  # the type is that of the first rows
    assert evaluator.n_rows == M + 3


@pytest.mark.parametrize("unlisted", [0.0, 0.1])
def test_scores_of_another_type_are_refused_and_leave_the_counts_as_they_were(
    unlisted: float,
) -> None:
    options: dict[str, Any] = {"conventions": {"unlisted": unlisted}}
    expected = evaluate(TRUTH, SCORES, metrics=METRICS, **options)
    evaluator = evaluator_of(FIRST, **options)
    wide = SCORES.astype(np.float64)
    message = (
        'y_score: scores are float64, unlike earlier scores; conventions="unlisted=..." is '
        "rounded to the type of scores, so give all updates the same type"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluator.update(TRUTH[LAST], wide[LAST])
    message = "^merge: scores are float32 here, float64 there$"
    with pytest.raises(ValueError, match=message):
        evaluator.merge(evaluator_of(LAST, wide, **options))
    assert evaluator.n_rows == 3
    evaluator.update(TRUTH[LAST], SCORES[LAST])
    assert dict(evaluator.compute()) == dict(expected)


def test_scores_of_several_types_go_together_where_unlisted_labels_have_none() -> None:
    expected = dict(evaluate(TRUTH, SCORES, metrics=METRICS))
    wide = SCORES.astype(np.float64)
    for first, last in ((SCORES, wide), (wide, SCORES), (wide, wide)):
        evaluator = evaluator_of(FIRST, first)
        evaluator.update(TRUTH[LAST], last[LAST])
        assert dict(evaluator.compute()) == expected
        merged = evaluator_of(FIRST, first).merge(evaluator_of(LAST, last))
        assert dict(merged.compute()) == expected


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("sample_weight", np.array([1.0, 2.0, 3.0])),
        ("y_pred", TRUTH[LAST]),
        ("row_groups", [*"aba"]),
    ],
)
def test_inputs_of_some_rows_alone_are_refused(
    argument: str, values: Any, saved: bool, tmp_path: Path
) -> None:
    metrics = ["p@1", "lrap"]
    plain = evaluator_of(FIRST, metrics=metrics)
    further = Evaluator(metrics, n_labels=N)
    further.update(TRUTH[LAST], SCORES[LAST], first_row=3, **{argument: values})
    if saved:
        plain.save(tmp_path / "plain")
        further.save(tmp_path / "further")
        plain = Evaluator.load(tmp_path / "plain")
        further = Evaluator.load(tmp_path / "further")
    for here, there in ((plain, further), (further, plain)):
        before = here.compute().to_json()
        with pytest.raises(ValueError, match=f"^merge: input differs: .*{argument}"):
            here.merge(there)
        assert here.compute().to_json() == before
    message = f"^{argument}: given now, but not earlier$"
    with pytest.raises(ValueError, match=message):
        plain.update(TRUTH[LAST], SCORES[LAST], first_row=3, **{argument: values})
    message = f"^{argument}: given earlier, but not now$"
    with pytest.raises(ValueError, match=message):
        further.update(TRUTH[FIRST], SCORES[FIRST], first_row=0)
    assert (plain.n_rows, further.n_rows) == (3, 3)


def test_lists_with_and_without_scores_go_together_for_measures_of_the_order() -> None:
    order = np.argsort(-DENSE, axis=1, kind="stable")
    bare = (order, None)
    for metrics in (["p@1", "ndcg@2"], ["p@1", "mrr@all"]):
        expected = dict(evaluate(TRUTH, DENSE, metrics=metrics))
        for first, last in ((bare, DENSE), (DENSE, bare)):
            parts = []
            for rows, form in ((FIRST, first), (LAST, last)):
                part = (order[rows], None) if form is bare else DENSE[rows]
                parts.append(part)
            evaluator = Evaluator(metrics, n_labels=N)
            evaluator.update(TRUTH[FIRST], parts[0])
            other = Evaluator(metrics, n_labels=N)
            other.update(TRUTH[LAST], parts[1])
            assert dict(evaluator.merge(other).compute()) == expected


@pytest.mark.parametrize("per_row", [False, True])
def test_rows_of_a_file_come_before_rows_by_index(
    per_row: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH[FIRST]))
    sp.save_npz("S.npz", SCORES[FIRST])
    options: dict[str, Any] = {"metrics": ["p@1", "lrap"], "per_row": per_row}
    evaluate("Y.npz", "S.npz", running=Running(save="file.state"), **options)
    expected = evaluate(TRUTH, SCORES, **options)
    merged = Evaluator.load("file.state").merge(evaluator_of(LAST, **options)).compute()
    assert dict(merged) == dict(expected)
    by_index = evaluator_of(LAST, **options)
    if not per_row:
        assert dict(by_index.merge(Evaluator.load("file.state")).compute()) == dict(expected)
        return
    for name, values in expected.per_row().items():
        np.testing.assert_array_equal(merged.per_row()[name], values)
    message = "^merge: rows are kept by index here, but by file there$"
    with pytest.raises(ValueError, match=message):
        by_index.merge(Evaluator.load("file.state"))
    assert by_index.n_rows == 3


@pytest.mark.parametrize("metric", ["margin.samples", "margin.macro"])
def test_gaps_in_a_later_batch_are_refused_by_row(metric: str) -> None:
    gap = np.array([[0.5, 0.25, 1.0, 2.0], [0.5, 0.25, 0.125, 0.0]])
    rows = sp.csr_array(gap)
    rows.data[3] = 3.0
    evaluator = Evaluator([metric], n_labels=N)
    evaluator.update(TRUTH[:2], DENSE[:2])
    before = evaluator.compute().to_json()
    truth = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
    message = f"y_score: row 1: scores of 3 of 4 labels; {metric} needs"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluator.update(truth, rows)
    assert evaluator.compute().to_json() == before
    evaluator.update(truth, gap)  # a dense matrix has every score
    whole = evaluate(
        np.vstack([TRUTH[:2], truth]), np.vstack([DENSE[:2].astype(float), gap]), metrics=[metric]
    )
    assert dict(evaluator.compute()) == dict(whole)


def test_unknown_labels_beside_scores_of_all_labels_are_refused() -> None:
    truth = [["a"], ["b"]]
    run = [{"a": 0.5, "x": 0.25}, {"b": 0.5, "a": 0.75}]
    options: dict[str, Any] = {"metrics": "p@1", "labels": ["a", "b"]}
    assert evaluate(truth, run, **options)["p@1"] == 0.5
    message = (
        'y_score: predicts unknown labels, but conventions="unlisted=0.25" gives every label a '
        "score; add them to labels= or remove them"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(truth, run, conventions="unlisted=0.25", **options)
    evaluator = Evaluator(conventions="unlisted=0.25", **options)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluator.update(truth, run)
    known = [{"a": 0.5}, run[1]]
    evaluator.update(truth, known)
    assert evaluator.compute()["p@1"] == 0.5


LINEAR = fit(TRUTH, DENSE, "f1.samples", rule="row", k=N)
WEIGHTED = fit(TRUTH, 0.75 * TRUTH, "recall.macro@1")


@pytest.mark.parametrize("row", [2, 3, 4])
@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (None, {"metrics": "margin.macro"}, "scores of 3 of 4 labels; margin.macro needs"),
        (None, {"metrics": "margin.samples"}, "scores of 3 of 4 labels; margin.samples needs"),
        (1.5, {"metrics": "brier"}, "score 1.5 of label 1 is outside 0..1; brier needs"),
        (1.5, {"decision": WEIGHTED}, "score 1.5 of label 1 is outside 0..1; a weighted rule"),
        (np.inf, {"decision": LINEAR}, "score inf is infinite; a linear rule needs finite ones"),
    ],
)
def test_unfit_scores_in_a_later_block_are_refused_by_row(
    row: int, value: float | None, options: dict[str, Any], message: str
) -> None:
    scores = sp.csr_array(DENSE)
    scores.data[row * N + 1] = 0 if value is None else value
    if value is None:
        scores.eliminate_zeros()
    truth = np.tile([1, 0, 0, 0], (M, 1))
    options = {"metrics": "f1.micro", "running": Running(block_rows=2), **options}
    with pytest.raises(ValueError, match=f"^y_score: row {row}: {re.escape(message)}"):
        evaluate(truth, scores, **options)
    if "decision" in options:
        with small_limits(), pytest.raises(ValueError, match=f"^y_score: row {row}: "):
            options["decision"].apply(scores)


def test_rows_with_all_labels_relevant_need_no_score_of_every_label() -> None:
    """They have no pair of a relevant and an irrelevant label."""
    truth = np.array([[1, 1, 1], [1, 0, 0]])
    scores = sp.csr_array(np.array([[0.5, 0.25, 0], [0.5, 0.25, 0.125]]))
    assert evaluate(truth, scores, metrics="margin.samples")["margin.samples"] == 0.25


def test_merge_keeps_the_type_of_the_scores_of_either_state() -> None:
    options: dict[str, Any] = {"metrics": ["lrap"], "conventions": {"unlisted": 0.1}}
    first = Evaluator(n_labels=N, **options)
    first.merge(evaluator_of(FIRST, **options))
    with pytest.raises(ValueError, match=r"^y_score: scores are float64, unlike earlier scores; "):
        first.update(TRUTH[LAST], SCORES[LAST].astype(np.float64), first_row=3)


def test_merge_keeps_the_notes_of_both_states() -> None:
    parts = [Evaluator("p@1", labels=["a"]) for _ in range(2)]
    parts[0].update({"q1": ["a"]}, {"q1": {"a": 0.5}})
    parts[1].update({"q2": ["a"], "q3": ["a"]}, {"q2": {"a": 0.5}})
    notes = parts[1].compute().notes
    assert notes == ["y_score: 1 row of the truth has no prediction; it counts as empty"]
    assert not parts[0].compute().notes
    assert parts[0].merge(parts[1]).compute().notes == notes


def test_input_that_is_missing_later_is_named_before_its_scores() -> None:
    evaluator = Evaluator(["f1.micro", "auc.micro"], n_labels=N)
    evaluator.update(TRUTH[FIRST], SCORES[FIRST], y_pred=TRUTH[FIRST])
    with pytest.raises(ValueError, match=r"^y_score: given earlier, but not now$"):
        evaluator.update(TRUTH[LAST], y_pred=TRUTH[LAST])


@pytest.mark.parametrize("metric", ["margin.macro", "auc.macro", "auc.micro"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_counts_of_minus_zero_are_those_of_zero(metric: str, dtype: type) -> None:
    truth = np.array([[1, 0], [0, 1], [0, 0]])
    scores: Any = np.array([[0.0, 0.5], [0.0, 0.0], [0.0, 0.0]], dtype)
    states = []
    for zeros in (scores, np.where(scores == 0, -scores, scores)):
        with small_limits():
            evaluator = Evaluator(metric, n_labels=2)
            evaluator.update(truth, zeros, first_row=0)
            states.append(evaluator.to_bytes())
    assert states[0] == states[1]
