"""The search for puzzles finds those of brute force, in any order of the games, and lists each once up to symmetry."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from noughts_bots.reference.puzzles import PuzzleKind
from noughts_proto.interpreter import python
from noughts_referee.rules import Position, Variant, parse_variant
from noughts_server.openings.canonical_positions import canonical_positions
from noughts_server.runtime import puzzles as puzzles_module
from noughts_server.runtime.puzzles import search
from noughts_server.store.games.puzzles import (
    StoredPuzzle,
    count_puzzles,
    count_unsearched,
    forget_puzzles,
    list_puzzles,
    next_unsearched,
)
from tests.support.arena import Arena, open_arena
from tests.support.enumeration import plies_to_win
from tests.support.random_games import store_random_games
from tests.support.wins_by_fours import BruteForce

pytestmark = pytest.mark.processes
STORED_PUZZLES = (
    "SELECT variant, position, tournament_id, ordinal, ply, line, moves, exact, kind FROM puzzles ORDER BY 1, 2, 3"
)


async def search_all(arena: Arena, most: int = 32, after: int = 0) -> None:
    while games := await arena.store.read(partial(next_unsearched, most=most, after=after)):
        after = games.tournament_id
        await search(arena.store, games)


def position_number(variant: Variant, puzzle: StoredPuzzle) -> int:
    """Return the number of the puzzle's position, which is the same for symmetric positions."""
    *_, (number, _) = canonical_positions(variant).after(puzzle.game.moves[: puzzle.ply])
    return number


async def puzzles_of(arena: Arena) -> list[StoredPuzzle]:
    return (await arena.store.read(partial(list_puzzles, size=1_000))).items


def brute_force(variant: Variant, games: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the number of moves until the win for each puzzle of these games, by the number of its position."""
    expected: dict[int, int] = {}
    for moves in games:
        numbers = [number for number, _ in canonical_positions(variant).after(moves)]
        for ply, move in only_wins(variant, moves):
            # If the winner already had an only winning move at its previous turn, and played it, that is the puzzle.
            previous_move = dict(only_wins(variant, moves)).get(ply - 2)
            if previous_move is None or previous_move != moves[ply - 2]:
                position = Position.after(variant, moves[:ply])
                plies = plies_to_win(variant, position.own, position.opponent)
                assert move in position.free
                expected[numbers[ply]] = (plies + 1) // 2
    return expected


def only_wins(variant: Variant, moves: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each ply at which only one move wins, and not at once, together with this move."""
    for ply in range(len(moves)):
        position = Position.after(variant, moves[:ply])
        own, other = position.own, position.opponent
        if plies_to_win(variant, own, other) >= 3:
            winning = [cell for cell in position.free if plies_to_win(variant, other, own | 1 << cell) < 0]
            if len(winning) == 1:
                yield ply, winning[0]


@pytest.mark.parametrize(
    "name, games",
    [
        ("tictactoe", 60),
        pytest.param("tictactoe", 200, marks=pytest.mark.at_length),
        pytest.param("mnk:4,3,3", 150, marks=pytest.mark.at_length),
    ],
    ids=str,
)
async def test_search_finds_the_puzzles_of_brute_force(tmp_path: Path, name: str, games: int) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        moves = await store_random_games(arena, name, games)
        await search_all(arena)
        puzzles = await puzzles_of(arena)
        counts = await arena.store.read(count_puzzles)
    variant = parse_variant(name)
    expected = brute_force(variant, moves)
    assert {position_number(variant, puzzle): puzzle.moves for puzzle in puzzles} == expected
    assert sum(count for _, _, count in counts) == len(puzzles) > 5
    for puzzle in puzzles:
        position = Position.after(variant, puzzle.game.moves[: puzzle.ply])
        assert dict(only_wins(variant, puzzle.game.moves))[puzzle.ply] == puzzle.line[0]
        end = Position.after(variant, [*position.moves, *puzzle.line]).outcome()
        assert end is not None
        assert end.winner == position.side


@pytest.mark.parametrize("name", ["gomoku", "renju"])
async def test_large_boards_have_puzzles_of_continuous_fours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(puzzles_module, "_LONGEST_GAME_SECONDS", 600.0)  # the machine can be busy
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, name, 1)
        await search_all(arena)
        puzzles = await puzzles_of(arena)
    of_fours = [puzzle for puzzle in puzzles if puzzle.kind == PuzzleKind.CONTINUOUS_FOURS]
    assert len(of_fours) >= 3
    for puzzle in of_fours:
        position = Position.after(parse_variant(name), puzzle.game.moves[: puzzle.ply])
        wins = BruteForce(position.variant).first_moves(position.own, position.opponent, position.side)
        assert wins == {puzzle.line[0]: puzzle.moves}


async def test_puzzles_do_not_depend_on_the_order_of_the_search(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 30, slug="cup")
        await store_random_games(arena, "tictactoe", 30, slug="plate")
        await search_all(arena)
        stored_puzzles = arena.rows(STORED_PUZZLES)
        listed_puzzles = await puzzles_of(arena)
        await arena.store.write(forget_puzzles)
        assert await arena.store.read(count_unsearched) == 60
        await search_all(arena, most=20, after=1)
        assert await arena.store.read(count_unsearched) == 0
        assert arena.rows(STORED_PUZZLES) == stored_puzzles
    numbers = [position_number(parse_variant("tictactoe"), puzzle) for puzzle in listed_puzzles]
    assert len(set(numbers)) == len(numbers) < len(stored_puzzles)
    assert all(puzzle.moves <= following.moves for puzzle, following in pairwise(listed_puzzles))


async def test_puzzles_of_an_uninstalled_plugin_leave_no_gaps_in_pages(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "mnk:4,3,3", 20, slug="cup")
        await store_random_games(arena, "tictactoe", 30, slug="plate")
        await search_all(arena)
        arena.execute("UPDATE puzzles SET variant = 'a-plugin' WHERE variant = 'mnk:4,3,3'")
        page = await arena.store.read(partial(list_puzzles, size=5))
        counts = await arena.store.read(count_puzzles)
    assert [puzzle.variant for puzzle in page.items] == ["tictactoe"] * 5
    assert {variant for variant, _, _ in counts} == {"tictactoe"}


async def test_second_search_of_the_same_games_stores_nothing(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 40)
        games = await arena.store.read(partial(next_unsearched, most=40))
        assert games is not None
        assert await search(arena.store, games) > 0
        assert await search(arena.store, games) == 0


async def test_damaged_games_have_no_puzzles(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await arena.commit(await arena.play(await arena.tournament(games_per_pair=20)))
        await search_all(arena)
        assert await arena.store.read(count_unsearched) == 0


SEARCH_THAT_CAN_DIE = """
import io, json, os, signal, sys
from noughts_server.runtime import puzzle_search

text = sys.stdin.read()
if any(moves[0] == 8 for moves, given_plies in json.loads(text)[1]):
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin = io.StringIO(text)
puzzle_search.main()
"""
"""A search that is killed by games that begin in the last cell."""


async def test_game_that_kills_its_search_costs_no_other_game_its_puzzles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 6)
        await search_all(arena)
        expected = {puzzle.game.ordinal for puzzle in await puzzles_of(arena) if puzzle.game.moves[0] != 8}
        await arena.store.write(forget_puzzles)
        monkeypatch.setattr(puzzles_module, "COMMAND", python("-c", SEARCH_THAT_CAN_DIE))
        await search_all(arena)
        ordinals = {puzzle.game.ordinal for puzzle in await puzzles_of(arena)}
        assert expected <= ordinals
        assert await arena.store.read(count_unsearched) == 0
