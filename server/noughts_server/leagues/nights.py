"""The nights of a course: each is a tournament of all submitted bots, with a report for each student."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import dropwhile, islice
from typing import Literal

from noughts_proto.v1 import bots_pb2, games_pb2, tokens_pb2, tournaments_pb2, types_pb2
from noughts_referee.rules import parse_variant
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.forecast import longest_game, usual_plies
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.times import time_control_message
from noughts_server.core.resource_names import short
from noughts_server.leagues.course import ORGANISER, Course, LeagueProblem
from noughts_server.leagues.course_folder import CourseFolder
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.openings.settings import Openings
from noughts_server.tables.standings import TIE_BREAKS

_CHECK_SECONDS = 20.0
"""The time between checks whether a night is due."""
# Attempts to enter a bot in a night, and the pause between them.
_ATTEMPTS = 5
_PAUSE_SECONDS = 2.0
_FEWEST_BOTS = 2
_PREFIX = "night-"
"""The beginning of the IDs of nights."""
_MOST_NIGHTS = 1_000
"""Limit of the tournaments among which nights are searched, the newest first."""
_OPEN_OR_RUNNING = (tournaments_pb2.TOURNAMENT_STATE_OPEN, tournaments_pb2.TOURNAMENT_STATE_RUNNING)
_ASSUMED_MOVE_SECONDS = 0.001
"""Seconds of a move if no earlier night shows them."""


def next_night(clock: str, now: datetime) -> datetime:
    """Return the next time at which the clock of this machine shows HH:MM."""
    hour, minute = map(int, clock.split(":"))
    # Times without a zone are those of the machine's clock, also on days on which summer time begins or ends.
    today = now.astimezone().replace(tzinfo=None, hour=hour, minute=minute, second=0, microsecond=0)
    tonight = today.astimezone()
    return tonight if tonight > now else (today + timedelta(days=1)).astimezone()


@dataclass(frozen=True, slots=True)
class NightEstimate:
    """The number of games in a night, and the time that they take."""

    bots: int
    games: int
    seconds: float
    basis: Literal["night", "limits", "assumption"]
    """Whether the duration is that of the last night's games, the limits of time, or an assumed pace."""


@dataclass(frozen=True, slots=True)
class Night:
    """A night that has begun."""

    name: str
    """`tournaments/ID`."""
    estimate: NightEstimate


def estimate_of(client: Client, settings: TournamentSettings, bots: int) -> NightEstimate:
    """Return the estimate of a night with this many bots: from the last night, else from the limits of time."""
    games = bots * (bots - 1) // 2 * settings.games_per_pair
    for night in _nights(client):
        duration_ms = night.end_time.ToMilliseconds() - night.start_time.ToMilliseconds()
        has_same_games = (night.variant, night.time) == (settings.variant, time_control_message(settings.time))
        if (
            night.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED
            and has_same_games
            and night.games_done
            and duration_ms > 0
        ):
            return NightEstimate(bots, games, games * duration_ms / 1_000 / night.games_done, "night")
    plies = usual_plies(parse_variant(settings.variant))
    longest = longest_game([settings.time], plies)
    if longest is None:
        return NightEstimate(bots, games, games * plies * _ASSUMED_MOVE_SECONDS, "assumption")
    # With clocks, a bot plays one game after the other.
    return NightEstimate(bots, games, games / max(1, bots // 2) * longest, "limits")


def _nights(client: Client) -> Iterator[tournaments_pb2.Tournament]:
    """Yield the course's nights, the newest first."""
    request = tournaments_pb2.ListTournamentsRequest(owner=ORGANISER, search=_PREFIX)
    tournaments = client.list_items(
        client.tournaments.ListTournaments, request, lambda page: page.tournaments, _MOST_NIGHTS
    )
    for tournament in tournaments:
        if short(tournament.name).startswith(_PREFIX):
            yield tournament


def _check_that_none_runs(client: Client, *, before: str = "") -> None:
    """Raise LeagueProblem if a night is open or running; with `before`, only nights older than this one count."""
    nights = _nights(client)
    if before:
        nights = islice(dropwhile(lambda night: night.name != before, nights), 1, None)
    for night in nights:
        if night.state in _OPEN_OR_RUNNING:
            games = f"{night.games_done:,} of {night.games_total:,} games are over"
            hint = f"Wait for its end, or cancel it: noughts tournament cancel {short(night.name)}"
            raise LeagueProblem(f"{short(night.name)} still runs ({games}), and nights do not overlap", hint)


async def play_nights(
    course: Course,
    openings: Openings,
    organiser: Callable[[], AbstractContextManager[Client]],
    announce: Callable[[Night], None],
    warn: Callable[[str], None],
) -> None:
    """Begin a tournament each night, until cancelled.

    Args:
        organiser: connects to the server with the organiser's token.
        announce: gets each night that has begun.
        warn: gets a sentence if a night cannot begin, or a bot cannot play in it.
    """

    def play(now: datetime) -> Night:
        with organiser() as client:
            return play_night(client, course, now, openings, warn)

    due = next_night(course.nightly, datetime.now().astimezone())
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        now = datetime.now().astimezone()
        if now < due:
            continue
        due = next_night(course.nightly, now)
        try:
            announce(await asyncio.to_thread(play, now))
        except (LeagueProblem, CallFailed) as problem:
            warn(f"no tournament tonight: {problem.message}")


def online_bots(client: Client) -> list[bots_pb2.Bot]:
    """Return the bots that would play now."""
    request = bots_pb2.ListBotsRequest(online_only=True)
    return list(client.list_items(client.bots.ListBots, request, lambda page: page.bots, 10_000))


def plan_night(client: Client, settings: TournamentSettings) -> NightEstimate:
    """Return the estimate of a night that would begin now, after the checks that `play_night` makes first."""
    # This call fails unless the token is valid.
    client.call(client.tokens.ListTokens, tokens_pb2.ListTokensRequest(page_size=1))
    _check_that_none_runs(client)
    return estimate_of(client, settings, len(online_bots(client)))


def play_night(client: Client, course: Course, now: datetime, openings: Openings, warn: Callable[[str], None]) -> Night:
    """Create the tournament of a night, enter every bot that is online, and start the tournament.

    Raise LeagueProblem if there are too few bots, or if another night runs.
    """
    _check_that_none_runs(client)
    bots = online_bots(client)
    if len(bots) < _FEWEST_BOTS:
        hint = "Wait until students have submitted bots: INSTRUCTIONS.md tells them how."
        raise LeagueProblem(f"got {len(bots)} bots, expected at least two", hint)
    settings = course.night(now, openings)
    name = create_tournament(client, settings, f"{_PREFIX}{now:%Y-%m-%d-%H%M}", numbered=True)
    assert name is not None
    try:
        _check_that_none_runs(client, before=name)
    except LeagueProblem:
        # Another command has begun a night at the same time.
        client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=name))
        raise
    entries = 0
    for bot in bots:
        try:
            _enter(client, name, bot)
            entries += 1
        except CallFailed as failure:
            warn(f"{bot.name} is left out: {failure.message}")
    if entries < _FEWEST_BOTS:
        client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=name))
        raise LeagueProblem(f"{name}: fewer than two bots could be entered, expected at least two")
    estimate = estimate_of(client, settings, entries)
    client.call(client.tournaments.StartTournament, tournaments_pb2.StartTournamentRequest(name=name))
    return Night(name, estimate)


def _enter(client: Client, name: str, bot: bots_pb2.Bot) -> None:
    """Enter a bot, with further attempts if the server does not answer. Raises CallFailed."""
    # If an answer is lost, the server can have entered the bot. It ignores a repeated request with the same ID.
    request_id = secrets.token_hex(16)
    request = tournaments_pb2.JoinTournamentRequest(name=name, bot=bot.latest_version, request_id=request_id)
    for _ in range(_ATTEMPTS - 1):
        try:
            client.call(client.tournaments.JoinTournament, request)
        except CallFailed as failure:
            if failure.is_refusal:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
    client.call(client.tournaments.JoinTournament, request)


def newest_night(client: Client) -> str:
    """Return the name of the newest night with a finished game. Raise LeagueProblem without such a night."""
    for tournament in _nights(client):
        if tournament.games_done:
            return tournament.name
    hint = "Start one: noughts course night FOLDER"
    raise LeagueProblem("got no nightly tournament yet, expected one that has started", hint)


def standings(client: Client, name: str) -> list[tournaments_pb2.Standing]:
    """Return the standings of the tournament, best first."""
    request = tournaments_pb2.GetTournamentRequest(name=name)
    return list(client.call(client.tournaments.GetTournament, request).tournament.standings)


def write_reports(client: Client, folder: CourseFolder, name: str) -> list[str]:
    """Write a page for each student about the tournament. Return the files."""
    course = folder.read()
    rows = standings(client, name)
    all_bots = bots_pb2.ListBotsRequest(show_retired=True)
    owners = {bot.name: bot.owner for bot in client.list_items(client.bots.ListBots, all_bots, lambda page: page.bots)}
    owner_of_row = [owners.get(row.bot_version.partition("/versions/")[0]) for row in rows]
    games_with_fault = games_pb2.ListGamesRequest(parent=name, faults_only=True)
    lost_games = list(client.list_items(client.games.ListGames, games_with_fault, lambda page: page.games, 10_000))
    night = name.removeprefix("tournaments/night-")

    def report(login: str) -> str:
        """Return the page of this student."""
        own_rows = [row for row, owner in zip(rows, owner_of_row, strict=True) if owner == login]
        lines = [f"# {login}: {course.name}", "", f"The night of {night}, {course.variant}.", ""]
        if not own_rows:
            lines += [f"None of your bots played. Submit one, for example as `{login}-bot`.", ""]
        for row in own_rows:
            own_losses = [game for game in lost_games if row.label == _loser(game)]
            score = f"{row.wins} won, {row.draws} drawn, {row.losses} lost."
            lines += [f"**{row.label}**: rank {row.rank} of {len(rows)}, {row.points:g} points: {score}", ""]
            if own_losses:
                games = "game" if len(own_losses) == 1 else "games"
                lines.append(f"It lost {len(own_losses)} {games} by faults:")
                lines += [f"- {course.address}/{game.name}: it {game.fault or 'failed'}" for game in own_losses[:10]]
                lines.append("")
        lines += ["| rank | bot | points |", "|---|---|---|"]
        lines += [f"| {row.rank} | {row.label} | {row.points:g} |" for row in rows[:10]]
        lines += ["", f"Bots rank by points. Ties are broken by {TIE_BREAKS}, in this order."]
        return "\n".join(lines) + "\n"

    folder.reports.mkdir(exist_ok=True)
    files = []
    for login in folder.logins():
        file = folder.reports / f"{login}.md"
        file.write_text(report(login), encoding="utf-8")
        files.append(str(file))
    return files


def _loser(game: games_pb2.Game) -> str:
    """Return the label of the player that lost a game with a fault."""
    return game.second if game.result == types_pb2.RESULT_FIRST_WINS else game.first
