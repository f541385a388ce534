"""Spans of the counted rows, by source, to refuse rows that are counted twice."""

from __future__ import annotations

from xmleval.base.errors import InputError, counted, printable

COMMON = ""  # the source of rows whose indices in the whole data are known
OWN = "evaluator "  # prefix of the sources of rows that one evaluator was updated with
Span = tuple[int, int]  # first row, and the row after the last
Spans = dict[str, tuple[Span, ...]]  # rising, none adjacent


def united(spans: Spans, added: Spans) -> Spans:
    """Return the rows of both, adjacent spans as one; raise InputError if they share any."""
    whole = {**spans}
    for source, new in added.items():
        joined = list[Span]()
        for start, stop in sorted((*spans.get(source, ()), *new)):
            first = start
            if joined and start <= joined[-1][1]:
                first, end = joined.pop()
                if start < end:
                    raise _counted_twice(source, start, min(end, stop))
            joined.append((first, stop))
        whole[source] = tuple(joined)
    return whole


def _counted_twice(source: str, start: int, stop: int) -> InputError:
    """Return the error for rows of a source that two counts share."""
    rows = f"rows {start}..{stop - 1}"
    if source == COMMON:
        text = f"{rows} are counted already; give each shard the index of its first row"
        return InputError("first_row", text)
    if source.startswith(OWN):  # the name means nothing to users
        rows = counted(stop - start, "rows of both are", "row of both is")
    else:
        rows = f"{rows} of {printable(source)} are"
    return InputError("merge", f"{rows} counted already; count each row once")
