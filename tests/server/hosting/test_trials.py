"""Trials: the games that a submitted bot plays before the server accepts it."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import grpc
import psutil
import pytest

from noughts_referee.children.watch import nice_above_own
from noughts_server.core.limits import Limits
from noughts_server.hosting import trials
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.submissions import Upload
from noughts_server.store.people.tokens import authenticate, revoke_token
from tests.server.hosting.submitting import ALL_SCOPES, BOT_TEMPLATE, RANDOM_BOT, hosting, stored_counts, submit
from tests.support.client import Client, refusal_of
from tests.support.loopback import wait_until


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


OTHER_CLASS = BOT_TEMPLATE.format("return 0").replace("Mine", "Other").replace("from noughts_bots import Bot", "")


async def test_another_class_of_a_submitted_file_has_a_trial(client: Client) -> None:
    token, two_classes = await client.token("alice", *ALL_SCOPES), RANDOM_BOT + OTHER_CLASS
    await submit(client, token, "mine", two_classes, entry=":Mine")
    assert "illegal move" in (await refusal_of(submit(client, token, "mine", two_classes, entry=":Other"))).trailing


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
    if MESSAGES_BY_CODE[body] == "no answer in time":
        monkeypatch.setattr(trials, "_MOVE_SECONDS", 1.0)
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


async def test_refused_trials_count_as_attempts(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(submissions=2)) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for _ in range(2):
            assert "invalid syntax" in (await refusal_of(submit(client, token, "mine", "def"))).trailing
        assert "within an hour" in (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).trailing
        await submit(client, await client.token("bob", *ALL_SCOPES), "other", RANDOM_BOT)


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
