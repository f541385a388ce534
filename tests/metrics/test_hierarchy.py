"""Hierarchies of labels: their forms, what is refused, and the sets of groups."""

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
    assert dict(report) == expected


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
    ([("a", "b"), (3, "a")], "abcdef", "edge 1: 3 is no name like that of label 'a'"),
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


LEAVES = [f"g{number}" for number in range(9)]
TREE = [
    *(("g0", "d0"), ("g1", "d0"), ("g2", "d0"), ("g3", "d1"), ("g4", "d1"), ("g5", "d1"), ("g5", "d2")),
    *(("g6", "d2"), ("g7", "d2"), ("d0", "c0"), ("d1", "c0"), ("d2", "c1"), ("c0", "root"), ("c1", "root")),
]  # of which g8 is no node
CODES = [*LEAVES[:8], "d0", "d1", "c1", "x0", "x1", "g8"]  # of predictions
random = np.random.default_rng(5)
TRUE_SETS = [random.choice(LEAVES[:5], random.integers(0, 4), replace=False).tolist() for _ in range(30)]
RANKED = [random.choice(CODES, random.integers(0, 6), replace=False).tolist() for _ in range(30)]
AT_3 = ["h_precision.micro@3", "h_recall.micro@3", "h_f1.micro@3", "h_f1.samples@3", "h_precision.samples@3"]
OF_SETS = [name.removesuffix("@3") for name in AT_3]


def by_hand(true: list[list[Any]], predicted: list[list[Any]], edges: Any = TREE) -> list[float]:
    """Return the measures by their definition, on names."""
    both, h, y = [], [], []
    for relevant, labels in zip(true, predicted, strict=True):
        true_codes, codes = with_ancestors({*relevant}, edges), with_ancestors({*labels}, edges)
        both.append(len(true_codes & codes))
        h.append(len(codes))
        y.append(len(true_codes))
    f1 = [2 * b / (m + n) if m + n else 0 for b, m, n in zip(both, h, y, strict=True)]
    precision = [b / m if m else 0 for b, m in zip(both, h, strict=True)]
    micro = sum(both) / sum(h), sum(both) / sum(y), 2 * sum(both) / (sum(h) + sum(y))
    return [*micro, float(np.mean(f1)), float(np.mean(precision))]


FIRST = [row[:3] for row in RANKED]
RIGHT = pytest.approx(by_hand(TRUE_SETS, FIRST), abs=1e-12)
SCORED = [{label: 9.0 - place for place, label in enumerate(row)} for row in RANKED]
KEYED = {f"r{number}": dict.fromkeys(row, 1) for number, row in enumerate(TRUE_SETS)}
RUN = {f"r{number}": row for number, row in enumerate(SCORED)}


def test_codes_of_the_hierarchy_that_the_truth_lacks_have_ancestors() -> None:
    expected = evaluate(TRUE_SETS, RANKED, metrics=AT_3, hierarchy=TREE)
    assert [*expected.values()] == RIGHT
    for options in ({"y_pred": FIRST}, {"y_score": RANKED, "decision": "top3"}):
        report = evaluate(TRUE_SETS, metrics=OF_SETS, hierarchy=TREE, **options)
        assert [*report.values()] == [*expected.values()]


def test_values_are_the_same_to_the_bit_however_labels_and_edges_are_listed() -> None:
    expected = dict(evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE))
    assert [*expected.values()] == RIGHT
    parents: dict[str, list[str]] = {}
    for child, parent in TREE:
        parents.setdefault(child, []).append(parent)
    every_code = [*dict.fromkeys([*LEAVES, *CODES, "d2", "c0", "root"])]
    for labels in (None, LEAVES[:5], LEAVES[::-1], every_code):
        for edges in (TREE, TREE[::-1], iter(TREE), parents):
            report = evaluate(KEYED, RUN, metrics=AT_3, hierarchy=edges, labels=labels)
            assert dict(report) == expected
    unknown = evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE, labels=LEAVES[:5]).unknown_labels
    predicted = {label for row in RANKED for label in row}.difference(LEAVES[:5])
    assert sorted(unknown) == sorted(predicted)


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_own_folder")
def test_companions_and_batches_do_not_move_values_of_a_hierarchy() -> None:
    expected = dict(evaluate(KEYED, RUN, metrics=AT_3, hierarchy=TREE))
    other = {row: {"x1": 2.0, "d2": 1.0, "g7": 0.5} for row in RUN}
    for models in ({"a": RUN, "b": other}, {"b": other, "a": RUN}):
        assert dict(compare(KEYED, models, metrics=AT_3, hierarchy=TREE).reports["a"]) == expected
    options: dict[str, Any] = {"metrics": AT_3, "labels": LEAVES[:5]}
    first, second = (Evaluator(**options, hierarchy=edges) for edges in (TREE, TREE[::-1]))
    for rows in (slice(0, 7), slice(7, 11), slice(11, 20)):
        first.update(TRUE_SETS[rows], RANKED[rows])
        first.save("first.npz")
        first = Evaluator.load("first.npz")
    second.update(TRUE_SETS[20:], RANKED[20:])
    assert dict(second.merge(first).compute()) == expected


def write_documents(kind: str) -> tuple[str, str]:
    """Write truth and predictions as documents."""
    for name, rows in (("y", TRUE_SETS), ("m", RANKED)):
        lines = ["id,labels"] if kind == "csv" else []
        for number, row in enumerate(rows):
            document = {"id": f"r{number}", "labels": row}
            lines.append(f"r{number},{';'.join(row)}" if kind == "csv" else json.dumps(document))
        Path(f"{name}.{kind}").write_text("\n".join(lines) + "\n")
    return f"y.{kind}", f"m.{kind}"


def write_trec() -> tuple[str, str]:
    """Write qrels, with a judgement of 0 for rows without relevant labels, and a run."""
    judged = {row: y or {"g0": 0} for row, y in KEYED.items()}
    qrels = [f"{row} 0 {label} {grade}\n" for row, y in judged.items() for label, grade in y.items()]
    run = [f"{row} Q0 {label} 1 {score} m\n" for row, h in RUN.items() for label, score in h.items()]
    Path("y.qrels").write_text("".join(qrels))
    Path("m.run").write_text("".join(run))
    return "y.qrels", "m.run"


@pytest.mark.usefixtures("_own_folder")
@pytest.mark.parametrize("labels", [None, LEAVES[:5]])
@pytest.mark.parametrize("kind", ["qrels", "csv", "jsonl"])
def test_files_name_codes_of_the_hierarchy_that_the_truth_lacks(kind: str, labels: Any) -> None:
    Path("edges.tsv").write_text("".join(f"{child}\t{parent}\n" for child, parent in TREE))
    paths: list[Any] = [*(write_trec() if kind == "qrels" else write_documents(kind))]
    options: dict[str, Any] = {"metrics": AT_3, "hierarchy": "edges.tsv", "labels": labels}
    if kind != "qrels":
        separator = ";" if kind == "csv" else None
        paths = [scan(path, label="labels", instance="id", separator=separator) for path in paths]
        of_sets = evaluate(paths[0], y_pred=paths[1], **options | {"metrics": OF_SETS})
        assert [*of_sets.values()] == pytest.approx(by_hand(TRUE_SETS, RANKED), abs=1e-12)
    report = evaluate(*paths, **options)
    assert [*report.values()] == RIGHT
    saved = evaluate(*paths, **options, threads=2, running=Running(block_rows=3, save="state.npz"))
    assert dict(saved) == dict(report) == dict(Evaluator.load("state.npz").compute())


def test_columns_of_a_frame_may_be_codes_that_the_truth_lacks() -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame({label: [int(label in row) for row in TRUE_SETS] for label in LEAVES[:5]})
    h = pandas.DataFrame({label: [int(label in row) for row in FIRST] for label in CODES})
    assert [*evaluate(y, y_pred=h, metrics=OF_SETS, hierarchy=TREE).values()] == RIGHT


def test_full_trees_are_taken_where_all_labels_are_known() -> None:
    matrix = np.array([[label in row for label in LEAVES] for row in TRUE_SETS], int)
    scores = np.array([[row.get(label, 0.0) for label in LEAVES] for row in SCORED])
    report = evaluate(matrix, scores, metrics=AT_3, hierarchy=TREE, labels=LEAVES)
    named = evaluate(matrix, RANKED, metrics=AT_3, hierarchy=TREE, labels=LEAVES)
    assert [*named.values()] == RIGHT
    first = [np.array(LEAVES)[np.argsort(-row, kind="stable")[:3]].tolist() for row in scores]
    assert [*report.values()] == pytest.approx(by_hand(TRUE_SETS, first), abs=1e-12)
    lacks = "hierarchy= lacks 1 of 9 labels, such as 'g8', and has 6 other nodes, such as 'c0'"
    assert any(note.startswith(lacks) for note in report.notes)


def test_codes_outside_the_hierarchy_count_without_ancestors_and_are_noted() -> None:
    note = "some unknown labels are not in hierarchy=, and count without ancestors"
    tree = [("a", "r"), ("b", "r"), ("c", "r")]
    for label, is_noted in (("b", False), ("z", True)):
        sets = [["a"], ["c"]], [[label], ["c"]]
        report = evaluate(*sets, metrics=["h_f1.micro@1"], hierarchy=tree)
        assert report["h_f1.micro@1"] == by_hand(*sets, tree)[2]
        assert (note in report.notes) == is_noted


def test_names_of_codes_may_be_integers() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame({10: [1, 0], 20: [0, 1]})
    predicted = pandas.DataFrame({11: [1.0, 0.0], 20: [0.0, 1.0], 10: [0.5, 0.5]})
    edges = [(10, 1), (11, 1), (20, 2), (1, 0)]
    report = evaluate(truth, predicted, metrics=["h_f1.micro@1"], hierarchy=edges)
    assert report["h_f1.micro@1"] == 2 * (2 + 2) / (3 + 2 + 3 + 2)


def test_one_label_is_below_no_root_of_all() -> None:
    for names, is_noted in (["a"], False), (["a", "b"], True):
        edges = [(name, "root") for name in names]
        report = evaluate([names], [names], metrics=["h_f1.micro@1"], hierarchy=edges)
        assert any("above all labels" in note for note in report.notes) == is_noted
