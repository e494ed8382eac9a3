"""A bot's games and its scores against others, compared with going over all stored games."""

from functools import partial
from random import Random
from typing import Any

import pytest

from noughts_referee.rules import Result
from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument, NotFound
from noughts_server.store.games import bot_games
from noughts_server.store.games.bot_games import HeadToHead, ScoreBySide, head_to_head, list_bot_games
from noughts_server.store.games.games import StoredGame, get_game
from noughts_server.store.tournaments.tournaments import Tournament, cancel_tournament
from tests.support.arena import NOW, Arena
from tests.support.settings import repetitions

BOTS = ("ada", "bob", "cleo", "dora", "emil")


async def listed(
    arena: Arena, bot: str, size: int = 7, *, opponent: str = "", tournament: str = ""
) -> list[StoredGame]:
    """All games of a bot, page by page."""
    found, token = [], ""
    while True:
        read = partial(list_bot_games, bot=bot, opponent=opponent, tournament=tournament, size=size, page_token=token)
        page = await arena.store.read(read)
        assert len(page.items) <= size
        found += page.items
        if not (token := page.next_page_token):
            return found


async def play_some(arena: Arena, draw: Random, count: int) -> list[Tournament]:
    """Tournaments with any bots, also in several versions, of which anything is played; some are cancelled."""
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
        played = await arena.play(tournament)
        draw.shuffle(played)
        kept = draw.choice([len(played), draw.randint(0, len(played))])
        await arena.commit(played[: kept // 2])
        await arena.commit(played[kept // 2 : kept])
        if kept < len(played) and draw.random() < 0.5:
            await arena.store.write(partial(cancel_tournament, slug=tournament.slug, now_ms=NOW))
    return tournaments


def stored(arena: Arena) -> list[tuple[Any, ...]]:
    """Tournament, ordinal, slug, bots of first and second, result and variant of all stored games, newest first."""
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
async def mixed(arena: Arena, request: pytest.FixtureRequest) -> Arena:
    """A store with a random mixture of tournaments in which every bot has played."""
    await play_some(arena, Random(request.param), 7)
    await arena.commit(await arena.play(await arena.tournament("last", bots=BOTS, games_per_pair=1)))
    return arena


@pytest.mark.long
async def test_every_list_of_a_bots_games_is_that_of_all_games_filtered(mixed: Arena) -> None:
    games = stored(mixed)
    for bot in BOTS:
        of_bot = [row for row in games if bot in row[3:5]]
        for size in (1, 4, 1000) if bot == BOTS[0] else (4, 1000):
            found = await listed(mixed, bot, size)
            assert [(game.tournament_id, game.ordinal) for game in found] == [row[:2] for row in of_bot]
        for slug in ("cup0", "cup3"):
            found = await listed(mixed, bot, tournament=slug)
            assert [game.ordinal for game in found] == [row[1] for row in of_bot if row[2] == slug]
        for other in BOTS:
            found = await listed(mixed, bot, 3, opponent=other)
            pairs = [row for row in of_bot if set(row[3:5]) == {bot, other}]
            assert [(game.tournament_id, game.ordinal) for game in found] == [row[:2] for row in pairs]


@pytest.mark.long
async def test_game_in_a_bots_list_is_the_game_itself_and_names_both_bots(mixed: Arena) -> None:
    bots = {row[:2]: row[3:5] for row in stored(mixed)}
    for game in await listed(mixed, "ada"):
        slug = game.tournament.removeprefix("tournaments/")
        assert game == await mixed.store.read(partial(get_game, slug=slug, ordinal=game.ordinal))
        named = tuple(name.split("/")[1] for name in (game.first_bot, game.second_bot))
        assert named == bots[game.tournament_id, game.ordinal]


@pytest.mark.long
async def test_head_to_head_counts_what_was_stored(mixed: Arena) -> None:
    games = stored(mixed)
    for bot in BOTS:
        for other in BOTS:
            if bot == other:
                continue
            expected = HeadToHead(ScoreBySide(), {}, [])
            for row in games:
                result = row[5]
                if {*row[3:5]} != {bot, other} or result == Result.VOID:
                    continue
                score = (int(result == 1), int(result == 2), int(result == 3))
                for sides in (expected.total, expected.variants.setdefault(row[6], ScoreBySide())):
                    if row[3] == bot:
                        sides.first += Score(*score)
                    else:
                        sides.second += Score(*score[::-1])
            found = await mixed.store.read(partial(head_to_head, bot=bot, opponent=other, last_games=3))
            assert found[:2] == expected[:2]
            assert list(found.variants) == sorted(expected.variants)
            assert found.last_games == (await listed(mixed, bot, opponent=other))[:3]


async def test_paging_visits_every_game_once_while_games_are_added(arena: Arena) -> None:
    old = await arena.tournament("old", bots=BOTS, games_per_pair=3)
    await arena.commit(await arena.play(old))
    running = await arena.tournament("running", bots=BOTS, games_per_pair=20)
    rest = await arena.play(running)
    Random(1).shuffle(rest)
    await arena.commit(rest[:60])
    there = [row[:2] for row in stored(arena) if "bob" in row[3:5]]
    rest, seen, token = rest[60:], [], ""
    while True:
        page = await arena.store.read(partial(list_bot_games, bot="bob", size=3, page_token=token))
        seen += [(game.tournament_id, game.ordinal) for game in page.items]
        if not (token := page.next_page_token):
            break
        await arena.commit(rest[:5])
        rest = rest[5:]
    assert seen == sorted(set(seen), reverse=True)
    assert set(there) <= set(seen)


async def test_gaps_make_no_page_slow(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_games, "_MOST_SLOTS_READ", 40)
    await arena.commit(await arena.play(await arena.tournament("old")))
    gappy = await arena.tournament("gappy", games_per_pair=1000)
    played = await arena.play(gappy)
    await arena.commit([played[3], played[500], played[-1]])
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
        found = await arena.store.read(partial(head_to_head, bot="ada", opponent=opponent, last_games=5))
        assert found == (ScoreBySide(Score(), Score()), {}, [])
    assert await listed(arena, "cleo") == []


async def test_unknown_bot_opponent_or_tournament_is_not_found(arena: Arena) -> None:
    await arena.tournament()
    for bot, opponent, tournament in (("zoe", "", ""), ("ada", "zoe", ""), ("ada", "", "nowhere")):
        with pytest.raises(NotFound):
            await listed(arena, bot, opponent=opponent, tournament=tournament)
    with pytest.raises(NotFound, match="bots/zoe"):
        await arena.store.read(partial(head_to_head, bot="ada", opponent="zoe"))


async def test_nobody_plays_head_to_head_with_itself(arena: Arena) -> None:
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
