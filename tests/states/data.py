"""Rows that states are fed with, and the plans that make the states."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.conftest import csr
from xmleval.engine.settings import SCORED, Settings
from xmleval.files.archive import read_archive, write_archive
from xmleval.files.input import InputFile
from xmleval.files.saved import LARGE
from xmleval.plan import Plan
from xmleval.pooled.values import Packed, Values
from xmleval.records import Block, Chunks, Floats, Given, Ints, Ranking, RowGroups, Truth
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.label_table import LabelTable
from xmleval.states.parts import Parts
from xmleval.states.row_groups import RowGroups as RowGroupsState
from xmleval.states.row_sums import RowSums
from xmleval.states.score_runs import ScoreRuns
from xmleval.states.state import State, state_class
from xmleval.states.summed_keys import SummedKeys
from xmleval.threads import Work
from xmleval.view.decision import Decision
from xmleval.view.view import View

N_LABELS = 40
PRED, TOP = Decision("pred"), Decision("top", 3.0)
WORK = Work(1 << 20, 2)
LEVELS = [-2.5, -0.0, 0.0, 0.25, 1.0, 3.0]
KEYS = ["short", "wide", "empty"]
GROUPED = [
    "p@5",
    "psp@3",
    "lrap",
    "f1.macro@3",
    "label_diversity",
    "auc.micro",
    "auc.micro(bits=8)",
    "auc.macro",
]
BY_LABEL: dict[str, Any] = {"label_groups": np.array(["tail", "head", "other"])[np.arange(N_LABELS) % 7 % 3]}
BY_ROW: dict[str, Any] = {"row_groups": True}


class DataView(View):
    """A block, and values of its rows that no measure gives."""

    values: list[Floats]


class Columns(RowSums):
    """Sums of given values of rows."""

    def names(self) -> dict[str, Spec]:
        return dict.fromkeys(KEYS, self.specs[0])

    def columns(self, view: View) -> list[Floats]:
        assert isinstance(view, DataView)
        return view.values


@dataclass
class Data:
    """Rows as plain lists, of very different numbers of relevant labels and depths."""

    truth: list[list[int]]
    listed: list[list[int]]
    scores: list[list[float]]
    pred: list[list[int]]
    weight: Any
    values: list[Any]

    @property
    def n(self) -> int:
        return len(self.truth)

    def n_reachable(self, lo: int, hi: int) -> Ints:
        """Numbers of relevant labels that are among the predicted ones."""
        rows = zip(self.truth[lo:hi], self.pred[lo:hi], strict=True)
        return np.array([len({*truth} & {*pred}) for truth, pred in rows], np.int64)

    def groups(self, lo: int, hi: int) -> RowGroups:
        """Groups of rows, by their numbers of predicted labels."""
        sizes = np.array([len(pred) for pred in self.pred[lo:hi]], np.int64)
        names, places = np.unique(sizes, return_inverse=True)
        return RowGroups([f"{name}" for name in names.tolist()], places)

    def view(self, lo: int, hi: int, plan: Plan) -> DataView:
        ptr, labels = csr(self.listed[lo:hi], np.int32)
        scores, n_above = csr(self.scores[lo:hi], np.float32)[1], np.diff(ptr)
        if plan.unlisted is not None:
            n_above = np.array([sum(s >= plan.unlisted for s in row) for row in self.scores[lo:hi]], np.int64)
        block = Block(
            Truth(*csr(self.truth[lo:hi], np.int32)),
            Ranking(ptr, labels, scores, n_above, given=seen(self.scores[lo:hi])),
            Truth(*csr(self.pred[lo:hi], np.int32)),
            self.weight[lo:hi] if plan.weighted else None,
            lo,
            by_id=True,
            n_reachable=self.n_reachable(lo, hi) if plan.candidates else None,
            row_groups=self.groups(lo, hi) if plan.row_groups else None,
        )
        view = DataView(block, plan.n_labels, plan.unlisted)
        view.values = [column[lo:hi] for column in self.values]
        return view


def seen(scores: list[list[float]]) -> Given:
    """Facts that differ between rows; how the scores run is made up, since they are in order."""
    flat = [score for row in scores for score in row]
    sizes = [*map(len, scores)]
    return Given(len(flat), all(score in (0, 1) for score in flat), 9 in sizes, N_LABELS in sizes)


def random_weights(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Instance weights of all sizes that blocks may have, and some of 0."""
    weight = np.minimum(2.0 ** rng.integers(-50, 1, n) * (1.0 + rng.random(n)), 1.0)
    return np.where(rng.random(n) < 0.2, 0.0, weight)


def random_data(seed: int, n: int) -> Data:
    rng = np.random.default_rng(seed)

    def some(sizes: list[int]) -> list[int]:
        found: list[int] = rng.permutation(N_LABELS)[: rng.choice(sizes)].tolist()
        return found

    values = [
        rng.random(n),
        np.where(rng.random(n) < 0.3, math.nan, 2.0 ** rng.integers(-50, 40, n) * rng.random(n)),
        np.full(n, math.nan),
    ]
    listed = [some([0, 1, 4, 9, N_LABELS]) for _ in range(n)]
    return Data(
        truth=[sorted(some([0, 0, 1, 2, 5, 30, N_LABELS])) for _ in range(n)],
        listed=listed,
        scores=[sorted(rng.choice(LEVELS, len(row)).tolist(), reverse=True) for row in listed],
        pred=[sorted(some([0, 1, 3, 20])) for _ in range(n)],
        weight=random_weights(rng, n),
        values=values,
    )


def make_plan(
    *names: str,
    weighted: bool = False,
    pred: bool = False,
    candidates: bool = False,
    row_groups: bool = False,
    q: Any = None,
    **more: Any,
) -> Plan:
    """Return the plan of measures of ranked labels with scores; sets or candidates may be given, too."""
    settings: dict[str, Any] = {
        "n_labels": N_LABELS, "decision": None, "conventions": None, "unlisted": None, "bounds": False,
        "curve_points": None, "per_row": False, "per_label": False, **more,
    }  # fmt: skip
    given = {
        "y_score",
        SCORED,
        *["sample_weight"] * weighted,
        *["y_pred"] * pred,
        *["candidates"] * candidates,
        *["row_groups"] * row_groups,
    }
    return Settings.checked(metrics=names, k=1, inverse_propensity=q, **settings).plan(frozenset(given))


@dataclass
class Kind:
    """How to make one kind of state."""

    state: str
    names: list[str]
    more: dict[str, Any] = field(default_factory=dict)
    work: Work = WORK
    own: type[State] | None = None

    def make(self) -> Any:
        plan = make_plan(*self.names, **self.more)
        return (self.own or state_class(self.state))(plan, plan.states[self.state], self.work)


def add(state: Any, data: Data, lo: int, hi: int) -> Any:
    """Return a state after an update with some rows."""
    state.update(data.view(lo, hi, state.plan))
    return state


def merged(*states: Any) -> Any:
    """Return the state of the rows of some states, in a new one."""
    found = states[0].empty()
    for state in states:
        found.merge(state)
    return found


def restored(state: Any, name: str, n_rows: int) -> Any:
    """Return the state that one of this name is after a way through a file."""
    found = type(state)(state.plan, state.specs, state.work)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        with path.open("wb") as file:
            write_archive(file, {f"{name}/{key}": array for key, array in state.arrays().items()})
        arrays = read_archive(InputFile(path), in_pieces=LARGE)
        found.from_contents(Contents(arrays, n_rows).part(f"{name}/"))
    return found


Bits = dict[str, tuple[str, tuple[int, ...], bytes]]


def bits_of(arrays: dict[str, Any]) -> Bits:
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def frozen(state: Any) -> Bits:
    """Every bit of a state but for how the data were cut, which shows in the pieces of what is kept."""
    if isinstance(state, Parts):
        parts = state.counted if isinstance(state, RowGroupsState) else state.parts
        found = bits_of({name: array for name, array in state.arrays().items() if "/" not in name})
        for part, states in parts.items():
            for kind, own in states._states.items():
                found |= {f"{part}/{kind}/{name}": bits for name, bits in frozen(own).items()}
        return found
    arrays = {name: array for name, array in state.arrays().items() if not name.startswith("kept")}
    if isinstance(state, ScoreRuns):
        arrays = in_order(arrays)
    elif isinstance(state, SummedKeys):
        arrays = added_up(arrays)
    elif getattr(state, "keep", False):
        kept = (
            state.finish().rows.values()
            if isinstance(state, RowSums)
            else map(np.asarray, state._rows().values())
        )
        arrays |= {f"kept {i}": array for i, array in enumerate(kept) if array is not None}
    return bits_of(arrays)


def in_order(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return all keys of each pile, and the last scores of rows with what is left there, rising."""
    found: dict[str, Any] = {}
    piles: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        if name.endswith(".places"):
            own = name.removesuffix(".places")
            data = np.concatenate([*array.read()]) if isinstance(array, Chunks) else array
            part = Packed(int(arrays[f"first.{own}"][0]), arrays[f"starts.{own}"], data, -1)
            piles.setdefault(own, []).extend(Values([part]).chunks())
        elif name.startswith(("first.", "starts.")):
            continue
        elif name.startswith(("cells.", "columns.")):
            pieces = array.read() if isinstance(array, Chunks) else [array]
            piles.setdefault(name.rpartition(".")[0], []).extend(pieces)
        elif name not in ("last", "n_left"):
            found[name] = array
    for name, pieces in piles.items():
        keys = np.sort(np.concatenate(pieces))
        if keys.size:
            found[name] = keys + keys.dtype.type(0)  # there is one zero, whatever its sign
    if "last" in arrays:
        order = np.lexsort([arrays["n_left"], arrays["last"]])
        found |= {"last": arrays["last"][order] + np.float32(0), "n_left": arrays["n_left"][order]}
    return found


def added_up(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the sums of all tables by key, each as rows of a key and an integer in units of 2^-104."""
    found: dict[str, Any] = {}
    sums: dict[str, dict[tuple[int, ...], int]] = {}
    for name, array in arrays.items():
        if "." not in name:
            found[name] = array
            continue
        words = 2 if name.startswith("columns") and ".truth" not in name and ".last" not in name else 1
        pieces = array.read() if isinstance(array, Chunks) else [array]
        own = sums.setdefault(name.rpartition(".")[0], {})
        for *key, whole, first, second in np.concatenate([*pieces]).reshape(-1, words + 3).tolist():
            own[tuple(key)] = own.get(tuple(key), 0) + (((whole << 52) + first) << 52) + second
    return found | {name: np.array(str(sorted(own.items()))) for name, own in sums.items()}


def finished(state: Any) -> dict[str, Any]:
    """Every bit of what a state gives."""
    return bits_of_results(state.finish())


def bits_of_results(results: Results) -> dict[str, Any]:
    return {
        kind: {n: (bits_of_results(v[0]), v[1:]) for n, v in own.items()}
        if kind in ("groups", "shares", "row_groups")
        else bits_of({n: np.array(v) for n, v in own.items()})
        for kind, own in vars(results).items()
    }


PLANS = {weighted: make_plan("p@1", weighted=weighted, pred=True) for weighted in (False, True)}


def counted(table: LabelTable, rows: Data, n: int) -> LabelTable:
    """Return a table after an update with the first rows."""
    table.update(rows.view(0, n, PLANS[table.weighted]))
    return table


def doubled(table: LabelTable, times: int) -> LabelTable:
    """Return the table of so many rows that they were doubled this often."""
    for _ in range(times):
        twice = LabelTable(table.decision, table.n_labels, table.weighted)
        twice.merge(table)
        twice.merge(table)
        table = twice
    return table
