"""Empty names are no labels, and those that print missing values are noted."""

from __future__ import annotations

from collections.abc import Callable
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
    assert note not in evaluate([["red"], ["red"]], [["red"], ["red"]], metrics="p@1").notes
