"""Outputs of all commands have the format of their name, or are refused before computation."""

import csv
import io
import json
import shlex
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import scipy.sparse as sp

from tests.damage import answer
from xmleval import Evaluator
from xmleval.calibrate import fit as fit_map
from xmleval.cli import program as main_command
from xmleval.cli.files import Output
from xmleval.io import read_scores, read_truth, write_parquet, write_qrels, write_run, write_xmc
from xmleval.thresholds import fit

EVALUATE = "evaluate Y_test.npz scores.npz --metrics p@1,f1.macro --decision top2 --k 1"
COMPARE = "compare Y_test.npz scores.npz m --metrics p@1"
COMMANDS = {  # by command and option: a line
    "evaluate --output": EVALUATE,
    "evaluate --per-label": EVALUATE,
    "evaluate --per-row": EVALUATE,
    "evaluate --save": EVALUATE,
    "merge --output": "merge whole.state",
    "merge --per-label": "merge whole.state",
    "merge --per-row": "merge whole.state",
    "merge --save": "merge whole.state",
    "compare --output": COMPARE,
    "compare --html": COMPARE,
    "compare --plot": COMPARE,
    "rank --output": "rank results/a.json results/b.json --metrics p@1",
    "rank --html": "rank results/a.json results/b.json --metrics p@1",
    "rank --plot": "rank results/a.json results/b.json --metrics p@1",
    "trend --output": "trend results/a.json results/b.json --metrics p@1",
    "trend --html": "trend results/a.json results/b.json --metrics p@1",
    "trend --plot": "trend results/a.json results/b.json --metrics p@1",
    "diff --output": "diff Y_test.npz scores.npz m --metric p@1",
    "report --output": "report Y_test.npz scores.npz --metrics p@1",
    "plot --output": "plot Y_test.npz scores.npz --metrics p@1 --kind cutoffs",
    "stats --output": "stats Y_test.npz",
    "bench --output": "bench Y_test.npz scores.npz --metrics p@1",
    "convert OUT": "convert scores.npz {} --kind scores",
    "fuse --output": "fuse scores.npz m",
    "threshold fit --output": "threshold fit Y_test.npz scores.npz --measure f1.micro",
    "threshold apply --output": "threshold apply scores.npz --rule a.rule",
    "calibrate fit --output": "calibrate fit Y_test.npz scores.npz",
    "calibrate apply --output": "calibrate apply scores.npz --map a.map",
}
ENDINGS = (
    "txt",
    "csv",
    "json",
    "jsonl",
    "md",
    "tex",
    "html",
    "svg",
    "png",
    "pdf",
    "npz",
    "npy",
    "parquet",
    "run",
    "qrels",
    "state",
    "xyz",
    "json.gz",
    "xlsx",
    "",
)


def is_csv(data: bytes) -> bool:
    rows = [*csv.reader(io.StringIO(data.decode()))]
    # as in a table for people
    return len({len(row) for row in rows}) == 1 and "  " not in rows[0][0]


def is_json(data: bytes) -> bool:
    return isinstance(json.loads(data), dict)


def is_json_lines(data: bytes) -> bool:
    return all(isinstance(json.loads(line), dict) for line in data.decode().splitlines())


def is_archive(data: bytes) -> bool:
    return zipfile.is_zipfile(io.BytesIO(data))


def is_text(data: bytes) -> bool:
    """Whether it is a table for people or the text of a matrix, and no format with a name."""
    if data.decode().isprintable():
        return True
    return data[:1] not in b"{<\\|%" and b"\x00" not in data


LOOKS: dict[str, Callable[[bytes], bool]] = {
    "txt": is_text,
    "csv": is_csv,
    "json": is_json,
    "jsonl": is_json_lines,
    "md": lambda data: b"\n|---" in data,
    "tex": lambda data: b"\\begin{tabular}" in data,
    "html": lambda data: data.lower().startswith(b"<!doctype html"),
    "svg": lambda data: b"<svg" in data[:1000],
    "png": lambda data: data.startswith(b"\x89PNG"),
    "pdf": lambda data: data.startswith(b"%PDF"),
    "npz": is_archive,
    "parquet": lambda data: data.startswith(b"PAR1"),
    "run": lambda data: data.split()[1] == b"Q0",
    "qrels": lambda data: data.split()[1] == b"0",
    "state": is_archive,
    "xyz": bool,  # no known format
    "": bool,
}


def outputs(command: click.Command, name: str = "") -> Iterator[str]:
    """Yield the commands and options that write files."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            member = command.get_command(context, word)
            assert member is not None
            yield from outputs(member, f"{name} {word}".strip())
        return
    for param in command.params:
        if isinstance(param.type, Output):
            is_option = isinstance(param, click.Option)
            option = param.opts[0] if is_option else "OUT"
            yield f"{name} {option}"


@pytest.fixture
def inputs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the inputs of the commands."""
    monkeypatch.setattr("xmleval.cli.bench.RUNS", (1, 1))
    Path("results").mkdir()
    line = "Y_test.npz scores.npz m --metrics p@1 --output results"
    for setting in (
        f"evaluate {line}/a.json",
        f"evaluate {line}/b.json",
        f"{EVALUATE} --per-label x.csv --per-row y.csv --save whole.state",
        "threshold fit Y_test.npz scores.npz --measure f1.micro --output a.rule",
        "calibrate fit Y_test.npz scores.npz --output a.map",
    ):
        assert answer(shlex.split(setting))[0] == 0
    Path("x.csv").unlink()
    Path("y.csv").unlink()


def test_outputs_of_all_commands_are_tried() -> None:
    assert {*outputs(main_command)} == {*COMMANDS}


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("output", COMMANDS)
def test_outputs_have_the_format_of_their_name_or_are_refused(output: str) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    before = {*Path.cwd().rglob("*")}
    n_written = 0
    for ending in ENDINGS:
        path = Path(f"made.{ending}" if ending else "made")
        option = output.rpartition(" ")[2]
        line = f"{COMMANDS[output]} {option} {path}"
        if option == "OUT":
            line = COMMANDS[output].format(path)
        code, out, err = answer(shlex.split(line))
        if code == 0:
            assert LOOKS[ending](path.read_bytes()), path
            n_written += 1
        else:
            assert (code, out) == (2, ""), line
            assert err.startswith(f"xmleval: {path}: "), err
            assert err.count("\n") == 1, err
            assert " written as ." in err or "expected " in err, err
        path.unlink(missing_ok=True)
        assert {*Path.cwd().rglob("*")} == before, line
    assert n_written


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("form", "accepted"),
    [
        ("table", ""),
        ("json", "json"),
        ("csv", "csv"),
        ("markdown", "md"),
        ("latex", "tex"),
    ],
)
def test_format_option_is_refused_with_a_name_of_another_format(form: str, accepted: str) -> None:
    for ending in ENDINGS:
        path = Path(f"made.{ending}" if ending else "made")
        code, _, err = answer(shlex.split(f"{EVALUATE} --format {form} --output {path}"))
        is_accepted = ending in (accepted, "", "txt", "xyz")  # a text may be of any form
        assert code == (0 if is_accepted else 2), (path, err)
        assert path.exists() is is_accepted
        assert not is_accepted or LOOKS[accepted](path.read_bytes())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ending", ENDINGS)
def test_save_refuses_names_of_another_format(ending: str) -> None:
    truth = sp.csr_array(read_truth("Y_test.npz"))
    scores = read_scores("scores.npz")
    evaluator = Evaluator(["p@1"])
    evaluator.update(truth, scores)
    objects: dict[str, Any] = {
        "state": evaluator,
        "rule": fit(truth, scores, "f1.micro"),
        "map": fit_map(truth, scores),
    }
    for name, saved in objects.items():
        path = Path(f"{name}.{ending}" if ending else name)
        allowed = {"npz", "state", "xyz", ""}
        if name == "map":
            allowed = {"json", "xyz", ""}
        if ending in allowed:
            saved.save(path)
            assert type(saved).load(path) is not None
        else:
            with pytest.raises(ValueError, match=rf"^{path}: a .* is written as \."):
                saved.save(path)
            assert not path.exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ending", ENDINGS)
def test_writers_refuse_names_of_another_format(ending: str) -> None:
    pytest.importorskip("pyarrow")
    matrix = sp.csr_array(read_truth("Y_test.npz"))
    writers: dict[str, tuple[Callable[[str], None], set[str]]] = {
        "table": (lambda path: write_parquet(path, matrix, "truth"), {"parquet", "xyz", ""}),
        "matrix": (lambda path: write_xmc(path, matrix, "truth"), {"txt", "xyz", ""}),
        "judgements": (lambda path: write_qrels(path, matrix), {"qrels", "txt", "xyz", ""}),
        "run": (lambda path: write_run(path, matrix), {"run", "txt", "xyz", ""}),
    }
    for name, (write, allowed) in writers.items():
        path = f"{name}.{ending}" if ending else name
        if ending in allowed:
            write(path)
        else:
            with pytest.raises(ValueError, match=r"is written as \."):
                write(path)
        assert Path(path).exists() is (ending in allowed)
