"""Figures and pages of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xmleval.base.errors import import_optional
from xmleval.show.diagrams import Diagram, average_ranks, draw_critical_differences
from xmleval.show.drawing import draw
from xmleval.show.page import Figure, Page, Section, as_page
from xmleval.show.panels import Panel
from xmleval.show.tables import Table
from xmleval.version import __version__

if TYPE_CHECKING:
    from xmleval.results.ranking import Ranking

KINDS = "critical_difference", "average_ranks"


def plot_rank(ranking: Ranking, kind: str = KINDS[0], ax: Any = None, new_figure: Any = None) -> Any:
    """Draw a kind of figure of a ranking, and return the axes."""
    if kind == "average_ranks":
        return draw([_dots([ranking])], ax)
    if kind not in KINDS:
        raise ValueError(f"kind: {kind!r} is none of {', '.join(KINDS)}")
    return draw_critical_differences([_diagram(ranking)], ax, new_figure)


def plot_ranks(rankings: Sequence[Ranking]) -> Any:
    """Draw the critical differences of rankings by one or more measures, and return the axes of each."""
    several = len(rankings) > 1
    return draw_critical_differences([_diagram(one, _symbol(one) if several else "") for one in rankings])


def _diagram(ranking: Ranking, title: str = "") -> Diagram:
    names = ranking.shown_names()
    return Diagram(
        title,
        {names[model]: rank for model, rank in ranking.average_ranks.items()},
        ranking.critical_difference,
        [[names[model] for model in group] for group in ranking.groups],
        None if ranking.control is None else names[ranking.control],
    )


def page_of_ranks(
    rankings: Sequence[Ranking], title: str | None = None, about: Mapping[str, str] | None = None
) -> str:
    """Return a page of rankings by one or more measures."""
    import_optional("matplotlib", "to_html()", "html")
    from matplotlib.figure import Figure as Drawn  # only here: few look at pictures

    several = Figure("Average ranks", "Average rank of each model by each measure.", [_dots(rankings)])
    figures = [several] if len(rankings) > 1 else []
    for ranking in rankings:
        drawn = plot_rank(ranking, new_figure=Drawn).figure
        text = "Models that a bar joins are not significantly different."
        if ranking.control is not None:
            control = ranking.shown_names()[ranking.control]
            text = f"Models within the bar are not significantly different from {control}, the control."
        heading = (
            f"Critical differences by {_symbol(ranking)}" if len(rankings) > 1 else "Critical differences"
        )
        figures.append(Figure(heading, text, [_dots([ranking])], drawn=drawn))
    lines = [line for ranking in rankings for line in _footnotes(ranking, len(rankings) > 1)]
    tables = [Table(f"{_symbol(one)}: {one.size()}", one.grid_of(one.shown_names())) for one in rankings]
    best = [_best(ranking) for ranking in rankings]
    results = Section("Results", tables, lines)
    told = {"xmleval": __version__} | dict(about or {})
    return as_page(Page(title or "Ranking of models", best, results, figures, about=told))


def _dots(rankings: Sequence[Ranking]) -> Panel:
    ranks = {}
    for ranking in rankings:
        names = ranking.shown_names()
        ranks[_symbol(ranking)] = {names[model]: rank for model, rank in ranking.average_ranks.items()}
    return average_ranks(ranks)


def _symbol(ranking: Ranking) -> str:
    return ranking.measure.spec.symbol if ranking.measure.spec else ranking.metric or "value"


def _footnotes(ranking: Ranking, several: bool) -> list[str]:
    lines = ranking.footnotes_of(ranking.shown_names())
    return [f"{_symbol(ranking)}: {line}" if several else line for line in lines]


def _best(ranking: Ranking) -> str:
    """Return the best model and those that do not differ from it, in a sentence."""
    names = ranking.shown_names()
    best, rank = next(iter(ranking.average_ranks.items()))
    control, told = ranking.control, ""
    if control in (None, best):
        near = next((own for own in ranking.groups if best in own), [best])
        others = ", ".join(names[model] for model in near if model != best)
        told = (
            f"no significant difference is seen to {others}" if others else "all others differ significantly"
        )
    else:
        seen = "no significant" if any(best in own for own in ranking.groups) else "a significant"
        told = f"{seen} difference is seen to {names[control]}, the control"
    return f"{names[best]} has the best average rank by {_symbol(ranking)}, {rank:.3g}; {told}."
