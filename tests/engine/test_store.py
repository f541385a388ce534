"""States in files: saved, loaded, damaged, foreign, and written whole or not at all."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import H, S, T, counting
from xmleval import Evaluator, inverse_propensity
from xmleval.files import saved as store

SAVED: dict[str, dict[str, Any]] = {
    "plain": {"per_row": False, "inverse_propensity": None},
    "propensity": {"inverse_propensity": inverse_propensity(label_counts=[1, 2, 3, 4], n_instances=30)},
    "conventions": {
        "conventions": {"zero_division": math.nan, "unlisted": -math.inf},
        "decision": "threshold0.1",
    },
    "some": {"metrics": ["p@7", "fbeta.macro(beta=0.3)", "xmc"], "k": [2], "decision": "top1"},
}


@pytest.mark.parametrize("weight", [None, [0.1, 0, 3]])
@pytest.mark.parametrize("case", SAVED)
def test_saved_is_loaded(case: str, weight: Any, tmp_path: Path) -> None:
    ev = counting(**SAVED[case])
    for path in (tmp_path / "state", str(tmp_path / "state")):
        ev.save(path)
        loaded = Evaluator.load(path)
        ev.update(T, S, sample_weight=weight)
        loaded.update(T, S, sample_weight=weight)
        found, expected = loaded.compute(), ev.compute()
        assert (found.to_json(), str(found)) == (expected.to_json(), str(expected))
        if ev.settings["per_row"]:
            np.testing.assert_equal(found.per_row(), expected.per_row())
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def state_file(folder: Path) -> Path:
    ev, path = counting(["ps", "p@1", "f1.macro", "label_diversity"], k=1), folder / "state.npz"
    ev.update(T, S, y_pred=H)
    ev.save(path)
    return path


def all_of(ev: Evaluator) -> str:
    report = ev.compute()
    return report.to_json() + str({name: rows.tolist() for name, rows in report.per_row().items()})


def test_damaged_file_is_refused_or_harmless(tmp_path: Path) -> None:
    path = state_file(tmp_path)
    good, expected = path.read_bytes(), all_of(Evaluator.load(path))
    names_end = [found.end() - 1 for found in re.finditer(rb"\.npy", good)]
    outcomes = {}
    for place in [*range(0, len(good), 97), *names_end]:
        path.write_bytes(good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :])
        try:
            outcomes[place] = all_of(Evaluator.load(path))
        except Exception as error:
            refused = isinstance(error, ValueError | OSError) and path.name in str(error)
            outcomes[place] = expected if refused else repr(error)
    assert {place: outcome for place, outcome in outcomes.items() if outcome != expected} == {}
    for size in (0, 1, 30, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(ValueError, match=r"state\.npz: not a saved evaluator, or damaged"):
            Evaluator.load(path)


def test_foreign_file_is_refused(tmp_path: Path) -> None:
    path, meta = tmp_path / "foreign.npz", {"format": "xmleval state", "version": 1}

    def holding(value: Any) -> Any:
        return np.frombuffer(json.dumps(value).encode(), np.uint8)

    writers: list[Callable[[Any], Any]] = [
        lambda file: file.write(b"nothing of the kind"),
        lambda file: pickle.dump({"format": "xmleval state"}, file),
        lambda file: np.savez(file, a=np.ones(3)),
        lambda file: sp.save_npz(file, sp.csr_array(T)),
        lambda file: np.savez(file, meta=np.array([{"format": "xmleval state"}])),
        lambda file: np.savez(file, meta=holding([meta])),
        lambda file: np.savez(file, meta=holding(meta)),
        lambda file: np.savez(file, meta=holding({**meta, "version": 99})),
    ]
    for write in writers:
        with path.open("wb") as file:
            write(file)
        with pytest.raises(ValueError, match=r"foreign\.npz"):
            Evaluator.load(path)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        Evaluator.load(tmp_path / "missing.npz")


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_earlier_versions_are_refused_by_name(version: int, tmp_path: Path) -> None:
    path = state_file(tmp_path)
    with np.load(path) as held:
        arrays = dict(held)
    meta = json.loads(arrays["meta"].tobytes())
    assert meta["version"] == 10
    meta["version"] = version
    for known in (meta["arrays"], ["profile/hits", "totals-top3/totals"]):  # arrays were named otherwise
        saved = json.dumps({**meta, "arrays": known}).encode()
        np.savez(path, **{**arrays, "meta": np.frombuffer(saved, np.uint8)})
        message = f"{path}: saved as version {version}; this program reads version 10"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Evaluator.load(path)


def test_save_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = state_file(tmp_path)
    before = path.read_bytes()
    ev = counting()
    with pytest.raises(OSError, match="nowhere"):
        ev.save(tmp_path / "nowhere" / "state.npz")
    assert list(tmp_path.iterdir()) == [path]
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def interrupted(file: Any, arrays: Any, error: BaseException = error) -> None:
            file.write(b"half of it")
            raise error

        monkeypatch.setattr(store, "write_archive", interrupted)
        with pytest.raises(type(error)):
            ev.save(path)
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == before
