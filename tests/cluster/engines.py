"""An engine for tests: another order each time, tasks that run twice, results that travel."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


class Handle:
    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], key: str) -> None:
        self.function, self.arguments, self.key = function, arguments, key
        self.sent: list[bytes] = []


class ShuffledEngine:
    """Runs what is asked for in any order, some of it twice; results are copies that cannot be written."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.ran: list[str] = []
        self.n_bytes = 0

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Handle:
        return Handle(function, arguments, key)

    def completed(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for place in self.rng.permutation(len(handles)).tolist():
            yield place, self.result(handles[place])

    def cancel(self, handles: Sequence[Any]) -> None:
        """Forget nothing: what was given up may still run."""

    def result(self, handle: Handle) -> Any:
        if not handle.sent:
            for _ in range(int(self.rng.integers(1, 3))):
                result = handle.function(*map(self._given, handle.arguments))
                handle.sent.append(pickle.dumps(result, 5))
                self.ran.append(handle.key)
            self.n_bytes += len(handle.sent[-1])
        return _read_only(pickle.loads(handle.sent[-1]))

    def _given(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self._given(one) for one in argument]
        return self.result(argument) if isinstance(argument, Handle) else argument


def _read_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _read_only(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        own = [_read_only(one) for one in value]
        return type(value)(*own) if hasattr(value, "_fields") else type(value)(own)
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value
