"""The table of reference bots names classes without loading them; these tests compare it with the classes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from noughts_bots.reference import table_file
from noughts_bots.reference.registry import REFERENCE_BOTS, BuiltIn


@pytest.mark.parametrize("row", REFERENCE_BOTS.values(), ids=list(REFERENCE_BOTS))
def test_each_bot_is_registered_under_its_own_name(row: BuiltIn) -> None:
    assert row.bot.name == row.name


def test_a_table_takes_the_same_levels_from_its_spec_and_its_file() -> None:
    (level,) = (option for option in REFERENCE_BOTS["table"].options if option.name == "level")
    assert level.expected == f"{table_file.LEVELS[0]}..{table_file.LEVELS[-1]}"


@pytest.mark.processes
def test_making_a_bot_loads_no_other_bot() -> None:
    program = (
        "import sys; from noughts_bots.reference.specs import make_bot, parse_spec; make_bot(parse_spec('random'));"
        "print('noughts_bots.reference.minimax' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )
