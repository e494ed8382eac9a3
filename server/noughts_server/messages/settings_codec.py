"""Conversions between the settings of tournaments and challenges and the protocol's messages.

`store.tournament_options` has their form in the database, `TournamentSettings` their meaning.
"""

from typing import Any

from noughts_proto.v1 import challenges_pb2, tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat, format_of
from noughts_server.competition.tournament_settings import (
    GAMES_OF_A_TEST,
    OPTIONS,
    TournamentSettings,
    usual_concurrency,
)
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder
from noughts_server.store.tournaments.join_window import MOST_ENTRIES

_SAME = ("title", *OPTIONS)
"""Fields with the same name and value on both sides."""
_USUAL = TournamentSettings()
_PLAYERS = 2
"""Of a challenge."""


def settings_message(settings: TournamentSettings, **fields: Any) -> tournaments_pb2.Tournament:
    """Return a message with these settings; `fields` set or override other fields of the message."""
    same = {name: getattr(settings, name) for name in (*_SAME, "games_per_pair", "concurrency", "rated")}
    if "openings" not in fields:  # a list of openings can be long
        fields["openings"] = openings_message(settings.openings)
    values = {**_of_games(settings), **same, "schedule": settings.schedule.number, **fields}
    return tournaments_pb2.Tournament(**values)


def challenge_message(settings: TournamentSettings, **fields: Any) -> challenges_pb2.CreateChallengeRequest:
    """Return a request with these settings; `fields` set or override other fields of the message."""
    values = {
        "games": settings.games_per_pair,
        "openings": openings_message(settings.openings),
        "margin_ms": settings.margin_ms,
    }
    return challenges_pb2.CreateChallengeRequest(**{**_of_games(settings), **values, **fields})


def _of_games(settings: TournamentSettings) -> dict[str, Any]:
    own_times = {label: time_control_message(time) for label, time in settings.own_times.items()}
    time = time_control_message(settings.time)
    return {"variant": settings.variant, "time": time, "own_times": own_times, "seed": settings.seed}


def settings_of(message: tournaments_pb2.Tournament, *, seed: int) -> TournamentSettings:
    """Return the settings of a request, with defaults and `seed` for missing values. Raises InvalidArgument."""
    schedule = _format(message)
    return TournamentSettings(
        schedule=schedule,
        games_per_pair=message.games_per_pair or (GAMES_OF_A_TEST if message.sprt else _USUAL.games_per_pair),
        concurrency=message.concurrency or usual_concurrency(schedule, message.throughput),
        rated=message.rated if message.HasField("rated") else not message.own_times,
        **_games_of(message, "tournament.", seed, MOST_ENTRIES),
        **{name: getattr(message, name) for name in _SAME},
    )


def challenge_settings(message: challenges_pb2.CreateChallengeRequest, *, seed: int) -> TournamentSettings:
    """Return the settings of a challenge, with defaults and `seed` for missing values. Raises InvalidArgument."""
    games = message.games or _USUAL.games_per_pair
    of_games = _games_of(message, "", seed, _PLAYERS)
    return TournamentSettings(
        games_per_pair=games, concurrency=games, rated=False, margin_ms=message.margin_ms, **of_games
    )


def _games_of(
    message: tournaments_pb2.Tournament | challenges_pb2.CreateChallengeRequest, field: str, seed: int, entries: int
) -> dict[str, Any]:
    """Return the settings of games; `field` precedes names in errors, and `entries` limits the times of their own."""
    if (got := len(message.own_times)) > entries:
        raise InvalidArgument.of(f"{field}own_times", f"{got:,} entries", f"at most {entries:,}")
    return {
        "variant": message.variant or _USUAL.variant,
        "time": time_control(message.time),
        "own_times": {label: time_control(time) for label, time in message.own_times.items()},
        "seed": message.seed if message.HasField("seed") else seed,
        "openings": openings_value(f"{field}openings", message.openings),
    }


def _format(message: tournaments_pb2.Tournament) -> TournamentFormat:
    try:
        return format_of(message.schedule or ROUND_ROBIN.number)
    except ValueError:
        names = ", ".join(name for name, number in tournaments_pb2.Schedule.items() if number)
        raise InvalidArgument.of("tournament.schedule", message.schedule, names) from None


def time_control_message(time: TimeControl) -> types_pb2.TimeControl:
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_control(message: types_pb2.TimeControl) -> TimeControl:
    """Return the time control of a message; the store checks its limits."""
    return TimeControl(move_us=message.move_us, bank_us=message.bank_us, increment_us=message.increment_us)


def openings_message(openings: Openings, *, whole: bool = True) -> tournaments_pb2.Openings | None:
    """Return the message of openings, with the text of a list if `whole`; None without openings."""
    if not openings:
        return None
    listed = openings.kind is OpeningsKind.LIST
    return tournaments_pb2.Openings(
        kind=openings.kind,
        plies=openings.plies,
        name=openings.name,
        order=openings.order if listed else "",
        symmetries=openings.symmetries,
        text=openings.text if whole else "",
        count=openings.text.count("\n") + 1 if listed and not whole else 0,
    )


def openings_value(field: str, message: tournaments_pb2.Openings) -> Openings:
    """Return the openings of a message, whose list is not parsed, because that takes time. Raises InvalidArgument."""
    try:
        kind = OpeningsKind(message.kind or OpeningsKind.NONE)
    except ValueError as error:
        expected = " or ".join(OpeningsKind)
        raise InvalidArgument.of(f"{field}.kind", message.kind, expected) from error
    try:
        order = OpeningsOrder(message.order or OpeningsOrder.SEQUENTIAL)
    except ValueError as error:
        raise InvalidArgument.of(f"{field}.order", message.order, " or ".join(OpeningsOrder)) from error
    if kind is OpeningsKind.NONE:
        return Openings()
    return Openings(kind, message.plies, message.name, order, message.symmetries, message.text)
