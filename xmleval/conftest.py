"""Examples of docstrings write and read files in a folder of their own."""

import pytest


@pytest.fixture(autouse=True)
def _example_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
