"""`python -m xmleval`, the same as `xmleval`."""

from __future__ import annotations

import sys

from xmleval.cli import main

if __name__ == "__main__":
    sys.exit(main())
