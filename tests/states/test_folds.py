"""Values without one fold of the rows each are those of the other rows, however the rows are cut."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, evaluate, inverse_propensity
from xmleval.jackknife import estimate, standard_error
from xmleval.kernels.folds import N_FOLDS, find_folds
from xmleval.metrics import TABLE
from xmleval.pooled import columns, fold_curves
from xmleval.states import fold_table

N_ROWS, N_LABELS = 150, 23
ALL: dict[str, Any] = {
    "metrics": ["all", "tail_share(count=9)"],
    "k": [1, 3],
    "decision": "threshold0.4",
    "inverse_propensity": inverse_propensity(label_counts=np.arange(N_LABELS), n_instances=N_LABELS),
}


def made(seed: int, dtype: Any = np.float32, dense: bool = False) -> tuple[Any, Any]:
    """Truth with frequent and rare labels, and scores with ties that know something of it."""
    rng = np.random.default_rng(seed)
    truth = rng.random((N_ROWS, N_LABELS)) < 1 / np.arange(1, N_LABELS + 1)
    scores = np.round(rng.random((N_ROWS, N_LABELS)) / 2 + truth * rng.random((N_ROWS, N_LABELS)), 2)
    if not dense:
        scores[rng.random(scores.shape) < 0.4] = 0.0
    scores = scores.astype(dtype)
    return sp.csr_array(truth.astype(np.int8)), scores if dense else sp.csr_array(scores)


def row_folds(first: int = 0, n: int = N_ROWS) -> Any:
    folds = np.empty(n, np.uint8)
    find_folds(np.arange(first, first + n), folds)
    return folds


def same(one: Any, other: Any) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("dtype", "dense", "options"),
    [
        (np.float32, False, {}),
        (np.float64, False, {"unlisted": 0.0}),
        (np.float32, True, {"conventions": {"empty": "skip", "labels": "present", "ndcg_ties": "average"}}),
        (np.float64, True, {"conventions": {"empty": "one", "zero_division": 1}, "higher_is_better": False}),
    ],
)
def test_replicates_are_the_values_of_the_other_rows(
    dtype: Any, dense: bool, options: dict[str, Any], weighted: bool
) -> None:
    truth, scores = made(1, dtype, dense)
    weight = np.random.default_rng(2).integers(0, 4, N_ROWS) / 2 if weighted else None
    found = evaluate(truth, scores, sample_weight=weight, confidence=0.9, **ALL | options)
    folds = row_folds()
    assert found.results.replicates.keys() == {spec.name for spec in found.specs if spec.smooth}
    for number, fold in [*enumerate(np.unique(folds))][::5]:
        left = folds != fold
        own = None if weight is None else weight[left]
        others = evaluate(truth[left], scores[left], sample_weight=own, **ALL | options)
        for name, values in found.results.replicates.items():
            assert same(values[number], others[name]), name


def test_most_measures_have_replicates() -> None:
    rough = {f"{m.name}.{average}" for m in TABLE for average in m.unsmooth}
    at_points = {f"{m.name}.{average}" for m in TABLE if m.asks and m.threshold for average in m.averages}
    assert rough - at_points == {
        "auc.micro", "label_coverage.", "label_coverage.macro", "label_diversity.", "margin.macro",
        "margin_share.macro", "peak_f1.macro", "peak_f1.micro", "pred_coverage.", "proportional_diversity.",
    }  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
def test_confidence_changes_no_value(weighted: bool) -> None:
    truth, scores = made(3)
    weight = np.random.default_rng(2).random(N_ROWS) if weighted else None
    options = ALL | {"sample_weight": weight, "per_row": True, "per_label": True, "curve_points": 7}
    plain = evaluate(truth, scores, **options)
    found = evaluate(truth, scores, confidence=0.95, **options)
    assert [*map(repr, found.values())] == [*map(repr, plain.values())]
    for one, other in ((found.per_row(), plain.per_row()), (found.per_label(), plain.per_label())):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
    assert all(np.array_equal(*pair) for pair in zip(found.roc_curve(), plain.roc_curve(), strict=True))


@pytest.mark.parametrize("cuts", [[0, 150], [0, 1, 70, 70, 149, 150], [*range(0, 151, 30)]])
@pytest.mark.parametrize("threads", [1, 3])
def test_no_cutting_changes_an_interval(cuts: list[int], threads: int, tmp_path: Any) -> None:
    truth, scores = made(4)
    whole = evaluate(truth, scores, confidence=0.95, block_rows=N_ROWS, **ALL)
    parts = []
    for start, stop in itertools.pairwise(cuts):
        part = Evaluator(n_labels=N_LABELS, confidence=0.95, threads=threads, block_rows=9, **ALL)
        part.update(truth[start:stop], scores[start:stop], first_row=start)
        part.save(tmp_path / "state.npz")
        parts.append(Evaluator.load(tmp_path / "state.npz"))
    merged = parts.pop()
    for part in parts:
        merged.merge(part)
    streamed = Evaluator(n_labels=N_LABELS, confidence=0.95, threads=threads, block_rows=9, **ALL)
    for start, stop in itertools.pairwise(cuts):
        streamed.update(truth[start:stop], scores[start:stop])
    for found in (merged.compute(), streamed.compute()):
        assert found.confidence == whole.confidence
        assert found.standard_errors == whole.standard_errors


@pytest.mark.parametrize("kind", [int, str, "object"])
def test_clusters_stay_together(kind: Any) -> None:
    truth, scores = made(5)
    numbers = np.random.default_rng(6).integers(-5, 60, N_ROWS)
    clusters = numbers.astype(kind) if kind != "object" else np.array([*map(str, numbers)], object)
    found = evaluate(truth, scores, confidence=0.95, clusters=clusters, **ALL)
    order = np.random.default_rng(7).permutation(N_ROWS)
    other = evaluate(truth[order], scores[order], confidence=0.95, clusters=clusters[order], **ALL)
    assert found.confidence == other.confidence
    alone = evaluate(truth, scores, confidence=0.95, clusters=np.arange(N_ROWS), **ALL)
    assert alone.confidence == evaluate(truth, scores, confidence=0.95, **ALL).confidence
    replicates = found.results.replicates["p@1"]
    kept = [evaluate(truth[numbers != own], scores[numbers != own], **ALL)["p@1"] for own in set(numbers)]
    assert replicates.size <= N_FOLDS
    assert set(replicates) & set(kept)  # folds of one group


def test_standard_error_of_a_mean() -> None:
    truth, scores = made(8)
    found = evaluate(truth, scores, metrics="p@3", confidence=0.95, per_row=True)
    rows, folds = found.per_row()["p@3"], row_folds()
    without = np.array([rows[folds != fold].mean() for fold in np.unique(folds)])
    n = without.size
    error = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    assert found.standard_errors["p@3"] == pytest.approx(error, rel=1e-12)
    assert found.standard_errors["p@3"] == pytest.approx(rows.std() / math.sqrt(N_ROWS), rel=0.3)
    lower, upper = found.confidence["p@3"]
    assert (upper - lower) / 2 == pytest.approx(2.0395 * error, rel=1e-4)  # t with 31 degrees of freedom


def test_intervals_are_cut_to_what_is_possible_and_absent_where_undefined() -> None:
    found = estimate(0.999, np.array([0.99, 1.0]), 0.95, 0.0, 1.0)
    assert found is not None
    assert found.upper == 1.0
    assert found.half_width > 0.01
    assert estimate(0.5, np.array([0.5, math.nan]), 0.95) is None
    assert estimate(math.nan, np.array([0.5, 0.6]), 0.95) is None
    assert math.isnan(standard_error(np.array([0.5])))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"confidence": 95}, "confidence: 95 is not a probability"),
        ({"confidence": True}, "confidence: True is not a probability"),
        ({"confidence": 1.0}, "confidence: 1.0 is not a probability"),
        ({"clusters": [1, 2]}, "give confidence="),
        ({"confidence": 0.9, "clusters": [1, 2]}, "clusters: shape (2,) does not match 150 rows"),
        ({"confidence": 0.9, "clusters": [*range(149), math.nan]}, "nan is neither"),
        ({"confidence": 0.9, "clusters": np.ma.array([*range(150)])}, "clusters: masked arrays"),
        ({"confidence": 0.9, "clusters": np.full(150, 0.5)}, "clusters: float64 names no clusters"),
        ({"confidence": 0.9, "clusters": [*range(149), None]}, "None is neither"),
        ({"confidence": 0.9, "clusters": [*range(149), 2**70]}, "does not fit in 64 bits"),
        ({"confidence": 0.9, "metrics": "f1.macro@1", "memory": 100}, "confidence: tables of 32 groups"),
    ],
)
def test_wrong_arguments_are_refused_by_name(more: dict[str, Any], told: str) -> None:
    truth, scores = made(9)
    with pytest.raises(ValueError) as refused:
        evaluate(truth, scores, **ALL | more)
    assert told in str(refused.value)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_rows_and_labels_have_intervals(weighted: bool) -> None:
    truth, scores = made(10)
    weight = np.random.default_rng(2).integers(1, 4, N_ROWS) / 2 if weighted else None
    names = np.where(np.arange(N_ROWS) % 3, "long", "short")
    labels = np.arange(N_LABELS) // 8
    metrics = ["p@3", "f1.macro@3", "auc.micro", "lrap"]
    measures: dict[str, Any] = {
        "metrics": metrics,
        "sample_weight": weight,
    }
    own: dict[str, Any] = {"row_groups": names, "label_groups": labels}
    found = evaluate(truth, scores, confidence=0.95, **own, **measures)
    plain = evaluate(truth, scores, **own, **measures)
    folds = row_folds()
    for number, fold in [*enumerate(np.unique(folds))][::5]:
        left = folds != fold
        kept: dict[str, Any] = {
            "metrics": measures["metrics"],
            "sample_weight": None if weight is None else weight[left],
        }
        others = evaluate(truth[left], scores[left], row_groups=names[left], label_groups=labels, **kept)
        for kind in ("groups", "row_groups"):
            for name, report in getattr(found, kind).items():
                assert dict(report) == dict(getattr(plain, kind)[name])
                for measure, values in report.results.replicates.items():
                    if values.size == np.unique(folds).size:
                        assert same(values[number], getattr(others, kind)[name][measure])
                assert report.confidence.keys() == {*metrics}


def test_a_value_that_no_fold_changes_has_no_interval() -> None:
    found = evaluate(np.eye(40), np.eye(40), metrics=["p@1", "p@3"], confidence=0.95)
    assert found.confidence == {}
    assert "standard error not known: p@1, p@3" in str(found)


@pytest.mark.parametrize("others", [["peak_f1.macro"], ["auc.macro(max_fpr=0.3)"], ["auc.micro"], []])
@pytest.mark.parametrize("per_label", [False, True])
def test_values_from_the_sweep_of_folds(others: list[str], per_label: bool) -> None:
    """What all rows give comes from the sweep for their intervals, unless measures need more of a curve."""
    truth, scores = made(18)
    options: dict[str, Any] = {"metrics": ["auc.macro", "ap.weighted", *others], "per_label": per_label}
    found, plain = evaluate(truth, scores, confidence=0.9, **options), evaluate(truth, scores, **options)
    assert dict(found) == dict(plain)
    if per_label:
        for name, values in plain.per_label().items():
            np.testing.assert_array_equal(found.per_label()[name], values)


@pytest.mark.parametrize("name", ["f1.of_means", "f1.of_macros", "fbeta.of_means(beta=2)"])
def test_measures_of_parts_alone(name: str) -> None:
    truth, scores = made(11)
    found = evaluate(truth, scores, confidence=0.9, metrics=name, decision="top2")
    left = row_folds() != row_folds().min()
    others = evaluate(truth[left], scores[left], metrics=name, decision="top2")
    assert found.results.replicates[name][0] == others[name]


@pytest.mark.parametrize("name", ["p@1", "lrap", "f1.macro@1", "f1.micro@1", "auc.micro", "auc.macro"])
@pytest.mark.filterwarnings("error")
def test_no_rows_and_groups_without_rows(name: str) -> None:
    truth, scores = (part.toarray() for part in made(12))
    truth[:, -5:] = 0
    none = evaluate(truth[:0], scores[:0], metrics=name, confidence=0.9)
    assert same(none[name], evaluate(truth[:0], scores[:0], metrics=name)[name])
    assert none.confidence == {}
    groups = (np.arange(N_LABELS) >= N_LABELS - 5).astype(int)
    plain, found = (
        evaluate(truth, scores, metrics=name, label_groups=groups, confidence=level) for level in (None, 0.9)
    )
    for group, report in plain.groups.items():
        assert same(found.groups[group][name], report[name])


@pytest.mark.parametrize("name", ["p@1", "f1.samples", "f1.macro@1", "auc.micro", "psp@1"])
def test_rows_without_weight_make_no_groups(name: str) -> None:
    truth, scores = made(13)
    clusters = np.arange(N_ROWS) % 9
    weight = np.where(clusters < 4, 1.5, 0.0)
    options: dict[str, Any] = {**ALL, "metrics": name, "confidence": 0.9}
    found = evaluate(truth, scores, sample_weight=weight, clusters=clusters, **options)
    left = weight > 0
    options |= {"sample_weight": weight[left], "clusters": clusters[left]}
    assert found.confidence == evaluate(truth[left], scores[left], **options).confidence
    assert found.results.replicates[name].size <= 4


def test_groups_of_rows_with_intervals_need_no_more_memory_than_given() -> None:
    truth, scores = made(14)
    options: dict[str, Any] = {
        "metrics": "f1.macro@1",
        "confidence": 0.9,
        "row_groups": np.arange(N_ROWS) % 99,
    }
    whole = evaluate(truth, scores, **options)
    said = (
        r"^row_groups: tables of 99 groups, .* take .*, more than the .* that memory= leaves them; give more"
    )
    with pytest.raises(ValueError, match=said):
        evaluate(truth, scores, **options, memory="40MB")
    alone = evaluate(truth, scores, **options | {"row_groups": np.zeros(N_ROWS, int)}, memory="40MB")
    assert alone.row_groups["0"].confidence == alone.confidence == whole.confidence
    assert evaluate(truth, scores, **options | {"confidence": None}, memory="40MB").row_groups["8"]


@pytest.mark.parametrize("threads", [1, 3])
def test_groups_of_rows_have_the_same_intervals_however_they_are_counted(threads: int) -> None:
    truth, scores = made(15)
    options: dict[str, Any] = {"metrics": ["p@3", "f1.macro@1", "auc.macro"], "confidence": 0.9}
    groups = np.sort(np.arange(N_ROWS) % 4)  # some are in later blocks alone
    whole = evaluate(truth, scores, row_groups=groups, block_rows=N_ROWS, **options)
    found = evaluate(truth, scores, row_groups=groups, block_rows=7, threads=threads, **options)
    streamed = Evaluator(n_labels=N_LABELS, threads=threads, **options)
    for start in range(0, N_ROWS, 31):
        rows = slice(start, start + 31)
        streamed.update(truth[rows], scores[rows], row_groups=groups[rows])
    for other in (found, streamed.compute()):
        for name, own in whole.row_groups.items():
            assert other.row_groups[name].standard_errors == own.standard_errors


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_that_wait_count_as_those_in_the_table(
    weighted: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    truth, scores = made(14)
    weight = np.random.default_rng(2).integers(1, 4, N_ROWS) / 2 if weighted else None
    options: dict[str, Any] = {
        "metrics": [
            "f1.micro",
            "f1.macro",
            "recall.weighted",
            "accuracy.macro",
            "mcc.macro",
            "accuracy.micro",
        ],
        "decision": "top3",
        "confidence": 0.95,
    }
    found = evaluate(truth, scores, sample_weight=weight, **options).standard_errors
    assert len(found) == len(options["metrics"])
    monkeypatch.setattr(fold_table, "FEW_BYTES", 0)
    evaluator = Evaluator(n_labels=N_LABELS, block_rows=9, **options)
    for start in range(0, N_ROWS, 50):
        part = Evaluator(n_labels=N_LABELS, block_rows=7, **options)
        own = None if weight is None else weight[start : start + 50]
        rows = slice(start, start + 50)
        part.update(truth[rows], scores[rows], sample_weight=own, first_row=start)
        part.save(tmp_path / "state.npz")
        evaluator.merge(Evaluator.load(tmp_path / "state.npz"))
        evaluator.compute()
    assert evaluator.compute().standard_errors == found


def test_no_table_is_saved_while_labels_wait() -> None:
    n_labels = 10**5
    evaluator = Evaluator("f1.macro@1", n_labels=n_labels, confidence=0.95)
    evaluator.update([[0], [5]], [[0], [7]])
    counts = evaluator.as_saved()
    assert sum(array.nbytes for array in counts.arrays.values()) < 4 * n_labels
    evaluator.compute()


def test_ranges_of_labels_change_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = made(15)
    options: dict[str, Any] = {"metrics": ["auc.macro", "ap.macro", "ap.weighted"], "confidence": 0.95}
    found = evaluate(truth, scores, **options)
    monkeypatch.setattr(fold_curves, "LABELS_AT_A_TIME", 3)
    assert evaluate(truth, scores, **options).standard_errors == found.standard_errors
    monkeypatch.setattr(columns, "MOST_LABELS", 5)
    assert evaluate(truth, scores, **options).standard_errors == found.standard_errors


LARGE = 9000, 1300  # rows and labels: several parts of labels, and counts of a fold beyond a byte
WAYS: dict[str, dict[str, Any]] = {
    "waiting": {"FEW_BYTES": 1 << 22},
    "waiting in pieces": {"FEW_BYTES": 1 << 22, "PIECE": 1},
    "counted at once": {"FEW_BYTES": 0},
    "counted by part": {"FEW_BYTES": 0, "CACHED": 0},
}


def sparse(seed: int) -> tuple[Any, Any]:
    """Truth and predicted sets of few labels a row, of power-law frequencies, the first one in all rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_labels = LARGE
    picked = np.minimum(n_labels - 1, np.exp(rng.random((2, n_rows, 4)) * np.log(n_labels))).astype(int)
    picked[:, :, 0] = 0
    picked[1] = np.where(rng.random(picked[1].shape) < 0.5, picked[0], picked[1])
    rows = np.repeat(np.arange(n_rows), 4)
    matrices = [sp.csr_array((np.ones(rows.size), (rows, own.ravel())), shape=LARGE) for own in picked]
    for matrix in matrices:
        matrix.sum_duplicates()
        matrix.data[:] = 1
    return matrices[0], matrices[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("few", [0, LARGE[1]])
def test_tables_of_labels_are_those_of_the_other_rows(
    way: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, predicted = sparse(17)
    averages = [f"{name}.{average}" for name in ("f1", "mcc") for average in ("macro", "weighted")]
    options: dict[str, Any] = {"metrics": [*averages, "gini", "tail_share(count=9)"], "block_rows": 2500}
    options |= {
        "inverse_propensity": inverse_propensity(label_counts=np.arange(LARGE[1]), n_instances=LARGE[1])
    }
    monkeypatch.setattr(fold_table, "FEW_LABELS", few)  # above which small counts are tallied
    monkeypatch.setattr(fold_table, "TABLES_AT_A_TIME", 600 * N_FOLDS)
    for name, value in WAYS[way].items():
        monkeypatch.setattr(fold_table, name, value)
    folds = row_folds(n=LARGE[0])
    found = evaluate(truth, y_pred=predicted, confidence=0.9, threads=2, **options).results.replicates
    for fold in range(0, N_FOLDS, 11):
        left = folds != fold
        others = evaluate(truth[left], y_pred=predicted[left], **options)
        for name, values in found.items():
            assert same(values[fold], others[name]), name


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("conventions", [{}, {"labels": "present", "zero_division": 1.0}])
def test_many_labels_have_the_intervals_of_few(
    conventions: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, scores = made(16)
    truth = truth.tolil()
    truth[:, 0] = 1  # no row is without it
    options = ALL | {"confidence": 0.95, "conventions": conventions}
    found = evaluate(truth.tocsr(), scores, **options).results.replicates
    monkeypatch.setattr(fold_table, "FEW_LABELS", 5)
    many = evaluate(truth.tocsr(), scores, **options).results.replicates
    assert many.keys() == found.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(many[name], values, name)
