"""ScoreRuns: scores of relevant and of irrelevant entries, for measures of scores pooled over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.exact import as_floats
from xmleval.kernels.columns import group_entries
from xmleval.kernels.keys import part_scores
from xmleval.kernels.labels import count_entries
from xmleval.plan import Plan
from xmleval.pooled.bands import Banded
from xmleval.pooled.cells import count_cells
from xmleval.pooled.columns import open_columns, sweep_columns
from xmleval.pooled.curves import Curves, Last, Unlisted, sweep_cells
from xmleval.pooled.piles import SMALL, Grouped, Held, Pile, as_keys, make_keys, spill
from xmleval.pooled.spill import COPIED_BYTES, Keys, Memory, Run
from xmleval.records import MOST_ENTRIES, Bools, Chunks, Curve, Floats, Ints, Scores, as_score, row_sizes
from xmleval.results import Results
from xmleval.spec import Spec
from xmleval.states.contents import Contents, at_least_zero, expect, total
from xmleval.states.curve_values import Needs, curve_values
from xmleval.states.saved_keys import checked_keys, joined, key_types, rising
from xmleval.states.state import Arrays, State
from xmleval.threads import Work
from xmleval.view.view import View

CELLS, COLUMNS = "cells", "columns"
GOOD, BAD, MISSING, TAKEN = "relevant", "irrelevant", "missing", "taken"
SPREAD, SPREAD_IN_BLOCK = 1 << 20, 1 << 14  # scores from which bands pay, in total and per block
GROUPED = 8  # entries per label of a block from which grouping by label is faster than sorting keys


class ScoreRuns(State):
    """Scores of relevant and of irrelevant listed entries; all unlisted entries are one tie group.

    Formulas receive the `Curve` of all entries, or of each label.
    """

    def __init__(self, plan: Plan, specs: tuple[Spec, ...], work: Work) -> None:
        super().__init__(plan, specs, work)
        self.needs = Needs.of(plan, specs)
        self.n_labels, self.unlisted = plan.n_labels, plan.unlisted
        self.memory = Memory.of(work)
        self._share = self.memory.held  # bytes that updates may hold
        self.n_rows = 0
        self.dtype = np.dtype(np.float32)  # of scores
        self.n_blocks, self.n_workers = 1, 1  # blocks of each worker, and workers
        self.n_true: Ints = np.zeros(plan.n_labels if self.needs.columns else 1, np.int64)
        open_ends = {CELLS: [MISSING], COLUMNS: [MISSING, TAKEN]}
        wanted = [CELLS] * self.needs.cells + [COLUMNS] * self.needs.columns
        self.piles = {
            f"{by}.{kind}": Pile()
            for by in wanted
            for kind in (GOOD, BAD, *(open_ends[by] if self.needs.bounds else []))
        }
        self.last: list[Scores] = []  # for bounds: lowest score of each row
        self.n_left: list[Ints] = []  # for bounds: unlisted irrelevant labels of each row

    @property
    def table_bytes(self) -> int:
        """Size of the tables in bytes, independent of the number of rows."""
        return self.n_true.nbytes

    @property
    def held_bytes(self) -> int:
        """Size of the keys in memory."""
        return sum(pile.n_bytes for pile in self.piles.values())

    def update(self, view: View) -> None:
        """Add the rows of a block."""
        ranking, labels = view.ranking, view.block.truth.labels
        assert ranking.scores is not None
        self._take({name: [keys] for name, keys in self._keys(view).items()}, self._share)
        if self.needs.bounds:
            self._add_last([view.last_scores], [view.n_left])
        if self.needs.columns:
            count_entries(labels, self.n_true)
        else:
            self.n_true += labels.size
        self.n_rows += view.n_rows
        if view.n_rows:
            self.dtype = np.result_type(self.dtype, ranking.scores.dtype)

    def merge(self, other: ScoreRuns) -> None:
        """Merge a state of other rows."""
        self._take({name: pile.held() for name, pile in other.piles.items()}, self.memory.held)
        for name, pile in other.piles.items():
            own = self.piles[name]
            own.runs = [*self._own(pile.runs), *own.runs]
        self.n_true = self.n_true + other.n_true
        self.n_rows += other.n_rows
        self.dtype = np.result_type(self.dtype, other.dtype)
        if sum(map(len, self.last)) < sum(map(len, other.last)):  # the long ones first: they are not copied
            self.last, last = [*other.last], self.last
            self.n_left, n_left = [*other.n_left], self.n_left
            self._add_last(last, n_left)
        else:
            self._add_last(other.last, other.n_left)

    def empty(self) -> ScoreRuns:
        """Return an empty state to merge with this one, which spills to the same file."""
        found = ScoreRuns(self.plan, self.specs, self.work)
        found.memory = self.memory
        found._share = self.work.budget.beside(self.held_bytes)
        return found

    def divided(self, n_workers: int, n_blocks: int) -> list[ScoreRuns]:
        """Return one state per worker, this empty one first."""
        parts = [self, *(self.empty() for _ in range(n_workers - 1))]
        share = self._share // n_workers
        for part in parts:
            part._share = share
            part.n_blocks, part.n_workers = -(-n_blocks // n_workers), n_workers
        return parts

    def discard(self) -> None:
        """Release the file space of spilled keys."""
        for pile in self.piles.values():
            pile.runs = []
        self.memory.file.trim()

    def _keys(self, view: View) -> dict[str, Held]:
        """Return the keys that a block adds to each pile."""
        flags, labels, scores = view.relevant_entries, view.ranking.labels, view.ranking.scores
        assert scores is not None
        found: dict[str, Held] = {}
        grouped = labels.size >= max(SMALL, GROUPED * self.n_labels)
        banded = self._in_bands(flags, scores)
        if banded:
            found |= {f"{CELLS}.{kind}": part for kind, part in zip((GOOD, BAD), banded, strict=True)}
        elif self.needs.cells or not grouped:
            good, bad = self._parted(flags, scores)
            found |= {f"{CELLS}.{GOOD}": good, f"{CELLS}.{BAD}": bad}
        if self.needs.columns and grouped:
            ptr = np.empty((2, self.n_labels + 1), np.int64)
            together = self._room(f"{COLUMNS}.{BAD}", scores.size, scores.dtype)
            group_entries(flags, labels, scores, ptr, together)
            found[f"{COLUMNS}.{BAD}"], found[f"{COLUMNS}.{GOOD}"] = (Grouped(own, together) for own in ptr)
        elif self.needs.columns:
            found[f"{COLUMNS}.{GOOD}"] = make_keys(labels[flags], good, self.n_labels)
            found[f"{COLUMNS}.{BAD}"] = make_keys(labels[~flags], bad, self.n_labels)
        if self.needs.bounds:
            rows, labels = view.missing
            last = view.last_scores[rows]
            found[f"{CELLS}.{MISSING}"] = last
            if self.needs.columns:
                found[f"{COLUMNS}.{MISSING}"] = make_keys(labels, last, self.n_labels)
                each = np.repeat(view.last_scores, row_sizes(view.ranking.ptr))
                found[f"{COLUMNS}.{TAKEN}"] = make_keys(view.ranking.labels, each, self.n_labels)
        return {name: found[name] for name in self.piles}

    def _in_bands(self, flags: Bools, scores: Scores) -> tuple[Banded, Banded] | None:
        """Return relevant and irrelevant scores in bands if only pairs of many are needed, else None."""
        needs, shared = self.needs, self.memory.shared
        if shared is None or not needs.pairs_alone or needs.columns or scores.dtype != np.float32:
            return None
        n_scores = scores.size * self.n_blocks  # estimate for this worker
        fits = scores.size >= SPREAD_IN_BLOCK and n_scores >= SPREAD
        fits &= n_scores * scores.itemsize * 3 // 2 <= self.memory.held
        return shared.part(flags, scores, 2 * n_scores * self.n_workers if fits else 0)

    def _parted(self, flags: Bools, scores: Scores) -> tuple[Scores, Scores]:
        """Return the scores of relevant and of irrelevant entries, in space reserved by their piles."""
        n_relevant = int(np.count_nonzero(flags))
        sizes = n_relevant, flags.size - n_relevant
        room: list[Scores] = []
        for kind, size in zip((GOOD, BAD), sizes, strict=True):  # the kernel writes one more
            if self.needs.cells:
                room.append(self._room(f"{CELLS}.{kind}", size, scores.dtype, spare=1))
            else:
                room.append(np.empty(size + 1, scores.dtype))
        part_scores(flags, scores, *room)
        return room[0][: sizes[0]], room[1][: sizes[1]]

    def _room(self, name: str, size: int, dtype: np.dtype[Any], spare: int = 0) -> Keys:
        """Reserve space for keys of a pile, assuming as many in each further block."""
        moved = name.startswith(CELLS) and not self.needs.pairs_alone  # arrays are copied to be partitioned
        most = min(self.memory.room, COPIED_BYTES) if moved else self.memory.room
        most = min(size + size * (self.n_blocks - 1) * 5 // 4, most // dtype.itemsize)
        return self.piles[name].room(size, dtype, most, spare)

    def _crowding(self) -> bool:
        """Return whether another worker has spilled, whose memory is freed only when this one spills too."""
        if self.memory.shared is None or not self.memory.shared.closed:
            return False
        return any(isinstance(part, Banded) for pile in self.piles.values() for part in pile.held())

    def spill(self) -> None:
        """Spill the keys in memory, so that repeated saves write them once."""
        self._take({name: [] for name in self.piles}, most=0)

    def _own(self, runs: list[Run]) -> list[Run]:
        """Return runs in the own file; copy those of other files, which can then be closed."""
        file = self.memory.file
        return [run if file.holds(run) else file.write(run.chunks(), run.size, run.dtype) for run in runs]

    def _add_last(self, last: list[Scores], n_left: list[Ints]) -> None:
        """Add lowest scores of rows; short arrays are joined."""
        for scores, left in zip(last, n_left, strict=True):
            self.last.append(scores)
            self.n_left.append(left)
            while len(self.last) > 1 and self.last[-2].size <= 2 * self.last[-1].size:
                if self.last[-2].dtype != self.last[-1].dtype:
                    break
                self.last[-2:] = [np.concatenate(self.last[-2:])]
                self.n_left[-2:] = [np.concatenate(self.n_left[-2:])]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with keys in place of files, which cannot be copied."""
        runs = {n: [np.concatenate([*run.chunks()]) for run in p.runs] for n, p in self.piles.items()}
        return {
            **self.__dict__,
            "piles": {
                n: ([keys for part in p.held() for keys in as_keys(part)], runs[n])
                for n, p in self.piles.items()
            },
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of `__getstate__`."""
        self.__dict__ |= state
        self.piles = {name: Pile() for name in state["piles"]}
        for name, (held, runs) in state["piles"].items():
            self.piles[name].add(held)
            self.piles[name].runs = [
                self.memory.file.write(iter([keys]), keys.size, keys.dtype) for keys in runs
            ]

    def _take(self, arrays: dict[str, list[Any]], most: int) -> None:
        """Add keys, or spill them with those in memory if they would exceed ``most`` bytes."""
        n_bytes = sum(keys.nbytes for several in arrays.values() for keys in several)
        if self.held_bytes + n_bytes <= most and not self._crowding():
            for name, several in arrays.items():
                self.piles[name].add(several)
            return
        if self.memory.shared:
            self.memory.shared.close()
        for name, pile in self.piles.items():
            pile.hold_on_disk(spill([*pile.held(), *arrays[name]], self.memory.file))

    def finish(self) -> Results:
        """Sort the scores and return the values of curves."""
        entries, points, columns = None, None, None
        if self.needs.cells:
            entries, points = self.cells(self.work, self.plan.curve_points)
        if self.needs.columns:
            columns = self.columns(self.work)
        results = curve_values(self.plan, self.specs, entries, columns)
        if self.plan.curve_points and points is not None:
            results.points["micro"] = points
        return results

    def cells(self, work: Work, n_points: int = 0) -> tuple[Curves, Floats]:
        """Return the curves of all entries, arrays of size 1, and points of the first curve."""
        good, bad = self.piles[f"{CELLS}.{GOOD}"], self.piles[f"{CELLS}.{BAD}"]
        n_relevant = int(self.n_true.sum())
        n_irrelevant = self.n_rows * self.n_labels - n_relevant
        unlisted = Unlisted(n_relevant - good.size, n_irrelevant - bad.size, self._level())
        strides = None
        if n_points:
            strides = np.array([max(1, -(-2 * pile.size // n_points)) for pile in (good, bad)])
        last = self._last() if self.needs.bounds else None
        found = None
        if self.needs.pairs_alone:
            found = count_cells(good, bad, unlisted, work)
        if found is None:
            found = sweep_cells([good], bad, unlisted, work, strides=strides, last=last)

        def curve(right: int, level: int, *rest: float) -> Curve:
            counts = [np.array([n], object) for n in (n_relevant, n_irrelevant, right, level)]
            return Curve._make([*counts, *(np.array([value]) for value in rest or (np.nan,) * 3)])

        peak, threshold = found.peak
        value = curve(*found.pairs, as_floats(found.precision[None])[0], peak, threshold)
        points = np.concatenate([[[np.inf, 0.0, 0.0]], found.points])
        if len(points) > n_points + 2:  # unlisted entries may add some
            points = points[np.linspace(0, len(points) - 1, n_points + 2).round().astype(np.int64)]
        if not self.needs.bounds:
            return Curves(value, None, None), points
        # without the pairs of unlisted entries, which rank below all
        right, level = found.pairs
        right -= good.size * unlisted.irrelevant
        level -= unlisted.relevant * unlisted.irrelevant
        worst = curve(right + found.open_pairs[0], level + found.open_pairs[1])
        filled = [good, self.piles[f"{CELLS}.{MISSING}"]]
        above_all = Unlisted(0, unlisted.irrelevant, None)
        best = curve(*sweep_cells(filled, bad, above_all, work).pairs)
        return Curves(value, worst, best), points

    def columns(self, work: Work) -> Curves:
        """Return the curves of every label."""
        good, bad = self.piles[f"{COLUMNS}.{GOOD}"], self.piles[f"{COLUMNS}.{BAD}"]
        n_cells = np.stack([self.n_true, self.n_rows - self.n_true], axis=1)
        n_relevant, n_irrelevant = n_cells.T.astype(np.float64)
        found = sweep_columns([good], bad, self.n_labels, n_cells, self._level(), work)
        (right, level), (peak, threshold) = found.pairs.T, found.peak.T
        value = Curve(n_relevant, n_irrelevant, right, level, found.precision, peak, threshold)
        if not self.needs.bounds:
            return Curves(value, None, None)
        missing, taken = self.piles[f"{COLUMNS}.{MISSING}"], self.piles[f"{COLUMNS}.{TAKEN}"]
        unknown = np.full((3, self.n_labels), np.nan)
        best = sweep_columns([good, missing], bad, self.n_labels, n_cells, None, work).pairs
        worst = sweep_columns([good], bad, self.n_labels, None, None, work).pairs
        worst += open_columns(good, [taken, missing], self._last().scores, self.n_labels, work)
        return Curves(
            value,
            Curve(n_relevant, n_irrelevant, *worst.T, *unknown),
            Curve(n_relevant, n_irrelevant, *best.T, *unknown),
        )

    def _level(self) -> float | None:
        """Return the score of unlisted entries, rounded to the dtype of the others."""
        return None if self.unlisted is None else as_score(self.unlisted, np.empty(0, self.dtype))

    def _joined_bounds(self) -> tuple[Scores, Ints]:
        return (
            np.concatenate([np.empty(0, np.float32), *self.last]),
            np.concatenate([np.empty(0, np.int64), *self.n_left]),
        )

    def _last(self) -> Last:
        """Return the lowest scores of all rows, ascending."""
        scores, n_left = self._joined_bounds()
        order = np.argsort(scores, kind="stable")
        return Last(scores[order], np.concatenate(([0], np.cumsum(n_left[order]))))

    def arrays(self) -> Arrays:
        """Return the arrays to save."""
        sizes = [self.n_rows, self.dtype.itemsize]
        out: dict[str, Any] = {"n_true": self.n_true, "sizes": np.array(sizes)}
        for name, pile in self.piles.items():
            for number, keys in enumerate(pile.held()):
                out[f"{name}.held{number}"] = keys if isinstance(keys, np.ndarray) else _as_chunks(keys)
            for number, run in enumerate(pile.runs):
                out[f"{name}.run{number}"] = Chunks(run.dtype, run.size, run.chunks, run)
        if self.needs.bounds:
            out["last"], out["n_left"] = self._joined_bounds()
        return out

    def from_contents(self, contents: Contents) -> None:
        """Restore the state from what `arrays` returned."""
        self.n_rows = n_rows = contents.n_rows
        n_entries = n_rows * self.n_labels
        expect(n_entries < MOST_ENTRIES, f"{n_entries} entries")
        _, width = contents.take("sizes", 2, least=[n_rows, 4], most=[n_rows, 8]).tolist()
        expect(width in (4, 8), f"scores of {width} bytes")
        self.dtype = np.dtype(f"f{width}")
        most = n_rows if self.needs.columns else n_entries
        self.n_true = contents.take("n_true", *self.n_true.shape, most=most)
        n_true = total(self.n_true)
        n_bad = 0
        for by in dict.fromkeys(name.partition(".")[0] for name in self.piles):
            own = {kind: self._restored(contents, f"{by}.{kind}") for kind in (GOOD, BAD, MISSING, TAKEN)}
            relevant, every = (n_true, n_entries) if by == CELLS else (self.n_true, n_rows)
            n_bad = total(own[BAD])
            fits = at_least_zero(relevant - own[GOOD]) and at_least_zero(every - relevant - own[BAD])
            if self.needs.bounds:
                fits &= np.array_equal(own[MISSING], relevant - own[GOOD])
                fits &= by == CELLS or np.array_equal(own[TAKEN], own[GOOD] + own[BAD])
            expect(fits, f"{by} scores are not as many as the entries that they are of")
        if self.needs.bounds:
            left = contents.take("n_left", n_rows, most=self.n_labels)
            expect(total(left) == n_entries - n_true - n_bad, "n_left does not add up")
            last = contents.take_chunks("last")
            fits = last.dtype in key_types(np.dtype(np.float64)) and last.size == n_rows  # of empty rows, too
            expect(fits, f"last is {last.dtype}")
            scores = np.concatenate([np.empty(0, last.dtype), *last.read()])
            expect(not np.isnan(scores).any(), "last has scores that are not numbers")
            self.last, self.n_left = [scores], [left]

    def _restored(self, contents: Contents, name: str) -> Ints:
        """Take the keys of a pile, and return how many there are: of all entries, or of each label."""
        n_labels = self.n_labels if name.startswith(COLUMNS) else None
        counts: Ints = np.zeros(n_labels or 1, np.int64)
        if name in self.piles:
            for key in contents.numbered(f"{name}.held"):
                checked = checked_keys(name, contents.take_chunks(key), self.dtype, n_labels, counts)
                for part in joined(checked, self.work.budget.copied):
                    own = {other: [part] if other == name else [] for other in self.piles}
                    self._take(own, self.memory.held)
            for key in contents.numbered(f"{name}.run"):
                keys = contents.take_chunks(key)
                in_order = rising(checked_keys(name, keys, self.dtype, n_labels, counts))
                run = self.memory.file.write(in_order, keys.size, keys.dtype)
                self.piles[name].runs += [run] if run.size else []
        return counts


def _as_chunks(part: Grouped | Banded) -> Chunks:
    return Chunks(part.dtype, part.size, lambda: iter(part.keys()))


STATE = ScoreRuns
