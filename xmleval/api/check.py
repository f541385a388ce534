"""`check`: a gate for results."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    counted,
    printable,
    real_number,
    shown,
    shown_names,
)
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.metrics.spellings import not_there
from xmleval.results import checks
from xmleval.results.report import Report, load_results

if TYPE_CHECKING:
    from xmleval.evaluation.evaluator import Evaluator
    from xmleval.input.argument_types import FilePath

# what holds a report, or several by name
ResultsLike: TypeAlias = "Evaluator | Mapping[str, object] | FilePath"
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

    failures: list[checks.Failure]
    n_held: int

    def __bool__(self) -> bool:
        """Tell whether all holds."""
        return not self.failures

    def __str__(self) -> str:
        """Return a line for each failure, or the number of measures that hold."""
        lines = (f"{fault.model}: {fault.reason}" if fault.model else fault.reason for fault in self.failures)
        return "\n".join(map(printable, lines)) or counted(self.n_held, "measures hold", "measure holds")

    def __repr__(self) -> str:
        """Return the same on one line, as an assertion that fails shows it."""
        return f"<Checked: {'; '.join(str(self).splitlines())}>"


def check(
    results: ResultsLike,
    *,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    no_worse_than: ResultsLike | None = None,
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
    where, new = _reports("results", results, model)
    where_old, old = ("", {}) if no_worse_than is None else _reports("no_worse_than", no_worse_than, model)
    if model is not None and {*new, *old} == {""}:
        alone = f": {where} holds one report, which has no name"
        raise ValueError(Message(Keyword("model", shown(model)), alone))
    if old and ("" in new) != ("" in old):
        if len(new) > 1 or len(old) > 1:
            single, many = (where, where_old) if "" in new else (where_old, where)
            alone = f"{single}: its report has no name; "
            raise ValueError(Message(alone, Keyword("model"), f" tells which of {many} goes with it"))
        old = dict(zip(new, old.values(), strict=True))
    holding, failures = set[tuple[str, str]](), list[checks.Failure]()
    for name, report in new.items():
        for side, by_measure in limits.items():
            holding |= {(name, measure) for measure in by_measure}
            beyond = checks.beyond_limits(report, by_measure, side)
            failures += [failure._replace(model=name) for failure in beyond]
    values = [value for report in old.values() for value in checks.values_of(report)]
    measures = dict.fromkeys(name for in_group, measure, _ in values for name in (in_group, measure))
    for name in margins.keys() - {"", *measures}:
        raise ValueError(Message(f"{where_old}: ", Keyword("margin"), f": {not_there(name, [*measures])}"))
    reason = f"no report of this name, which is in {where_old}"
    failures += [checks.Failure(name, "", math.nan, math.nan, reason) for name in old if name not in new]
    for name, now, before in [(name, new[name], old[name]) for name in old if name in new]:
        checks.refuse_unlike(now, before, where_old)
        by_row = {} if now.weighted else checks.paired_differences(now.results.rows, before.results.rows)
        if by_row and now.row_names != before.row_names:
            raise InputError("no_worse_than", "its rows have other names; expected the same, in their order")
        for measure, failure in checks.compare_values(now, before, where_old, margins, by_row):
            holding.add((name, measure))
            failures += [failure._replace(model=name)] if failure else []
    if not holding and not failures:
        raise ValueError(f"{where_old}: no measure to compare with")
    return Checked(failures, len(holding))


def _limits(argument: str, values: object, margins: bool = False) -> dict[str, float]:
    values = {} if values is None else values
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise InputError(
            argument, f"{shown(values)} is no dict of limits by measure, as in {{'ndcg@5': 0.6}}"
        )
    pairs = [(name, real_number(argument, value)) for name, value in values.items()]
    return checks.limits_of(argument, pairs, margins)


def _reports(argument: str, value: object, model: str | None) -> tuple[str, Mapping[str, Report]]:
    """Return the name of results in messages, and the reports, or that of ``model``; one alone is ``""``."""
    if isinstance(value, str | os.PathLike):
        path, start = as_path(value), b""
        with contextlib.suppress(ValueError), InputFile(path).open() as file:  # an empty one holds no results
            start = file.read(len(ARCHIVE))
        if start == ARCHIVE:
            from xmleval.evaluation.evaluator import Evaluator  # only here: JSON is checked faster without

            value = Evaluator.load(path)
        else:
            value = load_results(path)
        argument = str(path)
    value = value.compute() if hasattr(value, "compute") else value  # of an evaluator
    reports = getattr(value, "reports", {"": value} if isinstance(value, Report) else value)
    if not isinstance(reports, Mapping):
        raise InputError(argument, f"{type(value).__name__} is no results; {FORMS}")
    if not any(isinstance(report, Report) for report in reports.values()):
        try:
            reports = load_results(json.loads(json.dumps(reports)))
        except (TypeError, ValueError) as error:
            raise InputError(argument, f"{error}; {FORMS}") from None
    for name, report in reports.items():
        if not isinstance(report, Report):
            raise InputError(argument, f"{shown(name)} is {type(report).__name__}, and no report")
    if model is not None and [*reports] != [""]:
        if model not in reports:
            raise ValueError(f"{argument}: has no report {shown(model)}; it has {shown_names(reports)}")
        reports = {model: reports[model]}
    return argument, reports
