"""Decision rules: thresholds and cuts that turn scores into sets, tuned on data.

``rule = fit(y_true, y_score, "f1.micro")``, then ``rule.apply(y_score)``, or ``decision=rule`` of
`xmleval.evaluate`. Every rule is found by one exact sweep of sorted scores; nothing is made dense.
"""

from __future__ import annotations

from xmleval.thresholds.fitting import fit
from xmleval.thresholds.rule import Rule

__all__ = ["Rule", "fit"]
