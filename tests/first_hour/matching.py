"""Rows and labels that do not match by themselves, and what is said of them in Python."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write nothing: all is in memory."""


TASKS = [
    Task(
        "xmleval.p_at_k(np.eye(3), np.eye(3), 1)",
        ("warning: every score is 0 or 1", "give predicted sets as y_pred=", "1.0"),
    ),
    Task(
        "xmleval.p_at_k({'q1': ['a'], 'q2': ['b']}, {'q1': ['a']}, 1)",
        ("warning: y_score: rows of y_true that have no prediction and count as empty: 1", "0.5"),
    ),
]
