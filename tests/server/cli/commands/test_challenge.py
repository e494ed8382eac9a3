"""`noughts challenge`, with reference bots and connected bots of the user."""

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_bots import Bot, Position
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import parse_spec
from noughts_proto.v1 import challenges_pb2, tournaments_pb2
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.cli.server_games.challenges import play_challenge_with
from noughts_server.cli.server_games.tournament_end import TournamentEnd
from noughts_server.client.failures import CallFailed
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from tests.server.cli.conftest import Ask, Refusal
from tests.support.loopback import Link, wait_until
from tests.support.patience import PATIENCE


async def test_bot_challenges_after_its_lost_connection_is_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connections = 0
    async with running_server(ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'x.sqlite'}")) as server:
        token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
        link = Link(int(server.address.rpartition(":")[2]))

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            if connections == 1:
                writer.transport.abort()
            else:
                await link.carry(reader, writer)

        async with await asyncio.start_server(carry, "127.0.0.1", 0) as listener:
            address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/nobody", games=1)
            with (
                AddressOptions(server=address).connected_with(token.secret) as client,
                pytest.raises(ExceptionGroup) as raised,
            ):
                await play_challenge_with(parse_spec("random"), client, request, OutputOptions())
            link.cut()
    (problem,) = raised.value.exceptions
    assert isinstance(problem, CallFailed)
    # The error is about the opponent, so the challenger was online: the server checks that first.
    assert "bots/nobody does not exist" in problem.message
    assert "cannot reach a server at" in capsys.readouterr().err


async def test_challenge_is_played_to_its_end_if_the_server_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_asked, may_move = asyncio.Event(), asyncio.Event()
    poll = TournamentEnd.poll
    polls = 0

    def count_poll(end: TournamentEnd) -> tournaments_pb2.Tournament | None:
        nonlocal polls
        polls += 1
        return poll(end)

    monkeypatch.setattr(TournamentEnd, "poll", count_poll)

    class Waiting(Bot):
        async def choose(self, position: Position) -> int:
            move_asked.set()
            await may_move.wait()
            return position.free[0]

    settings = ServerSettings("127.0.0.1:0", f"sqlite:///{tmp_path / 'x.sqlite'}")
    request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/bob", games=2)
    online = asyncio.Event()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        async with running_server(settings) as server:
            token = await server.store.write(partial(create_token, owner="ada", now_ms=server.store.now_ms()))
            bob = tasks.create_task(play(Waiting(), Login(server.address, token.secret, "bob"), lambda _: online.set()))
            await online.wait()
            client = stack.enter_context(AddressOptions(server=server.address).connected_with(token.secret))
            challenge = tasks.create_task(play_challenge_with(parse_spec("random"), client, request, OutputOptions()))
            await move_asked.wait()
        may_move.set()
        # The command polls for the end of the challenge while no server answers.
        polls_before = polls
        await wait_until(lambda: polls > polls_before + 1)
        async with running_server(replace(settings, listen=server.address)):
            tournament = await challenge
            bob.cancel()
    assert (tournament.state, tournament.games_done) == (tournaments_pb2.TOURNAMENT_STATE_FINISHED, 2)


def test_challenge_with_a_reference_bot_prints_what_match_prints(
    ask: Ask, noughts: Any, bob: Any, env: dict[str, str]
) -> None:
    challenge = ask("challenge bot:bob --with nextstep:depth=3 --games 10 --seed 5")
    assert challenge["games"] == sum(challenge["a"].values()) == 10
    assert sum(challenge["a_first"].values()) == sum(challenge["a_second"].values()) == 5
    assert sum(challenge["terminations"].values()) == 10
    assert (challenge["challenger"], challenge["opponent"]) == ("bots/alice-nextstep:depth=3", "bots/bob")
    assert set(challenge["elo"]) == {"value", "error95", "los"}
    match = ask("match nextstep:depth=3 minimax --games 10 --seed 5")
    # Only a match on this machine counts faults, repeats and pairs of games.
    assert match.pop("faults") == []
    assert match.pop("repeats") == 0
    assert sum(match.pop("pentanomial")) == 5
    # A match estimates the error from pairs and a challenge from games, so only the values of Elo are equal.
    assert challenge["elo"]["value"] == match["elo"]["value"]
    shared = match.keys() - {"names", "elo", "normalized_elo"}
    assert {key: challenge[key] for key in shared} == {key: match[key] for key in shared}
    text = noughts("challenge bot:bob@1 --seed 5", env=env).stdout
    assert "alice-random - bob: tictactoe, seed 5" in text
    assert ask("tournament list")["tournaments"] == []
    challenges = ask("tournament list --challenges")["tournaments"]
    assert [row["state"] for row in challenges] == ["finished", "finished"]


def test_each_bot_of_a_challenge_can_have_its_own_time(
    ask: Ask, refusal: Refusal, bob: Any, env: dict[str, str]
) -> None:
    ask("challenge bot:bob --games 2 --time 5/move --time-of you=60+1 --time-of bob=7/move")
    [challenge] = ask("tournament list --challenges")["tournaments"]
    assert challenge["own_times"] == {"alice-random": "60+1", "bob": "7/move"}
    for line in ("challenge bot:bob --time-of carla=1/move", "play --time-of bob=1/move"):
        refusal(line, code=2, env=env)


def test_connected_bot_of_the_user_plays_a_challenge(ask: Ask, bob: Any, start: Any, env: dict[str, str]) -> None:
    with start("bot run random --name mine", env) as process:
        process.stdout.readline()
        challenge = ask("challenge bot:bob --as mine --games 3 --time 5/move")
        assert (challenge["games"], challenge["challenger"]) == (3, "bots/mine")


def test_impossible_challenges_are_refused_in_one_message(
    noughts: Any, refusal: Refusal, bob: Any, start: Any, server: str, database: str, env: dict[str, str]
) -> None:
    carla_token = json.loads(noughts(f"token create --owner carla --db {database} --format json").stdout)["token"]
    refusal("challenge bot:nobody --with random", code=1, env=env)
    refusal("challenge bot:bob --as mine --with random", code=2, env=env)
    refusal(f"challenge bot:bob --server {server}", code=2)
    with start(
        f"bot run random --server {server} --name shy --no-challenges", {"NOUGHTS_TOKEN": carla_token}
    ) as process:
        process.stdout.readline()
        refusal("challenge bot:shy", code=1, env=env)
    bob.send_signal(signal.SIGINT)
    bob.wait(timeout=PATIENCE)
    refusal("challenge bot:bob", code=1, env=env)


def test_interrupted_challenge_is_cancelled(start: Any, ask: Ask, bob: Any, env: dict[str, str]) -> None:
    bob.send_signal(signal.SIGSTOP)  # it will not answer
    try:
        with start("challenge bot:bob --time 60/move", env) as challenge:
            assert "against bots/bob" in challenge.stderr.readline()
            challenge.send_signal(signal.SIGINT)
            challenge.communicate(timeout=PATIENCE)
            assert challenge.returncode == 130
    finally:
        bob.send_signal(signal.SIGCONT)
    assert [row["state"] for row in ask("tournament list --challenges")["tournaments"]] == ["cancelled"]
