"""Models over several data sets: from files of results, and from what people have in memory."""

from __future__ import annotations

from pathlib import Path

from tests.examples import S, T
from tests.first_hour.task import Task
from xmleval import evaluate
from xmleval.report.comparison import Comparison

MODELS = {"bert.npz": S, "knn.npz": -S, "xlnet.npz": S[:, ::-1]}


def make(folder: Path) -> None:
    """Write results of three models on two data sets, of two on a third, and of one model."""
    (folder / "results").mkdir()
    for data_set, truth in (("bibtex", T), ("eurlex", T[::-1])):
        reports = {
            name: evaluate(truth, scores, metrics=["p@1", "coverage"]) for name, scores in MODELS.items()
        }
        (folder / "results" / f"{data_set}.json").write_text(Comparison(reports).to_json())
    del reports["xlnet.npz"]
    (folder / "wiki.json").write_text(Comparison(reports).to_json())
    (folder / "one.json").write_text(reports["bert.npz"].to_json())


FILES = "results/bibtex.json results/eurlex.json"
VALUES = "values = {'bibtex': {'lr': 0.64, 'knn': 0.58}, 'eurlex': {'lr': 0.69, 'knn': 0.66}}; "
REPORTS = "a, b = (xmleval.evaluate(np.eye(3), np.eye(3)[rows]) for rows in ([0, 1, 2], [2, 0, 1])); "

TASKS = [
    Task(f"xmleval rank {FILES}", ("P@1 ↑", "Coverage ↓", "average rank", "Nemenyi", "exit code 0")),
    Task("xmleval rank results --metric precision@1 --control bert", ("Bonferroni-Dunn", "exit code 0")),
    Task("xmleval rank results --metric coverage --format latex", (r"\begin{tabular}", "average rank")),
    Task(f"xmleval rank {FILES} wiki.json", ("no value of xlnet.npz on wiki", "--leave-out models")),
    Task(f"xmleval rank {FILES} wiki.json --leave-out models", ("left out", "xlnet.npz", "exit code 0")),
    Task("xmleval rank results/bibtex.json", ("1 data set; average ranks need 2 or more", "exit code 2")),
    Task("xmleval rank one.json wiki.json", ("one.json: has one model", "xmleval evaluate TRUTH A B")),
    Task(f"xmleval rank {FILES} --metric pp@1", ("unknown measure 'pp'; did you mean", "exit code 2")),
    Task(f"xmleval rank {FILES} --metric p@5", ("'p@5' is not in this report; it has p@1",)),
    Task(f"xmleval rank {FILES} --control brt", ("'brt' is none of the models; did you mean bert",)),
    Task("xmleval rank result/*.json", ("result/*.json: no .json file is there", "exit code 2")),
    Task(VALUES + "xmleval.rank(values, 'p@5')", ("P@5 ↑", "0.6400 (1)", "for two models")),
    Task(
        VALUES + "xmleval.rank(values)",
        ("numbers do not tell which are better; give metric= or higher_is_better=",),
    ),
    Task(
        REPORTS + "xmleval.rank({'a': a, 'b': b}, 'p@1')", ("'a' is one Report; expected for each data set",)
    ),
    Task(
        REPORTS + "xmleval.rank({'x': {'a': a, 'b': b}, 'y': {'a': b, 'b': a}}, 'P@1').groups",
        ("[['a', 'b']]",),
    ),
    Task(
        "import pandas as pd; df = pd.DataFrame({'lr': [0.6, 0.7], 'knn': [0.5, 0.8]}, ['bibtex', 'wiki']); "
        "xmleval.rank(df, higher_is_better=True)",
        ("bibtex", "0.6000 (1)", "average rank"),
        ("pandas",),
    ),
]
