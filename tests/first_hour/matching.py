"""Rows and labels that do not match by themselves, and what is said of them in Python."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task


def make(folder: Path) -> None:
    """Write nothing: all is in memory."""


FRAME = (
    "import pandas as pd; Y = pd.DataFrame(np.eye(4, dtype=int)); S = np.eye(4) + np.arange(4) / 10; "
    "order = [2, 0, 3, 1]; "
)
NAMES = "A = np.array([['a', 'b'], ['c', 'd']]); "
TRAIN = (
    "import pandas as pd; Y = np.eye(4, dtype=int); S = Y + np.arange(4) / 10; "
    "T = pd.DataFrame(np.tri(9, 4, dtype=int), columns=list('abcd'))[list('dbca')]; "
)
UNNAMED = "y_train: labels were read by position, as y_true has no names of them"
TASKS = [
    Task(TRAIN + "xmleval.evaluate(Y, S, metrics='psp@1', y_train=T)", (f"note: {UNNAMED}",), ("pandas",)),
    Task(TRAIN + "xmleval.evaluate(Y, S, metrics='psp@1', y_train=T.to_numpy()).notes", ("[]",), ("pandas",)),
    Task(
        TRAIN + "xmleval.evaluate(pd.DataFrame(Y, columns=list('abcd')), S, metrics='psp@1', y_train=T)"
        ".notes",
        ("['y_score: labels were read by position, as it has no names of them']",),
        ("pandas",),
    ),
    Task(
        TRAIN + "e = xmleval.Evaluator('psp@1', n_labels=4, y_train=T); e.update(Y, S); e.compute()",
        (f"note: {UNNAMED}",),
        ("pandas",),
    ),
    Task(
        TRAIN + "xmleval.compare({'a': S, 'b': -S}, Y, metrics='psp@1', y_train=T)", (UNNAMED,), ("pandas",)
    ),
    Task(
        "xmleval.evaluate(np.eye(4), np.eye(4), metrics='psp@1', y_train=[['a'], ['b'], ['a']])",
        ("y_train: knows labels by name, and y_true has none; give labels=",),
    ),
    Task(
        TRAIN + "xmleval.propensity_sensitivity({'a': S}, Y, T, metrics='psp@1')",
        (f"warning: {UNNAMED}",),
        ("pandas",),
    ),
    Task(NAMES + "xmleval.p_at_k([['a'], ['d']], A, 1)", ("0.5",)),
    Task(NAMES + "xmleval.evaluate(A, y_pred=A, metrics='f1.micro')", ("2 rows x 4 labels", "1.0000")),
    Task(
        "xmleval.p_at_k(np.eye(2).astype(str), np.eye(2), 1)",
        ("y_true: dtype <U32 does not hold real numbers; .astype(float) makes numbers of it",),
    ),
    Task(
        "xmleval.p_at_k((row for row in [['a'], ['b']]), [['a'], ['b']], 1)",
        ("y_true: a generator is no list; list(...) makes one of it",),
    ),
    Task(
        "xmleval.evaluate([['a']], [['x', 'a']], labels=['a', 'b'], metrics='p@1')",
        (
            "1 row x 2 labels",
            "0.0000",
            "y_score: 1 predicted label is not among labels=, such as 'x'; it counts as wrong",
        ),
    ),
    Task(
        "import pandas as pd; truth = pd.DataFrame([[1, 0], [0, 1]], columns=['a', 'b'])\n"
        "xmleval.evaluate(truth, [['x', 'a'], ['b', 'x']], metrics='p@1')",
        ("0.5000", "y_score: 1 predicted label never occurs in the truth; it counts as wrong"),
        ("pandas",),
    ),
    Task("xmleval.p_at_k('Y.npz', 'model.npz', 1)", ("y_true: a str is no data; xmleval.io reads files",)),
    Task(
        "xmleval.evaluate([['a', 'b']], [['a', 'b']], metrics='r@2', exclude=[['a']], "
        "exclude_from='predictions')['r@2']",
        ("0.5",),
    ),
    Task(
        "e = xmleval.Evaluator('p@1'); e.update(np.eye(4, 5), np.eye(4, 5) + np.arange(5) / 10); e",
        ("<Evaluator: p@1; 4 rows x 5 labels>",),
    ),
    Task(
        FRAME + "xmleval.evaluate(Y[order], S, metrics='p@1')",
        ("1.0000", "note: y_true: columns were brought in the order of their numbers"),
        ("pandas",),
    ),
    Task(
        FRAME + "xmleval.evaluate(Y.set_axis(list('abcd'), axis=1), S, metrics='p@1')",
        ("1.0000", "note: y_score: labels were read by position, as it has no names of them"),
        ("pandas",),
    ),
    Task(
        FRAME + "xmleval.evaluate(Y.iloc[order], S, metrics='p@1')",
        ("y_true: its index has the numbers of the rows in another order", "reset_index(drop=True)"),
        ("pandas",),
    ),
    Task(
        FRAME + "xmleval.evaluate(Y.to_numpy(), S, sample_weight=pd.Series([1., 2., 3., 4.])[order])",
        ("sample_weight: its index has the numbers of the rows in another order, and y_true has no index",),
        ("pandas",),
    ),
    Task(
        "xmleval.p_at_k(np.eye(3), np.eye(3), 1)",
        ("warning: every score is 0 or 1", "give predicted sets as y_pred=", "1.0"),
    ),
    Task(
        "xmleval.p_at_k({'q1': ['a'], 'q2': ['b']}, {'q1': ['a']}, 1)",
        ("warning: y_score: 1 row of the truth has no prediction; it counts as empty", "0.5"),
    ),
]
