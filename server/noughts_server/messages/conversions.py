"""Conversions between the store's values and the protocol's messages."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import commitment
from noughts_server.errors import InvalidArgument
from noughts_server.messages.settings_codec import openings_message, settings_message
from noughts_server.store.engine.schema import Kind
from noughts_server.store.pairing.seeds import SeedKind
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.pairings import MatchRow
from noughts_server.tables.standings import Standing


def timestamp(milliseconds: int | None) -> Timestamp | None:
    """Return a time in milliseconds since 1970 as a message; None for None."""
    if milliseconds is None:
        return None
    moment = Timestamp()
    moment.FromMilliseconds(milliseconds)
    return moment


def milliseconds(field: str, message: Message) -> int | None:
    """Return `field`, a time or duration, in milliseconds; None if unset. Raises InvalidArgument for a bad value."""
    name = field.rpartition(".")[2]
    if not message.HasField(name):
        return None
    value: Timestamp | Duration = getattr(message, name)
    try:
        return value.ToMilliseconds()
    except ValueError as error:
        raise InvalidArgument.of(field, f"{value.seconds} s and {value.nanos} ns", "0 to 999,999,999 ns") from error


def tournament_message(tournament: Tournament) -> tournaments_pb2.Tournament:
    """Return the message of a tournament, without standings."""
    joining = tournament.joining
    settings = tournament.settings
    return settings_message(
        settings,
        seed=settings.seed if tournament.ended else None,
        openings=openings_message(settings.openings, whole=False),
        name=tournament.name,
        state=tournament.state,
        seed_hash=commitment(settings.seed),
        own_rated=tournament.own_rated,
        seed_given=tournament.seed_kind is SeedKind.GIVEN,
        games_total=tournament.games_total,
        games_done=tournament.games_done,
        create_time=timestamp(tournament.created_at),
        start_time=timestamp(tournament.started_at),
        end_time=timestamp(tournament.ended_at),
        rating_list=settings.rating_list if settings.rated else "",
        entries_min=joining.entries_min,
        entries_max=joining.entries_max,
        join_from=timestamp(joining.join_from),
        join_until=timestamp(joining.join_until),
        start_at=timestamp(joining.start_at),
        reason=tournament.reason,
        owner=tournament.owner,
        challenge=tournament.kind is Kind.CHALLENGE,
    )


def standing_message(row: Standing) -> tournaments_pb2.Standing:
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


def match_message(match: MatchRow) -> tournaments_pb2.Match:
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
