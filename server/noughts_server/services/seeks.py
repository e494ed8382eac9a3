"""Pair the bots that seek rated games."""

import asyncio
import secrets
from collections.abc import Callable
from functools import partial

import structlog

from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import covers
from noughts_server.competition.seeks import Seek, Seeker, pair_seekers
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.seeks import seek_of
from noughts_server.core.errors import InvalidArgument, NoughtsError
from noughts_server.core.limits import Limits
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.director import Director
from noughts_server.runtime.endless_work import logging_errors, wait_until_set
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.sessions import PRESENCE, OnlineBot, Sessions
from noughts_server.services.limiter import Limiter
from noughts_server.services.new_tournaments import check_guest_clocks, check_settings
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.challenges import create_sought_pair, open_challenges, seeking_bots

logger = structlog.get_logger("noughts.seeks")

_CHECK_SECONDS = 1.0
_PAUSE_SECONDS = 0.25
"""The shortest time between two checks."""
_GAMES = 2
_LIMIT = "seeks"


def check_seek(hello: pb.Hello, limits: Limits) -> Seek:
    """Return the wish of a hello. Raises InvalidArgument."""
    seek = seek_of(hello.seek, "hello.seek")
    settings = _settings(seek)
    check_settings(settings)
    check_guest_clocks(settings, limits)
    if not covers(tuple(hello.variants), seek.variant):
        raise InvalidArgument.of("hello.seek", seek.variant, f"one of its variants: {', '.join(hello.variants)}")
    return seek


def _settings(seek: Seek) -> TournamentSettings:
    return TournamentSettings(
        variant=seek.variant,
        time=seek.time,
        games_per_pair=_GAMES,
        concurrency=_GAMES,
        seed=secrets.randbits(64),
        rated=True,
    )


class Seeks:
    """Starts two rated games for each pair of bots with matching wishes, at the leading server of a cluster."""

    def __init__(
        self,
        *,
        store: Store,
        sessions: Sessions,
        director: Director,
        limiter: Limiter,
        bus: Bus,
        leads: Callable[[], bool],
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._director = director
        self._limiter = limiter
        self._bus = bus
        self._leads = leads
        self._since: dict[int, float] = {}
        """When each version that seeks began to wait, by the clock of the event loop."""
        self._last_opponents: dict[int, int] = {}
        """The bot that each version that seeks has met last."""

    async def run(self) -> None:
        """Pair bots until cancelled, whenever one connects or games have ended."""
        news = asyncio.Event()
        with (
            listening(self._bus, PRESENCE, lambda version: news.set()),
            listening(self._bus, COMMITTED, lambda report: news.set()),
        ):
            while True:
                news.clear()
                if self._leads():
                    with logging_errors(logger, "seek_check_failed"):
                        await self.pair()
                await asyncio.sleep(_PAUSE_SECONDS)
                await wait_until_set(news, _CHECK_SECONDS)

    async def pair(self) -> None:
        """Start games for the pairs that are possible now."""
        logins = self._sessions.logins_online()
        seeking = {version: login for version, login in logins.items() if login.seek is not None}
        now = asyncio.get_running_loop().time()
        self._since = {version: self._since.get(version, now) for version in seeking}
        self._last_opponents = {version: bot for version, bot in self._last_opponents.items() if version in self._since}
        if len(seeking) < _GAMES:
            return
        seekers = await self._seekers(seeking, now)
        for one, other in pair_seekers(seekers, now):
            # Bots of one owner can be in several of these pairs.
            if all(self._limiter.wait_seconds(_LIMIT, each.owner, 1) <= 0 for each in (one, other)):
                await self._begin(one, other)

    async def _seekers(self, seeking: dict[int, OnlineBot], now: float) -> list[Seeker]:
        """Return those that play no game, and whose owners have games left today."""
        challenges = await self._store.read_with_retries(open_challenges)
        busy = {version for versions in challenges.values() for version in versions}
        running = self._sessions.games_of_online()
        wishes: dict[int, tuple[OnlineBot, Seek]] = {}
        for version, login in seeking.items():
            if version in busy or running.get(login.name):
                self._since[version] = now
            elif login.seek is not None:
                wishes[version] = login, login.seek
        lists = {version: (seek.variant, seek.time.time_class) for version, (_, seek) in wishes.items()}
        known = await self._store.read_with_retries(partial(seeking_bots, lists=lists))
        return [
            Seeker(
                version=version,
                bot=login.bot,
                owner=known[version].owner,
                seek=seek,
                rating=known[version].rating,
                since=self._since[version],
                last_opponent=self._last_opponents.get(version),
            )
            for version, (login, seek) in wishes.items()
            if version in known and self._limiter.wait_seconds(_LIMIT, known[version].owner, 1) <= 0
        ]

    async def _begin(self, one: Seeker, other: Seeker) -> None:
        versions = [one.version, other.version]
        create = partial(
            create_sought_pair, versions=versions, settings=_settings(one.seek), now_ms=self._store.now_ms()
        )
        try:
            tournament = await self._director.create(create)
        except NoughtsError as error:
            logger.warning("seek_check_failed", reason=error.reason, error=str(error))
            return
        for each, opponent in ((one, other), (other, one)):
            self._limiter.charge(_LIMIT, each.owner, 1)
            self._last_opponents[each.version] = opponent.bot
        logger.info("seekers_paired", tournament=tournament.name, title=tournament.settings.title, seek=str(one.seek))
