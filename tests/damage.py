"""Damage to files, commands that read them, and checks of their answers."""

import contextlib
import gzip
import io
import json
import re
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.made_files import (
    NAMED,
    SCORES,
    TRUTHS,
    make_scores,
    make_truth,
    named_pair,
    npy,
    npz,
    svmlight,
)
from xmleval.cli import main

# ------------------------------------------------------------------------------------- edits at
# random

KINDS = ("flip", "put", "put", "cut", "double", "repeat", "end", "over", "word", "number", "number")
MOST_BYTES = 1 << 20  # of a file that is made longer
NUMBERS = b"""nan inf -inf -1 -0 0 1 7 9 0.5 1e999 1e-400 1_0 +3 0x10 2147483648 -2147483649
9223372036854775808 -9223372036854775809 1000000000000 99999999999999999999 1e 1e+ . -""".split()
NUMBERS += [b"1" * 400, b"9" * 5000, b"0." + b"3" * 400]
WORDS = [struct.pack("<q", value) for value in (-1, 2**63 - 1, -(2**63), 1 << 32, 1 << 40)]
WORDS += [struct.pack("<d", value) for value in (np.nan, np.inf, -np.inf, -1.0, 1e308, 5e-324)]
WORDS += [struct.pack("<2i", -1, 2**31 - 1), struct.pack("<2f", np.nan, -np.inf)]
TOKENS = [
    *NUMBERS,
    *WORDS,
    b":",
    b",",
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"'",
    b'"',
    b"%",
    b"?",
    b"<",
    b"&x;",
    b"@data",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x93NUMPY",
    b"PAR1",
    b"ARROW1",
    b"\xff\xff\xff\x7f",
]
NUMBER = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?")
Edit = tuple[str, float, float, bytes]  # kind, place and length as shares, bytes to be inserted


def edited(data: bytes, changes: list[Edit]) -> bytes:
    """Bytes with changes at shares of their length."""
    for kind, at, much, token in changes:
        place = int(at * len(data))
        if kind == "word":
            place -= place % 8
        data = changed_at(data, place, kind, much, token)
    return data


def changed_at(data: bytes, place: int, kind: str, much: float, token: bytes) -> bytes:
    """Bytes with one change at a place."""
    length = int(much**4 * len(data)) + 1  # mostly short
    before = data[:place]
    part = data[place : place + length]
    after = data[place + length :]
    if kind == "flip" and part:
        part = bytes([part[0] ^ 1 << int(much * 7)]) + part[1:]
    elif kind == "put":
        part = token + part
    elif kind in ("over", "word"):
        part = token
        after = data[place + len(token) :]
    elif kind == "number":
        number = NUMBER.search(data, place)
        if number:
            before = data[: number.start()]
            part = token
            after = data[number.end() :]
    elif kind == "cut":
        part = b""
    elif kind == "double":
        part += part
    elif kind == "repeat":
        part *= min(1 << int(much * 12), MOST_BYTES // (len(part) + 1) + 1)
    elif kind == "end":
        after = b""
    return before + part + after


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def edited_inside(path: Path, data: bytes, changes: list[Edit], inner: float) -> bytes:
    """Bytes with changes inside their compression or archive, which stays valid."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(edited(gzip.decompress(data), changes))
    if path.suffix != ".npz":
        return edited(data, changes)
    parts = members(data)
    name = [*parts][int(inner * len(parts)) - 1]
    return archive_of(parts | {name: edited(parts[name], changes)})


# ----------------------------------------------------------------------- files and their commands


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restore(folder: Path, whole: dict[Path, bytes]) -> None:
    """Restore changed and removed files, and remove new ones."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path in file.parents for file in whole):
            shutil.rmtree(path)
        elif not path.is_dir() and (path not in whole or path.is_symlink() or not path.is_file()):
            path.unlink()
    for path, data in whole.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


class Case(NamedTuple):
    """Files to be damaged, valid at first, and commands that read them.

    The first two commands, if there are two, differ only in ``--memory``.
    """

    damaged: list[Path]
    commands: list[list[str]]

    def damage(self, which: int, changes: list[Edit], inside: bool, inner: float) -> None:
        """Damage one of the files."""
        path = self.damaged[which % len(self.damaged)]
        data = path.read_bytes()
        if inside:
            path.write_bytes(edited_inside(path, data, changes, inner))
        else:
            path.write_bytes(edited(data, changes))

    def names_damage(self, line: str, command: list[str]) -> bool:
        """Whether a line names a damaged file, its folder or list, or its argument or option."""
        names = {str(path) for path in self.damaged}
        names |= {str(path.parent) for path in self.damaged[1:]}
        for end in ("_indices.npy", "_scores.npy", "-labels.npy", "-scores.npy"):
            names |= {name.removesuffix(end) for name in names}
        if any(name in line for name in names - {"."}):
            return True
        arguments = [pair for pair in pairwise(command) if pair[0].startswith("--")]
        if command[0] == "evaluate":
            arguments += [("TRUTH", command[1]), ("SCORES", command[2])]
        words = re.findall(r"[\w-]+", line)
        return any(argument in words for argument, value in arguments if value in names)

    def names_input(self, line: str, command: list[str]) -> bool:
        """Whether a line names a damaged file, or another input, which may not match it."""
        if self.names_damage(line, command):
            return True
        files = [word for word in command if re.search(r"\.\w+$", word) and "out.npz" not in word]
        return any(file in line for file in files)


CUT = "20kB"  # memory for a few rows of a file at a time
POOLED = "p@1,lrap,auc.micro,f1.micro@3"


class Option(NamedTuple):
    """An option with a file: measures that need it, and a writer of the file for a truth."""

    flag: str
    metrics: str
    write: Callable[[Path, Any], Any]


def writing(text: Callable[[int, int], str]) -> Callable[[Path, Any], Any]:
    """Return a writer of a text that depends on the numbers of rows and labels."""
    return lambda path, truth: path.write_text(text(*truth.shape))


def texts(values: Iterable[object]) -> str:
    return "".join(f"{value}\n" for value in values)


OPTIONS: dict[str, Option] = {
    "pairs.txt": Option("--exclude", "p@1,f1.micro@3", writing(lambda m, n: "0 1\n3 2\n")),
    "names.txt": Option("--labels", POOLED, writing(lambda m, n: texts(range(n + 2)))),
    "names.json": Option(
        "--labels", POOLED, writing(lambda m, n: json.dumps([*map(str, range(n + 2))]))
    ),
    "q.txt": Option(
        "--inverse-propensity", "psp@1", writing(lambda m, n: texts(np.linspace(1, 9, n)))
    ),
    "q.npy": Option(
        "--inverse-propensity",
        "psp@1",
        lambda path, truth: np.save(path, np.linspace(1, 9, truth.shape[1])),
    ),
    "train.npz": Option("--train", "psp@1", npz),
    "train.svm": Option("--train", "psp@1", svmlight),
    "pred.npz": Option("--pred", "f1.micro,f1.samples", npz),
    "label.csv": Option(
        "--label-groups", "p@1,f1.macro@3", writing(lambda m, n: "0,a\n1,b\n2,a\n")
    ),
    "row.csv": Option(
        "--row-groups", "p@1", writing(lambda m, n: texts(f"{i},{'ab'[i % 2]}" for i in range(m)))
    ),
    "clusters.txt": Option(
        "--clusters", "p@1", writing(lambda m, n: texts("ab"[i % 2] for i in range(m)))
    ),
    "tree.csv": Option("--hierarchy", "h_f1.micro@1", writing(lambda m, n: "1,0\n2,0\n3,1\n")),
}
INPUTS = [("truth", name) for name in TRUTHS] + [("scores", name) for name in SCORES]
INPUTS += [("names", name) for name in NAMED]
OTHERS = [("option", name) for name in OPTIONS] + [("features", "npy"), ("features", "npz")]
OTHERS += [("rule", "label"), ("rule", "row"), ("state", "lists"), ("state", "labels")]
CASES = [*INPUTS, *OTHERS]


class Maker:
    """Writes the files of cases for a truth and scores in a folder."""

    def __init__(self, folder: Path, truth: Any, scores: Any) -> None:
        self.folder = folder
        self.truth = truth
        self.scores = scores
        self.out = folder / "out.npz"

    def pair(self) -> tuple[Path, Path]:
        return npz(self.folder / "Y", self.truth), npy(self.folder / "m", self.scores)

    def named(self, name: str) -> Case:
        """A truth or scores with names, in a format of that name."""
        paths = named_pair(name, self.folder, self.truth, self.scores)
        role, _ = NAMED[name]
        damaged = paths[0] if role == "truth" else paths[1]
        return Case([damaged], evaluations(*paths, "--metrics", "p@1,ranking,f1.micro@3"))

    def rows(self, role: str, name: str) -> Case:
        """A truth or scores in a format of that name, which may be several files."""
        truth, scores = self.pair()
        before = {*self.folder.iterdir()}
        if role == "truth":
            truth = path = TRUTHS[name](self.folder / "damaged", self.truth)
        else:
            scores = path = SCORES[name](self.folder / "damaged", self.scores)
        commands = evaluations(truth, scores, "--metrics", POOLED)
        commands.append(words("convert", path, self.out, "--kind", role))
        if role == "truth":
            commands.append(words("stats", path))
        return Case(sorted({*self.folder.iterdir()} - before), commands)

    def option(self, name: str) -> Case:
        """The file of an option."""
        flag, metrics, write = OPTIONS[name]
        inputs: tuple[Path, ...]
        if flag == "--labels":
            inputs = named_pair("qrels", self.folder, self.truth, self.scores)
        else:
            inputs = self.pair()
        if flag == "--pred":
            inputs = inputs[:1]
        path = self.folder / name
        n_rows, n_labels = self.truth.shape
        write(path, make_truth(n_rows, n_labels, seed=2))
        command = [*inputs, "--metrics", metrics, flag, path]
        if flag == "--clusters":
            command += ["--confidence", "0.9"]
        return Case([path], evaluations(*command))

    def features(self, name: str) -> Case:
        path = self.folder / f"features.{name}"
        n_rows = self.truth.shape[0]
        values = np.arange(3.0 * n_rows).reshape(n_rows, 3) % 5
        if name == "npy":
            np.save(path, values)
        else:
            sp.save_npz(path, sp.csr_array(values))
        fit = words("threshold", "fit", *self.pair(), "--rule", "row", "--measure", "f1.samples")
        return Case([path], [[*fit, *words("--features", path, "--output", self.out)]])

    def rule(self, name: str) -> Case:
        """A saved decision rule."""
        truth, scores = self.pair()
        path = self.folder / "rule.npz"
        measure = "f1.samples" if name == "row" else "f1.macro"
        fit = words("threshold", "fit", truth, scores, "--rule", name, "--measure", measure)
        run([*fit, *words("--output", path)])
        commands = evaluations(truth, scores, "--metrics", "f1.micro", "--decision", path)
        commands.append(words("threshold", "apply", scores, "--rule", path, "--output", self.out))
        return Case([path], commands)

    def states(self, name: str) -> Case:
        """Two saved states, with pooled scores or with values by label."""
        truth, scores = self.pair()
        copied = npz(self.folder / "Y2", self.truth)  # the same rows twice would be refused
        options = ["--metrics", POOLED]
        if name == "labels":
            table = self.folder / "l.csv"
            options = words("--metrics", "f1.macro,auc.macro", "--per-label", table)
        paths = [self.folder / "a.npz", self.folder / "b.npz"]
        for path, rows in zip(paths, (truth, copied), strict=True):
            run(words("evaluate", rows, scores, *options, "--decision", "top3", "--save", path))
        merge = words("merge", *paths, "--save", self.out)
        return Case(paths, [merge, [*merge, "--memory", CUT]])


def make_case(folder: Path, role: str, name: str, size: tuple[int, int, int] = (7, 9, 3)) -> Case:
    """Write valid files with so many rows, labels and scores in a row; return a case."""
    n_rows, n_labels, depth = size
    truth = make_truth(n_rows, n_labels)
    maker = Maker(folder, truth, make_scores(n_rows, n_labels, depth))
    if role in ("truth", "scores"):
        return maker.rows(role, name)
    roles = {
        "names": maker.named,
        "option": maker.option,
        "features": maker.features,
        "rule": maker.rule,
        "state": maker.states,
    }
    return roles[role](name)


def words(*values: object) -> list[str]:
    return [str(value) for value in values]


def evaluations(*values: object) -> list[list[str]]:
    """Commands that evaluate with enough memory, and with little."""
    return [["evaluate", *words(*values), "--memory", memory] for memory in ("64MB", CUT)]


def run(command: list[str]) -> None:
    assert answer(command)[0] == 0, command


def answer(command: list[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code and both outputs."""
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    return code, out.getvalue(), err.getvalue()


def values_of(metrics: list[str], line: str) -> Any:
    """Return the values of measures of the files in a command line."""
    code, out, err = answer(f"evaluate {line} --metrics {','.join(metrics)} --format json".split())
    assert code == 0, err
    return json.loads(out)["values"]


NOTES = re.compile(r"(as empty|not count|nowhere)(: \d+)?$|: evaluated with \d+ labels?, ")


def complaint(case: Case, command: list[str], code: int, out: str, err: str) -> str | None:
    """Return the fault of the answer to a damaged file; None if it is right."""
    printed = err.splitlines()
    refusals = [line for line in printed if not NOTES.search(line)]
    if code not in (0, 2):
        return f"exit code {code}"
    if not all(line.startswith("xmleval: ") and line.isprintable() for line in printed):
        return "lines that are not the program's"
    if code == 0:
        return None
    if out:
        return "a result and a refusal"
    if len(refusals) != 1:
        return f"{len(refusals)} refusals"
    if not case.names_input(refusals[0], command):
        return "no file is named"
    return None
