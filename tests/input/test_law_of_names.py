"""The law of names of `xmleval/input/README.md`, row by row, in every form of memory and of files."""

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
FILES = ("run", "json", "csv", "jsonl", "parquet", "lists of csv", "lists of jsonl", "lists of parquet")
METRICS = ["p@1", "p@2", "r@2", "f1.micro@1"]
ASKED = [*METRICS, "ranking"]  # of which LRAP needs the number of labels
TRUTH: Rows = {"q1": {"red": 1, "blue": 1}, "q2": {"green": 1}, "q3": {"red": 1}}
RUN: Rows = {
    "q1": {"green": 0.5, "red": 0.25},
    "q2": {"green": 2.0, "red": 0.5},
    "q3": {"blue": 3.0, "red": 1.0},
}


@dataclass
class Law:
    """A case of the law: rows of both sides, the names of all labels if they are listed, what is noted.

    ``refused`` is a part of the message instead; ``only`` are the forms that can hold the case, None for all.
    ``ordered`` tells that the case is of rows in order, too.
    """

    truth: Rows
    scores: Rows
    labels: list[str] | None = None
    notes: tuple[str, ...] = ()
    refused: str = ""
    only: Callable[[str], bool] | None = None
    ordered: bool = True


def judges(form: str) -> bool:
    """Whether labels of a form have values of their own, by which they are relevant, or rank."""
    return FORMS[form].by_name if form in FORMS else form in ("run", "json")


def ranks(form: str) -> bool:
    """Whether labels of a form rank by their values alone."""
    return judges(form) or form in ("csv", "jsonl", "parquet")


def without(rows: Rows, *keys: str) -> Rows:
    return {key: row for key, row in rows.items() if key not in keys}


MISSING = "1 row of the truth has no prediction; it counts as empty"
IGNORED = "1 row is not in the truth; it is ignored"
UNKNOWN = "1 predicted label never occurs in the truth, such as 'pink'; it counts as wrong"
NAN = "'nan' counts as a label; leave it out where it stands for a missing value"
PINK = RUN | {"q1": {"pink": 9.0, "red": 0.25}}
LAWS = {
    "rows are matched by key": Law(TRUTH, {key: RUN[key] for key in ("q3", "q1", "q2")}, ordered=False),
    "rows in order": Law(TRUTH, RUN),
    "rows without predictions are empty": Law(TRUTH, without(RUN, "q2"), notes=(MISSING,), ordered=False),
    "rows beside the truth are ignored, and their labels": Law(
        TRUTH, RUN | {"q9": {"pink": 1.0}}, notes=(IGNORED,), ordered=False
    ),
    "no row in common": Law(
        TRUTH, {f"d{key}": row for key, row in RUN.items()}, ordered=False,
        refused="no row is one of TRUTH, as 'dq1' is not; expected names like 'q1'",
    ),
    "unknown labels are wrong": Law(TRUTH, PINK, notes=(UNKNOWN,)),
    "unknown labels are wrong beside a list": Law(TRUTH, PINK, ["blue", "green", "red"], (UNKNOWN,)),
    "other labels than those of the list": Law(
        TRUTH, RUN, ["blue", "red", "grey"], refused="label 'green' is not one of the 3 given ones",
    ),
    "a list names labels that nothing else names": Law(TRUTH, RUN, ["grey", "green", "red", "blue"]),
    "equal scores rank by the later name": Law(
        TRUTH, {key: dict.fromkeys(row, 2.0) for key, row in RUN.items()},
        only=ranks,
    ),
    "labels judged 0 or below are not relevant, and name labels": Law(
        TRUTH | {"q3": {"red": 0, "blue": -1}}, RUN, only=judges,
    ),
    "rows without relevant labels are rows": Law(
        TRUTH | {"q4": {"red": 0}}, RUN | {"q4": {"red": 1.0}}, only=judges,
    ),
    "an empty name is no label": Law(
        TRUTH | {"q2": {"green": 1, "": 1}}, RUN | {"q1": {"": 9.0, "red": 0.25}},
        only=lambda form: form not in ("run", "csv", "jsonl", "lists of csv"),
    ),
    "words for missing values are labels": Law(
        TRUTH, RUN | {"q1": {"nan": 9.0, "red": 0.25}}, notes=(UNKNOWN.replace("pink", "nan"), NAN),
        only=lambda form: form != "lists of csv",
    ),
    "labels may be numbers in texts": Law(
        {"q1": {"10": 1, "9": 1}, "q2": {"07": 1}}, {"q1": {"9": 1.0, "7": 2.0}, "q2": {"07": 1.0}},
        notes=(UNKNOWN.replace("pink", "7"),), only=lambda form: "csv" not in form and form != "table",
    ),
}  # fmt: skip


def expected_of(law: Law) -> list[float]:
    """Return the values by a count of dicts."""
    n, n_listed, n_true, hits = 0, 0, 0, {1: 0.0, 2: 0.0}
    recall = 0.0
    for key, judged in law.truth.items():
        relevant = {name for name, grade in judged.items() if grade > 0 and name}
        row = {name: score for name, score in law.scores.get(key, {}).items() if name}
        best = [name for _, name in sorted(((score, name) for name, score in row.items()), reverse=True)]
        for k in hits:
            hits[k] += len(relevant.intersection(best[:k])) / k
        recall += len(relevant.intersection(best[:2])) / len(relevant) if relevant else 0
        n, n_listed, n_true = n + 1, n_listed + bool(best), n_true + len(relevant)
    return [hits[1] / n, hits[2] / n, recall / n, 2 * hits[1] / (n_listed + n_true)]


def check(law: Law, values: Any, notes: list[str], label_names: list[str] | None = None) -> None:
    assert [values[name] for name in METRICS] == pytest.approx(expected_of(law), abs=1e-12)
    seen = [re.sub(r"^(y_score|s\.\w+): ", "", note) for note in notes]
    seen = [
        re.sub(r"^.*, (?='nan')", "", note) for note in seen if not note.startswith(("rows ", "averages "))
    ]
    assert sorted(seen) == sorted(law.notes)
    assert ("lrap" in values) is (law.labels is not None or UNKNOWN[:9] not in str(law.notes))
    if label_names is not None:
        assert label_names == (law.labels or [name for name in names_of(law.truth) if name])


def positive(rows: Rows) -> Rows:
    return {key: {name: 1 for name, grade in row.items() if grade > 0} for key, row in rows.items()}


CASES = [(name, form) for name, law in LAWS.items() for form in FORMS
         if (FORMS[form].keyed or law.ordered) and (law.only is None or law.only(form))]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), CASES)
def test_law_in_memory(name: str, form: str) -> None:
    law, made = LAWS[name], FORMS[form]
    sides = {"y_true": law.truth if judges(form) else positive(law.truth), "y_score": law.scores}
    for role in {"y_true", "y_score"}.intersection(made.roles):
        other = "y_score" if role == "y_true" else "y_true"
        plain: Any = sides[other] if made.keyed else [*sides[other].values()]
        arguments: dict[str, Any] = {role: made.make(sides[role], role), other: plain}
        if law.refused:
            with pytest.raises(ValueError, match=re.escape(law.refused.replace("TRUTH", "y_true"))):
                evaluate(**arguments, metrics=ASKED, labels=law.labels)
            continue
        report = evaluate(**arguments, metrics=ASKED, labels=law.labels)
        check(law, report, [*report.notes], None if "long" in form or form == "sets" else report.label_names)
        assert report.row_names == ([*law.truth] if made.keyed else None)


FILE_CASES = [
    (name, form) for name, law in LAWS.items() for form in FILES if law.only is None or law.only(form)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), FILE_CASES)
def test_law_of_files(name: str, form: str) -> None:
    law = LAWS[name]
    truth = law.truth if judges(form) else positive(law.truth)
    scores = write_rows("s", form, law.scores)
    for of_truth in {form} if "" in names_of(law.truth) else {form, "run"}:
        path = write_rows("t", of_truth, truth if of_truth == form else law.truth, False)
        line = ["evaluate", path, scores, "--metrics", ",".join(ASKED), "--format", "json"]
        if law.labels is not None:
            Path("names.txt").write_text("\n".join(law.labels))
            line += ["--labels", "names.txt"]
        code, out, err = answer(line)
        if law.refused:
            assert code == 2
            assert law.refused.replace("TRUTH", path) in err
            continue
        assert code == 0, err
        contents = json.loads(out)
        notes = [note for note in contents["notes"] if not note.endswith(("in 'labels'", "in 'instance'"))]
        check(law, contents["values"], [note.replace("--labels", "labels=") for note in notes])
