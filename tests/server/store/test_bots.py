"""Bots and their versions."""

from functools import partial

import pytest

from noughts_server.core.errors import InvalidArgument, LimitReached, NotFound, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.store.engine.pages import Page
from noughts_server.store.people.bot_lists import ListedBot, list_bots
from noughts_server.store.people.bots import Bot, BotVersion, get_bot, get_version, log_in, log_in_again, rename_bot
from noughts_server.store.people.submissions import Upload, ready_submissions, store_submission
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import NOW, Arena


async def log_in_as(arena: Arena, name: str, version: str = "", owner: str = "alice") -> BotVersion:
    """Log a bot in, which registers it if it is new."""
    owner_id = await arena.store.write(partial(create_owner, name=owner))
    return await arena.store.write(partial(log_in, owner_id=owner_id, name=name, version=version, now_ms=NOW))


async def test_bot_is_registered_when_seen_first(arena: Arena) -> None:
    first = await log_in_as(arena, "ada")
    assert (first.bot, first.resource) == ("ada", "bots/ada/versions/1")
    assert await log_in_as(arena, "ada") == first
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


async def test_known_bot_logs_in_again_without_a_write(arena: Arena) -> None:
    first = await log_in_as(arena, "ada")
    bot = await arena.store.read(partial(get_bot, name="ada"))
    again = partial(log_in_again, owner_id=bot.owner_id, name="ada")
    assert await arena.store.read(again) == first
    for unknown in ({"name": "bob"}, {"version": "2"}):
        with pytest.raises(NotFound):
            await arena.store.read(partial(again, **unknown))
    with pytest.raises(PermissionDenied):
        await arena.store.read(partial(again, owner_id=bot.owner_id + 1))


async def test_new_version_belongs_to_the_same_bot_and_is_the_newest(arena: Arena) -> None:
    first, second = await log_in_as(arena, "ada", "1.9"), await log_in_as(arena, "ada", "1.10")
    assert first.bot_id == second.bot_id
    assert first.id != second.id
    assert await log_in_as(arena, "ada", "1.9") == first
    newest = await arena.store.read(partial(get_version, name="ada"))
    assert newest.resource == "bots/ada/versions/1.10"
    pinned = await arena.store.read(partial(get_version, name="ada", version="1.9"))
    assert pinned.id == first.id


async def test_name_of_another_owners_bot_is_taken(arena: Arena) -> None:
    await log_in_as(arena, "ada")
    with pytest.raises(PermissionDenied, match="bots/ada"):
        await log_in_as(arena, "ada", owner="bob")


@pytest.mark.parametrize("name, version", [("", "1"), ("a b", "1"), ("-a", "1"), ("a" * 64, "1"), ("a", "1/2")])
async def test_bad_name_is_an_invalid_argument(arena: Arena, name: str, version: str) -> None:
    with pytest.raises(InvalidArgument):
        await log_in_as(arena, name, version)


async def test_name_may_hold_what_a_spec_holds(arena: Arena) -> None:
    assert (await log_in_as(arena, "threats:depth=2,x#2+")).bot == "threats:depth=2,x#2+"


async def test_unknown_bot_or_version_is_not_found(arena: Arena) -> None:
    with pytest.raises(NotFound, match="bots/ada does not exist"):
        await arena.store.read(partial(get_bot, name="ada"))
    await log_in_as(arena, "ada")
    with pytest.raises(NotFound, match="bots/ada/versions/2"):
        await arena.store.read(partial(get_version, name="ada", version="2"))


async def test_bots_are_listed_by_name_page_by_page(arena: Arena) -> None:
    for name in ("cleo", "ada", "Bob", "dora", "emil"):
        await log_in_as(arena, name)
        await log_in_as(arena, name, "2")

    async def page(token: str) -> Page[ListedBot]:
        return await arena.store.read(partial(list_bots, size=2, page_token=token))

    names, token = [], ""
    while True:
        bots_page = await page(token)
        names.append([each.bot.name for each in bots_page.items])
        if not (token := bots_page.next_page_token):
            break
    assert names == [["Bob", "ada"], ["cleo", "dora"], ["emil"]]


async def test_a_page_of_bots_is_in_natural_order(arena: Arena) -> None:
    for name in ("b10", "b1", "b2"):
        await log_in_as(arena, name)
    assert [each.bot.name for each in (await arena.store.read(list_bots)).items] == ["b1", "b2", "b10"]


async def test_only_some_bots_can_be_listed(arena: Arena) -> None:
    ids = {name: (await log_in_as(arena, name)).bot_id for name in ("ada", "bob", "cleo")}
    online = [ids["cleo"], ids["ada"]]
    page = await arena.store.read(partial(list_bots, bot_ids=online))
    assert [each.bot.name for each in page.items] == ["ada", "cleo"]
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
    await log_in_as(arena, "ben", owner="bob")
    await log_in_as(arena, "ada")
    with pytest.raises(PermissionDenied):
        await log_in_as(arena, name)
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(rename_bot, name="ada", new_name=name, now_ms=NOW))
    await log_in_as(arena, name, owner=name.lower().partition("-")[0])
    assert (await log_in_as(arena, "carl-person")).bot == "carl-person"


@pytest.mark.parametrize("name", ["s1te-2", "H0use_random"])
async def test_names_that_look_like_those_of_the_servers_own_bots_are_refused(arena: Arena, name: str) -> None:
    with pytest.raises(PermissionDenied):
        await log_in_as(arena, name)


LIMITED = Limits(renames=1)


async def log_in_with_limits(arena: Arena, name: str, owner: str) -> BotVersion:
    """Log a bot in on a server whose bots can be renamed once a day."""
    owner_id = await arena.store.write(partial(create_owner, name=owner))
    return await arena.store.write(partial(log_in, owner_id=owner_id, name=name, now_ms=NOW, limits=LIMITED))


@pytest.mark.parametrize("name", ["Careful", "carefu1", "carefuI", "careful.", "care-ful", "ca-refu-l_"])
async def test_name_that_looks_like_that_of_another_owners_bot_is_refused(arena: Arena, name: str) -> None:
    await log_in_with_limits(arena, "careful", "alice")
    with pytest.raises(PermissionDenied):
        await log_in_with_limits(arena, name, "bob")
    assert (await log_in_with_limits(arena, name, "alice")).bot == name


@pytest.mark.parametrize("name", ["Minimax", "minirnax", "minimax.", "m1nimax", "rninimax:depth=2"])
async def test_names_of_reference_bots_can_be_used_but_not_imitated(arena: Arena, name: str) -> None:
    with pytest.raises(PermissionDenied):
        await log_in_with_limits(arena, name, "bob")
    assert (await log_in_with_limits(arena, "minimax:depth=2", "bob")).bot == "minimax:depth=2"


async def test_old_name_stays_its_owners_and_renames_are_limited(arena: Arena) -> None:
    ada = await log_in_with_limits(arena, "ada", "alice")
    rename = partial(rename_bot, now_ms=NOW, owner_id=ada.owner_id, limits=LIMITED)
    await arena.store.write(partial(rename, name="ada", new_name="eva"))
    with pytest.raises(PermissionDenied):
        await log_in_with_limits(arena, "Ada", "bob")
    with pytest.raises(LimitReached):
        await arena.store.write(partial(rename, name="eva", new_name="ada"))
    later = partial(rename, now_ms=NOW + 25 * 3600 * 1000)
    assert (await arena.store.write(partial(later, name="eva", new_name="ada"))).name == "ada"
