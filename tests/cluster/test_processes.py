"""Processes of this machine: results and errors, and their end with that of the parent."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from xmleval.cluster.processes import Processes

KILLED = """
import os, sys, time
from xmleval.cluster.processes import Processes
processes = Processes(2)
calls = [processes.submit(os.getpid), processes.submit(os.getpid)]
if sys.argv[1] != "starting":
    list(processes.as_completed(calls))
if sys.argv[1] == "counting":
    processes.submit(time.sleep, 3600)
    processes.submit(time.sleep, 3600)
processes._hand_out()
print("ready", flush=True)
time.sleep(3600)
"""


def fail(message: str) -> None:
    raise OSError(message, Lock())  # which cannot be sent


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


@pytest.mark.parametrize("state", ["starting", "idle", "counting"])
def test_processes_end_with_a_parent_that_is_killed(state: str) -> None:
    command = [sys.executable, "-c", KILLED, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
        assert parent.communicate(timeout=120)[0] == b""  # once nobody holds stdout


def test_processes_return_results_and_raise_errors(processes: Processes) -> None:
    calls: dict[Any, Any] = {
        processes.submit(divmod, number, 3): divmod(number, 3) for number in range(9)
    }
    assert {call.result() for call in processes.as_completed(calls)} == {*calls.values()}
    (error,) = processes.as_completed([processes.submit(os.stat, "nowhere")])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        error.result()
    (error,) = processes.as_completed([processes.submit(fail, "for no reason")])
    with pytest.raises(RuntimeError, match="for no reason"):
        error.result()


def test_cancelled_calls_are_not_made(processes: Processes) -> None:
    call = processes.submit(time.sleep, 3600)
    assert call.cancel()
    assert [*processes.as_completed([call])] == [call]


def test_process_that_ends_in_a_call_is_an_error() -> None:
    with Processes(1) as executor:
        (call,) = executor.as_completed([executor.submit(os._exit, 3)])
        with pytest.raises(ChildProcessError, match="a process ended while it counted"):
            call.result()


def test_processes_that_do_not_end_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    with Processes(1) as executor:
        executor.submit(time.sleep, 3600)
        executor._hand_out()
        (process, _) = executor._workers[0]
    assert process.exitcode is not None
