"""Evaluation problems for Hypothesis: truth, predictions and all options of `evaluate` together.

`problems` draws freely and then mends what `REFUSALS` names, so that every problem is valid. Names
of options are defined here once; routes and relations take them from here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sized
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

CLUSTERS = "clusters"
HIGHER = "higher_is_better"
PER_ROW = "per_row"
PER_LABEL = "per_label"
SETS = ("y_pred", "exclude", "unjudged", "judged", "candidates")  # label sets of rows
VECTORS = ("sample_weight", CLUSTERS, "row_groups")  # a value for each row
BY_ROW = (*SETS, *VECTORS)
UPDATE_ARGUMENTS = (*BY_ROW, "exclude_from")
KEPT = (PER_ROW, PER_LABEL, "curve_points")
EXTRAS = ("confidence", "bounds", "label_groups", "row_groups", *KEPT)  # no value depends on them
FORMS = ("csr", "dense", "list", "ragged", "none")
LEVELS = (-2.0, -0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0)  # exact in float32, few enough to tie
TINY = 2.0**-149  # subnormal in float32
EXTREMES = (-np.inf, -(2.0**127), -TINY, -0.0, TINY, 0.5, 2.0**127, np.inf)
PROBABILITIES = tuple(level for level in LEVELS if 0 <= level <= 1)
# of problems that are larger than most
LARGE_ODDS = 8
MOST_ROWS = 40
MOST_LABELS = 24
GROUPS = ("all", "all", "xmc", "sets", "ranking", "curves", "ps", "predicted", "statistics")

KS = (1, 3, 9)
CUTOFFS = ("", "@3")
AVERAGES = ("samples", "micro", "macro", "weighted")
POOLED = (
    "recall_at_precision.{}(p=0.5)",
    "precision_at_recall.{}(r=0.5)",
    "fpr_at_tpr.{}(tpr=0.75)",
    "auc.{}(max_fpr=0.3)",
)
CALIBRATION = ("ece(bins=4)", "ece_over", "ece_under", "ace(bins=3)", "brier", "log_loss")
PERSISTENCE = ("rbp(p=0.8)", "rbp_residual(p=0.5)")
LEVELLED = (
    *(f"{name}(rel=2){cutoff}" for name in ("p", "map") for cutoff in ("@1", "@3")),
    "r(rel=3)@3",
    "hit(rel=2)@1",
    "mrr(rel=1)@3",
    "map_r(rel=3)@3",
    *(f"{name}(rel=2)@all" for name in ("map", "mrr")),
    *(f"{name}(rel=2)" for name in ("rprec", "rprec.micro", "bpref", "map_11pt", "one_error")),
    *(f"{name}(rel=2)" for name in ("lrap", "coverage", "gauc", "auc.samples", "lwlrap")),
    "iprec(recall=0.5,rel=3)",
    "rbp(p=0.8,rel=2)@3",
    "rbp(p=0.8,rel=2)@all",
    "psp(rel=2)@3",
    "psdcg_raw(rel=2)@3",
    "precision.samples(rel=2)@3",
    "f1.samples(rel=3)",
    "log_loss.samples(rel=2)",
    "label_cardinality(rel=2)",
)
WITH_PARAMETERS = [
    *LEVELLED,
    *(f"fbeta.{average}(beta=2){cutoff}" for average in AVERAGES for cutoff in CUTOFFS),
    "fbeta.of_means(beta=0.5)",
    "fbeta.of_means(beta=0.5)@2",
    "tail_share(count=2)",
    "tail_share(count=2)@3",
    *(name.format(average) for average in AVERAGES[1:] for name in POOLED),
    "ap.macro(interpolated=voc2010)",
    "ap.weighted(interpolated=voc2010)",
    "risk(coverage=0.6)@1",
    "risk(coverage=0.6)@3",
    *(f"{name}{cutoff}" for cutoff in CUTOFFS for name in CALIBRATION),
    "log_loss.samples",
    "limited_log_loss(limit=5)",
    *(f"{name}{cutoff}" for cutoff in ("@1", "@3", "@all") for name in PERSISTENCE),
    *(f"iprec(recall={recall})" for recall in (0, 0.5)),
    "err(max_grade=4)@1",
    "err(max_grade=4)@3",
]
SPECS = {spec.name: spec for spec, _ in expand_metrics(["all", *WITH_PARAMETERS], KS)}


@dataclass(frozen=True, repr=False)
class Problem:
    """One evaluation in plain Python.

    ``truth`` has the judged labels of each row with their grades, ``listed`` the predicted labels
    with their scores: best first in lists, by id in matrices. ``arguments`` are all other arguments
    of `evaluate`, by name.
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
        shown = fields(self)[:-2]
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in shown)
        n_more = len(self.metrics) - 9
        rest = f" and {n_more} more" if n_more > 0 else ""
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
        """1, or -1 where smaller scores are better."""
        higher_is_better = self.arguments.get(HIGHER, True)
        return 1.0 if higher_is_better else -1.0

    @cached_property
    def conventions(self) -> Conventions:
        return resolve_conventions(self.arguments.get("conventions"))

    @property
    def unlisted(self) -> float | None:
        return self.conventions.unlisted_score

    @cached_property
    def inputs(self) -> dict[str, bool]:
        """Which inputs of measures are available."""
        return {
            "scores": self.form != "none",
            "entry scores": self.scored,
            "probabilities": self.has_probabilities(),
            "sets": has_sets(self),
            "propensity": self.has("inverse_propensity") or self.has("y_train"),
            "training": self.has("y_train"),
            "hierarchy": self.has("hierarchy"),
            "grades": self.conventions.graded,
            "every label": not (self.has("exclude", "exclude_from") or self.has("candidates")),
            "every score": self.unlisted is not None or self.lists_every_label(),
        }

    def has_probabilities(self) -> bool:
        if not self.scored or self.sign < 0:
            return False
        if self.conventions.link == "sigmoid":
            return True
        scores = [score for row in self.listed for _, score in row]
        return all(0 <= score <= 1 for score in [*scores, self.unlisted] if score is not None)

    def lists_every_label(self) -> bool:
        return all(len(row) == self.n_labels for row in self.listed)

    @property
    def reads_grades(self) -> bool:
        return self.conventions.graded or any(spec.level for spec in self.specs)

    @property
    def specs(self) -> list[Spec]:
        """The measures that are computed: those named, and those of named groups with input."""
        specs = expand_metrics([*self.metrics], self.arguments.get("k", (1, 3, 5)))
        return [spec for spec, is_named in specs if is_named or is_allowed(spec, self)]

    def has(self, *names: str) -> bool:
        return all(name in self.arguments for name in names)

    def without(self, *names: str) -> Problem:
        arguments = {name: value for name, value in self.arguments.items() if name not in names}
        return replace(self, arguments=arguments)

    def with_arguments(self, **arguments: Any) -> Problem:
        return replace(self, arguments=self.arguments | arguments)

    def with_conventions(self, **fields: Any) -> Problem:
        """Return the problem with other conventions, all in one record."""
        changed = replace(self.conventions, **fields)
        return self.with_arguments(conventions=changed)

    def take(self, rows: Iterable[int]) -> Problem:
        """Return the problem of some rows, in this order."""
        rows = [*rows]
        arguments = dict(self.arguments)
        for name in BY_ROW:
            if name in arguments:
                arguments[name] = [arguments[name][i] for i in rows]
        truth = [self.truth[i] for i in rows]
        listed = [self.listed[i] for i in rows]
        return replace(self, truth=truth, listed=listed, arguments=arguments)

    def relevant(self) -> list[set[int]]:
        level = self.conventions.relevant_from
        least = level if level > 1 else 2.0**-30
        return [{label for label, grade in row.items() if grade >= least} for row in self.truth]

    def y_true(self) -> Any:
        matrix = indicator([set(row) for row in self.truth], self.n_labels)
        grades = [row[label] for row in self.truth for label in sorted(row)]
        matrix.data = np.array(grades, np.float64)
        return matrix

    def y_score(self) -> Any:
        if self.form == "ragged":
            return [self.ragged_row(row) for row in self.listed]
        if self.form == "list":
            return self.list_arrays()
        ptr = row_pointers(self.listed)
        labels = np.array([label for row in self.listed for label, _ in row], np.int32)
        scores = np.array([score for row in self.listed for _, score in row], self.dtype)
        matrix = sp.csr_array((scores, labels, ptr), shape=(self.n_rows, self.n_labels))
        return matrix.toarray() if self.form == "dense" else matrix

    def ragged_row(self, row: list[tuple[int, float | None]]) -> list[Any]:
        if self.bare:
            return [label for label, _ in row]
        return [*row]

    def list_arrays(self) -> tuple[Any, Any]:
        """Return arrays of ids and scores; empty slots have id -1 and score NaN."""
        shape = (self.n_rows, max(map(len, self.listed), default=0))
        ids = np.full(shape, -1, np.int32)
        scores = np.full(shape, np.nan, self.dtype)
        for row, listed in enumerate(self.listed):
            for place, (label, score) in enumerate(listed):
                ids[row, place] = label
                scores[row, place] = np.nan if score is None else score
        return ids, None if self.bare else scores

    def rows(self) -> dict[str, Any]:
        """Return the rows as arguments of `Evaluator.update`."""
        rows: dict[str, Any] = {"y_true": self.y_true()}
        if self.form != "none":
            rows["y_score"] = self.y_score()
        for name in UPDATE_ARGUMENTS:
            if name in SETS and name in self.arguments:
                rows[name] = indicator(self.arguments[name], self.n_labels)
            elif name in self.arguments:
                rows[name] = self.arguments[name]
        return rows

    def options(self) -> dict[str, Any]:
        """Return everything else as arguments of `Evaluator`."""
        options = {
            name: value for name, value in self.arguments.items() if name not in UPDATE_ARGUMENTS
        }
        if "y_train" in options:
            options["y_train"] = indicator(options["y_train"], self.n_labels)
        return {**options, "metrics": [*self.metrics], "n_labels": self.n_labels}

    def evaluator(self, **resources: Any) -> Evaluator:
        return Evaluator(**self.options(), **resources)

    def evaluate(self, block_rows: int | None = None, **resources: Any) -> Report:
        running = Running(block_rows=block_rows)
        report: Report = evaluate(**self.rows(), **self.options(), **resources, running=running)
        return report


def row_pointers(rows: Iterable[Sized]) -> Any:
    """Return the index pointers of a CSR matrix with such rows."""
    return np.array([0, *itertools.accumulate(map(len, rows))], int)


def indicator(sets: list[set[int]], n_labels: int) -> sp.csr_array:
    labels = np.array([label for row in sets for label in sorted(row)], np.int32)
    shape = (len(sets), n_labels)
    return sp.csr_array((np.ones(labels.size), labels, row_pointers(sets)), shape=shape)


@st.composite
def label_sets(draw: st.DrawFn, n_rows: int, n_labels: int) -> list[set[int]]:
    everything = st.just(set(range(n_labels)))
    some = st.sets(st.integers(0, n_labels - 1), max_size=n_labels)
    row = st.one_of(some, some, some, everything)
    return draw(st.lists(row, min_size=n_rows, max_size=n_rows))


@st.composite
def judgements(draw: st.DrawFn, truth: list[set[int]], n_labels: int) -> list[dict[int, float]]:
    """Grades above 0 of relevant labels, and others of some irrelevant labels."""
    irrelevant = st.lists(
        st.sampled_from([None, None, 0.0, -1.0]), min_size=n_labels, max_size=n_labels
    )
    rows = []
    for relevant in truth:
        grades = {j: grade for j, grade in enumerate(draw(irrelevant)) if grade is not None}
        for label in sorted(relevant):
            grades[label] = float(draw(st.integers(1, 4)))
        rows.append(grades)
    return rows


CONVENTIONS: dict[str, tuple[Any, ...]] = {
    "auc_ties": ("half", "full", "none"),
    "loss_ties": ("half", "full", "none"),
    "ties": ("order", "expected_dcg", "expected", "band"),
    "empty": ("zero", "skip", "one"),
    "ap_empty": ("skip", "zero"),
    "no_pairs": ("skip", "perfect", "perfect_except_auc", "perfect_if_relevant"),
    "zero_division": (0.0, 1.0, float("nan"), "both_empty"),
    "labels": ("all", "present", "seen"),
    "unlisted": ("below", 0.0, 0.5, 1.5, -3.0),
    "gains": ("binary", "linear", "exp"),
}


def with_fields(
    conventions: str | dict[str, Any] | None, fields: dict[str, Any]
) -> str | dict[str, Any] | None:
    """Return conventions with additional fields; a preset becomes a text."""
    if not fields:
        return conventions
    if isinstance(conventions, dict):
        return conventions | fields
    texts = [f"{name}={value}" for name, value in fields.items()]
    if conventions:
        texts.insert(0, conventions)
    return ",".join(texts)


@st.composite
def conventions(draw: st.DrawFn, form: str) -> dict[str, Any]:
    fields = {name: draw(st.sampled_from(values)) for name, values in CONVENTIONS.items()}
    if form == "dense":
        fields["unlisted"] = "below"
    return fields


law = settings(max_examples=settings().max_examples * 5 // 3)  # all options need more examples
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Refusal(NamedTuple):
    """A refused combination: the message, the condition, and the change that mends it."""

    message: str
    applies: Callable[[Problem], Any]
    mend: Callable[[Problem], Problem]


def dropping(name: str) -> Callable[[Problem], Problem]:
    return lambda problem: problem.without(name)


def listing_below(problem: Problem) -> Problem:
    return problem.with_conventions(unlisted="below")


def passes_unlisted(problem: Problem) -> bool:
    """Whether a threshold predicts every unlisted label."""
    rule = problem.arguments.get("decision", "")
    unlisted = problem.unlisted
    if unlisted is None or not rule.startswith("threshold"):
        return False
    threshold = float(rule.removeprefix("threshold"))
    return problem.sign * threshold < problem.sign * unlisted


def lacks(problem: Problem, quality: Callable[[Spec], Any]) -> bool:
    return not any(map(quality, problem.specs))


def keeps_hits_by_label(spec: Spec) -> bool:
    """Whether a measure of rankings has values by label, or its state counts hits by label."""
    has_hits = spec.k is not None and not spec.level
    return has_hits or spec.state == "label_extremes"


# in this order, as a mended combination may lead to the next
REFUSALS = [
    Refusal(
        "are for intervals",
        lambda p: p.has(CLUSTERS) and not p.has("confidence"),
        dropping(CLUSTERS),
    ),
    Refusal(
        "by which labels are ranked",
        lambda p: p.has("candidates") and p.form == "none",
        dropping("candidates"),
    ),
    Refusal(
        "the pairs to exclude",
        lambda p: p.has("exclude_from") and not p.has("exclude"),
        dropping("exclude_from"),
    ),
    Refusal(
        "gives all labels a score",
        lambda p: any(map(p.has, SETS[1:])) and p.unlisted is not None,
        listing_below,
    ),
    Refusal(
        "bounds need conventions",
        lambda p: p.has("bounds") and p.unlisted is not None,
        listing_below,
    ),
    Refusal(
        "a measure has one interval",
        lambda p: p.has("bounds") and p.conventions.ties == "band",
        dropping("bounds"),
    ),
    Refusal("is compared", lambda p: p.bare and p.unlisted is not None, listing_below),
    Refusal(
        "given together with decision", lambda p: p.has("y_pred", "decision"), dropping("decision")
    ),
    Refusal("would predict every unlisted label", passes_unlisted, dropping("decision")),
    Refusal(
        "needs scores; this list has none",
        lambda p: (
            p.bare
            and "threshold" in p.arguments.get("decision", "")
            and (not p.metrics or p.has("per_label") or not lacks(p, lambda s: "sets" in s.needs))
        ),
        dropping("decision"),
    ),
    Refusal(
        "curve_points= needs scores",
        lambda p: p.has("curve_points") and not p.scored,
        dropping("curve_points"),
    ),
]
# of options without a measure that they apply to
IDLE = [
    Refusal(
        f"{PER_LABEL}= needs",
        lambda p: (
            p.has(PER_LABEL) and not p.scored and not has_sets(p) and lacks(p, keeps_hits_by_label)
        ),
        dropping(PER_LABEL),
    ),
]


def has_sets(problem: Problem) -> bool:
    return problem.has("y_pred") or (problem.has("decision") and problem.form != "none")


def is_allowed(spec: Spec, problem: Problem) -> bool:
    """Whether a measure can be asked for by its name."""
    needs = [need for need in spec.needs if not (spec.level and need == "grades")]
    if spec.metric.every_label:
        needs.append("every label")
    if spec.metric.gapless:
        needs.append("every score")
    return all(problem.inputs[need] for need in needs)


def mend(problem: Problem, refusals: Iterable[Refusal] = REFUSALS) -> Problem:
    """Return the problem without refused combinations."""
    for refusal in refusals:
        if refusal.applies(problem):
            problem = refusal.mend(problem)
    return problem


def unchanged(problem: Problem, draw: Draw) -> Problem:
    return problem


def maybe(draw: st.DrawFn, strategy: st.SearchStrategy[Any], odds: int = 3) -> Any:
    """Draw a value, or None most times."""
    is_drawn = draw(st.integers(1, odds)) == odds
    return draw(strategy) if is_drawn else None


def vectors(n: int, *values: Any) -> st.SearchStrategy[list[Any]]:
    """Lists with a value for each of n rows or labels."""
    return st.lists(st.sampled_from(values), min_size=n, max_size=n)


def draw_conventions(draw: st.DrawFn, form: str) -> str | dict[str, Any] | None:
    """Draw no conventions, a preset or fields, some with single fields added."""
    kind: Any = draw(st.sampled_from([None, {}, *PRESETS]))
    base = kind
    if kind == {}:
        base = draw(conventions(form))
    fields = {
        "gains": maybe(draw, st.sampled_from(["linear", "exp"])),
        "relevant_from": maybe(draw, st.sampled_from([2, 3])),
        "unlisted": maybe(draw, st.sampled_from(["below", 0.0, 0.5, -3.0])),
        "link": maybe(draw, st.just("sigmoid")),
    }
    return with_fields(base, {name: value for name, value in fields.items() if value is not None})


def draw_hierarchy(draw: st.DrawFn, n_labels: int) -> list[tuple[int, int]]:
    """Draw edges from children to parents, without cycles."""
    labels = st.integers(0, n_labels - 1)
    order = draw(st.permutations(range(n_labels)))
    pairs = draw(st.sets(st.tuples(labels, labels), max_size=8))
    return [(order[min(pair)], order[max(pair)]) for pair in pairs if pair[0] != pair[1]]


def draw_arguments(draw: st.DrawFn, form: str, n_rows: int, n_labels: int) -> dict[str, Any]:
    """Draw arguments of `evaluate`, which may not go together."""
    labels = st.integers(0, n_labels - 1)
    some_sets = st.lists(st.sets(labels), min_size=n_rows, max_size=n_rows)
    rules = st.sampled_from(["top1", "top2", "threshold0.25", "threshold-0.5"])
    fields = draw_conventions(draw, form)
    edges = draw_hierarchy(draw, n_labels)
    propensity = draw(st.sampled_from([None, "inverse_propensity", "y_train"]))
    arguments = {
        "conventions": fields,
        "sample_weight": maybe(draw, vectors(n_rows, 0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 1e-6)),
        CLUSTERS: maybe(draw, vectors(n_rows, "a", "b", "1", 1, -7), 2),
        "row_groups": maybe(draw, vectors(n_rows, "r", "s", "t")),
        "label_groups": maybe(draw, vectors(n_labels, "head", "tail", "torso")),
        "y_pred": maybe(draw, label_sets(n_rows, n_labels), 2),
        "decision": maybe(draw, rules, 2),
        "exclude": maybe(draw, some_sets, 4),
        "exclude_from": maybe(draw, st.just("predictions"), 2),
        "unjudged": maybe(draw, some_sets, 6),
        "judged": maybe(draw, some_sets, 6),
        "candidates": maybe(draw, some_sets, 5),
        "hierarchy": maybe(draw, st.just(edges), 2),
    }
    if propensity == "inverse_propensity":
        arguments["inverse_propensity"] = draw(vectors(n_labels, 1.0, 1.1, 2.5, 9.649))
    if propensity == "y_train":
        arguments["y_train"] = draw(st.lists(st.sets(labels), min_size=3, max_size=5))
    arguments |= {
        "confidence": maybe(draw, st.sampled_from([0.5, 0.95])),
        "bounds": maybe(draw, st.just(True)),
        HIGHER: maybe(draw, st.just(False)),
        "curve_points": maybe(draw, st.sampled_from([1, 2, 50])),
        "k": maybe(draw, st.sampled_from([1, [2], [1, 8]])),
        PER_ROW: maybe(draw, st.just(True), 2),
        PER_LABEL: maybe(draw, st.just(True), 2),
    }
    return {name: value for name, value in arguments.items() if value is not None}


def draw_listed(
    draw: st.DrawFn, form: str, n_labels: int, scores: st.SearchStrategy[float] | None, full: bool
) -> list[tuple[int, float | None]]:
    """Draw the labels of a row, all of them or some, with scores or without."""
    ids = draw(st.permutations(range(n_labels)))
    if not full and not draw(st.booleans()):
        ids = ids[: draw(st.integers(0, n_labels))]
    if form not in ("list", "ragged"):
        ids = sorted(ids)
    return [(label, None if scores is None else draw(scores)) for label in ids]


def draw_sizes(draw: st.DrawFn, least_rows: int, most_rows: int | None) -> tuple[int, int]:
    """Draw numbers of rows and labels, which are large at times if rows are not limited."""
    is_large = draw(st.integers(1, LARGE_ODDS)) == LARGE_ODDS
    if most_rows:
        n_rows = draw(st.integers(least_rows, most_rows))
        return n_rows, draw(st.integers(1, 7))
    n_rows = draw(st.integers(least_rows, MOST_ROWS if is_large else 9))
    return n_rows, draw(st.integers(1, MOST_LABELS if is_large else 7))


@st.composite
def free_problems(
    draw: st.DrawFn,
    forms: tuple[str, ...] = FORMS,
    least_rows: int = 0,
    most_rows: int | None = None,
    extremes: bool = False,
) -> Problem:
    """Draw a problem whose options may not go together; ``extremes`` are infinite scores."""
    n_rows, n_labels = draw_sizes(draw, least_rows, most_rows)
    form = draw(st.sampled_from(forms))
    arguments = draw_arguments(draw, form, n_rows, n_labels)
    relevant = draw(label_sets(n_rows, n_labels))
    truth = [dict.fromkeys(labels, 1.0) for labels in relevant]
    if resolve_conventions(arguments.get("conventions")).graded:
        truth = draw(judgements(relevant, n_labels))
    kinds = [LEVELS, PROBABILITIES]
    if extremes:
        kinds.append(EXTREMES)
    scores: Any = st.sampled_from(draw(st.sampled_from(kinds)))
    # batches of nested lists may list nothing, and then do not show that they have no scores
    bare = form == "list" and draw(st.booleans())
    full = form == "dense" or draw(st.booleans())
    listed: list[list[tuple[int, float | None]]] = [[] for _ in range(n_rows)]
    if form != "none":
        levels = None if bare else scores
        listed = [draw_listed(draw, form, n_labels, levels, full) for _ in range(n_rows)]
    dtype = "float64"
    if form != "ragged":
        dtype = draw(st.sampled_from(["float32", "float64"]))
    odd = draw(st.booleans())
    return Problem(n_labels, truth, listed, form, dtype, bare and any(listed), arguments, odd=odd)


def draw_metrics(draw: st.DrawFn, problem: Problem) -> list[str]:
    """Draw few measures that a problem allows, measures spread over all of them, or a group."""
    allowed = [name for name, spec in SPECS.items() if is_allowed(spec, problem)]
    groups = [name for name in GROUPS if has_allowed_measure(name, problem)]
    with_intervals = problem.has("confidence")
    kind = draw(st.sampled_from(["few", "spread", "group"]))
    if kind == "few" or (kind == "group" and not groups):
        return draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=4, unique=True))
    if kind == "spread":  # with intervals each is computed 33 times
        step = draw(st.sampled_from([31, 13] if with_intervals else [7, 1]))
        first = draw(st.integers(0, step - 1))
        return allowed[first::step] or allowed[:1]
    without_all = [name for name in groups if name != "all"]
    if with_intervals and without_all:
        groups = without_all
    return [draw(st.sampled_from(groups))]


def has_allowed_measure(group: str, problem: Problem) -> bool:
    return any(is_allowed(spec, problem) for spec, _ in expand_metrics(group))


@st.composite
def problems(
    draw: st.DrawFn, /, *, without: Iterable[str] = (), change: Any = unchanged, **limits: Any
) -> Problem:
    """Draw a valid problem without some options; ``change`` comes before it is mended."""
    problem = mend(change(draw(free_problems(**limits)).without(*without), draw))
    metrics = draw_metrics(draw, problem)
    levelled = [name for name in metrics if name in LEVELLED]
    if levelled and not problem.conventions.graded and draw(st.booleans()):
        metrics = levelled  # other measures do not read grades
        relevant = [{*row} for row in problem.truth]
        problem = replace(problem, truth=draw(judgements(relevant, problem.n_labels)))
    problem = mend(replace(problem, metrics=(*metrics,)), IDLE)
    for name in (PER_ROW, PER_LABEL):
        columns = [spec.name for spec in problem.specs if name == PER_ROW or spec.by_label]
        if problem.has(name) and columns and draw(st.booleans()):
            kept = draw(st.lists(st.sampled_from(columns), min_size=1))
            problem = problem.with_arguments(**{name: kept})
    return problem
