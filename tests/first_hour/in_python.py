"""Frames with columns of their own names, and what else is typed in Python."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task

FRAME = (
    "import pandas as pd; df = pd.DataFrame({'q_id': [1, 1, 2], 'doc_id': ['a', 'b', 'c'], 'rel': [1, 0, 1], "
    "'bm25': [8.5, 9.0, 4.0]}); "
)
DATA = "Y = np.eye(4, 5); S = np.eye(4, 5) + np.arange(5) / 10; T = np.eye(9, 5); "


def make(folder: Path) -> None:
    """Write nothing: all is in memory."""


TASKS = [
    Task(
        FRAME
        + "Y, S = [xmleval.from_df(df, instance='q_id', label='doc_id', score=s) for s in ('rel', 'bm25')]; "
        "xmleval.evaluate(Y, S, metrics='p@1')",
        ("2 rows x 3 labels", "0.5000"),
        ("pandas",),
    ),
    Task(
        FRAME + "xmleval.from_df(df, instance='q_id', label='docid')",
        ("label: no column 'docid'; the columns are 'q_id', 'doc_id', 'rel', 'bm25'",),
        ("pandas",),
    ),
    Task(FRAME + "xmleval.evaluate(df, df, metrics='p@1')", ("xmleval.from_df",), ("pandas",)),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='psp@1', y_train=T, dataset='LF-AmazonTitles-131K')",
        ("a=0.6 b=2.6 n=9 dataset=LF-AmazonTitles-131K source=DeepXML",),
    ),
    Task(
        DATA + "xmleval.evaluate(Y, S, metrics='psp@1', dataset='amazon')",
        ("dataset: needs the training labels, y_train=",),
    ),
    Task(
        DATA + "q = xmleval.inverse_propensity(T); "
        "xmleval.Evaluator('psp@1', n_labels=5, inverse_propensity=q, dataset='amazon')",
        ("dataset: given together with inverse_propensity=; choose one",),
    ),
    Task(DATA + "xmleval.evaluate(Y, S, metrics='psp@1')", ("psp@1 needs y_train= or inverse_propensity=",)),
    Task(
        "repr(xmleval.evaluate([[1]], [[0.5]], metrics='p@1'))",
        ("<Report: 1 value, 1 row x 1 label>",),
    ),
    Task("xmleval.p_at_k([[1, 0], [0, 1]], [[0.5, 0.1]], 1)", ("1 row does not match the 2 of y_true",)),
    Task(
        "e = xmleval.Evaluator('p@1', n_labels=2); e.update(np.eye(2), np.eye(2)); e.merge(e)",
        ("merge: 2 rows that both hold are counted already; count each row once",),
    ),
    Task(
        "xmleval.evaluate(np.eye(2), np.eye(2), metrics='p@1', exclude=np.array([[0, 1], [1, 1]]))",
        ("exclude: 0 and 1 of shape (2, 2) can be pairs or a matrix; give pairs as a list of tuples",),
    ),
    Task(
        "Y = [['a'], ['b'], ['a']]; S = [{'a': 0.9, 'b': 0.1}, {'a': 0.2, 'b': 0.7}, {'a': 0.6, 'b': 0.5}]; "
        "rule = xmleval.thresholds.fit(Y, S, 'f1.macro', rule='label'); "
        "xmleval.evaluate(np.eye(2), np.eye(2), metrics='f1.macro', decision=rule)",
        ("decision: knows labels by name, and y_true has none; give labels=",),
    ),
]
