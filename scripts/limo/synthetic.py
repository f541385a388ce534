"""Synthetic data: four labels in the plane that linear scores cannot separate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from scripts.limo.evaluation import evaluate_scores
from scripts.limo.records import Record
from scripts.limo.variants import LEARNERS, VARIANTS, Split, limo_scores
from xmleval.base.arrays import Floats

N_POINTS = 2000
LAM = 100.0
NAME = "synthetic"
QUADRANTS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
# how far each quadrant extends past the axes: in the experiment, and alternatives for comparison
REGIONS = {
    NAME: ((0.5, 0.3), (0.0, 0.5), (0.5, 0.0), (0.0, 0.5)),
    "symmetric": ((0.3, 0.3),) * 4,
    "in turn": ((0.3, 0.1), (0.1, 0.3)) * 2,
    "windmill": ((0.5, 0.0), (0.0, 0.5)) * 2,
}


def draw_points(seed: int, repetition: int) -> Floats:
    """Return points uniform in (-1, 1)^2, shape (2000, 2)."""
    return np.random.default_rng([seed, repetition]).uniform(-1.0, 1.0, (N_POINTS, 2))


def label_points(points: Floats, regions: str = NAME) -> Any:
    """Return the labels of points: four quadrants that extend past the axes, so that they overlap.

    The paper shows its regions in a figure only; these differ. Each region has a corner inside the
    square, so that no linear scores are instance-wise effective. In the experiment regions 1 to 3
    overlap, and no linear scores, with or without an intercept, are label-wise effective. Labels
    are the upper right, upper left, lower left and lower right region.
    """
    reach = zip(QUADRANTS, REGIONS[regions], strict=True)
    inside = [(points * signs > -np.array(past)).all(axis=1) for signs, past in reach]
    return scipy.sparse.csr_array(np.column_stack(inside).astype(np.int64))


def run_synthetic(
    repetitions: int, seed: int, regions: str = NAME, variants: Sequence[str] = VARIANTS
) -> list[Record]:
    """Run LIMO, LIMO-label and LIMO-inst; half of the points are for training, half for testing.

    The key of `REGIONS` is recorded as the name of the data.
    """
    records = []
    for repetition in range(repetitions):
        points = draw_points(seed, repetition)
        labels = label_points(points, regions)
        half = N_POINTS // 2
        x = scipy.sparse.csr_array(points)
        split = Split(x[:half], labels[:half], x[half:], labels[half:], seed + repetition)
        for variant in ("", *variants):
            for method, (lam1, lam2) in LEARNERS.items():
                scores = limo_scores(split, LAM * lam1, LAM * lam2, variant)
                values = evaluate_scores(split.y_train, split.y_test, scores)
                records += [
                    Record(regions, repetition, method, variant, *key, value)
                    for key, value in values.items()
                ]
    return records
