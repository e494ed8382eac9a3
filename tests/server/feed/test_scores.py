"""Scores on their way from a bot to those who watch its game, at a real server."""

import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noughts_bots import Move, Position
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import types_pb2

from .cinema import CUP, GAME, Cinema, Gated, Watching, cinema_of


class Talking(Gated):
    """Plays the first free cell. X says how many cells are free, but at ply 4 nothing; O says what is no number."""

    async def choose(self, position: Position) -> int | Move:
        cell = await super().choose(position)
        assert isinstance(cell, int)
        if position.ply == 4:
            return cell
        return Move(cell, math.nan if position.side else float(len(position.free)))


@pytest.fixture
async def cinema(tmp_path: Path) -> AsyncIterator[Cinema]:
    async with cinema_of(tmp_path / "x.sqlite") as opened:
        yield opened


@pytest.fixture
async def token(cinema: Cinema) -> str:
    return await cinema.client.token()


def scores(watching: Watching) -> list[float | None]:
    """The scores of every published ply."""
    plies = [ply for message in watching.messages for ply in message.increments.plies]
    return [ply.score if ply.HasField("score") else None for ply in plies]


def last_scores(game: pb.WatchedGame) -> tuple[float | None, float | None]:
    return (
        game.first_score if game.HasField("first_score") else None,
        game.second_score if game.HasField("second_score") else None,
    )


async def until_ply(watching: Watching, plies: int) -> None:
    while len(watching.view.games[GAME].moves) < plies:
        await watching.must()


async def test_scores_that_are_numbers_reach_watchers_with_their_ply(cinema: Cinema, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        watching = cinema.watch(GAME)
        await watching.must()
        for _ in range(9):
            cinema.gate.release()
        await watching.to_the_end()
    # First free cells in turn: X completes the column 0, 3, 6 with ply 6.
    assert scores(watching) == [9.0, None, 7.0, None, None, None, 3.0]
    assert last_scores(watching.view.games[GAME]) == (3.0, None)
    # It is not stored: who comes afterwards gets the game without.
    again = await cinema.watch(GAME).to_the_end()
    assert list(again.view.games[GAME].moves) == list(watching.view.games[GAME].moves)


@pytest.mark.parametrize("live_scores", [False, True])
async def test_scores_of_a_game_with_a_clock_are_shown_at_its_end(
    cinema: Cinema, token: str, live_scores: bool
) -> None:
    clock = types_pb2.TimeControl(bank_us=600_000_000)
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1, time=clock, live_scores=live_scores):
        watching = cinema.watch(GAME)
        await watching.must()
        for _ in range(3):
            cinema.gate.release()
        await until_ply(watching, 3)
        assert last_scores(watching.view.games[GAME]) == ((7.0, None) if live_scores else (None, None))
        for _ in range(6):
            cinema.gate.release()
        await watching.to_the_end()
    assert last_scores(watching.view.games[GAME]) == (3.0, None)
    assert dict(watching.view.games[GAME].scores) == {0: 9.0, 2: 7.0, 6: 3.0}
    assert any(scores(watching)) is live_scores


@pytest.mark.parametrize("timed", [False, True])
async def test_kept_scores_are_those_of_all_plies_and_in_the_stored_game(
    cinema: Cinema, token: str, timed: bool
) -> None:
    clock = types_pb2.TimeControl(bank_us=600_000_000) if timed else None
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1, keep_scores=True, time=clock):
        for _ in range(3):
            cinema.gate.release()
        await cinema.client.until(lambda _: cinema.client.server.referee.plies == 3)
        first = (await cinema.watch(GAME).must()).snapshot.games[0]
        assert dict(first.scores) == ({} if timed else {0: 9.0, 2: 7.0})
        for _ in range(6):
            cinema.gate.release()
        await cinema.watch(GAME).to_the_end()
    again = await cinema.watch(GAME).to_the_end()
    assert dict(again.view.games[GAME].scores) == {0: 9.0, 2: 7.0, 6: 3.0}
    assert last_scores(again.view.games[GAME]) == (3.0, None)
    assert dict((await cinema.game()).scores) == {0: 9.0, 2: 7.0, 6: 3.0}


async def test_who_joins_late_sees_the_last_scores(cinema: Cinema, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        early = cinema.watch(GAME)
        await early.must()
        for _ in range(5):
            cinema.gate.release()
        await until_ply(early, 5)
        late = cinema.watch(GAME)
        # Ply 4 came without a score: that of ply 2 is the last.
        joined = (await late.must()).snapshot.games[0]
        assert (last_scores(joined), dict(joined.scores)) == ((7.0, None), {0: 9.0, 2: 7.0})
        # The board of its tournament is another channel, which nobody has watched so far.
        board = cinema.watch(CUP)
        await board.must()
        while GAME not in board.view.games:
            await board.must()
        assert last_scores(board.view.games[GAME]) == (7.0, None)
        for _ in range(4):
            cinema.gate.release()
        for watching in (early, late, board):
            await watching.to_the_end()
            assert last_scores(watching.view.games[GAME]) == (3.0, None)
        assert early.view.games[GAME] == late.view.games[GAME]


async def test_the_first_watcher_of_a_running_game_sees_scores_from_then_on(cinema: Cinema, token: str) -> None:
    async with cinema.playing(token, gated=True, kind=Talking, games_per_pair=1):
        for _ in range(3):
            cinema.gate.release()
        await cinema.client.until(lambda _: cinema.client.server.referee.plies == 3)
        watching = cinema.watch(GAME)
        snapshot = (await watching.must()).snapshot.games[0]
        assert (list(snapshot.moves), last_scores(snapshot)) == ([0, 1, 2], (None, None))
        for _ in range(6):
            cinema.gate.release()
        await watching.to_the_end()
        assert scores(watching) == [None, None, None, 3.0]
