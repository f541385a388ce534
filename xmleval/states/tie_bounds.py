"""TieBounds: the smallest and the largest values of measures over all orders of equal scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import Resources
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.states.parts import Parts
from xmleval.states.plan import DATA_HINTS, Plan
from xmleval.states.results import Results
from xmleval.states.state import States
from xmleval.view.tie_order import order_by_label_gains
from xmleval.view.view import View

ENDS = ("worst", "best")
GRADES = "grades"
PROPENSITIES = "propensities"


class TieBounds(Parts):
    """States of the measures in the best and in the worst order of equal scores.

    Where relevant labels gain differently, the best order depends on the gains: grades, which the
    order reads itself, or propensities for the measures that read these.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.specs_by_gain = _group_by_gain(specs)
        conventions = replace(plan.conventions, ties="order")
        for gain, gain_specs in self.specs_by_gain.items():
            in_order = tuple(parse_spec(spec.name).under(conventions) for spec in gain_specs)
            order_plan = plan.part(
                specs=in_order, conventions=conventions, confidence=None, per_row=plan.per_row
            )
            states = {name: read for name, read in order_plan.states.items() if name != DATA_HINTS}
            order_plan = replace(order_plan, states=states)
            for end in ENDS:
                self.parts[f"{end}/{gain}"] = States(order_plan, resources)
        self.n_rows = dict.fromkeys(self.parts, 0)

    def split(self, view: View) -> Iterator[tuple[str, View]]:
        """Yield all rows in each order."""
        for gain in self.specs_by_gain:
            label_gains = self._label_gains(gain)
            for end in ENDS:
                yield f"{end}/{gain}", order_by_label_gains(view, end == "best", label_gains)

    def _label_gains(self, gain: str) -> Floats | None:
        """Return the gains of labels, None where the order finds those of a row by itself."""
        if gain != PROPENSITIES:
            return None
        assert self.plan.propensity is not None
        return self.plan.propensity.values

    def finish(self) -> Results:
        """Return the intervals between the values of both orders, also of rows that are kept."""
        results = Results()
        for gain, specs in self.specs_by_gain.items():
            worst, best = [self.parts[f"{end}/{gain}"].finish() for end in ENDS]
            for spec in specs:
                ends = sorted([worst.values[spec.name], best.values[spec.name]])
                results.intervals[spec.name] = ends[0], ends[1]
            for name, lowest in worst.rows.items():
                highest = best.rows[name]
                results.row_intervals[name] = (
                    np.minimum(lowest, highest),
                    np.maximum(lowest, highest),
                )
        return results


def _group_by_gain(specs: tuple[Spec, ...]) -> dict[str, list[Spec]]:
    """Return the measures by what relevant labels gain in them."""
    groups: dict[str, list[Spec]] = {}
    for spec in specs:
        gain = PROPENSITIES if "propensity" in spec.needs else GRADES
        groups.setdefault(gain, []).append(spec)
    return groups


STATE = TieBounds
