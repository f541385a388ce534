"""Empty names are no labels, and those that print missing values are noted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xmleval import Evaluator, evaluate

ROWS, NAMES = ["q1", "q2", "q3"], ["red", "green", "blue", "grey"]
SPLIT = [["red", "green"], [""], ["blue"]], [["red"], [""], ["grey", ""]]  # as "".split("|") gives
SPLIT_FORMS: dict[str, Callable[[list[list[str]]], Any]] = {
    "lists": lambda rows: rows,
    "by key": lambda rows: dict(zip(ROWS, rows, strict=True)),
    "dicts": lambda rows: [dict.fromkeys(row, 1) for row in rows],
    "Series": lambda rows: pytest.importorskip("pandas").Series(rows),
    "frame": lambda rows: pytest.importorskip("pandas").DataFrame({"labels": rows}),
    "polars": lambda rows: pytest.importorskip("polars").DataFrame({"labels": rows}),
    "long": lambda rows: pytest.importorskip("pandas").DataFrame(
        [(row, name) for row, names in zip(ROWS, rows, strict=True) for name in names],
        columns=["instance", "label"],
    ),
}


@pytest.mark.parametrize("form", SPLIT_FORMS)
def test_an_empty_name_is_no_label(form: str) -> None:
    truth, predicted = map(SPLIT_FORMS[form], SPLIT)
    report = evaluate(truth, y_pred=predicted, metrics="f1.micro")
    assert report["f1.micro"] == 2 / 5
    assert report.label_names == ["red", "green", "blue", "grey"]
    assert report.n_rows == 3
    evaluator = Evaluator("f1.micro", labels=NAMES)
    evaluator.update(truth, y_pred=predicted)
    assert evaluator.compute()["f1.micro"] == 2 / 5
    with pytest.raises(ValueError, match=r"^labels: name 1 is empty"):
        Evaluator("f1.micro", labels=["red", ""])


@pytest.mark.parametrize("word", ["nan", "NaN", "None", "NaT", "<NA>"])
def test_a_label_called_as_a_missing_value_is_noted(word: str) -> None:
    note = f"{word!r} counts as a label; leave it out where it stands for a missing value"
    assert note in evaluate([["red"], [word]], [["red"], ["red"]], metrics="p@1").notes
    assert note in evaluate([["red"], ["red"]], [["red"], [word]], metrics="p@1").notes
    assert note in evaluate([["red"], ["red"]], [["red"], [word]], metrics="p@1", labels=["red"]).notes
    assert note not in evaluate([["red"], ["red"]], [["red"], ["red"]], metrics="p@1").notes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("word", ["nan", "NaN", "None", "NaT", "<NA>"])
def test_words_for_missing_values_are_no_labels_in_text(folder: Path, found: Any, word: str) -> None:
    Path("d.csv").write_text(f"tags,predicted\n{word},{word}\n{word},a\na,a\nb,a\n")
    values, notes = found("d.csv --metrics f1.micro")
    assert values == {"f1.micro": 2 / 5}
    assert any(f"2 fields {word!r} in 'tags' read as no label" in note for note in notes)
    assert any(f"1 field {word!r} in 'predicted' read as no label" in note for note in notes)
    rows = [{"tags": [word], "predicted": [word]}, {"tags": ["a"], "predicted": ["b"]}]
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    values, notes = found("d.jsonl --metrics f1.micro")
    assert values == {"f1.micro": 1 / 2}
    assert sum(f"{word!r} counts as a label" in note for note in notes) == 1


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_an_empty_name_is_no_label_in_files(folder: Path, found: Any, name: str) -> None:
    truth, predicted = [["a", "b"], [""], ["c"]], [["a"], [""], ["d", ""]]
    if name == "d.parquet":
        table = pytest.importorskip("pyarrow").table
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(table({"labels": truth}), name)
        scores = [[1.0] * len(row) for row in predicted]
        parquet.write_table(table({"labels": predicted, "scores": scores}), "p.parquet")
        values, _ = found(f"{name} p.parquet --metrics f1.micro --decision threshold0.5")
    else:
        rows = [{"tags": t, "predicted": p} for t, p in zip(truth, predicted, strict=True)]
        with Path(name).open("w", newline="") as file:
            if name == "d.csv":
                table = csv.DictWriter(file, ["tags", "predicted"])
                table.writeheader()
                table.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        values, _ = found(f"{name} --metrics f1.micro")
    assert values == {"f1.micro": 2 / 5}
