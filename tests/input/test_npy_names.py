"""Top-k lists in pairs of .npy files as AttentionXML and LightXML write them, with ids or with names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.damage import values_of
from tests.made_files import as_list, make_scores, make_truth, npy_labels, npz, rows_of
from xmleval import evaluate
from xmleval.input.formats.registry import read_scores, read_truth

METRICS = ["p@1", "ndcg@5", "lrap"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    npy_labels(tmp_path / "m", make_scores())
    return tmp_path


@pytest.mark.parametrize("name", ["m", "m-labels.npy", "m-scores.npy", "."])
def test_either_file_or_the_name_alone_stands_for_both(folder: Path, name: str) -> None:
    if name == ".":  # a folder of shards: the two files are one
        Path("shards").mkdir()
        npy_labels(Path("shards/1"), make_scores())
        name = "shards"
    assert values_of(METRICS, f"Y.npz {name}") == dict(evaluate(make_truth(), make_scores(), metrics=METRICS))


def test_labels_without_scores_are_ranked_as_they_stand(folder: Path) -> None:
    Path("m-scores.npy").unlink()
    want = evaluate(make_truth(), (as_list(make_scores())[0], None), metrics=METRICS)
    assert values_of(METRICS, "Y.npz m-labels.npy") == dict(want)


def test_what_is_called_so_and_is_dense(folder: Path) -> None:
    dense = make_truth().toarray()
    np.save("test-labels.npy", dense.astype(np.int8))
    np.testing.assert_array_equal(read_truth("test-labels.npy"), dense)
    np.save("dense-scores.npy", dense)
    np.testing.assert_array_equal(read_scores("dense-scores.npy"), dense)


@pytest.mark.parametrize("scored", [True, False])
def test_strings_are_names(folder: Path, scored: bool) -> None:
    names = np.array([f"label {label}" for label in range(30)])
    lines = [json.dumps({"labels": names[row].tolist()}) for row in rows_of(make_truth())]
    Path("Y.jsonl").write_text("\n".join(lines) + "\n")
    labels, scores = as_list(make_scores())
    np.save("n-labels.npy", names[labels])
    if scored:
        np.save("n-scores.npy", scores)
    want = evaluate(make_truth(), (labels, scores if scored else None), metrics=METRICS)
    assert values_of(METRICS, "Y.jsonl n-labels.npy") == pytest.approx(dict(want), rel=1e-12)


def test_what_is_refused(folder: Path, refused: Any) -> None:
    labels, scores = as_list(make_scores())
    np.save("o-labels.npy", labels.astype(object), allow_pickle=True)
    said = refused("evaluate Y.npz o-labels.npy")
    assert said.startswith("o-labels.npy: Python objects are not supported; expected labels of a top-k list")
    assert "labels.astype(str)" in said
    np.save("s-labels.npy", labels.astype(str))
    said = "Y.npz: predictions have names (s-labels.npy); expected one file of relevant labels with names"
    assert refused("evaluate Y.npz s-labels.npy").startswith(said)
    Path("Y.jsonl").write_text('{"labels": ["1"]}\n')
    assert refused("evaluate Y.jsonl s-labels.npy").startswith(
        "s-labels.npy: 60 rows do not match the 1 of TRUTH; expected labels of a top-k list"
    )
    Path("Y.csv").write_text("id,labels\n1,1\n")
    assert "no ids, which TRUTH has" in refused("evaluate Y.csv s-labels.npy")
    scores[3, 2] = np.nan
    np.save("s-scores.npy", scores)
    Path("Y.jsonl").write_text('{"labels": ["1"]}\n' * 60)
    assert refused("evaluate Y.jsonl s-labels.npy").startswith("s-labels.npy: row 3: a score is NaN")
