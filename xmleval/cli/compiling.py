"""A line on a terminal before kernels are compiled, which may take seconds; Python users see none."""

from __future__ import annotations

import logging
import sys

KERNELS = logging.getLogger("xmleval.kernels")


class _Teller(logging.Handler):
    """Print messages to what is stderr when they arrive: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if sys.stderr is not None:
            print(f"xmleval: {record.getMessage()}", file=sys.stderr, flush=True)


TELLER = _Teller()


def tell_of_compiling() -> None:
    """Tell on stderr from now on."""
    KERNELS.setLevel(logging.DEBUG)
    KERNELS.addHandler(TELLER)
