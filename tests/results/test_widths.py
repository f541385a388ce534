"""Tables that fit a terminal: whole, turned or in blocks, and never cut inside a word."""

import re
from typing import Any

import pytest

from tests.examples import S, T
from xmleval import Comparison, Report, evaluate

MODELS = ["bert", "xlnet", "roberta", "attentionxml", "renee", "pp", "q"]
NAMES = [f"out/{name}_test.npz" for name in MODELS]


def seven_models() -> Comparison:
    """Return a comparison of two models that take turns."""
    backward = evaluate(T, -S, metrics=["xmc", "lrap"])
    forward = evaluate(T, S, metrics=["xmc", "lrap"])
    reports = [backward, forward] * 4
    return Comparison(dict(zip(NAMES, reports[:7], strict=True)))


def report() -> Report:
    return evaluate(T, S, metrics=["p", "ndcg", "r", "lrap"], k=range(1, 4))


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("make", [report, seven_models])
def test_to_text_fits_the_width_and_splits_no_word(make: Any, width: int) -> None:
    result = make()
    text = result.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    words = text.replace("-", "").split()
    expected = str(result).replace("-", "").split()
    assert {*expected} - {*words} <= {"measure"}
    assert result.to_text(400) == str(result)


def test_to_text_turns_a_table_for_fewer_blocks() -> None:
    alike = dict.fromkeys(NAMES, evaluate(T, S, metrics=["p@1", "lrap"]))
    lines = Comparison(alike).to_text(40).splitlines()
    assert re.fullmatch(r" +P@1 ↑ +LRAP ↑", lines[1])
    assert [line.split()[0] for line in lines[3:10]] == MODELS
    lines = seven_models().to_text(60).splitlines()
    headers = [line.split() for line in lines if line.startswith("measure")]
    assert [len(header) for header in headers] == [5, 4]  # blocks of about the same width
    wide = Comparison(dict.fromkeys(["a" * 50, "b" * 50], alike[NAMES[0]])).to_text(40)
    assert "a" * 50 in wide.split()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a_test.npz b_test.npz", "a b"),
        ("out/model_head out/model_tail", "head tail"),
        ("model_1.npz model_2.npz", "model_1 model_2"),
        ("1.npz 2.npz", "1.npz 2.npz"),
        ("bert.npz bert_large.npz", "bert bert_large"),
        ("one.npz", "one.npz"),
    ],
)
def test_header_drops_what_all_names_share(names: str, expected: str) -> None:
    header = str(Comparison(dict.fromkeys(names.split(), report()))).splitlines()[1]
    assert header.split() == ["measure", *expected.split()]


@pytest.mark.parametrize(
    "value", [0.0, 1e-9, 0.00123, 0.5, 9.99999, 99.99999, 123.456789, 98765.4, 1e7, -2]
)
def test_text_has_numbers_of_at_most_six_digits(value: float) -> None:
    changed = evaluate(T, S, metrics=["lrap"])
    changed.results.values = {"lrap": value}
    cell = str(changed).splitlines()[3].split()[-1]
    assert len(re.sub(r"\D", "", cell.partition("e")[0])) <= 6
    assert float(cell) == pytest.approx(value, rel=0.03)


def test_to_text_colours_the_best_values_alone() -> None:
    text = seven_models().to_text(None, True)
    marked = re.findall(r"\x1b\[1;32m(.*?)\x1b\[0m", text)  # green
    assert marked
    assert all(cell.endswith(" *") for cell in marked)
    assert text.count(" *") == len(marked) + 1  # and that of the title
    assert re.sub(r"\x1b\[[\d;]+m", "", text) == str(seven_models())


def test_to_text_changes_nothing_that_is_as_wide_as_its_limit() -> None:
    result = evaluate(T, S, metrics=["p"], k=range(1, 5))
    whole = str(result)
    width = max(map(len, whole.splitlines()))
    assert width == len(whole.splitlines()[1])  # of the header of the table
    assert result.to_text(width) == whole
    narrower = result.to_text(width - 1)
    assert max(map(len, narrower.splitlines())) < width


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.000999, "0.000999"),
        (0.001, "0.0010"),
        (99.99994, "99.9999"),
        (99.99996, "100"),
    ],
)
def test_values_have_four_digits_from_a_thousandth_to_a_hundred(value: float, text: str) -> None:
    for sign, minus in ((1, ""), (-1, "-")):
        changed = evaluate(T, S, metrics=["lrap"])
        changed.results.values = {"lrap": sign * value}
        assert str(changed).splitlines()[3].split()[-1] == f"{minus}{text}"
