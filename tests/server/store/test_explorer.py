"""The opening explorer counts each game once, as a count by brute force does, despite failures and restarts."""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import permutations, product
from pathlib import Path

import pytest

from noughts_bots.reference.accuracy import Accuracy, Judge
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import Position, Result, Termination, Variant, parse_variant
from noughts_referee.work_units import FinishedGame, pack_moves
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.canonical_positions import canonical_positions
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import UNEXPLORED, Kind
from noughts_server.store.games.explorer import ENDED, PLIES, count_some, count_unexplored, explore, forget_all
from noughts_server.store.ratings.leaderboards import leaderboard, list_bot_ratings
from noughts_server.store.tournaments.tournaments import Tournament, cancel_tournament
from tests.support.arena import NOW, Arena
from tests.support.databases import POSTGRESQL, SQLITE, url_of
from tests.support.processes import environment, started

VARIANTS = ("tictactoe", "connect4", "gomoku", "qubic", "renju")
COUNTS = "SELECT list_id, position, move, result, games FROM explorer_moves ORDER BY 1, 2, 3, 4"
COUNTING_PROGRAM = """
import asyncio, sys
from functools import partial
from noughts_server.store.engine.database import Store
from noughts_server.store.games.explorer import count_some

async def count():
    store = await Store.open(sys.argv[1])
    while await store.write(partial(count_some, most=3)):
        print("counted", flush=True)

asyncio.run(count())
"""
Stones = tuple[int, int]
"""The cells of both sides, as sets of bits."""
Tally = dict[Stones, Counter[tuple[int, int]]]
"""Number of games with each (move, result), by position. Symmetric positions count as one."""


@cache
def symmetries(variant: Variant) -> list[list[int]]:
    """Return the symmetries of the board, each as the image of every cell, computed from coordinates.

    With gravity only the left-right mirror remains.
    """
    sizes = (variant.layers, variant.rows, variant.columns)
    images = {}
    for axes, flips in product(permutations(range(3)), product((False, True), repeat=3)):
        if tuple(sizes[axis] for axis in axes) != sizes or (variant.gravity and (axes != (0, 1, 2) or flips[1])):
            continue
        image = []
        for place in product(*map(range, sizes)):
            turned = [place[axis] for axis in axes]
            layer, row, column = (
                size - 1 - at if flip else at for size, at, flip in zip(sizes, turned, flips, strict=True)
            )
            image.append((layer * variant.rows + row) * variant.columns + column)
        images[tuple(image)] = image
    return list(images.values())


def positions_of(variant: Variant, moves: Sequence[int]) -> Iterator[tuple[Stones, list[list[int]]]]:
    """Yield the position before the first move and after each move, as the same board for all symmetric positions.

    That board is the smallest image of the position under the symmetries. The symmetries that give it come with it.
    """
    images: list[Stones] = [(0, 0) for _ in symmetries(variant)]
    for ply in range(len(moves) + 1):
        smallest = min(images)
        yield (
            smallest,
            [symmetry for symmetry, image in zip(symmetries(variant), images, strict=True) if image == smallest],
        )
        if ply < len(moves):
            stones = [1 << symmetry[moves[ply]] for symmetry in symmetries(variant)]
            images = [
                (first, second | stone) if ply % 2 else (first | stone, second)
                for (first, second), stone in zip(images, stones, strict=True)
            ]


def position_of(variant: Variant, moves: Sequence[int]) -> tuple[Stones, list[list[int]]]:
    """Return the last position of `positions_of`."""
    *_, last = positions_of(variant, moves)
    return last


def explorer_position_of(variant: Variant, moves: Sequence[int]) -> tuple[int, list[tuple[int, ...]]]:
    """Return the explorer's own number of the position after these moves, and the symmetries that lead to it."""
    *_, last = canonical_positions(variant).after(moves)
    return last


def by_brute_force(variant: Variant, games: Iterable[FinishedGame]) -> tuple[Tally, dict[Stones, list[int]]]:
    """Count the moves of these games in each position. Also return, for each position, moves that lead to it."""
    tally: Tally = defaultdict(Counter)
    paths = {}
    for game in games:
        moves, given_plies = list(game.moves), variant.given_plies(game.opening_plies)
        if game.result == Result.VOID or len(moves) <= given_plies:
            continue
        for ply, (position, turned) in enumerate(positions_of(variant, moves[: PLIES - 1])):
            if ply >= given_plies:
                move = ENDED if ply == len(moves) else min(turn[moves[ply]] for turn in turned)
                tally[position][move, int(game.result)] += 1
                paths[position] = moves[:ply]
    return tally, paths


def random_game(variant: Variant, seed: int) -> tuple[list[int], Result]:
    """Return legal moves, often near the middle, and a result; some games end early with a result at random."""
    rng = random.Random(seed)
    position, plies_left = Position(variant), rng.randrange(1, 20)
    uses_all_cells = seed % 3 == 0 or variant.cells < 50
    middle = variant.cells // 2
    near = [middle + down * variant.columns + across for down in range(-2, 3) for across in range(-2, 3)]
    while position.outcome() is None and plies_left:
        plies_left -= 1
        while True:
            cell = rng.randrange(variant.cells) if uses_all_cells else rng.choice(near)
            occupied = position.own | position.opponent
            if variant.takes(cell, occupied) and position.forbidden(cell) is None:
                break
        position.play(cell)
    outcome = position.outcome()
    return position.moves, outcome.result if outcome else rng.choice(list(Result))


async def store_random_games(
    arena: Arena, name: str, games: int, *, slug: str = "cup", opening: int = 0, **settings: object
) -> tuple[Tournament, list[FinishedGame]]:
    """Create a tournament, and store a random game in each slot."""
    variant = parse_variant(name)
    tournament = await arena.tournament(slug, variant=name, games_per_pair=games, **settings)  # type: ignore[arg-type]
    finished = []
    for game in await arena.play(tournament):
        moves, result = random_game(variant, 1_000_003 * tournament.id + game.ordinal)
        finished.append(
            game._replace(
                moves=pack_moves(moves, variant.cells),
                times=b"",
                result=result,
                termination=Termination.VOID if result is Result.VOID else Termination.RESIGNED,
                opening_plies=min(opening, len(moves)),
            )
        )
    await arena.commit(finished)
    return tournament, finished


async def count_all(arena: Arena, most: int = 500) -> None:
    while await arena.store.read(count_unexplored):
        await arena.store.write(partial(count_some, most=most))


def stored_counts(arena: Arena, variant: str) -> dict[int, Counter[tuple[int, int]]]:
    """Return the table's counts of a variant, by position: a Tally, with moves of its own boards."""
    found: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    rows = arena.rows(
        "SELECT position, move, result, games FROM explorer_moves"
        f" JOIN rating_lists ON rating_lists.id = list_id WHERE variant = '{variant}'"
    )
    for position, move, result, count in rows:
        found[position][move, result] = count
    return found


@pytest.mark.at_length
@pytest.mark.parametrize(
    "number, opening", [(100, 0), (100, 3), pytest.param(2_000, 0, marks=pytest.mark.long)], ids=str
)
async def test_counts_are_those_of_brute_force(arena: Arena, number: int, opening: int) -> None:
    games = {
        variant: (await store_random_games(arena, variant, number, slug=f"cup{at}", opening=opening))[1]
        for at, variant in enumerate(VARIANTS)
    }
    await count_all(arena)
    for name, finished in games.items():
        variant = parse_variant(name)
        tally, paths = by_brute_force(variant, finished)
        rows = stored_counts(arena, name)
        assert len(rows) == len(tally)
        for position, counts in tally.items():
            (number, images), (_, turned) = (
                explorer_position_of(variant, paths[position]),
                position_of(variant, paths[position]),
            )
            expected_cells = {
                min(turn[cell] for turn in turned): min(image[cell] for image in images)
                for cell in range(variant.cells)
            }
            expected_cells[ENDED] = ENDED
            assert rows[number] == Counter(
                {(expected_cells[move], result): count for (move, result), count in counts.items()}
            )


async def test_a_position_answers_with_moves_results_and_games(arena: Arena) -> None:
    variant = parse_variant("tictactoe")
    _, games = await store_random_games(arena, "tictactoe", 300)
    await count_all(arena)
    found = await arena.store.read(partial(explore, variant="", time_class="", moves=[]))
    tally, _ = by_brute_force(variant, games)
    assert found.rating_list == "tictactoe/untimed"
    assert found.rating_lists == ["tictactoe/untimed"]
    assert found.waiting == 0
    assert sorted(cells for cells, _ in found.moves) == [[0, 2, 6, 8], [1, 3, 5, 7], [4]]
    assert sum(score.games for _, score in found.moves) == tally[0, 0].total()
    assert [score.games for _, score in found.moves] == sorted((each.games for _, each in found.moves), reverse=True)
    assert list(found.legal) == list(range(9))
    # Turned by a quarter, it is the same position.
    one, other = [
        await arena.store.read(partial(explore, variant="tictactoe", time_class="untimed", moves=moves))
        for moves in ([0, 1], [2, 5])
    ]
    assert [score for _, score in one.moves] == [score for _, score in other.moves]
    assert one.games == other.games
    assert [cells for cells, _ in one.moves] != [cells for cells, _ in other.moves]
    for moves in ([0], [0, 4], [4, 0, 8, 1]):
        found = await arena.store.read(partial(explore, variant="tictactoe", time_class="untimed", moves=moves))
        position, _ = position_of(variant, moves)
        count = tally[position].total()
        assert sum(score.games for _, score in found.moves) + found.ended.games == count
        won = Result.SECOND_WINS if len(moves) % 2 else Result.FIRST_WINS
        assert sum(score.wins for _, score in found.moves) + found.ended.wins == sum(
            number for (_, result), number in tally[position].items() if result == won
        )
        assert all(position_of(variant, game.moves[: len(moves)])[0] == position for game in found.games)
        assert min(10, len(found.moves)) <= len(found.games) <= min(10, count)
        assert len(set(map(str, found.games))) == len(found.games)


@pytest.mark.parametrize("moves", [[9], [0, 0], [0, 3, 1, 4, 2, 5], [0] * 13])
async def test_impossible_moves_are_refused(arena: Arena, moves: list[int]) -> None:
    with pytest.raises(InvalidArgument, match="moves"):
        await arena.store.read(partial(explore, variant="tictactoe", time_class="untimed", moves=moves))


async def test_lists_are_apart_by_speed_and_unrated_games_count(arena: Arena) -> None:
    await store_random_games(arena, "tictactoe", 20, slug="slow", rated=False)
    await store_random_games(arena, "tictactoe", 40, slug="fast", time=parse_time_control("1+0"))
    await count_all(arena)
    lists = ("untimed", "bullet")
    slow, fast = [
        await arena.store.read(partial(explore, variant="tictactoe", time_class=rating_list, moves=[]))
        for rating_list in lists
    ]
    assert slow.rating_lists == ["tictactoe/bullet", "tictactoe/untimed"]
    assert 0 < sum(score.games for _, score in slow.moves) < sum(score.games for _, score in fast.moves)


async def test_games_of_challenges_do_not_count(arena: Arena) -> None:
    await store_random_games(arena, "tictactoe", 20)
    arena.execute(f"UPDATE tournaments SET kind = {int(Kind.CHALLENGE)}")
    assert await arena.store.read(count_unexplored) == 0
    assert await arena.store.write(count_some) == 0
    assert arena.rows(COUNTS) == []


async def test_games_count_up_to_the_first_gap_and_all_of_a_cancelled_tournament(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=40)
    games = await arena.play(tournament)
    await arena.commit([*games[:10], *games[11:30]])
    assert await arena.store.read(count_unexplored) == 10
    await count_all(arena)
    assert await arena.store.read(count_unexplored) == 0
    await arena.store.write(partial(cancel_tournament, slug="cup", owner_id=None, now_ms=NOW))
    assert await arena.store.read(count_unexplored) == 20
    await count_all(arena, most=7)
    tally, _ = by_brute_force(parse_variant("tictactoe"), [*games[:10], *games[11:30]])
    rows = arena.rows("SELECT sum(games) FROM explorer_moves")
    assert rows == [(sum(counts.total() for counts in tally.values()),)]


async def test_a_failed_step_counts_nothing_and_small_steps_lead_to_the_same(arena: Arena) -> None:
    await store_random_games(arena, "connect4", 60)
    await count_all(arena)
    at_once = arena.rows(COUNTS)
    await arena.store.write(forget_all)
    assert arena.rows(COUNTS) == []

    def fail(connection: Connection) -> None:
        count_some(connection, 7)
        raise ZeroDivisionError

    for _ in range(3):
        with suppress(ZeroDivisionError):
            await arena.store.write(fail)
        await arena.store.write(partial(count_some, most=7))
    await count_all(arena, most=11)
    assert arena.rows(COUNTS) == at_once


async def test_leaderboards_have_the_decisions_and_blunders_of_all_games(arena: Arena) -> None:
    expected: defaultdict[str, Accuracy] = defaultdict(Accuracy)
    judge = Judge(parse_variant("tictactoe"))
    # A bot can play in two versions.
    for slug, bots, opening in (("one", ("ada", "bob"), 0), ("two", ("ada", "bob", "ada"), 2)):
        _, finished = await store_random_games(arena, "tictactoe", 60, slug=slug, opening=opening, bots=bots)
        for game in (game for game in finished if game.result is not Result.VOID):
            sides = judge.judge(list(game.moves), game.opening_plies, Effort(None))
            for entry, side in zip((game.first, game.second), sides, strict=True):
                expected[bots[entry]] = expected[bots[entry]].plus(side)
    for _ in range(2):
        await count_all(arena)
        rows = (await arena.store.read(leaderboard)).items
        found = {row.bot: Accuracy(row.judged_games, row.decisions, row.blunders) for row in rows}
        assert found == expected
        assert (await arena.store.read(partial(list_bot_ratings, bot="ada"))).items[0][1].decisions > 100
        await arena.store.write(forget_all)
    assert {row.decisions for row in (await arena.store.read(leaderboard)).items} == {0}


async def test_decisions_count_in_games_that_begin_after_the_counted_plies(arena: Arena) -> None:
    _, finished = await store_random_games(arena, "mnk:4,4,4", 60, opening=PLIES)
    judge = Judge(parse_variant("mnk:4,4,4"))
    expected = Accuracy()
    for game in (game for game in finished if game.result is not Result.VOID):
        for side in judge.judge(list(game.moves), game.opening_plies, Effort(None)):
            expected = expected.plus(side)
    await count_all(arena)
    assert arena.rows(COUNTS) == []
    assert expected.decisions
    judged = arena.rows("SELECT sum(judged_games), sum(decisions), sum(blunders) FROM accuracies")
    assert judged == [tuple(expected)]


async def test_games_share_a_bounded_search_and_other_variants_have_no_counts(arena: Arena) -> None:
    await store_random_games(arena, "gomoku", 20, slug="large")
    # All positions of these games would take hours.
    _, finished = await store_random_games(arena, "mnk:5,5,4", 40, slug="hard")
    await count_all(arena, most=10)
    judged = arena.rows(
        "SELECT variant, sum(judged_games) FROM accuracies JOIN rating_lists ON id = list_id GROUP BY 1"
    )
    long = [game for game in finished if game.result is not Result.VOID and len(game.moves) > 12]
    assert [name for name, _ in judged] == ["mnk:5,5,4"]
    # Each game counts for both bots. Some games cannot be judged with their share of the search.
    assert judged[0][1] > len(long)


async def test_a_damaged_game_and_a_board_that_shrank_fail_nothing(arena: Arena, database_kind: str) -> None:
    await store_random_games(arena, "mnk:17,17,5", 20, slug="damaged")
    three_bytes = "x'010203'" if database_kind == SQLITE else "'abc'::bytea"
    arena.execute(f"UPDATE games SET moves = {three_bytes} WHERE ordinal = 3")
    await store_random_games(arena, "tictactoe", 20)
    await count_all(arena)
    arena.execute("UPDATE explorer_moves SET move = 20 WHERE move = 0")
    found = await arena.store.read(partial(explore, variant="tictactoe", time_class="untimed", moves=[]))
    assert found.rating_lists == ["tictactoe/untimed"]
    assert {cell for cells, _ in found.moves for cell in cells} <= set(range(1, 9))
    unknown = await arena.store.read(partial(explore, variant="connect4", time_class="untimed", moves=[38]))
    assert (unknown.moves, unknown.rating_lists) == ([], found.rating_lists)


async def test_uncounted_games_are_found_without_reading_all_tournaments(arena: Arena, database_kind: str) -> None:
    def plan(connection: Connection) -> str:
        if database_kind == SQLITE:
            explain = "EXPLAIN QUERY PLAN"
        else:
            # PostgreSQL prefers to read a small table as a whole.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            explain = "EXPLAIN"
        statement = f"{explain} SELECT sum(folded - explored) FROM tournaments WHERE {UNEXPLORED}"
        return str(connection.exec_driver_sql(statement).all())

    found = await arena.store.read(plan)
    assert " ix_tournaments_unexplored " in found
    assert database_kind == POSTGRESQL or " COVERING INDEX " in found


@pytest.mark.processes
async def test_a_count_that_was_killed_resumes_and_counts_no_game_twice(arena: Arena, tmp_path: Path) -> None:
    await store_random_games(arena, "gomoku", 400)
    with started(["-c", COUNTING_PROGRAM, url_of(arena.path)], environment(), (sys.executable,)) as counter:
        assert counter.stdout is not None
        for _ in range(5):
            assert counter.stdout.readline() == "counted\n"
        counter.kill()
    await count_all(arena)
    after_kill = arena.rows(COUNTS)
    await arena.store.write(forget_all)
    await count_all(arena)
    assert arena.rows(COUNTS) == after_kill


@pytest.mark.parametrize(
    "variant, moves, number",
    [("tictactoe", [4, 0], -5502610282895457810), ("qubic", [21, 42, 3], -8715035805525742888)],
)
def test_numbers_of_positions_are_the_same_in_every_process(variant: str, moves: list[int], number: int) -> None:
    """Other numbers would mix with those of stored counts."""
    assert explorer_position_of(parse_variant(variant), moves)[0] == number
