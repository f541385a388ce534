"""Generated workloads of the sizes of published multi-label data sets.

W1 is like Eurlex-4K, W2 like AmazonCat-13K, W3 like Amazon-670K, W4 like Amazon-3M: test rows,
labels and labels per row, Zipf label frequencies with label ids in random order (so that memory
access by label is as scattered as in the original), and rankings with the hit rates of a good
model. S1, S600 and S32 have as many rows, and S32 the labels of Amazon-670K. W0b is like bibtex,
W0c like corel5k and W1d like Eurlex-4K, with dense scores. Needs only NumPy and SciPy, which every
library's environment has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

BLOCK_ROWS = 1 << 15  # limits memory, and rows to 15 bits of a packed key
ZIPF_ROUNDS = 6  # later redraws are uniform, so that rows with all frequent labels do not stall
# probability of a hit at rank r, while relevant labels last: 0.8 r^-0.33
FIRST_HIT = 0.8
HIT_DECAY = 0.33
SIGNAL = np.float32(2.5)  # added to the logit of relevant entries
FOUND = 0.85  # share of the relevant labels after the first that the model finds at any depth


@dataclass(frozen=True)
class Size:
    """Size of a data set, and the constants of its propensity model."""

    rows: int  # of the test data
    labels: int
    row_mean: float  # labels per row
    head_share: float  # share of rows with the most frequent label
    train_rows: int
    a: float = 0.55
    b: float = 1.5
    dense: bool = False  # dense scores instead of rankings

    def scaled(self, scale: float) -> Size:
        """Return the size with fewer rows and labels, but enough for lists of 100."""
        rows = max(min(64, self.rows), round(self.rows * scale))
        train_rows = max(256, round(self.train_rows * scale))
        labels = min(self.labels, max(512, round(self.labels * scale)))
        return replace(self, rows=rows, labels=labels, train_rows=train_rows)


SIZES = {
    "S1": Size(1, 10, 2.0, 0.2, 1_000),
    "S600": Size(600, 30, 2.0, 0.2, 1_000),
    "S32": Size(32, 670_091, 5.45, 0.005, 490_449, 0.6, 2.6),
    "W0b": Size(2_515, 159, 2.4, 0.2, 4_880, dense=True),
    "W0c": Size(1_500, 374, 3.5, 0.2, 4_500, dense=True),
    "W1d": Size(3_809, 3_993, 5.3, 0.2, 15_539, dense=True),
    "W1": Size(3_809, 3_993, 5.3, 0.2, 15_539),
    "W2": Size(306_782, 13_330, 5.04, 0.3, 1_186_239),
    "W3": Size(153_025, 670_091, 5.45, 0.005, 490_449, 0.6, 2.6),
    "W4": Size(742_507, 2_812_281, 36.04, 0.01, 1_717_899, 0.6, 2.6),
}


@dataclass(frozen=True)
class Workload:
    """Truth, rankings (or dense scores) and inverse propensities."""

    name: str
    truth: sparse.csr_matrix[np.float32]  # (m, l), ones, sorted indices
    labels: NDArray[np.int32]  # (m, k), best first, distinct in a row; k = 0 for dense scores
    # (m, k), positive, strictly descending in a row; or (m, l), in 0..1
    scores: NDArray[np.float32]
    propensity: NDArray[np.float64]  # (l,), inverse propensities from training counts

    def top(self, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the first k columns of the rankings, contiguous."""
        return np.ascontiguousarray(self.labels[:, :k]), np.ascontiguousarray(self.scores[:, :k])

    def score_matrix(self) -> sparse.csr_matrix[np.float32]:
        """Return the rankings as a CSR matrix of scores with sorted indices."""
        rows, k = self.labels.shape
        indices = np.empty(self.labels.shape, np.int32)
        data = np.empty(self.labels.shape, np.float32)
        for start in range(0, rows, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            # The bits of a positive float32 below the label: one fast sort instead of an argsort.
            packed = self.labels[part].astype(np.int64) << 32 | self.scores[part].view(np.int32)
            packed.sort(axis=1)
            indices[part] = packed >> 32
            data[part] = (packed & 0xFFFFFFFF).astype(np.int32).view(np.float32)
        return _csr(data.ravel(), indices.ravel(), np.arange(rows + 1) * k, self.truth.shape[1])

    def sets(self) -> sparse.csr_matrix[np.float32]:
        """Return the best five labels of every row as predicted sets: ones, sorted indices."""
        labels = np.sort(self.labels[:, :5], axis=1)
        ones = np.ones(labels.size, np.float32)
        indptr = np.arange(len(labels) + 1) * labels.shape[1]
        return _csr(ones, labels.ravel(), indptr, self.truth.shape[1])

    def hits(self) -> NDArray[np.bool_]:
        """Return which ranked labels are relevant, bool (m, k)."""
        hits = np.empty(self.labels.shape, bool)
        for start in range(0, len(hits), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            truth = self.truth[part]
            n_labels = truth.shape[1]
            labels = self.labels[part].astype(np.int64)
            rows = np.arange(len(labels))
            relevant_keys = np.repeat(rows, np.diff(truth.indptr)) * n_labels + truth.indices
            ranked_keys = rows[:, None] * n_labels + labels
            hits[part] = np.isin(ranked_keys, relevant_keys)
        return hits

    def save(self, folder: Path) -> None:
        """Write the arrays as .npy files."""
        arrays = vars(self) | {"indptr": self.truth.indptr, "indices": self.truth.indices}
        for name in arrays.keys() - {"name", "truth"}:
            np.save(folder / f"{name}.npy", arrays[name], allow_pickle=False)

    @classmethod
    def load(cls, name: str, folder: Path) -> Workload:
        """Read the files of `save`."""
        arrays = {file.stem: np.load(file, allow_pickle=False) for file in folder.glob("*.npy")}
        indices = arrays.pop("indices")
        indptr = arrays.pop("indptr")
        truth = _csr(np.ones(len(indices), np.float32), indices, indptr, len(arrays["propensity"]))
        return cls(name, truth, **arrays)


class _Zipf:
    """Zipf-Mandelbrot distribution over label ids in random order, sampled by inversion."""

    def __init__(self, rng: np.random.Generator, n_labels: int, top: float) -> None:
        """Fit the offset so that the most frequent label has probability ``top``."""
        low = 1e-6
        high = 1e9
        for _ in range(100):
            self.offset = (low * high) ** 0.5
            self.log_range = np.log1p(n_labels / self.offset)
            if np.log1p(1 / self.offset) / self.log_range > top:
                low = self.offset
            else:
                high = self.offset
        self.rng = rng
        self.n_labels = n_labels
        self.ids: NDArray[np.int32] = rng.permutation(n_labels).astype(np.int32)

    def draw(self, size: int) -> NDArray[np.int64]:
        """Draw label ids, with repetitions."""
        place = np.expm1(self.rng.random(size) * self.log_range) * self.offset
        ids: NDArray[np.int32] = self.ids[np.minimum(place, self.n_labels - 1).astype(np.int32)]
        return ids.astype(np.int64)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of every label id."""
        edges = np.log1p(np.arange(self.n_labels + 1) / self.offset) / self.log_range
        probabilities = np.empty(self.n_labels)
        probabilities[self.ids] = np.diff(edges)
        return probabilities

    def draw_distinct(
        self, counts: NDArray[np.int64], taken: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Draw counts[i] distinct labels that are not taken for each row i.

        Labels are returned, and taken, as sorted keys row * l + label. While they are drawn, the
        lowest bit marks drawn keys, so that the later one of two equal keys is always a drawn one.
        """
        rows = np.repeat(np.arange(len(counts)), counts)
        drawn = rows * self.n_labels + self.draw(len(rows))
        keys: NDArray[np.int64] = np.concatenate([taken << 1, drawn << 1 | 1])
        for attempt in range(10_000):
            keys.sort()
            equal = np.flatnonzero(keys[1:] >> 1 == keys[:-1] >> 1) + 1
            if not len(equal):
                return np.asarray(keys[keys & 1 == 1] >> 1)
            if attempt < ZIPF_ROUNDS:
                redrawn = self.draw(len(equal))
            else:
                redrawn = self.rng.integers(self.n_labels, size=len(equal))
            first_keys = (keys[equal] >> 1) // self.n_labels * self.n_labels
            keys[equal] = (first_keys + redrawn) << 1 | 1
        raise RuntimeError("rows need more distinct labels than exist")


def generate(name: str, k: int = 5, scale: float = 1.0, seed: int = 0) -> Workload:
    """Generate a workload by name with rankings of depth k; ``scale`` shrinks rows and labels."""
    return generate_size(name, SIZES[name].scaled(scale), k, seed)


def generate_size(name: str, size: Size, k: int, seed: int = 0) -> Workload:
    """Generate a workload of a given size; dense scores ignore k."""
    rng = np.random.default_rng([seed, size.rows, size.labels])
    zipf = _Zipf(rng, size.labels, size.head_share / size.row_mean)
    counts = rng.poisson(zipf.probabilities() * (size.train_rows * size.row_mean))
    propensity = inverse_propensity(counts, size.train_rows, size.a, size.b)

    lengths = _row_lengths(rng, size)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(indptr[-1], np.int32)
    labels = np.empty((size.rows, 0 if size.dense else k), np.int32)
    for start in range(0, size.rows, BLOCK_ROWS):
        part = lengths[start : start + BLOCK_ROWS]
        keys = zipf.draw_distinct(part, np.empty(0, np.int64))
        indices[indptr[start] : indptr[start + len(part)]] = keys % size.labels
        if not size.dense:
            labels[start : start + len(part)] = _rank(zipf, part, keys, k)
    truth = _csr(np.ones(len(indices), np.float32), indices, indptr, size.labels)
    if size.dense:
        dense_scores = _dense_scores(rng, truth, counts)
        return Workload(name, truth, labels, dense_scores, propensity)
    return Workload(name, truth, labels, _scores(rng, size.rows, k), propensity)


def inverse_propensity(
    counts: NDArray[np.int64], n: int, a: float, b: float
) -> NDArray[np.float64]:
    """Return 1 + C (N_j + b)^-a of Jain et al. 2016, independently of the libraries compared."""
    weights: NDArray[np.float64] = 1 + (np.log(n) - 1) * (b + 1) ** a * (counts + b) ** -a
    return weights


def _row_lengths(rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
    """Draw 1 to 100 labels per row from a shifted negative binomial distribution."""
    lengths = 1 + rng.negative_binomial(3, 3 / (3 + size.row_mean - 1), size.rows)
    return np.minimum(lengths, min(100, size.labels // 4))


def _rank(
    zipf: _Zipf, lengths: NDArray[np.int64], truth: NDArray[np.int64], k: int
) -> NDArray[np.int32]:
    """Rank k distinct labels for each row of a block.

    ``truth`` has its relevant labels, as sorted keys row * l + label, and ``lengths`` their number.
    """
    chances = FIRST_HIT * np.arange(1, k + 1) ** -HIT_DECAY
    hit = zipf.rng.random((len(lengths), k), np.float32) < chances
    hit &= np.cumsum(hit, axis=1) <= 1 + zipf.rng.binomial(lengths - 1, FOUND)[:, None]
    n_hits = hit.sum(axis=1)
    misses = zipf.draw_distinct(k - n_hits, truth)

    place = np.arange(len(truth)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    labels = np.empty(hit.shape, np.int32)
    # Masks and shuffled keys are both in row order.
    labels[hit] = _shuffle(zipf, truth)[place < np.repeat(n_hits, lengths)]
    labels[~hit] = _shuffle(zipf, misses)
    return labels


def _shuffle(zipf: _Zipf, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels of sorted keys row * l + label, in random order within each row."""
    rows, labels = np.divmod(keys, zipf.n_labels)
    packed = rows << 48 | zipf.rng.integers(1 << 16, size=len(keys)) << 32 | labels
    packed.sort()
    return packed & 0xFFFFFFFF


def _scores(rng: np.random.Generator, rows: int, k: int) -> NDArray[np.float32]:
    """Draw strictly descending scores in (0, 1], with gaps that prevent ties in float32."""
    scores = rng.random((rows, k), np.float32)
    scores *= np.float32(0.98)
    scores += np.arange(k, dtype=np.float32)
    scores /= np.float32(-k)
    scores += np.float32(1)
    return scores


def _dense_scores(
    rng: np.random.Generator, truth: sparse.csr_matrix[np.float32], counts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Draw dense scores in 0..1, higher for relevant and for frequent labels, with noise."""
    logits = rng.standard_normal(truth.shape, np.float32)
    logits += np.log1p(counts).astype(np.float32) / 4
    logits += SIGNAL * truth.toarray()
    scores: NDArray[np.float32] = 1 / (1 + np.exp(4 - logits, dtype=np.float32))
    return scores


def _csr(
    data: NDArray[np.float32], indices: NDArray[np.int32], indptr: NDArray[np.int64], n_labels: int
) -> sparse.csr_matrix[np.float32]:
    """Build a CSR matrix; with 32-bit pointers SciPy does not copy the indices."""
    shape = (len(indptr) - 1, n_labels)
    matrix = sparse.csr_matrix((data, indices, indptr.astype(np.int32)), shape=shape)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
