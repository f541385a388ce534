"""A folder of BEIR stands for its judgements where a truth is taken."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.commands import json_of
from xmleval import compare, evaluate, scan
from xmleval.input.beir import TEXTS

RUN = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"b": 0.7, "a": 0.6}}
RELEVANT = {"test": ("q1 b", "q2 b"), "dev": ("q1 a", "q2 a"), "train": ("q1 a", "q2 b")}
P_AT_1 = {"test": 0.5, "dev": 0.5, "train": 1.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "nfcorpus"
    (folder / "qrels").mkdir(parents=True)
    for name in TEXTS:
        (folder / name).write_text('{"_id": "a", "text": "t"}\n')
    return folder


def write_splits(folder: Path, *splits: str) -> None:
    for split in splits:
        pairs = [pair.split() for pair in RELEVANT[split]]
        lines = ["query-id\tcorpus-id\tscore", *(f"{row}\t{label}\t1" for row, label in pairs)]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("splits", "read", "note"),
    [
        (["test"], "test", ""),
        (["test", "train"], "test", "split test, not train"),
        (["test", "train", "dev"], "test", "split test, not dev, train"),
        (["train"], "train", "split train, the only one"),
    ],
)
def test_beir_folder_stands_for_its_split(
    folder: Path, splits: list[str], read: str, note: str
) -> None:
    write_splits(folder, *splits)
    file = folder / "qrels" / f"{read}.tsv"
    expected = evaluate(file, RUN, metrics=["p@1", "map@2"])
    notes = [f"{file}: {note}", *expected.notes] if note else expected.notes
    for truth in (folder, str(folder), scan(folder)):
        report = evaluate(truth, RUN, metrics=["p@1", "map@2"])
        assert dict(report) == dict(expected)
        assert report.notes == notes
    assert expected["p@1"] == P_AT_1[read]
    compared = compare(folder, {"a": RUN, "b": RUN}, metrics="p@1")
    assert compared.reports["a"]["p@1"] == P_AT_1[read]


def test_beir_folder_is_read_by_the_shell(folder: Path) -> None:
    write_splits(folder, "test", "dev")
    run = folder.parent / "m.run"
    run.write_text("q1 Q0 a 1 0.9 m\nq2 Q0 b 1 0.7 m\n")
    report = json_of(f"evaluate {folder} {run} --metrics p@1")
    assert report["values"]["p@1"] == P_AT_1["test"]
    assert f"{folder / 'qrels' / 'test.tsv'}: split test, not dev" in report["notes"]


def test_beir_folder_without_test_is_refused_if_splits_are_several(folder: Path) -> None:
    write_splits(folder, "train", "dev")
    message = "its qrels are of dev, train, but not of test; give the file of one, such as "
    with pytest.raises(ValueError, match=f"nfcorpus: {message}.*dev.tsv$"):
        evaluate(folder, RUN, metrics=["p@1"])
    assert evaluate(folder / "qrels" / "train.tsv", RUN, metrics=["p@1"])["p@1"] == 1


def test_beir_folder_is_no_training_labels(folder: Path) -> None:
    write_splits(folder, "test")
    with pytest.raises(ValueError, match="no column has labels"):
        evaluate(folder, RUN, metrics=["psp@1"], y_train=folder)


def test_folder_with_qrels_beside_shards_is_a_folder_of_shards(folder: Path) -> None:
    for name in TEXTS:
        (folder / name).unlink()
    write_splits(folder, "train")
    (folder / "part_0.qrels").write_text("q1 0 b 1\nq2 0 b 1\n")
    assert evaluate(folder, RUN, metrics=["p@1"])["p@1"] == 0.5


def test_beir_folder_of_compressed_files_is_read(folder: Path) -> None:
    write_splits(folder, "test", "dev")
    expected = evaluate(folder, RUN, metrics="p@1")
    files = [*folder.glob("*.jsonl"), *folder.glob("qrels/*.tsv")]
    for file in files:
        with gzip.open(f"{file}.gz", "wb") as packed:
            packed.write(file.read_bytes())
    assert evaluate(folder, RUN, metrics="p@1").notes == expected.notes
    for file in files:
        file.unlink()
    report = evaluate(folder, RUN, metrics="p@1")
    assert dict(report) == dict(expected)
    file = folder / "qrels" / "test.tsv.gz"
    assert report.notes[0] == f"{file}: split test, not dev"
