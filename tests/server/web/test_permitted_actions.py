"""What the page of a tournament offers to its organiser and to authors of bots."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from noughts_server.web.documents import Document
from noughts_server.web.pages.tournament_actions import permitted_actions
from noughts_server.web.pages.website import Website

NO_CROSSTABLE: Document = {"matches": [], "encounters": []}


def row(bot: str, **values: Any) -> Document:
    """Return a row of standings with two wins."""
    version = f"bots/{bot}/versions/1"
    return {"label": bot, "bot_version": version, "withdraw_time": None, "wins": 2, "draws": 0, "losses": 0, **values}


def tournament(**values: Any) -> Document:
    """Return a running rated round robin of alice, in which bots of alice, bob and cleo play."""
    return {
        "owner": "alice",
        "state": "running",
        "rated": True,
        "repeat": None,
        "challenge": False,
        "variant": "tictactoe",
        "schedule": "round_robin",
        "games_per_pair": 4,
        "rounds": 0,
        "stop_when_decided": False,
        "sprt": "",
        "standings": [row("ada"), row("ben"), row("cat", withdraw_time="2026-03-01T12:00:00Z")],
        **values,
    }


async def actions(owner: str, event: Document, *, is_admin: bool = False) -> Document:
    """Return the actions of an owner whose only bot has the same first letter."""

    async def person(request: Request) -> Any:
        return SimpleNamespace(owner=owner, is_admin=is_admin)

    async def bots_of(person: Any) -> list[Document]:
        names = {"alice": "ada", "bob": "ben", "cleo": "cat"}
        return [{"name": f"bots/{names[person.owner]}", "declared_variants": []}] if person.owner in names else []

    async def ask(method: object, request: object) -> Document:
        return {"bots": [], "next_page_token": ""}

    upstream = SimpleNamespace(ask=ask, bots=SimpleNamespace(ListBots=None))
    website = cast("Website", SimpleNamespace(person=person, bots_of=bots_of, upstream=upstream))
    permitted = await permitted_actions(website, cast("Request", None), event, NO_CROSSTABLE)
    assert permitted is not None
    return permitted


@pytest.mark.parametrize(
    "owner, is_admin, values, withdrawable, concedes",
    [
        ("alice", False, {}, ["ada"], True),
        ("alice", False, {"rated": False}, ["ada", "ben"], False),
        ("alice", False, {"state": "finished"}, [], False),
        ("alice", True, {}, ["ada", "ben"], False),
        ("dan", True, {}, ["ada", "ben"], False),
        ("bob", False, {}, ["ben"], False),
        ("cleo", False, {}, [], False),
        ("dan", False, {"owner": "dan"}, ["ada", "ben"], False),
    ],
)
async def test_page_offers_to_withdraw_what_the_service_allows(
    owner: str, is_admin: bool, values: Document, withdrawable: list[str], concedes: bool
) -> None:
    permitted = await actions(owner, tournament(**values), is_admin=is_admin)
    assert [each["label"] for each in permitted["entries"]] == withdrawable
    assert permitted["concedes"] is concedes


@pytest.mark.parametrize(
    "schedule, sprt, games_left, adds",
    [
        ("round_robin", "", 6, "games_per_pair"),
        ("gauntlet", "", 0, "games_per_pair"),
        ("swiss", "", 0, "rounds"),
        ("match", "elo0=0,elo1=10", 0, ""),
    ],
)
async def test_page_says_games_left_and_extension_of_a_format(
    schedule: str, sprt: str, games_left: int, adds: str
) -> None:
    permitted = await actions("alice", tournament(schedule=schedule, sprt=sprt, rated=False))
    assert [each["games_left"] for each in permitted["entries"]] == [games_left] * 2
    assert (permitted["adds"], "extend" in permitted["actions"]) == (adds, bool(adds))


@pytest.mark.parametrize("challenge, offered", [(False, ["pause", "cancel", "extend"]), (True, ["cancel", "extend"])])
async def test_page_offers_no_pause_of_a_challenge(challenge: bool, offered: list[str]) -> None:
    assert (await actions("alice", tournament(challenge=challenge)))["actions"] == offered
