"""Fused lists: their oracle, values of ranx and PECOS, forms of input, and what is refused."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.oracles.fusion import Listed, best_first, fused_row
from xmleval.fusion import RULES
from xmleval.input import csr

PEERS = json.loads((Path(__file__).parent / "fusion_peers.json").read_text())
WEIGHTS = {"round_robin": [1.0] * 3}
N_LABELS = 12


def models(seed: int, n: int = 3, rows: int = 40) -> list[Any]:
    """Scores of models, some tied, some rows empty, exact in few bits."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        scores = sp.random(rows, N_LABELS, 0.4, "csr", rng=rng)
        scores.data = rng.integers(-8, 9, scores.nnz) / 8.0
        scores.sort_indices()
        found.append(scores)
    return found


def lists_of(scores: Any) -> list[Listed]:
    """Return the labels of each row with their scores, best first."""
    rows = np.split(np.arange(scores.nnz), scores.indptr[1:-1])
    pairs = [[(int(scores.indices[p]), float(scores.data[p])) for p in row] for row in rows]
    return [sorted(row, key=lambda pair: (-pair[1], pair[0])) for row in pairs]


def pair_of(scores: Any) -> tuple[Any, Any]:
    """Return the same as arrays of labels and scores."""
    rows = lists_of(scores)
    depth = max(map(len, rows))
    labels, values = np.full((len(rows), depth), -1), np.full((len(rows), depth), np.nan)
    for i, row in enumerate(rows):
        for j, (label, score) in enumerate(row):
            labels[i, j], values[i, j] = label, score
    return labels, values


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("rule", RULES)
def test_values_are_those_of_the_definition(rule: str, k: int | None) -> None:
    given, weights = models(0), WEIGHTS.get(rule, [1.0, 0.5, 2.0])
    rows = [lists_of(scores) for scores in given]
    longest = max(len(row) for model in rows for row in model)
    by_matrix = xmleval.fuse(given, rule, k=k, weights=weights)
    dense = by_matrix.toarray()
    labels, scores = xmleval.fuse([pair_of(one) for one in given], rule, k=k, weights=weights)
    for i in range(given[0].shape[0]):
        wanted = fused_row(rule, [model[i] for model in rows], weights, longest)
        best = labels[i][labels[i] >= 0].tolist()
        np.testing.assert_allclose(scores[i, : len(best)], [wanted[label] for label in best], rtol=1e-14)
        exact = {label: float(dense[i, label]) for label in wanted}
        if k is None:
            assert best == best_first(exact, None)  # ties, too
            np.testing.assert_array_equal(scores[i, : len(best)], [exact[label] for label in best])
        assert sorted(best) == by_matrix.indices[slice(*by_matrix.indptr[i : i + 2])].tolist()
        near = sorted(wanted.values(), reverse=True)[: len(best)]
        np.testing.assert_allclose(scores[i, : len(best)], near, rtol=1e-14)


@pytest.mark.parametrize("case", PEERS["fused"], ids=lambda case: f"{case['of']} {case['n']}")
def test_values_are_those_of_ranx_and_pecos(case: dict[str, Any]) -> None:
    fused = xmleval.fuse(PEERS["runs"][: case["n"]], case["rule"], weights=case["weights"])
    for row, wanted in case["fused"].items():
        assert fused[row].keys() == wanted.keys()
        for label, score in wanted.items():  # sums of three in the order of the models differ in the last bit
            close = case["n"] == 3 or case["rule"] == "softmax"
            assert fused[row][label] == (pytest.approx(score, rel=1e-15, abs=1e-15) if close else score)


def test_names_of_the_rules_elsewhere_are_taken() -> None:
    given = models(1)
    for other, rule in (("rank_average", "rank"), ("average", "mean"), ("bordafuse", "borda")):
        np.testing.assert_array_equal(
            xmleval.fuse(given, other).toarray(), xmleval.fuse(given, rule).toarray()
        )


def test_ngame_s_fusion_is_a_weighted_sum() -> None:
    tree, shortlist, classifier = (scores.toarray() for scores in models(2))
    fused = xmleval.fuse([tree, shortlist, classifier], "sum", weights=[0.5, 0.5, 1]).toarray()
    np.testing.assert_array_equal(fused, 0.5 * (tree + shortlist) + classifier)


@pytest.mark.parametrize("rule", RULES)
def test_bits_depend_on_no_block_no_thread_and_no_order_of_models(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    given = [one * 0 + one.multiply(rng.random()).tocsr() for one in models(3)]
    weights = rng.random(3) if rule != "round_robin" else np.ones(3)
    wanted = xmleval.fuse(given, rule, weights=weights, k=4).toarray()
    for threads, rows in ((1, 1), (2, 7)):
        monkeypatch.setattr(csr, "MOST_ROWS", rows)
        found = xmleval.fuse(given, rule, weights=weights, k=4, threads=threads)
        np.testing.assert_array_equal(found.toarray(), wanted)
    if rule != "round_robin":
        for order in permutations(range(3)):
            models_in_order, own = [given[n] for n in order], [weights[n] for n in order]
            found = xmleval.fuse(models_in_order, rule, weights=own, k=4)
            np.testing.assert_array_equal(found.toarray(), wanted)


def test_equal_sums_rank_the_smaller_label_or_the_later_name_first() -> None:
    labels, scores = xmleval.fuse([([[7, 2]], None), ([[2, 7]], None)])
    assert labels.tolist() == [[2, 7]]
    assert scores[0, 0] == scores[0, 1]
    assert list(xmleval.fuse([{"q": {"b": 1.0}}, {"q": {"a": 1.0}}])["q"]) == ["b", "a"]


def test_what_has_names_is_matched_by_them() -> None:
    one, other = {"q1": {"a": 2.0}, "q2": {"b": 1.0}}, {"q3": {"c": 4.0}, "q1": {"b": 3.0, "a": 1.0}}
    assert xmleval.fuse([one, other], "sum") == {
        "q1": {"a": 3.0, "b": 3.0},
        "q2": {"b": 1.0},
        "q3": {"c": 4.0},
    }
    fused = xmleval.fuse([[["a", "b"], []], [["b"], ["c"]]], "borda")
    assert fused == [{"a": 3.0, "b": 3.0}, {"c": 2.0}]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0.5, 1.0]], columns=["a", "b"])
    assert xmleval.fuse([frame, [{"b": 2.0}]], "sum") == [{"b": 3.0, "a": 0.5}]
    truth = {"q1": ["b"], "q2": ["b"]}
    assert xmleval.evaluate(truth, xmleval.fuse([one, other]), metrics="p@1")["p@1"] == 0.5


def test_forms_give_the_same() -> None:
    given = models(4, 2)
    wanted = xmleval.fuse(given, "mean").toarray()
    dense = [one.toarray() for one in given]
    ragged = [lists_of(one) for one in given]
    np.testing.assert_array_equal(xmleval.fuse([dense[0], given[1]], "mean").toarray(), wanted)
    np.testing.assert_array_equal(xmleval.fuse(ragged, "mean", n_labels=N_LABELS).toarray(), wanted)
    mixed = xmleval.fuse([given[0], pair_of(given[1])], "mean")
    np.testing.assert_array_equal(mixed.toarray(), wanted)
    torch = pytest.importorskip("torch")
    labels, scores = pair_of(given[1])
    pair = torch.tensor(scores), torch.tensor(labels)
    np.testing.assert_array_equal(xmleval.fuse([given[0], pair], "mean").toarray(), wanted)


def test_no_rows_and_empty_rows() -> None:
    none = sp.csr_array((0, 4))
    assert xmleval.fuse([none, none]).shape == (0, 4)
    assert xmleval.fuse([sp.csr_array((2, 4))] * 2, "softmax").nnz == 0
    labels, scores = xmleval.fuse([(np.full((2, 1), -1), None)] * 2, "rank")
    assert labels.shape == scores.shape == (2, 0)


def test_distances_are_told_or_taken() -> None:
    near = np.tile([0, 1, 2], (3, 1)), np.tile([0.1, 0.2, 0.4], (3, 1))
    with pytest.warns(UserWarning, match=r"predictions\[1\]: scores rise along every row"):
        xmleval.fuse([(near[0], None), near])
    labels, _ = xmleval.fuse([near, near], higher_is_better=False)
    np.testing.assert_array_equal(labels, near[0])


MATRIX, LIST = sp.csr_array(np.ones((2, 3))), (np.array([[0], [1]]), None)
REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "one model": (([MATRIX],), {}, "predictions: 1 given; expected those of two models or more"),
    "a dict": (({"a": MATRIX},), {}, "predictions: dict is no list"),
    "a pair": (((np.array([[0]]), np.array([[0.5]])),), {}, "predictions: one pair of labels and scores"),
    "rule": (([MATRIX] * 2, "rff"), {}, "rule: 'rff' is not one of rrf, mean, sum, .*did you mean rrf"),
    "rows": (
        ([MATRIX, MATRIX[:1]],),
        {},
        r"predictions\[1\]: 1 row does not match the 2 of predictions\[0\]",
    ),
    "labels": (([MATRIX, MATRIX[:, :2]],), {}, r"predictions\[1\]: shape \(2, 2\) has 2 labels; 3 were exp"),
    "no scores": (
        ([MATRIX, LIST], "mean"),
        {},
        r"predictions\[1\]: lists without scores; the rule mean adds",
    ),
    "weights": (([MATRIX] * 2,), {"weights": [1]}, "weights: 1 given, for 2 models"),
    "no weight": (([MATRIX] * 2,), {"weights": [1, 0]}, "weights: 0.0 is not above 0"),
    "order": (([MATRIX] * 2, "round_robin"), {"weights": [1, 2]}, "weights: the rule round_robin takes"),
    "constant": (
        ([MATRIX] * 2, "mean"),
        {"rank_constant": 1},
        "rank_constant: is for the rule rrf, not mean",
    ),
    "low constant": (([MATRIX] * 2,), {"rank_constant": -1}, "rank_constant: -1 is not 0 or more"),
    "k": (([MATRIX] * 2,), {"k": 0}, "k: 0 is not a positive integer"),
    "distances": (
        ([MATRIX] * 2, "sum"),
        {"higher_is_better": False},
        "higher_is_better: the rule sum adds scores, and takes 0",
    ),
    "infinite": (
        ([MATRIX, MATRIX * [1, np.inf, 1]], "sum"),
        {},
        r"predictions\[1\]: row 0: score inf cannot be added",
    ),
    "too large": (([MATRIX * 1e308] * 2, "sum"), {}, "predictions: row 0: sums of scores exceed float64"),
    "some names": (
        ([{"q": {"a": 1.0}}, MATRIX],),
        {},
        r"predictions\[1\]: has no names, which predictions\[0\]",
    ),
    "other rows": (
        ([{"q": {"a": 1.0}}, {"r": {"a": 1.0}}],),
        {},
        r"predictions\[1\]: no row is one of predictions\[0\], as 'r' is not; expected names like 'q'",
    ),
    "kinds": (
        ([{"q": {"a": 1.0}}, {"q": {1: 1.0}}],),
        {},
        "predictions: labels of number 0 are text, and those of number 1 integers",
    ),
    "lists of ids": (
        ([[[0], [1, 2]]] * 2,),
        {},
        r"predictions\[0\]: not a rectangular array .* need n_labels=",
    ),
    "id twice": (
        ([(np.array([[1, 1]]), None)] * 2,),
        {},
        r"predictions\[0\]: row 0: label id 1 occurs twice",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    arguments, more, said = REFUSED[case]
    with pytest.raises(ValueError, match=re.compile("^" + said)):
        xmleval.fuse(*arguments, **more)
