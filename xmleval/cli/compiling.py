"""A line on a terminal before kernels are compiled, which may take seconds."""

from __future__ import annotations

import logging
import sys

KERNELS = logging.getLogger("xmleval.kernels")


class _Teller(logging.Handler):
    """Print messages to what is stderr when they arrive: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if sys.stderr is not None:
            print(record.getMessage(), file=sys.stderr, flush=True)


TELLER = _Teller()


def tell_of_compiling(on_terminal: bool) -> None:
    """Print a line on stderr before kernels are compiled if it is a terminal, otherwise nothing."""
    KERNELS.setLevel(logging.DEBUG if on_terminal else logging.CRITICAL)
    if on_terminal:
        KERNELS.addHandler(TELLER)
