"""Saved evaluators: damaged, of other kinds and versions, and written whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import H, S, T, counting
from xmleval import Evaluator
from xmleval.files import saved


def save(folder: Path) -> Path:
    metrics = ["ps", "p@1", "f1.macro", "label_diversity", "auc.micro", "auc.micro(bits=8)", "margin.macro"]
    evaluator, path = counting(metrics, k=1), folder / "state.npz"
    evaluator.update(T, S, y_pred=H)
    evaluator.save(path)
    return path


def contents_of(path: Path) -> str:
    report = Evaluator.load(path).compute()
    return report.to_json() + str({name: rows.tolist() for name, rows in report.per_row().items()})


def test_damaged_file_is_refused_by_name_or_harmless(tmp_path: Path) -> None:
    path = save(tmp_path)
    good, expected = path.read_bytes(), contents_of(path)
    ends_of_names = [match.end() - 1 for match in re.finditer(rb"\.npy", good)]
    outcomes = {}
    for place in [*range(0, len(good), 97), *ends_of_names]:
        path.write_bytes(good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :])
        try:
            outcomes[place] = contents_of(path)
        except (ValueError, OSError) as error:
            outcomes[place] = expected if path.name in str(error) else repr(error)
    assert {place: outcome for place, outcome in outcomes.items() if outcome != expected} == {}
    for size in (0, 1, 30, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(ValueError, match=r"state\.npz: not a saved evaluator, or damaged"):
            Evaluator.load(path)


def test_files_of_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    path, meta = tmp_path / "foreign.npz", {"format": "xmleval state", "version": 1}

    def as_bytes(value: Any) -> Any:
        return np.frombuffer(json.dumps(value).encode(), np.uint8)

    writers: list[Callable[[Any], Any]] = [
        lambda file: file.write(b"nothing of the kind"),
        lambda file: sp.save_npz(file, sp.csr_array(T)),
        lambda file: np.savez(file, meta=np.array([{"format": "xmleval state"}])),
        lambda file: np.savez(file, meta=as_bytes([meta])),
        lambda file: np.savez(file, meta=as_bytes({**meta, "version": 99})),
    ]
    for write in writers:
        with path.open("wb") as file:
            write(file)
        with pytest.raises(ValueError, match=r"foreign\.npz"):
            Evaluator.load(path)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        Evaluator.load(tmp_path / "missing.npz")


def test_files_of_earlier_versions_are_refused_by_name(tmp_path: Path) -> None:
    path = save(tmp_path)
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays["meta"].tobytes())
    old = json.dumps({**meta, "version": 2, "arrays": ["profile/hits"]}).encode()  # arrays had other names
    np.savez(path, **{**arrays, "meta": np.frombuffer(old, np.uint8)})
    message = f"{path}: saved as version 2; this program reads version {meta['version']}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Evaluator.load(path)


def test_save_writes_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, evaluator = save(tmp_path), counting()
    before = path.read_bytes()
    with pytest.raises(OSError, match="nowhere"):
        evaluator.save(tmp_path / "nowhere" / "state.npz")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def fail(file: Any, arrays: Any, error: BaseException = error) -> None:
            file.write(b"half of it")
            raise error

        monkeypatch.setattr(saved, "write_archive", fail)
        with pytest.raises(type(error)):
            evaluator.save(path)
        assert [*tmp_path.iterdir()] == [path]
        assert path.read_bytes() == before
