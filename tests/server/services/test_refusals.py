"""Errors of refused calls: codes, reasons and details."""

import sqlite3
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.rpc.error_details_pb2 import PreconditionFailure, RetryInfo

from noughts_proto.v1 import bots_pb2, games_pb2, tournaments_pb2
from noughts_server.store.games.notes import GameNote, add_notes
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import open_arena
from tests.support.client import Client, bearer, client_of, refusal_of

from .test_lists import leaderboard_page


async def test_a_tournament_in_the_wrong_state_says_which_state_was_needed(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    for change in (client.pause, client.start):  # it is open; it has no entries
        refusal = await refusal_of(change(token))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        (failure,) = refusal.details
        assert isinstance(failure, PreconditionFailure)
        assert [(violation.type, violation.subject) for violation in failure.violations] == [
            ("STATE", "tournaments/cup")
        ]
        assert refusal.info.metadata["got"].startswith("open")
        assert refusal.info.metadata["expected"]


async def test_a_cancelled_tournament_cannot_be_started_again(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert (await client.cancel(token)).state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED
    assert (await refusal_of(client.start(token))).reason == "WRONG_STATE"


async def test_missing_resources_are_not_found_and_named(client: Client) -> None:
    calls: dict[str, Awaitable[object]] = {
        "tournaments/none": client.get("none"),
        "bots/none": client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/none")),
        "tournaments/none/games/1": client.games.GetGame(games_pb2.GetGameRequest(name="tournaments/none/games/1")),
    }
    for name, call in calls.items():
        refusal = await refusal_of(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
        assert name.startswith(refusal.info.metadata["subject"])


async def test_output_of_a_process_is_shown_only_to_owner_and_organiser(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        tournament = await arena.tournament("cup", bots=("ada", "bob"))
        await arena.commit(await arena.play(tournament))
        notes = [GameNote(tournament.id, 1, side, f"of side {side}") for side in (0, 1)]
        await arena.store.write(lambda connection: add_notes(connection, notes))
    async with client_of(tmp_path / "x.sqlite") as client:
        organiser, others = await client.token("alice"), await client.token("bob")
        [second] = (
            await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup", page_size=1))
        ).games
        bot = second.second_bot.split("/")[1]

        def hand_over(connection: Any) -> None:
            owner = create_owner(connection, "carol")
            connection.exec_driver_sql("UPDATE bots SET owner_id = ? WHERE name = ?", (owner, bot))

        await client.server.store.write(hand_over)
        texts_by_token = {
            None: [],
            others: [],
            await client.token("carol"): ["of side 1"],
            organiser: ["of side 0", "of side 1"],
            await client.token("root", "admin"): ["of side 0", "of side 1"],
        }
        for token, texts in texts_by_token.items():
            request = games_pb2.GetGameRequest(name="tournaments/cup/games/1")
            answer = await client.games.GetGame(request, metadata=bearer(token) if token else ())
            assert [note.text for note in answer.notes] == texts


async def test_a_malformed_name_is_refused(client: Client) -> None:
    game = "tournaments/cup/games/"
    for name in ("", "cup", "tournaments/", "x" * 10_000, game, f"{game}-1", f"{game}x", f"{game}1/", f"bots/{game}1"):
        refusal = await refusal_of(client.games.GetGame(games_pb2.GetGameRequest(name=name)))
        assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields() == ["name"]


async def test_odd_numbers_of_games_are_not_internal_errors(visitor: Client) -> None:
    for number in ("0", "9" * 18, "9" * 19, str(1 << 63), "1" + "0" * 63, "9" * 5_000, "٣", "²"):
        request = games_pb2.GetGameRequest(name=f"tournaments/cup/games/{number}")
        refusal = await refusal_of(visitor.games.GetGame(request))
        assert refusal.code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT), number


async def test_an_unexpected_error_is_internal_and_reveals_no_details(visitor: Client) -> None:
    # Another program changes the file, which the server does not expect.
    with closing(sqlite3.connect(visitor.database)) as connection, connection:
        connection.execute("ALTER TABLE ratings RENAME TO hidden")
    refusal = await refusal_of(leaderboard_page(visitor, 0, ""))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert not refusal.details
    assert not refusal.info.metadata
    for secret in ("rating", "sql", "select", "table", "traceback", str(visitor.database.parent).lower()):
        assert secret not in refusal.trailing.lower()
    # Other calls still work.
    request = games_pb2.GetGameRequest(name="tournaments/cup/games/1")
    assert (await visitor.games.GetGame(request)).game.name == request.name


async def test_a_server_whose_database_is_closed_asks_callers_to_retry(client: Client) -> None:
    await client.server.store.close()
    refusal = await refusal_of(client.get())
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
    (retry,) = refusal.details
    assert isinstance(retry, RetryInfo)
    assert retry.retry_delay.ToMilliseconds() > 0
