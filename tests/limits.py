"""Limits of the package made small, so that few rows take the code paths of many."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from unittest import mock

# places that decide when work is cut, packed, spilled or shared
SMALL = {
    "cluster.cutting": {"LEAST_BYTES": 64, "FAN_IN": 2},
    "cluster.job": {"LEAST_FILE": 1},
    "evaluation.convert": {"STREAMED_BYTES": 64},
    "files.remote": {"MOST_BLOCK_BYTES": 128},
    "input.csr": {"MOST_ROWS": 2},
    "input.lines": {"SPLIT_BYTES": 16},
    "input.match": {"MATCHED_SHARE": 1 << 40},
    "input.rows": {"CHECKED_BYTES": 64},
    "input.writing": {"PIECE_BYTES": 64},
    "labels.propensity": {"LABELS_AT_A_TIME": 3},
    "pooled.curves": {"LARGE": 1, "LEAST_RANGE": 16},
    "pooled.jackknife_curves": {"LABELS_AT_A_TIME": 2},
    "pooled.piles": {"SMALL": 2, "GROUPED_RANGE": 4},
    "files.spill": {"SAMPLES": 2, "CHUNK_BYTES": 64},
    "pooled.store": {"LEAST_PACKED": 1},
    "pooled.values": {"CHUNK": 4, "MANY": 3, "EXPORTED": 1},
    "pooled.weight_sums": {"LEAST_RANGE": 16},
    "states.jackknife_values": {"FEW": 1},
    "states.label_sets": {"ENOUGH": 1},
    "states.label_table": {"PIECE": 2, "LABELS_AT_A_TIME": 2, "AT_ONCE": 2, "FEW_LABELS": 1},
    "states.label_slots": {"LABELS_AT_A_TIME": 2},
    "states.score_runs": {"GROUPED": 0, "SMALL": 2},
}
NAME_LIMITS = {name: SMALL[name] for name in ("files.spill", "input.match", "input.rows")}


@contextmanager
def small_limits(values: dict[str, dict[str, int]] = SMALL) -> Iterator[None]:
    """Make all limits small, or set some of them to these values."""
    with ExitStack() as stack:
        for place, limits in values.items():
            module = import_module(f"xmleval.{place}")
            for name, value in limits.items():
                assert hasattr(module, name), f"{place} has no {name}"
                stack.enter_context(mock.patch.object(module, name, value))
        yield
