"""The scopes of a token, which say what it permits. A token has one or more.

    play         play as any bot of the owner, enter it, rename it, retire it, challenge with it
    play:NAME    the rights of `play` for the bot NAME only
    submit       submit bots of the owner as files, which the server plays
    organise     create, start, pause and cancel tournaments of the owner
    site         have as many open challenges as a website needs for its visitors, and name them: each has limits
    admin        everything, also what belongs to others

Callers ask for the narrowest scope that is enough: a token with `play` also permits `play:ada`.
"""

from collections.abc import Iterable

PLAY, SUBMIT, ORGANISE, SITE, ADMIN = "play", "submit", "organise", "site", "admin"
DEFAULT_SCOPES = (PLAY, ORGANISE)


def play_as(bot: str) -> str:
    """Return the scope to act for this bot."""
    return f"{PLAY}:{bot}"


def permits(held: Iterable[str], scope: str) -> bool:
    """Return whether a token with the scopes `held` permits a call that needs `scope`."""
    wider = {scope, ADMIN, PLAY} if scope.startswith(f"{PLAY}:") else {scope, ADMIN}
    return not wider.isdisjoint(held)
