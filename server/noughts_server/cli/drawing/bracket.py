"""The bracket of a knockout, for people and for programs."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from rich.table import Table

from noughts_server.cli.output import points, table

if TYPE_CHECKING:
    from noughts_server.competition.bracket import Decision

BRACKET_HEADING = "Bracket"
_MOST_PRINTED = 64
"""Matches for people: those from the round of 64 on."""
_ROUNDS = {1: "final", 2: "semifinals", 4: "quarterfinals"}


class MatchRow(Protocol):
    """One place of the bracket, by labels; None where they are not known yet."""

    @property
    def round(self) -> int: ...
    @property
    def first(self) -> str | None: ...
    @property
    def second(self) -> str | None: ...
    @property
    def first_points(self) -> float: ...
    @property
    def second_points(self) -> float: ...
    @property
    def games(self) -> int: ...
    @property
    def winner(self) -> str | None: ...
    @property
    def decision(self) -> "Decision | None": ...


def bracket_document(matches: Sequence[MatchRow]) -> list[dict[str, Any]]:
    """`[{"round", "first", "second", "first_points", "second_points", "games", "winner", "decision"}]`.

    Null where it is not known yet; "decision" is bye, points, extra_pair, forfeits, seed or walkover.
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


def bracket_table(matches: Sequence[MatchRow]) -> "Table":
    """The same as a table, without the rounds before the last 64 matches."""
    rows = []
    for _, group in groupby(matches, key=lambda match: match.round):
        in_round = list(group)
        if len(in_round) > _MOST_PRINTED // 2:
            continue
        name = _ROUNDS.get(len(in_round), f"round of {2 * len(in_round)}")
        for number, match in enumerate(in_round):
            rows.append(("" if number else name, *_cells(match)))
    return table(("round", "match", ">points", "goes on", "by"), rows)


def _cells(match: MatchRow) -> tuple[str, str, str, str]:
    decision = match.decision
    by = "" if decision is None else decision.value
    if match.second is None and match.first is not None and match.winner is not None:
        return match.first, "", match.winner, by
    score = f"{points(match.first_points)} : {points(match.second_points)}" if match.games else ""
    return f"{match.first or '?'} - {match.second or '?'}", score, match.winner or "", by
