"""A Ray cluster of two processes: the bytes of one machine, whatever ends its processes."""

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from tests.cluster.data import N_LABELS, N_ROWS, make_arrays, make_files
from xmleval import evaluate as on_one_machine
from xmleval.cluster import cutting
from xmleval.integrations.ray import RayExecutor
from xmleval.ray import evaluate, evaluate_blocks

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
EVERYTHING: dict[str, Any] = {
    "metrics": ["all"],
    "confidence": 0.95,
    "bounds": True,
    "inverse_propensity": 1 + np.arange(N_LABELS) / 7,
}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    monkeypatch.setattr(cutting, "LEAST_BYTES", 6000)
    return make_files(tmp_path), tmp_path


def test_evaluate_files_gives_the_bytes_of_one_machine(files: Any) -> None:
    arrays, folder = files
    progress: list[tuple[int, int]] = []
    options: dict[str, Any] = {"row_groups": list("abcd" * (N_ROWS // 4)), **EVERYTHING}
    report = evaluate(
        folder / "Y_*",
        folder / "m_*_indices.npy",
        y_pred=folder / "pred_0.npz",
        exchange=folder / "parts",
        progress=lambda done, n_rows: progress.append((done, n_rows)),
        **options,
    )
    expected = on_one_machine(arrays["Y"], arrays["m"], y_pred=arrays["pred"], **options)
    assert report.to_json() == expected.to_json()
    assert progress[-1] == (N_ROWS, N_ROWS)
    assert not [*(folder / "parts").iterdir()]


def test_evaluate_blocks_gives_the_bytes_of_one_machine() -> None:
    arrays = make_arrays()
    truth = arrays["Y"]
    labels, scores = arrays["m"]
    blocks: list[Any] = []
    for start, stop in itertools.pairwise([0, 50, 50, 130, 200]):
        rows = slice(start, stop)
        blocks.append(ray.put((truth[rows], (labels[rows], scores[rows]))))
    expected = on_one_machine(truth, arrays["m"], **EVERYTHING)
    assert evaluate_blocks(blocks, **EVERYTHING).to_json() == expected.to_json()
    bad = [*blocks[:2], (truth[50:130], (np.full((80, 2), 77), None))]
    with pytest.raises(ValueError, match=r"y_score: row 50: label id 77 is not in 0\.\.29"):
        evaluate_blocks(bad, metrics="p@1")
    with pytest.raises(ValueError, match=r"blocks: int is neither \(y_true, y_score\)"):
        evaluate_blocks([3], metrics="p@1")


def _once(path: str, what: str, function: Any, *arguments: Any) -> Any:
    """Fail always, or kill the process of the first worker that runs a task."""
    if what == "fail":
        raise OSError("no space left")
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments)


@pytest.mark.parametrize("what", ["die", "fail"])
def test_evaluate_repeats_tasks_that_die_and_raises_errors(
    files: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, folder = files
    submit = RayExecutor.submit

    def submit_failing(self: Any, function: Any, *arguments: Any) -> Any:
        return submit(self, _once, str(folder / "died"), what, function, *arguments)

    monkeypatch.setattr(RayExecutor, "submit", submit_failing)
    if what == "fail":
        with pytest.raises(OSError, match="no space left"):
            evaluate(folder / "Y_*", folder / "m_*", metrics="p@1")
        return
    report = evaluate(folder / "Y_*", folder / "m_*", metrics="p@1")
    expected = on_one_machine(arrays["Y"], arrays["m"], metrics="p@1")
    assert report.to_json() == expected.to_json()
    assert (folder / "died").exists()
