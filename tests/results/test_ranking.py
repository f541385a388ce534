"""Average ranks: numbers of Demsar 2006 and SciPy, definitions in plain Python, refused input."""

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import xmleval
from tests.examples import S, T
from tests.results.notebooks import page_of, rows_of
from xmleval import Comparison, Ranking, Rankings, evaluate, rank
from xmleval.statistics import friedman

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
"""  # voting: both 0.975 in print; by their ranks, more digits were known
VALUES: dict[str, dict[str, float]] = {}
RANKS: dict[str, dict[str, float]] = {}
for line in ROWS.strip().splitlines():
    data_set, *cells = line.rsplit(None, 8)
    VALUES[data_set] = dict(zip(MODELS, map(float, cells[::2]), strict=True))
    RANKS[data_set] = dict(zip(MODELS, map(float, cells[1::2]), strict=True))
TWO = {
    "a": {"x": 0.5, "y": 0.25},
    "b": {"x": 0.5, "y": 0.75},
}


def of_demsar(**options: Any) -> Ranking:
    ranking: Ranking = rank(VALUES, higher_is_better=True, **options)
    return ranking


def drawn(n: int, k: int, n_values: int, seed: int = 0) -> Any:
    """Return values of k models on n data sets; the fewer the values, the more ties."""
    return np.random.default_rng(seed).integers(0, n_values, (n, k)) / n_values


def as_results(values: Any) -> Any:
    """Return values of models m0, m1, .. on data sets d0, d1, .."""
    results = {}
    for i, row in enumerate(values):
        results[f"d{i}"] = {f"m{j}": value for j, value in enumerate(row)}
    return results


def test_rank_has_the_numbers_of_demsar() -> None:
    ranking = of_demsar()
    assert ranking.ranks == RANKS
    averages = [
        ("C4.5+m+cf", 1.964),
        ("C4.5+m", 2.0),
        ("C4.5+cf", 2.893),
        ("C4.5", 3.143),
    ]
    assert [(name, round(value, 3)) for name, value in ranking.average_ranks.items()] == averages
    assert round(ranking.friedman.statistic, 2) == 9.28
    assert round(ranking.iman_davenport.statistic, 2) == 3.69
    assert ranking.friedman.degrees_of_freedom == (3,)
    assert ranking.iman_davenport.degrees_of_freedom == (3, 39)
    p_value = scipy.stats.f.sf(3.6863, 3, 39)
    assert ranking.iman_davenport.p_value == pytest.approx(p_value, abs=1e-5)
    assert ranking.n_data_sets == 14
    assert ranking.metric is None
    assert ranking.alpha == 0.05
    assert ranking.control is None
    for lines in (ranking.notes, ranking.footnotes()):
        assert any("more than 10 data sets and 5 models" in line for line in lines)


@pytest.mark.parametrize(
    ("alpha", "control", "difference", "groups"),
    [
        (0.05, None, 1.25, [["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]]),
        (0.10, None, 1.12, [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]),
        (0.05, "C4.5", 1.17, [["C4.5+m", "C4.5+cf", "C4.5"]]),  # printed as 1.16, cut off
        (0.10, "C4.5", 1.04, [["C4.5+cf", "C4.5"]]),
    ],
)
def test_rank_has_critical_differences_of_demsar(
    alpha: float, control: Any, difference: float, groups: Any
) -> None:
    ranking = of_demsar(alpha=alpha, control=control)
    assert round(ranking.critical_difference, 2) == difference
    assert ranking.groups == groups


def test_rank_separates_models_at_the_critical_difference() -> None:
    """The ranks of three models are 1, 2 and 3 everywhere; the critical difference is made 1."""
    results = as_results([[3, 2, 1]] * 10)
    options: dict[str, Any] = {"higher_is_better": True, "control": "m0"}
    quantile = 1 / math.sqrt(3 * 4 / (6 * 10))
    near = 4 * scipy.stats.norm.sf(quantile)
    steps = np.arange(-300, 301) * np.finfo(float).eps  # as alpha is rounded
    rankings = [rank(results, alpha=alpha, **options) for alpha in (near * (1 + steps)).tolist()]
    exact = [ranking for ranking in rankings if ranking.critical_difference == 1]
    assert exact
    assert all(ranking.groups == [] for ranking in exact)
    larger = rank(results, alpha=0.999 * near, **options)
    assert larger.critical_difference > 1
    assert larger.groups == [["m0", "m1"]]


@pytest.mark.parametrize("n_values", [2, 3, 5, 10**6])
@pytest.mark.parametrize(
    ("n", "k"),
    [
        (2, 3),
        (14, 4),
        (40, 9),
    ],
)
def test_rank_has_ranks_and_statistics_of_scipy(n: int, k: int, n_values: int) -> None:
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
    negated = rank(as_results(-values), higher_is_better=False)
    assert negated.ranks == ranking.ranks
    assert negated.friedman == ranking.friedman


def test_rank_averages_ranks_1_1_1_2_2_to_1_4() -> None:
    ranking = rank(
        as_results(
            [
                [1, 0],
                [1, 0],
                [1, 0],
                [0, 1],
                [0, 1],
            ]
        ),
        higher_is_better=True,
    )
    assert ranking.average_ranks == pytest.approx({"m0": 1.4, "m1": 1.6}, abs=1e-15)


def test_rank_of_models_ranked_alike_everywhere() -> None:
    ranking = rank(as_results(np.tile([3.0, 2, 1], (4, 1))), higher_is_better=True)
    assert ranking.friedman.statistic == 8
    assert ranking.iman_davenport[::2] == (math.inf, 1 / 6**3)
    assert ranking.to_dict()["iman_davenport"]["statistic"] == "inf"
    tied = rank(as_results(np.tile([3.0, 2, 2], (4, 1))), higher_is_better=True)
    assert tied.corrected["iman_davenport"][::2] == (math.inf, 1 / 3**3)
    assert tied.iman_davenport.statistic == 9
    three_tied = rank(as_results(np.tile([3.0, 2, 2, 2], (3, 1))), higher_is_better=True)
    assert three_tied.corrected["iman_davenport"][::2] == (math.inf, 1 / 4**2)
    equal = rank(as_results(np.ones((4, 3))), higher_is_better=True)
    assert (equal.friedman.statistic, equal.friedman.p_value) == (0, 1)
    assert math.isnan(equal.corrected["friedman"].p_value)
    assert equal.to_dict()["corrected"]["friedman"]["p_value"] is None
    assert equal.groups == [["m0", "m1", "m2"]]


@pytest.mark.parametrize(
    ("ranks", "alpha", "is_noted"),
    [
        ([[1, 2, 3], [1, 2, 3], [1, 3, 2]], 0.05, False),  # p is .049 of F, .097 of chi-square
        ([[1, 2, 3], [1, 2, 3]], 0.15, True),  # p is .167 of F, .135 of chi-square
    ],
)
def test_rank_notes_that_f_sees_no_difference(ranks: Any, alpha: float, is_noted: bool) -> None:
    ranking = rank(as_results(ranks), higher_is_better=False, alpha=alpha)
    assert (ranking.iman_davenport.p_value < alpha) != is_noted
    assert (ranking.friedman.p_value < alpha) == is_noted
    note = f"no difference seen: p of F is not below {alpha:g}"
    assert any(line.startswith(note) for line in ranking.notes) == is_noted


@pytest.mark.parametrize("seed", range(12))
def test_rank_groups_the_longest_runs_without_a_difference(seed: int) -> None:
    models = drawn(16, 7, 10**6, seed) + 0.15 * np.arange(7)
    ranking = rank(as_results(models), higher_is_better=True)
    names, ranks = zip(*ranking.average_ranks.items(), strict=True)
    difference = ranking.critical_difference
    runs = []
    for first, last in itertools.combinations(range(7), 2):
        if ranks[last] - ranks[first] < difference:
            runs.append({*range(first, last + 1)})
    longest = [run for run in runs if not any(run < longer for longer in runs)]
    assert len(longest) > 1
    assert ranking.groups == [[names[place] for place in sorted(run)] for run in longest]


def reports(*names: str, rows: int = 3, **options: Any) -> Any:
    """Return the reports of two models."""
    metrics = names or ["p@1", "ranking_loss"]
    return {
        "up": evaluate(T[:rows], S[:rows], metrics=metrics, **options),
        "down": evaluate(T[:rows], -S[:rows], metrics=metrics, **options),
    }


@pytest.mark.parametrize("metric", ["p@1", "P@1", "p1", "precision@1"])
def test_rank_takes_results_of_every_form(metric: str) -> None:
    data = {"one": reports(), "two": reports(rows=2)}
    expected = rank(data, metric)
    assert (expected.metric, [*expected.average_ranks]) == ("p@1", ["up", "down"])
    conversions: list[Callable[[Any], Any]] = [
        dict,
        lambda report: {"P@1": report["p@1"]},
        lambda report: report["p@1"],
    ]
    for convert in conversions:
        converted = {}
        for name, models in data.items():
            converted[name] = {model: convert(report) for model, report in models.items()}
        assert rank(converted, metric).to_json() == expected.to_json()
    comparisons = {name: Comparison(models) for name, models in data.items()}
    assert rank(comparisons, metric).to_json() == expected.to_json()
    losses = rank({"one": reports("ranking_loss"), "two": reports("ranking_loss", rows=2)})
    assert losses.metric == "ranking_loss"
    assert losses.higher_is_better is False
    assert [*losses.average_ranks] == ["up", "down"]


def test_rank_takes_frames_as_dicts() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame(VALUES).T
    before = frame.copy()
    named = frame.reset_index(names="data")
    for form in (frame, frame.astype("Float64"), named, polars.from_pandas(frame.reset_index())):
        assert rank(form, higher_is_better=True).to_json() == of_demsar().to_json()
    assert frame.equals(before)
    for form in (frame.reset_index(drop=True), polars.from_pandas(frame)):
        assert [*rank(form, higher_is_better=True).ranks] == [str(i) for i in range(14)]
    assert rank(frame.astype(object), higher_is_better=True).to_json() == of_demsar().to_json()
    text = pandas.DataFrame(
        {
            "x": [0.5, 0.1],
            "z": [0.5, "a"],
        },
        index=["d0", "d1"],
    )
    with pytest.raises(ValueError, match=r"results of z on d1: 'a' is not a number"):
        rank(text, higher_is_better=True)
    dates = frame.set_axis(pandas.date_range("2020-01-01", periods=14)).reset_index()
    assert [*rank(dates, higher_is_better=True).values.values()] == [*of_demsar().values.values()]
    with pytest.raises(ValueError, match="results: '1' occurs twice"):
        rank(pandas.DataFrame([[1, 2.0], [3, 1]], index=[1, "1"]), higher_is_better=True)
    with pytest.raises(ValueError, match="results: 1 data set; average ranks need 2 or more"):
        rank(frame[:1])
    with pytest.raises(ValueError, match="'adult' has 'p@1', a measure, not a model"):
        rank(frame[frame.columns[:2]].set_axis(["p@1", "p@5"], axis=1))


UNDEFINED = {**TWO, "c": {"x": 1, "y": math.nan}}
UP = {"higher_is_better": True}


def with_reports(**down: Any) -> Any:
    """Return results whose last model has other rows or conventions."""
    two = {"up": reports()["up"], "down": reports(**down)["down"]}
    return {"one": reports(), "two": two}


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({"a": {"x": 1}, "b": {"x": 1}}, UP, "results: 1 model; average ranks need 2 or more"),
        (TWO["a"], UP, "results: 'x' is one float; expected for each data set a mapping of models"),
        (
            {"x": {"p@1": 0.5, "p@3": 1}},
            UP,
            "results: 'x' has 'p@1', a measure, not a model; expected",
        ),
        (
            UNDEFINED,
            UP,
            "results: undefined value of y on c; "
            "average ranks need a value of every model on every data set; "
            "give leave_out='data_sets' or leave_out='models'",
        ),
        (UNDEFINED, {**UP, "leave_out": "y"}, "leave_out: 'y' is neither 'data_sets' nor 'models'"),
        (TWO, {**UP, "alpha": "0.05"}, "alpha: '0.05' is not a number"),
        (TWO, {**UP, "alpha": 0}, "alpha: 0 is not between 0 and 1"),
        (TWO, {**UP, "alpha": 1}, "alpha: 1 is not between 0 and 1"),
        (TWO, {**UP, "control": "z"}, "control: 'z' is not one of the models x, y"),
        (TWO, {"metrics": []}, "metrics: no measure given; expected one or more"),
        (TWO, {**UP, "metrics": [3]}, "metrics: 3 is not the name of a measure"),
        (
            TWO,
            {},
            "metrics: it is not known whether higher numbers are better; "
            "give metrics= or higher_is_better=",
        ),
        (TWO, {"metrics": "speed"}, "; a measure of your own needs higher_is_better="),
        (
            TWO,
            {"metrics": "label_density"},
            "metrics: label_density describes the labels, not a model",
        ),
        (3, UP, "results: int is neither a mapping nor a frame; expected"),
        (
            {"a": {"x": 1, "y": math.nan}, "b": {"x": math.nan, "y": 1}, "c": {"x": 1}},
            {**UP, "leave_out": "data_sets"},
            "results: 0 data sets left; average ranks need 2 or more",
        ),
        (
            {name: {"x": 1, "y": math.nan} for name in "abcde"},
            UP,
            "results: undefined value of y on a; undefined value of y on b; "
            "undefined value of y on c; ...; average ranks need a value of every model",
        ),
        (
            {name: {"x": math.nan, "y": math.nan} for name in "ab"},
            UP,
            "metrics: undefined value of x on a",
        ),
        (
            TWO,
            {**UP, "metrics": "coverage"},
            "higher_is_better: True, but lower is better for coverage",
        ),
        (with_reports(), {}, "metrics: not given; the models have p@1, ranking_loss"),
        (
            {"one": reports(), "two": reports("ranking_loss")},
            {"metrics": "p@1"},
            "up on two: 'p@1' is not in this report; it has ranking_loss; down",
        ),
        (
            with_reports(rows=2),
            {"metrics": "p@1"},
            "two: n_rows is 3 for up and 2 for down; such values can",
        ),
        (
            with_reports(conventions={"empty": "skip"}),
            {"metrics": "p@1"},
            "results: two: empty is zero for up and skip for down",
        ),
    ],
)
def test_rank_refuses_results(results: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        rank(results, **options)


def test_rank_takes_reports_that_differ_in_conventions_of_other_measures() -> None:
    assert rank(with_reports(conventions={"loss_ties": "half"}), "p@1").n_data_sets == 2


def test_rank_leaves_out_models_or_data_sets_without_values() -> None:
    whole = as_results(drawn(4, 3, 10**6))
    partial = whole | {"d1": whole["d1"] | {"m2": math.nan}}
    partial["d3"] = {name: whole["d3"][name] for name in ("m0", "m1")}
    without_data_sets = {name: whole[name] for name in ("d0", "d2")}
    without_model = {
        name: {model: values[model] for model in ("m0", "m1")} for name, values in whole.items()
    }
    for axis, excluded, expected in (
        ("data_sets", "d1, d3", without_data_sets),
        ("models", "m2", without_model),
    ):
        ranking = rank(partial, higher_is_better=True, leave_out=axis)
        assert ranking.ranks == rank(expected, higher_is_better=True).ranks
        assert ranking.notes[0] == f"left out, as values are missing: {excluded}"


def test_ranking_shows_names_as_text() -> None:
    models = {"out/a&b_test.npz": 0.5, "out/|x|_test.npz": 0.25}
    ranking = rank({"<script>": models, "=1+1": models}, "p@1", control="a&b")
    assert str(ranking).splitlines()[1].split() == ["P@1", "↑", "a&b", "|x|"]
    assert r"a\&b & \textbar{}x\textbar{} \\" in ranking.to_latex()
    assert r"| a\&b | \|x\| |" in ranking.to_markdown()
    assert "<script>" not in page_of(ranking)
    assert "rank on =1+1" in ranking.to_csv()


def test_ranking_has_the_same_ranks_in_every_form() -> None:
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
    for name in (
        "average_ranks",
        "ranks",
        "values",
        "critical_difference",
        "groups",
        "n_data_sets",
        "notes",
    ):
        assert contents[name] == getattr(ranking, name)
    assert contents["friedman"]["statistic"] == ranking.friedman.statistic
    assert "not significantly different: C4.5+cf, C4.5" in str(ranking)
    ranks_of_records: dict[str, dict[str, float]] = {}
    for record in ranking.records():
        ranks_of_records.setdefault(record.data_set, {})[record.model] = record.rank
    assert ranks_of_records == RANKS
    assert "79.80 (1)" in rank(VALUES, "p@1").to_latex(percent=True)
    _, *columns = zip(*rows, strict=True)
    turned = ranking.to_latex(rows="models")
    assert all(" & ".join(column) in turned for column in columns)
    assert max(map(len, ranking.to_text(40).splitlines())) <= 40


def test_title_of_several_rankings_counts_all_data_sets() -> None:
    values = {f"d{n}": {"a": {"p@1": 0.5, "p@3": 0.4}, "b": {"p@1": 0.4}} for n in range(4)}
    for data_set in ("d0", "d1", "d2"):
        values[data_set]["b"]["p@3"] = 0.3
    ranked = xmleval.rank(values, ["p@1", "p@3"], leave_out="data_sets")
    assert "4 data sets" in str(ranked).splitlines()[0]


def test_rank_by_a_measure_of_your_own_keeps_its_name() -> None:
    values = {
        "a": {"x": {"speed": 3.0}, "y": {"speed": 5.0}},
        "b": {"x": {"speed": 4.0}, "y": {"speed": 9.0}},
    }
    for is_up, best in ((True, "y"), (False, "x")):
        ranking = rank(values, "speed", higher_is_better=is_up)
        assert (ranking.metric, ranking.higher_is_better) == ("speed", is_up)
        assert next(iter(ranking.average_ranks)) == best
        assert ranking.values["a"] == {"x": 3.0, "y": 5.0}
        assert rank(values, higher_is_better=is_up).to_json() == ranking.to_json()


MADE_UP = {name: {"a": 0.1, "b": 0.2, "c": 0.3} for name in ("x", "y", "z", "w", "v", "u")}


@pytest.mark.parametrize(
    ("control", "decision"),
    [
        (None, "no significant difference is seen to b."),
        ("a", "a significant difference is seen to a, the control."),
        ("b", "no significant difference is seen to b, the control."),
        ("c", "no significant difference is seen to b."),
    ],
)
def test_page_of_a_ranking_says_what_differs_from_the_best(
    control: str | None, decision: str
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    ranking = rank(MADE_UP, "p@1", control=control)
    page = ranking.to_html()
    assert f"c has the best average rank by P@1, 1; {decision}" in page
    bar = "Models that a bar joins are not significantly different."
    if control is not None:
        bar = f"Models within the bar are not significantly different from {control}, the control."
    assert bar in page


def test_page_of_a_ranking_says_that_all_others_differ() -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    values = as_results([[3, 1]] * 9)
    page = rank(values, "dcg@3").to_html()
    assert "m0 has the best average rank by DCG@3, 1; all others differ significantly." in page


def test_rankings_are_looked_up_by_measure() -> None:
    values = {n: {m: {"p@1": len(m), "speed": 1} for m in ("a", "bb")} for n in ("x", "y")}
    rankings = rank(values, ["p@1", "speed"], higher_is_better=True)
    for name in ("p@1", "P@1", "precision@1"):
        assert rankings[name].metric == "p@1"
    assert rankings["speed"].metric == "speed"
    message = "no ranking by 'p@3'; there are 'p@1', 'speed'"
    with pytest.raises(KeyError, match=message):
        rankings["p@3"]
    assert "p@3" not in rankings
    assert rankings.get("p@3") is None


def test_rankings_show_all_groups_of_a_model() -> None:
    values = {}
    for data_set, models in VALUES.items():
        values[data_set] = {name: {"p@1": x, "speed": x} for name, x in models.items()}
    rankings = rank(values, ["p@1", "speed"], higher_is_better=True, alpha=0.1)
    (table,) = rankings.tables()
    letters = {row[0].text: [cell.above for cell in row[1:]] for row in table.rows[1:5]}
    expected = {"C4.5": "b", "C4.5+m": "a", "C4.5+cf": "ab", "C4.5+m+cf": "a"}
    assert letters == {model: [letter, letter] for model, letter in expected.items()}


def test_rankings_draw_a_diagram_for_each_measure() -> None:
    pytest.importorskip("matplotlib")
    measures = ["p@1", "ranking_loss"]
    by_measure = {
        name: {model: dict.fromkeys(measures, value) for model, value in models.items()}
        for name, models in MADE_UP.items()
    }
    rankings = rank(by_measure, measures)
    assert len(np.atleast_1d(rankings.plot("critical_difference"))) == 2
    (axes,) = np.atleast_1d(rankings.plot("average_ranks"))
    points = {series.get_label(): series[0].get_xydata()[:, 0] for series in axes.containers}
    for number, measure in enumerate(measures):
        ranks = rankings[measure].average_ranks
        assert {name: values[number] for name, values in points.items()} == ranks


@pytest.mark.parametrize(
    ("read", "contents", "message"),
    [
        (
            Ranking,
            {"rankings": {}},
            "JSON without 'average_ranks'; expected a ranking by one measure",
        ),
        (Rankings, {"average_ranks": {}}, "JSON without 'rankings'; expected rankings by several"),
        (Rankings, {"rankings": {}}, "JSON without 'rankings'; expected rankings by several"),
        (Rankings, {"rankings": {"p@1": {}}}, "is not as `xmleval rank` writes it"),
        (Rankings, {"rankings": [3]}, "'rankings' is not as `xmleval rank` writes it"),
        (Ranking, {"average_ranks": {"a": 1}}, "is not as `xmleval rank` writes it"),
    ],
)
def test_load_refuses_what_is_no_ranking(
    read: Any, contents: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*{re.escape(message)}"):
        read.load(path)


@pytest.mark.parametrize(
    ("n", "k", "are_few"),
    [(10, 6, True), (11, 5, True), (11, 6, False)],
)
def test_rank_notes_few_data_sets_and_few_models(n: int, k: int, are_few: bool) -> None:
    notes = rank(as_results(drawn(n, k, 100)), higher_is_better=True).notes
    assert any("more than 10 data sets and 5 models" in note for note in notes) == are_few


def test_a_control_is_not_listed_among_the_models_like_it() -> None:
    lines = of_demsar(control="C4.5").footnotes()
    assert "not significantly different from C4.5: C4.5+m, C4.5+cf" in lines


@pytest.mark.parametrize(("n_missing", "end"), [(3, "d2; "), (4, "d2; ...; ")])
def test_rank_names_three_missing_values(n_missing: int, end: str) -> None:
    results = as_results(drawn(5, 2, 9))
    for n in range(n_missing):
        del results[f"d{n}"]["m1"]
    places = "; ".join(f"no value of m1 on d{n}" for n in range(3)).removesuffix("d2")
    with pytest.raises(ValueError) as refused:
        rank(results, higher_is_better=True)
    assert str(refused.value).startswith(f"results: {places}{end}average ranks need")


def test_rankings_mark_the_better_end_and_the_two_best_of_each_measure() -> None:
    losses = {"a": 0.1, "b": 0.2, "c": 0.3}
    values = {
        name: {
            model: {"p@1": 1 - loss, "ranking_loss": 1 - loss, "lrap": loss}
            for model, loss in losses.items()
        }
        for name in "uvwxyz"
    }
    rankings = rank(values, ["p@1", "ranking_loss", "lrap"])
    header, *rows = rankings.tables()[0].rows
    assert [cell.tail for cell in header[1:]] == ["up", "down", "up"]
    marks = {row[0].text: [cell.tail for cell in row[1:]] for row in rows[:3]}
    assert marks == {
        "a": ["first", "other", "other"],
        "b": ["second"] * 3,
        "c": ["other", "first", "first"],
    }
    p_values = [f"{ranking.iman_davenport.p_value:.3g}" for ranking in rankings.values()]
    assert [cell.text for cell in rows[-1][1:]] == p_values


@pytest.mark.parametrize("style", [{"digits": 0}, {"digits": 1}, {"percent": True}], ids=str)
@pytest.mark.parametrize("form", ["to_text", "to_markdown", "to_latex"])
def test_rankings_refuse_styles_of_values(form: str, style: dict[str, Any]) -> None:
    values = {n: {m: {"p@1": len(m), "speed": 1} for m in ("a", "bb")} for n in ("x", "y")}
    write = getattr(rank(values, ["p@1", "speed"], higher_is_better=True), form)
    (name,) = style
    with pytest.raises(ValueError, match=f"^{name}: is for values; this table has average ranks$"):
        write(**style)


def test_rank_sees_no_difference_at_a_p_value_equal_to_alpha() -> None:
    p_value = of_demsar().iman_davenport.p_value
    for alpha, is_seen in ((p_value, False), (math.nextafter(p_value, 1), True)):
        notes = of_demsar(alpha=alpha).notes
        assert any("no difference seen" in note for note in notes) != is_seen


@pytest.mark.parametrize(
    ("ranks", "difference", "runs"),
    [
        ([1.0, 2.0, 3.0], 1.0, []),
        ([1.0, 1.5, 2.0, 3.0], 1.0, [[1.0, 1.5], [1.5, 2.0]]),
        ([1.0, 1.5, 2.0, 3.0], 1.25, [[1.0, 1.5, 2.0], [2.0, 3.0]]),
        ([2.0, 2.0], 0.5, [[2.0, 2.0]]),
    ],
)
def test_groups_of_models_differ_by_less_than_the_critical_difference(
    ranks: list[float], difference: float, runs: list[list[float]]
) -> None:
    assert [ranks[run] for run in friedman.find_groups(ranks, difference)] == runs


@pytest.mark.parametrize(
    ("ranks", "pairs", "shared"),
    [
        ([1, 2, 3], [(0, 1)], [1.5, 1.5, 3]),
        ([1, 2, 3], [(2, 0), (1, 2)], [1.5, 2.5, 2]),
        ([1.5, 1.5, 3], [(0, 1)], [1.5, 1.5, 3]),
        ([1.5, 1.5, 3], [(1, 0), (1, 2)], [1.5, 2, 2.5]),
    ],
)
def test_pairs_that_ties_decide_share_their_ranks_once(
    ranks: list[float], pairs: list[tuple[int, int]], shared: list[float]
) -> None:
    assert friedman.share_ranks(np.array(ranks, float), pairs).tolist() == shared


def test_rank_of_equal_models_has_no_corrected_statistics() -> None:
    equal = {name: dict.fromkeys("abc", 0.5) for name in "wxyz"}
    ranking = rank(equal, higher_is_better=True)
    assert ranking.average_ranks == dict.fromkeys("abc", 2.0)
    assert [ranking.friedman.p_value, ranking.iman_davenport.p_value] == [1.0, 1.0]
    for test in ranking.corrected.values():
        assert math.isnan(test.statistic)
        assert math.isnan(test.p_value)


def test_rank_takes_reports_of_other_decisions_and_of_distances() -> None:
    models = {
        "first": evaluate(T, S, metrics="f1.micro", decision="top1"),
        "two": evaluate(T, S, metrics="f1.micro", decision="top2"),
        "near": evaluate(T, -S, metrics="f1.micro", decision="top1", higher_is_better=False),
    }
    ranking = rank({"x": models, "y": models}, "f1.micro")
    assert ranking.values["x"] == {name: models[name]["f1.micro"] for name in ranking.values["x"]}
    assert ranking.ranks["x"]["first"] == ranking.ranks["x"]["near"]


@pytest.mark.parametrize("control", ["out/b_test.npz", "b"])
def test_control_is_named_in_full_or_as_tables_name_it(control: str) -> None:
    models = {"out/a_test.npz": 0.5, "out/b_test.npz": 0.25}
    ranking = rank({"x": models, "y": models}, "p@1", control=control)
    assert ranking.control == "out/b_test.npz"
    assert any("Bonferroni-Dunn" in line for line in ranking.footnotes())


def test_rank_reads_the_name_of_a_measure_before_its_other_spellings() -> None:
    models = {"s": {"p@1": 0.9, "P@1": 0.1}, "t": {"Precision@1": 0.5}}
    assert rank({"x": models, "y": models}, "p@1").values["x"] == {"s": 0.9, "t": 0.5}
