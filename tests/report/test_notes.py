"""What was seen in the data is said below every table and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.examples import S, T
from xmleval import evaluate
from xmleval.cli.evaluation import written
from xmleval.message import Keyword, Message
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
    for form in ("table", "json", "markdown", "latex"):
        assert "2 rows of SCORES are not in" in written({"a": report}, form).replace("\\_", "_")
