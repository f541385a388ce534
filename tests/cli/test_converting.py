"""`xmleval convert` and `fuse`: data come back unchanged from every format that can keep them."""

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
    actual = sp.csr_array(actual)
    expected = sp.csr_array(expected)
    assert actual.shape == expected.shape
    for matrix in (actual, expected):
        matrix.sort_indices()
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


def ragged_scores() -> Any:
    """Return scores with some empty rows, a stored zero and awkward numbers."""
    scores = make_scores()
    scores.data[::5] = np.float32(1) / 3
    scores.data[7:10] = [0.0, np.inf, -1e-30]
    row_is_kept = np.arange(60) % 9 != 4
    is_kept = np.repeat(row_is_kept, 6)
    ptr = np.concatenate(([0], np.cumsum(6 * row_is_kept)))
    return sp.csr_array((scores.data[is_kept], scores.indices[is_kept], ptr), shape=(60, 30))


@pytest.mark.parametrize("source", ["npz", "svmlight-gz", "ids"])
def test_convert_keeps_a_truth_in_every_format(
    folder: Path, run: Run, refused: Run, source: str
) -> None:
    Path("in").mkdir()
    path = TRUTHS[source](Path("in/Y"), make_truth())
    for ending in (".npz", ".txt", ".txt.gz", ".qrels", ".qrels.gz", ".parquet"):
        assert run(f"convert {path} there{ending} --kind truth") == ""
        assert_same(read_truth(f"there{ending}"), make_truth())
        is_zipped = Path(f"there{ending}").read_bytes().startswith(b"\x1f\x8b")
        assert is_zipped is ending.endswith(".gz")
    message = (
        "o_indices.npy: a top-k list cannot contain relevant labels; "
        "expected a name that ends in .npz, "
    )
    assert refused(f"convert {path} o_indices.npy --kind truth").startswith(message)
    assert not [*folder.glob("o*")]


@pytest.mark.parametrize("ending", [".run", ".parquet", "_indices.npy"])
def test_convert_names_the_row_of_a_score_it_refuses(
    folder: Path, refused: Run, ending: str
) -> None:
    scores = make_scores()
    scores.data[scores.indptr[43]] = np.nan
    npz(folder / "m", scores)
    with small_limits():
        message = refused(f"convert m.npz o{ending} --kind scores")
    assert message == "m.npz: row 43: score nan is not a number; scores must be ordered"


@pytest.mark.parametrize("ending", [".npz", ".txt", ".txt.gz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convert_keeps_scores_in_every_format(
    folder: Path, run: Run, ending: str, dtype: Any
) -> None:
    scores = ragged_scores().astype(dtype)
    scores.data[20] = np.pi
    npz(folder / "m", scores)
    with small_limits():
        run(f"convert m.npz there{ending} --kind scores")
        run(f"convert there{ending} back.npz --kind scores --n-labels 30")
    back = sp.load_npz("back.npz")
    assert_same(back.astype(dtype), scores)
    read_dtype = dtype
    if ".txt" in ending:  # a text has no type of numbers
        read_dtype = np.float64
    assert back.dtype == read_dtype


@pytest.mark.parametrize("ending", [".npz", ".parquet", "_indices.npy"])
@pytest.mark.parametrize("bare", [False, True])
def test_convert_keeps_lists_in_every_format(
    folder: Path, run: Run, ending: str, bare: bool
) -> None:
    labels, values = as_list(make_scores())
    values[3, 1:4] = values[3, 1]  # tied, not in the order of their labels
    labels[3] = [0, 9, 20, 4, 1, 2]
    labels[5, 4:] = -1
    values[5, 4:] = np.nan
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


def test_convert_matches_runs_by_the_names_of_a_truth(folder: Path, run: Run) -> None:
    npz(folder / "Y", make_truth())
    npz(folder / "s", make_scores())
    run("convert Y.npz Y.qrels --kind truth")
    for ending in ("run", "run.gz"):
        run(f"convert s.npz s.{ending} --kind scores")
        run(f"convert s.{ending} back.npz --like Y.qrels")
        text = Path("Y.qrels").read_text() + Path("s.run").read_text()
        names = dict.fromkeys(line.split()[2] for line in text.splitlines())
        columns = np.argsort([int(name) for name in names])
        back = sp.csr_array(sp.load_npz("back.npz"))
        assert_same(back[:, columns], make_scores())
    assert gzip.decompress(Path("s.run.gz").read_bytes()) == Path("s.run").read_bytes()


@pytest.mark.parametrize(("dtype", "filler"), [(np.float32, np.nan), (np.int64, 0)])
def test_convert_joins_shards_to_one_list(
    folder: Path, run: Run, dtype: type, filler: float
) -> None:
    Path("parts").mkdir()
    labels = np.array([[4, 2, 0], [1, 3, 2]])
    scores: Any = np.array([[9, 8, 7], [6, 5, 4]], dtype)
    for row, depth in ((0, 3), (1, 2)):  # the shorter list is filled up
        shard = f"parts/p{row + 9}"
        np.save(f"{shard}_indices.npy", labels[[row], :depth])
        np.save(f"{shard}_scores.npy", scores[[row], :depth])
    assert run("convert parts whole_indices.npy --kind scores") == ""
    labels[1, 2] = -1
    scores = scores.astype(np.float64)
    scores[1, 2] = filler
    np.testing.assert_array_equal(np.load("whole_indices.npy"), labels)
    np.testing.assert_array_equal(np.load("whole_scores.npy"), scores)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "Y.npz Y --kind truth",
            "Y: its ending is not that of a format that can be written",
        ),
        (
            "Y.npz Z.npz",
            "Y.npz: a SciPy sparse matrix may contain truth or scores; expected --kind",
        ),
        (
            "s.npz Z.txt --kind truth",
            "s.npz: row 0: value",
        ),
        (
            "s.run Z.npz",
            "s.run: has names; give --like, the truth of these predictions",
        ),
        (
            "bare_indices.npy Z.txt",
            "Z.txt: a text file of the Extreme Classification Repository cannot contain a list",
        ),
        (
            "bad_indices.npy Z.parquet",
            "bad_indices.npy: row 7: label id 3 occurs twice",
        ),
    ],
)
def test_convert_writes_nothing_when_it_refuses(
    folder: Path, refused: Run, line: str, message: str
) -> None:
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


@pytest.mark.parametrize(
    ("ending", "n_rows_of_list", "n_rows_of_matrix"),
    [
        (".txt", 2, 0),
        (".npz", 2, 0),
        (".run", 1, 2),
        (".parquet", 0, 0),
        ("_indices.npy", 0, 0),
    ],
)
def test_convert_keeps_or_notes_the_order_of_equal_scores(
    folder: Path, run: Run, ending: str, n_rows_of_list: int, n_rows_of_matrix: int
) -> None:
    labels = np.array([[2, 0, 1], [2, 1, 0], [0, 1, 2], [1, 0, -1]])
    values = [[0.5, 0.5, 0.25], [0.75, 0.75, 0.5], [0.5, 0.5, 0.25], [0.5, 0.25, np.nan]]
    np.save("list_indices.npy", labels)
    np.save("list_scores.npy", np.array(values, np.float32))
    scores = np.array([[0.5, 0.5, 0.25], [0.75, 0.5, 0.5], [0.5, 0.75, 0.25]], np.float32)
    npz(folder / "s.npz", sp.csr_array(scores))
    run("convert s.npz s.txt --kind scores")
    notes = {
        0: "",
        1: f"xmleval: o{ending}: 1 row has {TIES}\n",
        2: f"xmleval: o{ending}: 2 rows have {TIES}\n",
    }
    n_rows_by_source = {
        "list_indices.npy": n_rows_of_list,
        "s.npz": n_rows_of_matrix,
        "s.txt": n_rows_of_matrix,
    }
    for source, n_rows in n_rows_by_source.items():
        code, _, err = answer(f"convert {source} o{ending} --kind scores --n-labels 3".split())
        assert (code, err) == (0, notes[n_rows])
    if not n_rows_of_list:
        run(f"convert list_indices.npy o{ending} --kind scores --n-labels 3")
        truth = np.eye(3, dtype=np.uint8)[labels[:, 0]]
        npz(folder / "Y", sp.csr_array(truth))
        assert '"p@1": 1.0' in run(f"evaluate Y.npz o{ending} --metrics p@1 --format json")


@pytest.mark.parametrize("rule", ["rrf", "mean", "rank"])
def test_fuse_has_the_rules_of_python(folder: Path, run: Run, rule: str) -> None:
    npz(folder / "a", make_scores(seed=1))
    write_xmc("b.txt", make_scores(seed=2, depth=9), "scores")
    with small_limits():
        text = run(f"fuse a.npz b.txt --rule {rule} --k 4 --output out.npz")
    assert text == f"60 rows x 30 labels, 240 listed ({rule} of 2)\n"
    expected = xmleval.fuse([make_scores(seed=1), read_scores("b.txt")], rule, k=4)
    np.testing.assert_array_equal(sp.load_npz("out.npz").toarray(), expected.toarray())


def test_fuse_matches_and_writes_names(folder: Path, run: Run) -> None:
    Path("a.run").write_text("q1 Q0 x 1 0.9 t\nq2 Q0 z 1 0.5 t\n")
    Path("b.json").write_text('{"q2": {"x": 3}, "q1": {"x": 1, "y": 2}}')
    text = run("fuse a.run b.json --rule mean --output out.run")
    assert text.startswith("2 rows x 3 labels, 4 listed")
    entries = []
    for line in Path("out.run").read_text().splitlines():
        key, _, label, _, score, _ = line.split()
        entries.append((key, label, score))
    assert entries == [
        ("q1", "y", "1.0"),
        ("q1", "x", "0.95"),
        ("q2", "x", "1.5"),
        ("q2", "z", "0.25"),
    ]
    err = answer(["fuse", "a.run", "b.json", "--output", "out.txt"])[2]
    message = (
        "this format cannot contain scores with names, as a.run has; "
        "expected a name that ends in .npz, .run, .parquet, "
    )
    assert err.startswith(f"xmleval: out.txt: {message}")
