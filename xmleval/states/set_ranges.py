"""Distinct label sets apart by ranges of their fingerprints, so that processes can count a range each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from xmleval.spec import Spec
from xmleval.states.contents import Contents, expect
from xmleval.states.folds import Folds
from xmleval.states.label_sets import LabelSets
from xmleval.states.state import Arrays, States

NAME = "label_sets"


def asked(spec: Spec, plain: bool) -> bool:
    """Return whether a measure needs the number of distinct label sets."""
    return spec.state == NAME


def held_in(states: States | None) -> LabelSets | None:
    """Return the state that holds fingerprints, if it can give them away."""
    if states is None or isinstance(states, Folds) or NAME not in states.plan.states:
        return None
    state = states[NAME]
    assert isinstance(state, LabelSets)
    return state


def take_ranges(state: LabelSets, n_ranges: int) -> Iterator[Arrays]:
    """Take the fingerprints out of a state, but one of them; yield those of each range."""
    found = state.sorted_fingerprints()
    state.keep_only(found[:1].copy())  # as rows have at least one label set
    firsts = [_first(number, n_ranges) for number in range(1, n_ranges)]
    for own in np.split(found, np.searchsorted(found[:, 1], firsts)):
        yield {"fingerprints": own, "n_rows": np.array([state.n_rows])}


def restored_range(like: LabelSets, number: int, n_ranges: int, contents: Contents) -> LabelSets:
    """Return the state of a range that `take_ranges` gave."""
    found = like.empty()
    held = found.restore_some(contents)[:, 1].tolist()
    first, stop = _first(number, n_ranges), _first(number + 1, n_ranges)
    expect(not held or (first <= held[0] and held[-1] < stop), "fingerprints of another range")
    return found


def _first(number: int, n_ranges: int) -> int:
    """Return the least second part of fingerprints of a range."""
    return (number << 64) // n_ranges - (1 << 63)


def found_in(state: LabelSets) -> Arrays:
    """Return the number of distinct label sets of a range."""
    return {"n_distinct": len(state.fingerprints())}


def give_back(state: LabelSets, several: Sequence[Arrays]) -> None:
    """Give a state what was found in each range."""
    state.n_elsewhere = sum(own["n_distinct"] for own in several)
