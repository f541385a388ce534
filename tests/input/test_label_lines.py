"""Texts with the labels of a row on each line: ids, names, names with scores; told from others by content."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer, values_of
from tests.made_files import (
    as_list,
    fasttext,
    ids,
    make_scores,
    make_truth,
    npz,
    rows_of,
    svmlight,
    xmc,
    xmc_data,
)
from xmleval import evaluate
from xmleval.input.formats.label_lines import ids_pieces
from xmleval.input.formats.registry import read_scores, read_truth

METRICS = ["p@1", "ndcg@5", "lrap"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    npz(tmp_path / "m", make_scores())
    return tmp_path


@pytest.mark.parametrize("separator", [" ", ",", ", ", "\t"])
def test_ids_of_a_truth(folder: Path, separator: str) -> None:
    path = ids(folder / "test_labels", make_truth(), separator)
    np.testing.assert_array_equal(read_truth(path).toarray(), make_truth().toarray())
    want = dict(evaluate(make_truth(), make_scores(), metrics=METRICS))
    for memory in ("1GiB", "500"):
        assert values_of(METRICS, f"test_labels.txt m.npz --memory {memory}") == want
    assert values_of(METRICS, "test_labels m.npz") == want
    train = "Y.npz m.npz --train {} --metrics psp@1 --format json"
    code, out, _ = answer(f"evaluate {train.format('test_labels.txt')}".split())
    assert (code, out) == answer(f"evaluate {train.format('Y.npz')}".split())[:2]


def test_ids_of_scores_are_lists_best_first(folder: Path) -> None:
    labels, _ = as_list(make_scores())
    Path("m.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in labels.tolist()))
    want = dict(evaluate(make_truth(), (labels, None), metrics=METRICS))
    for memory in ("1GiB", "500"):
        assert values_of(METRICS, f"Y.npz m.txt --input-format lines --memory {memory}") == want
    np.testing.assert_array_equal(read_scores("m.txt", format="lines")[0], labels)


@pytest.mark.parametrize("form", ["label:score", "fasttext", "names"])
def test_names(folder: Path, form: str) -> None:
    fasttext(folder / "t", make_truth(), "truth")
    labels, scores = as_list(make_scores())
    pairs = [
        zip(map(str, row), own, strict=True)
        for row, own in zip(labels.tolist(), scores.tolist(), strict=True)
    ]
    words: Any = {
        "label:score": lambda name, score: f"l{name}:{score!r}",
        "fasttext": lambda name, score: f"__label__l{name} {score!r}",
        "names": lambda name, score: f"l{name}",
    }[form]
    Path("t.txt").write_text(Path("t.txt").read_text().replace("__label__", "__label__l"))
    Path("p.txt").write_text("".join(" ".join(words(*pair) for pair in row) + "\n" for row in pairs))
    want = evaluate(make_truth(), (labels, None if form == "names" else scores), metrics=METRICS)
    line = "t.txt p.txt" + " --input-format lines" * (form == "names")
    assert values_of(METRICS, line) == pytest.approx(dict(want), rel=1e-12)


def test_other_texts_are_what_they_were(folder: Path) -> None:
    for form in ("entries", "data"):
        path = (
            xmc_data(folder / "x", make_truth())
            if form == "data"
            else xmc(folder / "x", make_truth(), "truth")
        )
        np.testing.assert_array_equal(read_truth(path).toarray(), make_truth().toarray())
    path = svmlight(folder / "y", make_truth())
    np.testing.assert_array_equal(read_truth(path).toarray(), make_truth().toarray())


@pytest.mark.parametrize("text", ["3 9\n1\n2\n4 0\n", "3 8 9\n\n1 0\n2\n", "\n3 8 9\n1\n2\n"])
def test_a_first_line_that_looks_like_a_header(folder: Path, text: str) -> None:
    Path("like.txt").write_text(text)
    assert read_truth("like.txt").shape == (4, 10)


LONE = ["3 5\n", "0 5 1", "7\n", "3, 5\n", "3 4 5 6\n"]


@pytest.mark.parametrize(
    "text", ["85 37 23 76 43\n4 2\n", "85 37\n4 2 3\n", "1 2 3\n4\n0 5\n", "7\n\n2 1\n", *LONE]
)
def test_ids_that_cannot_be_a_header_are_lists_in_scores(folder: Path, text: str) -> None:
    Path("p.txt").write_text(text)
    rows = [[int(word) for word in line.replace(",", " ").split()] for line in text.splitlines()]
    labels, scores = read_scores("p.txt")
    assert ([[label for label in row if label >= 0] for row in labels.tolist()], scores) == (rows, None)
    sp.save_npz("T.npz", sp.csr_array(np.eye(len(rows), 90, dtype=np.uint8)))
    want = dict(evaluate(sp.load_npz("T.npz"), rows, n_labels=90, metrics=METRICS))
    assert values_of(METRICS, "T.npz p.txt") == want
    asked = ["p@1", "--candidates", "p.txt"]
    np.savez("d.npz", scores=np.ones((len(rows), 90)))
    assert answer(["evaluate", "T.npz", "d.npz", "--metrics", *asked])[0] == 0


def test_a_row_of_ids_that_is_taken_for_a_header_is_told(folder: Path, refused: Any) -> None:
    Path("t.txt").write_text("17 28 78\n15\n" + "4,5\n" * (len(make_truth().toarray()) - 2))
    np.save("l_indices.npy", as_list(make_scores())[0])
    hint = "; of ids without a header, --input-format lines"
    assert f"labels do not match the 78 of t.txt{hint}" in refused("evaluate t.txt m.npz --metrics p@1")
    with_workers = [" --workers 2"] if find_spec("distributed") else []
    for more in ["", *with_workers]:
        told = refused(f"evaluate t.txt l_indices.npy --metrics p@1{more}")
        assert f"rows do not match the 17 of t.txt{hint}" in told
    code, _, err = answer(
        ["evaluate", "t.txt", "l_indices.npy", "--metrics", "p@1", "--input-format", "lines"]
    )
    assert code == 0, err


def test_a_line_that_may_be_a_header_of_no_rows_is_one(folder: Path, refused: Any) -> None:
    Path("p.txt").write_text("0 5\n")
    told = refused("evaluate Y.npz p.txt --metrics p@1")
    assert told.endswith("; of ids without a header, --input-format lines"), told


def test_rows_below_a_row_of_ids_tell_that_it_is_no_header(folder: Path) -> None:
    Path("t.txt").write_text("17 28 78\n15\n" + "4 5\n" * 3)
    assert read_truth("t.txt").shape == (5, 79)


def test_what_may_have_a_header_has_one(folder: Path) -> None:
    Path("like.txt").write_text("4 8 9\n1\n2\n4\n")
    assert "--input-format lines" in answer(["stats", "like.txt"])[2]
    assert read_truth("like.txt", format="lines").shape == (4, 10)


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        ("Z.txt m.npz", "1\n2 x\n", "line 2: 'x' is not a label id, a whole number from 0 up"),
        ("Z.txt m.npz", "1\n2 -1\n", "line 2: '-1' is not a label id"),
        ("Z.txt m.npz", "1\n2:0.5\n", "line 1: '1' is not a header of two or three integers"),
        ("Z.txt m.npz", "1\n\n2 3 2\n", "line 3: label id 2 occurs twice"),
        ("Z.txt m.npz", "1\n1234567890123456\n", "line 2: '1234567890123456' is not a label id"),
        ("Z.txt m.npz", "names of\nlabels\n", "line 1: 'names of' is not a header of two or three integers"),
        ("Y.npz Z.txt", "1:0.5 2:0.25\n", "line 1: '1:0.5 2:0.25' is not a header of two or three integers"),
        ("t.txt Z.txt", "a:0.5 b:0.25\na b:1\n", "line 2: labels with scores, and others without"),
        ("t.txt Z.txt", "a:0.5\na:0.5 a:1\n", "line 2: label 'a' of instance '1' a second time"),
        (
            "t.txt Z.txt",
            "__label__a 0.5\n__label__b x\n",
            "line 2: '__label__b x' is not __label__name and its",
        ),
        (
            "t.txt Z.txt",
            "__label__a 0.5\n__label__b 1 __label__c\n",
            "line 2: '__label__c ' is not __label__name",
        ),
        ("t.txt Z.txt", "a:0.5\n", "1 row does not match the 2 of TRUTH"),
    ],
)
def test_what_is_refused(folder: Path, refused: Any, line: str, text: str, said: str) -> None:
    Path("t.txt").write_text("__label__a a text\n__label__b __label__c another\n")
    Path("Z.txt").write_text(text)
    told = refused(f"evaluate {line} --metrics p@1")
    assert told.startswith(f"Z.txt: {said}"), told
    assert "; expected " in told


def test_one_long_line_among_short_ones_takes_little_memory(folder: Path) -> None:
    rows = [[*range(20_000)], *([0] for _ in range(100_000))]
    Path("Z.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    sizes = [labels.size for labels, _ in ids_pieces(Path("Z.txt"), "scores").read(1 << 26)]
    assert sum(sizes) < 2 << 20
    assert rows_of(read_truth("Z.txt"))[0] == rows[0]
