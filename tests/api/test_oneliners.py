"""One-liners are `evaluate` with one name."""

import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.examples import H, Q, S, T
from xmleval import evaluate

LISTED = np.array(
    [
        [0, 1, -1],
        [3, 2, 1],
        [-1, -1, -1],
    ]
)
SETS = ("hamming_loss", "subset_accuracy", "f1.micro", "f1.macro", "f1.samples")
RANKINGS = (
    "one_error",
    "coverage",
    "ranking_loss",
    "lrap",
    "auc.samples",
    "auc.micro",
    "auc.macro",
)
AT_K = ("p", "r", "ndcg", "hit", "mrr", "psp", "psndcg")
ONE_LINERS = {name.replace(".", "_"): name for name in (*SETS, *RANKINGS)}
ONE_LINERS |= {f"{name}_at_k": name for name in AT_K}
ALIASES = {
    "precision_at_k": "p_at_k",
    "recall_at_k": "r_at_k",
    "hit_rate_at_k": "hit_at_k",
    "mean_reciprocal_rank_at_k": "mrr_at_k",
    "label_ranking_average_precision": "lrap",
    "instance_auc": "auc_samples",
    "micro_auc": "auc_micro",
    "macro_auc": "auc_macro",
    "instance_f1": "f1_samples",
    "micro_f1": "f1_micro",
    "macro_f1": "f1_macro",
}


def test_one_liners_are_all_tested_here() -> None:
    functions = {name: getattr(xmleval, name) for name in xmleval.__all__}
    home = xmleval.p_at_k.__module__
    one_liners = set()
    for name, function in functions.items():
        if getattr(function, "__module__", None) == home:
            one_liners.add(name)
    assert one_liners == ONE_LINERS.keys() | ALIASES
    assert all(functions[alias] is functions[name] for alias, name in ALIASES.items())


@pytest.mark.filterwarnings("ignore:lists have at most")
@pytest.mark.parametrize("name", ONE_LINERS)
def test_one_liner_is_evaluate_with_one_name(name: str) -> None:
    function = getattr(xmleval, name)
    measure = ONE_LINERS[name]
    options: dict[str, Any] = {}
    if name.startswith("ps"):
        options["inverse_propensity"] = Q
    argument = "y_pred" if measure in SETS else "y_score"
    forms: list[Any] = [S, sp.csr_array(S), S.tolist()]
    if measure in SETS:
        forms = [H, sp.csr_matrix(H), H.astype(bool), H.tolist()]
    elif measure not in ("auc.micro", "auc.macro"):
        forms.append((LISTED, None))
    cutoffs: dict[str, dict[str, int]] = {measure: {}}
    if measure in AT_K:
        cutoffs = {f"{measure}@{k}": {"k": k} for k in (1, 2, 5, 9)}
    for form in forms:
        for spec, cutoff in cutoffs.items():
            actual = function(T, form, **options, **cutoff)
            assert type(actual) is float
            arguments = {**options, argument: form}
            assert actual == evaluate(T, metrics=[spec], **arguments)[spec]
    if measure in AT_K:
        assert function(T, S, **options) == function(T, S, np.int64(5), **options)
        for bad in (0, 1.5, True):
            message = rf"^k: {re.escape(repr(bad))} is not a positive integer$"
            with pytest.raises(ValueError, match=message):
                function(T, S, k=bad, **options)


@pytest.mark.parametrize("name", [*ONE_LINERS, *ALIASES])
def test_help_of_one_liner_shows_parameters_and_a_signature(name: str) -> None:
    function = getattr(xmleval, name)
    text = pydoc.plain(pydoc.render_doc(function))
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^    {parameter} : \w", text, re.MULTILINE), parameter
    for section in ("Parameters", "Returns", "Raises", "Warns", "Examples"):
        assert text.count(f"    {section}\n    {'-' * len(section)}\n") == 1


@pytest.mark.parametrize("name", ONE_LINERS)
def test_one_liner_refuses_an_unknown_keyword_with_the_nearest(name: str) -> None:
    message = "there is no option 'y_ture'; did you mean y_true"
    with pytest.raises(TypeError, match=re.escape(message)):
        getattr(xmleval, name)(T, S, y_ture=T)


RISING = np.tile([2, 0, 3, 1], (len(T), 1)), np.tile([0.1, 0.2, 0.3, 0.4], (len(T), 1))
WARNS: dict[str, Callable[[], float]] = {
    "every score is 0 or 1": lambda: xmleval.p_at_k(T, H, 1),
    "scores rise along every row": lambda: xmleval.lrap(T, RISING),
    "lists have at most 3 labels: measures @5": lambda: xmleval.r_at_k(T, (LISTED, None)),
    "y_score: 1 predicted label never occurs in the truth": lambda: xmleval.hit_at_k(
        [["a"]], [["b"]], 1
    ),
}


@pytest.mark.parametrize("note", WARNS)
def test_one_liner_warns_of_notes_at_the_line_of_the_caller(note: str) -> None:
    with pytest.warns(UserWarning, match=f"^{note}") as caught:
        WARNS[note]()
    assert [warning.filename for warning in caught] == [__file__]
