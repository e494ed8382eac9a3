"""A server that is killed again and again loses nothing and plays nothing twice."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KILLS = 10
KILLS_OF_FORMATS = 4
GAMES = 20_000
_NOUGHTS = (sys.executable, "-m", "noughts_server.cli")


def noughts(*arguments: str, token: str = "") -> dict[str, object]:
    done = subprocess.run(
        [*_NOUGHTS, *arguments, "--format", "json"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NOUGHTS_TOKEN": token},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def start_server(database: str, listen: str) -> tuple[subprocess.Popen[str], str]:
    server = subprocess.Popen(
        [*_NOUGHTS, "serve", "--listen", listen, "--db", database, "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line, "the server did not come up"
    return server, str(json.loads(line)["grpc"])


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@contextmanager
def bots(address: str, token: str, names: list[str]) -> Iterator[None]:
    processes = [
        subprocess.Popen(
            [*_NOUGHTS, "bot", "run", "random", "--name", name, "--server", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NOUGHTS_TOKEN": token},
        )
        for name in names
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def stored(path: Path) -> int:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        (count,) = connection.execute("SELECT count(*) FROM games").fetchone()
    connection.close()
    return int(count)


async def until_stored(path: Path, games: int) -> None:
    while stored(path) < games:  # noqa: ASYNC110  # another process stores them
        await asyncio.sleep(0.02)


@pytest.mark.timeout(300)
async def test_a_server_killed_ten_times_plays_every_slot_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "noughts.sqlite"
    database = f"sqlite:///{path}"
    chance = random.Random(2)
    token = str(noughts("token", "create", "--owner", "ada", "--db", database)["token"])
    server, address = start_server(database, "127.0.0.1:0")
    try:
        with bots(address, token, ["left", "right"]):
            server_arguments = ("--server", address)
            for _ in range(100):
                online = noughts("bot", "list", "--online", *server_arguments)["bots"]
                if isinstance(online, list) and len(online) == 2:
                    break
                await asyncio.sleep(0.1)
            noughts(
                "tournament", "create", "kills", "--games", str(GAMES), "--concurrency", "16", "--seed", "5",
                *server_arguments, token=token,
            )  # fmt: skip
            for name in ("left", "right"):
                noughts("tournament", "join", "kills", "--bot", name, *server_arguments, token=token)
            noughts("tournament", "start", "kills", *server_arguments, token=token)
            for turn in range(1, KILLS + 1):
                # Somewhere in the middle of play, not before some games of this life of the server are stored.
                await asyncio.wait_for(until_stored(path, min(GAMES, stored(path) + 1)), 60)
                await asyncio.sleep(chance.uniform(0.0, 0.4))
                if turn < KILLS:
                    assert stored(path) < GAMES, "the tournament ended before the last kill: play more games"
                kill(server)
                server, again = start_server(database, address)
                assert again == address
            await asyncio.wait_for(until_stored(path, GAMES), 120)
            shown = noughts("tournament", "show", "kills", *server_arguments)
            while shown["state"] != "finished":
                await asyncio.sleep(0.1)
                shown = noughts("tournament", "show", "kills", *server_arguments)
    finally:
        kill(server)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        ordinals = [row[0] for row in connection.execute("SELECT ordinal FROM games ORDER BY ordinal")]
        attempts = connection.execute("SELECT max(attempt) FROM units").fetchone()[0]
    connection.close()
    assert ordinals == list(range(1, GAMES + 1))
    assert attempts > 1, "no unit was ever played again: the kills came at the wrong moments"
    report = noughts("ratings", "rebuild", "--db", database)
    assert report["games"] == GAMES
    assert report["differences"] == []
    history = report["history"]
    assert isinstance(history, dict)
    assert history["corrected"] == 0


# Started in this order: those that take longest first.
FORMATS = {
    "ladder": "--schedule ladder --games 4",
    "knockout": "--schedule knockout --games 30 --stop-when-decided",
    "swiss": "--schedule swiss --rounds 5 --games 60",
    "gauntlet": "--schedule gauntlet --games 400",
    "round-robin": "--games 140",
}
BOTS = [f"bot{number}" for number in range(6)]
CONCURRENCY = 16
_SLOTS = "WHERE tournament_id = (SELECT id FROM tournaments WHERE slug = ?) ORDER BY ordinal"
_GAMES = f"SELECT ordinal, first_entry, second_entry, result, termination, moves FROM games {_SLOTS}"
_PAIRINGS = f"SELECT ordinal, first_entry, second_entry, encounter, round FROM pairings {_SLOTS}"
_BYES = "SELECT round, entry FROM byes WHERE tournament_id = (SELECT id FROM tournaments WHERE slug = ?) ORDER BY round"


def rows(path: Path, query: str, *values: str) -> list[tuple[int, ...]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        found = connection.execute(query, values).fetchall()
    connection.close()
    return found


def unfinished(path: Path) -> set[str]:
    return {str(slug) for (slug,) in rows(path, "SELECT slug FROM tournaments WHERE ended_at IS NULL")}


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # other processes make it true
        await asyncio.sleep(0.1)


def organise(name: str, server: tuple[str, ...], token: str) -> None:
    chosen = (*FORMATS[name].split(), "--concurrency", str(CONCURRENCY), "--seed", "5")
    noughts("tournament", "create", name, *chosen, *server, token=token)
    entered = [word for bot in BOTS for word in ("--bot", bot)]
    noughts("tournament", "join", name, *entered, *server, token=token)


async def play_formats(path: Path, kills: int) -> dict[str, int]:
    """Plays a tournament of each format at once; returns how many kills each of them has seen."""
    database, seen, chance = f"sqlite:///{path}", dict.fromkeys(FORMATS, 0), random.Random(3)
    token = str(noughts("token", "create", "--owner", "ada", "--db", database)["token"])
    server, address = start_server(database, "127.0.0.1:0")
    at = ("--server", address)
    try:
        with bots(address, token, BOTS):
            await until(lambda: len(noughts("bot", "list", "--online", *at)["bots"]) == len(BOTS))  # type: ignore[arg-type]
            for name in FORMATS:
                organise(name, at, token)
            for name in FORMATS:
                noughts("tournament", "start", name, *at, token=token)
            for _ in range(kills):
                await asyncio.wait_for(until_stored(path, stored(path) + 1), 60)
                await asyncio.sleep(chance.uniform(0.0, 0.3))
                for name in unfinished(path):
                    seen[name] += 1
                kill(server)
                server, _ = start_server(database, address)
            await asyncio.wait_for(until(lambda: unfinished(path) == {"ladder"}), 200)
            noughts("tournament", "cancel", "ladder", *at, token=token)
    finally:
        kill(server)
    return seen


@pytest.mark.timeout(600)
async def test_every_format_plays_the_same_games_however_often_the_server_is_killed(tmp_path: Path) -> None:
    killed, undisturbed = tmp_path / "killed.sqlite", tmp_path / "undisturbed.sqlite"
    seen = await play_formats(killed, KILLS_OF_FORMATS)
    assert min(seen.values()) >= 3, f"some ended before the kills: play more games; {seen}"
    await play_formats(undisturbed, 0)
    for name in FORMATS.keys() - {"ladder"}:
        for query in (_GAMES, _PAIRINGS, _BYES):
            assert rows(killed, query, name) == rows(undisturbed, query, name), name
    # Whom a ladder pairs depends on which games end first. But none is lost, except those that the end cancelled.
    played, paired = ({slot[0]: slot[1:] for slot in rows(killed, query, "ladder")} for query in (_GAMES, _PAIRINGS))
    assert list(paired) == list(range(1, len(paired) + 1))
    assert {ordinal: game[:2] for ordinal, game in played.items()}.items() <= {
        ordinal: slot[:2] for ordinal, slot in paired.items()
    }.items()
    assert len(paired) - len(played) <= CONCURRENCY
    last: dict[int, int] = {}
    for begin in range(1, len(paired) + 1, 4):
        encounter = [paired[begin + game] for game in range(4)]
        one, other = encounter[0][:2]
        assert [slot[:2] for slot in encounter] == [(one, other), (other, one)] * 2
        assert len({slot[3] for slot in encounter}) == 1
        assert last.get(one) != other
        assert last.get(other) != one
        last[one], last[other] = other, one
