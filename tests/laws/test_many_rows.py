"""Values are those of so many copies of the rows that scores are counted by value, and spilled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import PER_ROW, Draw, Problem, problems
from tests.relations import ROUNDED, VALUES, has_no_sets_of_labels, numbered, picked, without_names
from tests.routes import ENOUGH, comparable, contents_of, differences
from xmleval import Evaluator

CURVES = ("auc.micro", "ap.micro", "peak_f1.micro", "auc.macro")
MANY = 1 << 20  # scores of a shard; most of them are counted by value


def copies(value: Any, n: int) -> Any:
    """Return so many copies of the rows of an argument."""
    if isinstance(value, str):
        return value
    return value * n if isinstance(value, list) else value[np.tile(np.arange(value.shape[0]), n)]


def in_float32(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with a score of every label."""
    labels = range(problem.n_labels)
    listed = [[*(dict.fromkeys(labels, 0.5) | dict(row)).items()] for row in problem.listed]
    return replace(numbered(problem, draw), listed=listed, dtype="float32")


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_values_are_those_of_many_copies_of_the_rows(data: st.DataObject) -> None:
    without = (PER_ROW, "curve_points", "exclude", "candidates")
    problem = data.draw(problems(change=in_float32, without=without, forms=("csr",), least_rows=1))
    names = [spec.name for spec in problem.specs if has_no_sets_of_labels(spec)]
    problem = replace(problem, metrics=(*dict.fromkeys([*names, *CURVES]),))
    n = MANY // (problem.n_rows * problem.n_labels) + 1
    rows = {name: copies(value, n) for name, value in problem.rows().items()}
    memory = ENOUGH if problem.has("confidence") else data.draw(st.sampled_from([ENOUGH, 1 << 20]))
    whole = problem.evaluator(memory=memory, threads=data.draw(st.integers(1, 2)))
    whole.update(**rows, first_row=0)
    shard = problem.evaluator(memory=memory, block_rows=MANY)
    shard.update(**rows, first_row=n * problem.n_rows)
    if data.draw(st.booleans()):
        with TemporaryDirectory() as folder:
            shard.save(Path(folder) / "shard")
            shard = Evaluator.load(Path(folder) / "shard", memory=memory)
    reports = problem.evaluate(), whole.merge(shard).compute()
    before, after = (picked(comparable(contents_of(report)), VALUES) for report in reports)
    before, after = (without_names(contents, {"n_rows"}) for contents in (before, after))
    assert differences(before, after, lambda place: ROUNDED) == []
