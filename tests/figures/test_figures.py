"""Figures show the numbers of reports, for one model and many, with any names."""

import io
import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Comparison, Ranking, Report, compare, evaluate, label_groups, rank
from xmleval.cli.output import write_figure
from xmleval.results.figures import diagrams_of_ranks
from xmleval.show.drawing import plot
from xmleval.show.panels import DotPanel, Panel, Series

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
OF_ONE = [
    "values",
    "cutoffs",
    "ranks",
    "groups",
    "row_groups",
    "precision_recall",
    "roc",
    "scores",
    "calibration",
]
KINDS = [*OF_ONE, "differences", "labels"]
HOSTILE = [
    "<script>alert(1)</script>",
    "$x_{1}$ & \\alpha",
    "نموذج",
    "x" * 10_000,
    "\x1b[31mred\n\t",
]
TWO_MODELS = {
    "x": {"a": 0.1, "b": 0.2},
    "y": {"a": 0.1, "b": 0.2},
}
N_LABELS = 20
METRICS = [
    *(f"{name}@{k}" for name in ("p", "ndcg") for k in (1, 2, 3, 4, 5)),
    "f1.macro@5",
    "lrap",
]


def made_scores(n_models: int, n_rows: int = 200) -> tuple[Any, dict[str, Any]]:
    """Return truth, and scores within [0, 1] of models that become worse."""
    rng = np.random.default_rng(7)
    truth = rng.random((n_rows, N_LABELS)) < np.linspace(0.02, 0.4, N_LABELS)
    noise = rng.normal(size=(n_models, *truth.shape))
    models = {}
    for n in range(n_models):
        logits = 3 * truth - 1.5 + noise[n] * (1 + 0.4 * n)
        models[f"model_{n}"] = 1 / (1 + np.exp(-logits))
    return truth, models


@cache
def compared(n_models: int = 3) -> Comparison:
    """Return a comparison with all that figures show."""
    truth, models = made_scores(n_models)
    options: dict[str, Any] = {
        "label_groups": label_groups(truth, edges=[0, 15, 40]),
        "row_groups": [*"ab"] * (len(truth) // 2),
        "curve_points": 100,
        "per_label": True,
    }
    return compare(truth, models, metrics=METRICS, **options)


def panels_of(result: Any, kind: str, **options: Any) -> list[Any]:
    return [*np.atleast_1d(result.plot(kind, **options))]


def points_of(axes: Any) -> dict[str, Any]:
    """Return the points of the series of axes, (2, n) by name."""
    return {series.get_label(): series[0].get_xydata().T for series in axes.containers}


def table_of(panel: Panel) -> list[dict[str, str]]:
    """Return the numbers that a page has below a figure, by column."""
    header, *rows = panel.numbers()
    return [dict(zip(header, row, strict=True)) for row in rows]


def values_shown(kind: str, title: str, x: Any, report: Report) -> list[tuple[Report, str]]:
    """Return the reports and measures at the places of a figure, of cutoffs or of groups."""
    if kind == "cutoffs":
        return [(report, f"{title.lower()}@{k:.0f}") for k in x]
    names = [spec.name for spec in compared().specs if spec.symbol == title]
    groups = report.groups if kind == "groups" else report.row_groups
    return [(group, names[-1]) for group in groups.values()]


@pytest.mark.parametrize("kind", ["cutoffs", "groups", "row_groups", "roc"])
def test_plot_shows_the_numbers_of_the_report(kind: str) -> None:
    comparison = compared()
    for axes, panel in zip(panels_of(comparison, kind), comparison._panels(kind), strict=True):
        title = axes.get_title(loc="left")
        points = points_of(axes)
        table = table_of(panel)
        assert [*points] == [*comparison.reports]
        for model, report in comparison.reports.items():
            x, y = points[model]
            if kind in (
                "groups",
                "row_groups",
            ):  # a row of dots for each group, without a line between them
                x, y = y, x
            if kind == "roc":
                false_positives, true_positives, *_ = report.roc_curve()
                assert x.tolist() == false_positives.tolist()
                assert y.tolist() == true_positives.tolist()
                continue
            values = values_shown(kind, title, x, report)
            assert y.tolist() == [part[name] for part, name in values]
            rows = [row for row in table if row["series"] == model]
            for row, (part, name) in zip(rows, values, strict=True):
                lower, upper = part.confidence[name]
                assert row["value"] == f"{part[name]:.4g}"
                assert row["lower"] == f"{lower:.4g}"
                assert row["upper"] == f"{upper:.4g}"


@pytest.mark.parametrize("kind", KINDS)
def test_axes_show_the_numbers_of_panels(kind: str) -> None:
    for axes, panel in zip(panels_of(compared(), kind), compared()._panels(kind), strict=True):
        points = points_of(axes)
        assert [*points] == [series.name for series in panel.series]
        for series in panel.series:
            x, y = points[series.name]
            values = x if isinstance(panel, DotPanel) else y
            np.testing.assert_array_equal(values, series.values)


def test_panels_separate_differences_of_models_with_long_names() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((40, 5)) < 0.3
    names = [f"{'a' * 40}{middle}{'z' * 40}" for middle in "xyw"]
    models = {name: truth + rng.normal(size=truth.shape) for name in names}
    (panel,) = compare(truth, models, metrics=["p@1"])._panels("differences")
    assert len({series.name for series in panel.series}) == 3


def test_plot_fills_significant_differences() -> None:
    comparison = compared()
    (axes,) = panels_of(comparison, "differences", metrics=["p@1", "lrap"])
    hollow = [line.get_xdata() for line in axes.lines if line.get_markerfacecolor() == "white"]
    points = points_of(axes).values()
    for (a, b), hollow_x, (x, _) in zip(comparison.pairs, hollow, points, strict=True):
        differences = [comparison.difference(name, a, b) for name in ("p@1", "lrap")]
        assert x.tolist() == [difference.value for difference in differences]
        is_significant = [difference.better is not None for difference in differences]
        assert np.isnan(hollow_x).tolist() == is_significant
    lines = panels_of(compared(12), "ranks")[0].containers
    # they cover each other
    assert not any(band.get_visible() for _, _, bands in lines for band in bands)
    assert all(row["lower"] for row in table_of(compared(12)._panels("ranks")[0]))


def test_plot_of_ranks_shows_the_share_of_relevant_labels() -> None:
    truth, models = made_scores(3)
    (axes,) = panels_of(compared(), "ranks")
    for (_, y), scores in zip(points_of(axes).values(), models.values(), strict=True):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        np.testing.assert_allclose(y, np.take_along_axis(truth, order, 1).mean(0))
    for row in table_of(compared()._panels("ranks")[0]):
        value = float(row["share of rows with a relevant label there"])
        assert float(row["lower"]) <= value <= float(row["upper"])
    report = evaluate(np.eye(3), np.eye(3), metrics=[f"p@{k}" for k in range(1, 6)])
    for kind in ("cutoffs", "ranks"):
        (axes,) = panels_of(report, kind)
        assert points_of(axes)[""][0].tolist() == [1, 2, 3]  # as many as labels


def test_plot_of_calibration_shows_the_shares_of_bins() -> None:
    truth, models = made_scores(2)
    scores = models["model_0"].astype(np.float32)
    report = evaluate(truth, scores, metrics=["auc.micro"], curve_points=10_000)
    x, y = points_of(report.plot("calibration"))[""]
    lows = x[::3]
    highs = x[1::3]
    shares = y[::3]
    for n, (low, high, share) in enumerate(zip(lows, highs, shares, strict=True)):
        is_below = scores < high
        if n == len(shares) - 1:
            is_below = scores <= high
        in_bin = (scores >= low) & is_below
        assert truth[in_bin].mean() == pytest.approx(share)
    metrics = ["ece@1", "ece@2", "ece@3"]
    reports = {name: evaluate(truth, scores, metrics=metrics) for name, scores in models.items()}
    assert len(panels_of(Comparison(reports), "calibration")) == 3
    (axes,) = panels_of(Comparison(reports, only=["ece(bins=15)@2"]), "calibration")
    assert axes.get_title(loc="left").endswith("@2")


def test_plot_ends_curves_with_the_lists_and_names_list_lengths() -> None:
    truth, models = made_scores(2)
    lists = {}
    for (name, scores), depth in zip(models.items(), (3, 6), strict=True):
        lists[name] = (np.argsort(-scores)[:, :depth], -np.sort(-scores)[:, :depth])
    comparison = compare(truth, lists, metrics=["p@1", "p@5", "auc.micro"], curve_points=10_000)
    names = ["model_0 (lists of 3)", "model_1 (lists of 6)"]
    expected_names = {
        "values": names,
        "roc": names,
        "precision_recall": names,
        "differences": [" - ".join(names)],
    }
    for kind, expected in expected_names.items():
        (axes,) = panels_of(comparison, kind)
        assert [*points_of(axes)] == expected
        for (labels, _), (x, y) in zip(lists.values(), points_of(axes).values(), strict=False):
            share = np.take_along_axis(truth, labels, 1).sum() / truth.sum()
            if kind == "roc":
                assert y[-1] == pytest.approx(share)
            if kind == "precision_recall":
                assert x[-1] == pytest.approx(share)
    (axes,) = panels_of(comparison, "values", metrics="p@1")
    assert [*points_of(axes)] == ["model_0", "model_1"]  # every list is long enough


def figure_of(axes: Any) -> Any:
    return np.atleast_1d(axes)[0].figure


def text_boxes(figure: Any) -> list[Any]:
    """Return the boxes of all texts in a figure that was drawn, without arrows."""
    from matplotlib.text import Text

    artists = []
    for axes in figure.axes:
        artists += [axes.xaxis.label, axes.yaxis.label, *axes.get_children()]
    for legend in figure.legends:
        artists += legend.get_texts()
    texts = [artist for artist in artists if isinstance(artist, Text) and artist.get_text()]
    return [Text.get_window_extent(text) for text in texts]


def overlap(a: Any, b: Any) -> bool:
    """Return whether two boxes overlap by more than a pixel."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return bool(width > 1 and height > 1)


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 12])
def test_texts_of_a_figure_do_not_overlap(n_models: int) -> None:
    if n_models == 1:
        kinds = OF_ONE
        comparison = Comparison({"m": next(iter(compared().reports.values()))})
    else:
        kinds = KINDS
        comparison = compared(n_models)
    for kind in kinds:
        metrics = None
        if kind != "ranks":
            metrics = ["p@1", "p@5", "ndcg@1", "ndcg@5"]
        figure = figure_of(comparison.plot(kind, metrics=metrics))
        figure.savefig(io.BytesIO(), format="png")  # which lays it out
        for a, b in itertools.combinations(text_boxes(figure), 2):
            assert not overlap(a, b), kind


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_plot_shows_names_as_text() -> None:
    labels = np.array(HOSTILE * 4, object)[:20].tolist()
    reports = {}
    for name, report in zip(HOSTILE, compared(12).reports.values(), strict=False):
        reports[name] = replace(report, label_names=labels)
    for kind in ("values", "labels"):
        figure = figure_of(Comparison(reports).plot(kind, metrics=["p@1", "f1.macro@5"]))
        text = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none"}):  # text as text
            figure.savefig(text, format="svg")
        svg = text.getvalue()
        assert not any(part in svg for part in ("<script", "x" * 30, "\x1b"))
        assert "$x_{1}$ &amp; " in svg or kind == "labels"


def test_plot_draws_into_given_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    assert compared().plot("cutoffs", metrics=["p", "ndcg"], ax=axes)[0] is axes[0]
    assert axes[0].lines
    with pytest.raises(ValueError, match="ax: has 2 axes, but the figure has 1 panel"):
        compared().plot("cutoffs", metrics="p", ax=axes)
    wrong: Any = "axes"
    with pytest.raises(ValueError, match="ax: str is not an Axes"):
        rank(TWO_MODELS, "p@1").plot(ax=wrong)


def test_plot_of_a_ranking_refuses_metrics_if_its_measure_is_unknown() -> None:
    assert rank(TWO_MODELS, "p@1").plot(metrics="P@1").lines
    message = "metrics: no measure of this Ranking is known; leave this out"
    with pytest.raises(ValueError, match=message):
        rank(TWO_MODELS, "mine", higher_is_better=True).plot(metrics="mine")


def results_of_six_models(measures: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return values of measures for six models on twelve data sets."""
    values = np.linspace(0.3, 0.6, 6) + 0.05 * np.random.default_rng(0).normal(size=(5, 12, 6))
    results: dict[str, dict[str, dict[str, float]]] = {}
    for i in range(12):
        models = {}
        for j in range(6):
            models[f"m{j}"] = dict(zip(measures, values[:, i, j].tolist(), strict=False))
        results[f"d{i}"] = models
    return results


def spans_of(ranking: Ranking) -> list[list[float]]:
    """Return the first and last rank of the bars in a critical difference diagram."""
    if ranking.control is None:
        ranks = ranking.average_ranks
        return [[ranks[group[0]], ranks[group[-1]]] for group in ranking.groups]
    center = ranking.average_ranks[ranking.control]
    difference = ranking.critical_difference
    return [[max(1, center - difference), min(6, center + difference)]]


def check_diagram(axes: Any, ranking: Ranking) -> None:
    """Compare the texts, lines and bars of a diagram with a ranking."""
    texts = {text.get_text().strip() for text in axes.texts}
    assert f"critical difference {ranking.critical_difference:.3g}" in texts
    lines = [[*line.get_xdata()[:2]] for line in axes.lines]
    for name, mean in ranking.average_ranks.items():
        assert {f"{name} ({mean:.3g})", f"({mean:.3g}) {name}"} & texts
        assert [mean, mean] in lines  # down from the axis
    bars = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3.2]
    spans = spans_of(ranking)
    assert len(bars) == len(spans) > 0
    np.testing.assert_allclose(bars, spans, atol=0.05)


@pytest.mark.parametrize("control", [None, "m2"])
@pytest.mark.parametrize("measures", [["p@1"], ["p@1", "p@3", "p@5", "ndcg@3", "ndcg@5"]])
def test_plot_draws_a_critical_difference_diagram_a_measure(
    measures: list[str], control: Any
) -> None:
    results = results_of_six_models(measures)
    rankings = [rank(results, name, control=control) for name in measures]
    diagrams = np.atleast_1d(plot(diagrams_of_ranks(rankings)))
    titles = [""]
    if len(measures) > 1:
        titles = [ranking.symbol for ranking in rankings]
    assert [axes.get_title(loc="left") for axes in diagrams] == titles
    for ranking, axes in zip(rankings, diagrams, strict=True):
        check_diagram(axes, ranking)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("rok", "kind: 'rok' is not a figure; did you mean roc"),
        ("roc", "kind: 'roc' needs scores, and curve_points="),
        ("cutoffs", "kind: 'cutoffs' needs measures at two cutoffs"),
        ("labels", "kind: 'labels' needs two models"),
    ],
)
def test_plot_refuses_a_report_without_the_input_of_a_kind(kind: str, message: str) -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
    with pytest.raises(ValueError, match=message):
        report.plot(kind)
    with pytest.raises(KeyError, match=r"p@9"):
        report.plot(metrics="p@9")
    # a report alone has no name in texts and numbers
    assert "value; from 1 to 1." in report.to_html()


def test_plot_orders_groups_from_head_to_tail() -> None:
    truth, models = made_scores(1)
    deciles = label_groups(label_counts=np.r_[[0, 0], np.arange(1, 19) ** 2], edges="deciles")
    options: dict[str, Any] = {"y_score": models["model_0"], "metrics": ["p@1"]}
    by_decile = evaluate(truth, label_groups=deciles, **options)
    ticks = ticks_of_groups(by_decile)
    assert ticks[-1] == "0"
    firsts = [int(tick.split("-")[0]) for tick in ticks]
    assert firsts == sorted(firsts, reverse=True)
    by_name = evaluate(truth, label_groups={0: "b", 1: "a"}, **options)
    assert ticks_of_groups(by_name) == [*by_name.groups]


def test_plot_draws_groups_as_dots_with_intervals() -> None:
    for axes in panels_of(compared(), "groups"):
        for dots, _, intervals in axes.containers:
            assert dots.get_linestyle() == "None"
            assert dots.get_marker() != "None"
            assert len(intervals[0].get_segments()) == len(compared()["model_0"].groups)


def ticks_of_groups(report: Report) -> list[str]:
    axes = panels_of(report, "groups")[0]
    return [text.get_text() for text in axes.get_yticklabels()]


LONG = ["first_of_two_" + middle * 20 + "_long_names_ab" for middle in "xy"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (
            ["exactly_twenty_eight_letters", "one_more_than_twenty_8_signs."],
            ["exactly_twenty_eight_letters", "one_more_than…wenty_8_signs."],
        ),
        ([LONG[0], "b"], ["first_of_two_…_long_names_ab", "b"]),
        ([*LONG, "b"], [*LONG, "b"]),  # alike once they are cut
    ],
)
def test_long_names_are_cut_in_their_middle_unless_they_become_alike(
    names: list[str], shown: list[str]
) -> None:
    reports = {name: evaluate(np.eye(4), np.eye(4) + 0.1, metrics=["p@1"]) for name in names}
    (axes,) = panels_of(Comparison(reports), "values")
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == shown


@pytest.mark.parametrize(("n_models", "n_pairs"), [(4, 6), (5, 4)])
def test_figure_of_many_differences_has_those_to_the_model_that_wins_most(
    n_models: int, n_pairs: int
) -> None:
    truth = np.tile(np.eye(6, dtype=int), (10, 1))
    rng = np.random.default_rng(0)
    models = {}
    for n in range(n_models):
        is_right = rng.random(len(truth)) < (0.95 if n == 2 else 0.3)
        models[f"m{n}"] = np.where(is_right[:, None], truth, 1 - truth) + 0.1
    comparison = compare(truth, models, metrics=["p@1", "mrr@3"])
    (panel,) = comparison._panels("differences")
    pairs = [series.name.split(" - ") for series in panel.series]
    assert len(pairs) == n_pairs
    if n_pairs < len(comparison.pairs):
        assert all("m2" in pair for pair in pairs)
    else:
        assert pairs == [[*pair] for pair in comparison.pairs]


def test_numbers_of_a_panel_have_the_ends_of_the_series_that_have_some() -> None:
    places = np.array([0.0, 1.0])
    ends = np.array([[0.25, 0.5], [0.75, 1.0]])
    panel = Panel([Series("a", places, places, ends), Series("b", places, places)])
    header, *rows = panel.numbers()
    assert header[-2:] == ["lower", "upper"]
    assert [row[-2:] for row in rows] == [["0.25", "0.75"], ["0.5", "1"], ["", ""], ["", ""]]
    header, *_ = Panel([Series("a", places, places), Series("b", places, places)]).numbers()
    assert "lower" not in header


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_figures_have_the_format_of_an_ending_in_upper_case(form: str, tmp_path: Path) -> None:
    report = evaluate(np.eye(4), np.eye(4), metrics=["p@1"])
    lower = tmp_path / f"a.{form}"
    upper = tmp_path / f"b.{form.upper()}"
    for path in (lower, upper):
        write_figure(report.plot("values"), path)
    assert upper.read_bytes() == lower.read_bytes()
