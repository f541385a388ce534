"""`xmleval fuse`: what it writes is what `xmleval.fuse` returns, whatever the format and the pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import as_list, make_scores, npy, npz
from xmleval.budget import Budget
from xmleval.cli import main
from xmleval.fusion import RULES
from xmleval.input.formats.registry import read_scores
from xmleval.input.formats.xmc import write_xmc

SMALL = 200  # bytes of rows that are read at a time


@pytest.fixture
def two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Two models in files that are read a few rows at a time."""
    found = [make_scores(seed=1), make_scores(seed=2, depth=9)]
    npz(folder / "a", found[0])
    write_xmc("b.txt", found[1], "scores")
    npy(folder / "c", found[0])
    monkeypatch.setattr(Budget, "piece", lambda self, n: SMALL)
    return [found[0], read_scores("b.txt")]


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_those_of_python(two: list[Any], run: Any, rule: str) -> None:
    told = run(f"fuse a.npz b.txt --rule {rule} --k 4 --output out.npz")
    assert told == f"60 rows x 30 labels, 240 listed ({rule} of 2)\n"
    wanted = xmleval.fuse(two, rule, k=4)
    np.testing.assert_array_equal(sp.load_npz("out.npz").toarray(), wanted.toarray())


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz", "out.parquet", "out_indices.npy", "out.npz"])
def test_every_format_is_written(two: list[Any], run: Any, name: str) -> None:
    run(f"fuse a.npz b.txt --weights 1,0.5 --rank-constant 10 --output {name}")
    wanted = xmleval.fuse(two, weights=[1, 0.5], rank_constant=10)
    report = xmleval.evaluate(wanted > 0.05, wanted, metrics=["ndcg", "p@5"])
    found = xmleval.evaluate(wanted > 0.05, read_scores(name), metrics=["ndcg", "p@5"])
    assert dict(found) == dict(report)


def test_lists_stay_lists_where_nothing_tells_the_number_of_labels(two: list[Any], run: Any) -> None:
    npy(Path("e"), two[0])
    assert run("fuse c e --output d.npz").startswith("60 rows x 30 labels, 360 listed")
    labels, scores = read_scores("d.npz")
    wanted = xmleval.fuse([as_list(two[0])] * 2)
    np.testing.assert_array_equal(labels, wanted[0])
    np.testing.assert_array_equal(scores, wanted[1])


def test_names_are_matched_and_written(folder: Path, run: Any, capsys: Any) -> None:
    Path("a.run").write_text("q1 Q0 x 1 0.9 t\nq2 Q0 z 1 0.5 t\n")
    Path("b.json").write_text('{"q2": {"x": 3}, "q1": {"x": 1, "y": 2}}')
    assert run("fuse a.run b.json --rule sum --output out.run").startswith("2 rows x 3 labels, 4 listed")
    lines = [line.split() for line in Path("out.run").read_text().splitlines()]
    assert [line[0] + line[2] + line[4] for line in lines] == ["q1y2.0", "q1x1.9", "q2x3.0", "q2z0.5"]
    Path("truth.json").write_text('{"q2": {"z": 1}, "q1": {"x": 1}}')
    main(["fuse", "a.run", "b.json", "--like", "truth.json", "--output", "out.npz"])
    assert (
        "b.json: 1 predicted label never occurs in the truth; it counts as wrong" in capsys.readouterr().err
    )
    assert sp.load_npz("out.npz").indices.tolist() == [0, 1, 1, 2]  # q2 first, and z
