"""Runs of three fields have ranks, as those of MS MARCO; numbers that cannot be are refused."""

from pathlib import Path

import pytest

from tests.commands import Run
from tests.limits import small_limits
from xmleval import evaluate
from xmleval.io import read_qrels, read_run

QRELS = "P1 0 GO:1 1\nP2 0 GO:3 1\n"
TWICE = "P1 GO:1 2\nP1 GO:9 1\nP2 GO:3 8\nP2 GO:1 1\nP1 GO:8 1\n"
ADVICE = "write scores with all fields, 'instance Q0 label rank score tag', or as .csv"
WRONG = {
    "no rank is 1": "P1 GO:1 900\nP1 GO:9 150\nP2 GO:3 820\nP2 GO:1 310\n",
    "row 'P1' has rank 1 twice": TWICE,
    "line 2: rank '0' is not a number from 1 up": "P1 GO:1 1\nP1 GO:9 0\n",
    "line 1: rank '-3' is not a number from 1 up": "P1 GO:1 -3\nP1 GO:9 1\n",
}


NUMBERS = {
    "P1": "0",
    "P2": "1",
    "GO:1": "1",
    "GO:3": "3",
    "GO:8": "8",
    "GO:9": "9",
}


def with_numbers(text: str) -> str:
    for name, number in NUMBERS.items():
        text = text.replace(name, number)
    return text


@pytest.mark.parametrize("reason", WRONG)
@pytest.mark.parametrize("numbers", [False, True])
def test_whole_scores_are_not_read_as_ranks(
    folder: Path, refused: Run, reason: str, numbers: bool
) -> None:
    """Rows and labels have names or numbers; they are in memory or in a spill file."""
    qrels = QRELS
    run = WRONG[reason]
    if numbers:
        qrels = with_numbers(qrels)
        run = with_numbers(run)
        reason = reason.replace("P1", "0")
    Path("t.qrels").write_text(qrels)
    Path("s.run").write_text(run)
    line = "evaluate t.qrels s.run --metrics p@1"
    message = refused(line)
    assert message.startswith(f"s.run: {reason}")
    assert ADVICE in message or "line" in reason
    with small_limits():
        assert refused(line) == message
    with pytest.raises(ValueError, match="rank"):
        read_run("s.run", read_qrels("t.qrels"))


def test_ranks_of_a_reranked_part_are_read(folder: Path) -> None:
    """One query with a rank of 1 is enough, in any line and file."""
    Path("t.qrels").write_text(QRELS)
    Path("s.run").write_text("P1 GO:9 12\nP2 GO:3 1\nP1 GO:1 3\nP2 GO:1 7\n")
    Path("runs").mkdir()
    Path("runs/1.run").write_text("P1 GO:9 12\nP1 GO:1 3\n")
    Path("runs/2.run").write_text("P2 GO:3 1\nP2 GO:1 7\n")
    for run in ("s.run", "runs"):
        report = evaluate("t.qrels", run, metrics="p@1")
        assert report["p@1"] == 1.0
