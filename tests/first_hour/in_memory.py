"""What people hold in memory."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task

GIVEN = "Y = np.eye(4, 5); S = np.eye(4, 5) + np.arange(5) / 10; "
TORCH = GIVEN + "import torch; t = torch.tensor(S, requires_grad=True); "


def make(folder: Path) -> None:
    """Write nothing: all is in memory."""


TASKS = [
    Task(TORCH + "xmleval.evaluate(torch.tensor(Y), t, metrics='p@1')['p@1']", ("1.0",), ("torch",)),
    Task(TORCH + "xmleval.p_at_k(Y, t.bfloat16(), 1)", ("1.0",), ("torch",)),
    Task(TORCH + "xmleval.p_at_k(Y, torch.topk(t, 2), 1)", ("1.0",), ("torch",)),
    Task(TORCH + "xmleval.p_at_k(torch.tensor(Y).to_sparse_csr(), t, 1)", ("1.0",), ("torch",)),
    Task(
        GIVEN + "I = np.argsort(-S)[:, :2]; D = np.sort(-S)[:, :2]; xmleval.p_at_k(Y, (-D, I), 1)", ("1.0",)
    ),
    Task(GIVEN + "xmleval.p_at_k(Y, 1 - S, 1, larger=False)", ("1.0",)),
    Task(
        GIVEN + "xmleval.evaluate(Y, 1 - S, metrics='p@1,f1.micro'.split(','), larger=False, "
        "decision='threshold0.3')",
        ("larger=False", "decision=threshold0.3"),
    ),
    Task(
        GIVEN + "I = np.argsort(-S)[:, :2]; xmleval.p_at_k(Y, (I, np.array([[2, 1]] * 4)), 1)",
        ("y_score: two arrays of integers", "floating-point"),
    ),
    Task(
        GIVEN + "xmleval.p_at_k(Y, {'indices': np.argsort(-S), 'scores': -np.sort(-S)}, 1)",
        ("1.0",),
    ),
]
