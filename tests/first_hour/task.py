"""What people type in their first hour, mistakes included, and what they are told."""

from __future__ import annotations

import ast
import importlib
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.damage import answer


class Task(NamedTuple):
    """What a person types in a folder of files, and texts that the answer holds.

    ``typed`` is a command line that begins with ``xmleval``, or Python: the answer is then what the last
    expression prints as, the warnings, or the error. ``needs`` are modules without which it is skipped.
    """

    typed: str
    says: tuple[str, ...]
    needs: tuple[str, ...] = ()


Tasks = tuple[Callable[[Path], None], list[Task]]  # how to fill the current folder, and what is typed there


def done(typed: str) -> str:
    """Do what is typed, and return the answer."""
    if typed.startswith("xmleval "):
        code, out, err = answer(shlex.split(typed)[1:])
        return f"{out}{err}exit code {code}"
    *before, last = ast.parse(typed).body
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {name: importlib.import_module(name) for name in ("xmleval", "numpy")}
    names["np"] = names["numpy"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(ast.Module(before, []), "typed", "exec"), names)
            told = str(eval(compile(ast.Expression(last.value), "typed", "eval"), names))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
    return "\n".join([*(f"warning: {one.message}" for one in caught), told])
