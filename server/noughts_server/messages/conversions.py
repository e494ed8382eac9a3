"""Between the store's values and the protocol's messages."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import tournaments_pb2, types_pb2
from noughts_referee.clock import TimeControl
from noughts_referee.rules import commitment
from noughts_server.errors import InvalidArgument
from noughts_server.openings.settings import Openings, OpeningsKind, OpeningsOrder
from noughts_server.store.brackets import BracketMatch
from noughts_server.store.seeds import SeedKind
from noughts_server.store.standings import Standing
from noughts_server.store.tournaments import Kind, Tournament


def timestamp(milliseconds: int | None) -> Timestamp | None:
    """A moment in milliseconds since 1970; None stays unset."""
    if milliseconds is None:
        return None
    moment = Timestamp()
    moment.FromMilliseconds(milliseconds)
    return moment


def milliseconds(field: str, message: Message) -> int | None:
    """A moment or a duration in milliseconds; None where `field`, the last part of its path, is unset.

    Raises InvalidArgument for one that cannot be.
    """
    name = field.rpartition(".")[2]
    if not message.HasField(name):
        return None
    value: Timestamp | Duration = getattr(message, name)
    try:
        return value.ToMilliseconds()
    except ValueError as error:
        raise InvalidArgument.of(field, f"{value.seconds} s and {value.nanos} ns", "0 to 999,999,999 ns") from error


def time_control_message(time: TimeControl) -> types_pb2.TimeControl:
    """A time control for the wire."""
    return types_pb2.TimeControl(move_us=time.move_us, bank_us=time.bank_us, increment_us=time.increment_us)


def time_control(message: types_pb2.TimeControl) -> TimeControl:
    """A time control from the wire; its bounds are checked where it is stored."""
    return TimeControl(move_us=message.move_us, bank_us=message.bank_us, increment_us=message.increment_us)


def openings_message(openings: Openings) -> tournaments_pb2.Openings | None:
    """Openings for the wire, a list without what is in it; None where there are none."""
    if not openings:
        return None
    listed = openings.kind is OpeningsKind.LIST
    return tournaments_pb2.Openings(
        kind=openings.kind,
        plies=openings.plies,
        name=openings.name,
        order=openings.order if listed else "",
        symmetries=openings.symmetries,
        count=openings.text.count("\n") + 1 if listed else 0,
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


def tournament_message(tournament: Tournament) -> tournaments_pb2.Tournament:
    """A tournament without its standings."""
    joining = tournament.joining
    return tournaments_pb2.Tournament(
        name=tournament.name,
        title=tournament.settings.title,
        state=tournament.state,  # type: ignore[arg-type]  # equal values
        variant=tournament.settings.variant,
        time=time_control_message(tournament.settings.time),
        schedule=tournament.settings.schedule.number,  # type: ignore[arg-type]  # equal values
        games_per_pair=tournament.settings.games_per_pair,
        concurrency=tournament.settings.concurrency,
        seed=tournament.settings.seed if tournament.ended else None,
        seed_hash=commitment(tournament.settings.seed),
        own_rated=tournament.own_rated,
        seed_given=tournament.seed_kind is SeedKind.GIVEN,
        rated=tournament.settings.rated,
        games_total=tournament.games_total,
        games_done=tournament.games_done,
        create_time=timestamp(tournament.created_at),
        start_time=timestamp(tournament.started_at),
        end_time=timestamp(tournament.ended_at),
        rating_list=tournament.settings.rating_list if tournament.settings.rated else "",
        entries_min=joining.entries_min,
        entries_max=joining.entries_max,
        join_from=timestamp(joining.join_from),
        join_until=timestamp(joining.join_until),
        start_at=timestamp(joining.start_at),
        reason=tournament.reason,
        owner=tournament.owner,
        challenge=tournament.kind is Kind.CHALLENGE,
        own_times={label: time_control_message(time) for label, time in tournament.settings.own_times.items()},
        rounds=tournament.settings.rounds,
        draw_after=tournament.settings.draw_after,
        forfeit_after=tournament.settings.forfeit_after,
        live_scores=tournament.settings.live_scores,
        stop_when_decided=tournament.settings.stop_when_decided,
        openings=openings_message(tournament.settings.openings),
    )


def standing_message(row: Standing) -> tournaments_pb2.Standing:
    """An entry's line in the table, for the wire."""
    return tournaments_pb2.Standing(
        label=row.label,
        bot_version=row.bot_version,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        points=row.points,
        rating=row.rating,
        byes=row.byes,
        withdraw_time=timestamp(row.withdrawn_at),
        withdraw_reason=row.withdrawn_reason,
        faults=row.faults,
    )


def match_message(match: BracketMatch) -> tournaments_pb2.Match:
    """A place in a knockout's bracket, for the wire."""
    return tournaments_pb2.Match(
        round=match.round,
        first=match.first or "",
        second=match.second or "",
        first_points=match.first_points,
        second_points=match.second_points,
        games=match.games,
        winner=match.winner or "",
        decision=tournaments_pb2.MatchDecision.Value(
            f"MATCH_DECISION_{match.decision.name if match.decision else 'UNSPECIFIED'}"
        ),
    )
