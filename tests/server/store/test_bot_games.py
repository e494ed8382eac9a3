"""A bot's games and its scores against others equal those that a loop over all stored games finds."""

from functools import partial
from random import Random
from typing import Any

import pytest

from noughts_referee.rules import Result
from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.store.games import bot_games
from noughts_server.store.games.bot_games import HeadToHead, ScoreBySide, head_to_head, list_bot_games
from noughts_server.store.games.bot_statistics import bot_statistics
from noughts_server.store.games.games import StoredGame, get_game
from noughts_server.store.tournaments.tournaments import Tournament, cancel_tournament
from tests.support.arena import NOW, Arena
from tests.support.settings import repetitions

BOTS = ("ada", "bob", "cleo", "dora", "emil")


async def all_bot_games(
    arena: Arena, bot: str, size: int = 7, *, opponent: str = "", tournament: str = ""
) -> list[StoredGame]:
    """Read all pages of the list of a bot's games, with `size` games a page."""
    games, token = [], ""
    while True:
        read = partial(list_bot_games, bot=bot, opponent=opponent, tournament=tournament, size=size, page_token=token)
        page = await arena.store.read(read)
        assert len(page.items) <= size
        games += page.items
        if not (token := page.next_page_token):
            return games


async def play_random_tournaments(arena: Arena, draw: Random, count: int) -> list[Tournament]:
    """Create tournaments of random bots, also in several versions, and store some games of each; cancel some."""
    tournaments = []
    for number in range(count):
        bots = [draw.choice(BOTS) for _ in range(draw.randint(2, 6))]
        if len(set(bots)) == 1:
            bots.append(draw.choice([bot for bot in BOTS if bot != bots[0]]))
        tournament = await arena.tournament(
            f"cup{number}",
            bots=bots,
            games_per_pair=draw.randint(1, 5),
            rated=draw.random() < 0.7,
            variant=draw.choice(["tictactoe", "mnk:4,4,3"]),
        )
        tournaments.append(tournament)
        games = await arena.play(tournament)
        draw.shuffle(games)
        stored_count = draw.choice([len(games), draw.randint(0, len(games))])
        await arena.commit(games[: stored_count // 2])
        await arena.commit(games[stored_count // 2 : stored_count])
        if stored_count < len(games) and draw.random() < 0.5:
            await arena.store.write(partial(cancel_tournament, slug=tournament.slug, now_ms=NOW))
    return tournaments


def stored_rows(arena: Arena) -> list[tuple[Any, ...]]:
    """Return all stored games, newest first: tournament id, ordinal, slug, first bot, second bot, result, variant."""
    return arena.rows(
        "SELECT g.tournament_id, g.ordinal, t.slug, b1.name, b2.name, g.result, t.variant FROM games g"
        " JOIN tournaments t ON t.id = g.tournament_id"
        " JOIN entries e1 ON e1.tournament_id = t.id AND e1.number = g.first_entry"
        " JOIN entries e2 ON e2.tournament_id = t.id AND e2.number = g.second_entry"
        " JOIN bot_versions v1 ON v1.id = e1.bot_version_id JOIN bots b1 ON b1.id = v1.bot_id"
        " JOIN bot_versions v2 ON v2.id = e2.bot_version_id JOIN bots b2 ON b2.id = v2.bot_id"
        " ORDER BY 1 DESC, 2 DESC"
    )


@pytest.fixture(params=range(repetitions(2)))
async def mixed_arena(arena: Arena, request: pytest.FixtureRequest) -> Arena:
    """A store with a random mixture of tournaments in which every bot has played."""
    await play_random_tournaments(arena, Random(request.param), 7)
    await arena.commit(await arena.play(await arena.tournament("last", bots=BOTS, games_per_pair=1)))
    return arena


@pytest.mark.long
async def test_every_list_of_a_bots_games_is_that_of_all_games_filtered(mixed_arena: Arena) -> None:
    games = stored_rows(mixed_arena)
    for bot in BOTS:
        of_bot = [row for row in games if bot in row[3:5]]
        for size in (1, 4, 1000) if bot == BOTS[0] else (4, 1000):
            listed = await all_bot_games(mixed_arena, bot, size)
            assert [(game.tournament_id, game.ordinal) for game in listed] == [row[:2] for row in of_bot]
        for slug in ("cup0", "cup3"):
            listed = await all_bot_games(mixed_arena, bot, tournament=slug)
            assert [game.ordinal for game in listed] == [row[1] for row in of_bot if row[2] == slug]
        for other in BOTS:
            listed = await all_bot_games(mixed_arena, bot, 3, opponent=other)
            pairs = [row for row in of_bot if set(row[3:5]) == {bot, other}]
            assert [(game.tournament_id, game.ordinal) for game in listed] == [row[:2] for row in pairs]


@pytest.mark.long
async def test_game_in_a_bots_list_is_the_game_itself_and_names_both_bots(mixed_arena: Arena) -> None:
    bots = {row[:2]: row[3:5] for row in stored_rows(mixed_arena)}
    for game in await all_bot_games(mixed_arena, "ada"):
        slug = game.tournament.removeprefix("tournaments/")
        assert game == await mixed_arena.store.read(partial(get_game, slug=slug, ordinal=game.ordinal))
        bot_names = tuple(name.split("/")[1] for name in (game.first_bot, game.second_bot))
        assert bot_names == bots[game.tournament_id, game.ordinal]


@pytest.mark.long
async def test_head_to_head_counts_what_was_stored(mixed_arena: Arena) -> None:
    games = stored_rows(mixed_arena)
    for bot in BOTS:
        for other in BOTS:
            if bot == other:
                continue
            expected = HeadToHead(ScoreBySide(), {}, [])
            for row in games:
                result = row[5]
                if {*row[3:5]} != {bot, other} or result == Result.VOID:
                    continue
                counts = (int(result == 1), int(result == 2), int(result == 3))
                for sides in (expected.total, expected.variants.setdefault(row[6], ScoreBySide())):
                    if row[3] == bot:
                        sides.first += Score(*counts)
                    else:
                        sides.second += Score(*counts[::-1])
            scores = await mixed_arena.store.read(partial(head_to_head, bot=bot, opponent=other, last_games=3))
            assert scores[:2] == expected[:2]
            assert list(scores.variants) == sorted(expected.variants)
            assert scores.last_games == (await all_bot_games(mixed_arena, bot, opponent=other))[:3]


async def test_paging_visits_every_game_once_while_games_are_added(arena: Arena) -> None:
    old = await arena.tournament("old", bots=BOTS, games_per_pair=3)
    await arena.commit(await arena.play(old))
    running = await arena.tournament("running", bots=BOTS, games_per_pair=20)
    rest = await arena.play(running)
    Random(1).shuffle(rest)
    await arena.commit(rest[:60])
    earlier_games = [row[:2] for row in stored_rows(arena) if "bob" in row[3:5]]
    rest, seen, token = rest[60:], [], ""
    while True:
        page = await arena.store.read(partial(list_bot_games, bot="bob", size=3, page_token=token))
        seen += [(game.tournament_id, game.ordinal) for game in page.items]
        if not (token := page.next_page_token):
            break
        await arena.commit(rest[:5])
        rest = rest[5:]
    assert seen == sorted(set(seen), reverse=True)
    assert set(earlier_games) <= set(seen)


async def test_gaps_make_no_page_slow(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_games, "_MOST_SLOTS_READ", 40)
    await arena.commit(await arena.play(await arena.tournament("old")))
    tournament = await arena.tournament("gappy", games_per_pair=1000)
    games = await arena.play(tournament)
    await arena.commit([games[3], games[500], games[-1]])
    pages, token = [], ""
    while True:
        page = await arena.store.read(partial(list_bot_games, bot="ada", size=2, page_token=token))
        pages.append([game.ordinal for game in page.items])
        if not (token := page.next_page_token):
            break
    assert [ordinal for page in pages for ordinal in page] == [1000, 501, 4, 2, 1]
    assert [] in pages


async def test_bots_that_never_met_have_no_score(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament("one")))
    await arena.tournament("two", bots=("cleo", "dora"))
    for opponent in ("cleo", "dora"):
        score = await arena.store.read(partial(head_to_head, bot="ada", opponent=opponent, last_games=5))
        assert score == (ScoreBySide(Score(), Score()), {}, [])
    assert await all_bot_games(arena, "cleo") == []


async def test_unknown_bot_opponent_or_tournament_is_not_found(arena: Arena) -> None:
    await arena.tournament()
    for bot, opponent, tournament in (("zoe", "", ""), ("ada", "zoe", ""), ("ada", "", "nowhere")):
        with pytest.raises(NotFound):
            await all_bot_games(arena, bot, opponent=opponent, tournament=tournament)
    with pytest.raises(NotFound, match="bots/zoe"):
        await arena.store.read(partial(head_to_head, bot="ada", opponent="zoe"))


async def test_head_to_head_needs_another_bot_and_a_number_of_games(arena: Arena) -> None:
    await arena.tournament()
    with pytest.raises(InvalidArgument, match="a bot other than"):
        await arena.store.read(partial(head_to_head, bot="ada", opponent="ada"))
    with pytest.raises(InvalidArgument, match="last_games"):
        await arena.store.read(partial(head_to_head, bot="ada", opponent="bob", last_games=-1))


async def test_page_token_of_other_filters_is_an_invalid_argument(arena: Arena) -> None:
    await arena.commit(await arena.play(await arena.tournament(bots=("ada", "bob", "cleo"))))
    token = (await arena.store.read(partial(list_bot_games, bot="ada", size=1))).next_page_token
    for bot, opponent, tournament in (("bob", "", ""), ("ada", "bob", ""), ("ada", "", "cup")):
        read = partial(list_bot_games, bot=bot, opponent=opponent, tournament=tournament, page_token=token)
        with pytest.raises(InvalidArgument):
            await arena.store.read(read)


async def test_games_of_a_bot_are_without_a_variant_that_is_not_installed(arena: Arena) -> None:
    for slug, variant in (("old", "tictactoe"), ("gone", "mnk:4,4,3"), ("new", "tictactoe")):
        await arena.commit(await arena.play(await arena.tournament(slug, variant=variant)))
    arena.execute("UPDATE tournaments SET variant = 'a-plugin' WHERE slug = 'gone'")
    games = await all_bot_games(arena, "ada")
    assert [game.tournament for game in games] == ["tournaments/new"] * 2 + ["tournaments/old"] * 2
    statistics = await arena.store.read(partial(bot_statistics, bot="ada"))
    assert statistics.games == 4
