"""Progress bar of an evaluation."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from xmleval.evaluation.request import Progress

REFRESH_SECONDS = 0.1  # between two updates of the bar


@contextlib.contextmanager
def show_progress(
    n_rows: int | None, skipped: int, shown: Progress
) -> Iterator[Callable[[int], object]]:
    """Show in a terminal or a notebook how many rows are counted, how fast, and the time left.

    ``shown`` is whether to show a bar, or a function that is called with the number of counted rows
    and of all rows.
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
    console = Console(stderr=True, force_terminal=is_terminal)
    start = time.monotonic()
    if not (is_terminal or console.is_jupyter):  # elsewhere, Rich would write a line at the end
        yield lambda done: None
        return
    columns = BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn()
    total = f" of {n_rows:,}" if n_rows else ""
    # with auto_refresh, Rich starts a thread, and waits for it forever if memory runs out
    with Bar(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(f"{skipped:,}{total} rows", total=n_rows, completed=skipped)
        bar.refresh()
        next_refresh = start

        def show(done: int) -> None:
            nonlocal next_refresh
            now = time.monotonic()
            rate = (done - skipped) / max(now - start, 1e-9)
            description = f"{done:,}{total} rows, {rate:,.0f} rows/s"
            is_due = now >= next_refresh
            bar.update(task, completed=done, description=description, refresh=is_due)
            if is_due:
                next_refresh = now + REFRESH_SECONDS

        yield show
