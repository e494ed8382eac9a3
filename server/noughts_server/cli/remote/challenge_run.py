"""Plays a challenge from this process: a bot that is online for as long as it takes, and the calls about it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from grpc import StatusCode

from noughts_bots.events import Online, SessionEvent
from noughts_bots.session import play
from noughts_bots.specs import BotSpec, make_bot
from noughts_proto.v1 import bots_pb2, tokens_pb2, tournaments_pb2
from noughts_proto.v1 import challenges_pb2 as pb
from noughts_server.cli import output
from noughts_server.cli.errors import Problem
from noughts_server.cli.remote.tournament_end import LOOK_SECONDS, TournamentEnd
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed

_LONGEST_NAME = 63

Returned = TypeVar("Returned")


def free_name(client: Client, label: str) -> str:
    """OWNER-LABEL, numbered where a bot of that name is online: two sessions of one bot would drive each other out."""
    owner = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    wanted, number = f"{owner}-{label}"[:_LONGEST_NAME], 1
    while True:
        suffix = "" if number == 1 else f"#{number}"
        name = f"{wanted[: _LONGEST_NAME - len(suffix)]}{suffix}"
        try:
            if not client.call(client.bots.GetBot, bots_pb2.GetBotRequest(name=f"bots/{name}")).bot.online:
                return name
        except CallFailed as failed:
            if failed.code is StatusCode.NOT_FOUND:
                return name
            raise
        number += 1


async def play_challenge_with(
    client: Client, request: pb.CreateChallengeRequest, spec: BotSpec
) -> tournaments_pb2.Tournament:
    """Plays with a reference bot that is online from here as long as it takes."""
    bot = make_bot(spec)
    bot.accepts_challenges = False
    login = client.login(request.challenger.partition("/")[2])
    online = asyncio.Event()

    def heard(event: SessionEvent) -> None:
        if isinstance(event, Online):
            online.set()
        else:
            output.note(output.printable(str(event)))

    async def keep_playing() -> None:
        await play(bot, login, heard)
        raise Problem("the server ended the bot's session before the games were over")

    # What goes wrong with either ends both; `errors.explain` finds it in the group.
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(keep_playing())
        await online.wait()
        played = await play_challenge(client, request)
        playing.cancel()
    return played


async def play_challenge(client: Client, request: pb.CreateChallengeRequest) -> tournaments_pb2.Tournament:
    """Begins the challenge and waits for its end; gives it up when interrupted."""
    made = await _aside(lambda: client.call(client.challenges.CreateChallenge, request).tournament)
    output.note(f"{made.name}: {request.challenger} against {request.opponent}, {output.count(request.games, 'game')}.")
    end = TournamentEnd(client, made.name)
    try:
        while (over := await _aside(end.look)) is None:  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(LOOK_SECONDS)
        return over
    except asyncio.CancelledError:
        # If this fails, too, the server ends the challenge when the bot has been away for a while.
        with suppress(CallFailed):
            client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=made.name))
        raise


async def _aside(call: Callable[[], Returned]) -> Returned:
    """A call that blocks, in a thread: the bot thinks on the event loop meanwhile."""
    return await asyncio.to_thread(call)
