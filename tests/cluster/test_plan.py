"""Any cut, tree, order and repetition of tasks gives the bytes of one machine."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.engines import ShuffledEngine
from tests.strategies import DTYPES, FORMS, Problem, problems
from xmleval import Evaluator, evaluate
from xmleval.cluster import cutting, packing, ranges
from xmleval.cluster import job as job_module
from xmleval.cluster.counting import count_block
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import Job, make_job, own_constants
from xmleval.cluster.run import Engine, Leaf, SerialEngine, run
from xmleval.pooled import values
from xmleval.states import label_ranges, score_runs, set_ranges

MEMORY = 1 << 26


def leaf(number: int, start: int, stop: int, **given: Any) -> Leaf:
    given = {name: value for name, value in given.items() if value is not None}
    return Leaf(count_block, (start, given), f"{number}", stop - start)


def rows(value: Any, start: int, stop: int) -> Any:
    if isinstance(value, tuple):
        return tuple(None if part is None else part[start:stop] for part in value)
    return None if value is None else value[start:stop]


def leaves(cuts: list[int], inputs: dict[str, Any]) -> list[Leaf]:
    pairs = enumerate(itertools.pairwise(cuts))
    return [leaf(n, lo, hi, **{a: rows(v, lo, hi) for a, v in inputs.items()}) for n, (lo, hi) in pairs]


def job_of(n_labels: int, **options: Any) -> Job:
    return make_job(Evaluator(n_labels=n_labels, **options), MEMORY, 1)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=5)
@given(data=st.data())
def test_the_bytes_are_those_of_one_machine(form: str, data: st.DataObject) -> None:
    problem: Problem = data.draw(problems(form, data.draw(st.sampled_from(DTYPES)), max_rows=12))
    n_rows, n_labels = problem.n_rows, problem.case.n_labels
    inputs = problem.inputs()
    if data.draw(st.booleans()):
        inputs["row_groups"] = [f"g{row % 3}" for row in range(n_rows)]
    options: dict[str, Any] = {"metrics": ["all"], **problem.settings(), "per_label": True}
    if data.draw(st.booleans()):
        options |= {"confidence": 0.9, "metrics": ["p@1", "psp@2", "f1.macro@2", "curves", "hierarchy"]}
    if data.draw(st.booleans()):
        options["label_groups"] = [f"l{label % 2}" for label in range(n_labels)]
    whole = evaluate(**inputs, **options).to_json()
    cuts = data.draw(st.lists(st.integers(0, n_rows), max_size=9))
    engine = ShuffledEngine(data.draw(st.integers(0, 99)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "FAN_IN", data.draw(st.integers(2, 8)))
        patch.setattr(packing, "LEAST_SIZE", data.draw(st.sampled_from([1, 99])))
        if data.draw(st.booleans()):  # scores ordered by bucket and grouped by label, as many scores are
            patch.setattr(values, "MANY", 2)
            patch.setattr(values, "CHUNK", 3)
            patch.setattr(score_runs, "SMALL", 0)
            patch.setattr(score_runs, "GROUPED", 0)
        made = leaves([0, *sorted(cuts), n_rows], inputs)
        found = run(engine, job_of(n_labels, **options), made).compute()
    assert found.to_json() == whole


TRUTH = np.tile(np.eye(5, dtype=int), (6, 1))
SCORES = np.random.default_rng(0).random((30, 5))


RANGED = ["auc.macro", "ap.weighted", "ap.micro", "p@1", "label_diversity", "proportional_diversity"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_goes_by_ranges_is_not_merged(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "FAN_IN", 2)
    given: dict[str, Any] = {"y_true": TRUTH, "y_score": SCORES.astype(dtype)}
    found = run(ShuffledEngine(), job_of(5, metrics=RANGED), leaves([*range(0, 31, 3)], given))
    assert found.compute().to_json() == evaluate(**given, metrics=RANGED).to_json()
    states = found.counted.states
    scores, sets = label_ranges.held_in(states), set_ranges.held_in(states)
    assert scores is not None
    assert not any(scores.store.size(kind) for kind in label_ranges.KINDS)
    assert sets is not None
    assert len(sets.fingerprints()) < 5  # as it has five label sets, of which a part with rows keeps one
    with pytest.raises(RuntimeError, match="by other processes"):  # and not saved without them
        found.counts()


@pytest.mark.parametrize("name", RANGED)
def test_no_state_is_saved_without_what_went_by_ranges(name: str) -> None:
    given: dict[str, Any] = {"y_true": TRUTH, "y_score": SCORES}
    made = leaves([*range(0, 31, 3)], given)
    found = run(SerialEngine(), job_of(5, metrics=name), made)
    if name in ("ap.micro", "p@1"):  # which go through the tree
        found.counts()
    else:
        with pytest.raises(RuntimeError, match="by other processes"):
            found.counts()


def test_all_states_are_kept_where_they_are_asked_for() -> None:
    given: dict[str, Any] = {"y_true": TRUTH, "y_score": SCORES}
    job = make_job(Evaluator(RANGED, n_labels=5), MEMORY, 1, keep_states=True)
    assert job.digest != job_of(5, metrics=RANGED).digest  # its parts are others
    found = run(ShuffledEngine(), job, leaves([*range(0, 31, 3)], given))
    again = Evaluator(RANGED, n_labels=5).with_counts(found.counts())
    assert again.compute().to_json() == evaluate(**given, metrics=RANGED).to_json()


def test_few_ranges_of_labels_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_SENT", 2)
    rng, engine = np.random.default_rng(0), ShuffledEngine()
    given: dict[str, Any] = {"y_true": np.tile(TRUTH, (2, 1)), "y_score": rng.random((60, 5))}
    found = run(engine, job_of(5, metrics=["auc.macro"]), leaves([*range(0, 61, 6)], given)).compute()
    assert found.to_json() == evaluate(**given, metrics=["auc.macro"]).to_json()
    assert len({key for key in engine.ran if key.startswith("range-")}) == 2


class Remembering(SerialEngine):
    """Gives the first result of a key again, as an engine may that still holds it."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def submit(self, function: Any, *arguments: Any, key: str) -> Any:
        if key not in self.held:
            self.held[key] = function(*arguments)
        return self.held[key]


def test_an_engine_may_run_several() -> None:
    engine, rng = Remembering(), np.random.default_rng(0)
    for number in range(2):
        given: dict[str, Any] = {"y_true": np.roll(TRUTH, number), "y_score": rng.random((30, 5))}
        made = [leaf._replace(key=f"{leaf.key} of {number}") for leaf in leaves([*range(0, 31, 3)], given)]
        found = run(engine, job_of(5, metrics=RANGED), made).compute()
        assert found.to_json() == evaluate(**given, metrics=RANGED).to_json()


def test_rows_of_two_tasks_are_refused() -> None:
    job = job_of(5, metrics="p@1")
    twice = [leaf(0, 0, 20, y_true=TRUTH[:20], y_score=SCORES[:20]), leaf(1, 10, 20, y_true=TRUTH[10:20])]
    twice[1].arguments[1]["y_score"] = SCORES[10:20]
    with pytest.raises(ValueError, match=r"rows 10\.\.19 are counted already"):
        run(SerialEngine(), job, twice)


def test_missing_rows_are_refused() -> None:
    job = job_of(5, metrics="p@1")
    gap = [leaf(0, 0, 10, y_true=TRUTH[:10], y_score=SCORES[:10]), leaf(1, 20, 30, y_true=TRUTH[20:])]
    gap[1].arguments[1]["y_score"] = SCORES[20:]
    with pytest.raises(ValueError, match="rows from 10 on were not counted: 20 of"):
        run(SerialEngine(), job, gap)


def test_the_error_of_the_lowest_row_is_told(tmp_path: Path) -> None:
    truth = TRUTH.copy()
    truth[[7, 18, 26], 0] = 3
    for metrics, step in (("p@1", 10), (["auc.macro", "label_diversity"], 3)):
        made = leaves([*range(0, 31, step)], {"y_true": truth, "y_score": SCORES})
        (tmp_path / str(step)).mkdir()
        engines: list[Engine] = [SerialEngine(), *map(ShuffledEngine, range(5))]
        for engine in engines:
            for folder in (None, Exchange(tmp_path / str(step))):
                with pytest.raises(ValueError, match=r"^y_true: row 7: "):
                    run(engine, job_of(5, metrics=metrics), made, folder)


def test_kept_rows_are_in_order() -> None:
    options: dict[str, Any] = {"metrics": "ndcg@3", "per_row": True}
    made = leaves([0, 3, 17, 30], {"y_true": TRUTH, "y_score": SCORES})
    found = run(ShuffledEngine(), job_of(5, **options), made).compute().per_row()
    wanted = evaluate(TRUTH, SCORES, **options).per_row()
    assert {name: values.tolist() for name, values in found.items()} == {"ndcg@3": wanted["ndcg@3"].tolist()}


def test_a_small_job_is_no_task_of_its_own() -> None:
    engine = ShuffledEngine()
    block = np.eye(5, dtype=int), np.eye(5)
    run(engine, make_job(Evaluator("p@1", n_labels=5), 1 << 26, 1), [Leaf(count_block, (0, block), "0", 5)])
    assert {*engine.ran} == {"0"}


def test_propensities_are_not_repeated() -> None:
    job = job_of(5, metrics="psp@1", inverse_propensity=np.full(5, 2.0))
    part = count_block(job, 0, (TRUTH, SCORES))
    assert not any("propensity" in name for name in part["arrays"])
    assert part["n_bytes"].keys() == {"rank_profile", "seen"}


def test_propensities_of_a_file_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "LEAST_FILE", 0)
    q = np.arange(1.0, 6.0)
    options: dict[str, Any] = {"metrics": ["psp@1", "psndcg@3"], "inverse_propensity": q}
    whole = evaluate(TRUTH, SCORES, **options).to_json()
    job = job_of(5, **options).with_file(tmp_path / "q.npy")
    job_module._opened.clear()
    found = job_module.opened(job)._counting.settings.propensity
    assert found is not None
    assert isinstance(found.values.base, np.memmap)
    made = leaves([0, 10, 30], {"y_true": TRUTH, "y_score": SCORES})
    assert run(ShuffledEngine(), job, made).compute().to_json() == whole
    np.save(tmp_path / "q.npy", q + 1)
    job_module._opened.clear()
    with pytest.raises(ValueError, match=r"q\.npy: not the propensities of this run"):
        run(SerialEngine(), job, made)


@pytest.mark.parametrize("name", own_constants())
def test_what_could_move_a_bit_is_refused(name: str) -> None:
    job = job_of(5, metrics="p@1")
    job_module.opened(job)  # an evaluator that is kept is checked, too
    job.constants[name] = "0.1"
    with pytest.raises(ValueError, match=f"workers: {name} differs: 0.1 at the client, .* at a worker"):
        run(SerialEngine(), job, leaves([0, 30], {"y_true": TRUTH, "y_score": SCORES}))
