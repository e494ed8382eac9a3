"""The nights of a course: a tournament of all submitted bots each, and what it told about each student's bots."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from noughts_proto.v1 import bots_pb2, games_pb2, tournaments_pb2
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.leagues.course import Course, LeagueProblem
from noughts_server.leagues.course_folder import ORGANISER, CourseFolder
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.tables.standings import TIE_BREAKS

_LOOK_SECONDS = 20.0
_FEWEST = 2


def next_night(clock: str, now: datetime) -> datetime:
    """When the clock of this machine shows HH:MM next."""
    hour, minute = map(int, clock.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


async def play_nights(
    course: Course,
    organiser: Callable[[], AbstractContextManager[Client]],
    tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Begin a tournament each night, until cancelled; `organiser` connects, `tell` and `warn` get what came of it."""
    due = next_night(course.nightly, datetime.now().astimezone())
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        now = datetime.now().astimezone()
        if now < due:
            continue
        due = next_night(course.nightly, now)

        def play(now: datetime = now) -> str:
            with organiser() as client:
                return play_night(client, course, now, warn)

        try:
            tell(f"The night's tournament: {await asyncio.to_thread(play)}")
        except (LeagueProblem, CallFailed) as problem:
            warn(f"no tournament tonight: {problem.message}")


def play_night(client: Client, course: Course, now: datetime, warn: Callable[[str], None]) -> str:
    """Create the tournament, enter every bot that is online, and start it. Return its name. Raise LeagueProblem."""
    online = bots_pb2.ListBotsRequest(online_only=True)
    bots = list(client.each(client.bots.ListBots, online, lambda page: page.bots, 10_000))
    if len(bots) < _FEWEST:
        raise LeagueProblem(f"got {len(bots)} bots, expected at least two")
    name = create_tournament(client, course.night(now), f"night-{now:%Y-%m-%d-%H%M}", numbered=True)
    assert name is not None
    entered = 0
    for bot in bots:
        try:
            joining = tournaments_pb2.JoinTournamentRequest(name=name, bot=bot.latest_version)
            client.call(client.tournaments.JoinTournament, joining)
            entered += 1
        except CallFailed as failed:
            warn(f"{bot.name} is left out: {failed.message}")
    if entered < _FEWEST:
        client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=name))
        raise LeagueProblem(f"{name}: fewer than two bots could be entered, expected at least two")
    client.call(client.tournaments.StartTournament, tournaments_pb2.StartTournamentRequest(name=name))
    return name


def newest_night(client: Client) -> str:
    """Return the name of the newest night of which games have been played. Raise LeagueProblem."""
    request = tournaments_pb2.ListTournamentsRequest(owner=ORGANISER)
    for tournament in client.each(client.tournaments.ListTournaments, request, lambda page: page.tournaments, 1_000):
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
    course, rows = folder.read(), standings(client, name)
    everybody = bots_pb2.ListBotsRequest(show_retired=True)
    owners = {bot.name: bot.owner for bot in client.each(client.bots.ListBots, everybody, lambda page: page.bots)}
    owned = [(row, owners.get(row.bot_version.partition("/versions/")[0])) for row in rows]
    lost = games_pb2.ListGamesRequest(parent=name, faults_only=True)
    faults = list(client.each(client.games.ListGames, lost, lambda page: page.games, 10_000))
    night = name.removeprefix("tournaments/night-")

    def report(login: str) -> str:
        """Return the page of this student."""
        own = [row for row, owner in owned if owner == login]
        lines = [f"# {login}: {course.name}", "", f"The night of {night}, {course.variant}.", ""]
        if not own:
            lines += [f"None of your bots played. Submit one, for example as `{login}-bot`.", ""]
        for row in own:
            mine = [game for game in faults if row.label == (game.second if game.result == 1 else game.first)]
            score = f"{row.wins} won, {row.draws} drawn, {row.losses} lost."
            lines += [f"**{row.label}**: rank {row.rank} of {len(rows)}, {row.points:g} points: {score}", ""]
            if mine:
                games = "game" if len(mine) == 1 else "games"
                lines.append(f"It lost {len(mine)} {games} by faults:")
                lines += [f"- {course.address}/{game.name}: it {game.fault or 'failed'}" for game in mine[:10]]
                lines.append("")
        lines += ["| rank | bot | points |", "|---|---|---|"]
        lines += [f"| {row.rank} | {row.label} | {row.points:g} |" for row in rows[:10]]
        lines += ["", f"Ties are broken by {TIE_BREAKS}."]
        return "\n".join(lines) + "\n"

    folder.reports.mkdir(exist_ok=True)
    written = []
    for login in folder.logins():
        file = folder.reports / f"{login}.md"
        file.write_text(report(login), encoding="utf-8")
        written.append(str(file))
    return written
