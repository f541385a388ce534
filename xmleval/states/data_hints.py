"""DataHints: properties of the rows that show how they were meant, for notes on the values."""

from __future__ import annotations

import math
from itertools import chain
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Floats, Ints, Scores, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.errors import ALL_LABELS, RISING, TIES, Field, Keyword, Message, counted
from xmleval.input.canonical import LEAST_STEPS, RankedRows, RawScores
from xmleval.input.cell_marks import JUDGED, UNJUDGED
from xmleval.input.plausibility import describe_ids
from xmleval.input.scores import with_cut_ties
from xmleval.kernels.checking import FIRST_IDS, look_at_ids
from xmleval.kernels.ties import count_tied_rows
from xmleval.metrics.spec import SETS_OF_LABELS, Spec
from xmleval.states.contents import Contents
from xmleval.states.effects import (
    FIELD,
    GAINS,
    OF_GAINS,
    RELEVANT_FROM,
    are_gains_idle,
    few_names,
    idle_note,
    reads_relevance,
)
from xmleval.states.list_lengths import ListLengths, measure_lengths
from xmleval.states.plan import NO_GAPS, Plan, at_level
from xmleval.states.relabelling import Relabelling
from xmleval.states.results import ListLength, Results
from xmleval.states.state import Arrays, State, unjudged_rows
from xmleval.view.block import Block, Hierarchy
from xmleval.view.view import View

COUNTS = (
    "rows",
    "relevant",  # relevant labels of all rows
    "listed",  # entries of all lists
    "tied",  # rows in which the order of a tie across a cutoff changes a value
    "labelled",  # rows with relevant labels
    # rows that lack a score, by the average that reads them: with pairs, and all
    "samples",
    "macro",
    "grades",  # judged labels of a grade above 1
    "ones",  # judged labels of a positive grade up to 1
    "gaining",  # rows with labels of a positive gain, where a measure reads gains
    "negative",  # rows with scores below 0
    "above_1",  # rows with scores above 1
    "outside",  # predicted labels that are no nodes of a hierarchy
    "unjudged",  # labels of rows that are not judged
    "equal",  # blocks in which equal scores may decide sets, where labels have names
    # blocks with label names, with judged labels that are not relevant, with unknown labels, with
    # scores other than 0 and 1, and with scores that rise or fall along lists
    "named",
    "judging",
    "unknown",
    "graded",
    "rising",
    "falling",
)
# what measures of judgements are where no irrelevant label is judged
IF_RELEVANT_ARE_JUDGED = {
    "judged": "the precision",
    "bpref": "the recall of whole lists",
    "rbp_residual": "1 - rbp",
}
SEVERAL = 2  # labels in a list that has an order
# as in `Measure.ties`; those of a label group depend on ties between relevant labels, too
TIE_KINDS = ("hits", "any", "first", "order", "hits of group", "order of group")
# what a tie across a cutoff changes, by kind; the order changes hits, too
NOTED_KINDS = {"hits": 0, "order": 0, "any": 1, "first": 2}
# what relevant labels gain in a measure, if not 1: their inverse propensity, or by their grade
PROPENSITY = "propensity"
GRADE = "grade"
N_RELEVANT = 0  # cutoff at the number of relevant labels of a row
ALL_RANKS = 1 << 62  # cutoff of the whole ranking


class Gain(NamedTuple):
    """Which labels are relevant for a measure, and what they gain in it.

    level : level of relevance; 0 for that of the conventions
    kind : "" where all gain the same; PROPENSITY, or GRADE for all labels of a positive grade
    """

    level: int = 0
    kind: str = ""


class DataHints(State):
    """Counts of rows and blocks, the ids that occur, and the longest lists.

    n : the counts, by name
    lengths : of lists, as far as measures read them, and at least up to 2 labels
    missing, highest : bits of the first ids that do not occur, and the highest id; see
        `look_at_ids`
    ties : kind and cutoff of the ties that each measure depends on, by its name
    cutoffs : int64 (c,), cutoffs of measures and of ``ties``
    noted : bool (gains, 3, c), for which ties across a cutoff rows are counted in the note, by
        what they change; see `NOTED_KINDS`
    levels : levels of relevance that measures read, ascending; 0 for that of the conventions
    gains : what relevant labels gain in the measures of ``ties``, each level first
    n_by_level : int64 (levels, 3), numbers of relevant labels, of rows that have any, and of blocks
        with judged labels that are not relevant
    n_tied : int64 (gains, kinds, c), number of rows that depend on ties
    deepest_read : length from which lists are long enough, None if measures read them all
    looks_at_grades, looks_at_range : whether grades are counted, and scores outside of 0 to 1
    """

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n = dict.fromkeys(COUNTS, 0)
        self.lengths = ListLengths()
        self.missing = (1 << FIRST_IDS) - 1
        self.highest = -1
        self.ties = dict[str, tuple[str, int]]()
        for spec in plan.all_specs:
            tie_end = _find_tie_end(plan, spec)
            if tie_end is not None:
                self.ties[spec.name] = tie_end
        if plan.conventions.all_orders:
            for cutoff in _cutoffs_of_labels(plan):
                self.ties[f"tp@{cutoff} by label"] = ("hits", cutoff)
        cutoffs = sorted({cutoff for _, cutoff in self.ties.values()})
        self.cutoffs: Ints = np.array(cutoffs, np.int64)
        self.levels = sorted({spec.level or 0 for spec in plan.all_specs}) or [0]
        gain_of = {spec.name: _gain_of(plan, spec) for spec in plan.all_specs}
        self.gain_of = {name: gain_of.get(name, Gain()) for name in self.ties}  # Gain() by label
        same = [Gain(level) for level in self.levels]
        self.gains = [*same, *sorted({*self.gain_of.values()}.difference(same))]
        self.noted = self._find_noted()
        self.n_by_level: Ints = np.zeros((len(self.levels), 3), np.int64)
        shape = len(self.gains), len(TIE_KINDS), self.cutoffs.size
        self.n_tied: Ints = np.zeros(shape, np.int64)
        self.deepest_read: int | None = None
        if plan.depth is not None:
            self.deepest_read = max([SEVERAL, *filter(None, plan.reads.values())])
        looks = are_gains_idle(plan), counts_any_grade(plan), counts_grades_as_1(plan)
        self.looks_at_grades = any(looks)
        self.looks_at_range = is_threshold_of_probabilities(plan) or _maps_logits(plan)

    def _find_noted(self) -> Bools:
        """Return for which ties across a cutoff rows are noted."""
        noted: Bools = np.zeros((len(self.gains), 3, self.cutoffs.size), np.bool_)
        for name, (kind, cutoff) in self.ties.items():
            if cutoff not in (N_RELEVANT, ALL_RANKS):
                place = self.gains.index(self.gain_of[name])
                noted[place, NOTED_KINDS[kind], np.searchsorted(self.cutoffs, cutoff)] = True
        return noted

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        n = self.n.copy()
        self._count_truth(view, n)
        ranking = view.block.ranking
        if ranking is not None and ranking.scores is not None and self.looks_at_range:
            highest, lowest = row_ends(ranking)
            n["above_1"] += int(np.count_nonzero(highest > 1))
            n["negative"] += int(np.count_nonzero(lowest < 0))
        if self.plan.hierarchy is not None and view.block.unknown:
            n["outside"] += _count_outside(view.block, self.plan.hierarchy)
        if view.block.by_id and self.missing & 1:
            self._look_at_labels(view)
        if self.plan.gapless:
            _count_gaps(view, n)
        if ranking is not None and ranking.raw is not None:
            self._count_lists(view, ranking, ranking.raw, n)
        self.n = n

    def _at_level(self, view: View, level: int) -> View:
        """Return the rows of a block at a level of relevance, 0 for that of the conventions."""
        return view.relevant_from(self.plan.least_gain(level)) if level else view

    def _count_truth(self, view: View, n: dict[str, int]) -> None:
        """Add the counts of the truth of a block."""
        block = view.block
        judged = block.judged
        counts = _count_relevant(view)
        n["rows"] += view.n_rows
        n["relevant"] += counts[0]
        n["labelled"] += counts[1]
        n["judging"] += counts[2]
        n_by_level = self.n_by_level.copy()
        for place, level in enumerate(self.levels):
            n_by_level[place] += _count_relevant(self._at_level(view, level)) if level else counts
        self.n_by_level = n_by_level
        if any(gain.kind == GRADE for gain in self.gains):
            n["gaining"] += int(np.count_nonzero(view.of_gains.n_relevant))
        n["named"] += not block.by_id and view.n_rows > 0
        n["unknown"] += block.unknown
        if block.cells is not None:
            n["unjudged"] += view.n_rows * view.n_labels - int(view.n_cells.sum())
        if self.looks_at_grades and judged is not None and judged.gains is not None:
            n["grades"] += int(np.count_nonzero(judged.gains > 1))
            n["ones"] += int(np.count_nonzero((judged.gains > 0) & (judged.gains <= 1)))

    def _look_at_labels(self, view: View) -> None:
        """Add the ids of a block."""
        block = view.block
        for part in (block.judged or block.truth, block.pred):
            if part is not None:
                self._add_ids(*look_at_ids(part.labels))
        raw = None if block.ranking is None else block.ranking.raw
        if raw is not None and view.n_rows:
            self._add_ids(raw.missing, raw.highest)

    def _add_ids(self, missing: int, highest: int) -> None:
        """Add ids that do not occur and the highest id; nothing more is added once id 0 occurs."""
        self.missing &= missing
        self.highest = max(self.highest, highest)
        if not self.missing & 1:
            self.missing = 0
            self.highest = -1

    def _count_lists(
        self, view: View, ranking: RankedRows, raw: RawScores, n: dict[str, int]
    ) -> None:
        """Add the counts of the lists of a block, and their ties and lengths."""
        n["listed"] += raw.n_listed
        n["graded"] += not raw.binary
        n["rising"] += raw.rises
        n["falling"] += raw.falls
        if self.plan.labels is not None:
            n["equal"] += self._may_order_decide(view, ranking)
        if self.cutoffs.size and _may_tie(view):
            is_noted = np.zeros(view.n_rows, np.bool_)
            whole = with_cut_ties(view.ranking)
            n_tied = [
                count_tied(*self._with_gains(view, gain), whole, self.cutoffs, noted, is_noted)
                for gain, noted in zip(self.gains, self.noted, strict=True)
            ]
            n["tied"] += int(np.count_nonzero(is_noted))
            self.n_tied = self.n_tied + np.stack(n_tied)
        self.lengths = self.lengths.plus(measure_lengths(ranking.ptr, self.deepest_read))

    def _may_order_decide(self, view: View, ranking: RankedRows) -> bool:
        """Return whether the order of equal scores may decide which labels are in sets."""
        if ranking.ordered:
            return ranking.has_ties
        candidates = map(view.candidates, self.plan.rules_of_scores)
        return any(entries.cut_ties is not None for entries in candidates)

    def _with_gains(self, view: View, gain: Gain) -> tuple[View, Floats]:
        """Return the rows with the labels that gain something, and what each one gains.

        The gains are empty where all are the same.
        """
        if gain.kind == GRADE:
            graded = view.of_gains
            return graded, graded.gains
        at_level = self._at_level(view, gain.level)
        if gain.kind == PROPENSITY:
            assert self.plan.propensity is not None
            return at_level, self.plan.propensity.values[at_level.block.truth.labels]
        return at_level, np.empty(0)

    def merge(self, added: DataHints) -> None:
        """Merge a state of other rows."""
        self.n = {name: n + added.n[name] for name, n in self.n.items()}
        self.n_by_level = self.n_by_level + added.n_by_level
        self.n_tied = self.n_tied + added.n_tied
        self.lengths = self.lengths.plus(added.lengths)
        self._add_ids(added.missing, added.highest)

    def finish(self) -> Results:
        """Return notes, measures that are not computed, and measures of short or tied lists."""
        results = Results()
        plan = self.plan
        n = self.n
        if not n["rows"]:
            return results
        for spec in plan.gapless:
            if n[spec.average or ""]:
                results.not_computed[spec.name] = NO_GAPS
        for level, n_relevant in zip(self.levels, self.n_by_level[:, 0].tolist(), strict=True):
            if not n_relevant:
                results.notes[at_level("empty", level)] = describe_no_relevant(plan, level)
        if plan.inputs & {JUDGED, UNJUDGED}:
            results.notes["cells"] = self._describe_cells()
        if n["unknown"]:
            self._add_unknown(results)
        if plan.reads_grades:
            self._add_unjudged(results)
        self._add_meaning(results)
        needs = {*chain(*(spec.needs for spec in plan.all_specs))}
        reads_scores = bool(needs & {"scores", "entry scores"})
        if reads_scores or self.ties:  # or sets are the first labels of a ranking
            self._add_scores(results)
        if reads_scores:
            self._add_short(results)
        return results

    def _describe_cells(self) -> str:
        """Return the note on how many labels of rows are judged."""
        n = self.n
        n_cells = n["rows"] * self.plan.n_labels
        n_judged = n_cells - n["unjudged"]
        if n_judged == n_cells:
            return "all labels of rows are judged, so none is left out"
        text = f"{n_judged} of {n_cells} labels of rows are judged; no others count, on either side"
        if n_judged == n["relevant"]:
            text += "; all of them are relevant"
        return text

    def _add_unknown(self, results: Results) -> None:
        """Add notes on what unknown labels do to the values."""
        plan = self.plan
        if not plan.counts_cells:
            names = [spec.name for spec in plan.specs if spec.metric.every_label]
            results.not_computed |= dict.fromkeys(names, ALL_LABELS)
        predicted = [
            spec for spec in plan.all_specs if spec.needs and spec.name not in results.not_computed
        ]
        if any(spec.metric.every_label or spec.state == SETS_OF_LABELS for spec in predicted):
            results.notes["unknown"] = (
                "averages over labels, and measures of all cells such as Hamming loss, "
                "leave unknown labels out"
            )
        if self.n["outside"] and any("hierarchy" in spec.needs for spec in predicted):
            results.notes["ancestors"] = Message(
                "some unknown labels are not in ",
                Keyword("hierarchy"),
                ", and count without ancestors",
            )

    def _add_unjudged(self, results: Results) -> None:
        """Add a note on measures for which no irrelevant label is judged."""
        names_by_meaning = dict[str, list[str]]()
        n_judging = dict(zip(self.levels, self.n_by_level[:, 2].tolist(), strict=True))
        for spec in self.plan.specs:
            reads_judgements = spec.level or self.plan.conventions.graded
            if not reads_judgements or n_judging[spec.level or 0]:
                continue
            if spec.metric.name in IF_RELEVANT_ARE_JUDGED:
                meaning = IF_RELEVANT_ARE_JUDGED[spec.metric.name]
                names_by_meaning.setdefault(meaning, []).append(spec.name)
        if names_by_meaning:
            meanings = [
                f"{', '.join(names)} is {meaning}" for meaning, names in names_by_meaning.items()
            ]
            results.notes["judged"] = (
                "no label of the truth has a grade of 0 or below, so only relevant labels "
                f"are judged and {'; '.join(meanings)}"
            )

    def _add_meaning(self, results: Results) -> None:
        """Add notes on ids, scores and grades that seem to mean something else."""
        n = self.n
        plan = self.plan
        if self._ids_count_from_1():
            ids = describe_ids(plan.n_labels)
            counted_too = "averages over labels and measures of all cells count label 0, too"
            results.notes["ids"] = f"{ids}; {counted_too}"
        if is_threshold_of_probabilities(plan) and n["negative"] and n["above_1"]:
            results.notes["logits"] = _describe_logits(plan)
        if _maps_logits(plan) and n["listed"] and not (n["negative"] or n["above_1"]):
            results.notes["probabilities"] = Message(
                Field("link", "sigmoid"),
                " is for logits, but all scores are within 0 and 1; leave it out for probabilities",
            )
        if are_gains_idle(plan) and not n["grades"]:
            results.notes["gains"] = idle_note(Field("gains"), plan.specs, OF_GAINS)

        if counts_grades_as_1(plan) and n["grades"]:
            results.notes["gains"] = Message(
                "the gain of a relevant label is 1, whatever its grade, in ",
                few_names([spec for spec in plan.specs if spec.reads_gains]),
                "; ",
                Field("gains", "linear"),
                " takes the grades",
            )
        if counts_any_grade(plan) and n["grades"] and n["ones"]:
            results.notes["relevant_from"] = Message(
                "grades above 1 occur, and measures of relevant labels, such as ",
                next(spec.name for spec in plan.specs if _counts_any_grade(spec, plan)),
                ", count grade 1 as relevant, too; ",
                Field(RELEVANT_FROM, "2"),
                " counts grades from 2 on",
            )

    def _ids_count_from_1(self) -> bool:
        """Return whether ids seem to count from 1.

        Then id 0 does not occur, but all other first ids do, and the last one, however rare label 0
        is.
        """
        if self.n["named"] or self.highest != self.plan.n_labels - 1:
            return False
        n_first = min(FIRST_IDS, self.plan.n_labels)
        first_ids = (1 << n_first) - 1
        return self.missing & first_ids == 1

    def _add_scores(self, results: Results) -> None:
        """Add notes on scores, and the measures that depend on ties."""
        n = self.n
        plan = self.plan
        if not n["graded"] and (self.lengths.deepest >= SEVERAL or n["listed"] > n["rows"]):
            results.notes["binary"] = Message(
                "every score is 0 or 1, so the order of equal scores is arbitrary; "
                "give predicted sets as ",
                Keyword("y_pred"),
            )
        elif n["tied"]:
            results.notes["ties"] = f"{TIES}{n['tied']}"
        if self.n_tied.any():
            self._add_tied(results)
        if plan.conventions.all_orders and results.tied:
            results.notes["order"] = _describe_ordered(plan, [*results.tied])
        if n["rising"] and not n["falling"] and n["listed"] - n["rows"] >= LEAST_STEPS:
            results.notes["rises"] = RISING

    def _add_tied(self, results: Results) -> None:
        """Add the shares of rows whose values, or the shares of label groups, depend on ties."""
        for name, (kind, cutoff) in self.ties.items():
            gain = self.gain_of[name]
            n_labelled = self._count_labelled(gain)
            for key, shares in ((kind, results.tied), (f"{kind} of group", results.tied_shares)):
                if key not in TIE_KINDS:  # not every kind has one of groups
                    continue
                place = np.searchsorted(self.cutoffs, cutoff)
                n_tied = int(self.n_tied[self.gains.index(gain), TIE_KINDS.index(key), place])
                if n_tied:
                    shares[name] = n_tied / n_labelled

    def _count_labelled(self, gain: Gain) -> int:
        """Return the number of rows with labels that gain something."""
        if gain.kind == GRADE:
            return self.n["gaining"]
        return int(self.n_by_level[self.levels.index(gain.level), 1])

    def _add_short(self, results: Results) -> None:
        """Add the measures that read cut lists and short ones, and a note on their length."""
        n_labels = self.plan.n_labels
        lengths = self.lengths
        ranks_below = self.plan.unlisted is None
        if not (ranks_below or lengths.are_cut(self.n["rows"], n_labels)):
            # rows do not end at a common depth: scores above a threshold, or all but zeros, lack
            # nothing
            return
        results.cut = dict.fromkeys(self.plan.reads, True)
        length = ListLength(self.n["listed"] / max(lengths.n_lists, 1), lengths.deepest)
        for name, depth in self.plan.reads.items():
            if self._are_short(length, depth):
                results.short[name] = length
        if not ranks_below:
            return
        cutoffs = {spec.k for spec in self.plan.specs if spec.k and spec.name in results.short}
        if cutoffs:
            at_k = ", ".join([f"@{k}" for k in sorted(cutoffs)])
            results.notes["depth"] = (
                f"lists have at most {counted(lengths.deepest, 'labels')}: "
                f"measures {at_k} count missing labels as wrong"
            )

    def _are_short(self, length: ListLength, depth: int | None) -> bool:
        """Return whether lists lack labels that a measure reads; ``depth`` is None for all."""
        if depth is not None:
            return length.deepest < depth
        n = self.n
        n_cells = n["rows"] * self.plan.n_labels - n["unjudged"]
        if self.lengths.n_lists == n["rows"]:
            return n["listed"] < n_cells
        return length.mean < n_cells / n["rows"]

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        lists = np.array([*self.lengths, self.missing, self.highest])
        ties = self.n_tied.reshape(len(self.gains) * len(TIE_KINDS), self.cutoffs.size)
        arrays: Arrays = {"counts": np.array([*self.n.values()]), "lists": lists, "ties": ties}
        if self.levels != [0]:
            arrays["levels"] = self.n_by_level
        return arrays

    def relabelled_arrays(self, labels: Relabelling) -> Arrays:
        """Return the arrays to save; with new numbers, nothing is known of ids."""
        arrays = self.arrays()
        n_added = labels.n_labels - labels.numbers.size
        place = COUNTS.index("unjudged")
        arrays["counts"][place] += n_added * unjudged_rows(self.plan, self.n["rows"])
        if not labels.keeps_numbers:
            arrays["lists"] = np.array([*self.lengths, 0, -1])
        return arrays

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n = dict(zip(COUNTS, contents.take("counts", len(COUNTS)).tolist(), strict=True))
        shape = len(self.gains) * len(TIE_KINDS), self.cutoffs.size
        ties = contents.take("ties", *shape, high=contents.n_rows)
        self.n_tied = ties.reshape(self.n_tied.shape)
        if self.levels == [0]:
            counts = [self.n["relevant"], self.n["labelled"], self.n["judging"]]
            self.n_by_level = np.array([counts])
        else:
            self.n_by_level = contents.take("levels", *self.n_by_level.shape)
        *lengths, self.missing, self.highest = contents.take("lists", 5, low=-1).tolist()
        self.lengths = ListLengths(*lengths)


def counts_any_grade(plan: Plan) -> bool:
    """Return whether labels of any grade are relevant for some measure, as nobody asked for."""
    if not plan.reads_grades or plan.conventions.relevant_from > 1:
        return False
    if FIELD + RELEVANT_FROM in plan.given:
        return False
    return any(_counts_any_grade(spec, plan) for spec in plan.specs)


def _counts_any_grade(spec: Spec, plan: Plan) -> bool:
    """Return whether labels of any grade are relevant for a measure, which has no gains."""
    return reads_relevance(spec, plan) and not spec.reads_gains


def counts_grades_as_1(plan: Plan) -> bool:
    """Return whether a measure of gains takes 1 for each relevant label, as nobody asked for."""
    if not plan.reads_grades or plan.conventions.has_gains or FIELD + GAINS in plan.given:
        return False
    return any(spec.reads_gains for spec in plan.specs)


def describe_no_relevant(plan: Plan, level_of_measures: int) -> Message:
    """Return the note that no row has a relevant label, at a level or by the conventions (0)."""
    if level_of_measures:
        names = [spec.name for spec in plan.specs if spec.level == level_of_measures]
        return Message(
            f"no label of the truth has a grade of {level_of_measures} or above, as "
            f"{', '.join(names)} {'asks' if len(names) == 1 else 'ask'} for: "
            f"{'it is' if len(names) == 1 else 'they are'} 0 or undefined"
        )
    level = plan.conventions.relevant_from
    if level > 1:
        lacking = Message(
            f"no label of the truth has a grade of {level} or above, as ",
            Field(RELEVANT_FROM, str(level)),
            " asks for",
        )
    else:
        lacking = Message("no row of the truth has a relevant label")
    return Message(lacking, ": measures are 0 or undefined")


def _count_relevant(view: View) -> tuple[int, int, bool]:
    """Return the numbers of relevant labels and of rows with any, and whether others are judged."""
    judged = view.block.judged
    n_relevant = view.block.truth.labels.size
    n_labelled = int(np.count_nonzero(view.n_relevant))
    return n_relevant, n_labelled, judged is not None and judged.labels.size > n_relevant


def _count_outside(block: Block, hierarchy: Hierarchy) -> int:
    """Return the number of predicted labels that are no nodes of the hierarchy."""
    n_nodes = hierarchy.ptr.size - 1
    n_outside = 0
    for part in (block.ranking, block.pred):
        if part is not None:
            n_outside += int(np.count_nonzero(part.labels >= n_nodes))
    return n_outside


def _count_gaps(view: View, n: dict[str, int]) -> None:
    """Add the rows that lack a score to the counts."""
    is_short = row_sizes(view.inside.ranking.ptr) < view.n_cells
    if is_short.any():
        has_pairs = (view.n_relevant > 0) & (view.n_relevant < view.n_cells)
        n["samples"] += int(np.count_nonzero(is_short & has_pairs))
        n["macro"] += int(np.count_nonzero(is_short))


def row_ends(ranking: RankedRows) -> tuple[Scores, Scores]:
    """Return the highest and the lowest scores of the rows that list any labels."""
    scores = ranking.scores
    assert scores is not None
    starts = ranking.ptr[:-1]
    stops = ranking.ptr[1:]
    has_labels = starts < stops
    starts = starts[has_labels]
    if ranking.ordered or not starts.size:
        return scores[starts], scores[stops[has_labels] - 1]
    return np.maximum.reduceat(scores, starts), np.minimum.reduceat(scores, starts)


def is_threshold_of_probabilities(plan: Plan) -> bool:
    """Return whether sets are made by a threshold between 0 and 1, as for probabilities."""
    rule = plan.decision
    if rule is None or not plan.uses_decision or not plan.higher_is_better:
        return False
    return rule.kind == "threshold" and 0 < rule.value < 1


def _maps_logits(plan: Plan) -> bool:
    """Return whether scores are made probabilities for a measure that needs them."""
    if plan.conventions.link != "sigmoid":
        return False
    return any("probabilities" in spec.needs for spec in plan.all_specs)


def _describe_logits(plan: Plan) -> Message:
    """Return the note that scores compared with a threshold of probabilities look like logits."""
    assert plan.decision is not None
    probability = plan.decision.value
    logit = round(math.log(probability / (1 - probability)), 6) + 0.0
    parts: list[str | Keyword] = [
        Keyword("decision", str(plan.decision)),
        " is compared with scores below 0 and above 1; if these are logits, give ",
        Keyword("decision", f"threshold{logit:g}"),
        " for the same probability",
    ]
    if plan.conventions.link != "none":
        parts += [", as ", Field("link"), " is not for decisions"]
    return Message(*parts)


def _describe_ordered(plan: Plan, names: list[str]) -> Message:
    """Return a note on the measures in which equal scores keep their order, by their names."""
    ties = Field("ties", plan.conventions.ties)
    return Message(
        ties, f" does not change {', '.join(names)}: equal scores keep their order there"
    )


def _cutoffs_of_labels(plan: Plan) -> list[int]:
    """Return the cutoffs at which hits are kept by label."""
    suffixes = chain(*plan.kept_decisions.values())
    return [int(suffix.removeprefix("@")) for suffix in suffixes if suffix]


def _find_tie_end(plan: Plan, spec: Spec) -> tuple[str, int] | None:
    """Return the kind of ties that a measure depends on, and their cutoff; None without any."""
    depth = plan.reads[spec.name]
    if not spec.ties or depth == 0 or (spec.of_sets and depth is None):
        return None
    if depth is None:
        depth = N_RELEVANT if spec.ties == "hits" else ALL_RANKS
    return spec.ties, depth


def _gain_of(plan: Plan, spec: Spec) -> Gain:
    """Return which labels are relevant for a measure, and what they gain in it."""
    # ERR has no convention for gains: it always reads grades, whatever is relevant
    always_graded = "grades" in spec.needs and not spec.metric.of_relevance
    if (spec.reads_gains or always_graded) and plan.conventions.has_gains:
        return Gain(kind=GRADE)
    kind = PROPENSITY if "propensity" in spec.needs else ""
    return Gain(spec.level or 0, kind)


def _may_tie(view: View) -> bool:
    """Return whether any row may have equal scores."""
    ranking = view.ranking
    if ranking.scores is None:
        return False
    is_sorted = ranking.ordered and view.unlisted is None
    return not is_sorted or ranking.cut_ties is not None or ranking.has_ties


def count_tied(
    view: View,
    gains: Floats,
    ranking: RankedRows,
    cutoffs: Ints,
    noted: Bools,
    is_noted: Bools,
) -> Ints:
    """Return the numbers of rows whose values depend on ties, by kind and cutoff.

    gains : float64 (t,), of relevant labels; (0,) if all gain the same
    ranking : the lists of the rows with all labels that tie with the last one
    noted : (3, c); is_noted : (n,), set to True for rows with noted ties; see `count_tied_rows`
    """
    counts: Ints = np.zeros((len(TIE_KINDS), cutoffs.size), np.int64)
    if ranking.ordered and view.unlisted is None:
        assert ranking.scores is not None
        lists = ranking.ptr, ranking.labels, ranking.scores
        count_tied_rows(*view.block.truth[:2], gains, *lists, cutoffs, noted, counts, is_noted)
        return counts
    groups = _find_tie_groups(view, gains)
    if groups is None:
        return counts
    for column, cutoff in enumerate(cutoffs.tolist()):
        k = cutoff or view.n_relevant[groups.rows]
        is_above = groups.above < k
        is_across = is_above & (k < groups.above + groups.size)
        can_miss_all = groups.size - groups.n_relevant >= k - groups.above
        depends = (  # in the order of `TIE_KINDS`
            is_across & groups.order_matters,
            is_across & groups.order_matters & groups.is_first & can_miss_all,
            is_above & groups.order_matters & groups.is_first,
            is_above & groups.order_matters,
            is_across,
            is_above,
        )
        for kind, selected in enumerate(depends):
            counts[kind, column] = np.unique(groups.rows[selected]).size
        for changed, selected in enumerate(depends[:3]):
            if noted[changed, column]:
                is_noted[groups.rows[selected & is_across]] = True
    return counts


class TieGroups(NamedTuple):
    """Groups of labels with equal scores, some or all of them relevant, (g,) each.

    rows : int64, row of each group, ascending
    above, size, n_relevant : int64, numbers of labels above, in the group, and relevant in it
    is_first : whether no relevant label of the row is above the group
    order_matters : whether some labels of the group are irrelevant, or gain differently
    """

    rows: Ints
    above: Ints
    size: Ints
    n_relevant: Ints
    is_first: Bools
    order_matters: Bools


def _find_tie_groups(view: View, gains: Floats) -> TieGroups | None:
    """Return the tie groups of a view with relevant labels, None if no scores tie.

    gains : float64 (t,), of relevant labels; (0,) if all gain the same
    """
    above, tied = view.standing
    is_tied = tied > 1
    if not is_tied.any():
        return None
    rows: Ints = np.repeat(np.arange(view.n_rows), view.n_relevant)
    # rank of the first relevant label: labels without score are never above one with a score
    highest = np.full(view.n_rows, ALL_RANKS, np.int64)
    np.minimum.at(highest, rows, above)
    if view.unlisted is None:
        is_tied &= view.positions > 0  # labels below all others earn nothing
    rows = rows[is_tied]
    above = above[is_tied]
    tied = tied[is_tied]
    order = np.lexsort((above, rows))
    rows = rows[order]
    above = above[order]
    tied = tied[order]
    is_new_group = (rows[1:] != rows[:-1]) | (above[1:] != above[:-1])
    starts = np.flatnonzero(np.append(True, is_new_group)[: rows.size])
    n_relevant: Ints = np.diff(np.append(starts, rows.size))
    order_matters = n_relevant < tied[starts]
    if gains.size:
        tied_gains = gains[is_tied][order]
        least = np.minimum.reduceat(tied_gains, starts)
        order_matters |= least < np.maximum.reduceat(tied_gains, starts)
    is_first = above[starts] == highest[rows[starts]]
    return TieGroups(rows[starts], above[starts], tied[starts], n_relevant, is_first, order_matters)


STATE = DataHints
