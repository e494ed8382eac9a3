"""The bracket of a knockout, and the rounds of a Swiss or Danish tournament."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from noughts_server.competition.bracket import Match
from noughts_server.tables.table import Column, Table, Unit, Value

_STAGES = {1: "final", 2: "semifinals", 4: "quarterfinals"}
"""The names of rounds by their number of matches."""

MatchRow = Match[str]
"""A match whose sides are the labels of entries."""


def matches_won(matches: Sequence[MatchRow]) -> dict[str, int]:
    """Return the number of matches that each entry won, including byes."""
    return Counter(match.winner for match in matches if match.winner is not None)


def pairings_document(matches: Sequence[MatchRow]) -> list[dict[str, Any]]:
    """Return `[{"round", "first", "second", "first_points", "second_points", "games", "winner", "decision"}]`.

    Unknown values are null; "decision" is bye, points, extra_pair, forfeits, seed or walkover.
    """
    return [
        {
            "round": match.round,
            "first": match.first,
            "second": match.second,
            "first_points": match.first_points,
            "second_points": match.second_points,
            "games": match.games,
            "winner": match.winner,
            "decision": None if match.decision is None else match.decision.name.lower(),
        }
        for match in matches
    ]


def pairings_table(matches: Sequence[MatchRow], *, bracket: bool, limit: int | None = None) -> Table:
    """Return the pairings round by round; with `limit`, only the newest ones, up to this number."""
    rows: list[tuple[Value, ...]] = []
    for number, group in groupby(matches, key=lambda match: match.round):
        round_matches = list(group)
        stage = _STAGES.get(len(round_matches), f"round of {2 * len(round_matches)}")
        rows += [(number, *([stage] if bracket else []), *_cells(match)) for match in round_matches]
    columns = (
        Column("round", "round", Unit.COUNT),
        *([Column("stage", "stage")] if bracket else []),
        Column("first", "first"),
        Column("second", "second"),
        Column("first_points", "points", Unit.POINTS),
        Column("second_points", "points", Unit.POINTS),
        Column("games", "games", Unit.COUNT),
        Column("winner", "advances" if bracket else "won"),
        Column("decision", "by"),
    )
    newest = rows[-limit:] if limit else rows
    notes = [f"The newest {len(newest):,} of {len(rows):,} pairings."] if len(newest) < len(rows) else []
    if not rows:
        notes = ["Only knockout, Swiss and Danish tournaments have pairings by round, and only if they have begun."]
    return Table("pairings", "Bracket" if bracket else "Rounds", columns, newest, notes)


def _cells(match: MatchRow) -> tuple[Value, ...]:
    """Return the cells after the round: sides, points, games, winner and decision."""
    decision = None if match.decision is None else match.decision.value
    is_bye = match.second is None and match.winner is not None
    if is_bye:
        return match.first, None, None, None, match.games, match.winner, decision
    points = (match.first_points, match.second_points) if match.games else (None, None)
    return match.first or "?", match.second or "?", *points, match.games, match.winner, decision
