"""Propensity-scored measures under several constants, and constants that are fitted."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Need no files."""


MADE = (
    "E = np.eye(3, dtype=int); T, Y = (np.repeat(E, n, axis=0) for n in ([90, 9, 1], [5, 1, 3])); "
    "H = np.tile([.9, .5, .1], (9, 1)); M = {'head': H, 'tail': H[:, ::-1]}; "
)
OVER = "xmleval.propensity_sensitivity(M, Y, T"
FIT = (
    "T = np.repeat(np.eye(3, dtype=int), [60, 20, 2], axis=0); F = np.ones((20, 3)); "
    "O = (np.arange(20)[:, None] < [17, 13, 6]).astype(int); "
)
TASKS = [
    Task(
        f"{MADE}{OVER}, a=[0, .9], b=[.5, 3], metrics='psp@1')",
        (
            "A 0 to 0.9, B 0.5 to 3: 2 x 2 propensity models",
            "2 orders of models; head best at 50%, tail best at",
        ),
    ),
    Task(f"{MADE}{OVER}).values['psp@5']['head'].shape", ("(7, 5)",)),
    Task(f"{MADE}{OVER}, metrics='ndcg@5')", ("metrics: ndcg@5 is none of psp@k, psdcg@k, psndcg@k",)),
    Task(f"{MADE}xmleval.propensity_sensitivity(H, Y, T)", ("give scores by name, as in {'model': scores}",)),
    Task(
        f"{MADE}{OVER}, metrics='psp').n_orders('psndcg@5')", ("psndcg@5 was not computed; there are psp@1,",)
    ),
    Task(
        f"{FIT}xmleval.fit_propensity(O, F, T)",
        ("A 0.9618 ±0.7882, B 2.0299", "36 of 60 relevant entries observed", "standard errors"),
    ),
    Task(f"{FIT}xmleval.fit_propensity(F, F, T)", ("y_observed: 60 of 60 relevant entries were observed",)),
]
