"""Cells that nobody judged, in every form: pairs, masks, sets by name, marks in a truth, files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

import xmleval
from tests.commands import Run
from xmleval import Evaluator, compare, evaluate, thresholds

RNG = np.random.default_rng(1)
N_ROWS = 60
N_LABELS = 9
Y = (RNG.random((N_ROWS, N_LABELS)) < 0.3).astype(float)
S = np.round(RNG.random((N_ROWS, N_LABELS)) + 0.5 * Y, 2)
UNJUDGED = RNG.random((N_ROWS, N_LABELS)) < 0.25
JUDGED = ~UNJUDGED
METRICS = [
    *("auc.macro", "auc.micro", "ap.macro", "f1.macro", "f1.micro", "accuracy.macro"),
    *("p@3", "ndcg@5", "lrap", "gauc", "hamming_loss", "label_density", "mean_rank"),
]
OPTIONS: dict[str, Any] = {"metrics": METRICS, "decision": "threshold0.7"}
LABELS = [f"l{label}" for label in range(N_LABELS)]
ROWS = [f"r{row}" for row in range(N_ROWS)]
TRUTH = pd.DataFrame(np.where(UNJUDGED, np.nan, Y), columns=LABELS, index=ROWS)
MARKED = TRUTH.fillna(-1).astype(int)
SCORES = pd.DataFrame(S, columns=LABELS, index=ROWS)
EXPECTED = dict(evaluate(Y, S, unjudged=UNJUDGED, **OPTIONS))


def sets(mask: Any) -> dict[str, list[str]]:
    return {key: [LABELS[j] for j in np.flatnonzero(mask[i])] for i, key in enumerate(ROWS)}


def by_name(values: Any, where: Any) -> dict[str, dict[str, float]]:
    return {
        key: {LABELS[j]: float(values[i, j]) for j in np.flatnonzero(where[i])}
        for i, key in enumerate(ROWS)
    }


RELEVANT = by_name(Y, Y > 0)
NAMED_SCORES = by_name(S, S > -1)
PAIRS = [(key, label) for key, labels in sets(UNJUDGED).items() for label in labels]
IN_MEMORY: dict[str, Callable[[], Any]] = {
    "nan": lambda: evaluate(TRUTH.to_numpy(), S, unjudged="nan", **OPTIONS),
    "-1": lambda: evaluate(MARKED.to_numpy(), S, unjudged=-1, **OPTIONS),
    "stored -1": lambda: evaluate(
        sp.csr_array(MARKED.to_numpy()), sp.csr_array(S), unjudged="-1", **OPTIONS
    ),
    "pairs": lambda: evaluate(Y, S, unjudged=np.argwhere(UNJUDGED), **OPTIONS),
    "sparse mask": lambda: evaluate(Y, S, unjudged=sp.coo_array(UNJUDGED), **OPTIONS),
    "judged": lambda: evaluate(Y, S, judged=JUDGED, **OPTIONS),
    "exclude": lambda: evaluate(Y, S, exclude=UNJUDGED, **OPTIONS),
    "all three": lambda: evaluate(
        Y,
        S,
        exclude=UNJUDGED[:, :5] @ np.eye(5, N_LABELS, dtype=bool),
        unjudged=UNJUDGED,
        judged=JUDGED,
        **OPTIONS,
    ),
    "frame with nan": lambda: evaluate(TRUTH, SCORES, unjudged="nan", **OPTIONS),
    "frame with -1": lambda: evaluate(MARKED, SCORES, unjudged=-1, **OPTIONS),
    "sets by name": lambda: evaluate(
        RELEVANT, NAMED_SCORES, unjudged=sets(UNJUDGED), labels=LABELS, **OPTIONS
    ),
    "judged by name": lambda: evaluate(
        RELEVANT, NAMED_SCORES, judged=sets(JUDGED), labels=LABELS, **OPTIONS
    ),
    "pairs by name": lambda: evaluate(
        RELEVANT, NAMED_SCORES, unjudged=PAIRS, labels=LABELS, **OPTIONS
    ),
    "marks by name": lambda: evaluate(
        by_name(MARKED.to_numpy(), MARKED.to_numpy() != 0),
        NAMED_SCORES,
        unjudged=-1,
        labels=LABELS,
        **OPTIONS,
    ),
    "judgements": lambda: evaluate(
        by_name(Y, JUDGED), NAMED_SCORES, judged="truth", labels=LABELS, **OPTIONS
    ),
}


@pytest.mark.parametrize("form", IN_MEMORY)
def test_cells_are_left_out_in_every_form(form: str) -> None:
    assert dict(IN_MEMORY[form]()) == EXPECTED


def write_qrels(path: Path) -> None:
    lines = [
        f"{key} 0 {label} {int(grade)}\n"
        for key, row in by_name(Y, JUDGED).items()
        for label, grade in row.items()
    ]
    path.write_text("".join(lines))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the truth, the scores and the cells in many formats."""
    monkeypatch.chdir(tmp_path)
    for name, frame in (("nan", TRUTH), ("marked", MARKED), ("scores", SCORES)):
        frame.to_csv(f"{name}.csv", index_label="id")
        frame.reset_index(names="id").to_parquet(f"{name}.parquet")
        lines = frame.reset_index(names="id").to_json(orient="records", lines=True)
        Path(f"{name}.jsonl").write_text(lines)
    for name, mask in (("unjudged", UNJUDGED), ("judged", JUDGED)):
        sp.save_npz(f"{name}.npz", sp.csr_array(mask))
        rows = {key: dict.fromkeys(labels, 1) for key, labels in sets(mask).items()}
        Path(f"{name}.json").write_text(json.dumps(rows))
        np.savetxt(f"{name}.txt", np.argwhere(mask), "%d")
    sp.save_npz("Y.npz", sp.csr_array(Y))
    sp.save_npz("S.npz", sp.csr_array(S))
    sp.save_npz("M.npz", sp.csr_array(MARKED.to_numpy()))
    Path("truth.json").write_text(json.dumps(RELEVANT))
    Path("scores.json").write_text(json.dumps(NAMED_SCORES))
    Path("names.txt").write_text("\n".join(LABELS))
    write_qrels(Path("truth.qrels"))


FILES: list[Any] = [
    "nan.csv scores.csv --unjudged nan",
    "marked.csv scores.csv --unjudged -1",
    "nan.parquet scores.parquet --unjudged nan",
    "marked.jsonl scores.jsonl --unjudged -1",
    "nan.jsonl scores.jsonl --unjudged nan",
    "Y.npz S.npz --unjudged unjudged.npz",
    "Y.npz S.npz --judged judged.npz",
    "Y.npz S.npz --unjudged unjudged.txt",
    "Y.npz S.npz --judged judged.txt",
    "Y.npz S.npz --exclude unjudged.txt",
    "M.npz S.npz --unjudged -1",
    pytest.param("Y.npz S.npz --unjudged unjudged.npz --workers 2", marks=pytest.mark.slow),
    pytest.param("M.npz S.npz --unjudged -1 --workers 2", marks=pytest.mark.slow),
    "truth.json scores.json --unjudged unjudged.json --labels names.txt",
    "truth.json scores.json --judged judged.json --labels names.txt",
    "truth.qrels scores.json --judged truth --labels names.txt",
]


@pytest.mark.parametrize("words", FILES)
def test_cells_are_left_out_in_files(words: str, files: None, run: Run) -> None:
    options = f"--metrics {','.join(METRICS)} --decision threshold0.7 --format json"
    contents = json.loads(run(f"evaluate {words} {options}"))
    assert contents["values"] == pytest.approx(EXPECTED, rel=1e-12)
    name = words.split("--")[1].split()[0]
    assert contents[name].keys() >= {"file", "sha256"}


def test_values_are_those_of_scikit_learn_on_the_judged_rows_of_each_label() -> None:
    columns = [(Y[JUDGED[:, j], j], S[JUDGED[:, j], j]) for j in range(N_LABELS)]
    measures = {
        "auc.macro": roc_auc_score,
        "ap.macro": average_precision_score,
        "f1.macro": lambda relevant, scores: f1_score(relevant, scores > 0.7),
    }
    for name, of_column in measures.items():
        assert np.isclose(EXPECTED[name], np.mean([of_column(*column) for column in columns]))
    assert np.isclose(EXPECTED["auc.micro"], roc_auc_score(Y[JUDGED], S[JUDGED]))


GROUPED = [  # impressions of users with their clicks and scores, and GAUC
    ([([1, 0], [0.9, 0.1]), ([0, 1, 0, 0], [0.8, 0.5, 0.2, 0.1])], (2 * 1 + 4 * 2 / 3) / 6),
    ([([1, 1, 0], [0.3, 0.2, 0.1]), ([0, 0], [0.9, 0.8]), ([1, 0], [0.5, 0.5])], (3 + 1) / 5),
    ([([1, 0, 0], [0.1, 0.3, 0.2]), ([1], [0.7])], 0.0),
]


@pytest.mark.parametrize(("users", "expected"), GROUPED)
def test_grouped_auc_weighs_users_by_their_impressions(users: Any, expected: float) -> None:
    clicks = np.zeros((len(users), 5), int)
    scores = np.zeros((len(users), 5))
    shown = np.zeros((len(users), 5), bool)
    for user, (clicked, scored) in enumerate(users):
        clicks[user, : len(clicked)] = clicked
        scores[user, : len(clicked)] = scored
        shown[user, : len(clicked)] = True
    report = evaluate(clicks, scores, metrics="gauc", judged=shown)
    assert report["gauc"] == pytest.approx(expected, rel=1e-15)


def test_report_says_how_many_cells_are_judged() -> None:
    report = evaluate(Y, S, unjudged=UNJUDGED, **OPTIONS)
    note = f"{JUDGED.sum()} of {JUDGED.size} labels of rows are judged"
    assert report.notes == [f"{note}; no others count, on either side"]
    assert report.to_dict()["unjudged"] == {"file": None, "sha256": None}


def test_models_of_a_comparison_share_the_judged_cells() -> None:
    comparison = compare(Y, {"a": S, "b": 1 - S}, unjudged=UNJUDGED, metrics=["auc.micro"])
    assert comparison["a"]["auc.micro"] == EXPECTED["auc.micro"]
    assert np.isclose(comparison["b"]["auc.micro"], 1 - EXPECTED["auc.micro"])


def test_rows_without_judged_cells_count_for_no_share_of_cells() -> None:
    report = evaluate(
        np.eye(2),
        np.eye(2),
        metrics=["hamming_loss", "label_density"],
        decision="threshold0.5",
        judged=[[True, False], [False, False]],
    )
    assert dict(report) == {"hamming_loss": 0.0, "label_density": 1.0}
    assert report.undefined_rows == {"hamming_loss": 1, "label_density": 1}


def test_marks_without_the_option_are_refused_with_its_name() -> None:
    for truth, mark in ((TRUTH.to_numpy(), '"nan"'), (MARKED.to_numpy(), "-1")):
        with pytest.raises(ValueError, match=f"if nobody judged it, evaluate with unjudged={mark}"):
            evaluate(truth, S, metrics="p@1")
    with pytest.raises(ValueError, match='0 may be a grade; give "nan" or -1'):
        evaluate(Y, S, metrics="p@1", unjudged=0)
    with pytest.raises(
        ValueError, match="gives all labels a score, including labels that are not judged; give"
    ):
        evaluate(Y, S, metrics="p@1", unjudged=UNJUDGED, conventions="unlisted=0")


def test_update_takes_cells_of_its_rows() -> None:
    evaluator = Evaluator(METRICS, decision="threshold0.7")
    for rows in (slice(0, 20), slice(20, 60)):
        evaluator.update(Y[rows], S[rows], unjudged=UNJUDGED[rows])
    assert dict(evaluator.compute()) == EXPECTED


def test_marks_are_those_of_every_model_of_a_comparison() -> None:
    stored = sp.csr_array(Y)
    stored.data[:] = 1.0
    judgements = sp.coo_array((Y[JUDGED], np.nonzero(JUDGED)), shape=Y.shape)  # zeros, too
    truths: list[tuple[Any, dict[str, Any]]] = [
        (judgements, {"judged": "truth"}),
        (TRUTH.to_numpy(), {"unjudged": "nan"}),
        (sp.csr_array(MARKED.to_numpy()), {"unjudged": -1}),
        (TRUTH, {"unjudged": "nan"}),
    ]
    for truth, options in truths:
        scores = {"a": S, "b": 1 - S}
        if truth is TRUTH:
            scores = {"a": SCORES, "b": 1 - SCORES}
        comparison = compare(truth, scores, metrics=["auc.micro", "p@3"], **options)
        for name, y_score in (("a", S), ("b", 1 - S)):
            expected = evaluate(Y, y_score, metrics=["auc.micro", "p@3"], unjudged=UNJUDGED)
            assert dict(comparison[name]) == dict(expected)


@pytest.mark.parametrize("metrics", [["auc.micro"], ["auc.micro", "auc.macro", "accuracy.macro"]])
def test_labels_of_other_states_are_not_judged_where_judged_ones_are_given(metrics: Any) -> None:
    def evaluator(labels: list[str]) -> Evaluator:
        evaluator = Evaluator(metrics, labels=labels, decision="threshold0.7", bounds=True)
        scores = np.array([[0.9, 0.5, 0.95]])
        evaluator.update(np.array([[1, 0, 0]]), scores, judged=np.ones((1, 3), bool))
        return evaluator

    merged = evaluator(["a", "b", "c"]).merge(evaluator(["d", "e", "f"]))
    report = merged.compute()
    assert report["auc.micro"] == 0.5
    assert report.intervals["auc.micro"] == (0.5, 0.5)


ODD_CELLS = [
    ("marked.csv", "nan", r"marked\.csv: line 2: column 'l7': value -1 is neither 0 nor 1"),
    ("nan.csv", "-1", r"nan\.csv: line 2: column 'l7': the cell is empty"),
    ("odd.csv", "nan", r"odd\.csv: line 2: column 'l0': value 0\.5 is neither 0 nor 1"),
    ("odd.json", "-1", r"odd\.json: row 0: value 0\.5 is not an integer judgement"),
]


@pytest.mark.parametrize(("name", "mark", "message"), ODD_CELLS)
def test_cells_beside_the_marks_are_checked(
    name: str, mark: str, message: str, files: None
) -> None:
    odd = TRUTH.copy()
    odd.iloc[0, 0] = 0.5
    odd.to_csv("odd.csv", index_label="id")
    Path("odd.json").write_text(json.dumps(RELEVANT | {"r0": {"l0": 0.5}}))
    scores = "scores.json" if name.endswith(".json") else "scores.csv"
    with pytest.raises(ValueError, match=message):
        evaluate(name, scores, metrics="p@1", unjudged=mark)


def test_values_of_objects_beside_the_marks_are_checked() -> None:
    with pytest.raises(ValueError, match=r"value 0\.5 is not an integer judgement"):
        evaluate({"r": {"a": 0.5}}, {"r": {"a": 1.0}}, metrics="p@1", unjudged=-1)


def test_judgements_of_zero_are_judged_too(files: None) -> None:
    judged = by_name(Y, JUDGED)
    options = OPTIONS | {"labels": LABELS}
    for value in (judged, "truth.qrels"):
        assert dict(evaluate(RELEVANT, NAMED_SCORES, judged=value, **options)) == EXPECTED
    stored = sp.coo_array((Y[JUDGED], np.nonzero(JUDGED)), shape=Y.shape)
    assert dict(evaluate(Y, S, judged=stored, **OPTIONS)) == EXPECTED
    report = evaluate(sp.csr_array(Y), S, metrics="p@1", judged="truth")
    assert report.notes[0].endswith("all of them are relevant")


def test_labels_that_no_row_judges_are_undefined() -> None:
    truth = np.array([[1, 0], [0, 0]])
    unjudged = np.array([[False, True], [False, True]])
    metrics = ["accuracy.macro", "specificity.macro", "f1.macro"]
    report = evaluate(truth, y_pred=truth, metrics=metrics, unjudged=unjudged, per_label=True)
    assert dict(report) == dict.fromkeys(metrics, 1.0)
    assert report.undefined_labels == dict.fromkeys(metrics, 1)
    assert np.isnan(report.per_label()["accuracy"][1])


@pytest.mark.parametrize("form", ["judged", "unjudged"])
def test_predicted_labels_that_nobody_judged_are_left_out(form: str) -> None:
    truth = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
    predicted = np.array([[1, 1, 0, 1], [0, 1, 1, 0]])
    judged = np.array([[1, 1, 1, 0], [0, 1, 0, 1]])
    cells = judged if form == "judged" else 1 - judged
    arguments: dict[str, Any] = {form: sp.csr_array(cells)}
    metrics = ["f1.micro", "accuracy.micro"]
    report = evaluate(truth, y_pred=predicted, metrics=metrics, **arguments)
    assert report["f1.micro"] == pytest.approx(2 * 2 / (2 * 2 + 1))
    assert report["accuracy.micro"] == pytest.approx(4 / 5)


def test_forms_of_judged_cells_do_not_change_between_updates() -> None:
    evaluator = Evaluator("p@1")
    evaluator.update(Y, S, judged=JUDGED)
    with pytest.raises(ValueError, match="given now, but not earlier"):
        evaluator.update(Y, S, judged="truth")


def test_results_tell_marks_apart() -> None:
    cells = [
        evaluate(TRUTH, SCORES, metrics="p@1", unjudged="NaN").excluded,
        evaluate(MARKED, SCORES, metrics="p@1", unjudged="-1.0").excluded,
        evaluate(Y, S, metrics="p@1", judged="Truth").excluded,
    ]
    unknown = {"file": None, "sha256": None}
    assert cells == [
        {"unjudged": unknown | {"cells": "nan"}},
        {"unjudged": unknown | {"cells": "-1"}},
        {"judged": unknown | {"cells": "truth"}},
    ]


@pytest.mark.parametrize(
    ("argument", "words"), [("unjudged", '"nan", -1 or a file'), ("judged", '"truth" or a file')]
)
def test_mistyped_word_is_refused_with_the_words(argument: str, words: str) -> None:
    text = f"no such file; {argument} takes {words}"
    mistyped: dict[str, Any] = {argument: "trooth"}
    with pytest.raises(FileNotFoundError, match=text):
        evaluate(Y, S, metrics="p@1", **mistyped)
    with pytest.raises(FileNotFoundError, match=text):
        thresholds.fit(Y, S, "f1.micro", **mistyped)


def test_counts_of_judged_labels_are_those_of_rows_after_a_merge_of_other_labels() -> None:
    first = xmleval.Evaluator(["p@1"], labels=["a", "b"])
    first.update({"r1": ["a"]}, {"r1": {"a": 0.5, "b": 0.2}}, judged={"r1": ["a", "b"]})
    second = xmleval.Evaluator(["p@1"], labels=["c", "a"])
    second.update({"r2": ["a"]}, {"r2": {"a": 0.5, "c": 0.7}}, judged={"r2": ["a", "c"]})
    notes = first.merge(second).compute().notes
    assert any(note.startswith("4 of 6 labels of rows are judged") for note in notes)


def test_excluded_labels_are_not_among_judged_ones() -> None:
    truth = np.array([[1, 0, 0, 1], [0, 1, 0, 0]])
    scores = np.array([[0.9, 0.8, 0.1, 0.2], [0.1, 0.6, 0.7, 0.2]])
    judged = np.array([[1, 1, 1, 0], [1, 1, 1, 1]])
    report = xmleval.evaluate(
        truth,
        scores,
        metrics=["hamming_loss", "accuracy.micro"],
        decision="threshold0.5",
        judged=judged,
        exclude=[(0, 1), (1, 0)],
    )
    assert report["hamming_loss"] == pytest.approx((0 / 2 + 1 / 3) / 2)
    assert report["accuracy.micro"] == pytest.approx(4 / 5)


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_rows_without_weight_judge_nothing(average: str) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((12, 4)) < 0.5).astype(float)
    scores = rng.normal(size=truth.shape)
    truth[rng.random(truth.shape) < 0.2] = np.nan
    truth[4] = np.nan
    weight = np.array([0, 1, 2, 0, 1, 0, 3, 1, 0, 2, 1, 0.5])
    metrics = [f"{name}.{average}" for name in ("margin", "margin_share", "auc", "f1")]
    options: dict[str, Any] = {"metrics": metrics, "unjudged": "nan", "decision": "top2"}
    options |= {"per_label": True}
    counts = weight > 0
    whole = evaluate(truth, scores, sample_weight=weight, **options)
    part = evaluate(truth[counts], scores[counts], sample_weight=weight[counts], **options)
    assert dict(whole) == dict(part)
    columns = part.per_label()
    for name, values in whole.per_label().items():
        np.testing.assert_array_equal(values, columns[name])


@pytest.mark.parametrize("mark", ["nan", " NaN ", "NAN", float("nan")])
def test_mark_may_be_written_in_any_case(mark: Any) -> None:
    truth = np.array([[1, np.nan], [0, 1]])
    scores = np.array([[0.25, 0.5], [0.25, 0.5]])
    assert evaluate(truth, scores, metrics="p@1", unjudged=mark)["p@1"] == 1.0
