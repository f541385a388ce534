"""What people hold in memory."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task

GIVEN = "Y = np.eye(4, 5); S = np.eye(4, 5) + np.arange(5) / 10; "
TORCH = GIVEN + "import torch; t = torch.tensor(S, requires_grad=True); "
PANDAS = (
    "import pandas as pd; Y = pd.DataFrame(np.eye(3, dtype=int), index=list('xyz'), columns=list('abc')); "
    "S = pd.DataFrame(np.eye(3), index=list('xyz'), columns=list('abc')); "
)


def make(folder: Path) -> None:
    """Write nothing: all is in memory."""


TASKS = [
    Task(GIVEN + "xmleval.p_at_k(Y, 1 - S, 1, higher_is_better=False)", ("1.0",)),
    Task(
        GIVEN + "xmleval.evaluate(Y, 1 - S, metrics='p@1,f1.micro'.split(','), higher_is_better=False, "
        "decision='threshold0.3')",
        ("higher_is_better=False", "decision=threshold0.3"),
    ),
    Task(
        GIVEN + "I = np.argsort(-S)[:, :2]; xmleval.p_at_k(Y, (I, np.array([[2, 1]] * 4)), 1)",
        ("y_score: two arrays of integers", "floating-point"),
    ),
    Task(PANDAS + "xmleval.p_at_k(Y, S.iloc[::-1, ::-1], 1)", ("1.0",), ("pandas",)),
    Task(
        GIVEN + "import pandas as pd; xmleval.evaluate(Y, pd.DataFrame(S)[[4, 3, 2, 1, 0]], metrics='p@1')",
        ("1.0000", "y_score: columns were brought in the order of their numbers"),
        ("pandas",),
    ),
    Task(
        GIVEN
        + "import pandas as pd; xmleval.evaluate(Y, pd.DataFrame(S, columns=list('abcde')), metrics='p@1')",
        ("1.0000", "y_score: labels were read by position, as y_true has no names of them"),
        ("pandas",),
    ),
    Task(PANDAS + "xmleval.p_at_k(Y, S.drop(columns='b'), 1)", ("no column for label 'b'",), ("pandas",)),
    Task(
        "import pandas as pd; df = pd.DataFrame({'id': [1, 2], 'tags': [['a', 'b'], ['c']]}); "
        "xmleval.p_at_k(df['tags'], [['a'], ['c']], 1)",
        ("1.0",),
        ("pandas",),
    ),
    Task(
        "xmleval.p_at_k(['a, b', 'c'], ['a', 'c'], 1)", ("y_true: row 0: 'a, b' is text", "split it at ','")
    ),
    Task(
        "xmleval.evaluate({'q1': {'d1': 1}, 'q2': {'d2': 1}}, {'q2': {'d2': 0.5}, 'q3': {'d1': 1.0}}, "
        "metrics='p@1')",
        (
            "2 rows x 2 labels",
            "1 row of the truth has no prediction; it counts as empty",
            "1 row is not in the truth; it is ignored",
        ),
    ),
    Task(
        "xmleval.evaluate([['a'], ['b']], [[{'label': 'a', 'score': 0.9}], [{'label': 'b', 'score': 0.8}]], "
        "metrics='p@1')['p@1']",
        ("1.0",),
    ),
    Task(
        "q = xmleval.inverse_propensity([['b'], ['a'], ['a', 'c'], ['b']]); "
        "xmleval.evaluate([['a'], ['b']], [['a'], ['a']], metrics='psp@1', inverse_propensity=q)",
        ("PSP ↑    0.5000", "propensity=(a=0.55 b=1.5 n=4)"),
    ),
    Task(
        "xmleval.evaluate({'q': {'a': 1, 'b': 1}}, {'q': {'a': 0.9, 'b': 0.8}}, metrics='p@2', "
        "exclude=[('q', 'a')])['p@2']",
        ("0.5",),
    ),
    Task(
        GIVEN + "xmleval.evaluate(Y, S, metrics='p@1', exclude=[(0, 0), (9, 1)])",
        ("exclude: pair 1: row 9 is not in 0..3",),
    ),
    Task(
        GIVEN + "xmleval.evaluate(Y, S, metrics='p@1', candidates=np.eye(4, 5)[:, ::-1])",
        ("candidates: hold 1 of 4 relevant labels", "at most P@1 0.2500"),
    ),
    Task("xmleval.p_at_k([['a'], ['b']], np.eye(2), 1)", ("give labels=, the name of each column",)),
    Task("xmleval.evaluate([['a'], ['b']], np.eye(2), labels=['a', 'b'], metrics='p@1')['p@1']", ("1.0",)),
    Task("xmleval.p_at_k([[0, 2], [1]], np.eye(3)[:2], 1)", ("1.0",)),
    Task("xmleval.p_at_k(np.eye(3) / 2, np.eye(3), 1)", ("value 0.5", "truth and the scores swapped?")),
    Task("xmleval.p_at_k(np.eye(3), np.array([[0, 2]] * 3), 1)", ("label ids are given as a pair",)),
    Task(
        "xmleval.evaluate(np.eye(3), np.eye(3), metrics='psp@1', inverse_propensity=[0.5, 0.1, 0.9])",
        ("look like propensities, not their inverses, which are 1 / p",),
    ),
    *[
        Task(
            f"{GIVEN}I = np.argsort(-S)[:, :2]; D = -np.sort(-S)[:, :2]; xmleval.p_at_k({swapped}, Y, 1)",
            ("y_true: ", "looks like a top-k list (labels, scores)", "are the truth and the scores swapped?"),
        )
        for swapped in ("(I, D)", "[I, D]", "np.array([I, D])", "{'indices': I, 'scores': D}")
    ],
    Task(
        f"{GIVEN}I = np.argsort(-S)[:, :2]; xmleval.evaluate(Y, y_pred=(I, S), metrics='f1.micro')",
        ("y_pred: it looks like a top-k list (labels, scores), and predictions with scores go to y_score",),
    ),
    Task(
        f"{GIVEN}I = np.argsort(-S)[:, :2]; D = -np.sort(-S)[:, :2]; xmleval.p_at_k(Y.T, (I % 4, D)[:4], 1)",
        ("y_score: 4 rows do not match the 5 of y_true; y_true looks transposed", "give y_true.T"),
    ),
    Task(
        f"{GIVEN}I = np.argsort(-S)[:, :2]; xmleval.evaluate(Y, (I.T, None), metrics='p@1', candidates=I)",
        ("y_score: 2 rows do not match the 4 of y_true",),
    ),
    Task(
        f"{GIVEN}e = xmleval.Evaluator('p@1', label_groups=[*'aabbb']); e.update(Y, S); "
        "e.compute().groups['b'].n_labels",
        ("3",),
    ),
    Task(
        f"{GIVEN}I = np.argsort(-S)[:, :2]; xmleval.p_at_k(Y, (I.T, None), 1)",
        ("y_score: 2 rows do not match the 4 of y_true; the list looks transposed", "give the .T of its"),
    ),
    Task(
        f"{GIVEN}xmleval.evaluate(Y, S, metrics='psp@1', y_train=Y.T)",
        ("y_train: shape (5, 4) has 4 labels; 5 were expected; it looks transposed", "give its .T"),
    ),
    Task(
        f"{GIVEN}import pandas as pd; xmleval.evaluate(Y, S, metrics='psp@1', y_train=pd.DataFrame(Y.T))",
        ("y_train: 4 labels; 5 were expected; it looks transposed", "give its .T"),
        ("pandas",),
    ),
    Task("xmleval.p_at_k(np.eye(2, 3), np.ones((3, 2)), 1)", ("transpose", "y_score.T")),
    Task(TORCH + "xmleval.p_at_k(Y, list(torch.topk(t, 2)), 1)", ("1.0",), ("torch",)),
    Task(
        "xmleval.p_at_k([['a'], ['b']], ([['a', 'c'], ['b']], [[0.9, 0.1], [0.5]]), 1)",
        ("y_score: a pair needs rows of one length", "(label, score)"),
    ),
    Task("xmleval.p_at_k([[0, 2], [1]], [[0, 1], [1]], 1)", ("lists of label ids need n_labels=",)),
    Task(
        "xmleval.Evaluator(['p@1']).update([[0], [2]], np.eye(2, 3))",
        ("n_labels: give the number of labels, or labels=",),
    ),
]
