"""Evaluation from within the libraries that train models."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Nothing is needed."""


SKLEARN = """
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from xmleval.integrations.sklearn import make_scorer
X, Y = make_multilabel_classification(60, n_classes=6, random_state=0)
forest = RandomForestClassifier(3, random_state=0)
"""
TRAINER = """
import torch
from types import SimpleNamespace as EvalPrediction
from xmleval.integrations.transformers import TrainerMetrics
metrics = TrainerMetrics(["p@1", "p@3"], n_labels=100)
logits, labels = torch.rand(8, 100), torch.eye(8, 100)
"""
LIGHTNING = """
import torch
from xmleval.integrations.torchmetrics import EvaluatorMetric
p1 = EvaluatorMetric("p@1", n_labels=4)
"""
TASKS = [
    Task(
        f"{SKLEARN}cross_validate(forest, X, Y, scoring=make_scorer('p@3'), cv=2)",
        ("test_score",),
        ("sklearn",),
    ),
    Task(
        f"{SKLEARN}scorer = make_scorer('hamming_loss')\n"
        "GridSearchCV(forest, {'n_estimators': [1, 5]}, scoring=scorer, cv=2).fit(X, Y).best_params_",
        ("'n_estimators': 5",),
        ("sklearn",),
    ),
    Task(f"{SKLEARN}make_scorer('p5')(forest.fit(X, Y), X, Y) > 0", ("True",), ("sklearn",)),
    Task(
        f"{SKLEARN}from sklearn.tree import DecisionTreeClassifier\n"
        "cross_validate(DecisionTreeClassifier(), X, Y, scoring=make_scorer('p@3'), cv=2)",
        ("warning: every score is 0 or 1", "test_score"),
        ("sklearn",),
    ),
    Task(f"{SKLEARN}make_scorer('f1')", ("needs an average",), ("sklearn",)),
    Task(
        f"{TRAINER}[tuple(one.shape) for one in metrics.preprocess_logits_for_metrics(logits)]",
        ("[(8, 3), (8, 3)]",),
        ("torch",),
    ),
    Task(
        f"{TRAINER}kept = metrics.preprocess_logits_for_metrics(logits)\n"
        "metrics.compute_metrics(EvalPrediction(predictions=kept, label_ids=labels))",
        ("'p_at_1'", "'p_at_3'"),
        ("torch",),
    ),
    Task(f"{TRAINER}metrics.preprocess_logits_for_metrics(logits[:, 1:])", ("n_labels=100",), ("torch",)),
    Task(f"{LIGHTNING}p1(torch.eye(4), torch.eye(4))", ("tensor(1.",), ("torchmetrics",)),
]
