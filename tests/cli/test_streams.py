"""Whole runs over files of every format, piece by piece: the same bits as from memory."""

from __future__ import annotations

import errno
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import (
    SCORES,
    TRUTHS,
    as_list,
    make_scores,
    make_truth,
    npy,
    npz,
    qrels,
    rows_of,
    trec_run,
)
from xmleval import evaluate, inverse_propensity
from xmleval.input.pieces import Pieces
from xmleval.input.reader import RowReader

METRICS = "xmc,ranking,auc.micro,ap.macro,f1.macro@3,label_diversity"
OPTIONS = f"--metrics {METRICS} --train train.npz --format json"
DOUBLE = ("xmc", "xmc-gz")  # whose scores are read as float64


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "train", make_truth(90, seed=7))
    return tmp_path


def wanted(truth: Any, scores: Any) -> str:
    q = inverse_propensity(make_truth(90, seed=7))
    return evaluate(truth, scores, metrics=METRICS.split(","), inverse_propensity=q).to_json() + "\n"


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", list(TRUTHS))
def test_every_format_of_truth(folder: Path, run: Any, name: str, memory: str) -> None:
    path = TRUTHS[name](folder / "Y_test", make_truth())
    npy(folder / "m", make_scores())
    found = run(f"evaluate {path.name} m {OPTIONS} --memory {memory}")
    assert found == wanted(make_truth(), make_scores())


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", list(SCORES))
def test_every_format_of_scores(folder: Path, run: Any, name: str, memory: str) -> None:
    npz(folder / "truth", make_truth())
    path = SCORES[name](folder / "m", make_scores())
    found = run(f"evaluate truth.npz {path.name} {OPTIONS} --memory {memory}")
    assert found == wanted(make_truth(), make_scores().astype(np.float64 if name in DOUBLE else np.float32))


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("name", ["npz", "xmc-data", "parquet"])
def test_sets(folder: Path, run: Any, name: str, memory: str) -> None:
    npz(folder / "truth", make_truth())
    path = TRUTHS[name](folder / "sets", make_truth(seed=3))
    found = run(f"evaluate truth.npz --pred {path.name} --metrics sets --format json --memory {memory}")
    assert found == evaluate(make_truth(), y_pred=make_truth(seed=3), metrics="sets").to_json() + "\n"


def test_several_predictions_are_those_of_one_each(folder: Path, run: Any) -> None:
    npz(folder / "truth", make_truth())
    names = [
        SCORES[name](folder / f"m{number}", make_scores(seed=number)).name
        for number, name in enumerate(SCORES)
    ]
    alone = {name: json.loads(run(f"evaluate truth.npz {name} {OPTIONS}")) for name in names}
    for memory in ("4KB", "1GB"):
        together = json.loads(run(f"evaluate truth.npz {' '.join(names)} {OPTIONS} --memory {memory}"))
        assert together["reports"] == alone
    table = run(f"evaluate truth.npz {names[0]} {names[1]} --metrics p@1,ranking_loss").splitlines()
    assert table[0] == "60 rows x 30 labels; * best"
    assert table[1].split() == ["measure", "m0", "m1"]
    for line, measure, best in ((table[3], "p@1", max), (table[4], "ranking_loss", min)):
        values = {name: alone[name]["values"][measure] for name in names[:2]}
        marked = [cell.endswith("*") for cell in line.replace(" *", "*").split()[-2:]]
        assert marked == [value == best(values.values()) for value in values.values()]


def test_several_predictions_of_other_lengths(folder: Path, refused: Any) -> None:
    npz(folder / "truth", make_truth())
    npz(folder / "whole", make_scores())
    npz(folder / "less", make_scores(59))
    assert (
        refused("evaluate truth.npz whole.npz less.npz")
        == "less.npz: 59 rows do not match the 60 of truth.npz"
    )
    said = "whole.npz: given twice; expected different SCORES"
    assert refused("evaluate truth.npz whole.npz whole.npz") == said
    said = "--save is for 2 SCORES; put {} where their names belong, as in state_{}; see "
    assert refused("evaluate truth.npz whole.npz less.npz --save state").startswith(said)


# ----------------------------------------------------------------------------------------------- names


def test_names_of_labels_by_column(folder: Path, run: Any) -> None:
    qrels(folder / "named", make_truth())
    trec_run(folder / "m", make_scores())
    (folder / "names.txt").write_text("".join(f"{label}\n" for label in range(30)))
    (folder / "names.json").write_text(json.dumps([str(label) for label in range(30)]))
    words = f"evaluate named.qrels m.run --metrics {METRICS} --format json"
    found = [run(f"{words} --labels {names}") for names in ("names.txt", "names.json")]
    metrics = METRICS.split(",")
    assert (
        found == [evaluate(make_truth(), make_scores().astype(float), metrics=metrics).to_json() + "\n"] * 2
    )


def test_names_that_do_not_match(folder: Path, capsys: Any, run: Any, refused: Any) -> None:
    from xmleval.cli import main

    (folder / "Y.qrels").write_text("a 0 x 1\nb 0 y 1\nc 0 z 1\n")
    (folder / "m.run").write_text("b Q0 y 1 0.5 t\na Q0 w 1 0.7 t\na Q0 x 2 0.6 t\ne Q0 x 1 0.9 t\n")
    assert main(["evaluate", "Y.qrels", "m.run", "--metrics", "p@1,hit@2", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["values"] == {"p@1": 1 / 3, "hit@2": 2 / 3}
    assert json.loads(out)["notes"][:3] == [
        "m.run: 1 row of the truth has no prediction; it counts as empty",
        "m.run: 1 row is not in the truth; it is ignored",
        "m.run: 1 predicted label never occurs in the truth; it counts as wrong",
    ]
    assert err == ""
    (folder / "few.txt").write_text("x\ny\n")
    said = refused("evaluate Y.qrels m.run --labels few.txt")
    assert said.startswith("Y.qrels: line 3: label 'z' is not one of the 2 of few.txt; ")
    npz(folder / "truth", make_truth())
    assert refused("evaluate truth.npz m.run").startswith(
        "truth.npz: predictions have names (m.run); expected one file"
    )
    npy(folder / "m", make_scores())
    said = "--labels is for files with names; see `xmleval evaluate --help`"
    assert refused("evaluate truth.npz m_indices.npy --labels few.txt") == said


# ------------------------------------------------------------------------------------------- exclusion


def plain_values(
    truth: list[list[int]], lists: list[list[int]], pairs: set[tuple[int, int]], q: list[float], k: int
) -> dict[str, float]:
    """Measures by their definitions, where some pairs of a row and a label never were."""
    n = len(truth)
    p = r = ndcg = psp_hits = psp_best = hits_of_all = relevant_of_all = predicted = 0.0
    for row in range(n):
        relevant = {label for label in truth[row] if (row, label) not in pairs}
        first = [label for label in lists[row] if (row, label) not in pairs][:k]
        hits = [label in relevant for label in first]
        ideal = sum(1 / math.log2(2 + rank) for rank in range(min(k, len(relevant))))
        p += sum(hits) / k / n
        r += sum(hits) / len(relevant) / n if relevant else 0
        ndcg += sum(hit / math.log2(2 + rank) for rank, hit in enumerate(hits)) / ideal / n if ideal else 0
        psp_hits += sum(q[label] for label in first if label in relevant)
        psp_best += sum(sorted((q[label] for label in relevant), reverse=True)[:k])
        hits_of_all += sum(hits)
        relevant_of_all += len(relevant)
        predicted += len(first)
    f1 = 2 * hits_of_all / (relevant_of_all + predicted)
    names = ("p", "r", "ndcg", "psp", "f1.micro")
    return {f"{n}@{k}": v for n, v in zip(names, (p, r, ndcg, psp_hits / psp_best, f1), strict=True)}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("form", ["npz", "npy", "xmc-gz", "parquet"])
@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_excluded_pairs_never_were(folder: Path, run: Any, form: str, seed: int, memory: str) -> None:
    rng = np.random.default_rng(seed)
    truth, scores = make_truth(seed=seed), make_scores(seed=seed + 1)
    npz(folder / "truth", truth)
    path = SCORES[form](folder / "m", scores)
    lists = as_list(scores)[0].tolist()
    pairs = {(int(row), int(label)) for row, label in rng.integers(0, [60, 30], (120, 2))}
    pairs |= {(row, lists[row][rng.integers(6)]) for row in range(0, 60, 2)}
    pairs |= {(row, relevant[0]) for row, relevant in enumerate(rows_of(truth)) if relevant and row % 3 == 0}
    pairs |= {(41, label) for label in range(30)}  # a whole row
    shuffled = [sorted(pairs)[place] for place in rng.permutation(len(pairs))]
    (folder / "pairs.txt").write_text("".join(f"{row}\t{label}\n" for row, label in [*shuffled, shuffled[0]]))
    q = inverse_propensity(make_truth(90, seed=7)).tolist()
    want: dict[str, float] = {}
    for k in (1, 3, 5):
        want |= plain_values(rows_of(truth), lists, pairs, q, k)
    words = (
        f"--metrics {','.join(want)} --train train.npz --exclude pairs.txt --format json --memory {memory}"
    )
    found = json.loads(run(f"evaluate truth.npz {path.name} {words}"))["values"]
    assert found == pytest.approx(want, abs=1e-12)
    (folder / "none.txt").write_text("\n")
    words = words.replace("pairs.txt", "none.txt")
    assert json.loads(run(f"evaluate truth.npz {path.name} {words}"))["values"] != found


# -------------------------------------------------------------------------------------- merge and stats


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_states_of_shards_make_the_whole(folder: Path, run: Any, refused: Any, memory: str) -> None:
    truth, scores = make_truth(), make_scores()
    cuts = [0, 13, 14, 40, 60]
    for number in range(4):
        part = slice(cuts[number], cuts[number + 1])
        npz(folder / f"Y{number}", truth[part])
        npy(folder / f"m{number}", scores[part])
        run(f"evaluate Y{number}.npz m{number} {OPTIONS} --save s{number}.npz --memory {memory}")
    whole = run("merge s2.npz s0.npz s3.npz s1.npz --format json --save all.npz")
    assert whole == wanted(truth, scores)
    assert run("merge all.npz --format json") == whole
    run("merge s2.npz s1.npz --format json --save some.npz --output some.json")
    assert run(f"merge s0.npz some.npz s3.npz --format json --memory {memory}") == whole
    run(f"evaluate Y0.npz m0 {OPTIONS} --save other.npz --k 1,2")
    assert refused("merge s0.npz other.npz") == "other.npz: metrics differs: p@3 here, p@2 there"
    (folder / "cut.npz").write_bytes((folder / "s1.npz").read_bytes()[:-40])
    assert refused("merge s0.npz cut.npz").startswith("cut.npz: not a saved evaluator, or damaged")
    assert refused("merge s0.npz Y0.npz").startswith("Y0.npz: not a saved evaluator, or damaged")
    assert refused("merge s0.npz none.npz") == "none.npz: No such file or directory"
    assert refused("merge s0.npz s1.npz --output s1.npz").startswith("s1.npz: is an input")


@pytest.mark.parametrize("name", ["npz", "xmc-data", "svmlight-gz", "mulan", "parquet"])
def test_statistics_by_their_definitions(folder: Path, run: Any, name: str) -> None:
    truth, train = make_truth(), make_truth(90, seed=7)
    found = json.loads(run(f"stats {TRUTHS[name](folder / 'Y', truth).name} --train train.npz --format json"))
    sets, counts = rows_of(truth), np.asarray(truth.sum(axis=0))
    present, unseen = counts[counts > 0], (counts > 0) & (train.sum(axis=0) == 0)
    n_sets = len({tuple(row) for row in sets})
    assert found == pytest.approx({
        "n_rows": 60, "n_labels": 30, "n_stored": truth.nnz, "label_cardinality": truth.nnz / 60,
        "label_density": truth.nnz / 1800, "label_diversity": n_sets, "proportional_diversity": n_sets / 60,
        "max_labels_per_row": max(map(len, sets)), "rows_without_labels": sets.count([]),
        "points_per_label": truth.nnz / 30, "labels_without_rows": 30 - present.size,
        "tail_share": np.mean(present <= 10), "imbalance": np.mean(present.max() / present),
        "labels_unseen_in_training": unseen.sum(),
        "stored_unseen_in_training": counts[unseen].sum() / truth.nnz,
    })  # fmt: skip


def test_statistics_take_memory_for_labels_that_occur(folder: Path) -> None:
    code = """
import resource, sys, xmleval.cli
main = lambda name: xmleval.cli.main(["stats", name, "--train", name, "--output", "out.json"])
assert main("Y.npz") == 0
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert main("wide.npz") == 0
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    labels = np.array([3, 150_000_000, 199_999_999])
    wide = sp.csr_array((np.ones(3), labels, np.array([0, 1, 3])), shape=(2, 200_000_000))
    npz(folder / "Y", wide[:, :9])
    npz(folder / "wide", wide)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 100  # MiB; two counts of each label would take 3 GiB


def test_what_cannot_be_read_has_a_name() -> None:
    def read(n_bytes: int) -> Iterator[Any]:
        raise OSError(errno.EMFILE, "Too many open files")  # as where an open file is read
        yield

    reader = RowReader("m", Pieces(3, 2, read), 100, None)
    with pytest.raises(OSError, match="Too many open files") as raised:
        reader.ready()
    assert raised.value.filename == "m"
