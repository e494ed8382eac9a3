"""The scopes of a token, which say what it permits. A token has one or several.

    play         play as any bot of the owner, enter it, rename it, retire it, challenge with it
    play:NAME    the same for that bot only
    submit       submit bots of the owner as files, which the server plays
    organise     create, start, pause and cancel tournaments of the owner
    admin        everything, also what belongs to others

Callers ask for the narrowest scope that is enough: a token with `play` also permits `play:ada`.
"""

from collections.abc import Iterable

from noughts_server.errors import InvalidArgument
from noughts_server.store.validation import check_name

PLAY, SUBMIT, ORGANISE, ADMIN = "play", "submit", "organise", "admin"
DEFAULT_SCOPES = (PLAY, ORGANISE)
_MOST_CHARACTERS = 400
_EXPECTED = "`play`, `play:NAME`, `submit`, `organise` or `admin`"


def play_as(bot: str) -> str:
    """Return the scope to act for this bot."""
    return f"{PLAY}:{bot}"


def permits(held: Iterable[str], wanted: str) -> bool:
    """Return whether a token with the scopes `held` permits what needs the scope `wanted`."""
    wider = {wanted, ADMIN, PLAY} if wanted.startswith(f"{PLAY}:") else {wanted, ADMIN}
    return not wider.isdisjoint(held)


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes in order without duplicates; the default if there are none. Raises InvalidArgument."""
    wanted = tuple(dict.fromkeys(scopes)) or DEFAULT_SCOPES
    for scope in wanted:
        kind, colon, bot = scope.partition(":")
        if kind not in (PLAY, SUBMIT, ORGANISE, ADMIN) or (colon and kind != PLAY):
            raise InvalidArgument.of("token.scopes", scope, _EXPECTED)
        if colon:
            check_name("token.scopes", bot)
    if len(" ".join(wanted)) > _MOST_CHARACTERS:
        raise InvalidArgument.of("token.scopes", f"{len(wanted)} scopes", f"at most {_MOST_CHARACTERS} characters")
    return wanted
