"""Rows and labels that changed most: those of a sort by hand, with their lists, in Python and on files."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer
from xmleval import compare, diff, evaluate
from xmleval.report.changes import Diff

N, L = 90, 8
RNG = np.random.default_rng(11)
TRUTH = (RNG.random((N, L)) < 0.3).astype(np.float32)
OLD, NEW = (TRUTH * 1.2 + RNG.normal(size=(2, N, L))).astype(np.float32)
MODELS = {"old": OLD, "new": NEW}
NAMES = [f"label {n}" for n in range(L)]


def lists(scores: Any, k: int = 3) -> Any:
    ids = np.argsort(-scores, axis=1)[:, :k].astype(np.int32)
    return ids, np.take_along_axis(scores, ids, 1)


@pytest.mark.parametrize("metric", ["p@3", "ndcg@3", "ranking_loss", "rr"])
def test_rows_are_those_that_changed_most_losses_first(metric: str) -> None:
    if metric == "rr":
        metric = "mrr@3"
    found = diff(MODELS, TRUTH, metric=metric, worst=25)
    reports = [evaluate(TRUTH, scores, metrics=[metric], per_row=True) for scores in (OLD, NEW)]
    old, new = (report.per_row()[metric] for report in reports)
    gains = (old - new) if metric == "ranking_loss" else new - old
    known = [n for n in range(N) if not np.isnan(gains[n]) and gains[n]]
    wanted = sorted(known, key=lambda n: (-abs(gains[n]), gains[n], n))[:25]
    assert found.rows is not None
    assert [one.number for one in found.rows] == wanted
    assert [(one.a, one.b) for one in found.rows] == [(old[n], new[n]) for n in wanted]
    assert found.n_changed == (np.sum(gains > 0), np.sum(gains == 0), np.sum(gains < 0))
    assert found.values == tuple(report[metric] for report in reports)
    depth = 3 if "@" in metric else 5
    for one in found.rows:
        assert one.lists is not None
        assert [*one.lists.truth] == np.flatnonzero(TRUTH[one.number]).tolist()
        assert [*one.lists.a] == np.argsort(-OLD[one.number])[:depth].tolist()
        assert [*one.lists.b] == np.argsort(-NEW[one.number])[:depth].tolist()


@pytest.mark.parametrize(
    ("metric", "column"), [("f1.macro@3", "f1@3"), ("ndcg@3", "tp@3"), ("auc.macro", "auc")]
)
def test_labels_are_those_that_changed_most(metric: str, column: str) -> None:
    found = diff(MODELS, TRUTH, metric=metric, worst=4)
    columns = [evaluate(TRUTH, scores, metrics=[metric], per_label=True).per_label() for scores in (OLD, NEW)]
    old, new = (own[column].astype(float) for own in columns)
    assert found.label_column == column
    assert found.labels is not None
    assert len(found.labels) <= 4
    least = min(abs(one.change) for one in found.labels)
    shown = {one.number for one in found.labels}
    assert all(abs(new[n] - old[n]) <= least for n in range(L) if n not in shown)
    for one in found.labels:
        assert (one.a, one.b, one.support) == (
            old[one.number],
            new[one.number],
            columns[0]["support"][one.number],
        )
    assert (found.rows is None) == (metric != "ndcg@3")
    assert ("is no mean over rows" in str(found)) == (metric != "ndcg@3")


def test_the_same_model_changes_nothing() -> None:
    found = diff({"a": OLD, "b": OLD.copy()}, TRUTH)
    assert (found.rows, found.labels) == ([], [])
    assert "0 rows better, 0 worse, 90 as good" in str(found)


def test_distances_and_dense_zeros_list_what_is_ranked_first() -> None:
    near = diff({"old": -OLD, "new": -NEW}, TRUTH, higher_is_better=False, metric="p@3")
    assert near.rows == diff(MODELS, TRUTH, metric="p@3").rows
    sparse = {name: sp.csr_array(np.maximum(scores, 0)) for name, scores in MODELS.items()}
    zeros = diff(sparse, TRUTH, unlisted=0.0, metric="p@3")
    for one in zeros.rows or []:
        assert one.lists is not None
        assert all(OLD[one.number, label] > 0 for label in one.lists.a)


def test_names_are_shown() -> None:
    pandas = pytest.importorskip("pandas")
    frames = {name: pandas.DataFrame(scores, columns=NAMES) for name, scores in MODELS.items()}
    found = diff(frames, pandas.DataFrame(TRUTH, columns=NAMES), metric="p@3", worst=2)
    assert "label " in str(found).split("truth")[1]
    assert json.loads(found.to_json())["changes"]["labels"][0]["name"].startswith("label ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"models": {**MODELS, "third": OLD}}, "models: 3 given; expected two"),
        ({"worst": 0}, "worst: 0 is not a positive integer"),
        ({"metric": "ndgc@5"}, "ndgc"),
        ({"exclude": [(0, 0)]}, "exclude: diff shows whole lists"),
        ({"models": {"old": OLD, "new": NEW * np.nan}}, "y_score of 'new': row 0"),
    ],
)
def test_refusals(change: dict[str, Any], told: str) -> None:
    more = {"models": MODELS, **change}
    with pytest.raises(ValueError) as caught:
        diff(more.pop("models"), TRUTH, **more)
    assert told in str(caught.value)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH))
    for name, scores in MODELS.items():
        ids, values = lists(scores)
        np.savez(f"{name}.npz", indices=ids, scores=values)
    Path("labels.txt").write_text("\n".join(NAMES) + "\n")
    return tmp_path


def in_python(**more: Any) -> Diff:
    return diff({name: lists(scores) for name, scores in MODELS.items()}, TRUTH, **more)


@pytest.mark.parametrize("metric", ["p@3", "f1.macro@3"])
def test_the_command_line_gives_the_same(files: Path, run: Callable[..., str], metric: str) -> None:
    wanted = in_python(metric=metric, worst=6)
    line = f"diff Y.npz old.npz new.npz --metric {metric} --worst 6 --memory 16MB"
    assert json.loads(run(f"{line} --format json"))["changes"] == wanted.to_dict()["changes"]
    assert run(line) == f"{wanted}\n"
    assert run(f"{line} --format markdown") == wanted.to_markdown()


def test_labels_name_the_columns_of_arrays(
    files: Path, run: Callable[..., str], refused: Callable[..., str]
) -> None:
    text = run("diff Y.npz old.npz new.npz --metric p@3 --worst 2 --labels labels.txt --format csv")
    records = [*csv.DictReader(io.StringIO(text))]
    assert [one["kind"] for one in records] == ["row", "row", "label", "label"]
    assert all(name in NAMES for name in records[0]["truth"].split("; "))
    assert records[2]["name"] == NAMES[int(records[2]["number"])]


@pytest.mark.parametrize("names", [["one", "two"], ["label", *NAMES]])
@pytest.mark.parametrize(
    "line",
    [
        "diff Y.npz old.npz new.npz",
        "compare Y.npz old.npz new.npz --worst 2",
        "report Y.npz old.npz --output r.html",
    ],
)
def test_names_of_other_labels_are_refused_in_files(
    files: Path, refused: Callable[..., str], line: str, names: list[str]
) -> None:
    Path("other.txt").write_text("\n".join(names) + "\n")
    told = refused(f"{line} --labels other.txt")
    assert told == f"other.txt: {len(names)} names; expected those of all 8 labels"


def test_labels_that_no_row_has_may_be_named_where_a_file_tells_no_width(
    files: Path, run: Callable[..., str]
) -> None:
    rows = [" ".join(map(str, np.flatnonzero(row[: L - 1]))) for row in TRUTH]
    Path("Y.txt").write_text("\n".join(rows) + "\n")
    Path("old.txt").write_text("\n".join(rows) + "\n")
    Path("new.txt").write_text("\n".join(rows[::-1]) + "\n")
    text = run("diff Y.txt old.txt new.txt --metric p@1 --labels labels.txt")
    assert "label 1*" in text


@pytest.mark.parametrize("names", [["one", "two"], ["label", *NAMES]])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
@pytest.mark.parametrize("worst", [0, 2])
def test_names_of_other_labels_are_refused(form: Any, names: list[str], worst: int) -> None:
    told = f"(y_true: shape \\(90, 8\\) has 8 labels; {len(names)} were expected|y_true: .* {len(names)})"
    for call in (
        lambda: diff(MODELS, form(TRUTH), metric="p@1", labels=names),
        lambda: compare(MODELS, form(TRUTH), metrics="p@1", labels=names, worst=worst),
    ):
        with pytest.raises(ValueError, match=told):
            call()


def test_documents_are_shown_by_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs.csv").write_text("id,labels\nx1,cat;dog\nx2,dog\nx3,bird\n")
    Path("m.csv").write_text("id,predicted\nx1,cat;dog\nx2,dog\nx3,bird\n")
    Path("n.csv").write_text("id,predicted\nx1,cat;dog\nx2,dog\nx3,emu\n")
    line = "diff docs.csv m.csv n.csv --metric p@1 --separator ';' --output"
    assert answer([*shlex.split(line), "t.csv"])[:2] == (0, "")
    assert "row,2,x3,1.0,0.0,-1.0,,bird,bird,emu\n" in Path("t.csv").read_text()
    assert answer([*shlex.split(line), "t.txt"])[:2] == (0, "")
    told = Path("t.txt").read_text()
    assert "row 2 x3: 1.0000 -> 0.0000, -1.0000\n  truth  bird\n  m      bird*\n  n      emu\n" in told
    assert "  bird: 1 -> 0, -1 (1 row with it)" in told
