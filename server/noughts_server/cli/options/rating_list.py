"""The rating list of a command: a list with games that matches the variant and time class of the user, if any."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli.options.game import variant_option
from noughts_server.client.client import Client

RatingListVariantOption = Annotated[
    str | None,
    variant_option("Variant. Default: `tictactoe`, or a variant that has games"),
]

_USUAL_VARIANT, _USUAL_TIME_CLASS = "tictactoe", "untimed"
_MOST_LISTS = 5
"""Other lists that an error names."""


class KnownList(NamedTuple):
    """A rating list of a server, and the number of its games."""

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
    rows = client.list_items(client.leaderboards.ListRatingLists, request, lambda page: page.rating_lists)
    return [KnownList(row.variant, row.time_class, row.games) for row in rows]


def choose_list(rating_lists: Iterable[KnownList], variant: str | None, time_class: str | None) -> tuple[str, str]:
    """Return variant and time class of the list to show: the given ones, completed by a list that has games.

    Prefer `tictactoe` and `untimed`, else the list with the most games; without any games, return the preferred one.
    """
    usual_list = (variant or _USUAL_VARIANT, time_class or _USUAL_TIME_CLASS)
    candidates = [
        row
        for row in rating_lists
        if row.games and variant in (None, row.variant) and time_class in (None, row.time_class)
    ]
    if not candidates or any((row.variant, row.time_class) == usual_list for row in candidates):
        return usual_list
    best = max(candidates, key=lambda row: row.games)
    return best.variant, best.time_class


def other_lists_text(rating_lists: Sequence[KnownList], shown_name: str) -> str:
    """Return lines on the other lists with games, the largest first, and how to show them; empty if there are none.

    `shown_name` is the list that the command has printed.
    """
    others = [row for row in rating_lists if row.games and row.name != shown_name]
    others.sort(key=lambda row: row.games, reverse=True)
    if not others:
        return ""
    names = [f"{row.name} ({row.games:,})" for row in others[:_MOST_LISTS]]
    more = f" and {len(others) - _MOST_LISTS:,} more" if len(others) > _MOST_LISTS else ""
    return (
        f"Other lists, with their games: {', '.join(names)}{more}.\n"
        f"For the first: --variant {others[0].variant} --time-class {others[0].time_class}"
    )
