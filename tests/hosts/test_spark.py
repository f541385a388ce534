"""Evaluation in Spark: Arrow batches in, saved counts out, as docs/large-data.md shows it."""

from collections.abc import Iterator
from typing import Any

import pytest

from xmleval import Evaluator, evaluate

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
pyspark = pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
LABELS = ["art", "law", "war"]
ROWS = [
    (f"d{number}", [LABELS[number % 3]], {LABELS[number % 2]: 0.9, LABELS[2]: number / 40})
    for number in range(37)
]


def count(batches: Iterator[Any]) -> Iterator[Any]:
    evaluator = Evaluator(["p@1", "f1.macro@1", "auc.micro"], labels=LABELS)
    for batch in batches:
        rows = batch.to_pylist()
        truth = {row["id"]: row["tags"] for row in rows}
        scores = {row["id"]: dict(row["scores"]) for row in rows}
        evaluator.update(truth, scores)
    yield pa.RecordBatch.from_pydict({"state": [evaluator.to_bytes()]})


def test_partitions_of_spark_have_the_values_of_one_call() -> None:
    spark = pyspark.sql.SparkSession.builder.master("local[2]").getOrCreate()
    columns = "id string, tags array<string>, scores map<string, double>"
    documents = spark.createDataFrame(ROWS, columns).repartition(3)
    states = documents.mapInArrow(count, "state binary").collect()
    whole = Evaluator(["p@1", "f1.macro@1", "auc.micro"], labels=LABELS)
    for state in states:
        whole.merge(Evaluator.from_bytes(state["state"]))
    report = whole.compute()
    truth = {key: tags for key, tags, _ in ROWS}
    scores = {key: by_label for key, _, by_label in ROWS}
    metrics = ["p@1", "f1.macro@1", "auc.micro"]
    expected = evaluate(truth, scores, metrics=metrics, labels=LABELS)
    assert dict(report) == dict(expected)
    spark.stop()
