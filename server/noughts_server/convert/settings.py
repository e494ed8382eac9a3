"""Conversions of the settings of tournaments and challenges.

`store.tournament_options` converts them for the database, and `TournamentSettings` describes them.
"""

from collections.abc import Mapping

from noughts_proto.v1 import challenges_pb2, tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat, format_of
from noughts_server.competition.tournament_settings import GAMES_OF_A_TEST, TournamentSettings, usual_concurrency
from noughts_server.convert.times import time_control, time_control_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder
from noughts_server.store.tournaments.join_window import MOST_ENTRIES

_USUAL = TournamentSettings()
_PLAYERS = 2
"""The players of a challenge."""


def settings_message(
    settings: TournamentSettings, *, seed: int | None, whole_openings: bool = True
) -> tournaments_pb2.Tournament:
    """Return a tournament that has only settings, with `seed` instead of `settings.seed`.

    None lets the server choose the seed. A list of openings can be long: its text is only sent with `whole_openings`.
    """
    return tournaments_pb2.Tournament(
        title=settings.title,
        variant=settings.variant,
        time=time_control_message(settings.time),
        own_times=_time_control_messages(settings.own_times),
        schedule=settings.schedule.number,  # type: ignore[arg-type]  # equal values
        games_per_pair=settings.games_per_pair,
        concurrency=settings.concurrency,
        seed=seed,
        rated=settings.rated,
        rounds=settings.rounds,
        draw_after=settings.draw_after,
        resign=settings.resign,
        draw=settings.draw,
        adjudicate=settings.adjudicate,
        fuel=settings.fuel,
        margin_ms=settings.margin_ms,
        scale_time=settings.scale_time,
        live_scores=settings.live_scores,
        keep_scores=settings.keep_scores,
        live_analysis=settings.live_analysis,
        forfeit_after=settings.forfeit_after,
        stop_when_decided=settings.stop_when_decided,
        sprt=settings.sprt,
        priority=settings.priority,
        throughput=settings.throughput,
        openings=openings_message(settings.openings, whole=whole_openings),
    )


def settings_of(message: tournaments_pb2.Tournament, *, seed: int) -> TournamentSettings:
    """Return the settings of a request, with defaults and `seed` for missing values. Raises InvalidArgument."""
    schedule = _format(message)
    return TournamentSettings(
        title=message.title,
        variant=message.variant or _USUAL.variant,
        time=time_control(message.time),
        own_times=_time_controls("tournament.own_times", message.own_times, MOST_ENTRIES),
        schedule=schedule,
        games_per_pair=message.games_per_pair or (GAMES_OF_A_TEST if message.sprt else _USUAL.games_per_pair),
        concurrency=message.concurrency or usual_concurrency(schedule, message.throughput),
        seed=message.seed if message.HasField("seed") else seed,
        rated=message.rated if message.HasField("rated") else not message.own_times,
        rounds=message.rounds,
        draw_after=message.draw_after,
        resign=message.resign,
        draw=message.draw,
        adjudicate=message.adjudicate,
        fuel=message.fuel,
        margin_ms=message.margin_ms,
        scale_time=message.scale_time,
        live_scores=message.live_scores,
        keep_scores=message.keep_scores,
        live_analysis=message.live_analysis,
        forfeit_after=message.forfeit_after,
        stop_when_decided=message.stop_when_decided,
        sprt=message.sprt,
        priority=message.priority,
        throughput=message.throughput,
        openings=openings_value("tournament.openings", message.openings),
    )


def challenge_message(
    settings: TournamentSettings, *, challenger: str, opponent: str, seed: int | None, opponent_begins: bool = False
) -> challenges_pb2.CreateChallengeRequest:
    """Return a request with these settings and this seed; None lets the server choose it."""
    return challenges_pb2.CreateChallengeRequest(
        challenger=challenger,
        opponent=opponent,
        variant=settings.variant,
        time=time_control_message(settings.time),
        own_times=_time_control_messages(settings.own_times),
        games=settings.games_per_pair,
        seed=seed,
        opponent_begins=opponent_begins,
        openings=openings_message(settings.openings),
        margin_ms=settings.margin_ms,
    )


def challenge_settings(message: challenges_pb2.CreateChallengeRequest, *, seed: int) -> TournamentSettings:
    """Return the settings of a challenge, with defaults and `seed` for missing values. Raises InvalidArgument."""
    games = message.games or _USUAL.games_per_pair
    return TournamentSettings(
        variant=message.variant or _USUAL.variant,
        time=time_control(message.time),
        own_times=_time_controls("own_times", message.own_times, _PLAYERS),
        games_per_pair=games,
        concurrency=games,
        seed=message.seed if message.HasField("seed") else seed,
        rated=False,
        margin_ms=message.margin_ms,
        openings=openings_value("openings", message.openings),
    )


def _format(message: tournaments_pb2.Tournament) -> TournamentFormat:
    try:
        return format_of(message.schedule or ROUND_ROBIN.number)
    except ValueError:
        names = ", ".join(name for name, number in tournaments_pb2.Schedule.items() if number)
        raise InvalidArgument.of("tournament.schedule", message.schedule, names) from None


def _time_control_messages(own_times: Mapping[str, TimeControl]) -> dict[str, types_pb2.TimeControl]:
    return {label: time_control_message(time) for label, time in own_times.items()}


def _time_controls(field: str, own_times: Mapping[str, types_pb2.TimeControl], most: int) -> dict[str, TimeControl]:
    """Return the time controls of entries, by label. Raises InvalidArgument for more than `most`."""
    if len(own_times) > most:
        raise InvalidArgument.of(field, f"{len(own_times):,} entries", f"at most {most:,}")
    return {label: time_control(time) for label, time in own_times.items()}


def openings_message(openings: Openings, *, whole: bool = True) -> tournaments_pb2.Openings | None:
    """Return the message of openings, with the text of a list if `whole`; None without openings."""
    if not openings:
        return None
    is_list = openings.kind is OpeningsKind.LIST
    return tournaments_pb2.Openings(
        kind=openings.kind,
        plies=openings.plies,
        name=openings.name,
        order=openings.order if is_list else "",
        symmetries=openings.symmetries,
        text=openings.text if whole else "",
        count=openings.text.count("\n") + 1 if is_list and not whole else 0,
    )


def openings_value(field: str, message: tournaments_pb2.Openings) -> Openings:
    """Return the openings of a message. Raises InvalidArgument. A list is not parsed, because this takes time."""
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
    return Openings(
        kind=kind,
        plies=message.plies,
        name=message.name,
        order=order,
        symmetries=message.symmetries,
        text=message.text,
    )
