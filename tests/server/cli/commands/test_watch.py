"""`noughts watch`: its lines of text and JSON, and its overview, while a tournament is played on a server."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rich.console import Console

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import Result, Termination, cell_names, parse_variant
from noughts_server.cli.drawing.boards import board_lines
from noughts_server.cli.screens.watch.redrawn import RedrawnOverview
from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online
from tests.support.patience import PATIENCE


@pytest.fixture
def start_spring(ask: Ask, server: str, token: str) -> Iterator[Callable[[], None]]:
    """A function that starts the tournament `spring`: 20 games of two bots that are online."""
    ask("tournament create spring --games 20 --seed 4")
    with bots_online(server, token, ada="random", bob="random"):
        for name in ("ada", "bob"):
            ask(f"tournament join spring --bot {name}")
        yield lambda: ask("tournament start spring")


def test_json_lines_lead_from_the_snapshot_to_the_end(
    ask: Ask, start: Any, start_spring: Callable[[], None], server: str
) -> None:
    with start(f"watch spring --format json --server {server}") as process:
        first = json.loads(process.stdout.readline())
        assert (first["event"], first["tournaments"][0]["state"]) == ("snapshot", "open")
        start_spring()
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
    events = [json.loads(line) for line in output.splitlines()]
    sequences = [first["sequence"], *(event["sequence"] for event in events)]
    assert sorted(set(sequences)) == list(range(sequences[0], sequences[-1] + 1))
    last = [event for event in events if event["event"] == "tournament"][-1]
    assert (last["state"], last["games"], last["games_total"]) == ("finished", 20, 20)
    assert {row["name"] for event in events for row in event.get("standings", ())} == {"ada", "bob"}


def test_a_game_is_watched_from_its_first_ply_and_again_when_it_is_over(
    ask: Ask, noughts: Any, start: Any, start_spring: Callable[[], None], server: str
) -> None:
    start_spring()
    with start(f"watch spring/7 --format json --server {server}") as process:
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    events = [json.loads(line) for line in output.splitlines()]
    moves = list(events[0]["games"][0]["moves"])
    for event in events:
        if event["event"] == "game":
            moves = list(event["moves"])
        elif event["event"] == "ply":
            assert event["ply"] == len(moves)
            moves.append(event["cell"])
    stored = ask("game show spring/7")
    assert moves == stored["moves"]
    text = noughts(f"watch tournaments/spring/games/7 --server {server}").stdout
    assert text.startswith("spring/7: ")
    assert cell_names(parse_variant(stored["variant"]), moves) in text
    assert f"{stored['result']}, " in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("line", ["watch", "watch --format json"])
def test_interrupted_watch_exits_with_code_0(start: Any, server: str, line: str) -> None:
    with start(f"{line} --server {server}") as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    "line, code",
    [
        ("watch nowhere", 1),
        ("watch spring/21", 1),
        ("watch a/b/c", 2),
    ],
)
def test_unknown_tournaments_and_games_are_named(ask: Ask, refusal: Refusal, server: str, line: str, code: int) -> None:
    ask("tournament create spring")
    refusal(f"{line} --server {server}", code=code)


def draw_overview(*messages: pb.WatchResponse, width: int = 100) -> str:
    """Return what the overview draws after these messages, without a terminal."""
    console = Console(file=io.StringIO(), width=width, height=40, force_terminal=True, color_system=None)
    view = View()
    with RedrawnOverview("tournaments/cup", console) as screen:
        for message in messages:
            screen.state.take(message, view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def tournament(*labels: str) -> pb.WatchedTournament:
    """A running tournament with these entries in the order of their ranks."""
    running = pb.WatchedTournament(
        name="tournaments/cup", state=tournaments_pb2.TOURNAMENT_STATE_RUNNING, games_total=10, games_done=4
    )
    for rank, label in enumerate(labels, start=1):
        running.standings.add(rank=rank, standing=tournaments_pb2.Standing(label=label, points=3 - rank))
    return running


def test_the_winning_line_and_the_last_move_are_marked() -> None:
    rows = board_lines("tictactoe", [0, 3, 1, 4, 2], winning=(0, 1, 2))
    assert [row.plain for row in rows] == ["3 X X X ", "2 O O . ", "1 . . . ", "  a b c"]
    assert [str(span.style) for span in rows[0].spans[1:2]] == ["bold black on green"]
    rows = board_lines("tictactoe", [0, 3])
    assert [str(span.style) for span in rows[1].spans[1:2]] == ["bold magenta reverse"]


def test_overview_shows_boards_clocks_and_who_moved_up_in_rank() -> None:
    game = pb.WatchedGame(
        name="tournaments/cup/games/3",
        variant="tictactoe",
        first="ada",
        second="bob",
        state=pb.GAME_STATE_ENDED,
        moves=[0, 3, 1, 4, 2],
        times_us=[1000] * 5,
        first_clock_us=61_500_000,
        second_clock_us=60_000_000,
        result=int(Result.FIRST_WINS),  # type: ignore[arg-type]
        termination=int(Termination.LINE),  # type: ignore[arg-type]
    )
    first = pb.WatchResponse(snapshot=pb.WatchSnapshot(tournaments=[tournament("ada", "bob")], games=[game]))
    second = pb.WatchResponse(increments=pb.Increments(tournaments=[tournament("bob", "ada")]))
    text = draw_overview(first, second)
    assert "cup: running, 4 of 10 games" in text
    assert "X ada  1:01.5" in text
    assert "1-0, line" in text
    assert "▲  1  bob" in " ".join(text.split("\n")).replace("   ", "  ")


@pytest.mark.parametrize("columns, width", [(3, 80), (12, 80), (13, 80), (15, 80), (30, 80), (30, 40)])
def test_each_row_of_a_board_is_one_line(columns: int, width: int) -> None:
    game = pb.WatchedGame(name="tournaments/cup/games/1", variant=f"mnk:{columns},4,3", first="ada", second="bob")
    text = draw_overview(pb.WatchResponse(snapshot=pb.WatchSnapshot(games=[game])), width=width)
    rows = [line for line in text.splitlines() if ". ." in line]
    # The overview is drawn when it starts and when it stops. It leaves out columns that are too many for the width.
    assert len(rows) % 4 == 0
    assert {line.count(".") for line in rows} == {min(columns, (width - 5) // 2)}
