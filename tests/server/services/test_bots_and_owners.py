"""Bots and their owners: renamed and retired bots, bots that organisers enter, and places of an owner."""

import grpc

from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import bots_pb2, tournaments_pb2
from tests.support.client import Client, bearer, hello, refusal_of

from .players import withdrawal


async def rename(client: Client, token: str, old: str, new: str) -> bots_pb2.Bot:
    request = bots_pb2.UpdateBotRequest(name=f"bots/{old}", new_name=new)
    return (await client.bots.UpdateBot(request, metadata=bearer(token))).bot


async def retire(client: Client, token: str, bot: str, *, undo: bool = False) -> bots_pb2.Bot:
    request = bots_pb2.RetireBotRequest(name=f"bots/{bot}", undo=undo)
    return (await client.bots.RetireBot(request, metadata=bearer(token))).bot


async def bot_names(client: Client, *, retired: bool = False) -> list[str]:
    answer = await client.bots.ListBots(bots_pb2.ListBotsRequest(show_retired=retired))
    return [bot.name for bot in answer.bots]


async def test_renamed_bot_keeps_its_label_and_its_owner_keeps_the_old_name(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        await client.create(token)
        for bot in ("ada", "bob"):
            await client.join(token, bot)
        renamed = await rename(client, token, "ada", "eve")
        assert (renamed.name, renamed.online) == ("bots/eve", True)
        await client.start(token)
        finished = await client.until(lambda tournament: tournament.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert {row.label: row.bot_version for row in finished.standings} == {
        "ada": "bots/eve/versions/1",
        "bob": "bots/bob/versions/1",
    }
    assert await bot_names(client) == ["bots/bob", "bots/eve"]
    stranger = await client.token("mallory")
    assert (await refusal_of(client.first_frame(hello(), bearer(stranger)))).reason == "PERMISSION_DENIED"
    assert (await client.first_frame(hello(), bearer(token))).welcome.bot == "bots/ada"


async def test_only_its_owner_renames_or_retires_a_bot(client: Client) -> None:
    await client.register("ada", "bob")
    token, stranger = await client.token(), await client.token("mallory")
    for call in (rename(client, stranger, "ada", "eve"), retire(client, stranger, "ada")):
        assert (await refusal_of(call)).reason == "PERMISSION_DENIED"
    assert (await refusal_of(rename(client, token, "ada", "bob"))).reason == "ALREADY_EXISTS"
    assert (await refusal_of(rename(client, token, "ada", "a b"))).fields() == ["new_name"]
    assert (await refusal_of(rename(client, token, "nobody", "eve"))).reason == "NOT_FOUND"
    token_of_one_bot = await client.token("alice", "play:ada")
    assert (await refusal_of(rename(client, token_of_one_bot, "ada", "eve"))).reason == "SCOPE_MISSING"
    assert await bot_names(client) == ["bots/ada", "bots/bob"]


async def test_a_retired_bot_cannot_log_in_or_enter_until_it_is_restored(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    for slug in ("cup", "plate"):
        await client.create(token, slug)
    await client.join(token, "ada")
    assert (await retire(client, token, "ada")).HasField("retire_time")
    assert [row.label for row in (await client.get()).standings] == []
    refusals = (client.first_frame(hello(), bearer(token)), client.join(token, "ada", "plate"))
    for call in refusals:
        refusal = await refusal_of(call)
        assert (refusal.reason, refusal.info.metadata["got"]) == ("WRONG_STATE", "retired")
    assert await bot_names(client) == ["bots/bob"]
    assert await bot_names(client, retired=True) == ["bots/ada", "bots/bob"]
    assert not (await retire(client, token, "ada", undo=True)).HasField("retire_time")
    assert (await client.join(token, "ada", "plate")).label == "ada"
    assert await bot_names(client) == ["bots/ada", "bots/bob"]


async def test_organiser_enters_a_bot_only_if_its_owner_agrees(client: Client) -> None:
    organiser, author = await client.token("olga", "organise"), await client.token("ada", "play")
    await client.register("corner", owner="ada")
    await client.create(organiser)
    refusal = await refusal_of(client.join(organiser, "corner"))
    assert refusal.reason == "PERMISSION_DENIED"
    assert "--open-to-organisers" in refusal.info.metadata["hint"]
    await set_open_to_organisers(client, author, "corner", True)
    assert (await client.join(organiser, "corner")).label == "corner"


async def test_consent_ends_for_later_tournaments_only(client: Client) -> None:
    organiser, author = await client.token("olga"), await client.token("ada")
    await client.register("corner", owner="ada")
    for slug in ("cup", "late"):
        await client.create(organiser, slug)
    await set_open_to_organisers(client, author, "corner", True)
    await client.join(organiser, "corner")
    await set_open_to_organisers(client, author, "corner", False)
    refusal = await refusal_of(client.join(organiser, "corner", "late"))
    assert refusal.reason == "PERMISSION_DENIED"
    assert "--open-to-organisers" in refusal.info.metadata["hint"]
    assert [row.label for row in (await client.get()).standings] == ["corner"]


async def test_open_bot_is_entered_only_in_tournaments_of_the_caller(client: Client) -> None:
    organiser, other, author = [await client.token(owner) for owner in ("olga", "otto", "ada")]
    await client.register("corner", owner="ada")
    await client.create(organiser)
    await set_open_to_organisers(client, author, "corner", True)
    assert (await refusal_of(client.join(other, "corner"))).reason == "PERMISSION_DENIED"


async def test_owner_withdraws_an_entry_that_an_organiser_made(client: Client) -> None:
    organiser, author = await client.token("olga"), await client.token("ada")
    await client.register("corner", owner="ada")
    await client.create(organiser)
    await set_open_to_organisers(client, author, "corner", True)
    await client.join(organiser, "corner")
    await client.tournaments.WithdrawTournament(withdrawal("corner"), metadata=bearer(author))
    assert not (await client.get()).standings


class OfSmallBoards(Random):
    """A bot that declares variants."""

    variants = ("tictactoe", "cells<=16")


async def test_bot_that_is_online_is_listed_with_the_variants_it_declares(client: Client) -> None:
    async with client.online(await client.token(), "corner", bot=OfSmallBoards()):
        [bot] = (await client.bots.ListBots(bots_pb2.ListBotsRequest())).bots
        details = await client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/corner"))
        assert list(bot.declared_variants) == list(details.bot.declared_variants) == ["tictactoe", "cells<=16"]


async def test_registering_again_adds_no_version_unless_one_is_named(client: Client) -> None:
    author = await client.token("ada")
    for version in ("2", ""):
        await client.bots.RegisterBot(
            bots_pb2.RegisterBotRequest(name="bots/corner", version=version), metadata=bearer(author)
        )
    details = await client.bots.GetBot(bots_pb2.GetBotRequest(name="bots/corner"))
    assert [version.name for version in details.versions] == ["bots/corner/versions/2"]


async def set_open_to_organisers(client: Client, token: str, bot: str, agrees: bool) -> None:
    request = bots_pb2.RegisterBotRequest(name=f"bots/{bot}", open_to_organisers=agrees)
    registered = await client.bots.RegisterBot(request, metadata=bearer(token))
    assert registered.bot.open_to_organisers == agrees


async def test_an_owner_gets_at_most_half_the_places_of_anothers_tournament(client: Client) -> None:
    alice, bob = await client.token(), await client.token("bob")
    await client.register("a1", "a2", "a3")
    await client.register("b1", "b2", "b3", owner="bob")
    await client.create(alice, entries_max=4)
    for bot in ("b1", "b2"):
        await client.join(bob, bot)
    refusal = await refusal_of(client.join(bob, "b3"))
    assert (refusal.reason, refusal.info.metadata["limit"]) == ("LIMIT_REACHED", "owner_entries")
    for bot in ("a1", "a2"):
        await client.join(alice, bot)
    await client.create(bob, "own", entries_max=3)
    for bot in ("b1", "b2", "b3"):
        await client.join(bob, bot, "own")


async def test_label_that_looks_like_a_bot_or_entry_of_others_is_refused(client: Client) -> None:
    organiser, mallory_token = await client.token(), await client.token("mallory")
    await client.register("cat", "winner")
    await client.register("rat", owner="mallory")
    await client.create(organiser)
    first_entry = tournaments_pb2.JoinTournamentRequest(name="tournaments/cup", bot="bots/cat", label="first")
    await client.tournaments.JoinTournament(first_entry, metadata=bearer(organiser))
    for label in ("Winner", "wlnner", "f1rst", "First."):
        request = tournaments_pb2.JoinTournamentRequest(name="tournaments/cup", bot="bots/rat", label=label)
        refusal = await refusal_of(client.tournaments.JoinTournament(request, metadata=bearer(mallory_token)))
        assert (label, refusal.code) == (label, grpc.StatusCode.ALREADY_EXISTS)
    assert (await client.join(mallory_token, "rat")).label == "rat"
