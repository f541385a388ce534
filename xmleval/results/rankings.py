"""Models ranked over data sets by several measures, in one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from xmleval.base.errors import InputError, counted, shown, shown_names
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.rounding import subtract
from xmleval.results.comparison import LETTERS, shared_first
from xmleval.results.figures import Kind, diagrams_of_ranks, dots_of_average_ranks
from xmleval.results.pages import page_of_ranks
from xmleval.results.ranking import Rank, Ranking, rank_lines, read_ranking
from xmleval.results.record import AS_SHOWN, Footnote, Lines, Number
from xmleval.results.result import Facts, Result, Style
from xmleval.results.saved_results import (
    known_spec,
    naming_file,
    read_contents,
    refusing_damage,
)
from xmleval.show.tables import LATEX, Cell, Table, short, turned
from xmleval.version import __version__

SHARED_LETTERS = "ranks that share a letter are not significantly different"


class Rankings(Result[Rank], Mapping[str, Ranking]):
    """Average ranks of models over data sets by several measures.

    Rankings map the names of measures to their `Ranking`.

    Attributes
    ----------
    rankings : dict of str to Ranking
        By measure; at least one.
    notes : list of str
        What was left out, and what the tests do not tell; with the measure, unless all have it.

    Examples
    --------
    >>> values = {"p@1": 0.6, "ndcg@5": 0.7}, {"p@1": 0.5, "ndcg@5": 0.8}
    >>> results = {name: dict(zip(["svm", "tree"], values)) for name in ("bibtex", "enron")}
    >>> rankings = rank(results, ["p@1", "ndcg@5"])
    >>> rankings["ndcg@5"].average_ranks
    {'tree': 1.0, 'svm': 2.0}
    """

    _has_rows: ClassVar[Sequence[str]] = ("models", "measures")

    def __init__(self, rankings: Mapping[str, Ranking]) -> None:
        self.rankings = dict(rankings)
        first = next(iter(self.rankings.values()))
        self._names = dict(first._names)
        for ranking in self.rankings.values():
            self._names |= {
                model: name for model, name in ranking._names.items() if model not in self._names
            }
        notes = {name: [*map(Footnote, each.notes)] for name, each in self.rankings.items()}
        self.notes = [note.text for note in shared_first(notes, [*notes])]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Rankings:
        """Read rankings from JSON written by `to_json` or ``xmleval rank --output RANKS.json``.

        Parameters
        ----------
        path : path
            The file, which holds rankings by several measures; see `Ranking.load` for one.

        Raises
        ------
        ValueError
            If the file holds anything else.

        Examples
        --------
        >>> from pathlib import Path
        >>> values = {"bibtex": {"svm": {"p@1": 0.4}, "tree": {"p@1": 0.5}}}
        >>> values["enron"] = {"svm": {"p@1": 0.5}, "tree": {"p@1": 0.7}}
        >>> Path("ranks.json").write_text(rank(values, ["p@1"]).to_json()) > 0
        True
        >>> Rankings.load("ranks.json")["p@1"].average_ranks
        {'tree': 1.0, 'svm': 2.0}
        """
        file = as_path(path)
        with naming_file(file):
            contents = read_contents(file)
            if not contents.get("rankings"):
                raise ValueError("JSON without 'rankings'; expected rankings by several measures")
            with refusing_damage("rankings", "`xmleval rank`"):
                rankings = contents["rankings"].items()
                return Rankings({name: read_ranking(each) for name, each in rankings})

    def __getitem__(self, name: str) -> Ranking:
        """Return the ranking by a measure, in any spelling of its name."""
        for known in (name, str(known_spec(name))):
            if known in self.rankings:
                return self.rankings[known]
        there = shown_names(map(shown, self.rankings))
        raise KeyError(f"no ranking by {shown(name)}; there are {there}")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of measures."""
        return iter(self.rankings)

    def __len__(self) -> int:
        """Return the number of measures."""
        return len(self.rankings)

    def __repr__(self) -> str:
        """Return a short description."""
        models = ", ".join(self._names.values())
        return f"<Rankings: {models} by {', '.join(self.rankings)}>"

    def records(self) -> list[Rank]:
        return [record for ranking in self.rankings.values() for record in ranking.records()]

    def _title(self) -> str:
        n_data_sets = max(ranking.n_data_sets for ranking in self.rankings.values())
        models = counted(len(self._names), "models")
        return f"average ranks of {models} on {counted(n_data_sets, 'data sets')}"

    def _specs(self, in_tables: bool = True) -> list[Spec]:
        return [parse_spec(name) for name in self.rankings if known_spec(name) is not None]

    def _style(self, **options: Any) -> Style:
        given = {"percent": options.get("percent"), "digits": options.get("digits") is not None}
        for name, is_given in given.items():
            if is_given:
                raise InputError(name, "is for values; this table has average ranks")
        return super()._style(**options)

    def _printed(self) -> list[tuple[Spec, float]]:
        return []

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        header = [Cell("model")]
        lines = {model: [Cell(name)] for model, name in self._names.items()}
        differences = [Cell("critical difference")]
        p_values = [Cell("p of F")]
        for ranking in self.rankings.values():
            direction = "up" if ranking.higher_is_better else "down"
            header.append(Cell(ranking.symbol, direction))
            cells = _cells(ranking)
            for model, line in lines.items():
                line.append(cells.get(model, Cell("")))
            differences.append(Cell(short(ranking.critical_difference)))
            p_values.append(Cell(f"{ranking.iman_davenport.p_value:.3g}"))
        table = Table(f"{self._title()}; * best", [header, *lines.values(), differences, p_values])
        return [turned(table, "measure") if rows == "measures" else table]

    def _placed_footnotes(self) -> list[Footnote]:
        lines = {each.symbol: each._placed_footnotes() for each in self.rankings.values()}
        letters = [] if self._control else [Footnote(f"letters: {SHARED_LETTERS}")]
        return [*letters, *shared_first(lines, [*lines])]

    @property
    def _control(self) -> str | None:
        """The model with which all others are compared, if one is."""
        return next(iter(self.rankings.values())).control

    def _paper(self, style: Style) -> tuple[list[Table], str]:
        legend = "bold: best; underlined: second best"
        if not self._control:
            legend += f"; letters: {SHARED_LETTERS}"
        text = LATEX.text(legend)
        tables = self._tables(style.number, style.rows)
        return tables, f"\n\\smallskip{{\\footnotesize {text}\\par}}\n"

    def _members(self) -> dict[str, Any]:
        rankings = {name: ranking.to_dict() for name, ranking in self.rankings.items()}
        return {"rankings": rankings, "version": __version__}

    def _lines(self, bounded: bool) -> Lines:
        return rank_lines([*self.rankings.values()])

    def _kinds(self) -> Mapping[str, Kind]:
        rankings = [*self.rankings.values()]
        return {
            "critical_difference": Kind(lambda _: diagrams_of_ranks(rankings)),
            "average_ranks": Kind(lambda _: dots_of_average_ranks(rankings)),
        }

    def _page(self, title: str | None, about: Facts | None) -> str:
        return page_of_ranks([*self.rankings.values()], title, about)


def _cells(ranking: Ranking) -> dict[str, Cell]:
    """Return the average ranks of models, with marks and the letters of their groups."""
    ranks = ranking.average_ranks
    best = min(ranks.values())
    second = min((rank for rank in ranks.values() if subtract(rank, best)), default=best)
    letters = _letters_of(ranking)
    cells = dict[str, Cell]()
    for model, rank in ranks.items():
        mark = "other"
        if subtract(rank, best) == 0:
            mark = "first"
        elif subtract(rank, second) == 0:
            mark = "second"
        cells[model] = Cell(short(rank), mark, letters.get(model, ""))
    return cells


def _letters_of(ranking: Ranking) -> dict[str, str]:
    """Return the letters of the groups by model; no letters with a control, which has no groups."""
    letters = dict[str, str]()
    if ranking.control is None:
        for letter, group in zip(LETTERS, ranking.groups, strict=False):
            for model in group:
                letters[model] = letters.get(model, "") + letter
    return letters
