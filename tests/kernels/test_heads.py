"""The best few of each row, however scores lie and at every length at which their kernel changes its way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import LEVELS, csr, cut, float_types, int_types, seeds
from xmleval.kernels import ranking, ties

HEADS = [*range(1, 9), 12, 13, ranking.SHARE * ranking.MOST_PARTS, ranking.SHARE * ranking.MOST_PARTS + 1, 40]
WIDTHS = [0, 1, 5, 15, 16, 18, 19, 20, 31, 32, 33, 37, 55, 58, 63, 64, 65, 80, 81, 127, 128, 129, 300]
SHAPES: dict[str, Any] = {
    "ties": lambda rng, n: rng.choice(LEVELS, n),
    "level": lambda rng, n: np.full(n, 0.25),
    "infinite": lambda rng, n: rng.choice([-math.inf, -math.inf, math.inf], n),
    "none finite": lambda rng, n: np.full(n, -math.inf),
    "distinct": lambda rng, n: rng.random(n),
    "rising": lambda rng, n: np.sort(rng.random(n)),
    "in one lane": lambda rng, n: rng.random(n) + (np.arange(n) % ranking.BOUND_LANES == 3),
    "few above many": lambda rng, n: np.where(rng.random(n) < 0.02, 2.0, rng.choice([0.0, 1.0], n)),
}


@given(
    sizes=st.lists(st.sampled_from(WIDTHS), max_size=4), seed=seeds, kind=st.sampled_from([*SHAPES]),
    depth=st.sampled_from(HEADS), float_type=float_types, int_type=int_types,
)  # fmt: skip
def test_heads_of_rows(
    sizes: list[int], seed: int, kind: str, depth: int, float_type: Any, int_type: Any
) -> None:
    rng = np.random.default_rng(seed)
    ptr, ids = csr([rng.permutation(400)[:size].tolist() for size in sizes], int_type)
    scores = np.concatenate([np.empty(0), *(SHAPES[kind](rng, size) for size in sizes)]).astype(float_type)
    head_ptr = ranking.head_pointer(ptr, depth)
    heads, head_scores = np.empty(head_ptr[-1], int_type), np.empty(head_ptr[-1], float_type)
    tied = np.empty(len(sizes), np.bool_)
    ranking.select_heads(ptr, ids, scores, head_ptr, heads, head_scores, tied)
    rows_of_both = zip(cut(ptr, ids), cut(ptr, scores), strict=True)
    whole = [sorted(zip(*row, strict=True), key=lambda item: -item[1]) for row in rows_of_both]
    want = [row[:depth] for row in whole]
    rest = [[j for j, s in row[depth:] if s == row[depth - 1][1]] for row in whole]
    assert tied.tolist() == [bool(row) for row in rest]
    cut_ptr = np.empty(ptr.size, np.int64)
    ties.count_cut_ties(ptr, scores, head_ptr, head_scores, tied, cut_ptr)
    left = np.empty(cut_ptr[-1], int_type)
    ties.collect_cut_ties(ptr, ids, scores, head_ptr, head_scores, cut_ptr, left)
    assert cut(cut_ptr, left) == rest
    assert cut(head_ptr, heads) == [[j for j, _ in row] for row in want]
    assert cut(head_ptr, head_scores) == [[s for _, s in row] for row in want]
    for row in cut(ptr, scores):
        for share in range(1, min(8, depth) + 1):
            if len(row) < ranking.BOUND_LANES:
                break
            part, best = np.array(row, float_type), np.empty(ranking.BOUND_LANES, float_type)
            bound = ranking.bound_part(part, share, best)
            assert sum(score >= bound for score in part) >= share


@pytest.mark.parametrize("depth", HEADS)
def test_heads_that_need_one_more_than_stands_out(depth: int) -> None:
    for size in WIDTHS[1:]:
        scores = np.zeros(size)
        high = sorted({int((s + 0.5) * size / depth) for s in range(depth - 1)})  # evenly over the row
        scores[high] = 1.0
        ptr, ids, head_ptr = np.array([0, size]), np.arange(size), np.array([0, min(depth, size)])
        heads, head_scores = np.full(head_ptr[1], -9), np.empty(head_ptr[1])
        tied = np.empty(1, np.bool_)
        ranking.select_heads(ptr, ids, scores, head_ptr, heads, head_scores, tied)
        assert tied[0] == (depth < size)
        assert heads.tolist() == [*high, *(j for j in range(size) if j not in high)][:depth]
