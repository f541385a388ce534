"""An oracle of logarithmic losses over all labels of a row, label by label."""

import math

from tests.oracles.calibration import probability
from tests.oracles.metrics import Case, convention

MEASURES: frozenset[tuple[str, str | None, str]] = frozenset(
    [("log_loss", "samples", ""), ("limited_log_loss", None, "")]
)


def rows(name: str, case: Case, limit: float = 0) -> list[float]:
    """Losses of the rows; labels without a score have probability 0."""
    fill, found = convention(case, "unlisted"), []
    assert case.listed is not None
    for y, row in zip(case.truth, case.listed, strict=True):
        scores = {j: probability(case, float(s)) for j, s in row if s is not None}
        others, total = 0.0 if fill == "below" else probability(case, float(str(fill))), 0.0
        for j in range(case.n_labels):
            p = scores.get(j, others)
            if name == "log_loss":
                p = min(max(p, 1e-8), 1 - 1e-8)
                total -= math.log(p if j in y else 1 - p)
            else:  # MEKA's
                right = p if j in y else 1 - p
                total += min(-math.log(right) if right > 0 else math.inf, math.log(limit)) / case.n_labels
        found.append(total)
    return found
