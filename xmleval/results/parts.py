"""Parts of a report: groups of labels and of rows, each a report of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.results.confidence import confidence_as_json
from xmleval.show.tables import Cell, Table, as_json_value
from xmleval.states.results import Part, Results

KINDS = {  # fields of results, and captions of their tables
    "groups": "within groups of labels",
    "shares": "shares of groups of labels",
    "row_groups": "groups of rows",
}


class ByGroup(dict[str, Any]):
    """Reports by the name of a group."""

    def __missing__(self, name: str) -> Any:
        """Tell which groups there are."""
        known = ", ".join(map(repr, self)) or "none: give label_groups= or row_groups="
        raise KeyError(f"no group {name!r}; there are {known}")


class WithParts:
    """What a report of a whole evaluation knows of its parts."""

    results: Results
    specs: tuple[Spec, ...]
    n_rows: int
    n_labels: int
    group_ranges: list[str]
    confidence_level: float | None

    @property
    def groups(self) -> dict[str, Any]:
        """Report within each group of labels, by its name.

        Measures of rows are those of the rows that have relevant labels of the group, with truth, ranking and
        predicted sets restricted to it. Averages over labels and measures of pooled scores are those of the
        group's labels in all rows. Predicted sets, also those of the first k labels, are decided over all
        labels before.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.groups["tail"]["r@1"]
        0.5
        """
        return self._parts("groups")

    @property
    def shares(self) -> dict[str, Any]:
        """Report of the part of each group of labels in the values of all, by its name.

        Measures at k that are linear in the hits have one: hits of the group's labels, with the ranks and the
        denominators of all. Up to rounding, the parts add up to the value of all labels.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.shares["tail"]["r@1"]
        0.25
        """
        return self._parts("shares")

    @property
    def row_groups(self) -> dict[str, Any]:
        """Report of each group of rows, by its name: that of evaluating these rows alone.

        Examples
        --------
        >>> of = ["en", "en", "de", "de"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], row_groups=of)
        >>> report.row_groups["de"]["r@1"]
        0.5
        """
        return self._parts("row_groups")

    def size(self) -> str:
        """Tell the size of the data (@private)."""
        return f"{counted(self.n_rows, 'rows')} x {counted(self.n_labels, 'labels')}"

    _title = size

    def tables_by_kind(self, names: Sequence[str] | None) -> dict[str, list[Table]]:
        """Return further tables by the kind of figure that they belong to (@private)."""
        return {"groups": self.part_tables()}

    def _parts(self, kind: str) -> dict[str, Any]:
        parts: dict[str, Part] = getattr(self.results, kind)
        return ByGroup({name: self._part(part) for name, part in parts.items()})

    def _part(self, part: Part) -> Any:
        """Return the report of a part, which keeps neither rows nor labels."""
        values = part.results.values
        own: dict[str, Any] = {
            "label_names": None,
            "row_names": None,
            "keeps_rows": False,
            "group_ranges": [],
        }
        own |= {"not_computed": part.results.not_computed, "notes": []}
        own |= {"n_rows": part.n_rows, "n_labels": part.n_labels}
        specs = tuple([spec for spec in self.specs if spec.name in values])
        return replace(self, results=part.results, specs=specs, **own)  # type: ignore[type-var]

    def part_tables(self) -> list[Table]:
        """Return a table for each kind of parts: a column for all and one for each group (@private)."""
        found = []
        for kind, caption in KINDS.items():
            parts: dict[str, Part] = getattr(self.results, kind)
            if parts:
                ranges = self._ranges() if kind == "groups" else ""
                every = [Part(self.results, self.n_rows, self.n_labels), *parts.values()]
                found.append(Table(f"{caption}{ranges}", self._part_grid(kind, ["all", *parts], every)))
        return found

    def _ranges(self) -> str:
        """Return what numbers of training rows groups of labels have, where they were made by these."""
        pairs = zip(self.results.groups, self.group_ranges, strict=False)
        ranges = ", ".join(name if name == text else f"{name} {text}" for name, text in pairs)
        return f" by training rows: {ranges}" if ranges else ""

    def _part_grid(self, kind: str, names: list[str], parts: Sequence[Part]) -> list[list[Cell]]:
        """Return a header, the sizes of the parts, and a row for each measure."""
        rows = [[Cell("measure"), *map(Cell, names)]]
        sizes = {"groups": ("labels", "rows"), "shares": (), "row_groups": ("rows",)}
        for size in sizes[kind]:
            rows.append([Cell(size), *(Cell(str(getattr(part, f"n_{size}"))) for part in parts)])
        reports = [self._part(part) for part in parts]
        for spec in self.specs:
            if any(spec.name in report for report in reports[1:]):
                texts = [report.shown(spec) if spec.name in report else "" for report in reports]
                rows.append([Cell(spec.symbol, spec.metric.direction), *map(Cell, texts)])
        return rows

    def part_columns(self) -> dict[str, Mapping[str, float]]:
        """Return the values of each part by names of columns (@private), such as "groups tail"."""
        return {
            f"{kind} {name}": part.results.values
            for kind in KINDS
            for name, part in getattr(self.results, kind).items()
        }

    def part_values(self, spec: Spec) -> list[float]:
        """Return the values of a measure in the order of `part_columns`, NaN where it has none (@private)."""
        return [values.get(spec.name, math.nan) for values in self.part_columns().values()]

    def parts_as_dict(self) -> dict[str, Any]:
        """Return the values of all parts as JSON values, as far as there are any (@private)."""
        results = self.results
        ranges: list[Any] = self.group_ranges or [None] * len(results.groups)
        groups = {
            name: {
                "training_rows": span,
                "n_labels": part.n_labels,
                "n_rows": part.n_rows,
                "values": _as_json(part),
                **self._confidence_of(part),
                "shares": _as_json(results.shares[name]) if name in results.shares else {},
            }
            for span, (name, part) in zip(ranges, results.groups.items(), strict=True)
        }
        row_groups = {
            name: {"n_rows": part.n_rows, "values": _as_json(part), **self._confidence_of(part)}
            for name, part in results.row_groups.items()
        }
        return {name: own for name, own in (("groups", groups), ("row_groups", row_groups)) if own}

    def _confidence_of(self, part: Part) -> dict[str, Any]:
        """Return the fields of the confidence intervals of a part as JSON values."""
        if self.confidence_level is None:
            return {}
        found = confidence_as_json(self.confidence_level, self._part(part).estimates)
        return {name: found[name] for name in ("confidence", "standard_errors")}


def _as_json(part: Part) -> dict[str, float | str | None]:
    return {name: as_json_value(value) for name, value in part.results.values.items()}
