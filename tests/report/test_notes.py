"""What was seen in the data is said below every table and in JSON."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.examples import S, T
from xmleval import Evaluator, evaluate
from xmleval.cli import main
from xmleval.cli.forms import written
from xmleval.message import TIES, Keyword, Message
from xmleval.notes import Note, joined_notes, notes_as_json, notes_from_json
from xmleval.report.comparison import Comparison

NOTE = Message("2 rows of ", Keyword("y_score"), " are not in y_true and do not count")


def test_notes_are_shown_in_every_form() -> None:
    report = replace(evaluate(T, S, metrics="p@1"), notes=["first", "a_b"])
    assert report.footnotes()[-2:] == ["note: first", "note: a_b"]
    assert str(report).endswith("\nnote: first\nnote: a_b")
    assert report.to_markdown().endswith("note: first  \nnote: a\\_b\n")
    assert "% note: a_b\n" in report.to_latex()
    assert json.loads(report.to_json())["notes"] == ["first", "a_b"]


def test_a_comparison_names_the_report_of_a_note_that_not_all_have() -> None:
    report = replace(evaluate(T, S, metrics="p@1"), notes=["all"])
    both = Comparison({"a": report, "b": replace(report, notes=["all", "one"])})
    assert both.notes == ["all", "b: one"]
    assert both.footnotes()[-2:] == ["note: all", "b: note: one"]
    assert json.loads(both.to_json())["notes"] == both.notes
    for shown in (str(both), both.to_markdown(), both.to_latex()):
        assert "note: all" in shown
        assert "b: note: one" in shown


def test_the_command_line_spells_keywords_of_notes_as_options() -> None:
    report = replace(evaluate(T, S, metrics="p@1"), notes=[NOTE])
    assert "y_score= are not" in str(report)
    for form in ("table", "markdown", "latex"):
        assert "2 rows of SCORES are not in" in written({"a": report}, form).replace("\\_", "_")
    assert written({"a": report}, "json") == report.to_json()


RANDOM = np.random.default_rng(8)
TRUTH = RANDOM.random((40, 9)) < 0.3
DENSE = RANDOM.random((40, 9))
ORDER = np.argsort(-DENSE, axis=1)


def lists(depth: int, n_missing: int = 0) -> tuple[Any, Any]:
    ids = ORDER[:, :depth].copy()
    ids[:n_missing, -1] = -1
    return ids, np.take_along_axis(DENSE, ORDER, axis=1)[:, :depth]


def starred(unlisted: float | None = None, **scores: Any) -> tuple[set[str], list[str]]:
    reports = {
        name: evaluate(TRUTH, value, metrics=["p@1", "p@3", "lrap", "auc.micro"], unlisted=unlisted)
        for name, value in scores.items()
    }
    both = Comparison(reports)
    rows = both.grid()[1:]
    notes = [note for note in both.notes if TIES not in note]
    return {row[0].text for row in rows if any(cell.tail == "best" for cell in row[1:])}, notes


def test_only_lists_that_hold_as_much_are_compared() -> None:
    swapped = DENSE[::-1]
    everything = {"P@1", "P@3", "LRAP", "AUC micro"}
    assert starred(a=DENSE, b=swapped) == (everything, [])
    found, notes = starred(a=DENSE, b=lists(2))
    assert found == set()  # of P@1, both values are equal
    said = "lists hold different numbers of labels a row (b 2), so that no value is marked as best for "
    assert notes[-1] == f"{said}p@3, lrap, auc.micro"
    ids, scores = lists(4)
    other = ids[:, ::-1], scores
    found, notes = starred(a=(ids, scores), b=other)
    assert found == everything
    assert notes == []
    found, notes = starred(a=lists(5), b=other)
    assert found == {"P@1", "P@3"}
    assert "(a 5, b 4)" in notes[-1]
    found, notes = starred(a=lists(4, n_missing=1), b=other)  # one entry of 160
    assert found == everything


def test_cut_lists_are_told_from_full_ones_where_unlisted_labels_score() -> None:
    everything = {"P@1", "P@3", "LRAP", "AUC micro"}
    some, fewer = csr_array(np.where(DENSE > 0.3, DENSE, 0)), csr_array(np.where(DENSE > 0.6, DENSE, 0))
    for other in (DENSE[::-1], csr_array(DENSE[::-1]), fewer[::-1]):
        assert starred(0.0, a=some, b=other) == (everything, [])  # each is all that the model gives
    for full in (DENSE[::-1], some[::-1]):
        found, notes = starred(0.0, a=full, b=lists(3))
        assert found == {"P@1", "P@3"}
        assert notes[-1].endswith("(b 3), so that no value is marked as best for lrap, auc.micro")
    found, notes = starred(0.0, a=lists(4), b=(lists(4)[0][:, ::-1], lists(4)[1]))
    assert (found, notes) == (everything, [])


def test_a_comparison_prints_why_nothing_is_marked() -> None:
    reports = {n: evaluate(TRUTH, s, metrics="lrap") for n, s in {"a": DENSE, "b": lists(2)}.items()}
    both = Comparison(reports)
    assert "* best" in str(both)
    assert str(both).endswith(f"note: {both.notes[-1]}")
    assert json.loads(both.to_json())["notes"] == both.notes


# ------------------------------------------------------------------------------------ notes on the inputs

QRELS = {f"q{i}": {f"d{i}": 1} for i in range(40)}
RUN = {f"q{i}": {f"d{i}": 0.5, f"x{i % 3}": 0.4} for i in range(17, 53)}
TOLD = [
    "17 rows of the truth have no prediction; they count as empty",
    "13 rows are not in the truth; they are ignored",
    "3 predicted labels never occur in the truth; they count as wrong",
]
LIST = [*(f"d{i}" for i in range(40))]
UNLISTED = "3 predicted labels are not among labels=, such as 'x2'; they count as wrong"


def seen(notes: Sequence[str], name: str) -> list[str]:
    """What notes tell of an input, in their order."""
    return [note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: ")]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, row in QRELS.items() for d in row))
    for name, run in (("m.run", RUN), ("n.run", QRELS)):
        lines = (f"{q} Q0 {d} 1 {s} x\n" for q, row in run.items() for d, s in row.items())
        Path(name).write_text("".join(lines))
    Path("labels.txt").write_text("".join(f"{label}\n" for label in LIST))


def test_an_evaluator_tells_what_one_pass_tells(tmp_path: Path) -> None:
    whole = evaluate(QRELS, RUN, labels=LIST, metrics="mrr@1")
    assert seen(whole.notes, "y_score") == [UNLISTED, *TOLD[:2]]
    parts = []
    for number, starts in enumerate(((0, 5), (13, 20, 33))):
        one = Evaluator("mrr@1", labels=LIST)
        for start, stop in zip(starts, (*starts[1:], (13, 40)[number]), strict=True):
            truth = {f"q{i}": QRELS[f"q{i}"] for i in range(start, stop)}
            ahead = 13 if stop == 40 else 0  # rows that are not in the truth
            one.update(truth, {q: RUN[q] for q in (f"q{i}" for i in range(start, stop + ahead)) if q in RUN})
        one.save(tmp_path / str(number))
        parts.append(Evaluator.load(tmp_path / str(number)))
    found = parts[1].merge(parts[0]).compute()
    assert dict(found) == dict(whole)
    assert sorted(seen(found.notes, "y_score")) == sorted(
        [f"at least {UNLISTED}".replace("x2", "x0"), *TOLD[:2]]
    )


SHOWN: dict[str, Callable[[str], list[str]]] = {
    "json": lambda out: json.loads(out)["notes"],
    "table": lambda out: [line.removeprefix("note: ") for line in out.splitlines()],
    "markdown": lambda out: [
        line.replace("\\", "").strip().removeprefix("note: ") for line in out.splitlines()
    ],
    "latex": lambda out: [line.replace("\\", "").removeprefix("% note: ") for line in out.splitlines()],
}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("form", SHOWN)
@pytest.mark.parametrize(
    "command", ["evaluate t.qrels m.run", "evaluate t.qrels n.run m.run", "compare t.qrels m.run n.run"]
)
def test_every_form_of_a_result_has_the_notes_on_its_inputs(
    capsys: pytest.CaptureFixture[str], command: str, form: str
) -> None:
    assert main([*command.split(), "--metrics", "mrr@1", "--format", form]) == 0
    out, err = capsys.readouterr()
    assert [note for note in seen(SHOWN[form](out), "m.run") if note[0] != "±"] == TOLD
    assert err == ""  # nothing is said twice


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    "words",
    [
        "evaluate t.qrels m.run --format csv",
        "evaluate t.qrels n.run m.run --format csv",
        "compare t.qrels m.run n.run --format csv",
        "diff t.qrels m.run n.run --format csv",
        "evaluate t.qrels m.run --output out.json",
        "evaluate t.qrels n.run m.run --format table --output out.txt",
        "report t.qrels m.run --output page.html",
        "report t.qrels m.run n.run --output page.html",
    ],
)
def test_what_the_terminal_does_not_show_is_noted_on_standard_error(
    capsys: pytest.CaptureFixture[str], words: str
) -> None:
    metric = "--metric" if words.startswith("diff") else "--metrics"
    assert main([*words.split(), metric, "mrr@1"]) == 0
    lines = capsys.readouterr().err.splitlines()
    lines = [line.removeprefix("xmleval: ").removeprefix("note: ") for line in lines]
    assert seen(lines, "m.run") == TOLD
    page = Path("page.html")
    if page.exists():
        assert all(f"m.run: {told}" in page.read_text(encoding="utf-8") for told in TOLD)


@pytest.mark.usefixtures("runs")
def test_merged_states_have_the_notes_of_all_shards(capsys: pytest.CaptureFixture[str]) -> None:
    Path("u.qrels").write_text("a 0 d0 1\nb 0 d1 1\n")
    Path("u.run").write_text("b Q0 d1 1 0.5 x\n")
    for name, run in (("t", "m"), ("u", "u")):
        line = f"evaluate {name}.qrels {run}.run --metrics mrr@1 --labels labels.txt --save {name}.npz"
        assert main(line.split()) == 0
    capsys.readouterr()
    assert main(["merge", "t.npz", "u.npz", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    notes = json.loads(out)["notes"]
    assert seen(notes, "m.run") == [UNLISTED, *TOLD[:2]]
    assert seen(notes, "u.run") == ["1 row of the truth has no prediction; it counts as empty"]
    assert err == ""


@pytest.mark.parametrize(
    ("notes", "more", "both"),
    [
        (
            [Note("a", "ignored rows", 1)],
            [Note("a", "ignored rows", 2)],
            ["a: 3 rows are not in the truth; they are ignored"],
        ),
        (
            [Note("a", "excluded pairs", 1, 1)],
            [Note("a", "excluded pairs", 2, 4)],
            ["a: 3 of 5 pairs are excluded; the others match no relevant and no predicted label"],
        ),
        (
            [Note("a", "unknown labels", 1)],
            [Note("a", "unknown labels", 4), "x"],
            ["a: at least 4 predicted labels never occur in the truth; they count as wrong", "x"],
        ),
        (["x", NOTE], [NOTE, "y", "x"], ["x", NOTE, "y"]),
    ],
)
def test_notes_of_one_kind_add_up(notes: list[str], more: list[str], both: list[str]) -> None:
    assert [*joined_notes(notes, more)] == both
    assert [*notes_from_json(json.loads(json.dumps(notes_as_json(both))))] == both
    found = notes_from_json(json.loads(json.dumps(notes_as_json(notes))))
    assert [Message(note).parts for note in found] == [Message(note).parts for note in notes]
    assert [*joined_notes(found, pickle.loads(pickle.dumps(more)))] == both


@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        [1],
        [["x", 1]],
        [{"count": []}],
        [{"count": ["a", "none", 1, None, "", False]}],
        [{"count": ["a", "ignored rows", -1, None, "", False]}],
        [[["a", "b", "c"]]],
    ],
)
def test_what_is_no_note_of_a_saved_file_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="note"):
        notes_from_json(value)
