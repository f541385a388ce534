"""Refusals have fields, whichever way they travel."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.input.errors import InputError


def test_refusal_has_fields_and_travels_between_processes() -> None:
    scores = np.array([[0.5, 0, 0], [0, 0, np.nan], [0, 0, 0]])
    with pytest.raises(InputError) as caught:
        evaluate(np.eye(3, dtype=int), scores, metrics="p@1")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.argument, error.row) == ("y_score", 1)
        assert math.isnan(error.value)
        assert str(error) == "y_score: row 1: score nan is not a number; scores must be ordered"
