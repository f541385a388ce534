"""Values that depend on the order of equal scores: which rows have them; none is starred."""

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import Evaluator, compare, evaluate, rank, scan
from xmleval.results.comparison import Comparison

N = 60
L = 30
METRICS = [
    "p@1",
    "p@3",
    "r@3",
    "hit@3",
    "mrr@3",
    "map@3",
    "ndcg@3",
    "rprec",
    "map@all",
    "mrr@all",
    "one_error",
    "psp@1",
    "psp@3",
    "psndcg@3",
]
GRADED = ["p@1", "p@3", "ndcg@1", "ndcg@3", "dcg@3", "ndcg@all", "map@3", "err(max_grade=4)@3"]
BY_DEFINITION = ["auc.samples", "ranking_loss", "lrap", "coverage", "auc.micro"]


def values_of_row(
    order: tuple[int, ...], relevant: set[int], gains: Sequence[float]
) -> dict[str, float]:
    """Return the measures of a ranking of one row, from their definitions, in plain Python.

    The gains of labels are those of propensity-scored measures.
    """
    hits = [label in relevant for label in order]
    n_relevant = len(relevant)
    precisions = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    ranks = [i + 1 for i, hit in enumerate(hits) if hit]

    def reciprocal(k: int) -> float:
        return next((1 / rank for rank in ranks if rank <= k), 0.0)

    leading = [precision for precision, rank in zip(precisions, ranks, strict=True) if rank <= 3]
    discounts = [1 / np.log2(1 + rank) for rank in ranks if rank <= 3]
    gained = [gains[label] * (label in relevant) for label in order]
    return {
        "p@1": float(hits[0]),
        "one_error": float(hits[0]),
        "p@3": sum(hits[:3]),
        "r@3": sum(hits[:3]),
        "hit@3": float(any(hits[:3])),
        "mrr@3": reciprocal(3),
        "mrr@all": reciprocal(len(order)),
        "map@3": sum(leading),
        "map@all": sum(precisions),
        "ndcg@3": sum(discounts),
        "rprec": sum(hits[:n_relevant]),
        "psp@1": gained[0],
        "psp@3": sum(gained[:3]),
        "psndcg@3": discounted_sum(gained[:3]),
    }


def values_of_graded_row(order: tuple[int, ...], grades: Sequence[float]) -> dict[str, float]:
    """Return measures of a ranking of one row whose labels have grades, but for constants."""
    relevant = {label for label, grade in enumerate(grades) if grade > 0}
    gained = [grades[label] for label in order]
    values = values_of_row(order, relevant, grades)
    return {name: values[name] for name in ("p@1", "p@3", "map@3")} | {
        "ndcg@1": gained[0],
        "ndcg@3": discounted_sum(gained[:3]),
        "dcg@3": discounted_sum(gained[:3]),
        "ndcg@all": discounted_sum(gained),
        "err(max_grade=4)@3": expected_reciprocal_rank(gained[:3]),
    }


def expected_reciprocal_rank(grades: Sequence[float]) -> float:
    """Return 1 / rank of the label that satisfies the user, expected over labels (grades to 4)."""
    expected = 0.0
    is_unsatisfied = 1.0
    for place, grade in enumerate(grades):
        satisfies = (2**grade - 1) / 2**4
        expected += is_unsatisfied * satisfies / (place + 1)
        is_unsatisfied *= 1 - satisfies
    return expected


def discounted_sum(gains: Sequence[float]) -> float:
    return float(sum(gain / np.log2(2 + place) for place, gain in enumerate(gains)))


def orders_of(scores: Any) -> Any:
    """Yield all rankings that differ only in the order of equal scores."""
    tie_groups = []
    for score in sorted({*scores}, reverse=True):
        tie_groups.append(np.flatnonzero(scores == score).tolist())
    for orders in itertools.product(*map(itertools.permutations, tie_groups)):
        yield tuple(itertools.chain(*orders))


def count_rows_that_differ(scores: Any, values_of: Sequence[Any]) -> Counter[str]:
    """Return by measure the number of rows whose value differs between orders of ties.

    ``values_of`` has a function for each row, which returns the values of an order.
    """
    n_differ = Counter[str]()
    for row, values_of_order in zip(scores, values_of, strict=True):
        values = [values_of_order(order) for order in orders_of(row)]
        for name in values[0]:
            distinct = {round(each[name], 9) for each in values}
            n_differ[name] += len(distinct) > 1
    return n_differ


def scores_in_form(form: str, scores: Any) -> Any:
    if form == "matrix":
        return csr_array(scores)
    if form == "lists":
        order = np.argsort(-scores, axis=1, kind="stable")
        return order, np.take_along_axis(scores, order, axis=1)
    return scores


OPTIONS: dict[str, dict[str, Any]] = {
    "dense": {},
    "dense, unlisted": {"conventions": "unlisted=0.5"},
    "matrix": {},
    "lists": {},
    "sklearn": {"conventions": "sklearn"},
}


@pytest.mark.parametrize("form", OPTIONS)
def test_tied_rows_are_those_whose_values_differ_between_orders(form: str) -> None:
    rng = np.random.default_rng(7)
    scores = rng.integers(1, 4, (40, 5)) / 4
    truth = rng.random((40, 5)) < 0.4
    y_true = truth.astype(int)
    y_score = scores_in_form(form, scores)
    inverse = [1.0, 1.5, 1.5, 4.0, 9.0]
    relevant = [{*np.flatnonzero(row)} for row in truth]
    n_differ = count_rows_that_differ(
        scores, [partial(values_of_row, relevant=labels, gains=inverse) for labels in relevant]
    )
    n_labelled = np.count_nonzero(truth.any(axis=1))
    names = METRICS
    if form == "sklearn":
        names = [name for name in METRICS if "ndcg" not in name]
    requests = [names, *([name] for name in names)]  # alone: cut to the depth that is read
    for metrics in requests:
        report = evaluate(
            y_true, y_score, metrics=metrics, inverse_propensity=np.array(inverse), **OPTIONS[form]
        )
        expected = {name: n_differ[name] / n_labelled for name in metrics if n_differ[name]}
        assert report.tied_rows == expected
    report = evaluate(y_true, scores, metrics="ndcg@3", conventions="sklearn")
    assert report.tied_rows == {}


@pytest.mark.parametrize("form", ["dense", "matrix", "lists"])
def test_tied_rows_of_grades_are_those_whose_values_differ_between_orders(form: str) -> None:
    rng = np.random.default_rng(8)
    scores = rng.integers(1, 4, (40, 5)) / 4
    grades = rng.choice([0, 0, 1, 2, 3], (40, 5))
    n_differ = count_rows_that_differ(
        scores, [partial(values_of_graded_row, grades=row) for row in grades]
    )
    assert n_differ["ndcg@1"] > n_differ["p@1"]
    n_labelled = np.count_nonzero(grades.any(axis=1))
    y_score = scores_in_form(form, scores)
    for metrics in (GRADED, *([name] for name in GRADED)):
        report = evaluate(grades, y_score, metrics=metrics, conventions="gains=linear")
        expected = {name: n_differ[name] / n_labelled for name in metrics if n_differ[name]}
        assert report.tied_rows == expected


def test_ties_note_counts_rows_in_which_relevant_labels_gain_differently() -> None:
    # in the last row, one of the two tied labels is relevant
    y_true = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1]])
    lists = np.tile([0, 1, 2], (3, 1)), np.tile([2.0, 2.0, 1.0], (3, 1))
    inverse = np.array([1.0, 2.0, 3.0])

    def note_of(metrics: str) -> str:
        propensities = inverse if "ps" in metrics else None
        [note] = evaluate(y_true, lists, metrics=metrics, inverse_propensity=propensities).notes
        return str(note)

    changes = "rows in which the order of equal scores across a cutoff changes values: "
    assert note_of("p@1") == f"{changes}1"
    assert note_of("psp@1") == f"{changes}3"
    assert note_of("p@1,psndcg@3") == f"{changes}1"  # which reads both labels, in either order
    assert note_of("p@1,psp@1") == f"{changes}3"


def test_ties_note_counts_no_row_whose_first_hit_is_above_the_tie() -> None:
    y_true = np.tile([1, 0, 1, 0], (3, 1))
    scores = np.tile([0.9, 0.5, 0.5, 0.1], (3, 1))
    for metrics in ("hit@2", "mrr@2"):
        assert evaluate(y_true, scores, metrics=metrics).notes == []
    scores[1] = [0.5, 0.5, 0.1, 0.1]  # either label may be first
    for metrics, n_rows in (("hit@1", 1), ("mrr@1", 1), ("hit@1,p@2", 3)):
        [note] = evaluate(y_true, scores, metrics=metrics).notes
        assert note.endswith(f"values: {n_rows}")


def test_ties_note_counts_hits_by_label_beside_means_over_all_orders() -> None:
    report = evaluate(
        np.tile([1, 0, 0], (3, 1)),
        np.tile([0.5, 0.5, 0.1], (3, 1)),
        metrics="psp@1",
        inverse_propensity=np.ones(3),
        conventions="ties=expected",
        per_label=True,
    )
    assert any(str(note).endswith("changes values: 3") for note in report.notes)


def problem() -> tuple[Any, dict[str, Any]]:
    """Return a truth, where label 0 is relevant in each row, and models with and without ties."""
    truth = np.zeros((N, L), int)
    truth[:, 0] = 1
    rng = np.random.default_rng(131)
    few = rng.random((N, L))
    few[:, 0] += 0.7
    few[:3] = 0.5
    models = {
        "constant": np.full((N, L), 0.5),
        "chance": rng.random((N, L)),
        "few": few,
    }
    return truth, models


def as_dicts(matrix: Any) -> dict[str, dict[str, float]]:
    rows = {}
    for i, row in enumerate(matrix):
        rows[f"row {i}"] = {f"label {j}": float(row[j]) for j in np.flatnonzero(row)}
    return rows


def compare_in_form(form: str, folder: Any, **options: Any) -> Comparison:
    truth, models = problem()
    if form == "dicts":
        dicts = {name: as_dicts(scores) for name, scores in models.items()}
        return compare(as_dicts(truth), dicts, **options)
    if form == "files":
        for name, each in {"truth": truth, **models}.items():
            np.save(folder / f"{name}.npy", each)
        paths = {name: scan(folder / f"{name}.npy", format="dense") for name in models}
        return compare(folder / "truth.npy", paths, **options)
    if form == "lists":
        ids = np.tile(np.arange(L), (N, 1))
        models = {name: (ids, each) for name, each in models.items()}
    return compare(truth, models, **options)


@pytest.mark.parametrize("test", ["t", "randomisation"])
@pytest.mark.parametrize("form", ["dense", "lists", "dicts", "files"])
def test_compare_does_not_test_models_of_ties(form: str, test: str, tmp_path: Any) -> None:
    metrics = ["p@1", "r@5", "hit@5", "mrr@5", "ndcg@5", "map@all", "f1.samples@3"]
    comparison = compare_in_form(form, tmp_path, metrics=metrics, test=test)
    for each in comparison.differences:
        is_tested = "constant" not in (each.a, each.b)
        assert np.isnan(each.p_value) != is_tested, each
        assert each.better == ("few" if is_tested else None), each
    decided, guessed = [note for note in comparison.notes if "decided by ties" in note]
    pairs = ", ".join(f"{a} and {b}" for a, b in comparison.pairs if "constant" in (a, b))
    assert decided.startswith(f"decided by ties: which of {pairs} is better changes with the order")
    assert f"so it is not tested for {', '.join(metrics[:-1])}; give scores" in decided
    assert guessed.startswith("may be decided by ties, which matter for a model in ")
    assert f"so it is not tested for {metrics[-1]}; give scores" in guessed
    assert decided in str(comparison)
    assert guessed in str(comparison)
    table = comparison.tables()[0]
    best_marks = {row[1].tail for row in table.rows[1:]}
    assert best_marks == {""}


def test_compare_tests_measures_that_count_ties_by_definition() -> None:
    truth, models = problem()
    truth[:, 1] = np.arange(N) % 2
    comparison = compare(truth, models, metrics=BY_DEFINITION, baseline="chance")
    assert not any(np.isnan(each.p_value) for each in comparison.differences)
    assert not any("decided by ties" in note for note in comparison.notes)


def test_compare_does_not_test_models_of_ties_within_groups() -> None:
    truth, models = problem()
    is_tied = np.arange(N) < 20
    rows = np.where(is_tied, "tied", "not")
    models["some"] = np.where(is_tied[:, None], 0.5, models["few"])
    groups: dict[str, Any] = {"row_groups": rows, "label_groups": ["first"] * 10 + ["last"] * 20}
    comparison = compare(
        truth, models, metrics=["hit@3", "f1.macro@1"], baseline="chance", **groups
    )
    tested = {
        (each.a, each.name, each.group)
        for each in comparison.differences
        if not np.isnan(each.p_value)
    }
    assert {("some", "hit@3", ""), ("some", "hit@3", "not"), ("few", "hit@3", "tied")} <= tested
    assert ("some", "hit@3", "tied") not in tested
    assert not any(name == "constant" for name, _, _ in tested)
    for name in ("hit@3", "f1.macro@1"):
        assert any(
            "some and chance" in note and f"{name} within group tied" in note
            for note in comparison.notes
        )


def test_compare_tests_what_no_order_of_ties_can_reverse() -> None:
    truth = np.zeros((N, 6), int)
    truth[:, :2] = 1
    tied = np.tile([0.9, 0.5, 0.5, 0.1, 0.1, 0.1], (N, 1))  # P@2 between 0.5 and 1 in each row
    models = {"tied": tied, "wrong": tied[:, ::-1] + np.arange(6) / 100}
    comparison = compare(truth, models, metrics="p@2")
    difference = comparison.difference("p@2", "tied", "wrong")
    assert difference.better == "tied"
    assert comparison["tied"].results.tie_bounds == {"p@2": (0.5, 1.0)}
    assert not any("decided by ties" in note for note in comparison.notes)


def test_compare_does_not_test_what_ties_of_few_rows_can_reverse() -> None:
    truth = np.zeros((N, 6), int)
    truth[:, 0] = 1
    first = np.tile(np.arange(6.0)[::-1], (N, 1))
    worse = first.copy()
    worse[:3] = 0  # first by label id, so that the value in order is 1
    models = {"all": first - 9 * (np.arange(N) < 1)[:, None] * np.eye(6)[0], "tied": worse}
    comparison = compare(truth, models, metrics="p@1")
    assert comparison["tied"].tied_rows["p@1"] == 3 / N
    assert np.isnan(comparison.difference("p@1", "all", "tied").p_value)
    assert any("which of all and tied is better" in note for note in comparison.notes)
    expected = compare(truth, models, metrics="p@1", conventions="ties=expected")
    assert not np.isnan(expected.difference("p@1", "all", "tied").p_value)


def test_bounds_of_ties_are_in_json_and_loaded(tmp_path: Any) -> None:
    truth, models = problem()
    groups: dict[str, Any] = {"row_groups": np.where(np.arange(N) < 20, "a", "b")}
    comparison = compare(truth, models, metrics="p@1", **groups)
    (tmp_path / "c.json").write_text(comparison.to_json())
    loaded = Comparison.load(tmp_path / "c.json")
    for name in models:
        bounds = loaded[name].results.tie_bounds
        assert bounds == comparison[name].results.tie_bounds
        assert loaded[name].row_groups["a"].results.tie_bounds.keys() == bounds.keys()
    assert loaded["constant"].results.tie_bounds == {"p@1": (0.0, 1.0)}
    assert loaded.to_json() == comparison.to_json()


def test_compare_finds_no_ties_in_lists_without_scores() -> None:
    truth, _ = problem()
    ids = np.tile(np.arange(L), (N, 1))
    models = {"a": (ids, None), "b": (ids[:, ::-1], None)}
    comparison = compare(truth, models, metrics=["hit@5", "mrr@5"])
    assert [each.better for each in comparison.differences] == ["a", "a"]


def test_tied_rows_do_not_depend_on_batches(tmp_path: Any) -> None:
    truth, models = problem()
    scores = np.round(models["chance"], 1)
    inverse = np.linspace(1, 9, L)
    whole = evaluate(truth, scores, metrics=METRICS, inverse_propensity=inverse)
    assert whole.tied_rows
    for cuts in ([13, 14, 40], [30], [1, 59]):
        parts = list[Evaluator]()
        for rows in np.split(np.arange(N), cuts):
            evaluator = Evaluator(METRICS, n_labels=L, inverse_propensity=inverse)
            evaluator.update(truth[rows], scores[rows])
            evaluator.save(tmp_path / "state")
            parts.append(Evaluator.load(tmp_path / "state"))
        first, *added = parts[::-1]
        for evaluator in added:
            first.merge(evaluator)
        assert first.compute().tied_rows == whole.tied_rows


def test_rank_notes_values_that_ties_decide(tmp_path: Any) -> None:
    truth, models = problem()
    reports = {name: evaluate(truth, scores, metrics="hit@5") for name, scores in models.items()}
    (tmp_path / "one.json").write_text(Comparison(reports).to_json())
    expected = (
        "may be decided by ties, which matter for a model in at least half of the rows with "
        "relevant labels: which of constant and chance (on one, two), constant and few (on one, "
        "two) is better can change with the order of equal scores, so they count as tied there; "
    )
    for first in (reports, tmp_path / "one.json"):
        ranking = rank({"one": first, "two": reports}, "hit@5")
        (note,) = [note for note in ranking.notes if "ties" in note]
        assert note.startswith(expected)
        assert ranking.average_ranks == {"few": 1.5, "constant": 2.0, "chance": 2.5}
