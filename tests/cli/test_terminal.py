"""Commands on a terminal: progress, tables and help that fit, and notes on compilation."""

import inspect
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import click
import pytest
import scipy.sparse

import xmleval
from tests.commands import PATHS, Run, process
from tests.damage import answer
from tests.made_files import make_scores, make_truth, npy, npz
from xmleval.cli import COMMANDS, warmup
from xmleval.cli.evaluate import SECTIONS, evaluate
from xmleval.cli.options import (
    FIELDS_ALONE,
    FORMAT,
    PROPENSITY_OPTIONS,
    RUNS,
    SAVE,
    STYLE,
    describe_arguments,
    flag_of,
)

BEST = "\x1b[1;32m"  # bold and green
SLOWLY = """
import sys, time
from xmleval.cli import main
from xmleval.evaluation import files as evaluation
from xmleval.evaluation.evaluator import BatchCounter
evaluation.LEAST_MEMORY = 1
add = BatchCounter.add
def slowly(*arguments, **options):
    time.sleep(0.02)
    return add(*arguments, **options)
BatchCounter.add = slowly
sys.exit(main(sys.argv[1:]))
"""
WORDS = ["m", "--metrics", "p@1", "--format", "json", "--memory", "8KB"]


def on_terminal(
    folder: Path,
    *words: str,
    columns: int = 100,
    piped: bool = True,
    env: dict[str, str] | None = None,
) -> tuple[str, str]:
    """Return what a Python process prints: on stdout, if it is a pipe, and on its terminal."""
    pty = pytest.importorskip("pty", reason="the system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    terminal = {"PYTHONPATH": PATHS, "TERM": "xterm", "NO_COLOR": "", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdout=subprocess.PIPE if piped else theirs,
        stderr=theirs,
        env=os.environ | terminal | (env or {}),
        text=True,
    )
    os.close(theirs)
    shown = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    out = process.communicate()[0]
    assert process.returncode == 0, shown
    return out or "", shown.decode().replace("\r\n", "\n")


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_alone(tmp_path: Path) -> None:
    npz(tmp_path / "Y", make_truth(600))
    npy(tmp_path / "m", make_scores(600))
    out, shown = on_terminal(tmp_path, "-c", SLOWLY, "evaluate", "Y.npz", *WORDS)
    shown = plain(shown)
    assert out.startswith("{")
    rows = [int(row) for row in re.findall(r"(\d+) of 600 rows", shown)]
    assert rows == sorted(rows)
    assert len(set(rows)) > 3
    assert re.search(r"[\d,]+ rows/s", shown)
    done = process(
        SLOWLY, "evaluate", "Y.npz", *WORDS, python="-c", cwd=tmp_path, env={"FORCE_COLOR": "1"}
    )
    assert (done.returncode, done.stdout[:1], done.stderr) == (0, "{", "")


@pytest.mark.slow
def test_tables_fit_the_terminal_and_the_best_are_green(tmp_path: Path) -> None:
    npz(tmp_path / "Y", make_truth())
    names = [f"{name}.npz" for name in ("bert", "roberta", "attentionxml", "parabel")]
    for seed, name in enumerate(names):
        npz(tmp_path / name, make_scores(seed=seed))
    line = ["xmleval", "evaluate", "Y.npz", *names, "--metrics", "p,lrap"]
    _, shown = on_terminal(tmp_path, "-m", *line, columns=40, piped=False)
    table = shown[shown.index("60 rows") :]
    assert BEST in table
    assert max(map(len, plain(table).splitlines())) <= 40
    done = process(*line, cwd=tmp_path, env={"COLUMNS": "40"})
    assert done.returncode == 0
    assert BEST not in done.stdout
    assert max(map(len, done.stdout.splitlines())) > 40


COMMAND_LINES = (
    "demo",
    "evaluate Y.npz a.npz --metrics p@1 --save a.state --output a.json",
    "evaluate Y.npz a.npz b.npz --metrics p@1 --output one.json",
    "evaluate Y.npz b.npz a.npz --metrics p@1 --output two.json",
    "evaluate Y.npz a.npz b.npz --metrics p@1",
    "compare Y.npz a.npz b.npz --metrics p@1,r@1",
    "diff Y.npz a.npz b.npz --metric p@1",
    "rank one.json two.json",
    "trend a.json",
    "merge a.state",
    "report Y.npz a.npz b.npz --metrics p@1 --output page.html",
    "plot Y.npz a.npz b.npz --metrics p@1 --kind differences --output figure.svg",
    "check a.json --min p@1=0",
    "stats Y.npz",
    "metrics",
    "metrics p",
    "convert a.npz other.npz --kind scores",
    "fuse a.npz b.npz --output fused.npz",
    "threshold fit Y.npz a.npz --measure f1.micro --output rule.npz",
    "calibrate fit Y.npz a.npz --output map.json",
    "bench --rows 100 --labels 20",
    "warmup --help",
)
WITH_BEST = ("demo", "evaluate Y.npz a.npz b.npz", "compare")
RUN_ALL = f"""
import io, shlex, sys
from xmleval.cli import main
sys.stderr = io.StringIO()  # without progress
for line in {COMMAND_LINES!r}:
    code = main(shlex.split(line))
    print("=== ran", line, code, flush=True)
print(sys.stderr.getvalue())
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*[349][0-7][;m]")


@pytest.mark.slow
def test_commands_print_colours_on_terminals_that_have_them(tmp_path: Path) -> None:
    assert {line.split()[0] for line in COMMAND_LINES} == {*COMMANDS}
    npz(tmp_path / "Y", make_truth())
    npz(tmp_path / "a", make_truth() + 0.1 * make_scores(seed=1))
    npz(tmp_path / "b", make_scores(seed=2))
    for settings in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        printed = on_terminal(tmp_path, "-c", RUN_ALL, piped=False, env=settings)[1]
        *outputs, errors = re.split(r"=== ran (.*) (\d)\n", printed)
        lines = outputs[1::3]
        codes = outputs[2::3]
        assert lines == [*COMMAND_LINES]
        assert {*codes} == {"0"}, errors
        for line, text in zip(lines, outputs[::3], strict=True):
            assert "\\x1b" not in text, line  # an escape in letters
            has_best = line.startswith(WITH_BEST) and "--output" not in line
            assert (BEST in text) == (has_best and not settings), line
            assert not (settings and COLOUR.search(text)), line
            assert not ("TERM" in settings and "\x1b" in text), line


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", ["--help", "evaluate --help", "metrics"])
def test_help_fits_the_terminal(words: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("xmleval.cli.metrics.screen", lambda: (columns, False))
    monkeypatch.setattr("xmleval.cli.output.WIDE", columns)
    code, out, _ = answer(words.split())
    assert code == 0
    assert max(map(len, out.splitlines())) <= columns


def test_help_has_every_option_in_one_section(run: Run) -> None:
    text = run("evaluate --help")
    for title in SECTIONS:
        assert f"\n{title}:\n" in text
    options = [param for param in evaluate.params if isinstance(param, click.Option)]
    for option in options:
        flag = option.opts[0]
        assert text.count(f"\n  {flag} ") == 1, flag
    names = [name for section in SECTIONS.values() for name in section]
    assert len({*names}) == len(names)
    assert {*names} <= {option.name for option in options}
    assert text.index("  -h, --help") > text.index("Resources:")


def test_options_of_evaluate_are_arguments_of_evaluate() -> None:
    options = {name: flag for section in SECTIONS.values() for name, flag in section.items()}
    result_options = {"output_format", "output", "per_label_file", "per_row_file", *STYLE}
    parts_of_arguments = {
        *FIELDS_ALONE,
        *FORMAT,
        *PROPENSITY_OPTIONS,
        *RUNS,
        *SAVE,
        *STYLE,
        "measures",
        "first_row",
    }
    in_memory = {"y_true", "y_score", "progress", "per_row", "per_label", "curve_points", "running"}
    arguments = {*inspect.signature(xmleval.evaluate).parameters} - in_memory
    assert {*options} - result_options - parts_of_arguments == arguments

    renamed = {}
    for name in options.keys() - result_options:
        flag = flag_of(name, options[name])
        if flag != f"--{name.replace('_', '-')}":
            renamed[name] = flag
    assert renamed == {
        "y_train": "--train",
        "y_pred": "--pred",
        "higher_is_better": "--lower-is-better",
        "measures": "--measure",
    }


EVALUATES = """
import numpy as np
import xmleval
print(xmleval.evaluate(np.eye(3), np.eye(3) + 0.1, metrics="p@1")["p@1"])
"""


FAR_FROM_SMALL = "from xmleval.base.work import WORK; WORK.is_small = False\n"


ANNOUNCED = (
    r"(xmleval: compiling kernels, once: [1-9]\d* so far, in [1-9]\d* s; "
    r"`xmleval warmup` compiles kernels beforehand, on all processors\n)+"
)


@pytest.mark.slow
def test_compiling_is_announced_where_it_takes_long(tmp_path: Path) -> None:
    (tmp_path / "evaluates.py").write_text(FAR_FROM_SMALL + EVALUATES)  # a cache needs a file
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XMLEVAL_WAY": ""}
    for shown in (ANNOUNCED, ""):  # not as a warning
        done = process("-W", "error", "evaluates.py", python="-B", cwd=tmp_path, env=cache)
        assert (done.returncode, done.stdout) == (0, "1.0\n")
        assert re.fullmatch(shown, done.stderr)


@pytest.mark.slow
def test_compiling_is_announced_by_one_of_several_processes(tmp_path: Path) -> None:
    y_true = scipy.sparse.vstack([scipy.sparse.eye_array(50)] * 10_000, format="csr")
    for name in ("Y", "m"):
        scipy.sparse.save_npz(tmp_path / f"{name}.npz", y_true)
    command = ["xmleval", "evaluate", "Y.npz", "m.npz", "--metrics", "p@1", "--workers", "2"]
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XMLEVAL_WAY": ""}
    done = process(*command, cwd=tmp_path, env=cache)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(ANNOUNCED, done.stderr)


@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile(tmp_path: Path) -> None:
    compiled = {"XMLEVAL_WAY": "compiled"}
    assert any(options["metrics"] == "all" for options in warmup.OPTIONS)
    for _ in range(2):  # the cache of all tests has most kernels already
        shown = plain(on_terminal(tmp_path, "-m", "xmleval", "warmup", piped=False)[1])
        assert "; kept in " in shown
        if shown.startswith("0 kernels compiled in "):
            break
    else:
        pytest.fail(shown)
    demo = "from xmleval.demo import evaluate_demo, make_demo; evaluate_demo(make_demo()); "
    demo += "from xmleval.kernels.compiling import COMPILED; assert COMPILED.n == 0"
    assert process(demo, python="-c", env=compiled).returncode == 0


def test_options_without_default_have_none_in_the_help() -> None:
    def function(needed: int, optional: int = 3) -> None:
        """Do nothing.

        Parameters
        ----------
        needed : int
            A number.
        optional : int, default 3
            Another.

        Returns
        -------
        None
        """

    defaults = {name: default for name, (_, default) in describe_arguments(function, {}).items()}
    assert defaults == {"needed": None, "optional": 3}
