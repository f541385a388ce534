"""What is accepted gives the same values in every form; what is refused is named with its row and value."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, evaluate

T = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0]])
H = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 1, 0, 1, 1, 1]])
# zero is "no score" here; halves are exact in every float type, and no two of a row are equal
S = np.array([[4, 3, 0.5, 0, 0, 2], [0, -1, 0, 2.5, 0, 3], [1, 0, 0, 2, 0, 0], [-2, 0, 1.5, 0, 5, 0]])
M, N = T.shape
Q = np.array([3.0, 1.0, 2.0, 5.0, 1.5, 9.0])
RANKED = ["p@1", "p@3", "ndcg@3", "map@5", "one_error", "coverage", "ranking_loss", "lrap", "f1.macro@2"]
SETS = ["subset_accuracy", "hamming_loss", "f1.macro", "f1.samples", "f1.micro"]
SPARSE = [f"{f}_{k}" for f in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr") for k in ("array", "matrix")]
IDS = [np.flatnonzero(row).tolist() for row in T]


class Offers:
    """An object of another library that knows how to become an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.array, dtype)


def strided(array: Any) -> Any:
    return np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3]


def frozen(array: Any) -> Any:
    array = np.array(array)
    array.flags.writeable = False
    return array


def sparse(dense: Any, **replaced: Any) -> Any:
    """A CSR array with parts swapped behind SciPy's back, as files and other programs bring them."""
    matrix = sp.csr_array(dense)
    for name, part in replaced.items():
        setattr(matrix, name, part)
    return matrix


def every_cell(dense: Any) -> Any:
    ids = np.tile(np.arange(dense.shape[1]), len(dense))
    return sp.csr_array((dense.ravel(), ids, np.arange(len(dense) + 1) * dense.shape[1]), shape=dense.shape)


def backwards(dense: Any) -> Any:
    matrix = sp.csr_array(dense)
    order = np.concatenate([np.arange(*ends)[::-1] for ends in itertools.pairwise(matrix.indptr)])
    return sp.csr_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=dense.shape)


def stale(dense: Any) -> Any:
    matrix = backwards(dense)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def indexed(dense: Any, kind: str) -> Any:
    plain = sp.csr_array(dense)
    return sparse(dense, indptr=plain.indptr.astype(kind), indices=plain.indices.astype(kind))


FORMS: dict[str, Callable[[Any], Any]] = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda a: np.array(a)[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": frozen,
    "nested lists": lambda a: a.tolist(),
    **{name: getattr(sp, name) for name in SPARSE},
    "all cells": every_cell,
    "unsorted": backwards,
    "stale flags": stale,
    "int64 index": lambda a: indexed(a, "i8"),
    "uint16 index": lambda a: indexed(a, "u2"),
    "big-endian index": lambda a: indexed(a, ">i4"),
}
TYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", ">i4", ">f8")
each_form = pytest.mark.parametrize("form", FORMS)


def json_of(*data: Any, **more: Any) -> str:
    found = evaluate(*data, **more).to_dict()
    del found["notes"]  # which say in what order lists were
    return json.dumps(found)


@each_form
def test_truth_of_every_form_gives_the_same_values(form: str) -> None:
    expected = json_of(T, S, metrics=RANKED)
    assert json_of(FORMS[form](T), S, metrics=RANKED) == expected
    assert json_of(FORMS[form](T), S, metrics=RANKED, block_rows=1, threads=2) == expected


@each_form
def test_sets_of_every_form_give_the_same_values(form: str) -> None:
    assert json_of(T, y_pred=FORMS[form](H), metrics=SETS) == json_of(T, y_pred=H, metrics=SETS)


@pytest.mark.parametrize("dtype", TYPES)
def test_truth_of_every_type_gives_the_same_values(dtype: str) -> None:
    expected = json_of(T, S, y_pred=H, metrics=RANKED + SETS)
    dense = T.astype(dtype), H.astype(dtype)
    assert json_of(dense[0], S, y_pred=dense[1], metrics=RANKED + SETS) == expected
    of_cells = sparse(T, data=np.ones(T.sum(), dtype)), sparse(H, data=np.ones(H.sum(), dtype))
    assert json_of(of_cells[0], S, y_pred=of_cells[1], metrics=RANKED + SETS) == expected


@each_form
def test_scores_of_every_form_give_the_same_values(form: str) -> None:
    found = json_of(T, FORMS[form](S), metrics=RANKED, unlisted=0.0)
    assert found == json_of(T, S, metrics=RANKED, unlisted=0.0)


@pytest.mark.parametrize("dtype", [t for t in TYPES if t[-2:] not in ("?", "u1", "u8")])
def test_scores_of_every_type_give_the_same_values(dtype: str) -> None:
    assert json_of(T, (2 * S).astype(dtype), metrics=RANKED) == json_of(T, S, metrics=RANKED)


def padded(rng: np.random.Generator) -> tuple[Any, Any]:
    """Lists of S with empty slots anywhere, in any order, NaN where nothing counts."""
    labels, scores = np.full((M, N), -1), np.full((M, N), np.nan)
    for i in range(M):
        slots = rng.permutation(N)[: np.count_nonzero(S[i])]
        labels[i, slots] = np.flatnonzero(S[i])
        scores[i, slots] = S[i][S[i] != 0]
    return labels, scores


def best_first(row: Any) -> list[int]:
    return sorted(np.flatnonzero(row).tolist(), key=lambda j: -float(row[j]))


def listed_forms() -> dict[str, Any]:
    csr = sp.csr_array(S)
    ids, pairs = [best_first(row) for row in S], [[(j, row[j]) for j in best_first(row)] for row in S]
    bare = np.array([row + [-1] * (N - len(row)) for row in ids])
    labels, scores = padded(np.random.default_rng(1))
    return {
        **{name: getattr(sp, name)(csr) for name in SPARSE if "bsr" not in name},
        # blocks of more than one cell would store zeros that are scores
        "bsr": csr.tobsr(blocksize=(1, 1)), "unsorted": backwards(S), "stale flags": stale(S),
        "empty slots": (labels, scores), "float32": (labels, scores.astype("f4")),
        "big-endian": (labels.astype(">i8"), scores.astype(">f8")), "int8": (labels.astype("i1"), scores),
        "frozen": (frozen(labels), frozen(scores)), "fortran": (np.asfortranarray(labels), strided(scores)),
        "lists": (labels.tolist(), scores.tolist()), "without scores": (bare, None),
        "ragged ids": ids, "ragged pairs": pairs, "pairs as lists": [[list(p) for p in row] for row in pairs],
        "unsorted pairs": [row[::-1] for row in pairs], "arrays of ids": [np.array(row, int) for row in ids],
    }  # fmt: skip


@pytest.mark.parametrize("form", listed_forms())
def test_listed_scores_of_every_form_give_the_same_values(form: str) -> None:
    given = listed_forms()[form]
    ragged = isinstance(given, list)
    expected = json_of(T, sp.csr_array(S), metrics=RANKED)
    for block_rows in (1, 3, None):
        found = json_of(IDS if ragged else T, given, n_labels=N, metrics=RANKED, block_rows=block_rows)
        assert found == expected


def test_memmaps_and_foreign_arrays_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "scores", S)
    scores = np.load(tmp_path / "scores.npy", mmap_mode="r")
    assert json_of(Offers(T), scores, metrics=RANKED) == json_of(T, S, metrics=RANKED)
    pairs = Offers(S.argsort()[:, ::-1]), Offers(np.sort(S)[:, ::-1])
    assert json_of(T, pairs, metrics=["p@1", "lrap"]) == json_of(T, S, metrics=["p@1", "lrap"])


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array"])
def test_stored_zero_is_a_score_but_no_label(form: str) -> None:
    cells = [0.0, -1.0], ([0, 0], [0, 1])
    stored = getattr(sp, form)(cells, shape=(1, 3))
    assert evaluate([[1, 0, 0]], stored, metrics=["p@1"])["p@1"] == 1.0
    assert evaluate([[0, 0, 1]], stored, metrics=["coverage"])["coverage"] == 2.0
    pred = getattr(sp, form)((np.array([0, 1]), cells[1]), shape=(1, 3))
    assert evaluate([[0, 1, 0]], y_pred=pred, metrics=["subset_accuracy"])["subset_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (np.float64(1), np.float64(1 + 1e-12)), (2**53 - 1, 2**53), (np.int32(2**24), np.int32(2**24 + 1)),
        (np.float16(1), np.float16(1.001)), (False, True), (np.uint64(2**63), np.uint64(2**63 + 2048)),
        (-np.inf, -1e308), (1e308, np.inf),
    ],
)  # fmt: skip
def test_scores_keep_their_precision(low: Any, high: Any) -> None:
    scores = np.array([[low, high]])
    assert evaluate([[0, 1]], scores, metrics=["p@1"])["p@1"] == 1.0
    assert evaluate([[0, 1]], ([[0, 1]], scores), metrics=["p@1"])["p@1"] == 1.0


def test_float32_stays_float32() -> None:
    scores = np.array([[1, 1 + 1e-12]])
    assert evaluate([[0, 1]], scores.astype("f4"), metrics=["p@1"])["p@1"] == 0.0
    third = np.array([[0, 1 / 3]], "f4")
    rounded = evaluate([[0, 1]], sp.csr_array(third), metrics=["p@1"], unlisted=1 / 3)
    assert rounded["p@1"] == 0.0  # level with label 0, which is not listed and comes first


def test_labels_beyond_int32() -> None:
    n, big = 2**33, 2**32
    truth, ids = [[5, big], [n - 1]], np.array([[big, 7, 5], [3, -1, -1]])
    csr = sp.csr_array((np.ones(3), np.array([5, big, n - 1]), [0, 2, 3]), shape=(2, n))
    scores = np.array([[3.0, 2, 1], [1, np.nan, np.nan]])
    stored = sp.csr_array((np.array([1.0, 2, 3, 1]), np.array([5, 7, big, 3]), [0, 3, 4]), shape=(2, n))
    expected = {"p@1": 0.5, "p@3": 1 / 3, "ndcg@3": 1.5 / (1 + 1 / math.log2(3)) / 2,
        "coverage": (2 + n - 1) / 2, "ranking_loss": (1 / (2 * (n - 2)) + 1) / 2,
    }  # fmt: skip
    ragged: list[Any] = [[big, 7, 5], [3]]
    for y_true in (truth, csr, csr.tocoo()):
        for y_score in ((ids, None), (ids, scores), stored, stored.tocoo(), ragged):
            found = evaluate(y_true, y_score, n_labels=n, metrics=list(expected))
            assert dict(found) == pytest.approx(expected, rel=1e-15)
    with pytest.raises(ValueError, match=rf"y_score: row 1: label id {n} is not in 0\.\.{n - 1}"):
        evaluate(truth, ([[big], [n]], None), n_labels=n, metrics=["p@1"])


def contents(value: Any) -> Any:
    if sp.issparse(value):
        return copy.deepcopy(vars(value))
    if isinstance(value, np.ndarray):
        return value.tobytes("A"), value.dtype.str, value.shape, value.strides, value.flags.writeable
    return copy.deepcopy(value)


@each_form
@pytest.mark.parametrize("unlisted", ["below", 0.0])
def test_arrays_of_the_caller_stay_as_they_were(form: str, unlisted: Any) -> None:
    given = FORMS[form](T), FORMS[form](S), FORMS[form](H)
    before = contents(given[0]), contents(given[1]), contents(given[2])
    evaluate(
        given[0], given[1], y_pred=given[2], metrics="all", inverse_propensity=frozen(Q), unlisted=unlisted,
        sample_weight=frozen(np.ones(M)), block_rows=2,
    )  # fmt: skip
    np.testing.assert_equal((contents(given[0]), contents(given[1]), contents(given[2])), before)


@pytest.mark.parametrize("form", ["empty slots", "frozen", "fortran", "big-endian", "without scores"])
def test_lists_of_the_caller_stay_as_they_were(form: str) -> None:
    given = listed_forms()[form]
    before = contents(given[0]), contents(given[1])
    evaluate(T, given, metrics="all", decision="top2", inverse_propensity=Q, block_rows=2)
    np.testing.assert_equal((contents(given[0]), contents(given[1])), before)


def test_propensity_is_the_callers_no_longer() -> None:
    q = Q.copy()
    ev, other = (Evaluator(["psp@3"], n_labels=N, inverse_propensity=p) for p in (q, Q))
    ev.update(T, S)
    q[:] = 1.0
    other.update(T, S)
    assert ev.merge(other).compute()["psp@3"] == other.compute()["psp@3"]


def bad(text: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """What the message says after the name of the first argument, and what is given."""
    return f"{next(iter(given))}: {text}", given


def bad_ids(text: str, *rows: Any) -> tuple[str, dict[str, Any]]:
    return bad(text, y_true=list(rows), n_labels=N)


def ragged(text: str, *rows: Any) -> tuple[str, dict[str, Any]]:
    return bad(text, y_score=list(rows), y_true=IDS, n_labels=N)


def put(array: Any, row: int, label: int, value: Any) -> Any:
    array = np.array(array, np.result_type(array, np.array(value)))
    array[row, label] = value
    return array


def with_ids(*ids: int) -> Any:
    return sparse(T, indices=np.array(ids, None if max(ids) < 2**63 else "u8"))


def with_ptr(*ptr: int) -> Any:
    return sparse(T, indptr=np.array(ptr))


DOUBLED = sp.csr_array((np.ones(4), [0, 3, 3, 1], [0, 0, 3, 4, 4]), shape=(M, N))
DOUBLED_COO = sp.coo_array((np.ones(4), ([1, 3, 1, 1], [3, 1, 0, 3])), shape=(M, N))
DOUBLED_CSC = sp.csc_array((np.ones(2), [1, 1], [0, 0, 0, 0, 2, 2, 2]), shape=(M, N))
PTR = "indptr is {} there; it must start at 0, never fall and end at the number of stored entries"
TWICE = "row 1: label id 3 occurs twice; ids of a row must be distinct"
NOT_REAL = {"complex": "complex128", "O": "object", "U1": "<U1", "M8[D]": "datetime64[D]"}
NO_LIST = "labels of a top-k list must be integers of shape (m, k), not {} of shape {}"
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"nan in {form}": bad("row 2: score nan is not a number", y_score=FORMS[form](put(S, 2, 1, np.nan)))
       for form in ("dense", "csr_array", "csc_matrix", "coo_array")},
    "nan in list": bad("row 1: score nan is", y_score=([[1]] * M, [[1], [np.nan], [np.nan], [1]])),
    "nan in pairs": ragged("row 2: score nan is not a number", [], [(0, 1.0)], [(1, np.nan)], []),
    **{f"{value} in {form}": bad(f"row 1: value {value}", y_true=FORMS[form](put(T, 1, 2, value)))
       for form in ("dense", "csr_array", "coo_array", "bsr_matrix")
       for value in (np.inf, -np.inf, np.nan, 2, -1, 0.5)},
    "2 in y_pred": bad("row 3: value 2 is neither 0 nor 1 in a label set", y_pred=put(H, 3, 2, 2)),
    "negative in csr": bad("row 1: label id -5 is not in 0..5", y_true=with_ids(0, 2, 1, -5, 0, 1, 3, 4)),
    "large in csr": bad("row 1: label id 6 is not in 0..5", y_score=with_ids(0, 2, 1, 6, 0, 1, 3, 4)),
    "huge in csr": bad(f"row 1: label id {2**64 - 1} is", y_true=with_ids(0, 2, 1, 2**64 - 1, 0, 1, 3, 4)),
    "large in list": bad("row 2: label id 6 is not in 0..5", y_score=([[1], [0], [6], [7]], None)),
    "huge list": bad(f"row 1: label id {2**64 - 1} is", y_score=(np.array([[1], [-1]] * 2).view("u8"), None)),
    "-2 in list": bad("row 3: label id -2 is not in 0..5", y_score=([[1], [-1], [-1], [-2]], None)),
    "large in ids": bad_ids("row 2: label id 6 is not in 0..5", [0], [], [6], []),
    "-1 in ids": bad_ids("row 3: label id -1 is not in 0..5", [0], [], [], [-1]),
    "-1 in ragged": ragged("row 1: label id -1 is not in 0..5", [0], [-1], [], []),
    "twice in csr": bad(TWICE, y_true=DOUBLED),
    "twice in csc": bad(TWICE, y_true=DOUBLED_CSC),
    "twice in coo": bad(TWICE, y_true=DOUBLED_COO),
    "twice in csr scores": bad(TWICE, y_score=DOUBLED),
    "twice in coo scores": bad(TWICE, y_score=DOUBLED_COO),
    "twice in sets": bad(TWICE, y_pred=DOUBLED),
    "twice in list": bad(TWICE, y_score=([[3, 2], [3, 3], [1, 1], [0, 1]], None)),
    "twice in scored list": bad(TWICE, y_score=([[3, 2], [3, 3], [1, 1], [0, 1]], np.ones((M, 2)))),
    "twice in ids": bad_ids(TWICE, [], [3, 1, 3], [], []),
    "twice in ragged": ragged(TWICE, [], [3, 1, 3], [], []),
    "twice in pairs": ragged(TWICE, [], [(3, 2.0), (3, 1.0)], [], []),
    "k below 0": bad("-3 is not a positive integer", k=[1, -3]),
    "fewer scores": bad("3 rows do not match the 4 of y_true", y_score=S[:3]),
    "fewer sets": bad("3 rows do not match the 4 of y_true", y_pred=H[:3]),
    "fewer lists": bad("1 row does not match the 4 of y_true", y_score=([[1]], None)),
    "fewer labels": bad("shape (4, 5) has 5 labels; 6 were expected", y_score=S[:, :5]),
    "fewer in csr": bad("shape (4, 5) has 5 labels; 6 were expected", y_pred=sp.csr_array(H[:, :5])),
    "ids alone": bad(
        "shape (4, 2) has 2 labels, not 6; label ids are given as a pair", y_score=np.ones((M, 2), int)
    ),
    "swapped": bad("row 0: value 4.0 is neither 0 nor 1 in a label set", y_true=S, y_score=T),
    "a score in sets": bad(
        "row 0: value 0.5 is neither 0 nor 1 in a label set; it looks like a score: are", y_true=S / 8
    ),
    "n_labels": bad("shape (4, 6) has 6 labels; 7 were expected", y_true=T, n_labels=7),
    "no labels": bad("shape (4, 0) does not have 1..2^40 labels", y_true=np.empty((4, 0))),
    "widths": bad("labels of shape (4, 1) have scores of shape (4, 2)", y_score=([[1]] * M, np.ones((M, 2)))),
    "triple": bad("a tuple must be (labels, scores or None), not 3 items", y_score=(S, S, S)),
    "falling indptr": bad(f"row 1: {PTR.format(2)}", y_true=with_ptr(0, 4, 2, 4, 8)),
    "large indptr": bad(f"row 3: {PTR.format(9)}", y_true=with_ptr(0, 2, 4, 4, 9)),
    "indptr from 1": bad(f"row 0: {PTR.format(1)}", y_score=with_ptr(1, 2, 4, 4, 8)),
    "indptr below 0": bad(f"row 0: {PTR.format(-2)}", y_score=with_ptr(0, -2, 4, 4, 8)),
    "short indptr": bad("indptr has 3 entries; 5 were expected", y_true=with_ptr(0, 2, 8)),
    "float ids": bad(NO_LIST.format("float64", "(4, 1)"), y_score=(np.ones((M, 1)), None)),
    "bool ids": bad(NO_LIST.format("bool", "(4, 1)"), y_score=(np.ones((M, 1), bool), None)),
    "flat list": bad(NO_LIST.format("int64", "(4,)"), y_score=([1, 2, 3, 4], None)),
    "float in ids": bad_ids("row 1: 1.0 is not a label id (an integer)", [0], [1.0], [], []),
    "no list": bad_ids("row 1: 7 is not a list of label ids", [0], 7, [], []),
    "no ragged list": ragged("row 1: 7 is not", [0], 7, [], []),
    "no pair": ragged("row 1: 3 is not an (id, score) pair", [(0, 1.0)], [3], [], []),
    "text in pair": ragged("row 1:", [(0, 1)], [(1, "x")], [], []),
    "no integer in pair": ragged("row 1: 1.5 is not a label id", [(0, 1)], [(1.5, 1)], [], []),
    **{f"{dtype} {name}": bad(f"dtype {shown} does not hold real numbers", **{name: np.array(T, dtype)})
       for dtype, shown in NOT_REAL.items() for name in ("y_true", "y_score", "y_pred")},
    "complex csr": bad("dtype complex128 does not hold real numbers", y_true=sp.csr_array(T * 1j)),
    "masked": bad("masked arrays are not supported", y_score=np.ma.masked_equal(S, 0)),
    "1-D truth": bad("shape (6,) is not two-dimensional", y_true=T[0], y_score=S[0]),
    "1-D scores": bad("shape (6,) is not two-dimensional", y_score=S[0]),
    "3-D scores": bad("shape (1, 4, 6) is not two-dimensional", y_score=S[None]),
    "1-D coo": bad("shape (6,) is not two-dimensional", y_true=sp.coo_array(T[0])),
    "ragged truth": bad("not a rectangular", y_true=[[0], [1, 2], [], [3]], y_score=([[1]] * M, None)),
    "int64 scores": bad(f"row 2: score {2**53 + 1} is not exact", y_score=put(8 * T, 2, 1, 2**53 + 1)),
    "int64 in pair": ragged(f"row 2: score {2**53 + 1} is not exact", [], [], [(1, 2**53 + 1)], []),
    "short weight": bad("shape (3,) does not match 4 rows", sample_weight=np.ones(3)),
    "weight column": bad("shape (4, 1) does not match 4 rows", sample_weight=np.ones((M, 1))),
    **{f"weight {w}": bad(f"row 2: weight {w} is neither 0 nor within", sample_weight=[1, 1, w, w])
       for w in (-1.0, np.nan, np.inf, 1e-16, 1048577.0)},
    "short propensity": bad("shape (5,) is not (6,): one per label", inverse_propensity=Q[:5]),
    "flat propensity": bad("shape (1, 6) is not (6,): one per label", inverse_propensity=Q[None]),
    **{f"propensity {q}":
       bad(f"label 1: inverse propensity {q} is not", inverse_propensity=[1, q, 1, 1, 1, q])
       for q in (0.0, -1.0, np.nan, np.inf)},
    "unlisted in bare list": bad("unlisted=0 compares with scores", y_score=([[1]] * M, None), unlisted=0.0),
    "unlisted in ragged": bad("unlisted=2 compares", y_score=IDS, y_true=IDS, n_labels=N, unlisted=2),
    "threshold below unlisted": (
        "decision=threshold0.5 with unlisted=0.6 would predict every unlisted label",
        {"decision": "threshold0.5", "unlisted": 0.6},
    ),
    "threshold of a bare list": bad(
        "decision threshold0.5 needs scores; this list has none",
        y_score=([[1]] * M, None), decision="threshold0.5",
    ),
    "pred and decision": bad("given together with decision=top3; choose one", y_pred=H, decision="top3"),
    "no propensity": ("psp@5 needs y_train= or inverse_propensity=", {"metrics": ["xmc", "psp@5"]}),
    "no sets": (
        "f1.macro needs y_pred= or decision=; f1.macro@5 takes the first 5 labels", {"metrics": ["f1.macro"]}
    ),
    "no sets, and no cutoff": ("h_f1.micro needs y_pred= or decision=", {"metrics": ["h_f1.micro"]}),
    "no scores": ("p@3 needs y_score=", {"y_score": None, "y_pred": H, "metrics": ["f1.macro", "p@3"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_names_argument_row_and_value(case: str) -> None:
    message, given = REFUSED[case]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(**{"y_true": T, "y_score": S, "metrics": "all", **given})
