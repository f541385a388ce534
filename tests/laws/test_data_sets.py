"""Comparisons over data sets give what each data set gives on its own, on every route."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.file_routes import printed
from tests.problems import SETS
from tests.routes import comparable, flat
from xmleval import Comparison, Comparisons, Ranking, Rankings, compare, rank

METRICS = ["p@1", "ndcg@3", "f1.macro@1", "ranking_loss"]
TESTS: dict[str, Any] = {
    "t": {},
    "baseline": {"baseline": "b"},
    "flips": {"test": "randomisation", "confidence": 0.9},
    "worst": {"worst": 2},
    "complete lists": {"complete_lists": True},
}
FLAGS = {"complete_lists": "--complete-lists"}
IGNORED = {"notes", "notes_on", "version", *SETS[1:], "name"}
GROUPS = ("label_groups", "row_groups")
few = settings(max_examples=max(2, settings().max_examples // 20))


@dataclass(frozen=True)
class DataSet:
    """The truth of a data set, scores by model, and options with values of its own."""

    truth: Any
    scores: dict[str, Any]
    options: dict[str, Any]

    @property
    def labels(self) -> list[str]:
        return [f"label-{label}" for label in range(self.truth.shape[1])]


@st.composite
def data_sets(draw: st.DrawFn) -> dict[str, DataSet]:
    """Draw two or three data sets of two or three models."""
    names = ["a", "b", "c"][: draw(st.integers(2, 3))]
    grouped = draw(st.sets(st.sampled_from(GROUPS)))
    sets = dict[str, DataSet]()
    for name in ["first", "second", "third"][: draw(st.integers(2, 3))]:
        rng = np.random.default_rng(draw(st.integers(0, 1 << 20)))
        n_rows = draw(st.integers(4, 40))
        n_labels = draw(st.integers(3, 6))
        truth = (rng.random((n_rows, n_labels)) < 0.4).astype(np.float64)
        truth[np.arange(n_rows), rng.integers(n_labels, size=n_rows)] = 1
        truth[0] = 1
        scores = {}
        for place, model in enumerate(names):
            noise = rng.random(truth.shape) * (1 + place)
            rounded = np.round(truth * 0.7 + noise, 6)
            # no two of a row are equal: forms break ties by the number or the name of a label
            scores[model] = np.round(rounded + np.arange(n_labels) / 1e7, 7)
        options = dict[str, Any]()
        if "label_groups" in grouped:
            options["label_groups"] = [f"group-{label % 2}" for label in range(n_labels)]
        if "row_groups" in grouped:
            options["row_groups"] = [f"part-{row % 2}" for row in range(n_rows)]
        sets[name] = DataSet(truth, scores, options)
    return sets


def as_arrays(data_set: DataSet) -> tuple[Any, Any, Any]:
    return data_set.truth, data_set.scores, data_set.options


def as_objects(data_set: DataSet) -> tuple[Any, Any, Any]:
    """Return lists of names, and dicts of scores by name."""
    truth = [
        [label for label, value in zip(data_set.labels, row, strict=True) if value]
        for row in data_set.truth
    ]
    scores = {}
    for name, matrix in data_set.scores.items():
        scores[name] = [dict(zip(data_set.labels, row, strict=True)) for row in matrix.tolist()]
    return truth, scores, {**data_set.options, "labels": data_set.labels}


def as_frames(data_set: DataSet) -> tuple[Any, Any, Any]:
    """Return frames with a column for each label."""
    scores = {
        name: pandas.DataFrame(matrix, columns=data_set.labels)
        for name, matrix in data_set.scores.items()
    }
    return pandas.DataFrame(data_set.truth, columns=data_set.labels), scores, data_set.options


def in_python(
    form: Callable[[DataSet], tuple[Any, Any, Any]], sets: dict[str, DataSet], options: Any
) -> dict[str, Any]:
    several = {name: form(data_set) for name, data_set in sets.items()}
    result: Comparisons = compare(several, metrics=METRICS, **options)
    for name, (truth, models, own) in several.items():
        alone = compare(truth, models, metrics=METRICS, **options, **own)
        assert result[name].to_dict() == alone.to_dict()
        assert str(result[name]) == str(alone)
        assert result[name].notes == alone.notes
        letters = [each.better_than for each in result[name].records()]
        assert letters == [each.better_than for each in alone.records()]
    return result.to_dict()


def from_results(sets: dict[str, DataSet], options: Any) -> dict[str, Any]:
    """Compare results that were saved as JSON, by file and in one file."""
    whole: Comparisons = compare(
        {name: as_arrays(each) for name, each in sets.items()}, metrics=METRICS, **options
    )
    with TemporaryDirectory() as folder:
        files = {}
        for name, comparison in whole.items():
            files[name] = Path(folder) / f"{name}.json"
            files[name].write_text(comparison.to_json())
        result: Comparisons = compare(files)
        path = Path(folder) / "all.json"
        path.write_text(whole.to_json())
        for each in (result, compare(path), Comparisons.load(path), compare(whole)):
            assert str(each) == str(whole)
            assert each.to_json() == whole.to_json()
            assert each.to_latex() == whole.to_latex()
    return result.to_dict()


def write_npz(path: Path, matrix: Any, labels: Sequence[str]) -> None:
    sp.save_npz(path.with_suffix(".npz"), sp.csr_array(matrix))


def write_table(path: Path, matrix: Any, labels: Sequence[str]) -> None:
    """Write a table with a column for each label."""
    pandas.DataFrame(matrix, columns=labels).to_csv(path.with_suffix(".csv"), index=False)


def in_the_shell(
    ending: str, write: Callable[..., None], sets: dict[str, DataSet], options: Any
) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        words = ["compare", "--metrics", ",".join(METRICS), "--format", "json"]
        for name, data_set in sets.items():
            place = Path(folder) / name
            place.mkdir()
            write(place / "truth", data_set.truth, data_set.labels)
            words += ["--truth", f"{name}={folder}/{{}}/truth.{ending}"]
            for model, matrix in data_set.scores.items():
                write(place / model, matrix, data_set.labels)
            for option, values in data_set.options.items():
                lines = values
                if option == "label_groups" and ending == "csv":  # of labels with names
                    lines = [
                        f"{label}\t{value}"
                        for label, value in zip(data_set.labels, values, strict=True)
                    ]
                (place / f"{option}.txt").write_text("".join(f"{line}\n" for line in lines))
        first = next(iter(sets.values()))
        for model in first.scores:
            words += ["--model", f"{model}={folder}/{{}}/{model}.{ending}"]
        for option in first.options:
            words += [f"--{option.replace('_', '-')}", f"{folder}/{{}}/{option}.txt"]
        for option, value in options.items():
            words += [FLAGS[option]] if option in FLAGS else [f"--{option}", str(value)]
        contents: dict[str, Any] = json.loads(printed(words))
        return contents


ROUTES: dict[str, Callable[[dict[str, DataSet], Any], dict[str, Any]]] = {
    "arrays": lambda *arguments: in_python(as_arrays, *arguments),
    "named objects": lambda *arguments: in_python(as_objects, *arguments),
    "frames": lambda *arguments: in_python(as_frames, *arguments),
    "files": lambda *arguments: in_the_shell("npz", write_npz, *arguments),
    "tables": lambda *arguments: in_the_shell("csv", write_table, *arguments),
    "results": from_results,
}


def values_of(contents: dict[str, Any]) -> list[Any]:
    """Return all contents but notes, files, and names of labels, which are ids in lists."""
    values = []
    for place, value in flat(comparable(contents)):
        if not IGNORED & {*place}:
            is_label = isinstance(value, str) and value.startswith("label-")
            values.append((place, int(value.removeprefix("label-")) if is_label else value))
    return values


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
@few
@given(sets=data_sets(), test=st.sampled_from([*TESTS]))
def test_data_sets_are_compared_as_each_alone(
    route: str, sets: dict[str, DataSet], test: str
) -> None:
    options = TESTS[test]
    actual = ROUTES[route](sets, options)["data_sets"]
    assert [*actual] == [*sets]
    for name, data_set in sets.items():
        truth, models, own = as_arrays(data_set)
        alone: Comparison = compare(truth, models, metrics=METRICS, **options, **own)
        assert values_of(actual[name]) == values_of(alone.to_dict())


@few
@given(sets=data_sets())
def test_rank_of_data_sets_is_that_of_their_table(sets: dict[str, DataSet]) -> None:
    several = {name: (each.truth, each.scores) for name, each in sets.items()}
    table: Comparisons = compare(several, metrics=METRICS)
    values = dict[str, Any]()
    for name, comparison in table.items():
        values[name] = {model: dict(report) for model, report in comparison.items()}
    by_one: Ranking = rank(several, "ndcg@3")
    by_all: Rankings = rank(several, METRICS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.json"
        path.write_text(table.to_json())
        for results in (table, values, path):
            assert rank(results, "ndcg@3").to_dict() == by_one.to_dict()
            assert rank(results, METRICS).to_dict() == by_all.to_dict()
