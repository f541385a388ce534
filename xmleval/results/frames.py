"""Reports as other libraries take them: frames, and names without special characters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from xmleval.base.errors import import_optional


def as_frame(header: list[str], rows: list[list[str | float]], columns: Iterable[int]) -> Any:
    """Return a pandas DataFrame of some columns, with the first one as its index."""
    pandas = import_optional("pandas", "to_frame()", "pandas")
    names = pandas.Index([row[0] for row in rows], name=header[0])
    frame = pandas.DataFrame([row[1:] for row in rows], index=names, columns=header[1:])
    return frame.iloc[:, [column - 1 for column in columns]]


def flat_name(name: str, at: str) -> str:
    """Return the name of a measure in letters, digits and ``_``, and ``at`` for ``@``.

    Examples
    --------
    >>> flat_name("fbeta.samples(beta=0.5)@5", "_at_")
    'fbeta_samples_beta_0_5_at_5'
    """
    return at.join(re.sub(r"\W", "_", part) for part in name.replace(")", "").split("@"))


def name_column(names: list[Any] | None) -> dict[str, Any]:
    """Return a column of names, if there are any."""
    if names is None:
        return {}
    column = np.empty(len(names), object)
    column[:] = names
    return {"name": column}
