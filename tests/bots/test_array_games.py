"""An array bot plays the same games as the same bot with `choose_batch`, on a server and as a child process."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from noughts_bots import Bot
from noughts_bots.connection.session import play
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.game import Game
from noughts_referee.rules import OWN_NAMES, Termination
from tests.bots.random_bots import RandomBot, login
from tests.support import array_bots
from tests.support.array_bots import Arrays, Positions
from tests.support.children.field import Field
from tests.support.games import conditions, unit
from tests.support.loopback import loopback, wait_until

VARIANTS = (*OWN_NAMES, "mnk:5,4,4", "gomoku+pro", "renju+swap2", "caro+swap")
QUICK_VARIANTS = ("tictactoe", "mnk:5,4,4", "renju+swap2")
OTHER_VARIANTS = tuple(variant for variant in VARIANTS if variant not in QUICK_VARIANTS)
BATCHES = (Arrays, Positions)


class Scores:
    """An observer of the referee that records scores."""

    def __init__(self) -> None:
        self.recorded: list[tuple[int, int, float]] = []

    def note_start(self, game: Game) -> None:
        pass

    def note_answers(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        self.recorded += [(games[row], plies[row], score) for row, score in scores]

    def note_ends(self, games: Sequence[Game]) -> None:
        pass


async def play_games(bot: Bot, variant: str, concurrency: int, games: int, opening: tuple[int, ...] = ()) -> object:
    """Play games of the bot against a random bot on a server; return the games without times, and the scores."""
    work = unit(conditions(variant, concurrency=concurrency, seed=3), games)
    if opening:
        work = work._replace(openings={slot.ordinal: opening for slot in work.slots})
    scores = Scores()
    async with loopback() as server, asyncio.TaskGroup() as tasks:
        server.referee.observer = scores
        sessions = [
            tasks.create_task(play(player, login(server.port, key))) for key, player in ((1, bot), (2, RandomBot()))
        ]
        await wait_until(lambda: server.wire(1).online and server.wire(2).online)
        server.referee.add(work)
        finished = await server.finished_games(games)
        for session in sessions:
            session.cancel()
    assert server.counts.complaints == 0
    assert {game.termination for game in finished} <= {Termination.LINE, Termination.BOARD_FULL}
    return sorted(game._replace(times=b"") for game in finished), sorted(scores.recorded)


@pytest.mark.long
@pytest.mark.parametrize("concurrency", [1, 1_024])
@pytest.mark.parametrize(
    "variant",
    [*QUICK_VARIANTS, *(pytest.param(variant, marks=pytest.mark.at_length) for variant in OTHER_VARIANTS)],
)
async def test_both_bots_play_the_same_games_at_a_server(variant: str, concurrency: int) -> None:
    games = (1_100 if variant == "tictactoe" else 4) if concurrency > 1 else 2
    arrays, positions = [await play_games(kind(), variant, concurrency, games) for kind in BATCHES]
    assert arrays == positions


@pytest.mark.parametrize("opening", [(24,), (24, 25), (24, 25, 26)])
async def test_both_bots_play_the_same_games_after_an_opening(opening: tuple[int, ...]) -> None:
    arrays, positions = [await play_games(kind(), "mnk:7,7,5", 64, 8, opening) for kind in BATCHES]
    assert arrays == positions


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.processes
@pytest.mark.parametrize(
    "variant, concurrency", [*((variant, 1_024) for variant in VARIANTS), ("tictactoe", 1), ("connect4", 1)]
)
async def test_both_bots_play_the_same_games_as_children(variant: str, concurrency: int, tmp_path: Path) -> None:
    games = (1_100 if variant == "tictactoe" else 4) if concurrency > 1 else 2
    games_of_kinds = []
    opponent = f"opponent=py:{array_bots.__file__}:Positions"
    for kind in BATCHES:
        field = Field(tmp_path / kind.__name__)
        field.folder.mkdir()
        spec = f"bot=py:{array_bots.__file__}:{kind.__name__}"
        outcome = await field.play(
            spec, opponent, games=games, concurrency=concurrency, variant=variant, children=ChildSettings()
        )
        assert (outcome.games, outcome.faults) == (games, ())
        games_of_kinds.append(field.games)
    assert games_of_kinds[0] == games_of_kinds[1]
