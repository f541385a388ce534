"""Values that are computed when first asked for, by any number of threads."""

from __future__ import annotations

import threading

from xmleval.cached import cached


class Slow:
    """Counts how often it computes; two objects must compute at the same time."""

    both = threading.Barrier(2)

    def __init__(self) -> None:
        self.n_computed = 0

    @cached
    def value(self) -> int:
        """A number."""
        self.n_computed += 1
        self.both.wait(10)
        return 7


def test_objects_do_not_wait_for_each_other() -> None:
    first, second = Slow(), Slow()
    thread = threading.Thread(target=lambda: second.value)
    thread.start()
    assert first.value == first.value == 7  # would break the barrier if only one may compute
    thread.join()
    assert first.n_computed == second.n_computed == 1
    assert second.__dict__["value"] == 7
    assert isinstance(Slow.value, cached)
    assert Slow.value.__doc__ == "A number."
