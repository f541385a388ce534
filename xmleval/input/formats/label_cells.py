"""Labels, and their scores, in a field of a document: JSON, lists as Python prints them, or text."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any

from xmleval.budget import memory_limit
from xmleval.files.saved import SMALL_BYTES, distinct_names, parse_json
from xmleval.input.lines import SHOWN, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.input.rows import MISSING_WORDS
from xmleval.numerals import decimal_number

BETWEEN_NUMBERS = re.compile(r"[|;,\s]+")
# a list, a dict, a tuple of strings or tuples, or a set or array as Python prints them
LISTS = re.compile(r"""[\[{].*[\]}]|\(\s*+(?:\(*+\s*+['"].*)?\)|(?:frozenset|set|array)\(.*\)""", re.DOTALL)
# what Python prints: brackets, words, plain numbers, and strings, which do not follow one another
ESCAPE = r"""\\(?:[\\'"nrt]|x..|u.{4}|U.{8})"""  # that repr writes
PRINTED = re.compile(
    r"""(?:[\s\[\](){},:=-]|[A-Za-z][\w.]*+|[0-9]++(?:\.[0-9]*+)?(?:e[+-]?[0-9]++)?(?!\w)"""
    rf"""|'(?:[^'\\]++|{ESCAPE})*+'(?!\s*['"])|"(?:[^"\\]++|{ESCAPE})*+"(?!\s*['"]))*+""",
    re.DOTALL,
)
NODE_BYTES = 500  # of memory for a value that Python prints, as it is parsed
MOST_RELEVANCE = 1 << 62
TRUTHS = {"true": 1.0, "false": 0.0}  # as judgements
Labels = tuple[list[str], list[float] | None]


def parsed(text: str) -> Any:
    """Return the value that JSON is, or a list, tuple, dict, set or array as Python prints it."""
    try:
        return parse_json(text)
    except json.JSONDecodeError:  # of what Python prints, or of nothing
        if len(text) > SMALL_BYTES:
            memory_limit().check(2 * len(text) + NODE_BYTES * sum(map(text.count, ",:[{(")))
    with contextlib.suppress(SyntaxError, RecursionError, MemoryError):
        if PRINTED.fullmatch(text):
            return _printed(ast.parse(text, mode="eval").body)
    raise ValueError(f"{shown(text)} is no list of labels in JSON or Python")


def _printed(node: ast.expr) -> Any:
    """Return the value of an expression as Python prints it: any sequence or set as a list."""
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_printed(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [_printed(key) for key in keys if key is not None]
            if all(isinstance(name, str) for name in names):
                return distinct_names(zip(names, map(_printed, values), strict=True))
        case ast.Call(func=ast.Name(id=name), args=args) if name in ("set", "frozenset", "array"):
            return _printed(args[0]) if args else []
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np")), args=[value]):
            return _printed(value)
    raise SyntaxError


def labels_of(value: Any) -> Labels:
    """Return labels, and their scores where there are any.

    They are lists of labels, of [label, score] or of {"label": ..., "score": ...}, or {label: score}.
    """
    if isinstance(value, dict):
        pairs: list[Any] = sorted(value.items(), reverse=True)  # equal scores rank by name, others as listed
    elif not isinstance(value, list):
        raise ValueError(f"{_json(value)} is no list of labels")
    elif not value or not isinstance(value[0], list | dict):
        return [*map(name_of, value)], None
    else:
        pairs = [_pair(item) for item in value]
    return [name_of(name) for name, _ in pairs], [number_of(score) for _, score in pairs]


def numbers_of(cell: Any, kind: str) -> list[float]:
    """Return the scores or judgements in a cell that has no labels."""
    if isinstance(cell, str):
        text = cell.strip()
        if text in ("", *MISSING_WORDS):
            return []
        cell = parsed(text) if text.startswith(("[", "array(")) else BETWEEN_NUMBERS.split(text)
    return [number_of(item, kind) for item in (cell if isinstance(cell, list) else [cell])]


def _pair(item: Any) -> Sequence[Any]:
    if isinstance(item, list) and len(item) == 2:
        return item
    if isinstance(item, dict) and "label" in item and "score" in item:
        return item["label"], item["score"]
    raise ValueError(f"{_json(item)} is no label with a score")


def name_of(item: Any, what: str = "label") -> str:
    """Return a name of JSON, also as an integer."""
    if isinstance(item, str):
        return item.strip()
    if type(item) is int:
        return str(item)
    raise ValueError(f"{_json(item)} is no {what}")


def number_of(value: Any, kind: str = "scores") -> float:
    """Return a number of JSON, also as text: a score, a grade, or a judgement of a truth, which is whole.

    Of the last two, true is 1 and false is 0.
    """
    number: float | None = None
    if type(value) is float:
        number = value
    elif isinstance(value, str):
        number = decimal_number(value := value.strip())
        number = TRUTHS.get(value.lower()) if number is None and kind != "scores" else number
    elif type(value) is int or (kind != "scores" and type(value) is bool):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if number is None or number != number:
        raise ValueError(f"{_json(value)} is no {'relevance, an integer' if kind == 'truth' else 'score'}")
    if kind == "truth" and not (number.is_integer() and abs(number) < MOST_RELEVANCE):
        raise ValueError(f"{number} is no relevance, an integer; {LIKE_A_SCORE}; grades need gains")
    return number


def _json(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shown(value) if isinstance(value, str) else json.dumps(value)[:SHOWN]
