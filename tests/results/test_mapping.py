"""Results of `evaluate` for one model and several, as mappings and for type checkers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_overloads, get_type_hints

import numpy as np
import pytest

from xmleval import Comparison, Report, compare, evaluate, scan
from xmleval.evaluation.request import EvaluateOptions
from xmleval.input.argument_types import ModelsLike, RowsLike

TYPED = """
from pathlib import Path
from typing import assert_type
import numpy as np
from xmleval import Comparison, Report, compare, evaluate
files = {"a": "a.npz", "b": "b.npz"}
paths = {"a": Path("a.npz"), "b": Path("b.npz")}
assert_type(evaluate(np.eye(3), np.eye(3), metrics="p@1"), Report)
assert_type(evaluate("y.npz", "a.npz", metrics="p@1", threads=1), Report)
assert_type(evaluate("y.npz", y_pred="a.npz", metrics="f1.micro"), Report)
assert_type(evaluate("y.npz", files, metrics=["p@1"], confidence=0.9), Report | Comparison)
assert_type(evaluate("y.npz", paths), Report | Comparison)
result = evaluate("y.npz", files)
assert isinstance(result, Comparison)
assert_type(result["a"]["p@1"], float)
arrays = {"a": np.eye(3), "b": np.eye(3)}
lists = {"a": {"q": ["x"]}, "b": {"q": ["y"]}}
assert_type(evaluate(np.eye(3), arrays), Report | Comparison)
assert_type(evaluate(np.eye(3), {"a": (np.eye(3), None)}), Report | Comparison)
assert_type(evaluate({"q": ["x"]}, lists), Report | Comparison)
assert_type(evaluate({"q": ["x"]}, {"q": {"x": 0.5}}), Report)
assert_type(evaluate({"q": ["x"]}, {"q": [("x", 0.5)]}), Report)
assert_type(evaluate(np.eye(3), y_pred=arrays), Report | Comparison)
compared = compare("y.npz", files, metrics="p@1", complete_lists=True)
for name, report in compared.items():
    assert_type((name, report), tuple[str, Report])
evaluate("y.npz", files, metric="p@1")  # type: ignore[call-overload]
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    for name, matrix in {"y": np.eye(4), "a": np.eye(4) + 0.1, "b": np.eye(4)[::-1] + 0.1}.items():
        np.save(f"{name}.npy", matrix)
    return {"a": "a.npy", "b": "b.npy"}


def test_comparison_is_a_mapping_of_reports(files: dict[str, str]) -> None:
    scans = {name: scan(file, format="dense") for name, file in files.items()}
    for comparison in (
        evaluate("y.npy", scans, metrics="p@1"),
        compare("y.npy", scans, metrics="p@1"),
    ):
        assert isinstance(comparison, Comparison)
        assert [*comparison] == ["a", "b"]
        assert len(comparison) == 2
        assert comparison["a"]["p@1"] == 1.0
        assert comparison["a"] is comparison.reports["a"]
        assert dict(comparison) == comparison.reports
        assert {name: report["P@1"] for name, report in comparison.items()} == {"a": 1.0, "b": 0.0}
        assert "a" in comparison
        assert "c" not in comparison
        with pytest.raises(KeyError, match="no model 'p@1'; there are 'a', 'b'"):
            _ = comparison["p@1"]
        assert repr(comparison) == "<Comparison: 4 rows x 4 labels, P@1 of a 1.0000, b 0.0000>"
    assert isinstance(evaluate("y.npy", {"a": scans["a"]}, metrics="p@1"), Report)


def test_overloads_have_the_arguments_of_evaluate() -> None:
    returned = [get_type_hints(overload)["return"] for overload in get_overloads(evaluate)]
    assert returned == [Report | Comparison, Report | Comparison, Report]
    types = {
        **get_type_hints(EvaluateOptions),
        "y_true": RowsLike,
        "y_score": RowsLike | ModelsLike | None,
        "y_pred": RowsLike | ModelsLike | None,
        "return": Report | Comparison,
    }
    assert types == get_type_hints(evaluate)


@pytest.mark.slow
def test_evaluate_has_the_types_that_mypy_infers(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    home = Path(__file__).resolve().parents[2]
    config = str(home / "pyproject.toml")
    script = str(tmp_path / "typed.py")
    words = ["-m", "mypy", "--strict", "--config-file", config, script]
    cache = {"MYPY_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=home,
        env=os.environ | cache,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
