"""Spans: the rows that were counted, by where they come from, so that none counts twice."""

from __future__ import annotations

import os
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


def new_source() -> str:
    """Name a source of rows that are numbered as they come."""
    return f"{OWN}{os.urandom(8).hex()}"


def with_rows(spans: Spans, source: str, start: int, stop: int) -> Spans:
    """Add rows of a source; raise CountedTwiceError if any was there."""
    own = spans.get(source, ())
    if start == stop:
        return spans
    if not own:
        return {**spans, source: ((start, stop),)}
    if own[-1][1] == start:  # as in a stream
        return {**spans, source: (*own[:-1], (own[-1][0], stop))}
    return {**spans, source: _joined(source, (*own, (start, stop)))}


def united(spans: Spans, more: Spans) -> Spans:
    """Return the rows of both; raise CountedTwiceError if they share any."""
    shared = {source: _joined(source, spans[source] + more[source]) for source in more if source in spans}
    return {**spans, **more, **shared}


def _joined(source: str, several: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort spans, and make one of those that are adjacent."""
    found = sorted(several)
    joined = found[:1]
    for (_, end), (start, stop) in pairwise(found):
        if start < end:
            raise CountedTwiceError(source, start, min(end, stop))
        joined[-1:] = [(joined[-1][0], stop)] if start == end else [joined[-1], (start, stop)]
    return tuple(joined)
