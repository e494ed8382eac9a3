"""Chooses the rating list for a command that names none, or only a variant or a time class: a list that has games."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_USUAL = ("tictactoe", "untimed")
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


def chosen(known: Iterable[KnownList], variant: str | None, time_class: str | None) -> tuple[str, str]:
    """Return variant and time class of the list to show: the given ones, completed by a list that has games.

    Prefer `tictactoe` and `untimed`, else the list with the most games; without any games, return the preferred one.
    """
    usual = (variant or _USUAL[0], time_class or _USUAL[1])
    fit = [each for each in known if each.games and variant in (None, each.variant) and time_class in (None, each[1])]
    if not fit or any(each[:2] == usual for each in fit):
        return usual
    best = max(fit, key=lambda each: each.games)
    return best.variant, best.time_class


def others_line(known: Sequence[KnownList], shown: str) -> str:
    """Return a line on the other lists with games, the largest first, and how to show them; empty if there are none."""
    others = sorted((each for each in known if each.games and each.name != shown), key=lambda each: -each.games)
    if not others:
        return ""
    named = [f"{each.name} ({each.games:,})" for each in others[:_MOST_NAMED]]
    more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
    return (
        f"Other lists, with their games: {', '.join(named)}{more}.\n"
        f"For the first: --variant {others[0].variant} --time-class {others[0].time_class}"
    )
