"""One-liners are `evaluate` with one name; everything public is documented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.examples import H, Q, S, T
from xmleval import evaluate
from xmleval.api import measures
from xmleval.metrics import TABLE
from xmleval.spec import parse_spec

LISTED = np.array([[0, 1, -1], [3, 2, 1], [-1, -1, -1]])
SETS = ("hamming_loss", "subset_accuracy", "f1.micro", "f1.macro", "f1.samples")
RANKINGS = ("one_error", "coverage", "ranking_loss", "lrap", "auc.samples", "auc.micro", "auc.macro")
AT_K = ("p", "r", "ndcg", "hit", "mrr", "psp", "psndcg")
ONE_LINERS = {name.replace(".", "_"): name for name in (*SETS, *RANKINGS)}
ONE_LINERS |= {f"{name}_at_k": name for name in AT_K}
ALIASES = {
    "precision_at_k": "p_at_k", "recall_at_k": "r_at_k", "hit_rate_at_k": "hit_at_k",
    "mean_reciprocal_rank_at_k": "mrr_at_k", "label_ranking_average_precision": "lrap",
    "instance_auc": "auc_samples", "micro_auc": "auc_micro", "macro_auc": "auc_macro",
    "instance_f1": "f1_samples", "micro_f1": "f1_micro", "macro_f1": "f1_macro",
}  # fmt: skip


def test_every_one_liner_is_checked_here_and_public() -> None:
    functions = {n for n, f in vars(measures).items() if getattr(f, "__module__", None) == measures.__name__}
    public = {name for name in functions if not name.startswith("_")}
    assert public == ONE_LINERS.keys() | ALIASES
    assert public <= set(xmleval.__all__)
    assert all(getattr(xmleval, name) is getattr(measures, name) for name in public)
    for alias, name in ALIASES.items():
        assert getattr(xmleval, alias) is getattr(xmleval, name)


@pytest.mark.filterwarnings("ignore:lists hold at most")
@pytest.mark.parametrize("name", ONE_LINERS)
def test_a_one_liner_is_evaluate_with_one_name(name: str) -> None:
    function, measure = getattr(xmleval, name), ONE_LINERS[name]
    options: dict[str, Any] = {"inverse_propensity": Q} if name.startswith("ps") else {}
    argument = "y_pred" if measure in SETS else "y_score"
    forms: list[Any] = [S, sp.csr_array(S), S.tolist()]
    if measure in SETS:
        forms = [H, sp.csr_matrix(H), H.astype(bool), H.tolist()]
    elif measure not in ("auc.micro", "auc.macro"):
        forms.append((LISTED, None))
    for form in forms:
        for k in (1, 2, 5, 9) if measure in AT_K else (None,):
            spec, at_k = (f"{measure}@{k}", {"k": k}) if k else (measure, {})
            actual, scores = function(T, form, **options, **at_k), {**options, argument: form}
            assert type(actual) is float
            assert actual == evaluate(T, metrics=[spec], **scores)[spec]
    if measure in AT_K:
        assert function(T, S, **options) == function(T, S, np.int64(5), **options)
        for bad in (0, -1, 1.5, "3", True, None):
            with pytest.raises(ValueError, match=rf"^k: {re.escape(repr(bad))} is not a positive integer$"):
                function(T, S, k=bad, **options)


def test_refused_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"^y_pred: row 0: value 0\.9 is neither 0 nor 1"):
        xmleval.macro_f1(T, S)
    with pytest.raises(ValueError, match=r"^y_score: row 0: score nan"):
        xmleval.ndcg_at_k(T, S * np.nan)
    with pytest.raises(ValueError, match=r"^inverse_propensity: shape"):
        xmleval.psp_at_k(T, S, inverse_propensity=Q[:2])
    with pytest.raises(TypeError, match="propensity"):
        xmleval.psndcg_at_k(T, S)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        xmleval.psp_at_k(T, S, 5, Q)  # type: ignore[call-arg]


RISING = np.tile([2, 0, 3, 1], (len(T), 1)), np.tile([0.1, 0.2, 0.3, 0.4], (len(T), 1))
WARNS: dict[str, Callable[[], float]] = {
    "every score is 0 or 1": lambda: xmleval.p_at_k(T, H, 1),
    "scores rise along every row": lambda: xmleval.lrap(T, RISING),
    "lists hold at most 3 labels: measures @5": lambda: xmleval.r_at_k(T, (LISTED, None)),
    "no row of the truth has a relevant label": lambda: xmleval.f1_macro(0 * T, H),
    "y_score: 1 predicted label never occurs in the truth": lambda: xmleval.hit_at_k([["a"]], [["b"]], 1),
    "inverse_propensity= has values below 1": lambda: xmleval.psp_at_k(T, S, 1, inverse_propensity=Q / 5),
}


@pytest.mark.parametrize("note", WARNS)
def test_what_evaluate_notes_is_a_warning_at_the_line_of_the_caller(note: str) -> None:
    with pytest.warns(UserWarning, match=f"^{note}") as caught:
        WARNS[note]()
    assert [one.filename for one in caught] == [__file__]


PUBLIC = [name for name in xmleval.__all__ if name not in ("__version__", "io")]


ORDER = [
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References",
    "Examples",
]  # fmt: skip


def sections(text: str) -> list[str]:
    return re.findall(r"^ *(\w[\w ]*)\n *-{3,}$", text, re.MULTILINE)


def methods(owner: type) -> list[tuple[str, Any]]:
    own = {
        n: f for base in owner.__mro__ if base.__module__.startswith("xmleval") for n, f in vars(base).items()
    }
    return [(f"{owner.__name__}.{n}", getattr(owner, n)) for n in own if not n.startswith("_")]


CALLABLES: dict[str, Any] = {name: getattr(xmleval, name) for name in PUBLIC}
CALLABLES |= {
    name: f for owner in list(CALLABLES.values()) if inspect.isclass(owner) for name, f in methods(owner)
}
CALLABLES |= {f"io.{name}": getattr(xmleval.io, name) for name in xmleval.io.__all__}
CALLABLES = {name: thing for name, thing in CALLABLES.items() if callable(thing)}


@pytest.mark.parametrize("name", CALLABLES)
def test_docstring_has_the_parameters_and_sections(name: str) -> None:
    thing: Callable[..., Any] = CALLABLES[name]
    text = inspect.getdoc(thing) or ""
    titles = sections(text)
    summary = text.split("\n")[0]
    assert summary.endswith(".")
    assert len(summary) <= 110
    assert titles == sorted(titles, key=ORDER.index)
    parameters = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
    listed = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", text, re.MULTILINE | re.DOTALL)
    described = re.findall(r"^(\w[\w, ]*) :", listed[1] if listed else "", re.MULTILINE)
    if "." in name and not titles:
        return  # a summary is enough for what only the package itself calls
    assert [name for names in described for name in names.split(", ")] == parameters
    if not inspect.isclass(thing) and inspect.signature(thing).return_annotation not in (None, "None"):
        assert "Returns" in titles
    if "." not in name:
        assert "Examples" in titles
        assert ">>> " in text


@pytest.mark.parametrize("name", ONE_LINERS)
def test_one_liner_says_range_direction_and_source_of_its_table_row(name: str) -> None:
    text = inspect.getdoc(getattr(xmleval, name)) or ""
    measure = ONE_LINERS[name]
    metric = parse_spec(f"{measure}@5" if measure in AT_K else measure).metric
    assert metric in TABLE
    assert ("lower is better" in text) == (metric.direction == "down")
    assert "Raises" in sections(text)
    assert "References" in sections(text)
    assert (
        text.split("References\n----------\n")[1].split(",")[0].split(" 20")[0].split(" 19")[0]
        in metric.reference
    )
