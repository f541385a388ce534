from __future__ import annotations

import importlib.util
import pkgutil
from pathlib import Path

import pytest

import tests.first_hour
from tests.first_hour.task import Task, Tasks, done
from xmleval.cli import evaluation

LEAST_MEMORY = 16_000_000  # which other tests lower
LEFT_OUT = ("task", "test_tasks", "__main__")


def groups() -> dict[str, Tasks]:
    """The modules beside this one that hold tasks."""
    names = [one.name for one in pkgutil.iter_modules(tests.first_hour.__path__) if one.name not in LEFT_OUT]
    modules = {name: importlib.import_module(f"tests.first_hour.{name}") for name in names}
    return {name: (module.make, module.TASKS) for name, module in modules.items()}


@pytest.mark.parametrize(
    ("group", "task"),
    [
        pytest.param(name, task, id=task.typed[:70])
        for name, (_, several) in groups().items()
        for task in several
    ],
)
def test_a_task_is_answered(group: str, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in task.needs:
        pytest.importorskip(module)
    monkeypatch.setattr(evaluation, "LEAST_MEMORY", LEAST_MEMORY)
    monkeypatch.chdir(tmp_path)
    groups()[group][0](tmp_path)
    told = done(task.typed)
    assert [text for text in task.says if text not in told] == [], told
