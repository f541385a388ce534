"""Saved evaluators that are damaged, or of other kinds and versions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import H, S, T, counting
from xmleval import Evaluator


def save(folder: Path) -> Path:
    metrics = ["ps", "p@1", "f1.macro", "label_diversity", "auc.micro", "auc.micro(bits=8)", "margin.macro"]
    evaluator, path = counting(metrics, k=1), folder / "state.npz"
    evaluator.update(T, S, y_pred=H)
    evaluator.save(path)
    return path


def contents_of(path: Path) -> str:
    report = Evaluator.load(path).compute()
    return report.to_json() + str({name: rows.tolist() for name, rows in report.per_row().items()})


def test_changed_byte_is_refused_by_name_or_harmless(tmp_path: Path) -> None:
    path = save(tmp_path)
    good, expected = path.read_bytes(), contents_of(path)
    ends_of_names = [match.end() - 1 for match in re.finditer(rb"\.npy", good)]
    for place in [*range(0, len(good), 97), *ends_of_names]:
        path.write_bytes(good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :])
        try:
            outcome = contents_of(path)
        except (ValueError, OSError) as error:
            outcome = expected if path.name in str(error) else repr(error)
        assert outcome == expected, place


def test_files_of_other_kinds_and_versions_are_refused_by_name(tmp_path: Path) -> None:
    path = save(tmp_path)
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays["meta"].tobytes())
    damaged, other = "not a saved evaluator, or damaged", "saved as version {}; this program reads version "
    contents: list[tuple[Any, str]] = [
        ([meta], damaged), ({}, damaged), (None, damaged), (meta | {"version": 99}, other.format(99)),
        (meta | {"version": 2, "arrays": ["profile/hits"]}, other.format(2)),  # arrays had other names
    ]  # fmt: skip
    for value, message in contents:
        bytes_of_meta = np.frombuffer(json.dumps(value).encode(), np.uint8)
        made = np.array([meta]) if value is None else bytes_of_meta  # an object of Python
        np.savez(path, **arrays | {"meta": made})
        with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {message}')}"):
            Evaluator.load(path)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        Evaluator.load(tmp_path / "missing.npz")
