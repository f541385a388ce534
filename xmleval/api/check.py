"""`check`: a gate for results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xmleval.api.saved_reports import ResultsLike, load_reports
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
from xmleval.base.keywords import refusing_unknown
from xmleval.metrics.spellings import not_there
from xmleval.results import checks
from xmleval.results.report import Report
from xmleval.show.tables import Table, as_markdown, rows_of


@dataclass(frozen=True, repr=False)
class Checked:
    """Result of a check; true if no measure fails.

    Parameters
    ----------
    failures : list of Failure
        What does not hold: ``model``, ``measure``, ``value``, ``limit`` and ``reason``, a line that
        says so.
    n_held : int
        Number of measures that were held to something.
    """

    failures: list[checks.Failure]
    n_held: int

    def __bool__(self) -> bool:
        """Return whether no measure fails."""
        return not self.failures

    def __str__(self) -> str:
        """Return a line for each failure, or the number of checked measures if none fails."""
        if not self.failures:
            return counted(self.n_held, "measures hold", "measure holds")
        lines = list[str]()
        for failure in self.failures:
            prefix = f"{failure.model}: " if failure.model else ""
            lines.append(printable(prefix + failure.reason))
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """Return a Markdown table of the failures, or the number of checked measures without any.

        Examples
        --------
        >>> report = xmleval.evaluate(np.eye(3), np.eye(3)[::-1], metrics="p@1")
        >>> print(xmleval.check(report, min={"p@1": 0.5}).to_markdown())
        1 failure
        <BLANKLINE>
        | measure | reason |
        |---|---:|
        | p@1 | p@1 0.3333 is below the minimum 0.5 |
        <BLANKLINE>
        """
        if not self.failures:
            return f"{self}\n"
        columns = ["measure", "reason"]
        lines = [[failure.measure, failure.reason] for failure in self.failures]
        if any(failure.model for failure in self.failures):
            columns = ["model", *columns]
            models = [failure.model for failure in self.failures]
            lines = [[model, *line] for model, line in zip(models, lines, strict=True)]
        title = counted(len(self.failures), "failures", "failure")
        return f"{title}\n\n{as_markdown([Table('', rows_of([columns, *lines]))], [])}"

    def __repr__(self) -> str:
        """Return the same on one line, as an assertion that fails shows it."""
        return f"<Checked: {'; '.join(str(self).splitlines())}>"


@refusing_unknown
def check(
    results: ResultsLike,
    *,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    no_worse_than: ResultsLike | None = None,
    margin: float | Mapping[str, float] = 0.0,
    model: str | None = None,
) -> Checked:
    """Check results against limits and earlier results.

    Parameters
    ----------
    results : Report, comparison, dict of str to Report, Evaluator, path, or dict from ``to_dict``
        The results; of several reports, each is checked. A file holds results as JSON, or a saved
        evaluator.
    min, max : dict of str to float, optional
        Least and largest value of measures, by name. A name within a group has that of the group in
        front, as in ``"tail:p@5"``; a group's share of the whole is ``"shares tail:p@5"``. Where
        groups of labels and of rows have the same name, ``"groups tail:p@5"`` and ``"row_groups
        tail:p@5"`` tell them apart.

        By the convention ``ties=band``, the value of every order of equal scores must be within
        the limits. Where only some orders are beyond one, the failure says that ties decide.
    no_worse_than : as results, optional
        Earlier results: every measure in them, also within groups, must be in ``results``, and no
        worse.

        Where both keep the values by row (``per_row=True``), a mean over rows is worse only if the
        whole 95 % interval of its mean difference by row is. By ``ties=band``, means over all
        orders of equal scores are compared.
    margin : float or dict of str to float, default 0
        By how much measures may be worse than in ``no_worse_than``; of a dict, ``""`` is for all
        others.
    model : str, optional
        Check only this one of several reports.

    Returns
    -------
    Checked
        True if all holds; else ``failures`` has what does not. It prints as `xmleval check` does.

    Raises
    ------
    ValueError
        If there is nothing to check, a limit is none that the measure can have, or the earlier
        results are of other data or computed under other settings.

    Examples
    --------
    >>> report = xmleval.evaluate(np.eye(3), np.eye(3)[::-1], metrics=["p@1", "coverage"])
    >>> checked = xmleval.check(report, min={"p@1": 0.5}, max={"coverage": 2})
    >>> bool(checked), checked.failures[0].measure, checked.failures[0].limit
    (False, 'p@1', 0.5)
    >>> print(checked)
    p@1 0.3333 is below the minimum 0.5
    """
    if no_worse_than is None:
        _refuse_without_earlier(min, max, margin)
    limits = {"minimum": check_limits("min", min), "maximum": check_limits("max", max)}
    if not isinstance(margin, Mapping):
        margin = {"": margin}
    margins = check_limits("margin", margin, are_margins=True)
    place, reports = _select_reports("results", results, model)
    earlier_place = ""
    earlier: Mapping[str, Report] = {}
    if no_worse_than is not None:
        earlier_place, earlier = _select_reports("no_worse_than", no_worse_than, model)
    if model is not None and {*reports, *earlier} == {""}:
        nameless = f": {place} has one report, without a name; leave this out"
        raise ValueError(Message(Keyword("model", shown(model)), nameless))
    if earlier:
        earlier = _with_names_of(reports, earlier, place, earlier_place)
    failures = list[checks.Failure]()
    checked = set[tuple[str, str]]()
    for name, report in reports.items():
        for side, by_measure in limits.items():
            checked.update((name, measure) for measure in by_measure)
            for failure in checks.find_violations(report, by_measure, side):
                failures.append(failure._replace(model=name))
    _refuse_unknown_margins(margins, earlier, earlier_place)
    failures += _missing_reports(reports, earlier, earlier_place)
    for name, measure, worse in _compare_reports(reports, earlier, earlier_place, margins):
        checked.add((name, measure))
        if worse is not None:
            failures.append(worse._replace(model=name))
    if not checked and not failures:
        raise ValueError(f"{earlier_place}: no measure to compare with")
    return Checked(failures, len(checked))


def _refuse_without_earlier(min: object, max: object, margin: object) -> None:
    """Refuse to check nothing, and margins, when there are no earlier results."""
    if not min and not max:
        names = Keyword("min"), ", ", Keyword("max"), " or ", Keyword("no_worse_than")
        raise InputError("results", Message("nothing to check: give ", *names))
    if margin:
        raise InputError(
            "margin", Message("needs ", Keyword("no_worse_than"), ", the earlier results")
        )


def check_limits(argument: str, values: object, are_margins: bool = False) -> dict[str, float]:
    """Return limits by measure as numbers, or refuse an invalid one."""
    if values is None:
        values = {}
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise InputError(
            argument,
            f"{shown(values)} is not a dict of limits by measure, such as {{'ndcg@5': 0.6}}",
        )
    pairs = [(name, real_number(argument, value)) for name, value in values.items()]
    return checks.limits_of(argument, pairs, are_margins)


def _select_reports(
    argument: str, value: object, model: str | None
) -> tuple[str, Mapping[str, Report]]:
    """Return the name of results for messages, and the reports by name.

    With ``model``, only its report is returned. The name of a report alone is ``""``.
    """
    argument, reports = load_reports(argument, value)
    if model is None or [*reports] == [""]:
        return argument, reports
    if model not in reports:
        text = f"has no report {shown(model)}; it has {shown_names(reports)}"
        raise ValueError(f"{argument}: {text}")
    return argument, {model: reports[model]}


def _with_names_of(
    reports: Mapping[str, Report],
    earlier: Mapping[str, Report],
    place: str,
    earlier_place: str,
) -> Mapping[str, Report]:
    """Return earlier results by the names of the new ones; a report alone may lack a name."""
    if ("" in reports) == ("" in earlier):
        return earlier
    if len(reports) > 1 or len(earlier) > 1:
        places = earlier_place, place
        if "" in reports:
            places = place, earlier_place
        nameless, named = places
        text = f"{nameless}: its report has no name; give "
        raise ValueError(Message(text, Keyword("model"), f", the report of {named} to compare"))
    return dict(zip(reports, earlier.values(), strict=True))


def _refuse_unknown_margins(
    margins: Mapping[str, float], earlier: Mapping[str, Report], earlier_place: str
) -> None:
    """Refuse margins for measures that the earlier results do not have."""
    measures = dict[str, None]()
    for report in earlier.values():
        for name_in_group, measure, _ in checks.values_of(report):
            measures |= {name_in_group: None, measure: None}
    for name in margins.keys() - {"", *measures}:
        unknown = f": {not_there(name, [*measures])}"
        raise ValueError(Message(f"{earlier_place}: ", Keyword("margin"), unknown))


def _missing_reports(
    reports: Mapping[str, Report], earlier: Mapping[str, Report], earlier_place: str
) -> list[checks.Failure]:
    """Return a failure for each earlier report that the results lack."""
    reason = f"this report is missing, but {earlier_place} has it"
    missing = [name for name in earlier if name not in reports]
    return [checks.Failure(name, "", math.nan, math.nan, reason) for name in missing]


def _compare_reports(
    reports: Mapping[str, Report],
    earlier_reports: Mapping[str, Report],
    earlier_place: str,
    margins: Mapping[str, float],
) -> Iterator[tuple[str, str, checks.Failure | None]]:
    """Yield the names of reports, each measure of the earlier one, and its failure if worse."""
    for name in [name for name in earlier_reports if name in reports]:
        report = reports[name]
        earlier = earlier_reports[name]
        checks.refuse_unlike(report, earlier, earlier_place)
        differences = {}
        if not report.weighted:
            differences = checks.paired_differences(report.results.rows, earlier.results.rows)
        if differences and report.row_names != earlier.row_names:
            raise InputError(
                "no_worse_than",
                "its rows have other keys; give results of the same rows in the same order",
            )
        compared = checks.compare_values(report, earlier, earlier_place, margins, differences)
        for measure, failure in compared:
            yield name, measure, failure
