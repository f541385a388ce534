"""Processes on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="the system has no pseudo-terminals")
HOME = str(Path(__file__).resolve().parents[1])
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(folder: Path, *words: str, columns: int = 100, piped: bool = True) -> tuple[str, str]:
    """What a Python process with these arguments prints: on stdout, if it is a pipe, and on its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": HOME, "TERM": "xterm", "COLUMNS": str(columns)},
        stdout=subprocess.PIPE if piped else theirs,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    out = process.communicate()[0]
    assert process.returncode == 0, shown
    return out or "", shown.decode().replace("\r\n", "\n")


def plain(shown: str) -> str:
    """Text without what controls the terminal."""
    return CONTROLS.sub("", shown)
