"""Messages and notes quote values briefly, whatever they are, and as Python's own types."""

import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xmleval
from xmleval import Evaluator, compare, evaluate
from xmleval.base.errors import shown, shown_names
from xmleval.evaluation.request import Options

LONGEST = 600  # characters: several values, names of options, and what to do
TRUTH = np.eye(4, dtype=int)
SCORES = np.eye(4) + 0.5
LONG = "x" * 10_000
HUGE: dict[str, Any] = {
    "text": LONG,
    "bytes": b"y" * 10_000,
    "dict": {f"k{i}": "v" * 100 for i in range(3000)},
    "dict of dicts": {f"k{i}": {f"d{j}": 0.5 for j in range(1000)} for i in range(4)},
    "dict of long names": {LONG + str(i): LONG for i in range(4)},
    "numbers": [*range(10_000)],
    "texts": [LONG + str(i) for i in range(4)],
    "pairs": [(LONG, LONG + str(i)) for i in range(4)],
    "integer": 10**400,
    "enormous integer": 10**5000,
    "array": np.arange(9e4).reshape(3, 100, 300),
    "array of texts": np.array([LONG + str(i) for i in range(4)]),
    "set": {*range(10_000)},
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "evaluate": (evaluate, {"y_true": TRUTH, "y_score": SCORES, "metrics": ["p@1"]}),
    "Evaluator": (Evaluator, {"metrics": ["p@1"], "n_labels": 4}),
    "compare": (
        compare,
        {"models": {"a": SCORES, "b": SCORES}, "y_true": TRUTH, "metrics": ["p@1"]},
    ),
    "inverse_propensity": (xmleval.inverse_propensity, {"y_train": TRUTH}),
    "label_groups": (xmleval.label_groups, {"y_train": TRUTH}),
    "rank": (
        xmleval.rank,
        {
            "results": {
                "d": {"a": 0.1, "b": 0.2},
                "e": {"a": 0.1, "b": 0.2},
            },
            "metric": "p@1",
        },
    ),
    "fuse": (xmleval.fuse, {"predictions": [SCORES, SCORES]}),
    "check": (
        xmleval.check,
        {"results": evaluate(TRUTH, SCORES, metrics=["p@1"]), "min": {"p@1": 0.1}},
    ),
    "p_at_k": (xmleval.p_at_k, {"y_true": TRUTH, "y_score": SCORES}),
    "label_statistics": (xmleval.label_statistics, {"y_true": TRUTH}),
    "Conventions": (xmleval.Conventions, {}),
}
NOT_HERE = {"progress", "scheduler", "workers", "save", "checkpoint"}  # called, or written to
ERRORS = (
    ValueError,
    TypeError,
    KeyError,
    OSError,
    OverflowError,
    ImportError,
    MemoryError,
)


def arguments() -> Iterator[tuple[str, str]]:
    """Yield pairs of a function's name and a parameter."""
    for name, (function, defaults) in FUNCTIONS.items():
        parameters = [*inspect.signature(function).parameters, *defaults]
        if name in ("Evaluator", "compare", "evaluate"):
            parameters += [*Options.__annotations__]
        for parameter in dict.fromkeys(parameters):
            if parameter not in NOT_HERE | {"options", "files", "inputs"}:
                yield name, parameter


@pytest.mark.parametrize(("name", "parameter"), [*arguments()])
def test_messages_quote_huge_values_briefly(name: str, parameter: str) -> None:
    function, defaults = FUNCTIONS[name]
    for kind, value in HUGE.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(**defaults | {parameter: value})
            except ERRORS as error:
                texts = [str(error)]
            else:
                texts = [*getattr(result, "notes", [])]
        texts += [str(warning.message) for warning in caught]
        for text in texts:
            assert len(text) <= LONGEST, (kind, len(text), text[:300])
            assert "np." not in text, (kind, text[:300])


def texts_of(function: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """Return the error of a call, or the notes of its result, in Python and in JSON."""
    try:
        result = function(*arguments, **options)
    except (ValueError, TypeError) as error:
        return [str(error)]
    return [*result.notes, *json.loads(result.to_json())["notes"]]


@pytest.mark.parametrize("form", ["lists", "dicts of dicts", "dicts of lists"])
def test_messages_quote_numpy_names_as_python_text(form: str) -> None:
    labels = np.array(["a", "b", "c", "d"])
    keys = np.array(["r0", "r1"])

    def rows(*label_ids: int) -> Any:
        """Return rows of one label each."""
        names = labels[[*label_ids]]
        if form == "lists":
            return [[name] for name in names]
        if form == "dicts of dicts":
            return {key: {name: 1.0} for key, name in zip(keys, names, strict=True)}
        return {key: [name] for key, name in zip(keys, names, strict=True)}

    truth = rows(0, 1)
    texts = texts_of(evaluate, rows(0, 1), rows(2, 3), metrics=["p@1"])
    if form == "lists":
        texts += texts_of(evaluate, truth, [[*labels[[0, 0]]], [labels[1]]], metrics=["p@1"])
    else:
        texts += texts_of(evaluate, truth, {np.str_("other"): {labels[0]: 1.0}}, metrics=["p@1"])
    texts += texts_of(evaluate, truth, rows(0, 1), metrics=["p@1"], labels=labels[[0, 0]])
    texts += texts_of(evaluate, truth, rows(0, 1), metrics=[np.str_("p@x")])
    assert len(texts) > 3
    for text in texts:
        assert "np." not in text
        assert "str_" not in text


@pytest.mark.parametrize("length", [10, 10_000])
def test_messages_quote_long_names_briefly(length: int) -> None:
    names = [f"{i}{'n' * length}" for i in range(50)]
    truth = {name: {names[0]: 1} for name in names[:25]}
    run = {name: {names[1]: 0.5, names[2]: 0.25} for name in names[10:]}
    models = {names[0]: run, names[1]: run[names[10]]}
    texts = texts_of(evaluate, truth, run, metrics=["p@1", "map@all"])
    texts += texts_of(
        evaluate, truth, run, metrics=["p@1"], sample_weight=dict.fromkeys(names[25:], 1.0)
    )
    texts += texts_of(evaluate, truth, models, metrics=["p@1"])
    texts += texts_of(evaluate, truth, run, metrics=["p@1"], labels=[names[0], names[0]])
    assert len(texts) > 5
    for text in texts:
        assert len(text) <= LONGEST, text[:300]


def test_shown_is_short_and_in_python_types() -> None:
    for value in HUGE.values():
        assert len(shown(value)) <= 80
    assert shown(np.str_("tag39")) == "'tag39'"
    assert shown([np.int64(3), np.float32(0.1), np.str_("a")]) == "[3, 0.1, 'a']"
    assert shown((np.float64(0.5),)) == "(0.5,)"
    assert shown({"a": {"b": {"c": 1}}}) == "{'a': {'b': {...}}}"
    assert shown_names(["a" * 100, *range(20)], most=2) == f"{'a' * 40}..., 0, ..."
