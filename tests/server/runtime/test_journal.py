"""Long games that are interrupted anywhere resume from their last committed move, in tournaments of any kind."""

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


# Long enough that commits keep up with the moves.
_THINKING_SECONDS = 0.001


class Mover:
    """A player in this process: what it answers follows from the game's number and the ply alone."""

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
async def life(path: Path, answers: int) -> AsyncIterator[tuple[Store, Referee, asyncio.Event]]:
    """A server without its port, which plays what is running in the store until so many answers have been given.

    The event is set then, or when all has been played.
    """
    store = await Store.open(f"sqlite:///{path}")
    bus, over, left = MemoryBus(), asyncio.Event(), count(answers, -1)
    recorder = Recorder(store, partial(bus.publish, COMMITTED), interval_seconds=0.0)
    referee = Referee(recorder.record, journal=recorder.journal)
    play = LocalPlay(store, referee, recorder, bus, AllUnits)

    def may_answer(game: Game) -> bool:
        if next(left) > 0:
            return True
        over.set()
        return False

    def committed(report: CommitReport) -> None:
        if any(progress.finished for progress in report.progress):
            over.set()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run())
            for key in range(1, len(BOTS) + 1):
                player = referee.player(key)
                referee.joined(player, Mover(referee, player, may_answer))
            with listening(bus, COMMITTED, committed):
                async with play.supplying():
                    yield store, referee, over
            await recorder.close()
    finally:
        await store.close()


def copied(path: Path, copy: Path) -> None:
    """Return what a crash would leave now: all that has been committed."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(copy)) as other:
        one.backup(other)


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def finished(path: Path) -> bool:
    return rows(path, "SELECT 1 FROM tournaments WHERE ended_at IS NULL") == []


async def played(path: Path, kills: int, chance: random.Random, seen: list[int]) -> Path:
    """Plays the tournament in the database to its end, and is killed so often; returns the last database."""
    for number in range(kills + 1):
        answers = chance.randrange(20, 120) if number < kills else 1 << 60
        async with life(path, answers) as (_, _, over):
            await over.wait()
            copy = path.with_name(f"life{number}.db")
            copied(path, copy)
            seen += [row[0] for row in rows(copy, "SELECT length(moves) FROM journal")]
        path = copy
        if finished(path):
            break
    return path


KINDS: dict[str, dict[str, Any]] = {
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
@pytest.mark.parametrize("kind", KINDS)
async def test_games_that_are_killed_anywhere_end_as_if_they_had_not_been(tmp_path: Path, kind: str) -> None:
    begin = tmp_path / "begin.db"
    async with open_arena(begin) as arena:
        await arena.tournament(bots=BOTS, **{"time": LONG, **KINDS[kind]})
    undisturbed = await played(_folder(begin, "undisturbed"), 0, random.Random(), [])
    seen: list[int] = []
    killed = await played(_folder(begin, "killed"), 7, random.Random(kind), seen)
    assert finished(killed)
    assert max(seen) > 6, "no game was killed in its middle: choose other moments"
    assert rows(killed, GAMES) == rows(undisturbed, GAMES)
    assert rows(killed, JOURNAL) == []


def _folder(database: Path, name: str) -> Path:
    folder = database.with_name(name)
    folder.mkdir()
    copied(database, folder / database.name)
    return folder / database.name


async def test_after_a_crash_bots_are_asked_only_what_was_not_committed(tmp_path: Path) -> None:
    path = tmp_path / "begin.db"
    async with open_arena(path) as arena:
        await arena.tournament(bots=BOTS[:2], variant="mnk:9,9,9", time=LONG, games_per_pair=1)
    asked: list[int] = []
    for number in range(3):
        async with life(path, 20) as (_, referee, over):
            await over.wait()
            await wait_until(lambda: rows(path, "SELECT length(moves) FROM journal") == [(20 * (number + 1),)])  # noqa: B023
            copied(path, copy := tmp_path / f"{number}.db")
            (game,) = referee.running(1)
            asked.append(game.ply)
        path = copy
    assert asked == [20, 40, 60]
    (row,) = rows(path, JOURNAL)
    draws = [Draws(1, ply) for ply in range(60)]
    spent = [sum(1_000 * each.below(900) for each in draws[side::2]) for side in (0, 1)]
    assert row[6:8] == tuple(LONG.bank_us + 30 * LONG.increment_us - us for us in spent)


def so_far(tournament: int, ordinal: int, attempt: int, moves: list[int]) -> GameSoFar:
    packed, times = pack_moves(moves, 9), pack_times([5] * len(moves))
    return GameSoFar(tournament, ordinal, attempt, 0, 1, packed, times, 1, 2)


async def keep(arena: Arena, *games: GameSoFar) -> None:
    commit = partial(commit_games, games=[], state=arena.state, now_ms=NOW, advanced=games)
    await arena.store.write(commit)


def kept(arena: Arena) -> list[tuple[Any, ...]]:
    return arena.rows("SELECT ordinal, moves FROM journal ORDER BY 1")


async def test_a_move_counts_only_under_the_current_attempt(arena: Arena) -> None:
    tournament = await arena.tournament(time=LONG)
    claim = partial(claim_unit, tournament_id=tournament.id, number=0)
    await arena.store.write(claim)
    await keep(arena, so_far(tournament.id, 1, 1, [4]))
    again = await arena.store.write(claim)
    assert again.begun == {1: so_far(tournament.id, 1, 2, [4])}
    # The first comes from a node whose claim has expired, the second from a unit that no node has claimed.
    await keep(arena, so_far(tournament.id, 1, 1, [4, 0]), so_far(tournament.id, 2, 1, [8]))
    assert kept(arena) == [(1, bytes([4]))]
    await keep(arena, so_far(tournament.id, 1, 2, [4, 1]))
    assert kept(arena) == [(1, bytes([4, 1]))]


@pytest.mark.parametrize("live_scores", [False, True])
async def test_scores_and_comments_of_a_resumed_game_stay_secret(arena: Arena, live_scores: bool) -> None:
    tournament = await arena.tournament(time=LONG, keep_scores=True, live_scores=live_scores)
    claim = partial(claim_unit, tournament_id=tournament.id, number=0)
    await arena.store.write(claim)
    game = so_far(tournament.id, 1, 1, [4, 0])
    thoughts = {1: Thought(depth=3, pv=(0, 1))}
    scores, comments = pack_scores({1: 2.5}, 2), pack_comments({0: "centre"})
    await keep(arena, game._replace(scores=scores, comments=comments, thoughts=pack_thoughts(thoughts)))
    (begun,) = (await arena.store.write(claim)).begun.values()
    assert (unpack_scores(begun.scores), unpack_comments(begun.comments)) == ({1: 2.5}, {0: "centre"})
    assert unpack_thoughts(begun.thoughts) == thoughts
    stored = await arena.store.read(partial(get_game, slug=tournament.slug, ordinal=1))
    assert (stored.scores, stored.comments, stored.thoughts) == ({1: 2.5} if live_scores else {}, {}, {})


async def test_rows_leave_with_their_results_and_with_a_cancellation(arena: Arena) -> None:
    tournament = await arena.tournament(time=LONG, games_per_pair=3)
    games = await arena.play(tournament)
    await keep(arena, *(so_far(tournament.id, ordinal, 1, [4]) for ordinal in (1, 2, 3)))
    await arena.commit(games[1:2])
    assert [row[0] for row in kept(arena)] == [1, 3]
    await arena.store.write(partial(cancel_tournament, slug=tournament.slug, now_ms=NOW))
    assert kept(arena) == []
    await keep(arena, so_far(tournament.id, 1, 1, [4, 5]))
    assert kept(arena) == []


async def test_fast_games_are_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "begin.db"
    async with open_arena(path) as arena:
        await arena.tournament(bots=BOTS[:2], variant="mnk:9,9,9", time=FAST, games_per_pair=1)
    async with life(path, 10) as (store, _, over):
        await over.wait()
        claim = await store.write(partial(claim_unit, tournament_id=1, number=0))
    assert rows(path, JOURNAL) == []
    assert claim.begun == {}
