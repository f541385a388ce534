"""Values over all orders of equal scores are means and ends of the values of each order."""

import itertools
import math
import os
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.oracles import metrics as definitions
from tests.oracles.metrics import Case
from xmleval import Evaluator, compare, evaluate
from xmleval.metrics import TABLE
from xmleval.metrics.spec import Spec, parse_spec

N_PROBLEMS = 20 * int(os.environ.get("EXAMPLES", "1"))
AT_K = ["p", "r", "rcap", "hit", "mrr", "map", "map_r", "ndcg", "dcg"]
RAW = ["psp_raw", "psr_raw", "psdcg_raw", "psndcg_raw"]
PROPENSITY_SCORED = ["psp", "psr", "psdcg", "psndcg"]
WHOLE = ["mrr@all", "map@all", "ndcg@all", "dcg@all", "rprec", "one_error", "coverage"]
ROW_MEASURES = [f"{name}@{k}" for name in AT_K + RAW for k in (1, 3)] + WHOLE
RATIOS = [f"{name}@{k}" for name in PROPENSITY_SCORED for k in (1, 3)] + ["rprec.micro"]
CONVENTIONS = {
    "gains": ["binary", "linear", "exp"],
    "empty": ["zero", "skip", "one"],
    "map_norm": ["capped", "relevant"],
    "no_pairs": ["skip", "perfect"],
    "unlisted": ["below", 0.0, 1.0],
}


class Drawn:
    """A small problem with many equal scores, and its definition.

    grades : of all labels; listed : labels and scores of each row
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.n_labels = int(rng.integers(1, 6))
        shape = (int(rng.integers(1, 4)), self.n_labels)
        self.grades = rng.integers(0, 4, shape) * (rng.random(shape) < 0.5)
        self.scores = rng.integers(0, rng.integers(1, 4), shape) / 2
        self.is_listed = rng.random(shape) < rng.choice([0.6, 1.0])
        weights = [0.5, 1.0, 2.0] if rng.random() < 0.5 else [1.0]
        self.weights = rng.choice(weights, shape[0]).tolist()
        self.are_weighted = len(weights) > 1
        self.propensity = (1 + 3 * rng.random(self.n_labels)).tolist()
        self.conventions = {
            name: rng.choice(np.array(values, object)) for name, values in CONVENTIONS.items()
        }

    @property
    def truth(self) -> Any:
        return self.grades if self.conventions["gains"] != "binary" else self.grades > 0

    def evaluate(self, rows: Any = slice(None), **options: Any) -> Any:
        """Return the report of rows from sparse scores, in which 0 may be listed."""
        listed = [np.flatnonzero(row) for row in self.is_listed]
        ptr = np.cumsum([0, *map(len, listed)])
        scores = self.scores[self.is_listed]
        matrix = csr_array((scores, np.concatenate(listed), ptr), shape=self.scores.shape)
        ties = options.pop("ties")
        return evaluate(
            csr_array(self.truth)[rows],
            matrix[rows],
            metrics=ROW_MEASURES + RATIOS,
            inverse_propensity=self.propensity,
            sample_weight=np.array(self.weights)[rows] if self.are_weighted else None,
            conventions={**self.conventions, "ties": ties},
            **options,
        )

    def orders(self, i: int) -> list[Case]:
        """Return row i in each order of equal scores, as a list without scores."""
        case = self.case([i], [self.listed(i)], {**self.conventions, "ties": "order"})
        groups, n_credited = definitions.tie_groups(case, 0)
        cases = []
        for order in itertools.product(*map(itertools.permutations, groups)):
            labels = [label for group in order for label in group]
            cases.append((labels, n_credited))
        return [self._in_order(i, labels, n_credited) for labels, n_credited in cases]

    def listed(self, i: int) -> list[tuple[int, float | None]]:
        return [(j, float(self.scores[i, j])) for j in np.flatnonzero(self.is_listed[i]).tolist()]

    def case(self, rows: list[int], listed: Any, conventions: dict[str, Any]) -> Case:
        return Case(
            truth=[{*np.flatnonzero(self.grades[i]).tolist()} for i in rows],
            n_labels=self.n_labels,
            listed=listed,
            inverse_propensity=self.propensity,
            conventions=conventions,
            grades=[{j: float(self.grades[i, j]) for j in range(self.n_labels)} for i in rows],
        )

    def _in_order(self, i: int, labels: list[int], n_credited: int) -> Case:
        """Return row i as a list of the credited labels, in an order of all labels.

        ``last_rank``, that of the last relevant label, is kept next to it: coverage has one even
        for labels that earn nothing.
        """
        conventions = {**self.conventions, "ties": "order", "unlisted": "below"}
        case = self.case([i], [[(j, None) for j in labels[:n_credited]]], conventions)
        case.last_rank = max(  # type: ignore[attr-defined]
            (rank for rank, j in enumerate(labels, 1) if j in case.truth[0]), default=0
        )
        return case


def row_value(spec: Spec, case: Case) -> float:
    """Return the value of one row in one order."""
    if spec.name == "coverage":
        if not case.truth[0]:
            return math.nan if case.conventions["no_pairs"] == "skip" else 0.0
        last_rank: int = case.last_rank  # type: ignore[attr-defined]
        return last_rank - 1.0
    values = definitions.rows(spec.metric.name, case, spec.average, spec.cutoff)
    assert values is not None
    return values[0]


def terms(spec: Spec, case: Case) -> tuple[float, float]:
    """Return the numerator and the denominator of one row in one order."""
    if spec.metric.name == "rprec":
        relevant = case.truth[0]
        return float(len({*definitions.top(case, 0, len(relevant))} & relevant)), len(relevant)
    above, below = definitions.ps_terms(spec.metric.name, case, 0, int(spec.cutoff))
    k = int(spec.cutoff) if spec.metric.name == "psp" else 1
    return above / k, below / k


def mean_of_rows(values: list[float], weights: list[float]) -> float:
    return definitions.mean(values, weights)


def check(problem: Drawn) -> None:
    """Compare means and ends with those of all orders of each row."""
    report = problem.evaluate(ties="band")
    assert dict(problem.evaluate(ties="expected")) == pytest.approx(
        dict(report), nan_ok=True, abs=0
    )
    cases = [problem.orders(i) for i in range(len(problem.grades))]
    for spec in report.specs:
        if spec.name in ROW_MEASURES:
            values = [[row_value(parse_spec(spec.name), case) for case in row] for row in cases]
            expected = [
                mean_of_rows([pick(row) for row in values], problem.weights)
                for pick in (mean, min, max)
            ]
        else:
            pairs = [[terms(spec, case) for case in row] for row in cases]
            below = sum(w * row[0][1] for w, row in zip(problem.weights, pairs, strict=True))
            expected = []
            for pick in (mean, min, max):
                above = [
                    w * pick([pair[0] for pair in row])
                    for w, row in zip(problem.weights, pairs, strict=True)
                ]
                expected.append(math.fsum(above) / below if below else math.nan)
        actual = [report[spec.name], *report.intervals[spec.name]]
        assert actual == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), spec.name


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_means_and_ends_over_all_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(N_PROBLEMS):
        check(Drawn(rng))


def test_every_measure_of_ranks_has_expected_values() -> None:
    of_rows = {
        m.name for m in TABLE if m.ties and m.state in ("row_sums", "rank_profile", "row_ratios")
    }
    expected = {m.name for m in TABLE if m.has_orders}
    assert of_rows - expected == {"bpref", "err", "iprec", "map_11pt"}  # keep the order, noted
    tested = {name.partition("@")[0].partition(".")[0] for name in ROW_MEASURES + RATIOS}
    assert expected - tested == {"judged", "rbp", "rbp_residual"}


def test_values_of_judged_labels_are_means_over_all_orders() -> None:
    rng = np.random.default_rng(4)
    grades = rng.integers(-1, 3, (3, 4))
    scores = rng.integers(0, 2, grades.shape)
    names = ["rbp@2", "rbp@all", "rbp_residual@2", "judged@2", "judged@3"]
    orders = [scores * 10 + np.array(order) for order in itertools.permutations(range(4))]
    options: dict[str, Any] = {"metrics": names, "n_labels": 4}
    truth = csr_array(np.where(grades < 0, 0, grades + 1))
    truth.data -= 1  # grade 0 is judged, a missing cell is not
    values = [dict(evaluate(truth, each, conventions="gains=linear", **options)) for each in orders]
    report = evaluate(truth, scores, conventions="gains=linear,ties=band", **options)
    for name in report:
        column = [each[name] for each in values]
        assert report[name] == pytest.approx(mean(column), abs=1e-12), name
        low, high = report.intervals[name]
        assert low <= min(column) + 1e-12, name
        assert high >= max(column) - 1e-12, name


def test_constant_scores_have_the_value_of_chance() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((40, 12)) < 0.2
    scores = np.ones(truth.shape)
    names = ["p@1", "p@3", "r@3", "hit@1", "one_error"]
    report = evaluate(truth, scores, metrics=names, conventions="ties=expected")
    density = truth.mean()
    assert report["p@1"] == pytest.approx(density)
    assert report["p@3"] == pytest.approx(density)
    assert report["hit@1"] == pytest.approx(density)
    assert report["one_error"] == pytest.approx(1 - density)


def test_measures_without_ties_keep_their_values() -> None:
    rng = np.random.default_rng(6)
    truth = rng.random((30, 9)) < 0.3
    scores = rng.random(truth.shape)
    options: dict[str, Any] = {"metrics": ROW_MEASURES + RATIOS, "inverse_propensity": [2.0] * 9}
    in_order = evaluate(truth, scores, **options)
    band = evaluate(truth, scores, conventions="ties=band", **options)
    assert dict(band) == pytest.approx(dict(in_order), rel=1e-14)
    for name, (low, high) in band.intervals.items():
        assert low == pytest.approx(high, rel=1e-14), name


def test_lists_without_scores_have_no_ties() -> None:
    truth = np.eye(4, dtype=bool)
    lists = np.array([[0, 1], [0, 1], [2, 3], [1, 0]])
    report = evaluate(truth, (lists, None), metrics=["p@1", "mrr@2"], conventions="ties=band")
    assert report.intervals == {"p@1": (0.5, 0.5), "mrr@2": (0.625, 0.625)}


def test_bounds_are_refused_next_to_a_band() -> None:
    with pytest.raises(ValueError, match=r"^bounds: cannot be given with .*ties=band"):
        Evaluator(["coverage"], bounds=True, conventions="ties=band")


def test_tables_show_the_ends_of_every_cutoff() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0]])
    report = evaluate(truth, np.ones((2, 3)), metrics=["p@1", "p@2"], conventions="ties=band")
    row = next(line for line in str(report).splitlines() if line.startswith("P "))
    assert row.split(maxsplit=2)[2] == "0.3333 [0.0000, 1.0000]  0.3333 [0.0000, 0.5000]"
    assert "smallest and largest value over all orders of equal scores: p@1, p@2" in str(report)


@pytest.mark.parametrize("name", ["bpref", "iprec(recall=0.5)", "map_11pt", "err@2"])
def test_measures_that_keep_the_order_are_named(name: str) -> None:
    truth = csr_array(np.array([[2.0, 1, 0], [1, 2, 1]]))
    report = evaluate(
        truth, np.ones((2, 3)), metrics=[name, "p@2"], conventions="gains=linear,ties=expected"
    )
    (spec, _) = report.specs
    assert any(f"does not change {spec.name}: equal scores keep" in note for note in report.notes)


def test_values_at_a_cutoff_do_not_depend_on_other_cutoffs() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        truth = rng.random((4, 12)) < 0.4
        scores = rng.integers(0, 2, truth.shape)
        q = 1 + 3 * rng.random(12)
        options: dict[str, Any] = {"inverse_propensity": q, "conventions": "ties=expected"}
        several = evaluate(
            truth, scores, metrics=["psp@1", "psp@3", "psp@7", "p@3", "p@7"], **options
        )
        for name in ("psp@7", "p@7"):
            alone = evaluate(truth, scores, metrics=name, **options)
            assert alone[name] == several[name]


def test_bands_of_seeds_are_means_of_the_bands() -> None:
    truth = np.eye(6, dtype=int)
    tied = np.ones((6, 6))
    half = tied + np.eye(6) * (np.arange(6) < 3)
    models = {"a": [tied, half], "b": [np.eye(6), np.eye(6)]}
    compared = compare(truth, models, seeds=True, metrics="p@1", conventions="ties=band")
    assert compared["a"].intervals["p@1"] == pytest.approx((0.25, 1.0))


@pytest.mark.parametrize("ties", ["expected", "expected_dcg", "band"])
@pytest.mark.parametrize("gains", ["binary", "linear", "exp"])
def test_values_of_equal_scores_are_those_of_all_unequal_ones(ties: str, gains: str) -> None:
    """Scores are made unequal in each way that keeps the order of the groups."""
    scores = np.array([[2.0, 2.0, 1.0, 1.0, 1.0], [1.0, 3.0, 3.0, 3.0, 2.0]])
    grades = np.array([[0, 3, 1, 0, 2], [2, 0, 1, 4, 0]])
    truth = grades if gains != "binary" else (grades > 0).astype(int)
    names = ["p@2", "r@3", "rcap@2", "hit@1", "mrr@3", "map@4", "ndcg@2", "ndcg@all", "dcg@4"]
    names += ["psp_raw@2", "rbp(p=0.7)@3", "rbp(p=0.7)@all", "map@all", "rprec"]
    if ties == "expected_dcg":
        names = ["ndcg@2", "ndcg@all", "dcg@4", "dcg@1"]
    q = [1.5, 2.0, 1.0, 4.0, 3.0]
    options: dict[str, Any] = {"metrics": names, "inverse_propensity": q, "per_row": True}
    values = []
    for order in itertools.permutations(range(5)):
        unequal = scores + np.array(order) / 16
        report = evaluate(truth, unequal, conventions={"gains": gains}, **options)
        values.append([report.per_row()[name] for name in names])
    tied = evaluate(truth, scores, conventions={"gains": gains, "ties": ties}, **options)
    if ties != "band":
        means = np.mean(values, axis=0)
        for name, expected in zip(names, means, strict=True):
            assert tied.per_row()[name] == pytest.approx(expected, rel=1e-12), name
            assert tied[name] == pytest.approx(expected.mean(), rel=1e-12), name
        return
    lowest = np.min(values, axis=0).mean(axis=1)
    highest = np.max(values, axis=0).mean(axis=1)
    for name, low, high in zip(names, lowest, highest, strict=True):
        assert tied.intervals[name] == pytest.approx((low, high), rel=1e-12), name


@pytest.mark.parametrize("p", [0.5, 0.999])
def test_persistence_of_long_tie_groups_is_the_mean_of_all_ranks(p: float) -> None:
    n = 1500
    truth = np.zeros((1, n), int)
    truth[0, 7] = 1
    options: dict[str, Any] = {"metrics": f"rbp(p={p})@all", "conventions": "ties=expected"}
    report = evaluate(truth, np.ones((1, n)), **options)
    expected = (1 - p) * sum(p**rank for rank in range(n)) / n
    assert report[f"rbp(p={p})@all"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_labels", [65_530, 70_000, 300_000, 5_000_000])
@pytest.mark.parametrize("n_listed", [3, 70])
def test_dcg_of_long_tie_groups_is_the_mean_discount(n_labels: int, n_listed: int) -> None:
    """Unlisted labels are tied from the rank after the listed ones to that of the last label."""
    truth = csr_array(([1, 1], [[0, 0], [5, n_labels - 1]]), shape=(1, n_labels))
    scores = csr_array(
        (np.arange(n_listed, 0.0, -1), ([0] * n_listed, np.arange(10, 10 + n_listed))),
        shape=(1, n_labels),
    )
    discounts = 1 / np.log2(np.arange(2.0, n_labels + 2))
    mean = discounts[n_listed:].mean()
    options: dict[str, Any] = {"metrics": ["dcg@all", "ndcg@all"], "n_labels": n_labels}
    report = evaluate(truth, scores, conventions="unlisted=0,ties=expected_dcg", **options)
    assert report["dcg@all"] == pytest.approx(2 * mean, rel=1e-12)
    assert report["ndcg@all"] == pytest.approx(2 * mean / discounts[:2].sum(), rel=1e-12)
    in_order = evaluate(truth, scores, conventions="unlisted=0", **options)
    expected = discounts[n_listed + 5] + discounts[-1]
    assert in_order["dcg@all"] == pytest.approx(expected, rel=1e-12)


def test_expected_measures_of_more_ranks_than_labels_divide_by_all_ranks() -> None:
    """The labels are of gain 1, 2 and 4; two of the three tie."""
    truth = np.array([[1, 1, 0], [0, 0, 1]])
    scores = np.array([[1.0, 1.0, 0.5]] * 2)
    report = evaluate(
        truth,
        scores,
        metrics=["psp_raw@5", "psr_raw@5", "p@5"],
        inverse_propensity=[1, 2, 4],
        conventions="ties=expected",
        per_row=True,
    )
    expected = {"psp_raw@5": [3 / 5, 4 / 5], "psr_raw@5": [3 / 2, 4], "p@5": [2 / 5, 1 / 5]}
    for name, column in expected.items():
        assert report.per_row()[name].tolist() == pytest.approx(column, rel=1e-15)
        assert report[name] == pytest.approx(np.mean(column), rel=1e-15)
