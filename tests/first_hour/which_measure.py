"""Measures at k of labels, of what is predicted, and of other libraries, by their names."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task
from xmleval.demo import make_demo, save_demo

DATA = "Y = np.eye(4, 5); S = np.eye(4, 5) + np.arange(5) / 10; T = np.vstack([np.eye(5)] * 3); "
EVALUATE = "xmleval evaluate demo/Y_test.npz demo/model_head_indices.npy --metrics "


def make(folder: Path) -> None:
    """Write the demo's files."""
    save_demo(make_demo(), folder / "demo")


TASKS = [
    Task(DATA + "xmleval.evaluate(Y, S, metrics='gmean.macro@2')", ("G-mean macro",)),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='micro_recall_at_r')", ("R-Prec micro ↑",)),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='hmean@2')", ("needs an average", "hmean.macro")),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='gini')", ("gini needs y_pred= or decision=",)),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='popularity@2')", ("popularity@2 needs y_train=",)),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='predicted', y_train=T, k=2)",
        ("Gini index ↓", "Popularity ↓", "3.0000", "y_train=(15 rows)"),
    ),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='popularity@2', inverse_propensity=np.ones(5))",
        ("popularity@2 needs y_train=",),
    ),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='tail_share(count=0.5)@2', y_train=T)",
        ("count=0.5 is not an integer in 1..",),
    ),
    Task(
        EVALUATE + "tail_share@5,popularity@5 --train demo/Y_train.npz --confidence 0.95",
        ("Tail share (1-10) ↑", "104.571 ±", "y_train=(2000 rows)", "code 0"),
    ),
    Task(EVALUATE + "popularity@5", ("popularity@5 needs --train", "code 2")),
    Task("xmleval metrics predicted", ("gini[@k]", "needs sets, training", "code 0")),
    Task("xmleval metrics micro_recall_at_r", ("rprec.micro", "code 0")),
]
TASKS += [
    Task(
        DATA + "xmleval.evaluate(Y, S / 2, metrics=['log_loss.samples', 'ap.geometric'])",
        ("Log loss samples ↓",),
    ),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='limited_log_loss(limit=5)')",
        ("is outside 0..1; limited_log_loss(limit=5) needs probabilities",),
    ),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='hmean.samples@2', conventions='meka')", ("H-mean samples",)),
]
