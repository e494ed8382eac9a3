"""The overview of `noughts watch` that is redrawn without textual, in terminals of several sizes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyte
import pytest
from rich.console import Console

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli.screens.watch.redrawn import RedrawnOverview

SIZES = [(80, 24), (120, 40), (60, 16), (40, 12)]


@dataclass
class WatchedScreen:
    """An overview in a terminal of this size, with a time that only the test moves."""

    size: tuple[int, int]
    now: float = 100.0

    def __post_init__(self) -> None:
        columns, lines = self.size
        self._file = io.StringIO()
        self._console = Console(file=self._file, width=columns, height=lines, force_terminal=True, color_system=None)
        self.screen = RedrawnOverview("tournaments/cup", self._console, lambda: self.now)
        self._view = View()

    def receive(self, message: pb.WatchResponse) -> None:
        """Let a message of the server arrive."""
        self.screen.state.take(message, self._view)

    @property
    def lines(self) -> list[str]:
        """The rows of the terminal, as text."""
        terminal = pyte.Screen(*self.size)
        pyte.Stream(terminal).feed(self._file.getvalue().replace("\n", "\r\n"))
        return [line.rstrip() for line in terminal.display]

    def redraw(self) -> list[str]:
        """Draw the overview again, and return the rows of the terminal."""
        self.screen.refresh()
        return self.lines


@contextmanager
def watching(size: tuple[int, int], message: pb.WatchResponse) -> Iterator[WatchedScreen]:
    """An overview of this size that has got the message."""
    watched = WatchedScreen(size)
    with watched.screen:
        watched.receive(message)
        yield watched


def cup(bots: int, games: int, variant: str = "gomoku") -> pb.WatchResponse:
    """A snapshot with a running tournament of `bots` bots, and with `games` of its running games."""
    running = pb.WatchedTournament(
        name="tournaments/cup", state=tournaments_pb2.TOURNAMENT_STATE_RUNNING, games_total=10, games_done=4
    )
    for rank in range(1, bots + 1):
        standing = tournaments_pb2.Standing(label=f"bot-{rank}", points=bots - rank)
        running.standings.add(rank=rank, standing=standing)
    running_games = [
        pb.WatchedGame(
            name=f"tournaments/cup/games/{number}",
            variant=variant,
            first="ada",
            second="bob",
            state=pb.GAME_STATE_RUNNING,
            moves=[112, 113, 0],
            times_us=[1000] * 3,
            first_clock_us=60_000_000,
            second_clock_us=50_000_000,
        )
        for number in range(1, games + 1)
    ]
    return pb.WatchResponse(snapshot=pb.WatchSnapshot(tournaments=[running], games=running_games))


def visible_board_rows(lines: list[str]) -> list[int]:
    """Return the numbers of the visible rows of the first board."""
    return [int(match[1]) for line in lines if (match := re.match(r"│ +(\d+) [.XO] ", line))]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_large_board_is_whole_beside_or_below_the_standings(size: tuple[int, int]) -> None:
    with watching(size, cup(4, 1)) as watched:
        lines = watched.redraw()
    assert lines[0] == "cup: running, 4 of 10 games, 0 in play"
    assert visible_board_rows(lines) == list(range(15, 0, -1))
    assert "a b c d e f g h i j k l m n o" in "\n".join(lines)
    assert all(any(f"bot-{rank} " in line for line in lines) for rank in range(1, 5))
    assert lines[-1] == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("variant", ["tictactoe", "gomoku20", "qubic"])
@pytest.mark.parametrize("bots, games", [(0, 1), (30, 5)])
def test_the_first_line_is_visible_at_every_size(size: tuple[int, int], variant: str, bots: int, games: int) -> None:
    message = cup(bots, games, variant)
    for game in message.snapshot.games:
        game.moves[:] = [0, 1, 2]
    with watching(size, message) as watched:
        lines = watched.redraw()
        assert lines[0].startswith("cup: running")
        assert any("╭" in line for line in lines)
        watched.screen.state.note_lost("nothing listens there")
        assert watched.redraw()[0].startswith("Connection lost, trying again: nothing")


def test_a_board_higher_than_the_terminal_shows_its_last_move() -> None:
    message = cup(0, 1, "mnk:30,30,5")
    message.snapshot.games[0].moves[:] = [0, 1, 14 * 30 + 3]
    with watching((80, 24), message) as watched:
        lines = watched.redraw()
    rows = visible_board_rows(lines)
    assert len(rows) == 16
    assert min(rows) < 16 < max(rows)
    assert "16 of 31 lines" in "\n".join(lines)


def test_games_lost_by_a_fault_have_a_column_if_there_are_any() -> None:
    message = cup(3, 1)
    with watching((80, 24), message) as watched:
        assert not any("faults" in line for line in watched.redraw())
    message.snapshot.tournaments[0].standings[1].standing.faults = 17
    with watching((80, 24), message) as watched:
        lines = watched.redraw()
    assert any("faults" in line for line in lines)
    assert any("bot-2" in line and " 17 " in line for line in lines)


def test_boards_without_room_are_counted() -> None:
    with watching((80, 24), cup(4, 5)) as watched:
        assert "... 4 more games not shown (terminal too small)" in watched.redraw()


def test_clocks_stand_still_while_the_connection_is_lost() -> None:
    with watching((80, 24), cup(4, 1)) as watched:
        watched.now += 2
        assert "> O bob  0:48.0" in "\n".join(watched.redraw())
        watched.screen.state.note_lost("the connection was closed")
        watched.now += 3
        watched.screen.state.note_lost("nothing listens there")
        watched.now += 5
        lines = watched.redraw()
        assert "> O bob  0:48.0" in "\n".join(lines)
        assert visible_board_rows(lines) == list(range(15, 0, -1))
        watched.receive(cup(4, 1))
        assert "> O bob  0:50.0" in "\n".join(watched.redraw())
        assert not any("Connection lost" in line for line in watched.lines)


def test_the_whole_standings_stay_after_the_end() -> None:
    message = cup(12, 1)
    with watching((80, 24), message) as watched:
        message.snapshot.tournaments[0].state = tournaments_pb2.TOURNAMENT_STATE_FINISHED
        watched.receive(message)
    lines = [line for line in watched.lines if line]
    assert [line.split()[1] for line in lines[-12:]] == [f"bot-{rank}" for rank in range(1, 13)]
    assert any(line.startswith("cup: finished") for line in lines)
