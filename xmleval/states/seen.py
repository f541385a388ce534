"""Seen: what the rows look like, where that says how they were meant."""

from __future__ import annotations

import numpy as np

from xmleval.budget import Resources
from xmleval.errors import ALL_LABELS, RISING, TIES, Keyword, Message, counted
from xmleval.kernels.checking import FIRST_IDS, look_at_rows
from xmleval.kernels.ties import count_tied_rows, has_equal_neighbours
from xmleval.plan import Plan
from xmleval.records import LEAST_STEPS, Ints, Truth, row_sizes
from xmleval.results import Results
from xmleval.spec import SETS_OF_LABELS, Spec
from xmleval.states.contents import Contents
from xmleval.states.state import Arrays, State
from xmleval.view.view import View

FLAGS = ("by_id", "binary", "rises", "falls", "judges", "unknown")
LEAST_CUT = 10  # rows that list the most labels, fewer of which may do so by chance
SEVERAL = 2  # labels, which have an order


class Seen(State):
    """Facts of truth and lists: sizes, ids, and how scores run."""

    with_unknown = True

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Resources) -> None:
        super().__init__(plan, specs, work)
        self.n_rows = self.n_relevant = self.n_listed = 0
        self.deepest = 0  # most labels that a row lists, as far as they are read, or up to 2
        self.n_deepest = 0  # rows that list so many, where unlisted labels have a score
        self.missing, self.highest = (1 << FIRST_IDS) - 1, -1  # ids, see `look_at_ids`
        self.by_id = self.binary = True
        self.rises = self.falls = False
        self.judges = False  # a label as irrelevant
        self.unknown = False  # whether labels are predicted that are, however far lists are read
        self.n_tied = 0  # rows with values that depend on the order of equal scores
        self.cutoffs = np.array(sorted({plan.reads(spec) or 0 for spec in plan.every} - {0}), np.int64)

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        block = view.block
        self.n_rows += view.n_rows
        self.n_relevant += block.truth.labels.size
        self.unknown |= block.unknown
        self.by_id &= block.by_id or not view.n_rows
        self.judges |= block.judged is not None and block.judged.labels.size > block.truth.labels.size
        if self.by_id and self.missing & 1:
            for part in (block.judged or block.truth, block.pred):
                if part is not None:
                    self._add_ids(*look_at_rows(part.ptr, part.labels))
            if block.ranking is not None and block.ranking.given is not None and view.n_rows:
                self._add_ids(block.ranking.given.missing, block.ranking.given.highest)
        if block.ranking is None or block.ranking.given is None:
            return
        if self.cutoffs.size and block.ranking.scores is not None:
            self.n_tied += count_tied(view, self.cutoffs)
        given, ptr = block.ranking.given, block.ranking.ptr
        self.n_listed += given.n_listed
        self.binary &= given.binary
        self.rises |= given.rises
        self.falls |= given.falls
        depth = max(self.plan.deepest, SEVERAL)
        if self.plan.unlisted is not None:
            if view.n_rows:
                sizes = row_sizes(ptr)
                longest = int(sizes.max())
                self._add_deepest(longest, int(np.count_nonzero(sizes == longest)))
        elif self.deepest < depth and view.n_rows:
            first = int(ptr[1])  # seldom shorter than others
            longest = first if first >= depth else int((ptr[1:] - ptr[:-1]).max())
            longest = max(longest, SEVERAL if given.several else 0)  # before rows were cut to one label
            self.deepest = max(self.deepest, min(depth, longest))

    def _add_deepest(self, deepest: int, n_rows: int) -> None:
        """Add rows that list the most labels among some."""
        kept = self.n_deepest if self.deepest >= deepest else 0
        self.n_deepest = kept + (n_rows if deepest >= self.deepest else 0)
        self.deepest = max(self.deepest, deepest)

    def _add_ids(self, missing: int, highest: int) -> None:
        """Add what was seen of ids; nothing more counts once id 0 was."""
        self.missing, self.highest = self.missing & missing, max(self.highest, highest)
        if not self.missing & 1:
            self.missing, self.highest = 0, -1

    def merge(self, other: Seen) -> None:
        """Merge a state of other rows."""
        self.n_rows += other.n_rows
        self.n_relevant += other.n_relevant
        self.n_listed += other.n_listed
        self._add_deepest(other.deepest, other.n_deepest)
        self._add_ids(other.missing, other.highest)
        self.by_id &= other.by_id
        self.binary &= other.binary
        self.rises |= other.rises
        self.falls |= other.falls
        self.judges |= other.judges
        self.unknown |= other.unknown
        self.n_tied += other.n_tied

    def finish(self) -> Results:
        """Return notes, and the measures that read more labels than the lists hold."""
        found = Results()
        if not self.n_rows:
            return found
        if not self.n_relevant:
            found.notes["empty"] = "no row of the truth has a relevant label: measures are 0 or undefined"
        if self.unknown and not self.plan.counts_cells:
            needing = [spec.name for spec in self.plan.specs if spec.metric.every_label]
            found.not_computed = dict.fromkeys(needing, ALL_LABELS)
        predicted = [spec for spec in self.plan.every if spec.needs and spec.name not in found.not_computed]
        averages = (spec.metric.every_label or spec.state == SETS_OF_LABELS for spec in predicted)
        if self.unknown and any(averages):
            told = "averages over labels, and measures of all cells such as Hamming loss, leave "
            found.notes["unknown"] = f"{told}unknown labels out"
        if self.unknown and any("hierarchy" in spec.needs for spec in predicted):
            told = "unknown labels have no ancestors in the hierarchy; to count these, name them in "
            found.notes["ancestors"] = Message(told, Keyword("labels"))
        judging = [spec.name for spec in self.plan.specs if "grades" in spec.needs]
        if judging and not self.judges:
            told = (
                "no label of the truth has a grade of 0 or below, so that only relevant labels are judged and"
            )
            found.notes["judged"] = f"{told} {', '.join(judging)} is the precision"
        n_labels = self.plan.n_labels
        last, first = n_labels - 1, min(FIRST_IDS, n_labels) - 1
        beside = (1 << first) - 1 << 1  # ids that all occur where ids count from 1, however rare label 0 is
        if self.by_id and self.missing & (beside | 1) == 1 and self.highest == last:
            ids = f"ids 1 to {first}{f' and {last}' if first < last else ''}" if first > 1 else "id 1"
            told = f"id 0 occurs nowhere, and {ids} {'do' if first > 1 else 'does'}: if ids count from 1, "
            does = "averages over labels and measures of all cells count label 0, too"
            found.notes["ids"] = f"{told}subtract 1, or drop the first column of matrices; {does}"
        if any("scores" in spec.needs or "entry scores" in spec.needs for spec in self.plan.every):
            self._look_at_lists(found)
        return found

    def _look_at_lists(self, found: Results) -> None:
        if self.binary and self.deepest >= SEVERAL:
            told = "every score is 0 or 1, so that ranks within each are arbitrary; give predicted sets as "
            found.notes["binary"] = Message(told, Keyword("y_pred"))
        elif self.n_tied:
            found.notes["ties"] = (
                f"{TIES}{self.n_tied}; their values depend on the order of labels with equal scores"
            )
        if self.rises and not self.falls and self.n_listed - self.n_rows >= LEAST_STEPS:
            found.notes["rises"] = RISING
        mean = self.n_listed / self.n_rows
        if self.plan.unlisted is not None and not (self._are_cut(mean) and self.deepest < self.plan.n_labels):
            return  # rows do not end at a common depth: scores above a level, or all but zeros, lack nothing
        for spec in self.plan.every:
            n = self.plan.reads(spec)
            if mean < self.plan.n_labels if n is None else self.deepest < n:
                found.short[spec.name] = mean
        cutoffs = sorted({spec.k for spec in self.plan.specs if spec.k and spec.name in found.short})
        if cutoffs and self.plan.unlisted is None:
            at_k = ", ".join([f"@{k}" for k in cutoffs])
            told = f"lists hold at most {counted(self.deepest, 'labels')}"
            found.notes["depth"] = f"{told}: measures {at_k} count the missing ones as wrong"

    def _are_cut(self, mean: float) -> bool:
        """Tell whether rows end at a common depth: most do, or more than if sizes had a single peak below it.

        If d is the largest size and sizes are the rarer, the further they are above the most frequent one,
        a share p of d is at most that of each size from the peak to d, so that p (d - mean) is below 1/2.
        """
        if not self.deepest or self.n_rows < SEVERAL:
            return False
        most = 2 * self.n_deepest > self.n_rows
        several = self.n_deepest >= LEAST_CUT
        return most or (several and 2 * self.n_deepest * (self.deepest - mean) > self.n_rows)

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        return {
            "counts": np.array([self.n_relevant, self.n_listed, self.deepest, self.n_tied]),
            "ids": np.array([self.missing, self.highest]),
            "flags": np.array([getattr(self, name) for name in FLAGS]),
            **({} if self.plan.unlisted is None else {"deepest": np.array([self.n_deepest])}),
        }

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = contents.n_rows
        self.n_relevant, self.n_listed, self.deepest, self.n_tied = contents.take("counts", 4).tolist()
        if self.plan.unlisted is not None:
            self.n_deepest = int(contents.take("deepest", 1, most=contents.n_rows)[0])
        ids = contents.take("ids", 2, least=np.array([0, -1])).tolist()
        self.missing, self.highest = min(ids[0], self.missing), ids[1]
        flags = contents.take("flags", len(FLAGS), dtype=np.bool_, most=1)
        for name, flag in zip(FLAGS, flags.tolist(), strict=True):
            setattr(self, name, flag)


def count_tied(view: View, cutoffs: Ints) -> int:
    """Count the rows with relevant and irrelevant labels of one score on both sides of a cutoff."""
    ranking, truth = view.ranking, view.block.truth
    assert ranking.scores is not None
    if ranking.ordered and view.unlisted is None:
        if ranking.cut_ties is None and not has_equal_neighbours(ranking.scores):
            return 0
        cut = ranking.cut_ties or Truth(np.empty(0, np.int64), truth.labels[:0])
        lists = ranking.ptr, ranking.labels, ranking.scores
        return count_tied_rows(truth.ptr, truth.labels, *lists, cutoffs, cut.ptr, cut.labels)
    above, tied = view.standing
    is_tied = tied > 1
    if view.unlisted is None:  # labels below all others earn nothing
        is_tied &= view.positions > 0
    places = np.flatnonzero(is_tied)
    if not places.size:
        return 0
    above, tied = above[places], tied[places]
    rows = np.repeat(np.arange(view.n_rows), view.n_relevant)[places]
    depends = np.zeros(view.n_rows, np.bool_)
    for k in cutoffs.tolist():
        across = np.flatnonzero((above < k) & (k < above + tied))
        n_relevant = np.bincount(rows[across], minlength=view.n_rows)  # in the one group of its row
        depends[rows[across][n_relevant[rows[across]] < tied[across]]] = True
    return int(np.count_nonzero(depends))


STATE = Seen
