"""Bots and their versions."""

from functools import partial

import pytest

from noughts_server.core.errors import InvalidArgument, LimitReached, NotFound, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.store.engine.pages import Page
from noughts_server.store.people.bots import (
    Bot,
    BotVersion,
    get_bot,
    get_version,
    list_bots,
    log_in,
    log_in_again,
    rename_bot,
)
from noughts_server.store.people.submissions import Upload, ready_submissions, store_submission
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import NOW, Arena


async def enter(arena: Arena, name: str, version: str = "", owner: str = "alice") -> BotVersion:
    owner_id = await arena.store.write(partial(create_owner, name=owner))
    return await arena.store.write(partial(log_in, owner_id=owner_id, name=name, version=version, now_ms=NOW))


async def test_bot_is_registered_when_seen_first(arena: Arena) -> None:
    first = await enter(arena, "ada")
    assert (first.bot, first.resource) == ("ada", "bots/ada/versions/1")
    assert await enter(arena, "ada") == first
    bot = await arena.store.read(partial(get_bot, name="ada"))
    assert bot == Bot(
        id=first.bot_id,
        name="ada",
        owner_id=bot.owner_id,
        owner="alice",
        latest_version="1",
        created_at=NOW,
        retired_at=None,
        open_to_organisers=False,
        open_to_tests=False,
    )


async def test_bot_that_is_known_logs_in_again_without_anything_being_written(arena: Arena) -> None:
    first = await enter(arena, "ada")
    bot = await arena.store.read(partial(get_bot, name="ada"))
    again = partial(log_in_again, owner_id=bot.owner_id, name="ada")
    assert await arena.store.read(again) == first
    for unknown in ({"name": "bob"}, {"version": "2"}):
        with pytest.raises(NotFound):
            await arena.store.read(partial(again, **unknown))
    with pytest.raises(PermissionDenied):
        await arena.store.read(partial(again, owner_id=bot.owner_id + 1))


async def test_new_version_belongs_to_the_same_bot_and_is_the_newest(arena: Arena) -> None:
    first, second = await enter(arena, "ada", "1.9"), await enter(arena, "ada", "1.10")
    assert first.bot_id == second.bot_id
    assert first.id != second.id
    assert await enter(arena, "ada", "1.9") == first
    newest = await arena.store.read(partial(get_version, name="ada"))
    assert newest.resource == "bots/ada/versions/1.10"
    pinned = await arena.store.read(partial(get_version, name="ada", version="1.9"))
    assert pinned.id == first.id


async def test_name_of_another_owners_bot_is_taken(arena: Arena) -> None:
    await enter(arena, "ada")
    with pytest.raises(PermissionDenied, match="bots/ada"):
        await enter(arena, "ada", owner="bob")


@pytest.mark.parametrize("name, version", [("", "1"), ("a b", "1"), ("-a", "1"), ("a" * 64, "1"), ("a", "1/2")])
async def test_bad_name_is_an_invalid_argument(arena: Arena, name: str, version: str) -> None:
    with pytest.raises(InvalidArgument):
        await enter(arena, name, version)


async def test_name_may_hold_what_a_spec_holds(arena: Arena) -> None:
    assert (await enter(arena, "threats:depth=2,x#2+")).bot == "threats:depth=2,x#2+"


async def test_unknown_bot_or_version_is_not_found(arena: Arena) -> None:
    with pytest.raises(NotFound, match="bots/ada does not exist"):
        await arena.store.read(partial(get_bot, name="ada"))
    await enter(arena, "ada")
    with pytest.raises(NotFound, match="bots/ada/versions/2"):
        await arena.store.read(partial(get_version, name="ada", version="2"))


async def test_bots_are_listed_by_name_page_by_page(arena: Arena) -> None:
    for name in ("cleo", "ada", "Bob", "dora", "emil"):
        await enter(arena, name)
        await enter(arena, name, "2")

    async def page(token: str) -> Page[Bot]:
        return await arena.store.read(partial(list_bots, size=2, page_token=token))

    names, token = [], ""
    while True:
        shown = await page(token)
        names.append([bot.name for bot in shown.items])
        if not (token := shown.next_page_token):
            break
    assert names == [["Bob", "ada"], ["cleo", "dora"], ["emil"]]


async def test_a_page_of_bots_is_in_natural_order(arena: Arena) -> None:
    for name in ("b10", "b1", "b2"):
        await enter(arena, name)
    assert [bot.name for bot in (await arena.store.read(list_bots)).items] == ["b1", "b2", "b10"]


async def test_only_some_bots_can_be_listed(arena: Arena) -> None:
    keys = {name: (await enter(arena, name)).bot_id for name in ("ada", "bob", "cleo")}
    online = [keys["cleo"], keys["ada"]]
    shown = await arena.store.read(partial(list_bots, bot_ids=online))
    assert [bot.name for bot in shown.items] == ["ada", "cleo"]
    assert (await arena.store.read(partial(list_bots, bot_ids=[]))).items == []


@pytest.mark.parametrize("declines", [True, False])
async def test_submission_keeps_what_it_declared_in_its_trial(arena: Arena, declines: bool) -> None:
    owner_id = await arena.store.write(partial(create_owner, name="alice"))
    upload = Upload(
        bot="ada",
        version="",
        kind="py",
        entry="ada.py:Ada",
        file_name="ada.py",
        content=b"",
        variants=("connect4",),
        declines_challenges=declines,
    )
    store = partial(store_submission, upload=upload, owner_id=owner_id, now_ms=NOW, limits=Limits())
    stored = (await arena.store.write(store)).submission
    assert (stored.variants, stored.declines_challenges) == (["connect4"], declines)
    assert await arena.store.read(ready_submissions) == [stored]


@pytest.mark.parametrize("name", ["site-guest-1", "Site-minimax-3", "house-random", "bob-person", "bob-guest-2"])
async def test_names_of_the_servers_own_bots_are_reserved(arena: Arena, name: str) -> None:
    await enter(arena, "ben", owner="bob")
    await enter(arena, "ada")
    with pytest.raises(PermissionDenied):
        await enter(arena, name)
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(rename_bot, name="ada", new_name=name, now_ms=NOW))
    await enter(arena, name, owner=name.lower().partition("-")[0])
    assert (await enter(arena, "carl-person")).bot == "carl-person"


LIMITED = Limits(renames=1)


async def register(arena: Arena, name: str, owner: str) -> BotVersion:
    owner_id = await arena.store.write(partial(create_owner, name=owner))
    return await arena.store.write(partial(log_in, owner_id=owner_id, name=name, now_ms=NOW, limits=LIMITED))


@pytest.mark.parametrize("name", ["Careful", "carefu1", "carefuI", "careful.", "care-ful", "ca-refu-l_"])
async def test_name_that_looks_like_that_of_another_owners_bot_is_refused(arena: Arena, name: str) -> None:
    await register(arena, "careful", "alice")
    with pytest.raises(PermissionDenied):
        await register(arena, name, "bob")
    assert (await register(arena, name, "alice")).bot == name


@pytest.mark.parametrize("name", ["Minimax", "minirnax", "minimax.", "m1nimax", "rninimax:depth=2"])
async def test_reference_names_cannot_be_imitated_but_used(arena: Arena, name: str) -> None:
    with pytest.raises(PermissionDenied):
        await register(arena, name, "bob")
    assert (await register(arena, "minimax:depth=2", "bob")).bot == "minimax:depth=2"


async def test_old_name_stays_its_owners_and_renames_are_limited(arena: Arena) -> None:
    ada = await register(arena, "ada", "alice")
    rename = partial(rename_bot, now_ms=NOW, owner_id=ada.owner_id, limits=LIMITED)
    await arena.store.write(partial(rename, name="ada", new_name="eva"))
    with pytest.raises(PermissionDenied):
        await register(arena, "Ada", "bob")
    with pytest.raises(LimitReached):
        await arena.store.write(partial(rename, name="eva", new_name="ada"))
    later = partial(rename, now_ms=NOW + 25 * 3600 * 1000)
    assert (await arena.store.write(partial(later, name="eva", new_name="ada"))).name == "ada"
