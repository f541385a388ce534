"""How kernels are compiled."""

from __future__ import annotations

import _thread
import signal
import threading
from typing import Any

import pytest

from xmleval.kernels import jit
from xmleval.kernels.jit import kernel


class InterruptionError(Exception):
    """Raised by a signal handler."""


@pytest.mark.filterwarnings("ignore:no cache of kernels")
def test_a_signal_handler_that_raises_leaves_a_kernel_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(*_: object) -> None:
        raise InterruptionError

    @kernel
    def double(number: int) -> int:
        return 2 * number

    if not hasattr(double, "compile"):
        pytest.skip("kernels run as Python")
    compiled: Any = double
    compile_it, threads, compiled_it = compiled.compile, [], threading.Event()

    def compile_interrupted(signature: object) -> object:
        threads.append(threading.current_thread())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        try:
            return compile_it(signature)
        finally:
            compiled_it.set()

    monkeypatch.setattr(compiled, "compile", compile_interrupted)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(InterruptionError):
            double(2)
    finally:
        signal.signal(signal.SIGALRM, before)
    (thread,) = threads
    assert thread is not threading.main_thread()
    assert compiled_it.wait(60)
    assert double(2) == 4
    assert threads == [thread]  # compiled once, in spite of the handler


def triple(number: int) -> int:
    return 3 * number


@pytest.mark.filterwarnings("ignore:no cache of kernels")
@pytest.mark.parametrize("begins", [None, False, True], ids=["never", "late", "without memory"])
def test_a_thread_that_cannot_run_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, begins: bool | None
) -> None:
    """A thread ends before its first line where there is no memory for its frame."""
    late: list[Any] = []

    def start(function: Any, args: Any) -> int:
        if begins:
            monkeypatch.setattr(tripled, "compile", exhausted)
            return int(start_thread(function, args))
        late.append(function)
        return 0

    def exhausted(*_: Any) -> None:
        raise MemoryError

    tripled: Any = kernel(triple)
    if not hasattr(tripled, "compile"):
        pytest.skip("kernels run as Python")
    start_thread = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", start)
    monkeypatch.setattr(jit, "START_SECONDS", 0.05)
    if begins:
        with pytest.raises(MemoryError):
            tripled(2)
    else:
        assert tripled(2) == 6
    if begins is False:
        late[0]()  # and compiles nothing more
        assert tripled(2) == 6
