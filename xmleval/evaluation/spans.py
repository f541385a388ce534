"""Spans: the rows that were counted, by where they come from, so that none counts twice."""

from __future__ import annotations

from xmleval.base.errors import InputError, counted, printable

COMMON = ""  # the source of rows whose indices in the whole data are given
OWN = "evaluator "  # how sources begin that are the updates of one evaluator
Span = tuple[int, int]  # first row, and that after the last
Spans = dict[str, tuple[Span, ...]]  # rising, none adjacent


def united(spans: Spans, added: Spans) -> Spans:
    """Return the rows of both, adjacent spans as one; raise InputError if they share any."""
    whole = {**spans}
    for source, new in added.items():
        joined = list[Span]()
        for start, stop in sorted((*spans.get(source, ()), *new)):
            first, end = joined.pop() if joined and start <= joined[-1][1] else (start, start)
            if start < end:
                raise _counted_twice(source, start, min(end, stop))
            joined.append((first, stop))
        whole[source] = tuple(joined)
    return whole


def _counted_twice(source: str, start: int, stop: int) -> InputError:
    """Return what to raise of rows that two counts share, by what numbers them."""
    rows = f"rows {start}..{stop - 1}"
    if source == COMMON:
        text = f"{rows} are counted already; give each shard the index of its first row"
        return InputError("first_row", text)
    if source.startswith(OWN):  # which says nothing to its user
        rows = counted(stop - start, "rows that both hold are", "row that both hold is")
    else:
        rows = f"{rows} of {printable(source)} are"
    return InputError("merge", f"{rows} counted already; count each row once")
