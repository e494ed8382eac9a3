"""The nodes of a cluster, and the units that its referees hold."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from noughts_referee.clock import parse_time_control
from noughts_referee.work_units import GameSoFar, pack_times
from noughts_server.store.engine.schema import LONGEST_SILENCE_MS, SILENCE_MS
from noughts_server.store.games.results import commit_games
from noughts_server.store.nodes import (
    Beat,
    Node,
    NodeKind,
    accepted_kinds,
    alive,
    beat,
    has_referees,
    leave,
    members,
    renew,
    silence_limit,
)
from noughts_server.store.tournaments.claims import (
    FIRST_DELAY_MS,
    MOST_LOST,
    Claim,
    claim_next,
    give_up,
    hand_over,
    has_free_units,
)
from noughts_server.store.tournaments.stops import play_stopped, stopped_tournaments
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament, pause_tournament, start_tournament
from tests.support.arena import NOW, Arena, made_up_game

ANNA, BERT = Node("referee-anna", NodeKind.REFEREE, 4), Node("referee-bert", NodeKind.REFEREE, 2)
SERVER = Node("server-carl", NodeKind.SERVER, 0)


async def report_alive(arena: Arena, *nodes: Node) -> None:
    """Send the first heartbeat of each node."""
    for node in nodes:
        await arena.store.write(partial(beat, node=node, first=True))


async def send_heartbeat(arena: Arena, node: Node) -> Beat:
    """Send another heartbeat of the node, and return the answer."""
    return await arena.store.write(partial(beat, node=node))


async def silence(arena: Arena, node: Node) -> None:
    """Make the node dead: its last heartbeat is longer ago than the silence limit."""
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - silence_ms - 100 WHERE name = '{node.name}'")


async def lose_referees(arena: Arena, tournament: Tournament, *numbers: int) -> list[Node]:
    """Let referees with these numbers claim the first unit one after the other, each lost before the next."""
    nodes = [Node(f"referee-{number}", NodeKind.REFEREE, 1) for number in numbers]
    for node in nodes:
        await report_alive(arena, node)
        (claim,) = await claim_units(arena, tournament, node)
        assert claim.number == 0
        await silence(arena, node)
    return nodes


async def claim_units(
    arena: Arena, tournament: Tournament, node: Node, *, holding: tuple[int, ...] = (), played: tuple[int, ...] = ()
) -> list[Claim]:
    """Claim the next units for the node, which holds the units `holding` and has finished `played`."""
    claim = partial(claim_next, tournament_id=tournament.id, holder=node.name, holding=holding, played=played)
    return await arena.store.write(claim)


async def start_league(arena: Arena) -> Tournament:
    """Start a tournament of at least three units on a cluster with the referees anna and bert."""
    await report_alive(arena, ANNA, BERT)
    tournament = await arena.tournament(bots=("ada", "bob", "cleo"), games_per_pair=200)
    assert tournament.games_total > 2 * tournament.unit_games
    return tournament


async def test_nodes_are_alive_while_they_send_heartbeats_oldest_first(arena: Arena) -> None:
    await report_alive(arena, SERVER)
    assert not await arena.store.read(has_referees)
    await report_alive(arena, ANNA, BERT, SERVER)
    assert await arena.store.read(alive) == (SERVER, ANNA, BERT)
    await silence(arena, SERVER)
    assert await arena.store.read(alive) == (ANNA, BERT)
    answer = await send_heartbeat(arena, SERVER)
    assert answer.was_dead
    assert SILENCE_MS < answer.silent_ms < 2 * SILENCE_MS
    await arena.store.write(partial(leave, name=ANNA.name))
    assert [node.name for node in await arena.store.read(alive)] == [BERT.name, SERVER.name]


async def test_renewed_heartbeat_is_that_of_a_live_member(arena: Arena) -> None:
    await report_alive(arena, ANNA, BERT)
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - 2000, silence_ms = 20000 WHERE name = '{ANNA.name}'")
    others = arena.rows(f"SELECT * FROM nodes WHERE name = '{BERT.name}'")
    answer = await arena.store.write_beside(partial(renew, node=ANNA))
    assert answer is not None
    assert 2_000 <= answer.silent_ms < 20_000
    assert [node.name for node in answer.alive] == [ANNA.name, BERT.name]
    assert (answer.was_dead, answer.alive[0].silence_ms) == (False, 19_600)
    assert arena.rows(f"SELECT * FROM nodes WHERE name = '{BERT.name}'") == others
    again = await arena.store.write_beside(partial(renew, node=ANNA))
    assert again is not None
    assert again.silent_ms < answer.silent_ms


async def test_heartbeats_read_the_live_nodes_only_if_they_have_changed(arena: Arena) -> None:
    await report_alive(arena, ANNA, BERT)
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "a node joins": lambda: report_alive(arena, SERVER),
        "a node leaves": lambda: arena.store.write(partial(leave, name=SERVER.name)),
        "a node is silent": lambda: silence(arena, BERT),
        "a node returns": lambda: send_heartbeat(arena, BERT),
        "a limit grows": lambda: arena.store.write(
            lambda connection: connection.exec_driver_sql("UPDATE nodes SET silence_ms = 2 * silence_ms").rowcount
        ),
    }
    last = await arena.store.write_beside(partial(renew, node=ANNA))
    assert last is not None
    for change in changes.values():
        same = await arena.store.write_beside(partial(renew, node=ANNA, previous=last))
        assert same is not None
        assert same.alive is last.alive
        await change()
        changed = await arena.store.write_beside(partial(renew, node=ANNA, previous=same))
        assert changed is not None
        assert changed.alive != same.alive
        assert changed.alive == await arena.store.read(alive)
        last = changed


async def test_only_a_live_member_can_renew_its_heartbeat(arena: Arena) -> None:
    await report_alive(arena, ANNA)
    assert await arena.store.write_beside(partial(renew, node=BERT)) is None
    await silence(arena, ANNA)
    assert await arena.store.write_beside(partial(renew, node=ANNA)) is None
    assert await arena.store.read(alive) == ()
    assert (await send_heartbeat(arena, ANNA)).was_dead


async def test_servers_leave_to_referees_the_kinds_that_every_host_accepts(arena: Arena) -> None:
    """A game of two kinds that no referee accepts together needs a server."""
    await report_alive(arena, SERVER, ANNA)
    assert await arena.store.read(accepted_kinds) == frozenset()
    await report_alive(arena, BERT._replace(accepts="wasm"))
    assert await arena.store.read(accepted_kinds) == {"wasm"}
    await report_alive(arena, Node("referee-dora", NodeKind.REFEREE, 1, "py,wasm"))
    assert await arena.store.read(accepted_kinds) == {"wasm"}
    await report_alive(arena, Node("referee-ed", NodeKind.REFEREE, 1, "py"))
    assert await arena.store.read(accepted_kinds) == frozenset()


async def test_a_unit_is_held_by_one_referee_while_it_lives(arena: Arena) -> None:
    tournament = await start_league(arena)
    (first,), (second,) = await claim_units(arena, tournament, ANNA), await claim_units(arena, tournament, BERT)
    assert (first.number, second.number) == (0, 1)
    assert [unit.number for unit in await claim_units(arena, tournament, ANNA, holding=(0,))] == [2]
    await silence(arena, BERT)
    (reclaimed,) = await claim_units(arena, tournament, ANNA, holding=(0, 2))
    assert (reclaimed.number, reclaimed.attempt) == (1, 2)


async def test_a_referee_that_has_restarted_claims_its_units_again(arena: Arena) -> None:
    tournament = await start_league(arena)
    (before,) = await claim_units(arena, tournament, ANNA)
    (after,) = await claim_units(arena, tournament, ANNA, holding=())
    assert (after.number, after.attempt) == (before.number, before.attempt + 1)


async def test_late_results_of_a_unit_that_another_referee_claimed_are_stale(arena: Arena) -> None:
    tournament = await start_league(arena)
    (old,) = await claim_units(arena, tournament, ANNA)
    await silence(arena, ANNA)
    (new,) = await claim_units(arena, tournament, BERT)
    assert new.number == old.number
    late = [made_up_game(tournament, old.attempt, slot) for slot in old.slots]
    assert (await arena.commit(late)).stale == len(late)
    games = [made_up_game(tournament, new.attempt, slot) for slot in new.slots]
    report = await arena.commit(games)
    assert (report.stale, len(report.games)) == (0, len(games))


@pytest.mark.long
async def test_played_units_are_never_claimed_again(arena: Arena) -> None:
    tournament = await start_league(arena)
    played: list[int] = []
    while claims := await claim_units(arena, tournament, ANNA, holding=(), played=tuple(played[-1:])):
        for claim in claims:
            await arena.commit([made_up_game(tournament, claim.attempt, slot) for slot in claim.slots])
            played.append(claim.number)
    assert played == sorted(set(played))
    assert arena.rows("SELECT count(*), max(attempt) FROM units WHERE holder IS NULL") == [(len(played), 1)]
    assert arena.rows("SELECT games_done - games_total FROM tournaments") == [(0,)]


async def test_referee_sees_whether_there_are_units_to_claim(arena: Arena) -> None:
    tournament = await start_league(arena)
    look = partial(has_free_units, tournament_id=tournament.id, holder=BERT.name)
    assert await arena.store.read(partial(look, holding=()))
    arena.execute(f"UPDATE tournaments SET games_total = {2 * tournament.unit_games}")
    await claim_units(arena, tournament, ANNA)
    assert await arena.store.read(partial(look, holding=()))
    (held,) = await claim_units(arena, tournament, BERT)
    assert not await arena.store.read(partial(look, holding=(held.number,)))
    # Units that the referee does not play any more are free for it, like those of a dead one.
    assert await arena.store.read(partial(look, holding=()))
    await silence(arena, ANNA)
    assert await arena.store.read(partial(look, holding=(held.number,)))


async def test_unit_that_grew_is_claimed_again(arena: Arena) -> None:
    tournament = await start_league(arena)
    arena.execute("UPDATE tournaments SET games_total = 1 + unit_games")
    for number in (0, 1):
        (claim,) = await claim_units(arena, tournament, ANNA, holding=(0,)[:number])
        assert claim.number == number
    assert await claim_units(arena, tournament, ANNA, holding=(0,), played=(1,)) == []
    arena.execute("UPDATE tournaments SET games_total = 3 * unit_games")
    (grown,) = await claim_units(arena, tournament, ANNA, holding=(0,))
    assert (grown.number, grown.attempt) == (1, 2)
    (new,) = await claim_units(arena, tournament, ANNA, holding=(0, 1))
    assert new.number == 2


async def test_units_that_are_handed_over_can_be_claimed_at_once(arena: Arena) -> None:
    tournament = await start_league(arena)
    (old,) = await claim_units(arena, tournament, ANNA)
    await arena.store.write(partial(hand_over, tournament_id=tournament.id, holder=ANNA.name))
    (new,) = await claim_units(arena, tournament, BERT)
    assert (new.number, new.attempt) == (old.number, 2)
    assert arena.rows("SELECT lost FROM units") == [(None,)]


async def stop_reason(arena: Arena) -> str:
    return (await arena.store.read(partial(get_tournament, slug="cup"))).reason


async def webhook_events(arena: Arena) -> list[str]:
    return [event for (event,) in arena.rows("SELECT event FROM outbox ORDER BY id")]


async def test_unit_that_lost_six_referees_waits_with_a_reason(arena: Arena) -> None:
    tournament = await start_league(arena)
    arena.execute(
        "INSERT INTO webhooks (owner_id, url, format, secret, events, created_at, tried_at, failures, dropped)"
        " VALUES (1, 'http://here', 'json', 's', 'tournament.stopped tournament.resumed', 0, 0, 0, 0)"
    )
    await lose_referees(arena, tournament, *range(MOST_LOST + 1))
    # The other units are played meanwhile.
    rest = [claim.number for claim in await claim_units(arena, tournament, ANNA)]
    assert rest == [1]
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    assert await claim_units(arena, tournament, ANNA) == []
    assert "6 referees in a row were lost with games 1 to" in await stop_reason(arena)
    (stop,) = await arena.store.read(stopped_tournaments)
    (claimed_at,) = arena.rows("SELECT claimed_at FROM units WHERE number = 0")[0]
    assert stop.retry_at == claimed_at + FIRST_DELAY_MS
    assert await webhook_events(arena) == ["tournament.stopped"]


async def test_unit_that_waits_is_claimed_again_after_growing_delays(arena: Arena) -> None:
    tournament = await start_league(arena)
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    await lose_referees(arena, tournament, *range(MOST_LOST + 1))
    for loss in range(3):
        assert await claim_units(arena, tournament, ANNA) == []
        arena.execute(f"UPDATE units SET claimed_at = claimed_at - {(FIRST_DELAY_MS << loss) - 30_000}")
        assert await claim_units(arena, tournament, ANNA) == []
        arena.execute("UPDATE units SET claimed_at = claimed_at - 30001")
        await lose_referees(arena, tournament, 100 + loss)
    assert await claim_units(arena, tournament, ANNA) == []
    assert "9 referees in a row" in await stop_reason(arena)
    # A new game ends the delays.
    arena.execute("UPDATE units SET claimed_at = 0")
    (claim,) = await claim_units(arena, tournament, ANNA)
    await arena.commit([made_up_game(tournament, claim.attempt, claim.slots[0])])
    assert await stop_reason(arena) == ""
    await silence(arena, ANNA)
    assert [unit.number for unit in await claim_units(arena, tournament, BERT)] == [0]
    assert arena.rows("SELECT lost FROM units") == [(None,)]


@pytest.mark.parametrize("journaled", [False, True], ids=["a stored game", "a journaled ply"])
async def test_takeover_after_progress_counts_no_lost_referee(arena: Arena, journaled: bool) -> None:
    await report_alive(arena, ANNA, BERT)
    time = parse_time_control("60/move") if journaled else None
    tournament = await arena.tournament(bots=("ada", "bob"), games_per_pair=8_000, time=time)
    nodes = [Node(f"referee-{number}", NodeKind.REFEREE, 1) for number in range(12)]
    for number, node in enumerate(nodes):
        await report_alive(arena, node)
        (claim,) = await claim_units(arena, tournament, node)
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
        await silence(arena, node)
    (claim,) = await claim_units(arena, tournament, ANNA)
    assert (claim.number, claim.attempt) == (0, 13)
    assert arena.rows("SELECT lost FROM units WHERE number = 0") == [(None,)]


async def test_node_that_returns_counts_as_not_lost_and_keeps_its_free_units(arena: Arena) -> None:
    tournament = await start_league(arena)
    slow = Node("referee-slow", NodeKind.REFEREE, 1)
    for _ in range(12):
        await report_alive(arena, slow)
        claims = await claim_units(arena, tournament, slow)
        await silence(arena, slow)
        (taken,) = await claim_units(arena, tournament, BERT)
        assert taken.number == claims[0].number == 0
        returned = await send_heartbeat(arena, slow)
        assert returned.was_dead
        assert returned.holds == frozenset()
        assert arena.rows("SELECT lost FROM units WHERE number = 0") == [(None,)]
        await arena.store.write(partial(hand_over, tournament_id=tournament.id, holder=BERT.name))
    await claim_units(arena, tournament, slow)
    await silence(arena, slow)
    assert (await send_heartbeat(arena, slow)).holds == {(tournament.id, 0)}
    assert await stop_reason(arena) == ""


async def test_node_that_leaves_releases_its_units(arena: Arena) -> None:
    tournament = await start_league(arena)
    await claim_units(arena, tournament, ANNA)
    await arena.store.write(partial(leave, name=ANNA.name))
    (claim,) = await claim_units(arena, tournament, BERT)
    assert claim.number == 0
    assert arena.rows("SELECT lost FROM units") == [(None,)]


async def test_pause_and_start_end_the_wait_for_a_unit_at_once(arena: Arena) -> None:
    tournament = await start_league(arena)
    arena.execute("UPDATE tournaments SET games_total = unit_games")
    await lose_referees(arena, tournament, *range(MOST_LOST + 1))
    assert await claim_units(arena, tournament, ANNA) == []
    owner = arena.rows("SELECT id FROM owners")[0][0]
    await arena.store.write(lambda connection: pause_tournament(connection, "cup", now_ms=NOW, owner_id=owner))
    await arena.store.write(lambda connection: start_tournament(connection, "cup", now_ms=NOW, owner_id=owner))
    assert await arena.store.read(stopped_tournaments) == []
    (claim,) = await claim_units(arena, tournament, ANNA)
    assert claim.number == 0


async def test_referee_that_gives_up_stores_a_reason_if_nobody_else_plays(arena: Arena) -> None:
    tournament = await start_league(arena)
    stop = partial(give_up, tournament_id=tournament.id, reason="it broke", now_ms=NOW, retry_at=NOW + 10_000)
    await claim_units(arena, tournament, ANNA)
    await claim_units(arena, tournament, BERT)
    assert not await arena.store.write(partial(stop, holder=ANNA.name))
    assert await stop_reason(arena) == ""
    assert await arena.store.write(partial(stop, holder=BERT.name))
    assert await stop_reason(arena) == "it broke"
    assert arena.rows("SELECT count(*) FROM units WHERE holder IS NOT NULL") == [(0,)]


async def test_claim_clears_a_reason_without_a_next_attempt(arena: Arena) -> None:
    tournament = await start_league(arena)
    await arena.store.write(partial(play_stopped, tournament_id=tournament.id, reason="nobody is here", now_ms=NOW))
    assert await stop_reason(arena) == "nobody is here"
    await claim_units(arena, tournament, ANNA)
    assert await stop_reason(arena) == ""


def test_silence_limit_follows_the_longest_recent_interval() -> None:
    assert silence_limit(SILENCE_MS, 1_000) == SILENCE_MS
    assert silence_limit(SILENCE_MS, 3_000) == 9_000
    assert silence_limit(SILENCE_MS, 60_000) == LONGEST_SILENCE_MS
    # With heartbeats each second, the limit falls from 27 s to the usual one in one to two minutes.
    limit, beats = 27_000, 0
    while limit > SILENCE_MS:
        limit, beats = silence_limit(limit, 1_000), beats + 1
    assert 60 < beats < 120


async def test_slow_node_is_alive_until_its_limit_and_returns_as_the_youngest(arena: Arena) -> None:
    await report_alive(arena, ANNA, BERT)
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - 4000 WHERE name = '{ANNA.name}'")
    assert not (await send_heartbeat(arena, ANNA)).was_dead
    arena.execute(f"UPDATE nodes SET seen_at = seen_at - 10000 WHERE name = '{ANNA.name}'")
    assert [node.name for node in await arena.store.read(alive)] == [ANNA.name, BERT.name]
    assert [node.silence_seconds > 11 for node in await arena.store.read(members)] == [True, False]
    await silence(arena, ANNA)
    returned = await send_heartbeat(arena, ANNA)
    assert [node.name for node in returned.alive] == [BERT.name, ANNA.name]
