"""Changes of a problem whose effect on every measure is known.

A relation changes a problem. For the measures that it `holds` for, the values of both problems are
equal, or `expected` computes those of the changed one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from tests import problems
from tests.problems import (
    CLUSTERS,
    HIGHER,
    PER_LABEL,
    PER_ROW,
    SETS,
    Draw,
    Problem,
    Spec,
    unchanged,
)
from tests.routes import comparable, contents_of, differences, usual_tolerance

Contents = dict[str, Any]
VALUES = (
    "values",
    "intervals",
    "confidence",
    "standard_errors",
    "thresholds",
    "reliability",
    "groups",
    "row_groups",
)
SIZES = ("n_rows", "n_labels", "training_rows")
OF_GROUPS = (*SIZES, "values", "confidence", "standard_errors", "shares")  # that are compared
KEPT = (*VALUES, "per_row", "per_label", "curves")
ROUNDED = 1e-12  # sums of other terms


@dataclass(frozen=True)
class Relation:
    """A change of a problem, and the contents of its report that are compared.

    ``base`` prepares a drawn problem for the change; ``expected`` turns the contents of its report
    into those of the changed problem, of which ``parts`` are compared.
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
    """Return the differences of the changed problem's report from the expected contents."""
    relation = RELATIONS[name]
    names = [spec.name for spec in problem.specs if relation.holds(spec)]
    if not names:
        return []
    changed = relation.change(problem, draw)
    names = [name for name in names if problems.is_allowed(problems.parse_spec(name), changed)]
    compared = {*names}
    if relation.fewer:
        compared = draw(st.sets(st.sampled_from(names), min_size=1, max_size=2))
    if not compared:
        return []
    problem = with_metrics(problem, names)
    changed = with_metrics(changed, [name for name in names if name in compared])
    expected = relation.expected(contents_to_compare(problem), problem, changed)
    actual = contents_to_compare(changed)
    ignored = {*relation.ignored} | ({*names} - compared)
    usual = usual_tolerance(problem)
    return differences(
        without_names(pick(expected, relation.parts), ignored),
        without_names(pick(actual, relation.parts), ignored),
        lambda place: max_of(usual(place), relation.tolerance),
    )


def contents_to_compare(problem: Problem) -> Contents:
    """Return the contents of a report, without notes that name how an option was given."""
    contents = comparable(contents_of(problem.evaluate()))
    of_given = (" no effect on ", "grades above 1 occur")
    notes = contents["notes"]
    contents["notes"] = [note for note in notes if not any(text in note for text in of_given)]
    for kind in ("groups", "row_groups"):
        for name, group in contents.get(kind, {}).items():
            contents[kind][name] = {each: group[each] for each in OF_GROUPS if each in group}
    return contents


def pick(contents: Contents, names: Sequence[str]) -> Contents:
    return {name: contents.get(name, {}) for name in names}


def without_names(contents: Any, names: set[str]) -> Any:
    """Return nested contents without some names, and without dicts that become empty."""
    if not isinstance(contents, dict):
        return contents
    kept = {}
    for name, content in contents.items():
        if name not in names:
            kept[name] = without_names(content, names)
    return {name: content for name, content in kept.items() if content not in ({}, [])}


def max_of(*tolerances: float | None) -> float | None:
    return max((value for value in tolerances if value is not None), default=None)


def with_metrics(problem: Problem, metrics: Sequence[str]) -> Problem:
    """Return the problem with these measures, all of them by row and by label where any are."""
    kept = {name: True for name in (PER_ROW, PER_LABEL) if problem.has(name)}
    changed = replace(problem.with_arguments(**kept), metrics=(*metrics,))
    return problems.mend(changed, problems.IDLE)


def with_row_clusters(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with row numbers as clusters, which are the default."""
    if not problem.has("confidence") or problem.has(CLUSTERS):
        return problem
    return problem.with_arguments(**{CLUSTERS: [*range(problem.n_rows)]})


def order_rows(problem: Problem, draw: Draw) -> Problem:
    return problem.take(draw(st.permutations(range(problem.n_rows))))


def with_values(name: str, *values: Any) -> Callable[[Problem, Draw], Problem]:
    """Return a change that gives every row a drawn value, or every label its group."""

    def give(problem: Problem, draw: Draw) -> Problem:
        n = problem.n_labels if name == "label_groups" else problem.n_rows
        drawn = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
        return with_row_clusters(problem, draw).with_arguments(**{name: drawn})

    return give


def repeat_rows(problem: Problem, draw: Draw) -> Problem:
    weights = problem.arguments["sample_weight"]
    rows = [row for row, weight in enumerate(weights) for _ in range(int(weight))]
    return problem.take(rows).without("sample_weight")


def drop_weightless(problem: Problem, draw: Draw) -> Problem:
    weights = problem.arguments["sample_weight"]
    return problem.take(row for row, weight in enumerate(weights) if weight)


def rename_labels(problem: Problem, draw: Draw) -> Problem:
    new = draw(st.permutations(range(problem.n_labels)))
    old = sorted(range(problem.n_labels), key=new.__getitem__)
    arguments = dict(problem.arguments)
    for name in (*SETS, "y_train"):
        if name in arguments:
            arguments[name] = [{new[label] for label in row} for row in arguments[name]]
    for name in ("label_groups", "inverse_propensity"):
        if name in arguments:
            arguments[name] = [arguments[name][label] for label in old]
    if "hierarchy" in arguments:
        edges = arguments["hierarchy"]
        arguments["hierarchy"] = [(new[child], new[parent]) for child, parent in edges]
    truth = [{new[label]: grade for label, grade in row.items()} for row in problem.truth]
    listed = [[(new[label], score) for label, score in row] for row in problem.listed]
    return replace(problem, truth=truth, listed=listed, arguments=arguments)


def without_pairs(problem: Problem, draw: Draw) -> Problem:
    excluded = problem.arguments["exclude"]
    truth = problem.truth
    if not problem.has("exclude_from"):  # which keeps the truth
        rows = zip(problem.truth, excluded, strict=True)
        truth = [{j: grade for j, grade in row.items() if j not in out} for row, out in rows]
    listed = []
    for row, out in zip(problem.listed, excluded, strict=True):
        listed.append([(label, score) for label, score in row if label not in out])
    problem = replace(problem, truth=truth, listed=listed, form=form_with_gaps(problem))
    if problem.has("y_pred"):
        pairs = zip(problem.arguments["y_pred"], excluded, strict=True)
        problem = problem.with_arguments(y_pred=[row - out for row, out in pairs])
    return problem.without("exclude", "exclude_from")


def excluding_some_labels(problem: Problem, draw: Draw) -> Problem:
    """Exclude pairs, but not all labels of a row, of which then nothing is judged."""
    problem = with_sets("exclude")(problem, draw)
    labels = {*range(problem.n_labels)}
    excluded = [row - {0} if row == labels else row for row in problem.arguments["exclude"]]
    return problem.with_arguments(exclude=excluded)


def is_of_remaining_labels(spec: Spec) -> bool:
    """Whether neither unlisted irrelevant labels nor those that no row judges matter."""
    return not (spec.metric.every_label or spec.average in ("macro", "weighted", "of_macros"))


def judging_others(problem: Problem, draw: Draw) -> Problem:
    labels = {*range(problem.n_labels)}
    judged = [labels - row for row in problem.arguments["unjudged"]]
    return problem.with_arguments(judged=judged).without("unjudged")


def form_with_gaps(problem: Problem) -> str:
    """Return the form of scores, or CSR for dense ones."""
    return "csr" if problem.form == "dense" else problem.form


def within_candidates(problem: Problem, draw: Draw) -> Problem:
    listed = []
    for row, candidates in zip(problem.listed, problem.arguments["candidates"], strict=True):
        listed.append([(label, score) for label, score in row if label in candidates])
    form = form_with_gaps(problem)
    return replace(problem, listed=listed, form=form).without("candidates")


def with_sets(name: str) -> Callable[[Problem, Draw], Problem]:
    def give(problem: Problem, draw: Draw) -> Problem:
        labels = st.sets(st.integers(0, problem.n_labels - 1))
        n = problem.n_rows
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
    if problem.unlisted is None:
        return problem
    return problem.with_conventions(unlisted=change(problem.unlisted))


def negated(problem: Problem, draw: Draw) -> Problem:
    return map_scores(problem.without(HIGHER), lambda score: 0.0 - score)


def stretched(problem: Problem, draw: Draw) -> Problem:
    return map_scores(problem, lambda score: 4 * score - 7)


def plain(problem: Problem, draw: Draw) -> Problem:
    """Return the problem as the definitions take it: nothing is excluded from predictions alone."""
    if problem.has("exclude", "exclude_from"):
        problem = without_pairs(problem, draw)
    if problem.has("candidates"):
        problem = within_candidates(problem, draw)
    if problem.has(HIGHER):
        problem = negated(problem, draw)
    return problem


def negate_thresholds(contents: Contents, problem: Problem, changed: Problem) -> Contents:
    """Return the contents with negated thresholds, by label and on curves, too."""
    columns = dict(contents.get("per_label", {}))
    for name, column in columns.items():
        if name.startswith("threshold"):
            columns[name] = negate(column)
    curves = [*contents.get("curves", [])]
    curves[2::3] = map(negate, curves[2::3])  # x, y and thresholds of each curve
    return contents | {
        "thresholds": {name: negate(value) for name, value in contents["thresholds"].items()},
        "per_label": columns,
        "curves": curves,
    }


def negate(value: Any) -> Any:
    """Return a number or list of numbers negated; infinite ones are texts in JSON."""
    if value is None:
        return None
    if isinstance(value, list):
        return [negate(each) for each in value]
    number = 0.0 - float(value)
    return str(number) if isinstance(value, str) else number


def in_groups_of(contents: Contents, problem: Problem, changed: Problem) -> Contents:
    """Return contents with the groups of rows that still have rows."""
    groups = {str(group) for group in changed.arguments.get("row_groups", ())}
    parts = {name: part for name, part in contents.get("row_groups", {}).items() if name in groups}
    return contents | {"row_groups": parts}


def has_no_sets_of_labels(spec: Spec) -> bool:
    """Whether a measure is weighted, as all are but the numbers of distinct label sets."""
    return spec.metric.name not in ("label_diversity", "proportional_diversity")


def is_of_order(spec: Spec) -> bool:
    """Whether a measure reads the order of scores alone."""
    return spec.metric.family != "margins" and "probabilities" not in spec.needs


def listed_below(problem: Problem, draw: Draw) -> Problem:
    return problem.with_conventions(unlisted="below")


def with_some_weights(problem: Problem, draw: Draw) -> Problem:
    return with_values("sample_weight", 0.0, 0.5, 3.0)(without_ones(problem, draw), draw)


def without_ones(problem: Problem, draw: Draw) -> Problem:
    """Return a problem whose rows without relevant labels do not count 1."""
    if problem.conventions.empty == "one":
        return problem.with_conventions(empty="zero")
    return problem


def by_fields(problem: Problem, draw: Draw) -> Problem:
    """Write the conventions as a record, a dict or a text, after a preset or alone."""
    fields = problem.conventions.as_dict()
    given = problem.arguments.get("conventions")
    if not isinstance(given, str | dict):  # a record gives no field
        given = ""
    presets = dict(problems.PRESETS)
    for name, usual in (("gains", "binary"), ("relevant_from", 1)):
        if fields[name] == usual and name not in given:
            del fields[name]  # given, it would answer a note on grades
            presets = {key: each for key, each in presets.items() if getattr(each, name) == usual}
    preset = draw(st.sampled_from([*presets]))
    text = ",".join(f"{name}={value}" for name, value in fields.items())
    ways = [problem.conventions, fields, text, f"{preset},{text}"]
    return problem.with_arguments(conventions=draw(st.sampled_from(ways)))


def ranked(problem: Problem, row: int) -> list[tuple[int, float]]:
    """Return labels and scores, best first; a list without scores gets falling ones."""
    sign = problem.sign
    entries = []
    for place, (label, score) in enumerate(problem.listed[row]):
        entries.append((label, -float(place) if score is None else sign * score))
    if problem.unlisted is not None:
        unlisted = {*range(problem.n_labels)} - {label for label, _ in entries}
        entries += [(label, sign * problem.unlisted) for label in sorted(unlisted)]
    if problem.form in ("csr", "dense"):
        entries = sorted(entries)
    return sorted(entries, key=lambda entry: -entry[1])


def with_sets_of_decision(problem: Problem, draw: Draw) -> Problem:
    if not problem.has("decision"):  # was refused
        return problem
    rule = problem.arguments["decision"]
    sign = problem.sign
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
    """Return the same scores in lists, or a matrix with the listed entries alone."""
    is_matrix = problem.form in ("csr", "dense")
    form = draw(st.sampled_from(["list", "ragged", "csr"] if is_matrix else ["list", "ragged"]))
    listed = problem.listed
    if is_matrix and form != "csr":
        listed = [best_first(row, problem.sign) for row in listed]
    return replace(problem, listed=listed, form=form)


def best_first(row: list[tuple[int, float | None]], sign: float) -> list[tuple[int, float | None]]:
    return sorted(row, key=lambda entry: -sign * (entry[1] or 0.0))


def filled(problem: Problem, draw: Draw) -> Problem:
    """Return dense scores, those of unlisted labels included."""
    listed = []
    for row in problem.listed:
        scores = dict.fromkeys(range(problem.n_labels), problem.unlisted) | dict(row)
        listed.append([*scores.items()])
    return listed_below(replace(problem, listed=listed, form="dense"), draw)


def with_unlisted_score(problem: Problem, draw: Draw) -> Problem:
    if problem.unlisted is not None:
        return problem
    return problem.with_conventions(unlisted=draw(st.sampled_from([0.0, 0.5])))


def without_extras(problem: Problem, draw: Draw) -> Problem:
    extras = draw(st.sets(st.sampled_from(problems.EXTRAS), min_size=1))
    return problem.without(CLUSTERS, *extras, "confidence")


def one_row_group(problem: Problem, draw: Draw) -> Problem:
    groups = problem.arguments["row_groups"]
    group = draw(st.sampled_from(sorted({*groups})))
    rows = problem.take(row for row, name in enumerate(groups) if name == group)
    return rows.with_arguments(row_groups=[group] * rows.n_rows)


def part_of(kind: str, option: str) -> Callable[[Contents, Problem, Problem], Contents]:
    """Return the contents of the only group of the changed problem."""
    return lambda contents, problem, changed: contents[kind][changed.arguments[option][0]]


def one_label_group(problem: Problem, draw: Draw) -> Problem:
    """Return the problem of the labels of a group, in the rows where any of them is relevant."""
    groups = problem.arguments["label_groups"]
    group = draw(st.sampled_from(sorted({*groups})))
    labels = [label for label, name in enumerate(groups) if name == group]
    new = {label: number for number, label in enumerate(labels)}
    arguments = dict(problem.arguments)
    if "y_train" in arguments:
        rows = arguments["y_train"]
        arguments["y_train"] = [{new[label] for label in row if label in new} for row in rows]
    for name in ("label_groups", "inverse_propensity"):
        if name in arguments:
            arguments[name] = [arguments[name][label] for label in labels]
    truth = [{new[j]: grade for j, grade in row.items() if j in new} for row in problem.truth]
    listed = [[(new[j], score) for j, score in row if j in new] for row in problem.listed]
    part = replace(problem, n_labels=len(new), truth=truth, listed=listed, arguments=arguments)
    return part.take(row for row, relevant in enumerate(part.relevant()) if relevant)


def is_of_ranked_rows(spec: Spec) -> bool:
    """Whether a measure is a mean over rows that reads ranked labels, not predicted sets.

    A group has the rows with labels that are relevant by the conventions, or at its own level.
    """
    if spec.level:
        return False
    families = ("sets", "curves", "calibration", "abstaining", "statistics", "predicted")
    is_mean_of_rows = spec.average in (None, "samples") and spec.metric.name != "label_coverage"
    return is_mean_of_rows and spec.metric.family not in families


def binary(problem: Problem, draw: Draw) -> Problem:
    truth = [dict.fromkeys(sorted(row), 1.0) for row in problem.relevant()]
    return replace(problem.with_conventions(gains="binary", relevant_from=1), truth=truth)


SCORED = {"forms": ("csr", "dense", "list", "ragged")}
RELATIONS = {
    "permuted rows": Relation(order_rows, base=with_row_clusters),
    "weight 2 is the row twice": Relation(
        repeat_rows,
        base=with_values("sample_weight", 1.0, 2.0),
        holds=has_no_sets_of_labels,
        ignored=("n_rows",),
        tolerance=ROUNDED,
        without=("bounds",),  # those of auc exist only without weights
    ),
    "weight 0 is no row": Relation(
        drop_weightless,
        base=with_some_weights,
        holds=has_no_sets_of_labels,
        ignored=("n_rows",),
        expected=in_groups_of,
    ),
    "renamed labels": Relation(
        rename_labels, base=listed_below, tolerance=ROUNDED, limits={"forms": ("list", "none")}
    ),
    "monotone scores": Relation(
        stretched, holds=is_of_order, parts=tuple({*VALUES} - {"thresholds"})
    ),
    "excluded pairs are gone": Relation(
        without_pairs,
        base=excluding_some_labels,
        holds=is_of_remaining_labels,
        without=("unjudged", "judged"),
    ),
    "all other labels are judged": Relation(
        judging_others,
        base=with_sets("unjudged"),
        without=("judged",),
        parts=(*VALUES, "per_label"),
    ),
    "candidates alone are listed": Relation(
        within_candidates, base=with_sets("candidates"), limits={"forms": ("csr", "dense", "list")}
    ),
    "distances are negated scores": Relation(
        negated,
        base=lambda p, draw: p.with_arguments(**{HIGHER: False}),
        expected=negate_thresholds,
        parts=KEPT,
    ),
    "conventions by fields": Relation(
        by_fields, parts=(*KEPT, "conventions", "notes", "not_computed")
    ),
    "sets of a decision": Relation(
        with_sets_of_decision,
        base=with_decision,
        parts=(*VALUES, "per_label"),
        without=SETS[1:],
        tolerance=ROUNDED,  # of weighted supports, which are sums of hits and misses
        limits=SCORED,
    ),
    "other forms": Relation(
        in_form,
        base=lambda p, draw: replace(listed_below(p, draw), dtype="float64"),
        parts=KEPT,
        limits=SCORED,
    ),
    "unlisted scores are stored": Relation(
        filled,
        base=with_unlisted_score,
        parts=KEPT,
        holds=lambda spec: spec.metric.family != "losses",
        without=(*SETS[1:], "bounds", "curve_points"),
        limits={"forms": ("csr",)},
    ),
    "losses of unlisted scores, of stored ones": Relation(
        filled,
        base=with_unlisted_score,
        parts=KEPT,
        holds=lambda spec: spec.metric.family == "losses",
        tolerance=ROUNDED,
        without=(*SETS[1:], "bounds", "curve_points"),
        limits={"forms": ("csr",)},
    ),
    "few measures": Relation(unchanged, fewer=True),
    "without extras": Relation(without_extras, parts=("values", "thresholds")),
    "a group of rows": Relation(
        one_row_group,
        base=with_values("row_groups", "r", "s"),
        expected=part_of("row_groups", "row_groups"),
        parts=("values", "confidence", "standard_errors"),
        limits={"least_rows": 1},
    ),
    "a group of labels": Relation(
        one_label_group,
        base=with_values("label_groups", "head", "tail"),
        holds=is_of_ranked_rows,
        expected=part_of("groups", "label_groups"),
        parts=("values", "confidence", "standard_errors"),
        without=(*SETS[1:], "hierarchy", "y_pred", "decision"),
    ),
    "rows are clusters": Relation(with_row_clusters, parts=(*KEPT, "notes"), without=(CLUSTERS,)),
}
