"""Lines of the library on stderr: of counting that goes on, and before kernels are compiled."""

from __future__ import annotations

import logging
import sys

KERNELS, EVALUATION = logging.getLogger("xmleval.kernels"), logging.getLogger("xmleval.evaluation")


class _Teller(logging.Handler):
    """Print messages to what is stderr when they arrive: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if sys.stderr is not None:
            from xmleval.cli.messages import spelled  # only once there is a message

            print(spelled(self.format(record)), file=sys.stderr, flush=True)


TELLER, TOLD = _Teller(), _Teller()
TOLD.setFormatter(logging.Formatter("xmleval: %(message)s"))


def tell_of_compiling(on_terminal: bool) -> None:
    """Print a line on stderr before kernels are compiled if it is a terminal, otherwise nothing."""
    EVALUATION.setLevel(logging.INFO)
    EVALUATION.addHandler(TOLD)
    KERNELS.setLevel(logging.DEBUG if on_terminal else logging.CRITICAL)
    if on_terminal:
        KERNELS.addHandler(TELLER)
