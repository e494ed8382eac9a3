"""Bots that are submitted by a call: their trials, storage, games, replacement and retirement."""

import asyncio
import hashlib
import io
import os
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TypeVar

import grpc
import psutil
import pytest
from structlog.testing import capture_logs

from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import challenges_pb2, games_pb2, status_pb2, status_pb2_grpc, tests_pb2
from noughts_referee.children.scratch import OwnedFolder
from noughts_referee.children.watch import nice_above_own, processor_seconds
from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.hosting import submitted, trials
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.hosting.submitted import Acceptance, SubmittedBots, submitted_bots_of_server
from noughts_server.runtime.sessions import OnlineBot
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import bots, programs, submissions
from noughts_server.store.people.submissions import Submission, Upload, needed_submissions
from noughts_server.store.people.tokens import authenticate, create_owner, revoke_token
from tests.support.client import Client, bearer, client_of, refusal_of
from tests.support.databases import change
from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.loopback import wait_until
from tests.support.shared import make_once

BOT_TEMPLATE = "from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    def choose(self, position):\n        {}\n"
RANDOM_BOT = BOT_TEMPLATE.format("return position.rng().choice(position.free)")
FIRST_CELL_BOT = BOT_TEMPLATE.format("return position.free[0]")
ALL_SCOPES = ("play", "organise", "submit")


@pytest.fixture(scope="session")
def lots_module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = make_once(
        tmp_path_factory, "lots-wasm", lambda to: compile_wasm(C_EXAMPLES / "lots.c", _with_parents(to), "lots")
    )
    return (folder / "lots.wasm").read_bytes()


def _with_parents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@asynccontextmanager
async def hosting(
    folder: Path, kinds: tuple[str, ...] = ("wasm", "py"), limits: Limits | None = None
) -> AsyncIterator[tuple[Client, SubmittedBots]]:
    """A client of a server that accepts submitted bots of these kinds, and the part of the server that hosts them."""
    settings = {"limits": limits or Limits(submissions=1000), "rate_own_games": True}
    submitted_bots: list[SubmittedBots] = []
    async with submitted_bots_of_server(Acceptance(kinds)) as host:

        def host_and_remember(server: Server) -> SubmittedBots:
            submitted_bots.append(host(server))
            return submitted_bots[0]

        async with client_of(folder / "x.sqlite", host_and_remember, **settings) as client:
            yield client, submitted_bots[0]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with hosting(tmp_path) as (opened, _):
        yield opened


async def submit(
    client: Client, token: str, bot: str, content: bytes | str, kind: str = "py", /, **fields: object
) -> pb.SubmitBotResponse:
    """Submit a file; `fields` are changed fields of the submission's first message."""
    data = content.encode() if isinstance(content, str) else content
    submission = pb.Submission(bot=bot, kind=kind, size=len(data), sha256=hashlib.sha256(data).digest())
    submission.MergeFrom(pb.Submission(**fields))  # type: ignore[arg-type]  # of the message

    async def requests() -> AsyncIterator[pb.SubmitBotRequest]:
        yield pb.SubmitBotRequest(submission=submission)
        for start in range(0, len(data), 50_000):
            yield pb.SubmitBotRequest(chunk=data[start : start + 50_000])

    return await client.bots.SubmitBot(requests(), metadata=bearer(token), timeout=60)


async def stored_counts(client: Client) -> tuple[int, int, int]:
    """Return the numbers of stored bots, programs and submissions."""

    def read(connection: Connection) -> tuple[int, int, int]:
        one, two, three = (len(connection.execute(table.select()).all()) for table in (bots, programs, submissions))
        return one, two, three

    return await client.server.store.read(read)


T = TypeVar("T")


async def wait_for(read: Callable[[], Awaitable[T]], is_expected: Callable[[T], bool]) -> None:
    """Read a value again and again until it is as expected."""
    async with asyncio.timeout(120):
        while not is_expected(await read()):  # noqa: ASYNC110  # another process changes the value
            await asyncio.sleep(0.05)


async def online_bots(client: Client) -> list[str]:
    """Return the bots that are online, or that the server would start for a game."""
    return [bot.name for bot in (await client.bots.ListBots(pb.ListBotsRequest(online_only=True))).bots]


async def test_trial_has_the_name_of_a_real_game(client: Client) -> None:
    checking_bot = RANDOM_BOT + (
        "    def start(self, game):\n"
        "        import re\n"
        "        if not re.fullmatch('tournaments/challenge-[0-9a-f]{10}/games/[0-9]+', game.name):\n"
        "            raise SystemExit('this is a trial')\n"
    )
    assert not (await submit(client, await client.token("alice", *ALL_SCOPES), "watchful", checking_bot)).unchanged


async def test_folder_of_a_trial_is_named_like_that_of_a_game(client: Client) -> None:
    checking_bot = (
        "import re\nif not re.search('/noughts-bots-[^/]+/one-[^/]+/bot/bot.py$', __file__): 1 / 0\n" + RANDOM_BOT
    )
    assert not (await submit(client, await client.token("alice", *ALL_SCOPES), "watchful", checking_bot)).unchanged


async def test_starting_server_removes_folders_of_killed_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number in range(112):  # as killed servers leave them: no process holds their locks
        (tmp_path / f"noughts-bots-{number}" / "trial-x").mkdir(parents=True)
    with closing(OwnedFolder("noughts-bots-")) as running:
        (Path(running.path) / "bot.py").touch()
        async with hosting(tmp_path):
            folders = _folders(tmp_path)
            assert (len(folders), running.path in folders) == (2, True)
        assert _folders(tmp_path) == [running.path]
        assert os.listdir(running.path) == ["bot.py"]


def _folders(temporary: Path) -> list[str]:
    return list(map(str, temporary.glob("noughts-bots-*")))


async def test_a_bot_is_submitted_played_replaced_and_retired(client: Client, lots_module: bytes) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    status = await client_status(client)
    assert list(status.accepts) == ["wasm", "py"]
    created_version = (await submit(client, token, "lots", lots_module, "wasm", file_name="lots.wasm")).version
    assert (created_version.name, created_version.submission.kind, created_version.submission.size) == (
        "bots/lots/versions/1",
        "wasm",
        len(lots_module),
    )
    first = await submit(client, token, "mine", FIRST_CELL_BOT)
    assert first.version.submission.entry == "bot.py:Mine"
    await wait_for(lambda: online_bots(client), lambda names: names == ["bots/lots", "bots/mine"])
    # No bot starts before a game needs it.
    await client.create(token, games_per_pair=10, variant="mnk:5,5,4")
    for bot in ("lots", "mine"):
        await client.join(token, bot)
    await client.start(token)
    await client.until(lambda cup: cup.games_done == 10)
    games = (await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup"))).games
    assert {game.termination for game in games} <= {1, 2}
    # The same file is the same version, another one the next.
    assert (await submit(client, token, "mine", FIRST_CELL_BOT)).unchanged
    second = await submit(client, token, "mine", RANDOM_BOT)
    assert (second.version.name, second.unchanged) == ("bots/mine/versions/2", False)
    bot_answer = await client.bots.GetBot(pb.GetBotRequest(name="bots/mine"))
    assert [version.submission.version for version in bot_answer.versions] == ["2", "1"]
    await client.bots.RetireBot(pb.RetireBotRequest(name="bots/mine"), metadata=bearer(token))
    assert (await refusal_of(submit(client, token, "mine", FIRST_CELL_BOT))).info.reason == "WRONG_STATE"


async def test_fuel_excludes_submitted_bots_of_other_kinds_and_clocks(client: Client, lots_module: bytes) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    await submit(client, token, "lots", lots_module, "wasm")
    await submit(client, token, "mine", FIRST_CELL_BOT)
    refusal = await refusal_of(client.create(token, fuel=10**15, time={"move_us": 5_000_000}))
    assert "tournament.fuel: got '1000000000000000', expected 0: the clock 5/move depends on" in refusal.trailing
    await client.create(token, fuel=10**15)
    assert (await client.get()).fuel == 10**15
    await client.join(token, "lots")
    refusal = await refusal_of(client.join(token, "mine"))
    assert "bot: got 'bots/mine/versions/1', expected a bot whose moves fuel can limit" in refusal.trailing


async def test_folders_of_bots_are_removed_after_their_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with hosting(tmp_path) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        for name in ("one", "two"):
            await submit(client, token, name, RANDOM_BOT)
        await client.create(token)
        for name in ("one", "two"):
            await client.join(token, name)
        await client.start(token)
        await client.until(lambda cup: cup.games_done == 2)
        await wait_until(lambda: not submitted_bots.playing())
        [folder] = _folders(tmp_path)
        assert os.listdir(folder) == ["programs"]


async def client_status(client: Client) -> status_pb2.GetStatusResponse:
    import grpc

    async with grpc.aio.insecure_channel(client.server.address) as channel:
        stub: status_pb2_grpc.StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)
        return await stub.GetStatus(status_pb2.GetStatusRequest())


async def test_submitted_bot_is_online_until_it_is_retired(
    client: Client,
) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    for bot in ("one", "two"):
        await submit(client, token, bot, RANDOM_BOT)
        assert f"bots/{bot}" in await online_bots(client)
    retired = await client.bots.RetireBot(pb.RetireBotRequest(name="bots/one"), metadata=bearer(token))
    assert (retired.bot.online, await online_bots(client)) == (False, ["bots/two"])


async def test_a_submitted_bot_can_be_challenged_and_leaves_afterwards(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, here):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", FIRST_CELL_BOT)
        await submit(client, token, "other", RANDOM_BOT)
        request = challenges_pb2.CreateChallengeRequest(challenger="bots/mine", opponent="bots/other", games=4)
        created = await client.challenges.CreateChallenge(request, metadata=bearer(token))
        slug = created.tournament.name.removeprefix("tournaments/")
        await wait_for(lambda: client.get(slug), lambda tournament: tournament.games_done == 4)
        await wait_until(lambda: not here.playing())


CONNECT4_BOT = RANDOM_BOT.replace("    def", '    variants = ("connect4",)\n\n    def')
OTHER_CLASS = BOT_TEMPLATE.format("return 0").replace("Mine", "Other").replace("from noughts_bots import Bot", "")


async def test_submitted_bot_is_refused_in_variants_that_it_does_not_declare(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name in ("mine", "other"):
            await submit(client, token, name, CONNECT4_BOT)
        await submit(client, token, "mine", CONNECT4_BOT + "\n", version="2")
        await submit(client, token, "mine", CONNECT4_BOT + "\n", version="same-file")
        await client.create(token)
        await _check_all_refuse(client, token)
    async with hosting(tmp_path) as (client, _):
        await _check_all_refuse(client, token)
        await client.create(token, "of-four", variant="connect4")
        await client.join(token, "mine", "of-four")


async def _check_all_refuse(client: Client, token: str) -> None:
    """Check that games of tictactoe with all versions of the bots are refused: tournament, test and challenge."""
    for bot in ("mine", "mine/versions/1", "mine/versions/2", "other"):
        assert "expected a bot that plays tictactoe" in (await refusal_of(client.join(token, bot))).trailing
    test = tests_pb2.Test(new_version="bots/other", base_version="bots/mine/versions/1")
    test.tournament.variant = "tictactoe"
    request = tests_pb2.CreateTestRequest(test=test)
    refusal = await refusal_of(client.tests.CreateTest(request, metadata=bearer(token)))
    assert "expected a bot that plays tictactoe" in refusal.trailing
    challenge = challenges_pb2.CreateChallengeRequest(
        challenger="bots/mine", opponent="bots/other", variant="tictactoe", games=2
    )
    refusal = await refusal_of(client.challenges.CreateChallenge(challenge, metadata=bearer(token)))
    assert "expected a bot that plays tictactoe" in refusal.trailing


async def test_submitted_bot_declines_challenges_before_its_first_game(tmp_path: Path) -> None:
    declining = RANDOM_BOT.replace("    def", "    accepts_challenges = False\n\n    def")

    async def check_refusals(client: Client) -> None:
        for opponent in ("bots/mine", "bots/mine/versions/same-file"):
            challenge = challenges_pb2.CreateChallengeRequest(challenger="bots/other", opponent=opponent, games=2)
            assert (
                "declin"
                in (await refusal_of(client.challenges.CreateChallenge(challenge, metadata=bearer(bob)))).trailing
            )

    async with hosting(tmp_path) as (client, _):
        alice, bob = await client.token("alice", *ALL_SCOPES), await client.token("bob", *ALL_SCOPES)
        await submit(client, alice, "mine", declining)
        await submit(client, alice, "mine", declining, version="same-file")
        await submit(client, bob, "other", RANDOM_BOT)
        await check_refusals(client)
    async with hosting(tmp_path) as (client, _):
        await check_refusals(client)


async def test_another_class_of_a_submitted_file_has_a_trial(client: Client) -> None:
    token, two_classes = await client.token("alice", *ALL_SCOPES), RANDOM_BOT + OTHER_CLASS
    await submit(client, token, "mine", two_classes, entry=":Mine")
    assert "illegal move" in (await refusal_of(submit(client, token, "mine", two_classes, entry=":Other"))).trailing


async def test_database_is_read_for_submitted_bots_only_after_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitted, "_TICK_SECONDS", 0.01)
    reads, ticks = Counter[str](), Counter[str]()

    def counting_needed_submissions(connection: Connection) -> list[Submission]:
        reads["needed"] += 1
        return needed_submissions(connection)

    monkeypatch.setattr(submitted, "needed_submissions", counting_needed_submissions)
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", FIRST_CELL_BOT)
        await wait_for(lambda: online_bots(client), lambda names: names == ["bots/mine"])
        stand_by, before = client.server.sessions.stand_by, reads["needed"]

        def counting_stand_by(bots: dict[int, OnlineBot]) -> None:
            ticks["stand by"] += 1
            stand_by(bots)

        monkeypatch.setattr(client.server.sessions, "stand_by", counting_stand_by)
        await wait_until(lambda: ticks["stand by"] >= 10)
        assert reads["needed"] == before
        await client.bots.RetireBot(pb.RetireBotRequest(name="bots/mine"), metadata=bearer(token))
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: reads["needed"] == before + 1)


@pytest.mark.parametrize(
    "scopes, reason",
    [(("play", "organise"), "SCOPE_MISSING"), (("play:mine",), "SCOPE_MISSING"), ((), "UNAUTHENTICATED")],
)
async def test_without_the_scope_submissions_are_refused(client: Client, scopes: tuple[str, ...], reason: str) -> None:
    token = await client.token("alice", *scopes) if scopes else "nou_nobody"
    assert (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).info.reason == reason
    assert await stored_counts(client) == (0, 0, 0)


async def test_a_file_that_is_not_a_bot_is_refused_and_not_stored(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    for content, kind, fields, complaint in (
        ("x", "py", {"size": 64 << 20}, "bytes of a submitted bot"),
        (RANDOM_BOT, "py", {"size": len(RANDOM_BOT) + 5}, "bytes that were announced"),
        (RANDOM_BOT, "py", {"size": len(RANDOM_BOT) - 5}, "more bytes than were announced"),
        (RANDOM_BOT, "py", {"sha256": bytes(32)}, "a different hash"),
        (RANDOM_BOT, "dll", {}, "one that accepts bots of kind 'dll'"),
        (RANDOM_BOT, "py", {"bot": "no name!"}, "submission.bot"),
        (RANDOM_BOT, "py", {"variant": "chess"}, "submission.variant"),
        ("import socket\n" + RANDOM_BOT, "py", {}, "socket at bot.py:1"),
        (b"\0asm\1\0\0\0", "wasm", {}, "no export 'noughts_bot'"),
    ):
        refusal = await refusal_of(submit(client, token, "mine", content, kind, **fields))
        assert complaint in refusal.trailing, refusal
    # A stream without messages, and one whose first message is a chunk.
    for requests in ([], [pb.SubmitBotRequest(chunk=b"x")]):
        refusal = await refusal_of(client.bots.SubmitBot(iter(requests), metadata=bearer(token)))
        assert "in the first message" in refusal.trailing
    assert await stored_counts(client) == (0, 0, 0)


async def test_token_revoked_during_a_trial_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosting(tmp_path) as (client, submitted_bots):
        token, store = await client.token("alice", *ALL_SCOPES), client.server.store

        def revoke(connection: Connection) -> None:
            now = store.now_ms()
            revoke_token(connection, authenticate(connection, token, now_ms=now).token_id, now_ms=now)

        try_out = submitted_bots.try_out

        async def revoke_and_try_out(upload: Upload, variant: str, owner: int) -> Upload:
            await store.write(revoke)
            return await try_out(upload, variant, owner)

        monkeypatch.setattr(submitted_bots, "try_out", revoke_and_try_out)
        refusal = await refusal_of(submit(client, token, "mine", RANDOM_BOT))
        assert refusal.code is grpc.StatusCode.UNAUTHENTICATED
        assert await stored_counts(client) == (0, 0, 0)


@pytest.mark.parametrize(
    "program",
    [
        BOT_TEMPLATE.format("raise ValueError(__file__)"),
        BOT_TEMPLATE.format("import os, sys; print(__file__, os.getcwd(), sys.path, file=sys.stderr); os._exit(3)"),
        "raise RuntimeError\n" + FIRST_CELL_BOT,
        "open('/etc/passwd')\n" + FIRST_CELL_BOT,
    ],
)
async def test_refusals_contain_no_paths_of_the_server(client: Client, program: str) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    refusal = await refusal_of(submit(client, token, "mine", program))
    assert "bot.py" in refusal.trailing
    for path in (tempfile.gettempdir(), sys.prefix, sys.base_prefix, *filter(None, sys.path)):
        assert not re.search(rf"{re.escape(path)}(?![\w.-])", refusal.trailing), refusal.trailing


MESSAGES_BY_CODE = {
    "while True: pass": "no answer in time",
    "return 99": "illegal move",
    "raise RuntimeError('lost')": "resigned with RuntimeError: lost",
    "import os; os._exit(3)": "exit code 3",
    "return len([bytes(10**6) for _ in range(10**5)])": "MemoryError",
    "return self.choose(position)": "RecursionError",
    "import os; return position.free[0] if os.fork() else position.free[0]": "PermissionError",
    "return __import__('socket').create_connection(('127.0.0.1', 9)).fileno()": "PermissionError",
    "return len(open('/etc/passwd').read())": "PermissionError",
    "import os; return len(os.listdir(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))))": "PermissionError",
    "return __import__('ctypes').CDLL(None).fork() and 99": "illegal move",
}


@pytest.mark.parametrize("body", MESSAGES_BY_CODE)
async def test_hostile_code_is_refused_with_the_reason(
    client: Client, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noughts_server.hosting.trials._MOVE_SECONDS", 1.0)
    token = await client.token("alice", *ALL_SCOPES)
    refusal = await refusal_of(submit(client, token, "mine", BOT_TEMPLATE.format(body)))
    assert MESSAGES_BY_CODE[body] in refusal.trailing, refusal
    assert await stored_counts(client) == (0, 0, 0)


async def test_trial_reads_the_hello_of_a_bot_within_its_limits(client: Client) -> None:
    bot_with_many_variants = BOT_TEMPLATE.format(
        "return position.free[0]\n\n    variants = tuple(map(str, range(10_000)))"
    )
    refusal = await refusal_of(submit(client, await client.token("alice", *ALL_SCOPES), "mine", bot_with_many_variants))
    assert "a hello with 10000 names, expected at most 100" in refusal.trailing


async def test_a_trial_that_takes_too_long_is_refused_with_its_progress(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "_TRIAL_SECONDS", 12.0)
    token = await client.token("alice", *ALL_SCOPES)
    slow = BOT_TEMPLATE.format("import time; time.sleep(5); return position.free[0]")
    refusal = await refusal_of(submit(client, token, "mine", slow))
    message = r"The bot was not accepted: its trial took longer than 12 s; it had reached (its start|game 1 of 4)\."
    assert re.search(message, refusal.trailing)
    assert "noughts bot check SPEC --time 0.1/move" in refusal.trailing


async def test_limits_of_an_owner_are_enforced(tmp_path: Path) -> None:
    limits = Limits(submissions=4, submitted_bytes=4 * len(RANDOM_BOT) + 60, bots=2)
    async with hosting(tmp_path, limits=limits) as (client, _):
        token, other = await client.token("alice", *ALL_SCOPES), await client.token("bob", *ALL_SCOPES)
        await submit(client, token, "one", RANDOM_BOT)
        refusal = await refusal_of(submit(client, token, "one", RANDOM_BOT + "#" * 2 * len(RANDOM_BOT) + "#" * 100))
        assert "bytes of your submitted bots" in refusal.trailing
        await submit(client, token, "two", RANDOM_BOT + "# 2")
        assert "bots of yours" in (await refusal_of(submit(client, token, "three", RANDOM_BOT + "# 3"))).trailing
        assert "permission" in (await refusal_of(submit(client, other, "one", RANDOM_BOT))).trailing.lower()
        await submit(client, token, "two", RANDOM_BOT + "# 4")
        assert "within an hour" in (await refusal_of(submit(client, token, "two", RANDOM_BOT + "# 5"))).trailing
        assert await stored_counts(client) == (2, 3, 3)


@pytest.mark.at_length
async def test_bots_of_an_owner_without_processor_time_left_do_not_play(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=6)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        slow = BOT_TEMPLATE.format(
            "return sum(range(3_000_000 if position.variant.rows == 15 else 9)) and position.free[0]"
        )
        await submit(client, token, "slow", slow)
        await submit(client, token, "mine", RANDOM_BOT)
        await client.create(token, games_per_pair=1000, variant="gomoku")
        for bot in ("slow", "mine"):
            await client.join(token, bot)
        await client.start(token)
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: not submitted_bots.playing())
        assert (await client.get()).games_done < 1000


THREADED_BOT = """
import threading
from noughts_bots import Bot

def spin():
    while True:
        pass

class Mine(Bot):
    def choose(self, position):
        if threading.active_count() == 1:
            threading.Thread(target=spin, daemon=True).start()
        return position.free[0]
"""


@pytest.mark.at_length
async def test_a_bot_that_computes_in_its_opponents_time_has_low_priority(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=100)) as (client, here):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "restless", THREADED_BOT)
        waiting = BOT_TEMPLATE.format(
            "import time; time.sleep(60 if position.variant.rows == 15 else 0); return position.free[0]"
        )
        await submit(client, token, "slow", waiting)
        await client.create(token, games_per_pair=2, variant="gomoku", concurrency=1)
        for bot in ("restless", "slow"):
            await client.join(token, bot)
        await client.start(token)
        await wait_until(
            lambda: sorted(map(niceness, here._playing.values())) == [nice_above_own(0), nice_above_own(15)]
        )
        charged = here._time._used.total()
        await wait_until(lambda: here._time._used.total() > charged)


def niceness(playing: "submitted._Playing") -> int:
    return os.getpriority(os.PRIO_PROCESS, playing.process.started.pid) if playing.process else -1


async def test_processor_time_after_the_last_check_is_charged(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=100)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "restless", THREADED_BOT)
        async with client.online(token, "ada"):
            await client.create(token, games_per_pair=1000, variant="gomoku")
            for bot in ("restless", "ada"):
                await client.join(token, bot)
            before = submitted_bots._time._used.total()
            await client.start(token)
            await wait_until(lambda: any(each.process for each in submitted_bots._playing.values()))
            [playing] = submitted_bots._playing.values()
            assert playing.process is not None
            process = playing.process.started
            await wait_until(lambda: processor_seconds(process.pid) > playing.seconds + 0.2)
    assert process.processor_seconds > 0.2
    charged = (submitted_bots._time._used.total() - before) / 1000
    assert charged == pytest.approx(process.processor_seconds, abs=0.05)


@pytest.mark.at_length
async def test_bots_that_crash_between_checks_are_charged(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=2)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        busy = "sum(range(6_000_000)) and __import__('os')._exit(1)"
        crashing = BOT_TEMPLATE.format(f"return {busy} if len(position.moves) > 3 else position.free[0]")
        await submit(client, token, "crashing", crashing, variant="mnk:2,2,2")
        await submit(client, token, "mine", RANDOM_BOT)
        await client.create(token, games_per_pair=1000, variant="gomoku", concurrency=1)
        for bot in ("crashing", "mine"):
            await client.join(token, bot)
        await client.start(token)
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: not submitted_bots.playing())
        assert 1 <= (await client.get()).games_done < 100


async def test_a_bomb_of_source_does_not_grow_the_server(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bot.py", RANDOM_BOT + "bomb = (" + "0," * (1 << 20) + ")\n")
    assert len(packed.getvalue()) < 10_000
    before = memory_peak_from_now()
    assert "at most 262,144 per file" in (await refusal_of(submit(client, token, "bomb", packed.getvalue()))).trailing
    assert memory_peak() - before < 100 << 20


def memory_peak_from_now() -> int:
    """Reset the peak of this process's memory, and return its memory now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_peak()


def memory_peak() -> int:
    """Return the peak of this process's memory since the last reset, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


async def test_source_that_cannot_be_parsed_within_limits_is_refused(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    refusal = await refusal_of(submit(client, token, "deep", RANDOM_BOT + "x = " + "-" * 200_000 + "1\n"))
    assert "one that can be read in 10 s of processor time and 512 MiB of memory" in refusal.trailing


async def test_refused_trials_count_as_attempts(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(submissions=2)) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for _ in range(2):
            assert "invalid syntax" in (await refusal_of(submit(client, token, "mine", "def"))).trailing
        assert "within an hour" in (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).trailing
        await submit(client, await client.token("bob", *ALL_SCOPES), "other", RANDOM_BOT)


@pytest.mark.at_length
async def test_refused_trials_stay_charged_after_a_restart(tmp_path: Path) -> None:
    for was_restarted in (False, True):
        async with hosting(tmp_path, limits=Limits(processor_seconds=1)) as (client, _):
            token = await client.token("alice", *ALL_SCOPES)
            busy = BOT_TEMPLATE.format("sum(range(100_000_000)); raise ValueError('too late')")
            assert was_restarted or "too late" in (await refusal_of(submit(client, token, "mine", busy))).trailing
            assert "processor time" in (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).trailing
            await submit(client, await client.token("bob", *ALL_SCOPES), f"other-{was_restarted}", RANDOM_BOT)


async def test_processor_time_is_counted_over_all_servers_for_one_day(tmp_path: Path) -> None:
    now, limits = [86_400_000 * 20_000], Limits(processor_seconds=2)
    async with client_of(tmp_path / "x.sqlite") as client:
        store = client.server.store
        owner = await store.write(lambda connection: create_owner(connection, "alice"))
        store.now_ms = lambda: now[0]
        one, other = ProcessorTime(store, limits), ProcessorTime(store, limits)
        one.charge(owner, 1.5)
        await one.save()
        other.charge(owner, 0.5)
        assert not other.is_spent(owner)
        await other.save()
        assert (one.is_spent(owner), other.is_spent(owner), other.is_saved) == (False, True, True)
        await one.save()
        with pytest.raises(LimitReached, match="3 is more than the limit of 2"):
            one.check(owner)
        now[0] += 86_400_000
        await one.save()
        assert not one.is_spent(owner)


async def test_time_charged_by_another_call_counts_while_it_is_saved(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        store = client.server.store
        owner = await store.write(lambda connection: create_owner(connection, "alice"))
        processor_time = ProcessorTime(store, Limits(processor_seconds=2))
        processor_time.charge(owner, 3)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(processor_time.save())
        assert processor_time.is_spent(owner)


async def test_trials_have_a_lower_priority_than_games(client: Client) -> None:
    slow = BOT_TEMPLATE.format("import time; time.sleep(3)")
    token = await client.token("alice", *ALL_SCOPES)
    async with asyncio.TaskGroup() as tasks:
        trial = tasks.create_task(submit(client, token, "mine", slow))
        await wait_until(lambda: nice_above_own(10) in nice_values_of_children())
        trial.cancel()


def nice_values_of_children() -> set[int]:
    values = set[int]()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            values.add(child.nice())
    return values


async def test_an_owner_has_one_trial_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_TRIALS_AT_ONCE", 1)
    async with hosting(tmp_path) as (client, submitted_bots), asyncio.TaskGroup() as tasks:
        finished_trials: list[str] = []

        async def send(token: str, bot: str) -> None:
            await submit(client, token, bot, RANDOM_BOT)
            finished_trials.append(bot)

        alice, bob = await client.token("alice", *ALL_SCOPES), await client.token("bob", *ALL_SCOPES)
        for bot in ("first", "second"):
            tasks.create_task(send(alice, bot))
        await wait_until(lambda: sum(map(len, submitted_bots._trials._attempts.values())) == 2)
        tasks.create_task(send(bob, "other"))
    assert finished_trials in (["first", "other", "second"], ["second", "other", "first"])


async def test_a_bot_of_a_kind_that_is_no_longer_accepted_is_offline(tmp_path: Path, lots_module: bytes) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", RANDOM_BOT)
    async with hosting(tmp_path, ("wasm",)) as (client, _):
        assert await online_bots(client) == []
        assert (
            "accepting bots of kind wasm" in (await refusal_of(submit(client, token, "mine", FIRST_CELL_BOT))).trailing
        )
        await submit(client, token, "lots", lots_module, "wasm")


async def test_an_unreadable_program_does_not_stop_the_server(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name, content in (("one", RANDOM_BOT), ("two", FIRST_CELL_BOT)):
            await submit(client, token, name, content)
        change(tmp_path / "x.sqlite", "UPDATE programs SET content = CAST(content || x'0a' AS BLOB)")
        await client.create(token)
        for bot in ("one", "two"):
            await client.join(token, bot)
        with capture_logs() as logs:
            await client.start(token)
            await wait_until(lambda: any(line["event"] == "submission_start_failed" for line in logs))
        change(tmp_path / "x.sqlite", "UPDATE programs SET content = substr(content, 1, length(content) - 1)")
        await client.until(lambda cup: cup.games_done == 2)


async def test_submitted_bots_continue_after_a_restart(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name, content in (("one", RANDOM_BOT), ("two", FIRST_CELL_BOT)):
            await submit(client, token, name, content)
        await client.create(token, games_per_pair=2000)
        for bot in ("one", "two"):
            await client.join(token, bot)
        await client.start(token)
        await client.until(lambda cup: cup.games_done > 10)
    async with hosting(tmp_path) as (client, _):
        await client.until(lambda cup: cup.games_done == 2000)


def zip_of(content: dict[str, bytes]) -> bytes:
    """Return a zip file with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return packed.getvalue()


async def test_unpacked_programs_of_an_owner_have_a_limit(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(unpacked_mib=50)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        large_zip = zip_of({"bot.py": FIRST_CELL_BOT.encode(), "zeros.bin": bytes(40 << 20)})
        assert len(large_zip) < 1 << 16
        with capture_logs() as logs:
            for bot in ("one", "two"):
                await submit(client, token, bot, large_zip)
            await client.create(token, games_per_pair=2, concurrency=2)
            for bot in ("one", "two"):
                await client.join(token, bot)
            await client.start(token)
            await wait_until(lambda: any(entry["event"] == "submission_not_accepted" for entry in logs))
        (refusal,) = (entry for entry in logs if entry["event"] == "submission_not_accepted")
        assert "unpacked_mib" in refusal["error"], refusal
        await wait_until(lambda: not submitted_bots._playing)
        assert not submitted_bots._unpacked._bytes
