"""Decision rules, fitted to data, that turn scores into sets.

``rule = fit(y_true, y_score, "f1.micro")``, then ``rule.apply(y_score)`` or ``evaluate(...,
decision=rule)``.
"""

from __future__ import annotations

from xmleval.thresholds.fitting import fit
from xmleval.view.rule import Rule

__all__ = ["Rule", "fit"]
