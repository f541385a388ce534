"""Kernels of LIMO: steps in time linear in the stored features.

Weights are shrunk and averaged lazily.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel

SMALL = 1e-4  # smaller scales are multiplied out, because sums of iterates would lose digits
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
Stream = NDArray[np.uint64]  # (1,), state of a SplitMix64 generator


class Matrix(NamedTuple):
    """Features as CSR."""

    ptr: Ints
    columns: Ints
    values: Floats


class Members(NamedTuple):
    """Groups of sorted ids, and cumulative sampling weights of groups."""

    ptr: Ints
    ids: Ints
    drawn: Ints


class Iterate(NamedTuple):
    """Weights and the sum of all iterates so far, by label.

    The weights of label j are ``scale[j] * w[j]``. The sum up to step ``counted[j]`` is
    ``total[j] + share[j] * w[j] - late[j]``: ``share`` sums the scales of iterates, and ``late``
    corrects for additions to ``w`` after earlier iterates.

    w, late, total : float64 (l, d); scale, share : float64 (l,); counted : int64 (l,)
    """

    w: Floats
    scale: Floats
    total: Floats
    late: Floats
    share: Floats
    counted: Ints


@kernel
def draw(stream: Stream, n: int) -> Any:
    """Draw an integer in 0..n-1 uniformly from a SplitMix64 stream."""
    stream[0] += GAMMA
    bits = stream[0]
    bits = (bits ^ (bits >> np.uint64(30))) * MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_2
    bits = bits ^ (bits >> np.uint64(31))
    return np.int64((bits >> np.uint64(11)) * 2.0**-53 * n)


@kernel
def draw_group(stream: Stream, members: Members) -> Any:
    """Draw a group by weight."""
    return np.searchsorted(members.drawn, draw(stream, members.drawn[-1]), side="right")


@kernel
def draw_member(stream: Stream, members: Members, group: int) -> Any:
    """Draw an id of a group."""
    start = members.ptr[group]
    return members.ids[start + draw(stream, members.ptr[group + 1] - start)]


@kernel
def draw_other(stream: Stream, members: Members, group: int, n: int) -> Any:
    """Draw an id in 0..n-1 that is not in a group."""
    start = members.ptr[group]
    stop = members.ptr[group + 1]
    rank = draw(stream, n - (stop - start))
    # search the number of group ids below the drawn one
    low = start
    high = stop
    while low < high:
        middle = (low + high) // 2
        if members.ids[middle] - (middle - start) <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low - start


@kernel
def score(x: Matrix, iterate: Iterate, label: int, row: int) -> Any:
    """Return the score of a label for an instance."""
    found = 0.0
    for place in range(x.ptr[row], x.ptr[row + 1]):
        found += iterate.w[label, x.columns[place]] * x.values[place]
    return iterate.scale[label] * found


@kernel
def settle(iterate: Iterate, label: int, step: int) -> None:
    """Add the iterates up to a step to the sum of a label."""
    iterate.share[label] += (step - iterate.counted[label]) * iterate.scale[label]
    iterate.counted[label] = step


@kernel
def multiply_out(iterate: Iterate, label: int) -> None:
    """Multiply out the scale of a label, and its sum of iterates."""
    for column in range(iterate.w.shape[1]):
        weight = iterate.w[label, column]
        iterate.total[label, column] += iterate.share[label] * weight - iterate.late[label, column]
        iterate.late[label, column] = 0.0
        iterate.w[label, column] = iterate.scale[label] * weight
    iterate.scale[label] = 1.0
    iterate.share[label] = 0.0


@kernel
def shrink(iterate: Iterate, label: int, step: int, eta: float) -> None:
    """Multiply the weights of a label by 1 - eta."""
    settle(iterate, label, step)
    iterate.scale[label] *= 1.0 - eta
    if iterate.scale[label] < SMALL:
        multiply_out(iterate, label)


@kernel
def add(x: Matrix, iterate: Iterate, label: int, row: int, amount: float) -> None:
    """Add a multiple of an instance to the weights of a label, after `shrink`."""
    for place in range(x.ptr[row], x.ptr[row + 1]):
        change = amount * x.values[place] / iterate.scale[label]
        iterate.w[label, x.columns[place]] += change
        iterate.late[label, x.columns[place]] += iterate.share[label] * change


@kernel
def step_of_labels(
    x: Matrix,
    relevant: Members,
    iterate: Iterate,
    step: int,
    row: int,
    rate: float,
    eta: float,
    stream: Stream,
) -> None:
    """Increase the margin between a relevant and an irrelevant label of an instance."""
    u = draw_member(stream, relevant, row)
    v = draw_other(stream, relevant, row, iterate.scale.size)
    if score(x, iterate, u, row) - score(x, iterate, v, row) < 1.0:
        shrink(iterate, u, step, eta)
        add(x, iterate, u, row, rate)
        shrink(iterate, v, step, eta)
        add(x, iterate, v, row, -rate)


@kernel
def step_of_rows(
    x: Matrix, iterate: Iterate, step: int, label: int, a: int, b: int, rate: float, eta: float
) -> None:
    """Increase the margin between an instance a with a label and an instance b without it."""
    if score(x, iterate, label, a) - score(x, iterate, label, b) < 1.0:
        shrink(iterate, label, step, eta)
        add(x, iterate, label, a, rate)
        add(x, iterate, label, b, -rate)


@kernel
def take_steps(
    x: Matrix,
    relevant: Members,
    holders: Members,
    by_pair: bool,
    rates: tuple[float, float],
    idle: bool,
    eta: float,
    n_steps: int,
    stream: Stream,
    iterate: Iterate,
) -> None:
    """Take the steps of algorithm 1, and multiply out scales and sums.

    relevant, holders : Members          labels of each instance, instances of each label
    by_pair : bool                       draw an instance and a label of it, not a label by weight
    rates : (float, float)               eta lam1, eta lam2
    idle : bool                          also take half steps of rate 0, which shrink weights
    """
    n_rows = relevant.ptr.size - 1
    n_labels = holders.ptr.size - 1
    for step in range(n_steps):
        if idle or rates[0] > 0.0:
            row = draw_group(stream, relevant)
            if 0 < relevant.ptr[row + 1] - relevant.ptr[row] < n_labels:
                step_of_labels(x, relevant, iterate, step, row, rates[0], eta, stream)
        if idle or rates[1] > 0.0:
            if by_pair:
                a = draw_group(stream, relevant)
                if relevant.ptr[a + 1] == relevant.ptr[a]:
                    continue
                label = draw_member(stream, relevant, a)
                if holders.ptr[label + 1] - holders.ptr[label] == n_rows:
                    continue
            else:
                label = draw_group(stream, holders)
                a = draw_member(stream, holders, label)
            b = draw_other(stream, holders, label, n_rows)
            step_of_rows(x, iterate, step, label, a, b, rates[1], eta)
    for label in range(n_labels):
        settle(iterate, label, n_steps)
        multiply_out(iterate, label)
