"""Average ranks: the numbers of Demsar 2006 and of SciPy, definitions in plain Python, what is refused."""

from __future__ import annotations

import itertools
import json
import math
import re
from html import unescape
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.comparing.demsar import MODELS, RANKS, VALUES
from tests.examples import S, T
from xmleval import evaluate, rank
from xmleval.comparing.friedman import critical_difference, find_groups, omnibus_tests, ranks_within_rows
from xmleval.comparing.ranking import Ranking
from xmleval.report.comparison import Comparison
from xmleval.report.tables import short_names

TWO = {"a": {"x": 0.5, "y": 0.25}, "b": {"x": 0.5, "y": 0.75}}


def of_demsar(**more: Any) -> Ranking:
    return rank(VALUES, **{"higher_is_better": True} | more)


def drawn(n: int, k: int, n_values: int, seed: int = 0) -> Any:
    """Values with more ties the fewer there are."""
    return np.random.default_rng(seed).integers(0, n_values, (n, k)) / n_values


def as_results(values: Any) -> Any:
    return {f"d{i}": {f"m{j}": value for j, value in enumerate(row)} for i, row in enumerate(values)}


def test_the_example_of_demsar() -> None:
    found = of_demsar()
    assert found.ranks == RANKS
    assert {name: round(value, 3) for name, value in found.average_ranks.items()} == {
        "C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143
    }  # fmt: skip
    assert [*found.average_ranks] == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert round(found.friedman.statistic, 2) == 9.28
    assert round(found.iman_davenport.statistic, 2) == 3.69
    assert (found.friedman.degrees_of_freedom, found.iman_davenport.degrees_of_freedom) == ((3,), (3, 39))
    assert found.iman_davenport.p_value == pytest.approx(scipy.stats.f.sf(3.6863, 3, 39), abs=1e-5)
    assert (found.n_data_sets, found.metric, found.alpha, found.control) == (14, None, 0.05, None)
    for shown in (found.notes, found.footnotes()):
        assert any("more than 10 data sets and 5 models" in line for line in shown)


@pytest.mark.parametrize(
    ("alpha", "control", "difference", "groups"),
    [
        (0.05, None, 1.25, [["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]]),
        (0.10, None, 1.12, [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]),
        (0.05, "C4.5", 1.17, [["C4.5+m", "C4.5+cf", "C4.5"]]),  # printed as 1.16, cut off
        (0.10, "C4.5", 1.04, [["C4.5+cf", "C4.5"]]),
    ],
)
def test_the_critical_differences_of_demsar(
    alpha: float, control: Any, difference: float, groups: Any
) -> None:
    found = of_demsar(alpha=alpha, control=control)
    assert round(found.critical_difference, 2) == difference
    assert found.groups == groups


@pytest.mark.parametrize(
    ("k", "nemenyi", "dunn"),
    [(2, 1.960, 1.960), (3, 2.343, 2.241), (5, 2.728, 2.498), (7, 2.949, 2.638), (10, 3.164, 2.773)],
)
def test_the_critical_values_of_demsar(k: int, nemenyi: float, dunn: float) -> None:
    once = math.sqrt(k * (k + 1) / 6)
    assert critical_difference(1, k, 0.05, False) / once == pytest.approx(nemenyi, abs=1e-3)
    assert critical_difference(1, k, 0.05, True) / once == pytest.approx(dunn, abs=1e-3)


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("n_values", [2, 3, 1000])
def test_ranks_are_those_by_definition(n_values: int, higher_is_better: bool) -> None:
    values = drawn(20, 6, n_values)
    found = rank(as_results(values), higher_is_better=higher_is_better)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            better = sum(other > value if higher_is_better else other < value for other in row)
            level = sum(other == value for other in row)
            assert found.ranks[f"d{i}"][f"m{j}"] == np.mean(range(better + 1, better + level + 1))
    for name, mean in found.average_ranks.items():
        assert mean == pytest.approx(np.mean([own[name] for own in found.ranks.values()]))
    assert [*found.average_ranks.values()] == sorted(found.average_ranks.values())


@pytest.mark.parametrize("n_values", [2, 3, 5, 10**6])
@pytest.mark.parametrize(("n", "k"), [(2, 3), (14, 4), (40, 9)])
def test_friedman_is_that_of_scipy(n: int, k: int, n_values: int) -> None:
    values = drawn(n, k, n_values, n)
    found = rank(as_results(values), higher_is_better=True)
    asked = scipy.stats.friedmanchisquare(*values.T)
    test = found.corrected.get("friedman", found.friedman)
    assert test.statistic == pytest.approx(asked.statistic, rel=1e-12)
    assert test.p_value == pytest.approx(asked.pvalue, rel=1e-9)
    assert bool(found.corrected) == any(len({*row}) < k for row in values.tolist())
    f = (n - 1) * test.statistic / (n * (k - 1) - test.statistic)
    ratio = found.corrected.get("iman_davenport", found.iman_davenport)
    assert ratio.statistic == pytest.approx(f, rel=1e-9)
    assert ratio.p_value == pytest.approx(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)), rel=1e-9)


def test_models_that_are_ranked_alike_everywhere() -> None:
    found = rank(as_results(np.tile([3.0, 2, 1], (4, 1))), higher_is_better=True)
    assert found.friedman.statistic == 8
    assert found.iman_davenport[::2] == (math.inf, 1 / 6**3)
    assert json.loads(found.to_json())["iman_davenport"]["statistic"] == "inf"
    tied = rank(as_results(np.tile([3.0, 2, 2], (4, 1))), higher_is_better=True)
    assert tied.corrected["iman_davenport"][::2] == (math.inf, 1 / 3**3)
    assert tied.iman_davenport.statistic == 9
    level = rank(as_results(np.ones((4, 3))), higher_is_better=True)
    assert (level.friedman.statistic, level.friedman.p_value) == (0, 1)
    assert math.isnan(level.corrected["friedman"].p_value)
    assert json.loads(level.to_json())["corrected"]["friedman"]["p_value"] is None
    assert level.groups == [["m0", "m1", "m2"]]


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_the_longest_runs_without_a_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranks, difference = np.sort(rng.integers(0, 20, 7) / 2).tolist(), float(rng.integers(1, 8) / 2)
    runs = [
        set(range(a, b))
        for a, b in itertools.combinations(range(8), 2)
        if b - a > 1 and all(abs(ranks[i] - ranks[j]) < difference for i in range(a, b) for j in range(a, b))
    ]
    longest = [run for run in runs if not any(run < other for other in runs)]
    assert [set(range(7)[run]) for run in find_groups(ranks, difference)] == longest
    for i, j in itertools.combinations(range(7), 2):  # each pair is in a group, or differs
        assert any({i, j} <= run for run in longest) == (ranks[j] - ranks[i] < difference)


def test_ranks_of_losses_are_those_of_gains_turned() -> None:
    values = {name: {"ranking_loss": value} for name, value in VALUES["adult"].items()}
    other = {name: {"ranking_loss": value} for name, value in VALUES["cmc"].items()}
    found = rank({"adult": values, "cmc": other}, "ranking_loss")
    assert not found.higher_is_better
    assert found.ranks["adult"] == {name: 5 - own for name, own in RANKS["adult"].items()}
    turned = ranks_within_rows(-drawn(9, 5, 3), True)
    assert (turned == ranks_within_rows(drawn(9, 5, 3), False)).all()
    assert omnibus_tests(turned) == omnibus_tests(ranks_within_rows(drawn(9, 5, 3), True))


def reports(*names: str, rows: int = 3, **more: Any) -> Any:
    return {
        model: evaluate(T[:rows], scores[:rows], metrics=names or ["p@1", "ranking_loss"], **more)
        for model, scores in (("up", S), ("down", -S))
    }


@pytest.mark.parametrize("metric", ["p@1", "P@1", "p1", "precision@1"])
def test_every_form_of_results(metric: str) -> None:
    data = {"one": reports(), "two": reports(rows=2)}
    wanted = rank(data, metric)
    assert wanted.metric == "p@1"
    assert [*wanted.average_ranks] == ["up", "down"]
    forms = [
        {name: Comparison(own) for name, own in data.items()},
        {name: {model: dict(report) for model, report in own.items()} for name, own in data.items()},
        {name: {m: {"P@1": r["p@1"]} for m, r in own.items()} for name, own in data.items()},
        {name: {model: report["p@1"] for model, report in own.items()} for name, own in data.items()},
    ]
    for form in forms:
        assert rank(form, metric).to_json() == wanted.to_json()


def test_the_only_measure_need_not_be_named() -> None:
    data = {"one": reports("ranking_loss"), "two": reports("ranking_loss", rows=2)}
    assert rank(data).metric == "ranking_loss"
    assert [*rank(data).average_ranks] == ["up", "down"]


def test_frames() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    wanted = of_demsar().to_json()
    frame = pandas.DataFrame(VALUES).T
    kept = frame.copy()
    for form in (
        frame,
        frame.astype("Float64"),
        frame.reset_index(names="data"),
        polars.from_pandas(frame.reset_index()),
    ):
        assert rank(form, higher_is_better=True).to_json() == wanted
    assert frame.equals(kept)
    assert [*rank(frame.reset_index(drop=True), higher_is_better=True).ranks] == [str(i) for i in range(14)]
    assert [*rank(polars.from_pandas(frame), higher_is_better=True).ranks] == [str(i) for i in range(14)]


@pytest.mark.parametrize(
    ("results", "more", "says"),
    [
        ({}, {}, "results: 0 data sets; average ranks need 2 or more"),
        ({"a": {"x": 1, "y": 2}}, {}, "results: 1 data set; average ranks need 2 or more"),
        ({"a": {"x": 1}, "b": {"x": 1}}, {}, "results: 1 model; average ranks need 2 or more"),
        (7, {}, "results: int is neither a mapping nor a frame; expected for each data set a mapping of"),
        (
            {"x": 0.5, "y": 0.5},
            {},
            "results: 'x' is one float; expected for each data set a mapping of models",
        ),
        (reports(), {}, "results: 'up' is one Report; expected for each data set a mapping of models"),
        ({"x": {"p@1": 0.5, "p@3": 1}}, {}, "results: 'x' holds 'p@1', a measure and no model; expected"),
        (
            TWO | {"c": {"x": 1}},
            {},
            "results: no value of y on c; average ranks need a value of every model on",
        ),
        (TWO | {"c": {"x": 1, "y": math.nan}}, {}, "results: undefined value of y on c; average ranks need"),
        (TWO | {"c": {"x": 1, "y": "1"}}, {}, "results: y on c: '1' is not a number"),
        (TWO | {"c": {"x": 1}}, {"leave_out": "y"}, "leave_out: 'y' is neither 'data_sets' nor 'models'"),
        (
            TWO | {"c": {"x": 1}},
            {"leave_out": "models"},
            "results: 1 model left; average ranks need 2 or more",
        ),
        (TWO, {"alpha": 0}, "alpha: 0 is not between 0 and 1"),
        (TWO, {"alpha": "0.05"}, "alpha: '0.05' is not a number"),
        (TWO, {"control": "xx"}, "control: 'xx' is none of the models; did you mean x?"),
        (
            TWO,
            {"higher_is_better": None},
            "metric: numbers do not tell which are better; give metric= or higher_is_better=",
        ),
        (
            TWO,
            {"metric": "pp@1", "higher_is_better": None},
            "metric: 'pp@1': unknown measure 'pp'; did you mean",
        ),
        (TWO, {"metric": "label_density"}, "metric: label_density describes the labels, and not a model"),
        (TWO, {"metric": "coverage"}, "higher_is_better: True, and lower is better for coverage"),
        (TWO, {"metric": 5}, "metric: 5 is not the name of a measure"),
    ],
)
def test_what_is_refused(results: Any, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        rank(results, **{"higher_is_better": True} | more)


@pytest.mark.parametrize(
    ("second", "metric", "says"),
    [
        (reports(), "p@3", "metric: up on one: 'p@3' is not in this report; it has p@1"),
        (reports("ranking_loss"), "p@1", "up on two: 'p@1' is not in this report; it has ranking_loss; down"),
        (reports(), None, "metric: not given; the models have p@1, ranking_loss"),
        (reports("p@3"), None, "metric: not given, and there is none that every model has on every data set"),
        (
            {"up": reports()["up"], "down": reports(rows=2)["down"]},
            "p@1",
            "results: two: n_rows is 3 for up and 2 for down, whose values cannot be compared",
        ),
        (
            {"up": reports()["up"], "down": reports(conventions={"empty": "skip"})["down"]},
            "p@1",
            "results: two: empty is zero for up and skip for down",
        ),
    ],
)
def test_what_is_refused_of_reports(second: Any, metric: str | None, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        rank({"one": reports(), "two": second}, metric)


def test_conventions_that_do_not_matter_may_differ() -> None:
    second = {"up": reports()["up"], "down": reports(conventions={"loss_ties": "half"})["down"]}
    assert rank({"one": reports(), "two": second}, "p@1").n_data_sets == 2


def test_what_has_no_value_is_left_out_where_that_is_asked_for() -> None:
    whole = as_results(drawn(4, 3, 10**6))
    some = whole | {
        "d1": whole["d1"] | {"m2": math.nan},
        "d3": {name: whole["d3"][name] for name in ("m0", "m1")},
    }
    fewer = rank(some, higher_is_better=True, leave_out="data_sets")
    assert [*fewer.ranks] == ["d0", "d2"]
    assert fewer.notes[0] == "left out, as a model has no value on a data set: d1, d3"
    assert (
        fewer.average_ranks
        == rank({name: whole[name] for name in ("d0", "d2")}, higher_is_better=True).average_ranks
    )
    narrower = rank(some, higher_is_better=True, leave_out="models")
    assert {*narrower.average_ranks} == {"m0", "m1"}
    assert narrower.notes[0] == "left out, as a model has no value on a data set: m2"
    assert narrower.n_data_sets == 4
    assert (
        rank(whole, higher_is_better=True, leave_out="models").to_json()
        == rank(whole, higher_is_better=True).to_json()
    )


def test_names_are_those_of_people() -> None:
    names = {"C4.5": "out/a&b_test.npz", "C4.5+m": "out/|x|_test.npz"}
    data = {
        "<script>": {names[m]: VALUES["adult"][m] for m in names},
        "=1+1": {names[m]: VALUES["cmc"][m] for m in names},
    }
    found = rank(data, "p@1", control="a&b")
    assert found.control == "out/a&b_test.npz"
    assert str(found).splitlines()[1].split() == ["P@1", "↑", "|x|", "a&b"]
    assert "not significantly different from a&b: |x|" in str(found)
    assert r"out/a\&b\_test.npz" in found.to_latex()
    assert r"out/\|x\|\_test.npz" in found.to_markdown()
    assert "<script>" not in found._repr_html_()
    assert "rank on =1+1" in found.to_csv()


def test_all_forms_tell_the_same() -> None:
    found = of_demsar(alpha=0.1)
    page = unescape(found._repr_html_())
    rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*)</tr>", page)]
    assert len(rows) == 16
    lines = [line[2:-2] for line in found.to_markdown().splitlines() if line.startswith("| ")]
    assert [[cell.strip() for cell in line.split(" | ")] for line in lines] == rows
    assert rows[0][1:] == short_names([*found.average_ranks]) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert rows[1] == ["adult", "0.7980 (1)", "0.7680 (3)", "0.7710 (2)", "0.7630 (4)"]
    assert rows[-1] == ["average rank", "1.9643", "2.0000", "2.8929", "3.1429"]
    for row in rows[1:]:
        assert " & ".join(row) in found.to_latex()
        assert all(cell in str(found) for cell in row)
    table = [line.split(",") for line in found.to_csv().splitlines()]
    assert table[0][:4] == ["metric", "model", "average_rank", "rank on adult"]
    assert {row[1]: float(row[2]) for row in table[1:]} == found.average_ranks
    assert [float(row[3]) for row in table[1:]] == [1, 3, 2, 4]
    told = json.loads(found.to_json())
    for name in ("average_ranks", "ranks", "values", "critical_difference", "groups", "n_data_sets", "notes"):
        assert told[name] == getattr(found, name)
    assert told["friedman"]["statistic"] == found.friedman.statistic
    assert [*told["average_ranks"]] == [*found.average_ranks]
    for line in found.footnotes():
        assert line in str(found)
    assert "not significantly different: C4.5+cf, C4.5" in str(found)


@pytest.mark.parametrize("width", [40, 80])
def test_tables_fit_a_terminal(width: int) -> None:
    assert max(map(len, of_demsar().to_text(width).splitlines())) <= width


def test_the_order_of_data_sets_and_models_does_not_matter() -> None:
    turned = {name: {model: VALUES[name][model] for model in reversed(MODELS)} for name in reversed(VALUES)}
    one, other = of_demsar(alpha=0.1), rank(turned, higher_is_better=True, alpha=0.1)
    assert one.average_ranks == other.average_ranks
    assert (one.friedman, one.groups) == (other.friedman, other.groups)


@pytest.mark.parametrize(
    ("n", "k", "says", "does_not_say"),
    [
        (11, 6, "no difference seen", "approximations"),
        (11, 2, "Wilcoxon's signed-rank test", "such"),
        (10, 6, "approximations for more than 10 data sets", "Wilcoxon"),
    ],
)
def test_what_the_tests_do_not_tell_is_noted(n: int, k: int, says: str, does_not_say: str) -> None:
    notes = " ".join(rank(as_results(drawn(n, k, 10**6)), higher_is_better=True).notes)
    assert says in notes
    assert does_not_say not in notes
    assert not rank(as_results(np.tile(np.arange(6.0), (12, 1))), higher_is_better=True).notes
