"""How tables show values: percent, digits, without intervals, with models as rows."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.results.models import CLUSTERS, GROUPS, MODELS, TRUTH, TWO, compared
from xmleval import Comparison, compare, diff, evaluate

REPORT = evaluate(TRUTH, MODELS["good"], metrics=["p@1", "ranking_loss"], confidence=0.9)
FORMS = ("to_text", "to_markdown", "to_latex")


@pytest.mark.parametrize("form", FORMS)
def test_percent_and_digits_write_values_in_every_form(form: str) -> None:
    write = getattr(REPORT, form)
    value = REPORT["p@1"]
    assert f"{100 * value:.2f}" in write(percent=True)
    assert f"{100 * value:.1f} " in write(percent=True, digits=1)
    assert f"{value:.6f}" in write(digits=6)
    assert "values times 100: p@1, ranking_loss" in write(percent=True).replace("\\_", "_")
    assert "times 100" not in write(digits=2)


@pytest.mark.parametrize("form", FORMS)
def test_intervals_are_left_out_in_every_form(form: str) -> None:
    for result in (REPORT, compared(TWO), compared(TWO, **GROUPS)):
        with_intervals = getattr(result, form)()
        without = getattr(result, form)(intervals=False)
        plus_minus = r"\textpm" if form == "to_latex" else "±0."
        assert plus_minus in with_intervals
        assert plus_minus not in without


@pytest.mark.parametrize("form", FORMS)
def test_models_have_rows_if_asked(form: str) -> None:
    comparison = compared(MODELS, metrics=["p@1", "ndcg@3"])
    text = getattr(comparison, form)(rows="models")
    for name in MODELS:
        (line,) = [line for line in text.splitlines() if re.search(rf": {name}\b", line)][:1]
        assert f"{comparison[name]['p@1']:.4f}" in line
        assert f"{comparison[name]['ndcg@3']:.4f}" in line


def test_latex_has_a_minus_sign_of_mathematics() -> None:
    models = {"fair-2": MODELS["fair"], "good": MODELS["good"]}
    latex = compare(TRUTH, models, metrics=["p@1"], row_groups=CLUSTERS).to_latex()
    assert "fair-2" in latex
    assert re.search(r"& \$-\$0\.\d{4} ", latex)
    assert not re.search(r"& -0", latex)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, {"intervals": False}),
        ({"intervals": False}, None),
        ({"rows": "models"}, {"intervals": False}),
        ({"rows": "models", "intervals": False}, {}),
    ],
)
def test_latex_tells_how_a_wide_table_becomes_narrower(options: Any, advice: Any) -> None:
    metrics = ["p@1", "p@3", "p@5", "ndcg@3", "ndcg@5", "r@5", "mrr@5"]
    reports = {name: evaluate(TRUTH, MODELS[name], metrics=metrics, confidence=0.9) for name in TWO}
    comparison = Comparison({**reports, "another": reports["good"]})

    def width_line(**style: Any) -> str:
        lines = comparison.to_latex(**style).splitlines()
        return next((line for line in lines if " pt wide; " in line), "")

    line = width_line(**options)
    place = "both, as table*" if "rows" in options else "a column"
    if advice is None:
        assert line == ""
    elif advice:
        words = " and ".join(f"{name}={value}" for name, value in advice.items())
        assert line.endswith(f": it fits {place}, with {words}")
        narrower = width_line(**options, **advice)
        assert narrower == "" or narrower.endswith(f": it fits {place}")
    else:
        assert line.endswith(f": it fits {place}")


def test_diff_has_percent_and_digits() -> None:
    changes = diff(TRUTH, *TWO.values(), metric="p@3", worst=2)
    row = (changes.rows or [])[0]
    assert f"{row.a:.4f} -> {row.b:.4f}" in changes.to_text()
    assert f"{100 * row.a:.1f} -> {100 * row.b:.1f}" in changes.to_text(percent=True, digits=1)


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ({"digits": -1}, "digits: "),
        ({"digits": 1.5}, "digits: "),
        ({"rows": "models"}, "rows: 'models' have no rows here; expected 'measures'"),
    ],
)
def test_wrong_styles_are_refused(style: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        REPORT.to_text(**style)
    with pytest.raises(TypeError):
        REPORT.to_text(percents=True)  # type: ignore[call-arg]


def test_undefined_values_keep_their_word() -> None:
    report = evaluate(np.zeros((2, 3)), np.ones((2, 3)), metrics=["ranking_loss"])
    assert "undefined" in report.to_text(percent=True, digits=1)


@pytest.mark.parametrize(
    ("n_labels", "text"),
    [
        (2, "0.5000"),
        (200, "99.5000"),
        (201, "100.000"),
        (2470, "1234.50"),
        (300_000, "150000"),
    ],
)
def test_large_values_have_six_digits_in_tables_of_a_paper(n_labels: int, text: str) -> None:
    """The relevant label of one row is first, that of the other last."""
    rows = [0, 1]
    truth = sp.csr_array(([1, 1], (rows, [0, n_labels - 1])), shape=(2, n_labels))
    scores = sp.csr_array(([0.5], ([0], [0])), shape=(2, n_labels))
    report = evaluate(truth, scores, metrics=["coverage", "p@1"])
    comparison = Comparison({"a": report, "b": report})
    for latex in (comparison.to_latex(), comparison.to_latex(percent=True)):
        assert rf"Coverage $\downarrow$ & {text} & {text} \\" in latex
    assert r"P@1 $\uparrow$ & 0.5000 & 0.5000 \\" in comparison.to_latex()
    digits = comparison.to_latex(digits=1)
    assert rf"Coverage $\downarrow$ & {report['coverage']:.1f} & " in digits


@pytest.mark.parametrize(
    ("n_hits", "text", "percent"),
    [
        (3, "0.000750", "0.0750"),
        (4, "0.0010", "0.10"),
        (0, "0.0000", "0.00"),
    ],
)
def test_small_values_have_three_digits_in_tables_of_a_paper(
    n_hits: int, text: str, percent: str
) -> None:
    truth = np.tile([0, 1], (4000, 1))
    truth[:n_hits] = [1, 0]
    report = evaluate(truth, np.tile([0.9, 0.1], (4000, 1)), metrics="p@1")
    comparison = Comparison({"a": report, "b": report})
    assert rf"P@1 $\uparrow$ & {text} & {text} \\" in comparison.to_latex()
    assert rf"P@1 $\uparrow$ & {percent} & {percent} \\" in comparison.to_latex(percent=True)
