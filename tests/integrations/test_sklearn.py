"""Scorers of scikit-learn, and the lists of arrays that its estimators return."""

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import calibrate, compare, evaluate, fuse, inverse_propensity, p_at_k, thresholds
from xmleval.integrations.sklearn import make_scorer

pytest.importorskip(
    "sklearn", reason="scikit-learn is not installed: pip install 'xmleval[sklearn]'"
)

from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

X, Y = make_multilabel_classification(90, 8, n_classes=6, random_state=0)
TRAIN = slice(0, 60)
TEST = slice(60, 90)
LINEAR = OneVsRestClassifier(LogisticRegression())
MODELS = {
    "decision_function": LINEAR,
    "pipeline": make_pipeline(StandardScaler(), LINEAR),
    "predict_proba": RandomForestClassifier(5, random_state=0),  # a list of arrays
}
SIGNS_OF_RANKINGS = {"p@3": 1, "lrap": 1, "ranking_loss": -1, "coverage": -1, "auc.micro": 1}
SIGNS_OF_SETS = {"f1.macro": 1, "subset_accuracy": 1, "hamming_loss": -1}


def scores_of(name: str, model: Any) -> Any:
    if name in ("decision_function", "pipeline"):
        return model.decision_function(X[TEST])
    return np.stack([columns[:, 1] for columns in model.predict_proba(X[TEST])], axis=1)


@pytest.mark.parametrize("name", MODELS)
def test_scorer_takes_scores_and_sets_of_the_estimator(name: str) -> None:
    model = MODELS[name].fit(X[TRAIN], Y[TRAIN])
    scores = {"y_score": scores_of(name, model)}
    sets = {"y_pred": model.predict(X[TEST])}
    for predictions, signs in ((scores, SIGNS_OF_RANKINGS), (sets, SIGNS_OF_SETS)):
        for metric, sign in signs.items():
            expected = sign * evaluate(Y[TEST], **predictions, metrics=[metric])[metric]
            scorer = make_scorer(metric)
            assert scorer(model, X[TEST], Y[TEST]) == expected
            assert scorer(model, X[TEST], sp.csr_array(Y[TEST])) == expected


def test_scorer_takes_sets_without_scores() -> None:
    model: Any = type("Sets", (), {"predict": lambda self, rows: Y[TEST]})()
    assert make_scorer("f1.micro")(model, X[TEST], Y[TEST]) == 1.0
    message = r"^estimator: Sets has neither decision_function nor predict_proba"
    with pytest.raises(ValueError, match=message):
        make_scorer("p@1")(model, X[TEST], Y[TEST])


def test_scorer_gives_labels_without_training_rows_score_0() -> None:
    y = Y.copy()
    y[TRAIN, 0] = 0
    y[TRAIN, 1] = 1
    model = RandomForestClassifier(5, random_state=0).fit(X[TRAIN], y[TRAIN])
    proba = model.predict_proba(X[TEST])
    assert [array.shape[1] for array in proba[:3]] == [1, 1, 2]
    columns = [array[:, 1] for array in proba[2:]]
    dense = np.stack([np.zeros(30), np.ones(30), *columns], axis=1)
    expected = evaluate(y[TEST], dense, metrics="lrap")["lrap"]
    assert make_scorer("lrap")(model, X[TEST], y[TEST]) == expected
    model.fit(X[TRAIN], 2 * y[TRAIN])
    message = r"^estimator: label 1 has classes \[.*2.*\]; expected 0 and 1"
    with pytest.raises(ValueError, match=message):
        make_scorer("lrap")(model, X[TEST], y[TEST])


TAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "evaluate": lambda y, scores: dict(evaluate(y, scores, metrics=["p@1", "auc.micro"])),
    "compare": lambda y, scores: dict(
        compare(y, {"a": scores, "b": scores}, metrics=["p@1"]).reports["a"]
    ),
    "thresholds.fit": lambda y, scores: thresholds.fit(y, scores, "f1.micro").decision,
    "calibrate.fit": lambda y, scores: calibrate.fit(y, scores, "platt").apply(scores).tolist(),
    "fuse": lambda y, scores: fuse([scores, scores], "mean").toarray().tolist(),
}


@pytest.mark.filterwarnings("ignore:y_score. read as a list from predict_proba")
@pytest.mark.parametrize("n_labels", [1, 2, 6])
@pytest.mark.parametrize("taker", TAKERS)
def test_functions_take_lists_of_predict_proba_as_scores_of_class_1(
    taker: str, n_labels: int
) -> None:
    model = MODELS["predict_proba"].fit(X[TRAIN], Y[TRAIN])
    arrays = model.predict_proba(X[TEST])[:n_labels]
    y = Y[TEST][:, :n_labels]
    dense = np.stack([array[:, 1] for array in arrays], axis=1)
    before = [array.copy() for array in arrays]
    assert TAKERS[taker](y, arrays) == TAKERS[taker](y, dense)
    assert all(map(np.array_equal, arrays, before))
    with pytest.warns(UserWarning, match=r"y_score. read as a list from predict_proba"):
        p_at_k(y, arrays, k=1)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 2), (3, 1)], "y_score: predict_proba's array of label 1 has one class"),
        ([(3, 4), (3, 4)], "y_score: a list of 2 arrays, the first of shape (3, 4); join batches"),
    ],
)
def test_evaluate_refuses_other_lists_of_arrays(
    shapes: list[tuple[int, int]], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(np.eye(3, 2), [np.zeros(shape) for shape in shapes], metrics="p@1")


def test_cross_validate_takes_scorers_of_one_and_of_several_measures() -> None:
    names = ["p@3", "ranking_loss", "f1.macro"]
    together = cross_validate(LINEAR, X, Y, scoring=make_scorer(names), cv=2)
    scorers = {name: make_scorer(name) for name in names}
    separate = cross_validate(LINEAR, X, Y, scoring=scorers, cv=2)
    keys = {
        "test_p@3": "test_p@3",
        "test_neg_ranking_loss": "test_ranking_loss",
        "test_f1.macro": "test_f1.macro",
    }
    assert {key for key in together if key.startswith("test_")} == keys.keys()
    assert (together["test_neg_ranking_loss"] <= 0).all()
    for key, key_of_separate in keys.items():
        np.testing.assert_array_equal(together[key], separate[key_of_separate])


def test_scorer_of_a_measure_without_cutoff_takes_those_of_k() -> None:
    model = LINEAR.fit(X[TRAIN], Y[TRAIN])
    values = evaluate(Y[TEST], model.decision_function(X[TEST]), metrics="p", k=[1, 2])
    value = make_scorer("p", k=2)(model, X[TEST], Y[TEST])
    assert isinstance(value, float)
    assert value == values["p@2"]
    assert make_scorer("p", k=[1, 2])(model, X[TEST], Y[TEST]) == dict(values)


def test_scorer_warns_of_notes_once() -> None:
    model = DecisionTreeClassifier(random_state=0)  # whose scores are all 0 or 1
    with pytest.warns(UserWarning, match="every score is 0 or 1") as caught:
        cross_validate(model, X, Y, scoring=make_scorer("p@3"), cv=3)
    assert len(caught) == 1


def test_scorer_warns_of_a_note_once_though_other_scores_have_none() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    others = LogisticRegression().fit(X, Y[:, 0])
    scorer = make_scorer("p@3", response_method="predict_proba")
    estimators = [model, OneVsRestClassifier(others).fit(X, Y), model]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for estimator in estimators:
            scorer(estimator, X, Y)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("metric", "options", "method"),
    [
        ("f1.micro", {"decision": "top2"}, "decision_function"),
        ("f1.micro", {"decision": "threshold0.3"}, "predict_proba"),
        ("psp@3", {"inverse_propensity": inverse_propensity(Y[TRAIN])}, "decision_function"),
    ],
)
def test_scorer_takes_options_of_evaluate(
    metric: str, options: dict[str, Any], method: Any
) -> None:
    model = LINEAR.fit(X[TRAIN], Y[TRAIN])
    weights = np.arange(30) % 3
    options = {"metrics": metric, **options}
    scores = getattr(model, method)(X[TEST])
    scorer = make_scorer(**options, response_method=method)
    expected = evaluate(Y[TEST], scores, **options)[metric]
    assert scorer(model, X[TEST], Y[TEST]) == expected
    expected = evaluate(Y[TEST], scores, sample_weight=weights, **options)[metric]
    assert scorer(model, X[TEST], Y[TEST], sample_weight=weights) == expected


def test_scorer_takes_frames_by_position() -> None:
    pandas = pytest.importorskip("pandas")
    model = LINEAR.fit(X[TRAIN], Y[TRAIN])
    names = [f"tag{j}" for j in range(6)]
    frame = pandas.DataFrame(Y[TEST], columns=names, index=range(100, 130))
    scorer = make_scorer("p@3")
    assert scorer(model, X[TEST], frame) == scorer(model, X[TEST], Y[TEST])


def test_make_scorer_refuses_by_argument_and_scorers_can_be_pickled() -> None:
    for metric, decision, message in (
        ("pp@3", None, "did you mean"),
        ("label_density", None, "metrics: no value of label_density is better than another"),
        ("f1.micro", "threshold0.5", "response_method: a threshold needs the method"),
    ):
        with pytest.raises(ValueError, match=message):
            make_scorer(metric, decision=decision)
    scorer = pickle.loads(pickle.dumps(make_scorer(["p", "lrap"], k=3)))
    assert repr(scorer) == "make_scorer(['p', 'lrap'])"
    assert scorer(LINEAR.fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST]).keys() == {"p@3", "lrap"}


def test_scorer_of_the_best_labels_needs_no_name_of_a_method() -> None:
    model = LINEAR.fit(X[TRAIN], Y[TRAIN])
    options: dict[str, Any] = {"metrics": "f1.micro", "decision": "top2"}
    expected = evaluate(Y[TEST], model.decision_function(X[TEST]), **options)["f1.micro"]
    assert make_scorer(**options)(model, X[TEST], Y[TEST]) == expected


def test_scorer_takes_names_that_can_be_read_once_and_weights_as_a_series() -> None:
    pandas = pytest.importorskip("pandas")
    model = LINEAR.fit(X[TRAIN], Y[TRAIN])
    weights = np.arange(30) % 3
    scorer = make_scorer(iter(["p@3", "lrap"]))
    expected = evaluate(
        Y[TEST], model.decision_function(X[TEST]), metrics=["p@3", "lrap"], sample_weight=weights
    )
    for _ in range(2):
        series = pandas.Series(weights, index=range(100, 130))
        assert scorer(model, X[TEST], Y[TEST], sample_weight=series) == dict(expected)
