"""Ways from a problem to its report, which all give the same bytes.

A route is a function of a problem and of a source of choices, such as where to cut. `ROUTES` lists the
options that each does not take.
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
from tests.file_routes import NAMED, ODD, beside, from_files, keys_of, merged_files, names_of, resumed
from tests.limits import small_limits
from tests.problems import CLUSTERS, KEPT, PER_ROW, SETS, VECTORS, Draw, Problem, parse_spec, unchanged
from tests.ways.both import both_ways
from xmleval import Evaluator, Report, evaluate

try:
    import pandas
except ImportError:  # pragma: no cover
    pandas = None

Forms = dict[str, Callable[[Any], Any]]  # in which rows are held
Tolerance = Callable[[tuple[str, ...]], float | None]  # relative, by place; None for the same bits
TINY, ENOUGH = 1, 1 << 23  # bytes of memory: the tables of intervals must fit
BLANK = (" ", "a b", "\t", "\xa0", "tail ", "\u2028", "a\nb", *ODD)  # names that lines cannot hold
ENVIRONMENT = ("version", "exclude", "candidates")  # files and their checksums


def contents_of(report: Report) -> dict[str, Any]:
    """Return everything that a report says, as plain values by name."""
    contents = report.to_dict()
    kept = {"per_row": report.per_row} if report.keeps_rows else {}
    kept |= {"per_label": report.per_label} if report.results.labels else {}
    for kind, columns in kept.items():
        contents[kind] = {name: values.tolist() for name, values in columns().items() if name != "name"}
    if report.results.points:
        contents["curves"] = [curve.tolist() for curve in (*report.roc_curve(), *report.pr_curve())]
    return contents


def comparable(contents: dict[str, Any], ignored: Sequence[str] = ()) -> dict[str, Any]:
    """Return contents without files, checksums and versions, and notes in one order."""
    contents = {name: value for name, value in contents.items() if name not in (*ENVIRONMENT, *ignored)}
    if "notes" in contents:
        contents["notes"] = sorted(contents["notes"])
    plain: dict[str, Any] = json.loads(json.dumps(contents))
    return plain


def flat(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the numbers and texts in nested dicts and lists, with their places."""
    if not isinstance(value, dict | list) or not value:
        yield place, value
        return
    for name, member in value.items() if isinstance(value, dict) else enumerate(value):
        yield from flat(member, (*place, str(name)))


def differences(expected: dict[str, Any], actual: dict[str, Any], tolerance: Tolerance) -> list[str]:
    """Return the places at which two contents differ, and both values."""
    before, after = dict(flat(expected)), dict(flat(actual))
    values = [(place, before.get(place, "absent"), after.get(place, "absent")) for place in before | after]
    differ = [each for each in values if not agree(each[1], each[2], tolerance(each[0]))]
    return [f"{'/'.join(place)}: {first!r} != {second!r}" for place, first, second in differ]


def agree(expected: Any, actual: Any, tolerance: float | None) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        same = expected.hex() == actual.hex()  # NaN, too
        return same or (tolerance is not None and math.isclose(expected, actual, rel_tol=tolerance))
    return type(expected) is type(actual) and bool(expected == actual)


def usual_tolerance(problem: Problem) -> Tolerance:
    """Return the documented exceptions: standard errors, and curves of weighted scores."""
    weighted = {
        spec.name for spec in problem.specs
        for part in (spec, *map(parse_spec, spec.metric.parts)) if part.metric.weighted_state
    } if problem.has("sample_weight") else set()  # fmt: skip

    def tolerance(place: tuple[str, ...]) -> float | None:
        if {"confidence", "standard_errors"} & {*place}:
            return 1e-9
        return 1e-14 if weighted & {*place} or (weighted and place[0] in ("per_label", "curves")) else None

    return tolerance


def cut(problem: Problem, draw: Draw, most: int = 4, least: int = 1) -> list[tuple[int, Problem]]:
    """Cut the rows at drawn places, also into batches of no rows; return first rows and batches."""
    cuts = draw(st.lists(st.integers(0, problem.n_rows), min_size=least - 1, max_size=most - 1))
    ends = itertools.pairwise([0, *sorted(cuts), problem.n_rows])
    return [(lo, problem.take(range(lo, hi))) for lo, hi in ends]


def resources(problem: Problem, draw: Draw) -> dict[str, Any]:
    memory = [ENOUGH] if problem.has("confidence") else [ENOUGH, TINY, 300, 3000]
    return {
        "memory": draw(st.sampled_from(memory)),
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
        return problem.evaluate(threads=1)  # others write to other parts of the same table


def in_tiny_memory(problem: Problem, draw: Draw) -> Report:
    memory = ENOUGH if problem.has("confidence") else draw(st.sampled_from([TINY, 300, 3000]))
    return problem.evaluate(memory=memory, block_rows=draw(st.integers(1, 4)))


def saved(problem: Problem, draw: Draw) -> Report:
    """Save before, between and after batches, and go on with what is loaded."""
    evaluator, memory = problem.evaluator(**resources(problem, draw)), ENOUGH
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, batch) in enumerate(cut(problem, draw)):
            evaluator.update(**batch.rows())
            if draw(st.booleans()):
                evaluator.save(Path(folder) / f"{number}")
                evaluator = Evaluator.load(Path(folder) / f"{number}", memory=memory)
    return evaluator.compute()


def pickled(evaluator: Evaluator) -> Any:
    return pickle.loads(pickle.dumps(evaluator))


def in_copies(problem: Problem, draw: Draw) -> Report:
    """Go on with a copy, while the original counts other rows."""
    evaluator = problem.evaluator(**resources(problem, draw))
    for _, batch in cut(problem, draw):
        copied = draw(st.sampled_from([copy.copy, copy.deepcopy, pickled]))
        before, evaluator = evaluator, copied(evaluator)
        evaluator.update(**batch.rows())
        before.update(**problem.rows())
    return evaluator.compute()


def disturbed(problem: Problem, draw: Draw) -> Report:
    """Compute, forget and be refused in between."""
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
    numbered = needs_numbers(problem) or draw(st.booleans())
    shards = []
    with tempfile.TemporaryDirectory() as folder:
        for first, rows in cut(problem, draw, 5):
            shard = problem.evaluator(**resources(problem, draw))
            for piece_first, piece in cut(rows, draw, 2):
                shard.update(**piece.rows(), first_row=first + piece_first if numbered else None)
            if draw(st.booleans()):
                shard.save(Path(folder) / "shard")
                shard = Evaluator.load(Path(folder) / "shard", memory=ENOUGH)
            shards.append(shard)
    shards = draw(st.permutations(shards))
    while len(shards) > 1:
        place = draw(st.integers(0, len(shards) - 2))
        shards[place : place + 2] = [shards[place].merge(shards[place + 1])]
    whole: Evaluator = shards[0]
    return whole.compute()


def needs_numbers(problem: Problem) -> bool:
    """Whether shards are merged only with the numbers of their rows."""
    return problem.has(PER_ROW) or (problem.has("confidence") and not problem.has(CLUSTERS))


def by_workers(problem: Problem, draw: Draw) -> Report:
    """Count tasks in any order, some of them twice; many are merged by tasks."""
    pieces = cut(problem, draw, 14, draw(st.sampled_from([1, 10])))
    leaves = [
        leaf(first, task.rows(), task.n_rows, f"{number:032x}") for number, (first, task) in enumerate(pieces)
    ]
    job = job_of(problem.evaluator())
    with tempfile.TemporaryDirectory() as folder, ShuffledExecutor(draw(st.integers(0, 99))) as executor:
        parts = Path(folder) if draw(st.integers(0, 3)) == 3 else None
        return count_leaves(job, leaves, executor, parts).compute()


def object_array(rows: list[Any]) -> Any:
    return np.array([*rows, None], object)[:-1]


def pandas_series(rows: list[Any]) -> Any:
    return pandas.Series(rows, dtype=object)


def paired(make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Return what makes a pair of columns, of labels and of their scores, from lists of pairs."""
    return lambda rows: tuple(make([[pair[part] for pair in row] for row in rows]) for part in (0, 1))


def list_frame(rows: list[Any]) -> Any:
    labels, scores = paired(list)(rows)
    return pandas.DataFrame({"labels": pandas_series(labels), "scores": pandas_series(scores)})


BY_KEY: Forms = {
    "dict": dict,
    "mapping": UserDict,
    "mapping of mappings": lambda rows: MappingProxyType(
        {key: UserDict(row) if isinstance(row, dict) else row for key, row in rows.items()}
    ),
}
IN_ORDER: Forms = {"list": list, "deque": deque, "object array": object_array}
IN_ORDER |= {"Series": pandas_series} if pandas else {}
PAIRED: Forms = {f"pair of {name}s": paired(make) for name, make in IN_ORDER.items()}
PAIRED |= {"frame": list_frame} if pandas else {}


def in_other_forms(problem: Problem, draw: Draw) -> Report:
    """Give each array another type, memory layout or format, in one call or in batches."""
    if draw(st.booleans()):
        report: Report = evaluate(**forms.of_rows(problem, draw), **forms.of_options(problem, draw))
        return report
    evaluator = Evaluator(**forms.of_options(problem, draw), **resources(problem, draw))
    for _, batch in cut(problem, draw):
        evaluator.update(**forms.of_rows(batch, draw))
    return evaluator.compute()


def in_threads_of_callers(problem: Problem, draw: Draw) -> Report:
    """Evaluate in several threads at once, each other rows first, and count batches in one evaluator."""
    batches, evaluator = cut(problem, draw), problem.evaluator(**resources(problem, draw))
    numbered = [(first, batch.rows()) for first, batch in batches]
    others = problem.take([*range(problem.n_rows)][::-1])

    def evaluate_both(number: int) -> Report:
        others.evaluate(threads=1 + number % 2)
        return problem.evaluate(threads=1 + number % 2)

    with ThreadPoolExecutor(3) as pool:
        reports = pool.map(evaluate_both, range(3))
        counts = [pool.submit(evaluator.update, **rows, first_row=first) for first, rows in numbered]
        for count in counts:
            count.result()
        expected = comparable(contents_of(evaluator.compute()))
        for report in reports:
            actual = comparable(contents_of(report))
            assert differences(expected, actual, usual_tolerance(problem)) == []
    return evaluator.compute()


def by_name(problem: Problem, draw: Draw) -> Report:
    """Name labels and rows; names descend where ids ascend, as ties go to the later name."""
    names, keyed = names_of(problem, BLANK), draw(st.booleans()) or not problem.n_rows
    keys: list[Any] = [*range(problem.n_rows)]  # which decide on the groups of intervals
    if problem.has(CLUSTERS) or not problem.has("confidence"):
        keys = keys_of(problem, BLANK) if problem.odd else [10 * row for row in keys]

    def rows(values: list[Any], shuffled: bool = False, forms: Forms = IN_ORDER) -> Any:
        order = draw(st.permutations(range(len(values)))) if shuffled and keyed else range(len(values))
        forms = BY_KEY if keyed else forms
        make = forms[draw(st.sampled_from([*forms]))]
        return make({keys[i]: values[i] for i in order} if keyed else values)

    def judged(sets: list[Any]) -> list[Any]:
        return [
            {names[label]: float(row[label] if isinstance(row, dict) else 1) for label in row} for row in sets
        ]

    arguments: dict[str, Any] = {"y_true": rows(judged(problem.truth)), "labels": names}
    if problem.form != "none":
        listed = [[(names[label], score) for label, score in row] for row in problem.listed]
        as_dicts = problem.form in ("csr", "dense")
        ranked: list[Any] = [[name for name, _ in row] if problem.bare else row for row in listed]
        forms = IN_ORDER if as_dicts or problem.bare else IN_ORDER | PAIRED
        arguments["y_score"] = rows([dict(row) for row in listed] if as_dicts else ranked, True, forms)
    arguments |= {name: rows(judged(problem.arguments[name]), True) for name in SETS if problem.has(name)}
    arguments |= {
        name: rows(problem.arguments[name], True, {"list": list}) for name in VECTORS if problem.has(name)
    }
    for name in ("label_groups", "inverse_propensity"):
        if problem.has(name):
            make = BY_KEY[draw(st.sampled_from([*BY_KEY]))]
            arguments[name] = make(dict(zip(names, problem.arguments[name], strict=True)))
    if problem.has("hierarchy"):
        arguments["hierarchy"] = [(names[i], names[j]) for i, j in problem.arguments["hierarchy"]]
    if problem.has("y_train"):
        arguments["y_train"] = [[names[label] for label in row] for row in problem.arguments["y_train"]]
    report: Report = evaluate(**{**problem.arguments, **arguments}, metrics=[*problem.metrics])
    return report


def as_objects(problem: Problem, draw: Draw) -> Problem:
    """Return the problem as objects have it, with scores of Python."""
    # arrays keep entries that have the score of unlisted labels, which changes points and bits of curves
    form = "csr" if problem.form == "dense" and problem.unlisted is not None else problem.form
    return replace(problem, form=form, dtype="float64")


def as_lines(problem: Problem, draw: Draw) -> Problem:
    """Return the problem without options whose file would be empty, and with names that are texts."""
    clusters = [*map(str, problem.arguments.get(CLUSTERS, ()))]
    arguments = problem.arguments | ({CLUSTERS: clusters} if problem.has(CLUSTERS) else {})
    empty = [name for name in ("exclude", "hierarchy") if not any(arguments.get(name, ()))]
    return replace(problem, arguments=arguments).without(*empty)


def as_records(problem: Problem, draw: Draw) -> Problem:
    """Return the problem as files with names have it: with some entries, and with keys that are clusters."""
    truth = [row or {0: 1.0} for row in problem.truth]
    # lists rank what they list above what they do not, where both have the score of unlisted labels
    listed = [[(label, score) for label, score in row if score != problem.unlisted] for row in problem.listed]
    listed[0] = listed[0] if any(listed) else [(0, 0.5 if problem.unlisted != 0.5 else 1.0)]
    clusters = {} if problem.has(CLUSTERS) else {CLUSTERS: keys_of(problem)}
    problem = replace(problem, truth=truth, listed=listed).with_arguments(**clusters)
    return as_lines(as_objects(problem, draw), draw)


@dataclass(frozen=True)
class Route:
    """A way to a report, the options that it does not take, and what else it asks of a problem."""

    run: Callable[[Problem, Draw], Any]
    without: tuple[str, ...] = ()
    change: Callable[[Problem, Draw], Problem] = unchanged
    limits: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # of the contents
    prints: bool = False  # values by row and by label, in fewer columns


def compare(name: str, problem: Problem, draw: Draw) -> list[str]:
    """Return how the report of a route differs from that of one call."""
    route, tolerance = ROUTES[name], usual_tolerance(problem)
    expected = comparable(contents_of(problem.evaluate()), route.ignored)
    with small_limits() if draw(st.booleans()) else nullcontext():
        answer = route.run(problem, draw)
    actual = comparable(answer if isinstance(answer, dict) else contents_of(answer), route.ignored)
    if not route.prints:
        return differences(expected, actual, tolerance)
    for kind in ("per_row", "per_label"):
        of_report, of_file = expected.get(kind, {}), actual.get(kind, {})
        absent = of_report.keys() - of_file.keys() - {*filter(is_left_out, of_report)}
        absent |= {spec.label_column for spec in problem.specs if spec.average} & (
            of_report.keys() - of_file.keys()
        )
        if problem.arguments.get(kind) is True:  # no list of the measures to keep, which files do not take
            absent |= of_file.keys() - of_report.keys()
        if absent:
            return [f"{kind}: columns of the report or the file alone: {sorted(absent)}"]
        for each in (expected, actual):
            each[kind] = {column: each.get(kind, {})[column] for column in of_report.keys() & of_file.keys()}
    return differences(expected, actual, lambda place: tolerance(place) or 0.0)  # -0.0 is printed as 0


def is_left_out(column: str) -> bool:
    """Whether files by label have a column only where its average is asked for."""
    stem = column.partition("@")[0]
    return stem in ("precision", "recall", "f1", "ap", "auc", "peak_f1") or stem.startswith("threshold")


OF_FILES: dict[str, Any] = {
    "without": ("sample_weight", "curve_points"), "change": as_lines,
    "limits": {"least_rows": 1, "forms": ("csr", "dense", "list", "none")},
    "ignored": ("notes",), "prints": True,
}  # fmt: skip
SCORED = {"least_rows": 1, "forms": ("csr", "dense", "list")}
OF_SHARDS: dict[str, Any] = OF_FILES | {  # of which one may have no pairs
    "without": ("sample_weight", "curve_points", "exclude", "exclude_from")
}
OF_NAMED_FILES: dict[str, Any] = OF_FILES | {
    "change": as_records, "limits": {"least_rows": 1, "forms": ("csr", "dense")},
}  # fmt: skip
BESIDE: dict[str, Any] = {"without": (*OF_FILES["without"], *KEPT), "prints": False}
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
    "from files by number": Route(partial(from_files, kinds=["npz"]), **OF_FILES),
    "from files by name": Route(partial(from_files, kinds=[*NAMED]), **OF_NAMED_FILES),
    "from files by number, resumed": Route(partial(resumed, kinds=["npz"]), **OF_FILES),
    "from files by name, resumed": Route(partial(resumed, kinds=[*NAMED]), **OF_NAMED_FILES),
    "from files by number, beside a model": Route(
        partial(beside, kinds=["npz"]), **OF_FILES | BESIDE | {"limits": SCORED}
    ),
    "from files by name, beside a model": Route(partial(beside, kinds=[*NAMED]), **OF_NAMED_FILES | BESIDE),
    "from files, merged": Route(merged_files, **OF_SHARDS),
}
