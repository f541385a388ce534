"""Comparisons of models: laws of differences, oracles of intervals and p-values, printed forms."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

from tests.made_files import as_list
from tests.results.models import (
    CLUSTERS,
    GROUPS,
    MODELS,
    TESTS,
    TRUTH,
    TWO,
    Q,
    by_group,
    compared,
    errors_of,
    top,
)
from tests.results.notebooks import page_of
from xmleval import Comparison, Report, compare, diff, evaluate
from xmleval.results.differences import Difference

N, L = TRUTH.shape


@pytest.mark.parametrize("test", TESTS)
def test_swapped_models_have_negated_differences(test: str) -> None:
    backward = compared(dict(reversed(TWO.items())), test=test).differences
    for one, other in zip(compared(TWO, test=test).differences, backward, strict=True):
        assert one.name == other.name
        assert (one.a, one.b) == (other.b, other.a)
        assert one.value == -other.value
        assert one.better == other.better
        np.testing.assert_array_equal(one.p_value, other.p_value)
        np.testing.assert_array_equal(one.corrected_p, other.corrected_p)
        assert one.outcomes == (other.outcomes and (*other.outcomes[::-1],))
        if one.estimate and other.estimate:
            assert one.estimate.lower == -other.estimate.upper
            assert one.estimate.upper == -other.estimate.lower


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_compare_has_reports_of_evaluate_for_lists_of_different_lengths(form: Any) -> None:
    depths = {"good": 3, "fair": 3, "same": 8}
    models = {name: top(scores, depths[name]) for name, scores in MODELS.items()}
    options: dict[str, Any] = {"y_train": TRUTH[:50], "confidence": 0.95}
    if form is sp.csr_array:
        options["exclude"] = sp.csr_array(np.eye(N, L))
    options["metrics"] = ["p@1", "ndcg@5", "psp@3", "psndcg@5", "f1.micro@3"]
    reports = compare(form(TRUTH), models, **options).reports
    for name, scores in models.items():
        expected = evaluate(TRUTH, scores, **options)
        assert dict(reports[name]) == dict(expected)
        assert reports[name].confidence == expected.confidence


JACKKNIFED = ["ndcg@3", "psp@3", "f1.macro@3", "auc.micro", "auc.macro"]


def parts_of(report: Report) -> list[Any]:
    """Return a report with those of its groups, its shares and its row groups."""
    return [
        report,
        *report.groups.values(),
        *report.shares.values(),
        *report.row_groups.values(),
    ]


def differences_on(rows: Any) -> list[float]:
    """Return the differences of two models on some rows, in the order of a comparison."""
    groups = {**GROUPS, "row_groups": GROUPS["row_groups"][rows]}
    good, fair = (
        parts_of(evaluate(TRUTH[rows], scores[rows], metrics=JACKKNIFED, **groups, **Q))
        for scores in TWO.values()
    )
    values = []
    for part_of_good, part_of_fair in zip(good, fair, strict=True):
        names = [name for name in JACKKNIFED if name in part_of_good]
        values += [part_of_good[name] - part_of_fair[name] for name in names]
    return values


def check_estimate(difference: Difference, error: float, test: str) -> None:
    """Compare an interval and a p-value with those of a standard error from six groups."""
    value = difference.value
    half_width = scipy.stats.t.ppf(0.975, 5) * error
    assert difference.estimate is not None
    assert difference.estimate.n_groups == 6
    expected = [value - half_width, value + half_width, half_width, error]
    np.testing.assert_allclose(difference.estimate[:4], expected, rtol=1e-9)
    if test != "t" and difference.kind == "shares":
        assert math.isnan(difference.p_value)
    if test == "t":
        p = 2 * scipy.stats.t.sf(abs(value) / error, 5)
        np.testing.assert_allclose(difference.p_value, p, rtol=1e-9)


def check_lookup(comparison: Comparison, differences: Sequence[Difference]) -> None:
    """Look up differences within a group, which begin after those of all rows and labels."""
    with pytest.raises(KeyError, match="within group 'tail'; groups are 'rare', 'common'"):
        comparison.difference("ndcg@3", "good", "fair", group="tail")
    n = len(JACKKNIFED)
    first_of_kind = {"groups": differences[n], "shares": differences[3 * n]}
    for kind, expected in first_of_kind.items():
        assert comparison.difference("ndcg@3", "good", "fair", "rare", kind) == expected
    within = comparison.difference("ndcg@3", "good", "fair", group="rare")
    assert within == first_of_kind["groups"]


def test_intervals_of_differences_end_where_a_measure_does() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    scores = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    models = {"a": scores, "b": scores[:, ::-1]}
    difference = compare(truth, models, metrics="p@1").difference("p@1", "a", "b")
    assert difference.value == pytest.approx(2 / 3)
    assert difference.estimate is not None
    assert difference.estimate[:2] == (-1.0, 1.0)


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_compare_has_intervals_and_p_values_of_the_jackknife(test: str) -> None:
    """Of all rows and labels, within groups, and of shares of groups."""
    maximum = "peak_f1.micro"
    options: dict[str, Any] = {"metrics": [*JACKKNIFED, maximum], "test": test, **GROUPS}
    comparison = compared(TWO, clusters=CLUSTERS, **options)
    differences = []
    for part in by_group(comparison).values():
        differences += [difference for difference in part if difference.name in JACKKNIFED]
    untested = comparison.difference(maximum, "good", "fair")
    assert untested.estimate is None
    assert math.isnan(untested.p_value)
    assert [difference.value for difference in differences] == differences_on(CLUSTERS >= 0)
    for difference, error in zip(differences, errors_of(differences_on), strict=True):
        check_estimate(difference, error, test)
    if test == "randomisation":  # all signs of seven clusters, one model always better
        by_name = compared(TWO, clusters=[*map(str, CLUSTERS)], **options)
        assert differences[0].p_value == by_name.differences[0].p_value == 2 / 2**7
    check_lookup(comparison, differences)


@pytest.mark.parametrize(
    ("test", "oracle", "tolerance"),
    [
        ("paired_t", lambda a, b: scipy.stats.ttest_rel(a, b).pvalue, 1e-9),
        ("wilcoxon", lambda a, b: scipy.stats.wilcoxon(np.round(a - b, 12)).pvalue, 1e-9),
        ("randomisation", lambda a, b: scipy.stats.ttest_rel(a, b).pvalue, 0.03),
    ],
)
def test_compare_has_p_values_of_scipy_for_tests_of_rows(
    test: str, oracle: Any, tolerance: float
) -> None:
    comparison = compared({"same": MODELS["same"], "fair": MODELS["fair"]}, test=test)
    a, b = (report.per_row() for report in comparison.reports.values())
    tested = {
        difference.name: difference
        for difference in comparison.differences
        if not math.isnan(difference.p_value)
    }
    assert {*tested} == {"p@1", "ndcg@3", "ranking_loss"}
    for name, difference in tested.items():
        is_defined = ~np.isnan(a[name])
        expected = oracle(a[name][is_defined], b[name][is_defined])
        assert difference.p_value == pytest.approx(expected, abs=tolerance)
        assert difference.n_rows == is_defined.sum() == sum(difference.outcomes or ())
    assert "not means over rows: psp@3, f1.macro@3" in str(comparison)


def test_compare_leaves_undefined_rows_out_of_the_sums_of_clusters() -> None:
    is_defined = TRUTH.any(axis=1)
    assert not is_defined.all()
    clusters = np.arange(N) % 12
    options: dict[str, Any] = {"metrics": ["p@1", "ndcg@3"], "test": "randomisation"}
    options["conventions"] = "empty=skip"
    whole = compared(clusters=clusters, **options)
    defined = compared(rows=is_defined, clusters=clusters[is_defined], **options)
    assert whole.differences == defined.differences


@pytest.mark.parametrize(("confidence", "better"), [(1 - 2 / 2**5, None), (0.937, "good")])
def test_compare_names_no_better_model_at_p_equal_to_alpha(
    confidence: float, better: str | None
) -> None:
    truth = np.eye(5, dtype=int)
    models = {"good": truth, "bad": 1 - truth}
    options: dict[str, Any] = {"metrics": ["p@1"], "test": "randomisation"}
    (difference,) = compare(truth, models, confidence=confidence, **options).differences
    assert difference.corrected_p == 2 / 2**5  # one model is better in all five rows
    assert difference.better == better


def test_compare_takes_pairs_with_a_baseline_and_drops_measures_of_the_truth_alone() -> None:
    comparison = compared(metrics=["p@1", "label_cardinality"], baseline="fair")
    assert comparison.pairs == [("good", "fair"), ("same", "fair")]
    assert [one.name for one in comparison.differences] == ["p@1"] * 2
    for table in comparison.tables():
        assert not any("cardinality" in row[0].text for row in table.rows)
    assert comparison.difference("P@1", "good", "fair") == comparison.differences[0]
    with pytest.raises(KeyError, match="compared are good - fair"):
        comparison.difference("p@1", "fair", "good")
    assert compared(metrics="p@1").pairs == [("good", "fair"), ("good", "same"), ("fair", "same")]


@pytest.mark.parametrize(
    ("depth", "n_labels"),
    [
        (3, 12),
        (10, 12),
        (16, 20),
    ],
)
def test_compare_counts_wins_ties_and_losses_by_row(depth: int, n_labels: int) -> None:
    rng = np.random.default_rng(0)  # 16 of 20 labels: nearly all rows have other hits
    truth = (rng.random((N, n_labels)) < 0.5).astype(int)
    lists = {name: top(truth + rng.normal(size=truth.shape), depth) for name in "ab"}
    names = ["p@1", f"ndcg@{depth}", f"r@{depth}", "mrr@2"]
    q = np.linspace(1, 9, n_labels)
    comparison = compare(truth, lists, metrics=[*names, "psp@3"], inverse_propensity=q)
    a, b = (
        evaluate(truth, model, metrics=names, per_row=True).per_row() for model in lists.values()
    )
    np.testing.assert_equal(comparison.reports["a"].per_row(), a)
    np.testing.assert_equal(comparison.reports["b"].per_row(), b)
    for name in names:
        wins = (a[name] > b[name]).sum()
        losses = (a[name] < b[name]).sum()
        assert comparison.difference(name, "a", "b").outcomes == (wins, N - wins - losses, losses)


def test_compare_matches_names_of_rows_and_labels() -> None:
    def by_key(rows: Any) -> dict[str, Any]:
        keyed = {}
        for number, row in enumerate(rows):
            keyed[f"row {number}"] = {f"label {i}": row[i] for i in np.flatnonzero(row)}
        return keyed

    dicts = {name: by_key(scores) for name, scores in TWO.items()}
    relevant = by_key(TRUTH)
    clusters = {f"row {n}": n % 9 for n in range(N)}
    by_name = compare(relevant, dicts, metrics=["p@1"], test="randomisation", clusters=clusters)
    by_number = compared(TWO, metrics=["p@1"], test="randomisation", clusters=np.arange(N) % 9)
    assert by_name.differences == by_number.differences


def test_compare_takes_predicted_sets() -> None:
    other = TRUTH[::-1].copy()
    names = ["f1.samples", "hamming_loss"]
    sets = compare(TRUTH, None, y_pred={"a": TRUTH, "b": other}, metrics=names)
    assert [difference.better for difference in sets.differences] == ["a", "a"]
    for difference in sets.differences:
        assert difference.outcomes
        assert difference.outcomes.losses == 0
    both = compare(TRUTH, TWO, y_pred={"good": TRUTH, "fair": other}, metrics=["f1.samples", "p@1"])
    assert [difference.better for difference in both.differences] == ["good", "good"]


def test_compare_flips_signs_with_the_weights_of_rows() -> None:
    options: dict[str, Any] = {"metrics": ["p@1"], "test": "randomisation"}
    weighted = compared(TWO, sample_weight=np.where(np.arange(N) < 9, 1.0, 0.0), **options)
    alone = compared(TWO, slice(9), **options)
    assert weighted.differences[0].p_value == alone.differences[0].p_value


def test_compare_tests_no_lists_of_different_lengths_by_deeper_measures() -> None:
    scores = MODELS["good"]
    models = {"ten": top(scores, 10), "two": top(scores, 2)}
    comparison = compare(TRUTH, models, metrics=["p@1", "p@5"])
    shallow, deep = comparison.differences
    assert not math.isnan(shallow.p_value)
    assert math.isnan(deep.p_value)
    assert deep.value > 0
    note = "so models whose lists differ are not tested for p@5; if no list"
    assert note in comparison.notes[-1]


@pytest.mark.parametrize("argument", ["exclude", "candidates"])
@pytest.mark.parametrize("form", [sp.csr_array, lambda matrix: as_list(sp.csr_array(matrix))])
@pytest.mark.parametrize(
    "listed",
    [
        ([0, 1, 2, 3], [0, 1, 2]),  # as many labels without label 3
        ([0, 1, 2, 3], [0, 1, 2, 4]),  # as many labels with it
        ([0, 3], [0]),
        (range(7), [0, 1, 3]),  # more than the cutoff
    ],
    ids=str,
)
def test_compare_counts_lists_without_excluded_labels(
    listed: Any, form: Any, argument: str
) -> None:
    excluded = np.tile((np.arange(L) == 3).astype(np.uint8), (N, 1))
    options: Any = {"exclude": excluded, "exclude_from": "predictions"}
    if argument == "candidates":
        options = {"candidates": 1 - excluded}
    whole = {}
    without = {}
    for name, labels in zip(("good", "fair"), listed, strict=True):
        scores = np.where(np.isin(range(L), labels), abs(MODELS[name]) + 1, 0)
        whole[name] = form(scores)
        without[name] = form(scores * (1 - excluded))
    names = ["p@1", "p@2", "p@4"]
    actual = compare(TRUTH, whole, metrics=names, **options)
    expected = compare(TRUTH, without, metrics=names)
    assert [*map(str, actual.differences)] == [*map(str, expected.differences)]
    notes, expected_notes = (
        [note for note in comparison.notes if "lists have" in note]
        for comparison in (actual, expected)
    )
    assert notes == expected_notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": [MODELS["good"]]}, "models: list is not a dict of models; give them by name"),
        ({"models": {0: MODELS["good"], 1: MODELS["good"]}}, "models: 0 is not a name"),
        ({"baseline": "goood"}, "'goood' is not one of the models good, fair; did you mean good?"),
        (
            {"test": "bootstrap"},
            "test: 'bootstrap' is not one of t, randomisation, paired_t, wilcoxon",
        ),
        ({"models": {**TWO, "b": TWO["fair"] * np.nan}}, "y_score of 'b': row 0: "),
        ({"metrics": ["label_cardinality"]}, "no measure depends on the models: label_cardinality"),
        (
            {"test": "wilcoxon", "clusters": np.arange(N)},
            "'wilcoxon' needs independent rows",
        ),
        (
            {"test": "paired_t", "sample_weight": np.ones(N)},
            "but sample_weight= says otherwise",
        ),
        ({"confidence": 95}, "confidence: 95 is not a probability"),
        ({"seeds": True}, "'good' is not a list with the scores of each seed"),
        ({"y_pred": {"a": TRUTH, "b": TRUTH}}, "y_pred: has other models (a, b) than good, fair"),
        (
            {"metrics": ["lrap"], "worst": 3},
            "worst: no measure has values by label, or a cutoff",
        ),
    ],
)
def test_compare_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"models": TWO, "metrics": ["p@1"], **change}
    with pytest.raises(ValueError) as raised:
        compare(y_true=TRUTH, **arguments)
    assert message in str(raised.value)


def letters_of(comparison: Comparison) -> list[str]:
    """Return the letters above the values of the first measure."""
    _, *cells = comparison.tables()[0].rows[1]
    return [cell.above.strip() for cell in cells]


def test_tables_name_the_worse_models_by_letters() -> None:
    comparison = compared(metrics=["p@1"])
    assert letters_of(comparison) == ["bc", "", ""]
    assert "$^{bc}$" in comparison.to_latex()
    assert comparison.to_latex().count("Holm over 3 tests, n = 400 rows") == 2
    assert all("<sup>bc</sup>" in text for text in (comparison.to_markdown(), page_of(comparison)))
    many = {f"m{n}": MODELS["good"] for n in range(28)}
    many["m0"] = MODELS["fair"]
    numbered = compare(TRUTH, many, metrics=["p@1"], baseline="m0")
    assert letters_of(numbered)[1] == "1"


def latex_cells(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of the lines of a tabular that have some."""
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    return [row.split(" & ") for row in rows]


def check_latex_values(cells: Sequence[str], records: Sequence[Any], percent: bool) -> None:
    """Compare the values of a measure with its records, and their marks with their order."""
    spec = records[0].spec
    values = [record.value for record in records]
    is_up = spec.metric.direction == "up"
    best, second, *_ = sorted({*values}, reverse=is_up)
    assert [cell.startswith(r"\textbf{") for cell in cells] == [value == best for value in values]
    if len(values) > 2:
        is_second = [value == second for value in values]
        assert [cell.startswith(r"\underline{") for cell in cells] == is_second
    for cell, value in zip(cells, values, strict=True):
        text = f"{value:.4f}"
        if percent and spec.name != "coverage":
            text = f"{100 * value:.2f}"
        assert f"{text} " in cell


HEADINGS = [
    "group of labels rare",
    "group of labels common",
    "share of group of labels rare",
    "share of group of labels common",
    "group of rows de",
    "group of rows en",
]


@pytest.mark.parametrize("options", [{}, {"percent": True}])
@pytest.mark.parametrize("models", [MODELS, TWO])
def test_latex_marks_the_best_and_has_one_number_of_digits_a_measure(
    models: Any, options: Any
) -> None:
    comparison = compared(models, metrics=["p@1", "coverage", "ranking_loss"], **GROUPS)
    text = comparison.to_latex(**options)
    first_tabular = text[: text.index(r"\end{tabular}")]
    header, *body = latex_cells(first_tabular.splitlines())
    columns = ["a: good", "b: fair", "c: same"]
    if models == TWO:
        columns = ["good", "fair", "p (Holm)"]
    assert header[1:] == columns
    headings = [cells[0].partition("{l}")[2] for cells in body if len(cells) == 1]
    assert [heading[1:-1].partition(":")[0] for heading in headings] == HEADINGS
    n_models = len(models)
    values = [cells[1 : 1 + n_models] for cells in body if len(cells) > 1]
    records = comparison.records()[: 17 * n_models]
    by_value = [records[n : n + n_models] for n in range(0, len(records), n_models)]
    for cells, records_of_value in zip(values, by_value, strict=True):
        check_latex_values(cells, records_of_value, bool(options))
    turned = comparison.to_latex(rows="models", **options).splitlines()
    start = turned.index(r"\midrule") + 1
    rows = latex_cells(turned[start : start + len(columns)])
    turned_back = [[row[column] for row in rows] for column in range(4)]
    assert turned_back == [header[1:], *(cells[1:] for cells in body[:3])]
    message = "rows: 'columns' have no rows here; expected 'measures' or 'models'"
    with pytest.raises(ValueError, match=message):
        comparison.to_latex(rows="columns")


def test_a_difference_that_is_the_same_in_all_rows_is_not_chance() -> None:
    models = {"right": np.eye(40) + 1, "wrong": np.eye(40)[::-1] + 1, "same": np.eye(40) + 1}
    comparison = compare(np.eye(40), models, metrics="p@1")
    difference = comparison.difference("p@1", "right", "wrong")
    assert (difference.value, difference.p_value, difference.better) == (1.0, 0.0, "right")
    difference = comparison.difference("p@1", "right", "same")
    assert (difference.value, difference.p_value, difference.better) == (0.0, 1.0, None)


# ------------------------------------------------------------- measures with the same differences


@pytest.mark.parametrize("options", [{}, GROUPS])
@pytest.mark.parametrize("test", TESTS)
def test_holm_counts_measures_with_the_same_differences_once(
    test: str, options: dict[str, Any]
) -> None:
    alone = compared(test=test, metrics=["p@1", "p@3"], **options)
    same = ["ndcg@1", "hit@1", "one_error"]
    if test == "t" and not options:  # within groups of labels, sets are those of all labels
        same.append("precision.micro@1")
    comparison = compared(test=test, metrics=["p@1", *same, "p@3"], **options)
    assert comparison.n_tests == alone.n_tests
    for difference in comparison.differences:
        is_tested = not math.isnan(difference.p_value)
        is_same = difference.name in same
        name = "p@1" if is_same else difference.name
        pair = (difference.a, difference.b)
        expected = alone.difference(name, *pair, difference.group, difference.kind)
        if is_tested:
            assert difference.corrected_p == expected.corrected_p
            assert difference.better == expected.better
        assert (difference.same_as == "p@1") == (is_same and is_tested)
        assert difference.same_as in (None, "p@1")
    assert "counting tests of the same differences once" in str(comparison)
    assert "once" not in str(alone)


# -------------------------------------------------------------------------- labels that differ most


@pytest.mark.parametrize(
    ("metric", "column"), [("p@3", "tp@3"), ("f1.macro@3", "f1@3"), ("ap.macro", "ap")]
)
def test_compare_lists_labels_that_differ_most_as_diff(metric: str, column: str) -> None:
    (changes,) = compare(TRUTH, TWO, metrics=["lrap", metric], worst=4).labels
    expected = diff(TRUTH, *TWO.values(), metric=metric, worst=4)
    assert (changes.a, changes.b) == ("good", "fair")
    assert changes.label_column == column
    assert changes.labels == expected.labels


def test_comparison_has_labels_that_differ_most_in_every_form() -> None:
    names = [f"label {n}" for n in range(L)]
    comparison = compare(TRUTH, MODELS, metrics=["p@3", "lrap"], worst=2, labels=names)
    assert [(changes.a, changes.b) for changes in comparison.labels] == comparison.pairs
    assert comparison.changes is not None
    first_pair = diff(TRUTH, *TWO.values(), metric="p@3", worst=2, labels=names)
    expected = first_pair.to_dict()
    expected["changes"] |= {"a": "good", "b": "fair"}
    assert comparison.changes.to_dict() == expected
    assert first_pair.rows
    assert "list of good" in comparison.to_html()
    text = str(comparison)
    markdown = comparison.to_markdown()
    in_json = json.loads(comparison.to_json())["comparison"]["labels"]
    for changes, record in zip(comparison.labels, in_json, strict=True):
        for change, label in zip(changes.records(), record["labels"], strict=True):
            assert label["difference"] == label["value_a"] - label["value_b"] == -change.change
            assert f"{label['difference']:+.0f}" in text
            assert label["name"] == f"label {label['number']}"
            assert label["support"] == change.support
            assert str(change.name) in text
            assert str(change.name) in markdown


def test_compare_averages_seeds_with_their_standard_deviation(tmp_path: Path) -> None:
    options: dict[str, Any] = {"metrics": ["p@3"], "worst": L, **GROUPS}
    seeds = {
        name: [scores, scores[:, ::-1].copy(), scores - scores[:, ::-1]]
        for name, scores in TWO.items()
    }
    mean = compare(TRUTH, seeds, seeds=True, **options)
    by_seed = []
    for seed in range(3):
        models = {name: scores[seed] for name, scores in seeds.items()}
        by_seed.append(compare(TRUTH, models, **options))
    values = [comparison.reports["good"]["p@3"] for comparison in by_seed]
    assert mean.reports["good"]["p@3"] == pytest.approx(np.mean(values), rel=1e-15)
    assert f"{np.mean(values):.4f} sd {np.std(values, ddof=1):.4f}" in str(mean)
    assert "good (3)" in str(mean)
    in_json = json.loads(mean.to_json())["comparison"]["seeds"]["good"]
    assert [report["values"]["p@3"] for report in in_json] == values
    check_means_of_groups_and_labels(mean, by_seed)
    one_seed = {name: scores[:1] for name, scores in seeds.items()}
    once = compare(TRUTH, one_seed, seeds=True, **options)
    assert once.differences == by_seed[0].differences
    (tmp_path / "r.json").write_text(by_seed[0].reports["good"].to_json())
    saved = Report.load(tmp_path / "r.json")
    assert saved.confidence != {}
    assert Comparison({"a": [saved, saved]}).reports["a"].confidence == {}


def check_means_of_groups_and_labels(mean: Comparison, by_seed: Sequence[Comparison]) -> None:
    """Compare values within groups and of labels with the means over comparisons."""
    comparisons = (mean, *by_seed)
    for name in ("rare", "de"):
        actual, *expected = (by_group(comparison)[name][0].value for comparison in comparisons)
        assert actual == pytest.approx(np.mean(expected))
    by_label = [
        {change.number: change.a for change in comparison.labels[0].records()}
        for comparison in comparisons
    ]
    labels = {*range(L)}.intersection(*by_label)
    assert labels
    for label in labels:
        actual, *expected = (values[label] for values in by_label)
        assert actual == pytest.approx(np.mean(expected))


def test_difference_prints_its_measure_models_and_interval() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((60, 5)) < 0.4).astype(int)
    noise = rng.random(truth.shape)
    models = {"bert": noise, "tree": noise + truth}
    (difference,) = compare(truth, models, metrics=["p@1"]).differences
    estimate = difference.estimate
    assert estimate is not None
    interval = f"[{estimate.lower:.4f}, {estimate.upper:.4f}]"
    expected = f"P@1: bert - tree = {difference.value:+.4f} {interval}, p <0.001 (tree better)"
    assert str(difference) == expected
    assert repr(difference) == f"<Difference of {expected}>"


def test_comparison_without_models_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^reports: no model given; expected the reports of"):
        Comparison({})


@pytest.mark.parametrize(
    ("p_value", "text"), [(0.00099, "<0.001"), (0.001, "0.001"), (0.0014, "0.001")]
)
def test_small_p_values_are_below_a_thousandth(p_value: float, text: str, tmp_path: Path) -> None:
    contents = compare(TRUTH, TWO, metrics=["p@1"]).to_dict()
    contents["comparison"]["differences"][0]["corrected_p_value"] = p_value
    path = tmp_path / "compared.json"
    path.write_text(json.dumps(contents))
    loaded = Comparison.load(path)
    assert f", p {text} (good better)" in str(loaded.differences[0])
    assert text in [cell.text for cell in loaded.tables()[1].rows[1]]


def test_equal_sums_of_clusters_are_two_tests_where_rows_differ() -> None:
    """In a cluster, p@1 differs in the first row, hit@2 in the second."""
    truth = np.tile([[1, 0, 0], [1, 0, 0]], (4, 1))
    better = np.tile([[3, 2, 1], [2, 3, 1]], (4, 1))
    worse = np.tile([[2, 3, 1], [1, 3, 2]], (4, 1))
    worse[:2] = better[:2]
    models = {"better": better, "worse": worse}
    clusters = np.repeat(np.arange(4), 2)
    compared = compare(truth, models, metrics=["p@1", "hit@2"], clusters=clusters)
    first, second = compared.differences
    assert first.value == second.value == 3 / 8
    assert first.p_value == pytest.approx(second.p_value)
    assert (compared.n_tests, second.same_as) == (2, None)


def test_measures_undefined_in_the_same_rows_are_one_test() -> None:
    truth = TRUTH.copy()
    truth[::7] = 0
    options: dict[str, Any] = {"metrics": ["p@1", "hit@1"], "conventions": "empty=skip"}
    compared = compare(truth, TWO, **options)
    first, second = compared.differences
    assert first.n_rows == second.n_rows == np.count_nonzero(truth.any(axis=1))
    assert (compared.n_tests, second.same_as) == (1, "p@1")
    assert second.corrected_p == first.corrected_p == first.p_value


def test_groups_of_labels_and_of_rows_of_one_name_have_their_own_p_values() -> None:
    """Corrected by Holm's method: the n-th smallest of N, times N + 1 - n, but never falling."""
    groups: dict[str, Any] = {"label_groups": [*"xy"] * 6, "row_groups": [*"xy"] * (N // 2)}
    compared = compare(TRUTH, TWO, metrics=["p@3", "ndcg@5"], **groups)
    tested = [each for each in compared.differences if not each.same_as]
    tested.sort(key=lambda each: each.p_value)
    assert {each.kind for each in tested} >= {"groups", "row_groups"}
    largest = 0.0
    for n, difference in enumerate(tested):
        largest = max(largest, difference.p_value * (compared.n_tests - n))
        assert difference.corrected_p == pytest.approx(min(largest, 1.0))


def test_compare_without_values_by_row_has_the_same_intervals() -> None:
    (kept,) = compare(TRUTH, TWO, metrics="p@1").differences
    compared = compare(TRUTH, TWO, metrics="p@1", per_row=False)
    (difference,) = compared.differences
    assert not compared["good"].results.rows
    assert (difference.outcomes, difference.n_rows) == (None, None)
    assert difference == kept._replace(outcomes=None)
