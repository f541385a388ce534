"""Reports in a notebook, and in what keeps the values of experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.examples import Y_TEST
from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write a truth and scores."""
    np.save(folder / "y.npy", Y_TEST)
    np.save(folder / "s.npy", np.random.default_rng(0).random(np.shape(Y_TEST)))


START = "r = xmleval.evaluate(np.load('y.npy'), np.load('s.npy'), k=[1, 3], metrics='p,lrap'.split(','))\n"

TASKS = [
    Task(START + "r['pp@1']", ("KeyError", "did you mean p@1?")),
    Task(START + "r['p@5']", ("KeyError", "it has p@1, p@3")),
    Task(START + "r['p3'] == r['P@3']", ("True",)),
    Task(START + "r.flat()", ("'p_at_1': ", "'lrap': ")),
    Task(START + "r._repr_html_()", ("<table>", "<td>0.", "unlisted=below")),
    Task(START + "r.to_frame()['value']", ("p@3", "lrap"), ("pandas",)),
]
