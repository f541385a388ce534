"""`xmleval report` and `plot` show saved results as they show TRUTH and SCORES."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Run
from xmleval import Comparison, Evaluator, Report, evaluate
from xmleval.cli import saved_results
from xmleval.cli.files import NamedFile


def named(*names: str) -> list[NamedFile]:
    """Return files without names before them."""
    return [NamedFile("", Path(name)) for name in names]


EVALUATE = "evaluate Y_test.npz m_indices.npy --k 1,2 --metrics"


@pytest.fixture
def saved(folder: Path, run: Run) -> Path:
    """Return a folder with a state, a report and two reports in one file."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    run(f"{EVALUATE} p,coverage --confidence 0.9 --save day1.state")
    run(f"{EVALUATE} p,ndcg --output day2.json")
    run("evaluate Y_test.npz m_indices.npy scores.npz --metrics p --k 1,2 --output two.json")
    return folder


def test_reports_of_files_have_their_names(saved: Path) -> None:
    day1 = Evaluator.load("day1.state").compute()
    day2 = Report.load("day2.json")
    shown = saved_results.load_saved(named("day1.state", "day2.json"), None)
    expected = Comparison({"day1": day1, "day2": day2})
    assert shown.to_dict() == expected.to_dict()
    assert [*saved_results.load_saved(named("two.json"), None)] == ["m_indices.npy", "scores.npz"]
    both = saved_results.load_saved(named("two.json", "day2.json"), ["p@2"])
    assert [*both] == ["two: m_indices.npy", "two: scores.npz", "day2"]
    assert [spec.name for spec in both.specs] == ["p@2"]


def test_pages_and_figures_of_saved_results_are_written(saved: Path, run: Run) -> None:
    run("report day1.state day2.json --output page.html --title Days")
    page = Path("page.html").read_text("utf-8")
    for text in ("<title>Days</title>", "SHA-256 of day1.state", "SHA-256 of day2.json"):
        assert text in page
    run("plot day1.state --kind values --output one.svg")
    run("plot 'day?.*' --kind cutoffs --metrics p --output two.svg")
    for name in ("one", "two"):
        assert Path(f"{name}.svg").read_text("utf-8").startswith("<?xml")


def test_names_before_saved_results_are_those_of_their_models(saved: Path, run: Run) -> None:
    run("report first=day1.state second=day2.json --output page.html")
    assert "<title>Evaluation of first, second</title>" in Path("page.html").read_text("utf-8")
    run("plot first=day2.json --kind values --output one.svg")
    assert [*saved_results.load_saved([NamedFile("first", Path("day2.json"))], None)] == ["first"]
    run("compare Y_test.npz m_indices.npy scores.npz --metrics p --k 1 --output compared.json")
    table = run("compare north=two.json south=compared.json --metrics p@1")
    assert "north" in table
    assert "south" in table


REFUSED = {
    "report a=two.json --output p.html": "RESULTS: a=two.json: has several models; give",
    "report a='day*' --output p.html": "RESULTS: day* is a folder or a pattern; give one file",
    "report a=day2.json a=day1.state --output p.html": "RESULTS: day1.state: has the same name as",
    "plot a=Y_test.npz m_indices.npy --kind values --output f.svg": "a=Y_test.npz: No such file",
    "plot day2.json --kind roc --output f.svg": "kind: 'roc' needs scores, and curve_points=",
    "plot two.json --kind differences --output f.svg": "kind: 'differences' needs a comparison",
    "plot day2.json --kind values --metrics lrap --output f.svg": "--metrics: 'lrap' is not in",
    "plot day2.json --kind values --k 3 --output f.svg": "--k is for TRUTH and SCORES; saved",
    "report day2.json --train Y_train.npz --output p.html": "--train is for TRUTH and SCORES",
    "report Y_test.npz --output p.html": "Missing argument 'SCORES...'",
    "report none.json --output p.html": "none.json: No such file",
    "report day2.json Y_test.npz --output p.html": "Y_test.npz: not a saved evaluator",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_saved_results_lack_is_refused(
    saved: Path, refused: Callable[..., str], line: str
) -> None:
    assert re.match(re.escape(REFUSED[line]), refused(line))


def test_other_numbers_of_rows_are_noted(saved: Path) -> None:
    other = evaluate(np.eye(6), np.eye(6), metrics="p", k=[1, 2])
    Path("other.json").write_text(other.to_json())
    shown = saved_results.load_saved(named("day2.json", "other.json"), None)
    assert "note: the numbers of rows differ: 4 (day2), 6 (other)" in str(shown)
    (own_note,) = other.notes
    assert own_note in str(shown)
