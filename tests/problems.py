"""Evaluation problems for Hypothesis: truth, predictions and all options of `evaluate`, drawn together.

`problems` draws freely and then mends what `REFUSALS` names, so that every problem is valid. Names of options
stand here once; routes and relations take them from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from xmleval import Conventions, Evaluator, Report, Running, evaluate
from xmleval.base.conventions import PRESETS as PRESETS
from xmleval.base.conventions import resolve_conventions
from xmleval.input.vectors import groups_of_clusters as groups_of_clusters
from xmleval.metrics.spec import Spec as Spec
from xmleval.metrics.spec import expand_metrics
from xmleval.metrics.spec import parse_spec as parse_spec

CLUSTERS, HIGHER, PER_ROW, PER_LABEL = "clusters", "higher_is_better", "per_row", "per_label"
SETS = ("y_pred", "exclude", "candidates")  # label sets of rows
VECTORS = ("sample_weight", CLUSTERS, "row_groups")  # a value for each row
BY_ROW = (*SETS, *VECTORS)
OF_UPDATE = (*BY_ROW, "exclude_from")
KEPT = (PER_ROW, PER_LABEL, "curve_points")
EXTRAS = ("confidence", "bounds", "label_groups", "row_groups", *KEPT)  # which no value depends on
FORMS = ("csr", "dense", "list", "ragged", "none")
LEVELS = (-2.0, -0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0)  # exact in float32, few enough to tie
TINY = 2.0**-149  # subnormal in float32
EXTREMES = (-np.inf, -(2.0**127), -TINY, -0.0, TINY, 0.5, 2.0**127, np.inf)
PROBABILITIES = tuple(level for level in LEVELS if 0 <= level <= 1)
LARGE_ODDS, MOST_ROWS, MOST_LABELS = 8, 40, 24  # of problems that are larger than most
GROUPS = ("all", "all", "xmc", "sets", "ranking", "curves", "ps", "predicted", "statistics")

KS = (1, 3, 9)
AVERAGES = ("samples", "micro", "macro", "weighted")
WITH_PARAMETERS = [
    *(f"fbeta.{average}(beta=2){k}" for average in AVERAGES for k in ("", "@3")),
    *("fbeta.of_means(beta=0.5)", "tail_share(count=2)", "tail_share(count=2)@3"),
    *(name.format(average) for average in AVERAGES[1:] for name in (
        "recall_at_precision.{}(p=0.5)", "precision_at_recall.{}(r=0.5)", "fpr_at_tpr.{}(tpr=0.75)",
        "auc.{}(max_fpr=0.3)",
    )),
    *("risk(coverage=0.6)@1", "risk(coverage=0.6)@3"),
    *(f"{name}{k}" for k in ("", "@3") for name in (
        "ece(bins=4)", "ece_over", "ece_under", "ace(bins=3)", "brier", "log_loss",
    )),
    *("log_loss.samples", "limited_log_loss(limit=5)"),
]  # fmt: skip
SPECS = {spec.name: spec for spec, _ in expand_metrics(["all", *WITH_PARAMETERS], KS)}


@dataclass(frozen=True, repr=False)
class Problem:
    """One evaluation in plain Python; ``arguments`` has all others of `evaluate`, by name.

    ``truth`` has the judged labels of each row with their grades, ``listed`` the predicted labels with their
    scores: best first in lists, by id in matrices.
    """

    n_labels: int
    truth: list[dict[int, float]]
    listed: list[list[tuple[int, float | None]]]
    form: str
    dtype: str
    bare: bool  # lists without scores
    arguments: dict[str, Any]
    metrics: tuple[str, ...] = ()
    odd: bool = False  # whether rows and labels have odd names, where they have any

    def __repr__(self) -> str:
        """Return the fields, and the first measures."""
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[:-2])
        rest = f" and {len(self.metrics) - 9} more" if len(self.metrics) > 9 else ""
        return f"Problem({values}, metrics={self.metrics[:9]}{rest}, odd={self.odd})"

    @property
    def n_rows(self) -> int:
        return len(self.truth)

    @property
    def scored(self) -> bool:
        """Whether measures can read scores."""
        return self.form != "none" and not self.bare

    @property
    def sign(self) -> float:
        """What makes scores of which larger ones are better."""
        return 1.0 if self.arguments.get(HIGHER, True) else -1.0

    @cached_property
    def conventions(self) -> Conventions:
        return resolve_conventions(self.arguments.get("conventions"))

    @property
    def unlisted(self) -> float | None:
        return self.conventions.unlisted_score

    @cached_property
    def inputs(self) -> dict[str, bool]:
        """Which inputs of measures are available."""
        scores = [s for row in self.listed for _, s in row if s is not None]
        scores += [] if self.unlisted is None else [self.unlisted]
        probabilities = self.conventions.link == "sigmoid" or all(0 <= s <= 1 for s in scores)
        return {
            "scores": self.form != "none",
            "entry scores": self.scored,
            "probabilities": self.scored and self.sign > 0 and probabilities,
            "sets": has_sets(self),
            "propensity": self.has("inverse_propensity") or self.has("y_train"),
            "training": self.has("y_train"),
            "hierarchy": self.has("hierarchy"),
            "grades": self.conventions.graded,
            "every label": not self.has("exclude") and not self.has("candidates"),
            "every score": self.unlisted is not None or all(len(row) == self.n_labels for row in self.listed),
        }

    @property
    def specs(self) -> list[Spec]:
        """The measures that are asked for and whose input is there."""
        asked = expand_metrics([*self.metrics], self.arguments.get("k", (1, 3, 5)))
        return [spec for spec, explicit in asked if explicit or is_allowed(spec, self)]

    def has(self, *names: str) -> bool:
        return all(name in self.arguments for name in names)

    def without(self, *names: str) -> Problem:
        arguments = {name: value for name, value in self.arguments.items() if name not in names}
        return replace(self, arguments=arguments)

    def with_arguments(self, **arguments: Any) -> Problem:
        return replace(self, arguments=self.arguments | arguments)

    def with_conventions(self, **fields: Any) -> Problem:
        """Return the problem with other conventions, all given as one record."""
        changed = replace(self.conventions, **fields)
        return self.with_arguments(conventions=changed)

    def take(self, rows: Iterable[int]) -> Problem:
        """Return the problem of some rows, in the given order."""
        rows = [*rows]
        by_row = {name: [value[i] for i in rows] for name, value in self.arguments.items() if name in BY_ROW}
        truth, listed = [self.truth[i] for i in rows], [self.listed[i] for i in rows]
        return replace(self, truth=truth, listed=listed, arguments=self.arguments | by_row)

    def relevant(self) -> list[set[int]]:
        return [{label for label, grade in row.items() if grade > 0} for row in self.truth]

    def y_true(self) -> Any:
        matrix = indicator([set(row) for row in self.truth], self.n_labels)
        matrix.data = np.array([row[label] for row in self.truth for label in sorted(row)], np.float64)
        return matrix

    def y_score(self) -> Any:
        ptr = np.concatenate(([0], np.cumsum([len(row) for row in self.listed], dtype=int)))
        labels = np.array([label for row in self.listed for label, _ in row], np.int32)
        if self.form == "ragged":
            return [[label if self.bare else (label, s) for label, s in row] for row in self.listed]
        scores = np.array([s for row in self.listed for _, s in row], self.dtype)
        if self.form == "list":
            width = max((len(row) for row in self.listed), default=0)
            used = np.arange(width) < np.diff(ptr)[:, None]
            ids, values = np.full(used.shape, -1, np.int32), np.full(used.shape, np.nan, self.dtype)
            ids[used], values[used] = labels, scores
            return ids, None if self.bare else values
        matrix = sp.csr_array((scores, labels, ptr), shape=(self.n_rows, self.n_labels))
        return matrix.toarray() if self.form == "dense" else matrix

    def rows(self) -> dict[str, Any]:
        """Return the rows as arguments of `Evaluator.update`."""
        rows = {name: value for name, value in self.arguments.items() if name in OF_UPDATE}
        sets = {name: indicator(rows.pop(name), self.n_labels) for name in SETS if name in rows}
        scores = {} if self.form == "none" else {"y_score": self.y_score()}
        return {"y_true": self.y_true(), **scores, **sets, **rows}

    def options(self) -> dict[str, Any]:
        """Return everything else as arguments of `Evaluator`."""
        options = {name: value for name, value in self.arguments.items() if name not in OF_UPDATE}
        if "y_train" in options:
            options["y_train"] = indicator(options["y_train"], self.n_labels)
        return {**options, "metrics": [*self.metrics], "n_labels": self.n_labels}

    def evaluator(self, **resources: Any) -> Evaluator:
        return Evaluator(**self.options(), **resources)

    def evaluate(self, block_rows: int | None = None, **resources: Any) -> Report:
        running = Running(block_rows=block_rows)
        report: Report = evaluate(**self.rows(), **self.options(), **resources, running=running)
        return report


def indicator(sets: list[set[int]], n_labels: int) -> sp.csr_array:
    ptr = np.concatenate(([0], np.cumsum([len(s) for s in sets], dtype=int)))
    labels = np.array([j for s in sets for j in sorted(s)], np.int32)
    return sp.csr_array((np.ones(labels.size), labels, ptr), shape=(len(sets), n_labels))


@st.composite
def label_sets(draw: st.DrawFn, n_rows: int, n_labels: int) -> list[set[int]]:
    everything = st.just(set(range(n_labels)))
    some = st.sets(st.integers(0, n_labels - 1), max_size=n_labels)
    return draw(st.lists(st.one_of(some, some, some, everything), min_size=n_rows, max_size=n_rows))


@st.composite
def judgements(draw: st.DrawFn, truth: list[set[int]], n_labels: int) -> list[dict[int, float]]:
    """Grades above 0 of relevant labels, and others of some that are not."""
    others = st.lists(st.sampled_from([None, None, 0.0, -1.0]), min_size=n_labels, max_size=n_labels)
    rows = []
    for relevant in truth:
        drawn = {j: grade for j, grade in enumerate(draw(others)) if grade is not None}
        rows.append(drawn | {j: float(draw(st.integers(1, 4))) for j in sorted(relevant)})
    return rows


CONVENTIONS: dict[str, tuple[Any, ...]] = {
    "auc_ties": ("half", "full", "none"),
    "loss_ties": ("half", "full", "none"),
    "ndcg_ties": ("order", "average"),
    "empty": ("zero", "skip", "one"),
    "ap_empty": ("skip", "zero"),
    "no_pairs": ("skip", "perfect", "perfect_except_auc", "perfect_if_relevant"),
    "zero_division": (0.0, 1.0, float("nan"), "both_empty"),
    "labels": ("all", "present", "seen"),
    "unlisted": ("below", 0.0, 0.5, 1.5, -3.0),
    "gains": ("binary", "linear", "exp"),
}


def with_fields(given: str | dict[str, Any] | None, fields: dict[str, Any]) -> str | dict[str, Any] | None:
    """Return conventions that have some fields more, in the form in which they are given."""
    if not fields:
        return given
    if isinstance(given, dict):
        return given | fields
    return ",".join([*([given] if given else []), *[f"{name}={value}" for name, value in fields.items()]])


@st.composite
def conventions(draw: st.DrawFn, form: str) -> dict[str, Any]:
    fields = {name: draw(st.sampled_from(values)) for name, values in CONVENTIONS.items()}
    return fields | ({"unlisted": "below"} if form == "dense" else {})


law = settings(max_examples=settings().max_examples * 5 // 3)  # all options need more examples
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Refusal(NamedTuple):
    """A combination that is refused: the message, when it applies, and the change that mends it."""

    message: str
    applies: Callable[[Problem], Any]
    mend: Callable[[Problem], Problem]


def dropping(name: str) -> Callable[[Problem], Problem]:
    return lambda problem: problem.without(name)


def listing_below(problem: Problem) -> Problem:
    return problem.with_conventions(unlisted="below")


def passes_unlisted(problem: Problem) -> bool:
    """Whether a threshold predicts every unlisted label."""
    rule, level = problem.arguments.get("decision", ""), problem.unlisted
    if level is None or not rule.startswith("threshold"):
        return False
    threshold = float(rule.removeprefix("threshold"))
    return threshold < level if problem.sign > 0 else threshold > level


def lacks(problem: Problem, quality: Callable[[Spec], Any]) -> bool:
    return not any(map(quality, problem.specs))


# in this order: what mends one may bring about the next
REFUSALS = [
    Refusal("are for intervals", lambda p: p.has(CLUSTERS) and not p.has("confidence"), dropping(CLUSTERS)),
    Refusal("ranked by y_score=", lambda p: p.has("candidates") and p.form == "none", dropping("candidates")),
    Refusal("needs the pairs to exclude", lambda p: p.has("exclude_from") and not p.has("exclude"),
            dropping("exclude_from")),
    Refusal("gives all labels a score",
            lambda p: (p.has("exclude") or p.has("candidates")) and p.unlisted is not None, listing_below),
    Refusal("bounds need conventions", lambda p: p.has("bounds") and p.unlisted is not None, listing_below),
    Refusal("compares", lambda p: p.bare and p.unlisted is not None, listing_below),
    Refusal("given together with decision", lambda p: p.has("y_pred", "decision"), dropping("decision")),
    Refusal("would predict every unlisted label", passes_unlisted, dropping("decision")),
    Refusal("needs scores; this list has none",
            lambda p: p.bare and "threshold" in p.arguments.get("decision", ""), dropping("decision")),
    Refusal("curve_points= needs scores",
            lambda p: p.has("curve_points") and not p.scored, dropping("curve_points")),
]  # fmt: skip
# of options without the measures that they are for
IDLE = [
    Refusal(
        f"{PER_LABEL}= needs",
        lambda p: p.has(PER_LABEL) and not p.scored and not has_sets(p)
        and lacks(p, lambda spec: spec.k or spec.state == "label_extremes"),
        dropping(PER_LABEL),
    ),
]  # fmt: skip


def has_sets(problem: Problem) -> bool:
    return problem.has("y_pred") or (problem.has("decision") and problem.form != "none")


def is_allowed(spec: Spec, problem: Problem) -> bool:
    """Whether a measure can be asked for by its name."""
    of_all = {"every label": spec.metric.every_label, "every score": spec.metric.gapless}
    needs = (*spec.needs, *(need for need, is_needed in of_all.items() if is_needed))
    return all(problem.inputs[need] for need in needs)


def mend(problem: Problem, refusals: Iterable[Refusal] = REFUSALS) -> Problem:
    """Return the problem without what is refused."""
    for refusal in refusals:
        if refusal.applies(problem):
            problem = refusal.mend(problem)
    return problem


def unchanged(problem: Problem, draw: Draw) -> Problem:
    return problem


def maybe(draw: st.DrawFn, strategy: st.SearchStrategy[Any], odds: int = 3) -> Any:
    """Draw a value, or None most times."""
    return draw(strategy) if draw(st.integers(1, odds)) == odds else None


@st.composite
def free_problems(
    draw: st.DrawFn,
    forms: tuple[str, ...] = FORMS,
    least_rows: int = 0,
    most_rows: int | None = None,
    extremes: bool = False,
) -> Problem:
    """Draw a problem whose options may not go together; ``extremes`` tells whether scores may be infinite."""
    is_large = draw(st.integers(1, LARGE_ODDS)) == LARGE_ODDS
    n_rows = draw(st.integers(least_rows, most_rows or (MOST_ROWS if is_large else 9)))
    n_labels = draw(st.integers(1, MOST_LABELS if is_large and most_rows is None else 7))
    form = draw(st.sampled_from(forms))
    labels = st.integers(0, n_labels - 1)
    some_sets = st.lists(st.sets(labels), min_size=n_rows, max_size=n_rows)

    def of_rows(*values: Any) -> st.SearchStrategy[list[Any]]:
        return st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows)

    def of_labels(*values: Any) -> st.SearchStrategy[list[Any]]:
        return st.lists(st.sampled_from(values), min_size=n_labels, max_size=n_labels)

    fields: Any = draw(st.sampled_from([None, {}, *PRESETS]))
    fields = draw(conventions(form)) if fields == {} else fields
    alone = {
        "gains": maybe(draw, st.sampled_from(["linear", "exp"])),
        "unlisted": maybe(draw, st.sampled_from(["below", 0.0, 0.5, -3.0])),
        "link": maybe(draw, st.just("sigmoid")),
    }
    fields = with_fields(fields, {name: value for name, value in alone.items() if value is not None})
    order = draw(st.permutations(range(n_labels)))  # from children to parents, so that there is no cycle
    pairs = draw(st.sets(st.tuples(labels, labels), max_size=8))
    q = draw(st.sampled_from([None, "inverse_propensity", "y_train"]))
    arguments = {
        "conventions": fields,
        "sample_weight": maybe(draw, of_rows(0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 1e-6)),
        CLUSTERS: maybe(draw, of_rows("a", "b", "1", 1, -7), 2),
        "row_groups": maybe(draw, of_rows("r", "s", "t")),
        "label_groups": maybe(draw, of_labels("head", "tail", "torso")),
        "y_pred": maybe(draw, label_sets(n_rows, n_labels), 2),
        "decision": maybe(draw, st.sampled_from(["top1", "top2", "threshold0.25", "threshold-0.5"]), 2),
        "exclude": maybe(draw, some_sets, 4),
        "exclude_from": maybe(draw, st.just("predictions"), 2),
        "candidates": maybe(draw, some_sets, 5),
        "hierarchy": maybe(draw, st.just([(order[min(p)], order[max(p)]) for p in pairs if p[0] != p[1]]), 2),
        "inverse_propensity": draw(of_labels(1.0, 1.1, 2.5, 9.649)) if q == "inverse_propensity" else None,
        "y_train": draw(st.lists(st.sets(labels), min_size=3, max_size=5)) if q == "y_train" else None,
        "confidence": maybe(draw, st.sampled_from([0.5, 0.95])),
        "bounds": maybe(draw, st.just(True)),
        HIGHER: maybe(draw, st.just(False)),
        "curve_points": maybe(draw, st.sampled_from([1, 2, 50])),
        "k": maybe(draw, st.sampled_from([1, [2], [1, 8]])),
        PER_ROW: maybe(draw, st.just(True), 2),
        PER_LABEL: maybe(draw, st.just(True), 2),
    }
    arguments = {name: value for name, value in arguments.items() if value is not None}
    graded = resolve_conventions(fields).graded
    relevant = draw(label_sets(n_rows, n_labels))
    truth = draw(judgements(relevant, n_labels)) if graded else [dict.fromkeys(y, 1.0) for y in relevant]
    levels = st.sampled_from(draw(st.sampled_from([LEVELS, PROBABILITIES] + [EXTREMES] * extremes)))
    # nested lists tell that they have no scores only where they list something, which batches may not
    bare = form == "list" and draw(st.booleans())
    full = form == "dense" or draw(st.booleans())
    listed: list[list[tuple[int, float | None]]] = [[] for _ in range(n_rows)]
    for row in listed if form != "none" else ():
        ids = draw(st.permutations(range(n_labels)))
        ids = ids if full or draw(st.booleans()) else ids[: draw(st.integers(0, n_labels))]
        ids = ids if form in ("list", "ragged") else sorted(ids)
        row.extend((label, None if bare else draw(levels)) for label in ids)
    dtype = "float64" if form == "ragged" else draw(st.sampled_from(["float32", "float64"]))
    odd = draw(st.booleans())
    return Problem(n_labels, truth, listed, form, dtype, bare and any(listed), arguments, odd=odd)


@st.composite
def problems(
    draw: st.DrawFn, /, *, without: Iterable[str] = (), change: Any = unchanged, **limits: Any
) -> Problem:
    """Draw a valid problem without some options; ``change`` comes before it is mended."""
    problem = mend(change(draw(free_problems(**limits)).without(*without), draw))
    allowed = [name for name, spec in SPECS.items() if is_allowed(spec, problem)]
    groups = [name for name in GROUPS if any(is_allowed(spec, problem) for spec, _ in expand_metrics(name))]
    kind = draw(st.sampled_from(["few", "spread", "group"]))
    if kind == "few" or (kind == "group" and not groups):
        metrics = draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=4, unique=True))
    elif kind == "spread":  # with intervals each is computed 33 times
        step = draw(st.sampled_from([31, 13] if problem.has("confidence") else [7, 1]))
        metrics = allowed[draw(st.integers(0, step - 1)) :: step] or allowed[:1]
    else:
        metrics = [draw(st.sampled_from(groups[2 * problem.has("confidence") :] or groups))]
    problem = mend(replace(problem, metrics=(*metrics,)), IDLE)
    for name in (PER_ROW, PER_LABEL):
        specs = [spec.name for spec in problem.specs if name == PER_ROW or spec.by_label]
        if problem.has(name) and specs and draw(st.booleans()):
            problem = problem.with_arguments(**{name: draw(st.lists(st.sampled_from(specs), min_size=1))})
    return problem
