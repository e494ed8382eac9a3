"""Leagues in the store: which season follows, when it starts, and who plays in it."""

from functools import partial

import pytest

from noughts_server.core.errors import NotFound, PermissionDenied
from noughts_server.store.checking import check_database
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.standings import standings
from noughts_server.store.people.bots import log_in, retire_bot
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.tournaments.entries import join_tournament, withdraw_entry
from noughts_server.store.tournaments.extensions import extend_tournament
from noughts_server.store.tournaments.leagues import (
    WEEK_MS,
    create_league,
    ended_leagues,
    get_league,
    list_seasons,
    open_next_season,
    stop_league,
)
from noughts_server.store.tournaments.scheduled_starts import start_or_cancel
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    cancel_tournament,
    get_tournament,
    pause_tournament,
    start_tournament,
)
from tests.support.arena import NOW, Arena

BOTS = ("ada", "bob", "cleo", "dora")


async def first_season(arena: Arena) -> Tournament:
    """Create a weekly league and start its first season, the tournament `cup`."""
    tournament = await arena.tournament("cup", bots=BOTS, title="Cup", draw_after=40)
    await arena.store.write(partial(create_league, tournament=tournament, interval_ms=WEEK_MS, now_ms=NOW))
    return tournament


async def play_all_games(arena: Arena, tournament: Tournament) -> None:
    await arena.commit(await arena.play(tournament))


async def next_season(arena: Arena, now_ms: int = NOW) -> Tournament | None:
    """Open the season after the one that has ended; None if the league stops."""
    (league,) = await arena.store.read(ended_leagues)
    return await arena.store.write(partial(open_next_season, league_id=league, now_ms=now_ms))


async def test_the_next_season_has_the_same_entries_and_another_seed(arena: Arena) -> None:
    first = await first_season(arena)
    assert await arena.store.read(ended_leagues) == []
    await play_all_games(arena, first)
    second = await next_season(arena)
    assert second is not None
    assert (second.slug, second.settings.title, second.state) == ("cup-2", "Cup, season 2", TournamentState.OPEN)
    assert second.joining.start_at == NOW + WEEK_MS
    assert second.settings.seed != first.settings.seed
    assert (second.settings.draw_after, second.settings.games_per_pair) == (40, 2)
    rows = await arena.store.read(partial(standings, tournament=second))
    assert sorted(row.label for row in rows) == list(BOTS)
    assert await arena.store.read(ended_leagues) == []
    league = await arena.store.read(partial(get_league, slug="cup-2"))
    assert (league.slug, league.season) == ("cup", 2)


@pytest.mark.parametrize("late", [False, True])
async def test_games_added_to_the_first_season_are_played_in_the_next_one(arena: Arena, late: bool) -> None:
    await first_season(arena)
    if late:
        owner = await arena.store.write(partial(create_owner, name="alice"))
        await arena.store.write(partial(pause_tournament, slug="cup", now_ms=NOW))
        await arena.store.write(partial(log_in, owner_id=owner, name="emil", now_ms=NOW))
        await arena.store.write(partial(join_tournament, slug="cup", bot="emil", owner_id=owner))
        await arena.store.write(partial(start_tournament, slug="cup", now_ms=NOW))
    await play_all_games(arena, await arena.store.write(partial(extend_tournament, slug="cup", games_per_pair=4)))
    second = await next_season(arena)
    assert second is not None
    assert second.settings.games_per_pair == 6


async def test_seasons_start_a_whole_number_of_weeks_apart(arena: Arena) -> None:
    await play_all_games(arena, await first_season(arena))
    second = await next_season(arena, NOW + 3 * WEEK_MS + 1)
    assert second is not None
    assert second.joining.start_at == NOW + 4 * WEEK_MS


async def test_bots_that_left_on_request_or_retired_are_not_entered_again(arena: Arena) -> None:
    first = await first_season(arena)
    leave = partial(withdraw_entry, slug="cup", now_ms=NOW)
    await arena.store.write(partial(leave, label="ada", reason="on request"))
    await arena.store.write(partial(leave, label="bob", reason="was away for 10 min while its games waited"))
    await play_all_games(arena, first)
    await arena.store.write(partial(retire_bot, name="dora", now_ms=NOW))
    second = await next_season(arena)
    assert second is not None
    rows = await arena.store.read(partial(standings, tournament=second))
    assert sorted(row.label for row in rows) == ["bob", "cleo"]


async def test_a_season_plays_the_newest_versions_of_its_bots(arena: Arena) -> None:
    await play_all_games(arena, await first_season(arena))
    assert await next_season(arena) is not None

    def new_version(connection: Connection) -> None:
        log_in(connection, owner_id=create_owner(connection, "alice"), name="ada", version="2", now_ms=NOW)

    await arena.store.write(new_version)
    started = await arena.store.write(partial(start_or_cancel, slug="cup-2", now_ms=NOW + WEEK_MS))
    assert started.state is TournamentState.RUNNING
    rows = await arena.store.read(partial(standings, tournament=started))
    versions = {row.label: row.bot_version for row in rows}
    assert (versions["ada"], versions["bob"]) == ("bots/ada/versions/2", "bots/bob/versions/1")
    report = await arena.store.read(lambda connection: check_database(connection, lambda game: []))
    assert report.findings == []


async def test_a_season_waits_while_another_one_runs(arena: Arena) -> None:
    first = await first_season(arena)
    await play_all_games(arena, first)
    await next_season(arena)
    arena.execute("UPDATE tournaments SET state = 3 WHERE slug = 'cup'")  # as after an extension
    delayed = await arena.store.write(partial(start_or_cancel, slug="cup-2", now_ms=NOW + WEEK_MS))
    assert (delayed.state, delayed.joining.start_at) == (TournamentState.OPEN, NOW + 2 * WEEK_MS)


async def test_a_stopped_league_opens_no_season_and_cancels_the_open_one(arena: Arena) -> None:
    await play_all_games(arena, await first_season(arena))
    await next_season(arena)
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(stop_league, slug="cup", now_ms=NOW, owner_id=999))
    for _ in range(2):
        newest = await arena.store.write(partial(stop_league, slug="cup", now_ms=NOW))
        assert (newest.slug, newest.state) == ("cup-2", TournamentState.CANCELLED)
    assert await arena.store.read(ended_leagues) == []
    await arena.tournament("other", bots=("ada", "bob"))
    with pytest.raises(NotFound):
        await arena.store.write(partial(stop_league, slug="other", now_ms=NOW))


async def test_a_league_without_entries_stops_by_itself(arena: Arena) -> None:
    first = await first_season(arena)
    await arena.store.write(partial(cancel_tournament, slug=first.slug, now_ms=NOW))
    for number in range(2, 5):
        season = await next_season(arena, NOW + number * WEEK_MS)
        assert season is not None
        await arena.store.write(partial(cancel_tournament, slug=season.slug, now_ms=NOW + number * WEEK_MS))
    assert await next_season(arena, NOW + 5 * WEEK_MS) is None
    league = await arena.store.read(partial(get_league, slug="cup"))
    assert (league.stopped_at, league.stop_reason) == (NOW + 5 * WEEK_MS, "its last 4 seasons were cancelled")
    page = await arena.store.read(partial(list_seasons, league=league, size=3))
    assert [number for number, _ in page.items] == [4, 3, 2]


async def test_the_next_season_is_opened_once(arena: Arena) -> None:
    await play_all_games(arena, await first_season(arena))
    (league,) = await arena.store.read(ended_leagues)
    opening = partial(open_next_season, league_id=league, now_ms=NOW)
    assert await arena.store.write(opening) is not None
    assert await arena.store.write(opening) is None
    assert (await arena.store.read(partial(get_tournament, slug="cup-2"))).state is TournamentState.OPEN
