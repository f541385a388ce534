"""Tasks of a run: their rows, refusals, and the states they send."""

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.executors import ShuffledExecutor, count_leaves, job_of, leaf
from tests.limits import small_limits
from xmleval import Evaluator, evaluate
from xmleval.cluster.counting import add_states, call
from xmleval.cluster.cutting import cut
from xmleval.cluster.job import make_job, opened
from xmleval.evaluation.evaluator import counts_of, saved_of, with_counts
from xmleval.evaluation.saved import saved_counts
from xmleval.input.shards import find_inputs, with_fields
from xmleval.input.text_columns import TextPairs
from xmleval.thresholds import fit

TRUTH = np.tile(np.eye(5, dtype=int), (6, 1))
SCORES = np.random.default_rng(0).random((30, 5))
METRICS = [
    "auc.macro",
    "ap.weighted",
    "ap.micro",
    "p@1",
    "label_diversity",
    "proportional_diversity",
]


def new_job(metrics: Any = "p@1", **options: Any) -> Any:
    return job_of(Evaluator(metrics, n_labels=5, **options))


def leaves(cuts: Any, truth: Any = TRUTH) -> list[Any]:
    tasks = []
    for start, stop in itertools.pairwise(cuts):
        rows = (truth[start:stop], SCORES[start:stop])
        tasks.append(leaf(start, rows, stop - start))
    return tasks


def test_counts_of_many_tasks_can_be_saved() -> None:
    with small_limits():
        whole = count_leaves(new_job(METRICS), leaves(range(0, 31, 3)), ShuffledExecutor())
        again = with_counts(Evaluator(METRICS, n_labels=5), saved_counts(counts_of(whole)))
    assert again.compute().to_json() == evaluate(TRUTH, SCORES, metrics=METRICS).to_json()


def test_rows_must_be_counted_once_each() -> None:
    tasks = leaves([0, 10, 20, 30])
    with pytest.raises(ValueError, match=r"rows 10\.\.19 are counted already"):
        count_leaves(new_job(), [*tasks, tasks[1]])
    with pytest.raises(ValueError, match="rows from 10 on were not counted: 20 of"):
        count_leaves(new_job(), [tasks[0], tasks[2]])


@pytest.mark.parametrize(("metrics", "step"), [("p@1", 10), (["auc.macro", "label_diversity"], 3)])
def test_error_of_the_lowest_row_is_raised(metrics: Any, step: int, tmp_path: Path) -> None:
    truth = TRUTH.copy()
    truth[[7, 18, 26], 0] = 3
    for seed, folder in itertools.product(range(5), (None, tmp_path)):
        job = new_job(metrics)
        tasks = leaves(range(0, 31, step), truth)
        with pytest.raises(ValueError, match=r"^y_true: row 7: "):
            count_leaves(job, tasks, ShuffledExecutor(seed), folder)


def test_states_may_be_merged_in_pairs_and_errors_pass_through() -> None:
    job = new_job(METRICS)
    wrong = TRUTH.copy()
    wrong[18, 0] = 3

    def merge_pair(first: Any, second: Any) -> Any:
        return call(job, None, add_states, (first, second))

    def add_all(evaluator: Evaluator, truth: Any) -> None:
        tasks = leaves(range(0, 31, 5), truth)
        states = [call(job, None, task.add, *task.arguments) for task in tasks]
        merged = functools.reduce(merge_pair, states)
        add_states(evaluator, [merged])

    whole = opened(job)
    add_all(whole, TRUTH)
    assert whole.compute().to_json() == evaluate(TRUTH, SCORES, metrics=METRICS).to_json()
    with pytest.raises(ValueError, match=r"^y_true: row 18: "):
        add_all(opened(job), wrong)


def test_worker_whose_arithmetic_differs_is_refused() -> None:
    for name in new_job().constants:
        job = new_job()
        opened(job)  # an evaluator that is kept is checked, too
        job.constants[name] = "0.1"
        with pytest.raises(
            ValueError, match=f"workers: {name} differs: 0.1 at the client, .* at a worker"
        ):
            count_leaves(job, leaves([0, 30]))


def test_propensities_may_be_read_from_a_file(tmp_path: Path) -> None:
    q = np.arange(1.0, 6.0)
    options: dict[str, Any] = {"metrics": ["psp@1", "psndcg@3"], "inverse_propensity": q}
    with small_limits():
        job = new_job(**options).with_file(tmp_path / "q.npy")
        report = count_leaves(job, leaves([0, 10, 30]), ShuffledExecutor()).compute()
        assert report.to_json() == evaluate(TRUTH, SCORES, **options).to_json()
        np.save(tmp_path / "q.npy", q + 1)
        opened(new_job())  # an evaluator is kept for the last job alone
        with pytest.raises(ValueError, match=r"q\.npy: not the propensities of this run"):
            count_leaves(job, leaves([0, 10, 30]))


EYE = np.eye(5, dtype=int)
ARRAYS: dict[str, list[dict[str, Any]]] = {  # options that differ in one array of a job
    "propensity": [{"inverse_propensity": np.arange(1.0, 6.0) + i} for i in range(2)],
    "label_counts": [{"y_train": np.roll(EYE[[0, 0, 1, 2, 3, 4]], i, axis=1)} for i in range(2)],
    "label_groups": [{"label_groups": groups} for groups in (["a", *"bbbb"], ["a", "a", *"bbb"])],
    "hierarchy": [{"hierarchy": [(0, parent)]} for parent in (1, 2)],
    "decision": [{"decision": fit(EYE, EYE + i, "f1.macro", rule="label")} for i in range(2)],
}
MEASURES_OF = {"label_counts": "popularity@1", "hierarchy": "h_f1.micro@1", "decision": "f1.macro"}


def test_every_array_of_a_job_is_in_its_digest() -> None:
    options = {name: value for each in ARRAYS.values() for name, value in each[0].items()}
    del options["inverse_propensity"]  # is made of y_train
    saved = saved_of(Evaluator(["psp@1", *MEASURES_OF.values()], n_labels=5, **options))
    assert {*saved.arrays} == {*ARRAYS}
    for name, (first, second) in ARRAYS.items():
        metrics = MEASURES_OF.get(name, "psp@1")
        digests = [new_job(metrics, **options).digest for options in (first, first, second)]
        assert digests[0] == digests[1], name
        assert digests[0] != digests[2], name


def test_job_with_other_propensities_is_another_one() -> None:
    for first, step in ((1.0, 1.0), (9.0, -1.0)):
        q = first + step * np.arange(5)
        report = count_leaves(new_job("psp@3", inverse_propensity=q), leaves([0, 10, 30])).compute()
        assert dict(report) == dict(evaluate(TRUTH, SCORES, metrics="psp@3", inverse_propensity=q))


def test_tasks_of_other_excluded_pairs_have_other_keys(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(np.eye(4, dtype=np.float32)))
    (truth,) = with_fields(True, find_inputs("y_true", [tmp_path / "Y.npz"]))
    job = make_job(Evaluator(["label_cardinality"], n_labels=4), 1 << 24)

    def keys(labels: list[int], rows: Sequence[int] = (0, 1)) -> list[str]:
        rows_and_labels = np.array(rows), np.array(labels)
        pairs = TextPairs(tmp_path / "pairs.txt", *rows_and_labels, np.array([1, 2]))
        return [task.key for task in cut(job, {"y_true": truth}, pairs={"exclude": pairs})]

    assert keys([0, 1]) == keys([0, 1])
    assert keys([0, 1]) != keys([2, 3])
    assert keys([0, 1]) != keys([0, 1], rows=(1, 2))


def test_tasks_of_files_read_as_a_whole_begin_where_files_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        matrix = sp.csr_array(np.eye(10, dtype=np.float32))
        sp.save_npz(tmp_path / f"Y_{number}.npz", matrix)  # compressed
    (truth,) = with_fields(True, find_inputs("y_true", [tmp_path / "Y_*.npz"]))
    size = sum(path.stat().st_size for path in truth.files)
    monkeypatch.setattr("xmleval.cluster.cutting.LEAST_BYTES", size // 4)
    job = make_job(Evaluator(["label_cardinality"], n_labels=10), 1 << 24)
    tasks = cut(job, {"y_true": truth})
    assert [(task.start, task.stop) for task in tasks] == [(0, 10), (10, 20), (20, 30), (30, 40)]
    for number, task in enumerate(tasks):
        (shards,) = task.inputs
        assert [Path(path).name for _, path, _ in shards.files] == [f"Y_{number}.npz"]
        assert [Path(path).name for path in task.stamps] == [f"Y_{number}.npz"]


def test_missing_first_rows_of_a_shard_are_named_by_their_number_in_all_rows() -> None:
    later = [task._replace(first_row=5) for task in leaves([10, 20, 30])]
    with pytest.raises(ValueError, match=r"^rows from 5 on were not counted: 20 of 20 rows$"):
        count_leaves(new_job(), later)
