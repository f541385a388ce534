"""Fused lists: an oracle, values of ranx and PECOS, forms of input, refused arguments."""

import json
import warnings
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import as_list, items_of
from tests.oracles.fusion import Listed, best_first, fused_row, normalized
from xmleval import fuse

PEERS = json.loads((Path(__file__).parent / "fusion_peers.json").read_text())
RULES = ["rrf", "mean", "rank", "sum", "mnz"]
NORMED = [(rule, norm) for rule in ("mean", "sum", "mnz") for norm in ("min-max", "zmuv", "rank")]
N_LABELS = 12


def models(seed: int, n: int = 3, rows: int = 40) -> list[Any]:
    """Return scores of models, some tied, some rows empty, exact in few bits."""
    rng = np.random.default_rng(seed)
    matrices = [sp.random(rows, N_LABELS, 0.4, "csr", rng=rng) for _ in range(n)]
    for scores in matrices:
        scores.data = rng.integers(-8, 9, scores.nnz) / 8.0
        scores.sort_indices()
    return matrices


def lists_of(scores: Any) -> list[Listed]:
    """Return the labels of rows with their scores, best first."""
    return [sorted(row, key=lambda pair: -pair[1]) for row in items_of(scores)]


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize(("rule", "norm"), [*((rule, None) for rule in RULES), *NORMED])
def test_fuse_has_the_values_of_the_definition(rule: str, norm: str | None, k: int | None) -> None:
    matrices = models(0)
    weights = [1.0, 0.5, 2.0]
    lists = [lists_of(scores) for scores in matrices]
    longest = max(len(row) for model in lists for row in model)
    options: dict[str, Any] = {"norm": norm, "k": k, "weights": weights}
    by_matrix = fuse(matrices, rule, **options)
    labels, scores = fuse([as_list(scores) for scores in matrices], rule, **options)
    for i, matrix_row in enumerate(by_matrix.toarray()):
        rows = [normalized(norm, model[i]) for model in lists]
        expected = fused_row(rule, rows, weights, longest)
        best = labels[i][labels[i] >= 0].tolist()
        best_scores = scores[i, : len(best)]
        expected_scores = [expected[label] for label in best]
        np.testing.assert_allclose(best_scores, expected_scores, rtol=1e-14, atol=1e-15)
        if k is None:
            exact = {label: float(matrix_row[label]) for label in expected}
            assert best == best_first(exact, None)  # ties, too
            np.testing.assert_array_equal(best_scores, [exact[label] for label in best])
        start, stop = by_matrix.indptr[i : i + 2]
        assert sorted(best) == by_matrix.indices[start:stop].tolist()
        highest = sorted(expected.values(), reverse=True)[: len(best)]
        np.testing.assert_allclose(best_scores, highest, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("constant", [0, 0.5, 1, 60, None])
def test_fuse_adds_reciprocals_of_the_rank_and_the_constant(constant: float | None) -> None:
    first = {"q": {"a": 9.0, "b": 8.0, "c": 7.0}, "r": {"a": 1.0}}
    second = {"q": {"c": 3.0, "d": 2.0}}
    added = 60 if constant is None else constant
    expected = {
        "a": 1 / (added + 1),
        "b": 1 / (added + 2),
        "c": 1 / (added + 1) + 1 / (added + 3),
        "d": 1 / (added + 2),
    }
    fused = fuse([first, second], rank_constant=constant)
    assert fused["q"] == pytest.approx(expected, rel=1e-15)
    assert [*fused["q"]] == [*"cadb"]
    assert fused["r"] == {"a": pytest.approx(1 / (added + 1), rel=1e-15)}
    weighted = fuse([first, second], rank_constant=constant, weights=[2, 0.5])
    expected_c = 2 / (added + 3) + 0.5 / (added + 1)
    assert weighted["q"]["c"] == pytest.approx(expected_c, rel=1e-15)


@pytest.mark.parametrize("norm", ["min-max", "zmuv", "rank"])
def test_fuse_with_a_norm_leaves_rows_without_scores_empty(norm: str) -> None:
    empty = sp.csr_array((3, 4))
    fused = fuse([empty, empty], "sum", norm=norm)
    assert fused.shape == (3, 4)
    assert fused.nnz == 0
    one = sp.csr_array(np.diag([2.0, 0, 0])[:, [0, 1, 2, 2]])
    alone = fuse([empty, one], "sum", norm=norm).toarray()
    np.testing.assert_array_equal(alone, fuse([one, empty], "sum", norm=norm).toarray())


@pytest.mark.parametrize("case", PEERS["fused"], ids=lambda case: f"{case['of']} {case['n']}")
def test_fuse_has_the_values_of_ranx_and_pecos(case: dict[str, Any]) -> None:
    norm = case.get("norm")
    fused = fuse(PEERS["runs"][: case["n"]], case["rule"], norm=norm, weights=case["weights"])
    for row, expected in case["fused"].items():
        if case["n"] == 3 or norm:  # sums of three in another order differ in a bit
            expected = pytest.approx(expected, rel=1e-15, abs=1e-15)
        assert fused[row] == expected


def test_fuse_takes_models_by_name_and_names_of_ranx() -> None:
    first, second, _ = PEERS["runs"]
    by_name = {"bm25": first, "dense": second}
    expected = fuse([first, second], "sum", norm="min-max")
    for rule in ("sum", "wsum", "CombSUM", "comb_sum"):
        for norm in ("min-max", "min_max", "MinMax"):
            assert fuse(by_name, rule, norm=norm) == expected
    assert fuse(by_name, "combmnz", norm="z-score") == fuse(by_name, "mnz", norm="zmuv")
    with pytest.raises(ValueError, match=r"^predictions\['dense'\]: no row key is in"):
        fuse({"bm25": first, "dense": {"other": {"d00": 1.0}}})


def test_fuse_of_distances_with_a_norm_has_the_lowest_first() -> None:
    first, second, _ = PEERS["runs"]
    distances = [
        {key: {label: -score for label, score in row.items()} for key, row in run.items()}
        for run in (first, second)
    ]
    for norm in ("min-max", "zmuv", "rank"):
        expected = fuse([first, second], "sum", norm=norm)
        assert fuse(distances, "sum", norm=norm, higher_is_better=False) == expected


def test_fuse_with_a_norm_takes_rows_of_one_score_and_none() -> None:
    models = [{"q": {"a": 3.0}, "r": {}}, {"q": {"a": 2.0, "b": 2.0}, "r": {}}]
    for norm, expected in (("min-max", 0.0), ("zmuv", 0.0), ("rank", 1.5)):
        fused = fuse(models, "sum", norm=norm)
        assert fused["q"]["a"] == expected
        assert fused["r"] == {}
    labels, scores = fuse([(np.array([[4, 2]]), None)] * 2, "sum", norm="rank")
    assert (labels.tolist(), scores.tolist()) == ([[4, 2]], [[2.0, 1.0]])


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "norm"), [*((rule, None) for rule in RULES), *NORMED])
def test_fuse_has_the_same_bits_in_any_blocks_threads_and_order_of_models(
    rule: str, norm: str | None
) -> None:
    rng = np.random.default_rng(5)
    n_rows = 90_000  # more than a block
    # ranks count from the end of the longest list
    full = sp.csr_array(np.arange(1.0, N_LABELS + 1)[None])
    scores = []
    for rows in models(3, rows=n_rows):
        scores.append(sp.vstack([full, rows]).multiply(rng.random()).tocsr())
    weights = rng.random(3)
    whole = fuse(scores, rule, norm=norm, weights=weights, k=4, threads=2)
    parts = [
        [*range(9)],
        [0, *range(81_900, 81_950)],
        [0, *range(n_rows - 3, n_rows)],
    ]
    for part in parts:
        for order in permutations(range(3)):
            part_scores = [scores[n][part] for n in order]
            order_weights = weights[[*order]]
            actual = fuse(part_scores, rule, norm=norm, weights=order_weights, k=4, threads=1)
            np.testing.assert_array_equal(actual.toarray(), whole[part].toarray())


def test_fuse_ranks_the_smaller_label_or_the_later_name_first() -> None:
    labels, scores = fuse([([[7, 2]], None), ([[2, 7]], None)])
    assert labels.tolist() == [[2, 7]]
    assert scores[0, 0] == scores[0, 1]
    assert list(fuse([{"q": {"b": 1.0}}, {"q": {"a": 1.0}}])["q"]) == ["b", "a"]


def test_fuse_matches_rows_and_labels_by_name() -> None:
    first = {"q1": {"a": 2.0}, "q2": {"b": 1.0}}
    second = {"q3": {"c": 4.0}, "q1": {"b": 3.0, "a": 1.0}}
    expected = {
        "q1": {"a": 1.5, "b": 1.5},
        "q2": {"b": 0.5},
        "q3": {"c": 2.0},
    }
    long = pd.DataFrame(
        {
            "instance": ["q3", "q1", "q1"],
            "label": [*"cba"],
            "score": [4.0, 3.0, 1.0],
        }
    )
    assert fuse([first, second], "mean") == fuse([long, first], "mean") == expected
    assert fuse([[{"a": 1.0}], {"0": {"a": 1.0}}], "mean") == [{"a": 1.0}]
    truth = {"q1": ["b"], "q2": ["b"]}
    report = xmleval.evaluate(truth, fuse([first, second]), metrics="p@1")
    assert report["p@1"] == 0.5


@pytest.mark.parametrize("norm", ["min-max", "zmuv"])
def test_fuse_divides_by_no_less_than_a_billionth(norm: str) -> None:
    scores = {"high": 0.5 + 1e-12, "low": 0.5}
    fused = fuse([{"q": scores}, {"q": {}}], "sum", norm=norm)["q"]
    expected = {"high": 1e-3, "low": 0.0}
    if norm == "zmuv":
        expected = {"high": 5e-4, "low": -5e-4}
    assert fused == pytest.approx(expected, rel=1e-3)


def test_fuse_adds_three_scores_from_the_smallest_in_any_order_of_models() -> None:
    runs = [{"q": {"a": score}} for score in (0.1, 0.2, 0.3)]
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    for order in permutations(runs):
        assert fuse([*order], "sum") == {"q": {"a": 0.1 + 0.2 + 0.3}}


@pytest.mark.parametrize("falls", [False, True])
def test_fuse_looks_for_distances_in_all_rows(falls: bool) -> None:
    n_rows = 82_000  # more than a block
    labels = np.tile(np.array([0, 1], np.int32), (n_rows, 1))
    distances = np.tile([0.25, 0.5], (n_rows, 1))
    if falls:
        distances[-1] = [0.5, 0.25]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fuse([(labels, None), (labels, distances)])
    assert any("scores rise along every row" in str(each.message) for each in caught) != falls


def test_fuse_takes_every_form() -> None:
    first, second = models(4, 2)
    expected = fuse([first, second], "mean").toarray()
    ragged = [lists_of(first), lists_of(second)]
    for form in ([first.toarray(), second], ragged, [first, as_list(second)]):
        n_labels = N_LABELS if form is ragged else None
        np.testing.assert_array_equal(fuse(form, "mean", n_labels=n_labels).toarray(), expected)


def test_fuse_of_no_rows_and_of_empty_rows() -> None:
    assert fuse([sp.csr_array((0, 4))] * 2).shape == (0, 4)
    assert fuse([sp.csr_array((2, 4))] * 2, "mean").nnz == 0
    labels, scores = fuse([(np.full((2, 1), -1), None)] * 2, "rank")
    assert labels.shape == scores.shape == (2, 0)


def test_fuse_warns_of_distances_or_takes_them() -> None:
    labels = np.tile([0, 1, 2], (3, 1))
    distances = np.tile([0.1, 0.2, 0.4], (3, 1))
    with pytest.warns(UserWarning, match=r"predictions\[1\]: scores rise along every row"):
        fuse([(labels, None), (labels, distances)])
    fused, _ = fuse([(labels, distances)] * 2, higher_is_better=False)
    np.testing.assert_array_equal(fused, labels)


MATRIX = sp.csr_array(np.ones((2, 3)))
LIST = (np.array([[0], [1]]), None)
NAMED = {"q": {"a": 1.0}}
WIDE = pd.DataFrame(np.eye(3), columns=["x", 1, 2.5])
TWO = [MATRIX] * 2


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        (
            [MATRIX],
            {},
            "predictions: expected predictions of two or more models, in a list or a dict",
        ),
        (TWO, {"rule": "rff"}, "rule: 'rff' is not one of mean, sum, mnz, rrf, rank; did you mean"),
        (TWO, {"rule": "sum", "norm": "zmvu"}, "norm: 'zmvu' is not one of .*; did you mean zmuv"),
        (TWO, {"norm": "zmuv"}, r"norm: is for rules that add scores \(mean, sum, mnz\), not rrf"),
        (
            [MATRIX, LIST],
            {"rule": "mnz", "norm": "min-max"},
            r"predictions\[1\]: has no scores, which rule mnz adds",
        ),
        (
            [MATRIX, MATRIX[:1]],
            {},
            r"predictions\[1\]: 1 row does not match the 2 of predictions\[0\]",
        ),
        (
            [MATRIX, LIST],
            {"rule": "mean"},
            r"predictions\[1\]: has no scores, which rule mean adds",
        ),
        (
            TWO,
            {"weights": [1, 0]},
            r"weights: expected 2 numbers above 0, one for each model, not \[1.0, 0.0\]",
        ),
        (TWO, {"rule": "mean", "rank_constant": 1}, "rank_constant: is for the rule rrf, not mean"),
        (TWO, {"rank_constant": -0.5}, "rank_constant: -0.5 is not 0 or more"),
        (TWO, {"rank_constant": np.inf}, "rank_constant: inf is not 0 or more"),
        (TWO, {"rank_constant": np.nan}, "rank_constant: nan is not 0 or more"),
        (TWO, {"rank_constant": "60"}, "rank_constant: '60' is not a number"),
        (
            TWO,
            {"rule": "mean", "higher_is_better": False},
            "higher_is_better: rule mean takes 0 .* give rule rrf or rank, or norm=",
        ),
        (
            [MATRIX, MATRIX * [1, np.inf, 1]],
            {"rule": "mean"},
            r"predictions\[1\]: row 0: score inf cannot be",
        ),
        (
            [MATRIX * 1e308] * 2,
            {"rule": "mean"},
            "predictions: row 0: the sum of scores exceeds the range of float64; scale the scores",
        ),
        ([NAMED, MATRIX], {}, r"predictions\[1\]: has no names, but other models have"),
        (
            [NAMED, {"r": {"a": 1.0}}],
            {},
            r"predictions\[1\]: no row key is in predictions\[0\], such as 'r';",
        ),
        ([NAMED, WIDE], {}, r"predictions\[1\]: row 0: label 1 is not text, as 'x' is"),
        (
            [WIDE[[1, 2.5]], NAMED],
            {},
            r"predictions\[0\]: row 0: label 2.5 is not a name or an integer id",
        ),
        ([[[0], [1, 2]]] * 2, {}, r"predictions\[0\]: not a rectangular array .* need n_labels="),
    ],
)
def test_fuse_refuses_by_argument(predictions: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fuse(predictions, **options)


def test_an_infinite_score_beyond_the_first_rows_is_named_by_its_row() -> None:
    n_rows = 82_000
    infinite = np.ones((n_rows, 2))
    infinite[n_rows - 1, 1] = np.inf
    with pytest.raises(ValueError, match=f"row {n_rows - 1}: score inf"):
        xmleval.fuse([infinite, np.ones((n_rows, 2))], "sum")


def test_a_sum_beyond_float64_in_a_later_row_is_named_by_its_row() -> None:
    n_rows = 82_000  # more than a block
    large = np.ones((n_rows, 2))
    large[n_rows - 1, 1] = 1e308
    message = f"predictions: row {n_rows - 1}: the sum of scores exceeds the range of float64"
    with pytest.raises(ValueError, match=f"^{message}"):
        fuse([large, large], "sum")


def test_fuse_refuses_no_threads() -> None:
    with pytest.raises(ValueError, match=r"^threads: 0 is not a positive integer$"):
        fuse(TWO, threads=0)
