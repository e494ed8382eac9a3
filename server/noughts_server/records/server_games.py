"""Games and tournaments as a server reports them: as game records, and as the other facts that tables need."""

from datetime import UTC
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from noughts_bots.reference.analysis import Turn
from noughts_bots.reference.exact import Verdict
from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_referee.frame_encoding import read_thought
from noughts_referee.rules import Result, Termination, Variant
from noughts_server.competition.bracket import Decision
from noughts_server.competition.formats import format_of
from noughts_server.convert.times import time_control
from noughts_server.core.natural_order import natural_key
from noughts_server.records.explaining import JudgedGame
from noughts_server.records.recorded_game import comments_by_ply, margins_of_moves, score_column, thoughts_by_ply
from noughts_server.tables.about import About, time_text
from noughts_server.tables.pairings import MatchRow, matches_won
from noughts_server.tables.recorded_game import RecordedGame


def recorded_game(game: games_pb2.Game) -> RecordedGame:
    """Return a game as a game record. It has the time controls of the sides only if they differ."""
    first_time, second_time = str(time_control(game.first_time)), str(time_control(game.second_time))
    times_differ = first_time != second_time
    more: dict[str, Any] = {"winning_cells": list(game.winning_cells)}
    if game.HasField("agreement"):
        agreed = game.agreement
        more["opening"] = {"rule": agreed.rule, "opener": agreed.opener, "stones": agreed.stones}
    if game.HasField("time_factor"):
        more["time_factor"] = game.time_factor
    if game.HasField("first_allowance"):
        more |= _margins(game)
    more |= score_column(game.scores, len(game.moves)) | comments_by_ply(game.comments)
    more |= thoughts_by_ply({ply: read_thought(message) for ply, message in game.thoughts.items()})
    if game.adjudication:
        more["adjudication"] = game.adjudication
    if game.round:
        more["round"] = game.round
    return RecordedGame(
        variant=game.variant,
        first=game.first,
        second=game.second,
        result=result_text(game),
        moves=tuple(game.moves),
        termination=termination_text(game),
        seed=game.seed,
        opening_plies=game.opening_plies,
        times_ms=tuple([microseconds / 1000 for microseconds in game.times_us]),
        first_time=first_time if times_differ else "",
        second_time=second_time if times_differ else "",
        fault=game.fault,
        more=more,
    )


def judged_game(variant: Variant, answer: games_pb2.GetAnalysisResponse) -> JudgedGame:
    """Return the analysis of a game of this variant as `judge` does, but without the best moves of good positions."""
    verdicts = {
        value.ply: Verdict(
            value.value if value.HasField("value") else None,
            value.plies if value.HasField("plies") else None,
            (),
            exact=value.exact,
        )
        for value in answer.values
    }
    turns = [
        Turn(
            ply=mistake.ply,
            before=verdicts[mistake.ply]._replace(best=tuple(mistake.better)),
            after=verdicts[mistake.ply + 1],
            line=tuple(mistake.line),
        )
        for mistake in answer.mistakes
    ]
    return JudgedGame(variant, verdicts, turns)


def _margins(game: games_pb2.Game) -> dict[str, Any]:
    """Return the time margins and the moves that needed them."""
    limits = [time_control(game.first_time), time_control(game.second_time)]
    if game.HasField("time_factor"):
        limits = [limit.scaled(game.time_factor) for limit in limits]
    margins_us = game.first_allowance.margin_us, game.second_allowance.margin_us
    return margins_of_moves(margins_us, limits, game.times_us[: len(game.moves)], game.opening_plies)


def result_text(game: games_pb2.Game) -> str:
    """Return `1-0`, `1/2-1/2`, `0-1` or `*`, which also stands for a live game."""
    return str(Result(game.result or Result.VOID))


def termination_text(game: games_pb2.Game) -> str:
    """Return the termination, e.g. `board_full`; `going_on` for a live game."""
    return str(Termination(game.termination)) if game.termination else "going_on"


def about_tournament(tournament: pb.Tournament, table: pb.GetCrosstableResponse) -> About:
    """Return the facts about a tournament other than its games; `table` can be the first page of its crosstable.

    Raises:
        ValueError: only a newer version of Noughts knows the tournament's format.
    """
    rows, matches, form = table.standings, matches_of(table), format_of(tournament.schedule)
    return About(
        schedule=str(form),
        time=time_text(str(time_control(tournament.time)), own_times(tournament)),
        began=_moment(tournament.start_time) if tournament.HasField("start_time") else "",
        ended=_moment(tournament.end_time) if tournament.HasField("end_time") else "",
        byes={row.label: row.byes for row in rows if row.byes},
        bye_points={row.label: bye_points(row) for row in rows},
        withdrawn={row.label: row.withdraw_reason for row in rows if row.HasField("withdraw_time")},
        matches_won=matches_won(matches) if form.places_by_bracket else None,
        matches=matches,
    )


def own_times(tournament: pb.Tournament) -> dict[str, str]:
    """Return the time controls of entries that have their own, by label in natural order."""
    return {
        label: str(time_control(tournament.own_times[label])) for label in sorted(tournament.own_times, key=natural_key)
    }


def bye_points(row: pb.Standing) -> float:
    """Return the points that an entry has without a game."""
    return row.points - row.wins - row.draws / 2


def matches_of(table: pb.GetCrosstableResponse) -> list[MatchRow]:
    """Return the matches of a bracket or of the rounds; unknown values are None."""
    return [
        MatchRow(
            round=row.round,
            first=row.first or None,
            second=row.second or None,
            first_points=row.first_points,
            second_points=row.second_points,
            games=row.games,
            winner=row.winner or None,
            decision=Decision.__members__.get(pb.MatchDecision.Name(row.decision).removeprefix("MATCH_DECISION_")),
        )
        for row in (*table.matches, *table.encounters)
    ]


def _moment(moment: Timestamp) -> str:
    """Return a moment in ISO 8601 in UTC, to the second."""
    return moment.ToDatetime(UTC).isoformat(timespec="seconds")
