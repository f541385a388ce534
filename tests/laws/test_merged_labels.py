"""States whose labels differ in names merge to the report of one run over the labels of both."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.problems import SETS, Draw, Problem, law, problems
from tests.routes import comparable, contents_of
from xmleval import Evaluator
from xmleval.evaluation.evaluator import saved_of

VECTORS = ("label_groups", "inverse_propensity")
REFUSED = re.compile(
    r"merge: (.+ cannot be merged by name of labels: .+; evaluate each state with labels=, "
    r"the names of all|(propensity|label_groups) differs.*|input differs.*|scores are .*)"
)


def with_labels(problem: Problem, labels: list[int]) -> Problem:
    """Return a problem whose labels are some of those of this one, in this order."""
    number = {label: place for place, label in enumerate(labels)}
    arguments = dict(problem.arguments)
    for name in (*SETS, "y_train"):
        if name in arguments:
            rows = [{number[label] for label in row if label in number} for row in arguments[name]]
            arguments[name] = rows
    for name in VECTORS:
        if name in arguments:
            arguments[name] = [arguments[name][label] for label in labels]
    truth = [{number[label]: grade for label, grade in row.items()} for row in problem.truth]
    listed = [[(number[label], score) for label, score in row] for row in problem.listed]
    if problem.form == "csr":
        listed = [sorted(row) for row in listed]
    return replace(problem, n_labels=len(labels), truth=truth, listed=listed, arguments=arguments)


def occurring(problem: Problem) -> set[int]:
    """Return the labels that occur in rows."""
    labels = {label for row in problem.truth for label in row}
    labels |= {label for row in problem.listed for label, _ in row}
    for name in SETS:
        for row in problem.arguments.get(name, ()):
            labels |= row
    return labels


def evaluator_of(problem: Problem, labels: list[int]) -> Evaluator:
    """Return an evaluator of labels with names, for rows of `with_labels`."""
    names = [f"label {label}" for label in labels]
    options = with_labels(problem.take([]), labels).options()
    return Evaluator(**{**options, "labels": names})


def counted(
    problem: Problem, parts: list[tuple[int, Problem]], labels: list[int], draw: Draw
) -> Evaluator:
    """Return an evaluator that got parts of a problem, saved and loaded at times."""
    evaluator = evaluator_of(problem, labels)
    for first_row, part in parts:
        evaluator.update(**with_labels(part, labels).rows(), first_row=first_row)
    if draw(st.booleans()):
        with tempfile.TemporaryDirectory() as folder:
            evaluator.save(Path(folder) / "state")
            evaluator = Evaluator.load(Path(folder) / "state")
    return evaluator


def refusal_of(mine: Evaluator, other: Evaluator) -> str | None:
    """Merge two evaluators, and return the message if that is refused."""
    try:
        mine.merge(other)
    except ValueError as error:
        return str(error)
    return None


@law
@given(st.data())
def test_labels_merge_by_name_to_the_report_of_one_run(data: st.DataObject) -> None:
    draw: Draw = data.draw
    problem = draw(
        problems(forms=("csr", "list", "ragged", "none"), least_rows=2, without=("hierarchy",))
    )
    middle = draw(st.integers(1, problem.n_rows - 1))
    parts = [(0, problem.take(range(middle)))]
    parts.append((middle, problem.take(range(middle, problem.n_rows))))
    labels_of = list[list[int]]()
    for _, part in parts:
        others = draw(st.sets(st.integers(0, problem.n_labels - 1)))
        order = draw(st.sampled_from(["any", "ascending"]))
        labels = sorted(occurring(part) | others) or [0]
        labels_of.append(draw(st.permutations(labels)) if order == "any" else labels)
    first, second = labels_of
    union = [*first, *(label for label in second if label not in first)]
    try:
        evaluators = [
            counted(problem, [part], labels, draw)
            for part, labels in zip(parts, labels_of, strict=True)
        ]
        whole = counted(problem, parts, union, draw)
        expected = comparable(contents_of(whole.compute()))
    except ValueError:  # a measure that these labels do not allow
        return
    mine, other = evaluators
    before = saved_of(other).meta
    message = refusal_of(mine, other)
    if message is not None:
        assert REFUSED.fullmatch(message), message
        return
    assert saved_of(other).meta == before
    assert mine.settings["labels"] == [f"label {label}" for label in union]
    assert comparable(contents_of(mine.compute())) == expected
