"""Values computed when first asked for: once, and by any number of threads side by side."""

from __future__ import annotations

import threading

from xmleval.cached import cached


class Slow:
    """Counts how often it computes; all that compute must meet."""

    together = threading.Barrier(2)

    def __init__(self) -> None:
        self.times = 0

    @cached
    def value(self) -> int:
        """A number."""
        self.times += 1
        self.together.wait(10)
        return 7


def test_objects_do_not_wait_for_each_other() -> None:
    one, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: other.value)
    thread.start()
    assert one.value == one.value == 7  # would break the barrier if only one may compute
    thread.join()
    assert one.times == other.times == 1
    assert other.__dict__["value"] == 7
    assert isinstance(Slow.value, cached)
    assert Slow.value.__doc__ == "A number."
