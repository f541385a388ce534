"""Rules that were not fitted: thresholds with a limit, at the threshold, and for each label."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.commands import process
from xmleval import Evaluator, Running, evaluate
from xmleval.base.errors import MOST
from xmleval.thresholds import Rule
from xmleval.view.decision import Decision

pd = pytest.importorskip("pandas")
NAMES = [*"abcdef"]
THRESHOLDS = np.array([0.1, 0.3, 0.5, -0.0, 0.2, np.inf])
TEXTS = [
    "threshold0.3",
    "threshold>=0.3",
    "threshold>=0",
    "top2&threshold0.3",
    "top2&threshold>=0.3",
    "TOP9 & THRESHOLD-1".replace(" ", ""),
]


def sample(dtype: str = "float64") -> tuple[Any, Any]:
    """Return a truth and scores with ties and with scores at thresholds."""
    rng = np.random.default_rng(0)
    truth = rng.random((30, len(NAMES))) < 0.3
    scores = np.round(rng.random(truth.shape) - 0.2, 1).astype(dtype)
    scores[scores == 0] = rng.choice([0.0, -0.0], np.count_nonzero(scores == 0))
    return truth, scores


def sets_of(text: str, scores: Any) -> Any:
    """Return the predicted sets of a text by a plain loop; ties go to the smaller label."""
    limit, _, condition = text.lower().rpartition("&")
    least = float(condition.removeprefix("threshold").removeprefix(">="))
    k = int(limit.removeprefix("top") or len(NAMES))
    threshold = scores.dtype.type(least)
    sets = np.zeros(scores.shape, bool)
    for i, row in enumerate(scores.tolist()):
        for label in sorted(range(len(row)), key=lambda j: -row[j])[:k]:
            at_least = ">=" in condition and row[label] == threshold
            sets[i, label] = at_least or row[label] > threshold
    return sets


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", TEXTS)
def test_decision_predicts_what_a_plain_loop_does(text: str, dtype: str) -> None:
    truth, scores = sample(dtype)
    expected = evaluate(truth, y_pred=sets_of(text, scores), metrics="sets")
    report = evaluate(truth, scores, metrics="sets", decision=text)
    assert dict(report) == dict(expected)
    assert report.signature().endswith(f"decision={text.lower()}")
    rule = Rule.given(text, len(NAMES))
    assert (rule.apply(scores).toarray() == sets_of(text, scores)).all()


def test_decision_of_distances_negates_the_threshold_alone() -> None:
    truth, scores = sample()
    near = evaluate(
        truth, -scores, metrics="sets", decision="top2&threshold>=-0.3", higher_is_better=False
    )
    assert dict(near) == dict(
        evaluate(truth, scores, metrics="sets", decision="top2&threshold>=0.3")
    )


def by_label(form: str, folder: Path) -> dict[str, Any]:
    """Return the arguments of `evaluate` in a form in which thresholds of labels are given."""
    truth, scores = sample()
    named = {
        "y_true": pd.DataFrame(truth.astype(int), columns=NAMES),
        "y_score": pd.DataFrame(scores, columns=NAMES),
    }
    pairs = [*zip(NAMES, THRESHOLDS.tolist(), strict=True)]
    file = folder / "thresholds.csv"
    file.write_text("label,threshold\n" + "".join(f"{name},{value}\n" for name, value in pairs))
    np.save(folder / "thresholds.npy", THRESHOLDS)
    Rule.given(dict(pairs)).save(folder / "rule.npz")
    forms: dict[str, dict[str, Any]] = {
        "vector": {"y_true": truth, "y_score": scores, "decision": THRESHOLDS},
        "dict by id": {"y_true": truth, "y_score": scores, "decision": dict(enumerate(THRESHOLDS))},
        "dict": {**named, "decision": dict(pairs[::-1])},
        "series": {**named, "decision": pd.Series(dict(pairs[::-1]))},
        "csv": {**named, "decision": file},
        "npy": {"y_true": truth, "y_score": scores, "decision": folder / "thresholds.npy"},
        "rule": {**named, "decision": folder / "rule.npz"},
    }
    return forms[form]


@pytest.mark.parametrize("form", ["vector", "dict by id", "dict", "series", "csv", "npy", "rule"])
def test_thresholds_of_labels_give_the_same_sets_in_every_form(form: str, tmp_path: Path) -> None:
    truth, scores = sample()
    expected = evaluate(truth, y_pred=scores > THRESHOLDS, metrics="sets")
    report = evaluate(**by_label(form, tmp_path), metrics="sets")
    assert dict(report) == dict(expected)
    assert "decision=label(given)#" in report.signature()


def test_thresholds_of_labels_are_kept_by_saved_evaluators_and_workers(tmp_path: Path) -> None:
    truth, scores = sample()
    whole = evaluate(truth, scores, metrics="sets", decision=THRESHOLDS)
    evaluator = Evaluator("sets", decision=THRESHOLDS)
    evaluator.update(truth[:10], scores[:10])
    evaluator.save(tmp_path / "state.npz")
    loaded = Evaluator.load(tmp_path / "state.npz")
    loaded.update(truth[10:], scores[10:])
    assert dict(loaded.compute()) == dict(whole)
    files = [tmp_path / "truth.npz", tmp_path / "scores.npz"]
    from scipy.sparse import save_npz

    save_npz(files[0], csr_array(truth.astype(float)))
    save_npz(files[1], csr_array(np.where(scores == 0, 1e-9, scores)))
    alone = evaluate(*files, metrics="sets", decision=THRESHOLDS)
    shared = evaluate(
        *files, metrics="sets", decision=THRESHOLDS, running=Running(executor=2, block_rows=7)
    )
    assert dict(shared) == dict(alone)


def test_shell_reads_thresholds_and_limits(tmp_path: Path) -> None:
    truth, scores = sample()
    np.save(tmp_path / "s.npy", scores)
    np.save(tmp_path / "y.npy", truth.astype(int))
    np.save(tmp_path / "t.npy", THRESHOLDS)
    for decision in ("t.npy", "top2&threshold>=0.3"):
        value: Any = THRESHOLDS if decision == "t.npy" else decision
        expected = evaluate(truth, scores, metrics="f1.micro", decision=value)
        command = ["evaluate", "y.npy", "s.npy", "--metrics", "f1.micro", "--decision", decision]
        assert f"{expected['f1.micro']:.4f}" in process("xmleval", *command, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (THRESHOLDS[:3], "decision: thresholds of shape (3,); expected one for each of 6 labels"),
        ([0.1, 0.2, 0.3, 0.4, 0.5, np.nan], "decision: threshold of label 5 is nan; give a number"),
        (["a"] * 6, "decision: thresholds of labels must be numbers"),
        ("top2&", "decision: 'top2&' is neither topK"),
        ("top2threshold3", "decision: 'top2threshold3' is neither topK"),
        ("threshold3&top2", "decision: 'threshold3&top2' is neither topK"),
        ("top3&threshold>0.3", "decision: 'top3&threshold>0.3' is neither topK"),
    ],
)
def test_evaluate_refuses_wrong_decisions(decision: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(*sample(), metrics="sets", decision=decision)


def test_decision_at_the_score_of_unlisted_labels_is_refused() -> None:
    truth, scores = sample()
    options: dict[str, Any] = {"metrics": "sets", "conventions": "unlisted=0"}
    assert evaluate(truth, csr_array(scores), decision="threshold0", **options)
    with pytest.raises(ValueError, match=r"threshold>=0.* would predict every unlisted label"):
        evaluate(truth, csr_array(scores), decision="threshold>=0", **options)


@pytest.mark.parametrize("unlisted", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_thresholds_of_labels_that_unlisted_ones_pass_are_refused(
    unlisted: float, higher_is_better: bool
) -> None:
    """One label suffices: scores pass above its threshold, distances below it."""
    thresholds = np.array([0.25, 0.5, 1.0])
    truth = np.eye(3, dtype=int)
    options: dict[str, Any] = {
        "metrics": "f1.micro",
        "conventions": {"unlisted": unlisted},
        "higher_is_better": higher_is_better,
    }
    passes = thresholds < unlisted if higher_is_better else thresholds > unlisted
    scores = csr_array(np.where(truth, 2.0, 0) if higher_is_better else np.where(truth, 0.125, 0))
    if passes.any():
        with pytest.raises(ValueError, match=r"would predict every unlisted label$"):
            evaluate(truth, scores, decision=thresholds, **options)
    else:
        assert evaluate(truth, scores, decision=thresholds, **options)["f1.micro"] == 1.0


def test_a_label_without_threshold_is_refused_by_name() -> None:
    truth, scores = sample()
    frames = [pd.DataFrame(part, columns=NAMES) for part in (truth.astype(int), scores)]
    with pytest.raises(ValueError, match=r"^decision: no value for 'b', which y_true has"):
        evaluate(*frames, metrics="sets", decision={"a": 0.1})


def test_given_rules_check_the_number_and_the_names_of_labels() -> None:
    rule = Rule.given("top2", labels=NAMES)
    assert (rule.n_labels, rule.label_names, str(rule)) == (6, (*NAMES,), "top2 (given)")
    for arguments, message in (
        (("threshold0.3",), "n_labels: missing"),
        (("threshold0.3", -3), "n_labels: -3 is not a positive integer"),
        ((Path("t.csv"),), "decision: 't.csv' is a file; give its thresholds"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            Rule.given(*arguments)
    with pytest.raises(ValueError, match=r"^labels: 2 names; expected 3"):
        Rule.given("threshold0.3", 3, labels=["a", "b"])


def write_data(folder: Path, named: bool) -> list[Path]:
    """Write a truth and scores, by name or by number; return their files."""
    truth, scores = sample()
    if not named:
        np.save(folder / "y.npy", truth.astype(int))
        np.save(folder / "s.npy", scores)
        return [folder / "y.npy", folder / "s.npy"]
    for name, cells in (("y", truth.astype(int)), ("s", scores)):
        pd.DataFrame(cells, columns=NAMES).to_csv(folder / f"{name}.csv", index_label="id")
    return [folder / "y.csv", folder / "s.csv"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]])
@pytest.mark.parametrize("header", ["", "label,threshold\n"])
def test_thresholds_in_files_are_those_of_their_labels_in_any_order(
    header: str, order: list[int], named: bool, tmp_path: Path
) -> None:
    truth, scores = sample()
    finite = np.where(np.isinf(THRESHOLDS), 0.4, THRESHOLDS)
    expected = evaluate(truth, y_pred=scores > finite, metrics="sets")
    keys = NAMES if named else [*map(str, range(len(NAMES)))]
    lines = [f"{keys[label]},{finite[label]}\n" for label in order]
    path = tmp_path / "thresholds.csv"
    path.write_text(header + "".join(lines))
    files = write_data(tmp_path, named)
    assert dict(evaluate(*files, metrics="sets", decision=path)) == dict(expected)
    shifted = evaluate(truth, y_pred=scores > finite[::-1], metrics="sets")
    assert dict(shifted) != dict(expected)


@pytest.mark.parametrize(
    ("lines", "named", "message"),
    [
        (["0,x", *"12345"], False, "thresholds.csv: line 2: "),
        (["0,0.5", "1,x"], False, "thresholds.csv: the threshold of label 1, 'x', is not a number"),
        (["0.5", "x"], False, "thresholds.csv: the threshold of label 1, 'x', is not a number"),
        (
            ["0.5", "0.25"],
            False,
            "thresholds.csv: thresholds of shape (2,); expected one for each of 6 labels",
        ),
        (["0,0.5", "6,0.5"], False, "thresholds.csv: line 2: label '6' is not in 0..5"),
        (["0,0.5", "0,0.5"], False, "thresholds.csv: line 2: a second threshold for label '0'"),
        (["a,0.5", "b,x"], True, "thresholds.csv: the threshold of label 'b', 'x', is not"),
        (["a,0.5"], True, "thresholds.csv: no value for 'b', which"),
        (["a,0.5", "a,0.5"], True, "thresholds.csv: line 2: a second threshold for label 'a'"),
        (
            ["0.5"] * 6,
            True,
            "thresholds.csv: labels have names; expected label, tab or comma, threshold on a line",
        ),
    ],
)
def test_files_of_thresholds_are_refused_with_the_label(
    lines: list[str], named: bool, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("thresholds.csv").write_text("\n".join(lines) + "\n")
    files = write_data(tmp_path, named)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(*files, metrics="sets", decision="thresholds.csv")


def test_thresholds_are_rounded_to_the_type_of_the_scores() -> None:
    """The float32 number nearest to 0.1 is larger than 0.1, but it is not above itself."""
    scores = np.array([[0.1, 0.25]], np.float32)
    features = np.ones((1, 1))
    linear = Decision("features", np.nan, np.array([0.1, 0.0]), "row(f1.samples,features=1)")
    by_features = Rule("row", "f1.samples", 2, linear)
    for sets in (
        Rule.given([0.1, 0.1]).apply(scores),
        Rule.given("threshold0.1", 2).apply(scores),
        by_features.apply(scores, features=features),
    ):
        assert sets.toarray().tolist() == [[False, True]]
    wide = by_features.apply(scores.astype(float), features=features)
    assert wide.toarray().tolist() == [[True, True]]


def test_limit_of_one_label_leaves_the_best_above_the_threshold() -> None:
    scores = np.array([[0.5, 0.75, 0.25], [0.125, 0.25, 0.25]])
    sets = Rule.given("top1&threshold0.25", 3).apply(scores)
    assert sets.toarray().astype(int).tolist() == [[0, 1, 0], [0, 0, 0]]


def test_largest_number_of_labels_of_a_decision_is_the_largest_count() -> None:
    everything = evaluate(*sample(), metrics="sets", decision=f"top{MOST}")
    assert everything["recall.micro"] == 1.0
    with pytest.raises(ValueError, match="is neither topK"):
        evaluate(*sample(), metrics="sets", decision=f"top{MOST + 1}")


def test_first_label_with_a_threshold_that_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match=r"^decision: threshold of label 1 is nan"):
        Rule.given([0.5, np.nan, np.nan])


def test_rule_of_one_label_and_names_that_are_column_numbers() -> None:
    rule = Rule.given([0.5], labels=[0])
    assert not rule.by_name
    assert rule.apply(np.array([[0.75], [0.5]])).toarray().tolist() == [[True], [False]]
    assert Rule.given([0.5], labels=["a"]).by_name


def test_predicted_labels_of_a_list_rise_within_rows() -> None:
    lists = np.array([[2, 0, 1]]), np.array([[0.9, 0.8, 0.1]])
    assert Rule.given("threshold0.5", 3).apply(lists).indices.tolist() == [0, 2]
