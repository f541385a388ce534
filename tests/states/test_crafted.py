"""Files with right checksums and wrong contents are refused when they are loaded, or can be used in full."""

from __future__ import annotations

import json
import pkgutil
import re
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.states.crafted import (
    CASES,
    DENSE,
    LABEL_RULE,
    TRUTH,
    M,
    contents,
    evaluator_of,
    mutate,
    mutate_meta,
    write,
)
from xmleval import Evaluator, states
from xmleval.cli import main
from xmleval.cli.checkpoint import MANIFEST, Checkpoint, _sum_of
from xmleval.files.saved import LARGE, RULE, Saved, load_state
from xmleval.states.contents import Contents
from xmleval.thresholds import Rule, fit

N_MUTATIONS = 40
every_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings(action="error"):
        yield


def test_the_cases_have_every_state() -> None:
    modules = [module.name for module in pkgutil.iter_modules(states.__path__)]
    known = {name for name in modules if hasattr(import_module(f"xmleval.states.{name}"), "STATE")}
    plans = [evaluator_of(case)._counted.plan for case in CASES]
    assert {name for plan in plans if plan for name in plan.states} == known


@every_case
@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_what_is_right_is_used(case: str, memory: Any, tmp_path: Path) -> None:
    whole, path = evaluator_of(case), tmp_path / "a.npz"
    write(path, contents(whole.as_saved()))
    found = Evaluator.load(path, memory=memory)
    if case != "nothing":
        assert found.compute().to_json() == whole.compute().to_json()
    other = evaluator_of(case, 1000)
    whole.merge(other)
    found.merge(other).save(path)
    if case != "nothing":
        assert Evaluator.load(path).compute().to_json() == whole.compute().to_json()


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a call gives, and what it says if it refuses; any other error is raised."""
    try:
        return call(), ""
    except (ValueError, FileNotFoundError) as error:
        return None, str(error)


def used(path: Path, other: Path) -> str:
    """Tell what became of a file that is loaded, computed and merged; any error but ValueError is raised."""
    found, said = attempt(lambda: Evaluator.load(path, memory=1))
    if said:
        assert said.startswith(f"{path}: ")
        return "refused"
    assert found.n_rows == 0 or str(found.compute())
    for one, two in ((path, path), (path, other), (other, path)):
        whole, added = Evaluator.load(one), Evaluator.load(two)
        _, said = attempt(partial(whole.merge, added))
        assert said == "" or said.startswith(("merge: ", "first_row: "))
        assert said or whole.n_rows == 0 or str(whole.compute())
    return "accepted"


@every_case
def test_what_is_wrong_is_refused_or_can_be_used(case: str, tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng([*case.encode()])
    path, other = tmp_path / "bad.npz", tmp_path / "other.npz"
    good = contents(evaluator_of(case).as_saved())
    evaluator_of(case, 1000).save(other)
    found = []
    for number in range(N_MUTATIONS):
        write(path, mutate(good, rng))
        found.append(used(path, other))
        if number % 8 == 0:
            assert main(["merge", str(path), str(other)]) in (0, 2)
            said = capsys.readouterr().err
            assert said == "" or (said.startswith("xmleval: ") and said.count("\n") == 1)
    assert "refused" in found


# arrays of valid states, changed so that each has its dtype and shape but cannot be what was counted
BROKEN = {
    ("kept ranks", "rank_profile/kept0.8.n_relevant", -1), ("kept ranks", "rank_profile/n_relevant", 99),
    ("kept ranks", "rank_profile/kept0.8.marks", 255), ("kept ranks", "rank_profile/rows", 0),
    ("kept ranks", "rank_profile/n_empty", 12),
    ("weighted ranks", "rank_profile/hits", 1 << 52), ("kept ranks", "row_sums/n_defined", 13),
    ("kept ranks", "row_sums/n_rows", 11), ("kept ranks", "row_sums/totals", -(1 << 62)),
    ("margins", "row_sums/exact", -1), ("margins", "label_extremes/ends", np.nan),
    ("margins", "label_extremes/counts", 13), ("margins", "label_extremes/sizes", 2),
    ("sets", "label_totals/pred/held", 255), ("sets", "label_totals/pred/rows", 13),
    ("weighted sets", "label_totals/pred/held", 1 << 52), ("label sets", "label_sets/fingerprints", 0),
    ("label sets", "label_sets/n_rows", 1), ("gaps", "gaps/n_short", 13),
    ("leading bits", "key_counts/counts3", 1 << 59), ("leading bits", "key_counts/sizes", 1 << 59),
    ("curves", "score_runs/n_true", 13), ("curves", "score_runs/sizes", 3),
    ("curves", "score_runs/cells.relevant.held0", np.nan),
    ("curves", "score_runs/columns.relevant.held0", 0.5 + 1j),
    ("curves", "score_runs/columns.relevant.held0", 7 + 1j),
    ("narrow curves", "score_runs/columns.irrelevant.run0", -1), ("bounds", "score_runs/n_left", 8),
    ("weighted curves", "weighted_scores/totals", 1 << 20), ("weighted curves", "weighted_scores/width", 3),
    ("weighted curves", "weighted_scores/cells.relevant.held0", -1),
    ("weighted curves", "weighted_scores/columns.irrelevant.held0", 7),
    ("weighted curves", "weighted_scores/columns.truth.held0", 1 << 53),
    ("weighted curves", "weighted_scores/counts4.irrelevant.held0", 16),
    ("spilled weighted curves", "weighted_scores/cells.relevant.run0", 0),
    ("weighted curve bounds", "weighted_scores/columns.last.held0", 1),
    ("bounds", "score_runs/last", np.nan), ("ranks", "propensity", 2.0**31),
    ("fitted rule", "decision", np.nan),
    ("calibration", "pair_scores/2.hits.held0", 1 << 61),
    ("calibration", "calibration/bins3", -1), ("calibration", "calibration/losses", 1 << 58),
    ("weighted calibration", "calibration/bins15", 1 << 40),
}  # fmt: skip


@pytest.mark.parametrize(("case", "name", "value"), sorted(BROKEN, key=str))
def test_ranges_of_arrays(case: str, name: str, value: Any, tmp_path: Path) -> None:
    meta, arrays = contents(evaluator_of(case).as_saved())
    changed = arrays[name].copy()
    changed[:] = value
    write(tmp_path / "bad.npz", Saved(meta, {**arrays, name: changed}))
    with pytest.raises(ValueError, match=r"bad\.npz: not a saved evaluator, or damaged"):
        Evaluator.load(tmp_path / "bad.npz")


@every_case
def test_every_array_is_taken_and_no_other(case: str, tmp_path: Path) -> None:
    meta, arrays = contents(evaluator_of(case).as_saved())
    path = tmp_path / "bad.npz"
    alike = {re.sub(r"/\d+/", "/#/", name): name for name in arrays}  # of several groups, one
    for name in alike.values():
        if not LARGE(name):  # entries without a listed score are unlisted
            write(path, Saved(meta, {key: array for key, array in arrays.items() if key != name}))
            with pytest.raises(ValueError, match=r"bad\.npz: "):
                Evaluator.load(path)
        write(path, Saved(meta, {**arrays, f"{name}x": arrays[name]}))
        with pytest.raises(ValueError, match=r"bad\.npz: .* \(.*unexpected array '.*x'\)$"):
            Evaluator.load(path)
    for names in ({"more/x": np.zeros(3)}, {"": np.zeros(3)}):
        write(path, Saved(meta, arrays | names))
        with pytest.raises(ValueError, match=r"\(unexpected array '.*'\)$"):
            Evaluator.load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_rows", -1), ("n_rows", 2**61), ("n_rows", True), ("n_rows", 12.0), ("n_rows", "12"),
        ("given", ["x"]), ("given", 5), ("updated", 1), ("updated", False),
        ("score_dtype", "float16"), ("score_dtype", []),
        ("spans", [[0, 12]]), ("spans", {"": [[0, 11]]}), ("spans", {"": [[0, 8], [7, 11]]}),
        ("spans", {"": [[-1, 11]]}), ("spans", {"": [[0, 12.0]]}), ("spans", {"a": [[0, 8]]}),
        ("place", None), ("place", [3, 0]), ("place", ["a", -1]),
        ("constants", None), ("constants", {"a": 1.0}), ("constants", {"a": 1.0, "b": 1.0, "n": np.inf}),
        ("constants", {"a": 1.0, "b": 1.0, "n": 9.0, "dataset": "amazon", "source": "\\input{x}"}),
        ("constants", {"a": 1.0, "b": 1.0, "n": 9.0, "dataset": "x", "source": "DeepXML"}),
        ("constants", {"a": 1.0, "b": 1.0, "n": 9.0, "source": "DeepXML"}),
        ("constants", {"\\input{x}": 1.0}), ("rule", 0), ("settings", []), ("settings.n_labels", 10**18),
        ("settings.n_labels", 10**12), ("settings.n_labels", 8), ("settings.per_row", 1.5),
        ("settings.metrics", []), ("settings.metrics", [["p@1", True]]),
        ("settings.metrics", [["xmc", True]]),
        ("settings.decision", "top1_0"), ("settings.conventions", "default"), ("settings.bounds", None),
        ("settings.curve_points", -1), ("settings.more", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("case", ["kept ranks", "margins"])
def test_values_of_files(case: str, key: str, value: Any, tmp_path: Path) -> None:
    meta, arrays = contents(evaluator_of(case).as_saved())
    meta = json.loads(json.dumps(meta))
    *outer, last = key.split(".")
    (meta[outer[0]] if outer else meta)[last] = value
    write(tmp_path / "bad.npz", Saved(meta, arrays))
    with pytest.raises(ValueError, match=r"^[^\n]*bad\.npz: not a saved evaluator, or damaged \([^\n]*\)$"):
        Evaluator.load(tmp_path / "bad.npz")


def test_many_spans_take_no_time(tmp_path: Path) -> None:
    evaluator = Evaluator(["p@1"], n_labels=3, per_row=True)
    for first_row in range(0, 4000, 2):
        evaluator.update(np.eye(1, 3), np.eye(1, 3), first_row=first_row)
    evaluator.save(tmp_path / "a.npz")
    other = Evaluator(["p@1"], n_labels=3, per_row=True)
    other.update(np.eye(1, 3), np.eye(1, 3), first_row=1)
    assert len(Evaluator.load(tmp_path / "a.npz").merge(other)._counted.spans[""]) == 1999


def test_contents_are_named() -> None:
    arrays = {"a": np.arange(3), "b.1": np.zeros((2, 4), np.int64), "b.2": np.zeros(2)}
    faults: list[tuple[Callable[[Contents], Any], str]] = [
        (lambda it: it.take("c", 1), "^c is missing$"), (lambda it: it.take("a", 4), "^a is int64 of shape"),
        (lambda it: it.take("a", None, None), "^a is int64 of shape"),
        (lambda it: it.take("b.2", 2), "^b.2 is float64"),
        (lambda it: it.take("a", 3, most=1), "^a is out of range$"),
        (lambda it: it.take("a", 3, least=1), "^a is out of range$"),
        (Contents.done, "^unexpected array 'a'$"),
    ]  # fmt: skip
    for fault, said in faults:
        with pytest.raises(ValueError, match=said):
            fault(Contents(arrays, 5))


RULES: dict[str, Callable[[], Rule]] = {
    "label": LABEL_RULE,
    "constant": partial(fit, TRUTH, DENSE, "f1.micro"),
    "row": partial(fit, TRUTH, DENSE, "f1.samples", rule="row", k=2),
    "top": partial(fit, TRUTH, DENSE, rule="top", k=3),
    "features": partial(fit, TRUTH, DENSE, "f1.samples", rule="row", features=DENSE[:, :2]),
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_are_refused_or_can_be_used(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([*kind.encode()])
    path = tmp_path / "rule.npz"
    RULES[kind]().save(path)
    good = load_state(path, RULE)
    n_refused = 0
    for _ in range(150):
        write(path, mutate(good, rng), RULE)
        rule, said = attempt(lambda: Rule.load(path))
        if said:
            assert said.startswith(f"{path}: ")
            n_refused += 1
            continue
        assert str(rule).isprintable()
        features = DENSE[:, :2] if rule.decision.kind == "features" else None
        _, said = attempt(partial(rule.apply, DENSE, features=features))
        assert said == "" or said.startswith(("y_score: ", "features: "))
    assert n_refused > 50


def test_checkpoints_are_refused_or_can_be_used(tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(5), tmp_path / "kept"
    evaluator = evaluator_of("spilled curves")
    settings = {"evaluators": [evaluator.settings]}
    Checkpoint(folder, settings).save(M, [evaluator])
    files = {path: path.read_bytes() for path in folder.iterdir()}
    held = json.loads((folder / MANIFEST).read_text())
    n_refused = 0

    def loaded() -> Any:
        checkpoint = Checkpoint(folder, settings)
        return checkpoint.load(checkpoint.read() or {}, memory=1)

    for _ in range(150):
        manifest = mutate_meta(held["manifest"], rng)
        text = json.dumps({**held, "manifest": manifest, "sum": _sum_of(manifest)})
        for path, content in files.items():
            path.write_bytes(content)
        (folder / MANIFEST).write_text(text)
        held_by_it, said = attempt(loaded)
        n_refused += said != ""
        assert said == "" or str(folder) in said
        if not said:
            n_rows, (found,) = held_by_it
            assert (n_rows, found.compute().to_json()) == (M, evaluator.compute().to_json())
    assert n_refused > 100
