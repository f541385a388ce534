"""Programs that hunt for faults at random, on Linux with a C compiler: pytest tests/hunt.

XMLEVAL_HUNT_MINUTES is the time of each of the two programs (default 1, and at least a round of
every case). XMLEVAL_HUNT_SEED repeats a run; failures name the seed.
"""

import os
import time

MINUTES = os.environ.get("XMLEVAL_HUNT_MINUTES", "1")
SECONDS = 60 * float(MINUTES)
NEW_SEED = int(time.time()) % 10**6
SEED = int(os.environ.get("XMLEVAL_HUNT_SEED", NEW_SEED))
