"""Rows and labels that changed most: those of a sort by hand, with their lists, in Python and on files."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import compare, diff, evaluate

N, L = 90, 8
RNG = np.random.default_rng(11)
TRUTH = (RNG.random((N, L)) < 0.3).astype(np.float32)
OLD, NEW = (TRUTH * 1.2 + RNG.normal(size=(2, N, L))).astype(np.float32)
MODELS = {"old": OLD, "new": NEW}
NAMES = [f"label {n}" for n in range(L)]


@pytest.mark.parametrize("metric", ["p@3", "ndcg@3", "ranking_loss", "mrr@3"])
def test_rows_are_those_that_changed_most_losses_first(metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric, worst=25)
    reports = [evaluate(TRUTH, scores, metrics=[metric], per_row=True) for scores in (OLD, NEW)]
    old, new = (report.per_row()[metric] for report in reports)
    gains = (old - new) if metric == "ranking_loss" else new - old
    numbers = [n for n in range(N) if not np.isnan(gains[n]) and gains[n]]
    expected = sorted(numbers, key=lambda n: (-abs(gains[n]), gains[n], n))[:25]
    assert changes.rows is not None
    assert [one.number for one in changes.rows] == expected
    assert [(one.a, one.b) for one in changes.rows] == [(old[n], new[n]) for n in expected]
    assert changes.n_changed == (np.sum(gains > 0), np.sum(gains == 0), np.sum(gains < 0))
    assert changes.values == tuple(report[metric] for report in reports)
    depth = 3 if "@" in metric else 5
    for one in changes.rows:
        assert one.lists is not None
        assert [*one.lists.truth] == np.flatnonzero(TRUTH[one.number]).tolist()
        assert [*one.lists.a] == np.argsort(-OLD[one.number])[:depth].tolist()
        assert [*one.lists.b] == np.argsort(-NEW[one.number])[:depth].tolist()


@pytest.mark.parametrize("column", ["f1@3 f1.macro@3", "tp@3 ndcg@3", "auc auc.macro"])
def test_labels_are_those_that_changed_most(column: str) -> None:
    column, metric = column.split()
    changes = diff(TRUTH, *MODELS.values(), metric=metric, worst=4)
    columns = [evaluate(TRUTH, scores, metrics=[metric], per_label=True).per_label() for scores in (OLD, NEW)]
    old, new = (own[column].astype(float) for own in columns)
    assert changes.label_column == column
    assert changes.labels is not None
    assert len(changes.labels) <= 4
    least = min(abs(one.change) for one in changes.labels)
    shown = {one.number for one in changes.labels}
    assert all(abs(new[n] - old[n]) <= least for n in range(L) if n not in shown)
    for one in changes.labels:
        values = (old[one.number], new[one.number], columns[0]["support"][one.number])
        assert (one.a, one.b, one.support) == values
    assert (changes.rows is None) == (metric != "ndcg@3")
    assert ("is no mean over rows" in str(changes)) == (metric != "ndcg@3")


def test_distances_and_dense_zeros_list_what_is_ranked_first() -> None:
    near = diff(TRUTH, -OLD, -NEW, higher_is_better=False, metric="p@3")
    assert near.rows == diff(TRUTH, *MODELS.values(), metric="p@3").rows
    sparse = {name: sp.csr_array(np.maximum(scores, 0)) for name, scores in MODELS.items()}
    zeros = diff(TRUTH, *sparse.values(), conventions="unlisted=0", metric="p@3")
    for one in zeros.rows or []:
        assert one.lists is not None
        assert all(OLD[one.number, label] > 0 for label in one.lists.a)


@pytest.mark.parametrize(("change", "message"), [
    ({"b": None}, "b: is missing; expected the scores of a model, after the truth: diff(y_true, a, b)"),
    ({"metrics": ["p@1"]}, "metrics: diff keeps rows and labels of one measure, metric=; leave this out"),
    ({"per_row": False}, "per_row: diff keeps rows and labels of one measure"),
    ({"per_label": True}, "per_label: diff keeps rows and labels of one measure"),
    ({"worst": 0}, "worst: 0 is not a positive integer"),
])  # fmt: skip
def test_diff_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"b": NEW, **change}
    with pytest.raises(ValueError) as raised:
        diff(TRUTH, OLD, options.pop("b"), **options)
    assert message in str(raised.value)


def test_changes_have_the_forms_of_all_results() -> None:
    changes = diff(TRUTH, *MODELS.values(), metric="p@3", worst=4)
    share = changes.records()[0].a
    assert f"{share:.4f}" in changes.to_latex()
    assert f"{100 * share:.2f}" in changes.to_latex(percent=True)
    for result in (changes, evaluate(TRUTH, OLD, metrics="p@3")):
        with pytest.raises(ValueError, match=f"models: 'rows' is for .*, not a {type(result).__name__}"):
            result.to_latex(models="rows")
    for kind in (None, "values"):
        with pytest.raises(ValueError, match="a Diff has no figures"):
            changes.plot(kind)
    pytest.importorskip("jinja2")
    assert "<h2>Results</h2>" in changes.to_html()
    frame = pytest.importorskip("pandas").DataFrame(changes.to_frame())
    assert frame["change"].tolist() == [change.change for change in changes.records()]


@pytest.mark.parametrize("n_copies", [40, 1500])  # hundreds of hits, and more than 10,000
def test_latex_writes_hits_as_counts_beside_the_digits_of_the_measure(n_copies: int) -> None:
    truth, old, new = (np.tile(matrix, (n_copies, 1)) for matrix in (TRUTH, OLD, -OLD))
    changes = diff(truth, old, new, metric="ndcg@3", worst=1)
    (row,), (label,) = changes.rows or [], changes.labels or []
    for percent, unit, n_digits in ((False, 1, 4), (True, 100, 2)):
        latex = changes.to_latex(percent=percent)
        assert f"{label.a:.0f} & {label.b:.0f} & {label.change:+.0f} &" in latex
        assert f"{unit * row.a:.{n_digits}f} & {unit * row.b:.{n_digits}f} &" in latex


def test_latex_writes_hits_of_weighted_rows_in_no_per_cent() -> None:
    weights = np.resize([0.5, 1.25, 2.126], N)
    changes = diff(TRUTH, *MODELS.values(), metric="ndcg@3", worst=1, sample_weight=weights)
    (label,) = changes.labels or []
    assert f"{label.a:.4f} & {label.b:.4f} & {label.change:+.4f} &" in changes.to_latex(percent=True)


def test_support_is_a_number_of_rows_or_their_weight() -> None:
    weights = np.resize([0.5, 1.25, 2.126], N)
    changes = diff(TRUTH, *MODELS.values(), metric="p@3", worst=1, sample_weight=weights)
    (label,) = changes.to_dict()["changes"]["labels"]
    support = TRUTH[:, label["number"]] @ weights
    assert label["support"] == pytest.approx(support, rel=1e-12)
    assert f"(rows of weight {support:.4f} with it)" in str(changes)
    compared = compare(TRUTH, MODELS, metrics=["p@3"], worst=1, sample_weight=weights)
    assert f" {support:.4f}\n" in str(compared)
    (label,) = diff(TRUTH, *MODELS.values(), metric="p@3", worst=1).to_dict()["changes"]["labels"]
    assert isinstance(label["support"], int)


def test_latex_writes_rows_and_labels_by_two_measures_with_digits_of_their_own() -> None:
    models = {"old": 1e6 * OLD, "new": 1e6 * NEW}
    changes = compare(TRUTH, models, metrics=["lrap", "margin.macro"], worst=1).changes
    assert changes is not None
    (row,), (label,) = changes.rows or [], changes.labels or []
    assert changes.label_column == "margin"
    latex = changes.to_latex(percent=True)
    assert f"{100 * row.a:.2f} & {100 * row.b:.2f} &" in latex
    assert f"{label.a:.6g} & {label.b:.6g} &" in latex


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH))
    for name, scores in MODELS.items():
        sp.save_npz(f"{name}.npz", sp.csr_array(scores))
    Path("labels.txt").write_text("\n".join(NAMES) + "\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("metric", ["p@3", "f1.macro@3"])
def test_the_command_line_gives_the_same(run: Callable[..., str], metric: str) -> None:
    expected = replace(diff(TRUTH, *MODELS.values(), metric=metric, worst=6, labels=NAMES), a="old", b="new")
    line = f"diff Y.npz old.npz new.npz --metric {metric} --worst 6 --memory 16MB --labels labels.txt"
    assert json.loads(run(f"{line} --format json"))["changes"] == expected.to_dict()["changes"]
    assert run(line) == f"{expected}\n"
    assert run(f"{line} --format markdown") == expected.to_markdown()
    records = [*csv.DictReader(io.StringIO(run(f"{line} --format csv")))]
    assert all(one["name"] == NAMES[int(one["number"])] for one in records if one["kind"] == "label")
    of_rows = [one for one in records if one["kind"] == "row"]
    assert [int(one["number"]) for one in of_rows] == [one.number for one in expected.rows or []]
    assert all({*one["truth"].split("; ")} <= {*NAMES, ""} for one in of_rows)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("taken_out", ["exclude", "exclude_from", "candidates"])
def test_lists_are_shown_without_the_labels_that_are_taken_out(
    run: Callable[..., str], taken_out: str
) -> None:
    gone = (np.random.default_rng(3).random((N, L)) < 0.4).astype(np.uint8)
    left = {name: sp.csr_array(np.where(gone, 0, scores)) for name, scores in MODELS.items()}
    options: dict[str, Any] = {"exclude": gone} if "exclude" in taken_out else {"candidates": 1 - gone}
    words = "--exclude gone.txt" if "exclude" in taken_out else "--candidates among.npz"
    if taken_out == "exclude_from":
        options, words = options | {taken_out: "predictions"}, f"{words} --exclude-from predictions"
    truth = TRUTH * (1 - gone) if taken_out == "exclude" else TRUTH
    changes = diff(TRUTH, *MODELS.values(), metric="p@3", worst=9, **options)
    assert changes.rows == diff(truth, *left.values(), metric="p@3", worst=9).rows
    compared = compare(TRUTH, MODELS, metrics="p@3", worst=9, **options).changes
    assert compared is not None
    assert compared.rows == changes.rows
    Path("gone.txt").write_text("".join(f"{row} {label}\n" for row, label in np.argwhere(gone)))
    sp.save_npz("among.npz", sp.csr_array(1 - gone))
    line = f"diff Y.npz old.npz new.npz --metric p@3 --worst 9 --format json --memory 16MB {words}"
    assert json.loads(run(line))["changes"]["rows"] == changes.to_dict()["changes"]["rows"]


@pytest.mark.usefixtures("files")
def test_labels_of_no_row_may_be_named_where_a_file_has_no_width(run: Callable[..., str]) -> None:
    rows = [" ".join(map(str, np.flatnonzero(row[: L - 1]))) for row in TRUTH]
    for name, lines in (("Y", rows), ("old", rows), ("new", rows[::-1])):
        Path(f"{name}.lines").write_text("\n".join(lines) + "\n")
    assert "label 1*" in run("diff Y.lines old.lines new.lines --metric p@1 --labels labels.txt")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("names", [["a", "b"], ["label", *NAMES]])
def test_names_of_fewer_or_more_labels_are_refused(refused: Callable[..., str], names: list[str]) -> None:
    Path("names.txt").write_text("\n".join(names) + "\n")
    for line in ("diff Y.npz old.npz new.npz", "compare Y.npz old.npz new.npz --worst 2"):
        message = refused(f"{line} --labels names.txt")
        assert message == f"Y.npz: 8 labels do not match the {len(names)} of --labels"
    for form in (np.asarray, np.ndarray.tolist):
        with pytest.raises(ValueError, match=f"y_true: .*{len(names)}"):
            diff(form(TRUTH), OLD, NEW, metric="p@1", labels=names)
        with pytest.raises(ValueError, match=f"y_true: .*{len(names)}"):
            compare(form(TRUTH), MODELS, metrics="p@1", worst=2, labels=names)
