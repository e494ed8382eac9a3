"""Settings of a tournament change until its start."""

from pathlib import Path
from typing import Any

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_server.core.limits import Limits
from tests.support.client import Client, Refusal, bearer, client_of, refusal_of

NAME = "tournaments/cup"


async def update(client: Client, token: str, *, keep_openings: bool = False, **fields: Any) -> pb.Tournament:
    request = pb.UpdateTournamentRequest(
        tournament=pb.Tournament(name=NAME, **fields),
        keep_openings=keep_openings,
    )
    answer = await client.tournaments.UpdateTournament(request, metadata=bearer(token))
    return answer.tournament


async def refused(client: Client, token: str, **fields: Any) -> Refusal:
    return await refusal_of(update(client, token, **fields))


async def test_settings_change_and_the_seed_and_entries_stay(client: Client) -> None:
    token = await client.token()
    openings = pb.Openings(kind="list", text="0 1\n4 8", name="mine")
    await client.create(token, openings=openings)
    created = await client.get()
    await client.register("ada", "bob")
    await client.join(token, "ada")
    updated = await update(
        client,
        token,
        keep_openings=True,
        title="New title",
        schedule=pb.SCHEDULE_SWISS,
        rounds=2,
        time=types_pb2.TimeControl(bank_us=5_000_000),
        entries_max=8,
    )
    assert (updated.title, updated.rounds, updated.entries_max) == ("New title", 2, 8)
    assert (updated.openings.name, updated.openings.count) == ("mine", 2)
    assert updated.seed_hash == created.seed_hash
    assert [row.label for row in updated.standings] == ["ada"]
    assert not (await update(client, token)).HasField("openings")


async def test_bots_that_have_joined_keep_their_game_and_their_place(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    await client.register("ada", "bob", "eve")
    assert (await update(client, token, variant="connect4")).variant == "connect4"
    for bot in ("ada", "bob", "eve"):
        await client.join(token, bot)
    assert (await refused(client, token, variant="tictactoe")).fields() == ["tournament.variant"]
    assert (await refused(client, token, variant="connect4", fuel=5)).fields() == ["tournament.fuel"]
    assert (await refused(client, token, variant="connect4", entries_max=2)).fields() == ["tournament.entries_max"]


async def test_new_openings_count_against_the_limit_of_settings(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(settings_bytes=300)) as client:
        token = await client.token()
        await client.create(token)
        openings = pb.Openings(kind="list", text="\n".join(["0 1"] * 100))
        assert (await refused(client, token, openings=openings)).info.metadata["limit"] == "settings_bytes"
        assert not (await client.get()).HasField("openings")


async def test_only_the_owner_updates_only_an_open_tournament(client: Client) -> None:
    token = await client.token()
    await client.create(token)
    assert (await refused(client, await client.token("mallory"), title="x")).reason == "PERMISSION_DENIED"
    await client.cancel(token)
    assert (await refused(client, token, title="x")).reason == "WRONG_STATE"
