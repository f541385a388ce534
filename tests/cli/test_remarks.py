"""What is said of a result names options in every form that people read, and leaves CSV a table alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xmleval.cli import main
from xmleval.cli.forms import WRITERS


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "json"])
def test_what_is_said_of_a_result_names_options(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (
        "evaluate Y_test.npz sets.npz --save s.npz",
        "merge s.npz",
        "evaluate Y_test.npz sets.npz m",
    ):
        assert main([*line.split(), "--format", name]) == 0
        out, err = capsys.readouterr()
        told, other = (err, out) if name == "csv" else (out, err)
        for text in ("--train or --inverse-propensity", "every score is 0 or 1"):
            assert text in told.replace("\\", "")
            assert text not in other
        assert not re.search("y_train|y_pred|inverse_propensity=", (out + err).replace("\\", ""))
        if name == "csv":
            assert all(line.startswith("xmleval: ") for line in err.splitlines())
