"""Scores of every label apart by ranges of labels, so that processes can sweep a range each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from xmleval.files.spill import Keys
from xmleval.kernels.keys import HALF
from xmleval.pooled.columns import LabelCurves
from xmleval.pooled.piles import Pile, Ranges, before_label, common_dtype
from xmleval.records import Ints
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.folds import Folds
from xmleval.states.score_runs import BAD, COLUMNS, GOOD, ScoreRuns
from xmleval.states.state import Arrays, States

NAME = "score_runs"
KINDS = [f"{COLUMNS}.{kind}" for kind in (GOOD, BAD)]


def asked(spec: Spec, plain: bool) -> bool:
    """Return whether a measure needs the scores of every label, without weights and bounds."""
    return plain and spec.state == NAME and spec.average != "micro"


def held_in(states: States | None) -> ScoreRuns | None:
    """Return the state that holds scores of every label, if it can give them away."""
    if states is None or isinstance(states, Folds) or NAME not in states.plan.states:
        return None
    state = states[NAME]
    assert isinstance(state, ScoreRuns)
    return state if state.needs.columns and not state.needs.bounds else None


def take_ranges(state: ScoreRuns, n_ranges: int) -> Iterator[Arrays]:
    """Take the scores of every label out of a state; yield for each range what its state saves."""
    bounds = _bounds(state.n_labels, n_ranges)
    piles = [state.store.piles[kind] for kind in KINDS]
    for pile in piles:
        pile.ungroup()
    dtype = common_dtype(piles, np.int64)
    ranges = Ranges(piles, before_label(bounds[1:-1], dtype), state.work.map)
    for kind in KINDS:
        state.store.piles[kind] = Pile()
    for number, (start, stop) in enumerate(pairwise(bounds.tolist())):
        own = _of_range(state, stop - start)
        own.n_rows, own.dtype, own.n_true = state.n_rows, state.dtype, state.n_true[start:stop]
        for place, kind in enumerate(KINDS):
            keys = [_renumbered(part, start) for part in ranges.parts(place, 2 * number)]
            own.store.piles[kind].add(keys)
        yield own.loose()


def restored_range(like: ScoreRuns, number: int, n_ranges: int, contents: Contents) -> ScoreRuns:
    """Return the state of a range of labels that `take_ranges` gave."""
    start, stop = _bounds(like.n_labels, n_ranges)[number : number + 2].tolist()
    found = _of_range(like, stop - start)
    found.from_contents(contents)
    return found


def found_in(state: ScoreRuns) -> Arrays:
    """Return the curves of the labels of a range."""
    return state.sweep(state.work)._asdict()


def give_back(state: ScoreRuns, several: Sequence[Arrays]) -> None:
    """Give a state the curves of the labels of each range, in their order."""
    curves = ([own[name] for own in several] for name in LabelCurves._fields)
    state.swept = LabelCurves(*map(np.concatenate, curves))


def _bounds(n_labels: int, n_ranges: int) -> Ints:
    """Return the first label of each range, and the number of labels."""
    return np.arange(n_ranges + 1) * n_labels // n_ranges


def _of_range(state: ScoreRuns, n_labels: int) -> ScoreRuns:
    specs = tuple(spec for spec in state.specs if spec.average != "micro")
    found = ScoreRuns(state.plan.part(n_labels=n_labels, keep_curves=True), specs, state.work)
    found.needs = found.needs._replace(asked=state.needs.asked)
    return found


def _renumbered(keys: Keys, first: int) -> Keys:
    """Return keys whose labels count from that of a range."""
    return keys - (np.int64(first) << HALF if keys.dtype == np.int64 else first)
