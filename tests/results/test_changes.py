"""Rows and labels that changed most, and their lists, by a plain sort; in Python and from files."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.problems import SPECS
from xmleval import Diff, compare, diff, evaluate

N = 90
L = 8
RNG = np.random.default_rng(11)
TRUTH = (RNG.random((N, L)) < 0.3).astype(np.float32)
OLD, NEW = (TRUTH * 1.2 + RNG.normal(size=(2, N, L))).astype(np.float32)
MODELS = {"old": OLD, "new": NEW}
NAMES = [f"label {n}" for n in range(L)]


@pytest.mark.parametrize("metric", ["p@3", "ndcg@3", "ranking_loss", "mrr@3"])
def test_diff_lists_rows_that_changed_most_losses_first(metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric, worst=25)
    reports = [evaluate(TRUTH, scores, metrics=[metric], per_row=True) for scores in (OLD, NEW)]
    old, new = (report.per_row()[metric] for report in reports)
    gains = new - old
    if metric == "ranking_loss":
        gains = old - new
    changed = [row for row in range(N) if gains[row] < 0 or gains[row] > 0]
    expected = sorted(changed, key=lambda row: (-abs(gains[row]), gains[row], row))[:25]
    assert changes.rows is not None
    assert [change.number for change in changes.rows] == expected
    values = [(change.a, change.b) for change in changes.rows]
    assert values == [(old[row], new[row]) for row in expected]
    assert changes.n_changed == (np.sum(gains > 0), np.sum(gains == 0), np.sum(gains < 0))
    assert changes.values == tuple(report[metric] for report in reports)
    depth = 3 if "@" in metric else 5
    for change in changes.rows:
        row = change.number
        assert change.lists is not None
        assert [*change.lists.truth] == np.flatnonzero(TRUTH[row]).tolist()
        assert [*change.lists.a] == np.argsort(-OLD[row])[:depth].tolist()
        assert [*change.lists.b] == np.argsort(-NEW[row])[:depth].tolist()


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("f1@3", "f1.macro@3"),
        ("tp@3", "ndcg@3"),
        ("auc", "auc.macro"),
    ],
)
def test_diff_lists_labels_that_changed_most(column: str, metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric, worst=4)
    old_columns, new_columns = (
        evaluate(TRUTH, scores, metrics=[metric], per_label=True).per_label()
        for scores in (OLD, NEW)
    )
    old = old_columns[column].astype(float)
    new = new_columns[column].astype(float)
    assert changes.label_column == column
    assert changes.labels is not None
    assert len(changes.labels) <= 4
    least = min(abs(change.change) for change in changes.labels)
    listed = {change.number for change in changes.labels}
    for label in {*range(L)} - listed:
        assert abs(new[label] - old[label]) <= least
    for change in changes.labels:
        label = change.number
        assert change.a == old[label]
        assert change.b == new[label]
        assert change.support == old_columns["support"][label]
    has_rows = metric == "ndcg@3"
    assert (changes.rows is not None) == has_rows
    assert ("is not a mean over rows" in str(changes)) != has_rows


def test_diff_lists_first_labels_of_distances_and_of_unlisted_zeros() -> None:
    near = diff(TRUTH, -OLD, -NEW, higher_is_better=False, metric="p@3")
    assert near.rows == diff(TRUTH, *MODELS.values(), metric="p@3").rows
    sparse = {name: sp.csr_array(np.maximum(scores, 0)) for name, scores in MODELS.items()}
    zeros = diff(TRUTH, *sparse.values(), conventions="unlisted=0", metric="p@3")
    for change in zeros.rows or []:
        assert change.lists is not None
        assert all(OLD[change.number, label] > 0 for label in change.lists.a)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"b": None},
            "b: is missing; expected the scores of a model, after the truth: diff(y_true, a, b)",
        ),
        (
            {"metrics": ["p@1"]},
            "metrics: diff keeps rows and labels of one measure, metric=; leave this out",
        ),
        ({"per_row": False}, "per_row: diff keeps rows and labels of one measure"),
        ({"per_label": True}, "per_label: diff keeps rows and labels of one measure"),
        ({"worst": 0}, "worst: 0 is not a positive integer"),
    ],
)
def test_diff_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"b": NEW, **change}
    with pytest.raises(ValueError) as raised:
        diff(TRUTH, OLD, options.pop("b"), **options)
    assert message in str(raised.value)


def test_diff_has_the_forms_of_all_results() -> None:
    changes = diff(TRUTH, *MODELS.values(), metric="p@3", worst=4)
    share = changes.records()[0].a
    assert f"{share:.4f}" in changes.to_latex()
    assert f"{100 * share:.2f}" in changes.to_latex(percent=True)
    for result in (changes, evaluate(TRUTH, OLD, metrics="p@3")):
        with pytest.raises(ValueError, match="rows: 'models' have no rows here; "):
            result.to_latex(rows="models")
    for kind in (None, "values"):
        with pytest.raises(ValueError, match="a Diff has no figures"):
            changes.plot(kind)
    pytest.importorskip("jinja2")
    assert "<h2>Results</h2>" in changes.to_html()
    frame = pytest.importorskip("pandas").DataFrame(changes.to_frame())
    assert frame["change"].tolist() == [change.change for change in changes.records()]


@pytest.mark.parametrize("n_copies", [40, 1500])  # hundreds of hits, and more than 10,000
def test_latex_writes_hits_as_counts_and_rows_with_digits_of_the_measure(n_copies: int) -> None:
    truth, old, new = (np.tile(matrix, (n_copies, 1)) for matrix in (TRUTH, OLD, -OLD))
    changes = diff(truth, old, new, metric="ndcg@3", worst=1)
    (row,) = changes.rows or []
    (label,) = changes.labels or []
    hits = f"{label.a:.0f} & {label.b:.0f} & {label.change:+.0f} &".replace("-", "$-$")
    plain = changes.to_latex(percent=False)
    assert hits in plain
    assert f"{row.a:.4f} & {row.b:.4f} &" in plain
    in_percent = changes.to_latex(percent=True)
    assert hits in in_percent
    assert f"{100 * row.a:.2f} & {100 * row.b:.2f} &" in in_percent


def test_latex_writes_hits_of_weighted_rows_without_percent() -> None:
    weights = np.resize([0.5, 1.25, 2.126], N)
    changes = diff(TRUTH, *MODELS.values(), metric="ndcg@3", worst=1, sample_weight=weights)
    (label,) = changes.labels or []
    latex = changes.to_latex(percent=True)
    assert f"{label.a:.4f} & {label.b:.4f} & {label.change:+.4f} &" in latex


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


def test_latex_writes_rows_and_labels_with_digits_of_each_measure() -> None:
    models = {"old": 1e6 * OLD, "new": 1e6 * NEW}
    changes = compare(TRUTH, models, metrics=["lrap", "margin.macro"], worst=1).changes
    assert changes is not None
    (row,) = changes.rows or []
    (label,) = changes.labels or []
    assert changes.label_column == "margin"
    latex = changes.to_latex(percent=True)
    assert f"{100 * row.a:.2f} & {100 * row.b:.2f} &" in latex
    assert f"{label.a:.6g} & {label.b:.6g} &" in latex.replace("$-$", "-")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH))
    for name, scores in MODELS.items():
        sp.save_npz(f"{name}.npz", sp.csr_array(scores))
    Path("labels.txt").write_text("\n".join(NAMES) + "\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("metric", ["p@3", "f1.macro@3"])
def test_diff_command_gives_the_changes_of_diff(run: Callable[..., str], metric: str) -> None:
    changes = diff(TRUTH, *MODELS.values(), metric=metric, worst=6, labels=NAMES)
    expected = replace(changes, a="old", b="new")
    options = f"--metric {metric} --worst 6 --memory 16MB --labels labels.txt"
    line = f"diff Y.npz old.npz new.npz {options}"
    assert json.loads(run(f"{line} --format json"))["changes"] == expected.to_dict()["changes"]
    assert run(line) == f"{expected}\n"
    assert run(f"{line} --format markdown") == expected.to_markdown()
    records = [*csv.DictReader(io.StringIO(run(f"{line} --format csv")))]
    labels = [record for record in records if record["kind"] == "label"]
    rows = [record for record in records if record["kind"] == "row"]
    assert all(label["name"] == NAMES[int(label["number"])] for label in labels)
    assert [int(row["number"]) for row in rows] == [row.number for row in expected.rows or []]
    assert all({*row["truth"].split("; ")} <= {*NAMES, ""} for row in rows)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("argument", ["exclude", "exclude_from", "candidates"])
def test_diff_lists_no_excluded_labels(run: Callable[..., str], argument: str) -> None:
    excluded = (np.random.default_rng(3).random((N, L)) < 0.4).astype(np.uint8)
    candidates = 1 - excluded
    options: dict[str, Any] = {"exclude": excluded}
    words = "--exclude excluded.txt"
    truth = TRUTH
    if argument == "exclude":
        truth = TRUTH * candidates
    if argument == "exclude_from":
        options["exclude_from"] = "predictions"
        words += " --exclude-from predictions"
    if argument == "candidates":
        options = {"candidates": candidates}
        words = "--candidates candidates.npz"
    models = {name: sp.csr_array(np.where(excluded, 0, scores)) for name, scores in MODELS.items()}
    changes = diff(TRUTH, *MODELS.values(), metric="p@3", worst=9, **options)
    assert changes.rows == diff(truth, *models.values(), metric="p@3", worst=9).rows
    compared = compare(TRUTH, MODELS, metrics="p@3", worst=9, **options).changes
    assert compared is not None
    assert compared.rows == changes.rows
    pairs = [f"{row} {label}\n" for row, label in np.argwhere(excluded)]
    Path("excluded.txt").write_text("".join(pairs))
    sp.save_npz("candidates.npz", sp.csr_array(candidates))
    line = f"diff Y.npz old.npz new.npz --metric p@3 --worst 9 --format json --memory 16MB {words}"
    assert json.loads(run(line))["changes"]["rows"] == changes.to_dict()["changes"]["rows"]


@pytest.mark.usefixtures("files")
def test_diff_names_labels_of_no_row_of_files_without_width(run: Callable[..., str]) -> None:
    rows = [" ".join(map(str, np.flatnonzero(row[: L - 1]))) for row in TRUTH]
    for name, lines in (
        ("Y", rows),
        ("old", rows),
        ("new", rows[::-1]),
    ):
        Path(f"{name}.lines").write_text("\n".join(lines) + "\n")
    assert "label 1*" in run("diff Y.lines old.lines new.lines --metric p@1 --labels labels.txt")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("names", [["a", "b"], ["label", *NAMES]])
def test_diff_and_compare_refuse_names_of_fewer_or_more_labels(
    refused: Callable[..., str], names: list[str]
) -> None:
    Path("names.txt").write_text("\n".join(names) + "\n")
    for line in ("diff Y.npz old.npz new.npz", "compare Y.npz old.npz new.npz --worst 2"):
        message = refused(f"{line} --labels names.txt")
        assert message == f"Y.npz: 8 labels do not match the {len(names)} of --labels"
    for form in (np.asarray, np.ndarray.tolist):
        with pytest.raises(ValueError, match=f"y_true: .*{len(names)}"):
            diff(form(TRUTH), OLD, NEW, metric="p@1", labels=names)
        with pytest.raises(ValueError, match=f"y_true: .*{len(names)}"):
            compare(form(TRUTH), MODELS, metrics="p@1", worst=2, labels=names)


def test_diff_refuses_measures_without_values_by_row_and_by_label() -> None:
    without = [spec for spec in SPECS.values() if not (spec.has_row_values or spec.by_label)]
    assert "label_diversity" in {spec.name for spec in without}
    for spec in without:
        with pytest.raises(ValueError) as refused:
            diff(np.eye(3), np.eye(3), np.eye(3)[::-1], metric=spec.name)
        expected = f"metric: {spec} has no values by row or by label; give another"
        assert str(refused.value) == expected


def test_labels_with_equal_changes_come_by_their_relevant_rows() -> None:
    relevant = np.eye(3)[[0, 0, 1, 1, 1]]
    a, b = (0.1 + np.eye(3)[first] for first in ([0, 2, 2, 1, 1], [2, 2, 1, 1, 1]))
    labels = diff(relevant, a, b, metric="p@1").labels or []
    assert [(label.title, label.support) for label in labels] == [("1", 3), ("0", 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "JSON without 'changes'; give JSON of `xmleval diff`"),
        ({"schema": 99}, "results of schema 99, written by a later version"),
        ({"changes": {}}, "'changes' is not as `xmleval diff` writes it"),
        ({"changes": 3}, "'changes' is not as `xmleval diff` writes it"),
        ({"name": "later@1"}, "'later@1' is not a measure of this version of xmleval"),
        ({"value_a": "0.5"}, 'value_a is "0.5"; expected a number'),
        ({"rows": 3}, "'changes' is not as `xmleval diff` writes it"),
    ],
    ids=str,
)
def test_load_refuses_what_are_no_changes(change: Any, message: str, tmp_path: Path) -> None:
    scores = np.eye(4) + 0.1
    contents = diff(np.eye(4), scores, scores[::-1], metric="p@1").to_dict()
    if change is None:
        del contents["changes"]
    elif {*change} & {"schema", "changes"}:
        contents |= change
    else:
        contents["changes"] |= change
    path = tmp_path / "d.json"
    path.write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {re.escape(message)}"):
        Diff.load(path)


def test_text_of_a_row_without_a_list_says_so_and_titles_are_in_one_column() -> None:
    truth = np.array([[0, 1, 0]])
    scores = {"a": sp.csr_array((1, 3)), "a long name": sp.csr_array([[0.25, 0.5, 0.0]])}
    changes = replace(diff(truth, *scores.values(), metric="p@2"), b="a long name")
    lines = [
        "row 0: 0.0000 -> 0.5000, +0.5000",
        "  truth        1",
        "  a            (nothing)",
        "  a long name  1*; 0",
    ]
    assert "\n\n" + "\n".join(lines) + "\n\n" in str(changes)


def test_hits_of_weighted_rows_are_counts_where_both_are_whole(tmp_path: Path) -> None:
    """Two rows of weight 1.5 have label 0, one of weight 2 has label 1."""
    truth = np.array([[1, 0], [1, 0], [0, 1]])
    old = np.array([[1, 0], [1, 0], [1, 0]])
    new = np.array([[1, 0], [0, 1], [0, 1]])
    changes = diff(truth, old, new, metric="p@1", sample_weight=[1.5, 1.5, 2])
    (tmp_path / "changes.json").write_text(changes.to_json())
    for result in (changes, Diff.load(tmp_path / "changes.json")):
        lines = [line.strip() for line in str(result).splitlines()]
        assert "0: 3.0000 -> 1.5000, -1.5000 (rows of weight 3.0000 with it)" in lines
        assert "1: 0 -> 2, +2 (rows of weight 2.0000 with it)" in lines


@pytest.mark.usefixtures("files")
def test_a_file_has_no_changes_from_itself() -> None:
    changes = diff("Y.npz", "old.npz", "old.npz", metric="p@3")
    assert (changes.a, changes.b) == ("a", "b")
    assert (changes.rows, changes.labels, changes.n_changed) == ([], [], (0, N, 0))
