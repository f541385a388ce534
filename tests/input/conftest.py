"""What tests of input files share."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.damage import answer as done


@pytest.fixture
def found() -> Any:
    """Run an evaluation, and return its values and notes."""

    def answer(line: str) -> tuple[dict[str, float], list[str]]:
        code, out, err = done(shlex.split(f"evaluate {line} --format json"))
        assert code == 0, err
        report = json.loads(out)
        return report["values"], report["notes"]

    return answer
