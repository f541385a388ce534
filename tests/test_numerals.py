"""Numbers in text: ASCII digits, read as by Python and written in the fewest digits."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from xmleval import Conventions, Evaluator, evaluate, inverse_propensity
from xmleval.base.budget import (
    LEAST_WHOLE,
    MemoryLimit,
    OverLimitError,
    Resources,
    limited,
    memory_bytes,
    memory_limit,
)
from xmleval.base.errors import shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.base.threads import MOST_THREADS, Call
from xmleval.input.text_columns import read_pairs
from xmleval.io import read_inverse_propensity, read_qrels, read_scores, read_truth, write_xmc
from xmleval.thresholds import fit

# texts that `int` or `float` reads, and others that neither reads
SLOPPY = [
    "1_0",
    "1__0",
    "１０",
    "٣",
    "1 0",
    "0x1",
    "1e1_0",
    "1.5.",
    "--1",
    "¹",
    "1\u00a00",
    "1\x00",
]
EYE = np.eye(3)


def in_file(read: Callable[[Path], Any], line: str) -> Callable[[str, Path], Any]:
    def write_and_read(text: str, folder: Path) -> Any:
        path = folder / "file.txt"
        path.write_text(line.format(text), encoding="utf-8")
        return read(path)

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
def test_readers_take_plain_numbers_only(where: str, tmp_path: Path) -> None:
    READERS[where]("1", tmp_path)
    for text in SLOPPY:
        with pytest.raises(ValueError, match=r"\S"):
            READERS[where](text, tmp_path)


@given(text=st.one_of(st.text(), st.floats().map(repr), st.integers().map(str)))
def test_whole_number_and_decimal_number_read_as_python(text: str) -> None:
    whole = whole_number(text)
    decimal = decimal_number(text)
    if whole is not None:
        assert text.isascii()
        assert repr(whole) == repr(int(text))
    elif text.removeprefix("-").isascii():
        assert not text.isdecimal()
    if decimal is not None:
        assert text.isascii()
        assert repr(decimal) == repr(float(text))


OPTIONS = """
evaluate Y_test.npz m --threads {}
evaluate Y_test.npz m --k {}
evaluate Y_test.npz m --decision top{}
evaluate Y_test.npz m --train Y_train.npz --a {}
evaluate Y_test.npz m --memory {}GB
threshold fit Y_test.npz m --rule label --measure f1.macro --output r.npz --fbr {}
"""


@pytest.mark.parametrize("line", OPTIONS.strip().splitlines())
def test_command_options_take_plain_numbers_only(
    folder: Path, run: Any, refused: Any, line: str
) -> None:
    texts = ["1_0", "'1 0'", "１０", "0x1"]
    if "--threads" in line or "--a" in line:
        texts.append("' 1'")
    for text in texts:
        assert text.strip("'") in refused(line.format(text))
    if "--a " in line:
        run(line.format("+1"))


@pytest.mark.parametrize("n", [MOST_THREADS + 1, 10**6, 10**400])
def test_threads_are_bounded(folder: Path, refused: Any, n: int) -> None:
    message = f"{shown(n)} is more than {MOST_THREADS}, the largest value allowed"
    pattern = rf"^threads: {re.escape(message)}$"
    with pytest.raises(ValueError, match=pattern):
        evaluate(EYE, EYE, threads=n)
    with pytest.raises(ValueError, match=pattern):
        Evaluator(n_labels=3, threads=n)
    if n < 10**9:
        for command in ("evaluate", "bench"):
            assert refused(f"{command} Y_test.npz m --threads {n}") == f"--threads: {message}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: Evaluator(n_labels=n), "n_labels: .* is more than"),
        (
            lambda n: Evaluator(n_labels=3, conventions={"unlisted": n}),
            'conventions="unlisted=.* is neither',
        ),
        (lambda n: Evaluator(n_labels=3, metrics=f"p@{n}"), "p@"),
        (lambda n: inverse_propensity(label_counts=[1], n_instances=9, a=n), "a: "),
        (lambda n: fit(EYE, EYE, rule="top", k=n), "k: "),
        (lambda n: fit(EYE, EYE, "f1.macro", rule="label", fbr=n), "fbr: "),
        (lambda n: evaluate([[0]], [[(0, n)]], n_labels=3), "y_score: row 0: "),
    ],
)
def test_arguments_beyond_all_floats_are_refused_by_name(
    call: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^'?{message}"):
        call(10**400)
    if message in ("a: ", "fbr: "):
        with pytest.raises(ValueError, match=f"^{message}.* is not a number"):
            call("1")


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [
        (1, 1),
        ("7", 7),
        ("7B", 7),
        (" 1.5 kB ", 1500),
        ("512MB", 512 * 10**6),
        ("2gb", 2 * 10**9),
        ("1TB", 10**12),
        ("1KiB", 1 << 10),
        (".5MiB", 1 << 19),
        ("2.GiB", 2 << 30),
        ("3TiB", 3 << 40),
    ],
)
def test_memory_bytes_reads_units(amount: Any, n_bytes: int) -> None:
    assert memory_bytes("memory", amount) == n_bytes


@pytest.mark.parametrize(
    "amount",
    [0, -1, 1.5, True, None, "", "0", "0.5B", "-1MB", "1 XB", "1e3", "MB", "9e99", "9" * 30],
)
def test_memory_bytes_refuses_wrong_amounts(amount: Any) -> None:
    with pytest.raises(ValueError, match="memory"):
        memory_bytes("memory", amount)


def test_memory_limit_is_shared_by_threads_and_rows_get_the_rest() -> None:
    with pytest.raises(OverLimitError, match="the memory of this machine"):
        memory_limit().check(1 << 60)
    with limited(MemoryLimit(100)):
        memory_limit().check(100)
        Call(lambda: memory_limit().take(60)).result()
        with (
            memory_limit().lent(40),
            pytest.raises(
                OverLimitError, match="needs 1 B of memory or more in addition to 100 B "
            ),
        ):
            memory_limit().take(1)
        message = "^line 3: needs 41 B .* of 100 B, .* of this machine"
        with pytest.raises(OverLimitError, match=message):
            memory_limit().check(41, "line 3: ")
    for memory in (1, LEAST_WHOLE, 1 << 30):
        budget = Resources(memory)
        limit = budget.limit()
        assert limit.left == max(memory, LEAST_WHOLE) * 7 // 8
        limit.take(1 << 20)
        assert 1 <= budget.without(limit).memory <= max(memory - (1 << 20), memory // 8, 1)


POWERS = {
    "float32": (range(-149, 128), range(-45, 39)),
    "float64": (range(-1074, 1024), range(-323, 309)),
}
FIELDS: dict[str, Any] = {"float32": np.uint32, "float64": np.uint64}
digits = st.text("0123456789", max_size=22)
signs = st.sampled_from(["", "+", "-"])
decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: str(np.float32(x))),
    st.builds("{}{}.{}".format, signs, digits, digits),
    st.builds("{}{}e{}".format, signs, digits, st.integers(-360, 330)),
    st.builds("{}{}.{}E{}{}".format, signs, digits, digits, signs, st.integers(0, 40)),
).filter(lambda word: re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", word))
HALF_WAY = [
    "9007199254740993",
    "9007199254740995",
    "4503599627370496.5",
    "4503599627370497.5",
    "1e23",
]
EDGES = [
    "8.5e22",
    "123456789012345678e-40",
    "0.000000000000000000000012345678901234567",
    "-0",
    "-0e5",
    "0.0001234567890123456",
    "12345678.12345678",
    "1e-22",
    "7.2057594037927933e16",
    "1.7976931348623159e308",
    "4.9e-324",
    "0000010000000000",
    "999999999999999",
]
ALL_POWERS = [
    f"{n}e{power}" for power in range(-360, 310) for n in (1, 7, 8301034833169298227, 2**64 - 1)
]
# halves of the last place, as products with powers of 5 over powers of 10
QUOTIENTS = [
    f"{(2**53 + 2 * n + 1) * 5**power}e-{power}" for power in range(1, 5) for n in (0, 1, 77)
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numbers") / "scores.txt"


def bits_of_words(path: Path, words: list[str]) -> list[int]:
    """Return the bits of scores that are read from a file with these words."""
    entries = " ".join(f"{n}:{word}" for n, word in enumerate(words))
    path.write_text(f"1 {len(words)}\n{entries}\n")
    matrix = read_scores(path)
    assert matrix.indices.tolist() == [*range(len(words))]
    bits: list[int] = matrix.data.view(np.uint64).tolist()
    return bits


@given(words=st.lists(decimals, min_size=1))
@example(words=[*HALF_WAY, *EDGES, *QUOTIENTS])
@example(words=ALL_POWERS)
def test_read_scores_reads_numbers_as_python(path: Path, words: list[str]) -> None:
    expected = np.array([float(word) for word in words]).view(np.uint64).tolist()
    assert bits_of_words(path, words) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1 1",
        "1:",
        "1: 2:1",
        ":1",
        "1:1:1",
        "1:1 2",
        "x",
        "x1:1",
        "1:1 x1:1",
        "1:1 x:1",
        "1:1,2",
        "-1:1",
    ],
)
def test_read_truth_refuses_wrong_features(path: Path, text: str) -> None:
    file = path.with_suffix(".svm")
    file.write_text("5 1:1\t22:-1.5e+3 3:nan 4:.5\n5\n")
    assert read_truth(file).indices.tolist() == [5, 5]
    file.write_text(f"5 {text}\n")
    with pytest.raises(ValueError, match="line 1"):
        read_truth(file)


def written(path: Path, values: NDArray[Any]) -> list[str]:
    """Return the texts of written values."""
    n = values.size
    write_xmc(path, sp.csr_array((values, np.arange(n), [0, n])), "scores")
    pairs = [pair.split(":") for pair in path.read_text().splitlines()[1].split()]
    assert [int(label) for label, _ in pairs] == [*range(n)]
    return [number for _, number in pairs]


def shortest(value: Any) -> str:
    """Return the shortest text of a float that is read as itself, in the notation of `repr`."""
    if value.dtype == np.float64:
        return repr(float(value))
    if not np.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e16:
        return np.format_float_positional(value, unique=True, trim="0")
    return np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)


def awkward(dtype: str) -> list[NDArray[Any]]:
    """Powers, limits, integers, rounded numbers and random bits."""
    rng = np.random.default_rng(0)
    twos, tens = POWERS[dtype]
    info = np.finfo(dtype)
    single = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
    ]
    single += [9007199254740993.0, 1e15, 1e16, 123456.0, 0.1, 2 / 3, 1e-4, 9.999e-5, 1e22, 1e23]
    with np.errstate(all="ignore"):
        chosen = np.array([*single, *(2.0**e for e in twos), *(10.0**e for e in tens)], dtype)
        bits = rng.integers(0, np.iinfo(FIELDS[dtype]).max, 5_000, FIELDS[dtype]).view(dtype)
        above = np.nextafter(chosen, np.array(np.inf, dtype))
        below = np.nextafter(chosen, np.array(0, dtype))
    return [
        chosen,
        above,
        below,
        bits[~np.isnan(bits)],
        rng.random(2000).astype(dtype),
        rng.normal(size=2000).round(4).astype(dtype),
        rng.integers(-1000, 1000, 500).astype(dtype),
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_write_xmc_writes_floats_in_the_fewest_digits(path: Path, dtype: str) -> None:
    values = np.concatenate(awkward(dtype))
    texts = written(path, values)
    assert texts == [shortest(value) for value in values]
    back = np.array([float(text) for text in texts]).astype(dtype)
    np.testing.assert_array_equal(back.view(FIELDS[dtype]), values.view(FIELDS[dtype]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "uint64"])
def test_write_xmc_writes_integers(path: Path, dtype: str) -> None:
    numbers = [0, 1]
    if dtype != "bool":
        numbers += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    values = np.array(numbers, dtype)
    assert written(path, values) == [str(int(value)) for value in values]


def test_write_xmc_writes_longest_numbers_and_ids(path: Path) -> None:
    longest = -2.2250738585072014e-308
    ids = np.arange(1000) + 2**40 - 1000
    scores = sp.csr_array((np.full(1000, longest), ids, [0, 1000]), shape=(1, 2**40))
    write_xmc(path, scores, "scores")
    assert path.read_text().split()[2:] == [f"{label}:{longest!r}" for label in ids]
