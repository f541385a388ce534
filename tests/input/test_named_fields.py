"""Fields and columns of own names, in text and in Parquet alike."""

from pathlib import Path

import pandas as pd
import pytest

from tests.damage import answer
from xmleval import evaluate, scan

FORMS = ["csv", "jsonl", "parquet"]
each_form = pytest.mark.parametrize("form", FORMS)
RATINGS = pd.DataFrame(
    {
        "user_id": ["u1", "u1", "u2"],
        "item_id": ["Heat, The", "Solaris", "Heat, The"],
        "rating": [5, 0, 4],
    }
)
PREDICTED = pd.DataFrame(
    {
        "user_id": ["u2", "u1", "u1"],
        "item_id": ["Solaris", "Solaris", "Heat, The"],
        "score": [0.9, 0.8, 0.3],
    }
)
DOCUMENTS = pd.DataFrame(
    {
        "key": ["a", "b", "c"],
        "topics": [["x", "y"], ["y"], ["z"]],
        "model": [["y", "x"], ["x", "y"], ["x", "z"]],
        "p": [[0.9, 0.1], [0.7, 0.2], [0.5, 0.25]],
    }
)


def write(frame: pd.DataFrame, name: str, form: str) -> str:
    path = f"{name}.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path, index=False)
    return path


def shell(*words: str) -> tuple[int, str]:
    """Return the exit code of `xmleval evaluate`, and what it prints."""
    code, out, error = answer(["evaluate", *words, "--metrics", "p@1,ndcg@2"])
    return code, out + error


@each_form
def test_long_table_of_own_names_has_a_row_for_each_label(form: str) -> None:
    truth = write(RATINGS, "t", form)
    scores = write(PREDICTED, "s", form)
    names = {"instance": "user_id", "label": "item_id"}
    files = scan(truth, **names, score="rating"), scan(scores, **names, score="score")
    judged = {
        user: dict(zip(rows.item_id, rows.rating, strict=True))
        for user, rows in RATINGS.groupby("user_id")
    }
    run = {
        user: dict(zip(rows.item_id, rows.score, strict=True))
        for user, rows in PREDICTED.groupby("user_id")
    }
    for gains in ("gains=binary", "gains=linear"):
        report = evaluate(*files, metrics=["p@1", "ndcg@2"], conventions=gains)
        expected = evaluate(judged, run, metrics=["p@1", "ndcg@2"], conventions=gains)
        assert dict(report) == dict(expected)
    words = ["--instance-field", "user_id", "--label-field", "item_id"]
    words += ["--scores-label-field", "item_id", "--score-field", "rating"]
    code, text = shell(truth, scores, *words)
    assert code == 0, text
    assert "0.0000" in text  # P@1: each user's first item is Solaris
    code, text = shell(truth, scores)
    assert code == 2
    assert "--instance-field user_id, --label-field item_id and --score-field" in text


@each_form
def test_documents_with_one_label_each_are_no_long_table(form: str) -> None:
    documents = pd.DataFrame({"key": ["a", "b", "c"], "topic": ["x", "y", "x"]})
    if form != "csv":
        documents["topic"] = documents["topic"].map(lambda name: [name])
    path = scan(write(documents, "t", form), instance="key", label="topic")
    run = {"a": {"x": 0.9}, "b": {"x": 0.8}, "c": {"x": 0.7}}
    assert evaluate(path, run, metrics="p@1")["p@1"] == pytest.approx(2 / 3)


@each_form
def test_one_file_has_truth_and_predictions_of_own_names(form: str) -> None:
    path = write(DOCUMENTS, "d", form)
    truth = scan(path, label="topics", instance="key")
    predicted = scan(path, label="model", score="p", instance="key")
    memory = dict(zip(DOCUMENTS.key, DOCUMENTS.topics, strict=True))
    run = {
        key: dict(zip(labels, scores, strict=True))
        for key, labels, scores in DOCUMENTS[["key", "model", "p"]].itertuples(index=False)
    }
    expected = dict(evaluate(memory, run, metrics=["p@1", "ndcg@2"]))
    assert dict(evaluate(truth, predicted, metrics=["p@1", "ndcg@2"])) == expected
    words = ["--label-field", "topics", "--scores-label-field", "model", "--score-field", "p"]
    code, text = shell(path, path, *words, "--instance-field", "key")
    assert code == 0, text
    assert f"{expected['p@1']:.4f}" in text
    code, text = shell(path, path, "--label-field", "topics")
    assert code == 2


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_one_file_of_usual_names_is_given_once(form: str) -> None:
    names = {"key": "id", "topics": "tags", "model": "predicted", "p": "scores"}
    path = write(DOCUMENTS.rename(columns=names), "d", form)
    code, text = shell(path)
    assert code == 0, text
    assert "0.3333" in text


@each_form
def test_separator_cuts_texts_of_labels(form: str) -> None:
    documents = DOCUMENTS.drop(columns="p")
    for column in ("topics", "model"):
        documents[column] = documents[column].map("; ".join)
    path = write(documents, "d", form)
    truth = scan(path, label="topics", separator=";")
    predicted = scan(path, label="model", separator=";")
    assert evaluate(truth, predicted, metrics="p@1")["p@1"] == pytest.approx(1 / 3)


def test_field_of_parquet_that_is_missing_is_refused() -> None:
    path = write(DOCUMENTS, "d", "parquet")
    with pytest.raises(ValueError, match=r"d.parquet: no column 'topic'; the columns are 'key'"):
        evaluate(scan(path, label="topic"), scan(path, label="model", score="p"))
    assert Path(path).exists()
