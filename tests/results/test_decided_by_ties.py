"""What the order of equal scores decides, in `compare`, `rank`, `check`, `trend` and `diff`."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import (
    Comparison,
    Diff,
    Evaluator,
    Ranking,
    Running,
    check,
    compare,
    diff,
    evaluate,
    rank,
    scan,
    trend,
)
from xmleval.metrics import TABLE

FORMS = ["to_text", "to_markdown", "to_json", "to_html"]
RESULTS = ["p@2", "ndcg@3", "mrr@3", "map@3", "rprec", "hit@2", "one_error", "ndcg@all"]


def tied_problem(seed: int, n_rows: int = 12, n_labels: int = 5) -> tuple[Any, dict[str, Any]]:
    """Return a truth, and a model without equal scores and two with many."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n_rows, n_labels)) < 0.4).astype(int)
    truth[:, 0] |= ~truth.any(axis=1)
    sure = rng.random(truth.shape) + 0.5 * truth
    some = rng.integers(0, 4, truth.shape) / 4 + 0.25 * truth
    few = np.round(rng.random(truth.shape) + 0.3 * truth)
    return truth, {"sure": sure, "some": some, "few": few}


def ends_of_row(truth: Any, scores: Any, metric: str) -> tuple[float, float]:
    """Return the smallest and the largest value of a row over all orders of equal scores."""
    values = []
    for order in itertools.permutations(range(scores.size)):
        ranking = scores[list(order)]
        if (ranking[1:] <= ranking[:-1]).all():
            lists = np.array([order])
            values.append(evaluate(truth[None], (lists, None), metrics=metric)[metric])
    return min(values), max(values)


def share_pairs(values: dict[str, float], tied: Any) -> dict[str, float]:
    """Return 1 + the number of better models + half the number of tied ones, by model."""
    ranks = {}
    for name, value in values.items():
        ranks[name] = 1.0
        for other, other_value in values.items():
            if other == name:
                continue
            is_tied = {name, other} in tied or value == other_value
            ranks[name] += 0.5 if is_tied else other_value > value
    return ranks


def notes_on_ties(notes: list[str]) -> list[str]:
    return [note for note in notes if "decided by ties" in note]


@pytest.mark.parametrize("seed", range(3))
def test_rank_ties_pairs_whose_bands_overlap(seed: int) -> None:
    data_sets = {f"d{n}": tied_problem(10 * seed + n) for n in range(3)}
    bands = {}
    for name, (truth, models) in data_sets.items():
        for model, scores in models.items():
            report = evaluate(truth, scores, metrics="ndcg@3", conventions="ties=band")
            bands[name, model] = report.intervals["ndcg@3"]
    ranking = rank(data_sets, "ndcg@3")
    n_decided = 0
    for name in data_sets:
        tied = []
        for a, b in itertools.combinations(ranking.average_ranks, 2):
            low_a, high_a = bands[name, a]
            low_b, high_b = bands[name, b]
            if low_a <= high_b and low_b <= high_a:
                tied.append({a, b})
        pairs = {frozenset(pair) for pair in ranking.decided_by_ties.get(name, [])}
        assert pairs == {frozenset(pair) for pair in tied}
        assert ranking.ranks[name] == share_pairs(ranking.values[name], tied)
        n_decided += len(tied)
    assert n_decided
    (note,) = notes_on_ties(ranking.notes)
    assert "so they count as tied there" in note


def test_rank_corrects_for_pairs_that_share_ranks() -> None:
    data_sets = {f"d{n}": tied_problem(n) for n in range(4)}
    ranking = rank(data_sets, "ndcg@3")
    ranks = np.array([[*row.values()] for row in ranking.ranks.values()])
    n, k = ranks.shape
    sums = ranks.sum(0) - n * (k + 1) / 2
    expected = (k - 1) * (sums**2).sum() / ((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
    assert ranking.corrected["friedman"].statistic == pytest.approx(expected)


def test_ranks_of_bands_are_those_in_which_bands_overlap_and_expected_ones_are_not() -> None:
    data_sets = {f"d{n}": tied_problem(n) for n in range(3)}
    band = rank(data_sets, "p@2", conventions="ties=band")
    expected = rank(data_sets, "p@2", conventions="ties=expected")
    assert band.decided_by_ties == rank(data_sets, "p@2").decided_by_ties != {}
    assert band.values["d0"] == pytest.approx({**expected.values["d0"]})
    assert not expected.decided_by_ties
    assert not notes_on_ties(expected.notes)
    for name, ranks in expected.ranks.items():
        assert ranks == share_pairs(expected.values[name], [])


def test_rank_takes_bounds_of_comparisons_and_of_their_files(tmp_path: Path) -> None:
    data_sets = {f"d{n}": tied_problem(n) for n in range(2)}
    evaluated = rank(data_sets, "p@2")
    compared: dict[str, Any] = {
        name: compare(truth, models, metrics="p@2") for name, (truth, models) in data_sets.items()
    }
    (tmp_path / "d0.json").write_text(compared["d0"].to_json())
    for first in (compared["d0"], tmp_path / "d0.json"):
        ranking = rank({**compared, "d0": first}, "p@2")
        assert ranking.ranks == evaluated.ranks
        assert ranking.decided_by_ties == evaluated.decided_by_ties


def test_ranks_decided_by_ties_are_in_every_form(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    data_sets = {f"d{n}": tied_problem(n) for n in range(2)}
    ranking = rank(data_sets, "p@2")
    for form in FORMS:
        assert "decided by ties" in getattr(ranking, form)(), form
        assert "decided by ties" in getattr(rank(data_sets, ["p@2", "mrr@3"]), form)(), form
    (tmp_path / "r.json").write_text(ranking.to_json())
    loaded = Ranking.load(tmp_path / "r.json")
    assert loaded.decided_by_ties == ranking.decided_by_ties
    assert loaded.to_json() == ranking.to_json()


def test_rank_says_nothing_of_numbers_and_own_measures() -> None:
    truth, models = tied_problem(0)
    reports = {name: evaluate(truth, each, metrics="p@1") for name, each in models.items()}
    numbers = {name: report["p@1"] for name, report in reports.items()}
    ranking = rank({"a": numbers, "b": {**numbers, "few": reports["few"]}}, "p@1")
    assert not ranking.decided_by_ties


def test_compare_does_not_test_models_whose_bands_overlap() -> None:
    truth, models = tied_problem(1, 60)
    band = compare(truth, models, metrics=["p@1", "ndcg@3"], conventions="ties=band")
    in_order = compare(truth, models, metrics=["p@1", "ndcg@3"])
    for by_band, by_order in zip(band.differences, in_order.differences, strict=True):
        assert np.isnan(by_band.p_value) == np.isnan(by_order.p_value)
    assert notes_on_ties(band.notes) == notes_on_ties(in_order.notes) != []
    assert band["few"].tie_bounds == band["few"].intervals
    assert {*in_order["few"].tie_bounds} == {"p@1", "ndcg@3"}


def banded(**options: Any) -> Any:
    """Return a report of P@1 and coverage, whose bands are 0.25 to 0.75 and 0.5 to 1.5."""
    truth = np.eye(3, dtype=int)[[0, 1, 2, 0]]
    scores = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 2, 1]]) / 2
    names = ["p@1", "one_error", "f1.samples@1"]
    return evaluate(truth, scores, metrics=names, conventions="ties=band", **options)


def test_check_holds_every_order_of_equal_scores_to_limits() -> None:
    report = banded()
    assert report.intervals["p@1"] == (0.25, 0.75)
    assert check(report, min={"p@1": 0.25}, max={"p@1": 0.75, "one_error": 0.75})
    failed = check(
        report, min={"p@1": 0.5, "one_error": 0.3, "f1.samples@1": 0.5}, max={"one_error": 0.7}
    )
    assert str(failed).splitlines() == [
        "p@1 is decided by ties: 0.25 in one order of equal scores, 0.75 in another; "
        "the minimum is 0.5",
        "one_error is decided by ties: 0.25 in one order of equal scores, 0.75 in another; "
        "the minimum is 0.3",
        "one_error is decided by ties: 0.75 in one order of equal scores, 0.25 in another; "
        "the maximum is 0.7",
    ]
    assert [failure.value for failure in failed.failures] == [0.25, 0.25, 0.75]
    (failure,) = check(report, min={"p@1": 0.8}).failures
    assert failure.reason == (
        "p@1 is below the minimum 0.8 in every order of equal scores: at most 0.75"
    )
    (failure,) = check(report, max={"p@1": 0.1}).failures
    assert failure.reason == (
        "p@1 is above the maximum 0.1 in every order of equal scores: at least 0.25"
    )


def test_check_holds_bands_of_groups_and_of_saved_results(tmp_path: Path) -> None:
    report = banded(row_groups=["x", "x", "y", "y"])
    (tmp_path / "r.json").write_text(report.to_json())
    for results in (report, tmp_path / "r.json"):
        assert check(results, min={"x:p@1": 0.5, "row_groups y:p@1": 0})
        for name in ("x:p@1", "row_groups x:p@1"):
            (failure,) = check(results, min={name: 0.6}).failures
            assert failure.reason.startswith(f"{name} is decided by ties: 0.5 in one order")
    failed = check(report, min={"p@1": 0.5}).to_markdown()
    assert "| p@1 is decided by ties: 0.25 in one order of equal scores, 0.75 in another" in failed


def test_check_compares_means_over_orders_with_earlier_ones() -> None:
    truth, models = tied_problem(2)
    reports = {
        name: evaluate(truth, scores, metrics="p@1", conventions="ties=band")
        for name, scores in models.items()
    }
    assert check(reports["few"], no_worse_than=reports["few"])
    worse, better = sorted(("some", "few"), key=lambda name: reports[name]["p@1"])
    (failure,) = check(reports[worse], no_worse_than=reports[better]).failures
    overlap = "; decided by ties: values over all orders of equal scores overlap"
    assert failure.reason.endswith(overlap)
    constant = np.zeros(truth.shape)
    wrong = evaluate(truth, -1.0 * truth, metrics="p@1", conventions="ties=band")
    right = evaluate(truth, truth + models["sure"], metrics="p@1", conventions="ties=band")
    (failure,) = check(wrong, no_worse_than=right).failures
    assert "ties" not in failure.reason
    in_order = evaluate(truth, constant, metrics="p@1", conventions="ties=expected")
    assert check(in_order, min={"p@1": in_order["p@1"]})


def test_trend_marks_days_whose_bands_are_beyond_limits() -> None:
    days = trend({"one": banded(), "two": banded()}, "p@1", min={"p@1": 0.5})
    assert [record.holds for record in days.records()] == [False, False]
    (failure,) = days.failures["one"]
    assert failure.reason.startswith("p@1 is decided by ties")


@pytest.mark.parametrize("ties", ["order", "band"])
@pytest.mark.parametrize("metric", RESULTS)
def test_diff_says_which_changes_of_rows_ties_decide(metric: str, ties: str) -> None:
    truth, models = tied_problem(3)
    pair = models["some"], models["few"]
    changes = diff(truth, *pair, metric=metric, conventions={"ties": ties})
    assert changes.rows
    for row in changes.rows:
        ends = [ends_of_row(truth[row.number], scores[row.number], metric) for scores in pair]
        assert row.tie_bounds_a == pytest.approx(ends[0])
        assert row.tie_bounds_b == pytest.approx(ends[1])
        (low_a, high_a), (low_b, high_b) = ends
        has_orders = high_a > low_a + 1e-9 or high_b > low_b + 1e-9
        includes_0 = low_a - high_b <= 1e-9 and low_b - high_a <= 1e-9
        assert row.decided_by_ties == (has_orders and includes_0)
    assert changes.n_decided_by_ties == sum(row.decided_by_ties or 0 for row in changes.rows)
    assert changes.n_decided_by_ties


def test_diff_has_no_ties_in_means_over_orders() -> None:
    truth, models = tied_problem(3)
    pair = models["sure"], models["some"]
    changes = diff(truth, *pair, metric="p@2", conventions="ties=expected")
    report = evaluate(truth, pair[1], metrics="p@2", conventions="ties=expected", per_row=True)
    assert changes.rows
    for row in changes.rows:
        assert row.b == report.per_row()["p@2"][row.number]
        assert row.decided_by_ties is None
    assert changes.n_decided_by_ties is None
    assert not notes_on_ties(changes.notes)
    assert any("does not change tp@2 by label: equal scores keep" in note for note in changes.notes)


def test_diff_of_models_without_ties_says_nothing_of_them() -> None:
    truth, models = tied_problem(3)
    changes = diff(truth, models["sure"], models["sure"][::-1], metric="p@2")
    assert changes.n_decided_by_ties is None
    assert "ties" not in str(changes)
    assert "decided_by_ties" not in changes.to_json()


def test_changes_decided_by_ties_are_in_every_form(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    jsonschema = pytest.importorskip("jsonschema")
    from tests.results.test_schema import VALIDATOR

    truth, models = tied_problem(3)
    changes = diff(truth, models["some"], models["few"], metric="p@2", worst=4)
    assert changes.rows
    n_changed = np.array(changes.n_changed)[[0, 2]].sum()
    note = (
        f"{changes.n_decided_by_ties} of {n_changed} rows that changed by p@2 are decided by ties"
    )
    for form in FORMS:
        assert note in getattr(changes, form)(), form
    assert str(changes).count("; decided by ties") == sum(
        row.decided_by_ties or 0 for row in changes.rows
    )
    assert "which of a and b is better changes with the order of equal scores for p@2" in str(
        changes
    )
    assert changes.to_csv().splitlines()[0].endswith(",decided_by_ties")
    jsonschema.validate(json.loads(changes.to_json()), VALIDATOR.schema)
    (tmp_path / "d.json").write_text(changes.to_json())
    loaded = Diff.load(tmp_path / "d.json")
    for form in ["to_text", "to_markdown", "to_json", "to_csv", "to_latex"]:
        assert getattr(loaded, form)() == getattr(changes, form)(), form


def test_changes_of_a_comparison_say_what_ties_decide(tmp_path: Path) -> None:
    truth, models = tied_problem(3)
    compared = compare(truth, models, metrics=["p@2", "ndcg@3"], worst=4)
    expected = diff(truth, models["sure"], models["some"], metric="p@2", worst=4)
    assert compared.changes is not None
    assert compared.changes.rows == expected.rows
    (tmp_path / "c.json").write_text(compared.to_json())
    loaded = Comparison.load(tmp_path / "c.json")
    assert loaded.changes is not None
    assert loaded.changes.rows == expected.rows
    assert loaded.changes.n_decided_by_ties == expected.n_decided_by_ties


def test_rows_of_files_and_saved_states_have_the_same_bands(tmp_path: Path) -> None:
    truth, models = tied_problem(4, 30)
    truth_paths = [tmp_path / "y" / f"{n}.npy" for n in range(3)]
    for name, each in {"y": truth, **models}.items():
        (tmp_path / name).mkdir()
        for n, rows in enumerate(np.split(each, [7, 19])):
            np.save(tmp_path / name / f"{n}.npy", rows)
    assert truth_paths[0].exists()
    in_memory = diff(truth, models["some"], models["few"], metric="ndcg@3")
    paths = [scan(tmp_path / name, format="dense") for name in ("some", "few")]
    in_files = diff(scan(tmp_path / "y", format="dense"), *paths, metric="ndcg@3")
    assert in_memory.rows
    assert in_files.rows
    for row, same in zip(in_memory.rows, in_files.rows, strict=True):
        assert (row.number, row.tie_bounds_a, row.tie_bounds_b) == (
            same.number,
            same.tie_bounds_a,
            same.tie_bounds_b,
        )
    options: dict[str, Any] = {"conventions": "ties=band", "per_row": True}
    whole = evaluate(truth, models["few"], metrics="ndcg@3", **options)
    parts = list[Evaluator]()
    for n, rows in enumerate(np.split(np.arange(30), [7, 19])):
        evaluator = Evaluator("ndcg@3", n_labels=5, **options)
        evaluator.update(truth[rows], models["few"][rows], first_row=int(rows[0]))
        evaluator.save(tmp_path / f"{n}.state")
        parts.append(Evaluator.load(tmp_path / f"{n}.state"))
    first, *added = parts
    for part in added:
        first.merge(part)
    merged = first.compute()
    for mine, theirs in zip(
        merged.results.row_intervals["ndcg@3"], whole.results.row_intervals["ndcg@3"], strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def names_of_measures() -> list[str]:
    """Return every measure of predictions, by each average and with or without a cutoff."""
    values = {"share": "0.5", "max_grade": "4", "bins": "5", "limit": "8", "count": "9"}
    cutoffs = {"none": [""], "required": ["@2"], "optional": ["", "@2"], "all": ["@all"]}
    names = []
    for metric in TABLE:
        for average in metric.averages or ("",):
            texts = {name: param.words[:1] for name, param in metric.params.items()}
            params = ",".join(
                f"{name}={words[0] if words else values.get(name, '0.5')}"
                for name, words in texts.items()
            )
            middle = f".{average}" * bool(average) + f"({params})" * bool(params)
            if "probabilities" not in metric.needs and "training" not in metric.needs:
                names += [f"{metric.name}{middle}{cutoff}" for cutoff in cutoffs[metric.cutoff]]
    return names


def test_measures_that_change_with_the_order_of_equal_scores_are_named() -> None:
    rng = np.random.default_rng(1)
    grades = rng.integers(-1, 4, (40, 6))
    truth = csr_array(np.where(grades < 0, 0, grades + 1))
    truth.data -= 1  # grade 0 is judged, a missing cell is not
    scores = rng.integers(0, 3, grades.shape) / 2
    reports = []
    for order in (np.arange(6), np.arange(6)[::-1]):
        lists = np.array([np.lexsort((order, -row)) for row in scores])
        reports.append(
            evaluate(
                truth,
                (lists, np.take_along_axis(scores, lists, 1)),
                metrics=names_of_measures(),
                n_labels=6,
                conventions="gains=linear,ties=expected",
                decision="top2",
                inverse_propensity=np.linspace(1, 3, 6),
                hierarchy=csr_array(([1.0, 1], ([1, 2], [0, 0])), shape=(6, 6)),
            )
        )
    first, second = reports
    (note,) = [note for note in first.notes if "equal scores keep their order there" in note]
    changed = {
        name
        for name in first
        if not np.isclose(first[name], second[name], rtol=1e-9, equal_nan=True)
    }
    named = {*note.partition("does not change ")[2].partition(":")[0].split(", ")}
    assert changed <= named
    expected = {"bpref", "iprec(recall=0.5)", "map_11pt", "err(max_grade=4)@2", "aurc@2"}
    assert {*expected, "f1.samples", "f1.samples@2", "hamming_loss"} <= named


@pytest.mark.parametrize("ties", ["expected", "band"])
def test_measures_that_keep_the_order_are_noted_in_every_form(ties: str) -> None:
    pytest.importorskip("jinja2")
    truth = np.array([[2, 1, 0], [1, 2, 1]])
    scores = np.ones((2, 3))
    options: dict[str, Any] = {
        "conventions": f"gains=linear,ties={ties}",
        "metrics": ["bpref", "p@2"],
    }
    report = evaluate(csr_array(truth), scores, **options)
    compared = compare(csr_array(truth), {"a": scores, "b": scores}, **options)
    for result in (report, compared):
        for form in FORMS:
            text = getattr(result, form)()
            assert "does not change bpref: equal scores keep their order there" in text, form


def test_bands_of_rows_follow_one_another_where_states_of_files_are_merged(tmp_path: Path) -> None:
    truth, models = tied_problem(4, 30)
    options: dict[str, Any] = {"conventions": "ties=band", "per_row": True, "metrics": "ndcg@3"}
    states = list[Evaluator]()
    for n, rows in enumerate(np.split(np.arange(30), [11])):
        paths = [tmp_path / f"{name}{n}.npy" for name in ("y", "few")]
        np.save(paths[0], truth[rows])
        np.save(paths[1], models["few"][rows])
        inputs = [scan(path, format="dense") for path in paths]
        running = Running(save=tmp_path / f"{n}.state", block_rows=3)
        evaluate(inputs[0], inputs[1], running=running, **options)
        states.append(Evaluator.load(tmp_path / f"{n}.state"))
    states[0].merge(states[1])
    merged = states[0].compute().results.row_intervals["ndcg@3"]
    whole = evaluate(truth, models["few"], **options).results.row_intervals["ndcg@3"]
    np.testing.assert_array_equal(merged, whole)


@pytest.mark.parametrize(("n_tied", "is_decided"), [(1, False), (2, True), (3, True)])
def test_rank_of_reports_takes_ties_in_half_of_the_rows_for_deciding(
    n_tied: int, is_decided: bool
) -> None:
    truth = np.tile([0, 1], (4, 1))
    tied = np.tile([0.0, 1.0], (4, 1))
    tied[:n_tied] = 1
    scores = {"tied": tied, "wrong": np.tile([1.0, 0.0], (4, 1))}
    reports = {name: evaluate(truth, each, metrics="p@1") for name, each in scores.items()}
    assert reports["tied"].tied_rows == {"p@1": n_tied / 4}
    ranking = rank({"one": reports, "two": reports}, "p@1")
    notes = [note for note in ranking.notes if note.startswith("may be decided by ties")]
    assert len(notes) == is_decided
    assert (ranking.average_ranks["tied"] == ranking.average_ranks["wrong"]) == is_decided


def test_compare_has_the_bands_of_groups_of_labels_and_of_rows() -> None:
    truth, models = tied_problem(3)
    groups: dict[str, Any] = {"label_groups": [*"xxyyy"], "row_groups": [*"abab"] * 3}
    compared = compare(truth, models, metrics=["p@2"], **groups)
    options: dict[str, Any] = {"metrics": ["p@2"], "conventions": "ties=band", **groups}
    for kind in ("groups", "row_groups"):
        for name, scores in models.items():
            parts = getattr(compared[name], kind)
            for group, part in getattr(evaluate(truth, scores, **options), kind).items():
                value = parts[group]["p@2"]
                known = parts[group].tie_bounds.get("p@2", (value, value))
                assert known == pytest.approx(part.tie_bounds["p@2"], rel=1e-12)


@pytest.mark.parametrize(("n_sure", "end"), [(8, "s7 (on d0, d1) "), (9, "s7 (on d0, d1), ... ")])
def test_rank_names_eight_pairs_that_ties_decide(n_sure: int, end: str) -> None:
    truth = np.eye(4)
    models = {"tied": np.ones((4, 4)), **{f"s{n}": truth + 0.5 * truth[::-1] for n in range(9)}}
    models = dict([*models.items()][: 1 + n_sure])
    ranking = rank(dict.fromkeys(["d0", "d1"], (truth, models)), "p@1")
    assert ranking.decided_by_ties["d0"] == [("tied", f"s{n}") for n in range(n_sure)]
    (note,) = [note for note in ranking.notes if "decided by ties" in note]
    assert "which of tied and s0 (on d0, d1), tied and s1 (on d0, d1), " in note
    assert f"tied and {end}is better" in note
