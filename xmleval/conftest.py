"""Examples of docstrings write files in a temporary folder, and know NumPy and this package."""

from typing import Any

import numpy
import pytest

import xmleval


@pytest.fixture(autouse=True)
def _example_folder(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
        names = [
            "Conventions",
            "Evaluator",
            "Running",
            "compare",
            "diff",
            "evaluate",
            "rank",
            "scan",
        ]
        public = {name: getattr(xmleval, name) for name in names}
        doctest_namespace.update(public, xmleval=xmleval, np=numpy)
