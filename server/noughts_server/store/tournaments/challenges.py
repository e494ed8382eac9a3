"""Challenges: tournaments of two bots that start at once; unrated, except those of two bots that seek games."""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from noughts_server.competition.elo import START
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.bulk import in_batches
from noughts_server.store.engine.schema import (
    Kind,
    TournamentState,
    bot_versions,
    bots,
    entries,
    rating_lists,
    ratings,
    tournaments,
)
from noughts_server.store.people.bots import BotVersion, get_version_by_id
from noughts_server.store.people.tokens import SITE_OWNER, create_owner
from noughts_server.store.seeds import SeedKind
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament, create_tournament, start_tournament


@dataclass(frozen=True, slots=True)
class NewChallenge:
    """The challenger's choices."""

    challenger: BotVersion
    opponent: BotVersion
    settings: TournamentSettings
    """`own_times` has the names of bots as keys."""
    seed_kind: SeedKind = SeedKind.GIVEN
    opponent_begins: bool = False


def create_challenge(
    connection: Connection, new: NewChallenge, *, owner_id: int, now_ms: int, limits: Limits
) -> Tournament:
    """Create a challenge that was checked, and start it. Raises LimitReached, WrongState (a retired bot)."""
    _check_limits(connection, new, owner_id, limits)
    slug = f"challenge-{secrets.token_hex(5)}"
    bots = (new.opponent, new.challenger) if new.opponent_begins else (new.challenger, new.opponent)
    settings = replace(new.settings, title=f"{new.challenger.bot} - {new.opponent.bot}")
    tournament = NewTournament(slug, settings, kind=Kind.CHALLENGE, seed_kind=new.seed_kind)
    create_tournament(connection, tournament, owner_id=owner_id, now_ms=now_ms)
    for bot in bots:
        join_tournament(connection, slug, bot=bot.bot, version=bot.version)
    return start_tournament(connection, slug, now_ms=now_ms)


def create_sought_pair(
    connection: Connection, versions: Sequence[int], settings: TournamentSettings, *, now_ms: int
) -> str:
    """Create rated games of two bot versions that seek them, start them, and return the ID.

    The website's owner organises them, so that neither side can cancel a game. Games move a rating as little as those
    of tournaments in which an owner's bots cannot meet each other. Raises WrongState for a retired bot.
    """
    slug = f"seek-{secrets.token_hex(5)}"
    bots = [get_version_by_id(connection, version) for version in versions]
    settings = replace(settings, title=" - ".join(bot.bot for bot in bots))
    new = NewTournament(slug, settings, kind=Kind.CHALLENGE, seed_kind=SeedKind.DRAWN, own_rated=False)
    create_tournament(connection, new, owner_id=create_owner(connection, SITE_OWNER), now_ms=now_ms)
    for bot in bots:
        join_tournament(connection, slug, bot=bot.bot, version=bot.version)
    start_tournament(connection, slug, now_ms=now_ms)
    return slug


class SeekingBot(NamedTuple):
    """The facts about a bot version that decide its pairing."""

    owner: int
    rating: float


def seeking_bots(connection: Connection, lists: Mapping[int, tuple[str, str]]) -> dict[int, SeekingBot]:
    """Return these bot versions, by key, with their ratings in the list of this variant and time class.

    Retired bots are left out.
    """
    found: dict[int, SeekingBot] = {}
    versions = select(bot_versions.c.id, bots.c.id.label("bot"), bots.c.owner_id).join(bots)
    for batch in in_batches(sorted(lists)):
        active = versions.where(bot_versions.c.id.in_(batch), bots.c.retired_at.is_(None))
        for row in connection.execute(active).all():
            variant, time_class = lists[row.id]
            of_list = (rating_lists.c.variant == variant, rating_lists.c.time_class == time_class)
            rating = select(ratings.c.rating).join(rating_lists, rating_lists.c.id == ratings.c.list_id)
            stored = connection.scalar(rating.where(ratings.c.bot_id == row.bot, *of_list))
            found[row.id] = SeekingBot(row.owner_id, START if stored is None else stored)
    return found


def open_challenges(connection: Connection) -> dict[str, list[int]]:
    """Return the IDs of running challenges with their bot versions."""
    versions_by_slug: defaultdict[str, list[int]] = defaultdict(list)
    playing = select(tournaments.c.slug, entries.c.bot_version_id).select_from(entries).join(tournaments)
    ordered = playing.where(_is_running_challenge()).order_by(tournaments.c.id, entries.c.number)
    for slug, version in connection.execute(ordered):
        versions_by_slug[slug].append(version)
    return dict(versions_by_slug)


def _check_limits(connection: Connection, new: NewChallenge, owner_id: int, limits: Limits) -> None:
    live = select(func.count()).select_from(tournaments).where(_is_running_challenge())
    of_owner = connection.execute(live.where(tournaments.c.owner_id == owner_id)).scalar_one()
    limits.check("challenges", "open challenges of yours", of_owner)
    for bot in (new.opponent, new.challenger):
        entered = exists().where(entries.c.bot_id == bot.bot_id, entries.c.tournament_id == tournaments.c.id)
        of_bot = connection.execute(live.where(entered)).scalar_one()
        limits.check("bot_challenges", f"open challenges of {bot_name(bot.bot)}", of_bot)


def _is_running_challenge() -> ColumnElement[bool]:
    # The sum prevents SQLite from reading all challenges by the index of kinds.
    return and_(tournaments.c.kind + 0 == int(Kind.CHALLENGE), tournaments.c.state == TournamentState.RUNNING)
