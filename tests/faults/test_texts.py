"""Text files beyond the table: odd numbers, damage after many rows, changed bytes against plain Python."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer
from tests.faults.fault import refused
from tests.oracles.text import plain_svmlight, plain_xmc
from xmleval.budget import UNLIMITED
from xmleval.io import find_format, read_inverse_propensity, read_scores, read_truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a module."""
    return tmp_path_factory.mktemp("texts")


def pieces_of(path: Path, kind: str = "scores") -> Any:
    pieces = find_format(path)[0].pieces
    assert pieces
    return pieces(path, kind, UNLIMITED)


def test_odd_numbers_are_read(folder: Path) -> None:
    words = ["nan", "inf", "-inf", "+Infinity", "-NaN", "1e400", "-1e-400", "4e-324", "1e-310", "+.5", "5.",
             "1E+2", "0" * 50 + "1", "1" + "0" * 50, "0." + "3" * 60, "00.10", "-0"]  # fmt: skip
    (folder / "odd.txt").write_text(f"1 99\n{' '.join(f'{j}:{x}' for j, x in enumerate(words))}\n")
    actual = read_scores(folder / "odd.txt").data
    np.testing.assert_array_equal(actual, [float(word) for word in words])
    assert np.signbit(actual).tolist() == np.signbit([float(word) for word in words]).tolist()


def test_rows_before_the_damage_come_first(folder: Path) -> None:
    scores = np.random.default_rng(0).random(9000).tolist()
    data = gzip.compress("".join(["9000 9\n", *(f"1:{x}\n" for x in scores)]).encode())
    (folder / "cut.txt").write_bytes(data[:-4])
    actual: list[float] = []
    with pytest.raises(ValueError, match="cut short"):
        actual.extend(x for piece in pieces_of(folder / "cut.txt").read(4096) for x in piece.data.tolist())
    assert len(actual) > 5000
    assert actual == scores[: len(actual)]


def test_a_file_that_changes_between_header_and_rows_is_refused(folder: Path) -> None:
    (folder / "new.txt").write_text("2 9\n1:1\n2:1\n")
    pieces = pieces_of(folder / "new.txt")
    (folder / "new.txt").write_text("1 9\n1:1\n")
    with pytest.raises(ValueError, match="changed while it was read, from 12 bytes of"):
        list(pieces.read(99))


@pytest.mark.parametrize("n_bytes", [1, 100, 1000])
@pytest.mark.parametrize("fault", [2, 77, 100])
def test_lines_are_counted_across_pieces(folder: Path, n_bytes: int, fault: int) -> None:
    rows = ["1:1\n"] * 99
    rows[fault - 2] = "1:1 8:x\n"
    (folder / "late.txt").write_text(f"99 9\n{''.join(rows)}")
    message = refused(folder / "late.txt", lambda path: list(pieces_of(path).read(n_bytes)))
    assert message == f"line {fault}: '8:x' is not label:score"


@pytest.mark.parametrize("name", ["short.txt", "short.svm"])
def test_rows_of_short_lines_come_in_small_pieces(folder: Path, name: str) -> None:
    n = 1 << 18
    (folder / name).write_bytes(b"%d 9 9\n" % n * name.endswith("txt") + b"0\n" * (n - 1) + b"7,8\n")
    pieces = list(pieces_of(folder / name, "truth").read(1 << 20))
    assert sum(piece.shape[0] for piece in pieces) == n
    assert max(piece.shape[0] for piece in pieces) <= (1 << 20) // 40
    assert pieces[-1].indices[-2:].tolist() == [7, 8]


def forms_of(text: bytes) -> list[bytes]:
    """Return a text with other ends of lines, a mark of its bytes' order, and packed."""
    texts = [text, text.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + text]
    return [*texts, *map(gzip.compress, texts)]


def test_any_form_of_a_text_is_read(folder: Path) -> None:
    for data in forms_of(b"12.5\n  9.5 \n1e3\n\n \n"):
        (folder / "q").write_bytes(data)
        assert read_inverse_propensity(folder / "q").tolist() == [12.5, 9.5, 1000]
    (folder / "q").write_text("1.5\n\n\n2.5\n")
    with pytest.raises(ValueError, match="q: line 2: '' is not a number; expected one inverse prop"):
        read_inverse_propensity(folder / "q")
    pairs = {"t.qrels": b"a 0 y 1\nb 0 x 1\n", "s.run": b"a Q0 y 1 .5 t\na Q0 x 2 .2 t\nb Q0 y 1 .5 t\n"}
    pairs |= {
        "t.txt": b"2 7 2\n1 0:1\n0 3:1\n",
        "t.svm": b"1 0:1\n0 3:1 # x\n",
        "s.txt": b"2 2\n0:1 1:2\n1:3\n",
    }
    pairs["t.arff"] = b"@relation 'x: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n0,1\n1,0\n"
    for truth, scores in (("t.qrels", "s.run"), ("t.txt", "s.txt"), ("t.svm", "s.txt"), ("t.arff", "s.txt")):
        for changed in (truth, scores):
            answers = set()
            for data in forms_of(pairs[changed]):
                for name, text in (pairs | {changed: data}).items():
                    (folder / name).write_bytes(text)
                command = ["evaluate", str(folder / truth), str(folder / scores), "--metrics", "p@1,lrap"]
                answers.add(answer([*command, "--format", "json"]))
            assert len(answers) == 1
            assert answers.pop()[0] == 0


# ----------------------------------------------------------------------------------------- changed bytes

SEEDS = {
    "scores.txt": b"4 12\n0:0.5 11:1e-3 3:nan\n\n1:0 2:1 10:-12345.678901234567\n 7:.5 8:1\t\n",
    "lists.txt": b"4 99 12\n0,11,3 1:0.5 98:1e-3\n 4:1 5:2\n\n1.0,2\t7:0\n",
    "lists.svm": b"0,11 1:0.5 # x\n\n 3 qid:4 1:1\n5:1 6:2\n2.0\n# y\n1,4 1:1\r\n",
}
ALPHABET = b"0123456789:,. \t\r\n-+eEnaif#q\0\xff\x1f\xef"
EDITS: dict[str, Callable[[bytes, bytes, bytes, bytes], bytes]] = {  # of what is before, there and after
    "put": lambda before, there, after, byte: before + byte + there[1:] + after,
    "add": lambda before, there, after, byte: before + byte + there + after,
    "cut": lambda before, there, after, byte: before + after,
    "double": lambda before, there, after, byte: before + there + there + after,
    "swap": lambda before, there, after, byte: after + before + there,
}
changes = st.lists(
    st.tuples(
        st.sampled_from([*EDITS]), st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(ALPHABET)
    ),
    min_size=1,
    max_size=4,
)


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (ValueError, OSError) as error:
        return str(error)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("packed", [False, True])
@given(edits=changes, n_bytes=st.sampled_from([1, 7, 40, 1 << 20]))
def test_changed_bytes_are_refused_or_read_as_in_plain_python(
    folder: Path, name: str, packed: bool, edits: list[tuple[str, int, int, int]], n_bytes: int
) -> None:
    data = gzip.compress(SEEDS[name], mtime=0) if packed else SEEDS[name]
    for edit, place, size, byte in edits:
        at = place % (len(data) + 1)
        data = EDITS[edit](data[:at], data[at : at + size], data[at + size :], bytes([byte]))
    path = folder / f"fuzz_{name}"
    path.write_bytes(data)
    for read, kind in [(read_truth, "truth"), (read_scores, "scores")][: 1 if name.endswith(".svm") else 2]:
        actual = outcome(partial(read, path))
        if isinstance(actual, str):
            assert actual.isprintable()
            assert "cannot be read" not in actual or "qid" in actual
            continue
        expected = plain_svmlight(data) if name.endswith(".svm") else plain_xmc(data, kind)
        assert actual.shape == expected.shape
        assert actual.indptr.tolist() == expected.indptr.tolist()
        actual = actual.sorted_indices()  # scores are in the order of the file
        assert actual.indices.tolist() == expected.indices.tolist()
        np.testing.assert_array_equal(actual.data.astype(float), expected.data)
        assert np.signbit(actual.data).tolist() == np.signbit(expected.data).tolist()
        if not name.endswith(".svm"):
            sizes = [size for piece in pieces_of(path, kind).read(n_bytes) for size in np.diff(piece.indptr)]
            assert [*itertools.accumulate(sizes, initial=0)] == expected.indptr.tolist()
