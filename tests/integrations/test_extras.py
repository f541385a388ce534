"""Every integration has an extra of its name, which the error names if its library is missing."""

import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

import xmleval.integrations

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
WITHOUT_EXTRA = {"library", "topk"}


def test_integrations_have_extras() -> None:
    modules = {module.name for module in pkgutil.iter_modules(xmleval.integrations.__path__)}
    modules -= WITHOUT_EXTRA
    assert modules <= EXTRAS.keys()
    hosts = re.findall("[a-z]+", EXTRAS["hosts"][0].removeprefix("xmleval"))
    assert {*hosts} == {*modules, "pandas"}


def test_import_names_a_missing_library_and_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "xmleval.integrations.torchmetrics", raising=False)
    with pytest.raises(ImportError, match=r"needs torch: pip install 'xmleval\[torchmetrics\]'$"):
        importlib.import_module("xmleval.integrations.torchmetrics")
