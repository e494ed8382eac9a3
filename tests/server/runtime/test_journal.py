"""Interrupted long games resume from their last committed move, in tournaments of any kind."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.clock import parse_time_control
from noughts_referee.comments import pack_comments, unpack_comments
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.rules import Choice, Draws, Position, Put, Take, Thought, pack_thoughts, unpack_thoughts
from noughts_referee.work_units import GameSoFar, pack_moves, pack_scores, pack_times, unpack_scores
from noughts_server.competition.formats import KNOCKOUT, SWISS
from noughts_server.openings.settings import Openings, OpeningsKind
from noughts_server.runtime.bus import MemoryBus, listening
from noughts_server.runtime.recorder import COMMITTED, Recorder
from noughts_server.runtime.supply import AllUnits
from noughts_server.runtime.tournament_play import LocalPlay
from noughts_server.store.engine.database import Store
from noughts_server.store.games.exports import export
from noughts_server.store.games.games import get_game
from noughts_server.store.games.results import CommitReport, commit_games
from noughts_server.store.tournaments.claims import claim_unit
from noughts_server.store.tournaments.tournaments import cancel_tournament
from tests.support.arena import NOW, Arena, open_arena
from tests.support.loopback import wait_until

LONG = parse_time_control("120+1")
FAST = parse_time_control("10+0.1")
BOTS = ("ada", "bob", "cleo", "dan")
JOURNAL = "SELECT * FROM journal ORDER BY tournament_id, ordinal"
GAMES = "SELECT ordinal, first_entry, second_entry, result, moves, times, opening_plies FROM games ORDER BY 1"


# Commits must keep up with the moves, so a move takes at least this long.
_THINKING_SECONDS = 0.001


class Mover:
    """A player in this process whose answers depend only on the number of the game and the ply."""

    capacity_timed = capacity_untimed = 3
    online = True

    def __init__(self, referee: Referee, player: ConnectedPlayer, may_answer: Callable[[Game], bool]) -> None:
        self._referee = referee
        self._player = player
        self._may_answer = may_answer
        player.opens = True

    def wake(self) -> None:
        """See `PlayerConnection`."""
        asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._answer)

    def _answer(self) -> None:
        player = self._player
        outbox = player.take_outbox()
        for game in (*outbox.openings, *(player.games.get(handle) for handle in outbox.turn_game)):
            if game is None or game.mover is not player or not self._may_answer(game):
                continue
            draws = Draws(game.slot.ordinal, game.ply & 0xFFFF)
            took = 1_000 * draws.below(900)
            if game.ply < 0:
                step = game.opening.step
                choice: Choice = Put((112, 113, 98)) if step == 0 else Take(draws.below(2))
                self._referee.judge_choices(player, [(game.handle, step, choice, "")], [took])
            else:
                cell = draws.choice(Position.after(game.conditions.variant, game.moves).free)
                self._referee.judge_answers(player, Answers([game.handle], [game.ply], [cell], [took]))


@asynccontextmanager
async def playing_process(
    path: Path, answers: int, *, time_factor: float = 1.0
) -> AsyncIterator[tuple[Store, Referee, asyncio.Event]]:
    """A server without a port that plays the running tournament until its bots have given `answers` answers.

    The event is set after the last of these answers, or when the tournament has finished.
    """
    store = await Store.open(f"sqlite:///{path}")
    bus, ended, answers_left = MemoryBus(), asyncio.Event(), count(answers, -1)
    recorder = Recorder(store, partial(bus.publish, COMMITTED), interval_seconds=0.0)
    referee = Referee(recorder.record, journal=recorder.journal, time_factor=time_factor)
    play = LocalPlay(store, referee, recorder, bus, AllUnits)

    def may_answer(game: Game) -> bool:
        if next(answers_left) > 0:
            return True
        ended.set()
        return False

    def committed(report: CommitReport) -> None:
        if any(progress.finished for progress in report.progress):
            ended.set()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run())
            for key in range(1, len(BOTS) + 1):
                player = referee.player(key)
                referee.connect(player, Mover(referee, player, may_answer))
            with listening(bus, COMMITTED, committed):
                async with play.supplying():
                    yield store, referee, ended
            await recorder.close()
    finally:
        await store.close()


def copy_database(path: Path, copy: Path) -> None:
    """Copy all that has been committed to the database, which is what a crash would leave."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(copy)) as other:
        one.backup(other)


def rows_of_file(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def is_finished(path: Path) -> bool:
    return rows_of_file(path, "SELECT 1 FROM tournaments WHERE ended_at IS NULL") == []


async def play_with_crashes(path: Path, kills: int, random_source: random.Random, journaled_plies: list[int]) -> Path:
    """Play the tournament to its end with `kills` crashes at random moments, and return the last database.

    The lengths of journaled games at the crashes are added to `journaled_plies`.
    """
    for number in range(kills + 1):
        answers = random_source.randrange(20, 120) if number < kills else 1 << 60
        async with playing_process(path, answers) as (_, _, ended):
            await ended.wait()
            copy = path.with_name(f"life{number}.db")
            copy_database(path, copy)
            journaled_plies += [row[0] for row in rows_of_file(copy, "SELECT length(moves) FROM journal")]
        path = copy
        if is_finished(path):
            break
    return path


SETTINGS_BY_KIND: dict[str, dict[str, Any]] = {
    "a round robin with openings": {
        "variant": "mnk:6,6,5",
        "openings": Openings(OpeningsKind.RANDOM, plies=2),
        "concurrency": 3,
    },
    "a knockout by swap2": {
        "variant": "gomoku+swap2",
        "schedule": KNOCKOUT,
        "draw_after": 40,
        "concurrency": 2,
    },
    "a Swiss in which only one has a long time": {
        "variant": "mnk:6,6,5",
        "schedule": SWISS,
        "rounds": 2,
        "time": FAST,
        "own_times": {"bob": LONG},
        "rated": False,
        "concurrency": 2,
    },
}


@pytest.mark.at_length
@pytest.mark.parametrize("kind", SETTINGS_BY_KIND)
async def test_crashes_do_not_change_the_games(tmp_path: Path, kind: str) -> None:
    begin = tmp_path / "begin.db"
    async with open_arena(begin) as arena:
        await arena.tournament(bots=BOTS, **{"time": LONG, **SETTINGS_BY_KIND[kind]})
    without_crashes = await play_with_crashes(_folder(begin, "undisturbed"), 0, random.Random(), [])
    journaled_plies: list[int] = []
    with_crashes = await play_with_crashes(_folder(begin, "killed"), 7, random.Random(kind), journaled_plies)
    assert is_finished(with_crashes)
    assert max(journaled_plies) > 6, "no crash came in the middle of a game: choose another random seed"
    assert rows_of_file(with_crashes, GAMES) == rows_of_file(without_crashes, GAMES)
    assert rows_of_file(with_crashes, JOURNAL) == []


def _folder(database: Path, name: str) -> Path:
    folder = database.with_name(name)
    folder.mkdir()
    copy_database(database, folder / database.name)
    return folder / database.name


async def test_a_game_with_scaled_times_keeps_its_factor_on_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "begin.db"
    async with open_arena(path) as arena:
        await arena.tournament(bots=BOTS[:2], variant="mnk:6,6,5", time=LONG, scale_time=True)
    async with playing_process(path, 9, time_factor=2.0) as (_, _, ended):
        await ended.wait()
    assert rows_of_file(path, "SELECT DISTINCT time_factor FROM journal") == [(2.0,)]
    journaled = rows_of_file(path, "SELECT ordinal FROM journal")
    async with playing_process(path, 1 << 60, time_factor=0.5) as (_, _, ended):
        await ended.wait()
    factors = dict(rows_of_file(path, "SELECT ordinal, time_factor FROM games"))
    assert factors == {ordinal: 2.0 if (ordinal,) in journaled else 0.5 for ordinal in (1, 2)}
    async with open_arena(path) as arena:
        games = await arena.store.read(lambda connection: list(export(connection, 1)))
        assert [game.time_factor for game in games] == [factors[1], factors[2]]


async def test_after_a_crash_bots_are_asked_only_what_was_not_committed(tmp_path: Path) -> None:
    path = tmp_path / "begin.db"
    async with open_arena(path) as arena:
        await arena.tournament(bots=BOTS[:2], variant="mnk:9,9,9", time=LONG, games_per_pair=1)
    plies_at_crash: list[int] = []
    for number in range(3):
        async with playing_process(path, 20) as (_, referee, ended):
            await ended.wait()
            await wait_until(lambda: rows_of_file(path, "SELECT length(moves) FROM journal") == [(20 * (number + 1),)])  # noqa: B023
            copy_database(path, copy := tmp_path / f"{number}.db")
            (game,) = referee.running(1)
            plies_at_crash.append(game.ply)
        path = copy
    assert plies_at_crash == [20, 40, 60]
    (row,) = rows_of_file(path, JOURNAL)
    draws = [Draws(1, ply) for ply in range(60)]
    used_us = [sum(1_000 * draw.below(900) for draw in draws[side::2]) for side in (0, 1)]
    assert row[6:8] == tuple(LONG.bank_us + 30 * LONG.increment_us - us for us in used_us)


def game_so_far(tournament: int, ordinal: int, attempt: int, moves: list[int]) -> GameSoFar:
    packed, times = pack_moves(moves, 9), pack_times([5] * len(moves))
    return GameSoFar(tournament, ordinal, attempt, 0, 1, packed, times, 1, 2)


async def journal_games(arena: Arena, *games: GameSoFar) -> None:
    commit = partial(commit_games, games=[], state=arena.state, now_ms=NOW, advanced=games)
    await arena.store.write(commit)


def journaled_moves(arena: Arena) -> list[tuple[Any, ...]]:
    return arena.rows("SELECT ordinal, moves FROM journal ORDER BY 1")


async def test_a_move_counts_only_under_the_current_attempt(arena: Arena) -> None:
    tournament = await arena.tournament(time=LONG)
    claim = partial(claim_unit, tournament_id=tournament.id, number=0)
    await arena.store.write(claim)
    await journal_games(arena, game_so_far(tournament.id, 1, 1, [4]))
    reclaimed = await arena.store.write(claim)
    assert reclaimed.begun == {1: game_so_far(tournament.id, 1, 2, [4])}
    # The first comes from a node whose claim has expired, the second from a unit that no node has claimed.
    await journal_games(arena, game_so_far(tournament.id, 1, 1, [4, 0]), game_so_far(tournament.id, 2, 1, [8]))
    assert journaled_moves(arena) == [(1, bytes([4]))]
    await journal_games(arena, game_so_far(tournament.id, 1, 2, [4, 1]))
    assert journaled_moves(arena) == [(1, bytes([4, 1]))]


@pytest.mark.parametrize("live_scores", [False, True])
async def test_scores_and_comments_of_a_resumed_game_stay_secret(arena: Arena, live_scores: bool) -> None:
    tournament = await arena.tournament(time=LONG, keep_scores=True, live_scores=live_scores)
    claim = partial(claim_unit, tournament_id=tournament.id, number=0)
    await arena.store.write(claim)
    game = game_so_far(tournament.id, 1, 1, [4, 0])
    thoughts = {1: Thought(depth=3, pv=(0, 1))}
    scores, comments = pack_scores({1: 2.5}, 2), pack_comments({0: "centre"})
    await journal_games(arena, game._replace(scores=scores, comments=comments, thoughts=pack_thoughts(thoughts)))
    (resumed_game,) = (await arena.store.write(claim)).begun.values()
    assert (unpack_scores(resumed_game.scores), unpack_comments(resumed_game.comments)) == ({1: 2.5}, {0: "centre"})
    assert unpack_thoughts(resumed_game.thoughts) == thoughts
    stored = await arena.store.read(partial(get_game, slug=tournament.slug, ordinal=1))
    assert (stored.scores, stored.comments, stored.thoughts) == ({1: 2.5} if live_scores else {}, {}, {})


async def test_results_and_cancellations_delete_journaled_games(arena: Arena) -> None:
    tournament = await arena.tournament(time=LONG, games_per_pair=3)
    games = await arena.play(tournament)
    await journal_games(arena, *(game_so_far(tournament.id, ordinal, 1, [4]) for ordinal in (1, 2, 3)))
    await arena.commit(games[1:2])
    assert [row[0] for row in journaled_moves(arena)] == [1, 3]
    await arena.store.write(partial(cancel_tournament, slug=tournament.slug, now_ms=NOW))
    assert journaled_moves(arena) == []
    await journal_games(arena, game_so_far(tournament.id, 1, 1, [4, 5]))
    assert journaled_moves(arena) == []


async def test_fast_games_start_again(tmp_path: Path) -> None:
    path = tmp_path / "begin.db"
    async with open_arena(path) as arena:
        await arena.tournament(bots=BOTS[:2], variant="mnk:9,9,9", time=FAST, games_per_pair=1)
    async with playing_process(path, 10) as (store, _, ended):
        await ended.wait()
        claim = await store.write(partial(claim_unit, tournament_id=1, number=0))
    assert rows_of_file(path, JOURNAL) == []
    assert claim.begun == {}
