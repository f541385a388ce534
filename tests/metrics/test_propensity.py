"""Inverse propensities, and what tables of data sets say, against plain Python."""

from __future__ import annotations

import json
import math
import re
import tracemalloc
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xmleval import Evaluator, evaluate, inverse_propensity, label_statistics, propensity
from xmleval.datasets import ALIASES, DEFAULT, PUBLISHED, UNPUBLISHED, Published, published

TRAIN = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
COUNTS = [3, 1, 1, 0]


def plain(count: int, n: int, a: float, b: float) -> float:
    scale: float = (math.log(n) - 1.0) * (b + 1.0) ** a
    return 1.0 + scale * math.exp(-a * math.log(count + b))


def test_worked_vector() -> None:
    q = inverse_propensity(label_counts=[0, 1, 15511], n_instances=15511)
    assert (math.log(15511) - 1) * 2.5**0.55 == pytest.approx(14.3169, abs=5e-5)
    assert q[0] == pytest.approx(12.4551, abs=5e-5)
    assert q[1] == pytest.approx(9.6493, abs=5e-5) == math.log(15511)
    assert 1.0 < q[2] < q[1]


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.integers(10**6, 10**9),
    st.floats(0, 3), st.floats(1e-3, 50),
)  # fmt: skip
def test_formula(counts: list[int], n: int, a: float, b: float) -> None:
    q = inverse_propensity(label_counts=counts, n_instances=n, a=a, b=b)
    assert q.tolist() == pytest.approx([plain(count, n, a, b) for count in counts], rel=1e-12)
    assert inverse_propensity(label_counts=[1], n_instances=n, a=a, b=b)[0] == pytest.approx(math.log(n))
    assert bool((q >= 1).all())


def test_many_labels_take_little_memory_beside_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(3).integers(0, 50, 100_000).astype(np.int32)
    each = {n: float(inverse_propensity(label_counts=[n], n_instances=1000)[0]) for n in range(50)}
    monkeypatch.setattr(propensity, "LABELS_AT_A_TIME", 999)
    tracemalloc.start()
    q = inverse_propensity(label_counts=counts, n_instances=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert q.tolist() == [each[n] for n in counts.tolist()]
    assert peak < 2 * q.nbytes


DIGITS = Context(prec=60)


def rounded_once(count: int, n: int, a: float, b: float) -> float:
    """Follow the operations of the reference code, each rounded once."""

    def power(base: float, exponent: float) -> float:
        return float(DIGITS.exp(DIGITS.multiply(Decimal(exponent), DIGITS.ln(Decimal(base)))))

    scale = (float(DIGITS.ln(Decimal(n))) - 1.0) * power(b + 1.0, a)
    return 1.0 + scale * power(count + b, -a)


@pytest.mark.parametrize(("a", "b"), [*{one[1:3] for one in PUBLISHED}, (1.0, 0.5), (2.75, 1e-3)])
@pytest.mark.parametrize("n", [3, 15511, 1717899, 2**53])
def test_every_operation_is_rounded_once(a: float, b: float, n: int) -> None:
    counts = np.unique(np.geomspace(1, n, 60).astype(np.int64)) - 1
    q = inverse_propensity(label_counts=counts, n_instances=n, a=a, b=b)
    assert q.tolist() == [rounded_once(count, n, a, b) for count in counts.tolist()]
    usual = 1.0 + (np.log(n) - 1.0) * np.power(b + 1.0, a) * np.power(counts + b, -a)
    assert (np.abs(q - usual) <= 4 * np.spacing(q)).all()


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: str(one.dataset))
def test_published_constants(one: Published) -> None:
    family = (0.6, 2.6) if "amazon" in one.dataset.lower() else (0.5, 0.4)
    of_default = one.dataset in ("default", "EURLex-4K", "AmazonCat-13K") or "SeeAlso" in one.dataset
    assert one[1:3] == (DEFAULT if of_default else family)
    q = inverse_propensity(label_counts=COUNTS, n_instances=40, dataset=one.dataset)
    assert q.tolist() == pytest.approx([plain(count, 40, one.a, one.b) for count in COUNTS], rel=1e-15)
    assert q.constants == {"a": one.a, "b": one.b, "n": 40.0, "dataset": one.dataset, "source": one.source}
    for name in (one.dataset.upper(), one.dataset.replace("-", "_"), one.dataset.replace("-", "").lower()):
        assert published(name) is one


@pytest.mark.parametrize("name", ["LF-AmazonTitles-131K", "amazoncat13k", "Eurlex-4K", "Wiki-500K", "eurlex"])
def test_usual_names(name: str) -> None:
    assert published(name) in PUBLISHED


def test_aliases_name_data_sets() -> None:
    assert {published(alias).dataset for alias in ALIASES} == {*ALIASES.values()}


def test_constants_without_a_data_set() -> None:
    q = inverse_propensity(label_counts=COUNTS, n_instances=40)
    assert q.constants == {"a": 0.55, "b": 1.5, "n": 40.0}
    one = inverse_propensity(label_counts=COUNTS, n_instances=40, a=0.5)
    assert one.constants == {"a": 0.5, "b": 1.5, "n": 40.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(
            (
                {"dataset": name},
                f"nothing is published for {name!r}; most papers take a=0.55, b=1.5, which is",
            )
            for name in UNPUBLISHED
        ),
        ({"dataset": "LF-AmazonTitle-131K"}, "did you mean LF-AmazonTitles-131K"),
        ({"dataset": "mnist"}, "'mnist' is not known; known are default, wikipedia"),
        ({"dataset": 3}, "3 is not the name of a data set"),
        ({"dataset": "amazon", "b": 2.6}, "give either the data set or a and b"),
        ({"dataset": "amazon", "a": 0.6}, "give either the data set or a and b"),
    ],
)
def test_data_sets_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^dataset: .*{re.escape(message)}"):
        inverse_propensity(label_counts=COUNTS, n_instances=40, **given)


def test_the_source_is_reported_and_saved(tmp_path: Path) -> None:
    q = inverse_propensity(TRAIN, dataset="eurlex-4k")
    evaluator = Evaluator("psp@1", n_labels=4, inverse_propensity=q)
    evaluator.update(TRAIN, TRAIN)
    evaluator.save(tmp_path / "state")
    for found in (evaluator, Evaluator.load(tmp_path / "state")):
        report = found.compute()
        assert report.signature().endswith("propensity=(a=0.55 b=1.5 n=4 dataset=EURLex-4K source=DeepXML)")
        assert json.loads(report.to_json())["propensity"] == q.constants


@pytest.mark.parametrize("form", ["array", "csr_array", "csc_matrix", "coo_array", "bool", "lists"])
def test_training_labels_of_every_form(form: str) -> None:
    ids = [np.flatnonzero(row).tolist() for row in TRAIN]
    forms: dict[str, Any] = {"array": TRAIN, "bool": TRAIN.astype(bool), "lists": ids}
    y_train = forms[form] if form in forms else getattr(sp, form)(TRAIN)
    q = inverse_propensity(y_train, n_labels=4)
    np.testing.assert_array_equal(q, inverse_propensity(label_counts=COUNTS, n_instances=4))
    np.testing.assert_array_equal(q, inverse_propensity(y_train, 0.55, 1.5, n_labels=4))
    assert q.dtype == np.float64
    assert q.shape == (4,)


@pytest.mark.parametrize("counts", [np.array(COUNTS, "f4"), np.array(COUNTS, ">u2"), COUNTS, (3.0, 1, 1, 0)])
def test_counts_of_every_form(counts: Any) -> None:
    n: Any = np.int64(9)
    expected = inverse_propensity(label_counts=COUNTS, n_instances=9)
    np.testing.assert_array_equal(inverse_propensity(label_counts=counts, n_instances=n), expected)


def test_column_sums_of_a_matrix_are_counts() -> None:
    sums = sp.csr_matrix(TRAIN).sum(axis=0)  # SciPy gives a matrix of one row
    try:
        q = inverse_propensity(label_counts=sums, n_instances=4)
    except ValueError as error:
        assert str(error).startswith("label_counts: shape (1, 4)")  # noqa: PT017
    else:
        assert q.shape == (4,)


def test_constants_are_reported_while_they_are_true() -> None:
    q = inverse_propensity(TRAIN)
    for values, constants in (
        (q, q.constants),
        (q[:], q.constants),
        (q.tolist(), "given"),
        (q * 2, "given"),
        (np.ones_like(q), "given"),
    ):
        report = evaluate(TRAIN, TRAIN, metrics=["psp@1"], inverse_propensity=values)
        assert json.loads(report.to_json())["propensity"] == constants


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "y_train: give either y_train or label_counts with n_instances"),
        ({"y_train": TRAIN, "label_counts": COUNTS}, "y_train: give either y_train or label_counts"),
        ({"label_counts": COUNTS}, "n_instances: needed with label_counts"),
        ({"label_counts": [1, 0], "n_instances": 2}, "n_instances: 2 training instances; the model needs 3"),
        ({"label_counts": [0], "n_instances": 0}, "n_instances: 0"),
        ({"label_counts": [0], "n_instances": -5}, "n_instances: -5"),
        ({"label_counts": [0], "n_instances": 10**400}, "n_instances: 1000"),
        ({"label_counts": [0], "n_instances": 3.5}, "n_instances: 3.5"),
        ({"label_counts": [0], "n_instances": "9"}, "n_instances: '9'"),
        ({"y_train": TRAIN[:2]}, "n_instances: 2 training instances; the model needs 3 or more"),
        ({"y_train": TRAIN, "n_instances": 9}, "n_instances"),
        ({"y_train": TRAIN * 2}, "y_train: row 0: value 2 is neither 0 nor 1 in a label set"),
        ({"y_train": [[0], [5], [1]], "n_labels": 4}, "y_train: row 1: label id 5 is not in 0..3"),
        ({"label_counts": [3, -1], "n_instances": 9}, "label_counts: label 1: count -1 is not in 0..9"),
        ({"label_counts": [3, 10], "n_instances": 9}, "label_counts: label 1: count 10 is not in 0..9"),
        ({"label_counts": np.array([3, 2**63], "u8"), "n_instances": 9},
         "label_counts: label 1: count 9223372036854775808 is not in 0..9"),
        ({"label_counts": [3, 1e300], "n_instances": 9}, "label_counts: label 1: count 1e+300 is not in 0"),
        ({"label_counts": [3, 0.5], "n_instances": 9}, "label_counts: label 1: count 0.5"),
        ({"label_counts": [3, np.nan], "n_instances": 9}, "label_counts: label 1: count nan"),
        ({"label_counts": [3, 2**70], "n_instances": 9}, "label_counts: dtype object does not hold real"),
        ({"label_counts": ["3"], "n_instances": 9}, "label_counts: dtype <U1 does not hold real numbers"),
        ({"y_train": TRAIN, "a": -0.1}, "a: a=-0.1, b=1.5: the model needs a >= 0"),
        ({"y_train": TRAIN, "a": np.nan}, "a: a=nan, b=1.5: the model needs"),
        ({"y_train": TRAIN, "a": np.inf}, "a: a=inf, b=1.5: the model needs"),
        ({"y_train": TRAIN, "b": np.inf}, "b: a=0.55, b=inf: the model needs"),
        ({"y_train": TRAIN, "b": -1.0}, "b: a=0.55, b=-1: the model needs"),
        ({"y_train": TRAIN, "b": 0.0}, "b: a=0.55, b=0: the model needs a >= 0, N_j + b > 0"),
    ],
)  # fmt: skip
def test_refused_propensities(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        inverse_propensity(**given)


NAMES = list("abcd")


def _named(rows: Any) -> list[list[str]]:
    return [[NAMES[label] for label in np.flatnonzero(row)] for row in rows]


Y_TRAIN, Y_TEST = (np.random.default_rng(7).random((n, 4)) < 0.4 for n in (9, 5))
Y_SCORE = np.random.default_rng(8).random((5, 4))
SCORED = [dict(zip(NAMES, row, strict=True)) for row in Y_SCORE.tolist()]
FORMS: dict[str, dict[str, Any]] = {
    "by number": {"y_true": Y_TEST, "y_score": Y_SCORE, "y_train": sp.csr_array(Y_TRAIN)},
    "ids": {
        "y_true": Y_TEST,
        "y_score": Y_SCORE,
        "y_train": [np.flatnonzero(row).tolist() for row in Y_TRAIN],
    },
    "by name": {"y_true": _named(Y_TEST), "y_score": SCORED, "y_train": _named(Y_TRAIN)},
    "labels": {
        "y_true": _named(Y_TEST),
        "y_score": SCORED,
        "y_train": [["zebra", *row] for row in _named(Y_TRAIN)],
        "labels": NAMES[::-1],
    },
    "labels by number": {"y_true": Y_TEST, "y_score": Y_SCORE, "y_train": Y_TRAIN, "labels": NAMES},
}


@pytest.mark.parametrize("dataset", [None, "amazon"])
@pytest.mark.parametrize("form", FORMS)
def test_training_labels_give_what_their_propensities_do(form: str, dataset: str | None) -> None:
    given, metrics = FORMS[form], ["psp@1", "psndcg@3"]
    q = inverse_propensity(Y_TRAIN, dataset=dataset)
    expected = evaluate(Y_TEST, Y_SCORE, metrics=metrics, inverse_propensity=q)
    report = evaluate(**given, metrics=metrics, dataset=dataset)
    assert dict(report) == dict(expected)
    assert report.constants == expected.constants
    assert report.constants.get("dataset") == dataset
    if form != "by name":  # an evaluator needs all names
        rows = given["y_true"], given["y_score"]
        more: dict[str, Any] = {"y_train": given["y_train"], "labels": given.get("labels")}
        ev = Evaluator(metrics, n_labels=4, dataset=dataset, **more)
        ev.update(*rows)
        assert ev.compute() == report if form == "by number" else dict(ev.compute()) == dict(report)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"dataset": "amazon"}, "dataset: needs the training labels, y_train="),
        (
            {"dataset": "amazon", "inverse_propensity": np.ones(4)},
            "dataset: given together with inverse_propensity=; choose one",
        ),
        (
            {"y_train": Y_TRAIN, "inverse_propensity": np.ones(4)},
            "y_train: given together with inverse_propensity=; choose one",
        ),
        ({"y_train": Y_TRAIN, "dataset": "amazn"}, "dataset: 'amazn' is not known; did you mean amazon"),
        ({"y_train": Y_TRAIN[:, :3]}, "y_train: shape (9, 3) has 3 labels; 4 were expected"),
        ({"y_train": _named(Y_TRAIN)}, "y_train: knows labels by name, and y_true has none; give labels="),
    ],
)
def test_training_labels_that_do_not_fit_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(Y_TEST, Y_SCORE, metrics=["psp@1"], **more)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        Evaluator(["psp@1"], n_labels=4, **more)


def test_training_labels_by_number_do_not_fit_labels_as_they_come() -> None:
    with pytest.raises(ValueError, match=r"^y_train: has no names, and labels are numbered as y_true names"):
        evaluate(_named(Y_TEST), SCORED, metrics=["psp@1"], y_train=Y_TRAIN)


def test_count_of_zero_is_fine_where_every_label_occurs() -> None:
    q = inverse_propensity(label_counts=[1, 2], n_instances=9, b=0.0)
    assert q[0] == pytest.approx(math.log(9))


def plain_statistics(rows: list[set[int]], n_labels: int) -> dict[str, float]:
    counts = [sum(j in row for row in rows) for j in range(n_labels)]
    present = [count for count in counts if count]
    n = len(rows)
    nan = math.nan
    return {
        "n_rows": n,
        "n_labels": n_labels,
        "n_stored": sum(counts),
        "label_cardinality": sum(counts) / n if n else nan,
        "label_density": sum(counts) / n / n_labels if n else nan,
        "label_diversity": len({frozenset(row) for row in rows}),
        "proportional_diversity": len({frozenset(row) for row in rows}) / n if n else nan,
        "max_labels_per_row": max(map(len, rows), default=0),
        "rows_without_labels": sum(not row for row in rows),
        "points_per_label": sum(counts) / n_labels,
        "labels_without_rows": n_labels - len(present),
        "tail_share": sum(count <= 10 for count in present) / len(present) if present else nan,
        "imbalance": sum(max(present) / count for count in present) / len(present) if present else nan,
    }


some_rows = st.lists(st.sets(st.integers(0, 5)), max_size=25)


@given(some_rows, some_rows)
def test_statistics(rows: list[set[int]], train: list[set[int]]) -> None:
    lists, training = [sorted(row) for row in rows], [sorted(row) for row in train]
    expected = plain_statistics(rows, 6)
    found = label_statistics(lists, n_labels=6)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-14, nan_ok=True)
    both = label_statistics(lists, training, n_labels=6)
    unseen = {j for row in rows for j in row} - {j for row in train for j in row}
    pairs = [j for row in rows for j in row]
    assert both["labels_unseen_in_training"] == len(unseen)
    share = sum(j in unseen for j in pairs) / len(pairs) if pairs else math.nan
    assert both["stored_unseen_in_training"] == pytest.approx(share, nan_ok=True)
    assert {name: both[name] for name in found} == pytest.approx(found, nan_ok=True)


def test_statistics_of_the_worked_vector() -> None:
    truth = np.array([[1, 0, 1, 0, 0], [1, 0, 1, 0, 1]])
    for form in (truth, truth.astype(bool), sp.csr_array(truth), sp.csc_matrix(truth), truth.tolist()):
        found = label_statistics(form)
        assert found["label_cardinality"] == 2.5
        assert found["label_density"] == 0.5
        assert found["label_diversity"] == 2.0
        assert found["proportional_diversity"] == 1.0
        assert all(type(value) is float for value in found.values())
    tail = label_statistics(sp.csr_array(np.repeat(np.eye(2, dtype=int), [10, 11], axis=0)))
    assert (tail["tail_share"], tail["imbalance"]) == (0.5, (1.1 + 1) / 2)
    same = evaluate(truth, metrics="statistics")
    assert {name: label_statistics(truth)[name] for name in same} == dict(same)


def test_refused_statistics() -> None:
    with pytest.raises(ValueError, match=r"^y_train: .* 5 were expected|^y_train: 4 labels; y_true has 5"):
        label_statistics(np.ones((2, 5)), TRAIN)
    with pytest.raises(ValueError, match=r"^y_true: row 1: value 3 is neither 0 nor 1"):
        label_statistics(np.array([[1, 0], [3, 0]]))
    with pytest.raises(ValueError, match=r"^y_train: row 0: label id 4 is not in 0\.\.3"):
        label_statistics([[0]], [[4]], n_labels=4)


def test_constants_cannot_outlive_the_values() -> None:
    q = inverse_propensity(TRAIN)
    for change in (lambda: q.__imul__(2), lambda: q.sort(), lambda: q[1:].fill(1), lambda: np.copyto(q, 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert type(q * 2) is type(np.minimum(q, 3)) is np.ndarray
    assert isinstance(q.max(), float)
    assert vars(q[1:])["constants"] == q.constants
    own = q.copy()
    own[:] = 1
    assert vars(own)["constants"] == {}
    high, low = np.divmod(q, 2.0)
    np.testing.assert_array_equal(2.0 * high + low, q)
