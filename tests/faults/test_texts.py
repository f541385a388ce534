"""Further faults of text files: odd numbers, late damage, changed bytes against plain Python."""

import gzip
import itertools
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import KINDS, TOKENS, Edit, edited
from tests.made_files import pieces_of
from tests.oracles.text import plain_svmlight, plain_xmc
from xmleval.io import find_format, read_inverse_propensity, read_scores, read_truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a module."""
    return tmp_path_factory.mktemp("texts")


def test_weights_in_any_form_of_a_text(folder: Path) -> None:
    text = b"12.5\n  9.5 \n1e3\n\n \n"
    for form in (text, text.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + text):
        (folder / "q").write_bytes(form)
        assert read_inverse_propensity(folder / "q").tolist() == [12.5, 9.5, 1000]
        (folder / "q").write_bytes(gzip.compress(form))
        assert read_inverse_propensity(folder / "q").tolist() == [12.5, 9.5, 1000]
    (folder / "q").write_text("1.5\n\n\n2.5\n")
    with pytest.raises(
        ValueError, match=r"q: line 2 is blank; remove it; expected one inverse prop"
    ):
        read_inverse_propensity(folder / "q")


# ----------------------------------------------------------------------------------------- changed
# bytes

SEEDS = {
    "scores.txt": (
        b"4 12\n0:+Infinity 11:1e-3 3:-NaN 4:1e400 5:-inf\n\n1:0 2:1 10:-12345.67890123\n 7:.5\t\n"
    ),
    "lists.txt": b"4 99 12\n0,11,3 1:0.5 98:1e-3\n 4:1 5:2\n\n1.0,2\t7:0\n",
    "lists.svm": b"0,11 1:0.5 # x\n\n 3 qid:4 1:1\n5:1 6:2\n2.0\n# y\n1,4 1:1\r\n",
}
SHORT = [bytes([byte]) for byte in b"0123456789.-+eEnaif#q\x1f\xef"]
changes = st.tuples(
    st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 1), st.sampled_from([*TOKENS, *SHORT])
)


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (ValueError, OSError) as error:
        return str(error)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("packed", [False, True])
@given(
    edits=st.lists(changes, min_size=1, max_size=4), n_bytes=st.sampled_from([1, 7, 40, 1 << 20])
)
def test_changed_bytes_are_refused_or_read_as_in_plain_python(
    folder: Path, name: str, packed: bool, edits: list[Edit], n_bytes: int
) -> None:
    content = SEEDS[name]
    if packed:
        content = gzip.compress(content, mtime=0)
    data = edited(content, edits)
    is_svmlight = name.endswith(".svm")
    path = folder / f"fuzz_{name}"
    path.write_bytes(data)
    readers: list[tuple[Callable[[Path], Any], str]] = [(read_truth, "truth")]
    if not is_svmlight:
        readers.append((read_scores, "scores"))
    for read, kind in readers:
        actual = outcome(partial(read, path))
        if isinstance(actual, str):
            assert actual.isprintable()
            assert "cannot be read" not in actual or re.search(r"qid|\d{16}", actual)
            continue
        if find_format(path, kind=kind)[0].name not in ("xmc", "svmlight"):
            continue  # lines of ids without a header are left
        read_plain = plain_svmlight if is_svmlight else plain_xmc
        expected = read_plain(data)
        assert actual.shape == expected.shape
        assert actual.indptr.tolist() == expected.indptr.tolist()
        actual = actual.sorted_indices()  # scores are in the order of the file
        assert actual.indices.tolist() == expected.indices.tolist()
        np.testing.assert_array_equal(actual.data.astype(float), expected.data)
        assert np.signbit(actual.data).tolist() == np.signbit(expected.data).tolist()
        if not is_svmlight:
            pieces = pieces_of(path, kind).read(n_bytes)
            sizes = [size for rows in pieces for size in np.diff(rows.ptr)]
            assert [*itertools.accumulate(sizes, initial=0)] == expected.indptr.tolist()
