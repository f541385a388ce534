"""Top-k lists in .npz archives: read like pairs of .npy files, whole and in pieces, or refused by name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.faults.arrays import DENSE, LABELS, SCORES
from xmleval.files.archive import StoredArray
from xmleval.files.input import InputFile
from xmleval.input.formats.npz import npz_pieces, write_npz
from xmleval.input.formats.registry import find_format, read_scores
from xmleval.input.reader import RowReader


def save(path: Path, compressed: bool = False, **arrays: Any) -> Path:
    (np.savez_compressed if compressed else np.savez)(
        path, **(arrays or {"indices": LABELS, "scores": SCORES})
    )
    return path


def in_pieces(path: Path, n_bytes: int) -> list[Any]:
    return list(npz_pieces(path, "scores").read(n_bytes))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("n_bytes", [1, 33, 1 << 20])
def test_a_list_whole_and_in_pieces(tmp_path: Path, compressed: bool, n_bytes: int) -> None:
    path = save(tmp_path / "m.npz", compressed)
    whole, pieces = read_scores(path), in_pieces(path, n_bytes)
    assert len(pieces) == {1: 4, 33: 2, 1 << 20: 1}[n_bytes]
    for place, wanted in enumerate((LABELS, SCORES)):
        np.testing.assert_array_equal(whole[place], wanted)
        np.testing.assert_array_equal(np.concatenate([piece[place] for piece in pieces]), wanted)
        assert whole[place].dtype == wanted.dtype


@pytest.mark.parametrize("compressed", [False, True])
def test_without_scores_by_column_and_without_rows_or_slots(tmp_path: Path, compressed: bool) -> None:
    path = save(tmp_path / "m.npz", compressed, indices=LABELS)
    for labels, scores in [read_scores(path), *in_pieces(path, 1 << 20)]:
        np.testing.assert_array_equal(labels, LABELS)
        assert scores is None
    save(path, compressed, indices=np.asfortranarray(LABELS), scores=SCORES)
    whole, pieces = read_scores(path), in_pieces(path, 1)
    assert len(pieces) == len(LABELS)
    for labels, scores in [whole, map(np.concatenate, zip(*pieces, strict=True))]:
        np.testing.assert_array_equal(labels, LABELS)
        np.testing.assert_array_equal(scores, SCORES)
    for shape in ((0, 2), (3, 0)):
        save(path, compressed, indices=np.empty(shape, np.int32), scores=np.empty(shape, np.float32))
        labels, scores = read_scores(path)
        assert labels.shape == scores.shape == shape


@pytest.mark.parametrize("compressed", [False, True])
def test_every_flipped_byte_is_read_or_refused(tmp_path: Path, compressed: bool) -> None:
    path = save(tmp_path / "m.npz", compressed)
    held = path.read_bytes()
    for position in range(0, len(held), 3):
        changed = bytearray(held)
        changed[position] ^= 0x55
        path.write_bytes(changed)
        message = str(path)
        try:
            in_pieces(path, 20)
        except (ValueError, OSError) as error:
            message = str(error)
        assert str(path) in message


def test_reading_may_stop_anywhere_and_start_again(tmp_path: Path) -> None:
    pieces = npz_pieces(save(tmp_path / "m.npz", compressed=True), "scores")
    first, second = pieces.read(1), pieces.read(1)
    np.testing.assert_array_equal(next(first)[0], next(second)[0])
    np.testing.assert_array_equal(next(first)[0], next(second)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del first, second
        reader = RowReader("m", pieces, 1, None)
        assert reader.ready() == 1
        reader.close()


@pytest.mark.parametrize("scheme", ["csc", "bsr", "coo", "dia"])
def test_other_matrices_come_in_one_piece(tmp_path: Path, scheme: str) -> None:
    sp.save_npz(tmp_path / "Y.npz", getattr(sp, f"{scheme}_array")(DENSE))
    (piece,) = npz_pieces(tmp_path / "Y.npz", "truth").read(1)
    np.testing.assert_array_equal(piece.toarray(), DENSE)


def test_what_is_written(tmp_path: Path) -> None:
    assert find_format(tmp_path / "m.npz")[0].write is write_npz
    write_npz(tmp_path / "m.npz", (LABELS, SCORES), "scores", None)
    labels, scores = read_scores(tmp_path / "m.npz")
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(scores, SCORES)
    write_npz(tmp_path / "m.npz", (LABELS, None), "scores", 4)
    assert read_scores(tmp_path / "m.npz")[1] is None
    write_npz(tmp_path / "m.npz", (LABELS, SCORES), "scores", 4)  # a width makes it a matrix
    assert read_scores(tmp_path / "m.npz").shape == (4, 4)
    with StoredArray(InputFile(tmp_path / "m.npz"), "data").reading() as take:
        assert take(2).tolist() == SCORES[0].tolist()


@pytest.mark.parametrize("compressed", [False, True])
def test_the_command_line_prints_what_it_does_for_the_pair(folder: Path, run: Any, compressed: bool) -> None:
    save(folder / "list.npz", compressed, indices=np.load("m_indices.npy"), scores=np.load("m_scores.npy"))
    words = "--train Y_train.npz --metrics xmc,auc.micro,lrap --format json"
    assert run(f"evaluate Y_test.npz list.npz {words}") == run(f"evaluate Y_test.npz m {words}")


@pytest.mark.parametrize("values", ["scores", "values", "D"])
@pytest.mark.parametrize("ids", ["indices", "prediction_ids", "labels", "ids", "I"])
def test_other_names_of_the_arrays(tmp_path: Path, ids: str, values: str) -> None:
    arrays: Any = {values: SCORES, ids: LABELS, "queries": np.array(["a", "b"])}
    path = save(tmp_path / "m.npz", **arrays)
    for labels, scores in [read_scores(path), *in_pieces(path, 1 << 20)]:
        np.testing.assert_array_equal(labels, LABELS)
        np.testing.assert_array_equal(scores, SCORES)


@pytest.mark.parametrize(
    "beside",
    [
        {"labels": DENSE.astype(int)},
        {"labels": DENSE.astype(float)},
        {"ids": np.arange(len(DENSE))},
        {"ids": np.array([["a"]], object)},
        {"labels": np.array(list("abcd"), object)},
    ],
)
def test_scores_of_all_labels_stay_so_beside_a_truth_or_names(tmp_path: Path, beside: Any) -> None:
    path = save(tmp_path / "m.npz", scores=DENSE + 0.5, **beside)
    np.testing.assert_array_equal(read_scores(path), DENSE + 0.5)
    np.testing.assert_array_equal(np.concatenate(in_pieces(path, 1)), DENSE + 0.5)


PAIR = {"labels": np.array([[1, 0], [1, 1]]), "scores": np.array([[0.5, 0.25], [0.5, 0.25]])}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": LABELS, "ids": LABELS, "scores": SCORES}, "'labels' and 'ids' can both be the labels"),
        ({"indices": LABELS, "I": LABELS}, "'indices' and 'I' can both be the labels"),
        ({"indices": LABELS, "labels": LABELS, "scores": SCORES}, "'indices' and 'labels' can both be"),
        ({"I": LABELS, "D": SCORES, "scores": SCORES}, "'scores' and 'D' can both be the scores"),
        (PAIR, "'labels' may be ids of labels, or zeros and ones of all labels"),
        ({"I": LABELS, "D": SCORES[1:]}, "D is float32 of shape (3, 2), for I of shape (4, 2)"),
        ({"indices": LABELS, "scores": SCORES.astype(object)}, "scores.npy: Python objects"),
    ],
)
def test_what_may_be_two_things_is_refused(tmp_path: Path, arrays: Any, message: str) -> None:
    path = save(tmp_path / "m.npz", **arrays)
    for read in (read_scores, lambda path: in_pieces(path, 1)):
        with pytest.raises(ValueError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert message in str(caught.value)
