"""Damaged files of every format through the command line: a result, or exit 2 after one line.

The same examples each time; `tests/hunt` looks for others.
"""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.damage import CASES, KINDS, TOKENS, Edit, answer, complaint, contents, make_case, restore

EXAMPLES = 25  # of each format
MOST_MIB = 700  # that memory may grow by; pyarrow, kernels and all
edits = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.floats(0, 1),
        st.floats(0, 1),
        st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=4,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("role", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_damage_is_read_or_refused_in_one_line(tmp_path: Path, role: str, name: str) -> None:
    case = make_case(tmp_path, role, name)
    whole = contents(tmp_path)
    for command in case.commands:
        assert answer(command)[0] == 0, command
        restore(tmp_path, whole)
    assert contents(tmp_path) == whole
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @seed(0)
    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        which=st.integers(0, 1),
        changes=edits,
        inside=st.booleans(),
        inner=st.floats(0, 1),
        number=st.integers(0, 3),
    )
    def check(which: int, changes: list[Edit], inside: bool, inner: float, number: int) -> None:
        number %= len(case.commands)
        try:
            case.damage(which, changes, inside, inner)
            damaged = contents(tmp_path)
            code, out, err = answer(case.commands[number])
            assert complaint(case, case.commands[number], code, out, err) is None, err
            if code == 2 and role != "checkpoint":
                assert contents(tmp_path) == damaged
            if number < 2 <= len(case.commands):  # however the file is cut into pieces
                assert answer(case.commands[1 - number])[:2] == (code, out)
        finally:
            restore(tmp_path, whole)

    check()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MOST_MIB
