"""Whole commands: results that equal the interface's, and one line for whatever goes wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.commands import process
from tests.conftest import DATA, NO_DATA
from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import Evaluator
from xmleval.cli import main
from xmleval.cli.forms import WRITERS
from xmleval.input.formats.registry import read_scores, read_truth

# -------------------------------------------------------------------------------------------- evaluate


@pytest.mark.parametrize("scores", ["scores.npz", "m_indices.npy", "m_scores.npy", "m"])
def test_json_is_that_of_the_interface(folder: Path, run: Any, scores: str) -> None:
    report = xmleval.evaluate(
        sp.csr_array(Y_TEST), (LABELS, SCORES), inverse_propensity=xmleval.inverse_propensity(Y_TRAIN)
    )
    printed = run(f"evaluate Y_test.npz {scores} --train Y_train.npz --format json")
    assert json.loads(printed) == json.loads(report.to_json())
    assert printed == report.to_json() + "\n"


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", {}),
        ("--metrics p@1,lrap", {"metrics": ["p@1", "lrap"]}),
        (
            "--metrics 'fbeta.samples(beta=2), fbeta.macro(beta=0.5)@2 ,ranking'",
            {"metrics": ["fbeta.samples(beta=2)", "fbeta.macro(beta=0.5)@2", "ranking"], "decision": "top1"},
        ),
        ("--metrics p@1 --metrics lrap,p@2", {"metrics": ["p@1", "lrap", "p@2"]}),
        ("--k 2,4", {"k": [2, 4]}),
        ("--k 1-3,5", {"k": [1, 2, 3, 5]}),
        ("--k 4 --k 1-2", {"k": [4, 1, 2]}),
        ("--metrics wu2017 --decision top2", {"metrics": "wu2017", "decision": "top2"}),
        ("--metrics sets --decision threshold0.45", {"metrics": "sets", "decision": "threshold0.45"}),
        ("--metrics sets --pred sets.npz", {"metrics": "sets", "y_pred": Y_TEST[::-1]}),
        ("--metrics ranking --unlisted 0.0", {"metrics": "ranking", "unlisted": 0.0}),
        ("--metrics ranking --unlisted below", {"metrics": "ranking", "unlisted": "below"}),
        ("--metrics all --conventions sklearn", {"metrics": "all", "conventions": "sklearn"}),
        ("--threads 2", {"threads": 2}),
        (
            "--inverse-propensity q.npy --metrics ps",
            {"inverse_propensity": np.arange(1.0, 6.0), "metrics": "ps"},
        ),
        (
            "--train Y_test.npz --a 0.6 --b 2.6",
            {"inverse_propensity": xmleval.inverse_propensity(Y_TEST, 0.6, 2.6)},
        ),
    ],
)
def test_options_are_arguments(folder: Path, run: Any, options: str, arguments: dict[str, Any]) -> None:
    if "decision" in arguments and "--decision" not in options:
        options += f" --decision {arguments['decision']}"
    report = xmleval.evaluate(Y_TEST, (LABELS, SCORES), **arguments)
    assert run(f"evaluate Y_test.npz m {options} --format json") == report.to_json() + "\n"


@pytest.mark.parametrize("name", list(WRITERS))
def test_every_form_of_output_to_stdout_and_to_a_file(folder: Path, run: Any, name: str) -> None:
    printed = run(f"evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --format {name}")
    report = xmleval.evaluate(Y_TEST, (LABELS, SCORES), metrics=["p", "r@3"], k=[1, 2, 3])
    if name != "table":
        assert printed == getattr(report, f"to_{name}")().rstrip("\n") + "\n"
    assert run(f"evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --format {name} --output out") == ""
    assert Path("out").read_text(encoding="utf-8") == printed
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.json", "json"), ("x.CSV", "csv"), ("x.md", "markdown"), ("x.tex", "latex"),
        ("x.markdown", "markdown"), ("x.txt", "table"), ("x", "table"),
    ],
)  # fmt: skip
def test_the_suffix_of_the_output_gives_its_form(folder: Path, run: Any, name: str, form: str) -> None:
    printed = run(f"evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --format {form}")
    run(f"evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --output {name}")
    assert Path(name).read_text(encoding="utf-8") == printed
    run(f"evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --output {name} --format json")
    assert Path(name).read_text(encoding="utf-8") == run(
        "evaluate Y_test.npz m --metrics p,r@3 --k 1-3 --format json"
    )


def test_the_table_says_what_was_left_out_and_which_option_gives_it(folder: Path, run: Any) -> None:
    printed = run("evaluate Y_test.npz m")
    assert "PSP" not in printed
    assert "not computed without --train or --inverse-propensity: psp@1, psp@3" in printed
    assert "PSP@" not in printed.splitlines()[1]
    assert "propensity=(a=0.55 b=1.5 n=4)" in run("evaluate Y_test.npz m --train Y_test.npz")


def test_truth_and_sets_alone(folder: Path, run: Any) -> None:
    printed = run("evaluate Y_test.npz --metrics statistics --format json")
    assert json.loads(printed)["values"]["label_cardinality"] == 1.5
    printed = run("evaluate Y_test.npz --pred sets.npz --metrics hamming_loss --format json")
    assert json.loads(printed)["values"] == {"hamming_loss": 0.4}


def test_a_format_for_names_that_do_not_tell(folder: Path, run: Any) -> None:
    Path("scores.npz").rename("scores.dat")
    Path("threads=4").mkdir()
    Path("Y_test.npz").rename("threads=4/truth.dat")
    report = xmleval.evaluate(Y_TEST, (LABELS, SCORES), metrics=["p", "lrap"])
    line = "evaluate threads=4/truth.dat scores.dat --input-format npz --metrics p,lrap --format json"
    assert run(line) == report.to_json() + "\n"


def test_an_old_output_is_replaced_and_a_link_followed(folder: Path, run: Any) -> None:
    Path("real.json").write_text("old")
    Path("link.json").symlink_to("real.json")
    run("evaluate Y_test.npz m --format json --output link.json")
    assert Path("link.json").is_symlink()
    assert json.loads(Path("real.json").read_text())["n_rows"] == 4


# ----------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "line",
    [
        "evaluate", "evaluat", "evaluate --nope", "evaluate a b c", "--nope", "metrics nope", "metrics p f1",
        "evaluate Y_test.npz m --format xml", "evaluate Y_test.npz m --conventions strict",
        "evaluate Y_test.npz m --input-format tsv", "evaluate Y_test.npz m --threads 0",
        "evaluate Y_test.npz m --a many", "evaluate Y_test.npz m --k ''", "evaluate Y_test.npz m --k",
        "evaluate 'new\nline' m", "evaluate Y_test.npz 'esc\x1b[2J'",
    ],
)  # fmt: skip
def test_bad_usage_is_one_printable_line(folder: Path, refused: Any, line: str) -> None:
    assert refused(line).isprintable()


def test_what_the_system_refuses(folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        line = "evaluate Y_test.npz m --output out.json"
        assert refused(line) == "out.json: No space left on device"
    assert not [path.name for path in folder.iterdir() if "out" in path.name]
    monkeypatch.setattr(Evaluator, "compute", lambda self: np.empty(2**62, np.uint8))
    assert refused("evaluate Y_test.npz m").startswith("not enough memory: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may write everywhere")
def test_a_folder_that_may_not_be_written(folder: Path, refused: Any) -> None:
    Path("locked").mkdir(mode=0o500)
    assert refused("evaluate Y_test.npz m --output locked/x") == "locked/x: Permission denied"


@pytest.mark.parametrize("moment", ["computing", "writing"])
def test_an_interrupt_leaves_the_old_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupt(*arguments: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    Path("out.json").write_text("old")
    if moment == "computing":
        monkeypatch.setattr(Evaluator, "compute", interrupt)
    else:
        monkeypatch.setattr(os, "fsync", interrupt)
    before = sorted(folder.iterdir())
    assert main(["evaluate", "Y_test.npz", "m", "--output", "out.json"]) == 130
    assert sorted(folder.iterdir()) == before
    assert Path("out.json").read_text() == "old"
    assert capsys.readouterr().out == ""


# -------------------------------------------------------------------------------------- real processes


def test_a_process_computes_and_refuses(folder: Path) -> None:
    done = process("xmleval", "evaluate", "Y_test.npz", "m", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["values"]["p@1"] == 0.5
    done = process("xmleval", "evaluate", "Y_test.npz", "gone.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xmleval: gone.npz: No such file")
    assert process("xmleval", "--version").stdout == f"xmleval {xmleval.__version__}\n"


def test_a_signal_ends_a_process_with_130(folder: Path) -> None:
    script = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from xmleval import Evaluator, cli
def slow(*arguments, **more):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
Evaluator.compute = slow
sys.exit(cli.main(["evaluate", "Y_test.npz", "m", "--output", "out.json"]))
"""
    done = process(script, python="-c")
    assert done.returncode == 130
    assert done.stdout + done.stderr.strip() == ""
    assert not Path("out.json").exists()


def test_a_reader_that_leaves_early(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = process("xmleval", "metrics", stdout=pipe)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_device(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = process("xmleval", "evaluate", "Y_test.npz", "m", stdout=full)
    assert (done.returncode, done.stderr) == (2, "xmleval: stdout: No space left on device\n")


def test_a_terminal_without_arrows(folder: Path) -> None:
    done = process("xmleval", "evaluate", "Y_test.npz", "m", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "P ? " in done.stdout


@pytest.mark.skipif(not (DATA / "bibtex").is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("scores", ["scores_pecos.npz", "topk_pecos_indices.npy", "topk_knn10"])
def test_real_predictions(run: Any, scores: str) -> None:
    at = DATA / "bibtex"
    line = (
        f"evaluate {at}/Y_test.npz {at}/{scores} --train {at}/Y_train.npz --metrics xmc,ranking --format json"
    )
    q = xmleval.inverse_propensity(read_truth(at / "Y_train.npz"))
    report = xmleval.evaluate(
        read_truth(at / "Y_test.npz"),
        read_scores(at / scores),
        metrics=["xmc", "ranking"],
        inverse_propensity=q,
    )
    assert run(line) == report.to_json() + "\n"
