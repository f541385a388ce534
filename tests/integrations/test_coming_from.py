"""The tables of `xmleval/docs/coming-from.md`: where they say "=", both sides give one value.

Libraries that are not installed are skipped; every night all of them are.
"""

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from xmleval import evaluate

PAGE = Path(__file__).parents[2] / "xmleval" / "docs" / "coming-from.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S))
ROW = re.compile(r"^\| `([^|]+?)` \| `([^`|]+)`(?:, `([^`|]+)`)? \| (=.*) \|$", re.M)
DRAWS = 8

Problem = dict[str, Any]


def rows_of(section: str) -> list[tuple[str, str, str]]:
    """Return their call, our measure and its arguments, of each row with an equals sign."""
    return [row[:3] for row in ROW.findall(SECTIONS[section])]


def matrices(rng: np.random.Generator) -> Problem:
    """Draw a truth in which every label and row has both classes, and scores without ties."""
    n_rows = 12
    n_labels = 9
    truth = (rng.random((n_rows, n_labels)) < 0.35).astype(int)
    truth[np.arange(n_labels), np.arange(n_labels)] = 1
    truth[np.arange(n_rows), np.arange(2, n_rows + 2) % n_labels] = 1
    truth[np.arange(n_rows), np.arange(1, n_rows + 1) % n_labels] = 0
    scores = rng.permutation(truth.size).reshape(truth.shape) / truth.size + 0.001
    return {"Y": truth, "S": scores, "H": scores > 0.5, "l": n_labels}


def judgements(rng: np.random.Generator) -> Problem:
    """Draw qrels with grades, and a run without ties."""
    names = [f"d{number:02}" for number in range(20)]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in ("q1", "q2", "q3", "q4"):
        judged = rng.choice(names, 9, replace=False)
        qrels[query] = {name: int(grade) for name, grade in zip(judged, [2, 1, 0] * 3, strict=True)}
        found = rng.choice(names, 12, replace=False)
        run[query] = {
            name: float(s) for name, s in zip(found, rng.permutation(12) / 4, strict=True)
        }
    return {"Y": qrels, "S": run}


def imported(name: str) -> Any:
    """Return a module, or skip the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, exc_type=ImportError)


def check(
    section: str,
    draw: Callable[[np.random.Generator], Problem],
    theirs: Callable[[str, Problem], float],
    defaults: dict[str, Any],
    tolerance: float = 1e-9,
) -> None:
    rows = rows_of(section)
    assert rows
    for seed in range(DRAWS):
        problem = draw(np.random.default_rng(seed))
        for call, name, arguments in rows:
            options = {**defaults, **eval(f"dict({arguments})")}
            if name.startswith("ps"):
                options["inverse_propensity"] = problem["q"]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (value,) = evaluate(problem["Y"], problem["S"], metrics=name, **options).values()
                expected = theirs(call, problem)
            assert value == pytest.approx(expected, abs=tolerance), (call, name, seed)


def test_scikit_learn() -> None:
    names = vars(imported("sklearn.metrics"))
    options = {"conventions": "sklearn", "decision": "threshold0.5"}
    check("scikit-learn", matrices, lambda call, p: float(eval(call, names | p)), options)


def test_torchmetrics() -> None:
    names = vars(imported("torchmetrics.functional.classification"))
    torch = imported("torch")

    def theirs(call: str, problem: Problem) -> float:
        tensors = {"P": torch.tensor(problem["S"]), "T": torch.tensor(problem["Y"])}
        return float(eval(call, names | problem | tensors))

    options = {"conventions": "sklearn", "decision": "threshold0.5"}
    check("torchmetrics", matrices, theirs, options, 1e-5)


def test_pytrec_eval() -> None:
    module = imported("pytrec_eval")

    def theirs(call: str, problem: Problem) -> float:
        name = re.sub(r"(?<=[a-zA-Z])_([\d.]+)$", r".\1", call)
        evaluator = module.RelevanceEvaluator(problem["Y"], {name})
        values = evaluator.evaluate(problem["S"]).values()
        return float(np.mean([row[call] for row in values]))

    check("trec_eval, pytrec_eval", judgements, theirs, {})


def test_ir_measures() -> None:
    module = imported("ir_measures")

    def theirs(call: str, problem: Problem) -> float:
        measure = module.parse_measure(call)
        return float(module.calc_aggregate([measure], problem["Y"], problem["S"])[measure])

    check("ir_measures", judgements, theirs, {})


def test_ranx() -> None:
    module = imported("ranx")

    def theirs(call: str, problem: Problem) -> float:
        qrels = {
            query: {name: grade for name, grade in row.items() if grade}
            for query, row in problem["Y"].items()
        }
        given = problem["Y"] if call == "bpref" else qrels
        run = module.Run(problem["S"])
        return float(module.evaluate(module.Qrels(given), run, call))

    check("ranx", judgements, theirs, {})


def test_napkinxc() -> None:
    names = vars(imported("napkinxc.metrics"))

    def draw(rng: np.random.Generator) -> Problem:
        problem = matrices(rng)
        return problem | {"q": 1 + rng.random(problem["l"])}

    def theirs(call: str, problem: Problem) -> float:
        sparse = {name: csr_matrix(problem[name]) for name in ("Y", "S", "H")}
        return float(np.ravel(eval(call, names | problem | sparse))[-1])

    check("napkinXC", draw, theirs, {"decision": "threshold0.5"})


def test_pecos() -> None:
    names = vars(imported("pecos.utils.smat_util"))

    def theirs(call: str, problem: Problem) -> float:
        sparse = {name: csr_matrix(problem[name]) for name in ("Y", "S")}
        return float(eval(call, names | sparse))

    check("PECOS", matrices, theirs, {})


def test_libmultilabel() -> None:
    imported("libmultilabel")
    metrics = imported("libmultilabel.linear.metrics")

    def draw(rng: np.random.Generator) -> Problem:
        problem = matrices(rng)
        return problem | {"S": problem["S"] - 0.5}

    def theirs(call: str, problem: Problem) -> float:
        return float(metrics.compute_metrics(problem["S"], problem["Y"], [call])[call])

    check("LibMultiLabel", draw, theirs, {})


def test_every_section_with_a_table_is_tested() -> None:
    text = Path(__file__).read_text("utf-8")
    not_run = {"pyxclib", "Mulan and MEKA", "See also"}
    assert all(f'"{section}"' in text for section in SECTIONS if section not in not_run)
    assert import_module("xmleval").evaluate is evaluate


def test_files_of_trec_eval_are_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xmleval.cli import main

    problem = judgements(np.random.default_rng(0))
    judged = [
        f"{query} 0 {name} {grade}\n"
        for query, by_name in problem["Y"].items()
        for name, grade in by_name.items()
    ]
    found = [
        f"{query} Q0 {name} {rank} {score} run\n"
        for query, by_name in problem["S"].items()
        for rank, (name, score) in enumerate(sorted(by_name.items(), key=lambda one: -one[1]), 1)
    ]
    Path("test.qrels").write_text("".join(judged))
    for run in ("bm25.run", "dense.run"):
        Path(run).write_text("".join(found))
    (block,) = re.findall(r"```bash\n(.*?)```", SECTIONS["trec_eval, pytrec_eval"], re.S)
    for command in block.replace("\\\n", "").splitlines():
        assert main(command.split()[1:]) == 0
    table = capsys.readouterr().out
    report = evaluate(
        problem["Y"], problem["S"], metrics="ndcg_cut_10", conventions="relevant_from=2"
    )
    assert f"{report['ndcg_cut_10']:.4f}" in table
