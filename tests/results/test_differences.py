"""Comparisons of models: laws of differences, oracles for intervals and p-values, and what is printed."""

import json
import math
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

N, L = TRUTH.shape


@pytest.mark.parametrize("test", TESTS)
def test_swapped_models_have_negated_differences(test: str) -> None:
    backward = compared(dict(reversed(TWO.items())), test=test).differences
    for one, other in zip(compared(TWO, test=test).differences, backward, strict=True):
        assert (one.name, one.a, one.b, one.value) == (other.name, other.b, other.a, -other.value)
        assert one.better == other.better
        np.testing.assert_array_equal([one.p_value, one.corrected_p], [other.p_value, other.corrected_p])
        assert one.outcomes == (other.outcomes and (*other.outcomes[::-1],))
        if one.estimate and other.estimate:
            assert (one.estimate.lower, one.estimate.upper) == (-other.estimate.upper, -other.estimate.lower)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_reports_are_those_of_evaluate_for_lists_of_different_lengths(form: Any) -> None:
    models = {name: top(scores, k) for (name, scores), k in zip(MODELS.items(), (3, 3, 8), strict=True)}
    options: dict[str, Any] = {"y_train": TRUTH[:50], "confidence": 0.95}
    if form is sp.csr_array:
        options["exclude"] = sp.csr_array(np.eye(N, L))
    options["metrics"] = ["p@1", "ndcg@5", "psp@3", "psndcg@5", "f1.micro@3"]
    reports = compare(form(TRUTH), models, **options).reports
    for name, scores in models.items():
        expected = evaluate(TRUTH, scores, **options)
        assert (dict(reports[name]), reports[name].confidence) == (dict(expected), expected.confidence)


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_intervals_and_p_values_are_those_of_rows_left_out_one_cluster_at_a_time(test: str) -> None:
    """Of all rows and labels, within groups, and of shares of groups."""
    names, maximum = ["ndcg@3", "psp@3", "f1.macro@3", "auc.micro", "auc.macro"], "peak_f1.micro"
    options: dict[str, Any] = {"metrics": [*names, maximum], "test": test, **GROUPS}
    comparison = compared(TWO, clusters=CLUSTERS, **options)
    differences = [one for part in by_group(comparison).values() for one in part if one.name in names]
    untested = comparison.difference(maximum, "good", "fair")
    assert (untested.estimate, math.isnan(untested.p_value)) == (None, True)

    def values_of(rows: Any) -> list[float]:
        groups = {**GROUPS, "row_groups": GROUPS["row_groups"][rows]}
        reports = [evaluate(TRUTH[rows], s[rows], metrics=names, **groups, **Q) for s in TWO.values()]
        kinds = ("groups", "shares", "row_groups")
        good, fair = ([one, *(p for kind in kinds for p in getattr(one, kind).values())] for one in reports)
        return [a[name] - b[name] for a, b in zip(good, fair, strict=True) for name in names if name in a]

    assert [one.value for one in differences] == values_of(CLUSTERS >= 0)
    for difference, error in zip(differences, errors_of(values_of), strict=True):
        value, half = difference.value, scipy.stats.t.ppf(0.975, 5) * error
        assert difference.estimate is not None
        assert difference.estimate.n_groups == 6
        expected = [value - half, value + half, half, error]
        np.testing.assert_allclose(difference.estimate[:4], expected, rtol=1e-9)
        if test != "t" and difference.kind == "shares":
            assert math.isnan(difference.p_value)
        if test == "t":
            p = 2 * scipy.stats.t.sf(abs(value) / error, 5)
            np.testing.assert_allclose(difference.p_value, p, rtol=1e-9)
    if test == "randomisation":  # all signs of seven clusters, one model always better
        by_name = compared(TWO, clusters=[*map(str, CLUSTERS)], **options)
        assert differences[0].p_value == by_name.differences[0].p_value == 2 / 2**7
    with pytest.raises(KeyError, match="within group 'tail'; groups are 'rare', 'common'"):
        comparison.difference("ndcg@3", "good", "fair", group="tail")
    by_kind = {kind: len(names) * n for n, kind in enumerate(["", "groups", "", "shares"])}
    for kind in ("groups", "shares"):
        assert comparison.difference("ndcg@3", "good", "fair", "rare", kind) == differences[by_kind[kind]]
    assert comparison.difference("ndcg@3", "good", "fair", group="rare") == differences[len(names)]


@pytest.mark.parametrize(("test", "oracle", "tolerance"), [
    ("paired_t", lambda a, b: scipy.stats.ttest_rel(a, b).pvalue, 1e-9),
    ("wilcoxon", lambda a, b: scipy.stats.wilcoxon(np.round(a - b, 12)).pvalue, 1e-9),
    ("randomisation", lambda a, b: scipy.stats.ttest_rel(a, b).pvalue, 0.03),
])  # fmt: skip
def test_p_values_of_rows_are_those_of_scipy(test: str, oracle: Any, tolerance: float) -> None:
    comparison = compared({"same": MODELS["same"], "fair": MODELS["fair"]}, test=test)
    a, b = (report.per_row() for report in comparison.reports.values())
    tested = {one.name: one for one in comparison.differences if not math.isnan(one.p_value)}
    assert {*tested} == {"p@1", "ndcg@3", "ranking_loss"}
    for name, one in tested.items():
        rows = ~np.isnan(a[name])
        assert one.p_value == pytest.approx(oracle(a[name][rows], b[name][rows]), abs=tolerance)
        assert one.n_rows == rows.sum() == sum(one.outcomes or ())
    assert "as no mean over rows: psp@3, f1.macro@3" in str(comparison)


def test_pairs_are_those_of_a_baseline_and_measures_of_the_truth_alone_are_left_out() -> None:
    comparison = compared(metrics=["p@1", "label_cardinality"], baseline="fair")
    assert comparison.pairs == [("good", "fair"), ("same", "fair")]
    assert [one.name for one in comparison.differences] == ["p@1"] * 2
    assert not any("cardinality" in row[0].text for table in comparison.tables() for row in table.rows)
    assert comparison.difference("P@1", "good", "fair") == comparison.differences[0]
    with pytest.raises(KeyError, match="compared are good - fair"):
        comparison.difference("p@1", "fair", "good")
    assert compared(metrics="p@1").pairs == [("good", "fair"), ("good", "same"), ("fair", "same")]


@pytest.mark.parametrize(("depth", "n_labels"), [(3, 12), (10, 12), (16, 20)])
def test_outcomes_are_those_of_the_values_of_rows(depth: int, n_labels: int) -> None:
    rng = np.random.default_rng(0)  # 16 of 20 labels: nearly all rows have other hits
    truth = (rng.random((N, n_labels)) < 0.5).astype(int)
    lists = {name: top(truth + rng.normal(size=truth.shape), depth) for name in "ab"}
    names = ["p@1", f"ndcg@{depth}", f"r@{depth}", "mrr@2"]
    q = np.linspace(1, 9, n_labels)
    comparison = compare(truth, lists, metrics=[*names, "psp@3"], inverse_propensity=q)
    a, b = (evaluate(truth, own, metrics=names, per_row=True).per_row() for own in lists.values())
    for report, rows in zip(comparison.reports.values(), (a, b), strict=True):
        np.testing.assert_equal(report.per_row(), rows)
    for name in names:
        wins, losses = (a[name] > b[name]).sum(), (a[name] < b[name]).sum()
        assert comparison.difference(name, "a", "b").outcomes == (wins, N - wins - losses, losses)


def test_names_of_rows_and_labels_are_matched() -> None:
    def by_key(rows: Any) -> dict[str, Any]:
        return {f"row {n}": {f"label {i}": row[i] for i in np.flatnonzero(row)} for n, row in enumerate(rows)}

    dicts, relevant = {name: by_key(scores) for name, scores in TWO.items()}, by_key(TRUTH)
    clusters = {f"row {n}": n % 9 for n in range(N)}
    by_name = compare(relevant, dicts, metrics=["p@1"], test="randomisation", clusters=clusters)
    by_number = compared(TWO, metrics=["p@1"], test="randomisation", clusters=np.arange(N) % 9)
    assert by_name.differences == by_number.differences


def test_predicted_sets_are_compared() -> None:
    other = TRUTH[::-1].copy()
    sets = compare(TRUTH, None, y_pred={"a": TRUTH, "b": other}, metrics=["f1.samples", "hamming_loss"])
    assert [one.better for one in sets.differences] == ["a", "a"]
    assert all(one.outcomes and one.outcomes.losses == 0 for one in sets.differences)
    both = compare(TRUTH, TWO, y_pred={"good": TRUTH, "fair": other}, metrics=["f1.samples", "p@1"])
    assert [one.better for one in both.differences] == ["good", "good"]


def test_signs_are_flipped_with_the_weights_of_rows() -> None:
    options: dict[str, Any] = {"metrics": ["p@1"], "test": "randomisation"}
    weighted = compared(TWO, sample_weight=np.where(np.arange(N) < 9, 1.0, 0.0), **options)
    alone = compared(TWO, slice(9), **options)
    assert weighted.differences[0].p_value == alone.differences[0].p_value


def test_lists_of_different_lengths_are_not_tested_by_deeper_measures() -> None:
    scores = MODELS["good"]
    comparison = compare(TRUTH, {"ten": top(scores, 10), "two": top(scores, 2)}, metrics=["p@1", "p@5"])
    assert [math.isnan(one.p_value) for one in comparison.differences] == [False, True]
    assert comparison.differences[1].value > 0
    assert "so that models whose lists differ are not tested for p@5; if none" in comparison.notes[-1]


@pytest.mark.parametrize("argument", ["exclude", "candidates"])
@pytest.mark.parametrize("form", [sp.csr_array, lambda matrix: as_list(sp.csr_array(matrix))])
@pytest.mark.parametrize("listed", [  # as many labels without label 3, and with it; more than the cutoff
    ([0, 1, 2, 3], [0, 1, 2]), ([0, 1, 2, 3], [0, 1, 2, 4]), ([0, 3], [0]), (range(7), [0, 1, 3]),
], ids=str)  # fmt: skip
def test_lists_are_as_long_as_without_excluded_labels(listed: Any, form: Any, argument: str) -> None:
    gone = np.tile((np.arange(L) == 3).astype(np.uint8), (N, 1))
    options: Any = {"exclude": gone, "exclude_from": "predictions"}
    if argument == "candidates":
        options = {"candidates": 1 - gone}
    whole, without = (
        {name: form(np.where(np.isin(range(L), labels), abs(MODELS[name]) + 1, 0) * part)
         for name, labels in zip(("good", "fair"), listed, strict=True)}
        for part in (1, 1 - gone)
    )  # fmt: skip
    names = ["p@1", "p@2", "p@4"]
    actual, expected = compare(TRUTH, whole, metrics=names, **options), compare(TRUTH, without, metrics=names)
    assert [*map(str, actual.differences)] == [*map(str, expected.differences)]
    notes = [[note for note in each.notes if "lists hold" in note] for each in (actual, expected)]
    assert notes[0] == notes[1]


@pytest.mark.parametrize(("change", "message"), [
    ({"models": [MODELS["good"]]}, "models: list is not a dict of models; give them by name"),
    ({"models": {0: MODELS["good"], 1: MODELS["good"]}}, "models: 0 is not a name"),
    ({"baseline": "goood"}, "'goood' is none of the models good, fair; did you mean good?"),
    ({"test": "bootstrap"}, "test: 'bootstrap' is none of t, randomisation, paired_t, wilcoxon"),
    ({"models": {**TWO, "b": TWO["fair"] * np.nan}}, "y_score of 'b': row 0: "),
    ({"metrics": ["label_cardinality"]}, "none of label_cardinality depends on the models"),
    ({"test": "wilcoxon", "clusters": np.arange(N)}, "'wilcoxon' takes rows that count alike"),
    ({"test": "paired_t", "sample_weight": np.ones(N)}, "which sample_weight= says they are not"),
    ({"confidence": 95}, "confidence: 95 is not a probability"),
    ({"seeds": True}, "'good' is not a list with the scores of each seed"),
    ({"y_pred": {"a": TRUTH, "b": TRUTH}}, "y_pred: has other models (a, b) than good, fair"),
    ({"metrics": ["lrap"], "worst": 3}, "worst: none of lrap has values by label, or a cutoff"),
])  # fmt: skip
def test_compare_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"models": TWO, "metrics": ["p@1"], **change}
    with pytest.raises(ValueError) as raised:
        compare(y_true=TRUTH, **arguments)
    assert message in str(raised.value)


def test_letters_name_the_worse_models() -> None:
    comparison = compared(metrics=["p@1"])
    assert [cell.above.strip() for cell in comparison.tables()[0].rows[1][1:]] == ["bc", "", ""]
    assert "$^{bc}$" in comparison.to_latex()
    assert comparison.to_latex().count("Holm over 3 tests, n = 400 rows") == 2
    assert all("<sup>bc</sup>" in text for text in (comparison.to_markdown(), page_of(comparison)))
    many = {f"m{n}": MODELS["good"] if n else MODELS["fair"] for n in range(28)}
    assert compare(TRUTH, many, metrics=["p@1"], baseline="m0").tables()[0].rows[1][2].above.strip() == "1"


@pytest.mark.parametrize("options", [{}, {"percent": True}])
@pytest.mark.parametrize("models", [MODELS, TWO])
def test_latex_marks_the_best_and_has_one_number_of_digits_a_measure(models: Any, options: Any) -> None:
    comparison = compared(models, metrics=["p@1", "coverage", "ranking_loss"], **GROUPS)
    text = comparison.to_latex(**options)
    lines = text[: text.index(r"\end{tabular}")].splitlines()
    header, *body = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")]
    assert header[1:] == [
        *(["good", "fair", "p (Holm)"] if models == TWO else ["a: good", "b: fair", "c: same"])
    ]
    headings = [cells[0].partition("{l}")[2] for cells in body if len(cells) == 1]
    places = [f"{of}group of labels {name}" for of in ("", "share of ") for name in ("rare", "common")]
    places += ["group of rows de", "group of rows en"]
    assert [heading[1:-1].partition(":")[0] for heading in headings] == places
    values = [cells[1 : 1 + len(models)] for cells in body if len(cells) > 1]
    by_value = [comparison.records()[n : n + len(models)] for n in range(0, 17 * len(models), len(models))]
    for cells, records in zip(values, by_value, strict=True):
        is_up = records[0].spec.metric.direction == "up"
        best, second, *_ = sorted({record.value for record in records}, reverse=is_up)
        hundredfold = bool(options) and records[0].spec.name != "coverage"
        assert [cell.startswith(r"\textbf{") for cell in cells] == [r.value == best for r in records]
        if len(models) > 2:
            assert [cell.startswith(r"\underline{") for cell in cells] == [r.value == second for r in records]
        for cell, record in zip(cells, records, strict=True):
            shown = f"{100 * record.value:.2f}" if hundredfold else f"{record.value:.4f}"
            assert f"{shown} " in cell
    turned = comparison.to_latex(models="rows", **options).splitlines()
    start = turned.index(r"\midrule") + 1
    rows = [line.removesuffix(r" \\").split(" & ") for line in turned[start : start + len(header) - 1]]
    assert [[row[0] for row in rows], *([row[n] for row in rows] for n in (1, 2, 3))] == [
        header[1:], *(cells[1:] for cells in body[:3])
    ]  # fmt: skip
    with pytest.raises(ValueError, match="models: 'column' is neither 'columns' nor 'rows'"):
        comparison.to_latex(models="column")


# ------------------------------------------------------------------ measures with the same differences


@pytest.mark.parametrize("options", [{}, GROUPS])
@pytest.mark.parametrize("test", TESTS)
def test_holm_counts_measures_with_the_same_differences_once(test: str, options: dict[str, Any]) -> None:
    alone = compared(test=test, metrics=["p@1", "p@3"], **options)
    same = ["ndcg@1", "hit@1", "one_error"]
    if test == "t" and not options:  # within groups of labels, sets are those of all labels
        same.append("precision.micro@1")
    comparison = compared(test=test, metrics=["p@1", *same, "p@3"], **options)
    assert comparison.n_tests == alone.n_tests
    for one in comparison.differences:
        tested = not math.isnan(one.p_value)
        first = alone.difference("p@3" if one.name == "p@3" else "p@1", one.a, one.b, one.group, one.kind)
        assert not tested or (one.corrected_p, one.better) == (first.corrected_p, first.better)
        assert one.same_as == ("p@1" if one.name in same and tested else None)
    assert "those with the same differences once" in str(comparison)
    assert "once" not in str(alone)


# -------------------------------------------------------------------------- labels that differ most


@pytest.mark.parametrize(("metric", "column"), [("p@3", "tp@3"), ("f1.macro@3", "f1@3"), ("ap.macro", "ap")])
def test_labels_that_differ_most_are_those_of_diff(metric: str, column: str) -> None:
    (moved,) = compare(TRUTH, TWO, metrics=["lrap", metric], worst=4).labels
    expected = diff(TRUTH, *TWO.values(), metric=metric, worst=4)
    assert (moved.a, moved.b, moved.label_column, moved.labels) == ("good", "fair", column, expected.labels)


def test_labels_that_differ_most_are_in_every_form() -> None:
    names = [f"label {n}" for n in range(L)]
    comparison = compare(TRUTH, MODELS, metrics=["p@3", "lrap"], worst=2, labels=names)
    assert [(moved.a, moved.b) for moved in comparison.labels] == comparison.pairs
    assert comparison.changes is not None
    of_two = diff(TRUTH, *TWO.values(), metric="p@3", worst=2, labels=names)
    changes = comparison.changes.to_dict()
    assert changes == {
        **of_two.to_dict(),
        "changes": {**of_two.to_dict()["changes"], "a": "good", "b": "fair"},
    }
    assert of_two.rows
    assert "list of good" in comparison.to_html()
    records = json.loads(comparison.to_json())["comparison"]["labels"]
    for moved, record in zip(comparison.labels, records, strict=True):
        for one, label in zip(moved.records(), record["labels"], strict=True):
            assert label["difference"] == label["value_a"] - label["value_b"] == -one.change
            assert f"{label['difference']:+.0f}" in str(comparison)
            assert (label["name"], label["support"]) == (f"label {label['number']}", one.support)
            assert all(str(one.name) in text for text in (str(comparison), comparison.to_markdown()))


def test_seeds_are_averaged_with_their_standard_deviation(tmp_path: Path) -> None:
    options: dict[str, Any] = {"metrics": ["p@3"], "worst": L, **GROUPS}
    seeds = {name: [s, s[:, ::-1].copy(), s - s[:, ::-1]] for name, s in TWO.items()}
    mean = compare(TRUTH, seeds, seeds=True, **options)
    each = [compare(TRUTH, {n: s[i] for n, s in seeds.items()}, **options) for i in range(3)]
    values = [one.reports["good"]["p@3"] for one in each]
    assert mean.reports["good"]["p@3"] == pytest.approx(np.mean(values), rel=1e-15)
    for shown in (f"{np.mean(values):.4f} sd {np.std(values, ddof=1):.4f}", "good (3)"):
        assert shown in str(mean)
    of_seeds = json.loads(mean.to_json())["comparison"]["seeds"]["good"]
    assert [one["values"]["p@3"] for one in of_seeds] == values
    for name in ("rare", "de"):
        actual, *parts = (by_group(one)[name][0].value for one in (mean, *each))
        assert actual == pytest.approx(np.mean(parts))
    by_label = [{one.number: one.a for one in part.labels[0].records()} for part in (mean, *each)]
    numbers = {*range(L)}.intersection(*by_label)
    assert numbers
    for number in numbers:
        actual, *parts = (columns[number] for columns in by_label)
        assert actual == pytest.approx(np.mean(parts))
    once = compare(TRUTH, {name: own[:1] for name, own in seeds.items()}, seeds=True, **options)
    assert once.differences == each[0].differences
    (tmp_path / "r.json").write_text(each[0].reports["good"].to_json())
    saved = Report.load(tmp_path / "r.json")
    assert [saved.confidence != {}, Comparison({"a": [saved, saved]}).reports["a"].confidence] == [True, {}]


def test_difference_prints_its_measure_models_and_interval() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((60, 5)) < 0.4).astype(int)
    noise = rng.random(truth.shape)
    compared = compare(truth, {"bert": noise, "tree": noise + truth}, metrics=["p@1"])
    difference = compared.differences[0]
    estimate = difference.estimate
    assert estimate is not None
    interval = f"interval {estimate.lower:.6g} to {estimate.upper:.6g}"
    expected = f"<Difference of p@1: bert - tree = {difference.value:+.6g}, {interval}, "
    assert str(difference).startswith(expected)
    assert str(difference).endswith(f"corrected p {difference.corrected_p:.3g}, tree better>")
