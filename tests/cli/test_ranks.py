"""`xmleval rank`: models over data sets, from the JSON of `xmleval evaluate`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp

from tests.commands import process
from xmleval import rank
from xmleval.report.saved_results import load_results

TRUTHS = {"bibtex": "Y_test.npz", "delicious": "Y_train.npz", "eurlex": "sets.npz"}


@pytest.fixture
def results(folder: Path, run: Any) -> Path:
    """A folder of results of three models on three data sets."""
    (folder / "results").mkdir()
    for name, given in (("knn", "sets.npz"), ("lr", "scores.npz"), ("tree", "Y_train.npz")):
        scores = sp.load_npz(given)
        scores.data = scores.data + 0.1
        sp.save_npz(f"{name}.npz", scores)
    for data_set, truth in TRUTHS.items():
        line = f"evaluate {truth} knn.npz lr.npz tree.npz --metrics p,ranking_loss,label_cardinality --k 1,3"
        run(f"{line} --output results/{data_set}.json")
    return folder / "results"


def values_of(folder: Path, metric: str) -> Any:
    return {
        path.stem: {name: report.values[metric] for name, report in load_results(path).items()}
        for path in sorted(folder.glob("*.json"))
    }


@pytest.mark.parametrize("metric", ["p@1", "ranking_loss"])
@pytest.mark.parametrize(
    "given", ["results/bibtex.json results/delicious.json results/eurlex.json", "results", "'results/*.json'"]
)
def test_it_prints_what_python_gives(results: Path, run: Any, given: str, metric: str) -> None:
    wanted = rank(values_of(results, metric), metric, alpha=0.1, control="lr.npz")
    asked = f"rank {given} --metric {metric} --alpha 0.1 --control lr"
    assert run(f"{asked} --format json") == wanted.to_json() + "\n"
    assert run(asked) == f"{wanted}\n"
    run(f"{asked} --output ranks.tex")
    assert Path("ranks.tex").read_text() == wanted.to_latex()
    assert run(f"{asked} --format markdown") == wanted.to_markdown()
    assert run(f"{asked} --format csv") == wanted.to_csv()


def test_each_measure_has_a_table(results: Path, run: Any) -> None:
    names = ["p@1", "p@3", "ranking_loss"]  # no model has a say in the label cardinality
    assert run("rank results") == run("rank results --metric P@1,p@3 --metric ranking_loss")
    tables = [run(f"rank results --metric {name}") for name in names]
    assert run("rank results") == "\n".join(tables)
    held = json.loads(run("rank results --format json"))["rankings"]
    assert [*held] == names
    assert held["p@3"] == json.loads(run("rank results --metric p@3 --format json"))
    lines = run("rank results --format csv").splitlines()
    assert lines[0] == "metric,model,average_rank,rank on bibtex,rank on delicious,rank on eurlex"
    assert [line.split(",")[0] for line in lines[1:]] == [name for name in names for _ in range(3)]


def test_models_are_matched_by_short_names_where_only_these_agree(results: Path, run: Any) -> None:
    for path in results.iterdir():
        held = json.loads(path.read_text())
        held["reports"] = {
            f"{name.removesuffix('.npz')}_{path.stem}.npz": report for name, report in held["reports"].items()
        }
        path.write_text(json.dumps(held))
    found = json.loads(run("rank results --metric p@1 --format json"))
    assert {*found["average_ranks"]} == {"knn", "lr", "tree"}
    assert found["notes"][0] == "models are matched by the part of their names that differs within a data set"


def test_data_sets_are_named_by_folders_where_files_are_called_alike(results: Path, run: Any) -> None:
    for name in ("bibtex", "eurlex"):
        (results / name).mkdir()
        shutil.move(results / f"{name}.json", results / name / "all.json")
    found = json.loads(run("rank results/bibtex/all.json results/eurlex/all.json --metric p@1 --format json"))
    assert [*found["ranks"]] == ["results/bibtex/all", "results/eurlex/all"]


def test_missing_models_are_named_and_left_out_on_request(results: Path, run: Any, refused: Any) -> None:
    held = json.loads((results / "eurlex.json").read_text())
    del held["reports"]["tree.npz"]
    held["reports"]["lr.npz"]["values"]["p@1"] = None
    (results / "eurlex.json").write_text(json.dumps(held))
    assert refused("rank results --metric p@1") == (
        "RESULTS: undefined value of lr.npz on eurlex; no value of tree.npz on eurlex; average ranks need a "
        "value of every model on every data set; give --leave-out data_sets or --leave-out models"
    )
    found = json.loads(run("rank results --metric p@1 --leave-out data_sets --format json"))
    assert [*found["ranks"]] == ["bibtex", "delicious"]
    assert refused("rank results --metric p@1 --leave-out models") == (
        "RESULTS: 1 model left; average ranks need 2 or more"
    )


def test_results_of_other_rows_are_not_compared(results: Path, refused: Any) -> None:
    held = json.loads((results / "eurlex.json").read_text())
    held["reports"]["lr.npz"]["n_rows"] = 5
    (results / "eurlex.json").write_text(json.dumps(held))
    told = "RESULTS: eurlex: n_rows is 4 for knn.npz and 5 for lr.npz, whose values cannot be compared"
    assert refused("rank results --metric p@1") == told


def test_help_imports_no_statistics() -> None:
    code = "import sys\nfrom xmleval.cli import main\nmain(['rank', '--help'])\n"
    done = process(f"{code}print('scipy.stats' in sys.modules)", python="-c")
    assert done.stdout.splitlines()[-1] == "False"
