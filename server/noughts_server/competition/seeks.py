"""Bots that seek rated games, and which of them are paired."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noughts_referee.clock import TimeControl, TimeControlError, parse_time_control
from noughts_referee.rules import InvalidInput, VariantError, parse_variant

REMATCH_SECONDS = 10.0
"""Two bots that met last meet again only after both have waited this long, in case another opponent comes."""
LARGEST_RANGE = 10_000
_EXAMPLE = "variant=connect4,time=1/move,rating=+-200"


class SeekError(InvalidInput):
    """An invalid seek."""

    text = "seek {got!r}: expected {expected}"


@dataclass(frozen=True, slots=True)
class Seek:
    """The rated games that a bot seeks."""

    variant: str
    """Its canonical name."""
    time: TimeControl
    rating_range: int = 0
    """The largest difference to the opponent's rating; 0: any."""

    def __str__(self) -> str:
        rating = f",rating=+-{self.rating_range}" if self.rating_range else ""
        return f"variant={self.variant},time={self.time}{rating}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeker:
    """A bot that seeks a game and plays none."""

    version: int
    """The store's key of the bot version."""
    bot: int
    """The store's key."""
    owner: int
    """The store's key."""
    seek: Seek
    rating: float
    """In the list of the variant and the time class that it seeks."""
    since: float
    """When it began to wait, in seconds of any clock."""
    last_opponent: int | None = None
    """The bot that it met last."""


def parse_seek(text: str) -> Seek:
    """Parse e.g. `variant=connect4,time=1/move,rating=+-200`. Raises SeekError."""
    values: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in ("variant", "time", "rating") and "variant" in values and "=" not in part:
            values["variant"] += f",{part.strip()}"  # a name such as mnk:7,7,5
        elif name in values or name not in ("variant", "time", "rating") or not value:
            raise SeekError(text, f"variant, time and if you like rating, e.g. `{_EXAMPLE}`")
        else:
            values[name] = value
    if not {"variant", "time"} <= values.keys():
        raise SeekError(text, f"variant and time, e.g. `{_EXAMPLE}`")
    rating = values.get("rating", "").removeprefix("+-")
    if rating and not (rating.isascii() and rating.isdigit() and 1 <= int(rating[:6]) <= LARGEST_RANGE):
        raise SeekError(text, f"a rating range such as +-200, at most +-{LARGEST_RANGE:,}")
    try:
        return checked_seek(values["variant"], parse_time_control(values["time"]), int(rating or 0))
    except TimeControlError as error:
        raise SeekError(text, error.expected) from error


def checked_seek(variant: str, time: TimeControl, rating_range: int) -> Seek:
    """Return the seek with the canonical name of its variant. Raises SeekError."""
    try:
        canonical = parse_variant(variant).name
    except VariantError as error:
        raise SeekError(f"variant={error.got}", error.expected) from error
    if not time.timed:
        raise SeekError(f"time={time}", "a time control with a clock, e.g. 1/move or 60+0.5")
    return Seek(canonical, time, min(rating_range, LARGEST_RANGE))


def pair_seekers(seekers: Iterable[Seeker], now: float) -> Iterator[tuple[Seeker, Seeker]]:
    """Yield pairs of bots with matching seeks; no bot is in two.

    The one that has waited longest gets the possible opponent with the nearest rating.
    """
    groups: defaultdict[tuple[str, TimeControl], list[Seeker]] = defaultdict(list)
    for seeker in sorted(seekers, key=lambda each: each.since):
        groups[seeker.seek.variant, seeker.seek.time].append(seeker)
    for waiting in groups.values():
        while waiting:
            one = waiting.pop(0)
            possible = [other for other in waiting if _may_meet(one, other, now)]
            if possible:
                other = min(possible, key=lambda each: (abs(each.rating - one.rating), each.since))
                waiting.remove(other)
                yield one, other


def _may_meet(one: Seeker, other: Seeker, now: float) -> bool:
    if one.owner == other.owner:
        return False  # its owner could lose on purpose
    ranges = [each.seek.rating_range for each in (one, other) if each.seek.rating_range]
    if ranges and abs(one.rating - other.rating) > min(ranges):
        return False
    has_met = one.last_opponent == other.bot or other.last_opponent == one.bot
    return not has_met or now - max(one.since, other.since) >= REMATCH_SECONDS
