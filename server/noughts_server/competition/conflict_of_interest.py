"""The conflict of interest of organisers whose own bots play rated games against bots of others.

Such an organiser could stop each game that a bot of its own is about to lose, or give its bots rated wins that nobody
played. So its bots lose the live games that it stops, and it cannot withdraw the bots of others.
"""

from collections.abc import Collection


def has_conflict(*, rated: bool, has_begun: bool, own_bots: Collection[bool]) -> bool:
    """Return whether the organiser has a conflict of interest.

    Args:
        rated: whether the tournament is rated.
        has_begun: whether it is running or paused.
        own_bots: of each entry, whether its bot belongs to the organiser.
    """
    return rated and has_begun and any(own_bots) and not all(own_bots)


def can_withdraw(*, is_admin: bool, owns_bot: bool, is_organiser: bool, has_conflict: bool) -> bool:
    """Return whether a user can withdraw an entry: an admin, the owner of its bot, or an organiser without conflict."""
    return is_admin or owns_bot or (is_organiser and not has_conflict)
