"""States are monoids to the last bit: any cutting, any order, any grouping, saved or not."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import pkgutil
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import exact, seeds
from tests.states.data import (
    BY_LABEL,
    BY_ROW,
    GROUPED,
    KEYS,
    N_LABELS,
    Columns,
    Data,
    Kind,
    add,
    finished,
    frozen,
    merged,
    random_data,
    restored,
)
from xmleval import states
from xmleval.exact import as_floats, as_integer
from xmleval.kernels.hit_tables import LARGEST_SUM, MOST_TERMS
from xmleval.pooled import values
from xmleval.records import Chunks
from xmleval.states.rank_profile import RankProfile
from xmleval.states.state import state_class
from xmleval.threads import Work

Q = np.random.default_rng(5).choice([1.0, 1.1, 2.5, 9.649, 1.0 + 2.0**-52], N_LABELS)
NO_MEMORY = Work(1, 2)  # so that all scores are spilled
law = settings(max_examples=16)


WEIGHTED, KEPT, SCORED = {"weighted": True}, {"per_row": True}, {"unlisted": 0.25}
TREE = {"hierarchy": [(label, label // 3) for label in range(1, N_LABELS)]}
ROWS = ["lrap", "hit@3", "auc.samples", "ndcg@all", "f1.samples@3"]
CURVES = ["auc.micro", "ap.micro", "peak_f1.micro", "auc.macro", "ap.weighted", "auc.micro(max_fpr=0.5)"]
BOUNDED, BRACKETS = ["auc.micro", "auc.macro", "auc.weighted"], ["auc.micro(bits=8)", "auc.micro(bits=12)"]
BOTH, LOGITS = [*CURVES, *BRACKETS], {"link": "sigmoid"}
PROBABLE = ["ece@2", "ece(bins=4)", "brier@1", "log_loss"]
KINDS = {
    "hits": Kind("rank_profile", ["p@5"]),
    "deep hits": Kind("rank_profile", ["p@1000000000"]),
    "hits among scored": Kind("rank_profile", ["ndcg@9"], {"unlisted": 0.25}),
    "weighted hits": Kind("rank_profile", ["p@5"], WEIGHTED),
    "gains": Kind("rank_profile", ["psp@3"], {"q": Q}),
    "deep gains": Kind("rank_profile", ["psp@100"], {"q": Q}),
    "weighted gains": Kind("rank_profile", ["psp@3"], {"q": Q, **WEIGHTED}),
    "small gains": Kind("rank_profile", ["psp@4"], {"q": Q / 10}),
    "large gains": Kind("rank_profile", ["psp@4"], {"q": Q * 2.0**26}),
    "kept hits": Kind("rank_profile", ["p@5"], KEPT),
    "kept gains": Kind("rank_profile", ["psp_raw@5"], {"q": Q, **WEIGHTED, **KEPT}),
    "columns": Kind("row_sums", ["hit@1"], own=Columns),
    "weighted columns": Kind("row_sums", ["hit@1"], WEIGHTED, own=Columns),
    "kept columns": Kind("row_sums", ["hit@1"], KEPT, own=Columns),
    "rows": Kind("row_sums", ROWS),
    "ratios of rows": Kind("row_ratios", ["rprec.micro"]),
    "weighted ratios of rows": Kind("row_ratios", ["rprec.micro"], WEIGHTED),
    "counts of rows": Kind("row_counts", ["h_f1.micro@3", "h_recall.micro@1"], TREE),
    "weighted counts of rows": Kind("row_counts", ["h_f1.micro@3"], TREE | WEIGHTED),
    "kept weighted rows": Kind("row_sums", ROWS, {"conventions": "sklearn", **WEIGHTED, **KEPT}),
    "rows of sets": Kind("row_sums", ["jaccard.samples", "subset_accuracy"], {"pred": True}),
    "margins": Kind("row_sums", ["margin.samples"], {"unlisted": 0.25}),
    "weighted margins": Kind("row_sums", ["margin.samples", "lrap"], {"unlisted": 0.25, **WEIGHTED}),
    "bounds": Kind("row_bounds", ["lrap", "ranking_loss", "auc.samples"], {"bounds": True}),
    "weighted bounds": Kind("row_bounds", ["coverage"], {"bounds": True, **WEIGHTED}),
    "gaps": Kind("gaps", ["margin.samples", "margin_share.macro"]),
    "seen": Kind("seen", ["p@5", "lrap"]),
    "seen of sets": Kind("seen", ["f1.macro"], {"pred": True}),
    "ceiling": Kind("ceiling", ["p@5", "r@2"], {"candidates": True}),
    "weighted ceiling": Kind("ceiling", ["p@5"], {"candidates": True, **WEIGHTED}),
    "labels of sets": Kind("label_totals", ["f1.macro"], {"pred": True, "per_label": True}),
    "labels of the top": Kind("label_totals", ["f1.macro@3", "mcc.micro"], {"decision": "top2"}),
    "weighted labels": Kind("label_totals", ["f1.macro@3", "recall.weighted@1"], WEIGHTED),
    "label margins": Kind("label_extremes", ["margin.macro"], {"unlisted": 0.25, "per_label": True}),
    "weighted label margins": Kind("label_extremes", ["margin_share.macro"], WEIGHTED),
    "label sets": Kind("label_sets", ["label_diversity", "proportional_diversity"]),
    "leading bits": Kind("key_counts", BRACKETS),
    "leading bits of all": Kind("key_counts", BRACKETS, {"unlisted": 0.25}),
    "scores": Kind("score_runs", CURVES, {"curve_points": 5}),
    "scores of all": Kind("score_runs", CURVES, {"unlisted": 0.25, "per_label": True}),
    "packed scores": Kind("score_runs", CURVES, {"curve_points": 5}),
    "packed scores of all": Kind("score_runs", CURVES, {"unlisted": 0.25}),
    "packed bounded scores": Kind("score_runs", ["auc.micro", "auc.macro"], {"bounds": True}),
    "bounded scores": Kind("score_runs", ["auc.micro", "auc.macro"], {"bounds": True}),
    "spilled scores": Kind("score_runs", ["auc.macro"], work=NO_MEMORY),
    "spilled bounds": Kind("score_runs", ["auc.micro", "auc.weighted"], {"bounds": True}, NO_MEMORY),
    "weighted scores": Kind("weighted_scores", BOTH, {"curve_points": 5, **WEIGHTED}),
    "weighted scores of all": Kind("weighted_scores", BOTH, SCORED | {"per_label": True, **WEIGHTED}),
    "spilled weighted scores": Kind("weighted_scores", BOTH, WEIGHTED, NO_MEMORY),
    "bounded weighted scores": Kind("weighted_scores", BOUNDED, {"bounds": True, **WEIGHTED}),
    "spilled weighted bounds": Kind("weighted_scores", BOUNDED, {"bounds": True, **WEIGHTED}, NO_MEMORY),
    "spilled top scores": Kind("top_scores", ["aurc@1", "aurc@3"], SCORED | WEIGHTED, NO_MEMORY),
    "calibration": Kind("calibration", PROBABLE, LOGITS),
    "weighted calibration": Kind("calibration", PROBABLE, LOGITS | WEIGHTED | {"unlisted": 0.25}),
    "pair scores": Kind("pair_scores", ["ace@2", "ace(bins=3)"], LOGITS | WEIGHTED | SCORED, NO_MEMORY),
    "groups": Kind("label_groups", GROUPED, {"q": Q, **BY_LABEL}),
    "groups of sets": Kind("label_groups", ["f1.macro", "f1.samples"], {"pred": True, **BY_LABEL}),
    "weighted groups": Kind("label_groups", GROUPED, {"q": Q, **BY_LABEL, **WEIGHTED}),
    "groups of scored": Kind("label_groups", GROUPED, {"q": Q, **BY_LABEL, "unlisted": 0.25}),
    "spilled groups": Kind("label_groups", CURVES, BY_LABEL, NO_MEMORY),
    "groups of rows": Kind("row_groups", GROUPED, {"q": Q, **BY_ROW}),
    "weighted groups of rows": Kind("row_groups", GROUPED, {"q": Q, **BY_ROW, **WEIGHTED}),
    "spilled groups of rows": Kind("row_groups", CURVES, BY_ROW, NO_MEMORY),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def ordered_by_value(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count few scores by value, too, where a kind is called packed."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if str(params.get("kind", "")).startswith("packed"):
        monkeypatch.setattr(values, "MANY", 1)
        monkeypatch.setattr(values, "CHUNK", 10)


def test_every_state_obeys_the_laws() -> None:
    modules = [module.name for module in pkgutil.iter_modules(states.__path__)]
    found = {name for name in modules if hasattr(import_module(f"xmleval.states.{name}"), "STATE")}
    assert {kind.state for kind in KINDS.values()} == found
    for kind in KINDS.values():
        assert isinstance(kind.make(), state_class(kind.state))


def pieces(kind: str, seed: int, cuts: list[int]) -> tuple[Data, Kind, list[tuple[int, int]]]:
    ends = list(itertools.accumulate(cuts, initial=0))
    return random_data(seed, ends[-1]), KINDS[kind], list(itertools.pairwise(ends))


cuttings = st.lists(st.integers(0, 5), min_size=1, max_size=5)


@pytest.mark.slow
@every_kind
@law
@given(seed=seeds, cuts=cuttings, data=st.data())
def test_cutting_order_and_grouping_leave_no_trace(
    kind: str, seed: int, cuts: list[int], data: st.DataObject
) -> None:
    rows, how, spans = pieces(kind, seed, cuts)
    once = add(how.make(), rows, 0, rows.n)
    whole, values = frozen(once), finished(once)
    gradual = how.make()
    for span in spans:
        add(gradual, rows, *span)
    assert frozen(gradual) == whole
    parts = [add(how.make(), rows, *span) for span in spans] + [how.make()]
    parts = [parts[i] for i in data.draw(st.permutations(range(len(parts))))]
    while len(parts) > 1:
        at = data.draw(st.integers(0, len(parts) - 2))
        other = parts.pop(at + 1)
        if data.draw(st.booleans()):
            parts[at] = merged(parts[at], other)
        else:
            parts[at].merge(other)
    assert frozen(parts[0]) == whole
    assert finished(gradual) == finished(parts[0]) == values


@every_kind
@law
@given(seed=seeds, cuts=st.tuples(*[st.integers(0, 5)] * 3))
def test_monoid_laws(kind: str, seed: int, cuts: tuple[int, int, int]) -> None:
    rows, how, spans = pieces(kind, seed, list(cuts))

    def joined(one: Any, other: Any) -> Any:
        before = frozen(other)
        one.merge(other)
        assert frozen(other) == before
        return one

    def part(number: int) -> Any:
        return add(how.make(), rows, *spans[number])

    alone, nothing = frozen(part(0)), frozen(how.make())
    assert frozen(joined(part(0), how.make())) == frozen(joined(how.make(), part(0))) == alone
    assert frozen(part(0).empty()) == frozen(joined(how.make(), how.make())) == nothing
    assert frozen(joined(part(0), part(0).empty())) == frozen(joined(part(0).empty(), part(0))) == alone
    assert frozen(joined(part(0), part(1))) == frozen(joined(part(1), part(0)))
    left = joined(joined(part(0), part(1)), part(2))
    assert frozen(left) == frozen(joined(part(0), joined(part(1), part(2))))


@pytest.mark.slow
@every_kind
@law
@given(seed=seeds, cuts=st.tuples(*[st.integers(1, 5)] * 3))
def test_merged_states_share_no_memory_that_is_written(
    kind: str, seed: int, cuts: tuple[int, int, int]
) -> None:
    rows, how, spans = pieces(kind, seed, list(cuts))
    one = add(how.make(), rows, *spans[0])
    for first in (how.make(), one.empty(), one):
        other = add(how.make(), rows, *spans[1])
        before = frozen(other)
        first.merge(other)
        add(first, rows, *spans[2])
        assert frozen(other) == before
        after = frozen(first)
        add(other, rows, *spans[2])
        assert frozen(first) == after


@pytest.mark.slow
@every_kind
@law
@given(seed=seeds, cuts=cuttings)
def test_saved_state_is_the_same_and_goes_on(kind: str, seed: int, cuts: list[int]) -> None:
    rows, how, spans = pieces(kind, seed, [*cuts, 2])
    state = how.make()
    for span in spans[:-1]:
        add(state, rows, *span)
    before = frozen(state)
    saved = state.arrays()
    assert all(isinstance(array, np.ndarray | Chunks) for array in saved.values())
    back = restored(state, how.state, spans[-2][1])
    assert frozen(back) == before
    add(back, rows, *spans[-1])
    assert frozen(state) == before
    add(state, rows, *spans[-1])
    assert frozen(state) == frozen(back)


@every_kind
@pytest.mark.parametrize("how_copied", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_copies_are_states_of_their_own(kind: str, how_copied: Any) -> None:
    rows, how, spans = pieces(kind, 4, [9, 9])
    state = add(how.make(), rows, *spans[0])
    other = how_copied(state)
    before = frozen(state)
    assert frozen(other) == before
    add(other, rows, *spans[1])
    assert frozen(state) == before
    add(state, rows, *spans[1])
    assert frozen(state) == frozen(other)


@every_kind
@law
@given(seed=seeds, cuts=cuttings, n_workers=st.integers(1, 4))
def test_workers_fill_parts_of_a_state(kind: str, seed: int, cuts: list[int], n_workers: int) -> None:
    rows, how, spans = pieces(kind, seed, cuts)
    state = how.make()
    parts = state.divided(n_workers, len(spans))
    assert len(parts) == n_workers
    assert parts[0] is state
    for number, span in enumerate(spans):
        add(parts[number % n_workers], rows, *span)
    for part in parts[1:]:
        if part is not state:
            state.merge(part)
    assert frozen(state) == frozen(add(how.make(), rows, 0, rows.n))


@every_kind
@pytest.mark.parametrize("n", [0, 12])
def test_reading_a_state_changes_nothing(kind: str, n: int) -> None:
    rows, how, _ = pieces(kind, 3, [n])
    state = add(how.make(), rows, 0, n)
    before, table_bytes = frozen(state), state.table_bytes
    values = finished(state)
    assert frozen(state) == before
    assert finished(state) == values
    state.spill()
    assert frozen(state) == before
    assert finished(state) == values
    assert state.table_bytes == table_bytes
    assert how.state == "row_groups" or table_bytes == how.make().table_bytes


class Slow(RankProfile):
    """Sums every gain in fixed point."""

    def _splits(self, n_rows: int) -> bool:
        return False


def profile(depth: int, q: Any, weighted: bool = False, own: type[RankProfile] = RankProfile) -> Any:
    return Kind("rank_profile", [f"psp@{depth}"], {"q": q, "weighted": weighted}, own=own).make()


LARGEST_Q = np.array([1.0, 1.0 + 2.0**-52, 2.0**30, 2.0**30 - 2.0**-22, 2.0**29 / 3.0])


@example(seed=0, cuts=[7, 8, 1, 9])
@given(seed=seeds, cuts=st.lists(st.sampled_from([0, 1, 7, 8, 9]), min_size=1, max_size=4))
def test_fast_and_slow_sums_of_gains_mix(seed: int, cuts: list[int]) -> None:
    q = np.random.default_rng(seed).choice(LARGEST_Q, N_LABELS)
    q[0] = 2.0**30  # eight rows of it reach the largest sum
    assert 8 * q[0] == LARGEST_SUM
    fast, slow, alone = profile(6, q), profile(6, q, own=Slow), profile(6, q)
    assert [fast._splits(n) for n in (7, 8)] == [True, False]
    ends = list(itertools.accumulate(cuts, initial=0))
    rows = random_data(seed, ends[-1])
    for span in itertools.pairwise(ends):
        add(fast, rows, *span)
    assert frozen(fast) == frozen(add(slow, rows, 0, rows.n))
    for i in range(rows.n):
        alone.merge(add(profile(6, q), rows, i, i + 1))
    assert frozen(fast) == frozen(alone)


def test_fast_sums_keep_to_their_limits() -> None:
    assert profile(3, Q)._splits(MOST_TERMS - 1)
    assert not profile(3, Q)._splits(MOST_TERMS)
    assert not profile(3, Q, weighted=True)._splits(1)
    assert not profile(3, Q / 2)._splits(1)
    assert not KINDS["hits"].make()._splits(1)


def test_fast_and_slow_sums_agree_on_a_large_block() -> None:
    n = 4000
    q = 1.0 + np.random.default_rng(1).random(N_LABELS) * 10
    rows = random_data(2, n)
    slow, fast = (add(profile(6, q, own=own), rows, 0, n) for own in (Slow, RankProfile))
    assert fast._splits(n)
    assert frozen(fast) == frozen(slow)


@given(seed=seeds, n=st.integers(0, 12), weighted=st.booleans(), depth=st.sampled_from([1, 4, 99]))
def test_profile_holds_exact_sums(seed: int, n: int, weighted: bool, depth: int) -> None:
    rows = random_data(seed, n)
    state = add(profile(depth, Q, weighted=weighted), rows, 0, n)
    sizes = sorted({len(y) for y in rows.truth})
    assert state.n_relevant.tolist() == sizes

    def table(name: str) -> Any:
        found = state.tables[name]
        whole = found.ndim == 2
        return {
            (sizes[s], r): Fraction(int(found[s, r])) if whole else exact(found[s, r])
            for s, r in np.ndindex(*found.shape[:2])
            if np.any(found[s, r])
        }

    want: dict[str, dict[tuple[int, int], Fraction]] = {"rows": {}, "hits": {}, "gains": {}, "ideals": {}}

    def count(name: str, size: int, rank: int, term: float) -> None:
        if term:
            want[name][size, rank] = want[name].get((size, rank), Fraction(0)) + Fraction(term)

    for i, relevant in enumerate(rows.truth):
        unit, size = float(rows.weight[i]) if weighted else 1.0, len(relevant)
        count("rows", size, 0, unit)
        for r, j in enumerate(rows.listed[i][:depth]):
            if j in relevant:
                count("hits", size, r, unit)
                count("gains", size, r, float(Q[j]) * unit)
        for r, q in enumerate(sorted((float(Q[j]) for j in relevant), reverse=True)[:depth]):
            count("ideals", size, r, q * unit)
    assert {name: table(name) for name in want} == want
    gains = state.profile().gains
    assert gains is not None
    assert gains.tolist() == as_floats(state.tables["gains"]).tolist()


def test_tables_grow_in_both_directions() -> None:
    rows = random_data(0, 3)
    rows.truth, rows.listed = [[0], [0, 1, 2], [1, 2]], [[0], [9, 8, 7, 0, 1], [5, 2]]
    rows.scores = [[float(-place) for place, _ in enumerate(row)] for row in rows.listed]
    state = profile(4, Q)
    shapes = []
    for i in (0, 1, 2):
        add(state, rows, i, i + 1)
        shapes.append([state.tables[name].shape[:2] for name in ("rows", "hits", "gains", "ideals")])
    assert shapes == [
        [(1, 1), (1, 1), (1, 1), (1, 1)],
        [(2, 1), (2, 4), (2, 4), (2, 3)],
        [(3, 1), (3, 4), (3, 4), (3, 3)],
    ]
    assert state.n_relevant.tolist() == [1, 2, 3]
    assert state.tables["hits"].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]


@given(seed=seeds, n=st.integers(0, 12), weighted=st.booleans())
def test_row_sums_hold_exact_means(seed: int, n: int, weighted: bool) -> None:
    rows = random_data(seed, n)
    state = add(Kind("row_sums", ["hit@1"], {"weighted": weighted, **KEPT}, own=Columns).make(), rows, 0, n)
    results = state.finish()
    for i, (key, column) in enumerate(zip(KEYS, rows.values, strict=True)):
        units = rows.weight if weighted else np.ones(n)
        defined = [(float(v * w), float(w)) for v, w in zip(column, units, strict=True) if v == v]
        total = sum(int(Fraction(v) * 2**156) for v, _ in defined)
        weight = sum(Fraction(w) for _, w in defined)
        assert state.n_defined[0, i] == len(defined)
        assert as_integer(state.totals[0, i, 0]) == total
        mean = results.values[key]
        assert mean == float(Fraction(total, 2**156) / weight) if weight else math.isnan(mean)
        assert results.rows[key].tobytes() == column.tobytes()
        assert results.undefined_rows.get(key, 0) == n - len(defined)
    assert state.n_rows.tolist() == [n]
