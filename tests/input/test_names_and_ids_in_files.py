"""Empty names are no labels in files, words for missing values are noted, and ids may have every type."""

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


def f1_and_notes(line: str) -> tuple[float, str]:
    code, out, err = answer(f"evaluate {line} --metrics f1.micro --format json".split())
    assert code == 0, err
    report = json.loads(out)
    return report["values"]["f1.micro"], "; ".join(report["notes"])


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_words_for_missing_values_are_noted(folder: Path, word: str) -> None:
    """They are labels, but in text."""
    note = f"{word!r} counts as a label; leave it out where it stands for a missing value"
    red, missing = [["red"], ["red"]], [["red"], [word]]
    for rows, labels in (((missing, red), None), ((red, missing), None), ((red, missing), ["red"])):
        assert note in evaluate(*rows, metrics="p@1", labels=labels).notes
    Path("d.csv").write_text(f"tags,predicted\n{word},{word}\n{word},a\na,a\nb,a\n")
    value, notes = f1_and_notes("d.csv")
    assert value == 2 / 5
    assert f"2 fields {word!r} in 'tags' read as no label" in notes
    write_table(Path("d.jsonl"), {"tags": [[word], ["a"]], "predicted": [[word], ["b"]]})
    value, notes = f1_and_notes("d.jsonl")
    assert (value, notes.count(note)) == (1 / 2, 1)


@pytest.mark.parametrize("word", [*MISSING_WORDS, "NA"])
def test_word_for_a_missing_value_is_a_noted_label_in_every_format(word: str) -> None:
    """NA is also Namibia, so that it is one in a text field of CSV, too."""
    note = f"{word!r} counts as a label; leave it out where it stands for a missing value"
    judged: Rows = {"q1": {word: 1}, "q2": {"a": 1}}
    scored: Rows = {"q1": {word: 0.5}, "q2": {"a": 0.5}}
    for form in ("run", "json", "csv", "jsonl", "parquet", "lists of jsonl", "lists of parquet"):
        truth, scores = write_rows("t", form, judged, False), write_rows("s", form, scored)
        report = evaluate(truth, scores, metrics=["p@1"])
        assert (report["p@1"], report.notes.count(note)) == (1, 1), form
    Path("t.lines").write_text(f"{word} b\na\n")
    assert note in evaluate("t.lines", "t.lines", metrics=["p@1"]).notes
    for text in (f'"[""{word}""]"', f"{word}|b", *["NA"] * (word == "NA")):
        Path("d.csv").write_text(f"tags,predicted\n{text},{text}\na,a\n")
        value, notes = f1_and_notes("d.csv --separator |")
        assert (value, notes.count(note)) == (1, 1), text
    Path("names.txt").write_text(f"a\n{word}\n")
    np.save("eye.npy", np.eye(2))
    assert note in evaluate("eye.npy", "eye.npy", labels="names.txt", metrics=["p@1"]).notes


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i2", ">u4", ">i8"])
def test_pairs_are_taken_out_of_ids_of_every_type(folder: Path, run: Callable[..., str], dtype: str) -> None:
    Path("pairs.txt").write_text(f"0 {IDS[0, 0]}\n2 {IDS[2, 1]}\n2 {IDS[2, 0]}\n")
    reports = []
    for of in (dtype, "i8"):
        np.save("m_indices.npy", IDS.astype(of))
        np.save("m_scores.npy", -IDS / 4)
        np.savez("list.npz", indices=IDS.astype(of), scores=-IDS / 4)
        parts = with_index_type(Y_TEST, of)
        arrays = {name: getattr(parts, name) for name in ("data", "indices", "indptr")}
        np.savez("truth.npz", format=b"csr", shape=np.array(parts.shape), **arrays)
        words = "--exclude pairs.txt --metrics p,ndcg,psp --k 1,2 --train Y_train.npz --format json"
        reports.append([run(f"evaluate truth.npz {scores} {words}") for scores in ("m", "list.npz")])
    assert reports[0] == reports[1]


@pytest.mark.parametrize(("value", "dtype"), [(2**64 - 1, "u8"), (Y_TEST.shape[1], "u1")])
def test_pairs_leave_wrong_ids_to_be_refused(folder: Path, refused: Any, value: int, dtype: str) -> None:
    Path("pairs.txt").write_text("0 1\n")
    ids = IDS.astype(dtype)
    ids[1, 0] = value
    np.save("m_indices.npy", ids)
    Path("m_scores.npy").unlink()
    message = refused("evaluate Y_test.npz m --exclude pairs.txt --metrics p@1")
    assert "row 1: label id " in message


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_lists_of_ids_are_read_beside_files(folder: Path, library: str) -> None:
    """Of scores, whose labels the file tells; a truth needs their number."""
    frames = pytest.importorskip(library)
    truth: dict[str, list[Any]] = {"labels": [[0, 2], [1]]}
    scores: dict[str, list[Any]] = {"labels": [[2], [0]], "scores": [[0.5], [0.4]]}
    write_table(Path("t.parquet"), truth)
    write_table(Path("s.parquet"), scores)
    assert evaluate("t.parquet", frames.DataFrame(scores), metrics="p@1")["p@1"] == 0.5
    assert evaluate(frames.DataFrame(truth), "s.parquet", metrics="p@1", n_labels=3)["p@1"] == 0.5
    with pytest.raises(ValueError, match="y_true: does not tell what labels there are; give n_labels="):
        evaluate(frames.DataFrame(truth), "s.parquet", metrics="p@1")


@pytest.mark.parametrize("predictions", [
    [{"x": 0.9, "q": 0.1}, {"z": 0.5}],
    [[["x", 0.9], ["q", 0.1]], [["z", 0.5]]],
    [[{"label": "q", "score": 0.1}, {"label": "x", "score": 0.9}], [{"label": "z", "score": 0.5}]],
    [[{"corpus_id": "q", "score": 0.1}, {"corpus_id": "x", "score": 0.9}], [{"corpus_id": "z", "score": 1}]],
])  # fmt: skip
def test_objects_of_predictions_are_read_in_json_lines_as_in_python(folder: Path, predictions: Any) -> None:
    truth = [["x"], ["y"]]
    for name, rows in ("t", truth), ("s", predictions):
        Path(f"{name}.jsonl").write_text("".join(json.dumps({"labels": row}) + "\n" for row in rows))
    in_files = evaluate("t.jsonl", "s.jsonl", metrics="p@1")
    assert in_files["p@1"] == evaluate(truth, predictions, metrics="p@1")["p@1"] == 0.5


def test_a_separator_of_a_blank_leaves_other_blanks_in_names(folder: Path) -> None:
    Path("t.csv").write_text("labels\nNew\u00a0York Rome\n", encoding="utf-8")
    report = evaluate(scan("t.csv", separator=" "), [["Rome"]], metrics="p@1")
    assert report.label_names == ["New\u00a0York", "Rome"]
