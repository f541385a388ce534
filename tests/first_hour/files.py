"""Files of tags and of other tools, as people have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
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
    (folder / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t2\n")
    (folder / "qrels.json").write_text('{"q1": {"d1": 1}, "q2": {"d3": 2, "d1": 0}}')
    (folder / "run.json").write_text('{"q1": {"d1": 9.5}, "q2": {"d2": 7.5, "d3": 7}}')
    (folder / "bm25.run").write_text("q1 Q0 d1 1 9.5 bm25\nq2 Q0 d2 1 7.5 bm25\n")
    (folder / "tst_labels.txt").write_text(
        "\n".join(" ".join(map(str, np.flatnonzero(row))) for row in Y_TEST) + "\n"
    )
    sp.save_npz(folder / "Y_docs.npz", sp.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])))
    (folder / "classes.txt").write_text("python\nsorting\nsql\njoins\n")
    (folder / "model.csv").write_text("pred\npython;sorting\nsql\njoins\n")
    np.savez(folder / "faiss.npz", I=LABELS, D=np.sort(SCORES, axis=1))
    np.savez(folder / "both.npz", labels=LABELS, ids=LABELS, scores=SCORES)
    (folder / "libmultilabel.txt").write_text("a:0.9 c:0.1\nb:0.5 c:0.4\n")
    (folder / "header.txt").write_text("2 3 4\n1\n0\n4\n")
    (folder / "docs.jsonl").write_text(SCORED)
    (folder / "names.txt").write_text("a b\nc\n")
    (folder / "scored.csv").write_text("id,labels,score\n1,c++;sql,0.1;0.9\n2,sql,0.5\n3,sql,0.3\n")
    (folder / "pred.csv").write_text("id,labels\n3,c++\n1,sorting;python\n2,sql\n")
    (folder / "spaces.csv").write_text("tags,predicted\nc++ stl,c++\njava,java\n")
    (folder / "pandas.csv").write_text("true,pred\n\"['a', 'b']\",\"['a']\"\n[],\"['c']\"\n")
    (folder / "mixed.csv").write_text('labels,predicted\n"Paris, France;London",London\n')
    (folder / "tuples.csv").write_text("true,pred\n\"('a', 'b')\",\"{'a'}\"\n(),set()\n")
    (folder / "slashes.csv").write_text("tags,predicted\na/b,b/a\nc,c/a\n")
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
    Task("xmleval evaluate tuples.csv", ("2 rows x 2 labels", "exit code 0")),
    Task("xmleval evaluate mixed.csv", ("';' and ','", "--separator", "exit code 2")),
    Task("xmleval evaluate mixed.csv --separator ';'", ("exit code 0",)),
    Task("xmleval evaluate docs.csv --separator ,", ("--separator ';' cuts 'python;sorting'", "exit code 0")),
    Task("xmleval evaluate slashes.csv", ("no label of it is in the truth", "--separator '/' cuts both")),
    Task("xmleval evaluate slashes.csv --separator /", ("0.8571", "exit code 0")),
    Task("xmleval evaluate topics.csv", ("'key', 'topics', 'model'", "--true-field", "exit code 2")),
    Task("xmleval evaluate topics.csv --true-field topics", ("--pred-field names it", "exit code 2")),
    Task("xmleval evaluate topics.csv --true-field topics --pred-field model", ("exit code 0",)),
    Task("xmleval stats topics.csv --true-field topics", ("label_cardinality", "exit code 0")),
    Task("xmleval convert pred.csv p.npz --kind scores --like docs.csv", ("taken best first", "exit code 0")),
    Task("xmleval evaluate Y_docs.npz model.csv", ("--labels with the names of its columns", "exit code 2")),
    Task(
        "xmleval evaluate Y_docs.npz model.csv --labels classes.txt --metrics p@1", ("1.0000", "best first")
    ),
    Task("xmleval evaluate docs --metrics p@1", ("did you mean docs.csv?", "exit code 2")),
    Task(
        "xmleval evaluate run.json qrels.json",
        ("9.5 is no relevance, an integer; it looks like a score, as if TRUTH, which comes first, and",),
    ),
    Task(
        "xmleval evaluate bm25.run test.tsv",
        ("bm25.run: predictions have names (test.tsv); it holds predictions: TRUTH comes first",),
    ),
    Task(
        "xmleval evaluate tst_labels.txt faiss.npz --metrics p@1",
        ("rise along every row", "--lower-is-better"),
    ),
    Task(
        "xmleval evaluate tst_labels.txt both.npz",
        ("'labels' and 'ids' can both be the labels", "exit code 2"),
    ),
    Task("xmleval stats header.txt", ("header", "--input-format lines", "exit code 2")),
    Task("xmleval stats header.txt --input-format lines", ("4", "exit code 0")),
    Task("xmleval evaluate names.txt libmultilabel.txt", ("of names on each line, --input-format lines",)),
    Task("xmleval evaluate names.txt libmultilabel.txt --input-format lines --metrics p@1", ("0.5000",)),
    Task("xmleval evaluate docs.csv scored.csv --metrics p@1", ("'score' not read (--score-field reads",)),
    Task("xmleval stats docs.csv", ("label_cardinality", "exit code 0")),
]
