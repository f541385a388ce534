"""Judgements and runs as ranx holds them."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.typed import Dict

from xmleval import Evaluator, evaluate, fuse

NAMES, MEASURES = ["red", "green", "blue"], ["p@2", "ndcg", "mrr@2"]
QRELS = {"q1": {"red": 1, "green": 1}, "q2": {"blue": 1}, "q3": {"red": 1}}
RUN = {"q2": {"blue": 0.3}, "q1": {"green": 0.5, "blue": 0.9}, "q3": {"red": 0.1}}


class TypedDicts:
    """Values by query and document in typed dictionaries of Numba, as ranx' Qrels and Run hold them."""

    def __init__(self, values: dict[str, dict[str, Any]], kind: Any) -> None:
        self.typed = Dict.empty(types.unicode_type, types.DictType(types.unicode_type, kind))
        for query, row in values.items():
            inner = Dict.empty(types.unicode_type, kind)
            for name, value in row.items():
                inner[name] = value
            self.typed[query] = inner

    def __len__(self) -> int:
        return len(self.typed)

    def __getitem__(self, query: str) -> Any:
        return dict(self.typed[query])

    def keys(self) -> Any:
        return self.typed.keys()

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return {query: dict(row) for query, row in self.typed.items()}


def test_qrels_and_runs_of_ranx_are_read_as_their_dicts() -> None:
    qrels, run = TypedDicts(QRELS, types.int64), TypedDicts(RUN, types.float64)
    expected = dict(evaluate(QRELS, RUN, metrics=MEASURES))
    for rows in ((qrels, run), (QRELS, run), (qrels, RUN)):
        assert dict(evaluate(*rows, metrics=MEASURES)) == expected
        evaluator = Evaluator(MEASURES, labels=NAMES)
        evaluator.update(*rows)
        assert dict(evaluator.compute()) == expected
    assert fuse([run, run]) == fuse([RUN, RUN])
    train = {**QRELS, "q4": {"white": 1, "red": 1}}
    trained = evaluate(QRELS, RUN, metrics="psp@1", y_train=train)
    typed = TypedDicts(train, types.int64)
    assert dict(evaluate(QRELS, RUN, metrics="psp@1", y_train=typed)) == dict(trained)
