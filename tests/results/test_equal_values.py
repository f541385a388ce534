"""Values that differ by rounding alone are ties in tests, tables, differences, gates and ranks."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.results.models import TESTS
from xmleval import Comparison, check, compare, diff, evaluate, rank

N_ROWS = 20
TRUTH = np.zeros((N_ROWS, 12), int)
TRUTH[:, :2] = 1


def lists(first: int, second: int) -> tuple[Any, Any]:
    """Return lists of all labels, with the two relevant ones at these ranks."""
    row = [*range(2, 12)]
    row.insert(first - 1, 0)
    row.insert(second - 1, 1)
    scores = np.arange(12, 0, -1.0)
    return np.array([row] * N_ROWS), np.tile(scores, (N_ROWS, 1))


# (1/2 + 2/3) / 2 and (1/1 + 2/12) / 2 are 7/12
MODELS = {"a": lists(2, 3), "b": lists(1, 12)}
MEASURES = ["map@12", "map_r@12", "map@all", "lrap"]
RNG = np.random.default_rng(0)
MANY = (RNG.random((400, 40)) < 0.6).astype(int)
FIRST_FIVE = np.sort(np.argsort(RNG.random((400, 40)), axis=1)[:, :5])
DOWN = np.tile(np.arange(5, 0, -1.0), (400, 1))
REORDERED = {
    "before": (FIRST_FIVE, DOWN),
    "after": (FIRST_FIVE[:, ::-1].copy(), DOWN),
}


class Problem(NamedTuple):
    """Two models whose values differ by rounding alone, and what to compute."""

    truth: Any
    models: dict[str, tuple[Any, Any]]
    options: dict[str, Any]


PROBLEMS = {
    "ranks": Problem(TRUTH, MODELS, {"metrics": MEASURES}),
    "orders": Problem(
        MANY,
        REORDERED,
        {"metrics": ["psp_raw@5", "psr_raw@5"], "inverse_propensity": 1 + RNG.random(40)},
    ),
}


def test_equal_values_are_not_the_same_floats() -> None:
    a, b = (evaluate(TRUTH, model, metrics=MEASURES) for model in MODELS.values())
    assert any(a[name] != b[name] for name in MEASURES)
    options = PROBLEMS["orders"].options
    before, after = (
        evaluate(MANY, model, per_row=True, **options).per_row() for model in REORDERED.values()
    )
    assert any((before[name] != after[name]).any() for name in before)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", ["ranks", "orders"])
def test_compare_ties_equal_rows(kind: str, test: str) -> None:
    truth, models, options = PROBLEMS[kind]
    comparison = compare(truth, models, test=test, **options)
    for difference in comparison.differences:
        assert difference.value == 0
        assert difference.p_value == 1
        assert difference.better is None
        assert difference.outcomes == (0, len(truth), 0)
    table = str(comparison).split("\n\n")[0]
    _, body = table.split("\n", 1)
    assert "*" not in body


@pytest.mark.parametrize("more", [{}, {"clusters": np.arange(N_ROWS) // 2}])
def test_compare_ties_sums_of_rows_that_cancel(more: Any) -> None:
    """Each model is worse in every other row, by amounts that are rounded differently."""
    worse, _ = lists(3, 12)
    models = {}
    for start, (name, (labels, scores)) in enumerate(MODELS.items()):
        labels = labels.copy()
        labels[start::2] = worse[start::2]
        models[name] = (labels, scores)
    comparison = compare(TRUTH, models, metrics="map@12", test="randomisation", **more)
    assert comparison.differences[0].p_value == 1


def test_evaluate_marks_no_best_of_equal_values() -> None:
    models = {**MODELS, "c": lists(11, 12)}
    reports = {name: evaluate(TRUTH, model, metrics="map@12") for name, model in models.items()}
    table = Comparison(reports).tables()[0]
    _, *cells = table.rows[1]
    assert [cell.tail for cell in cells] == ["best", "best", "other"]
    del reports["c"]
    assert "*" not in str(Comparison(reports)).replace("* best", "")


def test_page_names_all_equal_models() -> None:
    text = compare(TRUTH, MODELS, metrics="map@12").to_html()
    assert "a and b have the highest MAP@12, 0.5833, on 20 rows" in text
    assert "; no significant difference is seen between" in text


@pytest.mark.parametrize("metric", MEASURES)
def test_diff_lists_no_equal_rows(metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric)
    assert changes.n_changed == (0, N_ROWS, 0)
    assert changes.rows == []
    assert ", 0.0000; 0 rows better" in str(changes)


@pytest.mark.parametrize("names", ["ab", "ba"])
@pytest.mark.parametrize("per_row", [False, True])
def test_check_passes_equal_values(names: str, per_row: bool) -> None:
    options: dict[str, Any] = {"metrics": MEASURES, "per_row": per_row}
    new, old = (evaluate(TRUTH, MODELS[name], **options) for name in names)
    assert check(new, no_worse_than=old)
    assert check(new, min=dict(old), max=dict(old))


def ranks_of(values: dict[str, float], higher_is_better: bool) -> dict[str, float]:
    """Return the ranks of models by their values, the same on two data sets."""
    results = {"d1": values, "d2": values}
    return rank(results, higher_is_better=higher_is_better).ranks["d1"]


def test_rank_ties_values_that_differ_by_rounding_or_are_infinite() -> None:
    for size in 10.0 ** np.arange(-300, 300, 50):
        values = {
            "a": size,
            "b": size * (1 + 2.0**-46),
            "c": size * (1 + 2.0**-44),
        }
        assert ranks_of(values, higher_is_better=True) == {"c": 1, "a": 2.5, "b": 2.5}
        assert ranks_of(values, higher_is_better=False) == {"a": 1.5, "b": 1.5, "c": 3}
    values = {"a": np.inf, "b": np.inf, "c": 1, "d": -np.inf, "e": -np.inf}
    expected = {"a": 1.5, "b": 1.5, "c": 3, "d": 4.5, "e": 4.5}
    assert ranks_of(values, higher_is_better=True) == expected


@pytest.mark.parametrize(("gap", "is_tied"), [(2.0**-45, True), (2.0**-45 + 2.0**-53, False)])
def test_rank_ties_values_up_to_the_greatest_rounding(gap: float, is_tied: bool) -> None:
    """It is 2^-45 of the larger value."""
    ranks = ranks_of({"a": 1.0, "b": 1.0 - gap}, higher_is_better=True)
    assert (ranks["a"] == ranks["b"]) == is_tied
