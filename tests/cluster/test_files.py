"""Files cut into tasks by their headers, counted and merged: the bytes of one machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.data import N_LABELS, N_ROWS, make_files
from tests.cluster.engines import ShuffledEngine
from xmleval import Evaluator, evaluate
from xmleval.cluster import counting, cutting
from xmleval.cluster.cutting import Task, cut
from xmleval.cluster.evaluation import cut_files, evaluate_files
from xmleval.cluster.job import Job, make_job
from xmleval.cluster.run import SerialEngine, leaves_of, run
from xmleval.input.shards import find_inputs

MEMORY = 1 << 24
Made = tuple[dict[str, Any], Path]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setattr(cutting, "LEAST_BYTES", 3000)
    return make_files(tmp_path), tmp_path


def job(**options: Any) -> Job:
    return make_job(Evaluator(n_labels=N_LABELS, **options), MEMORY, 1)


def tasks(folder: Path, own: Job, *names: str, **more: Any) -> list[Task]:
    arguments = {"Y": "y_true", "m": "y_score", "pred": "y_pred", "c": "candidates"}
    patterns = {arguments[n]: folder / (f"{n}_*" if n != "m" else "m_*_indices.npy") for n in names}
    return cut(own, {a: find_inputs(a, [path]) for a, path in patterns.items()}, **more)


def test_tasks_cover_all_rows_and_read_no_file_twice_up_to_their_first(made: Made) -> None:
    cuts = [task.start for task in tasks(made[1], job(), "Y", "m")]
    assert cuts[0] == 0
    assert len(cuts) > 3
    assert sorted(cuts) == cuts
    assert not any(90 < row < 200 for row in cuts)  # Y_1.npz is compressed
    assert tasks(made[1], job(), "Y", "m")[-1].stop == N_ROWS


def test_files_give_the_bytes_of_arrays(made: Made) -> None:
    arrays, folder = made
    weight = np.random.default_rng(0).random(N_ROWS) + 0.5
    vectors: dict[str, Any] = {
        "sample_weight": weight,
        "row_groups": [f"g{row % 3}" for row in range(N_ROWS)],
    }
    options: dict[str, Any] = {"metrics": ["all"], "inverse_propensity": 1 + np.arange(N_LABELS) / 7}
    options |= {"per_label": True, "conventions": {"unlisted": 0.25}}
    own = job(**options)
    leaves = leaves_of(tasks(folder, own, "Y", "m", "pred", vectors=vectors))
    found = run(ShuffledEngine(2), own, leaves).compute()
    whole = evaluate(arrays["Y"], arrays["m"], y_pred=arrays["pred"], **vectors, **options)
    assert found.to_json() == whole.to_json()


def test_candidates_and_pairs(made: Made) -> None:
    arrays, folder = made
    own = job(metrics=["p@3", "ndcg@5"])
    found = run(SerialEngine(), own, leaves_of(tasks(folder, own, "Y", "m", "c"))).compute()
    whole = evaluate(arrays["Y"], arrays["m"], candidates=arrays["c"], metrics=["p@3", "ndcg@5"])
    assert found.to_json() == whole.to_json()
    pairs = np.argwhere(arrays["Y"].toarray())[::5]
    for exclude_from in ("both", "predictions"):
        more: dict[str, Any] = {"exclude": tuple(pairs.T), "exclude_from": exclude_from}
        found = run(SerialEngine(), own, leaves_of(tasks(folder, own, "Y", "m", **more))).compute()
        less = arrays["Y"].toarray()
        less[tuple(pairs.T)] = 0 if exclude_from == "both" else 1
        lists = arrays["m"][0].copy()
        for row, label in pairs:
            lists[row][lists[row] == label] = -1
        whole = evaluate(sp.csr_array(less), (lists, arrays["m"][1]), metrics=["p@3", "ndcg@5"])
        assert dict(found) == dict(whole)


def test_the_lowest_bad_row_is_told_with_its_file(made: Made) -> None:
    folder = made[1]
    for number, row in ((1, 60), (3, 5)):
        path = folder / f"m_{number}_indices.npy"
        labels = np.load(path)
        labels[row, 2] = 99
        np.save(path, labels)
    own = job(metrics="p@1")
    with pytest.raises(ValueError, match=r"m_1_indices\.npy: row 60: label id 99 is not in 0\.\.29 "):
        run(ShuffledEngine(), own, leaves_of(tasks(folder, own, "Y", "m")))


def test_a_file_that_changes_is_refused(made: Made) -> None:
    own = job(metrics="p@1")
    leaves = leaves_of(tasks(made[1], own, "Y", "m"))
    os.utime(made[1] / "m_2_scores.npy", ns=(1, 1))
    with pytest.raises(ValueError, match=r"m_2_scores\.npy: changed since the run began, from .* to .*1970"):
        run(SerialEngine(), own, leaves)


def test_a_file_that_is_misread_since_it_changed_is_told(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    own = job(metrics="p@1")
    leaves = leaves_of(tasks(made[1], own, "Y", "m"))

    def misread(*_: Any) -> None:
        os.utime(made[1] / "m_2_scores.npy", ns=(1, 1))
        raise ValueError("the zip archive is cut short")

    monkeypatch.setattr(counting, "_count_files", misread)
    with pytest.raises(ValueError, match=r"m_2_scores\.npy: changed since the run began"):
        run(SerialEngine(), own, [leaves[-1]])


def test_keys_tell_what_is_counted(made: Made) -> None:
    def keys(own: Job, **more: Any) -> set[str]:
        return {task.key for task in tasks(made[1], own, "Y", "m", **more)}

    first = keys(job(metrics="p@1"))
    assert first == keys(job(metrics="p@1"))
    assert not first & keys(job(metrics="p@2"))
    assert not first & keys(job(metrics="p@1"), vectors={"row_groups": ["a"] * N_ROWS})


def test_what_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Y.svm").write_text("0 1:1\n")
    own = job()
    with pytest.raises(ValueError, match=r"Y\.svm: only reading it whole .*`xmleval convert`"):
        cut(own, {"y_true": find_inputs("y_true", [tmp_path / "Y.svm"])})
    make_files(tmp_path)
    inputs = {a: find_inputs(a, [tmp_path / n]) for a, n in (("y_true", "Y_0.npz"), ("y_pred", "Y_1.npz"))}
    with pytest.raises(ValueError, match=r"Y_1\.npz: 110 rows do not match the 90 of .*Y_0\.npz"):
        cut(own, inputs)


def test_no_rows(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array((0, N_LABELS), dtype=np.float32))
    own = job(metrics="label_cardinality")
    inputs = {"y_true": find_inputs("y_true", [tmp_path / "Y.npz"])}
    found = run(SerialEngine(), own, leaves_of(cut(own, inputs))).compute()
    whole = evaluate(sp.csr_array((0, N_LABELS)), metrics="label_cardinality")
    assert json.loads(found.to_json()) == json.loads(whole.to_json())


def test_progress_is_drawn_or_told(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    folder, shown = made[1], list[tuple[int, int]]()
    files: dict[str, Any] = {"y_true": folder / "Y_*", "y_score": str(folder / "m_*")}
    own, cuts = cut_files(files, metrics="p@1")
    silent = evaluate_files(SerialEngine(), own, cuts)
    assert capsys.readouterr() == ("", "")
    drawn = evaluate_files(SerialEngine(), own, cuts, progress=True)
    told = evaluate_files(SerialEngine(), own, cuts, progress=lambda *rows: shown.append(rows))
    bars = capsys.readouterr().err.split("\r")
    assert bars[1].startswith(f"[{' ' * 40}] | 0% of 200 rows | ")
    assert bars[-1].startswith(f"[{'#' * 40}] | 100% of 200 rows | ")
    assert bars[-1].endswith(" s\n")
    assert shown == [(task.stop, N_ROWS) for task in cuts]
    assert len({silent.to_json(), drawn.to_json(), told.to_json()}) == 1


@pytest.mark.parametrize("more", ["", "--checkpoint kept"])
def test_a_state_that_processes_counted_is_saved_whole(
    made: Made, monkeypatch: pytest.MonkeyPatch, run: Callable[..., str], more: str
) -> None:
    """Of so many tasks that some states would go by ranges, which a saved state could not hold."""
    engine = ShuffledEngine()
    monkeypatch.delitem(sys.modules, "xmleval.cli.workers", raising=False)
    adapter = SimpleNamespace(connected=lambda *_: nullcontext(engine))
    monkeypatch.setitem(sys.modules, "xmleval.integrations.dask", adapter)
    monkeypatch.setattr(cutting, "FAN_IN", 2)
    monkeypatch.chdir(made[1])
    line = "evaluate Y_* m_* --metrics auc.macro,ap.macro,auc.micro,label_diversity --format json"
    whole = run(f"{line} --save one.state")
    assert run(f"{line} --workers 2 --save two.state {more}") == whole
    assert len([key for key in engine.ran if key.startswith("told-")]) > 2
    assert not any(key.startswith("range") for key in engine.ran)
    assert run("merge two.state --format json") == run("merge one.state --format json")
    assert run(f"{line} --workers 2 {more}") == whole
    assert any(key.startswith("range-") for key in engine.ran)
