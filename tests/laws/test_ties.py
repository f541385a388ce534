"""Values that depend on the order of equal scores: which rows have them, and that none of them is starred."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import Evaluator, compare, evaluate, rank, scan
from xmleval.results.comparison import Comparison

N, L = 60, 30
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
]
BY_DEFINITION = ["auc.samples", "ranking_loss", "lrap", "coverage", "auc.micro"]


def values_of_row(order: tuple[int, ...], relevant: set[int]) -> dict[str, float]:
    """The measures of a ranking of one row, from their definitions, in plain Python."""
    hits = [label in relevant for label in order]
    n_relevant = len(relevant)
    precisions = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    ranks = [i + 1 for i, hit in enumerate(hits) if hit]

    def reciprocal(k: int) -> float:
        return next((1 / rank for rank in ranks if rank <= k), 0.0)

    leading = [precision for precision, rank in zip(precisions, ranks, strict=True) if rank <= 3]
    gains = [1 / np.log2(1 + rank) for rank in ranks if rank <= 3]
    return {
        "p@1": float(hits[0]), "one_error": float(hits[0]), "p@3": sum(hits[:3]), "r@3": sum(hits[:3]),
        "hit@3": float(any(hits[:3])), "mrr@3": reciprocal(3), "mrr@all": reciprocal(len(order)),
        "map@3": sum(leading), "map@all": sum(precisions), "ndcg@3": sum(gains),
        "rprec": sum(hits[:n_relevant]),
    }  # fmt: skip


def orders_of(scores: Any) -> Any:
    """All rankings that differ in the order of equal scores alone."""
    groups = [np.flatnonzero(scores == score).tolist() for score in sorted({*scores}, reverse=True)]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield tuple(itertools.chain(*parts))


@pytest.mark.parametrize("form", ["dense", "dense, unlisted", "matrix", "lists", "sklearn"])
def test_rows_that_depend_on_ties_are_those_whose_values_differ_between_orders(form: str) -> None:
    rng = np.random.default_rng(7)
    scores, truth = rng.integers(1, 4, (40, 5)) / 4, rng.random((40, 5)) < 0.4
    differ = dict.fromkeys(METRICS, 0)
    for row, relevant in zip(scores, truth, strict=True):
        values = [values_of_row(order, {*np.flatnonzero(relevant)}) for order in orders_of(row)]
        for name in METRICS:
            differ[name] += len({round(each[name], 9) for each in values}) > 1
    given: Any = csr_array(scores) if form == "matrix" else scores
    if form == "lists":
        order = np.argsort(-scores, axis=1, kind="stable")
        given = order, np.take_along_axis(scores, order, axis=1)
    options: dict[str, Any] = {
        "dense, unlisted": {"conventions": "unlisted=0.5"},
        "sklearn": {"conventions": "sklearn"},
    }
    asked = [name for name in METRICS if not (form == "sklearn" and "ndcg" in name)]
    n_labelled = np.count_nonzero(truth.any(axis=1))
    for metrics in (asked, *([name] for name in asked)):  # cut to the depth that is read
        report = evaluate(truth.astype(int), given, metrics=metrics, **options.get(form, {}))
        shares = {name: differ[name] / n_labelled for name in metrics if differ[name]}
        assert report.tied_rows == shares
    assert evaluate(truth.astype(int), scores, metrics="ndcg@3", conventions="sklearn").tied_rows == {}


def problem() -> tuple[Any, dict[str, Any]]:
    """One positive beside 29 negatives, first, and the scores of a constant and of chance."""
    truth = np.zeros((N, L), int)
    truth[:, 0] = 1
    rng = np.random.default_rng(131)
    few = rng.random((N, L))
    few[:, 0] += 0.7
    few[:3] = 0.5
    return truth, {"constant": np.full((N, L), 0.5), "chance": rng.random((N, L)), "few": few}


def as_dicts(matrix: Any) -> dict[str, dict[str, float]]:
    return {
        f"row {i}": {f"label {j}": float(row[j]) for j in np.flatnonzero(row)} for i, row in enumerate(matrix)
    }


def compared(form: str, folder: Any, **options: Any) -> Comparison:
    truth, models = problem()
    if form == "dicts":
        return compare(as_dicts(truth), {name: as_dicts(each) for name, each in models.items()}, **options)
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
def test_models_of_ties_are_not_tested(form: str, test: str, tmp_path: Any) -> None:
    metrics = ["p@1", "r@5", "hit@5", "mrr@5", "ndcg@5", "map@all", "f1.samples@3"]
    comparison = compared(form, tmp_path, metrics=metrics, test=test)
    for each in comparison.differences:
        is_tested = "constant" not in (each.a, each.b)
        assert np.isnan(each.p_value) != is_tested, each
        assert each.better == ("few" if is_tested else None), each
    (note,) = [note for note in comparison.notes if "half or more" in note]
    assert note.startswith("in half or more of the rows of constant, values depend on the order of equal")
    assert f"so that it is not tested for {', '.join(metrics)}; give scores" in note
    assert note in str(comparison)
    best = {cell.tail for row in comparison.tables()[0].rows[1:] for cell in row[1:2]}
    assert best == {""}


def test_measures_that_count_ties_by_definition_are_tested() -> None:
    truth, models = problem()
    truth[:, 1] = np.arange(N) % 2
    comparison = compare(truth, models, metrics=BY_DEFINITION, baseline="chance")
    assert not any(np.isnan(each.p_value) for each in comparison.differences)
    assert not any("half or more" in note for note in comparison.notes)


def test_models_of_ties_are_not_tested_within_groups() -> None:
    truth, models = problem()
    rows = np.array(["tied", "not"])[(np.arange(N) >= 20).astype(int)]
    models["some"] = np.where(np.arange(N)[:, None] < 20, 0.5, models["few"])
    groups = {"row_groups": rows, "label_groups": ["first"] * 10 + ["last"] * 20}
    comparison = compare(truth, models, metrics=["hit@3", "f1.macro@1"], baseline="chance", **groups)
    tested = {
        (each.a, each.name, each.group) for each in comparison.differences if not np.isnan(each.p_value)
    }
    assert {("some", "hit@3", ""), ("some", "hit@3", "not"), ("few", "hit@3", "tied")} <= tested
    assert ("some", "hit@3", "tied") not in tested
    assert not any(name == "constant" for name, _, _ in tested)
    assert any(
        "of some" in note and "hit@3, f1.macro@1 within group tied" in note for note in comparison.notes
    )


def test_lists_without_scores_have_no_ties() -> None:
    truth, _ = problem()
    ids = np.tile(np.arange(L), (N, 1))
    comparison = compare(truth, {"a": (ids, None), "b": (ids[:, ::-1], None)}, metrics=["hit@5", "mrr@5"])
    assert [each.better for each in comparison.differences] == ["a", "a"]


def test_ties_do_not_depend_on_how_rows_are_counted(tmp_path: Any) -> None:
    truth, models = problem()
    scores = np.round(models["chance"], 1)
    whole = evaluate(truth, scores, metrics=METRICS)
    assert whole.tied_rows
    for cuts in ([13, 14, 40], [30], [1, 59]):
        parts = list[Evaluator]()
        for rows in np.split(np.arange(N), cuts):
            parts.append(Evaluator(METRICS, n_labels=L))
            parts[-1].update(truth[rows], scores[rows])
            parts[-1].save(tmp_path / "state")
            parts[-1] = Evaluator.load(tmp_path / "state")
        first, *others = parts[::-1]
        for other in others:
            first.merge(other)
        assert first.compute().tied_rows == whole.tied_rows


def test_rank_notes_values_that_ties_decide(tmp_path: Any) -> None:
    truth, models = problem()
    reports = {name: evaluate(truth, scores, metrics="hit@5") for name, scores in models.items()}
    (tmp_path / "one.json").write_text(Comparison(reports).to_json())
    for results in ({"one": reports, "two": reports}, {"one": tmp_path / "one.json", "two": reports}):
        expected = (
            "in half or more of the rows, values depend on the order of equal scores: constant on one, "
        )
        assert f"{expected}constant on two" in rank(results, "hit@5").notes
