"""Which rating list is shown where a command names none, or only a variant or a time class: one that has games."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_USUAL = ("tictactoe", "untimed")
_MOST_NAMED = 5


class KnownList(NamedTuple):
    """A rating list that there is."""

    variant: str
    time_class: str
    games: int

    @classmethod
    def of(cls, name: str, games: int) -> "KnownList":
        """The list of that name."""
        variant, _, time_class = name.rpartition("/")
        return cls(variant, time_class, games)

    @property
    def name(self) -> str:
        """As it is called at the server."""
        return f"{self.variant}/{self.time_class}"


def chosen(known: Iterable[KnownList], variant: str | None, time_class: str | None) -> tuple[str, str]:
    """Variant and time class of the list to show: what was asked for, completed by a list that has games.

    That is `tictactoe/untimed` or its like if it has some, else the one with the most; without any, the usual one.
    """
    usual = (variant or _USUAL[0], time_class or _USUAL[1])
    fit = [each for each in known if each.games and variant in (None, each.variant) and time_class in (None, each[1])]
    if not fit or any(each[:2] == usual for each in fit):
        return usual
    best = max(fit, key=lambda each: each.games)
    return best.variant, best.time_class


def others_line(known: Sequence[KnownList], shown: str) -> str:
    """The other lists that have games, the fullest first, and how to see them; empty if there is none."""
    others = sorted((each for each in known if each.games and each.name != shown), key=lambda each: -each.games)
    if not others:
        return ""
    named = [f"{each.name} ({each.games:,})" for each in others[:_MOST_NAMED]]
    more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
    first = others[0]
    return (
        f"Other lists, with their games: {', '.join(named)}{more}.\n"
        f"For the first: --variant {first.variant} --time-class {first.time_class}"
    )
