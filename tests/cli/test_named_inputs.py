"""Names of rows and labels on the command line: each file by itself, and what goes by numbers beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tests.made_files import make_scores, make_truth, mulan, npy, npz
from xmleval import evaluate, inverse_propensity, label_statistics
from xmleval.cli import main
from xmleval.io import find_format

TRUTH = "q1 0 cat 1\nq1 0 dog 1\nq2 0 dog 1\nq2 0 cow 0\n"
RUN = "q1 Q0 cat 1 0.9 m\nq1 Q0 cow 2 0.5 m\nq2 Q0 dog 1 0.9 m\n"
TRAIN = "a 0 cow 1\nb 0 dog 1\nb 0 bee 1\nc 0 dog 1\nd 0 cat 0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.qrels").write_text(TRUTH)
    (tmp_path / "m.run").write_text(RUN)
    (tmp_path / "train.qrels").write_text(TRAIN)
    (tmp_path / "n.run").write_text(f"{RUN}q2 Q0 ant 2 0.2 m\nq1 Q0 bee 2 0.2 m\n")
    (tmp_path / "o.run").write_text(f"{RUN}q2 Q0 ant 2 0.2 m\n")
    return tmp_path


@pytest.fixture
def says(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line that succeeds, and return what it printed to either."""

    def runs(line: str) -> tuple[str, str]:
        assert main(line.split()) == 0
        return capsys.readouterr()

    return runs


MARCO = "300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n94798\t0\t7067181\t1\n"
MARCO_RUN = "300674\t7067032\t1\n300674\t7067056\t2\n125705\t7067181\t1\n125705\t7067056\t2\n94798\t9\t1\n"


@pytest.mark.parametrize(
    ("truth", "scores", "texts", "expected"),
    [
        ("qrels.txt", "run.txt", (TRUTH, RUN), 1.0),
        ("news.txt", "model.txt", (TRUTH, RUN), 1.0),
        ("judged.trec", "bm25.trec", (TRUTH, RUN), 1.0),
        ("qrels.dev.tsv", "run.dev.tsv", (MARCO, MARCO_RUN), 1 / 3),
        ("a.tsv", "b.tsv", (MARCO, MARCO_RUN), 1 / 3),
    ],
)
def test_trec_files_are_known_by_their_lines(
    folder: Path, says: Any, truth: str, scores: str, texts: tuple[str, str], expected: float
) -> None:
    Path(truth).write_text(texts[0])
    Path(scores).write_text(texts[1])
    found = json.loads(says(f"evaluate {truth} {scores} --metrics p@1 --format json")[0])
    assert found["values"]["p@1"] == pytest.approx(expected, abs=1e-12)
    notes = " ".join(found["notes"])
    assert f"{truth}: read as TREC qrels" in notes
    assert f"{scores}: read as a" in notes


@pytest.mark.parametrize("ending", [".txt", ".tsv"])
@pytest.mark.parametrize(
    "text", ["1 2 3 4\n5 6 7 8\n", "3 0 5 1\n", "a\tb\tc\td\n1\t0\t2\t1\n", "x 3 2\ny 2 1\n"]
)
def test_other_texts_are_no_trec_files(folder: Path, text: str, ending: str) -> None:
    Path(f"text{ending}").write_text(text)
    for kind in ("truth", "scores"):
        assert find_format(Path(f"text{ending}"), kind=kind)[0].name not in ("qrels", "run")


def test_labels_of_a_list_are_all_there_are(folder: Path, says: Any) -> None:
    Path("names.txt").write_text("cow\ncat\ndog\nowl\n")
    line = "evaluate t.qrels {} --labels names.txt --metrics f1.macro@1 --format json"
    out, err = says(line.format("m.run"))
    assert (json.loads(out)["n_labels"], err) == (4, "")
    found = json.loads(says(line.format("n.run"))[0])
    assert found["n_labels"] == 4
    assert (
        "n.run: 2 predicted labels are not among labels=, such as 'ant'; they count as wrong"
        in found["notes"]
    )
    both = json.loads(says(line.format("m.run n.run"))[0])["reports"]
    assert both["n.run"]["values"] == found["values"]
    assert {report["n_labels"] for report in both.values()} == {4}


def test_labels_that_other_predictions_bring_are_told(folder: Path, says: Any) -> None:
    line = "evaluate t.qrels {} --metrics f1.macro@1 --format json"
    told = "n.run: 2 predicted labels never occur in the truth; they count as wrong"
    out, err = says(line.format("n.run"))
    assert (told in json.loads(out)["notes"], err) == (True, "")
    out, err = says(line.format("n.run o.run m.run"))
    reports = json.loads(out)["reports"]
    assert {name: report["n_labels"] for name, report in reports.items()} == {
        "n.run": 5,
        "o.run": 4,
        "m.run": 3,
    }
    other = "o.run: 1 predicted label never occurs in the truth; it counts as wrong"
    assert [note for note in json.loads(out)["notes"] if "never occur" in note] == [told, other]
    assert err == ""


@pytest.mark.parametrize("form", ["qrels", "parquet"])
def test_a_truth_with_names_by_number(folder: Path, says: Any, form: str) -> None:
    if form == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        table = {"instance": ["q1", "q1", "q2"], "label": ["cat", "dog", "dog"]}
        pyarrow.parquet.write_table(pa.table(table), "t.parquet")
    told = f"xmleval: t.{form}: rows and labels are numbered in the order in which it names them first\n"
    width = 3 if form == "qrels" else 2
    truth = np.array([[1, 1, 0], [0, 1, 0]])[:, :width]
    out, err = says(f"stats t.{form} --format json")
    assert err == told
    assert json.loads(out) == pytest.approx(label_statistics(truth))
    assert says(f"convert t.{form} out.npz --kind truth") == ("", told)
    np.testing.assert_array_equal(sp.load_npz("out.npz").toarray(), truth)
    out, err = says(f"evaluate t.{form} --metrics label_cardinality --format json")
    assert json.loads(out)["values"] == {"label_cardinality": 1.5}


def test_numbers_that_leave_some_out_are_names(folder: Path, says: Any) -> None:
    Path("t.qrels").write_text("301 0 7 1\n305 0 9 1\n")
    assert json.loads(says("stats t.qrels --format json")[0])["n_labels"] == 2
    Path("t.qrels").write_text("1 0 7 1\n0 0 9 1\n")
    out, err = says("stats t.qrels --format json")
    assert (json.loads(out)["n_labels"], err) == (10, "")


def test_training_labels_by_name(folder: Path, says: Any) -> None:
    q = inverse_propensity(label_counts=np.array([0, 2, 1]), n_instances=4, n_labels=3)
    truth, scores = np.array([[1, 1, 0], [0, 1, 0]]), np.array([[0.9, 0, 0.5], [0, 0.9, 0]])
    out, err = says("evaluate t.qrels m.run --train train.qrels --metrics psp@1,psp@2 --format json")
    want = evaluate(truth, sp.csr_array(scores), inverse_propensity=q, metrics=["psp@1", "psp@2"])
    assert json.loads(out)["values"] == dict(want)
    assert "train.qrels: 1 label occurs in no other input; it is ignored" in json.loads(out)["notes"]
    assert err == ""
    out, _ = says("stats t.qrels --train train.qrels --format json")
    found = json.loads(out)
    assert (found["labels_unseen_in_training"], found["stored_unseen_in_training"]) == (1, 1 / 3)


def test_results_of_labels_have_their_names(folder: Path, says: Any) -> None:
    Path("t.qrels").write_text(TRUTH.replace("cow", 'c,"w'))
    Path("m.run").write_text(RUN.replace("cow", 'c,"w'))
    says("evaluate t.qrels m.run --metrics f1.macro --decision top1 --per-label out.csv")
    with open("out.csv", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["label"])  # the worst came first
    assert [row["name"] for row in rows] == ["cat", "dog", 'c,"w']
    assert [row["label"] for row in rows] == ["0", "1", "2"]
    mulan(folder / "Y", make_truth())
    npy(folder / "m", make_scores())
    says("evaluate Y.arff m_indices.npy --metrics f1.macro --decision top1 --per-label out.csv")
    assert "\n0,label 0," in Path("out.csv").read_text()
    npz(folder / "Y", make_truth())
    says("evaluate Y.npz m_indices.npy --metrics f1.macro --decision top1 --per-label out.csv")
    assert "name" not in Path("out.csv").read_text().splitlines()[0].split(",")


NUMBERED = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
SCORED = sp.csr_array(([0.9, 0.25, 0.5, 0.75], [2, 0, 1, 2], [0, 2, 3, 4, 4]), shape=(4, 3))


@pytest.fixture
def numbered(folder: Path) -> Path:
    """Truths whose labels are numbers, and predictions with names."""
    npz(folder / "Y", sp.csr_array(NUMBERED))
    np.save(folder / "D.npy", NUMBERED)
    Path("ids.txt").write_text("0 2\n1\n0 1\n\n")
    Path("names.txt").write_text("cat\ndog\ncow\n")
    rows = '{"pred": {"cow": 0.9, "cat": 0.25}}', '{"pred": {"dog": 0.5}}', '{"pred": {"cow": 0.75}}'
    Path("m.jsonl").write_text("\n".join([*rows, '{"pred": {}}\n']))
    ordered = [f'{{"id": {row}, {text[1:]}' for row, text in enumerate(rows)]
    Path("by_id.jsonl").write_text("\n".join([*ordered[::-1], '{"id": 3, "pred": {}}\n']))
    Path("m.run").write_text("0 Q0 cow 1 0.9 m\n0 Q0 cat 2 0.25 m\n1 Q0 dog 1 0.5 m\n2 Q0 cow 1 0.75 m\n")
    return folder


@pytest.mark.parametrize("scores", ["m.jsonl", "by_id.jsonl", "m.run"])
@pytest.mark.parametrize("truth", ["Y.npz", "D.npy", "ids.txt"])
def test_a_list_names_the_columns_of_a_numbered_truth(
    numbered: Path, says: Any, truth: str, scores: str
) -> None:
    weights = inverse_propensity(label_counts=NUMBERED.sum(axis=0), n_instances=4)
    metrics = ["p@1", "psp@1", "f1.macro", "auc.micro"]
    out, _ = says(
        f"evaluate {truth} {scores} --labels names.txt --train Y.npz --decision top1 --format json "
        f"--metrics {','.join(metrics)}"
    )
    given: Any = {"metrics": metrics, "inverse_propensity": weights, "decision": "top1"}
    assert json.loads(out)["values"] == dict(evaluate(NUMBERED, SCORED, **given))


@pytest.mark.parametrize("names", [["a", "b", "c"], [7, 5, 9]])
def test_numbered_lists_of_a_table_in_another_order_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], names: list[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    scores = {"scores": [[0.5], [0.5], [0.5]]}
    pq.write_table(pa.table({"file_name": names, "labels": [[0], [1], [2]]}), "t.parquet")
    pq.write_table(pa.table({"file_name": names, "labels": [[0], [1], [2]], **scores}), "same.parquet")
    shuffled = {"file_name": [names[place] for place in (2, 0, 1)], "labels": [[2], [0], [1]]}
    pq.write_table(pa.table({**shuffled, **scores}), "other.parquet")
    assert main(["evaluate", "t.parquet", "same.parquet", "--metrics", "p@1"]) == 0
    assert "1.0000" in capsys.readouterr().out
    assert main(["evaluate", "t.parquet", "other.parquet", "--metrics", "p@1"]) == 2
    told = "other.parquet: 'file_name' has the values of TRUTH's in another order; call it 'instance' in both"
    assert told in capsys.readouterr().err
