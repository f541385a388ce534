"""`xmleval convert` and `fuse`: there and back is the identity wherever a format can hold the data."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.commands import Run
from tests.damage import answer
from tests.limits import small_limits
from tests.made_files import TRUTHS, as_list, make_scores, make_truth, npz, trec_run
from xmleval.io import read_scores, read_truth, write_xmc

TIES = "equal scores whose order is not kept; _indices.npy, .parquet, .csv, .jsonl keep it"


def assert_same(actual: Any, expected: Any) -> None:
    """Assert that the same entries are stored, by row and by label, in the same shape."""
    actual, expected = sp.csr_array(actual), sp.csr_array(expected)
    assert actual.shape == expected.shape
    for matrix in (actual, expected):
        matrix.sort_indices()
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


def ragged_scores() -> Any:
    """Return scores of which some rows have none, with a zero that is stored and awkward numbers."""
    scores = make_scores()
    scores.data[::5] = np.float32(1) / 3
    scores.data[7:10] = [0.0, np.inf, -1e-30]
    kept = np.repeat(np.arange(60) % 9 != 4, 6)
    ptr = np.concatenate(([0], np.cumsum(kept.reshape(60, 6).sum(axis=1))))
    return sp.csr_array((scores.data[kept], scores.indices[kept], ptr), shape=(60, 30))


@pytest.mark.parametrize("source", ["npz", "svmlight-gz", "ids"])
def test_truth_in_every_format(folder: Path, run: Run, refused: Run, source: str) -> None:
    Path("in").mkdir()
    path = TRUTHS[source](Path("in/Y"), make_truth())
    for ending in (".npz", ".txt", ".txt.gz", ".qrels", ".qrels.gz", ".parquet"):
        assert run(f"convert {path} there{ending} --kind truth") == ""
        assert_same(read_truth(f"there{ending}"), make_truth())
        assert (Path(f"there{ending}").read_bytes()[:2] == b"\x1f\x8b") is ending.endswith(".gz")
    message = "o_indices.npy: a top-k list holds no relevant labels; expected a name that ends in .npz, "
    assert refused(f"convert {path} o_indices.npy --kind truth").startswith(message)
    assert not [*folder.glob("o*")]


@pytest.mark.parametrize("ending", [".run", ".parquet", "_indices.npy"])
def test_convert_names_the_row_of_a_score_it_refuses(folder: Path, refused: Run, ending: str) -> None:
    scores = make_scores()
    scores.data[scores.indptr[43]] = np.nan
    npz(folder / "m", scores)
    with small_limits():
        message = refused(f"convert m.npz o{ending} --kind scores")
    assert message == "m.npz: row 43: score nan is not a number; scores must be ordered"


@pytest.mark.parametrize("ending", [".npz", ".txt", ".txt.gz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_there_and_back(folder: Path, run: Run, ending: str, dtype: Any) -> None:
    scores = ragged_scores().astype(dtype)
    scores.data[20] = np.pi
    npz(folder / "m", scores)
    with small_limits():
        run(f"convert m.npz there{ending} --kind scores")
        run(f"convert there{ending} back.npz --kind scores --n-labels 30")
    back = sp.load_npz("back.npz")
    assert_same(back.astype(dtype), scores)
    assert back.dtype == (np.float64 if ".txt" in ending else dtype)  # text does not tell a type


@pytest.mark.parametrize("ending", [".npz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("bare", [False, True])
def test_lists_there_and_back(folder: Path, run: Run, ending: str, bare: bool) -> None:
    labels, values = as_list(make_scores())
    values[3, 1:4] = values[3, 1]  # tied, not in the order of their labels
    labels[3] = [0, 9, 20, 4, 1, 2]
    labels[5, 4:], values[5, 4:] = -1, np.nan
    np.save("list_indices.npy", labels)
    if not bare:
        np.save("list_scores.npy", values)
    run(f"convert list_indices.npy there{ending} --kind scores")
    run(f"convert there{ending} back_indices.npy --kind scores")
    np.testing.assert_array_equal(np.load("back_indices.npy"), labels)
    assert Path("back_scores.npy").exists() is not bare
    if not bare:
        np.testing.assert_array_equal(np.load("back_scores.npy"), values)
    assert (read_scores(f"there{ending}")[1] is None) is bare


def test_runs_there_and_back_by_the_names_of_a_truth(folder: Path, run: Run) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "s", make_scores())
    run("convert Y.npz Y.qrels --kind truth")
    for ending in ("run", "run.gz"):
        run(f"convert s.npz s.{ending} --kind scores")
        run(f"convert s.{ending} back.npz --like Y.qrels")
        lines = Path("Y.qrels").read_text().splitlines() + Path("s.run").read_text().splitlines()
        order = [int(name) for name in dict.fromkeys(line.split()[2] for line in lines)]
        assert_same(sp.csr_array(sp.load_npz("back.npz"))[:, np.argsort(order)], make_scores())
    assert gzip.decompress(Path("s.run.gz").read_bytes()) == Path("s.run").read_bytes()


@pytest.mark.parametrize(("dtype", "filler"), [(np.float32, np.nan), (np.int64, 0)])
def test_shards_become_one_list(folder: Path, run: Run, dtype: type, filler: float) -> None:
    Path("parts").mkdir()
    labels = np.array([[4, 2, 0], [1, 3, 2]])
    scores: Any = np.array([[9, 8, 7], [6, 5, 4]], dtype)
    for number, depth in (9, 3), (10, 2):  # the shorter list is filled up
        for name, array in ("indices", labels), ("scores", scores):
            np.save(f"parts/p{number}_{name}.npy", array[[number - 9], :depth])
    assert run("convert parts whole_indices.npy --kind scores") == ""
    labels[1, 2], scores = -1, scores.astype(np.float64)
    scores[1, 2] = filler
    np.testing.assert_array_equal(np.load("whole_indices.npy"), labels)
    np.testing.assert_array_equal(np.load("whole_scores.npy"), scores)


@pytest.mark.parametrize(("line", "message"), [
    ("Y.npz Y --kind truth", "Y: its name does not tell a format that is written"),
    ("Y.npz Z.npz", "Y.npz: a SciPy sparse matrix may hold truth or scores; expected --kind"),
    ("s.npz Z.txt --kind truth", "s.npz: row 0: value"),
    ("s.run Z.npz", "s.run: has names; expected --like with the truth that they belong to"),
    ("bare_indices.npy Z.txt", "Z.txt: a text file of the Extreme Classification Repository holds no list"),
    ("bad_indices.npy Z.parquet", "bad_indices.npy: row 7: label id 3 occurs twice"),
])  # fmt: skip
def test_refused_conversion_writes_nothing(folder: Path, refused: Run, line: str, message: str) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "s", make_scores())
    trec_run(Path("s"), make_scores())
    labels, _ = as_list(make_scores())
    np.save("bare_indices.npy", labels)
    labels[7] = 3
    np.save("bad_indices.npy", labels)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert refused(f"convert {line}").startswith(message)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("ending", "of_list", "of_matrix"), [
    (".txt", 2, 0), (".npz", 2, 0), (".run", 1, 2), (".parquet", 0, 0), ("_indices.npy", 0, 0),
])  # fmt: skip
def test_order_of_equal_scores(folder: Path, run: Run, ending: str, of_list: int, of_matrix: int) -> None:
    labels = np.array([[2, 0, 1], [2, 1, 0], [0, 1, 2], [1, 0, -1]])
    values = [[0.5, 0.5, 0.25], [0.75, 0.75, 0.5], [0.5, 0.5, 0.25], [0.5, 0.25, np.nan]]
    np.save("list_indices.npy", labels)
    np.save("list_scores.npy", np.array(values, np.float32))
    scores = np.array([[0.5, 0.5, 0.25], [0.75, 0.5, 0.5], [0.5, 0.75, 0.25]], np.float32)
    npz(folder / "s.npz", sp.csr_array(scores))
    run("convert s.npz s.txt --kind scores")
    for source, n in ("list_indices.npy", of_list), ("s.npz", of_matrix), ("s.txt", of_matrix):
        code, _, err = answer(f"convert {source} o{ending} --kind scores --n-labels 3".split())
        rows = {0: "", 1: "1 row has", 2: "2 rows have"}[n]
        assert (code, err) == (0, f"xmleval: o{ending}: {rows} {TIES}\n" if n else "")
    if not of_list:
        run(f"convert list_indices.npy o{ending} --kind scores --n-labels 3")
        npz(folder / "Y", sp.csr_array(np.eye(3, dtype=np.uint8)[labels[:, 0]]))
        assert '"p@1": 1.0' in run(f"evaluate Y.npz o{ending} --metrics p@1 --format json")


@pytest.mark.parametrize("rule", ["rrf", "mean", "rank"])
def test_rules_of_fusion_are_those_of_python(folder: Path, run: Run, rule: str) -> None:
    npz(folder / "a", make_scores(seed=1))
    write_xmc("b.txt", make_scores(seed=2, depth=9), "scores")
    with small_limits():
        text = run(f"fuse a.npz b.txt --rule {rule} --k 4 --output out.npz")
    assert text == f"60 rows x 30 labels, 240 listed ({rule} of 2)\n"
    expected = xmleval.fuse([make_scores(seed=1), read_scores("b.txt")], rule, k=4)
    np.testing.assert_array_equal(sp.load_npz("out.npz").toarray(), expected.toarray())


def test_fusion_matches_and_writes_names(folder: Path, run: Run) -> None:
    Path("a.run").write_text("q1 Q0 x 1 0.9 t\nq2 Q0 z 1 0.5 t\n")
    Path("b.json").write_text('{"q2": {"x": 3}, "q1": {"x": 1, "y": 2}}')
    assert run("fuse a.run b.json --rule mean --output out.run").startswith("2 rows x 3 labels, 4 listed")
    lines = [line.split() for line in Path("out.run").read_text().splitlines()]
    assert [line[0] + line[2] + line[4] for line in lines] == ["q1y1.0", "q1x0.95", "q2x1.5", "q2z0.25"]
    err = answer(["fuse", "a.run", "b.json", "--output", "out.txt"])[2]
    text = "no scores with names, as a.run has, are written in this format; expected a name that ends in "
    assert err.startswith(f"xmleval: out.txt: {text}.npz, .run, .parquet, ")
