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
    models = {"a": report_of(3, metrics=["p@1"]), "b": report_of(3)}
    of_models = {"wed": Comparison(models), "thu": Comparison({**models, "a": report_of(4)})}
    assert "p@3 has no value on wed" in trend(of_models, "p@3").notes
    days["wed"] = report_of(3, conventions="empty=one", metrics=["p@1"])
    message = "results: empty is zero (mon, tue) and one (wed); such values cannot be compared"
    with pytest.raises(ValueError, match=re.escape(message)):
        trend(days, "p@1")


REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "results: no results are given; expected": ({}, {}),
    "results: int is not a result by day": (3, {}),
    "results: Report is the results of one day": (report_of(1), {}),
    "results: Comparison is the results of one day": (Comparison({"a": report_of(1)}), {}),
    "results: Report has no name for its day; expected": ([report_of(1)], {}),
    "results: no measure has values on all days; give metrics that some days have": (
        {"a": report_of(1, metrics=["p@1"]), "b": report_of(2, metrics=["p@3"])},
        {},
    ),
    "results: b: its report has no name, but other days have several reports": (
        {"a": Comparison({"x": report_of(1), "y": report_of(2)}), "b": report_of(2)},
        {},
    ),
    "model: a has no report 'z'; it has x, y": (
        {"a": Comparison({"x": report_of(1), "y": report_of(2)})},
        {"model": "z"},
    ),
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


@pytest.mark.parametrize("results", ["days", "days/*"])
@pytest.mark.usefixtures("files")
def test_days_of_a_folder_or_a_pattern_are_in_the_order_of_their_numbers(results: str) -> None:
    days = [f"day{day}" for day in range(1, N_DAYS + 1)]
    assert [day.rpartition("/")[2].partition(".")[0] for day in trend(results).days] == days


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


def test_page_and_text_say_that_all_days_are_within_limits(reports: dict[str, Report]) -> None:
    result = trend(reports, "p@1", min={"p@1": 0.0})
    assert result.failures == {}
    assert "all days are within the limits" in result.footnotes()
    assert all(record.holds is True for record in result.records())
    assert "!" not in "".join(str(result).splitlines()[2:])
    assert "All days are within the limits." in result.to_html()
    without = trend(reports, "p@1")
    assert "all days are within the limits" not in without.footnotes()
    assert "All days are within the limits." not in without.to_html()


def test_page_says_first_and_last_value_of_each_model() -> None:
    eye = np.eye(4)
    half = evaluate(eye, eye[[0, 1, 3, 2]], metrics=["p@1"])
    full = evaluate(eye, eye, metrics=["p@1"])
    assert "P@1 is 1.0000 on tue, and was 0.5000 on mon." in trend(
        {"mon": half, "tue": full}
    ).to_html(about={})
    (alone,) = [
        line for line in trend({"mon": half}).to_html(about={}).splitlines() if "P@1 is" in line
    ]
    assert "P@1 is 0.5000 on mon." in alone
    days = {
        "mon": Comparison({"a": half, "b": full}),
        "tue": Comparison({"a": full, "b": full, "c": half}),
    }
    page = trend(days).to_html()
    for sentence in (
        "P@1 of a is 1.0000 on tue, and was 0.5000 on mon.",
        "P@1 of b is 1.0000 on tue, and was 1.0000 on mon.",
        "P@1 of c is 0.5000 on tue.",
    ):
        assert sentence in page
    days["wed"] = Comparison({"a": full, "d": evaluate(eye, eye, metrics=["p@2"])})
    page = trend(days, "p@1").to_html()
    assert "P@1 of a is 1.0000 on wed, and was 0.5000 on mon." in page
    assert "P@1 of d is" not in page


def test_models_that_some_days_lack_are_noted_and_left_empty() -> None:
    a = report_of(1)
    days = {
        "mon": Comparison({"a": a, "b": report_of(2)}),
        "tue": Comparison({"a": a, "c": report_of(2)}),
        "wed": Comparison({"a": a, "b": a}),
    }
    result = trend(days, ["p@1"])
    assert result.models == ["a", "b", "c"]
    assert result.notes == ["no report of b on tue", "no report of c on mon, wed"]
    (table,) = [each for each in result.tables() if each.caption.startswith("c:")]
    assert [bool(row[1].text) for row in table.rows[1:]] == [False, True, False]
    lines = [line.split(",")[:2] for line in result.to_csv().splitlines()[1:]]
    assert lines == [[day, name] for day, models in days.items() for name in models]


def test_one_report_a_day_is_one_model_whatever_its_name() -> None:
    days: dict[str, Any] = {"mon": Comparison({"a": report_of(1)}), "tue": {"b": report_of(2)}}
    result = trend(days, "p@1")
    assert result.models == [""]
    (note,) = result.notes
    start = "each day has one report, and all are shown as one model"
    assert note == f"{start}: a, b"
    with_nameless: dict[str, Any] = {"sun": report_of(3)}
    with_nameless |= days
    assert trend(with_nameless, "p@1").notes == [note]
    expected = trend({day: report_of(n) for n, day in enumerate(days, 1)}, "p@1")
    assert str(result) == f"{expected}\nnote: {note}"
    same = trend({"mon": {"a": report_of(1)}, "tue": {"a": report_of(2)}}, "p@1")
    assert same.notes == []
    assert str(same) == str(expected)


def test_measures_of_groups_that_some_days_lack_are_noted() -> None:
    days = {
        "mon": report_of(1, label_groups=[*"hhhttt"]),
        "tue": report_of(2, label_groups=[*"hhhhhh"]),
        "wed": report_of(3),
    }
    result = trend(days, "p@1", min={"shares t:p@1": 0.0, "t:p@1": 0.0})
    assert result.notes[:2] == [
        "shares t:p@1 has no value on tue, wed",
        "t:p@1 has no value on tue, wed",
    ]
    for name, kind in (("t:p@1", "groups"), ("shares t:p@1", "shares")):
        (record,) = [each for each in result.records() if each.measure.name == name]
        part = getattr(days["mon"], kind)["t"]
        assert (record.day, record.value, record.n_labels) == ("mon", part["p@1"], part.n_labels)
    assert {day: len(failures) for day, failures in result.failures.items()} == {"tue": 2, "wed": 2}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"values": {}}, "JSON without 'trend'; give JSON of `xmleval trend`"),
        ({"trend": {}, "schema": 99}, "results of schema 99"),
        ({"trend": {}}, "'trend' is not as `xmleval trend` writes it"),
        ({"trend": []}, "'trend' is not as `xmleval trend` writes it"),
    ],
    ids=str,
)
def test_load_refuses_what_is_no_trend(contents: Any, message: str, tmp_path: Path) -> None:
    schema = trend({"mon": report_of(1)}).to_dict()["schema"]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schema": schema, "notes": [], **contents}))
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {message}')}"):
        xmleval.Trend.load(path)


def test_a_file_of_a_day_is_given_once(files: Path) -> None:
    for paths in (["days/day1.json"] * 2, ["days/day1.json", "days/../days/day1.json"]):
        message = "results: day1.json is given twice; expected different files"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            trend(paths)
    with pytest.raises(ValueError, match=r"day1.json is given twice"):
        trend([files, "days/day1.json"])


def test_days_within_a_maximum_alone_are_said_to_be_within_the_limits() -> None:
    pytest.importorskip("jinja2")
    result = trend({"mon": report_of(1)}, "p@1", max={"p@1": 1.0})
    assert [each.holds for each in result.records()] == [True]
    assert "all days are within the limits" in result.footnotes()
    assert "All days are within the limits." in result.to_html()


def test_limits_hold_for_each_model_alone() -> None:
    eye = np.eye(4)
    models = {
        "a": evaluate(eye, eye[[0, 1, 3, 2]], metrics=["p@1", "r@1"]),
        "b": evaluate(eye, eye, metrics=["p@1", "r@1"]),
    }
    result = trend({"mon": Comparison(models)}, min={"p@1": 0.6})
    holds = {(each.model, each.measure.name): each.holds for each in result.records()}
    expected = {("a", "p@1"): False, ("b", "p@1"): True, ("a", "r@1"): None, ("b", "r@1"): None}
    assert holds == expected
    panels = result._panels("trend")
    is_full = [[np.all(each.is_full) for each in panel.series] for panel in panels]
    assert is_full == [[False, True], [True, True]]  # hollow marks are beyond a limit
    rows = [line for line in str(result).splitlines() if line.startswith("mon ")]
    assert [row.count("!") for row in rows] == [1, 0]


def test_days_without_intervals_leave_those_of_other_days() -> None:
    days = {"mon": report_of(1), "tue": report_of(2, confidence=None)}
    result = trend(days, "p@1")
    (panel,) = result._panels("trend")
    ends = np.asarray(panel.series[0].ends)
    assert ends[:, 0].tolist() == [*days["mon"].confidence["p@1"]]
    assert np.isnan(ends[:, 1]).all()
    first, second = result.to_csv().splitlines()[1:]
    assert first.split(",")[-1]
    assert second.split(",")[-3:] == [""] * 3


def test_a_limit_has_the_digits_of_its_column_in_tables_of_a_paper() -> None:
    eye = np.eye(4)
    day = evaluate(eye, eye[[0, 1, 3, 2]], metrics=["coverage"])
    latex = trend({"mon": day}, max={"coverage": 150}).to_latex()
    assert r"mon & 4 & 1.500 \\" in latex
    assert r"maximum &  & 150.000 \\" in latex


def test_records_within_groups_have_the_rows_of_the_group() -> None:
    report = report_of(1, row_groups=["x"] * 5 + ["y"] * 16)
    (record,) = trend({"mon": report}, "x:p@1").records()
    assert (record.value, record.n_rows) == (report.row_groups["x"]["p@1"], 5)
