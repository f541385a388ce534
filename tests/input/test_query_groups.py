"""Values of queries one after another, by sizes or query ids, as learning to rank has them."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, compare, evaluate, from_groups

SIZES = [3, 1, 4, 2]
GRADES = np.array([2, 0, 1, 1, 0, 3, 0, 1, 0, 2])
SCORES = np.array([0.5, 0.75, 0.25, 0.5, 0.5, 0.125, 0.75, 0.5, 0.25, 0.375])
QUERIES = [7, 30, 4, 9]
QID = np.repeat(QUERIES, SIZES)
METRICS = ["ndcg@2", "ndcg@all", "mrr@all", "p@1"]


def dcg(gains: list[float]) -> float:
    return float(sum(gain / np.log2(place + 2) for place, gain in enumerate(gains)))


def mean_ndcg(k: int) -> float:
    """Return the mean nDCG of the queries with linear gains; of equal scores, the last is first."""
    stops = np.cumsum(SIZES)
    values = []
    for start, stop in zip(stops - SIZES, stops, strict=True):
        grades = GRADES[start:stop].tolist()
        keys = [(-SCORES[start + place], -place) for place in range(len(grades))]
        order = sorted(range(len(grades)), key=keys.__getitem__)
        ideal = dcg(sorted(grades, reverse=True)[:k])
        values.append(dcg([grades[place] for place in order[:k]]) / ideal if ideal else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_ndcg_is_the_mean_over_queries(k: int) -> None:
    options: dict[str, Any] = {"metrics": f"ndcg@{k}", "conventions": "gains=linear"}
    for by in ({"sizes": SIZES}, {"qid": QID}):
        report = evaluate(from_groups(GRADES, **by), from_groups(SCORES, **by), **options)
        assert report[f"ndcg@{k}"] == pytest.approx(mean_ndcg(k), abs=1e-15)
        assert report.n_rows == len(SIZES)


@pytest.mark.parametrize("kind", [list, np.array, "series"])
def test_sizes_and_query_ids_of_any_kind_give_one_report(kind: Any) -> None:
    if kind == "series":
        kind = pytest.importorskip("pandas").Series
    expected = dict(
        evaluate(from_groups(GRADES, SIZES), from_groups(SCORES, SIZES), metrics=METRICS)
    )
    names = [f"q{query}" for query in QID]
    for by in ({"sizes": kind(SIZES)}, {"qid": kind(QID)}, {"qid": kind(names)}):
        truth = from_groups(kind(GRADES), **by)
        run = from_groups(kind(SCORES), **by)
        assert dict(evaluate(truth, run, metrics=METRICS)) == expected
        models = {"a": run, "b": from_groups(-SCORES, **by)}
        compared = compare(truth, models, metrics=METRICS)
        assert dict(compared["a"]) == expected
        assert dict(compared["b"]) != expected


def test_queries_match_by_id_and_sizes_in_order() -> None:
    """Rows of another order of queries are those of the same id."""
    places = np.split(np.arange(len(QID)), np.cumsum(SIZES)[:-1])
    expected = dict(
        evaluate(from_groups(GRADES, SIZES), from_groups(SCORES, SIZES), metrics=METRICS)
    )
    truth = from_groups(GRADES, qid=QID)
    for order in itertools.permutations(range(len(SIZES))):
        moved = np.concatenate([places[query] for query in order])
        run = from_groups(SCORES[moved], qid=QID[moved])
        assert dict(evaluate(truth, run, metrics=METRICS)) == expected
    reversed_sizes = from_groups(SCORES, SIZES[::-1])
    assert (
        dict(evaluate(from_groups(GRADES, SIZES[::-1]), reversed_sizes, metrics=METRICS))
        != expected
    )


def test_batches_and_merges_of_queries_give_one_report() -> None:
    expected = dict(
        evaluate(from_groups(GRADES, SIZES), from_groups(SCORES, SIZES), metrics=METRICS)
    )
    names = [*map(str, range(max(SIZES)))]
    evaluators = []
    whole = Evaluator(METRICS, labels=names)
    stops = np.cumsum(SIZES)
    for start, stop in zip(stops - SIZES, stops, strict=True):
        qid = QID[start:stop]
        truth = from_groups(GRADES[start:stop], qid=qid)
        run = from_groups(SCORES[start:stop], qid=qid)
        evaluator = Evaluator(METRICS, labels=names)
        evaluator.update(truth, run)
        whole.update(truth, run)
        evaluators.append(evaluator)
    assert dict(whole.compute()) == expected
    with pytest.raises(ValueError, match=r"^merge: 1 row probably has the same key in both"):
        whole.merge(evaluators[2])
    first, *others = evaluators
    for other in others[::-1]:
        first.merge(other)
    assert dict(first.compute()) == expected


def test_batches_and_merges_of_sizes_give_one_report() -> None:
    expected = evaluate(from_groups(GRADES, SIZES), from_groups(SCORES, SIZES), metrics=METRICS)
    names = [*map(str, range(max(SIZES)))]
    whole = Evaluator(METRICS, labels=names)
    parts = [Evaluator(METRICS, labels=names) for _ in range(2)]
    for part, (start, stop, sizes) in zip(parts, ((0, 4, [3, 1]), (4, 10, [4, 2])), strict=True):
        truth = from_groups(GRADES[start:stop], sizes)
        run = from_groups(SCORES[start:stop], sizes)
        whole.update(truth, run)
        part.update(truth, run)
    assert dict(whole.compute()) == dict(parts[0].merge(parts[1]).compute()) == dict(expected)


ONE_OF = "sizes: expected one of sizes and qid, the queries of the values"


@pytest.mark.parametrize(
    ("values", "by", "message"),
    [
        ([1, 0], {}, ONE_OF),
        ([1, 0], {"sizes": [2], "qid": [1, 1]}, ONE_OF),
        (
            [1, 0],
            {"sizes": [1]},
            "sizes: add up to 1, but there are 2 values; give the number of labels of each query",
        ),
        (
            [1, 0],
            {"sizes": [2, 1]},
            "sizes: add up to 3, but there are 2 values; give the number of labels of each query",
        ),
        ([1, 0], {"sizes": 2}, "sizes: 2 is not a list or an array"),
        (
            [1, 0],
            {"sizes": [1.0, 1.0]},
            "sizes: expected integers, the number of labels of each query",
        ),
        (
            [1, 0],
            {"sizes": [[2]]},
            "sizes: expected integers, the number of labels of each query",
        ),
        (
            [1, 0],
            {"sizes": [3, -1]},
            "sizes: -1 at place 1 is not a number of labels; leave out queries without labels",
        ),
        (
            [1, 0],
            {"sizes": [0, 2]},
            "sizes: 0 at place 0 is not a number of labels; leave out queries without labels",
        ),
        ([1, 0], {"qid": [1]}, "qid: expected 2 values, one for each label"),
        ([1, 0], {"qid": [1, 1, 2]}, "qid: expected 2 values, one for each label"),
        ([1], {"qid": np.array([1, 1])}, "qid: expected 1 value, one for each label"),
        ([1, 0], {"qid": 3}, "qid: 3 is not a list or an array"),
        ([[1, 0]], {"sizes": [2]}, "values: shape (1, 2) is not (n,); give a value for each label"),
        (1.0, {"sizes": [1]}, "values: shape () is not (n,); give a value for each label"),
    ],
)
def test_from_groups_refuses_by_argument(values: Any, by: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        from_groups(values, **by)


def test_queries_by_sizes_do_not_match_rows_with_names() -> None:
    by_size = from_groups(SCORES, SIZES)
    with pytest.raises(ValueError, match="y_score"):
        evaluate(from_groups(GRADES, qid=[f"q{query}" for query in QID]), by_size, metrics="p@1")
    other = from_groups(SCORES, [2, 2, 4, 2])
    message = "y_score: row '0' has 2 labels, but 3 in y_true; labels without a column are"
    with pytest.raises(ValueError, match=f"^{message}"):
        evaluate(from_groups(GRADES, SIZES), other, metrics="p@1")
