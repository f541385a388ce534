"""Integers that name rows and labels are called by their digits, on either side."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xmleval import evaluate, fuse

TRUTH = {7: {30: 1, 4: 0, 12: 1}, 10: {4: 1}, 3: {12: 1}}
# equal scores, whose order decides on values
RUN = {7: {4: 0.5, 30: 0.5, 12: 0.5, 99: 0.2}, 3: {30: 0.7, 12: 0.1}, 10: {4: 0.5, 30: 0.5}}
METRICS = ["p@1", "ndcg@2", "map@3", "f1.macro@1"]
Rows = dict[int, dict[int, Any]]


def with_texts(rows: Rows) -> Any:
    return {
        str(key): {str(label): value for label, value in row.items()} for key, row in rows.items()
    }


def with_text_labels(rows: Rows) -> Any:
    return dict(zip(rows, with_texts(rows).values(), strict=True))


def with_text_keys(rows: Rows) -> Any:
    return {str(key): row for key, row in rows.items()}


def long_frame(rows: Rows) -> Any:
    pandas = pytest.importorskip("pandas")
    entries = [(key, label, value) for key, row in rows.items() for label, value in row.items()]
    return pandas.DataFrame(entries, columns=["instance", "label", "score"])


def json_file(rows: Rows) -> Any:
    path = Path(f"{len(list(Path().iterdir()))}.json")
    path.write_text(json.dumps(rows))
    return str(path)


FORMS: dict[str, Callable[[Rows], Any]] = {
    "integers": lambda rows: rows,
    "texts": with_texts,
    "text labels": with_text_labels,
    "text keys": with_text_keys,
    "long frame": long_frame,
    "JSON": json_file,
}


@pytest.mark.parametrize(("truth", "run"), [*itertools.product(FORMS, FORMS)])
def test_integers_and_their_digits_are_the_same_names(
    truth: str, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = evaluate(with_texts(TRUTH), with_texts(RUN), metrics=METRICS, per_row=True)
    report = evaluate(FORMS[truth](TRUTH), FORMS[run](RUN), metrics=METRICS, per_row=True)
    assert dict(report) == dict(expected)
    assert report.label_names == ["30", "4", "12"]
    assert report.unknown_labels == ["99"]
    assert [*map(str, report.per_row()["name"])] == ["7", "10", "3"]
    other_notes = [note for note in report.notes if "integer labels are read as names" not in note]
    assert [note.partition(": ")[2] for note in other_notes] == [
        note.partition(": ")[2] for note in expected.notes
    ]


def test_integers_read_as_names_are_noted_unless_their_number_is_given() -> None:
    note = "integer labels are read as names, as n_labels= is not given"
    assert note in evaluate(TRUTH, RUN, metrics=METRICS).notes
    report = evaluate(TRUTH, RUN, metrics=METRICS, n_labels=100)
    assert note not in report.notes
    assert report.label_names is None


def test_integers_beside_names_that_are_no_digits_are_refused() -> None:
    words = {7: {"cat": 1}, 10: {"dog": 1}, 3: {"cat": 1}}
    for truth, run in ((words, RUN), (TRUTH, words)):
        with pytest.raises(
            ValueError, match=r"have names, but those of .* have none; give labels="
        ):
            evaluate(truth, run, metrics=["p@1"])
    with pytest.raises(ValueError, match=r"no row key is in y_true, such as 'x'"):
        evaluate(TRUTH, {"x": {30: 0.5}}, metrics=["p@1"])


def test_digits_with_a_leading_zero_are_other_names() -> None:
    report = evaluate(TRUTH, {"07": {"30": 0.5}, "10": {"04": 0.5}}, metrics=["p@1"])
    assert report["p@1"] == 0
    assert report.unknown_labels == ["04"]


def test_values_of_rows_and_labels_may_be_called_by_integers_or_digits() -> None:
    truth = with_texts(TRUTH)
    run = with_texts(RUN)
    options: dict[str, Any] = {"metrics": ["p@1", "psp@1"], "label_groups": {30: "head", 4: "tail"}}
    options |= {"sample_weight": {7: 1.0, 3: 0.5, 10: 0.25}, "y_train": {**TRUTH, 11: {4: 1}}}
    expected_options: dict[str, Any] = {
        "metrics": ["p@1", "psp@1"],
        "label_groups": {"30": "head", "4": "tail"},
        "sample_weight": {"7": 1.0, "3": 0.5, "10": 0.25},
        "y_train": with_texts({**TRUTH, 11: {4: 1}}),
    }
    expected = evaluate(truth, run, **expected_options)
    for report in (evaluate(truth, run, **options), evaluate(TRUTH, RUN, **options)):
        assert dict(report) == dict(expected)
        assert report.to_csv() == expected.to_csv()  # with the values of groups


def test_fuse_matches_integer_rows_with_their_digits() -> None:
    run = {key: {f"d{label}": value for label, value in row.items()} for key, row in RUN.items()}
    texts = {str(key): row for key, row in run.items()}
    assert fuse([run, texts]) == fuse([run, run])
    assert [*fuse([texts, run])] == [*texts]
