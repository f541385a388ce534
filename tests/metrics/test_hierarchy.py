"""Hierarchies of labels: their forms, what is refused, and where else their measures are computed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.oracles.hierarchy import with_ancestors
from xmleval import Evaluator, evaluate
from xmleval.budget import Allowance
from xmleval.hierarchy import given_hierarchy
from xmleval.kernels.folds import find_folds

EDGES = [(3, 1), (4, 1), (1, 0), (2, 0), (4, 2)]  # label 4 has two parents; 5 is alone
TRUTH = [{3}, {4, 5}, set(), {1}]
LISTS = np.array([[4, 1], [4, 3], [0, 5], [5, 2]])
Y = sp.csr_array(np.array([[j in y for j in range(6)] for y in TRUTH], np.int8))
NAMES = ["h_precision.samples", "h_recall.micro", "h_f1.micro", "h_f1.micro@1", "h_f1.samples@2"]
GIVEN: dict[str, Any] = {"metrics": NAMES, "decision": "top2"}


def of(edges: Any, **more: Any) -> dict[str, float]:
    return dict(evaluate(Y, (LISTS, None), hierarchy=edges, **GIVEN | more))


def test_values_are_those_of_sets_with_ancestors() -> None:
    true = [with_ancestors(y, EDGES) for y in TRUTH]
    listed = [with_ancestors({*row}, EDGES) for row in LISTS.tolist()]
    both = sum(len(y & h) for y, h in zip(true, listed, strict=True))
    found = of(EDGES)
    assert found["h_recall.micro"] == both / sum(map(len, true))
    assert found["h_f1.micro"] == 2 * both / (sum(map(len, true)) + sum(map(len, listed)))
    assert found["h_precision.samples"] == np.mean(
        [len(y & h) / len(h) for y, h in zip(true, listed, strict=True)]
    )


def test_forms_are_the_same() -> None:
    wanted = of(EDGES)
    matrix = np.zeros((6, 6))
    matrix[tuple(zip(*EDGES, strict=True))] = 1
    forms: list[Any] = [
        sp.csr_array(matrix), sp.coo_matrix(matrix), np.array(EDGES), EDGES[::-1] * 2,
        {3: 1, 4: [1, 2], 1: 0, 2: [0]},
    ]  # fmt: skip
    for form in forms:
        assert of(form) == wanted
    words = "abcdef"
    named = [(words[child], words[parent]) for child, parent in EDGES]
    assert of(named, labels=list(words)) == wanted
    lists, sets = [[words[j] for j in row] for row in LISTS], [[words[j] for j in y] for y in TRUTH]
    assert dict(evaluate(sets, lists, hierarchy=named, **GIVEN)) == wanted


def test_without_edges_they_are_those_of_sets() -> None:
    found, plain = (
        of([]),
        dict(evaluate(Y, (LISTS, None), metrics=["f1.micro", "f1.samples@2"], decision="top2")),
    )
    assert (found["h_f1.micro"], found["h_f1.samples@2"]) == (plain["f1.micro"], plain["f1.samples@2"])


def test_ancestors_that_occur_nowhere_count_where_names_come_with_the_rows() -> None:
    report = evaluate(
        [["cat"]], [["dog"]], metrics="h_f1.micro@1", hierarchy=[("cat", "pet"), ("dog", "pet")]
    )
    assert report["h_f1.micro@1"] == 0.5
    assert any("hierarchy= has 'pet' above all labels" in note for note in report.notes)


def test_what_is_above_all_labels_is_told() -> None:
    told = evaluate(Y, (LISTS, None), hierarchy=[*EDGES, (5, 0)], **GIVEN).notes
    assert any("hierarchy= has 0 above all labels: it counts in every set" in note for note in told)
    assert not evaluate(Y, (LISTS, None), hierarchy=EDGES, **GIVEN).notes


REFUSED: dict[str, tuple[Any, str]] = {
    "cycle": (
        [(0, 1), (1, 2), (2, 0), (3, 0)],
        "hierarchy: a cycle: 0 -> 1 -> 2 -> 0, each a child of the next",
    ),
    "own parent": ([(0, 1), (2, 2)], "hierarchy: a cycle: 2 -> 2"),
    "long cycle": (
        [(i, (i + 1) % 6) for i in range(6)],
        "hierarchy: a cycle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0",
    ),
    "outside": (
        [(0, 1), (1, 6)],
        "hierarchy: edge 1: 6 is not one of 0..5; leave out edges to what is no label",
    ),
    "negative": ([(-1, 1)], "hierarchy: edge 0: -1 is not one of 0..5"),
    "name": ([("a", "b")], "hierarchy: edge 0: 'a' is not a label id; here, labels have no names"),
    "no pair": ([(0, 1, 2)], r"hierarchy: edge 0: \(0, 1, 2\) is not a \(child, parent\) pair"),
    "number": (7, "hierarchy: 7 is no list of"),
    "file": ("edges.tsv", "hierarchy: a str is no data; xmleval.io reads files"),
    "shape": (sp.csr_array((6, 5)), r"hierarchy: shape \(6, 5\) is not \(6, 6\): children by row"),
    "float": ([(0.0, 1.0)], "hierarchy: edge 0: 0.0 is not a label id"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    edges, said = REFUSED[case]
    with pytest.raises(ValueError, match=re.compile("^" + said)):
        of(edges)


def test_names_that_are_no_labels_are_refused_where_labels_are_listed() -> None:
    with pytest.raises(ValueError, match="edge 0: 'root' is not one of the 6 labels; leave out edges"):
        of([("root", "a")], labels=list("abcdef"))
    with pytest.raises(ValueError, match="a cycle: b -> a -> b"):
        of([("a", "b"), ("b", "a")], labels=list("cdefba"))


def test_measures_without_a_hierarchy_and_a_hierarchy_without_measures_are_refused() -> None:
    with pytest.raises(ValueError, match=r"h_f1.micro needs hierarchy="):
        evaluate(Y, (LISTS, None), metrics="h_f1.micro", decision="top2")
    with pytest.raises(ValueError, match=r"hierarchy= has no effect: the measures in it, such as h_f1.micro"):
        evaluate(Y, (LISTS, None), metrics="p@1", hierarchy=EDGES)
    not_computed = evaluate(Y, (LISTS, None), metrics=["all"], decision="top2").not_computed
    assert not_computed["h_f1.micro"] == "hierarchy="


def test_a_chain_beyond_memory_is_refused_before_it_is_listed() -> None:
    n = 100_000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    said = "hierarchy: listing the ancestors of all labels needs 9"
    with pytest.raises(ValueError, match=said):
        given_hierarchy(chain, n, allowance=Allowance(10_000_000, "a test"))


def test_parts_that_differ_are_not_merged_and_saved_states_are_those_that_were_saved(tmp_path: Path) -> None:
    def counted(edges: Any, rows: slice) -> Evaluator:
        found = Evaluator(NAMES, n_labels=6, hierarchy=edges, decision="top2")
        found.update(Y[rows], (LISTS[rows], None))
        return found

    one, other = counted(EDGES, slice(0, 3)), counted(EDGES, slice(3, 4))
    with pytest.raises(ValueError, match="merge: hierarchy"):
        counted(EDGES[1:], slice(0, 3)).merge(other)
    one.save(tmp_path / "one.npz")
    loaded = Evaluator.load(tmp_path / "one.npz")
    assert dict(loaded.merge(other).compute()) == of(EDGES)


def test_within_groups_of_labels_sets_are_restricted_before_ancestors_are_added() -> None:
    groups = np.array(["up", "up", "up", "leaf", "leaf", "leaf"])
    report = evaluate(
        Y, (LISTS, None), hierarchy=EDGES, label_groups=groups, row_groups=list("xxyy"), **GIVEN
    )
    leaves = {3, 4, 5}
    rows = [
        (with_ancestors(y & leaves, EDGES), with_ancestors({*h} & leaves, EDGES))
        for y, h in zip(TRUTH, LISTS.tolist(), strict=True)
    ]
    both, n_true = sum(len(y & h) for y, h in rows), sum(len(y) for y, _ in rows)
    assert report.groups["leaf"]["h_recall.micro"] == both / n_true
    rows_of_x = evaluate(Y[:2], (LISTS[:2], None), hierarchy=EDGES, **GIVEN)
    assert dict(report.row_groups["x"]) == dict(rows_of_x)


def test_rows_intervals_and_comparisons() -> None:
    more = {**GIVEN, "hierarchy": EDGES}
    report = evaluate(Y, (LISTS, None), per_row=True, confidence=0.95, **more)
    assert report.per_row()["h_precision.samples"].mean() == report["h_precision.samples"]
    fold = np.empty(4, np.uint8)
    find_folds(np.arange(4), fold)
    kept = [fold != own for own in np.unique(fold)]
    without = np.array([evaluate(Y[rows], (LISTS[rows], None), **more)["h_f1.micro"] for rows in kept])
    spread = np.sqrt((1 - 1 / len(kept)) * ((without - without.mean()) ** 2).sum())
    assert report.standard_errors["h_f1.micro"] == pytest.approx(spread)
    compared = xmleval.compare({"a": (LISTS, None), "b": (LISTS[:, ::-1].copy(), None)}, Y, **more)
    assert "hF1 micro@1" in str(compared)
