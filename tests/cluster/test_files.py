"""Files cut into tasks by their headers, counted and merged: the bytes of one machine."""

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cluster.data import N_ROWS
from tests.cluster.engines import SerialEngine, ShuffledEngine
from xmleval.cluster.evaluation import cut_files, evaluate_files

FILES: dict[str, Any] = {"y_true": "Y_*", "y_score": "m_*"}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ShuffledEngine:
    """What commands with --workers run on, in place of Dask."""
    engine = ShuffledEngine(2)
    monkeypatch.delitem(sys.modules, "xmleval.api.workers", raising=False)
    adapter = SimpleNamespace(connected=lambda *_: nullcontext(engine))
    monkeypatch.setitem(sys.modules, "xmleval.cluster.dask", adapter)
    monkeypatch.setattr("xmleval.cluster.cutting.FAN_IN", 2)
    return engine


@pytest.mark.parametrize("options", [
    "p,psp,f1.macro --pred pred_0.npz --train Y_0.npz --row-groups groups.txt --first-row 7",
    "p@3,ndcg@5 --candidates c_* --clusters groups.txt --confidence 0.9",
    "p@3,ndcg@5 --exclude pairs.txt --exclude-from predictions --checkpoint kept",
    "p@1,auc.macro,ap.macro,auc.micro,label_diversity --checkpoint kept",
])  # fmt: skip
def test_commands_give_what_one_process_gives(
    arrays: dict[str, Any], engine: ShuffledEngine, options: str, run: Callable[..., str]
) -> None:
    line = f"evaluate Y_* m_* --metrics {options} --format json"
    expected = run(f"{line.replace(' --checkpoint kept', '')} --save one.state --per-row one.csv")
    assert run(f"{line} --workers 2 --save two.state --per-row two.csv") == expected
    assert Path("two.csv").read_text() == Path("one.csv").read_text()
    assert run("merge two.state --format json") == run("merge one.state --format json")


def test_tasks_cover_all_rows_and_keys_tell_what_is_counted(arrays: dict[str, Any]) -> None:
    tasks = cut_files(FILES, metrics="p@1")[1]
    assert len(tasks) > 2
    assert [task.start for task in tasks] == [0, *(task.stop for task in tasks[:-1])]
    assert tasks[-1].stop == N_ROWS
    assert not any(90 < task.start < 200 for task in tasks)  # Y_1.npz is compressed
    keys = {task.key for task in tasks}
    assert keys == {task.key for task in cut_files(FILES, metrics="p@1")[1]}
    groups: Any = {"row_groups": ["a"] * N_ROWS}
    for others in (cut_files(FILES, metrics="p@2")[1], cut_files(FILES, groups, metrics="p@1")[1]):
        assert not keys & {task.key for task in others}


def test_file_that_changes_is_refused(arrays: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        os.utime("m_2_scores.npy", ns=(1, 1))
        raise ValueError("the zip archive is cut short")

    cuts = cut_files(FILES, metrics="p@1")
    message = r"m_2_scores\.npy: changed since the run began, from .* to .*1970"
    with monkeypatch.context() as patch:
        patch.setattr("xmleval.cluster.counting._count_files", fail)
        with pytest.raises(ValueError, match=message):
            evaluate_files(SerialEngine(), cuts[0], cuts[1][-1:])
    with pytest.raises(ValueError, match=message):
        evaluate_files(SerialEngine(), *cuts)


def test_progress_is_shown_as_asked(arrays: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    cuts, shown = cut_files(FILES, metrics="p@1"), list[tuple[int, int]]()
    evaluate_files(SerialEngine(), *cuts)
    evaluate_files(SerialEngine(), *cuts, progress=lambda *rows: shown.append(rows))
    assert capsys.readouterr() == ("", "")
    assert shown == [(task.stop, N_ROWS) for task in cuts[1]]
    evaluate_files(SerialEngine(), *cuts, progress=True)
    bars = capsys.readouterr().err.split("\r")
    assert bars[1].startswith(f"[{' ' * 40}] | 0% of 200 rows | ")
    assert bars[-1].startswith(f"[{'#' * 40}] | 100% of 200 rows | ")
    assert bars[-1].endswith(" s\n")
