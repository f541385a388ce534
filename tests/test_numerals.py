"""Numbers in text are plain ASCII digits wherever they are read, and amounts of memory have units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmleval import Conventions, Evaluator, evaluate, inverse_propensity
from xmleval.budget import LEAST_WHOLE, Allowance, Budget, OverLimitError, memory_bytes
from xmleval.input.exclusion import read_pairs
from xmleval.io import read_inverse_propensity, read_qrels
from xmleval.numerals import decimal_number, whole_number
from xmleval.threads import MOST_THREADS
from xmleval.thresholds import fit

# what `int` or `float` reads, and what neither does
SLOPPY = ["1_0", "1__0", "１０", "٣", "1 0", "0x1", "1e1_0", "1.5.", "--1", "¹", "1\u00a00", "1\x00"]
EYE = np.eye(3)


def in_file(read: Callable[[Path], Any], line: str) -> Callable[[str, Path], Any]:
    def write_and_read(text: str, folder: Path) -> Any:
        (folder / "file.txt").write_text(line.format(text), encoding="utf-8")
        return read(folder / "file.txt")

    return write_and_read


READERS: dict[str, Callable[[str, Path], Any]] = {
    "cutoff": lambda text, _: Evaluator(f"p@{text}", n_labels=3),
    "top": lambda text, _: Evaluator(decision=f"top{text}", n_labels=3),
    "unlisted": lambda text, _: Conventions(unlisted=text),
    "memory": lambda text, _: Evaluator(n_labels=3, memory=f"{text}MB"),
    "propensities": in_file(read_inverse_propensity, "{}\n"),
    "row of a pair": in_file(read_pairs, "{} 1\n"),
    "relevance": in_file(read_qrels, "r 0 l {}\n"),
}


@pytest.mark.parametrize("where", READERS)
def test_plain_numbers_alone_are_read(where: str, tmp_path: Path) -> None:
    READERS[where]("1", tmp_path)
    for text in SLOPPY:
        with pytest.raises(ValueError, match=r"\S"):
            READERS[where](text, tmp_path)


@given(text=st.one_of(st.text(), st.floats().map(repr), st.integers().map(str)))
def test_numbers_are_those_that_python_reads(text: str) -> None:
    for read, kind in ((whole_number, int), (decimal_number, float)):
        number: Any = read(text)
        assert number is None or (text.isascii() and repr(number) == repr(kind(text)))
    assert whole_number(text) is not None or not text.removeprefix("-").isascii() or not text.isdecimal()


OPTIONS = """
evaluate Y_test.npz m --threads {}
evaluate Y_test.npz m --k {}
evaluate Y_test.npz m --decision top{}
evaluate Y_test.npz m --train Y_train.npz --a {}
evaluate Y_test.npz m --memory {}GB
threshold fit Y_test.npz m --rule label --measure f1.macro --output r.npz --fbr {}
"""


@pytest.mark.parametrize("line", OPTIONS.strip().splitlines())
def test_options_take_plain_numbers_alone(folder: Path, run: Any, refused: Any, line: str) -> None:
    for text in ["1_0", "'1 0'", "１０", "0x1"] + ["' 1'"] * ("--threads" in line or "--a" in line):
        assert text.strip("'") in refused(line.format(text))
    if "--a " in line:
        run(line.format("+1"))


@pytest.mark.parametrize("n", [MOST_THREADS + 1, 10**6, 10**400])
def test_threads_are_bounded(folder: Path, refused: Any, n: int) -> None:
    message = f"{n} is more than {MOST_THREADS}, the most there can be"
    for call in (lambda: evaluate(EYE, EYE, threads=n), lambda: Evaluator(n_labels=3, threads=n)):
        with pytest.raises(ValueError, match=rf"^threads: {message}$"):
            call()
    for command in ("evaluate", "bench") if n < 10**9 else ():
        assert refused(f"{command} Y_test.npz m --threads {n}") == f"--threads: {message}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: Evaluator(n_labels=n), "n_labels: .* is more than"),
        (lambda n: Evaluator(n_labels=3, unlisted=n), "unlisted=.* is neither"),
        (lambda n: Evaluator(n_labels=3, metrics=f"p@{n}"), "p@"),
        (lambda n: inverse_propensity(label_counts=[1], n_instances=9, a=n), "a: "),
        (lambda n: fit(EYE, EYE, rule="top", k=n), "k: "),
        (lambda n: fit(EYE, EYE, "f1.macro", rule="label", fbr=n), "fbr: "),
        (lambda n: evaluate([[0]], [[(0, n)]], n_labels=3), "y_score: row 0: "),
    ],
)
def test_numbers_beyond_all_floats_are_refused_by_name(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^'?{message}"):
        call(10**400)
    if message in ("a: ", "fbr: "):
        with pytest.raises(ValueError, match=f"^{message}.* is not a number"):
            call("1")


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [
        (1, 1), ("7", 7), ("7B", 7), (" 1.5 kB ", 1500), ("512MB", 512 * 10**6), ("2gb", 2 * 10**9),
        ("1TB", 10**12), ("1KiB", 1 << 10), (".5MiB", 1 << 19), ("2.GiB", 2 << 30), ("3TiB", 3 << 40),
    ],
)  # fmt: skip
def test_amounts_of_memory_have_units(amount: Any, n_bytes: int) -> None:
    assert memory_bytes("memory", amount) == n_bytes


@pytest.mark.parametrize(
    "amount", [0, -1, 1.5, True, None, "", "0", "0.5B", "-1MB", "1 XB", "1e3", "MB", "9e99", "9" * 30]
)
def test_wrong_amounts_of_memory_are_refused(amount: Any) -> None:
    with pytest.raises(ValueError, match="memory"):
        memory_bytes("memory", amount)


def test_allowance_is_taken_once_and_rows_get_the_rest() -> None:
    allowance = Allowance(100, "something")
    allowance.check(100)
    allowance.take(60)
    with allowance.lent(40), pytest.raises(OverLimitError, match="needs 1 B of memory or more beside 100 B "):
        allowance.take(1)
    with pytest.raises(OverLimitError, match=r"^line 3: needs 41 B .* at most 100 B, .* of something"):
        allowance.check(41, "line 3: ")
    for memory in (1, LEAST_WHOLE, 1 << 30):
        budget = Budget(memory)
        allowance = budget.allowance()
        assert allowance.left == max(memory, LEAST_WHOLE) * 7 // 8
        allowance.take(1 << 20)
        assert 1 <= budget.rest(allowance).memory <= max(memory - (1 << 20), memory // 8, 1)
