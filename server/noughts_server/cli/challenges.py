"""Plays a challenge from this process: runs a bot during the challenge, and makes the calls."""

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
from noughts_server.cli.tournament_end import LOOK_SECONDS, TournamentEnd
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import challenge_message
from noughts_server.core.resource_names import bot_name, short

_LONGEST_NAME = 63


def challenge_request(
    settings: TournamentSettings, time_of: list[str] | None, *, challenger: str, opponent: str, seed: int | None
) -> pb.CreateChallengeRequest:
    """Return the request, with the times of --time-of. Raises UsageProblem for a bot that does not play."""
    own, other = (short(name).partition("/")[0] for name in (challenger, opponent))
    settings = replace(settings, own_times=read_times_of_two(time_of, own, other))
    return challenge_message(settings, challenger=challenger, opponent=opponent, seed=seed)


def free_name(client: Client, label: str) -> str:
    """Return OWNER-LABEL, with a number if another owner has that name, or a bot of that name is online.

    A second session would end the first.
    """
    owner = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    base, number = f"{owner}-{label}"[:_LONGEST_NAME], 1
    while True:
        suffix = "" if number == 1 else f"#{number}"
        name = f"{base[: _LONGEST_NAME - len(suffix)]}{suffix}"
        bot = _known_bot(client, name)
        if bot is None or (bot.owner == owner and not bot.online):
            return name
        number += 1


def is_online(client: Client, name: str) -> bool:
    bot = _known_bot(client, name)
    return bot is not None and bot.online


def _known_bot(client: Client, name: str) -> bots_pb2.Bot | None:
    try:
        return client.call(client.bots.GetBot, bots_pb2.GetBotRequest(name=bot_name(name))).bot
    except CallFailed as failed:
        if failed.code is StatusCode.NOT_FOUND:
            return None
        raise


async def play_challenge_with(
    spec: BotSpec, client: Client, request: pb.CreateChallengeRequest, output: OutputOptions
) -> tournaments_pb2.Tournament:
    """Play with a reference bot that this process connects during the challenge."""
    bot = make_bot(spec)
    bot.accepts_challenges = False
    login = client.login(request.challenger.partition("/")[2])
    online = asyncio.Event()

    def heard(event: SessionEvent) -> None:
        if isinstance(event, Online):
            online.set()
        else:
            printing.note(printing.printable(str(event)))

    async def keep_playing() -> None:
        await play(bot, login, heard)
        raise Problem("the server ended the bot's session before the games were over")

    # A failure of either task ends both; `errors.explain` finds it in the group.
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(keep_playing())
        await online.wait()
        played = await play_challenge(client, request, output)
        playing.cancel()
    return played


async def play_challenge(
    client: Client, request: pb.CreateChallengeRequest, output: OutputOptions
) -> tournaments_pb2.Tournament:
    """Create the challenge and wait for its end; cancel it if interrupted.

    Calls are made in threads, because the bot thinks on the event loop.
    """
    created = (await asyncio.to_thread(client.call, client.challenges.CreateChallenge, request)).tournament
    output.hint(
        f"{created.name}: {request.challenger} against {request.opponent}, {printing.count(request.games, 'game')}."
    )
    end = TournamentEnd(client, created.name)
    try:
        while (over := await asyncio.to_thread(end.look)) is None:  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(LOOK_SECONDS)
        return over
    except asyncio.CancelledError:
        # If this also fails, the server ends the challenge after the bot's timeout.
        with suppress(CallFailed):
            client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=created.name))
        raise
