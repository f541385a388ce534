"""`check`: a gate for results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from xmleval.files.remote import as_path
from xmleval.input.errors import InputError, real_number
from xmleval.message import Keyword, Message
from xmleval.report.checks import Checked, Pair, Results, check_results
from xmleval.report.gates import limits_of
from xmleval.report.report import Report
from xmleval.report.saved_results import SavedReport, load_results, reports_of
from xmleval.report.saved_rows import Difference, SavedRows, intervals_of

FORMS = "expected a report, reports by name, or results as JSON: a path, or what to_dict() returns"


def check(
    results: Any,
    *,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    no_worse_than: Any = None,
    margin: float | Mapping[str, float] = 0.0,
    model: str | None = None,
) -> Checked:
    """Hold results to limits, and to earlier results.

    Parameters
    ----------
    results : Report, comparison, dict of str to Report, path of JSON, or dict as ``to_dict`` returns it
        The results; of several reports, each is checked.
    min, max : dict of str to float, optional
        Least and largest value of measures, by name. A name within a group has that of the group in front,
        as in ``"tail:p@5"``; a group's share of the whole is ``"shares tail:p@5"``. Where groups of labels
        and of rows have the same name, ``"groups tail:p@5"`` and ``"row_groups tail:p@5"`` tell them apart.
    no_worse_than : as results, optional
        Earlier results: every measure in them, also within groups, must be in ``results`` and no worse.
        Where both keep the values by row (``per_row=True``), a mean over rows is worse only if the whole
        95 % interval of its mean difference by row is.
    margin : float or dict of str to float, default 0
        By how much measures may be worse than in ``no_worse_than``; of a dict, ``""`` is for all others.
    model : str, optional
        Check only this one of several reports.

    Returns
    -------
    Checked
        True if all holds; ``failures`` has ``model``, ``measure``, ``value``, ``limit`` and ``told`` of what
        does not, also what is undefined or missing. It prints as `xmleval check` does.

    Raises
    ------
    ValueError
        If there is nothing to check, a limit is none that the measure can have, or the earlier results are of
        other data or computed under other settings.

    Examples
    --------
    >>> import numpy as np
    >>> import xmleval
    >>> report = xmleval.evaluate(np.eye(3), np.eye(3)[::-1], metrics=["p@1", "coverage"])
    >>> checked = xmleval.check(report, min={"p@1": 0.5}, max={"coverage": 2})
    >>> bool(checked), checked.failures[0].measure, checked.failures[0].limit
    (False, 'p@1', 0.5)
    >>> print(checked)
    p@1 0.3333 is below the minimum 0.5
    """
    if min is None and max is None and no_worse_than is None:
        names = Keyword("min"), ", ", Keyword("max"), " or ", Keyword("no_worse_than")
        raise InputError("results", Message("nothing to check: give ", *names))
    minimum, maximum = (_limits(name, given) for name, given in (("min", min), ("max", max)))
    margins = _limits("margin", margin if isinstance(margin, Mapping) else {"": margin}, True)
    old = None if no_worse_than is None else _results("no_worse_than", no_worse_than)
    rows = {"results": _reports(results), "no_worse_than": _reports(no_worse_than)}

    def by_row(new: Pair, old: Pair) -> dict[str, Difference]:
        return _by_row(rows["results"].get(new[0]), rows["no_worse_than"].get(old[0]))

    return check_results(_results("results", results), old, minimum, maximum, margins, model, by_row)


def _limits(argument: str, given: Any, margins: bool = False) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(argument, f"{given!r} is no dict of limits by measure, as in {{'ndcg@5': 0.6}}")
    other = next((name for name in given if not isinstance(name, str)), None)
    if other is not None:
        raise InputError(argument, f"{other!r} is not the name of a measure")
    return limits_of(argument, [(n, real_number(argument, value)) for n, value in given.items()], margins)


def _results(argument: str, given: Any) -> Results:
    """Return what is given in any form as saved results."""
    if isinstance(given, str | os.PathLike):
        return Results(os.fspath(given), load_results(as_path(given)))
    found: dict[str, SavedReport] = {}
    if hasattr(given, "to_json"):
        found = reports_of(json.loads(given.to_json()))
    elif isinstance(given, Mapping) and given and all(isinstance(one, Report) for one in given.values()):
        found = {name: reports_of(json.loads(one.to_json()))[""] for name, one in given.items()}
    elif isinstance(given, Mapping):
        found = reports_of(json.loads(json.dumps(given)))
    else:
        raise InputError(argument, f"{type(given).__name__} is no results; {FORMS}")
    return Results(argument, found)


def _reports(given: Any) -> dict[str, Report]:
    """Return the reports in memory by name, as far as there are any."""
    held = getattr(given, "reports", given)
    if isinstance(held, Report):
        return {"": held}
    known = held if isinstance(held, Mapping) else {}
    return {name: one for name, one in known.items() if isinstance(one, Report)}


def _by_row(new: Report | None, old: Report | None) -> dict[str, Difference]:
    """Return the paired differences of two reports that keep their rows."""
    if new is None or old is None or not (new.keeps_rows and old.keeps_rows) or new.weighted:
        return {}
    if new.row_names != old.row_names:
        raise InputError("no_worse_than", "its rows have other names; expected the same rows, in their order")
    one, other = (
        SavedRows({n: np.asarray(v) for n, v in own.results.rows.items()}, None) for own in (new, old)
    )
    return intervals_of(one, other)
