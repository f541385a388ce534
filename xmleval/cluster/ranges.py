"""What does not shrink when it is merged goes by ranges: from each task straight to who merges the range.

Scores of every label go by ranges of labels, distinct label sets by ranges of fingerprints. In a tree, all of
them would be sent at each level, and pass one machine in the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from xmleval.cluster.job import Job, opened
from xmleval.evaluator import Evaluator
from xmleval.files.remote import as_path
from xmleval.files.saved import Form, Saved, load_state, naming_damage, save_state
from xmleval.input.errors import positive_integer
from xmleval.message import counted
from xmleval.records import Chunks
from xmleval.spec import Spec
from xmleval.states import label_ranges, set_ranges
from xmleval.states.contents import Contents, expect
from xmleval.states.state import Arrays, State, States

FORM = Form("xmleval range", 2, "part of a run")
SHARE = 4  # a range has about as much as so many parts
MOST_SENT = 64  # ranges of which pieces are sent, as an engine takes milliseconds for each of each part


class Ranged(Protocol):
    """A module that divides a state of all rows into ranges."""

    NAME: str

    def asked(self, spec: Spec, plain: bool) -> bool:
        """Return whether a measure needs what is divided; ``plain``: without weights and bounds."""

    def held_in(self, states: States | None) -> Any:
        """Return the state, None if there is none that can be divided."""

    def take_ranges(self, state: Any, n_ranges: int) -> Iterator[Arrays]:
        """Take out of a state, and yield, the arrays of each range."""

    def restored_range(self, like: Any, number: int, n_ranges: int, contents: Contents) -> Any:
        """Return a state of the arrays of a range, checked."""

    def found_in(self, state: Any) -> Arrays:
        """Return what the measures need of the state of a range."""

    def give_back(self, state: Any, several: Sequence[Arrays]) -> None:
        """Give the state of all rows what was found in each range."""


RANGED: tuple[Ranged, ...] = (label_ranges, set_ranges)


def ranges_of(evaluator: Evaluator, n_parts: int, weighted: bool, sent: bool) -> int:
    """Return by how many ranges states of a run are divided; 0 if it has none of these states.

    weighted : whether rows have weights, as far as that is known
    sent : whether pieces are sent to the task of their range, which finds them in files otherwise
    """
    plain = not weighted and not evaluator.settings["bounds"]
    needed = any(one.asked(spec, plain) for one in RANGED for spec in evaluator.asked)
    if not needed or evaluator.settings["confidence"]:  # which needs the state of each fold
        return 0
    n_ranges = min(-(-n_parts // SHARE), evaluator.n_labels)
    return min(n_ranges, MOST_SENT) if sent else n_ranges


def pieces_of(evaluator: Evaluator, n_ranges: int) -> Iterator[Saved]:
    """Take what is divided out of an evaluator, and yield it range by range."""
    held = _divided(evaluator.counted.states)
    taken = {one.NAME: one.take_ranges(state, n_ranges) for one, state in held}
    told = {"given": sorted(evaluator.counted.given), "n_rows": evaluator.n_rows}
    for number in range(n_ranges):
        arrays = {f"{name}/{key}": array for name, own in taken.items() for key, array in next(own).items()}
        yield Saved({**told, "range": [number, n_ranges]}, arrays)


def take_pieces(evaluator: Evaluator, n_ranges: int, path: str | None) -> tuple[list[Saved], dict[str, int]]:
    """Return what `pieces_of` takes out of an evaluator, and its bytes by state.

    Where there is a path for the part, the pieces are put into files beside it, one by one.
    """
    found, n_bytes = [], dict[str, int]()
    for number, (meta, arrays) in enumerate(pieces_of(evaluator, n_ranges)):
        add_bytes(n_bytes, arrays)
        if path is None:
            found.append(Saved(meta, {name: whole(array) for name, array in arrays.items()}))
        else:
            beside = _beside(path, number)
            save_state(beside, Saved({**meta, "file": beside.name}, arrays), FORM)
    return found, n_bytes


def whole(array: Any) -> Any:
    """Return an array in memory."""
    if not isinstance(array, Chunks):
        return array
    return np.concatenate([np.empty(0, array.dtype), *array.read()])


def add_bytes(n_bytes: dict[str, int], arrays: dict[str, Any]) -> None:
    """Add the bytes of arrays to those of their states, by which their names begin."""
    for name, array in arrays.items():
        state = name.partition("/")[0]
        n_bytes[state] = n_bytes.get(state, 0) + array.size * array.dtype.itemsize


def without_pieces(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part without the pieces that were taken out of it."""
    return {name: value for name, value in part.items() if name != "pieces"}


def piece_of(part: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the piece of a range in a part, or the error of the part."""
    return {"error": part["error"]} if "error" in part else {"piece": part["pieces"][number]}


def merge_range(job: Job, number: int, n_ranges: int, several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what all parts have in a range, as the measures need it, or the first error among them.

    several : the piece of this range in each part, or parts in files, whose pieces are read one by one
    """
    found: dict[str, State] = {}
    n_rows = 0
    try:
        like = opened(job)
        states_of = cache(lambda *given: like.empty_states(given))
        for part in several:
            if "error" in part:
                return {"error": part["error"]}
            path = _beside(part["file"], number) if "file" in part else None
            meta, arrays = load_state(path, FORM) if path else part["piece"]
            with naming_damage(path, FORM) if path else nullcontext():
                expect(meta["range"] == [number, n_ranges], "of another range")
                expect(path is None or meta["file"] == path.name, "of another part")
                contents = Contents(arrays, positive_integer("n_rows", meta["n_rows"], 0))
                own = _restored(states_of(*meta["given"]), number, n_ranges, contents)
            n_rows += contents.n_rows
            for name, state in own.items():
                if name in found:
                    found[name].merge(state)
                else:
                    found[name] = state
        results = {one.NAME: one.found_in(found[one.NAME]) for one in RANGED if one.NAME in found}
        return {"n_rows": n_rows, "found": results}
    except ValueError as error:
        return {"error": error}


def _restored(states: States, number: int, n_ranges: int, contents: Contents) -> dict[str, State]:
    """Return the states of a piece, of which no array may be left."""
    found = {}
    for one, like in _divided(states):
        own = contents.part(f"{one.NAME}/")
        found[one.NAME] = one.restored_range(like, number, n_ranges, own)
        own.done()
    contents.done()
    return found


def give_back(evaluator: Evaluator, several: Sequence[dict[str, Any]]) -> None:
    """Give an evaluator of all rows what was found in each range, in their order.

    Raise ValueError where rows are missing.
    """
    for number, own in enumerate(several):
        if own["n_rows"] != evaluator.n_rows:
            raise ValueError(f"range {number} has {own['n_rows']} of {counted(evaluator.n_rows, 'rows')}")
    for one, state in _divided(evaluator.counted.states) if several and evaluator.n_rows else []:
        one.give_back(state, [own["found"][one.NAME] for own in several])


def _divided(states: States | None) -> list[tuple[Ranged, Any]]:
    """Return the states that are divided, and how."""
    held = [(one, one.held_in(states)) for one in RANGED]
    return [(one, state) for one, state in held if state is not None]


def _beside(path: str, number: int) -> Path:
    return as_path(f"{path.removesuffix('.npz')}-range{number}.npz")
