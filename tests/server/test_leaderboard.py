"""Leaderboards."""

from functools import partial

import pytest

from noughts_referee.clock import parse_time_control
from noughts_server.errors import InvalidArgument
from noughts_server.store.leaderboards import LeaderboardRow, leaderboard
from noughts_server.store.rating_lists import list_name

from .arena import Arena


async def read(arena: Arena, size: int, variant: str = "", time_class: str = "") -> list[LeaderboardRow]:
    rows, token = [], ""
    while True:
        page = await arena.store.read(
            partial(leaderboard, variant=variant, time_class=time_class, size=size, page_token=token)
        )
        rows += page.items
        if not (token := page.next_page_token):
            return rows


async def test_strongest_come_first_and_of_equal_ones_the_newest(arena: Arena) -> None:
    bots = ("dora", "ada", "emil", "cleo", "bob")
    await arena.commit(await arena.play(await arena.tournament(bots=bots, games_per_pair=4)))
    arena.execute("UPDATE ratings SET rating = 1500.5 WHERE bot_id IN (2, 4, 5)")
    whole = await read(arena, 100)
    assert [row.rank for row in whole] == [1, 2, 3, 4, 5]
    assert [(row.rating, row.bot_id) for row in whole] == sorted(
        ((row.rating, row.bot_id) for row in whole), reverse=True
    )
    for size in (1, 2, 3):
        assert await read(arena, size) == whole


async def test_row_counts_the_bots_rated_games_and_says_when_they_are_few(arena: Arena) -> None:
    played = await arena.play(await arena.tournament(games_per_pair=60))
    rated = [game for game in played if game.result != 4]
    until = next(count for count in range(60) if len([game for game in played[:count] if game.result != 4]) == 29)
    await arena.commit(played[:until])
    assert [(row.games, row.provisional) for row in await read(arena, 10)] == [(29, True), (29, True)]
    await arena.commit(played[until:])
    for row in await read(arena, 10):
        assert row.games == row.wins + row.draws + row.losses == len(rated)
        assert not row.provisional


async def test_each_variant_and_time_class_has_its_list(arena: Arena) -> None:
    blitz = parse_time_control("5/move")
    await arena.commit(await arena.play(await arena.tournament("one")))
    await arena.commit(await arena.play(await arena.tournament("two", bots=("cleo", "dora"), time=blitz)))
    await arena.commit(await arena.play(await arena.tournament("three", bots=("emil", "fay"), variant="mnk:4,4,3")))
    assert {row.bot for row in await read(arena, 10)} == {"ada", "bob"}
    assert {row.bot for row in await read(arena, 10, "mnk:3,3,3", "blitz")} == {"cleo", "dora"}
    assert {row.bot for row in await read(arena, 10, "mnk:4,4,3")} == {"emil", "fay"}
    assert await read(arena, 10, "mnk:5,5,4") == []


@pytest.mark.parametrize("variant, time_class", [("chess", ""), ("", "slow")])
async def test_unknown_list_is_an_invalid_argument(arena: Arena, variant: str, time_class: str) -> None:
    with pytest.raises(InvalidArgument):
        await read(arena, 10, variant, time_class)


def test_list_is_named_by_its_canonical_variant() -> None:
    assert list_name() == "tictactoe/untimed"
    assert list_name("mnk:3,3,3", "rapid") == "tictactoe/rapid"
