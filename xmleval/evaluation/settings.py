"""Settings: the checked arguments of an evaluation, and the plan they give for some inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from xmleval.conventions import Conventions
from xmleval.errors import InputError, Keyword, Message, did_you_mean, positive_integer
from xmleval.files.remote import as_path, is_file
from xmleval.groups import DECILES, given_groups
from xmleval.hierarchy import given_hierarchy
from xmleval.input.csr import MOST_LABELS
from xmleval.input.door import NAMES, WITHIN, Door, fewer_labels
from xmleval.input.objects.take import check_labels
from xmleval.input.scores import has_scores
from xmleval.input.weights import check_propensity
from xmleval.plan import LINKED, Plan, kept_of
from xmleval.propensity import Constants, constants_of, given_or_estimated
from xmleval.records import Groups, Hierarchy, Propensity
from xmleval.spec import DEFAULT_K, Spec, conventions_of, expand_metrics
from xmleval.view.decision import Decision, check_decision, check_width, parse_decision
from xmleval.view.rule import Rule, rule_for

INPUTS = ("y_score", "y_pred", "sample_weight", "clusters", "row_groups")  # beside y_true
SCORED = "y_score's scores"  # optional in a top-k list
KEYED = "keys"  # of rows, by which they are in groups of the jackknife
GIVEN = frozenset([*INPUTS, SCORED, *NAMES, KEYED])
FLAGS = {"bounds": False, "higher_is_better": True}  # and their defaults
KEPT = ("per_row", "per_label", *FLAGS, "curve_points", "confidence")  # settings copied to the plan
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.9999
GIVEN_AS = {
    "scores": Message(Keyword("y_score")),
    "entry scores": Message("scores in ", Keyword("y_score")),
    "probabilities": Message("scores in ", Keyword("y_score")),
    "sets": Message(Keyword("y_pred"), " or ", Keyword("decision")),
    "propensity": Message(Keyword("y_train"), " or ", Keyword("inverse_propensity")),
    "hierarchy": Message(Keyword("hierarchy")),
    "training": Message(Keyword("y_train")),
    "grades": Message(Keyword("gains"), ", as for a truth of grades"),
}


class Options(TypedDict, total=False):
    """Options of `evaluate` and `Evaluator` that decide what is computed."""

    labels: Any
    k: int | Iterable[int]
    inverse_propensity: Any
    y_train: Any
    dataset: str | None
    a: float | None
    b: float | None
    decision: str | Rule | Decision | None
    conventions: str | Conventions | Mapping[str, Any] | None
    unlisted: str | float | None
    gains: str | None
    link: str | None
    bounds: bool
    per_row: bool | Iterable[str]
    per_label: bool | Iterable[str]
    higher_is_better: bool
    curve_points: int | None
    label_groups: Any
    hierarchy: Any
    confidence: float | None


def refuse_unknown(options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse arguments by name that a function does not have."""
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known) or f"options are {', '.join(sorted(known))}"
        raise TypeError(f"there is no option {unknown!r}; {hint}")


def file_of(argument: str, value: Any) -> Path | None:
    """Return the file that an argument is given as, None where it is a value; some are texts themselves."""
    if argument == "y_score" and isinstance(value, dict):  # of several models
        value = next(filter(is_file, value.values()), None)
    if not is_file(value) or (argument == "label_groups" and value == DECILES):
        return None
    if argument == "decision":
        try:
            parse_decision(value)
            return None
        except ValueError:
            path = as_path(value)
            if path.suffix != ".npz" and not path.is_file():
                told = f"{str(value)!r} is neither topK (top3) nor thresholdT (threshold0.5) nor a saved rule"
                raise InputError("decision", told) from None
    return as_path(value)


def check_confidence(value: Any) -> float | None:
    """Return the probability that an interval covers, None for no intervals, or refuse it."""
    if value is None:
        return None
    number = value if isinstance(value, (float, np.floating)) else math.nan
    if not LEAST_CONFIDENCE <= number <= MOST_CONFIDENCE:
        said = f"{value!r} is not a probability within {LEAST_CONFIDENCE}..{MOST_CONFIDENCE}, such as 0.95"
        raise InputError("confidence", said)
    return float(number)


def _details(name: str, options: Any, asked: Collection[tuple[Spec, bool]]) -> bool | list[str]:
    """Return whether values by row or by label are kept, or of which measures, or refuse it."""
    value = options.get(name, False)
    if value is True or value is False or isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, str) or not isinstance(value, Collection):
        raise InputError(name, f"{value!r} is neither True nor False nor a list of measures")
    known = [spec.name for spec, _ in asked]
    specs = [spec for spec, _ in expand_metrics(value, options.get("k", DEFAULT_K))] if value else []
    other = next((spec.name for spec in specs if spec.name not in known), None)
    if other is not None:
        raise InputError(name, f"{other!r} is none of the measures {', '.join(known)}")
    if name == "per_label" and specs and not any(spec.by_label for spec in specs):
        raise InputError(name, f"none of {', '.join(map(str, specs))} has values by label")
    return [spec.name for spec in specs] or False


def missing_input(spec: Spec, inputs: set[str]) -> Message | None:
    """Return the first missing input of a spec, or None."""
    for need in spec.needs:
        if need not in inputs:
            return GIVEN_AS[need]
    return None


def given_inputs(
    y_score: Any,
    y_pred: Any,
    sample_weight: Any,
    n_labels: int | None,
    door: Door,
    clusters: Any = None,
    row_groups: Any = None,
) -> frozenset[str]:
    """Return the names of the given inputs, also at the door, with `SCORED` for scores of a ranking."""
    kinds = zip(INPUTS, (y_score, y_pred, sample_weight, clusters, row_groups), strict=True)
    given = frozenset([name for name, value in kinds if value is not None]) | door.given
    scored = y_score is not None and has_scores(y_score, n_labels)
    return given | {SCORED} if scored or (y_score is not None and scored is None) else given


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """The settings that two evaluators must share to be merged.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    labels : list of str or int, or None
        Their names, kept elsewhere if ``named``.
    asked : list of (Spec, bool)
        Measures, and whether each was requested by its own name.
    conventions : Conventions
        Conventions of the formulas.
    propensity : Propensity or None
        Inverse propensities; ``constants`` are those they were computed with, if known.
    decision : Decision or None
        How scores become sets.
    label_groups : Groups or None
        Groups of labels within which measures are computed, too.
    hierarchy : Hierarchy or None
        Ancestors of labels.
    unknown : bool
        Whether predictions may hold unknown labels; ``counts_cells`` tells whether measures of all labels are
        then computed, because the number of labels is known.
    """

    n_labels: int
    labels: list[Any] | None = None
    asked: list[tuple[Spec, bool]]
    conventions: Conventions
    propensity: Propensity | None
    constants: dict[str, float | str] = field(default_factory=dict)
    decision: Decision | None
    per_row: bool | list[str]
    per_label: bool | list[str]
    bounds: bool
    higher_is_better: bool
    curve_points: int
    label_groups: Groups | None
    hierarchy: Hierarchy | None
    confidence: float | None
    unknown: bool = False
    counts_cells: bool = True
    named: bool = False
    on_arguments: tuple[str, ...] = ()  # notes

    @classmethod
    def checked(
        cls,
        metrics: str | Iterable[str] | None,
        n_labels: int | None,
        names: list[Any] | None = None,
        closed: bool = True,
        /,
        **options: Unpack[Options],
    ) -> Settings:
        """Check the arguments of `Evaluator`; raise ValueError for the first invalid one.

        ``names`` of labels are those of rows; ``closed`` tells whether they were known before these.
        """
        refuse_unknown(options, Options.__annotations__)
        labels = None if options.get("labels") is None else check_labels(options["labels"], n_labels)
        n_labels = positive_integer("n_labels", len(labels) if labels else n_labels, most=MOST_LABELS)
        names = names if labels is None else labels
        asked = expand_metrics(metrics, options.get("k", DEFAULT_K))
        resolved = conventions_of(metrics, options)
        weights, constants = options.get("inverse_propensity"), constants_of(options)
        inverse_propensity, notes = given_or_estimated(
            weights, options.get("y_train"), constants, n_labels, names, closed
        )
        label_counts = getattr(inverse_propensity, "label_counts", None)
        label_groups, unnamed = given_groups(
            options.get("label_groups"), n_labels, names, closed, label_counts
        )
        decision = rule_for(options.get("decision"), names, closed)
        q = None if inverse_propensity is None else check_propensity(inverse_propensity, n_labels)
        if q is not None and not any("training" in spec.needs for spec, _ in asked):
            q = q._replace(counts=None)
        fitted = isinstance(decision, Rule)
        if isinstance(decision, Rule):
            check_width(decision.decision, decision.n_labels, n_labels)
            decision = decision.decision
        rule = parse_decision(decision)
        flags = {name: dict(options).get(name, default) for name, default in FLAGS.items()}
        for name, value in flags.items():
            if value is not True and value is not False and not isinstance(value, np.bool_):
                raise InputError(name, f"{value!r} is neither True nor False")
        check_decision(rule, resolved, n_labels, bool(flags["higher_is_better"]), fitted)
        curve_points = options.get("curve_points")
        if flags["bounds"] and resolved.unlisted_score is not None:
            level, fix = Keyword("unlisted", f"{resolved.unlisted_score:g}"), Keyword("unlisted", "'below'")
            said = Message(level, " gives every label a score; bounds need ", fix)
            raise InputError("bounds", said)
        return cls(
            n_labels=n_labels,
            labels=labels,
            asked=asked,
            conventions=resolved,
            propensity=q,
            constants=dict(getattr(inverse_propensity, "constants", {})),
            decision=rule,
            confidence=check_confidence(options.get("confidence")),
            curve_points=0 if curve_points is None else positive_integer("curve_points", curve_points, 0),
            label_groups=label_groups,
            hierarchy=given_hierarchy(options.get("hierarchy"), n_labels, names, closed),
            **{name: bool(value) for name, value in flags.items()},
            per_row=_details("per_row", options, asked),
            per_label=_details("per_label", options, asked),
            unknown=labels is not None,
            on_arguments=(*notes, *unnamed),
        )

    @classmethod
    def unsettled(cls, metrics: str | Iterable[str] | None, **options: Unpack[Options]) -> Settings:
        """Check what can be checked before the number of labels is known; it is 0 until then."""
        needing = ("inverse_propensity", "y_train", *Constants._fields, "label_groups", "hierarchy")
        given: Any = {name: value for name, value in options.items() if name not in needing}
        if isinstance(given.get("decision"), Rule):
            del given["decision"]
        return replace(cls.checked(metrics, MOST_LABELS, **given), n_labels=0)

    def as_dict(self) -> dict[str, Any]:
        """Return all settings except the propensities as JSON values."""
        return {
            "n_labels": self.n_labels,
            "labels": self.labels,
            "metrics": [[spec.name, explicit] for spec, explicit in self.asked],
            "conventions": self.conventions.as_dict(),
            "decision": None if self.decision is None else str(self.decision),
            **{name: getattr(self, name) for name in KEPT},
            "label_groups": self.label_groups
            and [*map(list, (self.label_groups.names, self.label_groups.ranges))],
            "hierarchy": self.hierarchy and [self.hierarchy.n_nodes, self.hierarchy.digest],
            **({"unknown": True, "counts_cells": self.counts_cells} if self.unknown else {}),
        }

    @property
    def of_labels(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Arrays of labels to save, empty if not given, and what is said if they differ."""
        q, none = self.propensity, np.empty(0)
        counts = None if q is None else q.counts
        return {
            "propensity": (none if q is None else q.values, "propensity differs"),
            "label_counts": (none if counts is None else counts, "y_train differs"),
            "label_groups": (
                none if self.label_groups is None else self.label_groups.of,
                "label_groups differ",
            ),
            "hierarchy": (none if self.hierarchy is None else self.hierarchy.edges, "hierarchy differs"),
        }

    def sharing(self, q: Any) -> Settings:
        """Return the same settings; inverse propensities of a mapped file are left there."""
        if self.propensity is None or not isinstance(q, np.memmap):
            return self
        return replace(self, propensity=self.propensity._replace(values=np.asarray(q)))

    def unlike(self, other: Settings) -> str | None:
        """Return what is said of the first array of labels that differs, or None."""
        pairs = zip(self.of_labels.values(), other.of_labels.values(), strict=True)
        for (mine, differs), (theirs, _) in pairs:
            # np.array_equal hides what a handler raises
            if mine is not theirs and (mine.shape != theirs.shape or (mine != theirs).any()):
                return differs
        return None

    def describe_propensity(self) -> str | None:
        """Describe the propensities for the report; None without propensities."""
        if self.propensity is None:
            return None
        return "given" if self.propensity.lowest >= 1 else "values below 1"

    def notes(self) -> list[str]:
        """Return what was seen in the arguments, and what it does to the values."""
        q, found = self.propensity, list[str]()
        if q is not None and q.lowest < 1:
            given = Message(Keyword("inverse_propensity"))
            seen = f" has values below 1 (the lowest is {q.lowest:g})"
            told = ": these look like propensities, not their inverses, which are 1 / p"
            found.append(Message(given, seen, told))
        if self.hierarchy is not None and self.hierarchy.top is not None:
            told = f" has {self.hierarchy.top!r} above all labels: it counts in every set that is not empty; "
            fix = "without edges to it, it does not, as authors leave out a root"
            found.append(Message(Keyword("hierarchy"), told, fix))
        return found

    def _inputs(self, given: frozenset[str]) -> set[str]:
        """Return the needs of measures that the inputs meet."""
        met = {"scores"} if "y_score" in given else set()
        met |= {"entry scores", "probabilities"} if SCORED in given else set()
        if "y_pred" in given or (self.decision and "y_score" in given):
            met.add("sets")
        if self.conventions.graded:
            met.add("grades")
        if self.hierarchy is not None:
            met.add("hierarchy")
        if self.propensity is not None:
            met |= {"propensity"} if self.propensity.counts is None else {"propensity", "training"}
        return met

    def _decided(self, given: frozenset[str]) -> Decision | None:
        """Return how sets are given or made, as it applies to scores of which higher ones are better."""
        if "y_pred" in given:
            return Decision("pred")
        if self.decision is None or self.higher_is_better or self.decision.kind != "threshold":
            return self.decision
        return Decision("threshold", 0 - self.decision.value)

    def _keeps_curves(self, specs: Sequence[Spec]) -> bool:
        """Tell whether curves of labels are kept: with all that labels have, or for one of some measures."""
        kept = kept_of(self.per_label, specs)
        return self.per_label is True or any("entry scores" in spec.needs for spec in kept)

    def _refuse_improbable(self, specs: Iterable[Spec]) -> None:
        """Refuse settings under which no score is a probability, if a measure needs these."""
        spec = next((spec for spec in specs if "probabilities" in spec.needs), None)
        if spec is None:
            return
        if not self.higher_is_better:
            distances = Keyword("higher_is_better", "False")
            raise ValueError(Message(spec, " needs probabilities, not distances: ", distances))
        level = self.conventions.unlisted_score
        if self.conventions.link == "none" and level is not None and not 0 <= level <= 1:
            outside = Message(f"{level:g} is outside 0..1; ", spec, " needs probabilities; ", LINKED)
            raise InputError("unlisted", outside)

    def plan(self, given: frozenset[str]) -> Plan:
        """Return the plan: measures requested by name, and those of groups that the inputs allow."""
        if "y_pred" in given and self.decision is not None:
            other = Keyword("decision", str(self.decision))
            raise InputError("y_pred", Message("given together with ", other, "; choose one"))
        if "clusters" in given and self.confidence is None:
            needs = "clusters are for intervals; give ", Keyword("confidence"), ", such as 0.95"
            raise InputError("clusters", Message(*needs))
        inputs = self._inputs(given)
        fewer = fewer_labels(given, self.conventions.unlisted_score)
        not_computed: dict[str, Message] = {}
        for spec, explicit in self.asked:
            needed = (fewer if spec.metric.every_label else None) or missing_input(spec, inputs)
            if explicit and needed:
                at_k = spec.cutoff_hint if needed is GIVEN_AS["sets"] and "scores" in inputs else ""
                raise ValueError(Message(spec, " needs ", needed, at_k))
            if needed:
                not_computed[spec.name] = needed
        computed = [spec for spec, _ in self.asked if spec.name not in not_computed]
        specs = tuple([spec.under(self.conventions) for spec in computed])
        if not specs:
            several = dict.fromkeys(not_computed.values())
            needed = Message(*[part for needed in several for part in (" or ", needed)][1:])
            hint = ("; the group sets needs only ", Keyword("y_pred")) if "y_pred" in given else ()
            raise ValueError(Message("metrics: nothing can be computed without ", needed, *hint))
        self._refuse_improbable(specs)
        if self.bounds and not any(spec.metric.bounded for spec in specs):
            none = f" has no effect: none of {', '.join(map(str, specs))} has bounds"
            raise ValueError(Message(Keyword("bounds"), none))
        if self.hierarchy is not None and not any("hierarchy" in spec.needs for spec in specs):
            none = " has no effect: the measures in it, such as h_f1.micro, are not among "
            raise ValueError(Message(Keyword("hierarchy"), none, ", ".join(map(str, specs))))
        curves = "entry scores" in inputs
        by_label = any(spec.k or spec.state == "label_extremes" for spec in specs)
        if self.per_label and not (curves or by_label) and "sets" not in inputs:
            either = GIVEN_AS["sets"], ", or ", GIVEN_AS["entry scores"]
            raise ValueError(Message(Keyword("per_label"), " needs ", *either))
        if self.curve_points and not curves:
            raise ValueError(Message(Keyword("curve_points"), " needs scores in ", Keyword("y_score")))
        return Plan(
            specs=specs,
            n_labels=self.n_labels,
            conventions=self.conventions,
            propensity=self.propensity,
            decision=self._decided(given),
            weighted="sample_weight" in given,
            within=WITHIN if WITHIN in given else None,
            unknown=self.unknown,
            counts_cells=self.counts_cells,
            row_groups="row_groups" in given,
            label_groups=self.label_groups,
            hierarchy=self.hierarchy,
            keep_curves=curves and self._keeps_curves(specs),
            insisted=frozenset([spec.name for spec, explicit in self.asked if explicit]),
            not_computed=not_computed,
            **{name: getattr(self, name) for name in KEPT},
        )
