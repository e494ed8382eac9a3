"""Webhooks, and the events that wait for them."""

import json
from functools import partial
from typing import Any

import pytest

from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.competition.formats import MATCH
from noughts_server.core.errors import LimitReached, NotFound, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.endings import start_or_finish
from noughts_server.store.people import webhooks
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.people.webhooks import Event, Webhook
from noughts_server.store.tournaments.entries import withdraw_entry
from noughts_server.store.tournaments.tournaments import cancel_tournament, pause_tournament, start_tournament
from tests.support.arena import NOW, Arena

START, END, LEFT, *_ = webhooks.EVENTS


async def hook(arena: Arena, owner: str = "alice", events: str = "", most: int = 9) -> Webhook:
    def make(connection: Connection) -> Webhook:
        return webhooks.create_webhook(
            connection,
            owner_id=create_owner(connection, owner),
            url="https://example.org/x",
            format="json",
            events=events,
            now_ms=NOW,
            limits=Limits(webhooks=most),
        )

    return await arena.store.write(make)


async def told(arena: Arena) -> list[tuple[int, str]]:
    """The events in the outbox, with the keys of their webhooks."""
    return arena.rows("SELECT webhook_id, event FROM outbox ORDER BY id")


async def due(arena: Arena, now_ms: int = NOW) -> list[Event]:
    return await arena.store.read(partial(webhooks.due_events, now_ms=now_ms))


async def winners(arena: Arena) -> list[list[str]]:
    """The winners in the documents of the outbox."""
    stored = arena.rows("SELECT CAST(document AS TEXT) FROM outbox ORDER BY id")
    return [json.loads(document)["winners"] for (document,) in stored]


async def change(arena: Arena, function: Any, **values: Any) -> Any:
    return await arena.store.write(partial(function, **values))


async def test_events_of_a_tournament_wait_for_its_owners_webhooks(arena: Arena) -> None:
    mine = await hook(arena)
    await hook(arena, "bob")
    cup = await arena.tournament(bots=("ada", "bob", "cleo"))
    await change(arena, withdraw_entry, slug="cup", label="cleo", now_ms=NOW, reason="left")
    await arena.commit(await arena.play(cup))
    assert await told(arena) == [(mine.id, START), (mine.id, LEFT), (mine.id, END)]
    [event] = await due(arena)
    assert event.document == {
        "tournament": "tournaments/cup",
        "title": "cup",
        "variant": "tictactoe",
        "state": "running",
        "games_total": 6,
        "games_done": 0,
    }


async def test_webhook_receives_only_the_events_that_it_names(arena: Arena) -> None:
    mine = await hook(arena, events=f"{LEFT} {END}")
    await arena.tournament()
    assert await told(arena) == []
    await change(arena, cancel_tournament, slug="cup", now_ms=NOW)
    [event] = await due(arena)
    assert (event.event, event.document["state"], event.webhook_id) == (END, "cancelled", mine.id)


async def test_end_of_a_tournament_names_all_bots_on_the_first_rank(arena: Arena) -> None:
    await hook(arena, events=END)
    for slug, shared in (("alone", False), ("shared", True)):
        cup = await arena.tournament(slug, bots=("ada", "bob", "cleo"))
        # Ada always wins; in the other tournament the first mover does.
        await arena.commit(
            [won(game, by=0 if not shared and game.second == 0 else game.first) for game in await arena.play(cup)]
        )
    await arena.tournament("stopped")
    await change(arena, cancel_tournament, slug="stopped", now_ms=NOW)
    assert await winners(arena) == [["ada"], ["ada", "bob", "cleo"], []]


async def test_resumed_tournament_without_games_left_names_its_winners(arena: Arena) -> None:
    await hook(arena, events=END)
    cup = await arena.tournament()
    await arena.commit([won(game, by=1) for game in await arena.play(cup)])
    arena.execute(f"UPDATE tournaments SET state = {int(TournamentState.PAUSED)}, ended_at = NULL")
    ended = await change(arena, start_or_finish, slug="cup", now_ms=NOW)
    assert (ended.state, ended.ended_at) == (TournamentState.FINISHED, NOW)
    assert await winners(arena) == [["bob"], ["bob"]]


async def test_costly_facts_are_computed_only_for_a_waiting_webhook(arena: Arena) -> None:
    cup = await arena.tournament()
    for events, calls in ((None, 0), (LEFT, 0), (END, 1), ("", 1)):
        if events is not None:
            await hook(arena, events=events)
        called: list[int] = []

        def costly(called: list[int] = called) -> dict[str, object]:
            called.append(1)
            return {"winners": ["ada"]}

        await change(arena, webhooks.report_event, event=END, tournament=cup.id, now_ms=NOW, costly=costly)
        assert len(called) == calls


async def test_owner_of_a_bot_hears_of_its_withdrawal_only(arena: Arena) -> None:
    bobs = await hook(arena, "bob")
    await arena.tournament(bots=("ada", "bert", "cleo"), start=False)
    arena.execute(f"UPDATE bots SET owner_id = {bobs.owner_id} WHERE name = 'bert'")
    await change(arena, start_tournament, slug="cup", now_ms=NOW)
    for label in ("ada", "bert"):
        await change(arena, withdraw_entry, slug="cup", label=label, now_ms=NOW)
    assert await told(arena) == [(bobs.id, START), (bobs.id, LEFT)]
    [document] = arena.rows(f"SELECT document FROM outbox WHERE event = '{LEFT}'")
    assert "bert" in str(document)


async def test_what_is_rolled_back_is_not_reported(arena: Arena) -> None:
    await hook(arena)
    await arena.tournament(start=False)

    def fails(connection: Connection) -> None:
        start_tournament(connection, "cup", now_ms=NOW)
        raise KeyError

    with pytest.raises(KeyError):
        await arena.store.write(fails)
    assert await told(arena) == []


async def test_match_that_ends_without_a_decision_reports_no_decision(arena: Arena) -> None:
    await hook(arena)
    match = await arena.tournament(schedule=MATCH, games_per_pair=4, sprt="elo0=0,elo1=5")
    await arena.commit(await arena.play(match))
    assert [event for _, event in await told(arena)] == [START, END]


async def test_record_upsets_are_reported_once_and_with_their_game(arena: Arena) -> None:
    mine = await hook(arena, events="upset.record")
    cup = await arena.tournament(bots=("ada", "bob"), games_per_pair=100)
    games = [won(game, by=0) for game in await arena.play(cup)]
    lost = games[59]
    lost = games[59] = won(lost, by=1)
    for begin in range(0, 100, 20):
        await arena.commit(games[begin : begin + 20])
    [event] = await due(arena)
    facts = event.document
    assert (facts["winner"], facts["loser"], facts["game"]) == ("bob", "ada", lost.ordinal)
    assert arena.rows("SELECT upset FROM rating_lists") == [(facts["rating_difference"],)]
    assert 100 < facts["rating_difference"] < 800
    text = webhooks.EVENTS["upset.record"].format_map(facts)
    assert text == f"bob beat ada, whose rating was {facts['rating_difference']} higher, in tournament cup."
    arena.execute("UPDATE rating_lists SET upset = 2000")
    again = await arena.play(await arena.tournament("again", bots=("bob", "ada")))
    await arena.commit([won(game, by=0) for game in again])
    assert [event for _, event in await told(arena)] == ["upset.record"]
    assert mine.id


async def test_lost_without_a_game_is_no_record_upset(arena: Arena) -> None:
    await hook(arena, events="upset.record")
    games = [won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    games[60] = won(games[60], by=1, termination=Termination.ADJUDICATED)._replace(moves=b"", times=b"")
    games[61] = won(games[61], by=1, termination=Termination.DISCONNECTED)
    games[80:] = [won(game, by=1) for game in games[80:]]
    for begin, records in ((0, []), (20, []), (40, []), (60, []), (80, [games[80].ordinal])):
        await arena.commit(games[begin : begin + 20])
        assert [event.document["game"] for event in await due(arena)] == records


async def test_record_upset_is_the_first_game_decided_on_the_board(arena: Arena) -> None:
    await hook(arena, events="upset.record")
    games = [won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    games[60] = won(games[60], by=1, termination=Termination.ADJUDICATED)._replace(moves=b"", times=b"")
    games[62] = won(games[62], by=1)
    await arena.commit(games[:60])
    await arena.commit(games[60:])
    [event] = await due(arena)
    assert event.document["game"] == games[62].ordinal


async def test_unrated_game_between_bots_of_one_owner_is_no_record_upset(arena: Arena) -> None:
    await hook(arena, events="upset.record")
    games = [won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    await arena.commit(games)
    own = await arena.tournament("own")
    arena.execute("UPDATE tournaments SET own_rated = false WHERE slug = 'own'")
    await arena.commit([won(game, by=1) for game in await arena.play(own)])
    assert await told(arena) == []


def won(game: FinishedGame, *, by: int, termination: Termination = Termination.LINE) -> FinishedGame:
    """The game as won by this entry."""
    result = Result.FIRST_WINS if game.first == by else Result.SECOND_WINS
    return game._replace(result=result, termination=termination)


async def test_pause_and_resume_are_no_events(arena: Arena) -> None:
    await hook(arena)
    await arena.tournament()
    await change(arena, pause_tournament, slug="cup")
    await change(arena, start_tournament, slug="cup", now_ms=NOW)
    assert [event for _, event in await told(arena)] == [START]


async def test_only_the_newest_events_wait_and_the_dropped_are_counted(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 2)
    dead, other = await hook(arena), await hook(arena, events=LEFT)
    for number in range(5):
        await arena.tournament(f"cup-{number}")
    listed = await arena.store.read(partial(webhooks.list_webhooks, owner_id=dead.owner_id))
    assert [(each.id, each.waiting, each.dropped) for each in listed] == [(dead.id, 2, 3), (other.id, 0, 0)]
    [event] = await due(arena)
    assert event.document["tournament"] == "tournaments/cup-3"


async def test_failures_double_the_delay_and_a_success_ends_them(arena: Arena) -> None:
    webhook = await hook(arena)
    await arena.tournament()
    now = NOW
    for failures in range(15):
        [event] = await due(arena, now)
        assert (event.failures, event.event) == (failures, START)
        await change(arena, webhooks.end_request, event=event, problem="down", now_ms=now)
        delay = min(2 ** (failures + 1), 3600) * 1000
        assert await due(arena, now + delay - 1) == []
        now += delay
    await change(arena, webhooks.end_request, event=event, problem=None, now_ms=now)
    webhook = await arena.store.read(partial(webhooks.get_webhook, webhook_id=webhook.id))
    assert (webhook.failures, webhook.problem, webhook.waiting) == (0, None, 0)


async def test_two_servers_do_not_send_at_the_same_time(arena: Arena) -> None:
    await hook(arena)
    await arena.tournament()
    [event] = await due(arena)
    begin = partial(webhooks.begin_request, event=event, until_ms=NOW + 10)
    assert [await arena.store.write(begin), await arena.store.write(begin)] == [True, False]
    assert await due(arena, NOW + 10 + webhooks.PERIOD_MS - 1) == []
    assert len(await due(arena, NOW + 10 + webhooks.PERIOD_MS)) == 1


async def test_a_test_ends_the_delay_and_keeps_the_order(arena: Arena) -> None:
    webhook = await hook(arena)
    await arena.tournament()
    for _ in range(3):
        [event] = await due(arena, NOW + 10_000)
        await change(arena, webhooks.end_request, event=event, problem="down", now_ms=NOW)
    await change(arena, webhooks.queue_test, webhook_id=webhook.id, now_ms=NOW)
    [event] = await due(arena, NOW + webhooks.PERIOD_MS)
    assert event.event == START
    assert await told(arena) == [(webhook.id, START), (webhook.id, webhooks.TEST)]


async def test_webhook_belongs_to_its_owner(arena: Arena) -> None:
    mine, bobs = await hook(arena), await hook(arena, "bob")
    await arena.tournament()
    with pytest.raises(PermissionDenied):
        await change(arena, webhooks.delete_webhook, webhook_id=mine.id, owner_id=bobs.owner_id)
    await change(arena, webhooks.delete_webhook, webhook_id=mine.id, owner_id=mine.owner_id)
    assert await told(arena) == []
    with pytest.raises(NotFound):
        await change(arena, webhooks.delete_webhook, webhook_id=mine.id)


async def test_number_of_webhooks_is_limited(arena: Arena) -> None:
    await hook(arena, most=1)
    await hook(arena, "bob", most=1)
    with pytest.raises(LimitReached):
        await hook(arena, most=1)
