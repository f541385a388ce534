"""The oracle of measures of pooled scores: every cell of every row, compared with every other one."""

from __future__ import annotations

import math
import struct

from tests.oracles.metrics import NAN, TIE_WEIGHT, Case, convention, mean

MEASURES = frozenset(
    [(name, average, "") for name in ("auc", "ap") for average in ("micro", "macro", "weighted")]
    + [("peak_f1", average, "") for average in ("micro", "macro")]
)
Cell = tuple[float, bool, bool]  # score, relevant, listed


def cells_of(case: Case) -> list[list[Cell]]:
    """Cells of every label, one for each row; unlisted ones at their score, or below all."""
    fill = convention(case, "unlisted")
    assert case.listed is not None
    below = -math.inf if fill == "below" else float(str(fill))
    columns: list[list[Cell]] = [[] for _ in range(case.n_labels)]
    for relevant, listed in zip(case.truth, case.listed, strict=True):
        scores = {j: s for j, s in listed if s is not None}
        for j, column in enumerate(columns):
            # a stored score in a matrix that is what its absence would say counts as absent
            known = j in scores and not (case.kind == "matrix" and scores[j] == below)
            column.append((scores.get(j, below), j in relevant, known))
    return columns


def auc(cells: list[Cell], ties: str) -> float:
    """#(f+ > f-) + credit #(f+ = f-) over #pairs."""
    good, bad = [s for s, y, _ in cells if y], [s for s, y, _ in cells if not y]
    pairs = [(u > v) + TIE_WEIGHT[ties] * (u == v) for u in good for v in bad]
    return sum(pairs) / len(pairs) if pairs else NAN


def cuts(cells: list[Cell]) -> list[tuple[int, int]]:
    """(relevant cells, all cells) at or above each score that occurs, best first."""
    levels = sorted({s for s, _, _ in cells}, reverse=True)
    return [(sum(y for s, y, _ in cells if s >= t), sum(s >= t for s, _, _ in cells)) for t in levels]


def ap(cells: list[Cell]) -> float:
    """Sum over thresholds of (R_n - R_{n-1}) P_n."""
    n_relevant = sum(y for _, y, _ in cells)
    if n_relevant in (0, len(cells)):
        return NAN
    total, before = 0.0, 0
    for hits, size in cuts(cells):
        total += (hits - before) / n_relevant * hits / size
        before = hits
    return total


def peak_f1(cells: list[Cell]) -> float:
    """Max over thresholds of 2 tp / (predicted + relevant)."""
    n_relevant = sum(y for _, y, _ in cells)
    return max((2 * hits / (size + n_relevant) for hits, size in cuts(cells)), default=0.0)


def leading_bits(score: float, bits: int) -> int:
    """The first bits of what orders float32 numbers: positive ones with sign set, negative ones inverted."""
    pattern: int = struct.unpack(">I", struct.pack(">f", score + 0.0))[0]
    return (pattern ^ 0xFFFFFFFF if pattern >> 31 else pattern | 0x80000000) >> (32 - bits)


def auc_bracket(cells: list[Cell], ties: str, bits: int, below: bool) -> float:
    """As AUC, but cells with the same leading bits count half; unlisted ones are level with each other."""
    good, bad = [c for c in cells if c[1]], [c for c in cells if not c[1]]
    pairs = []
    for s, _, listed in good:
        for t, _, known in bad:
            if not listed and not known:
                pairs.append(TIE_WEIGHT[ties])
            elif below and not (listed and known):
                pairs.append(float(listed))
            else:
                u, v = leading_bits(s, bits), leading_bits(t, bits)
                pairs.append(0.5 if u == v else float(u > v))
    return sum(pairs) / len(pairs) if pairs else NAN


def value(name: str, case: Case, average: str | None, bits: float = 0) -> float:
    """One measure of a case; nan where it is undefined."""

    def of(cells: list[Cell]) -> float:
        if name == "auc" and bits:
            below = convention(case, "unlisted") == "below"
            return auc_bracket(cells, str(convention(case, "auc_ties")), int(bits), below)
        if name == "auc":
            return auc(cells, str(convention(case, "auc_ties")))
        return ap(cells) if name == "ap" else peak_f1(cells)

    columns = cells_of(case)
    if average == "micro":
        return of([cell for column in columns for cell in column])
    if name == "peak_f1" and convention(case, "labels") != "all":
        columns = [column for column in columns if any(y for _, y, _ in column)]
    support = [float(sum(y for _, y, _ in column)) if average == "weighted" else 1.0 for column in columns]
    return mean([of(column) for column in columns], support)
