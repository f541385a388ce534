"""The conventions that affect the measures of a report, on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xmleval.report.report import Report


def signature_of(report: Report) -> str:
    """Return the conventions that affect the measures of a report, on one line."""
    fields = {name for spec in report.specs for name in spec.conventions(report.decision)}
    parts = [report.conventions.signature(sorted(fields))]
    if any("sets" in spec.needs for spec in report.specs) and report.decision:
        parts.append(f"decision={report.decision}")
    if any("propensity" in spec.needs for spec in report.specs):
        numbers = {name: f"{v:g}" if isinstance(v, float) else v for name, v in report.constants.items()}
        constants = " ".join(f"{name}={number}" for name, number in numbers.items())
        parts.append(f"propensity=({constants or report.propensity})")
    elif "n" in report.constants and any("training" in spec.needs for spec in report.specs):
        parts.append(f"y_train=({report.constants['n']:.0f} rows)")
    if any("hierarchy" in spec.needs for spec in report.specs):
        parts.append(f"hierarchy=({report.hierarchy})")
    if not report.higher_is_better:
        parts.append("higher_is_better=False")
    if report.weighted:
        parts.append("sample_weight=given")
    return " ".join(part for part in parts if part)
