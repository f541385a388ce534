"""Every format and every fault: what is read, and what is said about what is not."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.faults.arrays import ANY_CSR, DENSE, LABELS, SCORES
from tests.faults.fault import refused
from xmleval.input.formats.registry import FORMATS, read_scores, read_truth
from xmleval.input.inverse_propensity import read_inverse_propensity


def save_list(folder: Path, name: str, labels: Any = LABELS, scores: Any = SCORES) -> Path:
    np.save(folder / f"{name}_indices.npy", labels)
    if scores is not None:
        np.save(folder / f"{name}_scores.npy", scores)
    return folder / name


# --------------------------------------------------------------------------------------- sparse matrices


@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("reader", [read_truth, read_scores])
def test_every_sparse_format(tmp_path: Path, scheme: str, kind: str, compressed: bool, reader: Any) -> None:
    saved = getattr(sp, f"{scheme}_{kind}")(DENSE)
    sp.save_npz(tmp_path / "Y.npz", saved, compressed=compressed)
    found = reader(tmp_path / "Y.npz")
    assert (found.format, found.dtype, found.shape) == (scheme, saved.dtype, saved.shape)
    np.testing.assert_array_equal(found.toarray(), DENSE)


def test_explicit_zeros_and_duplicates_survive(tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        "data": np.array([0.0, 1.0, 1.0]),
        "indices": np.array([0, 3, 3]),
        "indptr": np.array([0, 1, 3]),
    }
    np.savez(tmp_path / "Y.npz", **(ANY_CSR | parts))
    found = read_scores(tmp_path / "Y.npz")
    assert found.data.tolist() == [0.0, 1.0, 1.0]
    assert found.indices.tolist() == [0, 3, 3]


def test_coordinates_in_one_array(tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        "format": "coo",
        "shape": (2, 4),
        "data": np.ones(2),
        "coords": np.array([[0, 1], [0, 3]]),
    }
    np.savez(tmp_path / "Y.npz", **parts)
    assert read_truth(tmp_path / "Y.npz").toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


def test_arrays_are_writable_as_those_of_memory_are(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(DENSE))
    found = read_truth(tmp_path / "Y.npz")  # one compiled kernel serves both
    assert all(array.flags.writeable for array in (found.data, found.indices, found.indptr))


# ----------------------------------------------------------------------------------------- top-k lists


@pytest.mark.parametrize("named", ["m_indices.npy", "m_scores.npy", "m"])
def test_a_list_by_each_of_its_names(tmp_path: Path, named: str) -> None:
    save_list(tmp_path, "m")
    labels, scores = read_scores(tmp_path / named)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(scores, SCORES)
    assert isinstance(labels, np.memmap)
    assert isinstance(scores, np.memmap)
    assert not labels.flags.writeable


@pytest.mark.parametrize("named", ["m_indices.npy", "m"])
def test_a_list_without_scores(tmp_path: Path, named: str) -> None:
    save_list(tmp_path, "m", scores=None)
    labels, scores = read_scores(tmp_path / named)
    np.testing.assert_array_equal(labels, LABELS)
    assert scores is None


def test_a_list_of_another_name(tmp_path: Path) -> None:
    np.save(tmp_path / "ranked.npy", LABELS)
    with pytest.raises(ValueError, match=r"ranked\.npy: .*_indices\.npy"):
        read_scores(tmp_path / "ranked.npy")
    labels, scores = read_scores(tmp_path / "ranked.npy", format="npy")
    np.testing.assert_array_equal(labels, LABELS)
    assert scores is None


def test_column_order_byte_order_and_no_rows(tmp_path: Path) -> None:
    save_list(tmp_path, "m", np.asfortranarray(LABELS.astype(">i8")), None)
    np.testing.assert_array_equal(read_scores(tmp_path / "m")[0], LABELS)
    save_list(tmp_path, "none", LABELS[:0], SCORES[:0])
    labels, scores = read_scores(tmp_path / "none")
    assert labels.shape == scores.shape == (0, 2)


def test_scores_without_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "m_scores.npy", SCORES)
    with pytest.raises(FileNotFoundError, match="m_indices"):
        read_scores(tmp_path / "m_scores.npy")


# ------------------------------------------------------------------------------------ names and folders


@pytest.mark.parametrize("reader", [read_truth, read_scores, read_inverse_propensity])
def test_files_that_cannot_be_opened(tmp_path: Path, reader: Any) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        reader(tmp_path / "missing.npz")
    assert caught.value.filename == str(tmp_path / "missing.npz")
    assert "No such file" in str(caught.value)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.npz"):
        reader(tmp_path / "folder.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match=r"pipe\.npz: not a regular file"):
        reader(tmp_path / "pipe.npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
@pytest.mark.parametrize("name", ["Y.npz", "m_indices.npy"])
def test_no_permission(tmp_path: Path, name: str) -> None:
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(DENSE))
    save_list(tmp_path, "m")
    (tmp_path / name).chmod(0)
    with pytest.raises(PermissionError, match=name):
        read_scores(tmp_path / name)


def test_refusals_of_the_system_keep_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(zipfile, "ZipFile", deny)
    (tmp_path / "Y.npz").write_bytes(b"PK")
    with pytest.raises(PermissionError, match="Permission denied; expected a SciPy sparse matrix"):
        read_truth(tmp_path / "Y.npz")


def test_names_that_do_not_tell(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nor with one of the endings \.npz, _indices\.npy"):
        read_truth(tmp_path / "missing")
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(DENSE))
    assert read_truth(tmp_path / "Y").shape == DENSE.shape
    (tmp_path / "Y.npz").rename(tmp_path / "Y.dat")
    assert "its name does not tell its format" in refused(tmp_path / "Y.dat", read_truth)
    assert read_truth(str(tmp_path / "Y.dat"), format="npz").shape == DENSE.shape
    with pytest.raises(IsADirectoryError):
        read_truth(tmp_path)
    with pytest.raises(ValueError, match="format='tsv' is not one of npz, npy, dense, xmc"):
        read_truth(tmp_path / "Y.dat", format="tsv")


def test_a_name_that_several_files_share(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(DENSE))
    save_list(tmp_path, "m")
    assert "several files are called so" in refused(tmp_path / "m", read_scores)
    (tmp_path / "m.npz").unlink()
    (tmp_path / "m").mkdir()  # a folder of that name is in nobody's way
    np.testing.assert_array_equal(read_scores(tmp_path / "m")[0], LABELS)


def test_a_list_is_no_truth(tmp_path: Path) -> None:
    save_list(tmp_path, "m")
    assert "a top-k list holds no truth" in refused(tmp_path / "m_indices.npy", read_truth)


def test_formats_are_told_apart() -> None:
    endings = [ending for known in FORMATS for ending in known.extensions]
    assert len({known.name for known in FORMATS}) == len(FORMATS)
    assert not [(a, b) for i, a in enumerate(endings) for b in endings[:i] if a.endswith(b)]
    assert all(known.truth or known.scores or known.named for known in FORMATS)


# ------------------------------------------------------------------------------------------ propensities


def test_propensities_as_text_and_array(tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.array([3.5, 1.25]))
    (tmp_path / "q.txt").write_text("3.5\n 1.25e0 \n")
    assert read_inverse_propensity(tmp_path / "q.npy").tolist() == [3.5, 1.25]
    assert read_inverse_propensity(tmp_path / "q.txt").tolist() == [3.5, 1.25]


def test_propensities_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("3.5\nlarge\n")
    assert "line 2: 'large' is not a number" in refused(tmp_path / "q.txt", read_inverse_propensity)
    (tmp_path / "q.txt").write_bytes(bytes(range(256)))
    assert "line 1: " in refused(tmp_path / "q.txt", read_inverse_propensity)
    np.save(tmp_path / "q.npy", DENSE)
    assert "an array of shape (4, 4)" in refused(tmp_path / "q.npy", read_inverse_propensity)
