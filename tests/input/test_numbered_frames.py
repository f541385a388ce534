"""Frames with numbered columns and rows, beside a truth without names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.input.test_frames import SHUFFLED
from tests.input.test_named_objects import MEASURES, S, Y
from xmleval import Evaluator, evaluate, inverse_propensity
from xmleval.thresholds import fit

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
        told = "y_score: labels were read by position, as y_true has no names of them"
        assert {*found.notes} - {*expected.notes} == {told}
    with pytest.raises(ValueError, match="y_score"):
        evaluate(Y, pd.DataFrame(DENSE)[[1, 0]], metrics=MEASURES)


TRUTH = Y.toarray()


def noted(expected: Any, found: Any) -> set[str]:
    assert {**found} == {**expected}
    return {*found.notes} - {*expected.notes}


@pytest.mark.parametrize("form", INTEGERS, ids=["integers", "texts", "sparse"])
@pytest.mark.parametrize("given", [DENSE, S, DENSE.tolist()], ids=["array", "sparse", "lists"])
def test_numbered_columns_of_a_truth_are_brought_in_order_beside_what_has_no_names(
    form: Callable[[Any, Any], Any], given: Any
) -> None:
    pd = pytest.importorskip("pandas")
    frame = form(pd.DataFrame(TRUTH), pd)
    expected = evaluate(Y, given, metrics=MEASURES)
    assert noted(expected, evaluate(frame, given, metrics=MEASURES)) == set()
    turned = frame.iloc[:, SHUFFLED]
    told = "y_true: columns were brought in the order of their numbers"
    found = evaluate(turned, given, metrics=MEASURES)
    assert noted(expected, found) == {told}
    assert found.label_names == [*frame.columns]
    ids = np.argsort(-DENSE), -np.sort(-DENSE)
    assert noted(evaluate(Y, ids, metrics=MEASURES), evaluate(turned, ids, metrics=MEASURES)) == {told}
    scores = form(pd.DataFrame(DENSE), pd)  # of which both are frames, nothing is to be said
    assert noted(evaluate(Y, DENSE, metrics=MEASURES), evaluate(turned, scores, metrics=MEASURES)) == set()


def test_an_evaluator_takes_numbered_columns_of_a_truth() -> None:
    pd = pytest.importorskip("pandas")
    ev = Evaluator(MEASURES, n_labels=4)
    ev.update(pd.DataFrame(TRUTH)[SHUFFLED], DENSE)
    assert ev.compute().notes[0] == "y_true: columns were brought in the order of their numbers"
    assert {**ev.compute()} == {**evaluate(Y, DENSE, metrics=MEASURES)}


def test_labels_of_a_truth_with_other_names_are_read_by_position_beside_what_has_none() -> None:
    pd = pytest.importorskip("pandas")
    expected = evaluate(Y, DENSE, y_pred=Y, metrics=[*MEASURES, "f1.micro"])
    named = pd.DataFrame(TRUTH, columns=list("dbca"))
    found = evaluate(named, DENSE, y_pred=named, metrics=[*MEASURES, "f1.micro"])
    told = "labels were read by position, as it has no names of them"
    assert noted(expected, found) == {f"y_score: {told}"}
    listed = {place: row.nonzero()[0].tolist() for place, row in enumerate(TRUTH)}
    by_key = evaluate(named, y_pred=listed, metrics=["f1.micro"])
    assert by_key["f1.micro"] == 1
    assert by_key.notes == [f"y_pred: {told}"]
    assert evaluate(named, DENSE, labels=list("dbca"), metrics=MEASURES).notes == expected.notes
    with pytest.warns(UserWarning, match=f"^y_score: {told}$"):
        fit(named, DENSE, "f1.macro", rule="label")


INDEX = "its index has the numbers of the rows in another order, and"


@pytest.mark.parametrize("given", [{"y_score": DENSE}, {"y_pred": Y}, {"y_score": DENSE.tolist()}])
def test_an_index_of_a_truth_in_another_order_is_refused_beside_what_has_none(given: dict[str, Any]) -> None:
    pd = pytest.importorskip("pandas")
    (other,) = given
    name = "f1.micro@1" if other == "y_score" else "f1.micro"
    turned = pd.DataFrame(TRUTH).iloc[SHUFFLED]
    named = pd.Series([[str(n) for n in row.nonzero()[0]] for row in TRUTH])[SHUFFLED]
    for truth, labels in ((turned, None), (named, list("0123"))):
        with pytest.raises(ValueError, match=f"^y_true: {INDEX} {other} has no index; sort_index"):
            evaluate(truth, **given, labels=labels, metrics=[name])
    later = turned.set_axis([7, 2, 5, 3])  # of a part of the rows of a larger frame
    expected = evaluate(TRUTH[SHUFFLED], **given, metrics=[name])
    assert {**evaluate(later, **given, metrics=[name])} == {**expected}


def test_numbered_weights_follow_the_rule_of_rows() -> None:
    pd = pytest.importorskip("pandas")
    weights = np.array([1.0, 2.0, 0.5, 4.0])
    series = pd.Series(weights)
    expected = evaluate(Y, DENSE, metrics=MEASURES, sample_weight=weights)
    by_key = dict(zip(SHUFFLED, weights[SHUFFLED].tolist(), strict=True))
    for given in (series, series.set_axis([9, 4, 1, 7]), series.set_axis(list("wxyz")), by_key):
        assert {**evaluate(Y, DENSE, metrics=MEASURES, sample_weight=given)} == {**expected}
    with pytest.raises(ValueError, match=f"^sample_weight: {INDEX} y_true has no index"):
        evaluate(Y, DENSE, metrics=MEASURES, sample_weight=series[SHUFFLED])
    truth, scores = pd.DataFrame(TRUTH).iloc[SHUFFLED], pd.DataFrame(DENSE)
    with pytest.raises(ValueError, match=f"^y_true: {INDEX} sample_weight has no index"):
        evaluate(truth, scores, metrics=MEASURES, sample_weight=weights)
    assert {**evaluate(truth, scores, metrics=MEASURES, sample_weight=series)} == {**expected}
    part = truth.set_axis([7, 2, 5, 3]), scores.set_axis([7, 2, 5, 3])
    with pytest.raises(ValueError, match=r"no value for 7, .* give sample_weight.to_numpy\(\)$"):
        evaluate(*part, metrics=MEASURES, sample_weight=series)
    ev = Evaluator(MEASURES, n_labels=4)
    with pytest.raises(ValueError, match=f"^sample_weight: {INDEX} y_true has no index"):
        ev.update(Y, DENSE, sample_weight=series[SHUFFLED])


def test_numbered_propensities_follow_the_rule_of_columns() -> None:
    pd = pytest.importorskip("pandas")
    train = np.tri(5, 4)
    q, wrong = inverse_propensity(train), DENSE[:, ::-1]
    expected = {**evaluate(Y, wrong, metrics=["psp@2"], inverse_propensity=q)}
    assert expected != {**evaluate(Y, wrong, metrics=["psp@2"], inverse_propensity=q[SHUFFLED])}
    for truth in (Y, pd.DataFrame(TRUTH), pd.DataFrame(TRUTH)[SHUFFLED]):
        for own in (q, pd.Series(q), pd.Series(q)[SHUFFLED]):
            assert {**evaluate(truth, wrong, metrics=["psp@2"], inverse_propensity=own)} == expected
        for held in (train, pd.DataFrame(train), pd.DataFrame(train)[SHUFFLED]):
            assert {**evaluate(truth, wrong, metrics=["psp@2"], y_train=held)} == expected
