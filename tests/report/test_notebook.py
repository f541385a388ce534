"""Reports in notebooks and trackers: as HTML, as a frame, by flat names; and what a wrong name is told."""

from __future__ import annotations

import math
import re
import sys
from html import unescape
from typing import Any

import numpy as np
import pytest

from tests.examples import H, Q, S, T
from xmleval import Report, evaluate
from xmleval.metrics import TABLE
from xmleval.report.comparison import Comparison
from xmleval.spec import Spec, expand_metrics

MLFLOW = re.compile(r"[/\w.\- :]*")  # mlflow.utils.validation
WANDB = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")  # its documentation of names of metrics
ENDS = ["lower", "upper"]


def report_of(*names: str, **more: Any) -> Report:
    return evaluate(T, S, metrics=names or ["p@1", "p@3", "coverage", "f1.macro@2"], **more)


def test_a_notebook_shows_the_table() -> None:
    for shown in (report_of(), Comparison({"a": report_of(), "b": report_of()})):
        page = unescape(shown._repr_html_())
        rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*)</tr>", page)]
        table = [
            line[2:-2].split(" | ") for line in shown.to_markdown().splitlines() if line.startswith("| ")
        ]
        assert rows == [[cell.strip() for cell in row] for row in table]
        assert "<p>3 rows x 4 labels" in page
        assert f"<p><small>{report_of().signature()}</small></p>" in page
        assert "<p><small>rows left out as undefined: coverage 1</small></p>" in page


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pp@1", "did you mean p@1?"),
        ("p@7", "it has p@1, p@3"),
        ("p", "it has p@1, p@3"),
        ("macro_f1@3", "it has f1.macro@2"),
        ("coverag", "did you mean coverage?"),
        ("zzz", "it has p@1, p@3, coverage, f1.macro@2"),
    ],
)
def test_a_wrong_name_is_told_near_ones(name: str, says: str) -> None:
    with pytest.raises(KeyError) as raised:
        report_of()[name]
    assert raised.value.args == (f"{name!r} is not in this report; {says}",)


def test_a_wrong_name_lists_a_few_of_many() -> None:
    with pytest.raises(KeyError, match=r"it has p@1, p@3, p@5, ndcg@1, ndcg@3, ndcg@5, \.\.\."):
        report_of("xmc", "ranking")["zzz"]


@pytest.mark.parametrize("spelling", ["p3", "P@3", "prec@3", "precision@3"])
def test_names_that_are_taken_are_found(spelling: str) -> None:
    assert report_of(spelling)[spelling] == report_of()[spelling]


def every_name() -> list[str]:
    """All names of the table, with parameters and cutoffs."""
    given = [
        Spec(metric, average, ((name, float(value)),), k)
        for metric in TABLE
        for name, param in metric.params.items()
        for value in (param.allowed[:2] if param.allowed else (0.5, 2.0, 1e-7, 1e20))
        for average in metric.averages or (None,)
        for k in ((None, 5) if metric.cutoff == "optional" else (None,))
    ]
    return [spec.name for spec in (*(spec for spec, _ in expand_metrics("all", [1, 5, 15])), *given)]


def test_flat_names_are_valid_and_differ() -> None:
    names = every_name()
    values = {name: float(place) for place, name in enumerate(names)}
    report = report_of()
    report.results.values = values
    flat = report.flat()
    assert list(flat.values()) == list(values.values())
    assert [name for name in flat if not MLFLOW.fullmatch(name) or not WANDB.fullmatch(name)] == []
    assert len(report.flat(at="@")) == len(names)


def test_flat_leaves_out_what_is_undefined() -> None:
    report = evaluate(np.zeros((2, 3), int), np.eye(2, 3), metrics=["p@1", "lrap"])
    assert math.isnan(report["lrap"])
    assert report.flat() == {"p_at_1": 0.0}


def test_frames() -> None:
    pytest.importorskip("pandas")
    report = report_of()
    frame = report.to_frame()
    assert [frame.index.name, *frame.columns] == ["name", "symbol", "direction", "value"]
    assert frame["value"].to_dict() == dict(report)
    assert frame.loc["coverage", "direction"] == "down"
    bounded = report_of("lrap", "p@1", bounds=True).to_frame()
    assert [*bounded.columns[-2:]] == ENDS
    several = Comparison({"name": report, "b": report}).to_frame()
    assert [*several.columns] == ["symbol", "direction", "name", "b"]
    assert several["b"].to_dict() == dict(report)
    both = Comparison({"a": report_of("lrap", bounds=True), "b": report_of("lrap")}).to_frame()
    assert [*both.columns[2:]] == ["a", "a lower", "a upper", "b", "b lower", "b upper"]
    assert evaluate(T, y_pred=H, metrics="all", inverse_propensity=Q).to_frame().shape[1] == 3


def test_a_frame_without_pandas_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_frame\(\) needs pandas: pip install 'xmleval\[pandas\]'$"):
        report_of().to_frame()
