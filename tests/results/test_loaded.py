"""What is loaded from JSON prints and draws as what was written, in every form."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.results.models import GROUPS, MEASURES, MODELS, TRUTH, TWO, N, Q, compared, top
from xmleval import (
    Comparison,
    Comparisons,
    Diff,
    Ranking,
    Rankings,
    Report,
    Trend,
    compare,
    diff,
    evaluate,
    rank,
    trend,
)

OPTIONS: dict[str, Any] = {"metrics": MEASURES, **Q, **GROUPS}
CUT: dict[str, Any] = {
    "good": top(MODELS["good"], 2),
    "fair": top(MODELS["fair"], 5),
    "tied": np.ones(TRUTH.shape, np.float32),
}


def report(scores: Any = MODELS["fair"], **options: Any) -> Report:
    result: Report = evaluate(TRUTH, scores, **OPTIONS | options)
    return result


def groups_of_days() -> Trend:
    days = dict[str, Report]()
    for day, model in {"day1": "good", "day2": "fair", "day3": "same"}.items():
        days[day] = report(MODELS[model], confidence=0.9)
    return trend(days, ["p@1", "rare:ndcg@3"], min={"rare:p@1": 0.9, "ndcg@3": 0.1})


def ranks(metrics: Any) -> Any:
    results = {}
    for name, rows in [("first", slice(200)), ("second", slice(200, N))]:
        models = {model: scores[rows] for model, scores in MODELS.items()}
        results[name] = (TRUTH[rows], models)
    return rank(results, metrics)


def data_sets(**options: Any) -> Comparisons:
    halves = {
        "first": (TRUTH[:200], {name: scores[:200] for name, scores in TWO.items()}),
        "second": (TRUTH[200:], {name: scores[200:] for name, scores in MODELS.items()}),
    }
    result: Comparisons = compare(halves, metrics=["p@1", "ndcg@3"], **options)
    return result


def seeds(test: str | None) -> Comparison:
    noise = np.random.default_rng(1).normal(size=TRUTH.shape)
    models = {name: [scores, scores + noise] for name, scores in TWO.items()}
    if test is not None:
        return compare(TRUTH, models, seeds=True, test=test, **OPTIONS)
    reports = {}
    for name, runs in models.items():
        reports[name] = [report(each, confidence=0.9) for each in runs]
    return Comparison(reports)


def without_test(**options: Any) -> Comparison:
    reports = {name: report(scores) for name, scores in CUT.items()}
    return Comparison(reports, **options)


RESULTS: dict[str, Callable[[], Any]] = {
    "report": report,
    "report with intervals": lambda: report(confidence=0.9),
    "report of ten rows": lambda: evaluate(
        TRUTH[:10], MODELS["good"][:10], metrics=MEASURES[:3], confidence=0.95
    ),
    "report of calibration": lambda: report(
        metrics=["ece@3"], conventions="link=sigmoid", confidence=0.9
    ),
    "report with bounds": lambda: report(metrics=["lrap", "p@3"], bounds=True),
    "report of cut lists": lambda: report(scores=CUT["good"], bounds=True),
    "models without test": without_test,
    "models with complete lists": lambda: without_test(complete_lists=True),
    "models, some measures": lambda: without_test(only=["p@1", "ndcg@3"]),
    "seeds without test": lambda: seeds(None),
    "comparison": lambda: compared(per_row=False),
    "comparison of groups": lambda: compared(**GROUPS),
    "comparison of cut lists": lambda: compare(TRUTH, CUT, **OPTIONS),
    "comparison by ranks": lambda: compared(test="wilcoxon", baseline="fair", **GROUPS),
    "comparison of the same": lambda: compared(metrics=["p@1", "one_error", "hit@1"]),
    "comparison of ten rows": lambda: compared(rows=slice(10), metrics=["p@1", "r@3"]),
    "comparison with worst labels": lambda: compared(worst=3, metrics=["ndcg@3", "f1.macro@3"]),
    "comparison of seeds": lambda: seeds("t"),
    "data sets": data_sets,
    "data sets with worst labels": lambda: data_sets(worst=2),
    "data sets, one measure": lambda: compare(dict(data_sets(worst=2)), metrics=["ndcg@3"]),
    "diff": lambda: diff(TRUTH, *TWO.values(), metric="ndcg@3"),
    "diff by label": lambda: diff(TRUTH, *TWO.values(), metric="f1.macro@3", sample_weight=[2] * N),
    "ranking": lambda: ranks("p@1"),
    "rankings": lambda: ranks(["p@1", "ndcg@3"]),
    "trend": groups_of_days,
}
SLOW = (  # pages of many figures
    "report",
    "models with complete lists",
    "seeds without test",
    "comparison of seeds",
    "comparison by ranks",
    "comparison of cut lists",
)
CLASSES: list[Any] = [Report, Comparison, Comparisons, Diff, Ranking, Rankings, Trend]
TEXTS = ("to_text", "to_markdown", "to_latex", "to_csv", "_repr_html_", "to_json", "__repr__")


def loaded(result: Any, path: Path) -> Any:
    path.write_text(result.to_json())
    (result_class,) = [each for each in CLASSES if isinstance(result, each)]
    return result_class.load(path)


NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in RESULTS]


@pytest.mark.parametrize("name", NAMES)
def test_load_gives_every_form_of_what_was_written(name: str, tmp_path: Path) -> None:
    written = RESULTS[name]()
    read = loaded(written, tmp_path / "result.json")
    for form in TEXTS:
        assert getattr(read, form)() == getattr(written, form)(), form
    assert repr(read.records()) == repr(written.records())
    if not isinstance(written, Diff):
        # rows that changed most are saved where they were asked for
        headings = NOT_SAVED[:1] if "worst" in name else NOT_SAVED
        pages = [without_sections(each.to_html(), headings) for each in (read, written)]
        assert pages[0] == pages[1]


# sections of what rests on values by label and by row, which JSON does not hold
NOT_SAVED = ("Labels", "Rows that changed most", "Labels that changed most")


def without_sections(page: str, headings: Sequence[str]) -> str:
    """Return a page without some sections, and without the numbers of the others."""
    page = re.sub("section[0-9]+", "section", page)
    for heading in headings:
        page = page.replace(f'<li><a href="#section">{heading}</a></li>\n', "")
        section = f'<section id="section"[^>]*>\n<h2>{heading}</h2>.*?</section>\n'
        page = re.sub(section, "", page, flags=re.DOTALL)
    return page
