"""Seen: what the rows look like, where that says how they were meant."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Bools, Ints, Scores, row_sizes
from xmleval.base.budget import Resources
from xmleval.base.errors import ALL_LABELS, RISING, TIES, Field, Keyword, Message, counted
from xmleval.input.canonical import LEAST_STEPS, Ranking, Truth
from xmleval.kernels.checking import FIRST_IDS, look_at_ids
from xmleval.kernels.ties import count_tied_rows
from xmleval.metrics.spec import SETS_OF_LABELS, Spec
from xmleval.states.contents import Contents
from xmleval.states.effects import OF_GAINS, are_gains_idle, idle_note
from xmleval.states.list_lengths import ListLengths, lengths_of
from xmleval.states.plan import NO_GAPS, Plan
from xmleval.states.results import ListLength, Results
from xmleval.states.state import Arrays, State
from xmleval.view.view import View

COUNTS = (
    "rows", "relevant", "listed",  # rows, their relevant labels, and the entries of their lists
    "tied",  # rows with equal scores on both sides of a cutoff
    "labelled",  # rows with relevant labels
    "samples", "macro",  # rows that lack a score, as these averages read them: with pairs, and all
    "grades", "negative", "above_1",  # judged labels of a grade above 1, rows with scores below 0, above 1
    "outside",  # predicted labels that are no nodes of a hierarchy
    "named", "judging", "unknown", "graded", "rising", "falling",  # blocks of which that is true
)  # fmt: skip
SEVERAL = 2  # labels, which have an order
# as in `Metric.ties`; and of the hits and the ranks of a group of labels, between relevant labels, too
TIES_OF = ("hits", "any", "first", "order", "hits of group", "order of group")
N_RELEVANT, ALL_RANKS = 0, 1 << 62  # cutoffs: the number of relevant labels of a row, and the whole ranking


class Seen(State):
    """Counts of rows and blocks, the ids that occur, and the longest lists."""

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], resources: Resources) -> None:
        super().__init__(plan, specs, resources)
        self.n = dict.fromkeys(COUNTS, 0)
        self.lengths = ListLengths()  # of lists, as far as they are read, or up to 2
        self.missing, self.highest = (1 << FIRST_IDS) - 1, -1  # ids, see `look_at_ids`
        cutoffs = sorted(filter(None, {*plan.reads.values()}))
        self.ties = {spec.name: end for spec in plan.all_specs if (end := _tie_end(plan, spec))}
        ends = {cutoff for _, cutoff in self.ties.values()}
        all_cutoffs = sorted({*cutoffs, *ends})
        self.cutoffs: Ints = np.array(all_cutoffs, np.int64)
        self.noted: Bools = np.array([cutoff in cutoffs for cutoff in all_cutoffs], np.bool_)
        self.n_tied: Ints = np.zeros((len(TIES_OF), self.cutoffs.size), np.int64)  # rows by kind and cutoff
        # None where lists have all labels that were given
        self.deepest_read = None if plan.depth is None else max([SEVERAL, *cutoffs])
        self.looks_at_grades = plan.conventions.graded and are_gains_idle(plan)
        self.looks_at_range = is_threshold_of_probabilities(plan)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        block, ranking, n_relevant = view.block, view.block.ranking, view.block.truth.labels.size
        plan, n, raw = self.plan, self.n.copy(), None if ranking is None else ranking.raw
        n["rows"] += view.n_rows
        n["relevant"] += n_relevant
        n["labelled"] += int(np.count_nonzero(view.n_relevant))
        n["named"] += not block.by_id and view.n_rows > 0
        n["judging"] += block.judged is not None and block.judged.labels.size > n_relevant
        n["unknown"] += block.unknown
        if self.looks_at_grades and block.judged is not None and block.judged.gains is not None:
            n["grades"] += int(np.count_nonzero(block.judged.gains > 1))
        if self.looks_at_range and ranking is not None and ranking.scores is not None:
            ends = row_ends(ranking)
            n["above_1"] += int(np.count_nonzero(ends[0] > 1))
            n["negative"] += int(np.count_nonzero(ends[1] < 0))
        if plan.hierarchy is not None and block.unknown:
            n_listed = plan.hierarchy.ptr.size - 1
            for part in (ranking, block.pred):
                n["outside"] += 0 if part is None else int(np.count_nonzero(part.labels >= n_listed))
        if block.by_id and self.missing & 1:
            for part in (block.judged or block.truth, block.pred):
                if part is not None:
                    self._add_ids(*look_at_ids(part.labels))
            if raw is not None and view.n_rows:
                self._add_ids(raw.missing, raw.highest)
        if self.plan.gapless:
            short = row_sizes(view.inside.ranking.ptr) < view.n_labels
            if short.any():
                pairs = (view.n_relevant > 0) & (view.n_relevant < view.n_labels)
                n["samples"] += int(np.count_nonzero(short & pairs))
                n["macro"] += int(np.count_nonzero(short))
        if ranking is not None and raw is not None:
            n["listed"] += raw.n_listed
            n["graded"] += not raw.binary
            n["rising"] += raw.rises
            n["falling"] += raw.falls
            if self.cutoffs.size and ranking.scores is not None:
                n_noted, n_tied = count_tied(view, self.cutoffs, self.noted)
                n["tied"] += n_noted
                self.n_tied = self.n_tied + n_tied
            self.lengths = self.lengths.plus(lengths_of(ranking.ptr, self.deepest_read))
        self.n = n

    def _add_ids(self, missing: int, highest: int) -> None:
        """Add what was seen of ids; nothing more counts once id 0 was."""
        self.missing, self.highest = self.missing & missing, max(self.highest, highest)
        if not self.missing & 1:
            self.missing, self.highest = 0, -1

    def merge(self, added: Seen) -> None:
        """Merge a state of other rows."""
        self.n = {name: n + added.n[name] for name, n in self.n.items()}
        self.n_tied = self.n_tied + added.n_tied
        self.lengths = self.lengths.plus(added.lengths)
        self._add_ids(added.missing, added.highest)

    def finish(self) -> Results:
        """Return notes, the measures that are undefined, and those that read more labels than lists hold."""
        results, plan, n = Results(), self.plan, self.n
        if not n["rows"]:
            return results
        for spec in plan.gapless:
            if n[spec.average or ""]:
                results.not_computed[spec.name] = NO_GAPS
        if not n["relevant"]:
            results.notes["empty"] = "no row of the truth has a relevant label: measures are 0 or undefined"
        if n["unknown"]:
            self._add_unknown(results)
        if plan.conventions.graded and not n["judging"]:
            alone = "no label of the truth has a grade of 0 or below, so that only relevant labels are judged"
            judging = [spec.name for spec in plan.specs if "grades" in spec.needs]
            if judging:
                results.notes["judged"] = f"{alone} and {', '.join(judging)} is the precision"
        last, first = plan.n_labels - 1, min(FIRST_IDS, plan.n_labels) - 1
        all_but_0 = (1 << first) - 1 << 1  # which all occur where ids count from 1, however rare label 0 is
        if not n["named"] and self.missing & (all_but_0 | 1) == 1 and self.highest == last:
            ids = f"ids 1 to {first}{f' and {last}' if first < last else ''}" if first > 1 else "id 1"
            hint = f"id 0 occurs nowhere, and {ids} {'do' if first > 1 else 'does'}: if ids count from 1, "
            does = "averages over labels and measures of all cells count label 0, too"
            results.notes["ids"] = f"{hint}subtract 1, or drop the first column of matrices; {does}"
        if self.looks_at_range and n["negative"] and n["above_1"]:
            results.notes["logits"] = _about_logits(plan)
        if self.looks_at_grades and not n["grades"]:
            results.notes["gains"] = idle_note(Field("gains"), plan.specs, OF_GAINS)
        if any("scores" in spec.needs or "entry scores" in spec.needs for spec in plan.all_specs):
            self._add_lists(results)
        return results

    def _add_unknown(self, results: Results) -> None:
        """Add what unknown labels do to the values."""
        plan = self.plan
        if not plan.counts_cells:
            needing = [spec.name for spec in plan.specs if spec.metric.every_label]
            results.not_computed |= dict.fromkeys(needing, ALL_LABELS)
        predicted = [spec for spec in plan.all_specs if spec.needs and spec.name not in results.not_computed]
        if any(spec.metric.every_label or spec.state == SETS_OF_LABELS for spec in predicted):
            leave = "averages over labels, and measures of all cells such as Hamming loss, leave "
            results.notes["unknown"] = f"{leave}unknown labels out"
        if self.n["outside"] and any("hierarchy" in spec.needs for spec in predicted):
            none = "some unknown labels are not in ", Keyword("hierarchy"), ", and count without ancestors"
            results.notes["ancestors"] = Message(*none)

    def _add_lists(self, results: Results) -> None:
        """Add what lists and their scores look like."""
        n, n_labels, lengths = self.n, self.plan.n_labels, self.lengths
        if not n["graded"] and (lengths.deepest >= SEVERAL or n["listed"] > n["rows"]):
            hint = "every score is 0 or 1, so that ranks within each are arbitrary; give predicted sets as "
            results.notes["binary"] = Message(hint, Keyword("y_pred"))
        elif n["tied"]:
            depends = "their values depend on the order of labels with equal scores"
            results.notes["ties"] = f"{TIES}{n['tied']}; {depends}"
        for name, (kind, cutoff) in self.ties.items() if self.n_tied.any() else ():
            n_tied = self._n_tied(kind, cutoff)
            if n_tied:
                results.tied[name] = n_tied / n["labelled"]
            of_group = f"{kind} of group"
            n_tied = self._n_tied(of_group, cutoff) if of_group in TIES_OF else 0
            if n_tied:
                results.tied_shares[name] = n_tied / n["labelled"]
        if n["rising"] and not n["falling"] and n["listed"] - n["rows"] >= LEAST_STEPS:
            results.notes["rises"] = RISING
        below = self.plan.unlisted is None
        if not (below or lengths.are_cut(n["rows"], n_labels)):
            return  # rows do not end at a common depth: scores above a level, or all but zeros, lack nothing
        results.cut = dict.fromkeys(self.plan.reads, True)
        short = ListLength(n["listed"] / max(lengths.n_lists, 1), lengths.deepest)
        for name, depth in self.plan.reads.items():
            if short.mean < n_labels if depth is None else short.deepest < depth:
                results.short[name] = short
        if not (results.short and below):
            return
        cutoffs = sorted({spec.k for spec in self.plan.specs if spec.k and spec.name in results.short})
        if cutoffs:
            at_k = ", ".join([f"@{k}" for k in cutoffs])
            hold = f"lists hold at most {counted(lengths.deepest, 'labels')}"
            results.notes["depth"] = f"{hold}: measures {at_k} count the missing ones as wrong"

    def _n_tied(self, kind: str, cutoff: int) -> int:
        """Return the number of rows that depend on ties down to a cutoff."""
        return int(self.n_tied[TIES_OF.index(kind), np.searchsorted(self.cutoffs, cutoff)])

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        lists = np.array([*self.lengths, self.missing, self.highest])
        return {"counts": np.array([*self.n.values()]), "lists": lists, "ties": self.n_tied}

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n = dict(zip(COUNTS, contents.take("counts", len(COUNTS)).tolist(), strict=True))
        self.n_tied = contents.take("ties", *self.n_tied.shape, high=contents.n_rows)
        *lengths, self.missing, self.highest = contents.take("lists", 5, low=-1).tolist()
        self.lengths = ListLengths(*lengths)


def row_ends(ranking: Ranking) -> tuple[Scores, Scores]:
    """Return the first and the last score of each row that lists any."""
    assert ranking.scores is not None
    listing = ranking.ptr[:-1] < ranking.ptr[1:]
    return ranking.scores[ranking.ptr[:-1][listing]], ranking.scores[ranking.ptr[1:][listing] - 1]


def is_threshold_of_probabilities(plan: Plan) -> bool:
    """Tell whether sets are made by a threshold between 0 and 1, as probabilities have."""
    rule = plan.decision
    is_used = plan.uses_decision and plan.higher_is_better
    return rule is not None and is_used and rule.kind == "threshold" and 0 < rule.value < 1


def _about_logits(plan: Plan) -> Message:
    """Return the note that a threshold of probabilities meets what look like logits."""
    assert plan.decision is not None
    share = plan.decision.value
    same = f"threshold{round(math.log(share / (1 - share)), 6) + 0.0:g}"
    rule = Keyword("decision", str(plan.decision))
    seen = " is compared with scores below 0 and above 1; if these are logits, give "
    unused = [", as ", Field("link"), " is not for decisions"] if plan.conventions.link != "none" else []
    return Message(rule, seen, Keyword("decision", same), " for the same probability", *unused)


def _tie_end(plan: Plan, spec: Spec) -> tuple[str, int] | None:
    """Return which ties a measure depends on, and down to which cutoff; None if on none."""
    depth = plan.reads[spec.name]
    if not spec.ties or depth == 0 or (spec.of_sets and depth is None):
        return None
    whole = N_RELEVANT if spec.ties == "hits" else ALL_RANKS
    return spec.ties, depth or whole


def count_tied(view: View, cutoffs: Ints, noted: Bools) -> tuple[int, Ints]:
    """Count the rows whose values depend on the order of equal scores, as `count_tied_rows` does."""
    ranking, truth = view.ranking, view.block.truth
    assert ranking.scores is not None
    counts: Ints = np.zeros((len(TIES_OF), cutoffs.size), np.int64)
    if ranking.ordered and view.unlisted is None:
        if ranking.cut_ties is None and not ranking.has_ties:
            return 0, counts
        cut = ranking.cut_ties or Truth(np.empty(0, np.int64), truth.labels[:0])
        lists = ranking.ptr, ranking.labels, ranking.scores
        n_noted = count_tied_rows(
            truth.ptr, truth.labels, *lists, cutoffs, cut.ptr, cut.labels, noted, counts
        )
        return n_noted, counts
    groups = _tie_groups(view)
    if groups is None:
        return 0, counts
    is_noted = np.zeros(view.n_rows, np.bool_)
    for column, cutoff in enumerate(cutoffs.tolist()):
        k = cutoff or view.n_relevant[groups.rows]
        before = groups.above < k
        across = before & (k < groups.above + groups.size)
        no_hit_is_possible = groups.size - groups.n_relevant >= k - groups.above
        of_row = across, across & groups.is_first & no_hit_is_possible, before & groups.is_first, before
        kinds = [*(depends & groups.is_mixed for depends in of_row), across, before]
        for kind, depends in enumerate(kinds):
            counts[kind, column] = np.unique(groups.rows[depends]).size
        if noted[column]:
            is_noted[groups.rows[across & groups.is_mixed]] = True
    return int(np.count_nonzero(is_noted)), counts


class TieGroups(NamedTuple):
    """Groups of labels with one score, some or all of them relevant, int64 (g,) each.

    rows : row of each, rising; above, size, n_relevant : numbers of labels; is_first : whether no relevant
    label of the row is above it; is_mixed : whether some are irrelevant
    """

    rows: Ints
    above: Ints
    size: Ints
    n_relevant: Ints
    is_first: Bools
    is_mixed: Bools


def _tie_groups(view: View) -> TieGroups | None:
    """Return the tie groups of a view that hold relevant labels, None if no scores tie."""
    above, tied = view.standing
    is_tied = tied > 1
    if not is_tied.any():
        return None
    rows: Ints = np.repeat(np.arange(view.n_rows), view.n_relevant)
    highest = np.full(view.n_rows, ALL_RANKS, np.int64)
    np.minimum.at(highest, rows, above)  # of labels below all others, none is above one with a score
    if view.unlisted is None:
        is_tied &= view.positions > 0  # labels below all others earn nothing
    rows, above, tied = rows[is_tied], above[is_tied], tied[is_tied]
    order = np.lexsort((above, rows))
    rows, above, tied = rows[order], above[order], tied[order]
    starts = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (above[1:] != above[:-1]))[: rows.size])
    n_relevant: Ints = np.diff(np.append(starts, rows.size))
    is_mixed = n_relevant < tied[starts]
    is_first = above[starts] == highest[rows[starts]]
    return TieGroups(rows[starts], above[starts], tied[starts], n_relevant, is_first, is_mixed)


STATE = Seen
