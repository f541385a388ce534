"""Refusals have fields, whichever way they travel."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from xmleval import evaluate
from xmleval.cli.messages import spelled
from xmleval.input.errors import InputError
from xmleval.message import Keyword, Message


def test_refusal_has_fields_and_travels_between_processes() -> None:
    scores = np.array([[0.5, 0, 0], [0, 0, np.nan], [0, 0, 0]])
    with pytest.raises(InputError) as caught:
        evaluate(np.eye(3, dtype=int), scores, metrics="p@1")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.argument, error.row) == ("y_score", 1)
        assert math.isnan(error.value)
        assert str(error) == "y_score: row 1: score nan is not a number; scores must be ordered"


def test_keywords_in_messages_are_spelt_by_those_who_show_them() -> None:
    needs = Message(Keyword("decision", "row(a,unlisted=0)"), " with ", Keyword("unlisted"))
    error = InputError("y_score", Message("a=b; ", needs, ", ", Keyword("depth")), row=2)
    for told in (error.message, pickle.loads(pickle.dumps(error.message))):
        assert told == "row 2: a=b; decision=row(a,unlisted=0) with unlisted=, depth="
        assert spelled(told) == "row 2: a=b; --decision row(a,unlisted=0) with --unlisted, depth="
