"""The output of `python -m tests.cluster` about a run."""

from __future__ import annotations

from collections import Counter

import pytest

from noughts_referee.rules import Termination
from tests.cluster.__main__ import print_result
from tests.cluster.disruptions import Tally


@pytest.mark.parametrize("lost, code", [(0, 0), (3, 1)])
def test_a_run_prints_its_counts_and_fails_unless_they_are_zero(
    capsys: pytest.CaptureFixture[str], lost: int, code: int
) -> None:
    tally = Tally(games=10, endings=Counter({Termination.LINE: 10}), checked={"lost": lost, "stored twice": 0})
    assert print_result(tally) == code
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "lost, stored twice" in line]
    assert f"{lost}, 0" in line
