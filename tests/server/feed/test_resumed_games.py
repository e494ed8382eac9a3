"""A long game whose server has gone: readers and watchers get its moves, and its continuation."""

import sqlite3
from contextlib import closing
from pathlib import Path

from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import types_pb2
from tests.support.loopback import wait_until

from .cinema import GAME, cinema_of

BANK, INCREMENT = 120_000_000, 1_000_000


def crash(path: Path, moves: int) -> bool:
    """Does the journal have so many moves? Then a copy of the database is what a crash would leave now."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(path.with_name("left.db"))) as other:
        one.backup(other)
        return other.execute("SELECT length(moves) FROM journal").fetchall() == [(moves,)]


async def test_a_watcher_sees_a_resumed_game_from_its_ply(tmp_path: Path) -> None:
    time = types_pb2.TimeControl(bank_us=BANK, increment_us=INCREMENT)
    async with cinema_of(tmp_path / "noughts.db") as cinema:
        token = await cinema.client.token()
        async with cinema.playing(token, gated=True, games_per_pair=1, time=time):
            for _ in range(3):
                cinema.gate.release()
            await wait_until(lambda: crash(tmp_path / "noughts.db", 3))
    async with cinema_of(tmp_path / "left.db") as cinema:
        game = await cinema.game()
        assert (list(game.moves), game.result, game.termination) == ([0, 1, 2], 0, 0)
        assert not game.HasField("end_time")
        watching = cinema.watch(GAME)
        await watching.must()
        waiting = watching.view.games[GAME]
        assert (waiting.state, list(waiting.moves), len(waiting.times_us)) == (pb.GAME_STATE_WAITING, [0, 1, 2], 3)
        # The first has made two moves, the second one.
        assert waiting.first_clock_us == BANK + 2 * INCREMENT - waiting.times_us[0] - waiting.times_us[2]
        assert waiting.second_clock_us == BANK + INCREMENT - waiting.times_us[1]
        before = (waiting.first_clock_us, waiting.second_clock_us)
        async with cinema.bots(token):
            (begun,) = (await watching.must()).increments.games
            assert (begun.state, list(begun.moves)) == (pb.GAME_STATE_RUNNING, [0, 1, 2])
            assert (begun.first_clock_us, begun.second_clock_us) == before
            cinema.gate.release()
            await watching.must()
            assert watching.plies() == [(3, 3)]
            for _ in range(9):
                cinema.gate.release()
            await watching.to_the_end()
        assert watching.kinds().count("snapshot") == 1
        game = await cinema.game()
    assert list(game.moves) == [0, 1, 2, 3, 4, 5, 6]
    assert game.times_us[:3] == waiting.times_us
    assert game.result == types_pb2.RESULT_FIRST_WINS
