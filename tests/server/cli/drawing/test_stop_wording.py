"""Commands and the website say why a running tournament plays no games."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.v1 import feed_pb2, tournaments_pb2
from noughts_server.cli.drawing.feed_lines import tournament_line
from tests.support.background import bots_online
from tests.support.databases import change
from tests.support.site import site_of

REASON = "no referee is connected. Fix: start one."


@pytest.fixture
def stopped_cup(ask: Any, server: str, token: str, tmp_path: Path) -> None:
    """The running tournament `cup`, whose play has stopped until the next attempt in an hour."""
    with bots_online(server, token, **{"alice-a": "random", "alice-b": "random"}):
        ask("tournament create cup")
        for bot in ("alice-a", "alice-b"):
            ask(f"tournament join cup --bot {bot}")
    ask("tournament start cup")
    retry_at = round((datetime.now(UTC) + timedelta(hours=1)).timestamp()) * 1_000
    change(tmp_path / "games.db", f"UPDATE tournaments SET reason = '{REASON}', retry_at = {retry_at}")


@pytest.mark.usefixtures("stopped_cup")
def test_commands_and_page_tell_why_play_has_stopped(
    noughts: Any, ask: Any, env: dict[str, str], server: str, database: str
) -> None:
    for line in ("status --once", "tournament show cup", "tournament list", f"nodes --db {database}"):
        code = 1 if line.startswith("nodes") else 0  # this server is not in a cluster
        text = " ".join(noughts(line, env=env, code=code).stdout.split())
        assert "no referee is connected" in text, line
    # On a quick machine 60 minutes are left, else 59.
    text = " ".join(noughts("tournament show cup", env=env).stdout.replace("60 min", "59 min").split())
    assert "The next attempt is due in 59 min. 0 of 2 games played" in text
    tournament, (status,) = ask("tournament show cup"), ask("status")["tournaments"]
    assert (tournament["state"], tournament["reason"], status["problem"]) == ("running", REASON, REASON)
    assert tournament["retry_time"] == status["retry_time"]
    with site_of(server) as site:
        page = site.get("/tournaments/cup").text
        assert f"Play has stopped: {REASON} The next attempt is due <time" in page
        assert site.get("/api/v1/tournaments/cup").document["reason"] == REASON


def test_lines_of_watch_tell_why_play_has_stopped() -> None:
    tournament = feed_pb2.WatchedTournament(
        name="tournaments/cup", state=tournaments_pb2.TOURNAMENT_STATE_RUNNING, reason=REASON
    )
    assert tournament_line(tournament).endswith(f"0 in play; {REASON}")
