"""Hierarchies of labels: forms, refusals, groups, and unknown labels."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles.hierarchy import with_ancestors
from xmleval import Evaluator, Running, compare, evaluate, scan

EDGES = [(3, 1), (4, 1), (1, 0), (2, 0), (4, 2)]  # label 4 has two parents; 5 is alone
TRUTH = [{3}, {4, 5}, set(), {1}]
LISTS = np.array([[4, 1], [4, 3], [0, 5], [5, 2]])
Y = sp.csr_array(np.array([[j in y for j in range(6)] for y in TRUTH], np.int8))
NAMES = ["h_precision.samples", "h_recall.micro", "h_f1.micro", "h_f1.micro@1", "h_f1.samples@2"]
OPTIONS: dict[str, Any] = {"metrics": NAMES, "decision": "top2"}


def values(edges: Any, **options: Any) -> dict[str, float]:
    return dict(evaluate(Y, (LISTS, None), hierarchy=edges, **OPTIONS | options))


def test_hierarchy_is_the_same_in_every_form() -> None:
    expected = values(EDGES)
    matrix = np.zeros((6, 6))
    matrix[tuple(zip(*EDGES, strict=True))] = 1
    forms: list[Any] = [
        sp.csr_array(matrix),
        sp.coo_matrix(matrix),
        np.array(EDGES),
        EDGES[::-1] * 2,
        {3: 1, 4: [1, 2], 1: 0, 2: [0]},
    ]
    for form in forms:
        assert values(form) == expected
    names = [*"abcdef"]
    edges = [(names[child], names[parent]) for child, parent in EDGES]
    assert values(edges, labels=names) == expected
    lists = [[names[j] for j in row] for row in LISTS]
    sets = [[names[j] for j in row] for row in TRUTH]
    assert dict(evaluate(sets, lists, hierarchy=edges, labels=names, **OPTIONS)) == expected
    # "a" and "c" are not in the truth
    report = evaluate(sets, lists, hierarchy=edges, **OPTIONS)
    assert dict(report) == expected


def test_hierarchy_with_a_label_above_all_others_is_noted() -> None:
    message = "hierarchy= has 0 above all labels, so it counts in every set"
    notes = evaluate(Y, (LISTS, None), hierarchy=[*EDGES, (5, 0)], **OPTIONS).notes
    assert any(message in note for note in notes)
    assert not evaluate(Y, (LISTS, None), hierarchy=EDGES, **OPTIONS).notes
    report = evaluate(  # an ancestor that occurs nowhere counts where names come with the rows
        [["cat", "dog"]],
        [["dog"]],
        metrics="h_f1.micro@1",
        hierarchy=[("cat", "pet"), ("dog", "pet")],
    )
    assert report["h_f1.micro@1"] == 0.8  # 2 of 2 and 2 of 3
    assert any("hierarchy= has 'pet' above all labels" in note for note in report.notes)


@pytest.mark.parametrize(
    ("edges", "note"),
    [
        ([("a", "x"), ("b", "y")], None),
        (
            [("A", "x"), ("B", "x")],
            "lacks 2 of 2 labels, such as 'a', but has 3 other nodes, such as 'A'; compare their "
            "names",
        ),
        (
            [("a", "x")],
            "lacks 1 of 2 labels, such as 'b', but has 1 other node, such as 'x'; compare their "
            "names",
        ),
        (
            [("a", "x"), ("b", "x")],
            "has 'x' above all labels, so it counts in every set that is not empty; leave out "
            "edges to it, as is usual for a root",
        ),
    ],
)
def test_hierarchy_that_may_have_other_names_than_labels_is_noted(
    edges: list[tuple[str, str]], note: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("".join(f"{child},{parent}\n" for child, parent in edges))
    run = [{"a": 0.5}, {"b": 0.25, "a": 0.125}]
    for hierarchy in (edges, path):
        report = evaluate([["a"], ["b"]], run, metrics="h_f1.micro@1", hierarchy=hierarchy)
        assert report.notes == ([] if note is None else [f"hierarchy= {note}"])


REFUSED: list[tuple[Any, str | None, str]] = [  # edges, names of labels, message
    ([(0, 1), (1, 2), (2, 0), (3, 0)], None, "a cycle: 0 -> 1 -> 2 -> 0, each a child of the next"),
    ([(0, 1), (1, 6)], None, "edge 1: 6 is not one of 0..5; leave out edges to nodes"),
    ([("a", "b")], None, "edge 0: 'a' is not a label id; here, labels have no names"),
    ([(0, 1, 2)], None, "edge 0: (0, 1, 2) is not a (child, parent) pair"),
    (sp.csr_array((6, 5)), None, "shape (6, 5) is not (6, 6): children by row"),
    ([("a", "b"), (3, "a")], "abcdef", "edge 1: 3 is not a name of a label, such as 'a'"),
    ([("a", "b"), ("b", "a")], "cdefba", "a cycle: b -> a -> b"),
    ([(2, 2)], None, "a cycle: 2 -> 2, each a child of the next"),
    (np.array([(0, 1), (1, 6)]), None, "edge 1: 6 is not one of 0..5; leave out edges to nodes"),
    (np.array([(0, 1), (-1, 2)]), None, "edge 1: -1 is not one of 0..5; leave out edges to nodes"),
    (np.array([(0.0, 1.5)]), None, "edge 0: 0.0 is not a label id"),
]


@pytest.mark.parametrize(("edges", "names", "message"), REFUSED)
def test_hierarchy_refuses_edges_with_cycles_or_wrong_labels(
    edges: Any, names: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match="^hierarchy: " + re.escape(message)):
        values(edges, labels=[*names] if names else None)


@pytest.mark.parametrize(
    ("n_nodes", "shown_cycle"),
    [
        (8, "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 0"),
        (9, "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> .. -> 0"),
    ],
)
def test_hierarchy_shows_the_first_nodes_of_a_long_cycle(n_nodes: int, shown_cycle: str) -> None:
    edges = [(node, (node + 1) % n_nodes) for node in range(n_nodes)]
    message = f"^hierarchy: a cycle: {re.escape(shown_cycle)}, each a child of the next$"
    with pytest.raises(ValueError, match=message):
        evaluate(np.eye(n_nodes), np.eye(n_nodes), metrics="h_f1.micro@1", hierarchy=edges)


def test_matrix_of_a_hierarchy_needs_the_order_of_labels_with_names() -> None:
    truth = [["a"], ["b"]]
    ranked = [["b"], ["b"]]
    matrix = sp.csr_array(np.array([[0, 1], [0, 0]]))  # "a" is a child of "b"
    message = (
        "hierarchy: a matrix has labels by number, but y_true has names; give labels=, or pairs of "
        "names"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(truth, ranked, metrics="h_f1.micro@1", hierarchy=matrix)
    for edges in (matrix, [("a", "b")]):
        report = evaluate(truth, ranked, metrics="h_f1.micro@1", hierarchy=edges, labels=["a", "b"])
        assert report["h_f1.micro@1"] == 0.8  # 2 of 2 and 2 of 3


def test_hierarchical_measures_need_a_hierarchy() -> None:
    with pytest.raises(ValueError, match=r"h_precision.samples needs hierarchy="):
        values(None)


def test_label_groups_restrict_sets_before_ancestors_are_added() -> None:
    groups = np.array(["up", "up", "up", "leaf", "leaf", "leaf"])
    report = evaluate(Y, (LISTS, None), hierarchy=EDGES, label_groups=groups, **OPTIONS)
    leaves = {3, 4, 5}
    hits = 0
    n_relevant = 0
    for relevant, predicted in zip(TRUTH, LISTS.tolist(), strict=True):
        y = with_ancestors({*relevant} & leaves, EDGES)
        h = with_ancestors({*predicted} & leaves, EDGES)
        hits += len(y & h)
        n_relevant += len(y)
    assert report.groups["leaf"]["h_recall.micro"] == hits / n_relevant


LEAVES = [f"g{number}" for number in range(9)]
PARENTS = {  # g8 is not in the tree
    "g0": ["d0"],
    "g1": ["d0"],
    "g2": ["d0"],
    "g3": ["d1"],
    "g4": ["d1"],
    "g5": ["d1", "d2"],
    "g6": ["d2"],
    "g7": ["d2"],
    "d0": ["c0"],
    "d1": ["c0"],
    "d2": ["c1"],
    "c0": ["root"],
    "c1": ["root"],
}
TREE = [(child, parent) for child, parents in PARENTS.items() for parent in parents]
CODES = [*LEAVES[:8], "d0", "d1", "c1", "x0", "x1", "g8"]  # of predictions
RNG = np.random.default_rng(5)


def random_rows(labels: list[str], most: int) -> list[list[str]]:
    """Return 30 rows of up to so many labels."""
    return [
        RNG.choice(labels, RNG.integers(0, most + 1), replace=False).tolist() for _ in range(30)
    ]


TRUE_SETS = random_rows(LEAVES[:5], 3)
RANKED = random_rows(CODES, 5)
AT_3 = [
    "h_precision.micro@3",
    "h_recall.micro@3",
    "h_f1.micro@3",
    "h_f1.samples@3",
    "h_precision.samples@3",
]
SET_NAMES = [name.removesuffix("@3") for name in AT_3]


def by_hand(true: list[list[Any]], predicted: list[list[Any]], edges: Any = TREE) -> list[float]:
    """Return the measures by their definition, on names."""
    hits = []
    n_true = []
    n_predicted = []
    f1 = []
    precision = []
    for relevant, labels in zip(true, predicted, strict=True):
        y = with_ancestors({*relevant}, edges)
        h = with_ancestors({*labels}, edges)
        hits.append(len(y & h))
        n_true.append(len(y))
        n_predicted.append(len(h))
        f1.append(2 * len(y & h) / max(len(y) + len(h), 1))
        precision.append(len(y & h) / max(len(h), 1))
    return [
        sum(hits) / sum(n_predicted),
        sum(hits) / sum(n_true),
        2 * sum(hits) / (sum(n_predicted) + sum(n_true)),
        float(np.mean(f1)),
        float(np.mean(precision)),
    ]


FIRST = [row[:3] for row in RANKED]
RIGHT = pytest.approx(by_hand(TRUE_SETS, FIRST), abs=1e-12)
SCORED = [{label: 9.0 - place for place, label in enumerate(row)} for row in RANKED]
KEYED = {f"r{number}": dict.fromkeys(row, 1) for number, row in enumerate(TRUE_SETS)}
RUN = {f"r{number}": row for number, row in enumerate(SCORED)}


def test_unknown_labels_in_the_hierarchy_have_ancestors() -> None:
    expected = evaluate(TRUE_SETS, RANKED, metrics=AT_3, hierarchy=TREE)
    assert [*expected.values()] == RIGHT
    for options in ({"y_pred": FIRST}, {"y_score": RANKED, "decision": "top3"}):
        report = evaluate(TRUE_SETS, metrics=SET_NAMES, hierarchy=TREE, **options)
        assert [*report.values()] == [*expected.values()]


def test_hierarchical_values_do_not_depend_on_the_order_of_labels_and_edges() -> None:
    expected = dict(evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE))
    assert [*expected.values()] == RIGHT
    every_code = [*dict.fromkeys([*LEAVES, *CODES, "d2", "c0", "root"])]
    for labels in (None, LEAVES[:5], LEAVES[::-1], every_code):
        for edges in (TREE, TREE[::-1], iter(TREE), PARENTS):
            report = evaluate(KEYED, RUN, metrics=AT_3, hierarchy=edges, labels=labels)
            assert dict(report) == expected
    unknown = evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE, labels=LEAVES[:5]).unknown_labels
    predicted = {label for row in RANKED for label in row}.difference(LEAVES[:5])
    assert sorted(unknown) == sorted(predicted)


@pytest.fixture
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_in_tmp_path")
def test_hierarchical_values_do_not_depend_on_companions_and_batches() -> None:
    expected = dict(evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE))
    companion = {row: {"x1": 2.0, "d2": 1.0, "g7": 0.5} for row in RUN}
    for models in ({"a": RUN, "b": companion}, {"b": companion, "a": RUN}):
        reports = compare(KEYED, models, metrics=AT_3, hierarchy=TREE).reports
        assert dict(reports["a"]) == expected
    options: dict[str, Any] = {"metrics": AT_3, "labels": LEAVES[:5]}
    first = Evaluator(**options, hierarchy=TREE)
    second = Evaluator(**options, hierarchy=TREE[::-1])
    for rows in (slice(0, 7), slice(7, 11), slice(11, 20)):
        first.update(TRUE_SETS[rows], RANKED[rows])
        first.save("first.npz")
        first = Evaluator.load("first.npz")
    second.update(TRUE_SETS[20:], RANKED[20:])
    assert dict(second.merge(first).compute()) == expected


def write_lines(path: str, lines: list[str]) -> str:
    Path(path).write_text("".join(f"{line}\n" for line in lines))
    return path


def write_csv(path: str, rows: list[list[str]]) -> str:
    lines = [f"r{number},{';'.join(row)}" for number, row in enumerate(rows)]
    return write_lines(path, ["id,labels", *lines])


def write_jsonl(path: str, rows: list[list[str]]) -> str:
    documents = [{"id": f"r{number}", "labels": row} for number, row in enumerate(rows)]
    return write_lines(path, [json.dumps(document) for document in documents])


def write_qrels() -> str:
    """Write the truth, with a judgement of 0 for rows without relevant labels."""
    lines = []
    for row, labels in KEYED.items():
        grades = labels or {"g0": 0}
        lines += [f"{row} 0 {label} {grade}" for label, grade in grades.items()]
    return write_lines("y.qrels", lines)


def write_run() -> str:
    lines = []
    for row, scores in RUN.items():
        lines += [f"{row} Q0 {label} 1 {score} m" for label, score in scores.items()]
    return write_lines("m.run", lines)


def documents_of(kind: str) -> list[Any]:
    """Write truth and predictions as documents, and scan them."""
    write = write_csv if kind == "csv" else write_jsonl
    separator = ";" if kind == "csv" else None
    paths = [write(f"y.{kind}", TRUE_SETS), write(f"m.{kind}", RANKED)]
    return [scan(path, label="labels", instance="id", separator=separator) for path in paths]


@pytest.mark.usefixtures("_in_tmp_path")
@pytest.mark.parametrize("labels", [None, LEAVES[:5]])
@pytest.mark.parametrize("kind", ["qrels", "csv", "jsonl"])
def test_unknown_labels_in_files_have_ancestors(kind: str, labels: Any) -> None:
    edges = write_lines("edges.tsv", [f"{child}\t{parent}" for child, parent in TREE])
    options: dict[str, Any] = {"metrics": AT_3, "hierarchy": edges, "labels": labels}
    if kind == "qrels":
        inputs = [write_qrels(), write_run()]
    else:
        inputs = documents_of(kind)
        truth, sets = inputs
        report = evaluate(truth, y_pred=sets, **options | {"metrics": SET_NAMES})
        assert [*report.values()] == pytest.approx(by_hand(TRUE_SETS, RANKED), abs=1e-12)
    report = evaluate(*inputs, **options)
    assert [*report.values()] == RIGHT
    running = Running(block_rows=3, save="state.npz")
    saved = evaluate(*inputs, **options, threads=2, running=running)
    assert dict(saved) == dict(report) == dict(Evaluator.load("state.npz").compute())


def test_unknown_labels_in_columns_of_a_frame_have_ancestors() -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame({label: [int(label in row) for row in TRUE_SETS] for label in LEAVES[:5]})
    h = pandas.DataFrame({label: [int(label in row) for row in FIRST] for label in CODES})
    assert [*evaluate(y, y_pred=h, metrics=SET_NAMES, hierarchy=TREE).values()] == RIGHT


def test_hierarchy_may_have_more_nodes_than_labels() -> None:
    matrix = np.array([[label in row for label in LEAVES] for row in TRUE_SETS], int)
    scores = np.array([[row.get(label, 0.0) for label in LEAVES] for row in SCORED])
    report = evaluate(matrix, scores, metrics=AT_3, hierarchy=TREE, labels=LEAVES)
    named = evaluate(matrix, RANKED, metrics=AT_3, hierarchy=TREE, labels=LEAVES)
    assert [*named.values()] == RIGHT
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    first = np.array(LEAVES)[order].tolist()
    assert [*report.values()] == pytest.approx(by_hand(TRUE_SETS, first), abs=1e-12)
    lacks = "hierarchy= lacks 1 of 9 labels, such as 'g8', but has 6 other nodes, such as 'c0'"
    assert any(note.startswith(lacks) for note in report.notes)


def test_unknown_labels_outside_the_hierarchy_are_noted() -> None:
    note = "some unknown labels are not in hierarchy=, and count without ancestors"
    tree = [("a", "r"), ("b", "r"), ("c", "r")]
    for label, is_noted in (("b", False), ("z", True)):
        truth = [["a"], ["c"]]
        predicted = [[label], ["c"]]
        report = evaluate(truth, predicted, metrics=["h_f1.micro@1"], hierarchy=tree)
        _, _, f1, *_ = by_hand(truth, predicted, tree)
        assert report["h_f1.micro@1"] == f1
        assert (note in report.notes) == is_noted


def test_hierarchy_of_integer_names() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame({10: [1, 0], 20: [0, 1]})
    predicted = pandas.DataFrame({11: [1.0, 0.0], 20: [0.0, 1.0], 10: [0.5, 0.5]})
    edges = [(10, 1), (11, 1), (20, 2), (1, 0)]
    report = evaluate(truth, predicted, metrics=["h_f1.micro@1"], hierarchy=edges)
    assert report["h_f1.micro@1"] == 2 * (2 + 2) / (3 + 2 + 3 + 2)


def test_hierarchy_of_one_label_has_no_note_on_its_root() -> None:
    for names, is_noted in (["a"], False), (["a", "b"], True):
        edges = [(name, "root") for name in names]
        report = evaluate([names], [names], metrics=["h_f1.micro@1"], hierarchy=edges)
        assert any("above all labels" in note for note in report.notes) == is_noted


def test_hierarchy_ignores_stored_zeros() -> None:
    matrix = sp.csr_array(
        (
            np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
            (np.array([3, 4, 1, 2, 4, 5]), [1, 1, 0, 0, 2, 0]),
        ),
        shape=(6, 6),
    )
    assert matrix.nnz == len(EDGES) + 1
    assert values(matrix) == values(EDGES)


def test_hierarchy_has_an_edge_for_every_entry_that_is_not_zero() -> None:
    children, parents = np.transpose(EDGES)
    weights = np.resize([-1.0, 0.5, np.nan], len(EDGES))
    assert values(sp.csr_array((weights, (children, parents)), shape=(6, 6))) == values(EDGES)
