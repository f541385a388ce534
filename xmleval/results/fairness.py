"""Which measures of models can be compared: lists that are cut lose to themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from xmleval.metrics.spec import Spec
from xmleval.results.places import Place
from xmleval.results.report import Report
from xmleval.states.results import ListLength

SAME_MEAN = 1.01  # ratio of the numbers of labels a row lists up to which these are taken for equal
MOST_TIED = 0.5  # share of rows with ties from which they decide what the value of a model is
WHOLE: Place = ("", "")
Parts = Mapping[Place, Mapping[str, Report]]  # reports by model, of all and of each group


class Fairness:
    """What lists of several models allow, for all rows and labels and within each group.

    ``complete_lists`` tells that no list was cut.
    """

    def __init__(self, parts: Parts, complete_lists: bool) -> None:
        self.parts, self.complete_lists = parts, complete_lists

    def are_comparable(self, place: Place, spec: Spec, names: Collection[str]) -> bool:
        """Tell whether a measure can be compared between models."""
        has_ties = any(self.is_decided_by_ties(place, spec, name) for name in names)
        return not has_ties and self.have_like_lists(place, spec, names)

    def is_decided_by_ties(self, place: Place, spec: Spec, name: str) -> bool:
        """Tell whether the order of equal scores decides the value in half of the rows or more."""
        results = self.parts[_place_of_lists(place, spec)][name].results
        tied = results.tied_shares if place[0] == "shares" else results.tied
        return tied.get(spec.name, 0.0) >= MOST_TIED

    def have_like_lists(self, place: Place, spec: Spec, names: Collection[str]) -> bool:
        """Tell whether models list about as many of the labels that a measure reads."""
        place = _place_of_lists(place, spec)
        lengths = [self.short_length(place, spec, name) for name in names]
        if self.complete_lists or not any(lengths):
            return True
        if not all(lengths):
            return False
        means = [length.mean for length in lengths if length]
        if place[0] == "groups":  # where lists are cut, they lose some labels of a group
            return max(means) == min(means)
        return len({length.deepest for length in lengths if length}) == 1 and max(means) <= SAME_MEAN * min(
            means
        )

    def short_length(self, place: Place, spec: Spec, name: str) -> ListLength | None:
        """Return how many labels a model lists, if its lists are cut and a measure reads more."""
        place = _place_of_lists(place, spec)
        if place[0] == "groups" and spec.name not in self.parts[WHOLE][name].results.cut:
            return None
        return self.parts[place][name].results.short.get(spec.name)

    def longest(self, place: Place, specs: Sequence[Spec]) -> dict[str, float]:
        """Return how many labels a row lists by model, where that is too few for some measures."""
        means = dict[str, float]()
        for name in self.parts[place]:
            lengths = [self.short_length(place, spec, name) for spec in specs]
            if any(lengths):
                means[name] = max(length.mean for length in lengths if length)
        return means


def _place_of_lists(place: Place, spec: Spec) -> Place:
    """Return where the lists are that a measure reads: those of all labels, for shares and predicted sets."""
    is_of_all_labels = place[0] == "shares" or (place[0] == "groups" and spec.of_sets)
    return WHOLE if is_of_all_labels else place


def grouped_measures(measures_of: Mapping[Place, Sequence[Spec]]) -> str:
    """Return the names of measures of all rows and labels, and of those within groups."""
    groups_of = defaultdict[str, list[str]](list)
    for place, specs in measures_of.items():
        if specs:
            groups_of[", ".join(map(str, specs))].append(place[1])
    texts = list[str]()
    for measures, groups in groups_of.items():
        within = [group for group in groups if group]
        if "" in groups:
            texts.append(measures)
        if within:
            texts.append(f"{measures} within {'groups' if within[1:] else 'group'} {', '.join(within)}")
    return "; ".join(texts)
