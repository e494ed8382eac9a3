"""The table of reference bots names classes without loading them; here it is held against them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from noughts_bots.reference import coursework, depth_search, pascal, table_file
from noughts_bots.reference.registry import REFERENCE_BOTS, ReferenceBot


@pytest.mark.parametrize("row", REFERENCE_BOTS.values(), ids=list(REFERENCE_BOTS))
def test_a_bot_is_listed_under_its_own_name(row: ReferenceBot) -> None:
    assert row.bot.name == row.name


@pytest.mark.parametrize(
    "name, option, allowed",
    [
        ("coursework", "level", coursework.LEVELS),
        ("pascal", "level", pascal.LEVELS),
        ("table", "level", table_file.LEVELS),
        ("nextstep", "depth", depth_search.DEPTHS),
        ("minimax", "depth", depth_search.DEPTHS),
    ],
)
def test_an_option_takes_what_its_bot_takes(name: str, option: str, allowed: range) -> None:
    (found,) = (known for known in REFERENCE_BOTS[name].options if known.name == option)
    assert found.expected == f"{allowed[0]}..{allowed[-1]}"


@pytest.mark.processes
def test_to_make_one_bot_loads_no_other() -> None:
    program = (
        "import sys; from noughts_bots.specs import make_bot, parse_spec; make_bot(parse_spec('random'));"
        "print('noughts_bots.reference.minimax' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )
