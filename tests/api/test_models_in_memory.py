"""`evaluate` of several models in memory, and how dicts of models differ from dicts of rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import make_scores, make_truth, npz
from xmleval import Comparison, Report, evaluate
from xmleval.input.objects.models import models_of

TRUTH = make_truth(40)
MODELS = {name: make_scores(40, seed=seed) for name, seed in (("a", 2), ("b", 3))}
SETS = {name: (scores > 0.5).astype(np.float32) for name, scores in MODELS.items()}
METRICS = ["p@1", "ndcg@3"]
OF_SETS = ["f1.micro", "hamming_loss"]
DENSE = np.array([[0.9, 0.1, 0.5], [0.2, 0.7, 0.4]])
IDS = np.array([[0, 2], [1, 2]])
ROWS = {"q1": {"x": 0.9, "y": 0.4}, "q2": {"y": 0.7}}
LISTS = {"q1": ["x", "y"], "q2": ["y"]}
LONG = pd.DataFrame({"i": ["q1", "q2"], "l": ["x", "y"], "s": [0.5, 0.25]})

OF_MODELS: dict[str, Any] = {
    "arrays": {"a": DENSE, "b": DENSE},
    "a single model": {"a": DENSE},
    "sparse matrices": {"a": sp.csr_array(DENSE), "b": sp.dok_array(DENSE)},
    "arrays and sparse matrices": {"a": DENSE, "b": sp.csr_matrix(DENSE)},
    "pairs": {"a": (IDS, DENSE[:, :2]), "b": (IDS, None)},
    "pairs by name": {"a": {"indices": IDS, "scores": DENSE[:, :2]}, "b": DENSE},
    "frames": {"a": pd.DataFrame(DENSE), "b": pl.DataFrame(DENSE)},
    "frames of named columns": {
        "a": xmleval.from_df(LONG, instance="i", label="l", score="s"),
        "b": ROWS,
    },
    "dicts of dicts": {"a": ROWS, "b": {"q1": {"x": 1.0}}},
    "dicts of lists": {"a": LISTS, "b": {"q1": []}},
    "dicts of pairs": {"a": {"q1": [("x", 0.5)]}, "b": ROWS},
    "dicts of sets": {"a": {"q1": {"x"}, "q2": {"y"}}},
    "dicts of arrays": {"a": {"q1": np.array(["x", "y"])}, "b": LISTS},
    "files": {"a": "a.npz", "b": Path("b.npz")},
    "files and arrays": {"a": DENSE, "b": "b.npz"},
}
OF_ROWS: dict[str, Any] = {
    "no dict": DENSE,
    "rows of scores": ROWS,
    "rows of labels": LISTS,
    "rows of sets": {"q1": {"x"}, "q2": set()},
    "rows of pairs": {"q1": [("x", 0.5), ("y", 0.4)]},
    "rows of pairs of ids": {0: [(1, 2), (0, 3)]},
    "rows of lists of a label and a score": {"q1": [["x", 0.5], ["y", 1]]},
    "rows of lists of an id and a score": {0: [[0, 0.5], [1, 0.25]]},
    "rows of records": {"q1": [{"label": "x", "score": 0.5}]},
    "rows of ids": {0: [1, 2], 1: [0]},
    "rows of arrays": {"q1": np.array(["x", "y"])},
    "rows without labels": {"q1": {}, "q2": {}},
    "no rows": {},
    "first row without labels": {"q1": [], "q2": ["x"]},
    "pair by name": {"indices": IDS, "scores": DENSE[:, :2]},
    "sparse matrix that is a dict": sp.dok_array(DENSE),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "model and none": (
        {"a": DENSE, "b": None},
        "y_score: 'a' has the rows of a model, but 'b' has not; give models as arrays",
    ),
    "model and row": ({"a": ROWS, "q1": {"x": 0.5}}, "but 'q1' has not"),
    "model and empty model": ({"a": {}, "b": ROWS}, "'b' has the rows of a model, but 'a' has not"),
    "nested lists": (
        {"a": DENSE.tolist(), "b": DENSE.tolist()},
        "y_score: 'a' may be a model or a row; give models as arrays or as dicts by row, "
        "and a row as (label, score) tuples",
    ),
    "lists of labels": ({"a": [["x", "y"], ["y"]]}, "'a' may be a model or a row"),
    "lists of two ids": ({"a": [[1, 2], [0, 2]]}, "'a' may be a model or a row"),
    "lists of dicts": ({"a": [{"x": 0.5}, {"y": 0.4}]}, "'a' may be a model or a row"),
    "fields of a row": ({"a": {"labels": ["x"], "scores": [0.5]}}, "'a' may be a model or a row"),
    "numbers for names": ({0: DENSE, 1: DENSE}, "0 is not the name of a model; give a text"),
}


@pytest.mark.parametrize("name", OF_MODELS)
def test_dict_of_what_holds_rows_is_of_models(name: str) -> None:
    assert models_of("y_score", OF_MODELS[name]) is OF_MODELS[name]


@pytest.mark.parametrize("name", OF_ROWS)
def test_dict_of_labels_is_of_rows(name: str) -> None:
    assert models_of("y_score", OF_ROWS[name]) is None


@pytest.mark.parametrize("name", REFUSED)
def test_dict_that_may_be_of_models_or_rows_is_refused(name: str) -> None:
    value, message = REFUSED[name]
    for argument in ("y_score", "y_pred"):
        with pytest.raises(ValueError) as caught:
            evaluate([["x"], ["y"]], metrics=["p@1"], **{argument: value})
        assert message.replace("y_score", argument) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"confidence": 0.9, "per_row": True}])
def test_evaluate_of_models_in_memory_gives_the_comparison_of_files(options: Any) -> None:
    compared = evaluate(TRUTH, MODELS, metrics=METRICS, **options)
    assert isinstance(compared, Comparison)
    assert not compared.differences
    for name, scores in MODELS.items():
        report = evaluate(TRUTH, scores, metrics=METRICS, **options)
        assert compared[name].to_json() == report.to_json()


def test_evaluate_of_models_is_that_of_files_in_any_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, matrix in {"Y": TRUTH, **MODELS}.items():
        npz(Path(name), matrix)
    for name, matrix in SETS.items():
        npz(Path(f"sets_{name}"), matrix)
    paths = {name: f"{name}.npz" for name in MODELS}
    expected = evaluate("Y.npz", paths, metrics=METRICS).to_dict()
    mixed = {"a": MODELS["a"], "b": "b.npz"}
    for truth, models in ((TRUTH, MODELS), ("Y.npz", MODELS), (TRUTH, mixed), (TRUTH, paths)):
        assert evaluate(truth, models, metrics=METRICS).to_dict() == expected
    expected = evaluate(TRUTH, y_pred=SETS, metrics=OF_SETS).to_dict()
    set_paths = {name: f"sets_{name}.npz" for name in SETS}
    assert evaluate("Y.npz", y_pred=set_paths, metrics=OF_SETS).to_dict() == expected
    assert evaluate("Y.npz", y_pred=SETS, metrics=OF_SETS).to_dict() == expected
    both = evaluate("Y.npz", paths, y_pred=set_paths, metrics=[*METRICS, *OF_SETS])
    assert both.to_dict() == (
        evaluate(TRUTH, MODELS, y_pred=SETS, metrics=[*METRICS, *OF_SETS]).to_dict()
    )


def test_models_in_memory_share_sets_or_have_their_own() -> None:
    metrics = ["p@1", *OF_SETS]
    shared = evaluate(TRUTH, MODELS, y_pred=SETS["a"], metrics=metrics)
    own = evaluate(TRUTH, MODELS, y_pred=SETS, metrics=metrics)
    one_score = evaluate(TRUTH, MODELS["a"], y_pred=SETS, metrics=metrics)
    for name in MODELS:
        report = evaluate(TRUTH, MODELS[name], y_pred=SETS["a"], metrics=metrics)
        assert dict(shared[name]) == dict(report)
        report = evaluate(TRUTH, MODELS[name], y_pred=SETS[name], metrics=metrics)
        assert dict(own[name]) == dict(report)
        report = evaluate(TRUTH, MODELS["a"], y_pred=SETS[name], metrics=metrics)
        assert dict(one_score[name]) == dict(report)
    with pytest.raises(ValueError, match=r"^y_pred: has other models \(a, c\) than y_score"):
        evaluate(TRUTH, MODELS, y_pred={"a": SETS["a"], "c": SETS["b"]}, metrics=metrics)


def test_evaluate_of_a_model_by_name_gives_a_report() -> None:
    report = evaluate(TRUTH, {"a": MODELS["a"]}, metrics=METRICS)
    assert isinstance(report, Report)
    assert dict(report) == dict(evaluate(TRUTH, MODELS["a"], metrics=METRICS))


def test_evaluate_of_models_names_the_model_of_an_error() -> None:
    with pytest.raises(ValueError, match=r"^y_score of 'b': "):
        evaluate(TRUTH, {"a": MODELS["a"], "b": MODELS["b"][:5]}, metrics=METRICS)
    with pytest.raises(ValueError, match=r"^y_pred of 'b': "):
        evaluate(TRUTH, y_pred={"a": SETS["a"], "b": SETS["b"][:5]}, metrics=OF_SETS)


@pytest.mark.parametrize("number", [float, np.float32, np.float64])
def test_list_of_an_id_and_a_score_is_one_label(number: Any) -> None:
    rows = {"q": [[2, number(0.5)], [1, number(0.25)]], "r": [[1, number(0.5)]]}
    assert models_of("y_score", rows) is None
