"""Files of tags and of other tools, as people have them."""

from __future__ import annotations

from pathlib import Path

from tests.first_hour.task import Task

DOCS = """id,title,tags,predicted
1,"Sort a list, fast",python;sorting,python;sorting
2,Join two tables,sql;joins,sql
3,Template errors,c++;templates,templates;c++
"""
SCORED = """{"id": 1, "tags": ["python", "sorting"], "predictions": {"python": 0.9, "sql": 0.4}}
{"id": 2, "tags": ["sql", "joins"], "predictions": [["sql", 0.7], ["joins", 0.2]]}
"""


def make(folder: Path) -> None:
    """Write documents with relevant and predicted labels."""
    (folder / "docs.csv").write_text(DOCS)
    (folder / "docs.jsonl").write_text(SCORED)
    (folder / "pred.csv").write_text("id,labels\n3,c++\n1,sorting;python\n2,sql\n")
    (folder / "spaces.csv").write_text("tags,predicted\nc++ stl,c++\njava,java\n")
    (folder / "pandas.csv").write_text("true,pred\n\"['a', 'b']\",\"['a']\"\n[],\"['c']\"\n")
    (folder / "mixed.csv").write_text('labels,predicted\n"Paris, France;London",London\n')
    (folder / "topics.csv").write_text("key,topics,model\n1,a|b,a\n")


TASKS = [
    Task("xmleval evaluate docs.csv", ("F1 micro", "taken as sets", "--ranked", "cut at ';'")),
    Task(
        "xmleval evaluate docs.csv --true-field tags --pred-field predicted --metrics f1.micro,p@1 --ranked",
        ("P ↑", "F1 micro", "taken as sets and best first"),
    ),
    Task("xmleval evaluate docs.csv --metrics p@1", ("exit code 2", "--ranked")),
    Task("xmleval evaluate docs.jsonl --metrics p@1,ndcg@3", ("nDCG", "relevant labels in 'tags'")),
    Task("xmleval evaluate docs.csv --pred pred.csv --metrics f1.samples", ("ids in 'id'", "as sets")),
    Task("xmleval evaluate docs.csv pred.csv --metrics p@1", ("best first", "exit code 0")),
    Task("xmleval evaluate spaces.csv", ("one label or several", "--separator ' '", "exit code 2")),
    Task("xmleval evaluate spaces.csv --separator ' '", ("F1 micro", "exit code 0")),
    Task("xmleval evaluate pandas.csv", ("F1 micro", "exit code 0")),
    Task("xmleval evaluate mixed.csv", ("';' and ','", "--separator", "exit code 2")),
    Task("xmleval evaluate mixed.csv --separator ';'", ("exit code 0",)),
    Task("xmleval evaluate topics.csv", ("'key', 'topics', 'model'", "--true-field", "exit code 2")),
    Task("xmleval evaluate topics.csv --true-field topics --pred-field model", ("exit code 0",)),
    Task("xmleval stats docs.csv", ("label_cardinality", "exit code 0")),
]
