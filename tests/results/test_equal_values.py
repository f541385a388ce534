"""Values that are equal but for rounding are ties in tests, tables, differences, gates and ranks."""

from typing import Any

import numpy as np
import pytest

from tests.results.models import TESTS
from xmleval import Comparison, check, compare, diff, evaluate, rank

N_ROWS = 20
TRUTH = np.zeros((N_ROWS, 12), int)
TRUTH[:, :2] = 1


def lists(*ranks: int) -> tuple[Any, Any]:
    """Lists of all labels, the relevant ones at some ranks."""
    others = iter(range(2, 12))
    row = [ranks.index(rank) if rank in ranks else next(others) for rank in range(1, 13)]
    return np.array([row] * N_ROWS), np.tile(np.arange(12, 0, -1.0), (N_ROWS, 1))


# (1/2 + 2/3) / 2 and (1/1 + 2/12) / 2 are 7/12
MODELS = {"a": lists(2, 3), "b": lists(1, 12)}
MEASURES = ["map@12", "map_r@12", "map@all", "lrap"]
RNG = np.random.default_rng(0)
MANY = (RNG.random((400, 40)) < 0.6).astype(int)
FIRST_FIVE = np.argsort(RNG.random((400, 40)), axis=1)[:, :5]
DOWN = np.tile(np.arange(5, 0, -1.0), (400, 1))
REORDERED = {"before": (np.sort(FIRST_FIVE), DOWN), "after": (np.sort(FIRST_FIVE)[:, ::-1].copy(), DOWN)}
OF_FIVE: dict[str, Any] = {"metrics": ["psp_raw@5", "psr_raw@5"], "inverse_propensity": 1 + RNG.random(40)}


def test_the_values_are_not_the_same_floats() -> None:
    reports = [evaluate(TRUTH, lists, metrics=MEASURES) for lists in MODELS.values()]
    assert any(reports[0][name] != reports[1][name] for name in MEASURES)
    rows = [evaluate(MANY, lists, per_row=True, **OF_FIVE).per_row() for lists in REORDERED.values()]
    assert any((rows[0][name] != rows[1][name]).any() for name in rows[0])


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", ["ranks", "orders"])
def test_compare_ties_equal_rows(kind: str, test: str) -> None:
    options: Any = {"metrics": MEASURES} if kind == "ranks" else OF_FIVE
    models, truth = (MODELS, TRUTH) if kind == "ranks" else (REORDERED, MANY)
    compared = compare(truth, models, test=test, **options)
    for difference in compared.differences:
        assert (difference.value, difference.p_value, difference.better) == (0, 1, None)
        assert difference.outcomes == (0, len(truth), 0)
    assert "*" not in str(compared).split("\n\n")[0].split("\n", 1)[1]


@pytest.mark.parametrize("more", [{}, {"clusters": np.arange(N_ROWS) // 2}])
def test_compare_ties_sums_of_rows_that_cancel(more: Any) -> None:
    """Within each pair of rows, one model wins as much as it loses, by ways of rounding that differ."""
    turned = [(a.copy(), scores) for a, scores in MODELS.values()]
    worse = lists(3, 12)
    for (a, _), start in zip(turned, (0, 1), strict=True):
        a[start::2] = worse[0][start::2]
    models = dict(zip("ab", turned, strict=True))
    compared = compare(TRUTH, models, metrics="map@12", test="randomisation", **more)
    assert compared.differences[0].p_value == 1


def test_evaluate_marks_no_best_of_equal_values() -> None:
    models = {**MODELS, "c": lists(11, 12)}
    reports = {name: evaluate(TRUTH, lists, metrics="map@12") for name, lists in models.items()}
    marks = [cell.tail for cell in Comparison(reports).tables()[0].rows[1][1:]]
    assert marks == ["best", "best", "other"]
    del reports["c"]
    assert "*" not in str(Comparison(reports)).replace("* best", "")


def test_page_names_all_equal_models() -> None:
    text = compare(TRUTH, MODELS, metrics="map@12").to_html()
    assert "a and b have the highest MAP@12, 0.5833, on 20 rows" in text
    assert "; no significant difference is seen between" in text


@pytest.mark.parametrize("metric", MEASURES)
def test_diff_lists_no_equal_rows(metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric)
    assert (changes.n_changed, changes.rows) == ((0, N_ROWS, 0), [])
    assert ", 0.0000; 0 rows better" in str(changes)


@pytest.mark.parametrize("names", ["ab", "ba"])
@pytest.mark.parametrize("per_row", [False, True])
def test_check_passes_equal_values(names: str, per_row: bool) -> None:
    new, old = (evaluate(TRUTH, MODELS[name], metrics=MEASURES, per_row=per_row) for name in names)
    assert check(new, no_worse_than=old)
    assert check(new, min=dict(old), max=dict(old))


def test_values_are_equal_up_to_their_rounding() -> None:
    for size in 10.0 ** np.arange(-300, 300, 50):
        values = {"a": size, "b": size * (1 + 2.0**-46), "c": size * (1 + 2.0**-44)}
        ranks = rank({"d1": values, "d2": values}, higher_is_better=True).ranks
        assert ranks["d1"] == {"c": 1, "a": 2.5, "b": 2.5}
        ranks = rank({"d1": values, "d2": values}, higher_is_better=False).ranks
        assert ranks["d1"] == {"a": 1.5, "b": 1.5, "c": 3}
    values = {"a": np.inf, "b": np.inf, "c": 1, "d": -np.inf, "e": -np.inf}
    ranks = rank({"d1": values, "d2": values}, higher_is_better=True).ranks
    assert ranks["d1"] == {"a": 1.5, "b": 1.5, "c": 3, "d": 4.5, "e": 4.5}
