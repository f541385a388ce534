"""What is seen in the rows and noted of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Running, evaluate
from xmleval.input.rows import Rows, rows_by_id

M, N, K = 12, 7, 3
rng = np.random.default_rng(3)
TRUTH = sp.csr_array((rng.random((M, N)) < 0.4).astype(np.uint8))
IDS = np.array([rng.choice(N, K, replace=False) for _ in range(M)])
FALLING = -np.sort(-rng.random((M, K)), axis=1)
FROM_ONE = [[1 + i % (N - 1), N - 1] if i % (N - 1) != N - 2 else [1] for i in range(M)]
DENSE = rng.random((M, N))

BINARY = "every score is 0 or 1"
RISES = "scores rise along every row"
FROM_1 = "id 0 occurs nowhere, and ids 1 to 6 do: if ids count from 1, subtract 1, or drop the first column"
EMPTY = "no row of the truth has a relevant label"
AT_MOST_3 = "lists hold at most 3 labels: measures @5, @7 count the missing ones as wrong"
AT_MOST_2 = AT_MOST_3.replace("3", "2")
AT_MOST_1 = "lists hold at most 1 label: measures @5, @7 count"
AT_MOST_6 = "lists hold at most 6 labels: measures @7 count"
NAMES = ["p@1", "p@5", "p@7", "lrap"]
POINTER = range(0, M * K + 1, K)


def with_first(value: float, values: Any) -> Any:
    """Return scores of which the first one is another."""
    return np.where(np.arange(values.size).reshape(values.shape) == 0, value, values)


def unsorted(scores: Any) -> Any:
    """Return rows in the order in which they are listed."""
    return rows_by_id(np.array(POINTER), IDS.ravel(), scores.ravel())._replace(is_written=True)


RISING_THEN_LEVEL = np.where(np.arange(M)[:, None] < 5, -FALLING, 2.5)
FEW = np.zeros((M, N))  # one row lists two labels, some none
FEW[[2, 7, 7, 9], [0, 3, 5, 6]] = 1
WITHOUT_0 = np.ones((M, N)) * (np.arange(N) > 0)
LISTS_FROM_ONE = 1 + (np.arange(M)[:, None] + np.arange(K)) % (N - 1)

# truth, scores, and what is noted of them
CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "sparse rows": (TRUTH, sp.csr_array((FALLING.ravel(), IDS.ravel(), POINTER), (M, N)), [AT_MOST_3]),
    "lists of ones": (TRUTH, (IDS, np.ones((M, K))), [BINARY, AT_MOST_3]),
    "at most one label a row": (TRUTH, sp.csr_array(FEW * (FEW.sum(axis=1) < 2)[:, None]), [AT_MOST_1]),
    "sets but one score": (TRUTH, with_first(0.5, np.round(DENSE)), []),
    "rising lists, some of them level": (TRUTH, (IDS, RISING_THEN_LEVEL), [RISES, AT_MOST_3]),
    "unsorted rising rows": (TRUTH, unsorted(-FALLING), [RISES, AT_MOST_3]),
    "unsorted rising rows but one": (TRUTH, unsorted(with_first(9.0, -FALLING)), [AT_MOST_3]),
    "rising rows of a sparse matrix": (TRUTH, sp.csr_array(np.sort(DENSE, axis=1)), []),
    "short lists": (TRUTH, (np.where(np.arange(K) < 2, IDS, -1), FALLING), [AT_MOST_2]),
    "ids from 1": (FROM_ONE, FROM_ONE, [FROM_1, AT_MOST_2]),
    "ids from 1 in lists": (FROM_ONE, (LISTS_FROM_ONE, None), [FROM_1, AT_MOST_3]),
    "ids from 1, the last one missing": ([[1], [2]] * 6, [[3, 4]] * M, [AT_MOST_2]),
    "a matrix from 1": (sp.csr_array(np.eye(N)[[1, 6] * 6]), (LISTS_FROM_ONE, None), [FROM_1, AT_MOST_3]),
    "an array and a matrix from 1": (WITHOUT_0, sp.csr_array(WITHOUT_0 * DENSE), [FROM_1, AT_MOST_6]),
    "nothing relevant": (sp.csr_array((M, N)), DENSE, [EMPTY]),
}  # fmt: skip


def cut(rows: Any, start: int, stop: int) -> Any:
    if isinstance(rows, Rows):
        return rows.part(start, min(stop, rows.n_rows))
    if isinstance(rows, tuple):
        return tuple(None if part is None else part[start:stop] for part in rows)
    return rows.tocsr()[start:stop].asformat(rows.format) if sp.issparse(rows) else rows[start:stop]


def without_ties(notes: Sequence[str]) -> list[str]:
    return [note for note in notes if not note.startswith("rows with ties")]


@pytest.mark.parametrize("name", CASES)
def test_what_is_noted(name: str) -> None:
    """Alike at once and in batches, whatever the measures read."""
    truth, scores, notes = CASES[name]
    n_rows = truth.shape[0] if sp.issparse(truth) else len(truth)
    streamed, first = (Evaluator(names, n_labels=N) for names in (NAMES, ["p@1"]))
    for start in range(0, n_rows, 5):
        rows = cut(truth, start, start + 5), cut(scores, start, start + 5)
        streamed.update(*rows)
        first.update(*rows)
    whole = evaluate(truth, scores, metrics=NAMES, n_labels=N, threads=1, running=Running(block_rows=5))
    for report in (whole, streamed.compute()):
        noted = without_ties(report.notes)
        assert len(noted) == len(notes), noted
        assert all(note.startswith(start) for note, start in zip(noted, notes, strict=True)), noted
    other_metrics = [note for note in without_ties(first.compute().notes) if "lists hold" not in note]
    assert other_metrics == [note for note in noted if "lists hold" not in note]


def test_scores_of_sets_do_no_harm_to_measures_of_sets() -> None:
    for name, n_notes in (("f1.micro", 0), ("p@1", 1)):
        notes = evaluate(TRUTH, np.round(DENSE), metrics=[name], decision="threshold0.5").notes
        assert len([note for note in notes if "decision=" not in note]) == n_notes


@pytest.mark.parametrize(("lowest", "n_notes"), [(0.5, 1), (1.0, 0)])
def test_propensities_instead_of_their_inverses_are_noted(lowest: float, n_notes: int) -> None:
    report = evaluate(TRUTH, DENSE, metrics="psp@1", inverse_propensity=np.linspace(lowest, 3, N))
    assert len(report.notes) == n_notes
    assert ("propensity=(values below 1)" in report.signature()) == bool(n_notes)


@pytest.mark.parametrize(("metrics", "options", "expected"), [
    ("p@3,lrap,one_error", {}, {"lrap": 3.0}),
    ("p@5,psp@2", {"inverse_propensity": np.ones(N)}, {"p@5": 3.0}),
    ("f1.macro,f1.samples@4", {"decision": "top3"}, {"f1.samples@4": 3.0}),
    ("p@1,p@3,p@5,lrap", {"conventions": "unlisted=0"}, {"p@5": 3.0, "lrap": 3.0}),
])  # fmt: skip
def test_measures_that_read_more_than_the_lists_hold(
    metrics: str, options: dict[str, Any], expected: dict[str, float]
) -> None:
    for scores, short in (((IDS, FALLING), expected), (DENSE, {})):
        report = evaluate(TRUTH, scores, metrics=metrics.split(","), **options)
        assert {name: length.mean for name, length in report.results.short.items()} == short


@pytest.mark.parametrize(("sizes", "cut"), [
    ([1] * 9 + [3] * 6 + [7] * 5 + [10] * 22, True),
    ([2] * 30, True),
    ([0] * 30 + [6] * 12, True),
    ([*range(11)] * 4, True),
    ([*range(11)] * 3, False),
    ([3, 3, 2], True),
])  # fmt: skip
def test_rows_are_cut_where_several_of_them_end_at_the_greatest_depth(sizes: list[int], cut: bool) -> None:
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    labels = np.concatenate([np.arange(size) for size in sizes])
    scores = sp.csr_array((1.0 + labels, labels, ptr), shape=(len(sizes), 20))
    report = evaluate(
        sp.csr_array(scores > 5),
        scores,
        metrics="lrap",
        conventions="unlisted=0",
        running=Running(block_rows=7),
    )
    listed = [size for size in sizes if size]
    assert report.results.short == ({"lrap": (np.mean(listed), max(sizes))} if cut else {})


@pytest.mark.parametrize(
    ("ids", "noted"),
    [([*range(1, 33), 39], True), ([*range(40)], False), ([*range(1, 5), *range(6, 40)], False)],
)
def test_ids_count_from_1_where_the_first_ones_and_the_last_occur(ids: list[int], noted: bool) -> None:
    half = len(ids) // 2
    labels = np.array([ids[:half] + [-1] * (20 - half), ids[half:] + [-1] * (20 - len(ids) + half)])
    truth = sp.csr_array(([1], ([0], [ids[-1]])), shape=(2, 40))
    notes = evaluate(truth, (labels, None), metrics="p@1").notes
    assert ("id 0 occurs nowhere, and ids 1 to 32 and 39 do" in str(notes)) == noted
    named = evaluate(truth, (labels, None), metrics="p@1", labels=[f"d{label}" for label in range(40)])
    assert "id 0" not in str(named.notes)


@pytest.mark.parametrize("values", [(0, 0, 1, 1), (1, 1, 0, 0)])
def test_distances_of_zeros_and_ones_are_noted_in_any_order(values: tuple[int, ...]) -> None:
    named = {"q": dict(zip("abcd", values, strict=True))}
    for y_score in (named, (np.arange(4)[None], np.array([values], float))):
        y_true = {"q": ["a"]} if y_score is named else [[0]]
        n_labels = None if y_score is named else 4
        report = evaluate(y_true, y_score, n_labels=n_labels, metrics="p@1", higher_is_better=False)
        assert any(BINARY in note for note in report.notes)
