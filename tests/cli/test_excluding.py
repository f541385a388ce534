"""Pairs that are taken out: what is refused, and what is left out of groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tests.made_files import as_list, make_scores, make_truth, npy, npz
from xmleval import evaluate, inverse_propensity
from xmleval.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "truth", make_truth())
    npy(tmp_path / "m", make_scores())
    (tmp_path / "pairs.txt").write_text("0 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 2\n3\n", "line 2: '3' is no pair"),
        ("1 2 3\n", "line 1: '1 2 3' is no pair"),
        ("1,2\n", "line 1: '1,2' is no pair"),
        ("-1 2\n", "line 1: '-1 2' is no pair"),
        ("1 x\n", "line 1: '1 x' is no pair"),
        ("1 9999999999999999999\n", "line 1: '1 9999999999999999999' is no pair"),
        ("", "the file is empty"),
    ],
)
def test_pairs_that_are_none(folder: Path, refused: Any, text: str, said: str) -> None:
    (folder / "pairs.txt").write_text(text)
    expected = "expected pairs of a row and a label, one a line, both counted from 0"
    assert refused("evaluate truth.npz m --exclude pairs.txt") == f"pairs.txt: {said}; {expected}"


def test_a_preset_with_unlisted_labels_below(folder: Path, run: Any) -> None:
    assert run("evaluate truth.npz m --exclude pairs.txt --conventions sklearn --unlisted below")


def test_groups_leave_out_what_counts_all_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "evaluate truth.npz m --exclude pairs.txt --metrics ranking,psp@3,all --inverse-propensity q.npy"
    np.save("q.npy", np.full(30, 2.0))
    assert main([*line.split(), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    values, missing = (json.loads(out)[name] for name in ("values", "not_computed"))
    assert missing["lrap"] == "all labels of a row (no exclude=)"
    assert "rprec" not in missing
    assert {"psp@3", "rprec", "p@5"} <= set(values)
    assert not {"lrap", "coverage", "auc.micro"} & set(values)


def test_r_precision_without_pairs(folder: Path, run: Any) -> None:
    truth, scores = make_truth(), make_scores()
    labels, values = as_list(scores)
    pairs = [(row, int(labels[row, 0])) for row in range(0, 60, 2)]
    pairs += [(row, int(truth[[row]].indices[0])) for row in range(1, 60, 2) if truth[[row]].nnz]
    Path("pairs.txt").write_text("".join(f"{row} {label}\n" for row, label in pairs))
    kept, left = sp.lil_array(truth), labels.copy()
    for row, label in pairs:
        kept[row, label] = 0
        left[row][left[row] == label] = -1
    want = evaluate(sp.csr_array(kept), (left, values), metrics=["rprec"])["rprec"]
    found = json.loads(run("evaluate truth.npz m --exclude pairs.txt --metrics rprec --format json"))
    assert found["values"]["rprec"] == want


@pytest.mark.parametrize("memory", ["1GB", "1B"])
def test_a_label_beyond_those_of_some_rows_is_no_other_label(folder: Path, run: Any, memory: str) -> None:
    npz(folder / "truth", sp.csr_array(np.eye(9, dtype=np.float32)[[1, 2, 8]]))
    columns = {"instance": [0, 1, 1, 2], "label": [1, 2, 0, 3], "score": [0.5, 0.9, 0.4, 0.3]}
    pq.write_table(pa.table(columns), folder / "scores.parquet")
    line = f"evaluate truth.npz scores.parquet --metrics p@1,p@2 --format json --memory {memory}"
    for label in (0, 4, 5, 6, 8):  # none of them is listed in row 0
        (folder / "pairs.txt").write_text(f"0 {label}\n")
        found = json.loads(run(f"{line} --exclude pairs.txt"))
        assert found["values"] == json.loads(run(line))["values"]
        none = "exclude: 0 of 1 pair is excluded; the others match no relevant and no predicted label"
        assert found["notes"][0] == none


def test_pairs_taken_out_of_predictions_alone(folder: Path, run: Any, refused: Any) -> None:
    truth, scores = make_truth(), make_scores()
    rng = np.random.default_rng(0)
    gone = rng.random(truth.shape) < 0.3
    assert (gone & (truth.toarray() > 0)).any()
    Path("pairs.txt").write_text("".join(f"{row} {label}\n" for row, label in np.argwhere(gone)))
    kept = scores.multiply(~gone).tocsr()
    kept.eliminate_zeros()
    metrics = ["p@1", "ndcg@5", "psp@3", "r@3"]
    line = "evaluate truth.npz m --exclude pairs.txt {} --train truth.npz --format json --metrics"
    for more, y_true in (("--exclude-from predictions", truth), ("", truth.multiply(~gone).tocsr())):
        want = evaluate(y_true, kept, metrics=metrics, inverse_propensity=inverse_propensity(truth))
        found = json.loads(run(f"{line.format(more)} {','.join(metrics)}"))["values"]
        assert found == dict(want)
    Path("pairs.txt").write_text("60 1\n")
    said = refused("evaluate truth.npz m --exclude pairs.txt --exclude-from predictions")
    assert said == "pairs.txt: line 1: row 60 is not in 0..59; rows look one-based"


@pytest.mark.parametrize("workers", ["", "--workers 2"])
@pytest.mark.parametrize("exclude_from", ["both", "predictions"])
@pytest.mark.parametrize("form", ["json", "table", "markdown", "latex", "csv"])
def test_every_form_tells_how_many_pairs_matched(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str, exclude_from: str, workers: str
) -> None:
    if workers:
        pytest.importorskip("distributed")
    truth, scores = make_truth().toarray() > 0, make_scores().toarray() != 0
    pairs = np.argwhere(np.random.default_rng(3).random(truth.shape) < 0.2)
    match = truth | scores if exclude_from == "both" else scores
    n = sum(bool(match[row, label]) for row, label in pairs)
    assert 0 < n < len(pairs)
    Path("pairs.txt").write_text("".join(f"{row} {label}\n" for row, label in [*pairs, pairs[0]]))
    line = f"evaluate truth.npz m --metrics p@1,ndcg@3 --exclude pairs.txt {workers}"
    assert main([*line.split(), "--exclude-from", exclude_from, "--format", form]) == 0
    out, err = capsys.readouterr()
    told = (
        f"{n} of {len(pairs)} pairs are excluded"
        + {
            "both": "; the others match no relevant and no predicted label",
            "predictions": " from the predictions; the others match no predicted label",
        }[exclude_from]
    )
    assert (told in out, told in err) == (form != "csv", form == "csv")
    if form == "json":
        saved = json.loads(out)
        assert saved["exclude"] | {"sha256": ""} == {"file": "pairs.txt", "sha256": "", "from": exclude_from}


def test_merged_states_add_up_the_pairs(folder: Path, run: Any) -> None:
    truth, scores = make_truth(), make_scores()
    for name, rows in (("a", slice(0, 25)), ("b", slice(25, 60))):
        npz(folder / name, truth[rows])
        npz(folder / f"s{name}", scores[rows])
    line = "evaluate {0}.npz s{0}.npz --metrics p@1 --exclude pairs.txt --format json --save {0}_state.npz"
    notes = [note for name in "ab" for note in json.loads(run(line.format(name)))["notes"][:1]]
    numbers = [[int(word) for word in note.split() if word.isdecimal()] for note in notes]
    found = json.loads(run("merge a_state.npz b_state.npz --format json"))
    n, total = map(sum, zip(*numbers, strict=True))
    assert found["notes"][0].startswith(f"exclude: {n} of {total} pairs are excluded")
    plain = "evaluate {0}.npz s{0}.npz --metrics p@1 --format json --save {0}_state.npz"
    run(plain.format("b"))
    assert main(["merge", "a_state.npz", "b_state.npz"]) == 2  # of all pairs, and of less
