"""Commands on terminals of several widths: tables, help, colours, and the nearest name to a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from tests.commands import process
from tests.made_files import make_scores, make_truth, npz
from tests.terminal import on_terminal, plain
from xmleval.cli import main
from xmleval.cli.evaluate import SECTIONS, evaluate
from xmleval.report.tables import BEST


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    """A command line with four SCORES."""
    npz(tmp_path / "Y", make_truth())
    names = ["bert_test", "roberta_test", "attentionxml_test", "parabel_test"]
    for seed, name in enumerate(names):
        npz(tmp_path / name, make_scores(seed=seed))
    return ["-m", "xmleval", "evaluate", "Y.npz", *(f"{name}.npz" for name in names), "--metrics", "p,lrap"]


def test_tables_fit_the_terminal_and_the_best_are_green(tmp_path: Path, line: list[str]) -> None:
    _, shown = on_terminal(tmp_path, *line, columns=40, piped=False)
    table = shown[shown.index("60 rows") :]
    assert BEST in table
    assert max(map(len, plain(table).splitlines())) <= 40
    assert "attentionxml" in plain(table).split()
    assert "_test" not in table


def test_no_colour_where_none_is_wanted_and_no_width_in_a_pipe(tmp_path: Path, line: list[str]) -> None:
    _, shown = on_terminal(tmp_path, *line, piped=False, variables={"NO_COLOR": "1"})
    assert BEST not in shown
    done = process(*line[1:], cwd=tmp_path, env={"COLUMNS": "40"})
    assert done.returncode == 0
    assert BEST not in done.stdout
    assert done.stdout.splitlines()[1].split() == ["measure", "bert", "roberta", "attentionxml", "parabel"]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize(
    "words", [["--help"], ["evaluate", "--help"], ["merge", "--help"], ["metrics"]], ids=str
)
def test_help_and_measures_fit(
    words: list[str], columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("xmleval.cli.metrics.screen", lambda: (columns, False))
    monkeypatch.setattr("xmleval.cli.output.WIDE", columns)
    assert main(words) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_every_option_is_in_one_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--help"]) == 0
    text = capsys.readouterr().out
    for title in SECTIONS:
        assert f"\n{title}:\n" in text
    options = [param for param in evaluate.params if isinstance(param, click.Option)]
    assert [o.opts[0] for o in options if text.count(f"\n  {o.opts[0]} ") != 1] == []
    named = " ".join(SECTIONS.values()).split()
    assert sorted(set(named)) == sorted(named)
    assert {*named} <= {*(param.name for param in options), "help"}
    assert text.index("  -h, --help") > text.index("Resources:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evalute Y.npz", "No such command 'evalute'; did you mean 'evaluate'?; see `xmleval --help`"),
        ("xyzzy", "No such command 'xyzzy'; see `xmleval --help`"),
        ("evaluate Y.npz m.npz --metric p", "--metrics"),
        ("evaluate Y.npz m.npz --conventions sklern", "; did you mean 'sklearn'?"),
        ("evaluate Y.npz m.npz --format jsn", "; did you mean 'json'?"),
        ("stats Y.npz --input-format svmlite", "; did you mean 'svmlight'?"),
    ],
)
def test_wrong_names_are_answered_with_the_nearest(refused: Any, words: str, said: str) -> None:
    assert said in refused(words)


def test_commands_are_completed(tmp_path: Path) -> None:
    variables = {"COMP_WORDS": "xmleval eva", "COMP_CWORD": "1", "_XMLEVAL_COMPLETE": "bash_complete"}
    done = process("import sys; from xmleval.cli import main; sys.exit(main())", python="-c", env=variables)
    assert (done.returncode, done.stdout) == (0, "plain,evaluate\n")
