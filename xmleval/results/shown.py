"""Protocols of results that figures and pages read, so that they need not import results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from xmleval.base.arrays import Floats
from xmleval.metrics.spec import Spec
from xmleval.results.record import Record
from xmleval.show.tables import Table
from xmleval.states.results import Results
from xmleval.statistics.jackknife import Estimate

if TYPE_CHECKING:
    from xmleval.results.differences import Difference
    from xmleval.show.page import Section

Curve = tuple[Floats, Floats, Floats]


class Reported(Protocol):
    """The part of a `Report` that figures and pages read."""

    def __getitem__(self, name: str) -> float:
        """Return the value of a measure."""

    def _record(self, spec: Spec) -> Record: ...

    def roc_curve(self) -> Curve: ...

    def pr_curve(self) -> Curve: ...

    @property
    def specs(self) -> Sequence[Spec]: ...

    @property
    def results(self) -> Results: ...

    @property
    def estimates(self) -> Mapping[str, Estimate]: ...

    @property
    def confidence_level(self) -> float | None: ...

    @property
    def groups(self) -> Mapping[str, Reported]: ...

    @property
    def row_groups(self) -> Mapping[str, Reported]: ...

    @property
    def group_ranges(self) -> Sequence[str]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_labels(self) -> int: ...

    @property
    def label_names(self) -> Sequence[Any] | None: ...

    @property
    def higher_is_better(self) -> bool: ...


class Compared(Protocol):
    """The part of a `Comparison` that figures and pages read."""

    _names: dict[str, str]
    pairs: list[tuple[str, str]]
    differences: list[Difference]
    level: float | None
    n_tests: int

    def difference(self, name: str, a: str, b: str) -> Difference: ...

    def _change_sections(self) -> list[Section]: ...


class Ranked(Protocol):
    """The part of a `Ranking` that figures and pages read."""

    def tables(self) -> list[Table]: ...

    def footnotes(self) -> list[str]: ...

    @property
    def symbol(self) -> str: ...

    @property
    def _names(self) -> Mapping[str, str]: ...

    @property
    def average_ranks(self) -> Mapping[str, float]: ...

    @property
    def groups(self) -> Sequence[Sequence[str]]: ...

    @property
    def control(self) -> str | None: ...

    @property
    def critical_difference(self) -> float: ...


class FigureData(NamedTuple):
    """The contents of a figure or page: reports by the names of models there, and measures."""

    models: Mapping[str, Reported]
    specs: Sequence[Spec]
    comparison: Compared | None = None
