"""Chooses the rating list for a command that names none, or only a variant or a time class: a list that has games."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.client.client import Client

_USUAL_VARIANT, _USUAL_TIME_CLASS = "tictactoe", "untimed"
_MOST_NAMED = 5


class KnownList(NamedTuple):
    variant: str
    time_class: str
    games: int

    @classmethod
    def of(cls, name: str, games: int) -> "KnownList":
        variant, _, time_class = name.rpartition("/")
        return cls(variant, time_class, games)

    @property
    def name(self) -> str:
        return f"{self.variant}/{self.time_class}"


def known_lists(client: Client) -> list[KnownList]:
    """Return the rating lists of a server."""
    request = pb.ListRatingListsRequest()
    rows = client.each(client.leaderboards.ListRatingLists, request, lambda page: page.rating_lists)
    return [KnownList(row.variant, row.time_class, row.games) for row in rows]


def choose_list(known: Iterable[KnownList], variant: str | None, time_class: str | None) -> tuple[str, str]:
    """Return variant and time class of the list to show: the given ones, completed by a list that has games.

    Prefer `tictactoe` and `untimed`, else the list with the most games; without any games, return the preferred one.
    """
    usual = (variant or _USUAL_VARIANT, time_class or _USUAL_TIME_CLASS)
    candidates = [
        each
        for each in known
        if each.games and variant in (None, each.variant) and time_class in (None, each.time_class)
    ]
    if not candidates or any((each.variant, each.time_class) == usual for each in candidates):
        return usual
    best = max(candidates, key=lambda each: each.games)
    return best.variant, best.time_class


def others_line(known: Sequence[KnownList], printed: str) -> str:
    """Return a line on the other lists with games, the largest first, and how to show them; empty if there are none.

    `printed` is the name of the list that is not named.
    """
    others = sorted((each for each in known if each.games and each.name != printed), key=lambda each: -each.games)
    if not others:
        return ""
    named = [f"{each.name} ({each.games:,})" for each in others[:_MOST_NAMED]]
    more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
    return (
        f"Other lists, with their games: {', '.join(named)}{more}.\n"
        f"For the first: --variant {others[0].variant} --time-class {others[0].time_class}"
    )
