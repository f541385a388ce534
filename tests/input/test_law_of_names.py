"""The law of names of `xmleval/docs/names.md`, in every form of objects and files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.damage import answer
from tests.input.forms import NAMED, Rows, names_of, write_rows
from xmleval import evaluate

FORMS = {name: form for name, form in NAMED.items() if form.keyed is not None and not form.wide}
FILES = (
    "run",
    "json",
    "csv",
    "jsonl",
    "parquet",
    "lists of csv",
    "lists of jsonl",
    "lists of parquet",
)
METRICS = ["p@1", "p@2", "r@2", "f1.micro@1"]
REQUESTED = [*METRICS, "ranking"]  # LRAP, one of the ranking measures, needs the number of labels
TRUTH: Rows = {
    "q1": {"red": 1, "blue": 1},
    "q2": {"green": 1},
    "q3": {"red": 1},
}
RUN: Rows = {
    "q1": {"green": 0.5, "red": 0.25},
    "q2": {"green": 2.0, "red": 0.5},
    "q3": {"blue": 3.0, "red": 1.0},
}


@dataclass
class Law:
    """A case of the law.

    truth, scores : rows of both sides
    labels : names of all labels, if they are listed
    notes : notes of the report
    refused : a part of the message, if the case is refused
    only : whether a form can represent the case; None for all forms
    ordered : whether the case is also one of rows in order
    """

    truth: Rows
    scores: Rows
    labels: list[str] | None = None
    notes: tuple[str, ...] = ()
    refused: str = ""
    only: Callable[[str], bool] | None = None
    ordered: bool = True


def judges(form: str) -> bool:
    """Return whether each label of a form has a value, by which it is relevant or ranks."""
    if form in FORMS:
        return FORMS[form].by_name
    return form in ("run", "json")


def ranks(form: str) -> bool:
    """Return whether labels of a form rank by their values only."""
    return judges(form) or form in ("csv", "jsonl", "parquet")


def without(rows: Rows, *keys: str) -> Rows:
    return {key: row for key, row in rows.items() if key not in keys}


MISSING = "1 row of the truth has no prediction; it counts as empty"
IGNORED = "1 row is not in the truth; it is ignored"
UNKNOWN = "1 predicted label never occurs in the truth, such as 'pink'; it counts as wrong"
NAN = "'nan' counts as a label; leave it out if it means a missing value"
PINK = RUN | {"q1": {"pink": 9.0, "red": 0.25}}
LAWS = {
    "rows are matched by key": Law(
        TRUTH, {key: RUN[key] for key in ("q3", "q1", "q2")}, ordered=False
    ),
    "rows in order": Law(TRUTH, RUN),
    "rows without predictions are empty": Law(
        TRUTH, without(RUN, "q2"), notes=(MISSING,), ordered=False
    ),
    "rows that the truth lacks are ignored, and their labels": Law(
        TRUTH, RUN | {"q9": {"pink": 1.0}}, notes=(IGNORED,), ordered=False
    ),
    "no row in common": Law(
        TRUTH,
        {f"d{key}": row for key, row in RUN.items()},
        ordered=False,
        refused="no row key is in TRUTH, such as 'dq1'; expected keys like 'q1'",
    ),
    "unknown labels are wrong": Law(TRUTH, PINK, notes=(UNKNOWN,)),
    "unknown labels are wrong next to a list": Law(
        TRUTH, PINK, ["blue", "green", "red"], (UNKNOWN,)
    ),
    "other labels than those of the list": Law(
        TRUTH,
        RUN,
        ["blue", "red", "grey"],
        refused="label 'green' is not one of the 3 listed labels",
    ),
    "a list names labels that nothing else names": Law(
        TRUTH, RUN, ["grey", "green", "red", "blue"]
    ),
    "equal scores rank by the later name": Law(
        TRUTH,
        {key: dict.fromkeys(row, 2.0) for key, row in RUN.items()},
        only=ranks,
    ),
    "labels judged 0 or below are not relevant, and name labels": Law(
        TRUTH | {"q3": {"red": 0, "blue": -1}},
        RUN,
        only=judges,
    ),
    "rows without relevant labels are rows": Law(
        TRUTH | {"q4": {"red": 0}},
        RUN | {"q4": {"red": 1.0}},
        only=judges,
    ),
    "an empty name is no label": Law(
        TRUTH | {"q2": {"green": 1, "": 1}},
        RUN | {"q1": {"": 9.0, "red": 0.25}},
        only=lambda form: form not in ("run", "csv", "jsonl", "lists of csv"),
    ),
    "words for missing values are labels": Law(
        TRUTH,
        RUN | {"q1": {"nan": 9.0, "red": 0.25}},
        notes=(UNKNOWN.replace("pink", "nan"), NAN),
        only=lambda form: form != "lists of csv",
    ),
    "labels may be numbers in texts": Law(
        {"q1": {"10": 1, "9": 1}, "q2": {"07": 1}},
        {"q1": {"9": 1.0, "7": 2.0}, "q2": {"07": 1.0}},
        notes=(UNKNOWN.replace("pink", "7"),),
        only=lambda form: "csv" not in form and form != "table",
    ),
}


def expected_of(law: Law) -> list[float]:
    """Return the values by a count of dicts."""
    n_rows = len(law.truth)
    n_listed = 0
    n_relevant = 0
    precision_at_1 = 0.0
    precision_at_2 = 0.0
    recall_at_2 = 0.0
    for key, judged in law.truth.items():
        relevant = {name for name, grade in judged.items() if grade > 0 and name}
        row = law.scores.get(key, {})
        scored = [(score, name) for name, score in row.items() if name]
        best_first = [name for _, name in sorted(scored, reverse=True)]
        hits_at_2 = len(relevant.intersection(best_first[:2]))
        precision_at_1 += len(relevant.intersection(best_first[:1]))
        precision_at_2 += hits_at_2 / 2
        if relevant:
            recall_at_2 += hits_at_2 / len(relevant)
        n_listed += bool(best_first)
        n_relevant += len(relevant)
    return [
        precision_at_1 / n_rows,
        precision_at_2 / n_rows,
        recall_at_2 / n_rows,
        2 * precision_at_1 / (n_listed + n_relevant),
    ]


def without_details(notes: list[str]) -> list[str]:
    """Return notes without the argument or file, and without those on order and averages."""
    texts = []
    for note in notes:
        text = re.sub(r"^(y_score|s\.\w+): ", "", note)
        if not text.startswith(("rows ", "averages ")):
            texts.append(re.sub(r"^.*, (?='nan')", "", text))
    return texts


def check(law: Law, values: Any, notes: list[str]) -> None:
    actual = [values[name] for name in METRICS]
    assert actual == pytest.approx(expected_of(law), abs=1e-12)
    assert sorted(without_details(notes)) == sorted(law.notes)
    has_unknown_labels = UNKNOWN[:9] in str(law.notes)
    knows_number_of_labels = law.labels is not None or not has_unknown_labels
    assert ("lrap" in values) is knows_number_of_labels


def positive(rows: Rows) -> Rows:
    """Return the relevant labels of rows."""
    relevant: Rows = {}
    for key, row in rows.items():
        relevant[key] = {name: 1 for name, grade in row.items() if grade > 0}
    return relevant


def true_rows(law: Law, form: str) -> Rows:
    if judges(form):
        return law.truth
    return positive(law.truth)


def is_case(law: Law, form: str) -> bool:
    """Return whether a form can represent a case."""
    return law.only is None or law.only(form)


CASES = [
    (name, form)
    for name, law in LAWS.items()
    for form in FORMS
    if (FORMS[form].keyed or law.ordered) and is_case(law, form)
]


def slow_but_some(cases: list[tuple[str, str]]) -> list[Any]:
    """Return cases of which the fast tests run every fourth, of each law and of each form some."""
    params: list[Any] = []
    for place, case in enumerate(cases):
        marks = [pytest.mark.slow] if place % 4 else []
        params.append(pytest.param(*case, marks=marks))
    return params


@pytest.mark.parametrize(("name", "form"), slow_but_some(CASES))
def test_law_in_memory(name: str, form: str) -> None:
    law = LAWS[name]
    made = FORMS[form]
    rows = {"y_true": true_rows(law, form), "y_score": law.scores}
    for role in {"y_true", "y_score"}.intersection(made.roles):
        arguments: dict[str, Any] = dict(rows)
        if not made.keyed:
            arguments = {name: [*side.values()] for name, side in rows.items()}
        arguments[role] = made.make(rows[role], role)
        arguments |= {"metrics": REQUESTED, "labels": law.labels}
        if law.refused:
            message = law.refused.replace("TRUTH", "y_true")
            with pytest.raises(ValueError, match=re.escape(message)):
                evaluate(**arguments)
            continue
        report = evaluate(**arguments)
        check(law, report, [*report.notes])
        has_names_in_order = "long" not in form and form != "sets"
        if has_names_in_order and report.label_names is not None:
            true_names = [name for name in names_of(law.truth) if name]
            assert report.label_names == (law.labels or true_names)
        assert report.row_names == ([*law.truth] if made.keyed else None)


FILE_CASES = [(name, form) for name, law in LAWS.items() for form in FILES if is_case(law, form)]


@pytest.mark.parametrize(("name", "form"), slow_but_some(FILE_CASES))
def test_law_of_files(name: str, form: str) -> None:
    law = LAWS[name]
    scores = write_rows("s", form, law.scores)
    truths = {form: true_rows(law, form)}
    if "" not in names_of(law.truth):
        truths["run"] = law.truth
    for true_form, truth in truths.items():
        path = write_rows("t", true_form, truth, False)
        command = ["evaluate", path, scores, "--metrics", ",".join(REQUESTED), "--format", "json"]
        if law.labels is not None:
            Path("names.txt").write_text("\n".join(law.labels))
            command += ["--labels", "names.txt"]
        code, out, err = answer(command)
        if law.refused:
            assert code == 2
            assert law.refused.replace("TRUTH", path) in err
            continue
        assert code == 0, err
        report = json.loads(out)
        notes = []
        for note in report["notes"]:
            if not note.endswith(("in 'labels'", "in 'instance'")):
                notes.append(note.replace("--labels", "labels="))
        check(law, report["values"], notes)
