"""Puzzles are those of brute force, follow from the games alone, and each is one up to symmetry."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import pytest

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
from tests.support.random_games import store_random_games

pytestmark = pytest.mark.processes
STORED = "SELECT variant, position, tournament_id, ordinal, ply, line, moves, exact FROM puzzles ORDER BY 1, 2, 3"


async def search_all(arena: Arena, most: int = 32, after: int = 0) -> None:
    while games := await arena.store.read(partial(next_unsearched, most=most, after=after)):
        after = games.tournament_id
        await search(arena.store, games)


async def puzzles_of(arena: Arena) -> list[StoredPuzzle]:
    return (await arena.store.read(partial(list_puzzles, size=1_000))).items


@cache
def plies_to_win(variant: Variant, own: int, other: int) -> int:
    """By enumeration: the plies until the side to move wins, negative until it loses, 0 for a draw."""
    values = []
    for cell in range(variant.cells):
        if not (own | other) >> cell & 1:
            placed = own | 1 << cell
            if any(line & placed == line for line in variant.lines):
                return 1
            value = 0 if placed | other == variant.full else -plies_to_win(variant, other, placed)
            values.append(value + (value > 0) - (value < 0))
    wins = [value for value in values if value > 0]
    return min(wins) if wins else 0 if 0 in values else min(values)


def brute_force(variant: Variant, games: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the number of the winner's moves of each puzzle, by the number of its position."""
    expected: dict[int, int] = {}
    for moves in games:
        numbers = [number for number, _ in canonical_positions(variant).after(moves)]
        for ply, move in only_wins(variant, moves):
            before = dict(only_wins(variant, moves)).get(ply - 2)
            if before is None or before != moves[ply - 2]:
                position = Position.after(variant, moves[:ply])
                plies = plies_to_win(variant, position.own, position.opponent)
                assert move in position.free
                expected[numbers[ply]] = (plies + 1) // 2
    return expected


def only_wins(variant: Variant, moves: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the plies at which one move wins, later than at once, with this move."""
    for ply in range(len(moves)):
        position = Position.after(variant, moves[:ply])
        own, other = position.own, position.opponent
        if plies_to_win(variant, own, other) >= 3:
            winning = [cell for cell in position.free if plies_to_win(variant, other, own | 1 << cell) < 0]
            if len(winning) == 1:
                yield ply, winning[0]


@pytest.mark.parametrize(
    "name, games", [("tictactoe", 200), pytest.param("mnk:4,3,3", 150, marks=pytest.mark.long)], ids=str
)
async def test_puzzles_are_those_of_enumeration(tmp_path: Path, name: str, games: int) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        moves = await store_random_games(arena, name, games)
        await search_all(arena)
        puzzles = await puzzles_of(arena)
        counts = await arena.store.read(count_puzzles)
    variant = parse_variant(name)
    expected = brute_force(variant, moves)
    numbers = [list(canonical_positions(variant).after(each.game.moves[: each.ply]))[-1][0] for each in puzzles]
    assert dict(zip(numbers, [each.moves for each in puzzles], strict=True)) == expected
    assert sum(count for _, _, count in counts) == len(puzzles) > 5
    for puzzle in puzzles:
        position = Position.after(variant, puzzle.game.moves[: puzzle.ply])
        assert dict(only_wins(variant, puzzle.game.moves))[puzzle.ply] == puzzle.line[0]
        end = Position.after(variant, [*position.moves, *puzzle.line]).outcome()
        assert end is not None
        assert end.winner == position.side


async def test_puzzles_do_not_depend_on_the_order_of_the_search(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 30, slug="cup")
        await store_random_games(arena, "tictactoe", 30, slug="plate")
        await search_all(arena)
        first, listed = arena.rows(STORED), await puzzles_of(arena)
        await arena.store.write(forget_puzzles)
        assert await arena.store.read(count_unsearched) == 60
        await search_all(arena, most=20, after=1)
        assert await arena.store.read(count_unsearched) == 0
        assert arena.rows(STORED) == first
    positions = [list(canonical_positions(parse_variant("tictactoe")).after(each.game.moves[: each.ply]))[-1][0]
                 for each in listed]  # fmt: skip
    assert len(set(positions)) == len(positions) < len(first)
    assert all(one.moves <= other.moves for one, other in pairwise(listed))


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


async def test_games_that_were_searched_meanwhile_are_stored_once(tmp_path: Path) -> None:
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


DIES_OF_SOME_GAMES = """
import io, json, os, signal, sys
from noughts_server.runtime import puzzle_search

text = sys.stdin.read()
if any(moves[0] == 8 for moves, given_plies in json.loads(text)[1]):
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin = io.StringIO(text)
puzzle_search.main()
"""


async def test_game_that_kills_its_search_costs_no_other_game_its_puzzles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        await store_random_games(arena, "tictactoe", 6)
        await search_all(arena)
        expected = {puzzle.game.ordinal for puzzle in await puzzles_of(arena) if puzzle.game.moves[0] != 8}
        await arena.store.write(forget_puzzles)
        monkeypatch.setattr(puzzles_module, "COMMAND", python("-c", DIES_OF_SOME_GAMES))
        await search_all(arena)
        found = {puzzle.game.ordinal for puzzle in await puzzles_of(arena)}
        assert expected <= found
        assert await arena.store.read(count_unsearched) == 0
