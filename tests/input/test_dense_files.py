"""Dense arrays in files: the same bits as from memory, in pieces or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import DATA, NO_DATA
from tests.made_files import make_truth, npz, svmlight
from xmleval import evaluate
from xmleval.input.formats.registry import read_scores, read_truth

METRICS = "xmc,ranking,auc.micro,f1.macro@3"


def dense(dtype: Any = np.float32) -> Any:
    return np.random.default_rng(5).integers(-4, 9, (60, 30)).astype(dtype) / 4  # with ties and zeros


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    np.save("T.npy", make_truth().toarray())
    np.save("S.npy", dense())
    np.save("F.npy", np.asfortranarray(dense()))
    np.save("D.npy", dense(np.float64))
    np.savez("plain.npz", scores=dense())
    np.savez_compressed("packed.npz", scores=dense())
    np.savez("fortran.npz", scores=np.asfortranarray(dense()))
    return tmp_path


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", ["S.npy", "S", "F.npy", "D.npy", "plain.npz", "packed.npz", "fortran.npz"])
def test_scores(folder: Path, run: Any, name: str, memory: str) -> None:
    want = evaluate(make_truth(), dense(), metrics=METRICS.split(",")).to_json() + "\n"
    line = f"evaluate {{}} {name} --metrics {METRICS} --format json --memory {memory}"
    assert run(line.format("Y.npz")) == want
    assert run(line.format("T.npy")) == want
    found = read_scores(name)
    np.testing.assert_array_equal(found, dense())


@pytest.mark.slow
def test_other_commands(folder: Path, run: Any) -> None:
    assert run("stats T.npy --train T.npy") == run("stats Y.npz --train Y.npz")
    run("convert T.npy T.npz --kind truth")
    assert (sp.load_npz("T.npz") != make_truth()).nnz == 0
    assert sp.load_npz("T.npz").nnz == make_truth().nnz
    for name in ("S.npy", "packed.npz"):
        run(f"convert {name} S.txt --kind scores")
        found = read_scores("S.txt")
        assert found.nnz == found.shape[0] * found.shape[1]
        np.testing.assert_array_equal(found.toarray(), dense())
    run("threshold fit T.npy S.npy --measure f1.micro --output rule.npz")
    run("threshold apply S.npy --rule rule.npz --output sets.npz")
    line = "evaluate Y.npz {} --metrics f1.micro --format json"
    values = json.loads(run(line.format("--pred sets.npz")))["values"]
    assert json.loads(run(line.format("S.npy --decision rule.npz")))["values"] == values
    np.save("sets.npy", read_truth("sets.npz").toarray())
    assert json.loads(run(line.format("--pred sets.npy")))["values"] == values
    assert json.loads(run("bench T.npy S.npy --format json"))["scores"] == 1800


def test_excluded_pairs_of_dense_rows(folder: Path, run: Any) -> None:
    Path("pairs.txt").write_text("".join(f"{row} {row % 30}\n" for row in range(0, 60, 3)))
    truth, scores = make_truth().toarray(), dense()
    for row in range(0, 60, 3):
        truth[row, row % 30] = 0
        scores[row, row % 30] = -99
    line = "evaluate T.npy S.npy --exclude pairs.txt --metrics p@5,r@5,ndcg@3 --format json --memory 1KB"
    want = evaluate(truth, scores, metrics=["p@5", "r@5", "ndcg@3"])
    assert json.loads(run(line))["values"] == dict(want)


def test_shards_and_a_format_by_name(folder: Path, run: Any) -> None:
    Path("parts").mkdir()
    for number in range(12):
        np.save(f"parts/p{number}.npy", dense()[number * 5 : number * 5 + 5])
    np.save("list.npy", np.argsort(-dense(), axis=1, kind="stable")[:, :5])
    Path("S.npy").rename("S.dat")
    svmlight(folder / "Z", make_truth())
    line = "evaluate {} --metrics p@3,ndcg@5 --format json"
    want = json.loads(run(line.format("Y.npz D.npy")))["values"]
    for inputs in ("Y.npz parts", "Y.npz S.dat --input-format dense", "Z.svm list.npy --input-format npy"):
        assert json.loads(run(line.format(inputs)))["values"] == want


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("T.npy ints.npy", "ints.npy: int64 of shape (60, 30); expected scores of all labels, floating"),
        ("T.npy nothing.npy", "nothing.npy: shape (60, 0), without a label; expected scores"),
        ("T.npy nothing.npz", "nothing.npz: shape (60, 0), without a label; expected scores"),
        ("T.npy vector.npy", "vector.npy: float64 of shape (60,); expected scores of all labels"),
        ("Y.npz vector.npz", "vector.npz: scores is float64 of shape (60,); expected scores of all labels"),
        ("S.npy D.npy", "S.npy: row 0: value "),
        ("T.npy few.npy", "few.npy: 59 rows do not match the 60 of T.npy"),
        ("T.npy narrow.npy", "narrow.npy: 29 labels do not match the 30 of T.npy"),
        ("T.npy nan.npy", "nan.npy: row 7: score nan is not a number"),
        ("T.npy none.npy", "none.npy: No such file or directory"),
        ("packed.npz S.npy", "packed.npz: no array 'format' in it; expected a SciPy sparse matrix"),
    ],
)
def test_what_is_refused(folder: Path, refused: Any, line: str, said: str) -> None:
    np.save("ints.npy", dense().astype(np.int64))
    np.save("nothing.npy", np.ones((60, 0)))
    np.savez("nothing.npz", scores=np.ones((60, 0)))
    np.save("vector.npy", np.ones(60))
    np.savez("vector.npz", scores=np.ones(60))
    np.save("few.npy", dense()[:59])
    np.save("narrow.npy", dense()[:, :29])
    wrong = dense()
    wrong[7, 3] = np.nan
    np.save("nan.npy", wrong)
    assert refused(f"evaluate {line}").startswith(said)


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
def test_real_scores(run: Any) -> None:
    name = DATA / "bibtex" / "dense_lr.npz"
    found = run(f"evaluate '{DATA}/bibtex/Y_test.npz' '{name}' --metrics {METRICS} --format json")
    truth, scores = sp.load_npz(DATA / "bibtex" / "Y_test.npz"), np.load(name)["scores"]
    assert found == evaluate(truth, scores, metrics=METRICS.split(",")).to_json() + "\n"
