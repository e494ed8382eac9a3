"""`noughts watch` shows the scores that a bot written with the SDK gives its positions."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import pytest
from rich.console import Console

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli.drawing.feed_lines import events
from noughts_server.cli.screens.watch.redrawn import RedrawnOverview
from tests.support.patience import PATIENCE

# Plays the first free cell. Its first move waits for a line on stdin. It sends scores if its name is `ada`.
SCORING_BOT = """
import asyncio, sys
from noughts_bots import Bot, Move
from noughts_bots.connection.session import Login, play

server, token, name = sys.argv[1:]

class ScoringBot(Bot):
    def choose(self, position):
        if position.ply < 2:
            sys.stdin.readline()
        cell = position.free[0]
        return Move(cell, 24.5 - position.ply // 2) if name == "ada" else cell

asyncio.run(play(ScoringBot(), Login(server, token, name=name), lambda event: print(event, flush=True)))
"""


def test_scores_are_in_the_lines_of_text_and_of_json(noughts: Any, start: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with ExitStack() as stack:
        bots = []
        for name in ("ada", "bob"):
            command = [sys.executable, "-c", SCORING_BOT, server, token, name]
            bot = stack.enter_context(
                subprocess.Popen(command, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(bot.kill)
            assert bot.stdout is not None
            assert bot.stdout.readline().startswith("online")
            bots.append(bot)
        noughts("tournament create spring --games 1", env=env)
        for name in ("ada", "bob"):
            noughts(f"tournament join spring --bot {name}", env=env)
        noughts("tournament start spring", env=env)
        json_watch = stack.enter_context(start(f"watch spring/1 --format json --server {server}"))
        text_watch = stack.enter_context(start(f"watch spring/1 --server {server}"))
        (game,) = json.loads(json_watch.stdout.readline())["games"]
        assert (game["first_score"], game["second_score"]) == (None, None)
        assert text_watch.stdout.readline().startswith("spring/1: ")
        for bot in bots:
            assert bot.stdin is not None
            bot.stdin.write("play\n")
            bot.stdin.flush()
        documents = [json.loads(line) for line in json_watch.communicate(timeout=PATIENCE)[0].splitlines()]
        text = text_watch.communicate(timeout=PATIENCE)[0].splitlines()
    plies = {document["ply"]: document["score"] for document in documents if document["event"] == "ply"}
    # Both sides play the first free cell, so X wins with ply 6.
    scoring_side = 0 if game["first"] == "ada" else 1
    assert plies == {ply: 24.5 - ply // 2 if ply % 2 == scoring_side else None for ply in range(7)}
    text_scores = [line.partition(", score ")[2] for line in text if ": ply " in line]
    assert text_scores == ["" if score is None else f"{score:g}" for score in plies.values()]


@pytest.fixture
def game() -> pb.WatchedGame:
    return pb.WatchedGame(
        name="tournaments/cup/games/3",
        variant="tictactoe",
        first="ada",
        second="bob",
        state=pb.GAME_STATE_RUNNING,
        moves=[0, 3, 1],
        times_us=[1000] * 3,
        first_score=-0.125,
    )


def draw_overview(game: pb.WatchedGame) -> str:
    """Return what the overview draws of this game, without a terminal."""
    console = Console(file=io.StringIO(), width=100, height=40, force_terminal=True, color_system=None)
    with RedrawnOverview("tournaments/cup", console) as screen:
        screen.state.take(pb.WatchResponse(snapshot=pb.WatchSnapshot(games=[game])), View())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_board_shows_the_last_scores_if_there_are_any(game: pb.WatchedGame) -> None:
    assert "score  X -0.125  O -" in draw_overview(game)
    game.second_score = 1.7976931348623157e308
    assert "score  X -0.125  O 1.79" in draw_overview(game)
    game.ClearField("first_score")
    game.ClearField("second_score")
    assert "score" not in draw_overview(game)


def test_a_snapshot_in_json_has_the_last_scores(game: pb.WatchedGame) -> None:
    (document,) = events(pb.WatchResponse(snapshot=pb.WatchSnapshot(games=[game])))
    (row,) = document["games"]
    assert (row["first_score"], row["second_score"]) == (-0.125, None)
