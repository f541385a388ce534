"""The law of columns: one that differs among the labels of a row is used, refused or noted."""

import csv
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.input.forms import FRAMES, Table
from xmleval import (
    Evaluator,
    compare,
    evaluate,
    from_df,
    inverse_propensity,
    label_groups,
    label_statistics,
    scan,
)
from xmleval.thresholds import fit as fit_thresholds

FORMS = ["pandas", "polars", "arrow", "parquet", "csv", "jsonl"]
LABELS = "abcdefgh"
CUTOFF = 2
Rows = dict[str, dict[str, float]]
Lists = dict[str, list[str]]
Cells = list[list[Any]]  # a value for each label of each row
DrawValues = Callable[[Any, int], list[Any]]

VALUES: dict[str, DrawValues] = {
    "words": lambda rng, n: rng.choice([*"ESCI"], n).tolist(),
    "yes and no": lambda rng, n: rng.choice(["yes", "no"], n).tolist(),
    "booleans": lambda rng, n: rng.choice([True, False], n).tolist(),
    "integers": lambda rng, n: rng.integers(0, 3, n).tolist(),
    "numbers": lambda rng, n: (rng.integers(1, 90, n) / 8).tolist(),
    "digits": lambda rng, n: [str(number) for number in rng.integers(0, 2, n)],
    "decimals": lambda rng, n: [Decimal(int(number)) / 4 for number in rng.integers(0, 9, n)],
    "categories": lambda rng, n: rng.choice(["good", "bad", "fair"], n).tolist(),
    "texts": lambda rng, n: [f"text {number}" for number in rng.integers(0, 99, n)],
}
UNKNOWN = ["verdict", "esci_label", "clicked", "rating", "my column", "Spalte", "x", "annotator"]
USUAL = {"y_true": ["relevance", "grade", "rel", "Relevant"], "y_score": ["score", "scores"]}


@dataclass
class Problem:
    """A truth and scores as tables; the table of ``role`` has a column more, called ``column``.

    truth, scores : by row and label, where the column judges or scores if it has a usual name
    """

    role: str
    column: str
    is_usual: bool
    as_lists: bool
    tables: dict[str, Table] = field(default_factory=dict)
    truth: Rows = field(default_factory=dict)
    scores: Rows = field(default_factory=dict)


def draw_lists(rng: Any) -> Lists:
    """Return labels of rows, two or more in each."""
    lists: Lists = {}
    for row in range(rng.integers(2, 6)):
        labels = rng.permutation([*LABELS])
        lists[f"q{row}"] = labels[: rng.integers(2, 5)].tolist()
    return lists


def has_different_values(cells: Cells) -> bool:
    """Return whether the labels of some row have different values."""
    return any(len({*map(str, row)}) > 1 for row in cells)


def draw_cells(rng: Any, draw_values: DrawValues, lists: Lists, must_differ: bool) -> Cells:
    """Draw a value for each label, again until they differ if they must."""
    while True:
        cells = [draw_values(rng, len(labels)) for labels in lists.values()]
        if has_different_values(cells) or not must_differ:
            return cells


def draw_values_of_rows(rng: Any, cells: Cells) -> list[Any]:
    """Return a value for each row, or a list of another length than that of its labels."""
    length = int(rng.choice([0, 9]))
    if length == 0:
        return [row[0] for row in cells]
    return [row[:1] * length for row in cells]


def table_of(lists: Lists, columns: dict[str, Cells], as_lists: bool, rng: Any) -> Table:
    """Return a table of lists, or one with a row for each label in any order."""
    if as_lists:
        return {"instance": [*lists], "labels": [*lists.values()], **columns}
    entries = []
    for row, (key, labels) in enumerate(lists.items()):
        cells = [column[row] for column in columns.values()]
        for label, *values in zip(labels, *cells, strict=True):
            entries.append((key, label, *values))
    ordered = [entries[place] for place in rng.permutation(len(entries))]
    names = ("instance", "label", *columns)
    return dict(zip(names, map(list, zip(*ordered, strict=True)), strict=True))


def by_row(lists: Lists, cells: Cells) -> Rows:
    rows: Rows = {}
    for (key, labels), values in zip(lists.items(), cells, strict=True):
        rows[key] = dict(zip(labels, values, strict=True))
    return rows


def draw_values_function(rng: Any, role: str, is_usual: bool) -> DrawValues:
    """Draw the kind of values; columns with usual names contain grades or scores."""
    kind = str(rng.choice([*VALUES]))
    if is_usual:
        kind = {"y_true": "integers", "y_score": "numbers"}[role]
    return VALUES[kind]


def draw_has_scores(rng: Any, problem: Problem, decides: bool) -> bool:
    """Draw whether predictions have the usual scores, next to the column or not."""
    if problem.role == "y_true":
        return True
    if problem.is_usual:
        return False
    if problem.as_lists and decides:
        return bool(rng.random() >= 0.5)
    return True


def draw_empty_problem(rng: Any, decides: bool) -> Problem:
    """Draw the column and the form of a problem."""
    role = str(rng.choice(["y_true", "y_score"]))
    is_usual = bool(decides and rng.random() < 0.3)
    as_lists = bool(rng.random() < 0.5)
    names = USUAL[role] if is_usual else UNKNOWN
    return Problem(role, str(rng.choice(names)), is_usual, as_lists)


def draw(seed: int, decides: bool = True) -> Problem:
    """Draw a problem with a column that differs within rows, or, unless it decides, does not."""
    rng = np.random.default_rng(seed)
    problem = draw_empty_problem(rng, decides)
    role = problem.role
    is_usual = problem.is_usual
    as_lists = problem.as_lists
    true_lists = draw_lists(rng)
    ranked_lists = {key: rng.permutation([*LABELS])[:3].tolist() for key in true_lists}
    lists = {"y_true": true_lists, "y_score": ranked_lists}
    draw_values = draw_values_function(rng, role, is_usual)
    cells = draw_cells(rng, draw_values, lists[role], decides and not as_lists)
    if not decides:
        cells = [[row[0]] * len(row) for row in cells]

    judgements: Cells = [[1] * len(labels) for labels in true_lists.values()]
    scores: Cells = [[1.0, 0.875, 0.75] for _ in ranked_lists]
    columns: dict[str, dict[str, Any]] = {"y_true": {}, "y_score": {}}
    if draw_has_scores(rng, problem, decides):
        columns["y_score"]["scores" if as_lists else "score"] = scores
    columns[role][problem.column] = cells
    if as_lists and not decides:
        columns[role][problem.column] = draw_values_of_rows(rng, cells)
    for name in lists:
        problem.tables[name] = table_of(lists[name], columns[name], as_lists, rng)

    if is_usual and role == "y_true":
        judgements = cells
    elif is_usual:
        scores = cells
    problem.truth = by_row(true_lists, judgements)
    problem.scores = by_row(ranked_lists, scores)
    return problem


def precision(truth: Rows, scores: Rows, as_lists: bool) -> float:
    """Return P@2 by definition; ties rank by the later name, or in the order of lists."""
    hits = 0
    for key, row in scores.items():
        labels = [*row]
        if not as_lists:
            labels.sort(reverse=True)
        ranked = sorted(labels, key=lambda label: -row[label])
        hits += sum(truth[key].get(label, 0) > 0 for label in ranked[:CUTOFF])
    return hits / CUTOFF / len(scores)


def text_of(cell: Any) -> str:
    if isinstance(cell, list):
        return json.dumps(cell, default=float)
    return str(cell)


def as_form(form: str, name: str, table: Table) -> Any:
    """Return a table as a frame, or the path of a file with it."""
    if form in FRAMES:
        return FRAMES[form](table)
    path = Path(f"{name}.{form}")
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(FRAMES["arrow"](table), path)
        return path
    rows = [*zip(*table.values(), strict=True)]
    if form == "jsonl":
        records = (dict(zip(table, row, strict=True)) for row in rows)
        lines = [f"{json.dumps(record, default=float)}\n" for record in records]
        path.write_text("".join(lines))
        return path
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([text_of(cell) for cell in row] for row in rows)
    return path


def answer(problem: Problem, form: str) -> tuple[float | None, list[str]]:
    """Return P@2 and notes, or None and the message that refuses the tables."""
    inputs = [as_form(form, name, table) for name, table in problem.tables.items()]
    try:
        report = evaluate(*inputs, metrics=[f"p@{CUTOFF}"])
    except ValueError as error:
        return None, [str(error)]
    return report[f"p@{CUTOFF}"], report.notes


def is_named(column: str, messages: list[str]) -> bool:
    return any(repr(column) in message for message in messages)


def cases(first: int, decides: bool) -> Iterator[tuple[Problem, str]]:
    for seed in range(first, first + 100):
        yield draw(seed, decides), FORMS[seed % len(FORMS)]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_column_that_decides_is_used_refused_or_named(first: int) -> None:
    for problem, form in cases(first, True):
        value, messages = answer(problem, form)
        context = (form, problem, value, messages)
        if problem.is_usual:
            expected = precision(problem.truth, problem.scores, problem.as_lists)
            assert value == pytest.approx(expected, abs=1e-12), context
        else:
            assert is_named(problem.column, messages), context


@pytest.mark.parametrize("first", range(1000, 1500, 100))
def test_column_that_is_the_same_within_rows_is_ignored(first: int) -> None:
    for problem, form in cases(first, False):
        value, messages = answer(problem, form)
        context = (form, problem, messages)
        expected = precision(problem.truth, problem.scores, problem.as_lists)
        assert value == pytest.approx(expected, abs=1e-12), context
        assert not is_named(problem.column, messages), context


JUDGED: Table = {
    "instance": ["q1", "q1", "q2", "q2", "q3"],
    "label": [*"abcda"],
    "verdict": [*"EIEIE"],
}
RATED: Table = {**JUDGED, "verdict": [3, 0, 2, 0, 1]}
RUN: Table = {
    "instance": ["q1", "q1", "q2", "q3"],
    "label": [*"baca"],
    "score": [0.9, 0.5, 0.4, 0.2],
}
TRUTH: Table = {name: JUDGED[name] for name in ("instance", "label")}


Reader = Callable[[Any, Any], list[str]]


def update(truth: Any, run: Any) -> list[str]:
    evaluator = Evaluator("p@1", labels=[*LABELS])
    evaluator.update(truth, run)
    return evaluator.compute().notes


def warnings_of(call: Callable[[Any, Any], Any]) -> Reader:
    """Return a function that calls another and returns its warnings."""

    def collect_warnings(truth: Any, run: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(truth, run)
        return [str(warning.message) for warning in caught]

    return collect_warnings


def notes_of(*rows: Any, metrics: str = "p@1", **options: Any) -> list[str]:
    notes: list[str] = evaluate(*rows, metrics=metrics, **options).notes
    return notes


def true_frame() -> Any:
    return FRAMES["pandas"](TRUTH)


NAMES = [*LABELS]
READERS: dict[str, Reader] = {
    "evaluate": notes_of,
    "update": update,
    "compare": lambda truth, run: compare(truth, {"a": run, "b": run}, metrics="p@1").notes,
    "candidates": lambda truth, run: notes_of(true_frame(), run, candidates=truth),
    "exclude": lambda truth, run: notes_of(true_frame(), run, exclude=truth),
    "sets": lambda truth, run: notes_of(true_frame(), y_pred=truth, metrics="f1.micro"),
    "thresholds": warnings_of(lambda truth, run: fit_thresholds(truth, run, measure="f1.micro")),
    "statistics": warnings_of(lambda truth, run: label_statistics(truth)),
    "propensities": warnings_of(lambda truth, run: inverse_propensity(truth, labels=NAMES)),
    "groups": warnings_of(lambda truth, run: label_groups(truth, edges=[0, 2], labels=NAMES)),
    "training labels": lambda truth, run: notes_of(
        true_frame(), run, metrics="psp@1", y_train=truth, labels=NAMES
    ),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("make", ["pandas", "polars", "from_df"])
def test_all_readers_of_tables_name_or_refuse_columns(reader: str, make: str) -> None:
    def frame(table: Table) -> Any:
        if make == "from_df":
            return from_df(FRAMES["pandas"](table), instance="instance", label="label")
        return FRAMES[make](table)

    run = FRAMES["pandas"](RUN)
    notes = READERS[reader](frame(JUDGED), run)
    assert is_named("verdict", notes)
    with pytest.raises(ValueError, match="'verdict' may contain judgements"):
        READERS[reader](frame(RATED), run)


def precision_and_notes(form: str, truth: Table, run: Table) -> tuple[float, list[str]]:
    report = evaluate(as_form(form, "t", truth), as_form(form, "s", run), metrics="p@1")
    return report["p@1"], report.notes


@pytest.mark.parametrize("form", FORMS)
def test_table_with_several_models_is_refused(form: str) -> None:
    for column in ("model", "system", "split", "seed"):
        within_rows = {**RUN, column: ["x", "y", "x", "x"]}
        message = f"{column!r} has several values for the labels of one row"
        with pytest.raises(ValueError, match=message):
            precision_and_notes(form, TRUTH, within_rows)
        among_rows = {**RUN, column: ["x", "x", "y", "x"]}
        value, _ = precision_and_notes(form, TRUTH, among_rows)
        assert value == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_scores_by_a_second_name_are_used_without_the_first(form: str) -> None:
    for column in ("prob", "confidence", "logits"):
        run = {name.replace("score", column): values for name, values in RUN.items()}
        value, _ = precision_and_notes(form, TRUTH, run)
        assert value == 1.0

        run = {**RUN, column: [0.1, 0.2, 0.3, 0.4]}
        value, notes = precision_and_notes(form, TRUTH, run)
        assert value == 1.0
        assert is_named(column, notes)


@pytest.mark.parametrize("form", FORMS)
def test_numbers_may_judge_one_label_a_row(form: str) -> None:
    truth: Table = {
        "instance": ["q1", "q2"],
        "label": ["b", "c"],
        "clicked": [0, 1],
    }
    with pytest.raises(ValueError, match="'clicked' may contain judgements"):
        precision_and_notes(form, truth, RUN)
    words = {**truth, "clicked": ["no click", "click"]}
    value, _ = precision_and_notes(form, words, RUN)
    assert value == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_column_called_rank_is_noted_as_scores(form: str) -> None:
    run = {**RUN, "rank": [1, 2, 1, 1]}
    del run["score"]
    truth = as_form(form, "t", TRUTH)
    scores = as_form(form, "s", run)
    if form == "parquet":
        return
    read = from_df if form in FRAMES else scan
    notes = notes_of(truth, read(scores, score="rank"))
    assert any("higher_is_better=False" in note and "'rank'" in note for note in notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["label_id", "timestamp"])
def test_numbers_that_are_no_judgements_are_ignored_with_a_note(name: str, form: str) -> None:
    truth: Table = {
        "instance": ["q1", "q1", "q2"],
        "label": ["a", "b", "c"],
        name: [0, 17, 2],
    }
    scores: Table = {
        "instance": ["q1", "q1", "q2"],
        "label": ["b", "x", "c"],
        "score": [0.9, 0.5, 0.4],
    }
    value, notes = precision_and_notes(form, truth, scores)
    assert value == 1.0
    assert is_named(name, notes)


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "jsonl"])
def test_lists_of_label_ids_next_to_names_are_ignored_with_a_note(form: str) -> None:
    truth: Table = {
        "id": ["q1", "q2"],
        "labels": [["a", "b"], ["c"]],
        "label_ids": [[0, 17], [2]],
    }
    scores: Table = {
        "id": ["q1", "q2"],
        "labels": [["b", "x"], ["c"]],
        "scores": [[0.9, 0.5], [0.4]],
    }
    value, notes = precision_and_notes(form, truth, scores)
    assert value == 1.0
    assert is_named("label_ids", notes)


@pytest.mark.parametrize(
    ("n_columns", "end"), [(1, "'c0', as"), (9, "'c8', as"), (10, "'c8' and 1 more, as")]
)
def test_first_nine_of_many_columns_are_named(n_columns: int, end: str) -> None:
    run: dict[str, list[Any]] = {"instance": ["q", "q"], "label": ["a", "b"], "score": [2.0, 1.0]}
    for number in range(n_columns):
        run[f"c{number}"] = [1, 2]
    report = evaluate({"q": ["a", "b"]}, FRAMES["pandas"](run), metrics="p@1")
    assert report.notes[0].endswith(f"{end} values differ within a row")
