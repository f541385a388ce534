"""`xmleval convert`: there and back is the identity wherever a format can hold the data."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import DATA, NO_DATA
from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npy, npz
from xmleval import calibrate, fuse
from xmleval.cli import convert as converting
from xmleval.cli import main
from xmleval.input.formats import xmc
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.xmc import write_xmc
from xmleval.input.stack import all_cells

TRUTH_ENDINGS = (".npz", ".txt", ".txt.gz", ".qrels", ".qrels.gz", ".parquet")
SMALL = 100  # bytes of rows that are read at a time
NATIVE = sorted(DATA.glob("*/native/*.arff.gz"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(found: Any, wanted: Any) -> None:
    """The same stored entries, by row and by label, in the same shape."""
    found, wanted = sp.csr_array(found), sp.csr_array(wanted)
    assert found.shape == wanted.shape
    for matrix in (found, wanted):
        matrix.sort_indices()
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))


def ragged_scores() -> Any:
    """Scores of which some rows have none, with a zero that is stored and awkward numbers."""
    scores = make_scores()
    scores.data[::5] = np.float32(1) / 3
    scores.data[7:10] = [0.0, np.inf, -1e-30]
    kept = np.repeat(np.arange(60) % 9 != 4, 6)
    ptr = np.concatenate(([0], np.cumsum(kept.reshape(60, 6).sum(axis=1))))
    return sp.csr_array((scores.data[kept], scores.indices[kept], ptr), shape=(60, 30))


@pytest.mark.parametrize("ending", TRUTH_ENDINGS)
@pytest.mark.parametrize("source", list(TRUTHS))
def test_truth_there_and_back(folder: Path, run: Any, source: str, ending: str) -> None:
    path = TRUTHS[source](folder / "Y", make_truth())
    assert run(f"convert {path.name} there{ending} --kind truth") == ""
    assert_same(read_truth(folder / f"there{ending}"), make_truth())
    assert run(f"convert there{ending} back.npz --kind truth") == ""
    assert_same(sp.load_npz("back.npz"), make_truth())
    held = (folder / f"there{ending}").read_bytes()
    assert (held[:2] == b"\x1f\x8b") is ending.endswith(".gz")


@pytest.mark.parametrize("source", ["npz", "npy", "txt"])
@pytest.mark.parametrize("kind", ["truth", "scores"])
def test_text_is_the_same_in_pieces(
    folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch, source: str, kind: str
) -> None:
    matrix = ragged_scores() if kind == "scores" else make_truth()
    write: dict[str, Any] = {
        "npz": lambda: npz(folder / "m", matrix),
        "npy": lambda: np.save("m.npy", matrix.toarray()),
        "txt": lambda: write_xmc("m.txt", matrix, kind),
    }
    write[source]()
    monkeypatch.setattr(converting, "STREAMED_BYTES", SMALL)
    monkeypatch.setattr(xmc, "PER_PART", 1 << 16)
    monkeypatch.setattr(converting, "collected", None)  # what is streamed is not held
    run(f"convert m.{source} pieces.txt --kind {kind} --n-labels 40")
    monkeypatch.undo()
    if source == "npy" and kind == "scores":
        matrix = all_cells(matrix.toarray())
    matrix.resize((60, 40))
    write_xmc(folder / "whole.txt", matrix, kind)
    assert (folder / "pieces.txt").read_bytes() == (folder / "whole.txt").read_bytes()


def test_faults_of_later_pieces_are_named_by_row(
    folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = ragged_scores()
    place = scores.indptr[50]
    scores.indices[place : place + 2] = 7
    npz(folder / "m", scores)
    monkeypatch.setattr(converting, "STREAMED_BYTES", SMALL)
    (folder / "there.txt").write_text("old")
    message = refused("convert m.npz there.txt --kind scores")
    assert "m.npz" in message
    assert "row 50: label id 7 occurs twice" in message
    assert (folder / "there.txt").read_text() == "old"
    assert {path.name for path in folder.iterdir()} == {"m.npz", "there.txt"}


@pytest.mark.parametrize("ending", [".npz", ".txt", ".txt.gz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_there_and_back(folder: Path, run: Any, ending: str, dtype: Any) -> None:
    scores = ragged_scores().astype(dtype)
    if dtype == np.float64:
        scores.data[20] = np.pi
    npz(folder / "m", scores)
    run(f"convert m.npz there{ending} --kind scores")
    width = " --n-labels 30" if ending.endswith(".npy") else ""
    run(f"convert there{ending} back.npz --kind scores{width}")
    back = sp.load_npz("back.npz")
    assert_same(back.astype(dtype), scores)
    assert back.dtype == (np.float64 if ".txt" in ending else dtype)  # text does not tell a type


@pytest.mark.parametrize("source", list(SCORES))
def test_scores_of_every_format(folder: Path, run: Any, source: str) -> None:
    path = SCORES[source](folder / "m", make_scores())
    run(f"convert {path.name} there.npz --kind scores --n-labels 30")
    assert_same(sp.load_npz("there.npz").astype(np.float32), make_scores())


@pytest.mark.parametrize("ending", [".npz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("bare", [False, True])
def test_lists_there_and_back(folder: Path, run: Any, ending: str, bare: bool) -> None:
    labels, values = as_list(make_scores())
    values = values.copy()
    values[3, 1:4] = values[3, 1]  # tied, not in the order of their labels
    labels[3, 1:4] = [9, 20, 4]
    labels[3, [0, 4, 5]] = [0, 1, 2]
    labels[5, 4:], values[5, 4:] = -1, np.nan
    np.save("m_indices.npy", labels)
    if not bare:
        np.save("m_scores.npy", values)
    run(f"convert m_indices.npy there{ending} --kind scores")
    run(f"convert there{ending} back_indices.npy --kind scores")
    np.testing.assert_array_equal(np.load("back_indices.npy"), labels)
    assert (folder / "back_scores.npy").exists() is not bare
    if not bare:
        np.testing.assert_array_equal(np.load("back_scores.npy"), values)
    whole = read_scores(folder / f"there{ending}")
    assert (whole[1] is None) is bare


def test_runs_there_and_back_by_the_names_of_a_truth(folder: Path, run: Any) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "m", make_scores())
    run("convert Y.npz Y.qrels --kind truth")
    for ending in ("run", "run.gz"):
        run(f"convert m.npz m.{ending} --kind scores")
        run(f"convert m.{ending} back.npz --like Y.qrels")
        order = [int(name) for name in names_in_order(folder)]
        back = sp.csr_array(sp.load_npz("back.npz"))
        assert_same(back[:, np.argsort(order)], make_scores())
    assert gzip.decompress((folder / "m.run.gz").read_bytes()) == (folder / "m.run").read_bytes()


def names_in_order(folder: Path) -> list[str]:
    """Labels of the truth and then of the run in the order in which they appear."""
    lines = (folder / "Y.qrels").read_text().splitlines() + (folder / "m.run").read_text().splitlines()
    return list(dict.fromkeys(line.split()[2] for line in lines))


def test_shards_become_one(folder: Path, run: Any) -> None:
    (folder / "parts").mkdir()
    for number in range(12):
        npy(folder / "parts" / f"p{number}", make_scores()[number * 5 : number * 5 + 5])
    run("convert parts whole_indices.npy --kind scores")
    labels, scores = read_scores(folder / "whole")
    np.testing.assert_array_equal(labels, as_list(make_scores())[0])
    np.testing.assert_array_equal(scores, as_list(make_scores())[1])


@pytest.mark.parametrize(("dtype", "filler"), [(np.float32, np.nan), (np.int64, 0)])
def test_shards_of_shorter_lists_are_filled_up(folder: Path, run: Any, dtype: type, filler: float) -> None:
    (folder / "parts").mkdir()
    labels = np.array([[4, 2, 0], [1, 3, 2]])
    scores: Any = np.array([[9, 8, 7], [6, 5, 4]], dtype)
    for number, depth in enumerate((3, 2)):
        for name, array in (("indices", labels), ("scores", scores)):
            np.save(f"parts/p{number}_{name}.npy", array[[number], :depth])
    assert run("convert parts whole_indices.npy --kind scores") == ""
    labels[1, 2], scores = -1, scores.astype(np.float64)
    scores[1, 2] = filler
    np.testing.assert_array_equal(np.load("whole_indices.npy"), labels)
    np.testing.assert_array_equal(np.load("whole_scores.npy"), scores)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Y.npz Y.svm --kind truth", "Y.svm: its name does not tell a format that is written"),
        ("Y.npz Y --kind truth", "Y: its name does not tell a format that is written"),
        ("Y.npz Y.arrow --kind truth", "Y.arrow: its name does not tell a format that is written"),
        ("Y.npz Y.npz --kind truth", "Y.npz: is an input; expected another file for the output"),
        ("Y.npz Z.npz", "Y.npz: a SciPy sparse matrix may hold truth or scores; expected --kind"),
        ("none.npz Z.txt --kind truth", "none.npz: No such file or directory"),
        ("m.npz Z.txt --kind truth", "m.npz: row 0: value"),
        ("bad_indices.npy Z.parquet", "bad_indices.npy: row 7: label id 3 occurs twice"),
        ("nan_indices.npy Z.parquet", "nan_indices.npy: row 7: score nan is not a number"),
        ("m_indices.npy none/m.npz", "none/m.npz: its folder does not exist"),
        ("m.run Z.npz", "m.run: has names; expected --like with the truth that they belong to"),
        (
            "o_scores.npy o_indices.npy --kind scores --input-format dense",
            "o_scores.npy: is an input; expected another file for the output",
        ),
        ("bare_indices.npy Z.txt", "bare_indices.npy: a list without scores is no matrix"),
    ],
)  # fmt: skip
def test_what_is_not_converted(folder: Path, refused: Any, run: Any, line: str, said: str) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "m", make_scores())
    run("convert m.npz m.run --kind scores")
    labels, values = as_list(make_scores())
    np.save("m_indices.npy", labels)
    np.save("bare_indices.npy", labels)
    np.save("o_scores.npy", values)
    np.save("nan_indices.npy", labels)
    np.save("nan_scores.npy", np.where(np.arange(60)[:, None] == 7, np.nan, values))
    labels[7] = 3
    np.save("bad_indices.npy", labels)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert refused(f"convert {line}").startswith(said)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
@pytest.mark.skipif(not NATIVE, reason=NO_DATA)
@pytest.mark.parametrize("path", NATIVE, ids=lambda path: path.name.split(".")[0])
@pytest.mark.parametrize("ending", [".npz", ".txt", ".parquet"])
def test_native_files_are_the_matrices_beside_them(folder: Path, run: Any, path: Path, ending: str) -> None:
    run(f"convert '{path}' there{ending} --kind truth")
    found = sp.csr_array(read_truth(folder / f"there{ending}"))
    for split in ("test", "train"):
        wanted = sp.load_npz(path.parents[1] / f"Y_{split}.npz")
        if path.name == "cal500.arff.gz":
            rows = np.load(path.parents[1] / f"split_{split}_rows.npy")
            assert_same(found[rows], wanted.astype(np.uint8))
        elif split in path.name:
            assert_same(found, wanted.astype(np.uint8))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_lists_of_unsigned_ids_and_of_whole_scores(folder: Path, run: Any, dtype: Any) -> None:
    np.save("u_indices.npy", np.array([[0, 8], [1, 2]], dtype))
    np.save("u_scores.npy", np.array([[3, 2], [9, 1]]))
    assert run("convert u_indices.npy u.txt --kind scores") == ""
    assert Path("u.txt").read_text().split("\n", 1)[1] == "0:3.0 8:2.0\n1:9.0 2:1.0\n"


@pytest.mark.parametrize(
    ("ending", "lost"), [(".txt", 2), (".npz", 2), (".run", 1), (".parquet", 0), ("_indices.npy", 0)]
)
def test_equal_scores_of_lists_keep_their_order_or_are_noted(
    folder: Path, run: Any, capsys: pytest.CaptureFixture[str], ending: str, lost: int
) -> None:
    labels = np.array([[2, 0, 1], [2, 1, 0], [0, 1, 2], [1, 0, -1]])
    levels = [[0.5, 0.5, 0.25], [0.75, 0.75, 0.5], [0.5, 0.5, 0.25], [0.5, 0.25, np.nan]]
    scores = np.array(levels, np.float32)
    np.save("m_indices.npy", labels)
    np.save("m_scores.npy", scores)
    rows = {0: "", 1: "1 row has", 2: "2 rows have"}[lost]
    told = f"{rows} equal scores whose order is not kept; _indices.npy and .parquet keep it"
    assert main(["convert", "m_indices.npy", f"o{ending}", "--kind", "scores", "--n-labels", "3"]) == 0
    assert capsys.readouterr().err == (f"xmleval: o{ending}: {told}\n" if lost else "")
    npz(folder / "Y.npz", sp.csr_array(np.eye(3, dtype=np.uint8)[labels[:, 0]]))
    if not lost:
        assert '"p@1": 1.0' in run(f"evaluate Y.npz o{ending} --metrics p@1 --format json")


@pytest.mark.parametrize(("ending", "lost"), [(".run", 2), (".txt", 0), (".npz", 0), ("_indices.npy", 0)])
@pytest.mark.parametrize("source", ["m.npz", "m.txt"])
def test_equal_scores_of_matrices_are_noted_in_runs_which_rank_by_name(
    folder: Path, run: Any, capsys: pytest.CaptureFixture[str], source: str, ending: str, lost: int
) -> None:
    scores = np.array([[0.5, 0.5, 0.25], [0.75, 0.5, 0.5], [0.5, 0.75, 0.25]], np.float32)
    npz(folder / "m.npz", sp.csr_array(scores))
    if source == "m.txt":
        run("convert m.npz m.txt --kind scores")
    assert main(["convert", source, f"o{ending}", "--kind", "scores"]) == 0
    told = "2 rows have equal scores whose order is not kept; _indices.npy and .parquet keep it"
    assert capsys.readouterr().err == (f"xmleval: o{ending}: {told}\n" if lost else "")


def test_equal_scores_of_a_run_are_noted_where_labels_become_numbers(
    folder: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.qrels").write_text("q 0 a 1\nq 0 b 0\nr 0 c 1\n")
    (folder / "s.run").write_text("q Q0 a 1 0.5 t\nq Q0 b 2 0.5 t\nr Q0 a 1 0.5 t\nr Q0 b 2 0.25 t\n")
    assert main(["convert", "s.run", "o.npz", "--like", "t.qrels"]) == 0
    told = "1 row has equal scores whose order is not kept; _indices.npy and .parquet keep it"
    assert f"xmleval: o.npz: {told}\n" in capsys.readouterr().err


@pytest.mark.parametrize("source", list(TRUTHS))
def test_a_truth_does_not_become_a_list(folder: Path, refused: Any, source: str) -> None:
    path = TRUTHS[source](folder / "Y", make_truth())
    told = refused(f"convert {path.name} o_indices.npy --kind truth")
    assert told == "o_indices.npy: a top-k list holds no relevant labels; expected another name"
    assert not [*folder.glob("o*")]


@pytest.mark.parametrize("line", ["convert m_indices.npy o.txt --kind scores", "fuse m m --output o.txt"])
@pytest.mark.parametrize("n_labels", [2**40 + 1, 2**63, 10**25])
def test_more_labels_than_there_can_be_are_refused(
    folder: Path, refused: Any, line: str, n_labels: int
) -> None:
    np.save("m_indices.npy", [[0, 1]])
    told = refused(f"{line} --n-labels {n_labels}")
    assert told.startswith(f"Invalid value for '--n-labels': {n_labels} is not in the range 1<=x<={2**40}")
    with pytest.raises(ValueError, match=f"^n_labels: {n_labels} is more than {2**40}"):
        fuse([(np.array([[0, 1]]), None)] * 2, n_labels=n_labels)


@pytest.mark.parametrize("ending", [".npz", ".txt", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("source", ["S.npy", "Z.npz"])
def test_probabilities_of_dense_scores(folder: Path, run: Any, source: str, ending: str) -> None:
    scores = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    truth = (scores + np.random.default_rng(1).normal(size=scores.shape) > 0).astype(np.uint8)
    np.save("S.npy", scores)
    np.savez("Z.npz", scores=scores)
    calibrator = calibrate.fit(truth, scores, "platt")
    calibrator.save("map.json")
    assert run(f"calibrate apply map.json {source} --output o{ending}") == "30 rows, 120 probabilities\n"
    assert run(f"convert o{ending} back.npz --kind scores --n-labels 4") == ""
    back = sp.load_npz("back.npz").toarray().astype(np.float32)  # text is read in float64
    assert np.array_equal(back, calibrator.apply(scores))
