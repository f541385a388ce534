"""Spans: the rows that were counted, by where they come from, so that none counts twice."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from xmleval.base.errors import counted, printable

COMMON = ""  # the source of rows whose indices in the whole data are given
OWN = "evaluator "  # how sources begin that are the updates of one evaluator
Spans = dict[str, tuple[tuple[int, int], ...]]  # first row, and that after the last; rising, none adjacent


class CountedTwiceError(ValueError):
    """Rows of a source that two counts share: ``start`` to ``stop - 1``."""

    def __init__(self, source: str, start: int, stop: int) -> None:
        rows = f"rows {start}..{stop - 1}{f' of {printable(source)}' if source else ''} are"
        if source.startswith(OWN):  # which says nothing to its user
            rows = f"{counted(stop - start, 'rows that both hold are', 'row that both hold is')}"
        super().__init__(f"{rows} counted already; count each row once")
        self.source, self.start, self.stop = source, start, stop


def with_rows(spans: Spans, source: str, start: int, stop: int) -> Spans:
    """Add rows of a source; raise CountedTwiceError if any was there."""
    if start == stop:
        return spans
    earlier, added = spans.get(source, ()), (start, stop)
    return {**spans, source: _joined(source, (*earlier, added)) if earlier else (added,)}


def united(spans: Spans, added: Spans) -> Spans:
    """Return the rows of both; raise CountedTwiceError if they share any."""
    shared = {source: _joined(source, spans[source] + added[source]) for source in added if source in spans}
    return {**spans, **added, **shared}


def _joined(source: str, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort spans, and make one of those that are adjacent."""
    ordered = sorted(spans)
    joined = ordered[:1]
    for (_, end), (start, stop) in pairwise(ordered):
        if start < end:
            raise CountedTwiceError(source, start, min(end, stop))
        joined[-1:] = [(joined[-1][0], stop)] if start == end else [joined[-1], (start, stop)]
    return tuple(joined)
