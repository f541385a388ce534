"""The bytes of parts are those of the formulas, by state."""

from __future__ import annotations

import json

import pytest

from benchmarks import part_bytes
from benchmarks.part_bytes import PLAIN, SIZES, all_bytes
from scripts.readme import RESULTS


def test_recorded_bytes_are_those_of_the_formulas() -> None:
    records = json.loads((RESULTS / "workers.json").read_text())["bytes"]
    for one in records:
        assert one["formula"] == pytest.approx(one["moved"], rel=0.1), one
    recorded = {(one["measure"], one["with"]) for one in records}
    assert recorded == {(measure, what) for what, own, _ in part_bytes.CASES for measure in own}
    assert {one["scores"] for one in records} == {*SIZES}


def test_a_small_run(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: PLAIN[name] for name in ("p@5", "ndcg@all")}
    monkeypatch.setattr(part_bytes, "CASES", (("", few, {}),))
    for one in all_bytes([10**5]):
        assert one["formula"] == pytest.approx(one["moved"], rel=0.1), one
