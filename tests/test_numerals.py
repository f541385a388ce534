"""Every number in text is plain ASCII digits, wherever it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmleval import Conventions, Evaluator, evaluate, inverse_propensity
from xmleval.input.exclusion import read_pairs
from xmleval.io import read_inverse_propensity, read_qrels, read_run
from xmleval.numerals import decimal_number, whole_number
from xmleval.spec import parse_spec
from xmleval.threads import MOST_THREADS
from xmleval.thresholds import fit
from xmleval.view.decision import parse_decision

# what `int` or `float` reads, beside what neither does
SLOPPY = ["1_0", "1__0", "１０", "٣", "1 0", "0x1", "1e1_0", "1.5.", "--1", "¹", "1\u00a00", "1\x00"]


def in_file(read: Callable[[Path], Any], line: str) -> Callable[[str, Path], Any]:
    def write_and_read(text: str, folder: Path) -> Any:
        (folder / "file.txt").write_text(line.format(text), encoding="utf-8")
        return read(folder / "file.txt")

    return write_and_read


READERS: dict[str, Callable[[str, Path], Any]] = {
    "cutoff": lambda text, _: parse_spec(f"p@{text}"),
    "parameter": lambda text, _: parse_spec(f"fbeta.macro(beta={text})"),
    "top": lambda text, _: parse_decision(f"top{text}"),
    "threshold": lambda text, _: parse_decision(f"threshold{text}"),
    "unlisted": lambda text, _: Conventions(unlisted=text),
    "zero division": lambda text, _: Conventions(zero_division=text),
    "memory": lambda text, _: Evaluator(n_labels=3, memory=f"{text}MB"),
    "propensities": in_file(read_inverse_propensity, "{}\n"),
    "row of a pair": in_file(read_pairs, "{} 1\n"),
    "relevance": in_file(read_qrels, "r 0 l {}\n"),
    "score": in_file(lambda path: read_run(path, read_like()), "r Q0 l 1 {} tag\n"),
}


def read_like() -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.txt"
        path.write_text("r 0 l 1\n")
        return read_qrels(path)


@pytest.mark.parametrize("where", READERS)
def test_plain_numbers_are_read(where: str, tmp_path: Path) -> None:
    READERS[where]("1", tmp_path)


@pytest.mark.parametrize("text", SLOPPY)
@pytest.mark.parametrize("where", READERS)
def test_other_numbers_are_refused(where: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        READERS[where](text, tmp_path)


LINES = """
evaluate Y_test.npz m --threads {}
evaluate Y_test.npz m --k {}
evaluate Y_test.npz m --unlisted {}
evaluate Y_test.npz m --decision top{}
evaluate Y_test.npz m --metrics sets --decision threshold{}
evaluate Y_test.npz m --train Y_train.npz --a {}
evaluate Y_test.npz m --train Y_train.npz --b {}
evaluate Y_test.npz m --memory {}GB
bench --rows {}
bench --labels {}
bench --k {}
bench --threads {}
convert m out.txt --n-labels {}
threshold fit Y_test.npz m --rule top --output r.npz --k {}
threshold fit Y_test.npz m --rule label --measure f1.macro --output r.npz --fbr {}
"""


@pytest.mark.parametrize("text", ["1_0", "'1 0'", "１０", "0x1"])
@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_options_take_plain_numbers(folder: Path, refused: Any, line: str, text: str) -> None:
    assert text.strip("'") in refused(line.format(text))


@pytest.mark.parametrize("text", ["' 1'", "'1 '", "+1"])
@pytest.mark.parametrize("option", ["--threads", "--a"])
def test_options_take_no_blanks(folder: Path, run: Any, refused: Any, option: str, text: str) -> None:
    line = f"evaluate Y_test.npz m --train Y_train.npz {option} {text}"
    if (option, text) == ("--a", "+1"):
        run(line)
    else:
        assert text.strip("'") in refused(line)


@given(text=st.one_of(st.text(), st.floats().map(repr), st.integers().map(str)))
def test_what_is_read_is_what_python_reads(text: str) -> None:
    for read, kind in ((whole_number, int), (decimal_number, float)):
        found: Any = read(text)
        assert found is None or (text.isascii() and repr(found) == repr(kind(text)))
    assert whole_number(text) is not None or not text.removeprefix("-").isascii() or not text.isdecimal()


@pytest.mark.parametrize("n", [MOST_THREADS + 1, 10**6, 10**400])
def test_threads_are_bounded(folder: Path, refused: Any, n: int) -> None:
    said = f"{n} is more than {MOST_THREADS}, the most there can be"
    with pytest.raises(ValueError, match=rf"^threads: {said}$"):
        evaluate(np.eye(3), np.eye(3), threads=n)
    with pytest.raises(ValueError, match=rf"^threads: {said}$"):
        Evaluator(n_labels=3, threads=n)
    if n < 10**9:
        assert refused(f"evaluate Y_test.npz m --threads {n}") == f"--threads: {said}"
        assert refused(f"bench Y_test.npz m --threads {n}") == f"--threads: {said}"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda n: Evaluator(n_labels=n), "n_labels: .* is more than"),
        (lambda n: Evaluator(n_labels=3, decision=f"top{n}"), "decision=.* is neither"),
        (lambda n: Evaluator(n_labels=3, unlisted=n), "unlisted=.* is neither"),
        (lambda n: Evaluator(n_labels=3, metrics=f"p@{n}"), "p@"),
        (lambda n: Evaluator(n_labels=3).update(np.eye(3), np.eye(3), first_row=n), "first_row: "),
        (lambda n: inverse_propensity(label_counts=[1], n_instances=n), "n_instances: "),
        (lambda n: inverse_propensity(label_counts=[1], n_instances=9, a=n), "a: "),
        (lambda n: fit(np.eye(3), np.eye(3), rule="top", k=n), "k: "),
        (lambda n: evaluate([[0]], [[(0, n)]], n_labels=3), "y_score: row 0: "),
    ],
)
def test_numbers_beyond_all_floats_are_refused_by_name(call: Callable[[int], Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^'?{said}"):
        call(10**400)


@pytest.mark.parametrize("value", ["1", "1_0", b"1"])
def test_text_is_no_number_of_python(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^a: .* is not a number"):
        inverse_propensity(label_counts=[1], n_instances=9, a=value)
    with pytest.raises(ValueError, match=r"^fbr: .* is not a number"):
        fit(np.eye(3), np.eye(3), "f1.macro", rule="label", fbr=value)
