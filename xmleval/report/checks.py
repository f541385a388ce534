"""Checks of results: each report against limits, and against that of its name in earlier results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xmleval.message import Keyword, Message, counted, did_you_mean, printable
from xmleval.report.gates import Failure, beyond_limits, compared, held, refuse_unlike, worse
from xmleval.report.saved_results import SavedReport, naming_file
from xmleval.report.saved_rows import Difference
from xmleval.spellings import not_there

Limits = Mapping[str, float]
Pair = tuple[str, SavedReport]  # a report with its name


@dataclass(frozen=True, repr=False)
class Checked:
    """What a check found; true if all holds.

    Parameters
    ----------
    failures : list of Failure
        What does not hold: ``model``, ``measure``, ``value``, ``limit`` and ``told``, a line that says so.
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
        return "\n".join(
            printable(f"{one.model}: {one.told}" if one.model else one.told) for one in self.failures
        )

    def __repr__(self) -> str:
        """Return the same on one line, as an assertion that fails shows it."""
        return f"<Checked: {'; '.join(str(self).splitlines())}>"


@dataclass(frozen=True)
class Results:
    """Reports by name, ``""`` of a report alone, and what messages call them."""

    where: str
    reports: dict[str, SavedReport]

    def chosen(self, model: str | None) -> Results:
        """Return the report of a name, or all; one that has no name is always chosen."""
        if model is None or [*self.reports] == [""]:
            return self
        if model not in self.reports:
            near = did_you_mean(model, self.reports) or f"it has {', '.join(self.reports)}"
            raise ValueError(f"{self.where}: has no report {model!r}; {near}")
        return Results(self.where, {model: self.reports[model]})


def check_results(
    new: Results,
    old: Results | None,
    minimum: Limits,
    maximum: Limits,
    margins: Limits,
    model: str | None,
    by_row: Callable[[Pair, Pair], dict[str, Difference]],
) -> Checked:
    """Hold results to limits, and to earlier results.

    Parameters
    ----------
    new, old : Results
        The results, and earlier ones, if they are to be no worse than these.
    minimum, maximum, margins : dict of str to float
        Limits by canonical name, see `limits_of`; ``""`` is the margin of all other measures.
    model : str or None
        The only report that is checked.
    by_row : callable
        Returns the paired differences of a report and an earlier one, of the measures whose values by row
        are known.
    """
    if model is not None and {*new.reports, *(old.reports if old else ())} == {""}:
        alone = f": {new.where} holds one report, which has no name"
        raise ValueError(Message(Keyword("model", repr(model)), alone))
    new = new.chosen(model)
    holding = {(name, measure) for name in new.reports for measure in (*minimum, *maximum)}
    failures = [
        one._replace(model=name)
        for name, report in new.reports.items()
        for limits, side in ((minimum, "minimum"), (maximum, "maximum"))
        for one in beyond_limits(report, limits, side)
    ]
    if old is not None:
        old = old.chosen(model)
        _refuse_other_margins(old, margins)
        for name, old_name in _pairs(new, old):
            before = old.reports[old_name]
            if name not in new.reports:
                told = f"no report of this name, which is in {old.where}"
                failures.append(Failure(name, "", float("nan"), float("nan"), told))
                continue
            with naming_file(old.where):
                refuse_unlike(new.reports[name], before)
                holding |= {(name, measure) for measure in compared(before)}
            rows = by_row((name, new.reports[name]), (old_name, before))
            found = worse(new.reports[name], before, old.where, margins, rows)
            failures += [one._replace(model=name) for one in found]
        if not holding and not failures:
            raise ValueError(f"{old.where}: no measure to compare with")
    return Checked(failures, len(holding))


def _refuse_other_margins(old: Results, margins: Limits) -> None:
    """Refuse margins of measures that the earlier results do not have."""
    known = dict.fromkeys(
        name for report in old.reports.values() for both in held(report) for name in both[:2]
    )
    for name in margins.keys() - {"", *known}:
        raise ValueError(Message(f"{old.where}: ", Keyword("margin"), f": {not_there(name, [*known])}"))


def _pairs(new: Results, old: Results) -> list[tuple[str, str]]:
    """Return the names under which reports are in both: the same, unless one has none."""
    if ("" in new.reports) == ("" in old.reports):
        return [(name, name) for name in old.reports]
    if len(new.reports) > 1 or len(old.reports) > 1:
        one, several = (new, old) if "" in new.reports else (old, new)
        alone = f"{one.where}: its report has no name; "
        raise ValueError(Message(alone, Keyword("model"), f" tells which of {several.where} goes with it"))
    return [(next(iter(new.reports)), next(iter(old.reports)))]
