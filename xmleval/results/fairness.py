"""Which measures of models can be compared: a list that is cut loses to the whole list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from xmleval.base.arrays import Bools
from xmleval.base.errors import Field, Message
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.places import Place
from xmleval.results.report import Report
from xmleval.states.results import ListLength

SAME_MEAN = 1.01  # largest ratio of mean list lengths that count as equal
# share of rows with ties from which on they decide a value whose bounds are not known
MOST_TIED = 0.5
WHOLE: Place = ("", "")
PlaceReports = Mapping[Place, Mapping[str, Report]]  # by model
Ends = tuple[Any, Any]  # smallest and largest value


class Fairness:
    """Whether lists of models can be compared, on all rows and labels and within groups.

    Parameters
    ----------
    reports : mapping
        Reports by model, of all and of each group.
    complete_lists : bool
        Whether no list was cut.
    """

    def __init__(self, reports: PlaceReports, complete_lists: bool) -> None:
        self.reports = reports
        self.complete_lists = complete_lists

    def are_comparable(self, place: Place, spec: Spec, names: Collection[str]) -> bool:
        """Return whether a measure can be compared between models."""
        if any(self.are_decided_by_ties(place, spec, pair) for pair in combinations(names, 2)):
            return False
        return self.have_like_lists(place, spec, names)

    def is_best_known(self, place: Place, spec: Spec, best: float) -> bool:
        """Return whether a value is best whatever the length of lists and the order of ties."""
        reports = self.reports[place]
        if not self.have_like_lists(place, spec, reports):
            return False
        first = next(name for name, report in reports.items() if report[spec.name] == best)
        others = [name for name in reports if name != first]
        return not any(self.are_decided_by_ties(place, spec, (first, name)) for name in others)

    def are_decided_by_ties(self, place: Place, spec: Spec, pair: tuple[str, str]) -> bool:
        """Return whether the order of equal scores decides which of two models is better.

        It does where the differences of all orders include 0. Shares of groups, and reports whose
        bounds over orders are not known, are decided by ties in at least half of the rows.
        """
        reports = [self.reports[_place_of_lists(place, spec)][name] for name in pair]
        if place[0] == "shares":
            return any(_has_many_ties(each.results.tied_shares, spec) for each in reports)
        if not self.are_bounds_known(place, spec, pair):
            return any(_has_many_ties(each.tied_rows, spec) for each in reports)
        return bool(include_no_difference(*map(partial(_bounds_of, spec), reports)))

    def are_bounds_known(self, place: Place, spec: Spec, pair: tuple[str, str]) -> bool:
        """Return whether the values of two models over all orders of equal scores are known."""
        if place[0] == "shares":
            return False
        reports = [self.reports[_place_of_lists(place, spec)][name] for name in pair]
        return all(
            spec.name in report.tie_bounds or spec.name not in report.tied_rows
            for report in reports
        )

    def have_like_lists(self, place: Place, spec: Spec, names: Collection[str]) -> bool:
        """Return whether models list about as many labels, as far as a measure reads them."""
        place = _place_of_lists(place, spec)
        lengths = [self.short_length(place, spec, name) for name in names]
        short = [length for length in lengths if length]
        if self.complete_lists or not short:
            return True
        if len(short) < len(lengths):
            return False
        longest = max(length.mean for length in short)
        shortest = min(length.mean for length in short)
        if place[0] == "groups":  # lists that are cut lose some labels of a group
            return longest == shortest
        depths = {length.deepest for length in short}
        return len(depths) == 1 and longest <= SAME_MEAN * shortest

    def short_length(self, place: Place, spec: Spec, name: str) -> ListLength | None:
        """Return how many labels a model lists; None unless they are too few for a measure."""
        place = _place_of_lists(place, spec)
        if place[0] == "groups" and spec.name not in self.reports[WHOLE][name].results.cut:
            return None
        return self.reports[place][name].results.short.get(spec.name)

    def list_lengths(self, place: Place, specs: Sequence[Spec]) -> dict[str, float]:
        """Return how many labels a row lists, by model whose lists are too short for a measure."""
        means = dict[str, float]()
        for name in self.reports[place]:
            lengths = [self.short_length(place, spec, name) for spec in specs]
            short = [length.mean for length in lengths if length]
            if short:
                means[name] = max(short)
        return means


def include_no_difference(a: Ends, b: Ends) -> Bools:
    """Return whether some orders of equal scores make the difference of a and b 0 or reverse it.

    a, b : smallest and largest value over all orders, numbers or arrays of one shape; False where
        no order changes either of them
    """
    has_orders = (subtract(a[1], a[0]) > 0) | (subtract(b[1], b[0]) > 0)
    overlap = (subtract(a[0], b[1]) <= 0) & (subtract(b[0], a[1]) <= 0)
    return np.asarray(has_orders & overlap)


def describe_decided(
    pairs: str, has_orders: bool, consequence: str = "", *, are_bounds_known: bool
) -> Message:
    """Return a note on pairs of models that ties decide, or may decide, and what to do.

    has_orders : whether values can be expected over all orders of equal scores; if bounds are not
        known, whether all of them can
    consequence : begins with a comma or a space
    """
    if are_bounds_known:
        cause = "decided by ties"
        changes = "changes"
    else:
        cause = (
            "may be decided by ties, which matter for a model in at least half of the rows with "
            "relevant labels"
        )
        changes = "can change"
    decision = f"{cause}: which of {pairs} is better {changes} with the order of equal scores"
    advice: list[object] = []
    if has_orders and not are_bounds_known:
        advice += ["evaluate with ", Field("ties", "band"), " to find out, or "]
    advice += ["give scores that differ, "]
    if has_orders:
        advice += [Field("ties", "expected"), ", "]
    return Message(
        f"{decision}{consequence}; ",
        *advice,
        "or measures that count ties, such as auc.samples",
    )


def _has_many_ties(tied: Mapping[str, float], spec: Spec) -> bool:
    """Return whether ties decide a value, by the share of rows with ties that matter."""
    return tied.get(spec.name, 0.0) >= MOST_TIED


def _bounds_of(spec: Spec, report: Report) -> tuple[float, float]:
    """Return the smallest and the largest value over orders of equal scores."""
    value = report[spec.name]
    return report.tie_bounds.get(spec.name, (value, value))


def _place_of_lists(place: Place, spec: Spec) -> Place:
    """Return where the lists are that a measure reads.

    Shares and predicted sets read those of all labels.
    """
    kind, _ = place
    if kind == "shares" or (kind == "groups" and spec.of_sets):
        return WHOLE
    return place


def grouped_measures(specs_at: Mapping[Place, Sequence[Spec]]) -> str:
    """Return the names of measures of all rows and labels, and of those within groups."""
    groups_of = defaultdict[str, list[str]](list)
    for (_, group), specs in specs_at.items():
        if specs:
            groups_of[", ".join(map(str, specs))].append(group)
    texts = list[str]()
    for measures, groups in groups_of.items():
        if "" in groups:
            texts.append(measures)
        named = [group for group in groups if group]
        if named:
            units = "groups" if len(named) > 1 else "group"
            texts.append(f"{measures} within {units} {', '.join(named)}")
    return "; ".join(texts)
