"""Routes from a problem to its report, which must all give the same bytes.

A route is a function of a problem and of a source of choices, such as where to cut. `ROUTES` lists
them with the options that they do not take.
"""

import copy
import itertools
import json
import math
import pickle
import tempfile
from collections import UserDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests import forms
from tests.cluster.executors import ShuffledExecutor, count_leaves, job_of, leaf
from tests.file_routes import (
    LABEL_TABLE,
    NAMED,
    ODD,
    from_files,
    keys_of,
    merged_files,
    names_of,
    resumed,
    with_companion,
)
from tests.limits import small_limits
from tests.problems import (
    CLUSTERS,
    KEPT,
    PER_ROW,
    SETS,
    VECTORS,
    Draw,
    Problem,
    Spec,
    parse_spec,
    unchanged,
)
from tests.ways.both import both_ways
from xmleval import Evaluator, Report, evaluate
from xmleval.evaluation.same_labels import NOTE as TRAINING_NOTE

try:
    import pandas
except ImportError:  # pragma: no cover
    pandas = None

Forms = dict[str, Callable[[Any], Any]]  # containers of rows
Tolerance = Callable[[tuple[str, ...]], float | None]  # relative, by place; None for the same bits
# bytes of memory; the tables of intervals must fit
TINY = 1
ENOUGH = 1 << 23
BLANK = (
    " ",
    "a b",
    "\t",
    "\xa0",
    "tail ",
    "\u2028",
    "a\nb",
    *ODD,
)  # not all can be written in lines
INTERVALS = {"confidence", "standard_errors", "shares_confidence", "shares_standard_errors"}
ENVIRONMENT = ("version", *SETS[1:])  # files and their checksums


def contents_of(report: Report) -> dict[str, Any]:
    """Return all contents of a report, as plain values by name."""
    contents = report.to_dict()
    if report.keeps_rows:
        contents["per_row"] = as_lists(report.per_row())
    if report.results.labels:
        contents["per_label"] = as_lists(report.per_label())
    if report.results.points:
        contents["curves"] = [curve.tolist() for curve in (*report.roc_curve(), *report.pr_curve())]
    return contents


def as_lists(columns: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in columns.items() if name != "name"}


def comparable(contents: dict[str, Any], ignored: Sequence[str] = ()) -> dict[str, Any]:
    """Return contents without files, checksums and versions; notes are in order."""
    omitted = {*ENVIRONMENT, *ignored}
    contents = {name: value for name, value in contents.items() if name not in omitted}
    if "notes" in contents:
        # an evaluator gets training labels before the truth, and cannot compare them
        contents["notes"] = sorted(note for note in contents["notes"] if note != TRAINING_NOTE)
    plain: dict[str, Any] = json.loads(json.dumps(contents))
    # which lists look cut depends on how deep they are read, and so on what else is asked for
    for part in (plain, *plain.get("groups", {}).values(), *plain.get("row_groups", {}).values()):
        part.pop("cut_lists", None)
    return plain


def flat(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the numbers and texts in nested dicts and lists, with their places."""
    if not isinstance(value, dict | list) or not value:
        yield place, value
        return
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        yield from flat(member, (*place, str(name)))


def differences(
    expected: dict[str, Any], actual: dict[str, Any], tolerance: Tolerance
) -> list[str]:
    """Return the places at which two contents differ, and both values."""
    before = dict(flat(expected))
    after = dict(flat(actual))
    differing = []
    for place in before | after:
        first = before.get(place, "absent")
        second = after.get(place, "absent")
        if not agree(first, second, tolerance(place)):
            differing.append(f"{'/'.join(place)}: {first!r} != {second!r}")
    return differing


def agree(expected: Any, actual: Any, tolerance: float | None) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        if expected.hex() == actual.hex():  # NaN, too
            return True
        return tolerance is not None and math.isclose(expected, actual, rel_tol=tolerance)
    return type(expected) is type(actual) and bool(expected == actual)


def usual_tolerance(problem: Problem) -> Tolerance:
    """Return the documented exceptions: standard errors, and curves of weighted scores."""
    weighted: set[str] = set()
    if problem.has("sample_weight"):
        weighted = {spec.name for spec in problem.specs if has_weighted_state(spec)}

    def tolerance(place: tuple[str, ...]) -> float | None:
        if INTERVALS & {*place}:
            return 1e-9
        is_of_labels = place[0] in ("per_label", "curves")
        if weighted & {*place} or (weighted and is_of_labels):
            return 1e-14
        return None

    return tolerance


def has_weighted_state(spec: Spec) -> bool:
    parts = [spec, *map(parse_spec, spec.parts)]
    return any(part.metric.weighted_state for part in parts)


def cut(
    problem: Problem, draw: Draw, max_batches: int = 4, min_batches: int = 1
) -> list[tuple[int, Problem]]:
    """Cut the rows at drawn places, some into empty batches; return first rows and batches."""
    cuts = draw(
        st.lists(st.integers(0, problem.n_rows), min_size=min_batches - 1, max_size=max_batches - 1)
    )
    ends = itertools.pairwise([0, *sorted(cuts), problem.n_rows])
    return [(lo, problem.take(range(lo, hi))) for lo, hi in ends]


def resources(problem: Problem, draw: Draw) -> dict[str, Any]:
    limits = [ENOUGH, TINY, 300, 3000]
    if problem.has("confidence"):
        limits = [ENOUGH]
    return {
        "memory": draw(st.sampled_from(limits)),
        "threads": draw(st.integers(1, 2)),
        "block_rows": draw(st.sampled_from([None, 1, 2, 3, 4])),
    }


def in_batches(problem: Problem, draw: Draw) -> Report:
    evaluator = problem.evaluator()
    for _, batch in cut(problem, draw):
        evaluator.update(**batch.rows())
    return evaluator.compute()


def in_blocks(problem: Problem, draw: Draw) -> Report:
    return problem.evaluate(threads=2, block_rows=draw(st.integers(1, 4)))


def in_both_ways(problem: Problem, _: Draw) -> Report:
    """Run every kernel as plain Python and compiled, which must leave the same bits."""
    with both_ways():
        return problem.evaluate(threads=1)  # threads would write to parts of one table


def in_tiny_memory(problem: Problem, draw: Draw) -> Report:
    memory = ENOUGH
    if not problem.has("confidence"):
        memory = draw(st.sampled_from([TINY, 300, 3000]))
    return problem.evaluate(memory=memory, block_rows=draw(st.integers(1, 4)))


def saved(problem: Problem, draw: Draw) -> Report:
    """Save after some batches, and go on with the loaded state."""
    evaluator = problem.evaluator(**resources(problem, draw))
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, batch) in enumerate(cut(problem, draw)):
            evaluator.update(**batch.rows())
            if draw(st.booleans()):
                path = Path(folder) / f"{number}"
                evaluator.save(path)
                evaluator = Evaluator.load(path, memory=ENOUGH)
    return evaluator.compute()


def pickled(evaluator: Evaluator) -> Any:
    return pickle.loads(pickle.dumps(evaluator))


def in_copies(problem: Problem, draw: Draw) -> Report:
    """Go on with a copy, while the original counts other rows."""
    evaluator = problem.evaluator(**resources(problem, draw))
    for _, batch in cut(problem, draw):
        make_copy = draw(st.sampled_from([copy.copy, copy.deepcopy, pickled]))
        original = evaluator
        evaluator = make_copy(original)
        evaluator.update(**batch.rows())
        original.update(**problem.rows())
    return evaluator.compute()


def disturbed(problem: Problem, draw: Draw) -> Report:
    """Reset after other rows; refuse rows and compute between batches."""
    evaluator = problem.evaluator(**resources(problem, draw))
    evaluator.update(**problem.rows())
    evaluator.reset()
    wrong = problem.rows()
    wrong["y_true"].data[:] = math.nan
    for _, batch in cut(problem, draw):
        evaluator.update(**batch.rows())
        if wrong["y_true"].nnz:
            with pytest.raises(ValueError, match="y_true"):
                evaluator.update(**wrong)
        if draw(st.booleans()):
            evaluator.compute()
    return evaluator.compute()


def merged(problem: Problem, draw: Draw) -> Report:
    """Merge shards of drawn resources in a drawn tree, some of them saved and loaded."""
    with_row_numbers = needs_numbers(problem) or draw(st.booleans())
    shards = []
    with tempfile.TemporaryDirectory() as folder:
        for first, rows in cut(problem, draw, 5):
            shard = problem.evaluator(**resources(problem, draw))
            for first_in_shard, batch in cut(rows, draw, 2):
                first_row = first + first_in_shard if with_row_numbers else None
                shard.update(**batch.rows(), first_row=first_row)
            if draw(st.booleans()):
                path = Path(folder) / "shard"
                shard.save(path)
                shard = Evaluator.load(path, memory=ENOUGH)
            shards.append(shard)
    shards = draw(st.permutations(shards))
    while len(shards) > 1:
        place = draw(st.integers(0, len(shards) - 2))
        left, right = shards[place : place + 2]
        shards[place : place + 2] = [left.merge(right)]
    whole: Evaluator = shards[0]
    return whole.compute()


def needs_numbers(problem: Problem) -> bool:
    """Whether merging needs the row numbers of shards."""
    return problem.has(PER_ROW) or (problem.has("confidence") and not problem.has(CLUSTERS))


def by_workers(problem: Problem, draw: Draw) -> Report:
    """Count tasks in any order, some of them twice; many are merged by tasks."""
    tasks = cut(problem, draw, 14, draw(st.sampled_from([1, 10])))
    leaves = [
        leaf(first, task.rows(), task.n_rows, f"{number:032x}")
        for number, (first, task) in enumerate(tasks)
    ]
    job = job_of(problem.evaluator())
    with (
        tempfile.TemporaryDirectory() as folder,
        ShuffledExecutor(draw(st.integers(0, 99))) as executor,
    ):
        is_in_folder = draw(st.integers(0, 3)) == 3
        parts = Path(folder) if is_in_folder else None
        return count_leaves(job, leaves, executor, parts).compute()


def object_array(rows: list[Any]) -> Any:
    return np.array([*rows, None], object)[:-1]


def pandas_series(rows: list[Any]) -> Any:
    return pandas.Series(rows, dtype=object)


def paired(make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Return a function that makes a column of labels and one of scores from lists of pairs."""

    def make_pair(rows: list[Any]) -> Any:
        labels = [[label for label, _ in row] for row in rows]
        scores = [[score for _, score in row] for row in rows]
        return make(labels), make(scores)

    return make_pair


def list_frame(rows: list[Any]) -> Any:
    labels, scores = paired(list)(rows)
    return pandas.DataFrame({"labels": pandas_series(labels), "scores": pandas_series(scores)})


def mapping_of_mappings(rows: dict[Any, Any]) -> Any:
    rows = dict(rows)
    for key, row in rows.items():
        if isinstance(row, dict):
            rows[key] = UserDict(row)
    return MappingProxyType(rows)


BY_KEY: Forms = {
    "dict": dict,
    "mapping": UserDict,
    "mapping of mappings": mapping_of_mappings,
}
IN_ORDER: Forms = {"list": list, "deque": deque, "object array": object_array}
if pandas:
    IN_ORDER["Series"] = pandas_series
PAIRED: Forms = {f"pair of {name}s": paired(make) for name, make in IN_ORDER.items()}
if pandas:
    PAIRED["frame"] = list_frame


def in_other_forms(problem: Problem, draw: Draw) -> Report:
    """Give each array another type, memory layout or format, in one call or in batches."""
    if draw(st.booleans()):
        report: Report = evaluate(
            **forms.vary_rows(problem, draw), **forms.vary_options(problem, draw)
        )
        return report
    evaluator = Evaluator(**forms.vary_options(problem, draw), **resources(problem, draw))
    for _, batch in cut(problem, draw):
        evaluator.update(**forms.vary_rows(batch, draw))
    return evaluator.compute()


def in_threads_of_callers(problem: Problem, draw: Draw) -> Report:
    """Evaluate in three threads at once, after other rows, while they update one evaluator."""
    batches = [(first, batch.rows()) for first, batch in cut(problem, draw)]
    evaluator = problem.evaluator(**resources(problem, draw))
    backwards = problem.take(range(problem.n_rows)[::-1])

    def evaluate_both(number: int) -> Report:
        threads = 1 + number % 2
        backwards.evaluate(threads=threads)
        return problem.evaluate(threads=threads)

    with ThreadPoolExecutor(3) as pool:
        reports = pool.map(evaluate_both, range(3))
        updates = [
            pool.submit(evaluator.update, **rows, first_row=first) for first, rows in batches
        ]
        for update in updates:
            update.result()
        expected = comparable(contents_of(evaluator.compute()))
        for report in reports:
            actual = comparable(contents_of(report))
            assert differences(expected, actual, usual_tolerance(problem)) == []
    return evaluator.compute()


class NamedRows:
    """Rows by key or in order, with names of labels that descend where ids ascend."""

    def __init__(self, problem: Problem, draw: Draw) -> None:
        self.draw = draw
        self.names = names_of(problem, BLANK)
        self.keyed = draw(st.booleans()) or not problem.n_rows
        self.keys: list[Any] = [*range(problem.n_rows)]  # intervals depend on keys
        if problem.has(CLUSTERS) or not problem.has("confidence"):
            self.keys = [10 * row for row in range(problem.n_rows)]
            if problem.odd:
                self.keys = keys_of(problem, BLANK)

    def rows(self, values: list[Any], shuffled: bool = True, forms: Forms = IN_ORDER) -> Any:
        """Return rows in a drawn container, those with keys also in a drawn order."""
        order: Sequence[int] = range(len(values))
        if shuffled and self.keyed:
            order = self.draw(st.permutations(order))
        if not self.keyed:
            return self.container(forms)(values)
        return self.container(BY_KEY)({self.keys[i]: values[i] for i in order})

    def container(self, forms: Forms) -> Callable[[Any], Any]:
        return forms[self.draw(st.sampled_from([*forms]))]

    def grades(self, truth: list[dict[int, float]]) -> list[dict[str, float]]:
        return [{self.names[label]: grade for label, grade in row.items()} for row in truth]

    def sets(self, sets: list[set[int]]) -> list[dict[str, float]]:
        return self.grades([dict.fromkeys(labels, 1.0) for labels in sets])

    def scores(self, problem: Problem) -> Any:
        ranked = [[(self.names[j], score) for j, score in row] for row in problem.listed]
        if problem.form in ("csr", "dense"):
            return self.rows([dict(row) for row in ranked])
        if problem.bare:
            return self.rows([[name for name, _ in row] for row in ranked])
        return self.rows(ranked, forms=IN_ORDER | PAIRED)


def by_name(problem: Problem, draw: Draw) -> Report:
    """Name labels and rows; ties are broken by the later name."""
    named = NamedRows(problem, draw)
    names = named.names
    arguments = dict(problem.arguments)
    arguments["y_true"] = named.rows(named.grades(problem.truth), shuffled=False)
    arguments["labels"] = names
    if problem.form != "none":
        arguments["y_score"] = named.scores(problem)
    for name in SETS:
        if problem.has(name):
            arguments[name] = named.rows(named.sets(arguments[name]))
    for name in VECTORS:
        if problem.has(name):
            arguments[name] = named.rows(arguments[name], forms={"list": list})
    for name in ("label_groups", "inverse_propensity"):
        if problem.has(name):
            values = dict(zip(names, arguments[name], strict=True))
            arguments[name] = named.container(BY_KEY)(values)
    if problem.has("hierarchy"):
        edges = arguments["hierarchy"]
        arguments["hierarchy"] = [(names[child], names[parent]) for child, parent in edges]
    if problem.has("y_train"):
        arguments["y_train"] = [[names[j] for j in row] for row in arguments["y_train"]]
    report: Report = evaluate(**arguments, metrics=[*problem.metrics])
    return report


def as_objects(problem: Problem, draw: Draw) -> Problem:
    """Return the problem as objects represent it, with scores in float64."""
    form = problem.form
    if form == "dense" and problem.unlisted is not None:
        # arrays store entries with the score of unlisted labels, which changes points and bits of
        # curves
        form = "csr"
    return replace(problem, form=form, dtype="float64")


def as_lines(problem: Problem, draw: Draw) -> Problem:
    """Return the problem without options whose file would be empty, and with texts as clusters."""
    for name in ("exclude", "hierarchy"):
        if not any(problem.arguments.get(name, ())):
            problem = problem.without(name)
    if problem.has(CLUSTERS):
        clusters = [*map(str, problem.arguments[CLUSTERS])]
        problem = problem.with_arguments(**{CLUSTERS: clusters})
    return problem


def as_records(problem: Problem, draw: Draw) -> Problem:
    """Return the problem as files with names represent it: no empty files; keys are clusters."""
    truth = [row or {0: 1.0} for row in problem.truth]
    # a list ranks listed labels above unlisted ones of the same score
    listed = [
        [(label, score) for label, score in row if score != problem.unlisted]
        for row in problem.listed
    ]
    if not any(listed):
        listed[0] = [(0, 0.5 if problem.unlisted != 0.5 else 1.0)]
    problem = replace(problem, truth=truth, listed=listed)
    if not problem.has(CLUSTERS):
        problem = problem.with_arguments(**{CLUSTERS: keys_of(problem)})
    return as_lines(as_objects(problem, draw), draw)


def as_label_tables(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with a grade and a score for every label, as such tables have."""
    if problem.unlisted is not None:
        problem = problem.with_conventions(unlisted="below")
    labels = range(problem.n_labels)
    truth = [{label: row.get(label, 0.0) for label in labels} for row in problem.truth]
    return as_records(replace(problem, truth=truth), draw)


@dataclass(frozen=True)
class Route:
    """A way to a report, the options that it does not take, and the problems that it takes."""

    run: Callable[[Problem, Draw], Any]
    without: tuple[str, ...] = ()
    change: Callable[[Problem, Draw], Problem] = unchanged
    limits: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # of the contents
    prints: bool = False  # values by row and by label, in fewer columns


def compare(name: str, problem: Problem, draw: Draw) -> list[str]:
    """Return how the report of a route differs from that of one call."""
    route = ROUTES[name]
    tolerance = usual_tolerance(problem)
    expected = comparable(contents_of(problem.evaluate()), route.ignored)
    has_small_limits = draw(st.booleans())
    with small_limits() if has_small_limits else nullcontext():
        answer = route.run(problem, draw)
    if isinstance(answer, Report):
        answer = contents_of(answer)
    actual = comparable(answer, route.ignored)
    if not route.prints:
        return differences(expected, actual, tolerance)
    for kind in ("per_row", "per_label"):
        unexpected = unexpected_columns(kind, problem, expected, actual)
        if unexpected:
            return [f"{kind}: columns of the report or the file alone: {sorted(unexpected)}"]
        keep_common_columns(kind, expected, actual)
    # -0.0 is printed as 0
    return differences(expected, actual, lambda place: tolerance(place) or 0.0)


def unexpected_columns(
    kind: str, problem: Problem, expected: dict[str, Any], actual: dict[str, Any]
) -> set[str]:
    """Return the columns by row or by label that either the report or the file should have, too."""
    in_report = {*expected.get(kind, {})}
    in_file = {*actual.get(kind, {})}
    asked = {spec.label_column for spec in problem.specs if spec.average}
    missing = in_report - in_file
    unexpected = {column for column in missing if column in asked or not is_optional(column)}
    # files take no list of the measures to keep
    if problem.arguments.get(kind) is True:
        unexpected |= in_file - in_report
    return unexpected


def keep_common_columns(kind: str, expected: dict[str, Any], actual: dict[str, Any]) -> None:
    common = expected.get(kind, {}).keys() & actual.get(kind, {}).keys()
    for contents in (expected, actual):
        contents[kind] = {column: contents[kind][column] for column in common}


def is_optional(column: str) -> bool:
    """Whether files by label have a column only where its average is asked for."""
    stem = column.partition("@")[0]
    if stem.startswith("threshold"):
        return True
    return stem in ("precision", "recall", "f1", "ap", "auc", "peak_f1")


FILE_OPTIONS: dict[str, Any] = {
    "without": ("sample_weight", "curve_points"),
    "change": as_lines,
    "limits": {"least_rows": 1, "forms": ("csr", "dense", "list", "none")},
    "ignored": ("notes",),
    "prints": True,
}
SCORED = {"least_rows": 1, "forms": ("csr", "dense", "list")}
SHARD_OPTIONS: dict[str, Any] = FILE_OPTIONS | {
    "without": (*FILE_OPTIONS["without"], "exclude", "exclude_from")  # a shard may have no pairs
}
NAMED_FILE_OPTIONS: dict[str, Any] = FILE_OPTIONS | {
    "change": as_records,
    "limits": {"least_rows": 1, "forms": ("csr", "dense")},
}
LABEL_TABLE_OPTIONS: dict[str, Any] = {
    "change": as_label_tables,
    "limits": {"least_rows": 1, "forms": ("dense",)},
}
COMPANION_OPTIONS: dict[str, Any] = {"without": (*FILE_OPTIONS["without"], *KEPT), "prints": False}
IN_MEMORY = {"extremes": True}
ROUTES = {
    "in batches": Route(in_batches, limits=IN_MEMORY),
    "in blocks and threads": Route(in_blocks, limits=IN_MEMORY),
    "by kernels in both ways": Route(in_both_ways, limits=IN_MEMORY),
    "in tiny memory": Route(in_tiny_memory, limits=IN_MEMORY),
    "saved and loaded": Route(saved, limits=IN_MEMORY),
    "copied": Route(in_copies, limits=IN_MEMORY),
    "disturbed": Route(disturbed, limits=IN_MEMORY),
    "merged": Route(merged, limits=IN_MEMORY),
    "by workers": Route(by_workers, limits=IN_MEMORY),
    "in other forms": Route(in_other_forms, limits=IN_MEMORY),
    "in threads of callers": Route(in_threads_of_callers, limits=IN_MEMORY),
    "by name": Route(by_name, change=as_objects, ignored=("notes",)),
    "from files by number": Route(partial(from_files, kinds=["npz"]), **FILE_OPTIONS),
    "from files by name": Route(partial(from_files, kinds=[*NAMED]), **NAMED_FILE_OPTIONS),
    "from tables of labels": Route(
        partial(from_files, kinds=[LABEL_TABLE]), **NAMED_FILE_OPTIONS | LABEL_TABLE_OPTIONS
    ),
    "from files by number, resumed": Route(partial(resumed, kinds=["npz"]), **FILE_OPTIONS),
    "from files by name, resumed": Route(partial(resumed, kinds=[*NAMED]), **NAMED_FILE_OPTIONS),
    "from files by number, next to a model": Route(
        partial(with_companion, kinds=["npz"]),
        **FILE_OPTIONS | COMPANION_OPTIONS | {"limits": SCORED},
    ),
    "from files by name, next to a model": Route(
        partial(with_companion, kinds=[*NAMED]), **NAMED_FILE_OPTIONS | COMPANION_OPTIONS
    ),
    "from files, merged": Route(merged_files, **SHARD_OPTIONS),
}
