"""The settings of a tournament in the messages of the protocol, both ways.

`store.tournament_options` has their form in the database, `TournamentSettings` what they mean.
"""

from typing import Any

from noughts_proto.v1 import tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat, format_of
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.errors import InvalidArgument
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder

_SAME = ("title", "rounds", "draw_after", "forfeit_after", "live_scores", "stop_when_decided")
"""Fields with the same name and value on both sides."""
_USUAL = TournamentSettings()


def settings_message(settings: TournamentSettings, **fields: Any) -> tournaments_pb2.Tournament:
    """Return a message with these settings; `fields` are others of the message, or take the place of settings."""
    values: dict[str, Any] = {name: getattr(settings, name) for name in _SAME}
    values |= {
        "variant": settings.variant,
        "time": time_control_message(settings.time),
        "own_times": {label: time_control_message(time) for label, time in settings.own_times.items()},
        "schedule": settings.schedule.number,
        "games_per_pair": settings.games_per_pair,
        "concurrency": settings.concurrency,
        "seed": settings.seed,
        "rated": settings.rated,
    }
    if "openings" not in fields:
        values["openings"] = openings_message(settings.openings)
    return tournaments_pb2.Tournament(**{**values, **fields})


def settings_of(message: tournaments_pb2.Tournament, *, seed: int) -> TournamentSettings:
    """Return the settings of a request, with the usual value of each that it leaves out. Raise InvalidArgument.

    `seed` is taken if the request has none.
    """
    return TournamentSettings(
        variant=message.variant or _USUAL.variant,
        time=time_control(message.time),
        own_times={label: time_control(time) for label, time in message.own_times.items()},
        schedule=_format(message),
        games_per_pair=message.games_per_pair or _USUAL.games_per_pair,
        concurrency=message.concurrency or _USUAL.concurrency,
        seed=message.seed if message.HasField("seed") else seed,
        rated=message.rated if message.HasField("rated") else not message.own_times,
        openings=openings_value("tournament.openings", message.openings),
        **{name: getattr(message, name) for name in _SAME},
    )


def _format(message: tournaments_pb2.Tournament) -> TournamentFormat:
    try:
        return format_of(message.schedule or ROUND_ROBIN.number)
    except ValueError:
        names = ", ".join(name for name, number in tournaments_pb2.Schedule.items() if number)
        raise InvalidArgument.of("tournament.schedule", message.schedule, names) from None


def time_control_message(time: TimeControl) -> types_pb2.TimeControl:
    """A time control for the wire."""
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_control(message: types_pb2.TimeControl) -> TimeControl:
    """A time control from the wire; its bounds are checked where it is stored."""
    return TimeControl(move_us=message.move_us, bank_us=message.bank_us, increment_us=message.increment_us)


def openings_message(openings: Openings, *, whole: bool = True) -> tournaments_pb2.Openings | None:
    """Openings for the wire, with `whole` also the text of a list; None if there are none."""
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
    """Openings from the wire; whether a variant has such is checked where they are stored. Raises InvalidArgument."""
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
    openings = Openings(kind, message.plies, message.name, order, message.symmetries, message.text)
    try:
        openings.listed  # noqa: B018  # read once, for what is wrong with it
    except ValueError as error:
        raise InvalidArgument.of(f"{field}.text", "no numbers", "the cells of an opening a line") from error
    return openings
