"""Files cut into tasks by their headers, counted and merged: the bytes of one machine."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.data import DEPTH, N_ROWS
from tests.cluster.executors import SerialExecutor, ShuffledExecutor
from xmleval.cluster.cutting import Task
from xmleval.cluster.evaluation import evaluate_on
from xmleval.cluster.job import opened

FILES: dict[str, Any] = {"y_true": "Y_*", "y_score": "m_*"}


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> ShuffledExecutor:
    """What commands with --workers run on, in place of processes."""
    executor = ShuffledExecutor(2)
    monkeypatch.setattr("xmleval.cluster.processes.Processes", lambda n: nullcontext(executor))
    monkeypatch.setattr("xmleval.cluster.cutting.FAN_IN", 2)
    return executor


@pytest.mark.parametrize(
    "options",
    [
        "p,psp,f1.macro --pred pred_0.npz --train Y_0.npz --row-groups groups.txt --first-row 7",
        "p@3,ndcg@5 --candidates c_* --clusters groups.txt --confidence 0.9",
        "p@3,ndcg@5 --exclude pairs.txt --exclude-from predictions --checkpoint kept",
        "p@1,auc.macro,ap.macro,auc.micro,label_diversity --checkpoint kept",
    ],
)
def test_commands_give_what_one_process_gives(
    arrays: dict[str, Any], executor: ShuffledExecutor, options: str, run: Callable[..., str]
) -> None:
    line = f"evaluate Y_* m_* --metrics {options} --format json"
    expected = run(f"{line.replace(' --checkpoint kept', '')} --save one.state --per-row one.csv")
    assert run(f"{line} --workers 2 --save two.state --per-row two.csv") == expected
    assert Path("two.csv").read_text() == Path("one.csv").read_text()
    assert run("merge two.state --format json") == run("merge one.state --format json")


def tasks_of(**options: Any) -> list[Task]:
    """Return the tasks of an evaluation of all files."""
    executor = SerialExecutor()
    evaluate_on(executor, FILES, None, False, options)
    return [each for each in executor.arguments if isinstance(each, Task)]


def test_tasks_cover_all_rows_and_keys_tell_what_is_counted(arrays: dict[str, Any]) -> None:
    tasks = tasks_of(metrics="p@1")
    assert len(tasks) > 2
    assert [task.start for task in tasks] == [0, *(task.stop for task in tasks[:-1])]
    assert tasks[-1].stop == N_ROWS
    assert not any(90 < task.start < 200 for task in tasks)  # Y_1.npz is compressed
    keys = {task.key for task in tasks}
    assert keys == {task.key for task in tasks_of(metrics="p@1")}
    for options in ({"metrics": "p@2"}, {"metrics": "p@1", "row_groups": ["a"] * N_ROWS}):
        assert not keys & {task.key for task in tasks_of(**options)}
    excluded = {"metrics": "p@1", "exclude": "pairs.txt"}
    from_both = {task.key for task in tasks_of(**excluded)}
    from_predictions = {task.key for task in tasks_of(**excluded, exclude_from="predictions")}
    assert not from_both & from_predictions


@pytest.mark.parametrize("when", ["before", "while"])
def test_file_that_changes_is_refused(
    arrays: dict[str, Any], when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(*arguments: Any) -> Any:
        os.utime("m_0_scores.npy", ns=(1, 1))
        if when == "while":
            raise ValueError("the zip archive is cut short")
        return opened(*arguments)

    monkeypatch.setattr(
        f"xmleval.cluster.counting.{'count_rows' if when == 'while' else 'opened'}", change
    )
    message = r"m_0_scores\.npy: changed since the run began, from .* to .*1970"
    with pytest.raises(ValueError, match=message):
        tasks_of(metrics="p@1")


def test_progress_is_shown_as_asked(
    arrays: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = list[tuple[int, int]]()
    tasks = tasks_of(metrics="p@1", progress=lambda *rows: shown.append(rows))
    assert capsys.readouterr() == ("", "")
    assert shown == sorted(shown)
    assert len({*shown}) == len(tasks)
    assert shown[-1] == (N_ROWS, N_ROWS)


def test_inputs_in_memory_are_refused(arrays: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="executor: needs files, but exclude= is not a file"):
        tasks_of(metrics="p@1", exclude=arrays["Y"])


@pytest.mark.slow
def test_processes_of_this_machine(
    arrays: dict[str, Any], run: Callable[..., str], refused: Any
) -> None:
    line = "evaluate Y_* m_* --metrics p@1,auc.micro,psp@3 --train Y_0.npz --format json"
    assert run(f"{line} --workers 2") == run(line)
    np.save("m_3_indices.npy", np.full((50, DEPTH), 99))
    assert "m_3_indices.npy: row 0: label id 99" in refused(f"{line} --workers 2")
