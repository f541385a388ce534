"""Figures show the numbers of reports, are drawn for one model and for many, and take any name."""

import io
import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from xmleval import Comparison, compare, evaluate, label_groups, rank
from xmleval.results.figures import diagrams_of_ranks
from xmleval.show.drawing import plot
from xmleval.show.panels import DotPanel, Panel

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
OF_ONE = ["values", "cutoffs", "ranks", "groups", "precision_recall", "roc", "scores", "calibration"]
KINDS = [*OF_ONE, "differences", "labels"]
HOSTILE = ["<script>alert(1)</script>", "$x_{1}$ & \\alpha", "نموذج", "x" * 10_000, "\x1b[31mred\n\t"]
N_LABELS = 20
METRICS = [*(f"{name}@{k}" for name in ("p", "ndcg") for k in (1, 2, 3, 4, 5)), "f1.macro@5", "lrap"]


def made_scores(n_models: int, n_rows: int = 200) -> tuple[Any, dict[str, Any]]:
    """Return truth, and scores within [0, 1] of models that become worse."""
    rng = np.random.default_rng(7)
    truth = rng.random((n_rows, N_LABELS)) < np.linspace(0.02, 0.4, N_LABELS)
    noise = rng.normal(size=(n_models, *truth.shape)) * (1 + 0.4 * np.arange(n_models))[:, None, None]
    return truth, {f"model_{n}": 1 / (1 + np.exp(-own)) for n, own in enumerate(3 * truth - 1.5 + noise)}


@cache
def compared(n_models: int = 3) -> Comparison:
    """Return models compared, with all that figures show."""
    truth, models = made_scores(n_models)
    groups = label_groups(truth, edges=[0, 15, 40])
    kept: dict[str, Any] = {"label_groups": groups, "curve_points": 100, "per_label": True}
    return compare(truth, models, metrics=METRICS, **kept)


def panels_of(result: Any, kind: str, **options: Any) -> list[Any]:
    return [*np.atleast_1d(result.plot(kind, **options))]


def points_of(axes: Any) -> dict[str, Any]:
    """Return places and values of each series of axes."""
    return {series.get_label(): series[0].get_xydata().T for series in axes.containers}


def table_of(panel: Panel) -> list[dict[str, str]]:
    """Return the numbers that a page has below a figure, by column."""
    header, *rows = panel.numbers()
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("kind", ["cutoffs", "groups", "roc"])
def test_numbers_are_those_of_the_report(kind: str) -> None:
    comparison = compared()
    symbols = {spec.symbol: spec.name for spec in comparison.specs}
    for axes, panel in zip(panels_of(comparison, kind), comparison.panels(kind), strict=True):
        title = axes.get_title(loc="left")
        points = points_of(axes)
        table = table_of(panel)
        assert [*points] == [*comparison.reports]
        for model, report in comparison.reports.items():
            x, y = points[model]
            rows = [row for row in table if row["series"] == model]
            if kind == "roc":
                assert [x.tolist(), y.tolist()] == [each.tolist() for each in report.roc_curve()[:2]]
                continue
            names = [f"{title.lower()}@{k:.0f}" for k in x] if kind == "cutoffs" else [symbols[title]] * 3
            parts = [report] * len(names) if kind == "cutoffs" else report.groups.values()
            assert y.tolist() == [part[name] for part, name in zip(parts, names, strict=True)]
            for row, part, name in zip(rows, parts, names, strict=True):
                ends = part.confidence[name]
                assert [row[column] for column in ("value", "lower", "upper")] == [
                    f"{value:.4g}" for value in (part[name], *ends)
                ]


@pytest.mark.parametrize("kind", KINDS)
def test_axes_show_the_numbers_of_panels(kind: str) -> None:
    for axes, panel in zip(panels_of(compared(), kind), compared().panels(kind), strict=True):
        points = points_of(axes)
        assert [*points] == [series.name for series in panel.series]
        for series in panel.series:
            x, y = points[series.name]
            np.testing.assert_array_equal(x if isinstance(panel, DotPanel) else y, series.values)


def test_models_with_long_names_have_differences_of_their_own() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((40, 5)) < 0.3
    names = [f"{'a' * 40}{middle}{'z' * 40}" for middle in "xyw"]
    models = {name: truth + rng.normal(size=truth.shape) for name in names}
    (panel,) = compare(truth, models, metrics=["p@1"]).panels("differences")
    assert len({series.name for series in panel.series}) == 3


def test_differences_are_full_where_they_are_significant() -> None:
    comparison = compared()
    (axes,) = panels_of(comparison, "differences", metrics=["p@1", "lrap"])
    hollow = [line.get_xdata() for line in axes.lines if line.get_markerfacecolor() == "white"]
    for (a, b), drawn, (x, _) in zip(comparison.pairs, hollow, points_of(axes).values(), strict=True):
        differences = [comparison.difference(name, a, b) for name in ("p@1", "lrap")]
        assert x.tolist() == [difference.value for difference in differences]
        assert np.isnan(drawn).tolist() == [difference.better is not None for difference in differences]
    lines = panels_of(compared(12), "ranks")[0].containers
    assert not any(band.get_visible() for _, _, bands in lines for band in bands)  # they cover each other
    assert all(row["lower"] for row in table_of(compared(12).panels("ranks")[0]))


def test_precision_at_a_rank_is_the_share_of_relevant_labels_there() -> None:
    truth, models = made_scores(3)
    (axes,) = panels_of(compared(), "ranks")
    for (_, y), scores in zip(points_of(axes).values(), models.values(), strict=True):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        np.testing.assert_allclose(y, np.take_along_axis(truth, order, 1).mean(0))
    value = "share of rows with a relevant label there"
    table = table_of(compared().panels("ranks")[0])
    assert all(float(row["lower"]) <= float(row[value]) <= float(row["upper"]) for row in table)
    report = evaluate(np.eye(3), np.eye(3), metrics=[f"p@{k}" for k in range(1, 6)])
    for kind in ("cutoffs", "ranks"):
        (axes,) = panels_of(report, kind)
        assert points_of(axes)[""][0].tolist() == [1, 2, 3]  # as many as labels


def test_bins_of_calibration_hold_the_shares_of_their_scores() -> None:
    truth, models = made_scores(2)
    scores = models["model_0"].astype(np.float32)
    report = evaluate(truth, scores, metrics=["auc.micro"], curve_points=10_000)
    x, y = points_of(report.plot("calibration"))[""]
    lows, highs, shares = x[::3], x[1::3], y[::3]
    for n, (low, high, share) in enumerate(zip(lows, highs, shares, strict=True)):
        is_last = n == len(shares) - 1
        in_bin = (scores >= low) & ((scores <= high) if is_last else (scores < high))
        assert truth[in_bin].mean() == pytest.approx(share)
    reports = {n: evaluate(truth, s, metrics=["ece@1", "ece@2", "ece@3"]) for n, s in models.items()}
    assert len(panels_of(Comparison(reports), "calibration")) == 3
    (axes,) = panels_of(Comparison(reports, only=["ece(bins=15)@2"]), "calibration")
    assert axes.get_title(loc="left").endswith("@2")


def test_curves_end_where_lists_end_and_figures_say_that_lists_differ() -> None:
    truth, models = made_scores(2)
    cut = zip(models.items(), (3, 6), strict=True)
    lists = {name: (np.argsort(-scores)[:, :n], -np.sort(-scores)[:, :n]) for (name, scores), n in cut}
    comparison = compare(truth, lists, metrics=["p@1", "p@5", "auc.micro"], curve_points=10_000)
    for kind in ("values", "roc", "precision_recall", "differences"):
        (axes,) = panels_of(comparison, kind)
        names = ["model_0 (lists of 3)", "model_1 (lists of 6)"]
        assert [*points_of(axes)] == ([" - ".join(names)] if kind == "differences" else names)
        for name, (recall, recall_of_roc) in zip(lists, points_of(axes).values(), strict=False):
            share = np.take_along_axis(truth, lists[name][0], 1).sum() / truth.sum()
            end = {"roc": recall_of_roc, "precision_recall": recall}.get(kind, [share])[-1]
            assert end == pytest.approx(share)
    (axes,) = panels_of(comparison, "values", metrics="p@1")
    assert [*points_of(axes)] == ["model_0", "model_1"]  # of which every list is long enough


def figure_of(axes: Any) -> Any:
    return np.atleast_1d(axes)[0].figure


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 12])
def test_texts_of_a_figure_do_not_overlap(n_models: int) -> None:
    from matplotlib.text import Text

    comparison = Comparison({"m": next(iter(compared().reports.values()))})
    if n_models > 1:
        comparison = compared(n_models)
    for kind in OF_ONE if n_models == 1 else KINDS:
        metrics = ["p@1", "p@5", "ndcg@1", "ndcg@5"] if kind != "ranks" else None
        figure = figure_of(comparison.plot(kind, metrics=metrics))
        figure.savefig(io.BytesIO(), format="png")  # which lays it out
        texts = [t for ax in figure.axes for t in (ax.xaxis.label, ax.yaxis.label, *ax.get_children())]
        texts += [text for legend in figure.legends for text in legend.get_texts()]
        shown = [text for text in texts if isinstance(text, Text) and text.get_text()]
        boxes = [Text.get_window_extent(text) for text in shown]  # without arrows
        for a, b in itertools.combinations(boxes, 2):
            wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert not (wide > 1 and high > 1), kind


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_are_shown_as_text() -> None:
    reports = [*compared(12).reports.values()]
    labels = np.array(HOSTILE * 4, object)[:20].tolist()
    made = {name: replace(one, label_names=labels) for name, one in zip(HOSTILE, reports, strict=False)}
    for kind in ("values", "labels"):
        figure, text = figure_of(Comparison(made).plot(kind, metrics=["p@1", "f1.macro@5"])), io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none"}):  # text as text
            figure.savefig(text, format="svg")
        svg = text.getvalue()
        assert not any(part in svg for part in ("<script", "x" * 30, "\x1b"))
        assert "$x_{1}$ &amp; " in svg or kind == "labels"


def test_axes_of_the_caller_are_drawn_into() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    assert compared().plot("cutoffs", metrics=["p", "ndcg"], ax=axes)[0] is axes[0]
    assert axes[0].lines
    with pytest.raises(ValueError, match="ax: has 2 axes, and the figure 1 panel"):
        compared().plot("cutoffs", metrics="p", ax=axes)
    wrong: Any = "axes"
    with pytest.raises(ValueError, match="ax: str is no Axes"):
        rank({"x": {"a": 0.1, "b": 0.2}, "y": {"a": 0.1, "b": 0.2}}, "p@1").plot(ax=wrong)


def test_rankings_by_measures_of_their_own_choose_no_measures() -> None:
    values = {"x": {"a": 0.1, "b": 0.2}, "y": {"a": 0.1, "b": 0.2}}
    assert rank(values, "p@1").plot(metrics="P@1").lines
    with pytest.raises(ValueError, match="metrics: no measure of this Ranking is known; leave this out"):
        rank(values, "mine", higher_is_better=True).plot(metrics="mine")


@pytest.mark.parametrize("control", [None, "m2"])
@pytest.mark.parametrize("measures", [["p@1"], ["p@1", "p@3", "p@5", "ndcg@3", "ndcg@5"]])
def test_each_measure_has_a_critical_difference_diagram(measures: list[str], control: Any) -> None:
    values = np.linspace(0.3, 0.6, 6) + 0.05 * np.random.default_rng(0).normal(size=(5, 12, 6))
    results = {
        f"d{i}": {f"m{j}": dict(zip(measures, values[:, i, j].tolist(), strict=False)) for j in range(6)}
        for i in range(12)
    }
    rankings = [rank(results, name, control=control) for name in measures]
    diagrams = np.atleast_1d(plot(diagrams_of_ranks(rankings)))
    titles = [ranking.symbol for ranking in rankings]
    assert [ax.get_title(loc="left") for ax in diagrams] == (titles if measures[1:] else [""])
    for ranking, ax in zip(rankings, diagrams, strict=True):
        texts = {text.get_text().strip() for text in ax.texts}
        assert f"critical difference {ranking.critical_difference:.3g}" in texts
        for name, mean in ranking.average_ranks.items():
            assert {f"{name} ({mean:.3g})", f"({mean:.3g}) {name}"} & texts
            assert [mean, mean] in [[*line.get_xdata()[:2]] for line in ax.lines]  # hangs from the axis
        bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 3.2]
        spans = [[ranking.average_ranks[group[end]] for end in (0, -1)] for group in ranking.groups]
        if control:
            center, difference = ranking.average_ranks[control], ranking.critical_difference
            spans = [[max(1, center - difference), min(6, center + difference)]]
        assert len(bars) == len(spans) > 0
        np.testing.assert_allclose(bars, spans, atol=0.05)


@pytest.mark.parametrize(("kind", "message"), [
    ("rok", "kind: 'rok' is no figure; did you mean roc"),
    ("roc", "kind: 'roc' needs scores, and curve_points="),
    ("cutoffs", "kind: 'cutoffs' needs measures at two cutoffs"),
    ("labels", "kind: 'labels' needs two models"),
])  # fmt: skip
def test_a_report_without_the_input_of_a_kind_is_refused(kind: str, message: str) -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
    with pytest.raises(ValueError, match=message):
        report.plot(kind)
    with pytest.raises(KeyError, match=r"p@9"):
        report.plot(metrics="p@9")
    assert "value; from 1 to 1." in report.to_html()  # a report alone has no name in texts and numbers


def test_groups_are_drawn_from_head_to_tail() -> None:
    truth, models = made_scores(1)
    deciles = label_groups(label_counts=np.r_[[0, 0], np.arange(1, 19) ** 2], edges="deciles")
    ticks, names = [], []
    for groups in (deciles, {0: "b", 1: "a"}):
        report = evaluate(truth, models["model_0"], metrics=["p@1"], label_groups=groups)
        ticks.append([text.get_text() for text in panels_of(report, "groups")[0].get_xticklabels()])
        names.append([*report.groups])
    assert ticks[1] == names[1]
    assert ticks[0][-1] == "0"
    firsts = [int(tick.split("-")[0]) for tick in ticks[0]]
    assert firsts == sorted(firsts, reverse=True)
