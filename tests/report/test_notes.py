"""What was seen in the data is said below every table and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tests.examples import S, T
from xmleval import evaluate
from xmleval.cli.forms import written
from xmleval.message import TIES, Keyword, Message
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
