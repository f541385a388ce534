"""Reliability: the bins of measures of calibration."""

from __future__ import annotations

from typing import Any

from xmleval.base.arrays import Floats
from xmleval.metrics.spec import parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.show.tables import as_json_value
from xmleval.states.results import Results


class BySpelling(dict[str, Any]):
    """What is known of measures by their canonical names, found by any spelling."""

    def __missing__(self, name: str) -> Any:
        """Look up the canonical name."""
        try:
            known = str(parse_spec(name))
        except ValueError:
            known = name
        if known == name or known not in self:
            raise KeyError(not_there(name, [*self]))
        return self[known]


class WithReliability:
    """What a report knows of calibration."""

    results: Results

    @property
    def reliability(self) -> dict[str, dict[str, Floats]]:
        """Bins of each measure of calibration that has bins, by any spelling of its name.

        Each is a dict of columns, ndarrays of shape (bins,): ``lower`` and ``upper`` end of the scores of a
        bin, its number ``n`` of pairs or their weight, ``mean_score`` and ``hit_rate``, NaN if it is empty.

        Examples
        --------
        >>> report = evaluate(np.array([[1, 0]]), np.array([[0.9, 0.2]]), metrics=["ece(bins=2)"])
        >>> report.reliability["ece(bins=2)"]["mean_score"]
        array([0.2, 0.9])
        """
        return BySpelling({name: found._asdict() for name, found in self.results.reliability.items()})

    def reliability_as_dict(self) -> dict[str, Any]:
        """Return `reliability` as JSON values, if there is any (@private)."""
        found = {
            name: {column: [*map(as_json_value, values.tolist())] for column, values in columns.items()}
            for name, columns in self.reliability.items()
        }
        return {"reliability": found} if found else {}
