"""Libraries that xmleval does without, imported where they are asked for."""

from __future__ import annotations

import importlib
from typing import Any


def library(name: str, purpose: str, extra: str) -> Any:
    """Return a module by name.

    Raises
    ------
    ImportError
        If it is not installed; the message says what needs it, and how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise  # it is installed, but something that it needs is not
        raise ImportError(f"{purpose} needs {name}: pip install 'xmleval[{extra}]'", name=name) from None
