"""A bar that shows how far an evaluation is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from xmleval.evaluation.request import Progress

REFRESH_SECONDS = 0.1  # of a bar


@contextlib.contextmanager
def show_progress(n_rows: int | None, skipped: int, shown: Progress) -> Iterator[Callable[[int], object]]:
    """Show in a terminal or a notebook how many rows are counted, how fast, and what time is left.

    ``shown`` is whether to show it, or what is called with the rows that are counted and all rows.
    """
    if callable(shown):
        call = shown
        yield lambda done: call(done, n_rows)
        return
    if not shown or sys.stderr is None:
        yield lambda done: None
        return
    from rich.console import Console  # only here: few runs show a bar
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    is_terminal = getattr(sys.stderr, "isatty", bool)()
    console, begun = Console(stderr=True, force_terminal=is_terminal), time.monotonic()
    if not (is_terminal or console.is_jupyter):  # where Rich would write a line at the end
        yield lambda done: None
        return
    columns = BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn()
    of = f" of {n_rows:,}" if n_rows else ""
    # Rich would refresh it in a thread, and wait for that without an end where it finds no memory
    with Bar(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(f"{skipped:,}{of} rows", total=n_rows, completed=skipped)
        bar.refresh()
        next_refresh = begun

        def show(done: int) -> None:
            nonlocal next_refresh
            now = time.monotonic()
            rate = (done - skipped) / max(now - begun, 1e-9)
            description = f"{done:,}{of} rows, {rate:,.0f} rows/s"
            bar.update(task, completed=done, description=description, refresh=now >= next_refresh)
            if now >= next_refresh:
                next_refresh = now + REFRESH_SECONDS

        yield show
