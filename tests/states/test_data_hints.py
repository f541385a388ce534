"""Notes on unusual rows: binary or rising scores, ids from 1, short lists, empty truth."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Running, evaluate
from xmleval.input.rows import Rows, rows_by_id

M = 12
N = 7
K = 3
rng = np.random.default_rng(3)
TRUTH = sp.csr_array((rng.random((M, N)) < 0.4).astype(np.uint8))
IDS = np.array([rng.choice(N, K, replace=False) for _ in range(M)])
FALLING = -np.sort(-rng.random((M, K)), axis=1)
DENSE = rng.random((M, N))


def labels_from_one(row: int) -> list[int]:
    """Return the last label and a second one, or label 1 alone, but never label 0."""
    position = row % (N - 1)
    if position == N - 2:
        return [1]
    return [1 + position, N - 1]


FROM_ONE = [labels_from_one(row) for row in range(M)]

BINARY = "every score is 0 or 1"
RISES = "scores rise along every row"
FROM_1 = (
    "id 0 occurs nowhere, and ids 1 to 6 do: if ids count from 1, subtract 1, "
    "or drop the first column"
)
EMPTY = "no row of the truth has a relevant label"
AT_MOST_3 = "lists have at most 3 labels: measures @5, @7 count missing labels as wrong"
AT_MOST_2 = AT_MOST_3.replace("3", "2")
AT_MOST_1 = "lists have at most 1 label: measures @5, @7 count"
AT_MOST_6 = "lists have at most 6 labels: measures @7 count"
NAMES = ["p@1", "p@5", "p@7", "lrap"]
POINTER = range(0, M * K + 1, K)


def with_first(value: float, values: Any) -> Any:
    """Return the scores with another value in the first cell."""
    cells = np.arange(values.size).reshape(values.shape)
    return np.where(cells == 0, value, values)


def unsorted(scores: Any) -> Any:
    """Return rows whose labels keep the order of the lists."""
    rows = rows_by_id(np.array(POINTER), IDS.ravel(), scores.ravel())
    return rows._replace(is_written=True)


RISING_THEN_LEVEL = np.where(np.arange(M)[:, None] < 5, -FALLING, 2.5)
FEW = np.zeros((M, N))  # one row lists two labels, some none
FEW[[2, 7, 7, 9], [0, 3, 5, 6]] = 1
WITHOUT_0 = np.ones((M, N)) * (np.arange(N) > 0)
LISTS_FROM_ONE = 1 + (np.arange(M)[:, None] + np.arange(K)) % (N - 1)

SPARSE_FALLING = sp.csr_array((FALLING.ravel(), IDS.ravel(), POINTER), (M, N))
AT_MOST_ONE_LABEL = sp.csr_array(FEW * (FEW.sum(axis=1) < 2)[:, None])
TWO_LISTED = np.where(np.arange(K) < 2, IDS, -1)
ENDS_FROM_ONE = sp.csr_array(np.eye(N)[[1, 6] * 6])


class Case(NamedTuple):
    """Rows, and the beginnings of the notes on them."""

    truth: Any
    scores: Any
    notes: list[str]


CASES = {
    "sparse rows": Case(
        TRUTH,
        SPARSE_FALLING,
        [AT_MOST_3],
    ),
    "lists of ones": Case(
        TRUTH,
        (IDS, np.ones((M, K))),
        [BINARY, AT_MOST_3],
    ),
    "at most one label a row": Case(
        TRUTH,
        AT_MOST_ONE_LABEL,
        [AT_MOST_1],
    ),
    "sets but one score": Case(
        TRUTH,
        with_first(0.5, np.round(DENSE)),
        [],
    ),
    "rising lists, some of them level": Case(
        TRUTH,
        (IDS, RISING_THEN_LEVEL),
        [RISES, AT_MOST_3],
    ),
    "unsorted rising rows": Case(
        TRUTH,
        unsorted(-FALLING),
        [RISES, AT_MOST_3],
    ),
    "unsorted rising rows but one": Case(
        TRUTH,
        unsorted(with_first(9.0, -FALLING)),
        [AT_MOST_3],
    ),
    "rising rows of a sparse matrix": Case(
        TRUTH,
        sp.csr_array(np.sort(DENSE, axis=1)),
        [],
    ),
    "short lists": Case(
        TRUTH,
        (TWO_LISTED, FALLING),
        [AT_MOST_2],
    ),
    "ids from 1": Case(
        FROM_ONE,
        FROM_ONE,
        [FROM_1, AT_MOST_2],
    ),
    "ids from 1 in lists": Case(
        FROM_ONE,
        (LISTS_FROM_ONE, None),
        [FROM_1, AT_MOST_3],
    ),
    "ids from 1, the last one missing": Case(
        [[1], [2]] * 6,
        [[3, 4]] * M,
        [AT_MOST_2],
    ),
    "a matrix from 1": Case(
        ENDS_FROM_ONE,
        (LISTS_FROM_ONE, None),
        [FROM_1, AT_MOST_3],
    ),
    "an array and a matrix from 1": Case(
        WITHOUT_0,
        sp.csr_array(WITHOUT_0 * DENSE),
        [FROM_1, AT_MOST_6],
    ),
    "nothing relevant": Case(
        sp.csr_array((M, N)),
        DENSE,
        [EMPTY],
    ),
}


def count_rows(rows: Any) -> int:
    if sp.issparse(rows):
        return int(rows.shape[0])
    return len(rows)


def cut(rows: Any, start: int, stop: int) -> Any:
    if isinstance(rows, Rows):
        return rows.part(start, min(stop, rows.n_rows))
    if isinstance(rows, tuple):
        return tuple(None if array is None else array[start:stop] for array in rows)
    if sp.issparse(rows):
        return rows.tocsr()[start:stop].asformat(rows.format)
    return rows[start:stop]


def without_ties(notes: Sequence[str]) -> list[str]:
    return [note for note in notes if "across a cutoff" not in note]


def without_short_lists(notes: Sequence[str]) -> list[str]:
    return [note for note in notes if "lists have" not in note]


@pytest.mark.parametrize("name", CASES)
def test_notes_on_rows_are_the_same_in_batches(name: str) -> None:
    """Only the note on short lists depends on the measures."""
    case = CASES[name]
    streamed = Evaluator(NAMES, n_labels=N)
    first = Evaluator(["p@1"], n_labels=N)
    for start in range(0, count_rows(case.truth), 5):
        truth = cut(case.truth, start, start + 5)
        scores = cut(case.scores, start, start + 5)
        streamed.update(truth, scores)
        first.update(truth, scores)
    whole = evaluate(
        case.truth,
        case.scores,
        metrics=NAMES,
        n_labels=N,
        threads=1,
        running=Running(block_rows=5),
    )
    for report in (whole, streamed.compute()):
        notes = without_ties(report.notes)
        assert len(notes) == len(case.notes), notes
        for note, beginning in zip(notes, case.notes, strict=True):
            assert note.startswith(beginning), notes
    notes_of_first = without_ties(first.compute().notes)
    assert without_short_lists(notes_of_first) == without_short_lists(notes)


def test_binary_scores_are_noted_for_rankings_but_not_for_sets() -> None:
    for name, n_notes in (("f1.micro", 0), ("p@1", 1)):
        report = evaluate(TRUTH, np.round(DENSE), metrics=[name], decision="threshold0.5")
        notes = [note for note in report.notes if "decision=" not in note]
        assert len(notes) == n_notes


@pytest.mark.parametrize(("lowest", "n_notes"), [(0.5, 1), (1.0, 0)])
def test_propensities_instead_of_their_inverses_are_noted(lowest: float, n_notes: int) -> None:
    propensity = np.linspace(lowest, 3, N)
    report = evaluate(TRUTH, DENSE, metrics="psp@1", inverse_propensity=propensity)
    assert len(report.notes) == n_notes
    assert ("propensity=(values below 1)" in report.signature()) == bool(n_notes)


@pytest.mark.parametrize(
    ("metrics", "options", "expected"),
    [
        ("p@3,lrap,one_error", {}, {"lrap": 3.0}),
        ("p@5,psp@2", {"inverse_propensity": np.ones(N)}, {"p@5": 3.0}),
        ("f1.macro,f1.samples@4", {"decision": "top3"}, {"f1.samples@4": 3.0}),
        ("p@1,p@3,p@5,lrap", {"conventions": "unlisted=0"}, {"p@5": 3.0, "lrap": 3.0}),
    ],
)
def test_short_lists_are_reported_for_measures_that_read_more(
    metrics: str, options: dict[str, Any], expected: dict[str, float]
) -> None:
    lists = (IDS, FALLING)
    for scores, expected_lengths in ((lists, expected), (DENSE, {})):
        report = evaluate(TRUTH, scores, metrics=metrics.split(","), **options)
        lengths = {name: length.mean for name, length in report.results.short.items()}
        assert lengths == expected_lengths


@pytest.mark.parametrize(
    ("sizes", "is_cut"),
    [
        ([1] * 9 + [3] * 6 + [7] * 5 + [10] * 22, True),
        ([2] * 30, True),
        ([0] * 30 + [6] * 12, True),
        ([*range(11)] * 4, True),
        ([*range(11)] * 3, False),
        ([3, 3, 2], True),
    ],
)
def test_short_lists_are_noted_where_several_rows_end_at_the_greatest_depth(
    sizes: list[int], is_cut: bool
) -> None:
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
    expected = {}
    if is_cut:
        expected = {"lrap": (np.mean(listed), max(sizes))}
    assert report.results.short == expected


@pytest.mark.parametrize(
    ("ids", "is_noted"),
    [
        ([*range(1, 33), 39], True),
        ([*range(40)], False),
        ([*range(1, 5), *range(6, 40)], False),
    ],
)
def test_ids_from_1_are_noted_where_the_first_ones_and_the_last_occur(
    ids: list[int], is_noted: bool
) -> None:
    labels = np.full((2, 20), -1)
    half = len(ids) // 2
    for row, row_ids in enumerate((ids[:half], ids[half:])):
        labels[row, : len(row_ids)] = row_ids
    truth = sp.csr_array(([1], ([0], [ids[-1]])), shape=(2, 40))
    notes = evaluate(truth, (labels, None), metrics="p@1").notes
    assert ("id 0 occurs nowhere, and ids 1 to 32 and 39 do" in str(notes)) == is_noted

    label_names = [f"d{label}" for label in range(40)]
    report = evaluate(truth, (labels, None), metrics="p@1", labels=label_names)
    assert "id 0" not in str(report.notes)


@pytest.mark.parametrize("values", [(0, 0, 1, 1), (1, 1, 0, 0)])
def test_binary_distances_are_noted_in_any_order(values: tuple[int, ...]) -> None:
    options: dict[str, Any] = {"metrics": "p@1", "higher_is_better": False}
    mapping = {"q": dict(zip("abcd", values, strict=True))}
    lists = (np.arange(4)[None], np.array([values], float))
    reports = [
        evaluate({"q": ["a"]}, mapping, **options),
        evaluate([[0]], lists, n_labels=4, **options),
    ]
    for report in reports:
        assert any(BINARY in note for note in report.notes)


@pytest.mark.parametrize(("n_lists", "is_noted"), [(3, True), (2, False)])
def test_rising_scores_are_noted_from_six_steps_on(n_lists: int, is_noted: bool) -> None:
    lists = (IDS[:n_lists], -FALLING[:n_lists])
    notes = evaluate(TRUTH[:n_lists], lists, metrics="p@1").notes
    assert any(note.startswith(RISES) for note in notes) == is_noted


@pytest.mark.parametrize(
    ("sets", "ending"),
    [
        ([[0, 1, 2], [0, 1, 2]], "all labels of rows are judged, so none is left out"),
        ([[0, 1, 2], [0, 1]], "5 of 6 labels of rows are judged; no others count, on either side"),
        ([[0, 1], [1]], "3 of 6 labels of rows are judged; no others count, on either side"),
        ([[0], [1]], "on either side; all of them are relevant"),
    ],
)
def test_note_on_judged_labels_says_where_all_or_only_relevant_ones_are(
    sets: list[list[int]], ending: str
) -> None:
    scores = np.arange(6.0).reshape(2, 3)
    (note,) = evaluate([[0], [1]], scores, metrics="p@1", judged=sets, n_labels=3).notes
    assert note.endswith(ending)
