"""Routes from a problem to its report through files and the command line."""

import csv
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from hypothesis import strategies as st

from tests.damage import answer
from tests.limits import NAME_LIMITS, small_limits
from tests.problems import CLUSTERS, HIGHER, PER_LABEL, PER_ROW, Draw, Problem, indicator
from xmleval.evaluation import checkpoint
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.evaluator import BatchCounter

OPTIONS = {  # options with the values of Python
    "decision": "--decision",
    "confidence": "--confidence",
    "exclude_from": "--exclude-from",
}
# conventions that are options
FIELDS = {"gains": "binary", "relevant_from": 1, "unlisted": "below", "link": "none"}
FLAGS = {HIGHER: "--lower-is-better", "bounds": "--bounds"}
LINES = {CLUSTERS: "--clusters", "row_groups": "--row-groups", "label_groups": "--label-groups"}
COLUMNS = {CLUSTERS: "of clusters", "row_groups": "of groups"}  # names in the truth's table
ROLES = {
    "y_pred": "--pred",
    "unjudged": "--unjudged",
    "judged": "--judged",
    "candidates": "--candidates",
    "y_train": "--train",
}
OUTPUTS = {
    PER_ROW: ("--per-row", "row", "per_row"),
    PER_LABEL: ("--per-label", "label", "per_label"),
}


class Record(NamedTuple):
    """A row of a file with names: its key, labels with their grades or scores, and columns."""

    key: str
    labels: list[str]
    values: list[float]
    columns: dict[str, str]

    @property
    def first_cells(self) -> dict[str, str]:
        """Cells that a table has next to the lists."""
        return {"instance": self.key, **self.columns}

    def lists(self, role: str) -> dict[str, Any]:
        """Return labels and values as columns of lists; sets have no values."""
        if role == "truth":
            return {"labels": self.labels, "relevance": self.values}
        if role == "scores":
            return {"labels": self.labels, "scores": self.values}
        return {"labels": self.labels}


# texts that look like numbers, missing values or marks of a format, or are not ASCII
ODD = (
    "007",
    "7",
    "nan",
    "None",
    "null",
    "-1",
    "1e5",
    "inf",
    "true",
    "x" * 300,
    "\xe9",
    "\u65e5\u672c",
    "a,b",
    "a|b",
    "a:1",
    "[]",
    "'",
    "%",
    "\U0001f600",
    "NA",
)


def names_of(problem: Problem, odd: Sequence[str] = ODD) -> list[str]:
    """Return names of labels that descend where ids ascend, as ties go to the later name."""
    names = [f"label-{label:03}" for label in range(problem.n_labels)]
    if problem.odd:
        names = [*odd, *names][: problem.n_labels]
    return sorted(names, reverse=True)


def keys_of(problem: Problem, odd: Sequence[str] = ODD) -> list[str]:
    keys = [f"row-{row}" for row in range(problem.n_rows)]
    if problem.odd:
        keys = [*odd[::-1], *keys][: problem.n_rows]
    return keys


def write_json(path: Path, role: str, records: list[Record]) -> Path:
    rows = {record.key: dict(zip(record.labels, record.values, strict=True)) for record in records}
    path.with_suffix(".json").write_text(json.dumps(rows))
    return path.with_suffix(".json")


def write_jsonl(path: Path, role: str, records: list[Record]) -> Path:
    lines = [json.dumps({**record.first_cells, **record.lists(role)}) for record in records]
    path.with_suffix(".jsonl").write_text("\n".join([*lines, ""]))
    return path.with_suffix(".jsonl")


def write_csv(path: Path, role: str, records: list[Record]) -> Path:
    columns = [*records[0].first_cells, *records[0].lists(role)]
    with path.with_suffix(".csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        for record in records:
            cells = [*record.first_cells.values(), *map(json.dumps, record.lists(role).values())]
            lines.writerow(cells)
    return path.with_suffix(".csv")


def write_long_csv(path: Path, role: str, records: list[Record]) -> Path:
    """Write a row for each label; the rows of an instance are apart."""
    value_name = "score" if role == "scores" else "relevance"
    entries: list[list[Any]] = [
        [*record.first_cells.values(), label, value]
        for record in records
        for label, value in zip(record.labels, record.values, strict=True)
    ]
    if role == "scores":
        entries.sort(key=lambda entry: entry[-2])
    else:
        entries.sort(key=lambda entry: entry[0] != records[0].key)
    with path.with_suffix(".csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*records[0].first_cells, "label", value_name])
        lines.writerows(entries)
    return path.with_suffix(".csv")


def write_parquet(path: Path, role: str, records: list[Record]) -> Path:
    rows = [{**record.first_cells, **record.lists(role)} for record in records]
    types = {"labels": pa.list_(pa.string())}
    schema = [(name, types.get(name, pa.list_(pa.float64()))) for name in records[0].lists(role)]
    first = [(name, pa.string()) for name in records[0].first_cells]
    table = pa.Table.from_pylist(rows, pa.schema([*first, *schema]))
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_trec(path: Path, role: str, records: list[Record]) -> Path:
    entries = [
        (record.key, label, value)
        for record in records
        for label, value in zip(record.labels, record.values, strict=True)
    ]
    if role == "scores":
        path = path.with_suffix(".run")
        entries.sort(key=lambda entry: entry[1])  # the lines of an instance are apart
        lines = [f"{key} Q0 {label} 1 {score} model\n" for key, label, score in entries]
    else:
        path = path.with_suffix(".qrels")
        lines = [f"{key} 0 {label} {grade}\n" for key, label, grade in entries]
    path.write_text("".join(lines))
    return path


def write_label_table(path: Path, role: str, records: list[Record]) -> Path:
    """Write a table with a column for each label; each record has all labels, in any order."""
    with path.with_suffix(".csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*records[0].first_cells, *records[0].labels])
        for record in records:
            values = dict(zip(record.labels, record.values, strict=True))
            cells = [values[label] for label in records[0].labels]
            lines.writerow([*record.first_cells.values(), *cells])
    return path.with_suffix(".csv")


LABEL_TABLE = "label table"
NAMED: dict[str, Callable[[Path, str, list[Record]], Path]] = {
    "json": write_json,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "long csv": write_long_csv,
    "parquet": write_parquet,
    "trec": write_trec,
}
WITHOUT_COLUMNS = ("npz", "json", "trec", LABEL_TABLE)  # kinds whose truth has no other values


class Files:
    """Files of a problem in a folder, with numbers (npz) or with names of rows and labels."""

    def __init__(self, kind: str, problem: Problem, folder: Path) -> None:
        self.kind = kind
        self.problem = problem
        self.folder = folder
        self.named = kind != "npz"
        self.labels = [*map(str, range(problem.n_labels))]
        if self.named:
            self.labels = names_of(problem)
        self.keys = keys_of(problem)
        self.order: Sequence[int] = range(problem.n_rows)  # rows of scores with names
        self.has_columns = False  # whether the truth's table has values of rows

    def lines(self, name: str, lines: Sequence[object]) -> str:
        path = self.folder / f"{name}.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def array(self, name: str, rows: Any) -> str:
        path = self.folder / f"{name}.npz"
        if isinstance(rows, tuple):
            labels, scores = rows
            arrays = {"indices": labels}
            if scores is not None:
                arrays["scores"] = scores
            np.savez(path, **arrays)
        elif sp.issparse(rows):
            sp.save_npz(path, rows)
        else:
            path = path.with_suffix(".npy")
            np.save(path, rows)
        return str(path)

    def rows(self, name: str, part: Problem, role: str, first: int = 0) -> str:
        """Write rows of the truth or of the scores."""
        if role == "truth":
            if not self.named:
                return self.array(name, part.y_true())
            judged = [[(label, int(grade)) for label, grade in row.items()] for row in part.truth]
            return self.records(name, role, self.keys[first:], judged)
        if not self.named:
            return self.array(name, part.y_score())
        keys = [self.keys[row] for row in self.order]
        listed = [part.listed[row] for row in self.order]
        return self.records(name, role, keys, listed)

    def sets(self, name: str, sets: list[set[int]]) -> str:
        if not self.named:
            return self.array(name, indicator(sets, self.problem.n_labels))
        keys = self.keys
        if name == "y_train":
            keys = [f"train-{row}" for row in range(len(sets))]
        entries = [[(label, 1) for label in sorted(row)] for row in sets]
        return self.records(name, "sets", keys, entries)

    def records(self, name: str, role: str, keys: list[str], rows: Sequence[list[Any]]) -> str:
        records = []
        for key, row in zip(keys, rows, strict=False):
            labels = [self.labels[label] for label, _ in row]
            columns = self.columns_of(key) if role == "truth" else {}
            records.append(Record(key, labels, [value for _, value in row], columns))
        write = write_label_table if self.kind == LABEL_TABLE else NAMED[self.kind]
        if role == "sets":  # in a format that all others accept as companion
            write = write_jsonl
        return str(write(self.folder / name, role, records))

    def columns_of(self, key: str) -> dict[str, str]:
        """Return the values of a row that the truth's table has."""
        if not self.has_columns:
            return {}
        values = self.problem.arguments
        row = self.keys.index(key)
        return {column: values[name][row] for name, column in COLUMNS.items() if name in values}

    def shards(self, role: str, draw: Draw) -> str:
        """Write one file, or a folder of files that follow one another."""
        ends = drawn_ends(self.problem.n_rows, draw)
        if self.named or len(ends) == 2:
            return self.rows(role, self.problem, role)
        (self.folder / role).mkdir()
        for number, (lo, hi) in enumerate(itertools.pairwise(ends)):
            self.rows(f"{role}/part_{number}", self.problem.take(range(lo, hi)), role, lo)
        return str(self.folder / role)

    def words(self, draw: Draw) -> list[str]:
        """Write everything, and return the words of the command."""
        problem = self.problem
        self.order = draw(st.permutations(self.order))
        self.has_columns = self.kind not in WITHOUT_COLUMNS and draw(st.booleans())
        words = ["evaluate", self.shards("truth", draw)]
        if problem.form != "none":
            words.append(self.shards("scores", draw))
        words += ["--metrics", ",".join(problem.metrics), "--format", "json"]
        if self.named:
            words += ["--labels", self.lines("names", self.labels)]
        return words + self.values() + self.conventions() + self.inputs() + self.outputs()

    def values(self) -> list[str]:
        """Return the options that take plain values, or none."""
        arguments = self.problem.arguments
        words = list[str]()
        if "k" in arguments:
            words += ["--k", ",".join(map(str, np.atleast_1d(arguments["k"])))]
        for name, option in OPTIONS.items():
            if name in arguments:
                words += [option, str(arguments[name])]
        return words + [option for name, option in FLAGS.items() if name in arguments]

    def conventions(self) -> list[str]:
        if not self.problem.has("conventions"):
            return []
        fields = self.problem.conventions.as_dict()
        words = list[str]()
        for name, default in FIELDS.items():
            value = fields.pop(name)
            if value != default:
                words += [f"--{name.replace('_', '-')}", str(value)]
        text = ",".join(f"{name}={value}" for name, value in fields.items())
        return ["--conventions", text, *words]

    def inputs(self) -> list[str]:
        """Write the files of options, and return the options."""
        arguments = self.problem.arguments
        words = list[str]()
        for name, option in LINES.items():
            if name in COLUMNS and name in arguments and self.has_columns:
                words += [option, COLUMNS[name]]
            elif name in arguments:
                words += [option, self.lines(name, self.vector(name))]
        for name, option in ROLES.items():
            if name in arguments:
                words += [option, self.sets(name, arguments[name])]
        if "exclude" in arguments:
            pairs = [f"{i} {j}" for i, row in enumerate(arguments["exclude"]) for j in sorted(row)]
            words += ["--exclude", self.lines("pairs", pairs)]
        if "hierarchy" in arguments:
            edges = [f"{self.labels[i]}\t{self.labels[j]}" for i, j in arguments["hierarchy"]]
            words += ["--hierarchy", self.lines("edges", edges)]
        if "inverse_propensity" in arguments:
            q = np.array(arguments["inverse_propensity"])
            words += ["--inverse-propensity", self.array("q", q)]
        return words

    def vector(self, name: str) -> list[str]:
        """Return lines with a value for each row or label, after its key or name if any."""
        values = self.problem.arguments[name]
        if not self.named:
            return [*values]
        keys = self.labels if name == "label_groups" else self.keys
        return [f"{key}\t{value}" for key, value in zip(keys, values, strict=True)]

    def outputs(self) -> list[str]:
        """Return the options that write values by label and, if measures have any, by row."""
        problem = self.problem
        words = list[str]()
        for name, (option, _, kind) in OUTPUTS.items():
            if not problem.has(name):
                continue
            if name == PER_ROW and not problem.evaluate().per_row():
                continue
            words += [option, str(self.folder / f"{kind}.csv")]
        return words

    def contents(self, out: str) -> dict[str, Any]:
        """Return what a command has written, in the form of `contents_of` a report."""
        contents: dict[str, Any] = json.loads(out)
        for _, column, kind in OUTPUTS.values():
            path = self.folder / f"{kind}.csv"
            if path.exists():
                contents[kind] = read_columns(path, column)
        return contents


def read_columns(path: Path, index: str) -> dict[str, list[float]]:
    """Return the columns of a CSV file in the order of its index, without names."""
    with path.open() as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row[index]))
    if not rows:
        return {}
    columns = [name for name in rows[0] if name not in ("name", index)]
    return {name: [float(row[name] or "nan") for row in rows] for name in columns}


def drawn_ends(n_rows: int, draw: Draw) -> list[int]:
    """Return 0, up to two drawn places, and the number of rows."""
    if n_rows < 2:
        return [0, n_rows]
    return [0, *sorted(draw(st.sets(st.integers(1, n_rows - 1), max_size=2))), n_rows]


def printed(words: list[str]) -> str:
    code, out, err = answer(words)
    assert code == 0, err
    return out


def from_files(problem: Problem, draw: Draw, *, kinds: Sequence[str]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        files = Files(draw(st.sampled_from(kinds)), problem, Path(folder))
        words = files.words(draw)
        if problem.has("confidence") or draw(st.booleans()):
            return files.contents(printed(words))
        with small_limits(NAME_LIMITS):  # rows with names are spilled
            return files.contents(printed([*words, "--memory", "300"]))


def with_companion(problem: Problem, draw: Draw, *, kinds: Sequence[str]) -> dict[str, Any]:
    """Evaluate next to a model with other labels in each row, if possible also unknown ones."""
    with TemporaryDirectory() as folder:
        files = Files(draw(st.sampled_from(kinds)), problem, Path(folder))
        words = files.words(draw)
        place = draw(st.integers(0, 1))
        rows = problem.take(range(problem.n_rows)[::-1])
        if files.named:
            files.labels.append("of-its-own")
            listed = rows.listed
            if problem.unlisted is None:
                listed = [[*row, (problem.n_labels, 0.5)] for row in listed]
            companion = files.records("beside", "scores", files.keys, listed)
        else:
            companion = files.array("beside", rows.y_score())
        alone: dict[str, Any] = json.loads(printed(words))
        words.insert(3 - place, companion)
        reports = [*json.loads(printed(words))["reports"].values()]
        assert reports[place] == alone  # with its notes
        return alone


def resumed(problem: Problem, draw: Draw, *, kinds: Sequence[str]) -> dict[str, Any]:
    """Interrupt a run after some of its batches, and go on from its checkpoint."""
    with TemporaryDirectory() as folder, small_limits(NAME_LIMITS):
        files = Files(draw(st.sampled_from(kinds)), problem, Path(folder))
        words = [*files.words(draw), "--checkpoint", f"{folder}/kept", "--resume"]
        if not problem.has("confidence"):  # tables of intervals must fit
            words += ["--memory", "300"]
        for _ in range(draw(st.integers(1, 2))):
            with interrupted(draw(st.integers(1, 3))), saving_each_time():
                code, out, err = answer(words)
            if code == 0:  # fewer batches
                return files.contents(out)
            assert code == 130, err
        return files.contents(printed(words))


def merged_files(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Save the states of shards, and merge them."""
    ends = drawn_ends(problem.n_rows, draw)
    with TemporaryDirectory() as folder:
        states = []
        for first, stop in itertools.pairwise(ends):
            part = Path(folder, f"from_{first}")
            part.mkdir()
            states.append(f"{part}.npz")
            words = Files("npz", problem.take(range(first, stop)), part).words(draw)
            if problem.has("confidence"):
                words += ["--first-row", str(first)]
            printed([*words, "--save", states[-1]])
        files = Files("npz", problem, Path(folder))
        return files.contents(printed(["merge", *states, "--format", "json", *files.outputs()]))


def interrupted(n: int) -> Any:
    """Let the n-th batch be interrupted."""
    add = BatchCounter.add
    calls = itertools.count(1)

    def counting(counter: BatchCounter, batch: Batch) -> None:
        if next(calls) == n:
            raise KeyboardInterrupt
        add(counter, batch)

    return mock.patch.object(BatchCounter, "add", counting)


def saving_each_time() -> Any:
    """Save a checkpoint after each batch, whatever time has passed."""
    return mock.patch.multiple(checkpoint, LEAST_SECONDS=0, SHARE=0)
