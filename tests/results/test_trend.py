"""Trends: values of saved results by day, limits as `check` holds them, and what is refused."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xmleval
from tests.commands import Run, json_of
from xmleval import Comparison, Evaluator, Report, check, evaluate, trend

N_DAYS = 12
METRICS = ["p@1", "p@3", "f1.macro@1"]


def report_of(day: int, n_labels: int = 6, **options: Any) -> Report:
    rng = np.random.default_rng(day)
    truth = (rng.random((20 + day, n_labels)) < 0.3).astype(int)
    scores = truth / 2 + rng.random(truth.shape)
    options = {"metrics": METRICS, "confidence": 0.9, **options}
    report: Report = evaluate(truth, scores, **options)
    return report


@pytest.fixture
def reports() -> dict[str, Report]:
    return {f"day{day}": report_of(day) for day in range(1, N_DAYS + 1)}


@pytest.fixture
def files(reports: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of results, most as JSON, and the last as a saved evaluator."""
    monkeypatch.chdir(tmp_path)
    folder = Path("days")
    folder.mkdir()
    for day, report in [*reports.items()][:-1]:
        (folder / f"{day}.json").write_text(report.to_json())
    rng = np.random.default_rng(N_DAYS)
    truth = (rng.random((20 + N_DAYS, 6)) < 0.3).astype(int)
    evaluator = Evaluator(METRICS, confidence=0.9)
    evaluator.update(truth, truth / 2 + rng.random(truth.shape), first_row=0)
    evaluator.save(folder / f"day{N_DAYS}.state")
    return folder


def test_values_and_intervals_are_those_of_each_day(reports: dict[str, Report]) -> None:
    result = trend(reports)
    assert [*result.days] == [*reports]
    assert [measure.name for measure in result.measures] == METRICS
    for record in result.records():
        report = reports[record.day]
        assert record.value == report[record.measure.name]
        assert record.estimate == report.estimates[record.measure.name]
        assert (record.n_rows, record.n_labels) == (report.n_rows, report.n_labels)
    assert len(result.records()) == N_DAYS * len(METRICS)
    (table,) = result.tables()
    assert [row[0].text for row in table.rows[1:]] == [*reports]


def test_files_and_folders_are_in_the_order_of_their_numbers(
    files: Path, reports: dict[str, Report], run: Run
) -> None:
    expected = trend(reports, "p", min={"p@3": 0.4})
    for paths in (files, [files], [str(files / "day?.*"), str(files / "day??.*")]):
        assert trend(paths, "p", min={"p@3": 0.4}).to_json() == expected.to_json()
    line = "trend days --metrics p --min p@3=0.4"
    assert json_of(line) == expected.to_dict()
    assert run(line) == f"{expected}\n"
    assert run(f"{line} --format csv") == expected.to_csv()
    run(f"{line} --output t.tex")
    latex = expected.to_latex().replace("intervals=False", "--no-intervals")
    assert Path("t.tex").read_text() == latex


@pytest.mark.parametrize("side", ["min", "max"])
def test_limits_hold_as_in_check(reports: dict[str, Report], side: Any) -> None:
    limits = {"p@3": sorted(report["p@3"] for report in reports.values())[5]}
    sides: dict[str, Any] = {side: limits}
    result = trend(reports, "p@1", **sides)
    assert [measure.name for measure in result.measures] == ["p@1", "p@3"]
    for day, report in reports.items():
        checked = check(report, **sides)
        assert result.failures.get(day, []) == checked.failures
        holds = {each.measure.name: each.holds for each in result.records() if each.day == day}
        assert holds == {"p@1": None, "p@3": bool(checked)}
    assert 0 < len(result.failures) < N_DAYS
    marked = [row[0].text for row in result.tables()[0].rows if row[-1].above]
    assert marked == [*result.failures]
    (panel,) = result._panels("trend", "p@3")
    assert getattr(panel, "limits", None) == [*limits.values()]
    is_hollow = ~np.asarray(panel.series[0].is_full)
    assert is_hollow.tolist() == [day in result.failures for day in reports]


def test_measures_within_groups_are_named_as_limits_name_them() -> None:
    reports = {f"day{day}": report_of(day, label_groups=[*"hhhttt"]) for day in (1, 2)}
    result = trend(reports, ["t:p@1", "shares h:p@1"], max={"h:p@1": 0.0})
    names = ["t:p@1", "shares h:p@1", "h:p@1"]
    assert [measure.name for measure in result.measures] == names
    values = {(each.day, each.measure.name): each.value for each in result.records()}
    for day, report in reports.items():
        assert values[day, "t:p@1"] == report.groups["t"]["p@1"]
        assert values[day, "shares h:p@1"] == report.shares["h"]["p@1"]
        assert [failure.measure for failure in result.failures[day]] == ["h:p@1"]


def test_models_are_matched_by_name() -> None:
    days = {
        f"day{day}": Comparison({f"a_{day}.npz": report_of(day), f"b_{day}.npz": report_of(9)})
        for day in (1, 2)
    }
    result = trend(days, "p@1")
    assert result.models == ["a", "b"]
    assert len(result.tables()) == 2
    (panel,) = result._panels("trend")
    assert [series.name for series in panel.series] == ["a", "b"]
    header, *lines = result.to_csv().splitlines()
    assert header.startswith("day,model,rows,labels,p@1,p@1 standard_error")
    assert [line.split(",")[:2] for line in lines] == [[day, m] for day in days for m in "ab"]
    only = trend({"x": days["day1"]}, "p@1", model="b_1.npz")
    assert [each.value for each in only.records()] == [days["day1"]["b_1.npz"]["p@1"]]


def test_other_settings_are_notes_and_other_conventions_refused() -> None:
    days = {
        "mon": report_of(1, metrics=["p@1", "f1.micro"], decision="top1"),
        "tue": report_of(2, 7, metrics=["p@1", "f1.micro", "p@3"], decision="top2"),
    }
    assert trend(days).notes == [
        "left out, as some days lack them: p@3",
        "number of labels differs: 6 (mon), 7 (tue)",
        "decision differs: top1 (mon), top2 (tue)",
    ]
    assert "p@3 has no value on mon" in trend(days, "p@3").notes
    days["wed"] = report_of(3, conventions="empty=one", metrics=["p@1"])
    message = "results: empty is zero (mon, tue) and one (wed); such values cannot be compared"
    with pytest.raises(ValueError, match=re.escape(message)):
        trend(days, "p@1")


REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "results: no results are given; expected": ({}, {}),
    "results: int is not a result by day": (3, {}),
    "results: Report is the results of one day": (report_of(1), {}),
    "a: float is not a result": ({"a": 0.5}, {}),
    "results: no_such/*: no such file": (["no_such/*"], {}),
    "metrics: 'lrap' is not in this report": ({"a": report_of(1)}, {"metrics": "lrap"}),
    "min: 'p@1=2': p@1 is between 0 and 1": ({"a": report_of(1)}, {"min": {"p@1": 2}}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_results_are_refused(message: str) -> None:
    results, options = REFUSED[message]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        trend(results, **options)


def test_two_files_of_one_day_are_refused(files: Path, reports: dict[str, Report]) -> None:
    (files / f"day{N_DAYS}.json").write_text(reports["day1"].to_json())
    with pytest.raises(
        ValueError, match=r"day12.* have the same name; give one of them, or a pattern"
    ):
        trend(files)


def test_undefined_and_missing_values_leave_gaps() -> None:
    undefined = evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss"])
    missing = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
    defined = evaluate(np.eye(3), np.eye(3), metrics=["ranking_loss"])
    days = {"a": undefined, "b": missing, "c": defined}
    result = trend(days, max={"ranking_loss": 1})
    assert [(each.day, math.isnan(each.value)) for each in result.records()] == [
        ("a", True),
        ("c", False),
    ]
    assert [*result.failures] == ["a", "b"]
    (panel,) = result._panels("trend")
    assert np.isnan(panel.series[0].values).tolist() == [True, True, False]
    assert json.loads(result.to_json())["trend"]["values"][0]["value"] is None


def test_page_and_figure_show_limits(reports: dict[str, Report]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    matplotlib.use("Agg")
    result = trend(reports, "p", min={"p@1": 0.9})
    axes = result.plot()
    assert [each.get_title(loc="left") for each in axes] == ["P@1 ↑, minimum 0.9", "P@3 ↑"]
    dashed = [line for line in axes[0].lines if [*line.get_ydata()] == [0.9, 0.9]]
    assert len(dashed) == 1
    page = result.to_html(title="Trend of <days>")
    assert "<title>Trend of &lt;days&gt;</title>" in page
    assert f"Beyond a limit: {', '.join(result.failures)}." in page


@pytest.mark.parametrize("n_days", [2, 5, 40])
def test_figure_names_the_days(n_days: int) -> None:
    pytest.importorskip("matplotlib")
    names = [f"day {number}" for number in range(n_days)]
    result = trend({name: report_of(number) for number, name in enumerate(names)})
    axes = np.atleast_1d(result.plot())[0]
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert shown[0] == "day 0"
    assert [*axes.get_xticks()] == [names.index(name) for name in shown]
    assert len(shown) == n_days or 2 < len(shown) < n_days


def test_trend_refuses_a_model_of_reports_without_names() -> None:
    day = evaluate(np.eye(4), np.eye(4), metrics=["p@1"])
    with pytest.raises(ValueError) as refused:
        trend({"day1": day}, model="b")
    assert str(refused.value) == (
        "model: 'b' is given, but the report of day1 has no name; leave this out"
    )


def test_trend_does_not_note_measures_with_limits_as_left_out() -> None:
    days = {
        "day1": evaluate(np.eye(4), np.eye(4), metrics=["p@1", "r@1", "lrap"]),
        "day2": evaluate(np.eye(4), np.eye(4), metrics=["p@1"]),
    }
    result = trend(days, min={"r@1": 0.5})
    assert [measure.name for measure in result.measures] == ["p@1", "r@1"]
    assert "left out, as some days lack them: lrap" in result.notes


def test_confidence_that_differs_between_days_is_noted() -> None:
    truth = np.eye(4)
    days = {
        day: xmleval.evaluate(truth, truth[::-1], metrics=["p@1"], confidence=level)
        for day, level in (("mon", 0.9), ("tue", 0.95))
    }
    assert "confidence differs: 0.9 (mon), 0.95 (tue)" in xmleval.trend(days).notes
