"""States of several SCORES, and rows that are kept in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator

SIZES = (3, 5, 2)
LINE = "--metrics p@1,lrap,ndcg@2,psp@2 --train train.npz"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write shards of a truth and of two models."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    sp.save_npz("train.npz", sp.csr_array((rng.random((20, 6)) < 0.4).astype(int)))
    for shard, n_rows in enumerate(SIZES):
        sp.save_npz(f"Y_{shard}.npz", sp.csr_array((rng.random((n_rows, 6)) < 0.4).astype(int)))
        for model in "ab":
            sp.save_npz(f"{model}_{shard}.npz", sp.csr_array(rng.random((n_rows, 6))))
    return tmp_path


def test_each_of_several_scores_has_a_state(folder: Path, run: Any) -> None:
    for shard in range(3):
        run(f"evaluate Y_{shard}.npz a_{shard}.npz b_{shard}.npz {LINE} --save state_{{}}.npz")
    for model in "ab":
        states = [f"state_{model}_{shard}.npz" for shard in range(3)]
        whole = run(f"evaluate Y_*.npz {model}_*.npz {LINE} --format json")
        assert run(f"merge {' '.join(states)} --format json") == whole


@pytest.mark.parametrize(
    ("scores", "pattern", "wanted"),
    [
        ("a_0.npz", "s.npz", ["s.npz"]),
        ("a_0.npz", "s_{}.npz", ["s_a_0.npz"]),
        ("a_0.npz other/a_0.npz", "s_{}.npz", ["s_a_0.npz.npz", "s_other_a_0.npz.npz"]),
        ("a_0.npz a_0_indices.npy", "{}.state", ["a_0.state", "a_0_indices.state"]),
        ("a_*.npz b_*.npz", "s{}", ["sa__", "sb__"]),
    ],
)
def test_files_are_called_by_scores(
    folder: Path, run: Any, scores: str, pattern: str, wanted: list[str]
) -> None:
    Path("other").mkdir()
    Path("other/a_0.npz").write_bytes(Path("b_0.npz").read_bytes())
    np.save("a_0_indices.npy", np.zeros((3, 1), np.int64))
    truth = "Y_*.npz" if "*" in scores else "Y_0.npz"
    before = {*Path().iterdir()}
    run(f"evaluate {truth} {scores} --metrics p@1 --save {pattern}")
    assert sorted(str(path) for path in {*Path().iterdir()} - before) == sorted(wanted)


def test_one_file_is_not_for_several_states(folder: Path, refused: Any) -> None:
    said = refused("evaluate Y_0.npz a_0.npz b_0.npz --metrics p@1 --save out/s.npz")
    told = "--save is for 2 SCORES; put {} where their names belong, as in out/s_{}.npz"
    assert said == f"{told}; see `xmleval evaluate --help`"
    said = refused("evaluate Y_0.npz a_0.npz b_0.npz --metrics p@1 --save {}_0.npz --output a_0_0.npz")
    assert said.startswith("two outputs have one name")
    said = refused("evaluate Y_0.npz a_0.npz b_0.npz --metrics p@1 --save {}.npz")
    assert said == "a_0.npz: is an input; expected another file for the output"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_rows_of_shards_are_merged_in_their_order(folder: Path, run: Any, order: tuple[int, ...]) -> None:
    for shard in order:
        words = f"{LINE} --memory 1B --per-row own.csv"  # a row at a time
        run(f"evaluate Y_{shard}.npz a_{shard}.npz {words} --save s{shard}.npz")
    run(f"merge {' '.join(f's{shard}.npz' for shard in order)} --per-row rows.csv --save all.npz")
    for kind, name in (("Y", "Y_part"), ("a", "a_part")):
        for place, shard in enumerate(order):
            Path(f"{name}{place}.npz").write_bytes(Path(f"{kind}_{shard}.npz").read_bytes())
    run(f"evaluate Y_part*.npz a_part*.npz {LINE} --per-row whole.csv")
    assert Path("rows.csv").read_text() == Path("whole.csv").read_text()
    run("merge all.npz --per-row again.csv")
    assert Path("again.csv").read_text() == Path("whole.csv").read_text()


def test_rows_that_were_not_kept_cannot_be_written(folder: Path, run: Any, refused: Any) -> None:
    run("evaluate Y_0.npz a_0.npz --metrics p@1 --save s.npz")
    assert refused("merge s.npz --per-row rows.csv") == (
        "s.npz: rows were not kept; --save it together with --per-row"
    )


def test_kept_rows_of_a_file_count_once(folder: Path, run: Any, refused: Any) -> None:
    run("evaluate Y_0.npz a_0.npz --metrics p@1 --per-row r.csv --save s.npz")
    said = refused("merge s.npz s.npz --per-row rows.csv")
    assert said.startswith("s.npz: rows 0..2 of ")
    assert said.endswith(" are counted already; count each row once")


def test_kept_rows_with_and_without_an_index_do_not_mix(folder: Path, run: Any) -> None:
    report = json.loads(
        run("evaluate Y_0.npz a_0.npz --metrics p@1 --per-row r.csv --save s.npz --format json")
    )
    assert report["n_rows"] == 3
    saved, own = Evaluator.load("s.npz"), Evaluator(["p@1"], n_labels=6, per_row=True)
    own.update(np.eye(6), np.eye(6))
    with pytest.raises(
        ValueError, match=r"^merge: kept rows have indices here, and are those of files there$"
    ):
        own.merge(saved)
