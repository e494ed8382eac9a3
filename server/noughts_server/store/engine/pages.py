"""Pages of long lists: sizes and page tokens, shared by all methods that list something."""

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, or_, tuple_

from noughts_server.core.errors import InvalidArgument
from noughts_server.core.turns import give_way
from noughts_server.store.validation import check_text

DEFAULT_SIZE = 50
LARGEST_SIZE = 1000
_LONGEST_SEARCH = 63
"""The longest name has this many characters."""

Item = TypeVar("Item")
Key = list[int | float | str]
"""The sort key of the last item of a page, in types that JSON has."""

# The checksum is not a secret. It detects truncated tokens and tokens of other lists. A forged token only starts a page
# elsewhere.
_CHECKSUM_BYTES = 6
_LONGEST_TOKEN = 2_000
"""Characters of a page token. The store's own tokens are shorter."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A page of items in order, with the token of the next page."""

    items: list[Item]
    next_page_token: str
    """Empty on the last page."""


def page_size(requested: int) -> int:
    """Return the size of a page: 0 means 50, more than 1,000 means 1,000. Raises InvalidArgument if negative."""
    if requested < 0:
        raise InvalidArgument.of("page_size", requested, "0 or more")
    return min(requested, LARGEST_SIZE) or DEFAULT_SIZE


def read_page(
    connection: Connection,
    statement: Select[Any],
    read: Callable[[Any], Item],
    method: str,
    order: Sequence[ColumnElement[Any]],
    *,
    size: int,
    page_token: str,
    descending: bool = False,
) -> Page[Item]:
    """Return a page of the list of `method`. `order` are columns of the statement, `read` converts a row to an item.

    Raises InvalidArgument for a bad size or page token.
    """
    limit = page_size(size)
    after = read_page_token(method, page_token, [column.type.python_type() for column in order])
    if after is not None:
        sort_key, last_key = tuple_(*order), tuple_(*after)
        statement = statement.where(sort_key < last_key if descending else sort_key > last_key)
    ordered = statement.order_by(*(column.desc() if descending else column for column in order))
    rows = connection.execute(ordered.limit(limit + 1)).all()
    next_page_token = ""
    if len(rows) > limit:
        next_page_token = write_page_token(method, [rows[limit - 1]._mapping[column] for column in order])
    items: list[Item] = []
    for row in rows[:limit]:
        items.append(read(row))
        give_way()
    return Page(items, next_page_token)


def contains(text: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a column contains the text, ignoring case. Raises InvalidArgument."""
    check_text("search", text, _LONGEST_SEARCH)
    return or_(*(column.icontains(text, autoescape=True) for column in columns))


def write_page_token(method: str, key: Key) -> str:
    """Return the token with which `method` continues after `key`. `method` includes the parent of the list, if any."""
    payload = json.dumps(key, separators=(",", ":")).encode()
    return urlsafe_b64encode(_checksum(method, payload) + payload).decode().rstrip("=")


def read_page_token(method: str, token: str, example: Key) -> Key | None:
    """Return the key in a token that `write_page_token` made for this method; None for the empty token (first page).

    The key has the length and the types of `example`. Raises InvalidArgument for anything else.
    """
    if not token:
        return None
    try:
        if len(token) > _LONGEST_TOKEN:
            raise ValueError
        packed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        payload = packed[_CHECKSUM_BYTES:]
        key = json.loads(payload) if packed[:_CHECKSUM_BYTES] == _checksum(method, payload) else None
    except ValueError:
        key = None
    if (
        not isinstance(key, list)
        or list(map(type, key)) != list(map(type, example))
        or not all(map(_can_be_stored, key))
    ):
        raise InvalidArgument.of("page_token", token, "the next_page_token of the same list, unchanged")
    return key


def _can_be_stored(part: int | float | str) -> bool:
    """Return whether databases can store this value. A forged token can have other values."""
    if isinstance(part, int):
        return -(1 << 63) <= part < 1 << 63
    if isinstance(part, float):
        return math.isfinite(part)
    return "\0" not in part and part.encode(errors="ignore").decode() == part


def _checksum(method: str, payload: bytes) -> bytes:
    return blake2b(method.encode() + b"\0" + payload, digest_size=_CHECKSUM_BYTES).digest()
