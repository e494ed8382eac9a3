"""Scores that bots send with their moves reach the watchers of their games, at a real server."""

import math

import pytest

from noughts_bots import Move, Position
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import types_pb2

from .cinema import CUP, GAME, Gated, WatchedServer, Watcher


class Talking(Gated):
    """Plays the first free cell. X scores the number of free cells, except at ply 4; O scores NaN."""

    async def choose(self, position: Position) -> int | Move:
        cell = await super().choose(position)
        assert isinstance(cell, int)
        if position.ply == 4:
            return cell
        return Move(cell, math.nan if position.side else float(len(position.free)))


def scores(watching: Watcher) -> list[float | None]:
    """The scores of every published ply."""
    plies = [ply for message in watching.messages for ply in message.increments.plies]
    return [ply.score if ply.HasField("score") else None for ply in plies]


def last_scores(game: pb.WatchedGame) -> tuple[float | None, float | None]:
    return (
        game.first_score if game.HasField("first_score") else None,
        game.second_score if game.HasField("second_score") else None,
    )


async def until_ply(watching: Watcher, plies: int) -> None:
    while len(watching.view.games[GAME].moves) < plies:
        await watching.read_message()


async def test_scores_that_are_numbers_reach_watchers_with_their_ply(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        watching = cinema.watch(GAME)
        await watching.read_message()
        for _ in range(9):
            cinema.gate.release()
        await watching.read_to_the_end()
    # First free cells in turn: X completes the column 0, 3, 6 with ply 6.
    assert scores(watching) == [9.0, None, 7.0, None, None, None, 3.0]
    assert last_scores(watching.view.games[GAME]) == (3.0, None)
    # Scores are not stored, so a later watcher gets the game without them.
    later_watcher = await cinema.watch(GAME).read_to_the_end()
    assert list(later_watcher.view.games[GAME].moves) == list(watching.view.games[GAME].moves)


@pytest.mark.parametrize("live_scores", [False, True])
async def test_scores_of_a_game_with_a_clock_are_shown_at_its_end(
    cinema: WatchedServer, token: str, live_scores: bool
) -> None:
    clock = types_pb2.TimeControl(bank_us=600_000_000)
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1, time=clock, live_scores=live_scores):
        watching = cinema.watch(GAME)
        await watching.read_message()
        for _ in range(3):
            cinema.gate.release()
        await until_ply(watching, 3)
        assert last_scores(watching.view.games[GAME]) == ((7.0, None) if live_scores else (None, None))
        for _ in range(6):
            cinema.gate.release()
        await watching.read_to_the_end()
    assert last_scores(watching.view.games[GAME]) == (3.0, None)
    assert dict(watching.view.games[GAME].scores) == {0: 9.0, 2: 7.0, 6: 3.0}
    assert any(scores(watching)) is live_scores


@pytest.mark.parametrize("timed", [False, True])
async def test_kept_scores_are_those_of_all_plies_and_in_the_stored_game(
    cinema: WatchedServer, token: str, timed: bool
) -> None:
    clock = types_pb2.TimeControl(bank_us=600_000_000) if timed else None
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1, keep_scores=True, time=clock):
        for _ in range(3):
            cinema.gate.release()
        await cinema.client.until(lambda _: cinema.client.server.referee.plies == 3)
        snapshot = (await cinema.watch(GAME).read_message()).snapshot.games[0]
        assert dict(snapshot.scores) == ({} if timed else {0: 9.0, 2: 7.0})
        for _ in range(6):
            cinema.gate.release()
        await cinema.watch(GAME).read_to_the_end()
    later_watcher = await cinema.watch(GAME).read_to_the_end()
    assert dict(later_watcher.view.games[GAME].scores) == {0: 9.0, 2: 7.0, 6: 3.0}
    assert last_scores(later_watcher.view.games[GAME]) == (3.0, None)
    assert dict((await cinema.game()).scores) == {0: 9.0, 2: 7.0, 6: 3.0}


async def test_a_late_watcher_sees_the_last_scores(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        early = cinema.watch(GAME)
        await early.read_message()
        for _ in range(5):
            cinema.gate.release()
        await until_ply(early, 5)
        late = cinema.watch(GAME)
        # Ply 4 came without a score: that of ply 2 is the last.
        snapshot = (await late.read_message()).snapshot.games[0]
        assert (last_scores(snapshot), dict(snapshot.scores)) == ((7.0, None), {0: 9.0, 2: 7.0})
        # The board on the tournament's channel is separate, and had no watcher so far.
        board = cinema.watch(CUP)
        await board.read_message()
        while GAME not in board.view.games:
            await board.read_message()
        assert last_scores(board.view.games[GAME]) == (7.0, None)
        for _ in range(4):
            cinema.gate.release()
        for watching in (early, late, board):
            await watching.read_to_the_end()
            assert last_scores(watching.view.games[GAME]) == (3.0, None)
        assert early.view.games[GAME] == late.view.games[GAME]


async def test_the_first_watcher_of_a_running_game_sees_scores_from_then_on(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        for _ in range(3):
            cinema.gate.release()
        await cinema.client.until(lambda _: cinema.client.server.referee.plies == 3)
        watching = cinema.watch(GAME)
        snapshot = (await watching.read_message()).snapshot.games[0]
        assert (list(snapshot.moves), last_scores(snapshot)) == ([0, 1, 2], (None, None))
        for _ in range(6):
            cinema.gate.release()
        await watching.read_to_the_end()
        assert scores(watching) == [None, None, None, 3.0]
