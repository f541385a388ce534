"""Amounts of memory, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from xmleval.budget import memory_bytes


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
