"""Which measures of models can be compared: lists that are cut lose to themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xmleval.metrics.spec import Spec
from xmleval.results.report import Place, Report
from xmleval.states.results import ListLength

SAME_MEAN = 1.01  # ratio of the numbers of labels a row lists up to which these are taken for equal
WHOLE: Place = ("", "")
Parts = Mapping[Place, Mapping[str, Report]]  # reports by model, of all and of each group


class Fairness:
    """What lists of several models allow, for all rows and labels and within each group."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def have_like_lists(self, place: Place, spec: Spec, names: Collection[str]) -> bool:
        """Tell whether models list about as many of the labels that a measure reads."""
        lengths = [self.short_length(place, spec, name) for name in names]
        if not any(lengths):
            return True
        if not all(lengths):
            return False
        means = [length.mean for length in lengths if length]
        if place[0] == "groups" and not spec.of_sets:  # where lists are cut, they lose some labels of a group
            return max(means) == min(means)
        return len({length.deepest for length in lengths if length}) == 1 and max(means) <= SAME_MEAN * min(
            means
        )

    def short_length(self, place: Place, spec: Spec, name: str) -> ListLength | None:
        """Return how many labels a model lists, if its lists are cut and a measure reads more."""
        whole = self.parts[WHOLE][name].results
        if place[0] != "groups":
            return self.parts[place][name].results.short.get(spec.name)
        if spec.of_sets:  # which are decided over all labels
            return whole.short.get(spec.name)
        return self.parts[place][name].results.short.get(spec.name) if spec.name in whole.cut else None

    def longest(self, place: Place, specs: Sequence[Spec]) -> dict[str, float]:
        """Return how many labels a row lists by model, where that is too few for some measures."""
        means = dict[str, float]()
        for name in self.parts[place]:
            lengths = [self.short_length(place, spec, name) for spec in specs]
            if any(lengths):
                means[name] = max(length.mean for length in lengths if length)
        return means
