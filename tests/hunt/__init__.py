"""Programs that hunt for faults at random: python -m pytest tests/hunt. They need Linux and a C compiler.

XMLEVAL_HUNT_MINUTES is the time of each of the two programs (default 1, and at least a round of every case).
XMLEVAL_HUNT_SEED repeats a run; failures name the seed.
"""

import os
import time

SECONDS = 60 * float(os.environ.get("XMLEVAL_HUNT_MINUTES", "1"))
SEED = int(os.environ.get("XMLEVAL_HUNT_SEED", time.time_ns() // 10**9 % 10**6))
