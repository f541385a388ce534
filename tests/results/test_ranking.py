"""Average ranks: the numbers of Demsar 2006 and of SciPy, definitions in plain Python, what is refused."""

import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.examples import S, T
from tests.results.notebooks import page_of, rows_of
from xmleval import Comparison, Ranking, evaluate, rank

# the worked example of Demsar 2006 (Journal of Machine Learning Research 7, table 6)
MODELS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
ROWS = """
adult                   0.763 4    0.768 3    0.771 2    0.798 1
breast cancer           0.599 1    0.591 2    0.590 3    0.569 4
breast cancer wisconsin 0.954 4    0.971 1    0.968 2    0.967 3
cmc                     0.628 4    0.661 1    0.654 3    0.657 2
ionosphere              0.882 4    0.888 2    0.886 3    0.898 1
iris                    0.936 1    0.931 2.5  0.916 4    0.931 2.5
liver disorders         0.661 3    0.668 2    0.609 4    0.685 1
lung cancer             0.583 2.5  0.583 2.5  0.563 4    0.625 1
lymphography            0.775 4    0.838 3    0.866 2    0.875 1
mushroom                1.000 2.5  1.000 2.5  1.000 2.5  1.000 2.5
primary tumor           0.940 4    0.962 2.5  0.965 1    0.962 2.5
rheum                   0.619 3    0.666 2    0.614 4    0.669 1
voting                  0.972 4    0.981 1    0.9751 2   0.975 3
wine                    0.957 3    0.978 1    0.946 4    0.970 2
"""  # voting: both 0.975 in print; their ranks tell that more digits were known
LINES = [line.rsplit(None, 8) for line in ROWS.strip().splitlines()]
VALUES = {name: dict(zip(MODELS, map(float, cells[::2]), strict=True)) for name, *cells in LINES}
RANKS = {name: dict(zip(MODELS, map(float, cells[1::2]), strict=True)) for name, *cells in LINES}
TWO = {"a": {"x": 0.5, "y": 0.25}, "b": {"x": 0.5, "y": 0.75}}


def of_demsar(**options: Any) -> Ranking:
    return rank(VALUES, higher_is_better=True, **options)


def drawn(n: int, k: int, n_values: int, seed: int = 0) -> Any:
    """Values with more ties the fewer there are."""
    return np.random.default_rng(seed).integers(0, n_values, (n, k)) / n_values


def as_results(values: Any) -> Any:
    return {f"d{i}": {f"m{j}": value for j, value in enumerate(row)} for i, row in enumerate(values)}


def test_the_example_of_demsar() -> None:
    ranking = of_demsar()
    assert ranking.ranks == RANKS
    averages = [("C4.5+m+cf", 1.964), ("C4.5+m", 2.0), ("C4.5+cf", 2.893), ("C4.5", 3.143)]
    assert [(name, round(value, 3)) for name, value in ranking.average_ranks.items()] == averages
    assert round(ranking.friedman.statistic, 2) == 9.28
    assert round(ranking.iman_davenport.statistic, 2) == 3.69
    assert (ranking.friedman.degrees_of_freedom, ranking.iman_davenport.degrees_of_freedom) == ((3,), (3, 39))
    assert ranking.iman_davenport.p_value == pytest.approx(scipy.stats.f.sf(3.6863, 3, 39), abs=1e-5)
    assert (ranking.n_data_sets, ranking.metric, ranking.alpha, ranking.control) == (14, None, 0.05, None)
    for shown in (ranking.notes, ranking.footnotes()):
        assert any("more than 10 data sets and 5 models" in line for line in shown)


@pytest.mark.parametrize(("alpha", "control", "difference", "groups"), [
    (0.05, None, 1.25, [["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]]),
    (0.10, None, 1.12, [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]),
    (0.05, "C4.5", 1.17, [["C4.5+m", "C4.5+cf", "C4.5"]]),  # printed as 1.16, cut off
    (0.10, "C4.5", 1.04, [["C4.5+cf", "C4.5"]]),
])  # fmt: skip
def test_critical_differences_of_demsar(alpha: float, control: Any, difference: float, groups: Any) -> None:
    ranking = of_demsar(alpha=alpha, control=control)
    assert round(ranking.critical_difference, 2) == difference
    assert ranking.groups == groups


@pytest.mark.parametrize("n_values", [2, 3, 5, 10**6])
@pytest.mark.parametrize(("n", "k"), [(2, 3), (14, 4), (40, 9)])
def test_ranks_and_friedman_are_those_of_scipy(n: int, k: int, n_values: int) -> None:
    values = drawn(n, k, n_values, n)
    ranking = rank(as_results(values), higher_is_better=True)
    ranks = scipy.stats.rankdata(-values, axis=1)
    assert ranking.ranks == as_results(ranks.tolist())
    means = [*ranking.average_ranks.values()]
    assert means == sorted(means) == pytest.approx(sorted(ranks.mean(axis=0)))
    expected = scipy.stats.friedmanchisquare(*values.T)
    test = ranking.corrected.get("friedman", ranking.friedman)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert bool(ranking.corrected) == any(len({*row}) < k for row in values.tolist())
    f = (n - 1) * test.statistic / (n * (k - 1) - test.statistic)
    ratio = ranking.corrected.get("iman_davenport", ranking.iman_davenport)
    assert ratio.statistic == pytest.approx(f, rel=1e-9)
    assert ratio.p_value == pytest.approx(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)), rel=1e-9)
    turned = rank(as_results(-values), higher_is_better=False)
    assert (turned.ranks, turned.friedman) == (ranking.ranks, ranking.friedman)


def test_ranks_1_1_1_2_2_average_1_4() -> None:
    ranking = rank(as_results([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]), higher_is_better=True)
    assert ranking.average_ranks == pytest.approx({"m0": 1.4, "m1": 1.6}, abs=1e-15)


def test_models_that_are_ranked_alike_everywhere() -> None:
    ranking = rank(as_results(np.tile([3.0, 2, 1], (4, 1))), higher_is_better=True)
    assert ranking.friedman.statistic == 8
    assert ranking.iman_davenport[::2] == (math.inf, 1 / 6**3)
    assert ranking.to_dict()["iman_davenport"]["statistic"] == "inf"
    tied = rank(as_results(np.tile([3.0, 2, 2], (4, 1))), higher_is_better=True)
    assert tied.corrected["iman_davenport"][::2] == (math.inf, 1 / 3**3)
    assert tied.iman_davenport.statistic == 9
    equal = rank(as_results(np.ones((4, 3))), higher_is_better=True)
    assert (equal.friedman.statistic, equal.friedman.p_value) == (0, 1)
    assert math.isnan(equal.corrected["friedman"].p_value)
    assert equal.to_dict()["corrected"]["friedman"]["p_value"] is None
    assert equal.groups == [["m0", "m1", "m2"]]


@pytest.mark.parametrize("seed", range(12))
def test_groups_are_the_longest_runs_without_a_difference(seed: int) -> None:
    models = drawn(16, 7, 10**6, seed) + 0.15 * np.arange(7)
    ranking = rank(as_results(models), higher_is_better=True)
    names, ranks, difference = *zip(*ranking.average_ranks.items(), strict=True), ranking.critical_difference
    ends = [(a, b) for a, b in itertools.combinations(range(7), 2) if ranks[b] - ranks[a] < difference]
    runs = [{*range(a, b + 1)} for a, b in ends]
    longest = [run for run in runs if not any(run < longer for longer in runs)]
    assert len(longest) > 1
    assert ranking.groups == [[names[place] for place in sorted(run)] for run in longest]


def reports(*names: str, rows: int = 3, **options: Any) -> Any:
    return {
        model: evaluate(T[:rows], scores[:rows], metrics=names or ["p@1", "ranking_loss"], **options)
        for model, scores in (("up", S), ("down", -S))
    }


@pytest.mark.parametrize("metric", ["p@1", "P@1", "p1", "precision@1"])
def test_results_of_every_form_have_the_same_ranks(metric: str) -> None:
    data = {"one": reports(), "two": reports(rows=2)}
    expected = rank(data, metric)
    assert (expected.metric, [*expected.average_ranks]) == ("p@1", ["up", "down"])
    values: list[Callable[[Any], Any]] = [dict, lambda r: {"P@1": r["p@1"]}, lambda r: r["p@1"]]
    forms: list[Any] = [
        {name: {model: of(report) for model, report in models.items()} for name, models in data.items()}
        for of in values
    ]
    for form in (*forms, {name: Comparison(models) for name, models in data.items()}):
        assert rank(form, metric).to_json() == expected.to_json()
    losses = rank({"one": reports("ranking_loss"), "two": reports("ranking_loss", rows=2)})
    assert (losses.metric, losses.higher_is_better) == ("ranking_loss", False)
    assert [*losses.average_ranks] == ["up", "down"]


def test_frames_have_the_ranks_of_dicts() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame(VALUES).T
    before, named = frame.copy(), frame.reset_index(names="data")
    for form in (frame, frame.astype("Float64"), named, polars.from_pandas(frame.reset_index())):
        assert rank(form, higher_is_better=True).to_json() == of_demsar().to_json()
    assert frame.equals(before)
    for form in (frame.reset_index(drop=True), polars.from_pandas(frame)):
        assert [*rank(form, higher_is_better=True).ranks] == [str(i) for i in range(14)]
    assert rank(frame.astype(object), higher_is_better=True).to_json() == of_demsar().to_json()
    with pytest.raises(ValueError, match=r"results of z on d1: 'a' is not a number"):
        rank(pandas.DataFrame({"x": [0.5, 0.1], "z": [0.5, "a"]}, index=["d0", "d1"]), higher_is_better=True)
    dates = frame.set_axis(pandas.date_range("2020-01-01", periods=14)).reset_index()
    assert [*rank(dates, higher_is_better=True).values.values()] == [*of_demsar().values.values()]
    with pytest.raises(ValueError, match="results: '1' is there twice"):
        rank(pandas.DataFrame([[1, 2.0], [3, 1]], index=[1, "1"]), higher_is_better=True)
    with pytest.raises(ValueError, match="results: 1 data set; average ranks need 2 or more"):
        rank(frame[:1])
    with pytest.raises(ValueError, match="'adult' holds 'p@1', a measure and no model"):
        rank(frame[frame.columns[:2]].set_axis(["p@1", "p@5"], axis=1))


UNDEFINED = {**TWO, "c": {"x": 1, "y": math.nan}}
UP = {"higher_is_better": True}


def with_reports(**down: Any) -> Any:
    """Return results of which the last are of other rows or conventions."""
    return {"one": reports(), "two": {"up": reports()["up"], "down": reports(**down)["down"]}}


@pytest.mark.parametrize(("results", "options", "message"), [
    ({"a": {"x": 1}, "b": {"x": 1}}, UP, "results: 1 model; average ranks need 2 or more"),
    (TWO["a"], UP, "results: 'x' is one float; expected for each data set a mapping of models"),
    ({"x": {"p@1": 0.5, "p@3": 1}}, UP, "results: 'x' holds 'p@1', a measure and no model; expected"),
    (UNDEFINED, UP, "results: undefined value of y on c; average ranks need a value of every model on every "
     "data set; give leave_out='data_sets' or leave_out='models'"),
    (UNDEFINED, {**UP, "leave_out": "y"}, "leave_out: 'y' is neither 'data_sets' nor 'models'"),
    (TWO, {**UP, "alpha": "0.05"}, "alpha: '0.05' is not a number"),
    (TWO, {**UP, "metric": "coverage"}, "higher_is_better: True, and lower is better for coverage"),
    (with_reports(), {}, "metric: not given; the models have p@1, ranking_loss"),
    ({"one": reports(), "two": reports("ranking_loss")}, {"metric": "p@1"},
     "up on two: 'p@1' is not in this report; it has ranking_loss; down"),
    (with_reports(rows=2), {"metric": "p@1"}, "two: n_rows is 3 for up and 2 for down, whose values can"),
    (with_reports(conventions={"empty": "skip"}), {"metric": "p@1"},
     "results: two: empty is zero for up and skip for down"),
])  # fmt: skip
def test_results_that_cannot_be_ranked(results: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        rank(results, **options)


def test_conventions_that_do_not_matter_may_differ() -> None:
    assert rank(with_reports(conventions={"loss_ties": "half"}), "p@1").n_data_sets == 2


def test_models_or_data_sets_without_values_are_left_out_on_request() -> None:
    whole = as_results(drawn(4, 3, 10**6))
    partial = whole | {"d1": whole["d1"] | {"m2": math.nan}}
    partial["d3"] = {name: whole["d3"][name] for name in ("m0", "m1")}
    for form, left_out, data_sets, models in (
        ("data_sets", "d1, d3", ["d0", "d2"], ["m0", "m1", "m2"]),
        ("models", "m2", [*whole], ["m0", "m1"]),
    ):
        ranking = rank(partial, higher_is_better=True, leave_out=form)
        expected = {d: {m: whole[d][m] for m in models} for d in data_sets}
        assert ranking.ranks == rank(expected, higher_is_better=True).ranks
        assert ranking.notes[0] == f"left out, as a model has no value on a data set: {left_out}"


def test_names_are_shown_as_text() -> None:
    models = {"out/a&b_test.npz": 0.5, "out/|x|_test.npz": 0.25}
    ranking = rank({"<script>": models, "=1+1": models}, "p@1", control="a&b")
    assert str(ranking).splitlines()[1].split() == ["P@1", "↑", "a&b", "|x|"]
    assert r"a\&b & \textbar{}x\textbar{} \\" in ranking.to_latex()
    assert r"| a\&b | \|x\| |" in ranking.to_markdown()
    assert "<script>" not in page_of(ranking)
    assert "rank on =1+1" in ranking.to_csv()


def test_all_forms_have_the_same_ranks() -> None:
    ranking = of_demsar(alpha=0.1)
    rows = rows_of(ranking)
    assert rows[0][1:] == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert rows[1] == ["adult", "0.7980 (1)", "0.7680 (3)", "0.7710 (2)", "0.7630 (4)"]
    assert rows[-1] == ["average rank", "1.9643", "2.0000", "2.8929", "3.1429"]
    for row in rows[1:]:
        assert " & ".join(row) in ranking.to_latex()
        assert all(cell in str(ranking) for cell in row)
    table = [line.split(",") for line in ranking.to_csv().splitlines()[1:]]
    assert {row[1]: float(row[2]) for row in table} == ranking.average_ranks
    assert [float(row[3]) for row in table] == [1, 3, 2, 4]
    contents = json.loads(ranking.to_json())
    for name in ("average_ranks", "ranks", "values", "critical_difference", "groups", "n_data_sets", "notes"):
        assert contents[name] == getattr(ranking, name)
    assert contents["friedman"]["statistic"] == ranking.friedman.statistic
    assert "not significantly different: C4.5+cf, C4.5" in str(ranking)
    assert {(each.data_set, each.model): each.rank for each in ranking.records()} == {
        (name, model): number for name, ranks in RANKS.items() for model, number in ranks.items()
    }
    assert "79.80 (1)" in rank(VALUES, "p@1").to_latex(percent=True)
    turned = [*zip(*rows, strict=True)]
    assert all(" & ".join(row) in ranking.to_latex(models="rows") for row in turned[1:])
    assert max(map(len, ranking.to_text(40).splitlines())) <= 40
