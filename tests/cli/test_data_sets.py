"""Data sets and models by name in the shell, files of results, and options of tables."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.results.models import MODELS, TRUTH
from tests.results.test_data_sets import HALVES, pairs
from xmleval import Comparisons, compare, evaluate, rank

TRUTHS = "--truth first=Y_first.npz --truth second=Y_second.npz"
BY_NAME = f"{TRUTHS} --model good='{{}}/good.npz' --model fair='{{}}/fair.npz'"
Run = Callable[..., str]
pytestmark = pytest.mark.usefixtures("files")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in HALVES.items():
        sp.save_npz(f"Y_{name}.npz", sp.csr_array(TRUTH[rows]))
        Path(name).mkdir()
        sp.save_npz(f"{name}/train.npz", sp.csr_array(TRUTH[rows][::2]))
        for model in ("good", "fair"):
            sp.save_npz(f"{name}/{model}.npz", sp.csr_array(MODELS[model][rows]))


def expected(**options: Any) -> Comparisons:
    data_sets: Any = {}
    for name, (truth, models) in pairs().items():
        train = TRUTH[HALVES[name]][::2]
        data_sets[name] = (truth, {m: models[m] for m in ("good", "fair")}, {"y_train": train})
    result: Comparisons = compare(data_sets, **options)
    return result


def test_truths_and_models_by_name_give_what_python_gives(run: Run) -> None:
    line = f"compare {BY_NAME} --train '{{}}/train.npz' --metrics p@1,psp@3"
    result = expected(metrics=["p@1", "psp@3"])
    assert run(line) == f"{result}\n"
    assert json.loads(run(f"{line} --format json")) == result.to_dict()
    styled = "--percent --digits 1 --no-intervals --rows models"
    style: Any = {"percent": True, "digits": 1, "intervals": False, "rows": "models"}
    assert run(f"{line} {styled} --format latex") == result.to_latex(**style)
    assert run(f"{line} {styled} --format markdown") == result.to_markdown(**style)
    assert run(f"{line} --format csv") == result.to_csv()


def test_files_of_results_give_the_table_of_their_models(run: Run) -> None:
    for name in HALVES:
        models = f"good={name}/good.npz fair={name}/fair.npz"
        run(f"compare Y_{name}.npz {models} --metrics p@1,r@3 --output {name}.json")
    Path("results").mkdir()
    for name in HALVES:
        Path(f"{name}.json").rename(f"results/{name}.json")
    table = run("compare results/first.json results/second.json --metrics p@1")
    assert (
        table
        == run("compare results --metrics p@1")
        == run("compare 'results/*.json' --metrics p@1")
    )
    run("compare results --output all.json")
    assert run("compare all.json --metrics p@1") == table
    assert run("rank results --metrics p@1,r@3") == run("rank all.json --metrics p@1,r@3")


def test_rank_evaluates_data_sets(run: Run) -> None:
    data_sets: Any = {
        name: (truth, {m: models[m] for m in ("good", "fair")})
        for name, (truth, models) in pairs().items()
    }
    assert run(f"rank {BY_NAME} --metrics p@1") == f"{rank(data_sets, 'p@1')}\n"
    several = rank(data_sets, ["p@1", "r@3"])
    assert run(f"rank {BY_NAME} --metrics p@1,r@3") == f"{several}\n"
    assert json.loads(run(f"rank {BY_NAME} --metrics p@1,r@3 --format json")) == several.to_dict()


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_models_are_named_before_their_files(command: str, run: Run) -> None:
    line = f"{command} Y_first.npz best=first/good.npz first/fair.npz --metrics p@1 --format json"
    assert [*json.loads(run(line))["reports"]] == ["best", "fair.npz"]


def test_a_file_with_a_sign_of_equality_needs_no_name(
    run: Run, refused: Callable[..., str]
) -> None:
    Path("first/good.npz").rename("a=b.npz")
    line = "evaluate Y_first.npz a=b.npz --metrics p@1"
    report = evaluate(TRUTH[HALVES["first"]], MODELS["good"][HALVES["first"]], metrics="p@1")
    assert run(line) == f"{report}\n"
    Path("first/fair.npz").rename("b.npz")
    assert refused(line) == (
        "a=b.npz: both a=b.npz and b.npz exist; write ./a=b.npz for the first, or rename it"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"compare {TRUTHS}", "--model is missing; expected data sets and models by name"),
        ("compare --model a=b", "--truth is missing; expected data sets and models by name"),
        ("compare", "Missing argument 'TRUTH'"),
        (f"compare Y_first.npz {BY_NAME}", "Y_first.npz is given together with --truth"),
        (f"compare {BY_NAME} --truth first=Y_second.npz", "--truth first is given twice"),
        (f"compare {BY_NAME} --model good='{{}}/x.npz'", "--model good is given twice"),
        (f"compare {TRUTHS} --model a=a.npz --model b=b.npz", "--model a=a.npz is one file for 2"),
        ("compare --truth Y_first.npz --model a=b", "'Y_first.npz' has no name; expected NAME"),
        ("compare Y_first.npz a=first/good.npz a=first/fair.npz", "has the same name as"),
        ("rank", "Missing argument 'RESULTS...'"),
        ("evaluate Y_first.npz first/good.npz --percent --format json", "--percent: is for tables"),
        ("evaluate Y_first.npz first/good.npz --rows models", "--rows: 'models' have no rows"),
    ],
)
def test_wrong_lines_are_refused(line: str, message: str, refused: Callable[..., str]) -> None:
    assert message in refused(line)


def test_options_of_an_evaluation_are_refused_with_results(
    run: Run, refused: Callable[..., str]
) -> None:
    for name in HALVES:
        run(f"evaluate Y_{name}.npz {name}/good.npz {name}/fair.npz --output {name}.json")
    for command in ("compare", "rank"):
        message = refused(f"{command} first.json second.json --train first/train.npz")
        assert (
            "is for truths and models, but these results are computed already; leave it out"
            in message
        )


def test_values_of_a_page_are_those_of_the_table(run: Run) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    run(f"compare {BY_NAME} --metrics p@1 --html page.html --plot values.svg")
    page = Path("page.html").read_text("utf-8")
    for comparison in expected(metrics=["p@1"]).values():
        for report in comparison.values():
            assert f"{report['p@1']:.4f}" in page
    assert "SHA-256 of first/good.npz" in page
    assert np.all([name in Path("values.svg").read_text("utf-8") for name in HALVES])


def test_rank_of_truths_leaves_out_what_needs_further_input(run: Run) -> None:
    measures = [*json.loads(run(f"rank {BY_NAME} --format json"))["rankings"]]
    assert "p@1" in measures
    assert "psp@1" not in measures


def test_names_and_places_of_data_sets_reach_all_files(run: Run, refused: Run) -> None:
    for name, rows in HALVES.items():
        run(f"compare Y_{name}.npz {name}/good.npz {name}/fair.npz --output {name}.json")
        n_rows = rows.stop - rows.start
        Path(f"{name}/groups.txt").write_text("".join(f"{row % 2}\n" for row in range(n_rows)))
    table = run("compare first.json other=second.json --metrics p@1")
    assert "\nother " in table
    assert refused("compare first.json second.json --k 1") == (
        "--k: has no effect without metrics; give metrics, too"
    )
    groups = run(f"compare {BY_NAME} --metrics p@1 --row-groups '{{}}/groups.txt' --format json")
    for data_set in json.loads(groups)["data_sets"].values():
        assert [*data_set["comparison"]["row_groups"]] == ["0", "1"]


def test_one_data_set_needs_no_place_of_its_name(run: Run) -> None:
    models = "--model good=first/good.npz --model fair=first/fair.npz"
    line = f"compare --truth first=Y_first.npz {models} --metrics p@1"
    truth, scores = pairs()["first"]
    data_set = (truth, {model: scores[model] for model in ("good", "fair")})
    assert run(line) == f"{compare({'first': data_set}, metrics=['p@1'])}\n"
