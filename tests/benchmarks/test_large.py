"""The large run and the model of a cluster: what is drawn, measured and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cost_model, large
from benchmarks.cost_model import LARGE, TASKS, WORKERS, cluster_seconds, constants_of, counting, tree_seconds
from benchmarks.large import METRICS, Size, bytes_of
from benchmarks.shards import MOST_RELEVANT, Shards
from scripts.readme import RESULTS
from xmleval import Evaluator, inverse_propensity
from xmleval.states.rank_profile import RankProfile

N_LABELS, DEPTH, ROWS = 4000, 20, 600


def drawn(first: int, stop: int, as_lists: bool) -> tuple[Any, Any]:
    return Shards.of(N_LABELS, DEPTH, stop - first).draw(first, stop - first, as_lists)


def test_shards_are_valid_and_do_not_depend_on_their_cut() -> None:
    truth, matrix = drawn(0, ROWS, False)
    _, (labels, scores) = drawn(0, ROWS, True)
    assert truth.has_canonical_format
    assert matrix.has_canonical_format
    assert (np.diff(scores, axis=1) < 0).all()
    order = np.argsort(labels, axis=1)
    assert (np.take_along_axis(labels, order, axis=1).ravel() == matrix.indices).all()
    assert (np.take_along_axis(scores, order, axis=1).ravel() == matrix.data).all()
    again, cut = drawn(ROWS // 3, ROWS, False)
    assert (again != truth[ROWS // 3 :]).nnz == (cut != matrix[ROWS // 3 :]).nnz == 0
    sizes = np.diff(truth.indptr)
    assert 1 <= sizes.min() <= sizes.max() <= MOST_RELEVANT
    assert 3 < sizes.mean() < 6


def test_frequencies_follow_the_power_law_that_propensities_come_from() -> None:
    shards = Shards.of(N_LABELS, DEPTH, 20_000)
    truth, _ = shards.draw(0, 20_000, True)
    found = np.bincount(truth.indices, minlength=N_LABELS)
    expected = shards.label_counts(20_000)
    often = expected > 200
    assert often.sum() > DEPTH
    ratio = found[often] / expected[often]
    assert ratio.min() > 0.7
    assert ratio.max() < 1.2
    assert found[~often].max() < found[often].max()


def test_relevant_labels_score_higher() -> None:
    ev = Evaluator(METRICS, n_labels=N_LABELS, inverse_propensity=np.ones(N_LABELS))
    ev.update(*drawn(0, ROWS, True))
    values = ev.compute()
    assert values["p@1"] > values["p@5"] > 5 * DEPTH / N_LABELS
    assert 0.7 < values["auc.micro"] < 1


@pytest.mark.parametrize("n_labels", [2 * DEPTH - 1, 1 << 31])
def test_sizes_that_cannot_be_drawn(n_labels: int) -> None:
    with pytest.raises(ValueError, match="expected 40 to 2\\^31 - 1"):
        Shards.of(n_labels, DEPTH, 1)


def test_run_gives_the_values_of_all_rows_and_what_they_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(large, "FEW", Size(10, N_LABELS, DEPTH, 5))
    path = tmp_path / "large.json"
    words = ["--rows", str(ROWS), "--labels", str(N_LABELS), "--depth", str(DEPTH), "--memory", "64MiB"]
    for threads in ("1", "2", "1"):  # the last replaces the first
        large.main([*words, "--shard-rows", "90", "--threads", threads, "--output", str(path)])
    assert "600 rows: " in capsys.readouterr().out
    records = json.loads(path.read_text())
    assert [record["threads"] for record in records] == [2, 1]
    q = inverse_propensity(
        label_counts=Shards.of(N_LABELS, DEPTH, 1).label_counts(ROWS), n_instances=ROWS, n_labels=N_LABELS
    )
    whole = Evaluator(METRICS, n_labels=N_LABELS, inverse_propensity=q)
    truth, lists = drawn(0, ROWS, True)
    whole.update(truth, lists)
    for record in records:
        assert record["values"] == dict(whole.compute())
        assert record["relevant"] == truth.nnz
        assert record["notes"][-1]["rows"] == ROWS
        sizes = record["notes"][-1]["states"]
        assert sizes["label_totals"] >= 3 * N_LABELS
        assert min(sizes.values()) > 0
        assert max(record["peaks"].values()) > 1 << 20
        parts = cost_model.seconds_of_parts(record)
        assert sum(parts.values()) == pytest.approx(cost_model.counting_seconds(record))


def test_states_are_timed_while_a_run_lasts_only() -> None:
    before = RankProfile.update
    seconds: dict[str, float] = {}
    with large.timing_states(seconds):
        assert RankProfile.update is not before
    assert RankProfile.update is before


def test_bytes_of_arrays_count_each_once() -> None:
    whole = np.zeros(1000)
    assert bytes_of([whole, whole[:10], {"x": (whole,)}, "text"]) == whole.nbytes


def made_run(rows: int) -> dict[str, Any]:
    """A run of a machine that takes 10 ns a score and 0.1 s to merge the 300 MB of an update."""
    n_updates, states = rows // 500_000, ("rank_profile", "label_totals", "score_runs")
    merging = 0.1 * (n_updates - 1)
    own = {f"{state}.{step}": 0.0 for state in states for step in ("update", "merge", "finish")}
    return {
        "rows": rows, "depth": 100, "labels": 10**8, "shard_rows": 500_000, "relevant": 5 * rows,
        "cpu": {"counting lists": rows * 1e-6 + merging, "drawing": 1.0},
        "cpu_by_state": own | {"label_totals.merge": merging}, "value_bytes": 2 * 10**8, "value_rate": 1e9,
        "notes": [{"states": {"label_totals": 3 * 10**8}}],
    }  # fmt: skip


def test_model_returns_what_it_was_measured_on_and_scales() -> None:
    known = constants_of(made_run(10**7))
    assert known.score_seconds == pytest.approx(1e-8)
    assert known.table_rate == pytest.approx(3e9)
    for rows in (10**7, 10**8):
        assert counting(known, made_run(rows)) == pytest.approx(cost_model.counting_seconds(made_run(rows)))


def test_tree_takes_levels_of_eight() -> None:
    # 256 states: 32 groups on 64 workers, then 4, then one of 4
    assert tree_seconds(256, 64, 1e9, 1e9, 1e9) == pytest.approx((8 + 8 + 4) * 2)
    assert tree_seconds(256, 16, 1e9, 1e9, 1e9) == pytest.approx((16 + 8 + 4) * 2)
    assert tree_seconds(1, 64, 1e9, 1e9, 1e9) == 0


def test_cluster_reads_while_it_counts_and_gains_from_each_resource() -> None:
    known, job = constants_of(made_run(10**7)), {**LARGE, "shard_rows": 500_000}
    slow = cluster_seconds(known, job, WORKERS, 1, TASKS, 1e9)
    assert slow["counting"] == pytest.approx((1e11 * 1e-8 + 0.1 * 2000) / WORKERS)
    assert slow["reading"] == pytest.approx((8e11 + 2e10 + 1.6e10) / WORKERS / 1e9)
    total = cost_model.total_of(slow)
    assert total == pytest.approx(sum(slow.values()) - min(slow["reading"], slow["counting"]))
    faster = [(WORKERS, 8, 1e9), (WORKERS, 1, 3e9), (2 * WORKERS, 1, 1e9)]
    for workers, cores, rate in faster:
        assert cost_model.total_of(cluster_seconds(known, job, workers, cores, TASKS, rate)) < total
    alone = cluster_seconds(known, job, 1, 64, 64, 1e9)
    assert alone["labels"] == alone["scores"] == 0


def test_tables_of_the_results_name_every_run() -> None:
    runs = json.loads((RESULTS / "large.json").read_text())
    text = cost_model.tables_of(runs)
    for found in runs:
        assert f"| {cost_model.power(cost_model.n_scores(found))} |" in text
    assert "hours of one CPU for 10^11 scores" in text
    assert f"| {WORKERS} x 1 | 12 |" in text
    assert "| 1 x 64 | 1 |" in text
