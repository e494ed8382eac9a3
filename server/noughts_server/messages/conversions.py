"""Conversions between the store's values and the protocol's messages."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import commitment
from noughts_server.core.errors import InvalidArgument
from noughts_server.messages.match_details import match_details_message
from noughts_server.messages.settings_codec import openings_message, settings_message
from noughts_server.statistics.candidates import CandidateState
from noughts_server.statistics.match_games import MatchStatistics
from noughts_server.store.engine.schema import Kind
from noughts_server.store.pairing.matches import read_candidates, read_statistics
from noughts_server.store.pairing.seeds import SeedKind
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.pairings import MatchRow
from noughts_server.tables.standings import Standing

_SAME = ("name", "owner", "state", "reason", "own_rated", "games_total", "games_done")
"""Fields of a tournament with the same name and value on both sides."""
Filled = TypeVar("Filled", bound=Message)


def filled(kind: type[Filled], source: object, **more: Any) -> Filled:
    """Return a message with the values that `source` has under the names of the message's fields, and with `more`."""
    same = [name for name in kind.DESCRIPTOR.fields_by_name if name not in more and hasattr(source, name)]
    return kind(**{name: getattr(source, name) for name in same}, **more)


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


def tournament_message(
    tournament: Tournament, rows: Sequence[Standing] = (), labels: Sequence[str] = ()
) -> tournaments_pb2.Tournament:
    """Return the message of a tournament with these standings, or of a match with only the labels of its entries."""
    joining = tournament.joining
    settings, statistics = tournament.settings, statistics_messages(tournament, labels or entry_labels(rows))
    return settings_message(
        settings,
        seed=settings.seed if tournament.ended else None,
        openings=openings_message(settings.openings, whole=False),
        **{name: getattr(tournament, name) for name in _SAME},
        **{name: timestamp(getattr(joining, name)) for name in ("join_from", "join_until", "start_at")},
        seed_hash=commitment(settings.seed),
        seed_given=tournament.seed_kind is SeedKind.GIVEN,
        create_time=timestamp(tournament.created_at),
        start_time=timestamp(tournament.started_at),
        end_time=timestamp(tournament.ended_at),
        retry_time=timestamp(tournament.retry_at),
        rating_list=settings.rating_list if settings.rated else "",
        entries_min=joining.entries_min,
        entries_max=joining.entries_max,
        challenge=tournament.kind is Kind.CHALLENGE,
        test=tournament.kind is Kind.TEST,
        standings=map(standing_message, rows),
        **statistics,
        match_details=match_details_message(tournament, statistics.get("match") if rows else None),
    )


def entry_labels(rows: Sequence[Standing]) -> list[str]:
    """Return the labels of entries in the order in which they joined."""
    return [row.label for row in sorted(rows, key=attrgetter("number"))]


def statistics_messages(tournament: Tournament, labels: Sequence[str]) -> dict[str, Any]:
    """Return `match` or `candidates` of a tournament of these entries; nothing until it has enough entries."""
    kind, test, counts = tournament.settings.schedule, tournament.settings.sprt, tournament.match_counts
    if kind.base is None or len(labels) < 2:
        return {}
    if not kind.pairs_ahead:
        return {"match": _statistics_message(read_statistics(counts, test), labels=labels)}
    base, *others = labels
    found = []
    for label, (statistics, state) in zip(others, read_candidates(counts, test, len(others)), strict=True):
        open_still = state in (CandidateState.PLAYS, CandidateState.WAITS)
        state = CandidateState.STOPPED if tournament.ended and open_still else state
        found.append(_statistics_message(statistics, labels=[label, base], state=state))
    return {"candidates": found}


def _statistics_message(found: MatchStatistics, **more: Any) -> tournaments_pb2.MatchStatistics:
    estimate = found.estimate
    return filled(
        tournaments_pb2.MatchStatistics,
        found,
        elo=estimate.value,
        normalized_elo=estimate.normalized,
        **{name: getattr(estimate, name) for name in ("score", "error95", "los", "normalized_error95")},
        sprt=found.sprt and filled(tournaments_pb2.SprtState, found.sprt),
        **more,
    )


def standing_message(row: Standing) -> tournaments_pb2.Standing:
    tie_break = f"TIE_BREAK_{row.tie_break.name if row.tie_break else 'UNSPECIFIED'}"
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
        rank=row.rank,
        head_to_head=row.head_to_head,
        sonneborn_berger=row.sonneborn_berger,
        tie_break=tournaments_pb2.TieBreak.Value(tie_break),
    )


def match_message(match: MatchRow) -> tournaments_pb2.Match:
    decision = f"MATCH_DECISION_{match.decision.name if match.decision else 'UNSPECIFIED'}"
    return filled(tournaments_pb2.Match, match, decision=tournaments_pb2.MatchDecision.Value(decision))
