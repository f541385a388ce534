"""Kernels as plain Python and compiled: when each is run, and that results are identical."""

import errno
import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import process
from tests.ways.both import both_ways, compared
from xmleval import Evaluator, Running, evaluate
from xmleval.base.work import NUMBA_SECONDS, WORK, Work
from xmleval.kernels import jit, kept
from xmleval.kernels.hit_tables import count_hits

RNG = np.random.default_rng(0)
TRUTH = (RNG.random((60, 9)) < 0.3).astype(int)
SCORES = RNG.integers(-4, 9, (60, 9)) / 8


@pytest.fixture(autouse=True)
def _a_new_process() -> Iterator[None]:
    """Forget the work done so far; restore it afterwards."""
    before = dict(vars(WORK))
    vars(WORK).update(vars(Work()))
    yield
    vars(WORK).update(before)


EVERYTHING = """
import json, sys
import numpy as np
import xmleval
rng = np.random.default_rng(0)
truth = (rng.random((60, 9)) < 0.3).astype(int)
scores = rng.integers(-4, 9, (60, 9)) / 8
scores[0] = np.inf
scores[1] = -np.inf
groups = ["first"] * 3 + ["others"] * 6
options = dict(y_train=truth, decision="threshold0.5", conventions="link=sigmoid", bounds=True)
shown = dict(confidence=0.9, label_groups=groups, curve_points=9)
report = xmleval.evaluate(truth, scores, metrics="all", **shown, **options)
models = {"a": scores, "b": -scores}
names = ["p@3", "auc.macro", "f1.micro"]
comparison = xmleval.compare(truth, models, metrics=names, **options)
results = [json.loads(report.to_json()), json.loads(comparison.to_json())]
print(json.dumps(results), "numba" in sys.modules)
"""


@pytest.mark.slow
def test_evaluate_and_compare_return_the_same_bytes_in_both_ways() -> None:
    """Warnings are errors: NumPy must not warn of what kernels do on purpose."""
    answers = []
    for way, loads in (("plain", "False"), ("compiled", "True")):
        done = process("-W", "error", "-c", EVERYTHING, python="-B", env={"XMLEVAL_WAY": way})
        assert (done.returncode, done.stderr) == (0, "")
        text, _, has_loaded = done.stdout.strip().rpartition(" ")
        assert has_loaded == loads
        answers.append(text)
    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])[0]["values"]) > 100


def test_kernels_are_compiled_once_plain_python_took_as_long() -> None:
    expected = evaluate(TRUTH, SCORES, metrics="p@3")
    WORK.compiler_seconds = WORK.seconds + 1e-3
    evaluator = Evaluator("p@3")
    for row in range(len(TRUTH)):  # many small blocks
        evaluator.update(TRUTH[row : row + 1], SCORES[row : row + 1])
    assert not WORK.is_small
    assert WORK.seconds < 60
    assert evaluator.compute() == expected


def test_kernels_are_compiled_at_once_for_a_large_array() -> None:
    classes = RNG.integers(5, size=200_000)
    truth = np.eye(5, dtype=int)[classes]
    scores = RNG.random((200_000, 5))
    evaluate(truth, scores, metrics="p@3")
    assert not WORK.is_small
    assert WORK.seconds < 1


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_wait_until_kernels_are_compiled(threads: int) -> None:
    options: dict[str, Any] = {
        "metrics": "all",
        "y_train": TRUTH,
        "threads": threads,
        "running": Running(block_rows=7),
    }
    WORK.compiler_seconds = math.inf
    first = evaluate(TRUTH, SCORES, **options)
    WORK.compiler_seconds = 4 / 3 * WORK.seconds
    second = evaluate(TRUTH, SCORES, **options)
    assert not WORK.is_small
    assert first == second


ALL_BUT_ONE_COMPILED = """
import sys
import numpy as np
from xmleval.kernels import matching
from xmleval import evaluate
from xmleval.base.work import WORK
from xmleval.kernels import jit, kept
from xmleval.kernels.hit_tables import count_hits

if "compile" in sys.argv:
    matching.place_of.made_compiled()(np.arange(3), 1)
WORK.is_small = "alone" not in sys.argv and "all" not in sys.argv
if "alone" not in sys.argv:
    evaluate(np.eye(3), np.eye(3), metrics="p@1")
print(WORK.compiler_seconds)
"""


@pytest.mark.slow
def test_compiler_seconds_count_loading_of_cached_kernels(tmp_path: Path) -> None:
    """A kernel costs its loading if the cache has it from these sources and this Numba."""
    (tmp_path / "code.py").write_text(ALL_BUT_ONE_COMPILED)
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XMLEVAL_WAY": ""}

    def seconds(*words: str) -> float:
        done = process("code.py", *words, python="-B", cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return float(done.stdout) - NUMBA_SECONDS

    nothing_kept = seconds()
    seconds("compile", "alone")
    one_kept = seconds()
    seconds("all")
    all_kept = seconds()
    n_kernels = nothing_kept / jit.COMPILING_SECONDS
    saved_by_one = jit.COMPILING_SECONDS - jit.LOADING_SECONDS
    assert n_kernels == pytest.approx(round(n_kernels))
    assert all_kept == pytest.approx(n_kernels * jit.LOADING_SECONDS)
    assert one_kept == pytest.approx(nothing_kept - saved_by_one)
    for index in (tmp_path / "cache").glob("*/*.nbi"):
        content = index.read_bytes()
        index.write_bytes(content.replace(kept.hash_of_sources(), bytes(32)))
    assert seconds() == pytest.approx(nothing_kept)


def test_both_ways_finds_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    with both_ways():
        evaluate(TRUTH, SCORES, metrics="p@3")
    assert compared
    plain = jit.run_plain
    monkeypatch.setattr("tests.ways.both.run_plain", lambda *call: (plain(*call), 1))
    with both_ways(), pytest.raises(AssertionError, match=r"xmleval\.kernels\."):
        evaluate(TRUTH, SCORES, metrics="p@3")


def test_partial_areas_have_the_same_bits_in_both_ways() -> None:
    scores = np.repeat([2.0, 1.0, 0.0], [411, 388, 42])[:, None]
    truth = np.zeros(scores.shape, int)
    truth[411] = 1
    with both_ways():
        evaluate(truth, scores, metrics="auc.micro(max_fpr=0.77)")


def test_is_kept_is_false_where_the_index_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = kept.index_name
    folder = tmp_path / "kernels_0"
    folder.mkdir()
    index = folder / f"{kept.index_name(function)}.nbi"
    index.write_bytes(kept.numba_version() + kept.hash_of_sources())
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kept.is_kept(function)

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert not kept.is_kept(function)


def test_is_kept_needs_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: pytest.fail("there is none"))
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    kept.cache_folders.cache_clear()
    kept.is_kept(kept.index_name)
    kept.cache_folders.cache_clear()


FORKS = """
import os
import sys
import threading
import numpy as np
from xmleval import evaluate
from xmleval.base.work import WORK

def in_child():
    child = os.fork()
    if child == 0:
        evaluate(np.eye(3), np.eye(3), metrics="p@1")
        os._exit(0)
    return os.waitpid(child, 0)[1]

evaluate(np.eye(3), np.eye(3), metrics="p@1")
WORK.is_small = False

def evaluate_in_thread():
    evaluate(np.eye(3), np.eye(3), metrics="auc.micro")

other = threading.Thread(target=evaluate_in_thread)
other.start()
ended = [in_child() for _ in range(5)]
other.join()
print(ended)
"""


@pytest.mark.slow
def test_forked_child_runs_kernels_while_a_thread_of_its_parent_compiles(
    tmp_path: Path,
) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XMLEVAL_WAY": ""}
    done = process("forks.py", python="-B", cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (0, "[0, 0, 0, 0, 0]\n"), done.stderr


EVALUATES = """
import numpy as np
from xmleval import evaluate
evaluate(np.eye(3), np.eye(3), metrics="all", confidence=0.9, decision="top1")
from xmleval.kernels.compiling import COMPILED, folders
print(COMPILED.n, len(folders))
"""


@pytest.mark.parametrize(
    "setup",
    [
        "from xmleval.base.work import WORK; WORK.is_small = False",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))",
    ],
)
def test_kernels_are_not_compiled_with_numba_disable_jit(setup: str) -> None:
    code = f"{setup}\n{EVALUATES}"
    env = {"NUMBA_DISABLE_JIT": "1", "XMLEVAL_WAY": ""}
    done = process("-W", "error", "-c", code, python="-B", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")


def test_kernels_are_pickled_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(count_hits)) is count_hits


def test_kernels_are_compiled_at_once_for_many_relevant_labels_and_a_long_list() -> None:
    truth = np.zeros((1, 50_000), int)
    scores = RNG.random((1, 50_000)).astype(np.float32)
    truth[0, RNG.choice(50_000, 250, replace=False)] = 1
    evaluate(truth, scores, metrics="auc.samples")
    assert not WORK.is_small
    assert WORK.seconds < 1
