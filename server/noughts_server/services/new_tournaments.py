"""Check the settings of a new tournament. The store does not check them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

from noughts_referee.clock import TimeControl
from noughts_referee.machine_speed import MOST_FACTOR
from noughts_referee.rules import VariantError, first_common, parse_variant
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.competition.tournament_settings import LONGEST_TITLE, OPTIONS, TournamentSettings, usual_concurrency
from noughts_server.core.computing import compute
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.limits import Limits
from noughts_server.openings.choosing import check_openings
from noughts_server.openings.legality import OpeningError
from noughts_server.openings.settings import LONGEST_NAME, MOST_CHARACTERS, MOST_OPENINGS, Openings
from noughts_server.openings.sufficiency import shortage
from noughts_server.services.limiter import Limiter
from noughts_server.store.people.tokens import Caller
from noughts_server.store.tournaments.join_window import FEWEST_ENTRIES, LATEST, MOST_ENTRIES, Joining, utc
from noughts_server.store.tournaments.tournaments import MOST_GAMES_PER_PAIR, NewTournament
from noughts_server.store.validation import check_name, check_number, check_slug, check_text

Result = TypeVar("Result")

_MOST_CONCURRENCY = 65_536
_LONGEST_OPENING = 10_000
"""Limit in characters; no opening on any board needs as many."""
_LONGEST_TIME_US = 7 * 24 * 3600 * 1_000_000


def check_tournament(new: NewTournament, now_ms: int) -> NewTournament:
    """Check a new tournament. Return it with its variant's canonical name and its format's limit of entries.

    Raises InvalidArgument. `check_openings_of` checks the openings, because that can take seconds.
    """
    check_slug("tournament.name", new.slug)
    check_settings(new.settings)
    joining = replace(new.joining, entries_max=min(new.joining.entries_max, new.settings.schedule.most_entries))
    check_joining(joining, now_ms)
    settings = replace(new.settings, variant=canonical_variant(new.settings.variant))
    return replace(new, settings=settings, joining=joining)


def with_priority_of(caller: Caller, new: NewTournament) -> NewTournament:
    """Return the new tournament. If the caller is an admin, its priority counts among the tournaments of all owners."""
    across_owners = caller.only_owner is None and new.settings.priority > 0
    return replace(new, settings=replace(new.settings, across_owners=across_owners))


def check_and_advise(new: NewTournament) -> NewTournament:
    """Check all settings of the tournament. Add advice if it compares bots and has too few openings for that.

    This can take seconds: call it with `check_in_turn`, and not in a transaction. Raises InvalidArgument.
    """
    check_slug("tournament.name", new.slug)
    settings = new.settings
    check_settings(settings)
    check_openings_of(settings)
    if settings.schedule.base is None:
        return new
    variant = parse_variant(canonical_variant(settings.variant))
    return replace(new, advice=shortage(settings.openings, variant, settings.games_per_pair))


def check_settings(settings: TournamentSettings) -> None:
    """Raise InvalidArgument for invalid settings, except openings."""
    check_text("tournament.title", settings.title, LONGEST_TITLE)
    check_number("tournament.games_per_pair", settings.games_per_pair, 1, MOST_GAMES_PER_PAIR)
    fewest = min(1, usual_concurrency(settings.schedule, settings.throughput))
    check_number("tournament.concurrency", settings.concurrency, fewest, _MOST_CONCURRENCY)
    check_number("tournament.seed", settings.seed, 0, (1 << 64) - 1)
    _check_format(settings)
    _check_time("tournament.time", settings.time)
    _check_own_times(settings)


def check_guest_clocks(settings: TournamentSettings, limits: Limits) -> None:
    """Raise InvalidArgument if a clock of a challenge or test would keep a bot of another owner busy for too long.

    Scaled times can be multiplied by up to `MOST_FACTOR`.
    """
    longest = MOST_FACTOR if settings.scale_time else 1
    most_move, most_base = limits.guest_move_seconds / longest, limits.guest_base_seconds / longest
    _check_guest_seconds("margin_ms", settings.margin_ms / 1_000, limits.guest_move_seconds)
    times = {"time": settings.time} | {f"own_times.{label}": time for label, time in settings.own_times.items()}
    for field, time in times.items():
        _check_guest_seconds(f"{field}.move_us", time.move_us / 1_000_000, most_move)
        _check_guest_seconds(f"{field}.increment_us", time.increment_us / 1_000_000, most_move)
        _check_guest_seconds(f"{field}.bank_us", time.bank_us / 1_000_000, most_base)


def _check_guest_seconds(field: str, seconds: float, most: float) -> None:
    if seconds > most:
        expected = f"at most {most:,g} s, because one of the bots belongs to another owner"
        raise InvalidArgument.of(f"tournament.{field}", f"{seconds:,g} s", expected)


def check_joining(joining: Joining, now_ms: int) -> None:
    """Raise InvalidArgument for values with which a tournament cannot be created."""
    check_number("tournament.entries_min", joining.entries_min, FEWEST_ENTRIES, MOST_ENTRIES)
    check_number("tournament.entries_max", joining.entries_max, joining.entries_min, MOST_ENTRIES)
    times = {"join_from": joining.join_from, "join_until": joining.join_until, "start_at": joining.start_at}
    earlier: dict[str, int] = {}
    for name, time in times.items():
        if time is None:
            continue
        if not 0 <= time <= LATEST:
            raise InvalidArgument.of(f"tournament.{name}", utc(time), "a time from 1970 to 9999")
        # Joining can begin before the creation; all other times must be in the future.
        if name != "join_from" and time <= now_ms:
            raise InvalidArgument.of(f"tournament.{name}", utc(time), f"a time in the future (now: {utc(now_ms)})")
        for other, bound in earlier.items():
            # The start can be the end of the join window, but the window cannot be empty.
            if time < bound or (time == bound and other == "join_from"):
                raise InvalidArgument.of(f"tournament.{name}", utc(time), f"one after {other} ({utc(bound)})")
        earlier[name] = time


def canonical_variant(variant: str, field: str = "tournament.variant") -> str:
    """Return a variant's canonical name. Raises InvalidArgument, which names the request's `field`."""
    try:
        return parse_variant(variant).name
    except VariantError as error:
        raise InvalidArgument.of(field, error.got, error.expected) from error


def common_variant(field: str, declared: Mapping[str, Sequence[str]]) -> str:
    """Return the first variant that all bots play. `declared` has the variants of each bot by its name.

    Raises InvalidArgument, which names the request's `field`, if the bots have no variant in common.
    """
    variant = first_common(declared.values())
    if variant is None:
        plays = "; ".join(f"{name} plays {', '.join(names)}" for name, names in declared.items() if names)
        raise InvalidArgument.of(field, plays, "bots that have a variant in common")
    return variant


def _check_time(field: str, time: TimeControl) -> None:
    for name, value in asdict(time).items():
        check_number(f"{field}.{name}", value, 0, _LONGEST_TIME_US)
    if time.increment_us and not time.bank_us:
        raise InvalidArgument.of(f"{field}.increment_us", time.increment_us, "a bank_us to add it to")


def _check_format(settings: TournamentSettings) -> None:
    for name, value in settings.options.items():
        most = OPTIONS[name].most
        if isinstance(value, str):
            check_text(f"tournament.{name}", value, most)
        else:
            check_number(f"tournament.{name}", value, 0, most)
    if settings.priority and not settings.throughput:
        raise InvalidArgument.of("tournament.priority", settings.priority, "0, because the throughput is 0")
    try:
        settings.schedule.check(settings)
        settings.check_fuel()
        settings.check_scaling()
        settings.check_adjudication()
    except FormatError as error:
        raise InvalidArgument.of(f"tournament.{error.setting}", error.got, error.expected) from error


def _check_own_times(settings: TournamentSettings) -> None:
    own = settings.own_times
    if len(own) > MOST_ENTRIES:
        raise InvalidArgument.of("tournament.own_times", f"{len(own)} entries", f"at most {MOST_ENTRIES}")
    for label, time in own.items():
        check_name("tournament.own_times", label)
        _check_time(f"tournament.own_times.{label}", time)
    if own and settings.rated:
        expected = "an unrated tournament, where entries have times of their own"
        raise InvalidArgument.of("tournament.rated", "true", expected)


async def check_in_turn(limiter: Limiter, owner_id: int, work: Callable[[], Result]) -> Result:
    """Run a check of openings in a thread when it is this owner's turn, and return its result or raise its error.

    Raises LimitReached if the owner has too many checks.
    """
    with limiter.holding("owner_checks", owner_id, "checks of openings of yours that are not done"):
        return await compute(owner_id, work)


def check_openings_of(settings: TournamentSettings) -> None:
    """Raise InvalidArgument if the openings do not fit the other settings. This can take seconds."""
    openings = settings.openings
    if len(openings.text) > MOST_CHARACTERS:
        expected = f"at most {MOST_CHARACTERS} characters"
        raise InvalidArgument.of("tournament.openings.text", f"{len(openings.text)} characters", expected)
    check_text("tournament.openings.name", openings.name, LONGEST_NAME)
    try:
        _check_list(openings)
        check_openings(openings, parse_variant(canonical_variant(settings.variant)))
    except OpeningError as error:
        raise InvalidArgument.of("tournament.openings", error.got, error.expected) from error
    plies = max(map(len, openings.listed), default=openings.plies)
    if plies >= settings.draw_after > 0:
        raise InvalidArgument.of("tournament.draw_after", settings.draw_after, f"more than the {plies} of an opening")


def _check_list(openings: Openings) -> None:
    """Raise OpeningError unless the list of openings can be parsed. Other kinds of openings have an empty list."""
    lines = openings.text.splitlines()
    if len(lines) > MOST_OPENINGS:
        raise OpeningError(f"{len(lines)} openings", f"at most {MOST_OPENINGS}")
    longest = max(map(len, lines), default=0)
    if longest > _LONGEST_OPENING:  # Python converts the numbers of one line in one step, and games wait for it
        raise OpeningError(f"an opening of {longest:,} characters", f"at most {_LONGEST_OPENING:,}")
    try:
        _ = openings.listed  # parses the list
    except ValueError as error:
        raise OpeningError("no numbers", "the cells of one opening per line") from error
