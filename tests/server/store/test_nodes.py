"""The nodes of a cluster, and the units that its referees hold."""

from functools import partial

import pytest

from noughts_server.errors import WrongState
from noughts_server.store.nodes import LIFETIME_MS, Node, NodeKind, accepted_kinds, alive, beat, has_referees, leave
from noughts_server.store.tournaments.claims import MOST_DEATHS, Claim, claim_next, hand_over
from noughts_server.store.tournaments.tournaments import Tournament, pause_tournament, start_tournament
from tests.support.arena import NOW, Arena, made_up

ANNA, BERT = Node("referee-anna", NodeKind.REFEREE, 4), Node("referee-bert", NodeKind.REFEREE, 2)
SERVER = Node("server-carl", NodeKind.SERVER, 0)


async def live(arena: Arena, *nodes: Node) -> None:
    for node in nodes:
        await arena.store.write(partial(beat, node=node))


async def die(arena: Arena, node: Node) -> None:
    """Nothing is heard of the node any more."""
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - {LIFETIME_MS + 1} WHERE name = '{node.name}'")


async def claimed(
    arena: Arena, tournament: Tournament, node: Node, *, holding: tuple[int, ...] = (), played: tuple[int, ...] = ()
) -> list[Claim]:
    claim = partial(claim_next, tournament_id=tournament.id, holder=node.name, holding=holding, played=played)
    return await arena.store.write(claim)


async def league(arena: Arena) -> Tournament:
    """A tournament of at least three units, while there are referees."""
    await live(arena, ANNA, BERT)
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=200)
    assert tournament.games_total > 2 * tournament.unit_games
    return tournament


async def test_nodes_live_while_they_say_so_and_the_oldest_comes_first(arena: Arena) -> None:
    await live(arena, SERVER)
    assert not await arena.store.read(has_referees)
    await live(arena, ANNA, BERT, SERVER)
    assert await arena.store.read(alive) == (SERVER, ANNA, BERT)
    await die(arena, SERVER)
    assert await arena.store.read(alive) == (ANNA, BERT)
    found = await arena.store.write(partial(beat, node=SERVER))
    assert LIFETIME_MS < found.silent_ms < 2 * LIFETIME_MS
    assert found.alive[0] == SERVER
    await arena.store.write(partial(leave, name=ANNA.name))
    assert await arena.store.read(alive) == (SERVER, BERT)


async def test_servers_leave_to_referees_what_all_accept_that_accept_any(arena: Arena) -> None:
    """A game of two kinds that no referee accepts together needs a server."""
    await live(arena, SERVER, ANNA)
    assert await arena.store.read(accepted_kinds) == frozenset()
    await live(arena, BERT._replace(accepts="wasm"))
    assert await arena.store.read(accepted_kinds) == {"wasm"}
    await live(arena, Node("referee-dora", NodeKind.REFEREE, 1, "py,wasm"))
    assert await arena.store.read(accepted_kinds) == {"wasm"}
    await live(arena, Node("referee-ed", NodeKind.REFEREE, 1, "py"))
    assert await arena.store.read(accepted_kinds) == frozenset()


async def test_a_unit_is_held_by_one_referee_while_it_lives(arena: Arena) -> None:
    tournament = await league(arena)
    (first,), (second,) = await claimed(arena, tournament, ANNA), await claimed(arena, tournament, BERT)
    assert (first.number, second.number) == (0, 1)
    assert [each.number for each in await claimed(arena, tournament, ANNA, holding=(0,))] == [2]
    await die(arena, BERT)
    (again,) = await claimed(arena, tournament, ANNA, holding=(0, 2))
    assert (again.number, again.attempt) == (1, 2)


async def test_what_a_referee_stores_after_others_have_taken_over_is_refused(arena: Arena) -> None:
    tournament = await league(arena)
    (old,) = await claimed(arena, tournament, ANNA)
    await die(arena, ANNA)
    (new,) = await claimed(arena, tournament, BERT)
    assert new.number == old.number
    late = [made_up(tournament, old.attempt, slot) for slot in old.slots]
    assert (await arena.commit(late)).stale == len(late)
    games = [made_up(tournament, new.attempt, slot) for slot in new.slots]
    report = await arena.commit(games)
    assert (report.stale, len(report.games)) == (0, len(games))


@pytest.mark.long
async def test_units_that_have_been_played_are_given_back_and_never_claimed_again(arena: Arena) -> None:
    tournament = await league(arena)
    played: list[int] = []
    while claims := await claimed(arena, tournament, ANNA, holding=(), played=tuple(played[-1:])):
        for claim in claims:
            await arena.commit([made_up(tournament, claim.attempt, slot) for slot in claim.slots])
            played.append(claim.number)
    assert played == sorted(set(played))
    assert arena.rows("SELECT count(*), max(attempt) FROM units WHERE holder IS NULL") == [(len(played), 1)]
    assert arena.rows("SELECT games_done - games_total FROM tournaments") == [(0,)]


async def test_units_that_are_handed_over_are_anybodys_at_once(arena: Arena) -> None:
    tournament = await league(arena)
    (old,) = await claimed(arena, tournament, ANNA)
    await arena.store.write(partial(hand_over, tournament_id=tournament.id, holder=ANNA.name))
    (new,) = await claimed(arena, tournament, BERT)
    assert (new.number, new.attempt) == (old.number, 2)
    assert arena.rows("SELECT deaths FROM units") == [(0,)]


async def test_a_unit_with_which_too_many_referees_were_lost_is_claimed_by_nobody_until_a_pause(arena: Arena) -> None:
    tournament = await league(arena)
    for number in range(MOST_DEATHS + 1):
        node = Node(f"referee-{number}", NodeKind.REFEREE, 1)
        await live(arena, node)
        (claim,) = await claimed(arena, tournament, node)
        assert claim.number == 0
        await die(arena, node)
    with pytest.raises(WrongState, match="unit 0, whose games have ended 6 referees") as caught:
        await claimed(arena, tournament, ANNA)
    assert "pause the tournament" in str(caught.value.hint)
    owner = arena.rows("SELECT id FROM owners")[0][0]
    await arena.store.write(lambda connection: pause_tournament(connection, "cup", owner_id=owner))
    await arena.store.write(lambda connection: start_tournament(connection, "cup", now_ms=NOW, owner_id=owner))
    (claim,) = await claimed(arena, tournament, ANNA)
    assert claim.number == 0
