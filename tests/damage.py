"""Damage to files, commands that read them, and what is wrong with the answer of a command."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

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
    qrels,
    trec_run,
)
from xmleval.cli import checkpoint, main

KINDS = ("flip", "put", "put", "cut", "double", "repeat", "end", "over", "word", "number", "number")
MOST_BYTES = 1 << 20  # of a file that is made longer
NUMBERS = [
    b"nan", b"inf", b"-inf", b"-1", b"-0", b"0", b"1", b"7", b"9", b"0.5", b"1e999", b"1e-400", b"1_0",
    b"+3", b"0x10", b"2147483648", b"-2147483649", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"1000000000000", b"99999999999999999999", b"1" * 400, b"9" * 5000,
    b"0." + b"3" * 400, b"1e", b"1e+", b".", b"-",
]  # fmt: skip
WORDS = [
    *(struct.pack("<q", value) for value in (-1, 2**63 - 1, -(2**63), 1 << 32, 1 << 40)),
    *(struct.pack("<d", value) for value in (float("nan"), float("inf"), -float("inf"), -1.0, 1e308, 5e-324)),
    struct.pack("<2i", -1, 2**31 - 1),
    struct.pack("<2f", float("nan"), -float("inf")),
]
CUT = "20kB"  # memory that is a few rows of a file at a time
TOKENS = [
    *NUMBERS, *WORDS, b":", b",", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"{", b"}", b"[", b"]", b"null", b"'", b'"', b"%", b"?", b"<", b"&x;", b"@data",
    b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY", b"PAR1", b"ARROW1", b"\xff\xff\xff\x7f",
]  # fmt: skip
Edit = tuple[str, float, float, bytes]


def edited(held: bytes, changes: list[Edit]) -> bytes:
    """Bytes that are changed at shares of their length."""
    for kind, at, much, token in changes:
        place = int(at * len(held))
        if kind == "word":
            place -= place % 8
        length = int(much**4 * len(held)) + 1  # mostly short
        before, part, after = held[:place], held[place : place + length], held[place + length :]
        if kind == "flip":
            part = bytes([part[0] ^ 1 << int(much * 7)]) + part[1:] if part else b""
        elif kind == "put":
            part = token + part
        elif kind in ("over", "word"):
            part, after = token, held[place + len(token) :]
        elif kind == "number":
            found = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?").search(held, place)
            if found:
                before, part, after = held[: found.start()], token, held[found.end() :]
        elif kind == "cut":
            part = b""
        elif kind == "double":
            part += part
        elif kind == "repeat":
            part *= min(1 << int(much * 12), MOST_BYTES // (len(part) + 1) + 1)
        elif kind == "end":
            after = b""
        held = before + part + after
    return held


def edited_inside(path: Path, held: bytes, changes: list[Edit], inner: float) -> bytes:
    """The same below a layer of packing that stays whole, with right checksums, where there is one."""
    if held[:2] == b"\x1f\x8b":
        return gzip.compress(edited(gzip.decompress(held), changes))
    if path.suffix != ".npz":
        return edited(held, changes)
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(held)) as archive,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        names = archive.namelist()
        for name in names:
            member = archive.read(name)
            made.writestr(
                name, edited(member, changes) if name == names[int(inner * len(names)) - 1] else member
            )
    return out.getvalue()


def reseal(folder: Path) -> None:
    """Write the right sums into the manifest of a damaged checkpoint, if it is still JSON."""
    path = folder / checkpoint.MANIFEST
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
        held = json.loads(path.read_bytes())
        sums = held["manifest"]["sums"]
        sums |= {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums}
        held["sum"] = checkpoint._sum_of(held["manifest"])
        path.write_text(json.dumps(held))


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restore(folder: Path, whole: dict[Path, bytes]) -> None:
    """Write back what was changed or removed, and remove what was added."""
    for path, held in (now := contents(folder)).items():
        if path not in whole:
            path.unlink()
        elif held != whole[path]:
            path.write_bytes(whole[path])
    for path in whole.keys() - now.keys():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(whole[path])


class Case(NamedTuple):
    """Valid files of which some are to be damaged, and commands that read them.

    The first two commands, if there are two, differ only in ``--memory``.
    """

    damaged: list[Path]
    commands: list[list[str]]

    def damage(self, which: int, changes: list[Edit], inside: bool, inner: float) -> None:
        """Damage one of the files."""
        path = self.damaged[which % len(self.damaged)]
        held = path.read_bytes()
        path.write_bytes(edited_inside(path, held, changes, inner) if inside else edited(held, changes))
        if inside and any(each.name == checkpoint.MANIFEST for each in self.damaged):
            reseal(path.parent)

    def names_damage(self, line: str, command: list[str]) -> bool:
        """Whether a line names one of the damaged files, its argument or option, or its folder or list."""
        names = {str(path) for path in self.damaged} | {str(path.parent) for path in self.damaged[1:]}
        for end in ("_indices.npy", "_scores.npy", "-labels.npy", "-scores.npy"):
            names |= {name.removesuffix(end) for name in names}
        arguments = [("TRUTH", command[1]), ("SCORES", command[2])] if command[0] == "evaluate" else []
        options = [pair for pair in pairwise(command) if pair[0].startswith("--")]
        told = [argument for argument, given in [*arguments, *options] if given in names]
        words = re.findall(r"[\w-]+", line)
        return any(name in line for name in names - {"."}) or any(argument in words for argument in told)

    def names_input(self, line: str, command: list[str]) -> bool:
        """Whether a line names a damaged file, or another that does not match it."""
        given = [word for word in command if re.search(r"\.\w+$", word) and "out.npz" not in word]
        return self.names_damage(line, command) or any(word in line for word in given)


INPUTS = [
    *(("truth", name) for name in TRUTHS),
    *(("scores", name) for name in SCORES),
    *(("names", name) for name in NAMED),
]
OTHERS = [
    ("pairs", "txt"),
    ("labels", "txt"),
    ("labels", "json"),
    ("propensity", "txt"),
    ("propensity", "npy"),
    ("train", "npz"),
    ("train", "svmlight"),
    ("pred", "npz"),
    ("features", "npy"),
    ("features", "npz"),
    ("state", "lists"),
    ("state", "labels"),
    ("rule", "label"),
    ("rule", "row"),
    ("rule", "named"),
    ("checkpoint", "memory"),
    ("checkpoint", "disk"),
]
CASES = [*INPUTS, *OTHERS]
POOLED = "p@1,lrap,auc.micro,f1.micro@3"


def make_case(folder: Path, role: str, name: str, size: tuple[int, int, int] = (7, 9, 3)) -> Case:
    """Write valid files of so many rows, labels and scores in a row; return what is damaged and read."""
    n_rows, n_labels, depth = size
    truth, scores, out = (
        make_truth(n_rows, n_labels),
        make_scores(n_rows, n_labels, depth),
        folder / "out.npz",
    )
    if role == "names":
        paths = named_pair(name, folder, truth, scores)
        damaged = paths[NAMED[name][0] == "scores"]
        return Case([damaged], _evaluations(*paths, "--metrics", POOLED))
    if role == "labels" or (role, name) == ("rule", "named"):
        paths = qrels(folder / "Y", truth), trec_run(folder / "m", scores)
        names = list(map(str, range(n_labels + 2)))
        path = folder / f"names.{name}"
        path.write_text(json.dumps(names) if name == "json" else "\n".join(names) + "\n")
        if role == "labels":
            return Case([path], _evaluations(*paths, "--metrics", POOLED, "--labels", path))
    if role not in ("truth", "scores", "labels") and (role, name) != ("rule", "named"):
        paths = npz(folder / "Y", truth), npy(folder / "m", scores)
    if role in ("truth", "scores"):
        return _input_case(folder, role, name, truth, scores)
    if role == "pairs":
        path = folder / "pairs.txt"
        path.write_text("0 1\n3 2\n")
        return Case([path], _evaluations(*paths, "--metrics", "p@1,f1.micro@3", "--exclude", path))
    if role == "propensity":
        path, values = folder / f"q.{name}", np.linspace(1, 9, n_labels)
        np.save(path, values) if name == "npy" else path.write_text("\n".join(map(str, values)) + "\n")
        return Case([path], _evaluations(*paths, "--metrics", "psp@1", "--inverse-propensity", path))
    if role == "train":
        path = TRUTHS[name](folder / "train", make_truth(n_rows, n_labels, 2))
        return Case([path], [*_evaluations(*paths, "--metrics", "psp@1", "--train", path),
                             ["stats", str(paths[0]), "--train", str(path)]])  # fmt: skip
    if role == "pred":
        path = npz(folder / "pred", make_truth(n_rows, n_labels, 2))
        return Case([path], _evaluations(paths[0], "--metrics", "f1.micro,f1.samples", "--pred", path))
    if role == "features":
        path, values = folder / f"features.{name}", np.arange(3.0 * n_rows).reshape(n_rows, 3) % 5
        np.save(path, values) if name == "npy" else sp.save_npz(path, sp.csr_array(values))
        words = _words("threshold", "fit", *paths, "--rule", "row", "--measure", "f1.samples")
        return Case([path], [[*words, *_words("--features", path, "--output", out)]])
    if role == "state":
        words = ["--metrics", POOLED if name == "lists" else "f1.macro,auc.macro", "--decision", "top3"]
        words += ["--per-label", str(folder / "l.csv")] if name == "labels" else []
        states = [folder / "one.npz", folder / "other.npz"]
        truths = paths[0], npz(folder / "Y2", truth)  # the same rows twice would be refused
        for state, rows in zip(states, truths, strict=True):
            _run([*_words("evaluate", rows, paths[1]), *words, "--save", str(state)])
        merge = _words("merge", *states, "--save", out)
        return Case(states, [merge, [*merge, "--memory", CUT]])
    if role == "rule":
        rule = folder / "rule.npz"
        kind = "label" if name == "named" else name
        measure = "f1.samples" if kind == "row" else "f1.macro"
        _run(_words("threshold", "fit", *paths, "--rule", kind, "--measure", measure, "--output", rule))
        evaluations = _evaluations(*paths, "--metrics", "f1.micro", "--decision", rule)
        return Case([rule], [*evaluations, _words("threshold", "apply", paths[1], "--rule", rule, "--output",
                                                  out)])  # fmt: skip
    words = _words("evaluate", *paths, "--metrics", POOLED, "--checkpoint", folder / "kept", "--resume")
    words += ["--memory", "64MB" if name == "memory" else CUT]
    with (
        mock.patch.multiple(checkpoint, LEAST_SECONDS=0, SHARE=0),
        mock.patch.object(checkpoint.Checkpoint, "remove"),
    ):
        _run(words)
    return Case(sorted((folder / "kept").iterdir()), [words])


def _input_case(folder: Path, role: str, name: str, truth: object, scores: object) -> Case:
    given = npz(folder / "Y", truth), npy(folder / "m", scores)
    before = set(folder.iterdir())
    if role == "truth":
        path = TRUTHS[name](folder / "damaged", truth)
        paths = path, given[1]
    else:
        path = SCORES[name](folder / "damaged", scores)
        paths = given[0], path
    damaged = sorted(set(folder.iterdir()) - before)  # an XML file, or a file of scores, may be one of two
    commands = _evaluations(*paths, "--metrics", POOLED)
    commands.append(_words("convert", path, folder / "out.npz", "--kind", role))
    if role == "truth":
        commands.append(_words("stats", path))
    return Case(damaged, commands)


def _words(*words: object) -> list[str]:
    return [str(word) for word in words]


def _evaluations(*words: object) -> list[list[str]]:
    """Commands that evaluate in memory that is enough, and cut small."""
    return [["evaluate", *_words(*words), "--memory", memory] for memory in ("64MB", CUT)]


def _run(words: list[str]) -> None:
    assert answer(words)[0] == 0, words


def answer(words: list[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def values_of(metrics: list[str], line: str) -> Any:
    """Return the values of measures of the files in a command line."""
    code, out, err = answer(f"evaluate {line} --metrics {','.join(metrics)} --format json".split())
    assert code == 0, err
    return json.loads(out)["values"]


TOLD = re.compile(r"(as empty|not count|nowhere)(: \d+)?$|: evaluated with \d+ labels?, ")


def complaint(case: Case, command: list[str], code: int, out: str, err: str) -> str | None:
    """Return what is wrong with the answer to a damaged file; None if it is right."""
    lines = err.splitlines()
    if code not in (0, 2):
        return f"exit code {code}"
    if not all(line.startswith("xmleval: ") and line.isprintable() for line in lines):
        return "lines that are not the program's"
    refusal = [line for line in lines if not TOLD.search(line)]
    if code == 2:
        if out:
            return "a result and a refusal"
        if len(refusal) != 1:
            return f"{len(refusal)} refusals"
        if not case.names_input(refusal[0], command):
            return "no file is named"
    return None
