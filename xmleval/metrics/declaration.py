"""What identifies a measure of a user in saved counts: its version and a hash of the rest."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import fields
from hashlib import sha256
from typing import Any

from xmleval.metrics.measure import FORMULAS, Measure, no_value

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


def _source_of(formula: Callable[..., Any] | None) -> str:
    """Return the source of a formula without comments; its byte code where there is none."""
    if formula is None or formula is no_value:
        return ""
    try:
        return ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(formula))))
    except (OSError, TypeError, SyntaxError):
        code = getattr(formula, "__code__", None)
        return repr(formula) if code is None else code.co_code.hex() + repr(code.co_consts)
