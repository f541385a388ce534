"""Notes on the data, below every table and in JSON."""

import itertools
import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.damage import answer
from tests.examples import S, T
from xmleval import Comparison, Evaluator, evaluate


def test_notes_are_shown_in_every_form() -> None:
    report = replace(evaluate(T, S, metrics="p@1"), notes=["all", "a_b"])
    assert str(report).endswith("\nnote: all\nnote: a_b")
    assert report.to_markdown().endswith("note: all  \nnote: a\\_b\n")
    assert "% note: a_b\n" in report.to_latex()
    assert json.loads(report.to_json())["notes"] == ["all", "a_b"]
    both = Comparison({"a": replace(report, notes=["all"]), "b": report})
    assert both.notes == json.loads(both.to_json())["notes"] == ["all", "b: a_b"]
    for text in (str(both), both.to_markdown(), both.to_latex()):
        assert all(note in text.replace("\\", "") for note in ("note: all", "b: note: a_b"))


def test_means_of_numbers_that_are_too_large_are_noted() -> None:
    for scale, is_noted in ((1e20, False), (1e30, True)):
        report = evaluate(
            np.eye(4), DENSE[:4, :4] * scale, metrics=["margin.macro", "margin.samples"]
        )
        assert all(np.isfinite(value) != is_noted for value in report.values())
        limit = "(2^80) or more in size count as infinite"
        n_notes = sum(limit in note for note in report.notes)
        assert n_notes == (2 if is_noted else 0)


RANDOM = np.random.default_rng(8)
TRUTH = RANDOM.random((40, 9)) < 0.3
DENSE = RANDOM.random((40, 9))
ORDER = np.argsort(-DENSE, axis=1)


def lists(depth: int, n_missing: int = 0) -> tuple[Any, Any]:
    ids = ORDER[:, :depth].copy()
    ids[:n_missing, -1] = -1
    return ids, np.take_along_axis(DENSE, ORDER, axis=1)[:, :depth]


EVERYTHING = {"P@1", "P@3", "LRAP", "AUC micro"}
REMEDY = "; if no list was cut, compare them with complete_lists=True"


def marked(a: Any, b: Any, unlisted: float | str = "below") -> tuple[set[str], str]:
    """Return the measures with a marked best value, and the note on the others or ""."""
    options: dict[str, Any] = {
        "metrics": ["p@1", "p@3", "lrap", "auc.micro"],
        "conventions": {"unlisted": unlisted},
    }
    reports = {
        "a": evaluate(TRUTH, a, **options),
        "b": evaluate(TRUTH, b, **options),
    }
    both = Comparison(reports)
    assert json.loads(both.to_json())["notes"] == both.notes
    best = set()
    _, *rows = both.tables()[0].rows
    for title, *cells in rows:
        if any(cell.tail == "best" for cell in cells):
            best.add(title.text)
    notes = [note for note in both.notes if "across a cutoff" not in note]
    if not notes:
        return best, ""
    assert f"note: {notes[-1]}" in str(both)
    return best, notes[-1]


def test_no_value_of_lists_of_different_lengths_is_marked() -> None:
    four = lists(4)
    backward = four[0][:, ::-1], four[1]
    for a, b in (
        (DENSE, DENSE[::-1]),
        (four, backward),
        (lists(4, n_missing=1), backward),  # 1 entry of 160
    ):
        assert marked(a, b) == (EVERYTHING, "")
    best, note = marked(lists(5), backward)
    assert best == {"P@1", "P@3"}
    assert "(a 5, b 4)" in note
    best, note = marked(DENSE, lists(2))
    assert best == set()  # of P@1, both values are equal
    assert note == (
        "lists have different numbers of labels per row (b 2), "
        f"so no value is marked as best for p@3, lrap, auc.micro{REMEDY}"
    )


def test_short_lists_are_not_full_ones_where_unlisted_labels_score() -> None:
    sparse = csr_array(np.where(DENSE > 0.3, DENSE, 0))
    sparser = csr_array(np.where(DENSE > 0.6, DENSE, 0))
    for other in (DENSE[::-1], csr_array(DENSE[::-1]), sparser[::-1]):
        assert marked(sparse, other, 0.0) == (EVERYTHING, "")  # each is all that the model gives
    for full in (DENSE[::-1], sparse[::-1]):
        best, note = marked(full, lists(3), 0.0)
        assert best == {"P@1", "P@3"}
        assert note.endswith(f"(b 3), so no value is marked as best for lrap, auc.micro{REMEDY}")
    assert marked(lists(4), (lists(4)[0][:, ::-1], lists(4)[1]), 0.0) == (EVERYTHING, "")


def test_list_of_a_single_row_is_not_taken_for_a_cut_one() -> None:
    """One row does not show that all lists end at the same depth."""
    truth = csr_array([[1, 0, 0, 0, 0, 0]])
    lists = np.array([[0, 1]]), np.array([[0.5, 0.3]])
    result = evaluate(truth, lists, metrics="lrap", conventions={"unlisted": 0.0}).to_dict()
    assert not {"cut_lists", "short_lists"} & {*result}


# -------------------------------------------------------------------------- notes on the inputs

QRELS = {f"q{i}": {f"d{i}": 1} for i in range(40)}
RUN = {f"q{i}": {f"d{i}": 0.5, f"x{i % 3}": 0.4} for i in range(17, 53)}
LABELS = [*(f"d{i}" for i in range(40))]
ON_INPUT = [
    "17 rows of the truth have no prediction; they count as empty",
    "13 rows are not in the truth; they are ignored",
    "3 predicted labels never occur in the truth, such as 'x2'; they count as wrong",
]


def notes_on(notes: Sequence[str], name: str) -> list[str]:
    """Return the notes on an input, in their order."""
    return [note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: ")]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("".join(f"{name}\n" for name in LABELS))
    Path("t.qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, row in QRELS.items() for d in row))
    for name, run in (("m.run", RUN), ("n.run", QRELS)):
        lines = (f"{q} Q0 {d} 1 {s} x\n" for q, row in run.items() for d, s in row.items())
        Path(name).write_text("".join(lines))


def test_merged_evaluators_have_the_notes_of_one_pass(tmp_path: Path) -> None:
    whole = evaluate(QRELS, RUN, labels=LABELS, metrics="mrr@1")
    assert notes_on(whole.notes, "y_score") == ON_INPUT
    shards = []
    for number, ends in enumerate([(0, 5, 13), (13, 20, 33, 40)]):
        evaluator = Evaluator("mrr@1", labels=LABELS)
        for start, stop in itertools.pairwise(ends):
            if stop == 40:
                stop += 13  # rows that are not in the truth
            names = [f"q{i}" for i in range(start, stop)]
            truth = {name: QRELS[name] for name in names if name in QRELS}
            run = {name: RUN[name] for name in names if name in RUN}
            evaluator.update(truth, run)
        evaluator.save(tmp_path / str(number))
        shards.append(Evaluator.load(tmp_path / str(number)))
    merged = shards[1].merge(shards[0]).compute()
    assert dict(merged) == dict(whole)
    expected = [*ON_INPUT[:2], f"at least {ON_INPUT[2]}".replace("x2", "x0")]
    assert sorted(notes_on(merged.notes, "y_score")) == sorted(expected)


@pytest.mark.parametrize("is_merged", [False, True])
def test_notes_count_ignored_rows_of_a_repeated_run_once(is_merged: bool) -> None:
    names = [*QRELS]
    first = {name: QRELS[name] for name in names[:20]}
    second = {name: QRELS[name] for name in names[20:]}
    evaluator = Evaluator("mrr@1", labels=LABELS)
    evaluator.update(first, RUN)
    if is_merged:
        shard = Evaluator("mrr@1", labels=LABELS)
        shard.update(second, RUN)
        evaluator.merge(shard)
    else:
        evaluator.update(second, RUN)
    report = evaluator.compute()
    assert "y_score: at least 33 rows are not in the truth; they are ignored" in report.notes
    assert "y_score: 17 rows of the truth have no prediction; they count as empty" in report.notes


@pytest.mark.parametrize("n_unknown", [(1, 3), (3, 1)])
def test_note_on_unknown_labels_has_the_most_of_a_batch(n_unknown: tuple[int, int]) -> None:
    evaluator = Evaluator("p@1", labels=["a", "b"])
    for number, n in enumerate(n_unknown):
        scores = {"a": 0.9} | {f"unknown{number}{i}": 0.5 for i in range(n)}
        evaluator.update([["a"]], [scores])
    assert evaluator.compute().notes[0].startswith("y_score: at least 3 predicted labels never")


def test_notes_on_all_batches_and_shards_are_not_repeated() -> None:
    truth, scores = map(pytest.importorskip("pandas").DataFrame, (T, S))
    shards = [Evaluator("p@1", n_labels=4) for _ in range(2)]
    for shard in (*shards, *shards):
        shard.update(truth, scores[::-1])
    notes = shards[0].merge(shards[1]).compute().notes
    assert notes == ["y_score: rows were reordered by the index of y_true"]


def test_saved_notes_name_arguments_as_those_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("id,label,relevance\n1,a,2\n")
    Path("p.csv").write_text("id,predicted,my_score\n1,a,0.5\n")
    assert answer(["evaluate", *shlex.split("t.csv p.csv --metrics ndcg@1 --save s")])[0] == 0
    notes = Evaluator.load("s").compute().notes
    assert notes == evaluate("t.csv", "p.csv", metrics="ndcg@1").notes
    for words in (
        'unless conventions="gains=..." is given',
        "to read scores, give scan(path, score=...)",
    ):
        assert any(words in note for note in notes)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("form", ["json", "table", "markdown", "latex"])
@pytest.mark.parametrize(
    "command", ["evaluate t.qrels m.run --save s", "compare t.qrels m.run n.run"]
)
def test_commands_write_notes_on_inputs_in_every_form(command: str, form: str) -> None:
    words = [*command.split(), "--labels", "labels.txt", "--metrics", "mrr@1", "--format", form]
    commands = [words]
    if "--save" in words:
        commands.append(["merge", "s", "--format", form])
    for command_words in commands:
        code, out, err = answer(command_words)
        assert (code, err) == (0, "")  # no note is there twice
        lines = [line.replace("\\", "").strip().removeprefix("% ") for line in out.splitlines()]
        notes = [line.removeprefix("note: ") for line in lines]
        expected = ON_INPUT
        if form == "json":
            notes = json.loads(out)["notes"]
        else:
            expected = [note.replace("labels=", "--labels") for note in ON_INPUT]
        assert [note for note in notes_on(notes, "m.run") if note[0] != "±"] == expected


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "line",
    [
        "evaluate t.qrels m.run --format csv --metrics mrr@1",
        "evaluate t.qrels m.run --format csv --output out.csv --metrics mrr@1",
        "compare t.qrels m.run n.run --format csv --metrics mrr@1",
        "diff t.qrels m.run n.run --format csv --metric mrr@1",
        "evaluate t.qrels n.run m.run --output out.json --metrics mrr@1",
        pytest.param(
            "report t.qrels m.run n.run --output page.html --metrics mrr@1", marks=pytest.mark.slow
        ),
    ],
)
def test_commands_write_notes_on_standard_error_if_the_output_has_none(line: str) -> None:
    code, _, err = answer(line.split())
    notes = [line.removeprefix("xmleval: ").removeprefix("note: ") for line in err.splitlines()]
    assert (code, notes_on(notes, "m.run")) == (0, ON_INPUT)
    if line.startswith("report"):
        page = Path("page.html").read_text(encoding="utf-8")
        assert all(f"m.run: {note}" in page for note in ON_INPUT[:2])
