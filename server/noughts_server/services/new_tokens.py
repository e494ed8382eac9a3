"""Check the label, lifetime and scopes of a new token. The store does not check them."""

from collections.abc import Iterable

from noughts_server.core.errors import InvalidArgument
from noughts_server.store.people.scopes import ADMIN, DEFAULT_SCOPES, ORGANISE, PLAY, SITE, SUBMIT
from noughts_server.store.people.tokens import Caller
from noughts_server.store.validation import check_name, check_number, check_text

LONGEST_LABEL = 200
"""Characters of a token's label."""
LONGEST_LIFETIME_MS = 100 * 365 * 24 * 3600 * 1000
_MOST_CHARACTERS = 400
"""Limit of the scopes as text, in which the database stores them."""
_EXPECTED = "`play`, `play:NAME`, `submit`, `organise`, `site` or `admin`"


def check_token(label: str, lifetime_ms: int | None) -> None:
    """Raise InvalidArgument for a label or a lifetime that a token cannot have."""
    check_text("token.label", label, LONGEST_LABEL)
    if lifetime_ms is not None:
        check_number("ttl (milliseconds)", lifetime_ms, 1, LONGEST_LIFETIME_MS)


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes in order without duplicates; the default if there are none. Raises InvalidArgument."""
    chosen_scopes = tuple(dict.fromkeys(scopes)) or DEFAULT_SCOPES
    for scope in chosen_scopes:
        kind, colon, bot = scope.partition(":")
        if kind not in (PLAY, SUBMIT, ORGANISE, SITE, ADMIN) or (colon and kind != PLAY):
            raise InvalidArgument.of("token.scopes", scope, _EXPECTED)
        if colon:
            check_name("token.scopes", bot)
    if len(" ".join(chosen_scopes)) > _MOST_CHARACTERS:
        raise InvalidArgument.of(
            "token.scopes", f"{len(chosen_scopes)} scopes", f"at most {_MOST_CHARACTERS} characters"
        )
    return chosen_scopes


def allowed_lifetime_ms(caller: Caller, requested_ms: int | None, now_ms: int) -> int | None:
    """Return the lifetime of a new token or invitation, which cannot outlive the caller's token. None: unlimited.

    Raises InvalidArgument.
    """
    if caller.expires_at is None:
        return requested_ms
    milliseconds_left = caller.expires_at - now_ms
    if requested_ms is not None and requested_ms > milliseconds_left:
        raise InvalidArgument.of(
            "ttl", f"{requested_ms / 1000:.0f} s", f"at most the {milliseconds_left // 1000} s left on your token"
        )
    return milliseconds_left if requested_ms is None else requested_ms
