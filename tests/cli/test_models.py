"""`xmleval compare`, `diff`, `rank`, `report`, `plot` and `bench` give what Python gives."""

import importlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run, json_of
from tests.damage import answer
from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import compare, rank

OTHER = LABELS[::-1].copy(), SCORES[::-1].copy()
MODELS = {"m": (LABELS, SCORES), "n.npz": OTHER}
COMPARE = "compare Y_test.npz m_indices.npy n.npz"
ROWS = [*"aabb"]
BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def models(folder: Path) -> Path:
    np.savez("n.npz", indices=OTHER[0], scores=OTHER[1])
    Path("labels.csv").write_text(
        "".join(f"{label},{group}\n" for label, group in enumerate("xxyyy"))
    )
    Path("rows.txt").write_text("a\na\nb\nb\n")
    Path("names.txt").write_text("".join(f"label {label}\n" for label in range(5)))
    return folder


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("--test randomisation --clusters rows.txt", {"test": "randomisation", "clusters": ROWS}),
        (
            "--baseline n.npz --confidence 0.9 --label-groups labels.csv --row-groups rows.txt",
            {
                "baseline": "n.npz",
                "confidence": 0.9,
                "label_groups": [*"xxyyy"],
                "row_groups": ROWS,
            },
        ),
    ],
)
def test_compare_gives_what_python_gives(
    models: Path, words: str, arguments: dict[str, Any]
) -> None:
    metrics = ["p@1", "ndcg@2", "psp@2", "f1.macro@2"]
    line = f"{COMPARE} --metrics {','.join(metrics)} --train Y_train.npz {words}"
    expected = compare(Y_TEST, MODELS, metrics=metrics, y_train=Y_TRAIN, **arguments).to_dict()
    actual = json.dumps(json_of(line)["comparison"]).replace("m_indices.npy", "m")
    assert json.loads(actual) == json.loads(json.dumps(expected["comparison"]))


@pytest.mark.parametrize("command", ["compare", "report", "plot", "diff"])
def test_help_names_the_inputs_of_evaluate_that_a_command_lacks(run: Run, command: str) -> None:
    text = " ".join(run(f"{command} --help").split())
    (lacking,) = re.findall("Inputs are those of `xmleval evaluate` except ([^.;]*)[.;]", text)
    texts = [
        re.split(r"^([A-Z][a-z ]+):\n", run(f"{name} --help"), flags=re.M)
        for name in ("evaluate", command)
    ]
    sections = dict(zip(texts[0][1::2], texts[0][2::2], strict=True))
    inputs = sections["Inputs"] + sections["Predictions to sets"]
    options, present = (
        {*re.findall("^  (--[a-z-]+)", text, re.M)} for text in (inputs, "".join(texts[1][2::2]))
    )
    assert {*re.findall("--[a-z-]+", lacking)} == options - present


@pytest.fixture
def results(folder: Path, run: Run) -> Path:
    """Return a folder of results of three models on three data sets."""
    Path("results").mkdir()
    models = {"knn": "sets", "lr": "scores", "tree": "Y_train"}
    truths = {"bibtex": "Y_test", "delicious": "Y_train", "eurlex": "sets"}
    for model, file in models.items():
        scores = sp.load_npz(f"{file}.npz")
        # without ties, which values alone do not tell
        scores.data = scores.data + 0.1 + np.arange(scores.nnz) / 1000
        sp.save_npz(f"{model}.npz", scores)
    options = "--metrics p,ranking_loss,label_cardinality --k 1,3"
    for data_set, truth in truths.items():
        line = f"evaluate {truth}.npz knn.npz lr.npz tree.npz {options}"
        run(f"{line} --output results/{data_set}.json")
    return Path("results")


@pytest.mark.parametrize("metric", ["p@1", "ranking_loss"])
def test_rank_gives_what_python_gives(results: Path, run: Run, metric: str) -> None:
    paths = {path.stem: path for path in sorted(results.glob("*.json"))}
    values: Any = {}
    for data_set, path in paths.items():
        reports = json.loads(path.read_text())["reports"]
        values[data_set] = {model: report["values"][metric] for model, report in reports.items()}
    expected = rank(paths, metric, alpha=0.1, control="lr.npz")
    ranking = rank(values, metric, alpha=0.1, control="lr.npz")
    assert (ranking.ranks, ranking.groups) == (expected.ranks, expected.groups)
    for words in ("results", "'results/*.json'"):
        line = f"rank {words} --metrics {metric} --alpha 0.1 --control lr"
        assert run(line) == f"{expected}\n"
    assert run(f"{line} --format json") == expected.to_json() + "\n"
    run(f"{line} --output ranks.tex")
    latex = expected.to_latex().replace("percent=True", "--percent").replace("digits=", "--digits ")
    assert Path("ranks.tex").read_text() == latex
    rankings = json_of("rank results")["rankings"]
    # the label cardinality does not depend on the model
    assert [*rankings] == ["p@1", "p@3", "ranking_loss"]
    assert rankings[metric] == json_of(f"rank results --metrics {metric}")


def test_rank_refuses_a_file_of_one_model_as_python_does(
    results: Path, refused: Callable[..., str]
) -> None:
    contents = json.loads((results / "bibtex.json").read_text())
    Path("one.json").write_text(json.dumps(contents["reports"]["lr.npz"]))
    message = refused("rank one.json results --metrics p@1")
    assert message.startswith(
        "one.json: has one model; expected `xmleval evaluate TRUTH A B --output"
    )
    for leave_out in (None, "data_sets"):
        with pytest.raises(ValueError, match=re.escape(message)):
            rank({"one": "one.json", "bibtex": "results/bibtex.json"}, "p@1", leave_out=leave_out)


def test_rank_matches_names_and_names_data_sets(results: Path) -> None:
    for path in results.iterdir():
        contents = json.loads(path.read_text())
        reports = {}
        for name, report in contents["reports"].items():
            model = name.removesuffix(".npz")
            reports[f"{model}_{path.stem}.npz"] = report
        contents["reports"] = reports
        path.write_text(json.dumps(contents))
    ranking = json_of("rank results --metrics p@1")
    assert {*ranking["average_ranks"]} == {"knn", "lr", "tree"}
    note = "models are matched by the part of their names that differs within a data set"
    assert ranking["notes"][0] == note
    for name in ("bibtex", "eurlex"):
        (results / name).mkdir()
        shutil.move(results / f"{name}.json", results / name / "all.json")
    line = "rank results/bibtex/all.json results/eurlex/all.json --metrics p@1"
    assert [*json_of(line)["ranks"]] == ["results/bibtex/all", "results/eurlex/all"]


@pytest.fixture
def figures(models: Path) -> Path:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    return models


@pytest.mark.slow
def test_pages_show_their_inputs_and_changed_rows(figures: Path, results: Path, run: Run) -> None:
    inputs = "Y_test.npz m_indices.npy n.npz --metrics p@2 --labels names.txt"
    changes = json_of(f"diff {inputs.replace('metrics', 'metric')}")["changes"]
    run(f"report {inputs} --train Y_train.npz --output page.html --title 'My <models>'")
    run(f"compare {inputs} --html compared.html --plot c.png")
    page = Path("page.html").read_text("utf-8")
    compared = Path("compared.html").read_text("utf-8")
    assert "<title>My &lt;models&gt;</title>" in page
    for name in ("Y_test.npz", "m_indices.npy", "n.npz", "Y_train.npz"):
        assert f"SHA-256 of {name}" in page
    for text in (page, compared):
        rows = text[text.index("<h2>Rows that changed most</h2>") :]
        for row in changes["rows"]:
            for names in (row["list_a"], row["list_b"]):
                marked = [f"{name}*" if name in row["truth"] else name for name in names]
                assert "; ".join(marked) in rows
    assert Path("c.png").read_bytes().startswith(BEGINS["png"])
    run("rank results --metrics p@1,p@3 --html r.html --plot r.svg")
    assert Path("r.svg").read_text("utf-8").count(">  critical difference ") == 2
    page = Path("r.html").read_text("utf-8")
    for text in ("Critical differences by P@1", "SHA-256 of", "<dt>Command</dt>"):
        assert text in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("--metrics p,ndcg --kind roc", "pdf"),
        ("--metrics all --label-groups labels.csv --kind groups", "svg"),
        ("--metrics p@1 --kind cutoffs", "svg"),
        ("--metrics p@1 --kind values", "png"),
    ],
)
def test_figure_is_drawn_with_the_same_bytes(figures: Path, words: str, form: str) -> None:
    for name in "ab":
        code, _, err = answer(f"plot Y_test.npz m n.npz {words} --output {name}.{form}".split())
        assert code == 0, err
    figure = Path(f"a.{form}").read_bytes()
    assert figure.startswith(BEGINS[form])
    assert figure == Path(f"b.{form}").read_bytes()
    assert b"CreationDate" not in figure
    assert b"<dc:date>" not in figure
    assert b"ardinality" not in figure  # measures of the truth are not drawn
    if "cutoffs" in words:
        assert figure.count(b'<g id="xtick_') == 5  # of five labels


def test_bench_counts_files_and_makes_data(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("xmleval.cli.bench")  # the name in its package is the command
    monkeypatch.setattr(module, "RUNS", (1, 1))
    results = json_of("bench Y_test.npz m --metrics xmc,f1.macro,lrap")
    assert (results["rows"], results["labels"], results["scores"]) == (4, 5, 12)
    assert results["metrics"] == ["xmc", "f1.macro", "lrap"]
    assert results["rows_per_second"] == pytest.approx(4 / results["seconds"])
    Path("m_scores.npy").unlink()
    without_scores = json_of("bench Y_test.npz m --metrics p@1")
    assert without_scores["scores"] == LABELS.size
    assert results["bytes"] - without_scores["bytes"] == SCORES.nbytes
    text = run("bench --rows 50 --labels 40 --k 30 --metrics p@1 --threads 1")
    assert text.startswith("50 rows x 40 labels, 1500 scores, ")


def test_bench_leaves_the_first_run_out_of_the_median(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("xmleval.cli.bench")
    times = iter([0.0, 9.0, 10.0, 12.0, 20.0, 21.0, 30.0, 36.0])  # 9 s, then 2, 1 and 6 s
    monkeypatch.setattr(module, "RUNS", (3, 3))
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=times.__next__))
    results = json_of("bench Y_test.npz m --metrics p@1")
    assert (results["runs"], results["first_seconds"], results["seconds"]) == (3, 9.0, 2.0)
    assert (results["rows_per_second"], results["scores_per_second"]) == (2.0, 6.0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("--labels 10 --k 5", None),
        ("--labels 10 --k 6", "--labels must exceed --k by 5"),
        ("Y_test.npz m", None),
        ("Y_test.npz m --k 5", "--rows, --labels and --k are for generated data"),
        ("Y_test.npz", "SCORES are missing"),
    ],
)
@pytest.mark.filterwarnings("ignore:y_train. id 0 occurs nowhere")
def test_bench_makes_lists_that_leave_room_for_relevant_labels(
    folder: Path, sizes: str, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("xmleval.cli.bench"), "RUNS", (1, 1))
    rows = "" if "Y_test" in sizes else " --rows 5"
    code, out, err = answer(f"bench {sizes}{rows} --metrics p@1 --threads 1".split())
    if message is None:
        assert (code, out.count(" rows x ")) == (0, 1)
    else:
        assert (code, err) == (2, f"xmleval: {message}; see `xmleval bench --help`\n")
