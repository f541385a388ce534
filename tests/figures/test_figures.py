"""Figures show the numbers of reports, are drawn for one model and for many, and take any name."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import xmleval
from tests.figures.made_models import compared, made_scores
from xmleval import evaluate, rank
from xmleval.comparing.shown import plot_ranks
from xmleval.figures.drawing import as_svg, figure_of, save
from xmleval.figures.kinds import KINDS
from xmleval.figures.panels import as_table, described
from xmleval.page.page import themed
from xmleval.report.comparison import Comparison

pytest.importorskip("matplotlib").use("Agg")
HOSTILE = ["<script>alert(1)</script>", "$x_{1}$ & \\alpha", "نموذج", "x" * 10_000, "\x1b[31mred\n\t"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_report(kind: str) -> None:
    told = compared()
    for panel in told.panels(kind):
        for one in panel.series:
            assert one.x.shape == one.y.shape
            assert one.low is None or one.low.shape == one.y.shape
            report = next((r for n, r in told.reports.items() if n == one.name), None)
            if report is None:
                continue
            if kind == "cutoffs":
                names = [f"{panel.title.lower()}@{k:.0f}" for k in one.x]
                assert one.y.tolist() == [report[name] for name in names]
                assert one.low is not None
                assert one.low.tolist() == [report.confidence[name][0] for name in names]
            elif kind == "groups":
                (name,) = [spec.name for spec in told.specs if spec.symbol == panel.title]
                assert one.y.tolist() == [part[name] for part in report.groups.values()]
            elif kind == "roc":
                assert one.x.tolist() == report.roc_curve()[0].tolist()
        header, rows = as_table(panel)
        assert {len(row) for row in rows} <= {len(header)}
        assert described(panel)


def test_precision_at_a_rank_is_the_share_of_relevant_labels_there() -> None:
    truth, models = made_scores(3)
    (panel,) = compared().panels("ranks")
    for one, scores in zip(panel.series, models.values(), strict=True):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        np.testing.assert_allclose(one.y, np.take_along_axis(truth, order, 1).mean(0))
        assert one.low is not None
        assert one.high is not None
        assert (one.low <= one.y).all()
        assert (one.y <= one.high).all()


def test_bins_of_calibration_hold_the_shares_of_their_scores() -> None:
    truth, models = made_scores(1)
    scores = models["model_0"].astype(np.float32)
    report = evaluate(truth, scores, metrics=["auc.micro"], curve_points=10_000)
    (panel,) = report.panels("calibration")
    lows, highs, shares = panel.series[0].x[::3], panel.series[0].x[1::3], panel.series[0].y[::3]
    for n, (low, high, share) in enumerate(zip(lows, highs, shares, strict=True)):
        last = n == len(shares) - 1
        held = (scores >= low) & ((scores <= high) if last else (scores < high))
        assert truth[held].mean() == pytest.approx(share)


def test_calibration_is_that_of_the_measures_of_the_table() -> None:
    truth, models = made_scores(2)
    reports = {n: evaluate(truth, one, metrics=["ece@1", "ece@2", "ece@3"]) for n, one in models.items()}
    assert len(Comparison(reports).panels("calibration")) == 3
    (panel,) = Comparison(reports, only=["ece(bins=15)@2"]).panels("calibration")
    assert panel.title.endswith("@2")


def test_full_marks_are_significant_differences() -> None:
    told = compared()
    (panel,) = told.panels("differences", ["p@1", "lrap"])
    for one, pair in zip(panel.series, told.pairs, strict=True):
        assert [*one.marked] == [told.difference(name, *pair).better is not None for name in ("p@1", "lrap")]


@pytest.mark.parametrize("n_models", [1, 3, 12])
def test_texts_of_a_figure_do_not_overlap(n_models: int) -> None:
    from matplotlib.text import Text

    told = compared(n_models) if n_models > 1 else Comparison({"m": next(iter(compared().reports.values()))})
    for kind in KINDS:
        if n_models == 1 and kind in ("differences", "labels"):
            continue
        figure = figure_of(told.panels(kind, ["p@1", "p@5", "ndcg@1", "ndcg@5"] if kind != "ranks" else None))
        figure.savefig(io.BytesIO(), format="png")  # which lays it out
        boxes = [Text.get_window_extent(text) for text in _texts(figure)]  # without arrows of annotations
        for n, box in enumerate(boxes):
            for other in boxes[:n]:
                assert not _overlap(box, other), kind


def _texts(figure: Any) -> list[Any]:
    """Return titles and names of axes, and entries of the legend; ticks keep apart by themselves."""
    found = [
        text for one in figure.axes for text in (one.title, one.xaxis.label, one.yaxis.label, *one.texts)
    ]
    found += [one._left_title for one in figure.axes]
    found += [text for legend in figure.legends for text in legend.get_texts()]
    return [text for text in found if text.get_text()]


def _overlap(a: Any, b: Any) -> bool:
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return bool(wide > 1 and high > 1)


def test_names_are_shown_as_text() -> None:
    reports = [*compared(12).reports.values()]
    names = np.array(HOSTILE * 4, object)[:20].tolist()
    told = Comparison(
        {name: replace(one, label_names=names) for name, one in zip(HOSTILE, reports, strict=False)}
    )
    for kind in ("values", "labels"):
        svg = as_svg(figure_of(told.panels(kind, ["p@1", "f1.macro@5"])), "a")
        assert "<script" not in svg
        assert "x" * 30 not in svg
        assert "\x1b" not in svg
    assert "$x_{1}$ &amp; " in as_svg(figure_of(told.panels("values", ["p@1"])), "a")


def test_equal_figures_give_equal_bytes() -> None:
    for form in ("svg", "png", "pdf"):
        files = [io.BytesIO(), io.BytesIO()]
        for file in files:
            save(compared().plot("roc"), file, form)
        assert files[0].getvalue() == files[1].getvalue()


def test_axes_of_the_caller_are_drawn_into() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    given = compared().plot("cutoffs", metrics=["p", "ndcg"], ax=axes)
    assert given[0] is axes[0]
    assert axes[0].lines
    with pytest.raises(ValueError, match="ax: has 2 axes, and the figure 1 panel"):
        compared().plot("cutoffs", metrics="p", ax=axes)
    with pytest.raises(ValueError, match="ax: str is no Axes"):
        compared().plot("values", ax="axes")
    with pytest.raises(ValueError, match="ax: str is no Axes"):
        rank({"x": {"a": 0.1, "b": 0.2}, "y": {"a": 0.1, "b": 0.2}}, "p@1").plot(ax="axes")


@pytest.mark.parametrize("control", [None, "m2"])
@pytest.mark.parametrize("measures", [["p@1"], ["p@1", "p@3"], ["p@1", "p@3", "p@5", "ndcg@3", "ndcg@5"]])
def test_each_measure_has_a_critical_difference_diagram(measures: list[str], control: Any) -> None:
    values = np.linspace(0.3, 0.6, 6) + 0.05 * np.random.default_rng(0).normal(size=(5, 12, 6))
    results = {
        f"d{i}": {f"m{j}": dict(zip(measures, values[:, i, j].tolist(), strict=False)) for j in range(6)}
        for i in range(12)
    }
    rankings = [rank(results, name, control=control) for name in measures]
    every = np.atleast_1d(plot_ranks(rankings))
    assert [one.get_title(loc="left") for one in every] == (
        [one.measure.spec.symbol for one in rankings if one.measure.spec] if measures[1:] else [""]
    )
    for ranking, ax in zip(rankings, every, strict=True):
        texts = {text.get_text().strip() for text in ax.texts}
        assert f"critical difference {ranking.critical_difference:.3g}" in texts
        for name, own in ranking.average_ranks.items():
            assert {f"{name} ({own:.3g})", f"({own:.3g}) {name}"} & texts
            assert [own, own] in [[*line.get_xdata()[:2]] for line in ax.lines]  # hangs from the axis
        bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 3.2]
        spans = [[ranking.average_ranks[model] for model in (own[0], own[-1])] for own in ranking.groups]
        if control:
            rank_of_control, difference = ranking.average_ranks[control], ranking.critical_difference
            spans = [[max(1, rank_of_control - difference), min(6, rank_of_control + difference)]]
        assert len(bars) == len(spans) > 0
        np.testing.assert_allclose(bars, spans, atol=0.05)


def test_names_that_look_like_marks_of_a_page_stay_as_they_are() -> None:
    name = 'id="x" href="#y" #0072b2'
    report = next(iter(compared().reports.values()))
    panels = Comparison({name: report, "b": report}).panels("values", ["p@1"])
    assert name in themed(as_svg(figure_of(panels), "figure0"))


def test_cutoffs_beyond_the_labels_are_not_drawn() -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=[f"p@{k}" for k in range(1, 6)])
    for kind in ("cutoffs", "ranks"):
        (panel,) = report.panels(kind)
        assert panel.series[0].x.tolist() == [1, 2, 3]


def test_distances_are_no_probabilities() -> None:
    truth, models = made_scores(1)
    distances = 1 - models["model_0"]
    report = evaluate(truth, distances, metrics=["p@1"], higher_is_better=False, curve_points=20)
    (panel,) = report.panels("scores")
    assert panel.y_label == "share of listed at or below"
    with pytest.raises(ValueError, match="'calibration' needs"):
        report.panels("calibration")


def test_a_report_alone_has_no_name_in_texts_and_numbers() -> None:
    (panel,) = evaluate(np.eye(3), np.eye(3), metrics=["p@1"]).panels("values")
    assert as_table(panel) == (["measure", "value"], [["P@1 ↑", "1"]])
    assert described(panel) == "value; from 1 to 1."


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("rok", "kind: 'rok' is no figure; did you mean roc"),
        ("roc", "kind: 'roc' needs scores, and curve_points="),
        ("differences", "kind: 'differences' needs a comparison"),
        ("groups", "kind: 'groups' needs label_groups="),
        ("cutoffs", "kind: 'cutoffs' needs measures at two cutoffs"),
        ("labels", "kind: 'labels' needs two models"),
    ],
)
def test_what_a_kind_needs_is_told(kind: str, message: str) -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
    with pytest.raises(ValueError, match=message):
        report.plot(kind)
    with pytest.raises(KeyError, match=r"p@9"):
        report.plot(metrics="p@9")


def test_groups_are_drawn_from_head_to_tail() -> None:
    truth, models = made_scores(1)
    counts = np.r_[[0, 0], np.arange(1, 19) ** 2]
    for groups in (xmleval.label_groups(label_counts=counts, edges="deciles"), {0: "b", 1: "a"}):
        report = evaluate(truth, models["model_0"], metrics=["p@1"], label_groups=groups)
        (panel,) = report.panels("groups")
        if isinstance(groups, dict):
            assert panel.ticks == [*report.groups]
        else:
            assert panel.ticks[-1] == "0"
            firsts = [int(tick.split("-")[0]) for tick in panel.ticks]
            assert firsts == sorted(firsts, reverse=True)
