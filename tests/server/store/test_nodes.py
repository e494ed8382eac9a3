"""The nodes of a cluster, and the units that its referees hold."""

from functools import partial

import pytest

from noughts_referee.clock import parse_time_control
from noughts_referee.work_units import GameSoFar, pack_times
from noughts_server.store.engine.schema import SILENCE_MS
from noughts_server.store.games.results import commit_games
from noughts_server.store.nodes import (
    LONGEST_SILENCE_MS,
    Beat,
    Node,
    NodeKind,
    accepted_kinds,
    alive,
    beat,
    has_referees,
    leave,
    members,
    silence_limit,
)
from noughts_server.store.tournaments.claims import FIRST_DELAY_MS, MOST_LOST, Claim, claim_next, give_up, hand_over
from noughts_server.store.tournaments.stops import play_stopped, stopped_tournaments
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, pause_tournament, start_tournament
from tests.support.arena import NOW, Arena, made_up_game

ANNA, BERT = Node("referee-anna", NodeKind.REFEREE, 4), Node("referee-bert", NodeKind.REFEREE, 2)
SERVER = Node("server-carl", NodeKind.SERVER, 0)


async def live(arena: Arena, *nodes: Node) -> None:
    for node in nodes:
        await arena.store.write(partial(beat, node=node, first=True))


async def again(arena: Arena, node: Node) -> Beat:
    """Another heartbeat of the node."""
    return await arena.store.write(partial(beat, node=node))


async def die(arena: Arena, node: Node) -> None:
    """Nothing is heard of the node any more."""
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - silence_ms - 100 WHERE name = '{node.name}'")


async def lose(arena: Arena, tournament: Tournament, *numbers: int) -> list[Node]:
    """Referees claim the first unit and are lost with it, one after the other."""
    nodes = [Node(f"referee-{number}", NodeKind.REFEREE, 1) for number in numbers]
    for node in nodes:
        await live(arena, node)
        (claim,) = await claimed(arena, tournament, node)
        assert claim.number == 0
        await die(arena, node)
    return nodes


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
    found = await again(arena, SERVER)
    assert found.was_dead
    assert SILENCE_MS < found.silent_ms < 2 * SILENCE_MS
    await arena.store.write(partial(leave, name=ANNA.name))
    assert [node.name for node in await arena.store.read(alive)] == [BERT.name, SERVER.name]


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


async def test_a_referee_that_has_restarted_claims_its_units_again(arena: Arena) -> None:
    tournament = await league(arena)
    (before,) = await claimed(arena, tournament, ANNA)
    (after,) = await claimed(arena, tournament, ANNA, holding=())
    assert (after.number, after.attempt) == (before.number, before.attempt + 1)


async def test_what_a_referee_stores_after_others_have_taken_over_is_refused(arena: Arena) -> None:
    tournament = await league(arena)
    (old,) = await claimed(arena, tournament, ANNA)
    await die(arena, ANNA)
    (new,) = await claimed(arena, tournament, BERT)
    assert new.number == old.number
    late = [made_up_game(tournament, old.attempt, slot) for slot in old.slots]
    assert (await arena.commit(late)).stale == len(late)
    games = [made_up_game(tournament, new.attempt, slot) for slot in new.slots]
    report = await arena.commit(games)
    assert (report.stale, len(report.games)) == (0, len(games))


@pytest.mark.long
async def test_played_units_are_never_claimed_again(arena: Arena) -> None:
    tournament = await league(arena)
    played: list[int] = []
    while claims := await claimed(arena, tournament, ANNA, holding=(), played=tuple(played[-1:])):
        for claim in claims:
            await arena.commit([made_up_game(tournament, claim.attempt, slot) for slot in claim.slots])
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
    assert arena.rows("SELECT lost FROM units") == [(None,)]


async def reason(arena: Arena) -> str:
    return (await arena.store.read(partial(get_tournament, slug="cup"))).reason


async def hook_events(arena: Arena) -> list[str]:
    return [event for (event,) in arena.rows("SELECT event FROM outbox ORDER BY id")]


async def test_unit_that_lost_six_referees_waits_with_a_reason(arena: Arena) -> None:
    tournament = await league(arena)
    arena.execute(
        "INSERT INTO webhooks (owner_id, url, format, secret, events, created_at, tried_at, failures, dropped)"
        " VALUES (1, 'http://here', 'json', 's', 'tournament.stopped tournament.resumed', 0, 0, 0, 0)"
    )
    await lose(arena, tournament, *range(MOST_LOST + 1))
    # The other units are played meanwhile.
    rest = [claim.number for claim in await claimed(arena, tournament, ANNA)]
    assert rest == [1]
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    assert await claimed(arena, tournament, ANNA) == []
    assert "6 referees in a row were lost with games 1 to" in await reason(arena)
    (stop,) = await arena.store.read(stopped_tournaments)
    (claimed_at,) = arena.rows("SELECT claimed_at FROM units WHERE number = 0")[0]
    assert stop.retry_at == claimed_at + FIRST_DELAY_MS
    assert await hook_events(arena) == ["tournament.stopped"]


async def test_unit_that_waits_is_claimed_again_after_growing_delays(arena: Arena) -> None:
    tournament = await league(arena)
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    await lose(arena, tournament, *range(MOST_LOST + 1))
    for loss in range(3):
        assert await claimed(arena, tournament, ANNA) == []
        arena.execute(f"UPDATE units SET claimed_at = claimed_at - {(FIRST_DELAY_MS << loss) - 30_000}")
        assert await claimed(arena, tournament, ANNA) == []
        arena.execute("UPDATE units SET claimed_at = claimed_at - 30001")
        await lose(arena, tournament, 100 + loss)
    assert await claimed(arena, tournament, ANNA) == []
    assert "9 referees in a row" in await reason(arena)
    # A new game ends the delays.
    arena.execute("UPDATE units SET claimed_at = 0")
    (claim,) = await claimed(arena, tournament, ANNA)
    await arena.commit([made_up_game(tournament, claim.attempt, claim.slots[0])])
    assert await reason(arena) == ""
    await die(arena, ANNA)
    assert [each.number for each in await claimed(arena, tournament, BERT)] == [0]
    assert arena.rows("SELECT lost FROM units") == [(None,)]


@pytest.mark.parametrize("journaled", [False, True], ids=["a stored game", "a journaled ply"])
async def test_takeover_after_progress_counts_no_lost_referee(arena: Arena, journaled: bool) -> None:
    await live(arena, ANNA, BERT)
    time = parse_time_control("60/move") if journaled else None
    tournament = await arena.tournament(bots=("ada", "bob"), games_per_pair=8_000, time=time)
    nodes = [Node(f"referee-{number}", NodeKind.REFEREE, 1) for number in range(12)]
    for number, node in enumerate(nodes):
        await live(arena, node)
        (claim,) = await claimed(arena, tournament, node)
        assert claim.number == 0
        slot = claim.slots[0]
        if journaled:
            plies = number + 1
            so_far = GameSoFar(
                tournament.id, slot.ordinal, claim.attempt, slot.first, slot.second,
                moves=bytes(range(plies)), times=pack_times([5] * plies), first_clock_us=0, second_clock_us=0,
            )  # fmt: skip
            commit = partial(commit_games, games=[], state=arena.state, now_ms=NOW, advanced=[so_far])
            await arena.store.write(commit)
            arena.state.confirm()
        else:
            await arena.commit([made_up_game(tournament, claim.attempt, slot)])
        await die(arena, node)
    (claim,) = await claimed(arena, tournament, ANNA)
    assert (claim.number, claim.attempt) == (0, 13)
    assert arena.rows("SELECT lost FROM units WHERE number = 0") == [(None,)]


async def test_node_that_returns_was_not_lost_and_keeps_what_is_left(arena: Arena) -> None:
    tournament = await league(arena)
    slow = Node("referee-slow", NodeKind.REFEREE, 1)
    for _ in range(12):
        await live(arena, slow)
        claims = await claimed(arena, tournament, slow)
        await die(arena, slow)
        (taken,) = await claimed(arena, tournament, BERT)
        assert taken.number == claims[0].number == 0
        returned = await again(arena, slow)
        assert returned.was_dead
        assert returned.holds == frozenset()
        assert arena.rows("SELECT lost FROM units WHERE number = 0") == [(None,)]
        await arena.store.write(partial(hand_over, tournament_id=tournament.id, holder=BERT.name))
    await claimed(arena, tournament, slow)
    await die(arena, slow)
    assert (await again(arena, slow)).holds == {(tournament.id, 0)}
    assert await reason(arena) == ""


async def test_node_that_leaves_releases_its_units(arena: Arena) -> None:
    tournament = await league(arena)
    await claimed(arena, tournament, ANNA)
    await arena.store.write(partial(leave, name=ANNA.name))
    (claim,) = await claimed(arena, tournament, BERT)
    assert claim.number == 0
    assert arena.rows("SELECT lost FROM units") == [(None,)]


async def test_pause_and_start_end_the_wait_for_a_unit_at_once(arena: Arena) -> None:
    tournament = await league(arena)
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    await lose(arena, tournament, *range(MOST_LOST + 1))
    assert await claimed(arena, tournament, ANNA) == []
    owner = arena.rows("SELECT id FROM owners")[0][0]
    await arena.store.write(lambda connection: pause_tournament(connection, "cup", owner_id=owner))
    await arena.store.write(lambda connection: start_tournament(connection, "cup", now_ms=NOW, owner_id=owner))
    assert await arena.store.read(stopped_tournaments) == []
    (claim,) = await claimed(arena, tournament, ANNA)
    assert claim.number == 0


async def test_referee_that_gives_up_stores_a_reason_if_nobody_else_plays(arena: Arena) -> None:
    tournament = await league(arena)
    stop = partial(give_up, tournament_id=tournament.id, reason="it broke", now_ms=NOW, retry_at=NOW + 10_000)
    await claimed(arena, tournament, ANNA)
    await claimed(arena, tournament, BERT)
    assert not await arena.store.write(partial(stop, holder=ANNA.name))
    assert await reason(arena) == ""
    assert await arena.store.write(partial(stop, holder=BERT.name))
    assert await reason(arena) == "it broke"
    assert arena.rows("SELECT count(*) FROM units WHERE holder IS NOT NULL") == [(0,)]


async def test_reason_without_a_next_attempt_is_over_with_a_claim(arena: Arena) -> None:
    tournament = await league(arena)
    await arena.store.write(partial(play_stopped, tournament_id=tournament.id, reason="nobody is here", now_ms=NOW))
    assert await reason(arena) == "nobody is here"
    await claimed(arena, tournament, ANNA)
    assert await reason(arena) == ""


def test_silence_limit_follows_the_longest_recent_interval() -> None:
    assert silence_limit(SILENCE_MS, 1_000) == SILENCE_MS
    assert silence_limit(SILENCE_MS, 3_000) == 9_000
    assert silence_limit(SILENCE_MS, 60_000) == LONGEST_SILENCE_MS
    limit, beats = 27_000, 0
    while limit > SILENCE_MS:
        limit, beats = silence_limit(limit, 1_000), beats + 1
    assert 60 < beats < 120


async def test_slow_node_lives_until_its_own_limit_and_becomes_the_youngest(arena: Arena) -> None:
    await live(arena, ANNA, BERT)
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - 4000 WHERE name = '{ANNA.name}'")
    assert not (await again(arena, ANNA)).was_dead
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - 10000 WHERE name = '{ANNA.name}'")
    assert [node.name for node in await arena.store.read(alive)] == [ANNA.name, BERT.name]
    assert [node.silence_seconds > 11 for node in await arena.store.read(members)] == [True, False]
    await die(arena, ANNA)
    returned = await again(arena, ANNA)
    assert [node.name for node in returned.alive] == [BERT.name, ANNA.name]
