"""Names and ids in files: words for missing values, types of ids, and objects in JSON Lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.damage import answer
from tests.examples import Y_TEST
from tests.input.forms import Rows, with_index_type, write_rows, write_table
from xmleval import evaluate, scan
from xmleval.input.rows import MISSING_WORDS

IDS = np.argsort(-np.random.default_rng(0).random(Y_TEST.shape), axis=1)[:, :3]
NOTE = "{!r} counts as a label; leave it out if it means a missing value"


def f1_and_notes(line: str) -> tuple[float, str]:
    code, out, err = answer(f"evaluate {line} --metrics f1.micro --format json".split())
    assert code == 0, err
    report = json.loads(out)
    return report["values"]["f1.micro"], "; ".join(report["notes"])


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_words_for_missing_values_are_noted(folder: Path, word: str) -> None:
    """They are labels in lists, but not in fields of text."""
    note = NOTE.format(word)
    red = [["red"], ["red"]]
    missing = [["red"], [word]]
    for y_true, y_score, labels in (
        (missing, red, None),
        (red, missing, None),
        (red, missing, ["red"]),
    ):
        report = evaluate(y_true, y_score, metrics="p@1", labels=labels)
        assert note in report.notes

    Path("d.csv").write_text(f"tags,predicted\n{word},{word}\n{word},a\na,a\nb,a\n")
    value, notes = f1_and_notes("d.csv")
    assert value == 2 / 5
    assert f"2 fields {word!r} in 'tags' read as no label" in notes

    write_table(Path("d.jsonl"), {"tags": [[word], ["a"]], "predicted": [[word], ["b"]]})
    value, notes = f1_and_notes("d.jsonl")
    assert value == 1 / 2
    assert notes.count(note) == 1


NAMED_FORMS = ["run", "json", "csv", "jsonl", "parquet", "lists of jsonl", "lists of parquet"]


@pytest.mark.parametrize("word", [*MISSING_WORDS, "NA"])
def test_words_for_missing_values_are_noted_labels_in_every_format(word: str) -> None:
    """NA, also the code of Namibia, is a label even in text fields of CSV."""
    note = NOTE.format(word)
    judged: Rows = {"q1": {word: 1}, "q2": {"a": 1}}
    scored: Rows = {"q1": {word: 0.5}, "q2": {"a": 0.5}}
    for form in NAMED_FORMS:
        truth = write_rows("t", form, judged, False)
        scores = write_rows("s", form, scored)
        report = evaluate(truth, scores, metrics=["p@1"])
        assert report["p@1"] == 1, form
        assert report.notes.count(note) == 1, form

    Path("t.lines").write_text(f"{word} b\na\n")
    report = evaluate("t.lines", "t.lines", metrics=["p@1"])
    assert note in report.notes

    fields = [f'"[""{word}""]"', f"{word}|b"]
    if word == "NA":
        fields.append(word)
    for field in fields:
        Path("d.csv").write_text(f"tags,predicted\n{field},{field}\na,a\n")
        value, notes = f1_and_notes("d.csv --separator |")
        assert value == 1, field
        assert notes.count(note) == 1, field

    Path("names.txt").write_text(f"a\n{word}\n")
    np.save("eye.npy", np.eye(2))
    report = evaluate("eye.npy", "eye.npy", labels="names.txt", metrics=["p@1"])
    assert note in report.notes


def save_ids(dtype: str) -> None:
    """Save a truth and top-k lists with ids of a type."""
    indices = IDS.astype(dtype)
    scores = -IDS / 4
    np.save("m_indices.npy", indices)
    np.save("m_scores.npy", scores)
    np.savez("list.npz", indices=indices, scores=scores)
    truth = with_index_type(Y_TEST, dtype)
    np.savez(
        "truth.npz",
        format=b"csr",
        shape=np.array(truth.shape),
        data=truth.data,
        indices=truth.indices,
        indptr=truth.indptr,
    )


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i2", ">u4", ">i8"])
def test_exclude_takes_ids_of_every_type(folder: Path, run: Callable[..., str], dtype: str) -> None:
    Path("pairs.txt").write_text(f"0 {IDS[0, 0]}\n2 {IDS[2, 1]}\n2 {IDS[2, 0]}\n")
    options = "--exclude pairs.txt --metrics p,ndcg,psp --k 1,2 --train Y_train.npz --format json"

    def reports() -> list[str]:
        return [run(f"evaluate truth.npz {scores} {options}") for scores in ("m", "list.npz")]

    save_ids(dtype)
    actual = reports()
    save_ids("i8")
    assert actual == reports()


@pytest.mark.parametrize(("value", "dtype"), [(2**64 - 1, "u8"), (Y_TEST.shape[1], "u1")])
def test_exclude_refuses_wrong_ids_in_predictions(
    folder: Path, refused: Any, value: int, dtype: str
) -> None:
    Path("pairs.txt").write_text("0 1\n")
    ids = IDS.astype(dtype)
    ids[1, 0] = value
    np.save("m_indices.npy", ids)
    Path("m_scores.npy").unlink()
    message = refused("evaluate Y_test.npz m --exclude pairs.txt --metrics p@1")
    assert "row 1: label id " in message


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_lists_of_ids_are_read_next_to_files(folder: Path, library: str) -> None:
    """The number of labels comes from a truth in a file; a truth in a frame needs n_labels=."""
    frames = pytest.importorskip(library)
    truth: dict[str, list[Any]] = {"labels": [[0, 2], [1]]}
    scores: dict[str, list[Any]] = {
        "labels": [[2], [0]],
        "scores": [[0.5], [0.4]],
    }
    write_table(Path("t.parquet"), truth)
    write_table(Path("s.parquet"), scores)
    report = evaluate("t.parquet", frames.DataFrame(scores), metrics="p@1")
    assert report["p@1"] == 0.5

    true_frame = frames.DataFrame(truth)
    report = evaluate(true_frame, "s.parquet", metrics="p@1", n_labels=3)
    assert report["p@1"] == 0.5
    message = "y_true: the labels are not known; give n_labels="
    with pytest.raises(ValueError, match=message):
        evaluate(true_frame, "s.parquet", metrics="p@1")


@pytest.mark.parametrize(
    "predictions",
    [
        [{"x": 0.9, "q": 0.1}, {"z": 0.5}],
        [[["x", 0.9], ["q", 0.1]], [["z", 0.5]]],
        [
            [{"label": "q", "score": 0.1}, {"label": "x", "score": 0.9}],
            [{"label": "z", "score": 0.5}],
        ],
        [
            [{"corpus_id": "q", "score": 0.1}, {"corpus_id": "x", "score": 0.9}],
            [{"corpus_id": "z", "score": 1}],
        ],
    ],
)
def test_predictions_in_json_lines_are_read_as_in_python(folder: Path, predictions: Any) -> None:
    truth = [["x"], ["y"]]
    write_table(Path("t.jsonl"), {"labels": truth})
    write_table(Path("s.jsonl"), {"labels": predictions})
    report_of_files = evaluate("t.jsonl", "s.jsonl", metrics="p@1")
    report_of_objects = evaluate(truth, predictions, metrics="p@1")
    assert report_of_files["p@1"] == 0.5
    assert report_of_objects["p@1"] == 0.5


def test_separator_of_a_blank_keeps_other_blanks_in_names(folder: Path) -> None:
    Path("t.csv").write_text("labels\nNew\u00a0York Rome\n", encoding="utf-8")
    report = evaluate(scan("t.csv", separator=" "), [["Rome"]], metrics="p@1")
    assert report.label_names == ["New\u00a0York", "Rome"]


@pytest.mark.parametrize("key", ["name", "id", "label", "row", "Name"])
@pytest.mark.parametrize("separator", ["\t", ","])
def test_first_line_of_groups_is_kept_if_its_key_is_a_label(
    tmp_path: Path, key: str, separator: str
) -> None:
    path = tmp_path / "groups.txt"
    lines = [[key, "A"], ["colour", "B"], ["size", "B"]]
    path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    options: dict[str, Any] = {"metrics": "p@1", "label_groups": path}
    truth = {"q1": [key], "q2": ["colour"], "q3": ["size"]}
    report = evaluate(truth, {"q1": {key: 0.9, "size": 0.2}, "q2": {}, "q3": {}}, **options)
    assert [*report.groups] == ["A", "B"]
    assert (report.groups["A"]["p@1"], report.groups["B"]["p@1"]) == (1, 0)
    # a header where no label has that name
    report = evaluate([["colour"], ["size"]], [["colour"], []], **options)
    assert [*report.groups] == ["B"]
