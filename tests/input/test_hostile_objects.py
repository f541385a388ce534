"""Whatever is given is evaluated or refused with a message, never with an error of another kind."""

from __future__ import annotations

import collections
import contextlib
import decimal
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import evaluate


class Unreadable:
    """An object that has a length and cannot be read."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        raise RuntimeError("cannot be read")


Y = np.eye(3, 4)
OBJECTS: dict[str, Any] = {
    "nothing": None,
    "number": 3,
    "text": "abc",
    "bytes": b"abc",
    "numbers": [1, 2, 3],
    "texts": ["a", "b", "c"],
    "empty": [],
    "empty rows": [[], [], []],
    "rows of nothing": [None] * 3,
    "bytes in rows": [[b"a"], [b"b"], []],
    "floats in rows": [[0.5], [0.2], [0.1]],
    "nested": [[[1]], [[2]], [[3]]],
    "names": [["a"], ["b"], ["c"]],
    "mixed": [["a"], [1], [None]],
    "empty dict": {},
    "dict of a number": {1: 2},
    "dict of text": {"q": "a"},
    "dict of nothing": {"q": None},
    "qrels": {"q": {"a": 1}},
    "no judgement": {"q": {"a": None}},
    "ids by key": {0: [1, 2], 1: [0], 2: [3]},
    "text for a score": {"q": {"a": "x"}},
    "nan for a key": {np.nan: {"a": 1}},
    "scores": [{"a": 1.0}, {}, {"b": 2}],
    "scores of ids": [{1: 1.0}, {}, {2: 2}],
    "set": {1, 2},
    "sets": [{1}, {2}, {3}],
    "hits": [[{"corpus_id": 1, "score": 0.5}], [], []],
    "no hits": [[{"id": 1}], [], []],
    "pairs": [[("a", 0.5)], [], []],
    "triples": [[("a", 0.5, 1)], [], []],
    "pairs of nothing": [[("a", None)], [], []],
    "range": range(3),
    "tuple": (1, 2, 3),
    "empty tuple": (),
    "pair of empty": ([], []),
    "bare list": (np.zeros((3, 1), int), None),
    "type": int,
    "pair of names": (np.array([["a"]] * 3), None),
    "pair of objects": (np.array([[None]] * 3), np.ones((3, 1))),
    "objects": np.array([["a"], ["b", "c"], []], object),
    "no dimension": np.array(None),
    "vector of text": np.array(["a"]),
    "cube": np.zeros((3, 4, 1)),
    "structured": np.zeros(3, [("a", int)]),
    "dates": np.zeros((3, 4), "M8[s]"),
    "matrix": Y,
    "sparse": sp.csr_array(Y),
    "vector": sp.coo_array(np.ones(3)),
    "counter": collections.Counter("abc"),
    "deque": collections.deque([["a"], ["b"], []]),
    "decimals": [[decimal.Decimal(1)] * 4] * 3,
    "unreadable": Unreadable(),
}


def frames() -> dict[str, Any]:
    pd: Any = pytest.importorskip("pandas")
    names = list("abcd")
    columns: dict[str, dict[str, Any]] = {
        "long": {"instance": ["q"], "label": ["a"]},
        "null": {"instance": ["q", None], "label": ["a", None], "score": [1.0, None]},
        "text": {"instance": ["q"], "label": ["a"], "score": ["x"]},
        "lists": {"labels": [["a"], ["b"], None]},
        "texts": {"labels": ["a", "b", "c"]},
        "scored": {"labels": [["a"], ["b"], ["c"]], "scores": [[1.0], None, [2.0]]},
    }
    return {
        **{name: pd.DataFrame(held) for name, held in columns.items()},
        "wide": pd.DataFrame(Y, columns=names),
        "index twice": pd.DataFrame(Y, columns=names, index=[0, 0, 1]),
        "empty": pd.DataFrame(),
        "no rows": pd.DataFrame(columns=names),
        "no columns": pd.DataFrame(index=[1, 2, 3]),
        "levels": pd.DataFrame(Y, columns=pd.MultiIndex.from_product([list("ab"), [0, 1]])),
        "numbers": pd.Series([1, 2, 3]),
        "series": pd.Series([["a"], ["b"], []]),
        "gaps": pd.Series([["a"], np.nan, []]),
        "matrix": Y,
        "qrels": {"q": {"a": 1}},
    }


def attempt(truth: Any, given: Any) -> None:
    for more in ({}, {"n_labels": 4}, {"labels": list("abcd")}):
        for options in ({"y_score": given, "metrics": ["p@1"]}, {"y_pred": given, "metrics": ["f1.micro"]}):
            with contextlib.suppress(ValueError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluate(truth, **{**options, **more})


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_evaluated_or_refused(name: str) -> None:
    for other in OBJECTS.values():
        attempt(OBJECTS[name], other)


def test_frames_are_evaluated_or_refused() -> None:
    held = frames()
    for truth in held.values():
        for given in held.values():
            attempt(truth, given)
