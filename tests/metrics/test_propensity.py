"""Inverse propensities and statistics of labels against plain Python."""

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.propensity import rounded_once
from xmleval import Evaluator, evaluate, inverse_propensity, label_statistics
from xmleval.labels.propensity import TrainingLabels

TRAIN = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
COUNTS = [3, 1, 1, 0]


def test_inverse_propensity_of_a_worked_vector() -> None:
    q = inverse_propensity(label_counts=[0, 1, 15511], n_instances=15511)
    assert (math.log(15511) - 1) * 2.5**0.55 == pytest.approx(14.3169, abs=5e-5)
    assert q[:2] == pytest.approx([12.4551, 9.6493], abs=5e-5)
    assert 1.0 < q[2] < q[1] == pytest.approx(math.log(15511))


@pytest.mark.parametrize(
    ("a", "b"), [(0.55, 1.5), (0.5, 0.4), (0.6, 2.6), (1.0, 0.5), (2.75, 1e-3), (0.5, 0.0)]
)
@pytest.mark.parametrize("n", [3, 15511, 1717899, 2**53])
def test_inverse_propensity_rounds_every_operation_once(a: float, b: float, n: int) -> None:
    counts = np.unique(np.geomspace(1, n, 60).astype(np.int64))
    if b > 0:
        counts -= 1  # counts of 0 need b
    q = inverse_propensity(label_counts=counts, n_instances=n, a=a, b=b)
    assert q.tolist() == [rounded_once(count, n, a, b) for count in counts.tolist()]
    rarest = inverse_propensity(label_counts=[1], n_instances=n, a=a, b=b)
    assert rarest[0] == pytest.approx(math.log(n))
    assert (q >= 1).all()


PUBLISHED = [
    (0.55, 1.5, "default EURLex-4K AmazonCat-13K LF-WikiSeeAlso-320K LF-WikiSeeAlsoTitles-320K"),
    (
        0.5,
        0.4,
        "wikipedia WikiLSHTC-325K Wikipedia-500K WikiTitles-500K LF-WikiTitles-500K "
        "LF-Wikipedia-500K",
    ),
    (
        0.6,
        2.6,
        "amazon Amazon-670K Amazon-3M AmazonTitles-670K AmazonTitles-3M LF-Amazon-131K "
        "LF-AmazonTitles-131K LF-AmazonTitles-1.3M",
    ),
]
ALIASES = {
    "EURLex": "EURLex-4K",
    "AmazonCat": "AmazonCat-13K",
    "WikiLSHTC": "WikiLSHTC-325K",
    "Wiki-500K": "Wikipedia-500K",
    "Amazon-131K": "LF-Amazon-131K",
    "amazontitles131k": "LF-AmazonTitles-131K",
    "AmazonTitles-1.3M": "LF-AmazonTitles-1.3M",
    "WikiSeeAlso-320K": "LF-WikiSeeAlso-320K",
    "WikiSeeAlsoTitles-320K": "LF-WikiSeeAlsoTitles-320K",
}


@pytest.mark.parametrize(("a", "b", "datasets"), PUBLISHED)
def test_inverse_propensity_takes_published_constants(a: float, b: float, datasets: str) -> None:
    for dataset in datasets.split():
        names = {dataset, dataset.upper()}
        names |= {dataset.replace("-", "_"), dataset.replace("-", "").lower()}
        names |= {alias for alias, name in ALIASES.items() if name == dataset}
        for name in names:
            q = inverse_propensity(label_counts=COUNTS, n_instances=40, dataset=name)
            assert q.tolist() == [rounded_once(count, 40, a, b) for count in COUNTS]
            source = {"source": q.constants["source"]}
            assert q.constants == {"a": a, "b": b, "n": 40.0, "dataset": dataset} | source
    for exponent in (None, 0.5):
        constants = inverse_propensity(label_counts=COUNTS, n_instances=40, a=exponent).constants
        assert constants == {"a": exponent or 0.55, "b": 1.5, "n": 40.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(
            (
                {"dataset": name},
                f"no constants are published for {name!r}; most papers use a=0.55, b=1.5: give",
            )
            for name in (
                "Wiki10-31K",
                "Delicious-200K",
                "Bibtex",
                "Mediamill",
                "RCV1-2K",
                "AmazonCat-14K",
            )
        ),
        ({"dataset": "LF-AmazonTitle-131K"}, "did you mean LF-AmazonTitles-131K"),
        ({"dataset": "mnist"}, "'mnist' is not known; known data sets are default, wikipedia"),
        ({"dataset": "amazon", "b": 2.6}, "give either the data set or a and b"),
    ],
)
def test_inverse_propensity_refuses_data_sets_without_constants(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^dataset: .*{re.escape(message)}"):
        inverse_propensity(label_counts=COUNTS, n_instances=40, **arguments)


def test_source_of_propensity_is_reported_and_saved(tmp_path: Path) -> None:
    q = inverse_propensity(TRAIN, dataset="eurlex-4k")
    evaluator = Evaluator("psp@1", n_labels=4, inverse_propensity=q)
    evaluator.update(TRAIN, TRAIN)
    evaluator.save(tmp_path / "state")
    constants = "propensity=(a=0.55 b=1.5 n=4 dataset=EURLex-4K source=DeepXML)"
    for counted in (evaluator, Evaluator.load(tmp_path / "state")):
        report = counted.compute()
        assert report.signature().endswith(constants)
        assert json.loads(report.to_json())["propensity"] == q.constants


def test_constants_of_propensity_are_reported_while_they_are_true() -> None:
    q = inverse_propensity(TRAIN)
    assert q.tolist() == inverse_propensity(label_counts=COUNTS, n_instances=4).tolist()
    for change in (
        lambda: q.__imul__(2),
        lambda: q.sort(),
        lambda: q[1:].fill(1),
        lambda: np.copyto(q, 1.0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert type(q * 2) is type(np.minimum(q, 3)) is np.ndarray
    assert isinstance(q.max(), float)
    changed = [(values, "given") for values in (q.tolist(), q * 2, np.ones_like(q), q.copy())]
    for values, constants in ((q, q.constants), (q[:], q.constants), *changed):
        report = evaluate(TRAIN, TRAIN, metrics=["psp@1"], inverse_propensity=values)
        assert json.loads(report.to_json())["propensity"] == constants


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "y_train: give either y_train or label_counts with n_instances"),
        ({"label_counts": COUNTS}, "n_instances: needed with label_counts"),
        (
            {"label_counts": [1, 0], "n_instances": 2},
            "n_instances: 2 training instances; the model needs 3",
        ),
        ({"label_counts": [0], "n_instances": 3.5}, "n_instances: 3.5"),
        ({"y_train": TRAIN, "n_instances": 9}, "n_instances"),
        ({"y_train": TRAIN * 2}, "y_train: row 0: value 2 is neither 0 nor 1 in a label set"),
        ({"y_train": [[0], [5], [1]], "n_labels": 4}, "y_train: row 1: label id 5 is not in 0..3"),
        (
            {"label_counts": [3, -1], "n_instances": 9},
            "label_counts: label 1: count -1 is not in 0..9",
        ),
        (
            {"label_counts": [3, 10], "n_instances": 9},
            "label_counts: label 1: count 10 is not in 0..9",
        ),
        ({"label_counts": [3, 0.5], "n_instances": 9}, "label_counts: label 1: count 0.5"),
        (
            {"label_counts": ["3"], "n_instances": 9},
            "label_counts: dtype <U1 is not a type of real numbers",
        ),
        (
            {"label_counts": np.ones((2, 3)), "n_instances": 9},
            "label_counts: shape (2, 3) is not one count per label",
        ),
        (
            {"label_counts": 3, "n_instances": 9},
            "label_counts: shape () is not one count per label",
        ),
        (
            {"label_counts": [1, 2], "n_instances": 9, "n_labels": 3},
            "label_counts: 2 counts for 3 labels",
        ),
        (
            {"y_train": TRAIN, "a": 400, "b": 1e5},
            "a: a=400, b=100000: inverse propensities overflow",
        ),
        ({"y_train": TRAIN, "a": -0.1}, "a: a=-0.1, b=1.5: the model needs a >= 0"),
        ({"y_train": TRAIN, "b": np.inf}, "b: a=0.55, b=inf: the model needs"),
        ({"y_train": TRAIN, "b": 0.0}, "b: a=0.55, b=0: the model needs a >= 0, N_j + b > 0"),
    ],
)
def test_inverse_propensity_refuses_wrong_arguments(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        inverse_propensity(**arguments)


def test_inverse_propensity_without_an_exponent_is_that_of_no_labels_and_all() -> None:
    q = inverse_propensity(label_counts=[0, 3], n_instances=5, a=0)
    assert q.tolist() == pytest.approx([math.log(5)] * 2)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_inverse_propensity_leaves_the_counts_of_the_caller_as_they_are(dtype: str) -> None:
    counts = np.array([0, 3, 1], dtype)
    q = inverse_propensity(label_counts=counts, n_instances=5)
    counts[:] = 2
    assert q.label_counts is not None
    assert q.label_counts.tolist() == [0, 3, 1]


@pytest.mark.parametrize(("last", "is_noted"), [(9, True), (8, False)])
def test_training_ids_that_may_count_from_one_are_noted_from_ten_labels_on(
    last: int, is_noted: bool
) -> None:
    rows = [[*range(1, 5)], [*range(5, last + 1)], [1]]
    expected = pytest.warns(UserWarning, match=f"^y_train: id 0 occurs nowhere, .* 1 to {last} do")
    with expected if is_noted else nullcontext():
        inverse_propensity(rows, n_labels=last + 1)


def test_label_counts_may_be_sums_over_the_rows_of_a_matrix() -> None:
    expected = inverse_propensity(TRAIN)
    sums = sp.csr_matrix(TRAIN).sum(axis=0)
    assert sums.shape == (1, 4)
    for counts in (sums, np.asarray(sums).T, np.ravel(sums)):
        q = inverse_propensity(label_counts=counts, n_instances=4)
        assert q.tolist() == expected.tolist()
        assert q.constants == expected.constants


NAMES = list("abcd")
Y_TRAIN = np.random.default_rng(7).random((9, 4)) < 0.4
Y_TEST = np.random.default_rng(7).random((5, 4)) < 0.4
Y_SCORE = np.random.default_rng(8).random((5, 4))
SCORED = [dict(zip(NAMES, row, strict=True)) for row in Y_SCORE.tolist()]
NAMED_TRAIN = [[NAMES[j] for j in np.flatnonzero(row)] for row in Y_TRAIN]
NAMED_TEST = [[NAMES[j] for j in np.flatnonzero(row)] for row in Y_TEST]


@pytest.mark.parametrize("dataset", [None, "amazon"])
def test_training_labels_give_the_values_of_their_propensities(dataset: str | None) -> None:
    options: dict[str, Any] = {"metrics": ["psp@1", "psndcg@3"]}
    q = inverse_propensity(Y_TRAIN, dataset=dataset)
    expected = evaluate(Y_TEST, Y_SCORE, inverse_propensity=q, **options)
    assert expected.constants.get("dataset") == dataset
    ids = [np.flatnonzero(row).tolist() for row in Y_TRAIN]
    with_unknown_label = [["zebra", *row] for row in NAMED_TRAIN]
    forms: list[tuple[Any, dict[str, Any]]] = [
        ((Y_TEST, Y_SCORE), {"y_train": ids, "n_labels": 4}),
        ((NAMED_TEST, SCORED), {"y_train": with_unknown_label, "labels": NAMES[::-1]}),
        ((Y_TEST, Y_SCORE), {"y_train": Y_TRAIN, "labels": NAMES}),
    ]
    for rows, arguments in forms:
        arguments["y_train"] = TrainingLabels(
            arguments["y_train"], dataset
        )  # as the command line gives them
        evaluator = Evaluator(**arguments, **options)
        evaluator.update(*rows)
        for report in (evaluator.compute(), evaluate(*rows, **arguments | options)):
            assert dict(report) == dict(expected)
            assert report.constants == expected.constants


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"y_train": TrainingLabels(None, "amazon")},
            "dataset: needs y_train=, the training labels",
        ),
        (
            {"y_train": Y_TRAIN, "inverse_propensity": np.ones(4)},
            "y_train: given together with inverse_propensity=; choose one",
        ),
        ({"y_train": Y_TRAIN[:, :3]}, "y_train: shape (9, 3) has 3 labels; 4 were expected"),
        (
            {"y_train": Y_TRAIN[:4].repeat(2, axis=1)[:, :7]},
            "y_train: shape (4, 7) has 7 labels; 4 were expected; it looks transposed: rows are "
            "instances, columns labels; give its .T",
        ),
        (
            {"y_train": NAMED_TRAIN},
            "y_train: has names of labels, but y_true has none; give labels=",
        ),
    ],
)
def test_training_labels_are_refused_if_they_do_not_fit(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(Y_TEST, Y_SCORE, metrics=["psp@1"], **arguments)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        Evaluator(["psp@1"], n_labels=4, **arguments)
    numbered = "^y_train: has no names, but labels are numbered as y_true names"
    with pytest.raises(ValueError, match=numbered):
        evaluate(NAMED_TEST, SCORED, metrics=["psp@1"], y_train=Y_TRAIN)


def plain_statistics(rows: list[set[int]], n_labels: int) -> dict[str, float]:
    counts = [sum(label in row for row in rows) for label in range(n_labels)]
    present = [count for count in counts if count]
    n = len(rows) or math.nan
    n_present = len(present) or math.nan
    distinct = {frozenset(row) for row in rows}
    return {
        "n_rows": len(rows),
        "n_labels": n_labels,
        "n_stored": sum(counts),
        "label_cardinality": sum(counts) / n,
        "label_density": sum(counts) / n / n_labels,
        "label_diversity": len(distinct),
        "proportional_diversity": len(distinct) / n,
        "max_labels_per_row": max(map(len, rows), default=0),
        "rows_without_labels": sum(not row for row in rows),
        "points_per_label": sum(counts) / n_labels,
        "labels_without_rows": n_labels - len(present),
        "tail_share": sum(count <= 10 for count in present) / n_present,
        "imbalance": sum(max(present) / count for count in present) / n_present,
    }


some_rows = st.lists(st.sets(st.integers(0, 5)), max_size=25)


@given(some_rows, some_rows)
def test_label_statistics_are_those_of_plain_python(
    rows: list[set[int]], train: list[set[int]]
) -> None:
    lists = [sorted(row) for row in rows]
    training = [sorted(row) for row in train]
    expected = plain_statistics(rows, 6)
    actual = label_statistics(lists, n_labels=6)
    assert [*actual] == [*expected]
    assert actual == pytest.approx(expected, rel=1e-14, nan_ok=True)
    assert {*map(type, actual.values())} == {float}
    both = label_statistics(lists, training, n_labels=6)
    seen = {label for row in train for label in row}
    stored = [label for row in rows for label in row]
    unseen = [label for label in stored if label not in seen]
    expected["labels_unseen_in_training"] = len({*unseen})
    expected["stored_unseen_in_training"] = len(unseen) / (len(stored) or math.nan)
    assert both == pytest.approx(expected, rel=1e-14, nan_ok=True)


def test_label_statistics_count_labels_of_up_to_ten_rows_as_tail() -> None:
    tail = label_statistics(sp.csr_array(np.repeat(np.eye(2, dtype=int), [10, 11], axis=0)))
    assert (tail["tail_share"], tail["imbalance"]) == (0.5, (1.1 + 1) / 2)


def test_label_statistics_match_training_labels_by_name() -> None:
    truth = {"q1": ["a", "b"], "q2": ["b"]}
    train = {"t": ["a"], "u": ["c"]}
    with pytest.warns(UserWarning, match="y_train: 1 label occurs in no other input"):
        statistics = label_statistics(truth, train)
    assert (statistics["n_labels"], statistics["labels_unseen_in_training"]) == (2, 1)


def test_training_file_notes_labels_that_the_truth_lacks(tmp_path: Path) -> None:
    rows: dict[str, Any] = {
        "truth": [{"a": 1, "b": 1, "c": 1}, {"d": 1}],
        "train": [{"a": 1, "x": 1}, {"y": 1, "z": 1}, {"b": 1}],  # without c, d, with 3 others
        "scores": [{"a": 0.9}, {"d": 0.8}],
    }
    paths = {name: tmp_path / f"{name}.json" for name in rows}
    for name, values in rows.items():
        paths[name].write_text(json.dumps(dict(zip("pqr", values, strict=False))))
    report = evaluate(paths["truth"], paths["scores"], metrics="psp@1", y_train=paths["train"])
    ignored = [note for note in report.notes if "ignored" in note]
    assert ignored == [f"{paths['train']}: 3 labels occur in no other input; they are ignored"]
