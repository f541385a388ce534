"""Calibration of scores: maps from scores to probabilities, fitted to validation data.

``calibrator = fit(y_true, y_score)``, then ``calibrator.apply(y_score)`` gives probabilities.
"""

from __future__ import annotations

from xmleval.calibrate.calibrator import Calibrator
from xmleval.calibrate.fitting import fit

__all__ = ["Calibrator", "fit"]
