"""When kernels run as plain Python and when compiled; which no caller and no value can tell."""

import errno
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import process
from tests.ways.both import both_ways, compared
from xmleval import Evaluator, evaluate
from xmleval.base.work import WORK
from xmleval.kernels import jit

RNG = np.random.default_rng(0)
TRUTH = (RNG.random((60, 9)) < 0.3).astype(int)
SCORES = RNG.integers(-4, 9, (60, 9)) / 8


@pytest.fixture(autouse=True)
def _a_new_process() -> Iterator[None]:
    """What is known of the work so far, and afterwards again."""
    before = dict(vars(WORK))
    vars(WORK).update(seconds=0.0, n_kernels=0, kernel_seconds=None, is_small=True)
    yield
    vars(WORK).update(before)


EVERYTHING = """
import json, sys
import numpy as np
import xmleval
rng = np.random.default_rng(0)
truth, scores = (rng.random((60, 9)) < 0.3).astype(int), rng.integers(-4, 9, (60, 9)) / 8
scores[0], scores[1] = np.inf, -np.inf
groups = ["first"] * 3 + ["others"] * 6
options = dict(y_train=truth, decision="threshold0.5", link="sigmoid", bounds=True)
shown = dict(confidence=0.9, label_groups=groups, curve_points=9)
report = xmleval.evaluate(truth, scores, metrics="all", **shown, **options)
models, names = {"a": scores, "b": -scores}, ["p@3", "auc.macro", "f1.micro"]
compared = xmleval.compare(models, truth, metrics=names, **options)
print(json.dumps([json.loads(each.to_json()) for each in (report, compared)]), "numba" in sys.modules)
"""


@pytest.mark.slow
def test_all_measures_have_the_same_bytes_in_both_ways() -> None:
    """Warnings are errors: NumPy has none of what kernels do on purpose."""
    answers = []
    for way, loads in (("plain", "False"), ("compiled", "True")):
        done = process("-W", "error", "-c", EVERYTHING, python="-B", env={"XMLEVAL_WAY": way})
        assert (done.returncode, done.stderr) == (0, "")
        text, _, has_loaded = done.stdout.strip().rpartition(" ")
        assert has_loaded == loads
        answers.append(text)
    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])[0]["values"]) > 100


def test_kernels_are_compiled_once_their_work_exceeds_what_that_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit, "NUMBA_SECONDS", 1e-3)
    WORK.kernel_seconds = 0.0
    expected = evaluate(TRUTH, SCORES, metrics="p@3")
    evaluator = Evaluator("p@3")
    for row in range(len(TRUTH)):  # many small blocks
        evaluator.update(TRUTH[row : row + 1], SCORES[row : row + 1])
    assert not WORK.is_small
    assert WORK.seconds < 60
    assert evaluator.compute() == expected


def test_a_large_array_is_not_begun_as_plain_python() -> None:
    WORK.kernel_seconds = jit.LOADING_SECONDS
    truth, scores = np.eye(5, dtype=int)[RNG.integers(5, size=200_000)], RNG.random((200_000, 5))
    evaluate(truth, scores, metrics="p@3")
    assert not WORK.is_small
    assert WORK.seconds < 1


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_wait_until_kernels_are_compiled(threads: int) -> None:
    WORK.kernel_seconds = math.inf
    first = evaluate(TRUTH, SCORES, metrics="all", y_train=TRUTH, threads=threads, block_rows=7)
    vars(WORK).update(kernel_seconds=0.0, seconds=jit.NUMBA_SECONDS - WORK.seconds / 3)
    second = evaluate(TRUTH, SCORES, metrics="all", y_train=TRUTH, threads=threads, block_rows=7)
    assert not WORK.is_small
    assert first == second


@pytest.mark.parametrize(("variables", "seconds"), [
    ({"NUMBA_DISABLE_JIT": "1"}, math.inf),
    ({"NUMBA_CACHE_DIR": "{empty}"}, jit.COMPILING_SECONDS),
])  # fmt: skip
def test_plain_python_may_take_as_long_as_the_compiler(
    variables: dict[str, str], seconds: float, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(empty=tmp_path))
    evaluate(TRUTH, SCORES, metrics="p@3")
    assert WORK.kernel_seconds == seconds


@pytest.mark.slow
def test_plain_python_may_take_less_where_compiled_kernels_are_kept(tmp_path: Any) -> None:
    code = "import numpy as np, sys\nfrom xmleval import evaluate\nfrom xmleval.base.work import WORK\n"
    code += "WORK.is_small = len(sys.argv) == 1\nevaluate(np.eye(3), np.eye(3), metrics='p@1')\n"
    code += "print(WORK.kernel_seconds)"
    (tmp_path / "code.py").write_text(code)
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XMLEVAL_WAY": ""}
    seconds = [process("code.py", *words, python="-B", cwd=tmp_path, env=env).stdout.strip() for words in (
        [], ["compile"], [],
    )]  # fmt: skip
    assert seconds == [str(jit.COMPILING_SECONDS), "None", str(jit.LOADING_SECONDS)]


def test_comparing_ways_finds_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    with both_ways():
        evaluate(TRUTH, SCORES, metrics="p@3")
    assert compared
    plain = jit.run_plain
    monkeypatch.setattr("tests.ways.both.run_plain", lambda called, arguments: (plain(called, arguments), 1))
    with both_ways(), pytest.raises(AssertionError, match=r"xmleval\.kernels\."):
        evaluate(TRUTH, SCORES, metrics="p@3")


def test_partial_areas_have_the_same_bits_in_both_ways() -> None:
    scores = np.array([2.0] * 411 + [1.0] * 388 + [0.0] * 42)[:, None]
    truth = (np.arange(scores.size) == 411).astype(int)[:, None]
    with both_ways():
        evaluate(truth, scores, metrics="auc.micro(max_fpr=0.77)")


def test_a_mark_that_cannot_be_read_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels_0").mkdir()
    (tmp_path / "kernels_0" / jit.MARK).write_bytes(jit.hash_of_sources())
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert jit.are_kept()

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert not jit.are_kept()


def test_a_user_without_a_home_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: pytest.fail("there is none"))
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    jit.are_kept()
