"""Pages and figures: what is typed, mistakes included."""

from __future__ import annotations

from tests.first_hour.comparing import MODELS, make
from tests.first_hour.task import Task

__all__ = ["TASKS", "make"]

NEEDS = "matplotlib", "jinja2"
TWO = "Y.npz bert.npz tree.npz"
TASKS = [
    Task(f"xmleval report {TWO} --metrics p@1 --labels names.txt --output r.html", ("exit code 0",), NEEDS),
    Task(f"xmleval report {TWO}", ("--output", "exit code 2")),
    Task(f"xmleval report {TWO} --output no/r.html", ("its folder does not exist", "exit code 2"), NEEDS),
    Task(f"xmleval plot {TWO} --kind cutoffs --metrics p@1 --output k.svg", ("exit code 0",), NEEDS),
    Task(f"xmleval plot {TWO} --kind rok --output k.svg", ("roc", "exit code 2")),
    Task(f"xmleval plot {TWO} --kind roc --output k.gif", (".png, .svg, .pdf", "exit code 2"), NEEDS),
    Task(f"xmleval plot {TWO} --kind groups --output k.svg", ("needs --label-groups", "exit code 2"), NEEDS),
    Task(
        f"{MODELS}\nfound = xmleval.compare({{'a': a, 'b': b}}, Y, metrics='p@1', worst=3)\n"
        "[text in found.to_html() for text in ('Rows that changed most', 'list of b')]",
        ("[True, True]",),
        NEEDS,
    ),
    Task(
        f"{MODELS}\nxmleval.evaluate(Y, a, metrics=['p@1', 'p@3'], per_label=['p@3']).per_label().keys()",
        ("'tp@3'", "'f1@3'"),
    ),
    Task(
        f"{MODELS}\nxmleval.evaluate(Y, a, metrics=['p@1'], per_label='p@1')",
        ("per_label: 'p@1' is neither True nor False nor a list of measures",),
    ),
    Task(
        f"{MODELS}\nxmleval.evaluate(Y, a, metrics=['p@1']).plot('roc')",
        ("kind: 'roc' needs scores, and curve_points=",),
        NEEDS,
    ),
]
