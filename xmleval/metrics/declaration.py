"""What identifies a measure of a user in saved counts: its version and a hash of the rest."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from dataclasses import fields
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from xmleval.metrics.measure import FORMULAS, Measure, is_function, no_value

WORDS = ("title", "symbol", "formula", "reference")  # fields that are only printed


def declaration_of(measure: Measure) -> str:
    """Return the version of a measure, and a hash of what its values depend on."""
    declared = {
        each.name: str(getattr(measure, each.name))
        for each in fields(Measure)
        if each.name not in (*FORMULAS, *WORDS)
    }
    formulas = [_source_of(getattr(measure, name)) for name in FORMULAS]
    digest = sha256(json.dumps([declared, formulas], sort_keys=True).encode()).hexdigest()
    return f"version {measure.version}, {digest[:16]}"


def _source_of(formula: Any) -> str:
    """Return the behaviour of a formula: source without comments, defaults and enclosed values.

    Other functions and constants of its module are not part of it.
    """
    if formula is None or formula is no_value:
        return ""
    if isinstance(formula, partial):
        bound = [*formula.args, *sorted(formula.keywords.items())]
        return f"{_source_of(formula.func)} with {_text_of(bound)}"
    function = inspect.unwrap(formula)
    try:
        source = ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError):
        code = function.__code__
        source = code.co_code.hex() + repr(code.co_consts) + repr(code.co_names)
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    return f"{source} with {_text_of([function.__defaults__, *enclosed])}"


def _text_of(values: list[Any]) -> str:
    """Return values as text that is the same in every process."""
    return ", ".join(_source_of(each) if is_function(each) else _plain(each) for each in values)


def _plain(value: Any) -> str:
    """Return a value as text; all entries of arrays; the type of objects."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text
