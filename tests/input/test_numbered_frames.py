"""Frames with numbered columns and rows, beside a truth without names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.input.test_frames import SHUFFLED
from tests.input.test_named_objects import MEASURES, S, Y
from xmleval import evaluate

DENSE = S.toarray() + 1 + np.arange(4) / 100  # no two of a row are equal, and none is 0

INTEGERS = [
    lambda frame, pd: frame,
    lambda frame, pd: frame.rename(columns=str),
    lambda frame, pd: frame.astype(pd.SparseDtype(float, 0)),
]


@pytest.mark.parametrize("truth", [Y.toarray(), Y], ids=["array", "sparse"])
@pytest.mark.parametrize("form", INTEGERS, ids=["integers", "texts", "sparse"])
def test_numbered_columns_are_brought_in_order_beside_a_truth_without_names(
    form: Callable[[Any, Any], Any], truth: Any
) -> None:
    pd = pytest.importorskip("pandas")
    frame = form(pd.DataFrame(DENSE), pd)
    expected = evaluate(truth, DENSE, metrics=MEASURES)
    backwards = [*range(len(DENSE))][::-1]
    columns = "y_score: columns were brought in the order of their numbers"
    for given, notes in [
        (frame, ()),
        (frame.iloc[:, SHUFFLED], (columns,)),
    ]:
        found = evaluate(truth, given, metrics=MEASURES)
        assert {**found} == {**expected}
        assert {*found.notes} - {*expected.notes} == {*notes}
    sets = pd.DataFrame(Y.toarray())
    assert evaluate(truth, y_pred=sets.iloc[:, SHUFFLED], metrics="f1.micro")["f1.micro"] == 1
    with pytest.raises(ValueError, match="y_score: its index has the numbers of the rows in another order"):
        evaluate(truth, frame.iloc[backwards], metrics=MEASURES)


def test_numbered_columns_of_other_frames_are_brought_in_order() -> None:
    polars = pytest.importorskip("polars")
    expected = evaluate(Y, DENSE, metrics=MEASURES)
    named = polars.DataFrame(DENSE, schema=["0", "1", "2", "3"])
    for frame in (polars.DataFrame(DENSE), named, named[[str(number) for number in SHUFFLED]]):
        assert {**evaluate(Y, frame, metrics=MEASURES)} == {**expected}
    assert evaluate(Y, polars.DataFrame(DENSE), metrics=MEASURES).notes == expected.notes


def test_columns_and_rows_with_other_names_are_read_by_position_beside_a_truth_without_names() -> None:
    pd = pytest.importorskip("pandas")
    expected = evaluate(Y, DENSE, metrics=MEASURES)
    index = np.arange(len(DENSE))[::-1] + 1  # of a part of the rows of a larger frame
    for columns in (list("dbca"), [4, 3, 2, 1]):
        found = evaluate(Y, pd.DataFrame(DENSE, index, columns), metrics=MEASURES)
        assert {**found} == {**expected}
        told = "y_score: columns were read by position, as y_true has no names of labels"
        assert {*found.notes} - {*expected.notes} == {told}
    with pytest.raises(ValueError, match="y_score"):
        evaluate(Y, pd.DataFrame(DENSE)[[1, 0]], metrics=MEASURES)
