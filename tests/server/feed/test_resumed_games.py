"""After a crash of the server, readers and watchers of a long game get its moves and its continuation."""

import sqlite3
from contextlib import closing
from pathlib import Path

from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import types_pb2
from tests.support.loopback import wait_until

from .cinema import GAME, watched_server

BANK, INCREMENT = 120_000_000, 1_000_000


def journal_has_moves(path: Path, moves: int) -> bool:
    """Return whether the journaled game has this many moves; also copy the database, as a crash would leave it."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(path.with_name("left.db"))) as other:
        one.backup(other)
        return other.execute("SELECT length(moves) FROM journal").fetchall() == [(moves,)]


async def test_a_watcher_sees_a_resumed_game_from_its_ply(tmp_path: Path) -> None:
    time = types_pb2.TimeControl(bank_us=BANK, increment_us=INCREMENT)
    async with watched_server(tmp_path / "noughts.db") as cinema:
        token = await cinema.client.token()
        async with cinema.playing(token, gated=True, games_per_pair=1, time=time):
            for _ in range(3):
                cinema.gate.release()
            await wait_until(lambda: journal_has_moves(tmp_path / "noughts.db", 3))
    async with watched_server(tmp_path / "left.db") as cinema:
        game = await cinema.game()
        assert (list(game.moves), game.result, game.termination) == ([0, 1, 2], 0, 0)
        assert not game.HasField("end_time")
        watching = cinema.watch(GAME)
        await watching.read_message()
        waiting_game = watching.view.games[GAME]
        assert (waiting_game.state, list(waiting_game.moves), len(waiting_game.times_us)) == (
            pb.GAME_STATE_WAITING,
            [0, 1, 2],
            3,
        )
        # The first side has made two moves, and the second side one.
        assert waiting_game.first_clock_us == BANK + 2 * INCREMENT - waiting_game.times_us[0] - waiting_game.times_us[2]
        assert waiting_game.second_clock_us == BANK + INCREMENT - waiting_game.times_us[1]
        before = (waiting_game.first_clock_us, waiting_game.second_clock_us)
        async with cinema.bots(token):
            (running_game,) = (await watching.read_message()).increments.games
            assert (running_game.state, list(running_game.moves)) == (pb.GAME_STATE_RUNNING, [0, 1, 2])
            assert (running_game.first_clock_us, running_game.second_clock_us) == before
            cinema.gate.release()
            await watching.read_message()
            assert watching.plies() == [(3, 3)]
            for _ in range(9):
                cinema.gate.release()
            await watching.read_to_the_end()
        assert watching.kinds().count("snapshot") == 1
        game = await cinema.game()
    assert list(game.moves) == [0, 1, 2, 3, 4, 5, 6]
    assert game.times_us[:3] == waiting_game.times_us
    assert game.result == types_pb2.RESULT_FIRST_WINS
