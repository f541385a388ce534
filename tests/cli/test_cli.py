"""Whole commands: results that equal the interface's, and one line for whatever goes wrong."""

from __future__ import annotations

import json
import os
import re
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
from xmleval.cli import evaluation, main
from xmleval.cli.forms import WRITERS
from xmleval.input.formats.registry import FORMATS, read_scores, read_truth, titles_of

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


def test_too_little_memory_is_refused(folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LEAST_MEMORY", 16_000_000)
    said = "--memory: '512' is below 16 MB, the least that can be given"
    assert refused("evaluate Y_test.npz m --memory 512") == said


@pytest.mark.parametrize("k", ["0", "1-", "-3", "3-1", "1-2-3", "1,,2", "a"])
def test_cutoffs_that_are_none(folder: Path, refused: Any, k: str) -> None:
    assert f"{k!r} is not a list of positive integers, as in 1,3,5 or 1-20" in refused(
        f"evaluate Y_test.npz m --k={k}"
    )


def test_a_range_of_too_many_cutoffs_is_told_as_such(folder: Path, refused: Any) -> None:
    assert "'1-1001' is more than 1000 cutoffs" in refused("evaluate Y_test.npz m --k=1,1-1001")


def test_a_file_that_only_its_whole_name_stands_for_is_hinted_at(folder: Path, refused: Any) -> None:
    Path("gold.csv").write_text("tags\na\n")
    said = refused("evaluate gold m")
    assert said.startswith("gold: No such file or directory, nor with one of the endings .npz, ")
    assert ".csv" not in said.split(";")[0]
    assert said.endswith("; did you mean gold.csv?")


def test_pairs_are_left_out_of_something(folder: Path, refused: Any) -> None:
    assert refused("evaluate Y_test.npz m --exclude-from predictions").startswith(
        "--exclude-from needs --exclude"
    )


@pytest.mark.parametrize("option", ["--true-field x", "--id-field x", "--separator x"])
@pytest.mark.parametrize(
    "line",
    [
        "evaluate Y_test.npz m",
        "stats Y_test.npz",
        "convert Y_test.npz o.txt --kind truth",
        "threshold fit Y_test.npz m --measure f1.micro --output r.npz",
    ],
)
def test_fields_that_no_file_has_are_refused(folder: Path, refused: Any, line: str, option: str) -> None:
    assert refused(f"{line} {option}") == f"Y_test.npz: {option.split()[0]} is for CSV and JSON Lines"


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


def spoil(folder: Path) -> None:
    """Add files with one fault each."""
    held = (folder / "Y_test.npz").read_bytes()
    Path("cut.npz").write_bytes(held[:200])
    Path("empty.npz").touch()
    np.savez("objects.npz", data=np.array([{}], dtype=object))
    sp.save_npz("few.npz", sp.csr_array(Y_TEST[:3]))
    sp.save_npz("narrow.npz", sp.csr_array(Y_TEST[:, :4]))
    sp.save_npz("twos.npz", sp.csr_array(Y_TEST * 2))
    np.save("range_indices.npy", np.where(LABELS == 4, 9, LABELS))
    np.save("twice_indices.npy", np.where(LABELS == 3, 0, LABELS))
    np.save("nan_indices.npy", np.maximum(LABELS, 0) * 0 + np.arange(3))
    np.save("nan_scores.npy", SCORES)
    np.save("zero.npy", np.zeros(5))
    sp.save_npz("tiny.npz", sp.csr_array(Y_TEST[:2]))
    Path("dir.npz").mkdir()


# Each line: what follows `xmleval evaluate`, and below it what is said; T stands for Y_test.npz.
REFUSED = """
missing.npz m
    missing.npz: No such file or directory; {ZIP}
dir.npz m
    dir.npz: is a directory; expected a file, or a folder of files in known formats
empty.npz m
    empty.npz: the file is empty; {ZIP}
cut.npz m
    cut.npz: the zip archive is cut short; {ZIP}
objects.npz m
    objects.npz: data.npy: Python objects are not supported; {ZIP}
m_indices.npy m
    m_indices.npy: a top-k list holds no truth; it holds predictions: TRUTH comes first, then SCORES
twos.npz m
    twos.npz: row 0: value 2.0 is neither 0 nor 1 in a label set; grades need --gains 'linear' or 'exp'
T twos.npz --pred twos.npz --metrics sets
    twos.npz: row 0: value 2.0 is neither 0 nor 1 in a label set
T few.npz
    few.npz: 3 rows do not match the 4 of Y_test.npz
T narrow.npz
    narrow.npz: 4 labels do not match the 5 of Y_test.npz
T range_indices.npy
    range_indices.npy: row 2: label id 9 is not in 0..4 (or -1, an empty slot); Y_test.npz has 5 labels
T twice
    twice: row 0: label id 0 occurs twice; ids of a row must be distinct
T nan
    nan: row 1: score nan is not a number; scores must be ordered
T nothing
    nothing: No such file or directory, nor with one of the endings {ENDINGS}
T m --train narrow.npz
    narrow.npz: shape (4, 4) has 4 labels; 5 were expected
T m --train tiny.npz
    tiny.npz: 2 training instances; the model needs 3 or more
T m --train Y_train.npz --b -3
    --b: a=0.55, b=-3: the model needs a >= 0, N_j + b > 0
T m --inverse-propensity zero.npy
    zero.npy: label 0: inverse propensity 0.0 is not a number above 0 and at most 2^30
T m --metrics psp@5
    psp@5 needs --train or --inverse-propensity
T m --metrics f1.micro
    f1.micro needs --pred or --decision; f1.micro@5 takes the first 5 labels
T --metrics lrap
    lrap needs SCORES
T
    metrics: nothing can be computed without SCORES
T m --metrics nope
    'nope': unknown measure 'nope'; `xmleval metrics` lists all
T m --unlisted x
    --unlisted 'x' is neither 'below' nor a number
T m --decision best
    --decision 'best' is neither topK (top3) nor thresholdT (threshold0.5) nor a saved rule
T m --decision top2 --pred sets.npz
    --pred and --decision exclude each other; {SEE}
T m --train Y_train.npz --inverse-propensity q.npy
    --train and --inverse-propensity exclude each other; {SEE}
T m --a 0.5
    --a, --b and --dataset need --train; {SEE}
T m --metrics p@1,,r@1
    Invalid value for '--metrics': 'p@1,,r@1' has an empty name; {SEE}
T m --k 1,0
    Invalid value for '--k': '1,0' is not a list of positive integers, as in 1,3,5 or 1-20; {SEE}
T m --output none/out
    none/out: its folder does not exist
T m --output dir.npz
    dir.npz: Is a directory
T m --output Y_test.npz
    Y_test.npz: is an input; expected another file for the output
T m --output m_scores.npy
    m_scores.npy: is an input; expected another file for the output
"""
WORDS = {
    "TRUTHS": titles_of("truth"),
    "ENDINGS": ", ".join(
        dict.fromkeys(
            ending
            for known in FORMATS
            if not known.by_whole_name
            for ending in known.completions or known.extensions
        )
    ),
    "ZIP": "expected a SciPy sparse matrix as scipy.sparse.save_npz writes it",
    "SEE": "see `xmleval evaluate --help`",
}


@pytest.mark.parametrize(("line", "said"), re.findall(r"^(\S.*)\n    (.*)$", REFUSED, re.MULTILINE))
def test_bad_input_is_one_line_that_names_the_file(folder: Path, refused: Any, line: str, said: str) -> None:
    spoil(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert refused("evaluate " + re.sub("^T", "Y_test.npz", line)) == said.format(**WORDS)
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


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
