"""`check`: a gate for results."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from xmleval.base.errors import InputError, Keyword, Message, counted, did_you_mean, printable, real_number
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import (
    Failure,
    beyond_limits,
    compare_values,
    limits_of,
    paired_differences,
    refuse_unlike,
    values_of,
)
from xmleval.results.report import Report, load_results

FORMS = "expected a report, reports by name, an evaluator, what to_dict() returns, or a path"
ARCHIVE = b"PK\x03\x04"  # how a saved evaluator begins


@dataclass(frozen=True, repr=False)
class Checked:
    """What a check found; true if all holds.

    Parameters
    ----------
    failures : list of Failure
        What does not hold: ``model``, ``measure``, ``value``, ``limit`` and ``reason``, a line that says so.
    n_held : int
        Number of measures that were held to something.
    """

    failures: list[Failure]
    n_held: int

    def __bool__(self) -> bool:
        """Tell whether all holds."""
        return not self.failures

    def __str__(self) -> str:
        """Return a line for each failure, or the number of measures that hold."""
        if not self.failures:
            return counted(self.n_held, "measures hold", "measure holds")
        lines = (f"{fault.model}: {fault.reason}" if fault.model else fault.reason for fault in self.failures)
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        """Return the same on one line, as an assertion that fails shows it."""
        return f"<Checked: {'; '.join(str(self).splitlines())}>"


class Results(NamedTuple):
    """Reports by name, ``""`` of a report alone, and what messages call them."""

    where: str
    reports: Mapping[str, Report]


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
    results : Report, comparison, dict of str to Report, Evaluator, path, or dict as ``to_dict`` returns it
        The results; of several reports, each is checked. A file holds results as JSON, or a saved evaluator.
    min, max : dict of str to float, optional
        Least and largest value of measures, by name. A name within a group has that of the group in front,
        as in ``"tail:p@5"``; a group's share of the whole is ``"shares tail:p@5"``. Where groups of labels
        and of rows have the same name, ``"groups tail:p@5"`` and ``"row_groups tail:p@5"`` tell them apart.
    no_worse_than : as results, optional
        Earlier results: every measure in them, also within groups, must be in ``results``, and no worse.

        Where both keep the values by row (``per_row=True``), a mean over rows is worse only if the whole
        95 % interval of its mean difference by row is.
    margin : float or dict of str to float, default 0
        By how much measures may be worse than in ``no_worse_than``; of a dict, ``""`` is for all others.
    model : str, optional
        Check only this one of several reports.

    Returns
    -------
    Checked
        True if all holds; else ``failures`` has what does not. It prints as `xmleval check` does.

    Raises
    ------
    ValueError
        If there is nothing to check, a limit is none that the measure can have, or the earlier results are of
        other data or computed under other settings.

    Examples
    --------
    >>> report = xmleval.evaluate(np.eye(3), np.eye(3)[::-1], metrics=["p@1", "coverage"])
    >>> checked = xmleval.check(report, min={"p@1": 0.5}, max={"coverage": 2})
    >>> bool(checked), checked.failures[0].measure, checked.failures[0].limit
    (False, 'p@1', 0.5)
    >>> print(checked)
    p@1 0.3333 is below the minimum 0.5
    """
    if not min and not max and no_worse_than is None:
        names = Keyword("min"), ", ", Keyword("max"), " or ", Keyword("no_worse_than")
        raise InputError("results", Message("nothing to check: give ", *names))
    if margin and no_worse_than is None:
        raise InputError("margin", Message("needs the earlier results, ", Keyword("no_worse_than")))
    limits = {"minimum": _limits("min", min), "maximum": _limits("max", max)}
    margins = _limits("margin", margin if isinstance(margin, Mapping) else {"": margin}, True)
    new = _results("results", results, model)
    old = None if no_worse_than is None else _results("no_worse_than", no_worse_than, model)
    if model is not None and {*new.reports, *(old.reports if old else ())} == {""}:
        alone = f": {new.where} holds one report, which has no name"
        raise ValueError(Message(Keyword("model", repr(model)), alone))
    holding = {(name, measure) for name in new.reports for by_name in limits.values() for measure in by_name}
    failures = [
        failure._replace(model=name)
        for name, report in new.reports.items()
        for side, by_name in limits.items()
        for failure in beyond_limits(report, by_name, side)
    ]
    if old is not None:
        values = [record for report in old.reports.values() for record in values_of(report)]
        measures = dict.fromkeys(name for in_group, measure, _ in values for name in (in_group, measure))
        for name in margins.keys() - {"", *measures}:
            text = f": {not_there(name, [*measures])}"
            raise ValueError(Message(f"{old.where}: ", Keyword("margin"), text))
        for name, before in _by_new_name(new, old).items():
            now = new.reports.get(name)
            if now is None:
                text = f"no report of this name, which is in {old.where}"
                failures.append(Failure(name, "", math.nan, math.nan, text))
                continue
            refuse_unlike(now, before, old.where)
            by_row = {}
            if now.keeps_rows and before.keeps_rows and not now.weighted:
                if now.row_names != before.row_names:
                    reason = "its rows have other names; expected the same rows, in their order"
                    raise InputError("no_worse_than", reason)
                by_row = paired_differences(now.results.rows, before.results.rows)
            for measure, failure in compare_values(now, before, old.where, margins, by_row):
                holding.add((name, measure))
                failures += [failure._replace(model=name)] if failure else []
        if not holding and not failures:
            raise ValueError(f"{old.where}: no measure to compare with")
    return Checked(failures, len(holding))


def _by_new_name(new: Results, old: Results) -> Mapping[str, Report]:
    """Return the earlier reports by the names of those that they are compared with."""
    if ("" in new.reports) == ("" in old.reports):
        return old.reports
    if len(new.reports) > 1 or len(old.reports) > 1:
        single, many = (new, old) if "" in new.reports else (old, new)
        alone = f"{single.where}: its report has no name; "
        raise ValueError(Message(alone, Keyword("model"), f" tells which of {many.where} goes with it"))
    return dict(zip(new.reports, old.reports.values(), strict=True))


def _limits(argument: str, values: Any, margins: bool = False) -> dict[str, float]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InputError(argument, f"{values!r} is no dict of limits by measure, as in {{'ndcg@5': 0.6}}")
    unnamed = next((name for name in values if not isinstance(name, str)), None)
    if unnamed is not None:
        raise InputError(argument, f"{unnamed!r} is not the name of a measure")
    return limits_of(argument, [(n, real_number(argument, value)) for n, value in values.items()], margins)


def _results(argument: str, value: Any, model: str | None) -> Results:
    """Return the report of a name, or all, given in any form; one that has no name is always chosen."""
    if isinstance(value, str | os.PathLike):
        path, is_evaluator = as_path(value), False
        with contextlib.suppress(ValueError), InputFile(path).open() as file:  # an empty one holds no results
            is_evaluator = file.read(len(ARCHIVE)) == ARCHIVE
        if is_evaluator:
            from xmleval.evaluation.evaluator import Evaluator  # only here: JSON is checked faster without

            value = Evaluator.load(path)
        else:
            value = load_results(path)
        argument = str(path)
    if hasattr(value, "compute"):  # of an evaluator
        value = value.compute()
    reports = getattr(value, "reports", {"": value} if isinstance(value, Report) else value)
    if not isinstance(reports, Mapping):
        raise InputError(argument, f"{type(value).__name__} is no results; {FORMS}")
    if {*map(type, reports.values())} != {Report}:
        for name, report in reports.items() if Report in map(type, reports.values()) else ():
            if not isinstance(report, Report):
                raise InputError(argument, f"{name!r} is {type(report).__name__}, and no report")
        try:
            reports = load_results(json.loads(json.dumps(reports)))
        except TypeError as error:
            raise InputError(argument, f"{error}; {FORMS}") from None
    if model is None or [*reports] == [""]:
        return Results(argument, reports)
    if model not in reports:
        near = did_you_mean(model, reports) or f"it has {', '.join(reports)}"
        raise ValueError(f"{argument}: has no report {model!r}; {near}")
    return Results(argument, {model: reports[model]})
