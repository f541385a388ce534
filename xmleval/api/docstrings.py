"""Docstrings of functions for single measures, written from the records of the measures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from xmleval.spec import parse_spec

Function = TypeVar("Function", bound=Callable[..., float])
ARGUMENTS = {
    "y_true": (
        "sparse matrix or array, or dense 0/1 array, of shape (m, l)",
        "Relevant labels of each instance.",
        "np.eye(3)",
    ),
    "y_score": (
        "sparse or dense scores (m, l), or (labels, scores) arrays of shape (m, depth)",
        "Scores, or top-k lists.",
        "np.eye(3) + [0.3, 0.1, 0.2]",
    ),
    "y_pred": (
        "sparse matrix or array, or dense 0/1 array, of shape (m, l)",
        "Predicted set of each instance.",
        "np.eye(3)",
    ),
    "k": ("int, default 5", "Cutoff.", "1"),
    "inverse_propensity": (
        "array of shape (l,)",
        "Inverse propensities, see `inverse_propensity`.",
        "np.array([2, 3, 4])",
    ),
    "higher_is_better": ("bool, default True", "Whether higher scores are better; False for distances.", ""),
}


def documented(measure: str) -> Callable[[Function], Function]:
    """Return a decorator that completes a docstring from the record of a measure."""
    metric = parse_spec(measure).metric
    low, high = (f"{end:g}" for end in metric.range)
    better = {"up": "", "down": "; lower is better"}[metric.direction]
    value = 1.0 if metric.direction == "up" else 0.0  # for the perfect predictions of the example

    def complete(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        parameters = [f"{name} : {ARGUMENTS[name][0]}\n    {ARGUMENTS[name][1]}" for name in names]
        given = ", ".join(
            ("" if n.startswith("y_") else f"{n}=") + ARGUMENTS[n][2] for n in names if ARGUMENTS[n][2]
        )
        sections = {
            "Parameters": parameters,
            "Returns": ["float", f"    Within {low}..{high}{better}; NaN if undefined."],
            "Raises": ["ValueError", "    If input is invalid; the message names argument, row and value."],
            "Warns": ["UserWarning", "    For each note of `evaluate` on what was seen in the data."],
            "References": [f"{metric.reference}."],
            "Examples": [
                ">>> import numpy as np",
                f">>> from xmleval import {function.__name__}",
                f">>> {function.__name__}({given})",
                f"{value}",
            ],
        }
        text = [f"{title}\n{'-' * len(title)}\n" + "\n".join(lines) for title, lines in sections.items()]
        function.__doc__ = "\n\n".join([inspect.getdoc(function) or "", f"Formula: {metric.formula}.", *text])
        return function

    return complete
