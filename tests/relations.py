"""Changes of a problem whose effect on every measure is known.

A relation changes a problem; values of both are the same, or as `expected` says, for the measures that it
`holds` for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from tests import problems
from tests.problems import CLUSTERS, HIGHER, PER_LABEL, PER_ROW, Draw, Problem, Spec, unchanged
from tests.routes import comparable, contents_of, differences, usual_tolerance

Contents = dict[str, Any]
VALUES = (
    "values", "intervals", "confidence", "standard_errors", "thresholds", "reliability",
    "groups", "row_groups",
)  # fmt: skip
KEPT = (*VALUES, "per_row", "per_label", "curves")
ROUNDED = 1e-12  # sums of other terms


@dataclass(frozen=True)
class Relation:
    """How a problem is changed, and what is then the same.

    ``base`` makes of a drawn problem one that can be changed; ``expected`` makes of the contents of its
    report those of the changed one, of which ``parts`` are compared.
    """

    change: Callable[[Problem, Draw], Problem]
    holds: Callable[[Spec], bool] = lambda spec: True
    tolerance: float | None = None
    base: Callable[[Problem, Draw], Problem] = unchanged
    expected: Callable[[Contents, Problem, Problem], Contents] = lambda contents, *pair: contents
    parts: tuple[str, ...] = VALUES
    ignored: tuple[str, ...] = ()  # names within the parts
    fewer: bool = False  # whether the changed problem asks for few of the measures
    without: tuple[str, ...] = ()
    limits: dict[str, Any] = field(default_factory=dict)


def compare(name: str, problem: Problem, draw: Draw) -> list[str]:
    """Return how the changed problem differs from what is expected of it."""
    relation = RELATIONS[name]
    names = [spec.name for spec in problem.specs if relation.holds(spec)]
    if not names:
        return []
    changed = relation.change(problem, draw)
    names = [name for name in names if problems.is_allowed(problems.parse_spec(name), changed)]
    asked = draw(st.sets(st.sampled_from(names), min_size=1, max_size=2)) if relation.fewer else {*names}
    if not asked:
        return []
    pair = asking(problem, names), asking(changed, [name for name in names if name in asked])
    before, after = (comparable(contents_of(each.evaluate())) for each in pair)
    for contents in (before, after):  # such notes name how an option was given
        contents["notes"] = [note for note in contents["notes"] if " no effect on " not in note]
    before = relation.expected(before, *pair)
    ignored = {*relation.ignored, *({*names} - asked)}
    before, after = (without_names(picked(each, relation.parts), ignored) for each in (before, after))
    usual = usual_tolerance(problem)
    return differences(before, after, lambda place: max_of(usual(place), relation.tolerance))


def picked(contents: Contents, names: Sequence[str]) -> Contents:
    return {name: contents.get(name, {}) for name in names}


def without_names(contents: Any, names: set[str]) -> Any:
    """Return nested contents without some names, and without what has no others."""
    if not isinstance(contents, dict):
        return contents
    kept = {name: without_names(value, names) for name, value in contents.items() if name not in names}
    return {name: value for name, value in kept.items() if value not in ({}, [])}


def max_of(*tolerances: float | None) -> float | None:
    return max((each for each in tolerances if each is not None), default=None)


def asking(problem: Problem, metrics: Sequence[str]) -> Problem:
    """Return the problem with these measures, of which all values by row and by label are kept."""
    kept = {name: True for name in (PER_ROW, PER_LABEL) if problem.has(name)}
    return problems.mend(replace(problem.with_arguments(**kept), metrics=(*metrics,)), problems.IDLE)


def numbered(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with a cluster for each row, by its number, as if there were no clusters."""
    missing = problem.has("confidence") and not problem.has(CLUSTERS)
    return problem.with_arguments(**{CLUSTERS: [*range(problem.n_rows)]}) if missing else problem


def order_rows(problem: Problem, draw: Draw) -> Problem:
    return problem.take(draw(st.permutations(range(problem.n_rows))))


def with_values(name: str, *values: Any) -> Callable[[Problem, Draw], Problem]:
    """Give rows, or labels if they are to be grouped, drawn values."""

    def give(problem: Problem, draw: Draw) -> Problem:
        n = problem.n_labels if name == "label_groups" else problem.n_rows
        drawn = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        return numbered(problem, draw).with_arguments(**{name: drawn})

    return give


def repeat_rows(problem: Problem, draw: Draw) -> Problem:
    weights = problem.arguments["sample_weight"]
    rows = [row for row, weight in enumerate(weights) for _ in range(int(weight))]
    return problem.take(rows).without("sample_weight")


def drop_weightless(problem: Problem, draw: Draw) -> Problem:
    return problem.take(row for row, weight in enumerate(problem.arguments["sample_weight"]) if weight)


def rename_labels(problem: Problem, draw: Draw) -> Problem:
    new = draw(st.permutations(range(problem.n_labels)))
    old = sorted(range(problem.n_labels), key=new.__getitem__)
    arguments = dict(problem.arguments)
    for name in ("y_pred", "exclude", "candidates", "y_train"):
        if name in arguments:
            arguments[name] = [{new[label] for label in row} for row in arguments[name]]
    for name in ("label_groups", "inverse_propensity"):
        if name in arguments:
            arguments[name] = [arguments[name][label] for label in old]
    if "hierarchy" in arguments:
        arguments["hierarchy"] = [(new[child], new[parent]) for child, parent in arguments["hierarchy"]]
    truth = [{new[label]: grade for label, grade in row.items()} for row in problem.truth]
    listed = [[(new[label], score) for label, score in row] for row in problem.listed]
    return replace(problem, truth=truth, listed=listed, arguments=arguments)


def without_pairs(problem: Problem, draw: Draw) -> Problem:
    gone, predictions_alone = problem.arguments["exclude"], problem.has("exclude_from")
    truth = [
        row if predictions_alone else {label: grade for label, grade in row.items() if label not in out}
        for row, out in zip(problem.truth, gone, strict=True)
    ]
    rows = zip(problem.listed, gone, strict=True)
    listed = [[entry for entry in row if entry[0] not in out] for row, out in rows]
    form = "csr" if problem.form == "dense" else problem.form
    problem = replace(problem, truth=truth, listed=listed, form=form)
    if problem.has("y_pred"):
        pairs = zip(problem.arguments["y_pred"], gone, strict=True)
        problem = problem.with_arguments(y_pred=[row - out for row, out in pairs])
    return problem.without("exclude", "exclude_from")


def within_candidates(problem: Problem, draw: Draw) -> Problem:
    rows = zip(problem.listed, problem.arguments["candidates"], strict=True)
    listed = [[entry for entry in row if entry[0] in among] for row, among in rows]
    form = "csr" if problem.form == "dense" else problem.form
    return replace(problem, listed=listed, form=form).without("candidates")


def with_sets(name: str) -> Callable[[Problem, Draw], Problem]:
    def give(problem: Problem, draw: Draw) -> Problem:
        labels, n = st.sets(st.integers(0, problem.n_labels - 1)), problem.n_rows
        sets = problem.arguments.get(name) or draw(st.lists(labels, min_size=n, max_size=n))
        return problem.with_arguments(**{name: sets})

    return give


def map_scores(problem: Problem, change: Callable[[float], float]) -> Problem:
    """Change every score, that of unlisted labels and the threshold of a rule."""
    listed = [[(j, None if s is None else change(s)) for j, s in row] for row in problem.listed]
    problem = replace(problem, listed=listed)
    rule = problem.arguments.get("decision", "")
    if rule.startswith("threshold"):
        threshold = change(float(rule.removeprefix("threshold")))
        problem = problem.with_arguments(decision=f"threshold{threshold!r}")
    level = problem.unlisted
    return problem if level is None else problem.with_conventions(unlisted=change(level))


def negated(problem: Problem, draw: Draw) -> Problem:
    return map_scores(problem.without(HIGHER), lambda score: 0.0 - score)


def stretched(problem: Problem, draw: Draw) -> Problem:
    return map_scores(problem, lambda score: 4 * score - 7)


def plain(problem: Problem, draw: Draw) -> Problem:
    """Return the problem without pairs, candidates and distances, which the definitions do not know."""
    if problem.has("exclude"):
        problem = without_pairs(problem, draw)
    if problem.has("candidates"):
        problem = within_candidates(problem, draw)
    return negated(problem, draw) if problem.has(HIGHER) else problem


def negate_thresholds(contents: Contents, problem: Problem, changed: Problem) -> Contents:
    """Return contents with thresholds of scores that are negated; JSON has infinite ones as texts."""

    def negate(value: Any) -> Any:
        if isinstance(value, list):
            return [negate(each) for each in value]
        number = value if value is None else 0.0 - float(value)
        return str(number) if isinstance(value, str) else number

    columns = contents.get("per_label", {})
    thresholds = {name: negate(column) for name, column in columns.items() if name.startswith("threshold")}
    curves = contents.get("curves", [])
    return contents | {
        "thresholds": {name: negate(value) for name, value in contents["thresholds"].items()},
        "per_label": columns | thresholds,
        "curves": [negate(each) if place % 3 == 2 else each for place, each in enumerate(curves)],
    }


def in_groups_of(contents: Contents, problem: Problem, changed: Problem) -> Contents:
    """Return contents with the groups of rows that still have rows."""
    groups = {str(group) for group in changed.arguments.get("row_groups", ())}
    parts = {name: part for name, part in contents.get("row_groups", {}).items() if name in groups}
    return contents | {"row_groups": parts}


def has_no_sets_of_labels(spec: Spec) -> bool:
    """Whether a measure is none of the numbers of different label sets, which have no weights."""
    return spec.metric.name not in ("label_diversity", "proportional_diversity")


def is_of_order(spec: Spec) -> bool:
    """Whether a measure reads the order of scores alone."""
    return spec.metric.family != "margins" and "probabilities" not in spec.needs


def listed_below(problem: Problem, draw: Draw) -> Problem:
    return problem.with_conventions(unlisted="below")


def with_some_weights(problem: Problem, draw: Draw) -> Problem:
    return with_values("sample_weight", 0.0, 0.5, 3.0)(without_ones(problem, draw), draw)


def without_ones(problem: Problem, draw: Draw) -> Problem:
    """Return a problem in which rows without relevant labels do not count 1, or groups had no shares."""
    return problem.with_conventions(empty="zero") if problem.conventions.empty == "one" else problem


def by_fields(problem: Problem, draw: Draw) -> Problem:
    """Give the conventions in another way."""
    fields, preset = problem.conventions.as_dict(), draw(st.sampled_from([*problems.PRESETS]))
    text = ",".join(f"{name}={value}" for name, value in fields.items())
    ways = [problem.conventions, vars(problem.conventions), fields, text, f"{preset},{text}"]
    return problem.with_arguments(conventions=draw(st.sampled_from(ways)))


def ranked(problem: Problem, row: int) -> list[tuple[int, float]]:
    """Return labels and scores, best first; without scores their places stand for these."""
    sign = problem.sign
    listed = [(j, -float(n) if s is None else sign * s) for n, (j, s) in enumerate(problem.listed[row])]
    if problem.unlisted is not None:
        unlisted = {*range(problem.n_labels)} - {label for label, _ in listed}
        listed += [(label, sign * problem.unlisted) for label in sorted(unlisted)]
    order = sorted(listed) if problem.form in ("csr", "dense") else listed
    return sorted(order, key=lambda entry: -entry[1])


def with_sets_of_decision(problem: Problem, draw: Draw) -> Problem:
    if not problem.has("decision"):  # which was refused
        return problem
    rule, sign = problem.arguments["decision"], problem.sign
    rows = [ranked(problem, row) for row in range(problem.n_rows)]
    if rule.startswith("top"):
        sets = [{label for label, _ in row[: int(rule.removeprefix("top"))]} for row in rows]
    else:
        least = sign * float(rule.removeprefix("threshold"))
        sets = [{label for label, score in row if score > least} for row in rows]
    return problem.without("decision").with_arguments(y_pred=sets)


def with_decision(problem: Problem, draw: Draw) -> Problem:
    rule = problem.arguments.get("decision") or draw(st.sampled_from(["top1", "top3"]))
    return problem.without("y_pred").with_arguments(decision=rule)


def in_form(problem: Problem, draw: Draw) -> Problem:
    """Return the same scores in lists, or with only stored entries."""
    forms, listed = ["list", "ragged"], problem.listed
    if problem.form in ("csr", "dense"):
        forms.append("csr")
        listed = [sorted(row, key=lambda entry: -problem.sign * (entry[1] or 0.0)) for row in listed]
    form = draw(st.sampled_from(forms))
    return replace(problem, listed=problem.listed if form == "csr" else listed, form=form)


def filled(problem: Problem, draw: Draw) -> Problem:
    """Return dense scores, those of unlisted labels included."""
    rows = (dict.fromkeys(range(problem.n_labels), problem.unlisted) | dict(row) for row in problem.listed)
    return listed_below(replace(problem, listed=[[*row.items()] for row in rows], form="dense"), draw)


def with_unlisted_score(problem: Problem, draw: Draw) -> Problem:
    if problem.unlisted is not None:
        return problem
    return problem.with_conventions(unlisted=draw(st.sampled_from([0.0, 0.5])))


def without_extras(problem: Problem, draw: Draw) -> Problem:
    return problem.without(
        CLUSTERS, *draw(st.sets(st.sampled_from(problems.EXTRAS), min_size=1)), "confidence"
    )


def one_row_group(problem: Problem, draw: Draw) -> Problem:
    groups = problem.arguments["row_groups"]
    group = draw(st.sampled_from(sorted({*groups})))
    rows = problem.take(row for row, name in enumerate(groups) if name == group)
    return rows.with_arguments(row_groups=[group] * rows.n_rows)


def part_of(kind: str, option: str) -> Callable[[Contents, Problem, Problem], Contents]:
    """Return what takes the part of the only group that the changed problem has."""
    return lambda contents, problem, changed: contents[kind][changed.arguments[option][0]]


def one_label_group(problem: Problem, draw: Draw) -> Problem:
    """Return the problem of the labels of a group, in the rows that have relevant ones of them."""
    groups = problem.arguments["label_groups"]
    group = draw(st.sampled_from(sorted({*groups})))
    new = {old: label for label, old in enumerate(j for j, name in enumerate(groups) if name == group)}
    arguments = dict(problem.arguments)
    if "y_train" in arguments:
        arguments["y_train"] = [{new[label] for label in row if label in new} for row in arguments["y_train"]]
    for name in ("label_groups", "inverse_propensity"):
        if name in arguments:
            arguments[name] = [arguments[name][old] for old in new]
    truth = [{new[j]: grade for j, grade in row.items() if j in new} for row in problem.truth]
    listed = [[(new[j], score) for j, score in row if j in new] for row in problem.listed]
    part = replace(problem, n_labels=len(new), truth=truth, listed=listed, arguments=arguments)
    return part.take(row for row, relevant in enumerate(part.relevant()) if relevant)


def is_of_ranked_rows(spec: Spec) -> bool:
    """Whether a measure is a mean over rows that reads ranked labels, of which no set was made before."""
    families = ("sets", "curves", "calibration", "abstaining", "statistics", "predicted")
    of_rows = spec.average in (None, "samples") and spec.metric.name != "label_coverage"
    return of_rows and spec.metric.family not in families


def binary(problem: Problem, draw: Draw) -> Problem:
    truth = [dict.fromkeys(sorted(row), 1.0) for row in problem.relevant()]
    return replace(problem.with_conventions(gains="binary"), truth=truth)


SCORED = {"forms": ("csr", "dense", "list", "ragged")}
RELATIONS = {
    "permuted rows": Relation(order_rows, base=numbered),
    "weight 2 is the row twice": Relation(
        repeat_rows, base=with_values("sample_weight", 1.0, 2.0), holds=has_no_sets_of_labels,
        ignored=("n_rows",), tolerance=ROUNDED, without=("bounds",),  # of auc, there are some without weights
    ),
    "weight 0 is no row": Relation(
        drop_weightless, base=with_some_weights, holds=has_no_sets_of_labels, ignored=("n_rows",),
        expected=in_groups_of,
    ),
    "renamed labels": Relation(
        rename_labels, base=listed_below, tolerance=ROUNDED, limits={"forms": ("list", "none")}
    ),
    "monotone scores": Relation(
        stretched, holds=is_of_order, parts=tuple({*VALUES} - {"thresholds"})
    ),
    "excluded pairs are gone": Relation(without_pairs, base=with_sets("exclude")),
    "candidates alone are listed": Relation(
        within_candidates, base=with_sets("candidates"), limits={"forms": ("csr", "dense", "list")}
    ),
    "distances are negated scores": Relation(
        negated, base=lambda p, draw: p.with_arguments(**{HIGHER: False}), expected=negate_thresholds,
        parts=KEPT,
    ),
    "conventions by fields": Relation(by_fields, parts=(*KEPT, "conventions", "notes", "not_computed")),
    "sets of a decision": Relation(
        with_sets_of_decision, base=with_decision, parts=(*VALUES, "per_label"),
        without=("exclude", "candidates"), limits=SCORED,
    ),
    "other forms": Relation(
        in_form, base=lambda p, draw: replace(listed_below(p, draw), dtype="float64"), parts=KEPT,
        limits=SCORED,
    ),
    "unlisted scores are stored": Relation(
        filled, base=with_unlisted_score, parts=KEPT,
        holds=lambda spec: spec.metric.family != "losses",
        without=("exclude", "candidates", "bounds", "curve_points"), limits={"forms": ("csr",)},
    ),
    "losses of unlisted scores, of stored ones": Relation(
        filled, base=with_unlisted_score, parts=KEPT,
        holds=lambda spec: spec.metric.family == "losses", tolerance=ROUNDED,
        without=("exclude", "candidates", "bounds", "curve_points"), limits={"forms": ("csr",)},
    ),
    "few measures": Relation(unchanged, fewer=True),
    "without extras": Relation(without_extras, parts=("values", "thresholds")),
    "a group of rows": Relation(
        one_row_group, base=with_values("row_groups", "r", "s"), expected=part_of("row_groups", "row_groups"),
        parts=("values", "confidence", "standard_errors"), limits={"least_rows": 1},
    ),
    "a group of labels": Relation(
        one_label_group, base=with_values("label_groups", "head", "tail"), holds=is_of_ranked_rows,
        expected=part_of("groups", "label_groups"),
        parts=("values", "confidence", "standard_errors"),
        without=("exclude", "candidates", "hierarchy", "y_pred", "decision"),
    ),
    "rows are clusters": Relation(numbered, parts=(*KEPT, "notes"), without=(CLUSTERS,)),
}  # fmt: skip
