"""Challenges from this process: the request, the calls to the server, and a bot that runs during the challenge."""

import asyncio
from contextlib import suppress
from dataclasses import replace

from grpc import StatusCode

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import play
from noughts_bots.reference.specs import BotSpec, make_bot
from noughts_proto.v1 import bots_pb2, tokens_pb2, tournaments_pb2
from noughts_proto.v1 import challenges_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.time import read_times_of_two
from noughts_server.cli.server_games.tournament_end import POLL_SECONDS, TournamentEnd
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import challenge_message
from noughts_server.core.resource_names import bot_name, short

_LONGEST_NAME = 63


def challenge_request(
    settings: TournamentSettings, time_of: list[str] | None, *, challenger: str, opponent: str, seed: int | None
) -> pb.CreateChallengeRequest:
    """Return the request, with the times of --time-of. Raises UsageProblem for a label that is neither bot."""
    own_name = short(challenger).partition("/")[0]
    opponent_name = short(opponent).partition("/")[0]
    settings = replace(settings, own_times=read_times_of_two(time_of, own_name, opponent_name))
    return challenge_message(settings, challenger=challenger, opponent=opponent, seed=seed)


def free_name(client: Client, label: str) -> str:
    """Return OWNER-LABEL, with a number if another owner has that name, or a bot of that name is online.

    An online bot keeps its name, because a second session under the name would end the first.
    """
    owner = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    base = f"{owner}-{label}"[:_LONGEST_NAME]
    number = 1
    while True:
        suffix = "" if number == 1 else f"#{number}"
        name = f"{base[: _LONGEST_NAME - len(suffix)]}{suffix}"
        bot = _find_bot(client, name)
        if bot is None or (bot.owner == owner and not bot.online):
            return name
        number += 1


def is_online(client: Client, name: str) -> bool:
    bot = _find_bot(client, name)
    return bot is not None and bot.online


def _find_bot(client: Client, name: str) -> bots_pb2.Bot | None:
    try:
        return client.call(client.bots.GetBot, bots_pb2.GetBotRequest(name=bot_name(name))).bot
    except CallFailed as failure:
        if failure.code is StatusCode.NOT_FOUND:
            return None
        raise


async def play_challenge_with(
    spec: BotSpec, client: Client, request: pb.CreateChallengeRequest, output: OutputOptions
) -> tournaments_pb2.Tournament:
    """Play the challenge with a reference bot that this process connects. Return the tournament at its end."""
    bot = make_bot(spec)
    bot.accepts_challenges = False
    login = client.login(request.challenger.partition("/")[2])
    online = asyncio.Event()

    def take_event(event: SessionEvent) -> None:
        if isinstance(event, Online):
            online.set()
        else:
            printing.note(printing.printable(str(event)))

    async def keep_playing() -> None:
        await play(bot, login, take_event)
        raise Problem("the server ended the bot's session before the games were over")

    # An error of either task ends both. `errors.explain` finds it in the exception group.
    async with asyncio.TaskGroup() as tasks:
        bot_task = tasks.create_task(keep_playing())
        await online.wait()
        tournament = await play_challenge(client, request, output)
        bot_task.cancel()
    return tournament


async def play_challenge(
    client: Client, request: pb.CreateChallengeRequest, output: OutputOptions
) -> tournaments_pb2.Tournament:
    """Create the challenge and wait for its end; cancel it if interrupted. Return the tournament at its end.

    Calls run in threads, because a bot needs the event loop.
    """
    created = (await asyncio.to_thread(client.call, client.challenges.CreateChallenge, request)).tournament
    output.hint(
        f"{created.name}: {request.challenger} against {request.opponent}, {printing.count(request.games, 'game')}."
    )
    end = TournamentEnd(client, created.name)
    try:
        while (ended_tournament := await asyncio.to_thread(end.poll)) is None:  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(POLL_SECONDS)
        return ended_tournament
    except asyncio.CancelledError:
        # If this also fails, the server ends the challenge after the bot's timeout.
        with suppress(CallFailed):
            client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=created.name))
        raise
