"""Damage to files, commands that read them, and what is wrong with the answer of a command."""

import contextlib
import gzip
import io
import json
import re
import shutil
import struct
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.made_files import NAMED, SCORES, TRUTHS, make_scores, make_truth, named_pair, npy, npz, svmlight
from xmleval.cli import main

# ------------------------------------------------------------------------------------- edits at random

KINDS = ("flip", "put", "put", "cut", "double", "repeat", "end", "over", "word", "number", "number")
MOST_BYTES = 1 << 20  # of a file that is made longer
NUMBERS = b"""nan inf -inf -1 -0 0 1 7 9 0.5 1e999 1e-400 1_0 +3 0x10 2147483648 -2147483649
9223372036854775808 -9223372036854775809 1000000000000 99999999999999999999 1e 1e+ . -""".split()
NUMBERS += [b"1" * 400, b"9" * 5000, b"0." + b"3" * 400]
WORDS = [struct.pack("<q", value) for value in (-1, 2**63 - 1, -(2**63), 1 << 32, 1 << 40)]
WORDS += [struct.pack("<d", value) for value in (np.nan, np.inf, -np.inf, -1.0, 1e308, 5e-324)]
WORDS += [struct.pack("<2i", -1, 2**31 - 1), struct.pack("<2f", np.nan, -np.inf)]
TOKENS = [
    *NUMBERS, *WORDS, b":", b",", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"{", b"}", b"[", b"]", b"null", b"'", b'"', b"%", b"?", b"<", b"&x;", b"@data",
    b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY", b"PAR1", b"ARROW1", b"\xff\xff\xff\x7f",
]  # fmt: skip
Edit = tuple[str, float, float, bytes]


def edited(data: bytes, changes: list[Edit]) -> bytes:
    """Bytes that are changed at shares of their length."""
    for kind, at, much, token in changes:
        place = int(at * len(data))
        if kind == "word":
            place -= place % 8
        length = int(much**4 * len(data)) + 1  # mostly short
        before, part, after = data[:place], data[place : place + length], data[place + length :]
        if kind == "flip":
            part = bytes([part[0] ^ 1 << int(much * 7)]) + part[1:] if part else b""
        elif kind == "put":
            part = token + part
        elif kind in ("over", "word"):
            part, after = token, data[place + len(token) :]
        elif kind == "number":
            if number := re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?").search(data, place):
                before, part, after = data[: number.start()], token, data[number.end() :]
        elif kind == "cut":
            part = b""
        elif kind == "double":
            part += part
        elif kind == "repeat":
            part *= min(1 << int(much * 12), MOST_BYTES // (len(part) + 1) + 1)
        elif kind == "end":
            after = b""
        data = before + part + after
    return data


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
    """The same below a layer of packing that stays whole, with right checksums, where there is one."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(edited(gzip.decompress(data), changes))
    if path.suffix != ".npz":
        return edited(data, changes)
    parts = members(data)
    name = [*parts][int(inner * len(parts)) - 1]
    return archive_of(parts | {name: edited(parts[name], changes)})


# ------------------------------------------------------------------------------ files and their commands


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restore(folder: Path, whole: dict[Path, bytes]) -> None:
    """Write back what was changed or removed, and remove what was added."""
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
    """Valid files of which some are to be damaged, and commands that read them.

    The first two commands, if there are two, differ only in ``--memory``.
    """

    damaged: list[Path]
    commands: list[list[str]]

    def damage(self, which: int, changes: list[Edit], inside: bool, inner: float) -> None:
        """Damage one of the files."""
        path = self.damaged[which % len(self.damaged)]
        data = path.read_bytes()
        path.write_bytes(edited_inside(path, data, changes, inner) if inside else edited(data, changes))

    def names_damage(self, line: str, command: list[str]) -> bool:
        """Whether a line names one of the damaged files, its argument or option, or its folder or list."""
        names = {str(path) for path in self.damaged} | {str(path.parent) for path in self.damaged[1:]}
        for end in ("_indices.npy", "_scores.npy", "-labels.npy", "-scores.npy"):
            names |= {name.removesuffix(end) for name in names}
        arguments = [("TRUTH", command[1]), ("SCORES", command[2])] if command[0] == "evaluate" else []
        options = [pair for pair in pairwise(command) if pair[0].startswith("--")]
        damaged = [argument for argument, word in [*arguments, *options] if word in names]
        words = re.findall(r"[\w-]+", line)
        return any(name in line for name in names - {"."}) or any(argument in words for argument in damaged)

    def names_input(self, line: str, command: list[str]) -> bool:
        """Whether a line names a damaged file, or another that does not match it."""
        files = [word for word in command if re.search(r"\.\w+$", word) and "out.npz" not in word]
        return self.names_damage(line, command) or any(word in line for word in files)


CUT = "20kB"  # memory that is a few rows of a file at a time
POOLED = "p@1,lrap,auc.micro,f1.micro@3"
OPTIONS: dict[str, tuple[str, str, Callable[[Path, Any], Any]]] = {  # metrics that need it, and its writer
    "pairs.txt": ("--exclude", "p@1,f1.micro@3", lambda path, truth: path.write_text("0 1\n3 2\n")),
    "names.txt": ("--labels", POOLED, lambda path, truth: path.write_text(lines(range(truth.shape[1] + 2)))),
    "names.json": ("--labels", POOLED, lambda path, truth: path.write_text(
        json.dumps([*map(str, range(truth.shape[1] + 2))]))),
    "q.txt": ("--inverse-propensity", "psp@1", lambda path, truth: path.write_text(
        lines(np.linspace(1, 9, truth.shape[1])))),
    "q.npy": ("--inverse-propensity", "psp@1", lambda path, truth: np.save(
        path, np.linspace(1, 9, truth.shape[1]))),
    "train.npz": ("--train", "psp@1", npz),
    "train.svm": ("--train", "psp@1", svmlight),
    "pred.npz": ("--pred", "f1.micro,f1.samples", npz),
    "label.csv": ("--label-groups", "p@1,f1.macro@3", lambda path, truth: path.write_text("0,a\n1,b\n2,a\n")),
    "row.csv": ("--row-groups", "p@1", lambda path, truth: path.write_text(
        lines(f"{row},{'ab'[row % 2]}" for row in range(truth.shape[0])))),
    "clusters.txt": ("--clusters", "p@1", lambda path, truth: path.write_text(
        lines("ab"[row % 2] for row in range(truth.shape[0])))),
    "tree.csv": ("--hierarchy", "h_f1.micro@1", lambda path, truth: path.write_text("1,0\n2,0\n3,1\n")),
}  # fmt: skip
INPUTS = [("truth", name) for name in TRUTHS] + [("scores", name) for name in SCORES]
INPUTS += [("names", name) for name in NAMED]
OTHERS = [("option", name) for name in OPTIONS] + [("features", "npy"), ("features", "npz")]
OTHERS += [("rule", "label"), ("rule", "row"), ("state", "lists"), ("state", "labels")]
CASES = [*INPUTS, *OTHERS]


def make_case(folder: Path, role: str, name: str, size: tuple[int, int, int] = (7, 9, 3)) -> Case:
    """Write valid files of so many rows, labels and scores in a row; return what is damaged and read."""
    n_rows, n_labels, depth = size
    truth, scores = make_truth(n_rows, n_labels), make_scores(n_rows, n_labels, depth)
    out = folder / "out.npz"
    if role == "names" or name.startswith("names."):
        paths = named_pair(name if role == "names" else "qrels", folder, truth, scores)
    else:
        paths = npz(folder / "Y", truth), npy(folder / "m", scores)
    before = {*folder.iterdir()}
    if role == "names":
        return Case(
            [paths[NAMED[name][0] == "scores"]], evaluations(*paths, "--metrics", "p@1,ranking,f1.micro@3")
        )
    if role in ("truth", "scores"):
        write, data = (TRUTHS[name], truth) if role == "truth" else (SCORES[name], scores)
        path = write(folder / "damaged", data)
        pair = (path, paths[1]) if role == "truth" else (paths[0], path)
        commands = [*evaluations(*pair, "--metrics", POOLED), words("convert", path, out, "--kind", role)]
        commands += [words("stats", path)] if role == "truth" else []
        return Case(sorted({*folder.iterdir()} - before), commands)  # a document of labels, or scores, too
    path = folder / (f"{role}.{name}" if role == "features" else f"{role}.npz" if role == "rule" else name)
    if role == "option":
        option, metrics, write_option = OPTIONS[name]
        write_option(path, make_truth(n_rows, n_labels, 2))
        inputs = paths[:1] if option == "--pred" else paths
        more = ["--confidence", "0.9"] if option == "--clusters" else []
        return Case([path], evaluations(*inputs, "--metrics", metrics, option, path, *more))
    if role == "features":
        values = np.arange(3.0 * n_rows).reshape(n_rows, 3) % 5
        np.save(path, values) if name == "npy" else sp.save_npz(path, sp.csr_array(values))
        fit = words("threshold", "fit", *paths, "--rule", "row", "--measure", "f1.samples")
        return Case([path], [[*fit, *words("--features", path, "--output", out)]])
    if role == "rule":
        measure = "f1.samples" if name == "row" else "f1.macro"
        run(words("threshold", "fit", *paths, "--rule", name, "--measure", measure, "--output", path))
        apply = words("threshold", "apply", paths[1], "--rule", path, "--output", out)
        return Case([path], [*evaluations(*paths, "--metrics", "f1.micro", "--decision", path), apply])
    more = ["--metrics", POOLED] if name == "lists" else ["--metrics", "f1.macro,auc.macro"]
    more += ["--per-label", str(folder / "l.csv")] if name == "labels" else []
    states = [folder / "a.npz", folder / "b.npz"]
    truths = paths[0], npz(folder / "Y2", truth)  # the same rows twice would be refused
    for state, rows in zip(states, truths, strict=True):
        run([*words("evaluate", rows, paths[1]), *more, "--decision", "top3", "--save", str(state)])
    merge = words("merge", *states, "--save", out)
    return Case(states, [merge, [*merge, "--memory", CUT]])


def lines(values: Any) -> str:
    return "".join(f"{value}\n" for value in values)


def words(*values: object) -> list[str]:
    return [str(value) for value in values]


def evaluations(*values: object) -> list[list[str]]:
    """Commands that evaluate in memory that is enough, and cut small."""
    return [["evaluate", *words(*values), "--memory", memory] for memory in ("64MB", CUT)]


def run(command: list[str]) -> None:
    assert answer(command)[0] == 0, command


def answer(command: list[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
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
    """Return what is wrong with the answer to a damaged file; None if it is right."""
    printed = err.splitlines()
    refusals = [line for line in printed if not NOTES.search(line)]
    if code not in (0, 2):
        return f"exit code {code}"
    if not all(line.startswith("xmleval: ") and line.isprintable() for line in printed):
        return "lines that are not the program's"
    if code == 2 and (out or len(refusals) != 1):
        return f"{len(refusals)} refusals" if not out else "a result and a refusal"
    if code == 2 and not case.names_input(refusals[0], command):
        return "no file is named"
    return None
