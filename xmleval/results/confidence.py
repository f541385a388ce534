"""Confidence intervals of the values of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xmleval.base.arrays import Floats
from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.statistics.jackknife import Estimate, estimate

ROUNDING = 2.0**-40
FEW = 10  # groups of rows below which a standard error is rough


def estimates_of(
    specs: Iterable[Spec],
    values: Mapping[str, float],
    replicates: Mapping[str, Floats],
    confidence: float,
) -> dict[str, Estimate]:
    """Return the confidence intervals of the measures that have values without each jackknife group."""
    found: dict[str, Estimate] = {}
    for spec in specs:
        if spec.name in replicates:
            own = estimate(values[spec.name], replicates[spec.name], confidence, *spec.metric.range)
            # where all groups agree but for rounding, nothing was seen of how they differ
            if own and own.standard_error > ROUNDING * abs(values[spec.name]):
                found[spec.name] = own
    return found


def about_confidence(
    confidence: float, specs: Sequence[Spec], estimates: Mapping[str, Estimate]
) -> list[str]:
    """Return the lines below a table that tell what ± means, and which measures lack it."""
    lines = []
    if estimates:
        n = next(iter(estimates.values())).n_groups
        few = ", too few for a good one" if n < FEW else ""
        groups = f" (jackknife of {counted(n, 'groups of rows', 'group of rows')}{few})" if n else ""
        lines.append(f"± {100 * confidence:.4g}% confidence over test rows, not over training{groups}")
    rough = [str(spec) for spec in specs if not spec.smooth]
    undefined = [str(spec) for spec in specs if spec.smooth and spec.name not in estimates]
    lines += [f"no standard error of maxima, extremes and counts: {', '.join(rough)}"] if rough else []
    return lines + ([f"standard error not known: {', '.join(undefined)}"] if undefined else [])


def confidence_as_json(confidence: float | None, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return the fields of a report as JSON values; none without a confidence."""
    if confidence is None:
        return {}
    return {
        "confidence_level": confidence,
        "confidence": {name: [found.lower, found.upper] for name, found in estimates.items()},
        "standard_errors": {name: found.standard_error for name, found in estimates.items()},
    }
