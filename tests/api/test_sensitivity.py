"""Propensity-scored measures on a grid of constants."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Running, evaluate, inverse_propensity, propensity_sensitivity

A = [0.0, 0.4, 0.55, 0.8]
B = [0.4, 1.5, 5.0]
NAMES = ["psp@1", "psp@3", "psndcg@3", "psndcg@5", "psdcg@5"]


def made(seed: int, n_rows: int = 60, n_labels: int = 12) -> tuple[Any, Any, Any]:
    """Return truth, scores and training labels.

    Frequent labels score high, and some labels never occur.
    """
    rng = np.random.default_rng(seed)
    share = 0.6 / np.arange(1, n_labels + 1)
    y_train = sp.csr_array((rng.random((200, n_labels)) < share).astype(int))
    y_true = (rng.random((n_rows, n_labels)) < 0.5 * share).astype(int)
    y_true[0] = 0
    y_true[1] = 1
    scores = y_true * rng.random(y_true.shape) + share
    return y_true, np.round(scores, 2), y_train


@pytest.mark.parametrize(("seed", "threads"), [(0, 1), (1, 2)])
def test_propensity_sensitivity_has_the_values_of_evaluate(seed: int, threads: int) -> None:
    y_true, scores, y_train = made(seed)
    models = {"full": scores, "short": sp.csr_array(scores * (scores > 0.2))}
    exclude = sp.csr_array(([1, 1], ([2, 3], [0, 1])), shape=y_true.shape)
    options: dict[str, Any] = {"metrics": NAMES, "exclude": exclude}
    running = Running(block_rows=7)
    grid = propensity_sensitivity(
        y_true, models, y_train, a=A, b=B, threads=threads, running=running, **options
    )
    for name, model in models.items():
        for (i, a), (j, b) in product(enumerate(A), enumerate(B)):
            q = inverse_propensity(y_train, a, b)
            expected = evaluate(y_true, model, inverse_propensity=q, **options)
            values = {metric: grids[name][i, j] for metric, grids in grid.values.items()}
            assert values == pytest.approx(dict(expected), rel=1e-12)


def test_propensity_sensitivity_of_a_truth_without_labels() -> None:
    y_true, scores, y_train = made(0)
    models = {"one": scores, "two": -scores}
    grid = propensity_sensitivity(0 * y_true, models, y_train, metrics=NAMES)
    expected = evaluate(0 * y_true, scores, metrics=NAMES, y_train=y_train)
    assert all(np.isnan(expected[name]) for name in NAMES)
    for grids in grid.values.values():
        assert all(np.isnan(values).all() for values in grids.values())
    undefined = [f"{name:<12}undefined: no row has a relevant label" for name in NAMES]
    assert str(grid).splitlines()[1 : 1 + len(NAMES)] == undefined


def test_propensity_sensitivity_matches_labels_by_name() -> None:
    y_true = [["b"], ["a", "c"]]
    y_train = [["a"], ["a", "b"], ["a"], ["c", "a"]]
    run = [{"a": 0.9, "b": 0.5}, {"c": 0.7, "a": 0.6}]
    grid = propensity_sensitivity(y_true, {"one": run}, y_train, a=[0.5], b=[1.0], metrics="psp@1")
    q = inverse_propensity(y_train, 0.5, 1.0)
    expected = evaluate(y_true, run, metrics="psp@1", inverse_propensity=q)
    assert grid.values["psp@1"]["one"][0, 0] == pytest.approx(expected["psp@1"], rel=1e-12)


def test_propensity_sensitivity_counts_orders_of_models() -> None:
    y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
    y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
    models = {
        "head": np.tile([0.9, 0.5, 0.1], (9, 1)),
        "tail": np.tile([0.1, 0.5, 0.9], (9, 1)),
    }
    grid = propensity_sensitivity(
        y_true, models, y_train, a=[0.0, 0.3, 0.9], b=[0.5, 3], metrics=["psp@1"]
    )
    head, tail = (grid.values["psp@1"][name] for name in ("head", "tail"))
    assert (head > tail)[0].all()
    assert (head < tail)[2].all()
    assert "2 orders of models; head best at " in str(grid)


def test_propensity_sensitivity_names_the_best_of_three_models() -> None:
    y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
    y_true = np.repeat(np.eye(3, dtype=int), [5, 2, 3], axis=0)
    models = {
        "worst": -y_true,
        "head": np.tile([0.9, 0.5, 0.1], (10, 1)),
        "tail": np.tile([0.1, 0.5, 0.9], (10, 1)),
    }
    grid = propensity_sensitivity(
        y_true, models, y_train, a=[0.0, 0.1, 0.9], b=[0.5, 3], metrics="psp@1"
    )
    names = [*models]
    values = np.stack([grid.values["psp@1"][name].ravel() for name in names])
    best = [names[i] for i in values.argmax(axis=0)]
    shares = [f"{name} best at {best.count(name) / len(best):.0%}" for name in ("head", "tail")]
    assert 0 < best.count("tail") < best.count("head")
    assert f"orders of models; {', '.join(shares)}" in [
        line.partition(" ")[2] for line in map(str.strip, str(grid).splitlines())
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": np.eye(3)}, "models: give scores of one or more models by name"),
        ({"a": ["x"]}, "a: 'x' is not a number"),
        ({"b": []}, "b: is empty"),
        ({"metrics": "p@1"}, "metrics: p@1 is not one of psp@k, psdcg@k, psndcg@k"),
        ({"a": [-1]}, "a=-1, b=0.4: the model needs a >= 0"),
        ({"models": {"x": np.eye(4)}}, "y_score of 'x': .*4"),
    ],
)
def test_propensity_sensitivity_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    arguments: Any = {
        "models": {"m": np.eye(3)},
        "y_true": np.eye(3),
        "y_train": np.eye(3),
    }
    with pytest.raises(ValueError, match=message):
        propensity_sensitivity(**{**arguments, **change})


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([0.1, 0.5, 0.9], "2 orders of models; head best at 50%, second best at 50%"),
        ([0.9, 0.5, 0.1], "the same order of models everywhere; head best at 100%"),
        ([0.8, 0.4, 0.2], "the same order of models everywhere; head best at 100%"),
    ],
)
def test_sensitivity_says_in_how_many_orders_models_are(second: Any, expected: str) -> None:
    """Without A, all labels weigh alike, so that both models are equal."""
    y_train = np.repeat(np.eye(3, dtype=int), [9, 3, 1], axis=0)
    models = {"head": np.tile([0.9, 0.5, 0.1], (3, 1)), "second": np.tile(second, (3, 1))}
    grid = propensity_sensitivity(
        np.eye(3), models, y_train, a=[0, 0.6], b=[0.5, 1.5], metrics="psp@1"
    )
    assert str(grid).splitlines()[-1].strip() == expected
    alone = propensity_sensitivity(np.eye(3), {"head": models["head"]}, y_train, metrics="psp@1")
    assert "order" not in str(alone)


@pytest.mark.parametrize(
    ("y_train", "options"),
    [
        ([[0, 1], [0], [0]], {"n_labels": 3}),
        ([["z", "y"], ["z"], ["z"]], {"labels": ["z", "y", "x"]}),
    ],
)
def test_propensity_sensitivity_reads_training_labels_with_the_options_of_the_truth(
    y_train: Any, options: dict[str, Any]
) -> None:
    y_true = np.eye(3)
    scores = np.array([[3, 2, 1], [1, 2, 3], [1, 2, 3]])
    arguments: dict[str, Any] = {"metrics": "psp@1", **options}
    grid = propensity_sensitivity(y_true, {"one": scores}, y_train, a=[0.5], b=[1.0], **arguments)
    q = inverse_propensity([[1, 1, 0], [1, 0, 0], [1, 0, 0]], 0.5, 1.0)
    expected = evaluate(y_true, scores, metrics="psp@1", inverse_propensity=q)["psp@1"]
    assert grid.values["psp@1"]["one"].tolist() == [[pytest.approx(expected, rel=1e-12)]]


def test_propensity_sensitivity_notes_training_labels_that_are_those_of_the_truth() -> None:
    y_true = np.eye(3)
    scores = {"one": y_true + 0.5}
    note = "y_train= has the labels of the truth itself; give the labels of the training rows"
    grid = propensity_sensitivity(y_true, scores, y_true, a=[0.5], b=[1.0], metrics="psp@1")
    assert grid.notes == [note]
    assert str(grid).splitlines()[-1] == f"note: {note}"
    other = propensity_sensitivity(y_true, scores, np.ones((3, 3)), metrics="psp@1")
    assert other.notes == []
