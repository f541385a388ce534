"""The law of columns: one that tells the labels of a row apart is used, refused or named in a note."""

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

VALUES: dict[str, Callable[[Any, int], list[Any]]] = {
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


def draw_lists(rng: Any) -> dict[str, list[str]]:
    """Return labels of rows, two or more in each."""
    return {
        f"q{row}": rng.permutation([*LABELS])[: rng.integers(2, 5)].tolist()
        for row in range(rng.integers(2, 6))
    }


def differs(cells: list[list[Any]]) -> bool:
    return any(len({*map(str, row)}) > 1 for row in cells)


def table_of(
    lists: dict[str, list[str]], columns: dict[str, list[list[Any]]], as_lists: bool, rng: Any
) -> Table:
    """Return a table of lists, or one with a row for each label in any order."""
    if as_lists:
        return {"instance": [*lists], "labels": [*lists.values()], **columns}
    names = ("instance", "label", *columns)
    entries = [
        (key, label, *(cells[row][place] for cells in columns.values()))
        for row, (key, labels) in enumerate(lists.items())
        for place, label in enumerate(labels)
    ]
    ordered = [entries[place] for place in rng.permutation(len(entries))]
    return {name: [entry[place] for entry in ordered] for place, name in enumerate(names)}


def draw(seed: int, decides: bool = True) -> Problem:
    """Draw a problem with a column that decides, or with one that is the same for all labels of a row."""
    rng = np.random.default_rng(seed)
    role = str(rng.choice(["y_true", "y_score"]))
    is_usual = bool(decides and rng.random() < 0.3)
    as_lists = bool(rng.random() < 0.5)
    names = USUAL[role] if is_usual else UNKNOWN
    problem = Problem(role, str(rng.choice(names)), is_usual, as_lists)
    lists = {"y_true": draw_lists(rng), "y_score": {}}
    lists["y_score"] = {key: rng.permutation([*LABELS])[:3].tolist() for key in lists["y_true"]}
    columns: dict[str, dict[str, list[list[Any]]]] = {"y_true": {}, "y_score": {}}
    of_role = [*lists[role].values()]
    draw_values = VALUES[str(rng.choice([*VALUES]))]
    if is_usual:
        draw_values = VALUES["integers" if role == "y_true" else "numbers"]
    cells = [draw_values(rng, len(labels)) for labels in of_role]
    while decides and not as_lists and not differs(cells):
        cells = [draw_values(rng, len(labels)) for labels in of_role]
    if not decides:
        cells = [[row[0]] * len(row) for row in cells]
    ranks = [[1 - place / 8 for place, _ in enumerate(labels)] for labels in lists["y_score"].values()]
    has_own_scores = role == "y_score" and (is_usual or (as_lists and decides and rng.random() < 0.5))
    if not has_own_scores:
        columns["y_score"]["scores" if as_lists else "score"] = ranks
    columns[role][problem.column] = cells
    if as_lists and not decides:  # a value, or a list of another length, for each row
        length = int(rng.choice([0, 9]))
        columns[role][problem.column] = [row[:1] * length if length else row[0] for row in cells]
    problem.tables = {name: table_of(lists[name], columns[name], as_lists, rng) for name in lists}
    judged = cells if is_usual and role == "y_true" else [[1] * len(row) for row in lists["y_true"].values()]
    scored = cells if is_usual and role == "y_score" else ranks
    problem.truth = by_row(lists["y_true"], judged)
    problem.scores = by_row(lists["y_score"], scored)
    return problem


def by_row(lists: dict[str, list[str]], cells: list[list[Any]]) -> Rows:
    pairs = zip(lists.items(), cells, strict=True)
    return {key: dict(zip(labels, row, strict=True)) for (key, labels), row in pairs}


def precision(truth: Rows, scores: Rows, as_lists: bool) -> float:
    """Return P@2 from its definition; equal scores rank by the later name, of lists in their order."""
    hits = 0
    for key, row in scores.items():
        labels = [*row] if as_lists else sorted(row, reverse=True)
        ranked = sorted(labels, key=lambda label: -row[label])[:CUTOFF]
        hits += sum(truth[key].get(label, 0) > 0 for label in ranked)
    return hits / CUTOFF / len(scores)


def text_of(cell: Any) -> str:
    return json.dumps(cell, default=float) if isinstance(cell, list) else str(cell)


def as_form(form: str, name: str, table: Table) -> Any:
    """Return a table as a frame, or the name of a file with it."""
    if form in FRAMES:
        return FRAMES[form](table)
    path = Path(f"{name}.{form}")
    if form == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(FRAMES["arrow"](table), path)
        return path
    rows = [*zip(*table.values(), strict=True)]
    if form == "jsonl":
        records = (dict(zip(table, row, strict=True)) for row in rows)
        path.write_text("".join(f"{json.dumps(record, default=float)}\n" for record in records))
    else:
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


def cases(first: int, decides: bool) -> Iterator[tuple[Problem, str]]:
    for seed in range(first, first + 100):
        yield draw(seed, decides), FORMS[seed % len(FORMS)]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_column_that_decides_is_used_refused_or_named(first: int) -> None:
    for problem, form in cases(first, True):
        value, texts = answer(problem, form)
        if problem.is_usual:
            expected = precision(problem.truth, problem.scores, problem.as_lists)
            assert value == pytest.approx(expected, abs=1e-12), (form, problem, texts)
        else:
            assert any(repr(problem.column) in text for text in texts), (form, problem, value, texts)


@pytest.mark.parametrize("first", range(1000, 1500, 100))
def test_column_that_is_the_same_within_rows_is_left_out(first: int) -> None:
    for problem, form in cases(first, False):
        value, texts = answer(problem, form)
        expected = precision(problem.truth, problem.scores, problem.as_lists)
        assert value == pytest.approx(expected, abs=1e-12), (form, problem, texts)
        assert not any(repr(problem.column) in text for text in texts), (form, problem, texts)


JUDGED: Table = {
    "instance": ["q1", "q1", "q2", "q2", "q3"], "label": [*"abcda"], "verdict": [*"EIEIE"],
}  # fmt: skip
RATED: Table = {**JUDGED, "verdict": [3, 0, 2, 0, 1]}
RUN: Table = {"instance": ["q1", "q1", "q2", "q3"], "label": [*"baca"], "score": [0.9, 0.5, 0.4, 0.2]}
TRUTH: Table = {name: JUDGED[name] for name in ("instance", "label")}


def update(truth: Any, run: Any) -> list[str]:
    evaluator = Evaluator("p@1", labels=[*LABELS])
    evaluator.update(truth, run)
    return evaluator.compute().notes


def warned_of(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], list[str]]:
    """Return what calls a function and returns its warnings."""

    def notes(truth: Any, run: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            call(truth, run)
        return [str(warning.message) for warning in warned]

    return notes


READERS: dict[str, Callable[[Any, Any], list[str]]] = {
    "evaluate": lambda truth, run: evaluate(truth, run, metrics="p@1").notes,
    "update": update,
    "compare": lambda truth, run: compare(truth, {"a": run, "b": run}, metrics="p@1").notes,
    "candidates": lambda truth, run: evaluate(TRUE_FRAME(), run, metrics="p@1", candidates=truth).notes,
    "exclude": lambda truth, run: evaluate(TRUE_FRAME(), run, metrics="p@1", exclude=truth).notes,
    "sets": lambda truth, run: evaluate(TRUE_FRAME(), y_pred=truth, metrics="f1.micro").notes,
    "thresholds": warned_of(lambda truth, run: fit_thresholds(truth, run, measure="f1.micro")),
    "statistics": warned_of(lambda truth, run: label_statistics(truth)),
    "propensities": warned_of(lambda truth, run: inverse_propensity(truth, labels=[*LABELS])),
    "groups": warned_of(lambda truth, run: label_groups(truth, edges=[0, 2], labels=[*LABELS])),
    "training labels": lambda truth, run: (
        evaluate(TRUE_FRAME(), run, metrics="psp@1", y_train=truth, labels=[*LABELS]).notes
    ),
}


def TRUE_FRAME() -> Any:  # noqa: N802
    return FRAMES["pandas"](TRUTH)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("make", ["pandas", "polars", "from_df"])
def test_all_readers_of_tables_name_or_refuse_columns(reader: str, make: str) -> None:
    def frame(table: Table) -> Any:
        if make == "from_df":
            return from_df(FRAMES["pandas"](table), instance="instance", label="label")
        return FRAMES[make](table)

    notes = READERS[reader](frame(JUDGED), FRAMES["pandas"](RUN))
    assert any("'verdict'" in note for note in notes)
    with pytest.raises(ValueError, match="'verdict' may hold judgements"):
        READERS[reader](frame(RATED), FRAMES["pandas"](RUN))


@pytest.mark.parametrize("form", FORMS)
def test_models_in_one_table_are_refused(form: str) -> None:
    for column in ("model", "system", "split", "seed"):
        run = {**RUN, column: ["x", "y", "x", "x"]}
        with pytest.raises(ValueError, match=f"{column!r} has several values among the labels of one row"):
            answer_of(form, TRUTH, run)
        assert answer_of(form, TRUTH, {**RUN, column: ["x", "x", "y", "x"]})[0] == 1.0


def answer_of(form: str, truth: Table, run: Table) -> tuple[float, list[str]]:
    inputs = [as_form(form, name, table) for name, table in (("t", truth), ("s", run))]
    report = evaluate(*inputs, metrics="p@1")
    return report["p@1"], report.notes


@pytest.mark.parametrize("form", FORMS)
def test_scores_by_a_second_name_are_used_where_no_other_is(form: str) -> None:
    for column in ("prob", "confidence", "logits"):
        run = {column if name == "score" else name: values for name, values in RUN.items()}
        assert answer_of(form, TRUTH, run)[0] == 1.0
        value, notes = answer_of(form, TRUTH, {**RUN, column: [0.1, 0.2, 0.3, 0.4]})
        assert value == 1.0
        assert any(repr(column) in note for note in notes)


@pytest.mark.parametrize("form", FORMS)
def test_one_label_a_row_may_be_judged_by_numbers(form: str) -> None:
    truth: Table = {"instance": ["q1", "q2"], "label": ["b", "c"], "clicked": [0, 1]}
    with pytest.raises(ValueError, match="'clicked' may hold judgements"):
        answer_of(form, truth, RUN)
    words = {**truth, "clicked": ["no click", "click"]}
    assert answer_of(form, words, RUN)[0] == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_column_called_rank_is_noted_as_scores(form: str) -> None:
    run = {**RUN, "rank": [1, 2, 1, 1]}
    del run["score"]
    truth, scores = (as_form(form, name, t) for name, t in (("t", TRUTH), ("s", run)))
    if form in FRAMES:
        report = evaluate(truth, from_df(scores, score="rank"), metrics="p@1")
    elif form == "parquet":
        return
    else:
        report = evaluate(truth, scan(scores, score="rank"), metrics="p@1")
    assert any("higher_is_better=False" in note and "'rank'" in note for note in report.notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["label_id", "timestamp"])
def test_numbers_that_are_no_judgements_are_left_out_with_a_note(name: str, form: str) -> None:
    long: Table = {"instance": ["q1", "q1", "q2"], "label": ["a", "b", "c"], name: [0, 17, 2]}
    scores: Table = {"instance": ["q1", "q1", "q2"], "label": ["b", "x", "c"], "score": [0.9, 0.5, 0.4]}
    value, notes = answer_of(form, long, scores)
    assert value == 1.0
    assert any(repr(name) in note for note in notes)


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "jsonl"])
def test_lists_of_label_ids_beside_names_are_left_out_with_a_note(form: str) -> None:
    truth: Table = {"id": ["q1", "q2"], "labels": [["a", "b"], ["c"]], "label_ids": [[0, 17], [2]]}
    lists: Table = {"id": ["q1", "q2"], "labels": [["b", "x"], ["c"]], "scores": [[0.9, 0.5], [0.4]]}
    value, notes = answer_of(form, truth, lists)
    assert value == 1.0
    assert any("'label_ids'" in note for note in notes)
