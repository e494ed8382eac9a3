"""A database that a child can read is refused, because a reader could hold locks of it and stop all games."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.child_settings import ChildSettings
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalError, LocalPlan, LocalStop
from noughts_server.local.run import check_out_of_reach, play_locally


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    """A program in a folder of its own."""
    file = tmp_path / "bot" / "bot.py"
    file.parent.mkdir()
    file.touch()
    return file


async def test_a_database_in_the_folder_of_a_bot_is_refused(bot: Path) -> None:
    database = bot.parent / "data" / "games.db"
    spec = parse_spec(f"exec:{shlex.join([sys.executable, str(bot)])}")
    plan = LocalPlan(
        (spec, parse_spec("random")), TournamentSettings(), database=f"sqlite:///{database}", children=ChildSettings()
    )
    with pytest.raises(LocalError, match=re.escape(f"got {database}, which is in the folder {bot.parent}")):
        await play_locally(plan, on_progress=lambda progress: None, stop=LocalStop())
    assert not database.parent.exists()


@pytest.mark.parametrize("template", ["py:{bot}:Bot", "lines:{python} {bot}", "gomocup:{python} {bot}"])
def test_database_in_the_folder_of_any_kind_of_child_is_refused(bot: Path, template: str) -> None:
    spec = parse_spec(template.format(bot=bot, python=sys.executable))
    with pytest.raises(LocalError, match=re.escape(str(bot.parent))):
        check_out_of_reach(f"sqlite:///{bot.parent / 'games.db'}", spec)
    check_out_of_reach(f"sqlite:///{bot.parent.parent / 'games.db'}", spec)
