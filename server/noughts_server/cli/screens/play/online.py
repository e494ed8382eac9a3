"""`noughts play` on a server: the person's session, and the challenges."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login
from noughts_bots.connection.session import play as play_session
from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import parse_variant
from noughts_server.cli import printing
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.game import LARGEST_SEED
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.names import read_bot
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.screens.application import show_mode
from noughts_server.cli.screens.play.match import Match, Participant
from noughts_server.cli.screens.play.mode import PlayMode
from noughts_server.cli.screens.play.person_bot import OnlineGameController
from noughts_server.cli.screens.shown_game import YOU
from noughts_server.cli.server_games.challenges import challenge_request, free_name
from noughts_server.cli.server_games.tournament_end import OVER
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.resource_names import bot_name

_POLL_SECONDS = 0.5
"""Seconds between two requests for the challenge."""


@dataclass(frozen=True, slots=True)
class OnlineMatchPlan:
    """The opponent to challenge, and the settings. Without an opponent the person waits for a challenge."""

    opponent: str | None
    settings: TournamentSettings
    time_of: list[str] | None
    """`NAME=T` of each player with its own time control; `you` is the person."""


def play_online(plan: OnlineMatchPlan, name: str, mark: str | None, server: ServerOptions) -> Match:
    """Play until the person leaves. Return the match.

    Raises Problem, BotRefused and SecurityProblem, most of them before the screen opens.
    """
    # Lines of a log would be written over the board.
    configure_logs(LogLevel.ERROR)
    with server.connected(token_needed=True) as client:
        own_name = name or free_name(client, "person")
        players = (Participant(YOU, person=True), Participant("your opponent", person=False))
        match = Match(parse_variant(plan.settings.variant), players, plan.settings.seed, mark=mark)
        run_loop(_PersonSession(client, plan, client.login(own_name), match).play())
    return match


class _PersonSession:
    """The connection of the person to the server, the challenges, and the screen."""

    def __init__(self, client: Client, plan: OnlineMatchPlan, login: Login, match: Match) -> None:
        self._client = client
        self._plan = plan
        self._login = login
        is_challenger = plan.opponent is not None
        waiting = f"Waiting for {plan.opponent}." if is_challenger else f"Waiting to be challenged as {login.name}."
        self._challenge_command = (
            "" if is_challenger else f"noughts play --with bot:{login.name} --server {login.server}"
        )
        self._controller = OnlineGameController(match, waiting)
        self._controller.person.accepts_challenges = not is_challenger
        self._online = asyncio.Event()
        self._failure: Exception | None = None
        self._tournament = ""
        """The last challenge."""
        self._games_due = 0
        """The number of games that will have ended when the last challenge is over."""

    async def play(self) -> None:
        """Log in, show the screen until the person leaves, and end the session. Raises the session's error."""
        async with asyncio.TaskGroup() as tasks:
            session = tasks.create_task(self._session())
            await self._online.wait()
            try:
                if self._failure is None:
                    await self._play()
            except Exception as error:
                self._failure = error
            session.cancel()
        if self._failure is not None:
            raise self._failure

    async def _play(self) -> None:
        """Create the challenge, if there is an opponent, and show the screen."""
        if self._plan.opponent is None:
            await show_mode(PlayMode(self._controller))
            return
        await self._challenge(0)
        try:
            async with asyncio.TaskGroup() as tasks:
                follower = tasks.create_task(self._follow())
                await show_mode(PlayMode(self._controller))
                follower.cancel()
        finally:
            await self._abandon()

    async def _session(self) -> None:
        try:
            await play_session(self._controller.person, self._login, self._take_event)
        except Exception as error:
            self._failure = error
        else:
            self._failure = Problem("the server ended the session")
        self._online.set()
        self._controller.leave()

    def _take_event(self, event: SessionEvent) -> None:
        notice = str(event)
        if isinstance(event, Online):
            self._online.set()
            notice = "" if self._controller.has_begun else self._challenge_command
        self._controller.notice = printing.printable(notice)
        self._controller.on_change()

    # Challenges.

    async def _challenge(self, number: int) -> None:
        plan, client = self._plan, self._client
        request = challenge_request(
            plan.settings,
            plan.time_of,
            challenger=bot_name(self._login.name),
            opponent=read_bot((plan.opponent or "").removeprefix("bot:")),
            seed=plan.settings.seed + number & LARGEST_SEED,
        )
        # A call in a thread does not block the screen.
        response = await asyncio.to_thread(client.call, client.challenges.CreateChallenge, request)
        self._tournament = response.tournament.name
        self._games_due = self._controller.ended_games + plan.settings.games_per_pair

    async def _follow(self) -> None:
        """Report the end of each challenge, and create another one when the person wants it."""
        controller = self._controller
        controller.challenge_wanted = asyncio.Event()
        number = 0
        while True:
            challenge = await self._challenge_end()
            self._games_due = 0
            is_cancelled = challenge.state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
            ending = (
                f"The challenge was cancelled: {challenge.reason or 'by the server'}."
                if is_cancelled
                else "All played."
            )
            controller.notice = f"{ending} Press n to challenge again, q to leave."
            controller.can_challenge_again = True
            controller.on_change()
            while True:
                await controller.challenge_wanted.wait()
                controller.challenge_wanted.clear()
                number += 1
                try:
                    await self._challenge(number)
                except CallFailed as failure:
                    controller.notice = printing.printable(f"{failure.message}. Press n to try again, q to leave.")
                    controller.on_change()
                else:
                    break
            controller.notice = ""
            controller.can_challenge_again = False
            controller.on_change()

    async def _challenge_end(self) -> tournaments_pb2.Tournament:
        """Return the challenge when it has ended. Ignore failed calls: the session reports a lost connection."""
        client = self._client
        request = tournaments_pb2.GetTournamentRequest(name=self._tournament)
        while True:
            with suppress(CallFailed):
                response = await asyncio.to_thread(client.call, client.tournaments.GetTournament, request)
                if response.tournament.state in OVER:
                    return response.tournament
            await asyncio.sleep(_POLL_SECONDS)

    async def _abandon(self) -> None:
        """Cancel the remaining games when the person leaves."""
        if self._controller.ended_games < self._games_due:
            cancel = tournaments_pb2.CancelTournamentRequest(name=self._tournament)
            with suppress(CallFailed):
                await asyncio.to_thread(self._client.call, self._client.tournaments.CancelTournament, cancel)
