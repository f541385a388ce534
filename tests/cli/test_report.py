"""`xmleval report`, `plot` and the figures of `compare` and `rank` write files, or say why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval.cli import main

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_a_page_tells_how_it_was_computed(folder: Path, run: Callable[..., str]) -> None:
    line = "report Y_test.npz m_indices.npy scores.npz --train Y_train.npz --metrics p@1,f1.macro@2"
    assert run(f"{line} --output page.html --title 'My <models>'") == "\n"[:0]
    text = (folder / "page.html").read_text("utf-8")
    assert "<title>My &lt;models&gt;</title>" in text
    for name in ("Y_test.npz", "m_indices.npy", "scores.npz", "Y_train.npz"):
        assert f"SHA-256 of {name}" in text
    for heading in (
        "Differences",
        "Measures against k",
        "ROC curve",
        "Groups of labels",
        "Data set",
    ):
        assert f"<h2>{heading}</h2>" in text


def test_a_page_has_names_and_lists_of_rows_that_changed(folder: Path, run: Callable[..., str]) -> None:
    n_labels = sp.load_npz(folder / "Y_test.npz").shape[1]
    (folder / "names.txt").write_text("".join(f"label {n}\n" for n in range(n_labels)))
    np.save(folder / "other_indices.npy", np.tile(np.arange(2), (len(np.load("m_indices.npy")), 1)))
    line = "Y_test.npz m_indices.npy other_indices.npy --metrics p@2 --labels names.txt"
    told = json.loads(run(f"diff {line.replace('--metrics', '--metric')} --format json"))["changes"]
    run(f"report {line} --output page.html")
    run(f"compare {line} --html compared.html")
    for page in ("page.html", "compared.html"):
        text = (folder / page).read_text("utf-8")
        rows = text[text.index("<h2>Rows that changed most</h2>") :]
        for row in told["rows"]:
            relevant = {*row["truth"]}
            for names in (row["list_a"], row["list_b"]):
                assert "; ".join(f"{name}{'*' * (name in relevant)}" for name in names) in rows
            assert "; ".join(row["truth"]) in rows
    labels = (folder / "page.html").read_text("utf-8").partition("<h2>Labels that changed most</h2>")[2]
    assert told["labels_by"] == "tp@2"
    assert all(one["name"] in labels for one in told["labels"])


def test_a_page_of_one_model(folder: Path, run: Callable[..., str]) -> None:
    run("report Y_test.npz m_indices.npy --metrics p@1 --output page.html")
    text = (folder / "page.html").read_text("utf-8")
    assert "P@1 is 0." in text
    assert "<title>Evaluation of m_indices.npy</title>" in text
    assert "<h2>Data set</h2>" in text


def test_a_page_of_what_there_is(folder: Path, run: Callable[..., str]) -> None:
    np.save(folder / "ranked_indices.npy", np.load(folder / "m_indices.npy"))
    run("report Y_test.npz ranked_indices.npy --output page.html")  # neither scores nor --train
    text = (folder / "page.html").read_text("utf-8")
    assert "<h2>Measures against k</h2>" in text
    assert "ROC" not in text
    run("report Y_test.npz ranked_indices.npy --metrics mrr --output page.html")


@pytest.mark.parametrize("kind", ["cutoffs", "ranks"])
def test_one_cutoff_is_drawn_at_all(folder: Path, run: Callable[..., str], kind: str) -> None:
    run(f"plot Y_test.npz m_indices.npy --metrics p@1 --kind {kind} --output a.svg")
    assert (folder / "a.svg").read_text("utf-8").count('<g id="xtick_') == 5  # of five labels
    run("plot Y_test.npz m_indices.npy --metrics ndcg --kind ranks --output a.svg")


@pytest.mark.parametrize(("kind", "form"), [("cutoffs", "svg"), ("differences", "png"), ("roc", "pdf")])
def test_a_figure_is_drawn(folder: Path, run: Callable[..., str], kind: str, form: str) -> None:
    run(f"plot Y_test.npz m_indices.npy scores.npz --kind {kind} --metrics p,ndcg --output a.{form}")
    assert (folder / f"a.{form}").read_bytes().startswith(BEGINS[form])


@pytest.mark.parametrize("kind", ["values", "differences", "cutoffs", "ranks", "groups"])
@pytest.mark.parametrize("metrics", ["p@1,p@3,label_cardinality", "p,statistics", "all"])
def test_measures_of_the_truth_are_not_drawn_of_several(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, metrics: str
) -> None:
    (folder / "topics.txt").write_text("0,a\n1,a\n2,b\n3,b\n4,b\n")
    line = f"plot Y_test.npz m_indices.npy scores.npz --metrics {metrics} --label-groups topics.txt"
    code = main([*line.split(), "--kind", kind, "--output", "a.svg"])
    assert code == 0, capsys.readouterr().err
    text = (folder / "a.svg").read_text("utf-8")
    assert "<text" in text
    assert "ardinality" not in text


@pytest.mark.parametrize(
    "command", ["plot --kind values --output a.svg", "report --output a.html", "compare"]
)
def test_measures_of_the_truth_alone_compare_nothing(
    refused: Callable[..., str], folder: Path, command: str
) -> None:
    name, _, more = command.partition(" ")
    told = refused(
        f"{name} Y_test.npz m_indices.npy scores.npz --metrics label_cardinality,label_density {more}"
    )
    assert told == "--metrics: none of label_cardinality, label_density depends on SCORES"


def test_compare_and_rank_draw_too(folder: Path, run: Callable[..., str]) -> None:
    run("compare Y_test.npz m_indices.npy scores.npz --metrics p@1 --html c.html --plot c.png")
    for name in ("one", "two"):
        run(
            "evaluate Y_test.npz m_indices.npy scores.npz --metrics p@1,p@2 --format json "
            f"--output {name}.json"
        )
    run("rank one.json two.json --html r.html --plot r.svg")
    run("rank one.json two.json --metric p@1 --plot d.svg")
    for name, n_measures in (("d.svg", 1), ("r.svg", 2)):
        assert (folder / name).read_text("utf-8").count(">  critical difference ") == n_measures
    assert "Critical differences by P@1" in (folder / "r.html").read_text("utf-8")
    ranked = (folder / "r.html").read_text("utf-8")
    assert "SHA-256 of two.json" in ranked
    assert "<dt>Command</dt>" in ranked
    page = (folder / "c.html").read_text("utf-8")
    assert "Differences" in page
    assert "SHA-256 of scores.npz" in page
    assert (folder / "c.png").read_bytes().startswith(BEGINS["png"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "plot Y_test.npz m_indices.npy --kind roc --output a.gif",
            "a.gif: a figure is written as .png, .svg, .pdf",
        ),
        (
            "plot Y_test.npz m_indices.npy --metrics p@1 --kind differences --output a.png",
            "kind: 'differences' needs a comparison",
        ),
        ("plot Y_test.npz m_indices.npy --kind rok --output a.png", "roc"),
        ("report Y_test.npz m_indices.npy --output no/page.html", "no/page.html: its folder does not exist"),
        ("compare Y_test.npz m_indices.npy scores.npz --plot a.jpg", "a.jpg: a figure is written as"),
        (
            "compare Y_test.npz m_indices.npy scores.npz --html scores.npz",
            "scores.npz: a page is written as .html, .htm",
        ),
        ("compare Y_test.npz m_indices.npy scores.npz --html p.md", "p.md: a page is written as .html, .htm"),
        ("report Y_test.npz m_indices.npy --output p.pdf", "p.pdf: a page is written as .html, .htm"),
        ("report Y_test.npz m_indices.npy --output P.PNG", "P.PNG: a page is written as .html, .htm"),
        ("report no.npz m_indices.npy --output p.pdf", "p.pdf: a page is written as .html, .htm"),
        ("rank one.json two.json --html p.pdf", "p.pdf: a page is written as .html, .htm"),
        ("plot Y_test.npz m_indices.npy --kind groups --output a.png", "needs --label-groups"),
    ],
)
def test_what_cannot_be_drawn_is_told(
    folder: Path, refused: Callable[..., str], line: str, message: str
) -> None:
    before = {*folder.iterdir()}
    assert message in refused(line)
    assert {*folder.iterdir()} == before


@pytest.mark.parametrize("name", ["p.html", "P.HTM", "page"])
def test_a_page_may_be_called_so(folder: Path, run: Callable[..., str], name: str) -> None:
    run(f"report Y_test.npz m_indices.npy --metrics p@1 --output {name}")
    assert Path(name).read_bytes().startswith(b"<!DOCTYPE html>")
