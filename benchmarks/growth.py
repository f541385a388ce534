"""Growth of time with stored scores, for a fixed number of labels, and with labels, for fixed scores."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.serve import run
from benchmarks.workloads import Size, Workload, generate_size

DEPTH, ROW_MEAN, HEAD_SHARE = 100, 5.0, 0.05
ENTRIES, FIXED_LABELS = (10**5, 10**6, 10**7, 10**8), 100_000
LABELS, FIXED_ENTRIES = (10**3, 10**4, 10**5, 10**6, 3 * 10**6), 10**7
BUDGET = 2.0
Given = Callable[[Workload], dict[str, Any]]


def deep_lists(workload: Workload) -> dict[str, Any]:
    """Top-100 arrays, with propensities."""
    return {**ours.stored_scores(workload), "inverse_propensity": workload.propensity}


CASES: dict[str, tuple[list[str], Given, int]] = {  # measures, arguments, stored entries per row
    "P, nDCG, R, PSP, PSnDCG, top-100 arrays": (ours.AT_K, deep_lists, DEPTH),
    "P, nDCG, R, PSP, PSnDCG, CSR": (ours.AT_K, ours.matrix_of_scores, DEPTH),
    "one-error to row AUC, top-100 arrays": (ours.RANKING, ours.stored_scores, DEPTH),
    "micro-AUC, top-100 arrays": (["auc.micro"], ours.stored_scores, DEPTH),
    "F1 micro, macro, of rows, sparse sets": (ours.SETS, ours.predicted_sets, 5),
}


def measure_growth(scale: float) -> dict[str, Any]:
    """Return seconds by case, number of entries and number of labels."""
    by_entries = [point for n in ENTRIES for point in measure(int(n * scale), FIXED_LABELS)]
    by_labels = [point for n in LABELS for point in measure(int(FIXED_ENTRIES * scale), n)]
    return {"by_entries": by_entries, "by_labels": by_labels}


def measure(n_entries: int, n_labels: int) -> list[dict[str, Any]]:
    """Time each case on a workload of a given size."""
    rows = max(10, n_entries // DEPTH)
    workload = generate_size("growth", Size(rows, n_labels, ROW_MEAN, HEAD_SHARE, 4 * rows), DEPTH)
    points = []
    for title, (metrics, given, stored) in CASES.items():
        prepared = ours.evaluated(workload, given, metrics, None)
        run(prepared, 0)  # compiles, or loads compiled kernels
        runs, _ = run(prepared, BUDGET)
        seconds = statistics.median(sum(one.values()) for one in runs)
        points.append({"case": title, "entries": rows * stored, "labels": n_labels, "seconds": seconds})
    return points


def plot(found: dict[str, Any], records: list[dict[str, Any]], path: Path) -> bool:
    """Plot the results, with other libraries if there are records; False without matplotlib."""
    try:
        import matplotlib  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "xmleval", "font.size": 9}
    from matplotlib import pyplot

    figure, (entries, others, labels) = pyplot.subplots(1, 3, figsize=(13, 5.2), layout="constrained")
    draw_lines(entries, found["by_entries"], "entries")
    bounds = [f(point["entries"] for point in found["by_entries"]) for f in (min, max)]
    entries.plot(bounds, [n * 1e-9 for n in bounds], "k:", label="1 ns per stored entry")
    entries.set(title=f"xmleval, {FIXED_LABELS:,} labels", xlabel="stored entries", ylabel="seconds")
    draw_lines(labels, found["by_labels"], "labels")
    n_entries = max(point["entries"] for point in found["by_labels"])
    labels.set(title=f"xmleval, {n_entries:.0e} stored scores", xlabel="labels")
    draw_libraries(others, records)
    others.set_visible(bool(records))
    for axes in (entries, labels, *([others] if records else [])):
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8, frameon=False)
    for axes in (entries, others, labels):
        axes.minorticks_off()  # they would make up most of the file
    spans = entries.get_ylim(), labels.get_ylim()
    for axes in (entries, labels):
        axes.set_ylim(min(span[0] for span in spans), max(span[1] for span in spans))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def draw_lines(axes: Any, points: list[dict[str, Any]], along: str) -> None:
    """Draw a line for each case."""
    for title in dict.fromkeys(point["case"] for point in points):
        own = [point for point in points if point["case"] == title]
        axes.plot([point[along] for point in own], [point["seconds"] for point in own], "o-", label=title)


def draw_libraries(axes: Any, records: list[dict[str, Any]]) -> None:
    """Draw points by library (colour) and family (marker)."""
    marks = {"at_k_lists": ("o", "top-5"), "at_k_matrix": ("s", "CSR"), "micro_auc": ("^", "micro-AUC")}
    known = [r for r in records if "seconds" in r and r["family"] in marks and "=" not in r["library"]]
    colours = {name: f"C{i}" for i, name in enumerate(dict.fromkeys(r["library"] for r in known))}
    for library, colour in colours.items():
        for family, (mark, title) in marks.items():
            own = [r for r in known if (r["library"], r["family"]) == (library, family)]
            if own:
                x, y = [r["entries"] for r in own], [r["seconds"] for r in own]
                axes.plot(x, y, mark, color=colour, label=f"{library}, {title}")
    axes.set(title="beside other libraries, W1 to W4", xlabel="stored entries")
