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


async def make_webhook(arena: Arena, owner: str = "alice", events: str = "", most: int = 9) -> Webhook:
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


async def queued_events(arena: Arena) -> list[tuple[int, str]]:
    """Return (webhook id, event) of all rows of the outbox."""
    return arena.rows("SELECT webhook_id, event FROM outbox ORDER BY id")


async def due_events(arena: Arena, now_ms: int = NOW) -> list[Event]:
    return await arena.store.read(partial(webhooks.due_events, now_ms=now_ms))


async def winners(arena: Arena) -> list[list[str]]:
    """The winners in the documents of the outbox."""
    stored = arena.rows("SELECT CAST(document AS TEXT) FROM outbox ORDER BY id")
    return [json.loads(document)["winners"] for (document,) in stored]


async def write(arena: Arena, function: Any, **values: Any) -> Any:
    return await arena.store.write(partial(function, **values))


async def test_events_of_a_tournament_wait_for_its_owners_webhooks(arena: Arena) -> None:
    mine = await make_webhook(arena)
    await make_webhook(arena, "bob")
    cup = await arena.tournament(bots=("ada", "bob", "cleo"))
    await write(arena, withdraw_entry, slug="cup", label="cleo", now_ms=NOW, reason="left")
    await arena.commit(await arena.play(cup))
    assert await queued_events(arena) == [(mine.id, START), (mine.id, LEFT), (mine.id, END)]
    [event] = await due_events(arena)
    assert event.document == {
        "tournament": "tournaments/cup",
        "title": "cup",
        "variant": "tictactoe",
        "state": "running",
        "games_total": 6,
        "games_done": 0,
    }


async def test_webhook_receives_only_the_events_that_it_names(arena: Arena) -> None:
    mine = await make_webhook(arena, events=f"{LEFT} {END}")
    await arena.tournament()
    assert await queued_events(arena) == []
    await write(arena, cancel_tournament, slug="cup", now_ms=NOW)
    [event] = await due_events(arena)
    assert (event.event, event.document["state"], event.webhook_id) == (END, "cancelled", mine.id)


async def test_end_of_a_tournament_names_all_bots_on_the_first_rank(arena: Arena) -> None:
    await make_webhook(arena, events=END)
    for slug, shared in (("alone", False), ("shared", True)):
        cup = await arena.tournament(slug, bots=("ada", "bob", "cleo"))
        # Ada always wins; in the other tournament the first mover does.
        await arena.commit(
            [as_won(game, by=0 if not shared and game.second == 0 else game.first) for game in await arena.play(cup)]
        )
    await arena.tournament("stopped")
    await write(arena, cancel_tournament, slug="stopped", now_ms=NOW)
    assert await winners(arena) == [["ada"], ["ada", "bob", "cleo"], []]


async def test_resumed_tournament_without_games_left_names_its_winners(arena: Arena) -> None:
    await make_webhook(arena, events=END)
    cup = await arena.tournament()
    await arena.commit([as_won(game, by=1) for game in await arena.play(cup)])
    arena.execute(f"UPDATE tournaments SET state = {int(TournamentState.PAUSED)}, ended_at = NULL")
    ended = await write(arena, start_or_finish, slug="cup", now_ms=NOW)
    assert (ended.state, ended.ended_at) == (TournamentState.FINISHED, NOW)
    assert await winners(arena) == [["bob"], ["bob"]]


async def test_costly_facts_are_computed_only_for_a_waiting_webhook(arena: Arena) -> None:
    cup = await arena.tournament()
    for events, calls in ((None, 0), (LEFT, 0), (END, 1), ("", 1)):
        if events is not None:
            await make_webhook(arena, events=events)
        calls_made: list[int] = []

        def costly(calls_made: list[int] = calls_made) -> dict[str, object]:
            calls_made.append(1)
            return {"winners": ["ada"]}

        await write(arena, webhooks.report_event, event=END, tournament=cup.id, now_ms=NOW, costly=costly)
        assert len(calls_made) == calls


async def test_owner_of_a_bot_hears_of_its_withdrawal_only(arena: Arena) -> None:
    bobs = await make_webhook(arena, "bob")
    await arena.tournament(bots=("ada", "bert", "cleo"), start=False)
    arena.execute(f"UPDATE bots SET owner_id = {bobs.owner_id} WHERE name = 'bert'")
    await write(arena, start_tournament, slug="cup", now_ms=NOW)
    for label in ("ada", "bert"):
        await write(arena, withdraw_entry, slug="cup", label=label, now_ms=NOW)
    assert await queued_events(arena) == [(bobs.id, START), (bobs.id, LEFT)]
    [document] = arena.rows(f"SELECT document FROM outbox WHERE event = '{LEFT}'")
    assert "bert" in str(document)


async def test_what_is_rolled_back_is_not_reported(arena: Arena) -> None:
    await make_webhook(arena)
    await arena.tournament(start=False)

    def fails(connection: Connection) -> None:
        start_tournament(connection, "cup", now_ms=NOW)
        raise KeyError

    with pytest.raises(KeyError):
        await arena.store.write(fails)
    assert await queued_events(arena) == []


async def test_match_that_ends_without_a_decision_reports_no_decision(arena: Arena) -> None:
    await make_webhook(arena)
    match = await arena.tournament(schedule=MATCH, games_per_pair=4, sprt="elo0=0,elo1=5")
    await arena.commit(await arena.play(match))
    assert [event for _, event in await queued_events(arena)] == [START, END]


async def test_record_upsets_are_reported_once_and_with_their_game(arena: Arena) -> None:
    mine = await make_webhook(arena, events="upset.record")
    cup = await arena.tournament(bots=("ada", "bob"), games_per_pair=100)
    games = [as_won(game, by=0) for game in await arena.play(cup)]
    upset = games[59]
    upset = games[59] = as_won(upset, by=1)
    for begin in range(0, 100, 20):
        await arena.commit(games[begin : begin + 20])
    [event] = await due_events(arena)
    document = event.document
    assert (document["winner"], document["loser"], document["game"]) == ("bob", "ada", upset.ordinal)
    assert arena.rows("SELECT upset FROM rating_lists") == [(document["rating_difference"],)]
    assert 100 < document["rating_difference"] < 800
    text = webhooks.EVENTS["upset.record"].format_map(document)
    assert text == f"bob beat ada, whose rating was {document['rating_difference']} higher, in tournament cup."
    arena.execute("UPDATE rating_lists SET upset = 2000")
    again = await arena.play(await arena.tournament("again", bots=("bob", "ada")))
    await arena.commit([as_won(game, by=0) for game in again])
    assert [event for _, event in await queued_events(arena)] == ["upset.record"]
    assert mine.id


async def test_win_without_a_played_game_is_not_a_record_upset(arena: Arena) -> None:
    await make_webhook(arena, events="upset.record")
    games = [as_won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    games[60] = as_won(games[60], by=1, termination=Termination.ADJUDICATED)._replace(moves=b"", times=b"")
    games[61] = as_won(games[61], by=1, termination=Termination.DISCONNECTED)
    games[80:] = [as_won(game, by=1) for game in games[80:]]
    for begin, records in ((0, []), (20, []), (40, []), (60, []), (80, [games[80].ordinal])):
        await arena.commit(games[begin : begin + 20])
        assert [event.document["game"] for event in await due_events(arena)] == records


async def test_record_upset_is_the_first_game_decided_on_the_board(arena: Arena) -> None:
    await make_webhook(arena, events="upset.record")
    games = [as_won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    games[60] = as_won(games[60], by=1, termination=Termination.ADJUDICATED)._replace(moves=b"", times=b"")
    games[62] = as_won(games[62], by=1)
    await arena.commit(games[:60])
    await arena.commit(games[60:])
    [event] = await due_events(arena)
    assert event.document["game"] == games[62].ordinal


async def test_unrated_game_between_own_bots_is_not_a_record_upset(arena: Arena) -> None:
    await make_webhook(arena, events="upset.record")
    games = [as_won(game, by=0) for game in await arena.play(await arena.tournament(games_per_pair=100))]
    await arena.commit(games)
    own = await arena.tournament("own")
    arena.execute("UPDATE tournaments SET own_rated = false WHERE slug = 'own'")
    await arena.commit([as_won(game, by=1) for game in await arena.play(own)])
    assert await queued_events(arena) == []


def as_won(game: FinishedGame, *, by: int, termination: Termination = Termination.LINE) -> FinishedGame:
    """Return the game with a result that this entry won."""
    result = Result.FIRST_WINS if game.first == by else Result.SECOND_WINS
    return game._replace(result=result, termination=termination)


async def test_pause_and_resume_are_no_events(arena: Arena) -> None:
    await make_webhook(arena)
    await arena.tournament()
    await write(arena, pause_tournament, slug="cup", now_ms=NOW)
    await write(arena, start_tournament, slug="cup", now_ms=NOW)
    assert [event for _, event in await queued_events(arena)] == [START]


async def test_only_the_newest_events_wait_and_the_dropped_are_counted(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 2)
    webhook, webhook_of_withdrawals = await make_webhook(arena), await make_webhook(arena, events=LEFT)
    for number in range(5):
        await arena.tournament(f"cup-{number}")
    webhook_rows = await arena.store.read(partial(webhooks.list_webhooks, owner_id=webhook.owner_id))
    assert [(webhook_row.id, webhook_row.waiting, webhook_row.dropped) for webhook_row in webhook_rows] == [
        (webhook.id, 2, 3),
        (webhook_of_withdrawals.id, 0, 0),
    ]
    [event] = await due_events(arena)
    assert event.document["tournament"] == "tournaments/cup-3"


async def test_failures_double_the_delay_and_a_success_ends_them(arena: Arena) -> None:
    webhook = await make_webhook(arena)
    await arena.tournament()
    now = NOW
    for failures in range(15):
        [event] = await due_events(arena, now)
        assert (event.failures, event.event) == (failures, START)
        await write(arena, webhooks.end_request, event=event, problem="down", now_ms=now)
        delay = min(2 ** (failures + 1), 3600) * 1000
        assert await due_events(arena, now + delay - 1) == []
        now += delay
    await write(arena, webhooks.end_request, event=event, problem=None, now_ms=now)
    webhook = await arena.store.read(partial(webhooks.get_webhook, webhook_id=webhook.id))
    assert (webhook.failures, webhook.problem, webhook.waiting) == (0, None, 0)


async def test_two_servers_do_not_send_at_the_same_time(arena: Arena) -> None:
    await make_webhook(arena)
    await arena.tournament()
    [event] = await due_events(arena)
    begin = partial(webhooks.begin_request, event=event, until_ms=NOW + 10)
    assert [await arena.store.write(begin), await arena.store.write(begin)] == [True, False]
    assert await due_events(arena, NOW + 10 + webhooks.PERIOD_MS - 1) == []
    assert len(await due_events(arena, NOW + 10 + webhooks.PERIOD_MS)) == 1


async def test_a_test_ends_the_delay_and_keeps_the_order(arena: Arena) -> None:
    webhook = await make_webhook(arena)
    await arena.tournament()
    for _ in range(3):
        [event] = await due_events(arena, NOW + 10_000)
        await write(arena, webhooks.end_request, event=event, problem="down", now_ms=NOW)
    await write(arena, webhooks.queue_test, webhook_id=webhook.id, now_ms=NOW)
    [event] = await due_events(arena, NOW + webhooks.PERIOD_MS)
    assert event.event == START
    assert await queued_events(arena) == [(webhook.id, START), (webhook.id, webhooks.TEST)]


async def test_webhook_belongs_to_its_owner(arena: Arena) -> None:
    mine, bobs = await make_webhook(arena), await make_webhook(arena, "bob")
    await arena.tournament()
    with pytest.raises(PermissionDenied):
        await write(arena, webhooks.delete_webhook, webhook_id=mine.id, owner_id=bobs.owner_id)
    await write(arena, webhooks.delete_webhook, webhook_id=mine.id, owner_id=mine.owner_id)
    assert await queued_events(arena) == []
    with pytest.raises(NotFound):
        await write(arena, webhooks.delete_webhook, webhook_id=mine.id)


async def test_number_of_webhooks_is_limited(arena: Arena) -> None:
    await make_webhook(arena, most=1)
    await make_webhook(arena, "bob", most=1)
    with pytest.raises(LimitReached):
        await make_webhook(arena, most=1)
