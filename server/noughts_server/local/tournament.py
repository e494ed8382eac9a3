"""A tournament that is organised in the server's own process. Its bots log in with tickets, or are child processes."""

import asyncio
import secrets
from collections.abc import Callable, Mapping

from noughts_referee.children.dialled_frames import Carry
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.runtime.bus import listening
from noughts_server.runtime.endless_work import wait_until_set
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.sessions import PRESENCE, Ticket
from noughts_server.server import Server
from noughts_server.services.new_tournaments import check_openings_of, check_tournament
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.results import CommitReport
from noughts_server.store.games.standings import standings
from noughts_server.store.people.bots import BotVersion, log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.local_runs import OWNER, omit_first_games
from noughts_server.store.tournaments.tournaments import (
    NewTournament,
    Tournament,
    create_tournament,
    get_tournament,
    pause_tournament,
)
from noughts_server.tables.standings import Standing

_TICK_SECONDS = 0.2
"""Seconds between two reports of progress."""


class LocalTournament:
    """The one tournament of a local run."""

    def __init__(
        self,
        server: Server,
        settings: TournamentSettings,
        versions: Mapping[str, str],
        resumes: str = "",
        *,
        omitted_games: int = 0,
    ) -> None:
        """Create it. `versions` has the version of each bot, by the label under which it plays.

        `resumes` is the ID of a stored tournament to resume; missing games and bots are added to it. A new tournament
        begins after the first `omitted_games` games.
        """
        self.slug = resumes or f"local-{secrets.token_hex(4)}"
        self._resumes = bool(resumes)
        self._server = server
        self._settings = settings
        self._versions = versions
        self._omitted_games = omitted_games
        self._owner = 0
        self.bots: dict[str, BotVersion] = {}
        """The bot versions, by label."""
        self._absent: set[str] = set()
        """The labels of the bots for which no game waits."""

    async def create(self) -> None:
        """Create the tournament and enter the bots, or add the missing ones."""
        self._owner = await self._server.store.write(self._enter)

    def ticket(self, label: str, carry: Carry | None = None) -> str:
        """Return a secret for one login of this bot; `carry` receives the stream, by default the bot's connection."""
        return self._server.sessions.issue_ticket(Ticket(self._owner, label, self._versions[label], carry))

    def mark_absent(self, label: str) -> None:
        """Do not wait for the bot of this label: it loses its games as they begin."""
        self._absent.add(label)
        self._server.bus.publish(PRESENCE, self.bots[label].id)

    def missing(self) -> list[str]:
        """Return the labels of the bots that have no session and are not marked absent."""
        online = self._server.sessions.online
        expected = [label for label in self._versions if label not in self._absent]
        return [label for label in expected if not online(self.bots[label].id)]

    async def all_online(self, on_change: Callable[[], None]) -> None:
        """Return when every bot has a session; call `on_change` whenever their number may have changed."""
        changed = asyncio.Event()
        with listening(self._server.bus, PRESENCE, lambda _: changed.set()):
            while self.missing():
                on_change()
                await changed.wait()
                changed.clear()

    async def play(
        self,
        on_progress: Callable[[Tournament, tuple[Standing, ...]], None],
        on_read: Callable[[Connection, Tournament], None] | None = None,
    ) -> None:
        """Start the tournament and return when it is finished.

        `on_progress` is called several times a second, and once more after the last game. `on_read` is called
        before each of these calls, in a thread of the store.
        """

        def progress(connection: Connection) -> tuple[Tournament, tuple[Standing, ...]]:
            tournament = get_tournament(connection, self.slug)
            if on_read is not None:
                on_read(connection, tournament)
            return tournament, tuple(standings(connection, tournament))

        stored = await self._server.store.read(lambda connection: get_tournament(connection, self.slug))
        if stored.state is not TournamentState.FINISHED:  # a resumed run can have no games left
            await self._server.director.start(self.slug)
        finished = asyncio.Event()

        def on_commit(report: CommitReport) -> None:
            if any(progress.finished and progress.tournament == stored.id for progress in report.progress):
                finished.set()

        with listening(self._server.bus, COMMITTED, on_commit):
            while True:
                tournament, table = await self._server.store.read(progress)
                on_progress(tournament, table)
                if tournament.state is TournamentState.FINISHED:
                    return
                await wait_until_set(finished, _TICK_SECONDS)

    def _enter(self, connection: Connection) -> int:
        """Create the tournament, or add the missing games and bots to a resumed one; return the owner's key."""
        now = self._server.store.now_ms()
        owner = create_owner(connection, OWNER)
        if self._resumes:
            missing = self._reopen(connection, now)
        else:
            check_openings_of(self._settings)
            new = check_tournament(NewTournament(self.slug, self._settings), now)
            create_tournament(connection, new, owner_id=owner, now_ms=now)
            if self._omitted_games:
                omit_first_games(connection, self.slug, self._omitted_games)
            missing = set(self._versions)
        for label, version in self._versions.items():
            self.bots[label] = log_in(connection, owner_id=owner, name=label, version=version, now_ms=now)
            if label in missing:
                join_tournament(connection, self.slug, bot=label, version=version, label=label)
        return owner

    def _reopen(self, connection: Connection, now_ms: int) -> set[str]:
        """Pause a tournament whose run was killed, and extend it. Return the labels of the bots that it lacks."""
        tournament = get_tournament(connection, self.slug)
        if tournament.state is TournamentState.RUNNING:
            pause_tournament(connection, self.slug, now_ms=now_ms)
        missing = set(self._versions) - {row.label for row in standings(connection, tournament)}
        games_per_pair = self._settings.games_per_pair - tournament.settings.games_per_pair
        rounds = self._settings.rounds - tournament.settings.rounds if self._settings.rounds else 0
        if tournament.state is TournamentState.OPEN:
            games_per_pair = rounds = 0
        if games_per_pair or rounds or missing:
            extend_tournament(connection, self.slug, games_per_pair=games_per_pair, rounds=rounds, any_format=True)
        return missing
