"""The list of bots, with what a table of bots shows of their rated games."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, ScalarSelect, Select, and_, exists, func, not_, select, tuple_

from noughts_server.competition.elo import Rating
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.natural_order import natural_key
from noughts_server.core.turns import give_way
from noughts_server.store.engine.pages import Key, Page, contains, page_size, read_page_token, write_page_token
from noughts_server.store.engine.schema import bots, owners, rating_lists, ratings
from noughts_server.store.people.bots import Bot, read_bot, select_bots

_MOST_VARIANTS = 3
"""Variants of a bot in the list, those with the most games."""
_UNRATED = -1e6
"""The sort key of a bot without a rated game."""


class BotOrder(StrEnum):
    """The order of a list of bots."""

    NAME = "name"
    GAMES = "games"
    """The most rated games first."""
    RATING = "rating"
    """The highest rating first: of each bot in the list in which it has the most games."""


@dataclass(frozen=True, slots=True)
class ListedBot:
    """A bot with a summary of its rated games."""

    bot: Bot
    games: int
    """Rated games in all lists."""
    rating_list: str = ""
    """`VARIANT/TIME_CLASS`: the list in which it has the most games, or the one that was requested; empty: none."""
    rating: float | None = None
    provisional: bool = False
    """Whether the rating is from too few games."""
    variants: tuple[str, ...] = ()
    """The variants of its rated games, those with the most games first, at most three."""
    variants_total: int = 0


def list_bots(
    connection: Connection,
    *,
    size: int = 0,
    page_token: str = "",
    bot_ids: Collection[int] | None = None,
    retired: bool = False,
    owner: str = "",
    search: str = "",
    order: str = "",
    rating_list: str = "",
    exclude_guests_of: str = "",
    exclude_anchors: bool = False,
) -> Page[ListedBot]:
    """Return a page of bots. By name, a page is in natural order (b2 before b10).

    `search` is a part of the name. With `retired`, the page includes retired bots. With `rating_list`, it has only bots
    that are rated in this list. `exclude_guests_of` is the owner of a website's token: the page is without the bots
    that the website created for games of its visitors. With `exclude_anchors`, it is without bots whose rating is
    fixed. Raises InvalidArgument (size, page token, order, search).
    """
    if order not in (*BotOrder, ""):
        raise InvalidArgument.of("order", order, f"one of {', '.join(BotOrder)}")
    limit = page_size(size)
    bot_order = BotOrder(order or BotOrder.NAME)
    keys = _select_keys(bot_order, rating_list)
    if bot_ids is not None:
        keys = keys.where(bots.c.id.in_(bot_ids))
    if owner:
        keys = keys.where(bots.c.owner_id == select(owners.c.id).where(owners.c.name == owner).scalar_subquery())
    if exclude_guests_of:
        keys = keys.where(not_(_is_guest_of(exclude_guests_of)))
    if exclude_anchors:
        keys = keys.where(bots.c.anchor.is_(None))
    if search:
        keys = keys.where(contains(search, bots.c.name))
    if not retired:
        keys = keys.where(bots.c.retired_at.is_(None))
    descending = bot_order is not BotOrder.NAME
    method = "bots" if bot_order is BotOrder.NAME and not rating_list else f"bots?{bot_order}&{rating_list}"
    # Names are unique. Bots with equal numbers are in the order of their registration, the newest first.
    example: Key = [0.0, 0] if descending else [""]
    after = read_page_token(method, page_token, example)
    place = keys.selected_columns.place
    if after is not None:
        last = tuple_(place, bots.c.id) < tuple_(*after) if descending else place > after[0]
        keys = keys.where(last)
    ordered = (place.desc(), bots.c.id.desc()) if descending else (place,)
    rows = _by_bot(connection, keys.order_by(*ordered).limit(limit + 1), rating_list, descending=descending)
    token = ""
    if len(rows) > limit:
        row = rows[limit - 1][0]
        # PostgreSQL returns sums as decimal numbers.
        token = write_page_token(method, [float(row.place), row.id] if descending else [row.place])
    items = [_listed_bot(of_bot) for of_bot in rows[:limit]]
    if bot_order is BotOrder.NAME:
        items.sort(key=lambda item: natural_key(item.bot.name))
    return Page(items, token)


def _is_guest_of(owner: str) -> ColumnElement[bool]:
    """Return whether a bot is an unrated one of the owner whose name begins with the owner's."""
    owner_id = select(owners.c.id).where(owners.c.name == owner).scalar_subquery()
    is_rated = exists().where(ratings.c.bot_id == bots.c.id)
    return and_(
        bots.c.owner_id == func.coalesce(owner_id, -1),
        bots.c.name.startswith(f"{owner}-", autoescape=True),
        not_(is_rated),
    )


def _select_keys(order: BotOrder, rating_list: str) -> Select[Any]:
    """Select the keys of bots with their `place` in this order: a name, or a number of which the largest is first."""
    in_list = ratings.alias("in_list")
    if rating_list:
        of_bot = and_(in_list.c.bot_id == bots.c.id, in_list.c.list_id == _key_of(rating_list))
    if order is BotOrder.NAME:
        statement = select(bots.c.id, bots.c.name.label("place"))
    elif order is BotOrder.GAMES:
        sums = select(ratings.c.bot_id, func.sum(ratings.c.games).label("games")).group_by(ratings.c.bot_id).subquery()
        place = func.coalesce(sums.c.games, 0)
        statement = select(bots.c.id, place.label("place")).outerjoin(sums, sums.c.bot_id == bots.c.id)
    elif rating_list:
        statement = select(bots.c.id, in_list.c.rating.label("place")).select_from(bots)
    else:
        most_games = (ratings.c.games.desc(), ratings.c.list_id)
        number = func.row_number().over(partition_by=ratings.c.bot_id, order_by=most_games).label("number")
        numbered = select(ratings.c.bot_id, ratings.c.rating, number).subquery()
        of_main = and_(numbered.c.bot_id == bots.c.id, numbered.c.number == 1)
        place = func.coalesce(numbered.c.rating, _UNRATED)
        statement = select(bots.c.id, place.label("place")).outerjoin(numbered, of_main)
    return statement.join(in_list, of_bot) if rating_list else statement


def _key_of(rating_list: str) -> ScalarSelect[Any]:
    """Select the key of a rating list."""
    variant, _, time_class = rating_list.rpartition("/")
    of_list = (rating_lists.c.variant == variant, rating_lists.c.time_class == time_class)
    return select(rating_lists.c.id).where(*of_list).scalar_subquery()


def _by_bot(connection: Connection, keys: Select[Any], rating_list: str, *, descending: bool) -> list[list[Row[Any]]]:
    """Return the rows of each bot in order: one for each of its first variants, or only one.

    They have the columns of `select_bots`, the `place`, and what `_listed_bot` reads.
    """
    page = keys.cte("page")
    count = func.sum(ratings.c.games)
    by_games = (count.desc(), rating_lists.c.variant)
    variants = (
        select(
            ratings.c.bot_id,
            rating_lists.c.variant,
            func.row_number().over(partition_by=ratings.c.bot_id, order_by=by_games).label("number"),
            func.count().over(partition_by=ratings.c.bot_id).label("variants"),
            func.sum(count).over(partition_by=ratings.c.bot_id).label("games"),
        )
        .join(rating_lists)
        .where(ratings.c.bot_id.in_(select(page.c.id)))
        .group_by(ratings.c.bot_id, rating_lists.c.variant)
        .subquery()
    )
    of_bot = ratings.c.bot_id == bots.c.id
    most = select(ratings.c.list_id).where(of_bot).order_by(ratings.c.games.desc(), ratings.c.list_id).limit(1)
    shown = ratings.alias("shown")
    shown_list = rating_lists.alias("shown_list")
    of_shown = and_(
        shown.c.bot_id == bots.c.id,
        shown.c.list_id == (_key_of(rating_list) if rating_list else most.scalar_subquery()),
    )
    statement = (
        select_bots()
        .join(page, page.c.id == bots.c.id)
        .outerjoin(shown, of_shown)
        .outerjoin(shown_list, shown_list.c.id == shown.c.list_id)
        .outerjoin(variants, and_(variants.c.bot_id == bots.c.id, variants.c.number <= _MOST_VARIANTS))
        .add_columns(
            page.c.place,
            shown.c.rating,
            shown.c.games.label("games_there"),
            shown_list.c.variant.label("variant_there"),
            shown_list.c.time_class.label("time_class_there"),
            variants.c.variant,
            variants.c.variants,
            variants.c.games,
        )
    )
    ordered = (page.c.place.desc(), bots.c.id.desc()) if descending else (page.c.place,)
    rows: dict[int, list[Row[Any]]] = {}
    for row in connection.execute(statement.order_by(*ordered, variants.c.number)):
        rows.setdefault(row.id, []).append(row)
        give_way()
    return list(rows.values())


def _listed_bot(of_bot: list[Row[Any]]) -> ListedBot:
    row = of_bot[0]
    if row.variant_there is None:
        return ListedBot(bot=read_bot(row), games=0)
    return ListedBot(
        bot=read_bot(row),
        games=int(row.games),
        rating_list=f"{row.variant_there}/{row.time_class_there}",
        rating=row.rating,
        provisional=Rating(games=row.games_there).provisional,
        variants=tuple(each.variant for each in of_bot),
        variants_total=row.variants,
    )
