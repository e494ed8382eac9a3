"""Reading stored games."""

import os
from functools import partial

import pytest

from noughts_referee.comments import pack_comments
from noughts_referee.rules import CONCEDED_FAULT, FAULTS, Result, Termination, Thought, game_seed, pack_thoughts
from noughts_referee.work_units import unpack_moves, unpack_times
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.store.engine.database import Connection
from noughts_server.store.games import games as stored_games
from noughts_server.store.games.bot_games import list_bot_games
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.games.games import GameFilter, StoredGame, count_faults, get_game, list_games, terminations
from tests.support.arena import NOW, Arena


async def all_games(arena: Arena, slug: str, size: int) -> list[StoredGame]:
    """Read all pages of a tournament's games, with `size` games a page."""
    games, token = [], ""
    while True:
        page = await arena.store.read(partial(list_games, slug=slug, size=size, page_token=token))
        assert len(page.items) <= size
        games += page.items
        if not (token := page.next_page_token):
            return games


async def test_game_is_read_as_it_was_played(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=4)
    made_up = (await arena.play(tournament))[1]
    await arena.commit([made_up])
    game = await arena.store.read(partial(get_game, slug="cup", ordinal=2))
    assert game.name == "tournaments/cup/games/2"
    assert (game.variant, game.first, game.second) == ("tictactoe", "bob", "ada")
    assert game.seed == game_seed(7, 2)
    assert game.moves == list(made_up.moves)
    assert game.times_us == [1000 * (ply + 1) for ply in range(len(game.moves))]
    assert (game.result, game.termination, game.ended_at) == (made_up.result, Termination.LINE, NOW)
    # It is not rated before the first slot has a game.
    assert game.rating_seq is None


async def test_moves_on_large_boards_are_read_back(arena: Arena) -> None:
    tournament = await arena.tournament(variant="mnk:20,20,5")
    [first, second] = await arena.play(tournament)
    moves = bytes([0x8F, 0x01, 0x02, 0x00])
    await arena.commit([first._replace(moves=moves), second])
    game = await arena.store.read(partial(get_game, slug="cup", ordinal=1))
    assert game.moves == [399, 2] == unpack_moves(moves, 400)


@pytest.mark.parametrize(
    "ordinal, hint", [(0, "from 1 to 2"), (3, "from 1 to 2"), (2**70, "from 1 to 2"), (2, "until it has been played")]
)
async def test_game_that_does_not_exist_is_not_found(arena: Arena, ordinal: int, hint: str) -> None:
    tournament = await arena.tournament()
    await arena.commit((await arena.play(tournament))[:1])
    with pytest.raises(NotFound, match=f"tournaments/cup/games/{ordinal}") as caught:
        await arena.store.read(partial(get_game, slug="cup", ordinal=ordinal))
    assert hint in caught.value.hint


async def test_games_are_listed_in_slot_order_whatever_ended_first(arena: Arena) -> None:
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=4)
    played = await arena.play(tournament)
    await arena.commit(played[7:])
    await arena.commit(reversed(played[:5]))
    games = await all_games(arena, "cup", 4)
    assert [game.ordinal for game in games] == [1, 2, 3, 4, 5, 8, 9, 10, 11, 12]


async def test_pages_of_games_lost_by_a_fault_read_no_other_games(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=40)
    endings = [
        Termination.ILLEGAL_MOVE,
        Termination.TIMEOUT,
        Termination.DISCONNECTED,
        Termination.CRASHED,
    ]
    endings += [Termination.RESIGNED, Termination.ADJUDICATED]
    # Every second resignation is that of a bot that failed.
    games = [
        game._replace(
            result=Result.FIRST_WINS,
            termination=endings[game.ordinal % 6],
            fault="resigned: ValueError" if game.ordinal % 12 == 4 else "",
        )
        if game.ordinal % 3
        else game
        for game in await arena.play(tournament)
    ]
    await arena.commit(games)
    failed = [game for game in games if game.termination is Termination.RESIGNED and game.fault]
    expected = [game.ordinal for game in games if game.termination in FAULTS or game in failed]
    assert failed
    assert len(expected) < len([game for game in games if game.termination in endings[:5]])
    standings = await arena.store.read(partial(count_faults, tournament_id=tournament.id))
    assert sum(standings.values()) == len(expected)
    for size in (1, 4, 1000):
        ordinals: list[int] = []
        token = ""
        while True:
            read = partial(list_games, slug="cup", size=size, page_token=token, game_filter=GameFilter(faults=True))
            page = await arena.store.read(read)
            ordinals += [game.ordinal for game in page.items]
            if not (token := page.next_page_token):
                break
        assert ordinals == expected
    token = (await arena.store.read(partial(list_games, slug="cup", size=1))).next_page_token
    with pytest.raises(InvalidArgument, match="page_token"):
        await arena.store.read(partial(list_games, slug="cup", page_token=token, game_filter=GameFilter(faults=True)))


async def test_games_that_the_organiser_stopped_are_found_behind_many_others(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_games, "_MOST_GAMES_READ", 5)
    faults = {7: CONCEDED_FAULT, 12: "was withdrawn", 39: CONCEDED_FAULT}
    games = await arena.play(await arena.tournament(games_per_pair=40))
    await arena.commit(
        game._replace(result=Result.FIRST_WINS, termination=Termination.ADJUDICATED, fault=faults.get(game.ordinal, ""))
        for game in games
    )
    read = partial(list_games, slug="cup", size=1, game_filter=GameFilter(stopped=True))
    first = await arena.store.read(read)
    second = await arena.store.read(partial(read, page_token=first.next_page_token))
    assert [game.ordinal for game in (*first.items, *second.items)] == [7, 39]
    assert second.next_page_token == ""


async def test_pages_of_long_games_end_early(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_games, "_PAGE_BYTES", 2_500)
    await arena.commit(await arena.play(await arena.tournament(games_per_pair=20)))
    games = await all_games(arena, "cup", 1000)
    assert [game.ordinal for game in games] == list(range(1, 21))
    lists = (partial(list_games, slug="cup"), partial(list_bot_games, bot="ada"))
    for method in lists:
        token, ordinals = "", []
        while True:
            page = await arena.store.read(partial(method, size=1000, page_token=token))
            assert 0 < sum(game.size for game in page.items) <= 2_500
            ordinals += [game.ordinal for game in page.items]
            if not (token := page.next_page_token):
                break
        assert sorted(ordinals) == list(range(1, 21))


@pytest.mark.parametrize("looked_at", [5, 100_000])
async def test_filters_find_the_same_games_as_a_loop_over_all_games(
    arena: Arena, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_games, "_MOST_GAMES_READ", looked_at)
    tournament = await arena.tournament(bots=("ada", "bob", "ada"), games_per_pair=20)
    endings = list(Termination)
    await arena.commit(
        game._replace(termination=endings[game.ordinal % len(endings)]) for game in await arena.play(tournament)
    )
    every_game = await all_games(arena, "cup", 1000)

    def matches(game: StoredGame, game_filter: GameFilter, entries: set[str]) -> bool:
        sides = [side for side, label in enumerate((game.first, game.second)) if label in entries]
        won = {True: game.result.winner, False: game.result.loser, None: None}[game_filter.won]
        return (
            (not game_filter.faults or game.termination in FAULTS)
            and game_filter.result in (None, game.result)
            and game_filter.termination in (None, game.termination)
            and (not entries or (bool(sides) if game_filter.won is None else won in sides))
        )

    every_filter = [
        GameFilter(faults, result, termination, won)
        for faults in (False, True)
        for result in (None, Result.FIRST_WINS)
        for termination in (None, Termination.TIMEOUT)
        for won in (None, True, False)
    ]
    for game_filter in every_filter:
        for entry, labels in (("", set()), ("ada#2", {"ada#2"}), ("bots/ada", {"ada", "ada#2"})):
            if game_filter.won is not None and not entry:
                continue
            expected = [game.ordinal for game in every_game if matches(game, game_filter, labels)]
            ordinals: list[int] = []
            token = ""
            while True:
                read = partial(list_games, slug="cup", size=4, page_token=token, game_filter=game_filter, entry=entry)
                page = await arena.store.read(read)
                ordinals += [game.ordinal for game in page.items]
                if not (token := page.next_page_token):
                    break
            assert ordinals == expected, (game_filter, entry)
        of_bot = await arena.store.read(partial(list_bot_games, bot="ada", size=1000, game_filter=game_filter))
        expected = [game.ordinal for game in every_game if matches(game, game_filter, {"ada", "ada#2"})]
        assert [game.ordinal for game in of_bot.items] == expected[::-1], game_filter


async def test_faults_are_counted_for_the_side_that_lost(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=20)
    endings = [Termination.ILLEGAL_MOVE, Termination.LINE, Termination.CRASHED]
    games = [game._replace(termination=endings[game.ordinal % 3]) for game in await arena.play(tournament)]
    await arena.commit(games)
    losers = [
        (game.first, game.second)[game.result is Result.FIRST_WINS]
        for game in games
        if game.termination in FAULTS and game.result in (Result.FIRST_WINS, Result.SECOND_WINS)
    ]
    faults = await arena.store.read(lambda connection: count_faults(connection, tournament.id))
    assert faults == {entry: losers.count(entry) for entry in set(losers)}


async def test_open_tournament_has_no_games(arena: Arena) -> None:
    await arena.tournament(start=False)
    assert await all_games(arena, "cup", 10) == []


async def test_page_token_of_another_tournament_is_an_invalid_argument(arena: Arena) -> None:
    for slug in ("one", "two"):
        await arena.commit(await arena.play(await arena.tournament(slug)))
    page = await arena.store.read(partial(list_games, slug="one", size=1))
    with pytest.raises(InvalidArgument):
        await arena.store.read(partial(list_games, slug="two", page_token=page.next_page_token))


async def test_rating_seq_counts_rated_games_of_all_tournaments(arena: Arena) -> None:
    one = await arena.tournament("one", games_per_pair=30)
    two = await arena.tournament("two", bots=("ada", "bob", "ada"), games_per_pair=10)
    unrated = await arena.tournament("unrated", rated=False)
    ones, twos = await arena.play(one), await arena.play(two)
    for batch in (ones[:10], twos[:13], ones[10:], twos[13:], await arena.play(unrated)):
        await arena.commit(batch)
    # In order of the log: ten slots of one, thirteen of two, and so on; void games and ada against ada use none.
    expected = {
        **{("one", ordinal): ordinal for ordinal in range(1, 11)},
        **{("two", ordinal): 10 + ordinal for ordinal in range(1, 14)},
        **{("one", ordinal): 13 + ordinal for ordinal in range(11, 31)},
        **{("two", ordinal): 30 + ordinal for ordinal in range(14, 31)},
    }
    for slug in ("one", "two"):
        for game in await all_games(arena, slug, 7):
            rated = game.result is not Result.VOID and {game.first, game.second} != {"ada", "ada#2"}
            assert game.rating_seq == (expected[slug, game.ordinal] if rated else None)
            single_game = await arena.store.read(partial(get_game, slug=slug, ordinal=game.ordinal))
            assert single_game == game
    assert {game.rating_seq for game in await all_games(arena, "unrated", 7)} == {None}


async def test_export_has_all_games_in_slot_order_with_results_as_in_files(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=2500)
    games = await arena.play(tournament)
    await arena.commit(sorted(games, key=lambda game: game.moves))

    def read(connection: Connection) -> list[ExportedGame]:
        return list(export(connection, tournament.id))

    exported = await arena.store.read(read)
    result_texts = {1: "1-0", 2: "1/2-1/2", 3: "0-1", 4: "*"}
    labels = ("ada", "bob")
    assert exported == [
        ExportedGame(
            "tictactoe",
            labels[game.first],
            labels[game.second],
            game_seed(7, game.ordinal),
            list(game.moves),
            unpack_times(game.times),
            result_texts[game.result],
            "void" if game.result == Result.VOID else "line",
            ordinal=game.ordinal,
        )
        for game in games
    ]
    assert all(game.ended_at > 1_600_000_000_000 for game in exported)


async def test_only_terminations_that_occurred_are_counted(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=100)
    games = await arena.play(tournament)
    await arena.commit(games)
    counts = await arena.store.read(partial(terminations, tournament_id=tournament.id))
    void_games = sum(game.result == Result.VOID for game in games)
    assert counts == {"line": 100 - void_games, "void": void_games}


async def test_only_single_games_have_comments_unless_asked(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=4, keep_scores=True)
    comments = {0: "centre", 3: "hm"}
    thoughts = {3: Thought(depth=4, nodes=10**12, time_us=7, pv=(2, 5))}
    packed_comments, packed_thoughts = pack_comments(comments), pack_thoughts(thoughts)
    games = await arena.play(tournament)
    await arena.commit([game._replace(comments=packed_comments, thoughts=packed_thoughts) for game in games])
    assert (await arena.store.read(partial(get_game, slug="cup", ordinal=2))).thoughts == thoughts
    assert (await arena.store.read(partial(get_game, slug="cup", ordinal=2))).comments == comments
    for read_list in (partial(list_games, slug="cup"), partial(list_bot_games, bot="ada")):
        assert [game.comments for game in (await arena.store.read(read_list)).items] == [{}] * 4
    with_comments = await arena.store.read(partial(list_games, slug="cup", comments=True))
    exported = await arena.store.read(lambda connection: list(export(connection, tournament.id)))
    assert [game.comments for game in with_comments.items] == [game.comments for game in exported] == [comments] * 4
    assert [game.thoughts for game in with_comments.items] == [game.thoughts for game in exported] == [thoughts] * 4


async def test_pages_with_comments_end_by_their_real_bytes(arena: Arena) -> None:
    tournament = await arena.tournament(games_per_pair=12, keep_scores=True)
    repetitive, incompressible = pack_comments({0: "x" * 600_000}), pack_comments({0: os.urandom(200_000).hex()})
    games = await arena.play(tournament)
    await arena.commit([game._replace(comments=(repetitive, incompressible)[game.ordinal % 2]) for game in games])
    token, sizes = "", []
    while True:
        page = await arena.store.read(partial(list_games, slug="cup", comments=True, size=1000, page_token=token))
        sizes.append(sum(len(text) for game in page.items for text in game.comments.values()))
        if not (token := page.next_page_token):
            break
    # Six comments of 600,000 characters and six of 400,000, and no page above 1 MiB.
    assert sum(sizes) == 6 * 1_000_000
    assert max(sizes) <= 1 << 20
    assert [game.ordinal for game in await all_games(arena, "cup", 1000)] == list(range(1, 13))
