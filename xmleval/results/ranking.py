"""Average ranks of models over data sets, in the printed forms of Demsar 2006."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.results.record import Lines, Number, as_shown
from xmleval.results.result import Result
from xmleval.results.saved_results import known_spec
from xmleval.show.tables import Cell, Table, short, short_names
from xmleval.statistics.friedman import OmnibusTest
from xmleval.version import __version__

if TYPE_CHECKING:
    from xmleval.results.figures import Kind


class Rank(NamedTuple):
    """The value of a model on a data set, and its rank there."""

    data_set: str
    model: str
    value: float
    rank: float


@dataclass(frozen=True, eq=False)
class Ranking(Result[Rank]):
    """Models in the order of their average ranks over data sets, and which of them differ.

    Parameters
    ----------
    metric : str or None
        Name of the measure, if it has one.
    higher_is_better : bool
        Whether higher values are better.
    alpha : float
        Level of significance.
    control : str or None
        Model with which all others are compared, if not all pairs are.
    n_data_sets : int
        Number of data sets.
    average_ranks : dict of str to float
        Average rank of each model, the best (lowest) first; ties share the average of their ranks.
    ranks, values : dict of str to dict of str to float
        Rank and value of each model on each data set.
    friedman, iman_davenport : OmnibusTest
        ``statistic``, ``degrees_of_freedom`` and ``p_value`` of Friedman's chi-square and of Iman and
        Davenport's F, as in Demsar 2006, that is without a correction for ties.
    corrected : dict of str to OmnibusTest
        Both with that correction, as in SciPy, where there are ties.
    critical_difference : float
        Average ranks that differ by this or more are significantly different: by Nemenyi's test for all
        pairs, or by that of Bonferroni and Dunn for all with ``control``.
    groups : list of list of str
        Longest runs of models, in the order of ranks, of which no two are significantly different: the bars
        of a critical difference diagram. With a control, the one run of those that do not differ from it.
    notes : list of str
        What was left out, and what the tests do not tell.

    Examples
    --------
    >>> values = {"bibtex": {"svm": 0.4, "tree": 0.5}, "enron": {"svm": 0.5, "tree": 0.7}}
    >>> ranking = rank(values, "p@1")
    >>> ranking.average_ranks
    {'tree': 1.0, 'svm': 2.0}
    """

    metric: str | None
    higher_is_better: bool
    alpha: float
    control: str | None
    n_data_sets: int
    average_ranks: dict[str, float]
    ranks: dict[str, dict[str, float]] = field(repr=False)
    values: dict[str, dict[str, float]] = field(repr=False)
    friedman: OmnibusTest
    iman_davenport: OmnibusTest
    corrected: dict[str, OmnibusTest]
    critical_difference: float
    groups: list[list[str]]
    notes: list[str]

    @property
    def symbol(self) -> str:
        """The measure as tables and figures name it."""
        return next((spec.symbol for spec in self._specs()), self.metric or "value")

    def _title(self) -> str:
        n_models = counted(len(self.average_ranks), "models")
        return f"values (ranks) of {n_models} on {counted(self.n_data_sets, 'data sets')}"

    def _specs(self, of_tables: bool = True) -> list[Spec]:
        spec = known_spec(self.metric or "")
        return [] if spec is None else [spec]

    def records(self) -> list[Rank]:
        return [
            Rank(data_set, model, self.values[data_set][model], rank)
            for data_set, ranks in self.ranks.items()
            for model, rank in ranks.items()
        ]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        return ((spec, each.value) for spec in self._specs() for each in self.records())

    def tables(self, number: Number = as_shown) -> list[Table]:
        specs = self._specs()
        head = Cell(self.symbol, "up" if self.higher_is_better else "down")
        rows = {data_set: [Cell(data_set)] for data_set in self.ranks}
        for data_set, _, value, rank in self.records():
            shown = number(specs[0], value) if specs else short(value)
            rows[data_set].append(Cell(f"{shown} ({rank:g})"))
        last = [Cell("average rank"), *(Cell(short(rank)) for rank in self.average_ranks.values())]
        return [Table(self._title(), [[head, *map(Cell, self.names.values())], *rows.values(), last])]

    def _paper(self, number: Number, models: str, percent: bool) -> tuple[list[Table], str]:
        (table,) = self.tables(number)
        return [table._replace(rows=[*zip(*table.rows, strict=True)]) if models == "rows" else table], ""

    def footnotes(self) -> list[str]:
        lines = [_test_text(self.friedman, self.iman_davenport)]
        if self.corrected:
            lines.append(f"corrected for ties: {_test_text(**self.corrected)}")
        test = "Bonferroni-Dunn" if self.control else "Nemenyi"
        lines.append(f"critical difference {short(self.critical_difference)} ({test}, alpha {self.alpha:g})")
        names, to = self.names, f" from {self.names[self.control]}" if self.control else ""
        for group in self.groups:
            similar = ", ".join(names[model] for model in group if model != self.control)
            lines.append(f"not significantly different{to}: {similar}")
        if not self.groups:
            lines.append(f"all significantly different{to}")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    @property
    def names(self) -> dict[str, str]:
        """Short names of the models, which tables, figures and pages have (@private)."""
        return dict(zip(self.average_ranks, short_names([*self.average_ranks]), strict=True))

    def _kinds(self) -> Mapping[str, Kind]:
        from xmleval.results.figures import Kind, draw_average_ranks, draw_critical_differences

        return {
            "critical_difference": Kind(lambda new_axes, *_: draw_critical_differences([self], new_axes)),
            "average_ranks": Kind(lambda new_axes, *_: draw_average_ranks([self], new_axes)),
        }

    def to_html(self, title: str | None = None, *, about: Mapping[str, str] | None = None) -> str:
        from xmleval.results.pages import page_of_ranks

        return page_of_ranks([self], title, about)

    def _lines(self, bounded: bool) -> Lines:
        return rank_lines([self])

    def _members(self) -> dict[str, Any]:
        return {**vars(self), "version": __version__}


def _test_text(friedman: OmnibusTest, iman_davenport: OmnibusTest) -> str:
    tests = {"Friedman chi-square": friedman, "Iman-Davenport F": iman_davenport}
    return "; ".join(
        f"{name} {test.statistic:.4g} ({', '.join(map(str, test.degrees_of_freedom))}), p {test.p_value:.3g}"
        for name, test in tests.items()
    )


def rank_lines(rankings: Sequence[Ranking]) -> Lines:
    """Return a line of CSV for each model of each ranking."""
    data_sets = [*dict.fromkeys(name for ranking in rankings for name in ranking.ranks)]
    header = ["metric", "model", "average_rank", *(f"rank on {name}" for name in data_sets)]
    lines = []
    for ranking in rankings:
        for model, average in ranking.average_ranks.items():
            ranks = (ranking.ranks.get(name, {}).get(model) for name in data_sets)
            lines.append([ranking.metric or "", model, average, *ranks])
    return header, lines
