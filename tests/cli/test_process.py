"""The process of the command line: memory, signals, pipes, and inputs that stay unchanged."""

import os
import resource
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run, process
from tests.conftest import DATA, NO_DATA
from tests.damage import contents
from tests.made_files import npz
from xmleval import Evaluator
from xmleval.input.pieces import RowReader

IMPORTS = """
import signal, sys
name, number = sys.argv[1], int(sys.argv[2])
sys.argv[1:] = ["evaluate", "nowhere", "nowhere"]
class Finder:
    def find_spec(self, module, path=None, target=None):
        if module == name:
            signal.raise_signal(number)
from xmleval import __main__
sys.meta_path.insert(0, Finder())
sys.exit(__main__.main())
"""
NOHUP = """
import signal
from xmleval import __main__, cli
signal.signal(signal.SIGHUP, signal.SIG_IGN)
cli.main = lambda: signal.raise_signal(signal.SIGHUP) or 5
raise SystemExit(__main__.main())
"""
IMPORTING = """
import os, signal, warnings
def settings():
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return os.environ.copy(), handlers, warnings.showwarning
before = settings()
import xmleval.cli.evaluate, xmleval.__main__
raise SystemExit(settings() != before)
"""
IMPORTING_KERNELS = """
import sys
try:
    import xmleval.kernels
except MemoryError as error:
    print(error)
assert "numba" not in sys.modules
"""
INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from xmleval import Evaluator, cli
def compute(evaluator):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
Evaluator.compute = compute
sys.exit(cli.main(["evaluate", "Y_test.npz", "m", "--output", "out.json"]))
"""


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("click", signal.SIGINT),
        ("numpy", signal.SIGTERM),
        ("xmleval.kernels.jit", signal.SIGINT),
    ],
)
def test_signal_during_imports_ends_without_a_traceback(name: str, number: int) -> None:
    done = process(IMPORTS, name, str(int(number)), python="-c")
    assert done.returncode in (128 + number, -number)
    assert (done.stdout, done.stderr.strip()) == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(("script", "code"), [(NOHUP, 5), (IMPORTING, 0), (INTERRUPTED, 130)])
def test_process_ends_with_its_code_and_without_output(
    folder: Path, script: str, code: int
) -> None:
    done = process(script, python="-c")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (code, "", "")
    assert not Path("out.json").exists()


@pytest.mark.slow
def test_process_prints_to_terminals_without_arrows_and_refuses(folder: Path) -> None:
    done = process("xmleval", "evaluate", "Y_test.npz", "m", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "P ? " in done.stdout
    done = process("xmleval", "evaluate", "Y_test.npz", "gone.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xmleval: gone.npz: No such file")
    variables = {
        "COMP_WORDS": "xmleval eva",
        "COMP_CWORD": "1",
        "_XMLEVAL_COMPLETE": "bash_complete",
    }
    done = process(
        "import sys; from xmleval.cli import main; sys.exit(main())", python="-c", env=variables
    )
    assert (done.returncode, done.stdout) == (0, "plain,evaluate\n")


def test_process_ends_quietly_when_its_reader_leaves() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = process("xmleval", "metrics", stdout=pipe)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_process_reports_a_full_device(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = process("xmleval", "evaluate", "Y_test.npz", "m", stdout=full)
    assert (done.returncode, done.stderr) == (2, "xmleval: stdout: No space left on device\n")


def test_evaluate_reports_too_little_memory(folder: Path, refused: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(Evaluator, "compute", lambda self: np.empty(2**62, np.uint8))
    assert refused("evaluate Y_test.npz m").startswith("not enough memory: ")


def limit_address_space(n_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit the address space")
@pytest.mark.parametrize("megabytes", [150, 390, 767])
def test_process_refuses_little_address_space_before_numba_is_loaded(
    folder: Path, megabytes: int
) -> None:
    limited = partial(limit_address_space, megabytes << 20)
    done = process("xmleval", "evaluate", "Y_test.npz", "m", preexec_fn=limited)
    reason = (
        f"the limit of address space is {megabytes} MiB; "
        "at least 768 MiB are needed (ulimit -v 786432)"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"xmleval: not enough memory: {reason}\n"
    done = process("xmleval", "metrics", "psp@5", preexec_fn=limited)
    assert (done.returncode, done.stderr) == (0, "")
    done = process(IMPORTING_KERNELS, python="-c", preexec_fn=limited)
    assert (done.stdout, done.stderr) == (f"{reason}\n", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit the address space")
def test_evaluate_starts_few_threads_in_little_address_space(folder: Path, run: Run) -> None:
    words = ["evaluate", "Y_test.npz", "m", "--metrics", "p@1,auc.micro", "--threads", "8"]
    expected = run(" ".join(words))
    done = process("xmleval", *words, preexec_fn=partial(limit_address_space, 768 << 20))
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


# outputs that are the file of an input; the last word is the output
INPUTS = """
evaluate Y_test.npz m --output hard
evaluate Y_test.npz 'parts/p*' --save link/p1.npz
evaluate Y_test.npz m --decision rule.npz --metrics sets --save rule.npz
evaluate q.qrels r.run --labels names.txt --output names.txt
convert m there/../m_scores.npy
stats names.txt --input-format lines --output names.txt
bench Y_test.npz names.txt --output names.txt
threshold fit Y_test.npz parts/p0.npz --measure f1.samples --output parts/p0.npz
threshold fit Y_test.npz m --rule row --features f.npz --measure f1.samples --output f.npz
threshold apply 'parts/p*' --rule rule.npz --output parts/p0.npz
merge state --output state
"""


def test_output_never_takes_the_place_of_an_input(folder: Path, refused: Run, run: Run) -> None:
    Path("parts").mkdir()
    Path("there").mkdir()
    for number, rows in enumerate([slice(1), slice(1, 4)]):
        npz(Path(f"parts/p{number}"), sp.csr_array(sp.load_npz("Y_test.npz"))[rows])
    Path("q.qrels").write_text("a 0 x 1\n")
    Path("r.run").write_text("a Q0 x 1 0.5 m\n")
    Path("names.txt").write_text("x\n")
    os.link("m_scores.npy", "hard")
    Path("f.npz").touch()
    Path("link").symlink_to("parts")
    run("threshold fit Y_test.npz m --measure f1.micro --output rule.npz")
    run("evaluate Y_test.npz m --save state --output state.txt")
    before = contents(folder)
    for line in INPUTS.strip().splitlines():
        assert "is an input; expected another file for the output" in refused(line), line
    line = "evaluate Y_test.npz m --save one --output ./one"
    assert refused(line).startswith("two outputs have the same name; see `xmleval ")
    assert contents(folder) == before


OUTPUTS = """
evaluate Y_test.npz m --output {}
evaluate Y_test.npz m --save {}
convert m {}.npz --kind scores
stats Y_test.npz --output {}
threshold apply m --rule rule.npz --output {}.npz
merge state --save {}
"""


@pytest.mark.parametrize("line", OUTPUTS.strip().splitlines())
def test_outputs_are_checked_first(
    folder: Path, refused: Run, run: Run, monkeypatch: Any, line: str
) -> None:
    def read(*arguments: Any, **options: Any) -> None:
        raise AssertionError("rows were read")

    run("threshold fit Y_test.npz m --measure f1.micro --output rule.npz")
    run("evaluate Y_test.npz m --save state --output state.txt")
    name = "é" * 124  # 248 of 255 bytes
    run(line.format(name))
    assert [path.stem for path in folder.iterdir() if path.name[:2] in ("éé", ".é")] == [name]
    monkeypatch.setattr(RowReader, "take", read)
    monkeypatch.setattr(Evaluator, "load", read)
    Path("name").touch()
    for output in ("none/out", "name/out"):
        assert refused(line.format(output)).endswith(": its folder does not exist")
    if "--save" in line or "threshold" in line or "convert" in line:
        os.mkfifo("pipe")
        os.symlink("pipe", "pipe.npz")
        assert refused(line.format("pipe")).endswith(": exists and is not a regular file")


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "expected.json").is_file(), reason=NO_DATA)
def test_evaluate_allocates_no_dense_matrix() -> None:
    code = """
import resource, sys, xmleval.cli
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file in sys.argv[1:3]:
    assert xmleval.cli.main(["evaluate", sys.argv[3], file, *sys.argv[4:]]) == 0
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    data = DATA / "debian_depends"
    names = ("topk_pecos_indices.npy", "scores_pecos.npz", "Y_test.npz")
    words = [
        *(data / name for name in names),
        "--train",
        data / "Y_train.npz",
        "--output",
        os.devnull,
    ]
    done = process(code, *map(str, words), "--metrics", "all", "--decision", "top5", python="-c")
    assert done.returncode == 0, done.stderr
    # MiB; the matrix would take 1.4 GiB in float64
    assert max(map(float, done.stdout.split())) < 200
