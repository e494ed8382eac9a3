"""Openings of tournaments in the store: checked, kept, and handed out with claimed units."""

from __future__ import annotations

from functools import partial

import pytest

from noughts_referee.rules import parse_variant
from noughts_referee.work_units import Unit
from noughts_server.competition.formats import KNOCKOUT
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.choosing import opening_of
from noughts_server.openings.settings import MOST_CHARACTERS, Openings, OpeningsKind
from noughts_server.runtime.units_with_openings import UnitsWithOpenings
from noughts_server.services.new_tournaments import check_openings_of
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.tournaments import NewTournament, conditions, get_tournament
from tests.support.arena import Arena, make_tournament

RANDOM_OPENINGS = Openings(OpeningsKind.RANDOM, plies=2, symmetries=True)


async def slots_of_new_tournament(
    arena: Arena, openings: Openings, **more: object
) -> list[tuple[int, int, int, tuple[int, ...]]]:
    """Start a tournament of three bots, and return its slots (ordinal, first, second, opening) as claimed."""
    settings = TournamentSettings(seed=7, games_per_pair=4, openings=openings, **more)  # type: ignore[arg-type]
    new = NewTournament("cup", settings)
    tournament = await arena.store.write(partial(make_tournament, new=new, bots=("ada", "bob", "cyd"), start=True))
    return await claimed_slots(arena, tournament.slug)


async def claimed_slots(arena: Arena, slug: str) -> list[tuple[int, int, int, tuple[int, ...]]]:
    """Claim all unfinished units, and return their slots (ordinal, first, second, opening)."""
    tournament = await arena.store.read(partial(get_tournament, slug=slug))
    game_conditions = await arena.store.read(partial(conditions, tournament_id=tournament.id))
    supply = UnitsWithOpenings(tournament.settings, game_conditions, tournament.owner_id, lambda: False)
    slots = []
    for number in await arena.store.read(partial(unfinished_units, tournament_id=tournament.id)):
        claim = await arena.store.write(partial(claim_unit, tournament_id=tournament.id, number=number))
        async for part in supply.parts(Unit(game_conditions, claim.attempt, claim.slots), claim.game_pairs):
            slots += [(*slot, part.openings[slot.ordinal]) for slot in part.slots]
    return slots


@pytest.mark.parametrize("openings", [RANDOM_OPENINGS, Openings(OpeningsKind.BALANCED, plies=2)])
async def test_both_games_of_a_pair_have_one_opening_after_a_restart(arena: Arena, openings: Openings) -> None:
    slots = await slots_of_new_tournament(arena, openings)
    assert [slot[0] for slot in slots] == list(range(1, 13))
    by_pair: dict[frozenset[int], list[tuple[int, ...]]] = {}
    for _, first, second, opening in slots:
        by_pair.setdefault(frozenset((first, second)), []).append(opening)
    assert all(openings_of_pair[::2] == openings_of_pair[1::2] for openings_of_pair in by_pair.values())
    assert await claimed_slots(arena, "cup") == slots
    assert slots[0][3] == opening_of(openings, parse_variant("tictactoe"), 7, 0)


async def test_rounds_that_follow_from_results_have_openings_as_well(arena: Arena) -> None:
    slots = await slots_of_new_tournament(arena, RANDOM_OPENINGS, schedule=KNOCKOUT)
    openings = [opening for *_, opening in slots]
    assert len(openings) == 4
    assert openings[0] == openings[1] != openings[2] == openings[3]


async def test_listed_openings_are_stored(arena: Arena) -> None:
    listed = Openings().of_list("book.txt", [(4,), (0, 8)])
    await slots_of_new_tournament(arena, listed)
    tournament = await arena.store.read(partial(get_tournament, slug="cup"))
    assert tournament.settings.openings == listed


@pytest.mark.parametrize(
    "settings, message",
    [
        (TournamentSettings(openings=Openings().of_list("x", [(4, 4)])), "opening 1 with a move 2 that placed a stone"),
        (TournamentSettings(openings=Openings(OpeningsKind.LIST, text="0 1\n" * MOST_CHARACTERS)), "at most 1000000"),
        (TournamentSettings(openings=Openings().of_list("x", [(4,)] * 10_001)), "got '10001 openings'"),
        (TournamentSettings(openings=RANDOM_OPENINGS, variant="gomoku+swap2"), "the players agree on one"),
        (TournamentSettings(openings=RANDOM_OPENINGS, draw_after=2), "expected more than the 2 of an opening"),
    ],
)
def test_openings_that_do_not_fit_the_game_are_refused(settings: TournamentSettings, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_openings_of(settings)
    assert message in str(refused.value)
