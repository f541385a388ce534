"""The way in which kernels run, `XMLEVAL_WAY`, in tests and in processes that tests start."""

import contextlib
import logging
import math
import os

with contextlib.suppress(ImportError):  # a process without the package
    from xmleval.base.work import WORK

    way = os.environ.get("XMLEVAL_WAY", "")
    if way == "compiled":
        WORK.is_small = False
    elif way == "plain":
        WORK.compiler_seconds = math.inf
    if way:  # which kernels are compiled already depends on the tests before
        logging.getLogger("xmleval.kernels").setLevel(logging.CRITICAL)
