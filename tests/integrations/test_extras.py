"""Every integration has an extra of its name, and says so where its library is missing."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

import xmleval.integrations
from xmleval.integrations.library import library

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
WITHOUT_EXTRA = {"library", "topk", "tree_fusion"}


def test_every_integration_has_an_extra() -> None:
    modules = {module.name for module in pkgutil.iter_modules(xmleval.integrations.__path__)} - WITHOUT_EXTRA
    assert modules <= set(EXTRAS)
    hosts = re.findall("[a-z]+", EXTRAS["hosts"][0].removeprefix("xmleval"))
    assert {*hosts} == {*modules, "pandas"}


@pytest.mark.parametrize("missing", ["torch", "torchmetrics"])
def test_a_missing_library_is_named_with_its_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "torchmetrics":
        monkeypatch.setitem(sys.modules, "torch", sys)  # any module: it is not used before
    monkeypatch.delitem(sys.modules, "xmleval.integrations.torchmetrics", raising=False)
    message = rf"needs {missing}: pip install 'xmleval\[torchmetrics\]'$"
    with pytest.raises(ImportError, match=message):
        importlib.import_module("xmleval.integrations.torchmetrics")


def test_a_broken_library_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_host.py").write_text("import what_it_needs_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_is_not_there"):
        library("broken_host", "a test", "none")
