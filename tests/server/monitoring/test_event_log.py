"""Log lines of a real server about games and bots."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import structlog

from noughts_bots import Bot, Position
from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.monitoring.event_log import MOST_FAULTS
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Connection
from noughts_server.store.games.results import CommitReport
from noughts_server.store.people.tokens import create_owner, create_token
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, create_tournament

GAMES = 64


class SilentBot(Bot):
    """A bot that never answers, and sets `all_asked` when it has been asked in this number of games."""

    def __init__(self, games: int) -> None:
        self.asked = 0
        self.all_asked = asyncio.Event()
        self._games = games

    async def choose(self, position: Position) -> int:
        self.asked += 1
        if self.asked == self._games:
            self.all_asked.set()
        await asyncio.Event().wait()
        return 0


@contextmanager
def all_levels_logged() -> Iterator[None]:
    """Log all levels in this block, because an earlier command in this process can have set a higher level."""
    settings = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))
    try:
        yield
    finally:
        structlog.configure(**settings)


async def test_a_bot_that_leaves_is_reported_in_few_lines(tmp_path: Path) -> None:
    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'noughts.db'}", reconnect_timeout=0.1)
    with all_levels_logged(), structlog.testing.capture_logs() as lines:
        async with running_server(settings) as server, asyncio.TaskGroup() as tasks:
            token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
            # Each bot moves first in half of the games, and gets questions only in these.
            bots = {name: SilentBot(GAMES // 2) for name in ("left", "right")}
            events: asyncio.Queue[SessionEvent] = asyncio.Queue()
            playing = {
                name: tasks.create_task(play(bot, Login(server.address, token.secret, name), events.put_nowait))
                for name, bot in bots.items()
            }
            for _ in playing:
                await events.get()

            def create_cup(connection: Connection) -> None:
                owner = create_owner(connection, "ada")
                new = NewTournament("cup", TournamentSettings(games_per_pair=GAMES, concurrency=GAMES, seed=1))
                create_tournament(connection, new, owner_id=owner, now_ms=server.store.now_ms())
                for name in bots:
                    join_tournament(connection, "cup", bot=name, owner_id=owner)

            await server.store.write(create_cup)
            finished = asyncio.Event()

            def on_commit(report: CommitReport) -> None:
                if any(progress.finished for progress in report.progress):
                    finished.set()

            server.bus.subscribe("games.committed", on_commit)
            await server.director.start("cup")
            for bot in bots.values():
                await bot.all_asked.wait()
            playing["left"].cancel()
            await finished.wait()
            playing["right"].cancel()
    faults = [line for line in lines if line["event"] == "fault"]
    assert len(faults) == MOST_FAULTS
    assert {line["bot"] for line in faults} == {"bots/left/versions/1"}
    assert {line["termination"] for line in faults} == {"disconnected"}
    assert {line["ply"] for line in faults} == {0}
    assert [line["game"] for line in faults] == [f"tournaments/cup/games/{number}" for number in range(1, 21)]
    (summary,) = (line for line in lines if line["event"] == "more_faults")
    assert summary["games"] == GAMES - MOST_FAULTS
    assert [line["bot"] for line in lines if line["event"] == "bot_online"] != []
    assert {line["tournament"] for line in lines if line["event"].startswith("tournament")} == {"tournaments/cup"}
