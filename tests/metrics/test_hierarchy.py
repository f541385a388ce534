"""Hierarchies of labels: their forms, what is refused, and the sets of groups."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.hierarchy import with_ancestors
from xmleval import evaluate

EDGES = [(3, 1), (4, 1), (1, 0), (2, 0), (4, 2)]  # label 4 has two parents; 5 is alone
TRUTH = [{3}, {4, 5}, set(), {1}]
LISTS = np.array([[4, 1], [4, 3], [0, 5], [5, 2]])
Y = sp.csr_array(np.array([[j in y for j in range(6)] for y in TRUTH], np.int8))
NAMES = ["h_precision.samples", "h_recall.micro", "h_f1.micro", "h_f1.micro@1", "h_f1.samples@2"]
OPTIONS: dict[str, Any] = {"metrics": NAMES, "decision": "top2"}


def values(edges: Any, **more: Any) -> dict[str, float]:
    return dict(evaluate(Y, (LISTS, None), hierarchy=edges, **OPTIONS | more))


def test_every_form_is_the_same_hierarchy() -> None:
    expected, matrix = values(EDGES), np.zeros((6, 6))
    matrix[tuple(zip(*EDGES, strict=True))] = 1
    forms: list[Any] = [
        sp.csr_array(matrix), sp.coo_matrix(matrix), np.array(EDGES), EDGES[::-1] * 2,
        {3: 1, 4: [1, 2], 1: 0, 2: [0]},
    ]  # fmt: skip
    for form in forms:
        assert values(form) == expected
    names = "abcdef"
    edges = [(names[child], names[parent]) for child, parent in EDGES]
    assert values(edges, labels=[*names]) == expected
    lists, sets = ([[names[j] for j in row] for row in rows] for rows in (LISTS, TRUTH))
    assert dict(evaluate(sets, lists, hierarchy=edges, labels=[*names], **OPTIONS)) == expected
    report = evaluate(sets, lists, hierarchy=edges, **OPTIONS)  # "a" and "c" are not among the truth's
    assert any("unknown labels have no ancestors in the hierarchy" in note for note in report.notes)


def test_labels_above_all_others_are_noted() -> None:
    notes = evaluate(Y, (LISTS, None), hierarchy=[*EDGES, (5, 0)], **OPTIONS).notes
    assert any("hierarchy= has 0 above all labels: it counts in every set" in note for note in notes)
    assert not evaluate(Y, (LISTS, None), hierarchy=EDGES, **OPTIONS).notes
    report = evaluate(  # an ancestor that occurs nowhere counts where names come with the rows
        [["cat", "dog"]], [["dog"]], metrics="h_f1.micro@1", hierarchy=[("cat", "pet"), ("dog", "pet")]
    )
    assert report["h_f1.micro@1"] == 0.8  # 2 of 2 and 2 of 3
    assert any("hierarchy= has 'pet' above all labels" in note for note in report.notes)


REFUSED: list[tuple[Any, str | None, str]] = [  # edges, names of labels, message
    ([(0, 1), (1, 2), (2, 0), (3, 0)], None, "a cycle: 0 -> 1 -> 2 -> 0, each a child of the next"),
    ([(0, 1), (1, 6)], None, "edge 1: 6 is not one of 0..5; leave out edges to what is no label"),
    ([("a", "b")], None, "edge 0: 'a' is not a label id; here, labels have no names"),
    ([(0, 1, 2)], None, "edge 0: (0, 1, 2) is not a (child, parent) pair"),
    (sp.csr_array((6, 5)), None, "shape (6, 5) is not (6, 6): children by row"),
    ([("root", "a")], "abcdef", "edge 0: 'root' is not one of the 6 labels; leave out edges"),
    ([("a", "b"), ("b", "a")], "cdefba", "a cycle: b -> a -> b"),
]


@pytest.mark.parametrize(("edges", "names", "message"), REFUSED)
def test_edges_that_make_no_hierarchy_are_refused(edges: Any, names: str | None, message: str) -> None:
    with pytest.raises(ValueError, match="^hierarchy: " + re.escape(message)):
        values(edges, labels=[*names] if names else None)


def test_measures_need_a_hierarchy() -> None:
    with pytest.raises(ValueError, match=r"h_precision.samples needs hierarchy="):
        values(None)


def test_within_groups_of_labels_sets_are_restricted_before_ancestors_are_added() -> None:
    groups = np.array(["up", "up", "up", "leaf", "leaf", "leaf"])
    report, leaves = evaluate(Y, (LISTS, None), hierarchy=EDGES, label_groups=groups, **OPTIONS), {3, 4, 5}
    true, listed = (
        [with_ancestors({*row} & leaves, EDGES) for row in rows] for rows in (TRUTH, LISTS.tolist())
    )
    both = sum(len(y & h) for y, h in zip(true, listed, strict=True))
    assert report.groups["leaf"]["h_recall.micro"] == both / sum(map(len, true))
