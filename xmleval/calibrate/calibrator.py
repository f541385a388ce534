"""A fitted map from scores to probabilities: applied to predictions, and kept in a file of JSON."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.errors import InputError, counted, shown
from xmleval.files.input import InputFile
from xmleval.files.output import refuse_ending, replacing
from xmleval.files.remote import as_path, is_file
from xmleval.input.argument_types import RowsLike
from xmleval.input.csr import as_array
from xmleval.input.objects.entries import open_entries, read_predictions, require_scores
from xmleval.input.objects.named import as_plain_rows
from xmleval.input.rows import Rows
from xmleval.input.scores import is_pair, pair_members
from xmleval.input.tensors import as_plain, is_sparse
from xmleval.kernels.recalibrating import interpolate, write_platt

METHODS = {
    "isotonic": "the best rising step curve, with lines between its steps",
    "platt": "the sigmoid of slope * score + intercept",
}
KIND = "calibrator"
VERSION = 1
MOST_BYTES = 1 << 30
EXPECTED = "expected a file that `xmleval calibrate fit` or Calibrator.save wrote"


@dataclass(frozen=True, eq=False)
class Calibrator:
    """A map from scores to probabilities, as `fit` returns it.

    Parameters
    ----------
    method : {"isotonic", "platt"}
        Kind of map, see `fit`.
    k : int or None
        Cutoff: it was fitted to the first k labels of each row; None for all listed ones.
    n_pairs : float
        Number of pairs that it was fitted to, or their weight.
    scores, levels : float64 (p,)
        For isotonic: scores, rising, and their probabilities. Between two scores the map is a line,
        beyond the ends it is constant.
    slope, intercept : float
        For platt: the probability is 1 / (1 + exp(-(slope * score + intercept))).

    Examples
    --------
    >>> from xmleval.calibrate import fit
    >>> y_valid = np.array([[1, 0, 0], [0, 1, 0]])
    >>> calibrator = fit(y_valid, np.array([[3.0, 1.0, 1.0], [2.0, 3.0, 1.0]]))
    >>> calibrator.apply(np.array([[2.5, 9.0, -9.0]]))
    array([[0.5, 1. , 0. ]])
    """

    method: str
    k: int | None
    n_pairs: float
    scores: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    levels: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    slope: float = 0.0
    intercept: float = 0.0

    def __str__(self) -> str:
        """Describe the map."""
        if self.method == "platt":
            parameters = f"slope {self.slope:.6g}, intercept {self.intercept:.6g}"
        else:
            parameters = counted(self.scores.size, "points")
        noun = "pair" if self.n_pairs == 1 else "pairs"
        labels = "all listed labels"
        if self.k:
            labels = f"the first {self.k} labels of each row"
        return f"{self.method}, {parameters}, fitted to {self.n_pairs:.15g} {noun}: {labels}"

    def apply(self, y_score: RowsLike) -> Any:
        """Return predictions with probabilities in place of scores.

        Parameters
        ----------
        y_score : sparse or dense scores (m, l), pair of arrays (m, k), lists, dicts or frame
            Scores, or the path of a file of them, as `fit` takes them, of which higher ones are
            better. A pair is of labels and scores. Empty slots of a list, with label -1, stay as
            they are.

        Returns
        -------
        csr_array, array, pair, lists, dicts or frame
            The same form, with probabilities: float32 for scores of float32 or narrower, else
            float64. A list keeps its order. In a matrix, labels of one step of an isotonic map
            become level. Of a file, what `xmleval.io.read_scores` returns or, with names, ``{row:
            {label: probability}}``.

        Raises
        ------
        ValueError
            If there are no scores, or some are NaN.
        """
        if isinstance(y_score, Rows):
            rows = np.repeat(np.arange(y_score.n_rows), np.diff(y_score.ptr))
            probabilities = self._map_list(y_score.labels, y_score.values, rows)
            return y_score._replace(values=probabilities)
        if is_file(y_score):
            y_score = read_predictions(y_score)
        else:
            y_score = as_plain_rows("y_score", y_score)
        entries = open_entries("y_score", y_score)
        if entries is not None:
            entry_scores = require_scores("y_score", entries, "probabilities")
            return entries.with_scores(self._map(entry_scores, entries.row_of))
        if is_pair(y_score):
            labels, scores = pair_members("y_score", y_score, 0)
            rows = np.broadcast_to(np.arange(len(labels))[:, None], labels.shape)
            return labels, self._map_list(labels, scores, rows)
        value = as_plain("y_score", y_score)
        if is_sparse(value):
            matrix = value.tocsr(copy=True)
            rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
            matrix.data = self._map(matrix.data, rows)
            return matrix
        scores = as_array("y_score", value)
        if scores.ndim != 2:
            raise InputError(
                "y_score", f"shape {scores.shape} is not two-dimensional; expected rows x labels"
            )
        rows = np.repeat(np.arange(scores.shape[0]), scores.shape[1])
        return self._map(scores.reshape(-1), rows).reshape(scores.shape)

    def _map_list(self, labels: Ints, scores: Scores | None, rows: Ints) -> Scores:
        """Return the probabilities of labels; empty slots keep their scores."""
        if scores is None:
            raise InputError("y_score", "has no scores to make probabilities of")
        probabilities = scores.astype(_dtype_of(scores))
        is_filled = labels >= 0
        probabilities[is_filled] = self._map(scores[is_filled], rows[is_filled])
        return probabilities

    def _map(self, scores: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of scores, (n,); ``rows`` are named if scores are invalid."""
        values = np.ascontiguousarray(scores, np.float64)
        first_nan = np.flatnonzero(np.isnan(values))[:1]
        if first_nan.size:
            row = int(rows[first_nan[0]])
            raise InputError("y_score", "score nan is not a number", row=row, value=math.nan)
        probabilities = np.empty(values.size)
        if self.method == "platt":
            write_platt(values, self.slope, self.intercept, probabilities)
        else:
            interpolate(values, self.scores, self.levels, probabilities)
        return probabilities.astype(_dtype_of(scores), copy=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the map as JSON, which replaces the file when it is complete.

        Parameters
        ----------
        path : path
            File to write.

        Raises
        ------
        OSError
            If it cannot be written; an existing file is then kept.
        """
        saved: dict[str, Any] = {
            "kind": KIND,
            "version": VERSION,
            "method": self.method,
            "k": self.k,
            "n_pairs": self.n_pairs,
        }
        if self.method == "platt":
            saved |= {"slope": self.slope, "intercept": self.intercept}
        else:
            saved |= {"scores": self.scores.tolist(), "levels": self.levels.tolist()}
        refuse_ending(Path(path), "a calibrator", ("", ".json"))
        with replacing(Path(path)) as file:
            file.write(f"{json.dumps(saved, indent=1)}\n".encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibrator:
        """Load a saved map.

        Parameters
        ----------
        path : path
            File written by `save`.

        Returns
        -------
        Calibrator

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is not such a file, is damaged, or has another version.
        """
        try:
            with InputFile(as_path(path)).open() as file:
                text = file.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                raise ValueError("too large")
            try:
                saved = json.loads(text)
            except (UnicodeDecodeError, json.JSONDecodeError):
                raise ValueError("not JSON") from None
            return _from_json(saved)
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            reason = str(error)
            if isinstance(error, KeyError):
                reason = f"{error} is missing"
            raise ValueError(
                f"{path}: not a saved calibrator, or damaged ({reason}); {EXPECTED}"
            ) from None


def _from_json(saved: object) -> Calibrator:
    """Return the map of a saved file's JSON value, or raise ValueError."""
    if not isinstance(saved, dict) or saved.get("kind") != KIND:
        raise ValueError(f"its kind is not {shown(KIND)}")
    if saved["version"] != VERSION:
        raise ValueError(f"version {saved['version']}, and this xmleval reads {VERSION}")
    method = saved["method"]
    k = saved["k"]
    n_pairs = _number(saved["n_pairs"])
    if method not in METHODS:
        raise ValueError(f"method {shown(method)}")
    has_valid_k = k is None or (type(k) is int and k > 0)
    if not has_valid_k or n_pairs <= 0:
        raise ValueError("k or n_pairs")
    if method == "platt":
        slope = _number(saved["slope"])
        intercept = _number(saved["intercept"])
        return Calibrator(method, k, n_pairs, slope=slope, intercept=intercept)
    scores = np.array([*map(_number, saved["scores"])], np.float64)
    levels = np.array([*map(_number, saved["levels"])], np.float64)
    if not _is_rising_map(scores, levels):
        raise ValueError("scores or levels are not rising")
    return Calibrator(method, k, n_pairs, scores, levels)


def _is_rising_map(scores: Floats, levels: Floats) -> bool:
    """Whether scores and probabilities are points of a rising map, at least one."""
    if not scores.size == levels.size > 0:
        return False
    is_rising = (np.diff(scores) > 0).all() and (np.diff(levels) >= 0).all()
    return bool(is_rising and levels[0] >= 0 and levels[-1] <= 1)


def _number(value: object) -> float:
    if (type(value) is int or type(value) is float) and math.isfinite(value):
        return float(value)
    raise ValueError(f"{shown(value)} is not a finite number")


def _dtype_of(scores: NDArray[Any]) -> type[np.float32] | type[np.float64]:
    """Return the type of probabilities for scores."""
    if scores.dtype in (np.float16, np.float32):
        return np.float32
    return np.float64
