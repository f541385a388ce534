"""Which tasks a run has, what it refuses, and what each task sends."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.engines import ShuffledEngine
from tests.limits import small_limits
from xmleval import Evaluator, evaluate
from xmleval.cluster import job as job_module
from xmleval.cluster.counting import count_block
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import Job, make_job, own_constants
from xmleval.cluster.packing import LEAST_SIZE, packed, unpacked
from xmleval.cluster.run import Engine, Leaf, SerialEngine, run

MEMORY = 1 << 26
TRUTH = np.tile(np.eye(5, dtype=int), (6, 1))
SCORES = np.random.default_rng(0).random((30, 5))
RANGED = ["auc.macro", "ap.weighted", "ap.micro", "p@1", "label_diversity", "proportional_diversity"]


def job_of(n_labels: int = 5, **options: Any) -> Job:
    return make_job(Evaluator(n_labels=n_labels, **options), MEMORY, 1)


def leaves(cuts: Any, truth: Any = TRUTH, scores: Any = SCORES, name: str = "") -> list[Leaf]:
    return [
        Leaf(count_block, (lo, (truth[lo:hi], scores[lo:hi])), f"{lo}{name}", hi - lo)
        for lo, hi in itertools.pairwise(cuts)
    ]


@pytest.mark.parametrize("metrics", [RANGED, *RANGED])
def test_no_state_is_saved_without_what_went_by_ranges(metrics: Any) -> None:
    engine, expected = ShuffledEngine(), evaluate(TRUTH, SCORES, metrics=metrics).to_json()
    with small_limits():
        evaluator = run(engine, job_of(metrics=metrics), leaves(range(0, 31, 3)))
        assert evaluator.compute().to_json() == expected
        if metrics in ("ap.micro", "p@1"):  # which go through the tree
            evaluator.counts()
        else:
            with pytest.raises(RuntimeError, match="by other processes"):
                evaluator.counts()
            assert len({key for key in engine.ran if key.startswith("range-")}) == 2  # as few are sent
        job = make_job(Evaluator(metrics, n_labels=5), MEMORY, 1, keep_states=True)
        assert job.digest != job_of(metrics=metrics).digest  # its parts are others
        kept = run(ShuffledEngine(), job, leaves(range(0, 31, 3)))
        again = Evaluator(metrics, n_labels=5).with_counts(kept.counts())
    assert again.compute().to_json() == expected


class Remembering(SerialEngine):
    """Gives the first result of a key again, as an engine may that still holds it."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    def submit(self, function: Any, *arguments: Any, key: str) -> Any:
        if key not in self.results:
            self.results[key] = function(*arguments)
        return self.results[key]


def test_engine_may_have_several_runs_and_small_jobs_are_no_tasks() -> None:
    engine, rng = Remembering(), np.random.default_rng(0)
    for number in range(2):
        truth, scores = np.roll(TRUTH, number), rng.random((30, 5))
        tasks = leaves(range(0, 31, 3), truth, scores, f" of {number}")
        report = run(engine, job_of(metrics=RANGED), tasks).compute()
        assert report.to_json() == evaluate(truth, scores, metrics=RANGED).to_json()
    shuffled = ShuffledEngine()
    run(shuffled, job_of(metrics="p@1"), leaves([0, 5]))
    assert {*shuffled.ran} == {"0"}


def test_rows_must_be_counted_once_each() -> None:
    tasks = leaves([0, 10, 20, 30])
    with pytest.raises(ValueError, match=r"rows 10\.\.19 are counted already"):
        run(SerialEngine(), job_of(metrics="p@1"), [*tasks, tasks[1]])
    with pytest.raises(ValueError, match="rows from 10 on were not counted: 20 of"):
        run(SerialEngine(), job_of(metrics="p@1"), [tasks[0], tasks[2]])


@pytest.mark.parametrize(("metrics", "step"), [("p@1", 10), (["auc.macro", "label_diversity"], 3)])
def test_error_of_the_lowest_row_is_raised(metrics: Any, step: int, tmp_path: Path) -> None:
    truth = TRUTH.copy()
    truth[[7, 18, 26], 0] = 3
    engines: list[Engine] = [SerialEngine(), *map(ShuffledEngine, range(5))]
    for engine, exchange in itertools.product(engines, (None, Exchange(tmp_path))):
        with pytest.raises(ValueError, match=r"^y_true: row 7: "):
            run(engine, job_of(metrics=metrics), leaves(range(0, 31, step), truth), exchange)


@pytest.mark.parametrize("name", own_constants())
def test_worker_whose_arithmetic_differs_is_refused(name: str) -> None:
    job = job_of(metrics="p@1")
    job_module.opened(job)  # an evaluator that is kept is checked, too
    job.constants[name] = "0.1"
    with pytest.raises(ValueError, match=f"workers: {name} differs: 0.1 at the client, .* at a worker"):
        run(SerialEngine(), job, leaves([0, 30]))


def test_propensities_are_sent_once_or_read_from_a_file(tmp_path: Path) -> None:
    q = np.arange(1.0, 6.0)
    options: dict[str, Any] = {"metrics": ["psp@1", "psndcg@3"], "inverse_propensity": q}
    part = count_block(job_of(**options), 0, (TRUTH, SCORES))
    assert not any("propensity" in name for name in part["arrays"])
    with small_limits():
        job = job_of(**options).with_file(tmp_path / "q.npy")
        assert job.n_bytes < job_of(**options).n_bytes
        report = run(ShuffledEngine(), job, leaves([0, 10, 30])).compute()
        assert report.to_json() == evaluate(TRUTH, SCORES, **options).to_json()
        np.save(tmp_path / "q.npy", q + 1)
        job_module._opened.clear()
        with pytest.raises(ValueError, match=r"q\.npy: not the propensities of this run"):
            run(SerialEngine(), job, leaves([0, 10, 30]))


@settings(max_examples=20)
@given(
    changes=st.lists(st.tuples(st.integers(0, LEAST_SIZE - 1), st.integers(-1, 1 << 60)), max_size=8),
    in_rows=st.booleans(),
)
def test_packed_arrays_come_back(changes: list[tuple[int, int]], in_rows: bool) -> None:
    counts = np.arange(LEAST_SIZE) % 254
    for place, value in changes:
        counts[place] = value
    arrays = {"a/counts": counts.reshape(-1, 2) if in_rows else counts, "b": np.ones(3), "c": counts[:9]}
    assert "a/counts.bytes" in packed(arrays)
    again = unpacked(packed(arrays))
    assert {name: (array.dtype, array.tolist()) for name, array in again.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }


def test_parts_have_a_byte_for_a_count_and_four_for_a_score() -> None:
    rng, rows = np.random.default_rng(1), 400
    labels = 2 + np.argsort(rng.random((rows, 998)), axis=1)[:, :20].astype(np.int32)
    labels[:, 0] = 1  # in each row, which a byte does not hold
    scores = -np.sort(-rng.random((rows, 20), dtype=np.float32), axis=1)
    truth = sp.csr_array((np.ones(rows), labels[:, 3], np.arange(rows + 1)), shape=(rows, 1000))
    of_many = sp.csr_array((truth.data, truth.indices, truth.indptr), shape=(rows, 50_000))
    counts = count_block(job_of(50_000, metrics="f1.macro@5"), 0, (of_many, (labels[:, :5], None)))
    assert 3 * 50_000 <= counts["n_bytes"]["label_totals"] < 3 * 50_000 + 200
    job = job_of(1000, metrics="auc.macro")
    few = count_block(job, 0, (truth[:100], (labels[:100], scores[:100])))
    many = count_block(job, 0, (truth, (labels, scores)))
    assert sum(few["n_bytes"].values()) > 8 * 100 * 20  # with the number of each label
    assert 4 * rows * 20 < sum(many["n_bytes"].values()) < 4 * rows * 20 + 8 * 3 * 1000 + 500


DAMAGES: dict[str, tuple[str, Any]] = {
    "a bucket begins before the one before": (
        "starts.cells.relevant.ordered0",
        lambda array: array[[0, *range(2, array.size), 1]],
    ),
    "buckets behind the last one": (
        "starts.cells.relevant.ordered0",
        lambda array: np.append(np.uint32(65_000), array[1:]),
    ),
    "more than infinity": (
        "starts.cells.relevant.ordered0",
        lambda array: np.append(np.uint32(0xFF80), array[1:]),
    ),
    "fewer scores than in buckets": ("cells.relevant.ordered0", lambda array: array[1:]),
    "scores of another type": ("cells.relevant.ordered0", lambda array: array.astype(np.int64)),
    "less than no scores": (
        "sizes.columns.irrelevant.grouped0",
        lambda array: array - 3 * (array == array.max()),
    ),
    "fewer scores than of labels": ("columns.irrelevant.grouped0", lambda array: array[1:]),
    "scores that are NaN": ("columns.irrelevant.grouped0", lambda array: array * np.float32(np.nan)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_scores_are_refused(damage: str) -> None:
    name, change = DAMAGES[damage]
    name = f"score_runs/{name}"

    def damaged(*arguments: Any) -> Any:
        part = count_block(job, 0, (TRUTH[:5], np.arange(25, dtype=np.float32).reshape(5, 5)))
        part["arrays"][name] = change(part["arrays"][name])
        return part

    with small_limits():
        job = job_of(metrics=["auc.micro", "auc.macro"])
        with pytest.raises(ValueError, match=r"^score_runs/.*(cut|out of range)"):
            run(SerialEngine(), job, [Leaf(damaged, (), "0", 5)])
