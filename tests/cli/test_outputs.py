"""No output takes the place of a file that is read, whatever name stands for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.made_files import make_scores, make_truth, mulan, npy, npz, qrels, trec_run
from xmleval import Evaluator
from xmleval.input.reader import RowReader


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    mulan(tmp_path / "mulan", make_truth())
    npy(tmp_path / "m", make_scores())
    npy(tmp_path / "other", make_scores())
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate([slice(0, 20), slice(20, 60)]):
        npz(tmp_path / "parts" / f"p{number}", make_scores()[rows])
        npz(tmp_path / "parts" / f"y{number}", make_truth()[rows])
    qrels(tmp_path / "q", make_truth())
    trec_run(tmp_path / "r", make_scores())
    np.save("x.npy", np.random.default_rng(0).random((60, 2)))
    (tmp_path / "names.txt").write_text("".join(f"{j}\n" for j in range(30)))
    run("threshold fit Y.npz m --measure f1.micro --output rule.npz")
    run("evaluate Y.npz m --save s0.npz --output s0.txt")
    os.link(tmp_path / "m_scores.npy", tmp_path / "hard.npy")
    (tmp_path / "link").symlink_to("parts")
    return tmp_path


# what stands behind the name of an input; the last word is the output
LINES = """
evaluate Y.npz m --output m_scores.npy
evaluate Y.npz m_indices.npy --output m_scores.npy
evaluate Y.npz m --output hard.npy
evaluate Y.npz parts/p* --output parts/p1.npz
evaluate Y.npz 'parts/p*' --output link/p1.npz
evaluate 'parts/y*' 'parts/p*' --per-label parts/y1.npz
evaluate mulan.arff m --save mulan.xml
evaluate Y.npz m --decision rule.npz --metrics sets --save rule.npz
evaluate q.qrels r.run --labels names.txt --output names.txt
evaluate Y.npz m --train mulan.arff --output mulan.xml
convert m there/../m_scores.npy
convert m other_scores.npy --like other_indices.npy
convert 'parts/p*' parts/p1.npz --kind scores
convert mulan.arff mulan.xml
stats 'parts/y*' --output parts/y0.npz
stats Y.npz --train mulan.arff --output mulan.xml
bench Y.npz 'parts/p*' --output parts/p0.npz
threshold fit Y.npz m --measure f1.micro --output m_scores.npy
threshold fit Y.npz m --rule row --measure f1.samples --features x.npy --output x.npy
threshold fit q.qrels r.run --measure f1.micro --labels names.txt --output names.txt
threshold apply m --rule rule.npz --output m_scores.npy
threshold apply 'parts/p*' --rule rule.npz --output parts/p0.npz
merge s0.npz --output s0.npz
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_an_output_is_no_input(folder: Path, refused: Any, line: str) -> None:
    (folder / "there").mkdir()
    shutil.copy("mulan.xml", "kept.xml")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output = line.split()[2 if line.startswith("convert") else -1]
    said = refused(line)
    if output.endswith(".xml") and line.startswith("convert"):
        assert said.startswith("mulan.xml: its name does not tell a format that is written")
    else:
        assert "is an input; expected another file for the output" in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_list_is_written_to_two_files(folder: Path, refused: Any, run: Any) -> None:
    said = refused("convert parts/p0.npz m_indices.npy --kind scores --like m_scores.npy")
    assert said.endswith("is an input; expected another file for the output")
    run("convert parts/p0.npz m_indices.npy --kind scores")  # an old file that is no input is replaced
    assert np.load("m_scores.npy").shape[0] == 20


def test_old_scores_do_not_join_a_list_without(folder: Path, refused: Any) -> None:
    np.save("bare_indices.npy", np.load("m_indices.npy"))
    before = Path("other_indices.npy").read_bytes()
    said = refused("convert bare_indices.npy other_indices.npy --kind scores")
    assert said == "other_scores.npy: would be taken for scores of the list, which has none"
    assert Path("other_indices.npy").read_bytes() == before


OUTPUTS = """
evaluate Y.npz m --output {}
evaluate Y.npz m --metrics f1.macro@1 --decision top1 --per-label {}
evaluate Y.npz m --save {}
convert m {}.npz --kind scores
stats Y.npz --output {}
bench Y.npz m --output {}
threshold fit Y.npz m --measure f1.micro --output {}
threshold apply m --rule rule.npz --output {}
merge s0.npz --output {}
merge s0.npz --save {}
"""
every_output = pytest.mark.parametrize("line", OUTPUTS.strip().splitlines())


def counting(*given: Any, **more: Any) -> None:
    raise AssertionError("rows were read")


@every_output
def test_outputs_without_a_folder_are_refused_first(
    folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(RowReader, "take", counting)
    monkeypatch.setattr(Evaluator, "load", counting)
    assert refused(line.format("none/out")).endswith(": its folder does not exist")
    Path("name").touch()
    assert refused(line.format("name/out")).endswith(": its folder does not exist")


@every_output
def test_files_that_cannot_be_pipes_are_refused_first(
    folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    if "--save" in line or "threshold" in line or "convert" in line:
        os.mkfifo("pipe")
        os.symlink("pipe", "pipe.npz")
        monkeypatch.setattr(RowReader, "take", counting)
        monkeypatch.setattr(Evaluator, "load", counting)
        assert refused(line.format("pipe")).endswith(": exists and is not a regular file")


@every_output
def test_the_longest_names_can_be_written(folder: Path, run: Any, line: str) -> None:
    name = "é" * 124  # 248 of 255 bytes
    run(line.format(name))
    assert [path.stem for path in folder.iterdir() if path.name[:2] in ("éé", ".é")] == [name]


def test_outputs_have_different_names(folder: Path, refused: Any) -> None:
    for line in ("evaluate Y.npz m --save one --output ./one", "merge s0.npz --save one --output ./one"):
        assert refused(line).startswith("two outputs have one name; see `xmleval ")
