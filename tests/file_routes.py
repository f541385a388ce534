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
from tests.limits import OF_NAMES, small_limits
from tests.problems import CLUSTERS, HIGHER, PER_LABEL, PER_ROW, SETS, Draw, Problem, indicator
from xmleval import Evaluator
from xmleval.evaluation import checkpoint
from xmleval.evaluation.batch import Batch

OPTIONS = {  # that take the values of Python
    "decision": "--decision", "confidence": "--confidence", "exclude_from": "--exclude-from",
}  # fmt: skip
FIELDS = {"gains": "binary", "unlisted": "below", "link": "none"}  # of conventions, with options of their own
FLAGS = {HIGHER: "--lower-is-better", "bounds": "--bounds"}
LINES = {CLUSTERS: "--clusters", "row_groups": "--row-groups", "label_groups": "--label-groups"}
ROLES = {"y_pred": "--pred", "candidates": "--candidates", "y_train": "--train"}
OUTPUTS = {PER_ROW: ("--per-row", "row", "per_row"), PER_LABEL: ("--per-label", "label", "per_label")}


class Record(NamedTuple):
    """A row of a file with names: its key, and labels with their grades or scores."""

    key: str
    labels: list[str]
    values: list[float]

    def lists(self, role: str) -> dict[str, Any]:
        """Return labels and values as columns of lists; sets have no values."""
        column = {"truth": "relevance", "scores": "scores"}.get(role)
        return {"labels": self.labels} | ({column: self.values} if column else {})


# texts that are taken for numbers, for missing values, for something of a format, or are not ASCII
ODD = (
    "007", "7", "nan", "None", "null", "-1", "1e5", "inf", "true", "x" * 300, "\xe9", "\u65e5\u672c",
    "a,b", "a|b", "a:1", "[]", "'", "%", "\U0001f600", "NA",
)  # fmt: skip


def names_of(problem: Problem, odd: Sequence[str] = ODD) -> list[str]:
    """Return names of labels that descend where ids ascend, as ties go to the later name."""
    names = [f"label-{label:03}" for label in range(problem.n_labels)]
    return sorted([*odd, *names][: problem.n_labels] if problem.odd else names, reverse=True)


def keys_of(problem: Problem, odd: Sequence[str] = ODD) -> list[str]:
    keys = [f"row-{row}" for row in range(problem.n_rows)]
    return [*odd[::-1], *keys][: problem.n_rows] if problem.odd else keys


def write_json(path: Path, role: str, records: list[Record]) -> Path:
    rows = {record.key: dict(zip(record.labels, record.values, strict=True)) for record in records}
    path.with_suffix(".json").write_text(json.dumps(rows))
    return path.with_suffix(".json")


def write_jsonl(path: Path, role: str, records: list[Record]) -> Path:
    lines = [json.dumps({"id": record.key, **record.lists(role)}) for record in records]
    path.with_suffix(".jsonl").write_text("\n".join([*lines, ""]))
    return path.with_suffix(".jsonl")


def write_csv(path: Path, role: str, records: list[Record]) -> Path:
    columns = ["id", *records[0].lists(role)]
    with path.with_suffix(".csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        for record in records:
            lines.writerow([record.key, *map(json.dumps, record.lists(role).values())])
    return path.with_suffix(".csv")


def write_parquet(path: Path, role: str, records: list[Record]) -> Path:
    rows = [{"instance": record.key, **record.lists(role)} for record in records]
    types = {"labels": pa.list_(pa.string())}
    schema = [(name, types.get(name, pa.list_(pa.float64()))) for name in records[0].lists(role)]
    table = pa.Table.from_pylist(rows, pa.schema([("instance", pa.string()), *schema]))
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def write_trec(path: Path, role: str, records: list[Record]) -> Path:
    path = path.with_suffix(".run" if role == "scores" else ".qrels")
    entries = [(r.key, *entry) for r in records for entry in zip(r.labels, r.values, strict=True)]
    if role == "scores":
        entries.sort(key=lambda entry: entry[1])  # the lines of an instance stand apart
    shape = "{0} Q0 {1} 1 {2} model\n" if role == "scores" else "{0} 0 {1} {2}\n"
    path.write_text("".join(shape.format(*entry) for entry in entries))
    return path


NAMED: dict[str, Callable[[Path, str, list[Record]], Path]] = {
    "json": write_json, "jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet, "trec": write_trec,
}  # fmt: skip


class Files:
    """Files of a problem in a folder, with numbers (npz) or with names of rows and labels."""

    def __init__(self, kind: str, problem: Problem, folder: Path) -> None:
        self.kind, self.problem, self.folder = kind, problem, folder
        self.named = kind != "npz"
        self.labels = names_of(problem) if self.named else [*map(str, range(problem.n_labels))]
        self.keys = keys_of(problem)
        self.order: Sequence[int] = range(problem.n_rows)  # of scores with names

    def lines(self, name: str, lines: Sequence[object]) -> str:
        path = self.folder / f"{name}.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def array(self, name: str, rows: Any) -> str:
        path = self.folder / name
        if isinstance(rows, tuple):
            pair = zip(("indices", "scores"), rows, strict=True)
            np.savez(path.with_suffix(".npz"), **{each: array for each, array in pair if array is not None})
        elif not sp.issparse(rows):
            np.save(path.with_suffix(".npy"), rows)
            return str(path.with_suffix(".npy"))
        else:
            sp.save_npz(path.with_suffix(".npz"), rows)
        return str(path.with_suffix(".npz"))

    def rows(self, name: str, part: Problem, role: str, first: int = 0) -> str:
        """Write rows of the truth or of the scores."""
        if not self.named:
            return self.array(name, part.y_true() if role == "truth" else part.y_score())
        judged = [[(label, int(grade)) for label, grade in row.items()] for row in part.truth]
        if role == "truth":
            return self.records(name, role, self.keys[first:], judged)
        keys, rows = [self.keys[row] for row in self.order], [part.listed[row] for row in self.order]
        return self.records(name, role, keys, rows)

    def sets(self, name: str, sets: list[set[int]]) -> str:
        if not self.named:
            return self.array(name, indicator(sets, self.problem.n_labels))
        keys = self.keys if name in SETS else [f"train-{row}" for row in range(len(sets))]
        return self.records(name, "sets", keys, [[(label, 1) for label in sorted(row)] for row in sets])

    def records(self, name: str, role: str, keys: list[str], rows: Sequence[list[Any]]) -> str:
        records = [
            Record(key, [self.labels[label] for label, _ in row], [value for _, value in row])
            for key, row in zip(keys, rows, strict=False)
        ]
        write = write_jsonl if role == "sets" else NAMED[self.kind]  # which all formats go with
        return str(write(self.folder / name, role, records))

    def shards(self, role: str, draw: Draw) -> str:
        """Write one file, or a folder of files that follow one another."""
        n_rows = self.problem.n_rows
        cuts = draw(st.sets(st.integers(1, n_rows - 1), max_size=2)) if n_rows > 1 else ()
        if self.named or not cuts:
            return self.rows(role, self.problem, role)
        (self.folder / role).mkdir()
        for number, (lo, hi) in enumerate(itertools.pairwise([0, *sorted(cuts), n_rows])):
            self.rows(f"{role}/part_{number}", self.problem.take(range(lo, hi)), role, lo)
        return str(self.folder / role)

    def words(self, draw: Draw) -> list[str]:
        """Write everything, and return the words of the command."""
        problem, arguments = self.problem, self.problem.arguments
        self.order = draw(st.permutations(self.order))
        words = ["evaluate", self.shards("truth", draw)]
        words += [] if problem.form == "none" else [self.shards("scores", draw)]
        words += ["--metrics", ",".join(problem.metrics), "--format", "json"]
        words += ["--labels", self.lines("names", self.labels)] if self.named else []
        if "k" in arguments:
            words += ["--k", ",".join(map(str, np.atleast_1d(arguments["k"])))]
        if "conventions" in arguments:
            fields = problem.conventions.as_dict()
            alone = {name: fields.pop(name) for name in FIELDS}
            words += ["--conventions", ",".join(f"{name}={value}" for name, value in fields.items())]
            for name, value in alone.items():
                words += [f"--{name}", str(value)] if value != FIELDS[name] else []
        for name, option in OPTIONS.items():
            words += [option, str(arguments[name])] if name in arguments else []
        words += [option for name, option in FLAGS.items() if name in arguments]
        for name, option in LINES.items():
            keys = self.labels if name == "label_groups" else self.keys
            of = [f"{key}\t" if self.named else "" for key in keys]
            texts = map("".join, zip(of, arguments.get(name, of), strict=True))
            words += [option, self.lines(name, [*texts])] if name in arguments else []
        for name, option in ROLES.items():
            words += [option, self.sets(name, arguments[name])] if name in arguments else []
        if "exclude" in arguments:
            sets = enumerate(arguments["exclude"])
            words += ["--exclude", self.lines("pairs", [f"{i} {j}" for i, row in sets for j in sorted(row)])]
        if "hierarchy" in arguments:
            edges = ["\t".join(self.labels[label] for label in edge) for edge in arguments["hierarchy"]]
            words += ["--hierarchy", self.lines("edges", edges)]
        if "inverse_propensity" in arguments:
            words += ["--inverse-propensity", self.array("q", np.array(arguments["inverse_propensity"]))]
        return words + self.outputs()

    def outputs(self) -> list[str]:
        """Return the words for the files of values by row, which means over rows alone have, and by label."""
        problem, words = self.problem, list[str]()
        for name, (option, _, kind) in OUTPUTS.items():
            if problem.has(name) and (name != PER_ROW or problem.evaluate().per_row()):
                words += [option, str(self.folder / f"{kind}.csv")]
        return words

    def contents(self, out: str) -> dict[str, Any]:
        """Return what a command has written, as `contents` does of a report."""
        contents: dict[str, Any] = json.loads(out)
        for _, column, kind in OUTPUTS.values():
            if (path := self.folder / f"{kind}.csv").exists():
                with path.open() as file:
                    rows = sorted(csv.DictReader(file), key=lambda row: int(row[column]))
                columns = [name for name in (rows[0] if rows else ()) if name not in ("name", column)]
                contents[kind] = {name: [float(row[name] or "nan") for row in rows] for name in columns}
        return contents


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
        with small_limits(OF_NAMES):  # rows with names are spilled
            return files.contents(printed([*words, "--memory", "300"]))


def beside(problem: Problem, draw: Draw, *, kinds: Sequence[str]) -> dict[str, Any]:
    """Evaluate next to a model that lists the labels in other rows and, where it may, one of its own."""
    with TemporaryDirectory() as folder:
        files = Files(draw(st.sampled_from(kinds)), problem, Path(folder))
        words, place = files.words(draw), draw(st.integers(0, 1))
        rows = problem.take(range(problem.n_rows)[::-1])
        if files.named:
            files.labels.append("of-its-own")
            unknown = [(problem.n_labels, 0.5)] if problem.unlisted is None else []
            listed = [[*row, *unknown] for row in rows.listed]
            companion = files.records("beside", "scores", files.keys, listed)
        else:
            companion = files.array("beside", rows.y_score())
        alone: dict[str, Any] = json.loads(printed(words))
        words.insert(3 - place, companion)
        assert [*json.loads(printed(words))["reports"].values()][place] == alone  # with its notes
        return alone


def resumed(problem: Problem, draw: Draw, *, kinds: Sequence[str]) -> dict[str, Any]:
    """Interrupt a run after some of its batches, and go on from its checkpoint."""
    with TemporaryDirectory() as folder, small_limits(OF_NAMES):
        files = Files(draw(st.sampled_from(kinds)), problem, Path(folder))
        memory = [] if problem.has("confidence") else ["--memory", "300"]  # whose tables must fit
        words = [*files.words(draw), *memory, "--checkpoint", f"{folder}/kept", "--resume"]
        for _ in range(draw(st.integers(1, 2))):
            with interrupted(draw(st.integers(1, 3))), saving_each_time():
                code, out, err = answer(words)
            if code == 0:  # fewer batches
                return files.contents(out)
            assert code == 130, err
        return files.contents(printed(words))


def merged_files(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Save the states of shards, and merge them."""
    cuts = draw(st.sets(st.integers(1, problem.n_rows - 1), max_size=2)) if problem.n_rows > 1 else ()
    with TemporaryDirectory() as folder:
        states = []
        for first, stop in itertools.pairwise([0, *sorted(cuts), problem.n_rows]):
            part = Path(folder, f"from_{first}")
            part.mkdir()
            states.append(f"{part}.npz")
            words = Files("npz", problem.take(range(first, stop)), part).words(draw)
            number = ["--first-row", str(first)] if problem.has("confidence") else []
            printed([*words, "--save", states[-1], *number])
        files = Files("npz", problem, Path(folder))
        return files.contents(printed(["merge", *states, "--format", "json", *files.outputs()]))


def interrupted(n: int) -> Any:
    """Let the n-th batch be interrupted."""
    add, calls = Evaluator.add, itertools.count(1)

    def counting(evaluator: Evaluator, batch: Batch) -> None:
        if next(calls) == n:
            raise KeyboardInterrupt
        add(evaluator, batch)

    return mock.patch.object(Evaluator, "add", counting)


def saving_each_time() -> Any:
    """Save a checkpoint after each batch, whatever time has passed."""
    return mock.patch.multiple(checkpoint, LEAST_SECONDS=0, SHARE=0)
