"""Saved states whose folds do not fit together are refused by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.states.crafted import GROUPS, LISTS, TRUTH, WEIGHT, M, N, Q, contents, mutate, write
from tests.states.test_crafted import attempt
from xmleval import Evaluator
from xmleval.files.saved import Saved
from xmleval.states.rank_slots import BY_FOLD

METRICS = ["p@2", "psp@2", "f1.macro@2", "lrap", "auc.macro"]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "weighted": {"sample_weight": WEIGHT}, "row groups": {"row_groups": np.arange(M) % 2},
    "label groups": {},
}  # fmt: skip


def saved(kind: str) -> Saved:
    own: dict[str, Any] = {"label_groups": GROUPS} if kind == "label groups" else {}
    found = Evaluator(METRICS, n_labels=N, inverse_propensity=Q, confidence=0.9, **own)
    found.update(TRUTH, LISTS, **OPTIONS[kind])
    return contents(found.as_saved())


SAVED = {kind: saved(kind) for kind in OPTIONS}


def moved(array: Any) -> Any:
    """Return numbers of rows by fold with one row in another fold."""
    found = array.copy()
    rows = found if found.ndim == 1 else found[:, 0]
    (place,) = np.flatnonzero(rows)[:1]
    rows[place] -= 1
    rows[(place + 1) % rows.size] += 1
    return found


def refused(path: Path, kind: str, changed: dict[str, Any]) -> str:
    meta, arrays = SAVED[kind]
    assert changed.keys() <= arrays.keys()
    write(path, Saved(meta, {**arrays, **changed}))
    with pytest.raises(ValueError, match=r"bad\.npz: not a saved evaluator, or damaged") as caught:
        Evaluator.load(path)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.filterwarnings("error")
def test_what_is_wrong_is_refused_or_can_be_used(kind: str, tmp_path: Path) -> None:
    rng, path, n_refused = np.random.default_rng([*kind.encode()]), tmp_path / "bad.npz", 0
    for _ in range(25):
        write(path, mutate(SAVED[kind], rng))
        found, said = attempt(partial(Evaluator.load, path))
        assert said == "" or said.startswith(f"{path}: ")
        assert said or found.n_rows == 0 or str(found.compute())
        n_refused += said != ""
    assert n_refused


def named(kind: str, ends: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(kind, name) for name in SAVED[kind].arrays if name.endswith(ends)]


ROWS = [
    *named(
        "plain", ("fold_rows", "fold_weighing", "row_sums/n_rows", "row_sums/n_weighing", "folds top2/rows")
    ),
    *named("weighted", ("fold_rows",)),
    *named("row groups", ("fold_rows",)),
    *named("label groups", ("fold_rows",)),
]


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_rows_of_another_fold_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    told = refused(tmp_path / "bad.npz", kind, {name: moved(SAVED[kind].arrays[name])})
    assert "fold" in told or "is out of range" in told


def test_the_cases_have_every_state_of_folds() -> None:
    assert {name.split("/")[0] for _, name in ROWS} >= {"fold_rows", "row_sums", "label_totals", "row_groups"}


def test_folds_of_several_states_changed_together_are_refused(tmp_path: Path) -> None:
    arrays = SAVED["plain"].arrays
    both = {name: moved(arrays[name]) for name in ("row_sums/n_rows", "row_sums/n_weighing")}
    assert "row_sums/n_rows has other rows in a fold than fold_rows" in refused(
        tmp_path / "bad.npz", "plain", both
    )


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_hits_of_a_fold_without_their_rows_are_refused(kind: str, tmp_path: Path) -> None:
    keys = SAVED[kind].arrays["rank_profile/n_relevant"].copy()
    unused = next(n for n in range(31, -1, -1) if n not in keys // BY_FOLD)
    keys[-1] = keys[-1] % BY_FOLD + unused * BY_FOLD
    keys = np.sort(keys)
    told = refused(tmp_path / "bad.npz", kind, {"rank_profile/n_relevant": keys})
    assert "rank_profile/rows has other rows in a fold than fold_rows" in told


def test_weights_of_a_fold_without_rows_are_refused(tmp_path: Path) -> None:
    totals = SAVED["weighted"].arrays["row_sums/totals"].copy()
    empty = int(np.flatnonzero(SAVED["weighted"].arrays["fold_rows"] == 0)[0])
    totals[empty, :, 1, 0] = 1
    assert "invalid weights" in refused(tmp_path / "bad.npz", "weighted", {"row_sums/totals": totals})
