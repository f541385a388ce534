"""Amounts of memory, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from xmleval.budget import LEAST_WHOLE, UNLIMITED, Allowance, Budget, OverLimitError, memory_bytes, size_text


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        (1, 1), ("7", 7), ("7B", 7), (" 1.5 kB ", 1500), ("512MB", 512 * 10**6), ("2gb", 2 * 10**9),
        ("1TB", 10**12), ("1KiB", 1 << 10), (".5MiB", 1 << 19), ("2.GiB", 2 << 30), ("3TiB", 3 << 40),
    ],
)  # fmt: skip
def test_amounts(given: Any, n_bytes: int) -> None:
    assert memory_bytes("memory", given) == n_bytes


@pytest.mark.parametrize(
    "given", [0, -1, 1.5, True, None, "", "0", "0.5B", "-1MB", "1 XB", "1e3", "MB", "9e99", "9" * 30]
)
def test_what_is_none(given: Any) -> None:
    with pytest.raises(ValueError, match="memory"):
        memory_bytes("memory", given)


def test_an_allowance_is_taken_once() -> None:
    allowance = Allowance(100, "something")
    allowance.check(100)
    allowance.take(60)
    with allowance.lent(40), pytest.raises(OverLimitError, match="needs 1 B of memory or more beside 100 B "):
        allowance.take(1)
    assert (allowance.taken, allowance.left) == (60, 40)
    with pytest.raises(OverLimitError, match=r"^line 3: needs 41 B .* at most 100 B, .* of something"):
        allowance.check(41, "line 3: ")
    UNLIMITED.check(1 << 80)


@pytest.mark.parametrize("memory", [1, LEAST_WHOLE, 1 << 30])
def test_what_files_take_is_not_there_for_rows(memory: int) -> None:
    budget = Budget(memory)
    allowance = budget.allowance()
    assert allowance.left == max(memory, LEAST_WHOLE) * 7 // 8
    allowance.take(1 << 20)
    assert 1 <= budget.rest(allowance).memory <= max(memory - (1 << 20), memory // 8, 1)


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1 << 10, "1 KiB"), (3 << 29, "1.5 GiB"), (5 << 40, "5 TiB")],
)
def test_sizes_in_messages(n_bytes: int, said: str) -> None:
    assert size_text(n_bytes) == said
