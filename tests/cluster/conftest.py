"""Files that are cut into tasks, and a cluster of two processes."""

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.data import make_files


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is in the files of the working folder, which become several tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xmleval.cluster.cutting.LEAST_BYTES", 2000)
    return make_files(tmp_path)
