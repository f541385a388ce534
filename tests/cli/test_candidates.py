"""Candidates in files rank as in memory, and as scores of the candidates alone do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npy, npz
from xmleval import evaluate, inverse_propensity
from xmleval.cli import main

METRICS = "xmc,mrr@3,f1.macro@3,rprec"
OPTIONS = f"--metrics {METRICS} --train train.npz --format json"
LISTS = ("npz-list", "npz-list-packed", "npz-calibration", "npy", "npy-labels")
AMONG = sp.csr_array((np.random.default_rng(9).random((60, 30)) < 0.4).astype(np.float32))
SHORT = make_scores(depth=12, seed=4)  # as a list


def unnamed(text: str) -> str:
    """Return JSON without the name and the digest of the file of candidates, which arrays do not have."""
    return re.sub('"(file|sha256)": "[^"]*"', r'"\1": null', text)


@pytest.fixture
def run(run: Any) -> Any:
    return lambda line: unnamed(run(line))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "truth", make_truth())
    npz(tmp_path / "train", make_truth(90, seed=7))
    npz(tmp_path / "among", AMONG)
    npy(tmp_path / "m", make_scores())
    return tmp_path


def wanted(scores: Any, among: Any, **more: Any) -> str:
    q = inverse_propensity(make_truth(90, seed=7))
    options: Any = {"metrics": METRICS.split(","), "inverse_propensity": q, **more}
    report = evaluate(make_truth(), scores, candidates=among, **options)
    alone = sp.csr_array(make_scores().multiply(among != 0))
    assert dict(report) == dict(evaluate(make_truth(), alone, **options))
    return report.to_json() + "\n"


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", list(SCORES))
def test_every_format_of_scores(folder: Path, run: Any, name: str, memory: str) -> None:
    path = SCORES[name](folder / "z", make_scores())
    found = run(f"evaluate truth.npz {path.name} --candidates among.npz {OPTIONS} --memory {memory}")
    assert found == wanted(make_scores(), AMONG)


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", [name for name in TRUTHS if name not in LISTS])
def test_every_format_of_sets(folder: Path, run: Any, name: str, memory: str) -> None:
    path = TRUTHS[name](folder / "c", AMONG)
    words = f"{OPTIONS} --unlisted below --memory {memory}"
    assert run(f"evaluate truth.npz m --candidates {path.name} {words}") == wanted(make_scores(), AMONG)


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", LISTS)
def test_every_format_of_lists(folder: Path, run: Any, name: str, memory: str) -> None:
    path = SCORES[name](folder / "c", SHORT)
    found = run(f"evaluate truth.npz m --candidates {path.name} {OPTIONS} --memory {memory}")
    assert found == wanted(make_scores(), SHORT != 0)


def test_distances_have_candidates(folder: Path, run: Any) -> None:
    far = make_scores()
    far.data = 100 - far.data
    npy(folder / "far", far)
    labels, values = as_list(far)
    found = run(f"evaluate truth.npz far --candidates among.npz {OPTIONS} --lower-is-better")
    expected = evaluate(
        make_truth(), (labels, values), candidates=AMONG, higher_is_better=False, metrics=METRICS.split(","),
        inverse_propensity=inverse_propensity(make_truth(90, seed=7)),
    )  # fmt: skip
    assert found == expected.to_json() + "\n"


def test_excluded_pairs_are_no_candidates(folder: Path, run: Any) -> None:
    pairs = np.argwhere(np.random.default_rng(3).random((60, 30)) < 0.2)
    np.savetxt("pairs.txt", pairs, "%d")
    words = "--metrics p,ndcg --format json --exclude pairs.txt --candidates among.npz"
    found = json.loads(run(f"evaluate truth.npz m {words}"))
    report = evaluate(make_truth(), make_scores(), metrics=["p", "ndcg"], exclude=pairs, candidates=AMONG)
    assert found["values"] == dict(report)
    assert [*report.notes] == found["notes"]


def test_shards_states_and_several_lists(folder: Path, run: Any) -> None:
    Path("parts").mkdir()
    for number, rows in enumerate((slice(0, 10), slice(10, 11), slice(11, 60))):
        npz(folder / "parts" / f"c{number}", AMONG[rows])
        npz(folder / f"Y{number}", make_truth()[rows])
        npy(folder / f"m{number}", make_scores()[rows])
        words = f"--candidates parts/c{number}.npz {OPTIONS} --save s{number}.npz"
        run(f"evaluate Y{number}.npz m{number} {words}")
    expected = wanted(make_scores(), AMONG)
    assert run(f"evaluate truth.npz m --candidates parts {OPTIONS}") == expected
    assert run("merge s2.npz s0.npz s1.npz --format json") == expected
    npz(folder / "m-again", make_scores())
    words = f"--candidates among.npz {OPTIONS}".replace("json", "table")
    told = [line for line in run(f"evaluate truth.npz m m-again.npz {words}").splitlines() if "note" in line]
    assert told == [f"note: {note}" for note in json.loads(expected)["notes"]]


def killed(words: str) -> None:
    """Run a command that is killed on its way, a checkpoint behind it."""
    script = (
        "import sys; from xmleval.cli import checkpoint; checkpoint.LEAST_SECONDS = checkpoint.SHARE = 0; "
        "from tests.cli.killed_runs import run; assert run(sys.argv[1:], 60) == -9"
    )
    home = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, "-c", script, *words.split()], env=os.environ | {"PYTHONPATH": str(home)}, check=True
    )


def test_a_killed_run_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"evaluate truth.npz m --candidates among.npz {OPTIONS} --memory 2KB --checkpoint kept"
    killed(words)
    assert main(f"{words} --resume".split()) == 0
    out, err = capsys.readouterr()
    assert "resumed at row" in err
    assert unnamed(out) == wanted(make_scores(), AMONG)


Named = dict[str, dict[str, float]]
TAGS: Named = {
    "0": {"cat": 1, "dog": 1},
    "1": {"dog": 1},
    "2": {"bee": 1, "cat": 1, "owl": 1},
    "3": {"cow": 1},
}
MODELS: dict[str, Named] = {
    "a": {"0": {"cat": 0.9, "eel": 0.5}, "1": {"ant": 0.8, "dog": 0.3}, "2": {"owl": 0.7, "cat": 0.6}},
    "b": {"0": {"gnu": 0.9, "dog": 0.6}, "1": {"hen": 0.8}, "2": {"eel": 0.7, "bee": 0.6}, "3": {"cow": 0.4}},
}
POOL: Named = {
    "3": {"cow": 1},
    "0": {"eel": 1, "dog": 1},
    "2": {"yak": 1, "bee": 1},
    "9": {"cat": 1},
}


def _lines(rows: Named) -> list[tuple[str, str, float]]:
    return [(row, label, value) for row, own in rows.items() for label, value in own.items()]


POOLS: dict[str, Any] = {
    "qrels": lambda rows: "".join(f"{row} 0 {label} 1\n" for row, label, _ in _lines(rows)),
    "run": lambda rows: "".join(f"{row} Q0 {label} 1 {x} m\n" for row, label, x in _lines(rows)),
    "json": json.dumps,
    "csv": lambda rows: "id,predicted\n" + "".join(f"{row},{';'.join(own)}\n" for row, own in rows.items()),
    "jsonl": lambda rows: "".join(json.dumps({"id": r, "labels": [*own]}) + "\n" for r, own in rows.items()),
}


@pytest.mark.parametrize("form", POOLS)
def test_candidates_by_name(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (folder / "t.json").write_text(json.dumps(TAGS))
    (folder / f"pool.{form}").write_text(POOLS[form](POOL))
    for name, rows in MODELS.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    words = f"--metrics p@1,p@2,f1.macro@1 --candidates pool.{form} --format json"
    assert main(f"evaluate t.json a.json b.json {words}".split()) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = f"pool.{form}: 1 row of the truth has no candidates; nothing is ranked in it"
    assert told in json.loads(out)["notes"]
    found = json.loads(out)["reports"]
    for name, rows in MODELS.items():
        wanted = evaluate(TAGS, rows, metrics=["p@1", "p@2", "f1.macro@1"], candidates=POOL)
        assert found[f"{name}.json"]["values"] == dict(wanted)
        ceiling = [note for note in wanted.notes if note.startswith("candidates")]
        assert ceiling[0] in found[f"{name}.json"]["notes"]
        assert main(f"evaluate t.json {name}.json {words}".split()) == 0
        assert json.loads(capsys.readouterr().out)["values"] == dict(wanted)


def test_candidates_of_rows_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows in (("t", TAGS), ("m", MODELS["b"]), ("pool", {row: POOL.get(row, {}) for row in TAGS})):
        texts = [
            " ".join(f"{label}:{x}" if name == "m" else label for label, x in own.items())
            for own in rows.values()
        ]
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    line = "evaluate t.txt m.txt --candidates pool.txt --metrics p@1 --format json --input-format lines"
    assert main(line.split()) == 0
    assert json.loads(capsys.readouterr().out)["values"] == dict(
        evaluate(TAGS, MODELS["b"], metrics=["p@1"], candidates=POOL)
    )


def test_a_checkpoint_of_other_candidates(folder: Path, refused: Any) -> None:
    words = f"evaluate truth.npz m --memory 2KB --checkpoint kept {OPTIONS}"
    killed(words)
    found = refused(f"{words} --candidates among.npz --resume")
    assert found.startswith("kept: holds a checkpoint of another run; --candidates differs: None in the")
