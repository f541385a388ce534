"""Comparisons of models: laws of differences, oracles for intervals and p-values, and what is printed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

from xmleval import compare, evaluate
from xmleval.comparing.differences import OF_ROWS, TESTS, Difference, find_differences
from xmleval.comparing.paired import joint_numbers
from xmleval.input.clusters import folds_of_clusters
from xmleval.records import RowValues
from xmleval.report.compared import Compared
from xmleval.results import Results
from xmleval.spec import parse_spec

N, L = 400, 12
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((N, L)) < 0.25).astype(np.int8)
TRUTH[0] = 0
MODELS = {
    name: (TRUTH * signal + RNG.normal(size=(N, L))).astype(np.float32)
    for name, signal in (("good", 2.0), ("fair", 1.2), ("same", 1.2))
}
TWO = {name: MODELS[name] for name in ("good", "fair")}
MEASURES = ["p@1", "ndcg@3", "ranking_loss", "psp@3", "f1.macro@3", "auc.micro", "peak_f1.micro", "ap.macro"]
Q: dict[str, Any] = {"inverse_propensity": np.linspace(1, 9, L)}


def compared(models: Any = MODELS, **more: Any) -> Compared:
    return compare(models, TRUTH, **{"metrics": MEASURES, **Q, **more})


def numbers(one: Difference) -> list[float]:
    found = one.estimate
    return [one.value, one.p_value, one.corrected_p, *(found or [math.nan])]


@pytest.mark.parametrize("test", TESTS)
def test_swapping_the_models_negates(test: str) -> None:
    forth = compared(TWO, test=test).differences
    back = compared(dict(reversed(TWO.items())), test=test).differences
    for one, other in zip(forth, back, strict=True):
        assert (one.name, one.a, one.b) == (other.name, other.b, other.a)
        assert (one.value, one.better) == (-other.value, other.better)
        np.testing.assert_array_equal([one.p_value, one.corrected_p], [other.p_value, other.corrected_p])
        assert (one.outcomes is None) == (other.outcomes is None)
        if one.outcomes and other.outcomes:
            assert [*one.outcomes] == [*other.outcomes][::-1]
        if one.estimate and other.estimate:
            assert (one.estimate.lower, one.estimate.upper) == (-other.estimate.upper, -other.estimate.lower)


@pytest.mark.parametrize("test", TESTS)
def test_a_model_does_not_differ_from_itself(test: str) -> None:
    found = compared({"a": MODELS["good"], "b": MODELS["good"].copy()}, test=test)
    for one in found.differences:
        assert one.value == 0
        assert one.better is None
        assert one.p_value == 1 or math.isnan(one.p_value)
        if one.outcomes is not None:
            assert (one.outcomes.wins, one.outcomes.losses) == (0, 0)
    assert "*" not in str(found).split("\n\n")[0].split("\n", 1)[1]
    assert "no difference seen" in str(found)


@pytest.mark.parametrize("more", [{}, {"block_rows": 90, "threads": 2}])
@pytest.mark.parametrize("exclude", [None, sp.csr_matrix(np.eye(N, L))])
def test_models_that_share_a_truth_have_their_own_values(exclude: Any, more: Any) -> None:
    order = {name: np.argsort(-scores, axis=1) for name, scores in MODELS.items()}
    # lists of several lengths, so that blocks of rows and depths are not the same for all
    models = {
        name: (own[:, :k], np.tile(np.arange(k, 0, -1.0), (N, 1)))
        for (name, own), k in zip(order.items(), (3, 3, 8), strict=True)
    }
    options = {
        "metrics": ["p@1", "ndcg@5", "psp@3", "psndcg@5", "f1.micro@3"],
        **Q,
        **more,
        "exclude": exclude,
    }
    found = compare(models, sp.csr_matrix(TRUTH), confidence=0.95, **options)
    for name, scores in models.items():
        alone = evaluate(TRUTH, scores, confidence=0.95, per_row=True, **options)
        assert dict(found.reports[name]) == dict(alone)
        assert found.reports[name].standard_errors == alone.standard_errors
        for measure, rows in alone.results.rows.items():
            np.testing.assert_array_equal(found.reports[name].results.rows[measure], rows)


def test_intervals_are_those_of_values_without_each_fold() -> None:
    found = compared()
    for one in found.differences:
        own, other = (found.reports[name].results.replicates.get(one.name) for name in (one.a, one.b))
        if one.name == "peak_f1.micro":
            assert own is None
            assert one.estimate is None
            assert math.isnan(one.p_value)
            continue
        assert own is not None
        assert other is not None
        without = own - other
        n = without.size
        error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
        half = scipy.stats.t.ppf(0.975, n - 1) * error
        assert one.estimate is not None
        np.testing.assert_allclose(
            one.estimate[:4], [one.value - half, one.value + half, half, error], rtol=1e-9
        )
        np.testing.assert_allclose(
            one.p_value, 2 * scipy.stats.t.sf(abs(one.value) / error, n - 1), rtol=1e-9
        )
        assert (one.p_value < 0.05) == (abs(one.value) > half)


def test_replicates_are_those_of_rows_left_out_one_group_at_a_time() -> None:
    clusters = np.arange(N) % 7
    measures = ["ndcg@3", "psp@3", "f1.macro@3", "auc.micro"]
    found = compared(TWO, clusters=clusters, metrics=measures)
    folds = folds_of_clusters(clusters, N)
    for one in found.differences:
        without = []
        for fold in np.unique(folds):
            kept = folds != fold
            values = [
                evaluate(TRUTH[kept], scores[kept], metrics=[one.name], **Q)[one.name]
                for scores in TWO.values()
            ]
            without.append(values[0] - values[1])
        n = len(without)
        error = math.sqrt((n - 1) / n * float(np.sum((np.array(without) - np.mean(without)) ** 2)))
        assert one.estimate is not None
        assert one.estimate.n_folds == n
        np.testing.assert_allclose(one.estimate.standard_error, error, rtol=1e-9)


def test_groups_by_name_are_flipped_whole() -> None:
    clusters = np.arange(N) % 7
    codes = [str(cluster) for cluster in clusters]
    by_name = compared(TWO, clusters=codes, metrics=["ndcg@3"], test="randomisation")
    assert by_name.differences[0].p_value == 2 / 2**7  # all signs of seven clusters, one model always better


@pytest.mark.parametrize(
    ("test", "oracle"),
    [
        ("paired_t", lambda a, b: scipy.stats.ttest_rel(a, b).pvalue),
        ("wilcoxon", lambda a, b: scipy.stats.wilcoxon(np.round(a - b, 12)).pvalue),
        (
            "randomisation",
            lambda a, b: (
                scipy.stats.permutation_test(
                    (a - b,), np.mean, permutation_type="samples", n_resamples=4999, rng=1
                ).pvalue
            ),
        ),
    ],
)
def test_tests_of_rows_are_those_of_scipy(test: str, oracle: Any) -> None:
    found = compared({"same": MODELS["same"], "fair": MODELS["fair"]}, test=test)
    rows = {name: report.per_row() for name, report in found.reports.items()}
    tested = {one.name: one for one in found.differences if not math.isnan(one.p_value)}
    assert {"p@1", "ndcg@3", "ranking_loss"} == {*tested}
    for name, one in tested.items():
        a, b = rows["same"][name], rows["fair"][name]
        known = ~np.isnan(a)
        wanted = oracle(a[known], b[known])
        np.testing.assert_allclose(
            one.p_value, wanted, rtol=0 if test == "randomisation" else 1e-9, atol=0.03
        )
        assert one.n_rows == int(known.sum())
    assert "as no mean over rows: psp@3, f1.macro@3" in str(found)


def test_all_tests_are_corrected_together() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for more in ({}, {"baseline": "fair"}, {"test": "paired_t"}):
        found = compared(**more)
        p = np.array([one.p_value for one in found.differences])
        corrected = np.array([one.corrected_p for one in found.differences])
        np.testing.assert_array_equal(np.isnan(p), np.isnan(corrected))
        np.testing.assert_allclose(
            corrected[~np.isnan(p)], multitest.multipletests(p[~np.isnan(p)], method="holm")[1]
        )
        assert found.n_tests == np.count_nonzero(~np.isnan(p))
        for one in found.differences:
            assert (one.better is not None) == (one.corrected_p < 0.05)


def test_smaller_losses_are_better() -> None:
    found = compared(TWO)
    for name in ("p@1", "ranking_loss"):
        one = found.difference(name, "good", "fair")
        assert one.better == "good"
        assert one.outcomes is not None
        assert one.outcomes.wins > one.outcomes.losses
    assert (
        found.difference("ranking_loss", "good", "fair").value
        < 0
        < found.difference("P@1", "good", "fair").value
    )
    with pytest.raises(KeyError, match="compared are good - fair"):
        found.difference("p@1", "fair", "good")


def test_a_baseline_is_subtracted_from_each_other_model() -> None:
    assert compared(baseline="fair").pairs == [("good", "fair"), ("same", "fair")]
    assert compared().pairs == [("good", "fair"), ("good", "same"), ("fair", "same")]


@pytest.mark.parametrize("more", [{}, {"clusters": np.arange(N) // 2}, {"sample_weight": np.arange(N) % 3}])
@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_no_bit_depends_on_blocks_or_threads(test: str, more: dict[str, Any]) -> None:
    first = compared(test=test, **more)
    for other in (
        compared(test=test, threads=1, block_rows=7, **more),
        compared(test=test, threads=2, block_rows=64, **more),
    ):
        for one, own in zip(first.differences, other.differences, strict=True):
            np.testing.assert_array_equal(numbers(one), numbers(own))


def test_a_truth_that_is_checked_once_gives_the_values_of_evaluate() -> None:
    for truth in (TRUTH, sp.csr_array(TRUTH), TRUTH.tolist()):
        found = compare(TWO, truth, metrics=MEASURES, y_train=TRUTH[:50])
        for name, scores in TWO.items():
            alone = evaluate(truth, scores, metrics=MEASURES, y_train=TRUTH[:50], confidence=0.95)
            assert dict(found.reports[name]) == dict(alone)
            assert found.reports[name].confidence == alone.confidence


@pytest.mark.parametrize("depth", [3, 10])
def test_outcomes_are_those_of_the_values_of_rows(depth: int) -> None:
    lists = {name: (np.argsort(-own)[:, :depth], -np.sort(-own)[:, :depth]) for name, own in MODELS.items()}
    asked = ["p@1", f"ndcg@{depth}", f"r@{depth}", "mrr@2"]
    found = compared(lists, metrics=[*asked, "psp@3"])
    for name, own in lists.items():  # without propensities, hits are found in another way
        alone = evaluate(TRUTH, own, metrics=asked, per_row=True).per_row()
        rows = found.reports[name].per_row()
        assert {*rows} == {*asked}
        for measure in asked:
            np.testing.assert_array_equal(rows[measure], alone[measure])
    for one in found.differences:
        if one.name in asked:
            a, b = (found.reports[name].per_row()[one.name] for name in (one.a, one.b))
            assert one.outcomes == ((a > b).sum(), (a == b).sum(), (a < b).sum())


def test_many_different_rows_are_compared_one_by_one() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((2, 300))
    a, b = (RowValues(own, rng.permutation(300)) for own in values)
    assert joint_numbers(a.of, b.of, 300, 300) is None
    one, other = np.asarray(a), np.asarray(b)
    found = find_differences(
        {"a": Results({"p@1": 0.5}, rows={"p@1": a}), "b": Results({"p@1": 0.4}, rows={"p@1": b})},
        [("a", "b")], [parse_spec("p@1")], 0.95,
    )  # fmt: skip
    assert found[0].outcomes == ((one > other).sum(), 0, (one < other).sum())


def test_names_of_rows_and_labels_are_matched() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"label {n}" for n in range(L)]
    truth = pandas.DataFrame(TRUTH, columns=names)
    models = {name: pandas.DataFrame(scores, columns=names).iloc[:, ::-1] for name, scores in TWO.items()}
    found = compare(models, truth, metrics=["p@1"])
    assert found.differences[0] == compared(TWO, metrics=["p@1"]).differences[0]
    lists = {
        name: {f"row {n}": {names[i]: float(row[i]) for i in range(L)} for n, row in enumerate(scores)}
        for name, scores in TWO.items()
    }
    relevant = {f"row {n}": [names[i] for i in np.flatnonzero(row)] for n, row in enumerate(TRUTH)}
    clusters = {f"row {n}": n % 9 for n in range(N)}
    found = compare(lists, relevant, metrics=["p@1"], test="randomisation", clusters=clusters)
    wanted = compared(TWO, metrics=["p@1"], test="randomisation", clusters=np.arange(N) % 9)
    np.testing.assert_array_equal(numbers(found.differences[0]), numbers(wanted.differences[0]))


def test_sets_are_compared() -> None:
    sets = {"a": TRUTH, "b": TRUTH[::-1].copy()}
    found = compare(None, TRUTH, y_pred=sets, metrics=["f1.samples", "hamming_loss"])
    assert [one.better for one in found.differences] == ["a", "a"]
    both = compare(TWO, TRUTH, y_pred={"good": TRUTH, "fair": sets["b"]}, metrics=["f1.samples", "p@1"])
    assert [one.better for one in both.differences] == ["good", "good"]


def test_rows_with_weights_are_flipped_with_them() -> None:
    weight = np.where(np.arange(N) < 9, 1.0, 0.0)
    found = compared(TWO, metrics=["p@1"], test="randomisation", sample_weight=weight)
    alone = compare(
        {name: scores[:9] for name, scores in TWO.items()}, TRUTH[:9], metrics=["p@1"], test="randomisation"
    )
    assert found.differences[0].p_value == alone.differences[0].p_value


def test_lists_of_other_depth_are_not_tested() -> None:
    order = np.argsort(-MODELS["good"], axis=1).astype(np.int32)
    lists = {
        "ten": (order[:, :10], np.take_along_axis(MODELS["good"], order, 1)[:, :10]),
        "two": (order[:, :2], np.take_along_axis(MODELS["good"], order, 1)[:, :2]),
    }
    found = compare(lists, TRUTH, metrics=["p@1", "p@5"])
    assert [math.isnan(one.p_value) for one in found.differences] == [False, True]
    assert found.differences[1].value > 0
    assert found.notes[-1].endswith("so that models whose lists differ are not tested for p@5")


def test_seeds_are_averaged_and_told_apart() -> None:
    seeds = {
        name: [TRUTH * signal + np.random.default_rng(seed).normal(size=(N, L)) for seed in range(3)]
        for name, signal in (("good", 1.5), ("fair", 1.2))
    }
    found = compare(seeds, TRUTH, metrics=["p@1", "f1.macro@3"], seeds=True)
    values = [evaluate(TRUTH, scores, metrics=["p@1"])["p@1"] for scores in seeds["good"]]
    assert math.isclose(found.reports["good"]["p@1"], float(np.mean(values)))
    text = str(found)
    assert f"{np.mean(values):.4f} sd {np.std(values, ddof=1):.4f}" in text
    assert "over (n) seeds, which ± does not cover" in text
    assert "good (3)" in text
    held = json.loads(found.to_json())["comparison"]["seeds"]["good"]
    assert [one["values"]["p@1"] for one in held] == values
    once = compare({name: own[:1] for name, own in seeds.items()}, TRUTH, metrics=["p@1"], seeds=True)
    assert (
        once.differences == compare({n: s[0] for n, s in seeds.items()}, TRUTH, metrics=["p@1"]).differences
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"models": [MODELS["good"]]}, "models: list is not a dict; give models by name"),
        ({"models": {"a": MODELS["good"]}}, "models: 1 given; expected two or more"),
        ({"models": {0: MODELS["good"], 1: MODELS["good"]}}, "models: 0 is not a name"),
        ({"baseline": "goood"}, "'goood' is none of the models good, fair, same; did you mean good?"),
        ({"test": "random"}, "randomisation, paired_t, wilcoxon; did you mean randomisation?"),
        ({"test": "bootstrap"}, "test: 'bootstrap' is none of t, randomisation, paired_t, wilcoxon"),
        (
            {"models": {"a": MODELS["good"], "b": MODELS["fair"][1:]}},
            "y_score of 'b': 399 rows do not match the 400",
        ),
        ({"models": {"a": MODELS["good"], "b": MODELS["fair"] * np.nan}}, "y_score of 'b': row 0: "),
        ({"metrics": ["label_cardinality"]}, "none of label_cardinality depends on the models"),
        ({"test": "wilcoxon", "clusters": np.arange(N)}, "'wilcoxon' takes rows that count alike"),
        ({"confidence": 95}, "confidence: 95 is not a probability"),
        ({"confidence": None}, "confidence: None; a comparison needs a probability"),
        ({"seeds": True}, "'good' is not a list with the scores of each seed"),
        ({"y_pred": {"a": TRUTH, "b": TRUTH}}, "y_pred: has other models (a, b) than good, fair, same"),
    ],
)
def test_refusals_name_the_argument(change: dict[str, Any], told: str) -> None:
    more = {"models": MODELS, "metrics": ["p@1"], **change}
    with pytest.raises(ValueError) as caught:
        compare(more.pop("models"), TRUTH, **more)
    assert told in str(caught.value)
    assert not str(caught.value).endswith(("; ", ";"))


def test_measures_of_the_truth_alone_are_not_compared() -> None:
    found = compared(TWO, metrics=["p@1", "label_cardinality"])
    assert [one.name for one in found.differences] == ["p@1"]
    assert "cardinality" not in str(found)


def test_an_option_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="metric"):
        compare(TWO, TRUTH, metric=["p@1"])


def test_letters_tell_which_models_are_worse() -> None:
    found = compared(metrics=["p@1"])
    cells = found.grid()[1][1:]
    assert [cell.above.strip() for cell in cells] == ["bc", "", ""]
    assert "$^{bc}$" in found.to_latex()
    assert "<sup>bc</sup>" in found.to_markdown()
    assert "<sup>bc</sup>" in found._repr_html_()
    assert found.to_latex().count("Holm over 3 tests, n = 400 rows") == 2
    many = {f"m{n}": MODELS["good"] if n else MODELS["fair"] for n in range(28)}
    assert compare(many, TRUTH, metrics=["p@1"], baseline="m0").grid()[1][2].above.strip() == "1"


def test_every_form_has_every_difference() -> None:
    found = compared()
    n = len(found.differences)
    lines = found.to_csv().splitlines()
    assert len(lines) == n + 1
    assert lines[0].startswith("name,symbol,direction,a,b,value_a,value_b,difference,standard_error")
    records = json.loads(found.to_json())["comparison"]["differences"]
    assert [(one["name"], one["a"], one["difference"]) for one in records] == [
        (one.name, one.a, one.value) for one in found.differences
    ]
    for shown in (str(found), found.to_text(60), found.to_markdown(), found._repr_html_()):
        assert shown.count("no difference seen") == sum(
            not math.isnan(one.p_value) and one.better is None for one in found.differences
        )
        assert "over test rows, not over training" in shown
    assert max(map(len, found.to_text(80).splitlines())) <= 80
    assert "no standard error of maxima, extremes and counts: peak_f1.micro" in str(found)


def test_a_frame_has_a_row_for_each_difference() -> None:
    pytest.importorskip("pandas")
    frame = compared(TWO).to_frame()
    assert frame.loc["p@1", "better"] == "good"
    assert len(frame) == len(MEASURES)


def test_all_tests_of_rows_are_offered() -> None:
    assert {*OF_ROWS} | {"t"} == {*TESTS}
