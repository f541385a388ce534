"""Files cut into tasks by their headers, counted and merged: the bytes of one machine."""

import itertools
import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.data import DEPTH, N_ROWS
from tests.cluster.executors import SerialExecutor, ShuffledExecutor
from xmleval import Evaluator, Running, evaluate
from xmleval.cluster.cutting import Task
from xmleval.cluster.evaluation import evaluate_on
from xmleval.cluster.job import opened
from xmleval.evaluation.evaluator import counts_of

FILES: dict[str, Any] = {"y_true": "Y_*", "y_score": "m_*"}
OTHER_ROWS = "{}: 200 rows do not match the 90 of Y_0.npz"


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
    assert all(task.start < task.stop for task in tasks)
    assert not any(90 < task.start < 200 for task in tasks)  # Y_1.npz is compressed
    keys = {task.key for task in tasks}
    assert keys == {task.key for task in tasks_of(metrics="p@1")}
    for options in ({"metrics": "p@2"}, {"metrics": "p@1", "row_groups": ["a"] * N_ROWS}):
        assert not keys & {task.key for task in tasks_of(**options)}
    excluded = {"metrics": "p@1", "exclude": "pairs.txt"}
    from_both = {task.key for task in tasks_of(**excluded)}
    from_predictions = {task.key for task in tasks_of(**excluded, exclude_from="predictions")}
    assert not from_both & from_predictions


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"running": Running(first_row=5)}, {"running": Running(first_row=6)}),
        ({"unjudged": -1}, {"unjudged": "nan"}),
        ({"sample_weight": [0.5] * N_ROWS}, {"sample_weight": [0.25] * N_ROWS}),
    ],
)
def test_tasks_of_other_arguments_have_other_keys(
    arrays: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> None:
    common: dict[str, Any] = {"metrics": "p@1", "confidence": 0.9}
    keys = [{task.key for task in tasks_of(**common, **each)} for each in (first, first, second)]
    assert keys[0] == keys[1]
    assert not keys[0] & keys[2]


def test_executors_read_grades_beside_marks_of_unjudged_labels(arrays: dict[str, Any]) -> None:
    for path in Path().glob("Y_*.npz"):
        matrix = sp.load_npz(path).astype(np.float32)
        grades = np.resize([3, 1, -1, 2], matrix.nnz)  # -1 for unjudged labels
        sp.save_npz(path, sp.csr_array((grades, matrix.indices, matrix.indptr), matrix.shape))
    options: dict[str, Any] = {"metrics": ["ndcg@5", "p@3"], "unjudged": -1}
    options["conventions"] = "gains=linear"
    report = evaluate_on(SerialExecutor(), FILES, None, False, options)
    assert report.to_json() == evaluate("Y_*", "m_*", **options).to_json()


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


class Interrupted(SerialExecutor):
    """Runs some functions at once, and is interrupted by the next."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
        if len(self.ran) == 3:
            raise KeyboardInterrupt
        return super().submit(function, *arguments, **named)


def test_run_on_files_goes_on_from_its_exchange_only_if_asked(arrays: dict[str, Any]) -> None:
    options: dict[str, Any] = {"metrics": ["p@1"], "row_groups": "groups.txt"}
    expected = evaluate("Y_*", "m_*", **options).to_json()
    with pytest.raises(KeyboardInterrupt):
        evaluate_on(Interrupted(), FILES, "exchange", False, options)
    n_kept = len([*Path("exchange").rglob("*.npz")])
    assert n_kept == 3
    message = "contains parts of this run; resume the run, or remove them"
    with pytest.raises(ValueError, match=message):
        evaluate_on(SerialExecutor(), FILES, "exchange", False, options)
    again = SerialExecutor()
    assert evaluate_on(again, FILES, "exchange", True, options).to_json() == expected
    whole = SerialExecutor()
    assert evaluate_on(whole, FILES, "exchange", True, options).to_json() == expected
    assert len({*whole.ran}) == len({*again.ran}) + n_kept
    assert not [*Path("exchange").rglob("*.npz")]
    # without an exchange, there is nothing to resume
    assert evaluate_on(SerialExecutor(), FILES, None, True, options).to_json() == expected


def test_resumed_run_shows_the_rows_that_were_counted_before(arrays: dict[str, Any]) -> None:
    shown = list[tuple[int, int]]()
    options: dict[str, Any] = {"metrics": "p@1", "progress": lambda *rows: shown.append(rows)}
    with pytest.raises(KeyboardInterrupt):
        evaluate_on(Interrupted(), FILES, "exchange", False, options)
    assert not shown
    evaluate_on(SerialExecutor(), FILES, "exchange", True, options)
    assert shown[-1] == (N_ROWS, N_ROWS)


NEEDS_EXCHANGE = "running: {} is not for clusters; give exchange, the folder of the counts"


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({}, {"running": Running(checkpoint="kept")}, NEEDS_EXCHANGE.format("checkpoint")),
        (
            {},
            {"running": Running(checkpoint="kept", resume=True)},
            NEEDS_EXCHANGE.format("checkpoint"),
        ),
        ({}, {"running": Running(resume=True)}, NEEDS_EXCHANGE.format("resume")),
        (
            {},
            {"running": Running(executor=SerialExecutor())},
            NEEDS_EXCHANGE.format("executor"),
        ),
        ({"y_true": []}, {}, "y_true: no file is given"),
        ({"y_true": None}, {}, "y_true: missing; expected the relevant labels of each row"),
        ({"y_score": "pred_0.npz", "y_true": "Y_0.npz"}, {}, OTHER_ROWS.format("pred_0.npz")),
        ({"y_pred": "Y_0.npz"}, {}, "Y_0.npz: 90 rows do not match the 200 of Y_*"),
        ({}, {"sample_weight": [1.0] * 199}, "sample_weight: 199 rows do not match the 200 of Y_*"),
        ({}, {"row_groups": ["a"] * 201}, "row_groups: 201 rows do not match the 200 of Y_*"),
        ({}, {"running": Running(first_row=7)}, "first_row: is for shards that are merged; give"),
    ],
)
def test_files_and_options_that_do_not_fit_are_refused_before_anything_runs(
    arrays: dict[str, Any], files: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    executor = SerialExecutor()
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate_on(executor, FILES | files, None, False, {"metrics": "p@1"} | options)
    assert not executor.arguments


def test_files_with_names_are_refused_with_a_hint(arrays: dict[str, Any]) -> None:
    Path("Y.run").write_text("q1 Q0 a 1 0.5 x\n")
    Path("Y.qrels").write_text("q1 0 a 1\n")
    files = {"y_true": "Y.qrels", "y_score": "Y.run"}
    message = (
        "Y.qrels: its rows or labels have names, which several processes cannot match; convert it "
        "to .npz with `xmleval convert`"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate_on(SerialExecutor(), files, None, False, {"metrics": "p@1"})


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["p@1", "auc.micro"]},
        {"metrics": ["p@1"], "confidence": 0.9, "running": {"first_row": 5}},
        {"metrics": ["p@1"], "per_row": True},
    ],
)
def test_saved_states_of_executors_know_their_files(
    arrays: dict[str, Any], options: dict[str, Any]
) -> None:
    """They merge with others as those of one process, and not with themselves."""
    options = dict(options)
    running = options.pop("running", {})
    for name in ("m_x_indices.npy", "m_x_scores.npy"):  # without rows
        np.save(name, arrays["m"][name == "m_x_scores.npy"][:0])
    sp.save_npz("Y_x.npz", arrays["Y"][:0])
    one = Running(save="one.state", **running)
    several = Running(save="several.state", **running)
    expected = evaluate("Y_*", "m_*", running=one, **options)
    report = evaluate_on(ShuffledExecutor(), FILES, None, False, {"running": several, **options})
    assert report.to_json() == expected.to_json()
    states = [Evaluator.load(name) for name in ("one.state", "several.state")]
    counts = [counts_of(state) for state in states]
    assert counts[0].spans == counts[1].spans
    assert states[0].compute().to_json() == states[1].compute().to_json()
    for first, second in itertools.product(states, states):
        with pytest.raises(ValueError, match=r"counted already|counted before|same rows"):
            first.merge(second)
        assert first.n_rows == N_ROWS
