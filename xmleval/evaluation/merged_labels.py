"""Merge counts of labels by name: the settings of all labels, and the counts with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Ints
from xmleval.base.budget import Resources
from xmleval.base.errors import InputError, Keyword, Message, counted, shown_names
from xmleval.base.notes import Note
from xmleval.evaluation.counts import Counted
from xmleval.evaluation.settings import plan_of
from xmleval.files.saved import first_difference
from xmleval.input.vectors import Propensity, check_propensity
from xmleval.metrics.measure import OWN
from xmleval.metrics.spec import Spec
from xmleval.states.contents import Contents
from xmleval.states.data_hints import DataHints
from xmleval.states.plan import DATA_HINTS, LABEL_GROUPS, Plan, Settings
from xmleval.states.relabelling import Relabelling
from xmleval.states.state import new_states, state_class
from xmleval.view.block import Groups

# states that count labels without a score as one tie group, however many they are
CLOSED_FORM = ("score_runs", "weighted_scores", "label_extremes")
ROW_VALUES = ("row_sums", "row_ratios")  # states of sums of row values
FINGERPRINTS = "label_sets"  # of the numbers of labels
ORDER = "equal scores rank by the number of the label, and the numbers are in another order"
OF_UNKNOWN = ("unknown labels", "similar labels")  # notes that name labels of one state
UNKNOWN_NOTE = "labels that a merged state predicted but did not know count as wrong in its rows"


def refuse_other_settings(settings: Settings, others: Settings) -> None:
    """Refuse settings that differ; those of labels may if all labels have names."""
    here = settings.as_dict()
    there = others.as_dict()
    have_names = settings.labels is not None and others.labels is not None
    if have_names and settings.labels != others.labels:
        _refuse_arguments_of_labels(settings)
        for name in ("n_labels", "labels", "label_groups"):
            del here[name]
            del there[name]
        difference = first_difference(here, there)
        if settings.constants != others.constants:
            difference = difference or "propensity differs"
        difference = difference or _difference_of_groups(settings, others)
    elif settings.n_labels != others.n_labels:
        text = f"{settings.n_labels} labels here, {others.n_labels} there; give "
        reason = Message(text, Keyword("labels"), ", their names, to merge labels by name")
        raise InputError("merge", reason)
    else:
        difference = first_difference(here, there) or settings.unlike(others)
    if difference:
        raise InputError("merge", difference)


def _difference_of_groups(settings: Settings, others: Settings) -> str | None:
    """Return a message if the groups of labels differ in more than the order of their names."""
    here = _ranges_of(settings.label_groups)
    there = _ranges_of(others.label_groups)
    if here == there:
        return None
    names = [shown_names(sorted(groups or ())) or "none" for groups in (here, there)]
    return f"label_groups differs: {names[0]} here, {names[1]} there"


def _ranges_of(groups: Groups | None) -> dict[str, str] | None:
    """Return the ranges of groups by name, empty where they have none."""
    if groups is None:
        return None
    return dict(zip_longest(groups.names, groups.ranges, fillvalue=""))


def joined_settings(first: Settings, second: Settings) -> Settings | None:
    """Return the settings of the labels of both; None if their labels are the same, or numbers.

    The labels of the first come first, then the new ones of the second, in their order.
    """
    if first.labels is None or second.labels is None or first.labels == second.labels:
        return None
    known = {*first.labels}
    labels = [*first.labels, *(label for label in second.labels if label not in known)]
    settings = replace(first, n_labels=len(labels), labels=labels)
    numbers = [numbers_among(each.labels or [], labels) for each in (first, second)]
    return replace(
        settings,
        propensity=_joined_propensity(first, second, numbers),
        label_groups=_joined_groups(first, second, numbers),
    )


def numbers_among(labels: Sequence[Any], all_labels: Sequence[Any]) -> Ints:
    """Return the numbers of labels among all labels."""
    number = {label: place for place, label in enumerate(all_labels)}
    return np.array([number[label] for label in labels], np.int64)


def _refuse_arguments_of_labels(settings: Settings) -> None:
    """Refuse arguments by label that cannot be joined."""
    for argument, is_given in (
        ("hierarchy", settings.hierarchy is not None),
        ("decision", settings.decision is not None and settings.decision.fitted),
        ("label_data", bool(settings.label_data)),
    ):
        if is_given:
            text = " is for the labels of one state, but the other has other labels; give "
            reason = Message(Keyword(argument), text, Keyword("labels"), ", the names of all")
            raise InputError("merge", reason)


def _joined_vector(
    name: str, vectors: Sequence[NDArray[Any]], numbers: Sequence[Ints]
) -> NDArray[Any]:
    """Return the values of all labels; refuse different values of one label."""
    n_labels = 1 + max(int(each.max(initial=-1)) for each in numbers)
    dtype = np.result_type(*vectors)
    joined = np.zeros(n_labels, dtype)
    joined[numbers[1]] = vectors[1]
    shared = np.intersect1d(numbers[0], numbers[1])
    before = joined[shared]
    joined[numbers[0]] = vectors[0]
    if (joined[shared] != before).any():
        raise InputError("merge", f"{name} differs")
    return joined


def _joined_propensity(
    first: Settings, second: Settings, numbers: Sequence[Ints]
) -> Propensity | None:
    """Return the inverse propensities of all labels, if both have them."""
    if first.propensity is None or second.propensity is None:
        return first.propensity
    pair = (first.propensity, second.propensity)
    values = _joined_vector("propensity", [each.values for each in pair], numbers)
    counts = [each.counts for each in pair if each.counts is not None]
    joined = check_propensity(values, values.size)._replace(constants=first.propensity.constants)
    if len(counts) == len(pair):
        joined = joined._replace(counts=_joined_vector("y_train", counts, numbers))
    return joined


def _joined_groups(first: Settings, second: Settings, numbers: Sequence[Ints]) -> Groups | None:
    """Return the groups of all labels, if both have groups of the same names."""
    if first.label_groups is None or second.label_groups is None:
        return first.label_groups
    number = {name: place for place, name in enumerate(first.label_groups.names)}
    place_of = np.array([number[name] for name in second.label_groups.names], np.uint16)
    vectors = [first.label_groups.of, place_of[second.label_groups.of]]
    return first.label_groups._replace(of=_joined_vector("label_groups", vectors, numbers))


def with_all_labels(settings: Settings, resources: Resources, counts: Counted) -> Counted:
    """Return counts of some labels as those of all labels of the settings; none may be waiting."""
    unscored = counts.unscored
    if unscored is not None:
        unscored = with_all_labels(settings, resources, unscored)
    if counts.plan is None or counts.states is None or counts.plan.labels == settings.labels:
        return counts
    numbers = numbers_among(counts.plan.labels or [], settings.labels or [])
    relabelling = Relabelling(numbers, settings.n_labels, settings.label_groups)
    _refuse_inexact(counts, relabelling)
    plan = plan_of(settings, counts.inputs)
    states = new_states(plan, resources)
    arrays = counts.states.relabelled_arrays(relabelling)
    states.from_contents(Contents(arrays, counts.n_rows))
    notes = counts.notes
    if relabelling.adds_labels and _has_unknown(counts):
        known = [note for note in notes if not _is_of_unknown(note)]
        notes = (*known, UNKNOWN_NOTE)
    return replace(counts, plan=plan, states=states, unscored=unscored, notes=notes)


def _is_of_unknown(note: str) -> bool:
    """Return whether a note counts labels that a state did not know."""
    return isinstance(note, Note) and note.fields[1] in OF_UNKNOWN


def _hints_of(counts: Counted) -> DataHints:
    """Return the properties of the rows."""
    assert counts.states is not None
    hints = counts.states[DATA_HINTS]
    assert isinstance(hints, DataHints)
    return hints


def _has_unknown(counts: Counted) -> bool:
    """Return whether predictions had labels that were not known."""
    return bool(_hints_of(counts).n["unknown"])


def _refuse_inexact(counts: Counted, labels: Relabelling) -> None:
    """Refuse measures whose counts do not give the values of one run over all labels."""
    assert counts.plan is not None
    problem = next(_problems_of(counts, counts.plan, labels), None)
    if problem is not None:
        measure, reason = problem
        text = f" cannot be merged by name of labels: {reason}; evaluate each state with "
        raise InputError(
            "merge", Message(f"{measure}", text, Keyword("labels"), ", the names of all")
        )


class LabelChange(NamedTuple):
    """What distinguishes counts from those of one run over all labels.

    unknown : why predictions of unknown labels matter; "" if there are none or no labels are added
    has_broken_ties : whether equal scores ranked by numbers of labels that change
    ranks_unlisted : whether labels that a row does not list have a score, and change
    """

    labels: Relabelling
    unknown: str
    has_broken_ties: bool
    ranks_unlisted: bool


def _change_of(counts: Counted, plan: Plan, labels: Relabelling) -> LabelChange:
    """Return what distinguishes counts from those of one run over all labels."""
    unknown = ""
    if labels.adds_labels and _has_unknown(counts):
        n_other = counted(labels.n_labels - labels.numbers.size, "labels")
        unknown = "a state predicted labels that it does not know, but the other has "
        unknown += f"{n_other} more"
    is_reordered = counts.ranks_by_id and not labels.keeps_order
    is_same = labels.keeps_numbers and not labels.adds_labels
    return LabelChange(
        labels,
        unknown,
        has_broken_ties=is_reordered and _has_ties(_hints_of(counts)),
        ranks_unlisted=plan.unlisted is not None and not is_same,
    )


def _has_ties(hints: DataHints) -> bool:
    """Return whether the order of equal scores matters, also of irrelevant ones by label."""
    return bool(hints.n_tied.any()) or hints.n["equal"] > 0


def _problems_of(
    counts: Counted, plan: Plan, labels: Relabelling
) -> Iterator[tuple[Spec | str, str]]:
    """Yield measures that cannot be merged exactly, and why."""
    change = _change_of(counts, plan, labels)
    if change.unknown and LABEL_GROUPS in plan.states:
        yield "a group of labels", change.unknown
    if change.unknown and (plan.kept_decisions or plan.keep_curves or plan.curve_points):
        yield "values by label", change.unknown
    if change.has_broken_ties and plan.kept_decisions:
        yield "values by label", ORDER
    for spec in plan.all_specs:
        state = spec.state_with(plan.weighted)  # without its level of relevance
        if state:
            reason = _reason_of(spec, state, plan, change)
            if not reason and change.has_broken_ties and spec.name in _hints_of(counts).ties:
                reason = ORDER
            if reason:
                yield spec, reason


def _reason_of(spec: Spec, state: str, plan: Plan, change: LabelChange) -> str:
    """Return why counts of a measure do not give its value over all labels; "" if they do."""
    labels = change.labels
    if spec.metric.family == OWN and (labels.adds_labels or not labels.keeps_numbers):
        return "a formula of its own may depend on the numbers of labels"
    counts_unknown = state_class(state).with_unknown and not spec.metric.every_label
    if labels.adds_labels and spec.metric.every_label and state in ROW_VALUES:
        return "its value of a row depends on the number of labels"
    if labels.adds_labels and spec in plan.gapless:
        return "it needs a score of every label"
    if state == FINGERPRINTS and not labels.keeps_numbers:
        return "sets of labels are kept by the numbers of labels"
    if change.unknown and not counts_unknown and spec.needs:
        return change.unknown
    if change.ranks_unlisted and state not in CLOSED_FORM and _reads_ranking(plan, spec):
        return "unlisted labels have a score, and take ranks"
    return ""


def _reads_ranking(plan: Plan, spec: Spec) -> bool:
    """Return whether a measure depends on the ranks of labels."""
    if spec.of_sets:
        return plan.decide(spec).kind not in ("pred", "threshold")
    return "scores" in spec.needs
