"""Print the tasks and their answers: python -m tests.first_hour."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from tests.first_hour.task import done
from tests.first_hour.test_tasks import groups

if __name__ == "__main__":
    for make, tasks in groups().values():
        for task in tasks:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                make(Path(folder))
                print(f"$ {task.typed}\n{done(task.typed)}\n")
